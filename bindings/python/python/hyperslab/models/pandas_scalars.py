"""pandas' scalars: times, durations, periods, dates and frequencies that pandas pickles as labels of columns and as attributes of an index.

A pickle is not run: of the classes and functions that it names, those here are known, and their arguments have to be numbers and texts."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import UnsupportedError
from .pickled_lists import Parsed, Unpicklable, encoded_bytes, number

if TYPE_CHECKING:
    import pandas

#: Units of times by pandas' number of their resolution.
_RESOLUTIONS = {7: "s", 8: "ms", 9: "us", 10: "ns"}
#: The module of pandas' frequencies, and those that are made of numbers alone.
_OFFSETS = "pandas._libs.tslibs.offsets."
_FREQUENCIES = {
    "Day", "Hour", "Minute", "Second", "Milli", "Micro", "Nano", "Week", "WeekOfMonth", "LastWeekOfMonth", "SemiMonthBegin", "SemiMonthEnd", "MonthBegin", "MonthEnd",
    "QuarterBegin", "QuarterEnd", "YearBegin", "YearEnd", "BusinessDay", "BusinessMonthBegin", "BusinessMonthEnd", "BQuarterBegin", "BQuarterEnd", "BYearBegin", "BYearEnd",
    "HalfYearBegin", "HalfYearEnd", "BHalfYearBegin", "BHalfYearEnd",
}  # fmt: skip


def known(value: Parsed) -> Parsed:
    """A parsed value with pandas' scalars in the place of what a pickle would make.

    Args:
        value: What `pickled_lists.parsed` returned.

    Returns:
        The value; what is not known stays an `Unpicklable`.
    """
    if isinstance(value, list):
        return [known(item) for item in value]
    if isinstance(value, tuple):
        return tuple(known(item) for item in value)
    if isinstance(value, dict):
        return {key: known(item) for key, item in value.items()}
    return _scalar(value) if isinstance(value, Unpicklable) else value


def _scalar(value: Unpicklable) -> Parsed:
    arguments = value.arguments if isinstance(value.arguments, tuple) else None
    make = _MAKERS.get(value.name)
    if value.name.startswith(_OFFSETS) and value.name[len(_OFFSETS) :] in _FREQUENCIES:
        make = _frequency
    if make is None or arguments is None or value.state is not None:
        return number(value)
    try:
        found = make(value.name, arguments)
    except (TypeError, ValueError, OverflowError, KeyError):  # arguments that pandas does not write
        found = None
    return value if found is None else found


def _timestamp(_: str, arguments: tuple[Parsed, ...]) -> pandas.Timestamp:
    import pandas

    count, zone = arguments[0], arguments[2] if len(arguments) > 2 else None
    unit = _RESOLUTIONS[arguments[3]] if len(arguments) > 3 else "ns"
    found = pandas.Timestamp(np.array(count, "i8").view(f"M8[{unit}]")[()])
    return found if zone is None else found.tz_localize("UTC").tz_convert(zone_of(zone))


def _duration(_: str, arguments: tuple[Parsed, ...]) -> pandas.Timedelta:
    import pandas

    unit = _RESOLUTIONS[arguments[1]] if len(arguments) > 1 else "ns"
    return pandas.Timedelta(np.array(arguments[0], "i8").view(f"m8[{unit}]")[()])


def _period(_: str, arguments: tuple[Parsed, ...]) -> pandas.Period | None:
    import pandas

    start, frequency, ordinal = arguments
    frequency = known(frequency)
    return None if start is not None or isinstance(frequency, Unpicklable) else pandas.Period(ordinal=ordinal, freq=frequency)


def _frequency(name: str, arguments: tuple[Parsed, ...]) -> pandas.offsets.BaseOffset | None:
    import pandas

    made = [known(argument) for argument in arguments]
    if not all(argument is None or isinstance(argument, (bool, int, str, datetime.timedelta)) for argument in made):
        return None
    kind = getattr(pandas.offsets, name[len(_OFFSETS) :], None)
    return None if kind is None else kind(*made)


def _date(_: str, arguments: tuple[Parsed, ...]) -> datetime.date | None:
    (packed,) = arguments
    raw = encoded_bytes(packed)
    return datetime.date(raw[0] * 256 + raw[1], raw[2], raw[3]) if isinstance(raw, bytes) and len(raw) == 4 else None


def _datetime(_: str, arguments: tuple[Parsed, ...]) -> datetime.datetime | None:
    raw = encoded_bytes(arguments[0])
    if len(arguments) != 1 or not isinstance(raw, bytes) or len(raw) != 10 or raw[2] > 12:
        return None
    return datetime.datetime(raw[0] * 256 + raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], int.from_bytes(raw[7:], "big"))


def _timedelta(_: str, arguments: tuple[Parsed, ...]) -> datetime.timedelta | None:
    return datetime.timedelta(*arguments) if all(isinstance(argument, int) for argument in arguments) else None


def _not_a_time(_: str, arguments: tuple[Parsed, ...]) -> object:
    import pandas

    return pandas.NaT


def _missing(_: str, arguments: tuple[Parsed, ...]) -> object:
    import pandas

    return pandas.NA


_MAKERS: dict[str, Callable[[str, tuple[Parsed, ...]], object]] = {
    "pandas._libs.tslibs.timestamps._unpickle_timestamp": _timestamp,
    "pandas._libs.tslibs.timestamps.Timestamp": _timestamp,
    "pandas._libs.tslibs.timedeltas._timedelta_unpickle": _duration,
    "pandas._libs.tslibs.timedeltas.Timedelta": _duration,
    "pandas._libs.tslibs.period.Period": _period,
    "pandas._libs.tslibs.nattype.__nat_unpickle": _not_a_time,
    "pandas._libs.tslibs.nattype._nat_unpickle": _not_a_time,
    "pandas._libs.missing.NA": _missing,
    "pandas._libs.missing._get_na": _missing,
    "datetime.date": _date,
    "datetime.datetime": _datetime,
    "datetime.timedelta": _timedelta,
}


def zone_of(zone: Parsed) -> str | datetime.tzinfo:
    """A time zone, which pandas keeps as text or as a pickled object of pytz, zoneinfo or datetime."""
    if not isinstance(zone, Unpicklable):
        return str(zone)
    if zone.name == "datetime.timezone" and isinstance(zone.arguments, tuple):
        offset = known(zone.arguments[0]) if zone.arguments else None
        if isinstance(offset, datetime.timedelta):
            return datetime.timezone(offset)
    if zone.name == "pytz._UTC":
        return "UTC"
    if zone.name in ("pytz._p", "getattr", "__builtin__.getattr", "builtins.getattr") and isinstance(zone.arguments, tuple) and zone.arguments:
        name = zone.arguments[0]
        if isinstance(name, str):
            return name if zone.name == "pytz._p" else zoneinfo.ZoneInfo(name)
    raise UnsupportedError(f"a time zone that is a {zone!r}")
