"""Times in netCDF: dates and durations as CF's counts, and nothing of them lost."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, DtypeLike, Elements

#: Nanoseconds of each unit.
_STEPS = {"days": 86_400 * 10**9, "hours": 3600 * 10**9, "minutes": 60 * 10**9, "seconds": 10**9, "milliseconds": 10**6, "microseconds": 1000, "nanoseconds": 1}
_OF_NUMPY = {"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_EPOCH = "1970-01-01 00:00:00"
#: Calendars in which numpy's dates are what they say, some only since the reform of 1582.
_GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")
_REFORM = int(np.datetime64("1582-10-15", "D").astype("i8")) * _STEPS["days"]
_INT = np.iinfo(np.int64)


def is_time(values: object) -> bool:
    """Whether the values are dates or durations, of numpy, of Python, or of cftime."""
    if isinstance(values, (np.ndarray, np.generic)) and values.dtype.kind != "O":
        return values.dtype.kind in "mM"
    first = _first(values)
    return isinstance(first, (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)) or _is_cftime(first)


def _first(values: object) -> Any:
    """The first of nested values that is not None."""
    if isinstance(values, np.ndarray):
        values = values.reshape(-1).tolist() if values.dtype.kind == "O" else values.reshape(-1)[:1]
    if not isinstance(values, (list, tuple, np.ndarray)):
        return values
    return next((first for first in map(_first, values) if first is not None), None)


def _is_cftime(value: object) -> bool:
    return (type(value).__module__ or "").partition(".")[0] == "cftime"


def _of_numpy(values: object) -> AnyArray:
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
        kind = "m" if isinstance(_first(given), (datetime.timedelta, np.timedelta64)) else "M"
        given = np.array(flat, dtype=f"{kind}8[us]").reshape(given.shape)
    unit, count = np.datetime_data(given.dtype)
    if unit == "generic":
        raise InvalidInputError("dates or durations of numpy without a unit: give one, as datetime64[s]")
    if unit in ("Y", "M", "W") or count != 1:
        if given.dtype.kind == "m" and unit in ("Y", "M"):
            raise UnsupportedError("durations of years or months, which have no fixed length: give days")
        target = "D" if unit in ("Y", "M", "W") else unit
        given = given.astype(f"{given.dtype.kind}8[{target}]")
    if np.datetime_data(given.dtype)[0] not in _OF_NUMPY:
        raise UnsupportedError(
            f"numpy's {given.dtype}: netCDF's times are of nanoseconds or longer; convert them first (`values.astype('{given.dtype.kind}8[ns]')`)"
        )
    return given


def _parsed(units: str, calendar: str | None) -> _native.TimeUnits | None:
    """Units of dates; `None` of other units."""
    try:
        return _native.TimeUnits.parse(units, calendar)
    except ValueError as error:
        raise InvalidInputError(f'units={units!r}: {error}; give them as "days since 2000-01-01 00:00:00"') from None


class TimeEncoding:
    """How dates or durations of a variable become counts: `units` and `calendar` are its attributes."""

    def __init__(self, units: str, calendar: str | None, dtype: AnyDtype, fill: Elements) -> None:
        self.units, self.calendar, self.dtype, self.fill = units, calendar, dtype, fill
        dates = _parsed(units, calendar)
        self.is_date = dates is not None
        step = _STEPS.get(units.strip().lower()) if dates is None else dates.step
        # Other programs do not read fortnights.
        if step is None or step not in _STEPS.values():
            raise InvalidInputError(f"unknown units {units!r}; expected {', '.join(_STEPS)}, for dates with since and a date")
        self._step, self._reference = step, 0 if dates is None else dates.reference
        self._word = units.partition(" since ")[0].strip()
        self._epoch = None if dates is None else dates.epoch

    @property
    def attributes(self) -> dict[str, str]:
        """CF's attributes."""
        return {"units": self.units} if self.calendar is None else {"units": self.units, "calendar": self.calendar}

    def counts(self, values: object, what: str) -> tuple[AnyArray, bool]:
        """The values as counts, and whether some are missing, which are the fill value."""
        first = _first(values)
        if _is_cftime(first):
            return self._counts_of_cftime(values, what)
        times = _of_numpy(values)
        if (times.dtype.kind == "M") != self.is_date:
            raise InvalidInputError(f"{what}: {'dates' if times.dtype.kind == 'M' else 'durations'} with units={self.units!r}")
        missing = np.isnat(times)
        if self.is_date:
            self._check_calendar(times[~missing], what)
        step = _STEPS[_OF_NUMPY[np.datetime_data(times.dtype)[0]]]
        top, bottom = self._ratio(times, missing, step)
        whole = top // bottom
        rest = top - whole * bottom
        if self.dtype.kind == "f":
            out = np.where(missing, self.fill, (whole + rest / bottom).astype(self.dtype))
            return np.asarray(out.astype(self.dtype)), bool(missing.any())
        if (rest != 0)[~missing].any():
            worst = times[~missing][(rest != 0)[~missing]].reshape(-1)[0]
            raise InvalidInputError(f'{what}: {worst} is not a whole number of {self._word}: give finer units, or dtype="f8"')
        info = np.iinfo(self.dtype)
        kept = whole[~missing]
        if kept.size and (int(kept.min()) < info.min or int(kept.max()) > info.max):
            raise InvalidInputError(f"{what}: times from {times[~missing].min()} to {times[~missing].max()} as {self.units!r} do not fit {self.dtype}")
        if missing.any() and kept.size and (kept == self.fill).any():
            raise InvalidInputError(f"{what}: a time has the count {self.fill}, which is the fill value of missing ones: give another fill_value")
        out = np.where(missing, 0, whole).astype(self.dtype)
        out[missing] = self.fill
        return out, bool(missing.any())

    def _ratio(self, times: AnyArray, missing: AnyArray, step: int) -> tuple[AnyArray, int]:
        """Counts as fractions: numerators, and the denominator of all. Python's integers if 64 bits do not hold them."""
        divisor = math.gcd(step, self._step, self._reference)
        factor, bottom, shift = step // divisor, self._step // divisor, self._reference // divisor
        given = np.where(missing, 0, times.astype("i8"))
        largest = max(abs(int(given.min())), abs(int(given.max()))) if given.size else 0
        if largest * factor + abs(shift) > _INT.max:
            given = given.astype(object)
        return given * factor - shift, bottom

    def _check_calendar(self, times: AnyArray, what: str) -> None:
        if self.calendar not in _GREGORIAN:
            raise UnsupportedError(f"{what}: numpy's dates in the calendar {self.calendar!r}: give dates of cftime")
        step = _STEPS[_OF_NUMPY[np.datetime_data(times.dtype)[0]]]
        before = self._reference < _REFORM or (times.size and int(times.min().astype("i8")) * step < _REFORM)
        if self.calendar != "proleptic_gregorian" and before:
            raise UnsupportedError(
                f'{what}: dates before 1582-10-15 in the calendar {self.calendar!r}, which numpy\'s are not: give calendar="proleptic_gregorian"'
            )

    def _counts_of_cftime(self, values: object, what: str) -> tuple[AnyArray, bool]:
        import cftime

        given = np.asarray(values, dtype=object)
        missing = np.array([value is None for value in given.reshape(-1)], dtype=bool).reshape(given.shape)
        microseconds = np.asarray(cftime.date2num(given[~missing], f"microseconds since {self._epoch}", self.calendar)).astype(object)
        tops = microseconds * 1000 - self._reference
        whole = tops // self._step
        rest = tops - whole * self._step
        if self.dtype.kind == "i" and rest.any():
            raise InvalidInputError(f'{what}: dates that are not whole numbers of {self._word}: give finer units, or dtype="f8"')
        out = np.full(given.shape, self.fill, dtype=self.dtype)
        out[~missing] = whole if self.dtype.kind == "i" else whole + rest / self._step
        return out, bool(missing.any())


