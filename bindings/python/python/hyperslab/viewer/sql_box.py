"""SQL box: read-only queries over the shown files by DuckDB, which reads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ..base.errors import Error, NotFoundError
from ..base.type_aliases import JsonObject
from .conditions import MAX_ROWS, shown_table
from .requests import Refused
from .shown import Shown
from .watching import Gone, Watch

# DuckDB and the parts of the other server are loaded with the first query: the viewer shows files without them.
if TYPE_CHECKING:
    from ..files.file import File
    from ..server.files import SchemaFile

#: What all queries together may use, and how many run at once.
_MEMORY, _QUERIES = 1 << 30, 4
_MAX_BYTES = 64 << 20


class _Tables:
    """The shown files as schemas."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._planned: dict[str, tuple[File, SchemaFile]] = {}

    def open(self, name: str) -> SchemaFile:
        from ..server.files import SchemaFile

        try:
            file = self._shown.file(name)
        except Refused as refused:
            raise NotFoundError(refused.message) from None
        known = self._planned.get(name)
        if known is None or known[0] is not file:
            # One of each name: an older version of a file goes with its views.
            known = self._planned[name] = (file, SchemaFile(name, file.filename, file, lambda: file))
        return known[1]


class SqlBox:
    """Runs queries.

    Args:
        shown: The files whose tables may be named.
        seconds: Time that a query may take.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """

    def __init__(self, shown: Shown, seconds: float) -> None:
        from ..server.database import Database
        from ..server.limits import Limits
        from ..server.metrics import Metrics
        from ..server.queries import Queries

        limits = Limits(rows=1 << 62, bytes=_MAX_BYTES, seconds=seconds, queries=_QUERIES, memory=_MEMORY)
        self._database = Database(_Tables(shown), limits.memory)
        self._queries = Queries(self._database, limits, Metrics())

    def run(self, text: str, file: str, limit: int, watch: Watch) -> JsonObject:
        """Runs a query.

        Args:
            text: One SELECT or another statement that reads.
            file: The file whose tables need no prefix.
            limit: Number of rows that are sent.
            watch: Stops the query if its client goes away.

        Returns:
            The answer; `has_more` says that the result has further rows.

        Raises:
            Refused: The query is wrong, takes too long, or is about something that is not shown.
            Gone: The client is gone.
        """
        if not 1 <= limit <= MAX_ROWS:
            raise Refused(422, f"rows is {limit}: give 1 to {MAX_ROWS}")
        from pyarrow import flight

        try:
            statement = self._database.statement(text, file)
            query = self._queries.start(watch, [lambda connection: self._database.relation(connection, statement, None, file)])
            query.attach(watch)
            found, left, has_more = [], limit, False
            rows = query.batches()
            try:
                for batch in rows:
                    found.append(batch.slice(0, left))
                    has_more = batch.num_rows > left
                    left -= found[-1].num_rows
                    if has_more:
                        break
            finally:
                rows.close()  # ends the query
        except (flight.FlightError, pa.ArrowNotImplementedError, Error) as error:
            if watch.is_cancelled():
                raise Gone from None
            raise _refused(error) from None
        table = pa.Table.from_batches(found, schema=query.schema)
        return {**shown_table(table), "has_more": has_more, "seconds": round(watch.elapsed, 3)}

    def close(self) -> None:
        """Stops all queries."""
        self._queries.close()
        self._database.close()


def _refused(error: Exception) -> Refused:
    """What Flight would send, as HTTP has it."""
    from pyarrow import flight

    # Arrow adds what is for its own protocol after the message.
    message = str(error).partition(". Detail:")[0].removeprefix("Flight error: ")
    if isinstance(error, flight.FlightUnauthorizedError):
        return Refused(403, message)
    if isinstance(error, (flight.FlightTimedOutError, flight.FlightUnavailableError)):
        return Refused(503, message)
    if isinstance(error, flight.FlightInternalError):
        return Refused(500, message)
    return Refused(422, message)
