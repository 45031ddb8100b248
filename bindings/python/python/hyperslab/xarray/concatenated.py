"""Concatenated arrays for xarray: the datasets of one variable in many files as a single lazy array."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from xarray.backends import BackendArray
from xarray.core import indexing

from .. import _native
from ..base.threads import in_order
from ..base.type_aliases import AnyArray, AnyDtype
from ..objects.dataset import Dataset
from .array import Along, Key, array_of, converted, forward_key, full_points
from .point_reading import read_points

#: Bytes of a selection from which on several threads read files side by side. Each read of a large chunk uses all cores anyway.
_PARALLEL_BYTES = 1 << 20


class DatasetsByFile(Protocol):
    """What a concatenated array reads from."""

    def dataset(self, name: str, file: int) -> Dataset:
        """The dataset of a variable in one of the files."""


class Part(NamedTuple):
    """The part of a selection that is in one file: its number, the indexes along the concatenated dimension there, and the places of
    these elements in the result."""

    file: int
    local: slice | AnyArray
    places: slice | AnyArray


class ConcatenatedArray(BackendArray):
    """A lazy array whose elements along `axis` are in one file after the other. A read asks only the files that hold what it selects."""

    __slots__ = ("_axis", "_bounds", "_datatype", "_name", "_store", "dtype", "shape")

    def __init__(
        self, store: DatasetsByFile, name: str, lengths: Sequence[int], axis: int, shape: tuple[int, ...], dtype: AnyDtype, datatype: _native.Datatype
    ) -> None:
        """An array of the datasets that `store` has of a variable.

        Args:
            store: Gives the dataset of a file; a file that changed is an error.
            name: Name of the variable.
            lengths: Extent of each dataset along `axis`.
            axis: The dimension that is concatenated.
            shape: Shape of the whole.
            dtype: The dtype of the values.
            datatype: The datatype in the files.
        """
        self._store, self._name, self._axis, self._datatype = store, name, axis, datatype
        self._bounds = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.shape, self.dtype = shape, dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> AnyArray:
        if isinstance(key, indexing.VectorizedIndexer):
            return self._at_points(full_points(key.tuple, self.shape))
        return self._selected(key.tuple)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> AnyArray:
        """As `[]`, in a thread: reading does not hold the interpreter."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _selected(self, key: Key) -> AnyArray:
        forward, turn = forward_key(key, self.shape)
        chosen = forward[self._axis]
        if not isinstance(chosen, slice) and np.ndim(chosen) == 0:
            index = int(chosen)
            index += self.shape[self._axis] if index < 0 else 0
            if not 0 <= index < self.shape[self._axis]:
                raise IndexError(f"index {chosen} is outside of a dimension of {self.shape[self._axis]}")
            file = int(np.searchsorted(self._bounds, index, side="right")) - 1
            forward[self._axis] = index - int(self._bounds[file])
            found: AnyArray = self._read(file, forward)[turn]
            return found
        indexes = _indexes(chosen, self.shape[self._axis])
        before = sum(isinstance(along, slice) or np.ndim(along) > 0 for along in forward[: self._axis])
        extents = [len(_indexes(along, extent)) for along, extent in zip(forward, self.shape, strict=True) if isinstance(along, slice) or np.ndim(along)]
        out = np.empty(extents, dtype=self.dtype)

        def read(part: Part) -> None:
            local = [*forward]
            local[self._axis] = part.local
            place = (slice(None),) * before + (part.places,)
            out[place] = self._read(part.file, local)

        self._each(read, list(self._split(indexes)), out.nbytes)
        turned: AnyArray = out[turn]
        return turned

    def _read(self, file: int, key: Sequence[Along]) -> AnyArray:
        """A selection of one file; a single element is an array, too."""
        return converted(array_of(self._store.dataset(self._name, file), key), self._datatype, self.dtype)

    def _read_points(self, file: int, indexes: list[AnyArray]) -> AnyArray:
        return converted(read_points(self._store.dataset(self._name, file), indexes), self._datatype, self.dtype)

    def _at_points(self, indexes: list[AnyArray]) -> AnyArray:
        shape = np.broadcast_shapes(*(along.shape for along in indexes))
        flat = [np.broadcast_to(along, shape).reshape(-1) for along in indexes]
        out = np.empty(len(flat[0]), dtype=self.dtype)

        def read(part: Part) -> None:
            chosen = [along[part.places] for along in flat]
            chosen[self._axis] = np.arange(part.local.start, part.local.stop, part.local.step) if isinstance(part.local, slice) else part.local
            out[part.places] = self._read_points(part.file, chosen)

        self._each(read, list(self._split(_indexes(flat[self._axis], self.shape[self._axis]))), out.nbytes)
        return out.reshape(shape)

    def _split(self, indexes: AnyArray) -> Iterator[Part]:
        """The parts of a selection, file by file."""
        if not len(indexes):
            return
        files = np.searchsorted(self._bounds, indexes, side="right") - 1
        order = np.argsort(files, kind="stable")
        starts = np.flatnonzero(np.concatenate([[True], files[order][1:] != files[order][:-1]]))
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            places = order[start:stop]
            file = int(files[places[0]])
            yield Part(file, _as_slice(indexes[places] - self._bounds[file]), _as_slice(places))

    def _each(self, read: Callable[[Part], None], parts: list[Part], size: int) -> None:
        workers = min(len(parts), os.cpu_count() or 1)
        if workers < 2 or size < _PARALLEL_BYTES:
            for part in parts:
                read(part)
            return
        for _ in in_order((partial(read, part) for part in parts), workers, 2 * workers):
            pass


class StackedArray(ConcatenatedArray):
    """A lazy array with one index of its first dimension for each file, whose datasets do not have that dimension."""

    __slots__ = ()

    def _read(self, file: int, key: Sequence[Along]) -> AnyArray:
        values = super()._read(file, key[1:])
        of_file = key[0]
        return values if not isinstance(of_file, slice) and np.ndim(of_file) == 0 else values[np.newaxis][of_file]

    def _read_points(self, file: int, indexes: list[AnyArray]) -> AnyArray:
        if len(indexes) > 1:
            return super()._read_points(file, indexes[1:])
        return np.full(len(indexes[0]), super()._read(file, [])[()], dtype=self.dtype)


def _indexes(along: Along, extent: int) -> AnyArray:
    """What a slice or an array of integers selects of a dimension, as numbers that are not negative."""
    if isinstance(along, slice):
        return np.arange(*along.indices(extent), dtype=np.int64)
    found = np.asarray(along, dtype=np.int64)
    outside = (found < -extent) | (found >= extent)
    if outside.any():
        raise IndexError(f"index {found[outside][0]} is outside of a dimension of {extent}")
    return np.where(found < 0, found + extent, found)


def _as_slice(indexes: AnyArray) -> slice | AnyArray:
    """Indexes as a slice if they are a range with a positive step, which reads and writes faster."""
    if len(indexes) == 1:
        return slice(int(indexes[0]), int(indexes[0]) + 1)
    steps = np.diff(indexes)
    if steps[0] > 0 and (steps == steps[0]).all():
        return slice(int(indexes[0]), int(indexes[-1]) + 1, int(steps[0]))
    return indexes