def of_units(units: AttributeValue, calendar: AttributeValue) -> tuple[str, str] | None:
    """Units and calendar of a variable of numbers, if these are CF's of dates."""
    if not isinstance(units, str) or not isinstance(calendar or "", str):
        return None
    try:
        dates = _native.TimeUnits.parse(units, calendar)
    except ValueError:
        return None
    return None if dates is None else (units, (calendar or "standard").lower())


def chosen(values: object, dtype: DtypeLike | None, units: str | None, calendar: str | None, growing: bool, fill: Elements) -> TimeEncoding:
    """The encoding of a variable whose values are `values`, or will be of numpy's `dtype`. Without `units` counts are whole
    and since 1970, in the coarsest unit that loses nothing, or, if the variable grows, in the unit of the values."""
    first = _first(values)
    stored = np.dtype("i8") if dtype is None or np.dtype(dtype).kind in "mM" else np.dtype(dtype)
    if stored.kind not in "if" or stored.itemsize < 4:
        raise UnsupportedError(f"times as {stored}: give i4, i8 or f8")
    if _is_cftime(first):
        calendar = calendar or first.calendar
        if units is not None:
            return TimeEncoding(units, calendar, stored, fill)
        import cftime

        dates = np.array([value for value in np.asarray(values, dtype=object).reshape(-1) if value is not None], dtype=object)
        for word in ("seconds", "microseconds") if growing else ("days", "hours", "minutes", "seconds", "microseconds"):
            units = f"{word} since {_EPOCH}"
            if np.asarray(cftime.date2num(dates, units, calendar)).dtype.kind == "i":
                break
        assert units is not None
        return TimeEncoding(units, calendar, stored, fill)
    times = _of_numpy(values) if values is not None else np.empty(0, dtype)
    is_date = times.dtype.kind == "M"
    if is_date and calendar is None:
        calendar = "proleptic_gregorian"
    if units is None:
        units = _finest(_of_numpy(times), values is None, growing) + (f" since {_EPOCH}" if is_date else "")
    return TimeEncoding(units, calendar if is_date else None, stored, fill)


def _finest(times: AnyArray, later: bool, growing: bool) -> str:
    own = _OF_NUMPY[np.datetime_data(times.dtype)[0]]
    counts = times[~np.isnat(times)].astype("i8")
    exact = [word for word, step in _STEPS.items() if step >= _STEPS[own] and not (counts % (step // _STEPS[own])).any()]
    if later:
        return own
    if growing:
        # Later values are as fine as these; nanoseconds only if these need them.
        return "microseconds" if own == "nanoseconds" and "microseconds" in exact else own
    return exact[0] if counts.size else own
