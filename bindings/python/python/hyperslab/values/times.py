"""Times: numpy's `datetime64` and `timedelta64` as counts with attributes, which HDF5's readers understand."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyDtype, DtypeLike, Values
from . import dates

#: Units that are stored as others; all of their dates are whole days.
_AS_OTHERS = {"Y": "D", "M": "D", "W": "D"}
#: What numpy has for a time that is missing, `NaT`.
MISSING = -(1 << 63)


def stored_dtype(dtype: DtypeLike | None) -> AnyDtype | None:
    """The dtype of times that counts stand for, `None` of another dtype."""
    if dtype is None or (isinstance(dtype, type) and not issubclass(dtype, np.generic)):
        return None
    given: AnyDtype = np.dtype(dtype)
    if given.kind not in "mM" or dict(given.metadata or {}).get("h5py_opaque"):
        return None
    unit, step = np.datetime_data(given)
    if step != 1 or unit not in {**dates.OF_NUMPY, **(_AS_OTHERS if given.kind == "M" else {"W": "D"})}:
        raise UnsupportedError(f"numpy's {given}: give a unit from days ('{given.kind}8[D]') to nanoseconds ('{given.kind}8[ns]')")
    return np.dtype(f"{given.kind}8[{_AS_OTHERS.get(unit, unit)}]")


def attributes(dtype: AnyDtype) -> dict[str, str | np.int64]:
    """The attributes that say what counts mean: CF's `units` and `calendar`, `_FillValue` for `NaT`, and the Arrow type."""
    unit = np.datetime_data(dtype)[0]
    found: dict[str, str | np.int64] = {"units": dates.OF_NUMPY[unit], "_FillValue": np.int64(MISSING)}
    if dtype.kind == "M":
        found.update(units=f"{dates.OF_NUMPY[unit]} since 1970-01-01 00:00:00", calendar="proleptic_gregorian")
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
    if given.dtype == dtype:
        return given.view("i8")
    refusal = InvalidInputError(f"values of {given.dtype} that {dtype} does not hold")
    if np.datetime_data(given.dtype)[0] in ("ps", "fs", "as"):
        whole = given.astype(f"{given.dtype.kind}8[ns]")
        if not ((whole == given) | np.isnat(given)).all():
            raise refusal
        given = whole
    units, calendar = (attributes(dtype).get(name) for name in ("units", "calendar"))
    decoding = _native.Decoding.of_times("i8", str(units), None if calendar is None else str(calendar), MISSING)
    assert decoding is not None  # the units are those of times
    _, (stored, _, problem) = dates.encoded(decoding, given, None, None, str(given.dtype))
    if problem is not None:
        raise refusal
    return np.frombuffer(stored, "i8").reshape(given.shape)
