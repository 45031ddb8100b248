"""Array for xarray: a variable that is read when xarray asks for its values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from .. import _native
from ..base.type_aliases import AnyArray, AnyDtype
from ..dtypes import is_plain
from ..objects.dataset import Dataset
from .opening import OpenedFile
from .point_reading import read_points

#: What a key selects along one dimension: an index, a range, or a list of indexes.
Along = int | slice | AnyArray
Key = tuple[Along, ...]


class Store(Protocol):
    """What a lazy array reads from."""

    def opened(self) -> OpenedFile:
        """The open file."""


class HyperslabArray(BackendArray):
    """A lazy array. Ranges, lists of indexes along several dimensions and points read only what they select; any number of
    threads may read, and none waits for another."""

    __slots__ = ("_datatype", "_path", "_store", "dtype", "shape")

    def __init__(self, store: Store, path: str, datatype: _native.Datatype, dtype: AnyDtype, shape: tuple[int, ...]) -> None:
        self._store, self._path, self._datatype = store, path, datatype
        self.dtype, self.shape = dtype, shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> AnyArray:
        if isinstance(key, indexing.VectorizedIndexer):
            return self._at_points(key.tuple)
        return self._selected(key.tuple)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> AnyArray:
        """As `[]`, in a thread: reading does not hold the interpreter."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _selected(self, key: Key) -> AnyArray:
        """Ranges, indexes and lists of indexes, which select their product. Datasets take lists in any order, but no negative steps."""
        forward, turn = forward_key(key, self.shape)
        return self._converted(array_of(self._store.opened().dataset(self._path), forward)[turn])

    def _at_points(self, key: Key) -> AnyArray:
        return self._converted(read_points(self._store.opened().dataset(self._path), full_points(key, self.shape)))

    def _converted(self, values: AnyArray) -> AnyArray:
        return converted(values, self._datatype, self.dtype)


def array_of(dataset: Dataset, key: Sequence[Along]) -> AnyArray:
    """The selected values of a dataset; of a single element an array without dimensions."""
    if any(isinstance(along, slice) or np.ndim(along) for along in key) or not key:
        return np.asarray(dataset[tuple(key)] if key else dataset[...])
    # An element may be of a type that an array would take apart, such as a sequence: it is read in an array.
    indexes = [int(along) for along in key if not isinstance(along, slice)]
    for index, extent in zip(indexes, dataset.shape, strict=True):
        if not -extent <= index < extent:
            raise IndexError(f"index {index} is outside of a dimension of {extent}")
    places = tuple(slice(index % extent, index % extent + 1) for index, extent in zip(indexes, dataset.shape, strict=True))
    whole: AnyArray = np.asarray(dataset[places])
    first: tuple[int | EllipsisType, ...] = tuple([0] * len(places) + [...])
    return np.asarray(whole[first])


def converted(values: AnyArray, datatype: _native.Datatype, dtype: AnyDtype) -> AnyArray:
    """Values as a variable of xarray has them: text decoded, numbers of netCDF-3 in native byte order."""
    if datatype.class_name == "variable string":
        out = np.empty(values.shape, dtype=object)
        out.reshape(-1)[:] = [value.decode("utf-8", "surrogateescape") for value in values.reshape(-1)]
        return out
    if values.dtype == dtype:
        return values
    if values.dtype.kind == "b" and is_plain(datatype):
        return values.view(dtype)
    return values.astype(dtype)


def full_points(key: Key, shape: tuple[int, ...]) -> list[AnyArray]:
    """The key of a `VectorizedIndexer` as arrays that broadcast: sliced dimensions come after the dimensions of the points."""
    arrays = [along for along in key if isinstance(along, np.ndarray)]
    sliced = [axis for axis, along in enumerate(key) if isinstance(along, slice)]
    ndim = max((along.ndim for along in arrays), default=0) + len(sliced)
    indexes = []
    for axis, along in enumerate(key):
        if isinstance(along, slice):
            place = ndim - len(sliced) + sliced.index(axis)
            along = np.arange(*along.indices(shape[axis])).reshape([-1 if at == place else 1 for at in range(ndim)])
        elif sliced:
            along = np.asarray(along).reshape(np.shape(along) + (1,) * len(sliced))
        indexes.append(np.asarray(along))
    return indexes


def forward_key(key: Key, shape: tuple[int, ...]) -> tuple[list[Along], tuple[slice | EllipsisType, ...]]:
    """A key without negative steps, and the key that turns what it selects."""
    forward: list[Along] = []
    turn: list[slice] = []
    for along, extent in zip(key, shape, strict=True):
        step = (along.step or 1) if isinstance(along, slice) else 1
        forward.append(_reversed(along, extent) if isinstance(along, slice) and step < 0 else along)
        if isinstance(along, slice) or np.ndim(along):
            turn.append(slice(None, None, -1 if step < 0 else 1))
    return forward, (*turn, ...)


def _reversed(backward: slice, extent: int) -> slice:
    """The same elements in increasing order."""
    found = range(*backward.indices(extent))
    return slice(found[-1], found[0] + 1, -found.step) if found else slice(0, 0)
