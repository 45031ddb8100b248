"""Query: one that runs. Its rows are computed while they are fetched, and it can be stopped from any thread at any time."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa
import pyarrow.flight as flight

from .database import Database
from .failures import invalid, of_error
from .limits import Limits

if TYPE_CHECKING:
    import duckdb

#: Rows and bytes of a batch. Some clients refuse messages of more than 16 MiB.
_BATCH_ROWS, _BATCH_BYTES = 65_536, 4 << 20
T = TypeVar("T")


class Caller(Protocol):
    """What waits for a query: a call of Flight, or a watch of the viewer."""

    def is_cancelled(self) -> bool: ...


class Query:
    """A query and its rows.

    Args:
        connection: Its own connection, which is closed at its end.
        database: Knows the scans of the connection.
        limits: What it may cost.
        ended: Called once, when it holds nothing any more, with its outcome: `done`, `planned`, `failed`, `stopped`.

    Attributes:
        handle: Its name in tickets, which nobody can guess.
        schema: The schema of its rows, once it has started.
    """

    schema: pa.Schema

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: Database, limits: Limits, ended: Callable[[Query, str], None]) -> None:
        self.handle = secrets.token_bytes(16)
        self.started = time.monotonic()
        self.rows = self.bytes = 0
        self._connection = connection
        self._database = database
        self._limits, self._on_end = limits, ended
        self._lock = threading.Lock()
        self._is_inside = self._has_ended = False
        self._stopped: Exception | None = None
        self._call: Caller | None = None
        self._fetched = time.monotonic()
        self._is_fetched = False
        self._readers: list[Callable[[], pa.RecordBatchReader]] = []
        self._reader: pa.RecordBatchReader = None

    def start(self, relations: list[Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]]) -> None:
        """Begins to run.

        Args:
            relations: For each set of parameters what makes the relation with a connection.

        Raises:
            Exception: As Flight sends it, also if the query was stopped meanwhile.
        """
        self._readers = [partial(self._opened, make) for make in relations]
        try:
            self._reader = self._inside(self._readers.pop(0))
        except Exception:
            self._end("failed")
            raise
        self.schema = self._reader.schema
        with self._lock:
            self._fetched = time.monotonic()

    def _opened(self, make: Callable[[duckdb.DuckDBPyConnection], duckdb.DuckDBPyRelation]) -> pa.RecordBatchReader:
        return make(self._connection).to_arrow_reader(_BATCH_ROWS)

    def run(self, step: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Runs a step with the connection, and ends: for what needs no rows.

        Raises:
            Exception: As Flight sends it.
        """
        outcome = "failed"
        try:
            result = self._inside(lambda: step(self._connection))
            outcome = "planned"
        finally:
            self._end(outcome)
        return result

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        """The rows, as they are computed. A client that reads slowly slows the computation.

        Raises:
            Exception: As Flight sends it: the query failed, was stopped, or has reached a limit.
        """
        outcome = "stopped"
        with self._lock:
            self._is_fetched = True
        try:
            while True:
                batch = self._inside(self._next)
                if batch is None:
                    break
                self.rows += batch.num_rows
                self.bytes += batch.nbytes
                if self.rows > self._limits.rows:
                    raise invalid(f"the result has more than {self._limits.rows} rows, the limit of the server: add a condition, aggregate, or use LIMIT")
                if self.bytes > self._limits.bytes:
                    raise invalid(f"the result has more than {self._limits.bytes} bytes, the limit of the server: add a condition, aggregate, or use LIMIT")
                yield from _in_parts(batch)
            outcome = "done"
        except GeneratorExit:
            raise
        except Exception:
            outcome = "stopped" if self._stopped is not None else "failed"
            raise
        finally:
            self._end(outcome)

    def _next(self) -> pa.RecordBatch | None:
        while True:
            try:
                return self._reader.read_next_batch()
            except StopIteration:
                if not self._readers:
                    return None
            self._reader = self._readers.pop(0)()
            if not self._reader.schema.equals(self.schema):
                raise invalid(f"the sets of parameters give results of different types: {self._reader.schema} after {self.schema}")

    def _inside(self, step: Callable[[], T]) -> T:
        """Runs a step in DuckDB, which `stop` interrupts."""
        with self._lock:
            if self._stopped is not None:
                raise self._stopped
            self._is_inside = True
        try:
            return step()
        except Exception as error:
            raise self._stopped or of_error(error) from None
        finally:
            with self._lock:
                self._is_inside = False
            if self._stopped is not None:
                self._end("stopped")

    def stop(self, reason: Exception) -> None:
        """Stops the query; who fetches it next gets the reason."""
        with self._lock:
            if self._has_ended:
                return
            self._stopped = self._stopped or reason
            is_inside = self._is_inside
            if is_inside:
                self._connection.interrupt()
                self._database.cancel_scans(self._connection)
        if not is_inside:
            self._end("stopped")

    def _end(self, outcome: str) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
            reader, connection = self._reader, self._connection
            self._reader, self._readers, self._call = None, [], None
        del reader  # closing it stops what still computes
        self._database.release(connection)
        connection.close()
        self._on_end(self, outcome)

    def attach(self, call: Caller) -> None:
        """Stops the query if the client of a call goes away. The call is looked at until `detach`."""
        with self._lock:
            self._call = call

    def detach(self) -> None:
        """The call has ended; its context may not be touched any more."""
        with self._lock:
            self._call = None

    def check(self, now: float) -> None:
        """Stops the query if its time is over, its client is gone, or nobody fetches its rows; called every now and then."""
        with self._lock:
            is_gone = self._call is not None and self._call.is_cancelled()
            is_forgotten = not self._is_inside and not self._is_fetched and now - self._fetched > self._limits.unfetched_seconds
            is_late = now - self.started > self._limits.seconds
            again = self._stopped
        if again is not None:
            self.stop(again)  # an interrupt reaches only what runs at that moment
        elif is_gone:
            self.stop(flight.FlightCancelledError("the client went away"))
        elif is_late:
            self.stop(flight.FlightTimedOutError(f"the query took longer than {self._limits.seconds:g} seconds, the limit of the server"))
        elif is_forgotten:
            self.stop(flight.FlightTimedOutError(f"the result was not fetched for {self._limits.unfetched_seconds:g} seconds: send the query again"))


def _in_parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch as batches of at most `_BATCH_BYTES`, if single rows are not larger."""
    rows = max(1, batch.num_rows * _BATCH_BYTES // max(batch.nbytes, 1))
    for first in range(0, batch.num_rows, rows):
        yield batch.slice(first, rows)
