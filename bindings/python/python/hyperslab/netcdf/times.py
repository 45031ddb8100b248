"""Times in netCDF: dates and durations as CF's counts, and nothing of them lost."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, DtypeLike, Elements
from ..values import dates
from ..values.dates import OF_NUMPY, STEPS

_EPOCH = "1970-01-01 00:00:00"
#: Calendars in which numpy's dates are what they say, some only since the reform of 1582.
_GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")


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
        parsed = _parsed(units, calendar)
        self.is_date = parsed is not None
        step = STEPS.get(units.strip().lower()) if parsed is None else parsed.step
        # Other programs do not read fortnights.
        if step is None or step not in STEPS.values():
            raise InvalidInputError(f"unknown units {units!r}; expected {', '.join(STEPS)}, for dates with since and a date")
        self._word = units.partition(" since ")[0].strip()
        self._epoch = None if parsed is None else parsed.epoch
        number = None if fill is None else np.asarray(fill).item()
        decoding = _native.Decoding.of_times(dtype.str[1:], units if self.is_date else units.strip().lower(), calendar, number)
        assert decoding is not None  # the units are those of times
        self._decoding = decoding

    @property
    def attributes(self) -> dict[str, str]:
        """CF's attributes."""
        return {"units": self.units} if self.calendar is None else {"units": self.units, "calendar": self.calendar}

    def counts(self, values: object, what: str) -> tuple[AnyArray, bool]:
        """The values as counts, and whether some are missing, which are the fill value."""
        given, (stored, has_missing, problem) = dates.encoded(self._decoding, values, self.calendar, self._epoch, f"{what} with units={self.units!r}")
        if problem is not None:
            raise self._refusal(problem[1], given.reshape(-1)[problem[0]], what)
        return np.frombuffer(stored, self.dtype.newbyteorder("=")).reshape(given.shape).astype(self.dtype), has_missing

    def _refusal(self, reason: str, value: object, what: str) -> InvalidInputError | UnsupportedError:
        """Why a value has no count, and what to do."""
        if reason == "other calendar" and self.calendar not in _GREGORIAN:
            return UnsupportedError(f"{what}: numpy's dates in the calendar {self.calendar!r}: give dates of cftime")
        if reason == "other calendar":
            message = f"{what}: {value}: dates before 1582-10-15 in the calendar {self.calendar!r}, which numpy's are not"
            return UnsupportedError(f'{message}: give calendar="proleptic_gregorian"')
        words = {
            "not whole": f'{value} is not a whole number of {self._word}: give finer units, or dtype="f8"',
            "out of range": f"times such as {value} as {self.units!r} do not fit {self.dtype}",
            "means missing": f"{value} has the count {self.fill}, which is the fill value of missing ones: give another fill_value",
            "has no mark": "a missing time, and no fill value for it: give fill_value",
        }
        return InvalidInputError(f"{what}: {words[reason]}")


def of_units(units: AttributeValue, calendar: AttributeValue) -> tuple[str, str] | None:
    """Units and calendar of a variable of numbers, if these are CF's of dates."""
    if not isinstance(units, str) or not isinstance(calendar or "", str):
        return None
    try:
        parsed = _native.TimeUnits.parse(units, calendar)
    except ValueError:
        return None
    return None if parsed is None else (units, (calendar or "standard").lower())


def chosen(values: object, dtype: DtypeLike | None, units: str | None, calendar: str | None, growing: bool, fill: Elements) -> TimeEncoding:
    """The encoding of a variable whose values are `values`, or will be of numpy's `dtype`. Without `units` counts are whole
    and since 1970, in the coarsest unit that loses nothing, or, if the variable grows, in the unit of the values."""
    first = dates.first_of(values)
    stored = np.dtype("i8") if dtype is None or np.dtype(dtype).kind in "mM" else np.dtype(dtype)
    if stored.kind not in "if" or stored.itemsize not in (4, 8):
        raise UnsupportedError(f"times as {stored}: give i4, i8 or f8")
    if dates.is_cftime(first):
        calendar = calendar or first.calendar
        if units is not None:
            return TimeEncoding(units, calendar, stored, fill)
        import cftime

        given = np.array([value for value in np.asarray(values, dtype=object).reshape(-1) if value is not None], dtype=object)
        for word in ("seconds", "microseconds") if growing else ("days", "hours", "minutes", "seconds", "microseconds"):
            units = f"{word} since {_EPOCH}"
            if np.asarray(cftime.date2num(given, units, calendar)).dtype.kind == "i":
                break
        assert units is not None
        return TimeEncoding(units, calendar, stored, fill)
    times = dates.of_numpy(values) if values is not None else np.empty(0, dtype)
    is_date = times.dtype.kind == "M"
    if is_date and calendar is None:
        calendar = "proleptic_gregorian"
    if units is None:
        units = _finest(dates.of_numpy(times), values is None, growing) + (f" since {_EPOCH}" if is_date else "")
    return TimeEncoding(units, calendar if is_date else None, stored, fill)


def _finest(times: AnyArray, later: bool, growing: bool) -> str:
    own = OF_NUMPY[np.datetime_data(times.dtype)[0]]
    counts = times[~np.isnat(times)].astype("i8")
    exact = [word for word, step in STEPS.items() if step >= STEPS[own] and not (counts % (step // STEPS[own])).any()]
    if later:
        return own
    if growing:
        # Later values are as fine as these; nanoseconds only if these need them.
        return "microseconds" if own == "nanoseconds" and "microseconds" in exact else own
    return exact[0] if counts.size else own
