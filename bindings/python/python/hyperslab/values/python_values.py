"""Python values: columns of Arrow as lists, with times that Python does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.extras import LateModule
from ..base.type_aliases import ColumnValue

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


def python_values(column: pa.Array | pa.ChunkedArray) -> list[ColumnValue]:
    """The values of a column. Times outside of the years 1 to 9999, which Python's `datetime` does not have, are text."""
    try:
        found: list[ColumnValue] = column.to_pylist()
    except (OverflowError, ValueError):
        if not pa.types.is_timestamp(column.type):
            raise
        found = [_time(value) for value in column]
    return found


def python_rows(batch: pa.RecordBatch) -> Iterator[dict[str, ColumnValue]]:
    """The rows of a batch by the names of its columns, with the same values."""
    names = batch.schema.names
    for row in zip(*(python_values(column) for column in batch.columns), strict=True):
        yield dict(zip(names, row, strict=True))


def _time(value: pa.TimestampScalar) -> ColumnValue:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        time = np.datetime64(value.value, value.type.unit)
        has_fraction = time != time.astype("datetime64[s]")
        text = np.datetime_as_string(time, value.type.unit if has_fraction else "s").replace("T", " ")
        return f"{text}+00:00" if value.type.tz else str(text)
