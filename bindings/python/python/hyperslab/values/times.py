"""Times: numpy's `datetime64` and `timedelta64` as counts with attributes, which HDF5's readers understand."""

from __future__ import annotations

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyDtype, DtypeLike, Values

_UNITS = {"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: Units that are stored as others; all of their dates are whole days.
_AS_OTHERS = {"Y": "D", "M": "D", "W": "D"}
#: What numpy has for a time that is missing, `NaT`.
MISSING = -(1 << 63)


def stored_dtype(dtype: DtypeLike | None) -> AnyDtype | None:
    """The dtype of times that counts stand for, `None` of another dtype."""
    if dtype is None or (isinstance(dtype, type) and not issubclass(dtype, np.generic)):
        return None
    given: AnyDtype = np.dtype(dtype)
    if given.kind not in "mM":
        return None
    unit, step = np.datetime_data(given)
    if step != 1 or unit not in {**_UNITS, **(_AS_OTHERS if given.kind == "M" else {"W": "D"})}:
        raise UnsupportedError(f"numpy's {given}: give a unit from days ('{given.kind}8[D]') to nanoseconds ('{given.kind}8[ns]')")
    return np.dtype(f"{given.kind}8[{_AS_OTHERS.get(unit, unit)}]")


def attributes(dtype: AnyDtype) -> dict[str, str | np.int64]:
    """The attributes that say what counts mean: CF's `units` and `calendar`, `_FillValue` for `NaT`, and the Arrow type."""
    unit = np.datetime_data(dtype)[0]
    found: dict[str, str | np.int64] = {"units": _UNITS[unit], "_FillValue": np.int64(MISSING)}
    if dtype.kind == "M":
        found.update(units=f"{_UNITS[unit]} since 1970-01-01 00:00:00", calendar="proleptic_gregorian")
    if unit in ("s", "ms", "us", "ns"):
        found["arrow_type"] = f"{'timestamp' if dtype.kind == 'M' else 'duration'}[{unit}]"
    return found


def counts(values: Values, dtype: AnyDtype) -> Values:
    """Times as counts of the unit of `dtype`; other values are unchanged."""
    given = np.asanyarray(values)
    if given.dtype.kind not in "mM":
        return values
    if given.dtype.kind != dtype.kind:
        raise InvalidInputError(f"{given.dtype} in a dataset of {dtype}")
    missing = np.isnat(given)
    try:
        cast = given.astype(dtype)
        fits = bool((missing | (cast.astype(given.dtype) == given)).all()) and not (np.isnat(cast) & ~missing).any()
    except OverflowError:
        fits = False
    if not fits:
        raise InvalidInputError(f"values of {given.dtype} that {dtype} does not hold")
    return cast.view("i8")
