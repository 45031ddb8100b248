"""Unpacked arrays for xarray: variables that are scaled and masked while they are read, with the values that xarray itself decodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from xarray import Variable
from xarray.conventions import decode_cf_variable
from xarray.core import indexing

from .. import _native
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue
from ..dtypes import is_plain
from ..objects.native_objects import reader_of
from .array import Along, HyperslabArray, Key, Store, forward_key

#: Attributes that unpacking follows.
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value")
#: Units of durations, which xarray decodes by rules of their own; times have "since" in theirs.
_DURATIONS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")


class Unpacking(NamedTuple):
    """How stored numbers become floats: `stored * scale + offset`, and NaN where they are one of `fills`."""

    is_double: bool
    fills: list[float]
    scale: float | None
    offset: float | None

    def numpys(self, stored: AnyArray) -> AnyArray:
        """The same by numpy, of values that were read already."""
        values = stored.astype("f8" if self.is_double else "f4")
        if self.fills:
            values[np.isin(values.astype("f8"), self.fills)] = np.nan
        if self.scale is not None:
            values *= values.dtype.type(self.scale)
        if self.offset is not None:
            values += values.dtype.type(self.offset)
        return values


class UnpackedArray(HyperslabArray):
    """A lazy array of floats, which are stored as other numbers."""

    __slots__ = ("_unpacking",)

    def __init__(self, store: Store, path: str, datatype: _native.Datatype, shape: tuple[int, ...], unpacking: Unpacking) -> None:
        super().__init__(store, path, datatype, np.dtype("f8" if unpacking.is_double else "f4"), shape)
        self._unpacking = unpacking

    def _selected(self, key: Key) -> AnyArray:
        forward, turn = forward_key(key, self.shape)
        reader = reader_of(self._store.opened().dataset(self._path))
        shape = _shape_of(forward, self.shape)
        if reader is not None and shape:
            values = np.empty(shape, self.dtype)
            if reader.get_unpacked(tuple(forward), shape, self._unpacking, values.ctypes.data, values.nbytes):
                turned: AnyArray = values[turn]
                return turned
        return super()._selected(key)

    def _converted(self, values: AnyArray) -> AnyArray:
        return self._unpacking.numpys(values)


def _shape_of(key: Sequence[Along], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what slices, indexes and lists of indexes select."""
    kept = [(along, extent) for along, extent in zip(key, shape, strict=True) if isinstance(along, slice) or np.ndim(along)]
    return tuple(len(range(*along.indices(extent))) if isinstance(along, slice) else np.size(along) for along, extent in kept)


def unpacked(name: str, variable: Variable, store: Store, path: str, datatype: _native.Datatype, wanted: bool | Mapping[str, bool]) -> Variable:
    """The variable as xarray decodes it, but unpacked while it is read; `variable` itself if xarray is to decode it: times, unsigned
    numbers, factors of other types than the result.

    Args:
        name: Name of the variable.
        variable: The variable with stored values.
        store, path, datatype: Where its values are.
        wanted: xarray's `mask_and_scale`.
    """
    attributes = variable.attrs
    is_wanted = wanted if isinstance(wanted, bool) else wanted.get(name, True)
    if not is_wanted or not any(key in attributes for key in _PACKING) or "_Unsigned" in attributes or attributes.get("dtype") == "bool":
        return variable
    units = attributes.get("units")
    dtype = np.dtype(variable.dtype)
    if dtype.kind not in "iuf" or dtype.itemsize not in (1, 2, 4, 8) or not _is_unpacked_by_core(datatype):
        return variable
    if dtype == np.float16 or (isinstance(units, str) and ("since" in units or units in _DURATIONS)):
        return variable
    fills = [number for key in ("_FillValue", "missing_value") if key in attributes for number in np.ravel(attributes[key])]
    factors = [attributes.get(key) for key in ("scale_factor", "add_offset")]
    if any(np.asarray(number).dtype.kind not in "iuf" for number in fills):
        return variable
    # xarray says what the result is: its dtype, what is left of the attributes, and the encoding.
    empty = Variable(variable.dims, np.zeros((0,) * variable.ndim, dtype), dict(attributes), dict(variable.encoding))
    decoded = decode_cf_variable(name, empty, decode_times=False, decode_timedelta=False)
    if decoded.dtype not in (np.dtype("f4"), np.dtype("f8")) or not all(_is_exact(factor, decoded.dtype) for factor in factors):
        return variable
    scale, offset = (None if factor is None else float(factor) for factor in factors)
    numbers = [float(number) for number in fills if not np.isnan(number)]
    data = UnpackedArray(store, path, datatype, variable.shape, Unpacking(decoded.dtype == np.dtype("f8"), numbers, scale, offset))
    return Variable(variable.dims, indexing.LazilyIndexedArray(data), decoded.attrs, decoded.encoding)


def _is_unpacked_by_core(datatype: _native.Datatype) -> bool:
    """Whether the core unpacks numbers as they are stored: plain ones in the byte order of this machine. Variables of netCDF-3 show
    a native dtype, although their numbers are stored big-endian."""
    return datatype.class_name in ("integer", "float") and is_plain(datatype) and np.dtype(f"{datatype.order}i8").isnative


def _is_exact(factor: AttributeValue, dtype: AnyDtype) -> bool:
    """Whether numpy computes with this factor in `dtype`."""
    if factor is None:
        return True
    if np.ndim(factor) or np.asarray(factor).dtype.kind not in "iuf":
        return False
    return np.result_type(np.asarray(factor).dtype, dtype) == dtype
