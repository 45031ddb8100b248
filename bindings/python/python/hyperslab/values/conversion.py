"""Value conversion: values of one dtype as another, by the rules of HDF5."""

from __future__ import annotations

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyArray, AnyDtype, Elements, Values


def converted(values: Values, wanted: AnyDtype) -> Elements:
    """Values as another dtype. Integers that are too large or too small become the largest or smallest, and fractions are cut
    off, as in HDF5; numpy would wrap around.

    Raises:
        InvalidTypeError: HDF5 does not convert the one to the other, such as text to numbers.
        InvalidInputError: A NaN should become an integer.
    """
    array = np.asarray(values)
    result = _converted(array, wanted)
    return np.asarray(result) if isinstance(values, np.ndarray) else result[()]


def _converted(values: AnyArray, wanted: AnyDtype) -> AnyArray:
    given = values.dtype
    if given == wanted:
        return values
    if given.names is not None and wanted.names is not None:
        return _compounds(values, wanted)
    kinds = given.kind, wanted.kind
    if given.kind in ("b", "i", "u") and wanted.kind in "ui":
        return _clipped(values.astype(np.uint8) if given.kind == "b" else values, wanted)
    if given.kind == "f" and wanted.kind in "ui":
        return _cut(values, wanted)
    if (given.kind in ("b", "i", "u", "f") and wanted.kind == "f") or (given.kind in "ui" and wanted.kind == "b") or kinds in (("c", "c"), ("S", "S")):
        # Floats that are too large become infinite, as in HDF5.
        with np.errstate(over="ignore"):
            return values.astype(wanted)
    if given.kind == "O" and wanted.kind == "S" and all(isinstance(value, bytes) for value in values.flat):
        return values.astype(wanted)
    raise InvalidTypeError(f"HDF5 does not convert {given} to {wanted}: read the values and use numpy's astype")


def _compounds(values: AnyArray, wanted: AnyDtype) -> AnyArray:
    """Compounds with the fields of `wanted`, matched by name."""
    names, known = wanted.names or (), values.dtype.names or ()
    # Padding between the fields must not leak what the process had in memory.
    out = np.zeros(values.shape, wanted)
    for name in names:
        if name not in known:
            raise InvalidTypeError(f"there is no field {name!r}: the fields are {', '.join(known)}")
        out[name] = _converted(values[name], wanted[name].base)
    return out


def _clipped(values: AnyArray, wanted: AnyDtype) -> AnyArray:
    given, limits = np.iinfo(values.dtype), np.iinfo(wanted)
    if given.min < limits.min or given.max > limits.max:
        values = np.asarray(np.clip(values, max(given.min, limits.min), min(given.max, limits.max)))
    return values.astype(wanted)


def _cut(values: AnyArray, wanted: AnyDtype) -> AnyArray:
    if np.isnan(values).any():
        raise InvalidInputError(f"NaN as {wanted}: there is no such integer")
    limits, wide = np.iinfo(wanted), np.trunc(values if values.dtype.itemsize >= 8 else values.astype(np.float64))
    # As a float, the largest 64-bit integer is one too large: what reaches it is set, not converted.
    low, high = wide <= float(limits.min), wide >= float(limits.max)
    out = np.where(low | high, 0, wide).astype(wanted)
    out[low], out[high] = limits.min, limits.max
    return out
