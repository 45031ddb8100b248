"""Calls: while one waits for a query, the query is stopped if its client goes away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.flight as flight

from .query import Query


class CallFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]  # pyarrow has no stubs
    """Makes a `Watched` for each call."""

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str | bytes]]) -> Watched:
        return Watched()


class Watched(flight.ServerMiddleware):  # type: ignore[misc]
    """Knows the query that a call fetches, and when the call has ended."""

    def __init__(self) -> None:
        super().__init__()
        self._query: Query | None = None

    def watch(self, query: Query, context: flight.ServerCallContext) -> None:
        """The call fetches this query; its context is looked at until the call ends."""
        self._query = query
        query.attach(context)

    def call_completed(self, exception: Exception | None) -> None:
        """The call has ended, perhaps because its client went away: nobody can fetch the rest."""
        if self._query is not None:
            self._query.detach()
            self._query.stop(flight.FlightCancelledError("the client went away"))
