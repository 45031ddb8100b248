"""Values in a few characters, as reprs, notebooks, pictures and the viewer show them. Tables show all digits."""

from __future__ import annotations

import datetime

import numpy as np

from . import tree
from .attributes import shown

#: Shown instead of a value that is missing.
MISSING = "—"


def value_text(value: object) -> str:
    """A value in a few characters: times to the second, floats with six digits.

    Args:
        value: A value of a dataset.

    Returns:
        The text; `—` if it is missing.

    Example:
        >>> value_text(np.float32(0.1))
        '0.1'
    """
    if value is None or (isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)) and value != value):  # NaN and NaT are not themselves
        return MISSING
    if isinstance(value, np.datetime64):
        return str(value.astype("M8[s]")).removesuffix("T00:00:00").replace("T", " ")
    if isinstance(value, np.timedelta64):
        return str(datetime.timedelta(microseconds=int(value.astype("m8[us]").astype("i8")))).removesuffix(", 0:00:00")
    if type(value).__module__.partition(".")[0] == "cftime":
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, (np.floating, float)):
        return f"{value:.6g}"
    return tree.cut(shown(value) if not isinstance(value, str) else value)
