"""Unpacked arrays for xarray: variables that the core decodes while it reads them, with the values that xarray itself decodes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from xarray import Variable
from xarray.conventions import decode_cf_variable
from xarray.core import indexing

from .. import _native
from ..base.type_aliases import AnyArray
from ..objects.native_objects import reader_of
from .array import Along, HyperslabArray, Key, Store, forward_key


class UnpackedArray(HyperslabArray):
    """A lazy array of decoded numbers."""

    __slots__ = ("_decoding",)

    def __init__(self, store: Store, path: str, datatype: _native.Datatype, shape: tuple[int, ...], decoding: _native.Decoding) -> None:
        super().__init__(store, path, datatype, np.dtype(decoding.dtype), shape)
        self._decoding = decoding

    def _selected(self, key: Key) -> AnyArray:
        forward, turn = forward_key(key, self.shape)
        reader = reader_of(self._store.opened().dataset(self._path))
        shape = _shape_of(forward, self.shape)
        if reader is not None and shape:
            values = np.empty(shape, self.dtype)
            if reader.get_decoded(tuple(forward), shape, self._decoding, values.ctypes.data, values.nbytes):
                turned: AnyArray = values[turn]
                return turned
        return super()._selected(key)

    def _converted(self, values: AnyArray) -> AnyArray:
        found = self._decoding.decode(np.ascontiguousarray(values, values.dtype.newbyteorder("=")).tobytes())
        assert found is not None  # numbers are decoded, all of them
        decoded: AnyArray = np.frombuffer(bytearray(found), self.dtype).reshape(values.shape)
        return decoded

    # An array of xarray goes to other processes, but what the core made of attributes stays.
    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._store, self._path, self._datatype, self.shape)


def _again(store: Store, path: str, datatype: _native.Datatype, shape: tuple[int, ...]) -> UnpackedArray:
    file, number = store.opened().file.find(path)
    decoding = file.decoding(number)
    assert decoding is not None  # it was there, and the file is the same
    return UnpackedArray(store, path, datatype, shape, decoding.as_numbers())


def _shape_of(key: Sequence[Along], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what slices, indexes and lists of indexes select."""
    kept = [(along, extent) for along, extent in zip(key, shape, strict=True) if isinstance(along, slice) or np.ndim(along)]
    return tuple(len(range(*along.indices(extent))) if isinstance(along, slice) else np.size(along) for along, extent in kept)


def unpacked(
    name: str,
    variable: Variable,
    store: Store,
    path: str,
    datatype: _native.Datatype,
    decoding: _native.Decoding | None,
    wanted: bool | Mapping[str, bool],
) -> Variable:
    """The variable as xarray decodes it, but decoded while it is read; `variable` itself if xarray is to decode it: times, truth values,
    and numbers that get another dtype from xarray.

    Args:
        name: Name of the variable.
        variable: The variable with stored values.
        store, path, datatype: Where its values are.
        decoding: What they mean.
        wanted: xarray's `mask_and_scale`.
    """
    is_wanted = wanted if isinstance(wanted, bool) else wanted.get(name, True)
    if not is_wanted or decoding is None or decoding.kind != "number" or decoding.is_plain or decoding.problems:
        return variable
    # xarray says what the result is: its dtype, what is left of the attributes, and the encoding.
    empty = Variable(variable.dims, np.zeros((0,) * variable.ndim, variable.dtype), dict(variable.attrs), dict(variable.encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of several fill values; `scale_factor` of several elements
        try:
            decoded = decode_cf_variable(name, empty, decode_times=False, decode_timedelta=False)
        except (TypeError, ValueError, OverflowError):
            return variable  # xarray's error is its own
    if decoded.dtype != np.dtype(decoding.dtype):
        return variable
    data = UnpackedArray(store, path, datatype, variable.shape, decoding)
    return Variable(variable.dims, indexing.LazilyIndexedArray(data), decoded.attrs, decoded.encoding)
