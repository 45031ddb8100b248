"""Times of tables: what they leave unsaid, as warnings, and elapsed times, which are exact in every calendar."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from .. import _native
from ..base.errors import CalendarWarning, DecodingWarning, InvalidInputError
from ..base.extras import LateModule

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: Metadata of a column of times in a calendar that not everybody uses, and of one that stays as it is stored.
_CALENDAR, _UNDECODED = b"hyperslab:calendar", b"hyperslab:undecoded"
#: Elapsed time of what is no date.
_NO_DATE = np.iinfo("i8").min


def report_times(schema: pa.Schema, place: str, stacklevel: int) -> None:
    """Warns of columns whose dates are those of a calendar that not everybody uses, and of numbers that may be dates but were not understood.

    Args:
        schema: The columns.
        place: The table and the file, for the warning.
        stacklevel: As in `warnings.warn`.
    """
    for field in schema:
        metadata = field.metadata or {}
        if (problem := metadata.get(_UNDECODED)) is not None:
            warnings.warn(f"column {field.name!r} stays as it is stored: {problem.decode()} ({place})", DecodingWarning, stacklevel + 1)
        if (calendar := metadata.get(_CALENDAR)) is not None:
            message = f"column {field.name!r} has dates of the calendar {calendar.decode()!r}: differences between them are not durations"
            warnings.warn(f"{message}, which hs.elapsed has ({place})", CalendarWarning, stacklevel + 1)


def elapsed(rows: pa.Table | pa.RecordBatch, column: str) -> pa.Array:
    """Makes durations of the times in a column, since the date that the file counts from, in the file's calendar.

    In a calendar without leap days, for example, the times of tables are those with the same date and clock in the calendar of the
    computer, where 28 February and 1 March may be two days apart. The durations are as in the file.

    Args:
        rows: Rows of a table of Hyperslab, whose columns have the units of the file in their metadata.
        column: Name of a column of times.

    Returns:
        Durations in microseconds; null for missing times.

    Raises:
        InvalidInputError: The column has no times, or no units.

    Example:
        >>> hs.elapsed(f.table("tas").to_arrow(), "time")
    """
    field = rows.schema.field(column)
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    try:
        units = _native.TimeUnits.parse(metadata.get("units", ""), metadata.get("calendar"))
    except ValueError as error:
        raise InvalidInputError(f"column {column!r}: {error}") from None
    values = rows.column(column)
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    is_text = pa.types.is_string(field.type)
    if units is None or not (is_text or pa.types.is_timestamp(field.type)):
        raise InvalidInputError(f"column {column!r} of {field.type} has no times with units of its file, such as 'days since 2000-01-01'")
    if is_text:
        found = np.array(units.elapsed_of_texts(values.to_pylist()), "i8")
    else:
        stamps = values.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0)
        found = np.frombuffer(units.elapsed(np.asarray(stamps).tobytes()), "i8")
    is_missing = np.asarray(values.is_null())
    for index in np.flatnonzero((found == _NO_DATE) & ~is_missing)[:1]:
        raise InvalidInputError(f"column {column!r}: {values[index]} is no date of the calendar {units.calendar!r}")
    return pa.array(found, pa.int64(), mask=is_missing).cast(pa.duration("us"))
