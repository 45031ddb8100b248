"""Dates and durations of numpy, Python and cftime, as counts that the core encodes."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray

#: Nanoseconds of each unit.
STEPS = {"days": 86_400 * 10**9, "hours": 3600 * 10**9, "minutes": 60 * 10**9, "seconds": 10**9, "milliseconds": 10**6, "microseconds": 1000, "nanoseconds": 1}
#: Words of numpy's units.
OF_NUMPY = {"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: What the core has for a time that is missing.
_MISSING = np.iinfo("i8").min


def is_time(values: object) -> bool:
    """Whether the values are dates or durations, of numpy, of Python, or of cftime."""
    if isinstance(values, (np.ndarray, np.generic)) and values.dtype.kind != "O":
        return values.dtype.kind in "mM"
    first = first_of(values)
    return isinstance(first, (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)) or is_cftime(first)


def first_of(values: object) -> Any:
    """The first of nested values that is not None."""
    if isinstance(values, np.ndarray):
        values = values.reshape(-1).tolist() if values.dtype.kind == "O" else values.reshape(-1)[:1]
    if not isinstance(values, (list, tuple, np.ndarray)):
        return values
    return next((first for first in map(first_of, values) if first is not None), None)


def is_cftime(value: object) -> bool:
    """Whether a value is a date of cftime."""
    return (type(value).__module__ or "").partition(".")[0] == "cftime"


def of_numpy(values: object) -> AnyArray:
    """Dates and durations as numpy has them; times with a zone in UTC."""
    given = (
        np.asarray(values) if not isinstance(values, np.ma.MaskedArray) else np.where(np.ma.getmaskarray(values), np.array("NaT", values.dtype), values.data)
    )
    if given.dtype.kind == "O":

        def plain(value: object) -> object:
            if isinstance(value, datetime.datetime) and value.tzinfo is not None:
                return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return value

        flat = [plain(value) for value in given.reshape(-1).tolist()]
        kind = "m" if isinstance(first_of(given), (datetime.timedelta, np.timedelta64)) else "M"
        given = np.array(flat, dtype=f"{kind}8[us]").reshape(given.shape)
    unit, count = np.datetime_data(given.dtype)
    if unit == "generic":
        raise InvalidInputError("dates or durations of numpy without a unit: give one, as datetime64[s]")
    if unit in ("Y", "M", "W") or count != 1:
        if given.dtype.kind == "m" and unit in ("Y", "M"):
            raise UnsupportedError("durations of years or months, which have no fixed length: give days")
        target = "D" if unit in ("Y", "M", "W") else unit
        given = given.astype(f"{given.dtype.kind}8[{target}]")
    if np.datetime_data(given.dtype)[0] not in OF_NUMPY:
        raise UnsupportedError(
            f"numpy's {given.dtype}: netCDF's times are of nanoseconds or longer; convert them first (`values.astype('{given.dtype.kind}8[ns]')`)"
        )
    return given


def encoded(
    decoding: _native.Decoding, values: object, calendar: str | None, epoch: str | None, what: str
) -> tuple[AnyArray, tuple[bytes, bool, tuple[int, str, str] | None]]:
    """Encodes dates or durations.

    Args:
        decoding: How they are stored.
        values: The dates or durations.
        calendar, epoch: The calendar of dates, and the date that the core counts from.
        what: What they are of, for messages.

    Returns:
        The values as an array, and what the core made of them.

    Raises:
        InvalidInputError: Dates of cftime are too far away, or dates are given for durations, or durations for dates.
        UnsupportedError: numpy's unit has no fixed length, or is shorter than a nanosecond.
    """
    if is_cftime(first_of(values)):
        dates = np.asarray(values, dtype=object)
        return dates, decoding.encode_microseconds(_microseconds(dates, calendar, epoch, what).tobytes())
    times = of_numpy(values)
    if (times.dtype.kind == "M") != (decoding.kind == "time"):
        raise InvalidInputError(f"{what}: {'dates for durations' if times.dtype.kind == 'M' else 'durations for dates'}")
    return times, decoding.encode_times(STEPS[OF_NUMPY[np.datetime_data(times.dtype)[0]]], np.ascontiguousarray(times, times.dtype.newbyteorder("=")).tobytes())


def _microseconds(dates: AnyArray, calendar: str | None, epoch: str | None, what: str) -> AnyArray:
    """Dates of cftime as the core counts them."""
    import cftime

    if epoch is None:
        raise InvalidInputError(f"{what}: dates for durations")
    is_missing = np.array([value is None for value in dates.reshape(-1)], dtype=bool).reshape(dates.shape)
    found = np.full(dates.shape, _MISSING)
    counts = np.asarray(cftime.date2num(dates[~is_missing], f"microseconds since {epoch}", calendar))
    if counts.size and counts.dtype.kind != "i":
        raise InvalidInputError(f"{what}: dates that are further than 292,000 years from {epoch}")
    found[~is_missing] = counts
    return found
