"""Times of tables: what they leave unsaid, as warnings, and elapsed times, which are exact in every calendar."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from .. import _native
from ..base.errors import CalendarWarning, DecodingWarning, InvalidInputError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: Metadata of a column of times in a calendar that not everybody uses, and of one that stays as it is stored.
_CALENDAR, _UNDECODED = b"hyperslab:calendar", b"hyperslab:undecoded"
_DAY = 86_400_000_000
#: Days before a month of a year without a 29 February.
_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


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
    is_missing = np.asarray(values.is_null())
    if is_text:
        counts = np.array([0 if text is None else _of_text(text, units.calendar) for text in values.to_pylist()], "i8")
    else:
        counts = np.asarray(values.cast(pa.timestamp("us")).cast(pa.int64()).fill_null(0))
        counts = _noleap(counts) if units.calendar == "noleap" else counts
    # To the nearest microsecond, the later of two, as times are rounded.
    start = (units.reference + 500) // 1000
    return pa.array(counts - start, pa.int64(), mask=is_missing).cast(pa.duration("us"))


def _noleap(microseconds: AnyArray) -> AnyArray:
    """Microseconds since 1970 of dates without leap days."""
    days, clock = np.divmod(microseconds, _DAY)
    dates = days.astype("M8[D]")
    years, months = dates.astype("M8[Y]"), dates.astype("M8[M]")
    count = years.astype("i8") * 365 + _BEFORE_MONTH[(months - years.astype("M8[M]")).astype("i8")] + (dates - months.astype("M8[D]")).astype("i8")
    return np.asarray(count * _DAY + clock)


def _of_text(text: str, calendar: str) -> int:
    """Microseconds since 1970 of a date in ISO 8601."""
    units = _native.TimeUnits.parse(f"microseconds since {text}", calendar)
    assert units is not None  # the core wrote the text
    return (units.reference + 500) // 1000
