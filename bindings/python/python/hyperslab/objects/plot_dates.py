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
_NAT = np.iinfo("i8").min
_SECONDS = 86400.0
#: Distances of ticks, in seconds, months and years, from the smallest.
_STEPS_OF_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_STEPS_OF_DAYS = (2, 5, 10, 15)
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
    assert decoding is not None and decoding.time is not None
    values = np.ascontiguousarray(stored, np.dtype(dataset.dtype).newbyteorder("="))
    microseconds = np.frombuffer(decoding.microseconds(values.tobytes()), "i8").reshape(values.shape)
    epoch, calendar = decoding.time.epoch, decoding.time.calendar
    return np.where(microseconds == _NAT, np.nan, microseconds / (_SECONDS * 1e6) + _day_of_epoch(epoch, calendar))


def _day_of_epoch(epoch: str, calendar: str) -> float:
    """The first day of the core's counts: of the Julian calendar it is another one than 1970-01-01."""
    if epoch == "1970-01-01":
        return 0.0
    import cftime

    return float(cftime.date2num(cftime.num2date(0, f"days since {epoch}", calendar), "days since 1970-01-01", calendar))


def date_text(day: float, calendar: str) -> str:
    """A date without its time of day if that is midnight."""
    year, month, number, hour, minute, second = _dates(np.array([day]), calendar)[0]
    clock = "" if hour == minute == second == 0 else f" {hour:02d}:{minute:02d}:{second:02d}"
    return f"{year:04d}-{month:02d}-{number:02d}{clock}"


def label_dates(axis: Axis, calendar: str) -> None:
    """Labels an axis of days with the dates of a calendar."""
    from matplotlib.ticker import FuncFormatter, Locator

    start = _start(calendar)

    class DateLocator(Locator):
        """Ticks at the beginnings of years, months, days and parts of days of a calendar."""

        def __call__(self) -> Any:
            return self.tick_values(*sorted(cast(Any, self.axis).get_view_interval()))

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return ticks(vmin - start, vmax - start, calendar) + start

    class DateFormatter(FuncFormatter):
        def format_ticks(self, values: Any) -> list[str]:
            return labels(np.asarray(values, float) - start, calendar)

    axis.set_major_locator(DateLocator())
    axis.set_major_formatter(DateFormatter(lambda day, _: date_text(day - start, calendar)))


def matplotlib_days(values: AnyArray, calendar: str) -> AnyArray:
    """Days since 1970 as an axis of matplotlib counts those of numpy's dates, whose first day can be another one (`date.epoch`)."""
    return values + _start(calendar)


def _start(calendar: str) -> float:
    if calendar != STANDARD:
        return 0.0
    from matplotlib import dates

    count: Any = dates.date2num
    return float(count(np.datetime64("1970-01-01")))


def ticks(low: float, high: float, calendar: str) -> AnyArray:
    """At most about seven days since 1970 at which dates begin."""
    span = max(high - low, 1 / _SECONDS)
    step = next((step for step in _STEPS_OF_SECONDS if span * _SECONDS / step <= _MAX_TICKS), None)
    if step is not None:
        first = np.ceil(round(low * _SECONDS / step, 6))
        return np.arange(first, np.floor(round(high * _SECONDS / step, 6)) + 1) * step / _SECONDS
    first_year, last_year = (int(_dates(np.array([end]), calendar)[0][0]) for end in (low, high))
    in_months = next((step for step in _STEPS_OF_DAYS if span / step <= _MAX_TICKS), None)
    if in_months is not None:
        days_of_month = [day for day in range(0, 28, in_months) if 30 - day >= in_months * 0.7]
        months = [(year, month) for year in range(first_year, last_year + 1) for month in range(1, 13)]
        return _within([begin + day for begin in _beginnings(months, calendar) for day in days_of_month], low, high)
    months_apart = next((step for step in _STEPS_OF_MONTHS if span / (30 * step) <= _MAX_TICKS), None)
    if months_apart is not None:
        return _within(_beginnings([(year, month) for year in range(first_year, last_year + 1) for month in range(1, 13, months_apart)], calendar), low, high)
    years = next((step for step in _STEPS_OF_YEARS if span / (365 * step) <= _MAX_TICKS), _STEPS_OF_YEARS[-1])
    return _within(_beginnings([(year, 1) for year in range(first_year - first_year % years, last_year + 1, years)], calendar), low, high)


def _within(found: list[float], low: float, high: float) -> AnyArray:
    return np.array([day for day in found if low <= day <= high])


def _beginnings(months: list[tuple[int, int]], calendar: str) -> list[float]:
    """The first days of months, without those that the calendar lacks."""
    return [day for year, month in months if (day := _day_of(year, month, calendar)) is not None]


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
    seconds = np.rint(values * _SECONDS).astype(np.int64)
    if calendar == STANDARD:
        return [_date_of_numpy(second) for second in seconds]
    import cftime

    found = np.atleast_1d(cftime.num2date(seconds, "seconds since 1970-01-01", calendar, only_use_cftime_datetimes=True))
    return [(date.year, date.month, date.day, date.hour, date.minute, date.second) for date in found]


def _date_of_numpy(second: int) -> tuple[int, int, int, int, int, int]:
    date = np.datetime64(int(second), "s")
    month = date.astype("datetime64[M]")
    clock = int((date - date.astype("datetime64[D]")).astype(int))
    day = int((date.astype("datetime64[D]") - month.astype("datetime64[D]")).astype(int)) + 1
    year, number = divmod(int(month.astype(int)), 12)
    return year + 1970, number + 1, day, clock // 3600, clock // 60 % 60, clock % 60


def _day_of(year: int, month: int, calendar: str) -> float | None:
    """The first day of a month, in days since 1970; `None` if the calendar has no such year."""
    if calendar == STANDARD:
        return float(np.datetime64((year - 1970) * 12 + month - 1, "M").astype("datetime64[D]").astype(int))
    import cftime

    try:
        return float(cftime.date2num(cftime.datetime(year, month, 1, calendar=calendar), "days since 1970-01-01", calendar))
    except ValueError:
        return None
