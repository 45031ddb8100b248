"""Dates in pictures: times as days since 1970 in the calendar of the file, and axes that label them with its dates."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..base.type_aliases import AnyArray
from .decoding import decoding_of

if TYPE_CHECKING:
    from matplotlib.axis import Axis

#: The calendar whose dates numpy and matplotlib have.
STANDARD = "standard"
#: Days of 1 January 1 and of 1 January 9999 since 1970: matplotlib labels the dates between them.
_FIRST_DAY, _LAST_DAY = -719162.0, 2932532.0
_NAT = np.iinfo("i8").min
_SECONDS = 86400.0
#: Distances of ticks, in seconds, months and years, from the smallest.
_STEPS_OF_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000)
_STEPS_OF_MONTHS = (1, 2, 3, 6)
_STEPS_OF_YEARS = tuple(base * 10**power for power in range(7) for base in (1, 2, 5))
_MAX_TICKS = 7


def calendar_of(dataset: Any) -> str | None:
    """The calendar of a dataset of times; `None` if it has other values, or times that are drawn as numbers: months, and dates of a calendar that needs
    cftime if that is not installed."""
    # An enumeration, and times of HDF5's own class, have no units.
    if dataset.dtype.kind not in "iuf" or dataset._about["datatype"].class_name not in ("integer", "float"):
        return None
    decoding = decoding_of(dataset)
    if decoding is None or decoding.time is None or decoding.problems:
        return None
    calendar = decoding.time.calendar
    if calendar in ("standard", "proleptic_gregorian"):
        return STANDARD
    return calendar if importlib.util.find_spec("cftime") else None


def days(dataset: Any, stored: AnyArray) -> AnyArray:
    """Stored times as days since 1970 in their calendar; missing ones are NaN."""
    decoding = decoding_of(dataset)
    assert decoding is not None
    values = np.ascontiguousarray(stored, np.dtype(dataset.dtype).newbyteorder("="))
    microseconds = np.frombuffer(decoding.microseconds(values.tobytes()), "i8").reshape(values.shape)
    return np.where(microseconds == _NAT, np.nan, microseconds / (_SECONDS * 1e6))


def date_text(day: float, calendar: str) -> str:
    """A date without its time of day if that is midnight."""
    year, month, number, hour, minute, second = _dates(np.array([day]), calendar)[0]
    clock = "" if hour == minute == second == 0 else f" {hour:02d}:{minute:02d}:{second:02d}"
    return f"{year:04d}-{month:02d}-{number:02d}{clock}"


def label_dates(axis: Axis, calendar: str, low: float, high: float) -> None:
    """Labels an axis of days since 1970 with the dates of a calendar; `low` and `high` are the ends of its values."""
    dates = _matplotlib_dates()
    margin = 1 + (high - low)
    if calendar == STANDARD and low - margin > _FIRST_DAY and high + margin < _LAST_DAY:
        locator = dates.AutoDateLocator()
        axis.set_major_locator(locator)
        axis.set_major_formatter(dates.AutoDateFormatter(locator))
        return
    if calendar == STANDARD and not importlib.util.find_spec("cftime"):
        return
    from matplotlib.ticker import FuncFormatter, Locator

    class DateLocator(Locator):
        """Ticks at the beginnings of years, months, days and parts of days of a calendar."""

        def __call__(self) -> Any:
            return self.tick_values(*sorted(cast(Any, self.axis).get_view_interval()))

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return ticks(vmin, vmax, calendar)

    class DateFormatter(FuncFormatter):
        def format_ticks(self, values: Any) -> list[str]:
            return labels(np.asarray(values, float), calendar)

    axis.set_major_locator(DateLocator())
    axis.set_major_formatter(DateFormatter(lambda day, _: date_text(day, calendar)))


def _matplotlib_dates() -> Any:
    from matplotlib import dates

    return dates


def matplotlib_days(values: AnyArray, calendar: str) -> AnyArray:
    """Days since 1970 as matplotlib counts them, whose first day can be another one (`date.epoch`)."""
    dates = _matplotlib_dates()
    return values + float(dates.date2num(np.datetime64("1970-01-01"))) if calendar == STANDARD else values


def ticks(low: float, high: float, calendar: str) -> AnyArray:
    """At most about seven days since 1970 at which dates begin."""
    span = max(high - low, 1 / _SECONDS)
    step = next((step for step in _STEPS_OF_SECONDS if span * _SECONDS / step <= _MAX_TICKS and step / _SECONDS <= 10), None)
    if step is not None:
        first = np.ceil(round(low * _SECONDS / step, 6))
        return np.arange(first, np.floor(round(high * _SECONDS / step, 6)) + 1) * step / _SECONDS
    first_year, last_year = (int(_dates(np.array([end]), calendar)[0][0]) for end in (low, high))
    months = next((step for step in _STEPS_OF_MONTHS if span / (30 * step) <= _MAX_TICKS), None)
    years = next((step for step in _STEPS_OF_YEARS if span / (365 * step) <= _MAX_TICKS), _STEPS_OF_YEARS[-1])
    begin = first_year - first_year % years if months is None else first_year
    beginnings = [
        (year, month)
        for year in range(begin, last_year + 1, years if months is None else 1)
        for month in (range(1, 13, months) if months is not None else (1,))
    ]
    found = np.array([day for year, month in beginnings if (day := _day_of(year, month, calendar)) is not None])
    return found[(found >= low) & (found <= high)]


def labels(values: AnyArray, calendar: str) -> list[str]:
    """Texts of dates that are as long as they have to be to tell them apart."""
    if not len(values):
        return []
    found = _dates(values, calendar)
    if all(date[1:] == (1, 1, 0, 0, 0) for date in found):
        return [f"{date[0]:04d}" for date in found]
    if all(date[2:] == (1, 0, 0, 0) for date in found):
        return [f"{date[0]:04d}-{date[1]:02d}" for date in found]
    day = [f"{date[0]:04d}-{date[1]:02d}-{date[2]:02d}" for date in found]
    if all(date[3:] == (0, 0, 0) for date in found):
        return day
    clock = [f"{date[3]:02d}:{date[4]:02d}" + (f":{date[5]:02d}" if any(other[5] for other in found) else "") for date in found]
    return [f"{one} {other}" for one, other in zip(day, clock, strict=True)]


def _dates(values: AnyArray, calendar: str) -> list[tuple[int, int, int, int, int, int]]:
    """Year, month, day, hour, minute and second."""
    import cftime

    whole = np.rint(values * _SECONDS).astype(np.int64)
    name = "proleptic_gregorian" if calendar == STANDARD else calendar
    found = np.atleast_1d(cftime.num2date(whole, "seconds since 1970-01-01", name, only_use_cftime_datetimes=True))
    return [(date.year, date.month, date.day, date.hour, date.minute, date.second) for date in found]


def _day_of(year: int, month: int, calendar: str) -> float | None:
    """The first day of a month, in days since 1970; `None` if the calendar has no such year."""
    import cftime

    name = "proleptic_gregorian" if calendar == STANDARD else calendar
    try:
        return float(cftime.date2num(cftime.datetime(year, month, 1, calendar=name), "days since 1970-01-01", name))
    except ValueError:
        return None
