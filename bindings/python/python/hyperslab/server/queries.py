"""Queries: those that run now, so many at once, and the thread that looks after them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import pyarrow.flight as flight

from .database import Database
from .failures import invalid
from .limits import Limits
from .metrics import Metrics
from .query import Caller, Query

if TYPE_CHECKING:
    import duckdb

#: How often running queries are looked at. Nothing is looked at while none runs.
_SECONDS_BETWEEN_CHECKS = 0.05
T = TypeVar("T")


class Queries:
    """Running queries.

    Args:
        database: Gives each its connection.
        limits: What one may cost, and how many run at once.
        metrics: Counts how they end.
    """

    def __init__(self, database: Database, limits: Limits, metrics: Metrics) -> None:
        self._database, self._limits, self._metrics = database, limits, metrics
        self._slots = threading.Semaphore(limits.queries)
        self._running: dict[bytes, Query] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        threading.Thread(target=self._look_after, name="hyperslab-queries", daemon=True).start()

    def start(self, call: Caller, relations: list[Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]]) -> Query:
        """Starts a query.

        Args:
            call: The call that waits for it: it is stopped if its client goes away.
            relations: For each set of parameters what makes the relation with a connection.

        Raises:
            FlightUnavailableError: Too many queries run, or the server ends.
            Exception: As Flight sends it.
        """
        query = self._next(call)
        try:
            query.start(relations)
        finally:
            query.detach()
        return query

    def plan(self, call: Caller, step: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Runs a step with a connection, within the limits of a query.

        Raises:
            FlightUnavailableError: Too many queries run.
            Exception: As Flight sends it.
        """
        query = self._next(call)
        try:
            return query.run(step)
        finally:
            query.detach()

    def _next(self, call: Caller) -> Query:
        """A query of which nothing runs yet, when it is its turn."""
        if not self._slots.acquire(timeout=self._limits.wait_seconds):
            self._metrics.add("refused", label="busy")
            raise flight.FlightUnavailableError(f"{self._limits.queries} queries run already, as many as the server lets: try again later")
        try:
            query = Query(self._database.connection(), self._database, self._limits, self._ended)
        except Exception:
            self._slots.release()
            raise
        with self._changed:
            self._running[query.handle] = query
            is_late = self._is_closed
            self._changed.notify()
        query.attach(call)
        if is_late:
            # `close` did not see it, and the server would wait for it.
            query.stop(flight.FlightUnavailableError("the server ends"))
        return query

    def find(self, handle: bytes) -> Query:
        """A running query by its ticket.

        Raises:
            FlightServerError: It has ended, or never was.
        """
        with self._changed:
            query = self._running.get(handle)
        if query is None:
            raise invalid("there is no such result: it was fetched already, cancelled, or not fetched in time; send the query again")
        return query

    def count(self) -> int:
        """How many run."""
        with self._changed:
            return len(self._running)

    def _ended(self, query: Query, outcome: str) -> None:
        with self._changed:
            del self._running[query.handle]
        self._slots.release()
        self._metrics.add("queries", label=outcome)
        self._metrics.add("rows", query.rows)
        self._metrics.add("bytes", query.bytes)
        self._metrics.add("seconds", round(time.monotonic() - query.started, 6))

    def _look_after(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._running or self._is_closed)
                running = list(self._running.values())
                if self._is_closed and not running:
                    return
            for query in running:
                query.check(time.monotonic())
            time.sleep(_SECONDS_BETWEEN_CHECKS)

    def close(self) -> None:
        """Stops all of them; no error if one has ended meanwhile."""
        with self._changed:
            self._is_closed = True
            running = list(self._running.values())
            self._changed.notify()
        for query in running:
            query.stop(flight.FlightUnavailableError("the server ends"))
