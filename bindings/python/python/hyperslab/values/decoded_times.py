"""Times of netCDF variables in numpy: `datetime64`, `timedelta64`, or dates of cftime in calendars that numpy lacks."""

from __future__ import annotations

import re

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray

_NANOSECONDS = {
    "nanosecond": 1,
    "microsecond": 1_000,
    "millisecond": 1_000_000,
    "second": 1_000_000_000,
    "minute": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
}
_SHORT = {"d": "day", "h": "hour", "hr": "hour", "min": "minute", "s": "second", "sec": "second", "msec": "millisecond", "us": "microsecond"}
_REFERENCE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[T ]\s*)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?\s*(?:Z|UTC|\+?00:?00)?\s*")
#: Before it, `standard` is the Julian calendar, which numpy lacks.
_REFORM = np.datetime64("1582-10-15", "us")
#: Beyond the range of 64 bits of nanoseconds, so a number of Python.
_REFORM_NANOSECONDS = int(_REFORM.astype("i8")) * 1000
_LIMIT = 1 << 63


class Times:
    """How numbers become times.

    Attributes:
        dtype: numpy's dtype: `datetime64[ns]`, `timedelta64[ns]`, or objects of cftime.
    """

    def __init__(self, units: str, calendar: str, nanoseconds: int, reference: np.datetime64 | None, is_duration: bool) -> None:
        self._units, self._calendar, self._nanoseconds = units, calendar, nanoseconds
        self._reference, self._is_duration = reference, is_duration
        self.dtype = np.dtype("m8[ns]" if is_duration else "O" if reference is None else "M8[ns]")

    def decoded(self, numbers: AnyArray, is_missing: AnyArray) -> AnyArray:
        """Times of numbers. Dates beyond the range of nanoseconds (1678 to 2262) and those before 1582-10-15 in the calendar `standard` make all of
        them objects of cftime."""
        is_missing = is_missing | np.isnan(numbers) if numbers.dtype.kind == "f" else is_missing
        if self._reference is not None or self._is_duration:
            counts = self._counts(numbers, is_missing)
            if counts is not None:
                return counts
            if self._is_duration:
                raise InvalidInputError(f"durations in {self._units!r} beyond 292 years, which numpy's nanoseconds do not hold: read them without `decoded`")
        return self._dates(numbers, is_missing)

    def _counts(self, numbers: AnyArray, is_missing: AnyArray) -> AnyArray | None:
        start = 0 if self._reference is None else int(self._reference.astype("M8[ns]").astype("i8"))
        known = numbers[~is_missing]
        out = np.full(numbers.shape, np.datetime64("NaT") if self.dtype.kind == "M" else np.timedelta64("NaT"), dtype=self.dtype)
        if not known.size:
            return out
        limits = (
            [round(float(known.min()) * self._nanoseconds), round(float(known.max()) * self._nanoseconds)]
            if known.dtype.kind == "f"
            else [
                int(known.min()) * self._nanoseconds,
                int(known.max()) * self._nanoseconds,
            ]
        )
        if not all(-_LIMIT < start + limit < _LIMIT - 1 and -_LIMIT < limit < _LIMIT for limit in limits):
            return None
        if known.dtype.kind == "f":
            # Whole units and their fractions apart: a double of days has fewer digits than nanoseconds need.
            whole = np.floor(known)
            counts = whole.astype("i8") * self._nanoseconds + np.rint((known - whole).astype("f8") * self._nanoseconds).astype("i8")
        else:
            counts = known.astype("i8") * self._nanoseconds
        if self.dtype.kind == "M" and self._calendar in ("standard", "gregorian") and start + min(limits) < _REFORM_NANOSECONDS:
            return None
        out[~is_missing] = (counts + start).astype(self.dtype)
        return out

    def _dates(self, numbers: AnyArray, is_missing: AnyArray) -> AnyArray:
        from ..base.extras import require

        require("decoded", "times", "cftime")
        import cftime

        out = np.full(numbers.shape, None, dtype=object)
        if (~is_missing).any():
            try:
                out[~is_missing] = cftime.num2date(numbers[~is_missing], self._units, self._calendar, only_use_cftime_datetimes=True)
            except (TypeError, ValueError, OverflowError) as error:  # cftime raises TypeError for dates that it cannot parse
                raise InvalidInputError(f"{self._units!r} in the calendar {self._calendar!r} cannot be decoded: {error}") from None
        return out


def times_of(units: str, calendar: str) -> Times | None:
    """How a variable with these units is decoded; `None` if they are not times."""
    word, since, reference = units.partition(" since ")
    word = word.strip().lower()
    if not since:
        plural = {f"{name}s": nanoseconds for name, nanoseconds in _NANOSECONDS.items()}
        # As in xarray, only the plural is a duration: other variables have units such as `s`.
        return Times(units, "", plural[units], None, True) if units in plural else None
    singular = word.removesuffix("s") if len(word) > 2 else word
    unit = _SHORT.get(singular, singular) if singular not in _NANOSECONDS else singular
    calendar = calendar.lower()
    if unit not in _NANOSECONDS and unit not in ("month", "year", "common_year"):
        return None
    matched = _REFERENCE.fullmatch(reference)
    start = None
    if matched and unit in _NANOSECONDS and calendar in ("standard", "gregorian", "proleptic_gregorian"):
        year, month, day, hour, minute, second = (int(part or 0) for part in matched.groups()[:6])
        try:
            start = np.datetime64(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{(matched[7] or '').ljust(9, '0')[:6]}", "us")
        except ValueError:
            return None
        is_julian = calendar != "proleptic_gregorian" and start < _REFORM
        if is_julian or not np.datetime64("1677-09-22", "us") < start < np.datetime64("2262-04-11", "us"):
            start = None
    return Times(units, calendar, _NANOSECONDS.get(unit, 0), start, False)
