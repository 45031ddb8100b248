"""Conditions: which rows of the arrays of a group match, how many there are, and the first of them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

from ..base.errors import CancelledError, Error
from ..base.type_aliases import ColumnValue, Json, JsonObject
from ..exporting.plain_values import plain
from ..files.file import File
from ..querying.query import Query, query
from ..values.batch_reader import BatchReader
from ..values.python_values import python_values
from .requests import Refused
from .watching import Watch

#: Rows that are sent at most, rows of a batch while they are counted, and characters of a cell that are shown.
MAX_ROWS, _BATCH_ROWS, _MAX_CELL = 1000, 1 << 20, 500
_WILDCARD = re.compile(r"[*?\[\]{}]")
#: Integers beyond which JavaScript rounds.
_MAX_SAFE = 1 << 53


def matching_rows(file: File, group: str, rows_of: str | None, where: str | None, columns: Sequence[str] | None, limit: int, watch: Watch) -> JsonObject:
    """Counts the rows that match a condition, and reads the first ones.

    Args:
        file: The open file.
        group: Path of the group whose arrays the condition names.
        rows_of: The array whose elements are the rows, if the condition does not say it.
        where: The condition; every row by default.
        columns: Columns of the rows that are read; by default the position and the variables of the condition.
        limit: Number of rows that are read.
        watch: Ends the reading. The count is a lower bound then.

    Returns:
        The answer.

    Raises:
        Error: The condition is wrong, or the data are damaged.
        Gone: The client is gone.
    """
    if not 0 <= limit <= MAX_ROWS:
        raise Refused(422, f"rows is {limit}: give 0 to {MAX_ROWS}")
    asked = query(file, exactly(group), where or None, rows=rows_of)
    names = list(columns or dict.fromkeys(("_row", *asked.names)))
    bounds = asked.bounds()
    count, is_exact = (bounds.lower, True) if bounds.lower == bounds.upper else _count(asked, watch)
    table = _first(asked, names, limit, watch)
    return {
        "count": count,
        "is_exact": is_exact,
        **shown_table(table),
        "explain": asked.explain(),
        "seconds": round(watch.elapsed, 3),
    }


def exactly(path: str) -> str | re.Pattern[str]:
    """What a query takes for the group of a path, also if the path has characters that are wildcards there."""
    return re.compile(f"^{re.escape(path)}$") if _WILDCARD.search(path) else path


def _count(asked: Query, watch: Watch) -> tuple[int, bool]:
    """The number of rows, and whether there was time to count all of them."""
    found = 0
    reader = asked.batches(["_row"], _BATCH_ROWS)
    try:
        with watch.stopping(reader.close):
            for batch in _remaining(reader):
                found += batch.num_rows
    except Error:
        if not watch.is_late and not watch.is_cancelled():
            raise
    watch.check()
    return found, not watch.is_late


def _first(asked: Query, names: list[str], limit: int, watch: Watch) -> pa.Table:
    """The first rows; fewer if the time is over."""
    reader = asked.batches(names, max(1, min(limit, 65536)))
    schema, found, left = reader.schema, [], limit
    try:
        with watch.stopping(reader.close):
            for batch in _remaining(reader) if limit else ():
                found.append(batch.slice(0, left))
                left -= found[-1].num_rows
                if not left:
                    break
    except Error:
        if not watch.is_late and not watch.is_cancelled():
            raise
    watch.check()
    reader.close()
    return pa.Table.from_batches(found, schema=schema)


def _remaining(reader: BatchReader) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            yield reader.read_next_batch()
        except (StopIteration, CancelledError):
            return


def shown_table(table: pa.Table) -> JsonObject:
    """Columns with their types, and rows, as JSON has them."""
    values = [[shown_cell(value) for value in python_values(column)] for column in table.columns]
    return {
        "columns": [{"name": column.name, "type": str(column.type)} for column in table.schema],
        "rows": [list(row) for row in zip(*values, strict=True)],
    }


def shown_cell(value: ColumnValue) -> Json:
    """A value of a table: integers that JavaScript would round become text, and long texts are cut."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        value = int(value)  # DuckDB's sums of integers
    if isinstance(value, int):
        return value if -_MAX_SAFE <= value <= _MAX_SAFE else str(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    found = plain(value)
    if isinstance(found, (list, dict)):
        found = str(value)
    return found[: _MAX_CELL - 1] + "…" if isinstance(found, str) and len(found) > _MAX_CELL else found
