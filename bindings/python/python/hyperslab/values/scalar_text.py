"""Single values for people, as reprs, notebooks, pictures, the viewer and the command line show them: missing ones, times and floats."""

from __future__ import annotations

import datetime

import numpy as np

#: Shown instead of a value that is missing.
MISSING = "—"


def scalar_text(value: object, is_exact: bool = False) -> str | None:
    """A missing value, a time or a float in a few characters.

    Args:
        value: A value of numpy, Python, Arrow or cftime.
        is_exact: With all digits, as tables show values: else times to the second, floats with six digits, and NaN as missing.

    Returns:
        The text; `None` for values of other kinds.
    """
    if value is None or (isinstance(value, (np.datetime64, np.timedelta64)) and np.isnat(value)):
        return MISSING
    if isinstance(value, (float, np.floating)):
        if is_exact:
            return str(value)
        return MISSING if value != value else f"{value:.6g}"
    if isinstance(value, np.datetime64):
        return _date(str(value if is_exact else value.astype("M8[s]")).replace("T", " "))
    if isinstance(value, np.timedelta64):
        return _duration(datetime.timedelta(microseconds=int(value.astype("m8[us]").astype("i8"))))
    if isinstance(value, datetime.datetime):
        return _date(str(value if is_exact else value.replace(microsecond=0)))
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if type(value).__module__.partition(".")[0] == "cftime":
        return _date(str(value))
    return None


def _date(text: str) -> str:
    """A date and a time of day, but for midnight and zeros of a fraction."""
    date, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0") if fraction.isdigit() else fraction
    return f"{date}.{fraction}" if fraction else date.removesuffix(" 00:00:00")


def _duration(duration: datetime.timedelta) -> str:
    return str(duration).removesuffix(", 0:00:00")
