"""Virtual layouts: datasets of a file that is written whose values are in other datasets, put together as with h5py."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..base.type_aliases import DtypeLike, Key, MaxShapeLike, Path, ShapeLike
from ..values import dtype_encoding, indexing_keys
from ..values.described import DescribedType

#: The end of a selection that grows, as HDF5 and h5py write it.
UNLIMITED = 2**64 - 1

#: Start, stride, count and block of each dimension; `None` is all.
Axes = list[list[int]] | None


#: Start, count and step along a dimension, or the indexes.
Along = tuple[int, int, int] | list[int]


class Part:
    """What a key selects of a dataset of a shape."""

    def __init__(self, key: Key, shape: tuple[int, ...]) -> None:
        keys = key if isinstance(key, tuple) else (key,)
        #: The dimensions that grow with the dataset.
        self.growing = [place for place, along in enumerate(keys) if isinstance(along, slice) and along.stop == UNLIMITED]
        if self.growing and Ellipsis in keys:
            raise UnsupportedError("... in a key with h5py.UNLIMITED: give an index or a slice for each dimension")
        selected = indexing_keys.select(
            tuple(slice(along.start, None, along.step) if place in self.growing else along for place, along in enumerate(keys)), shape
        )
        if selected.mask is not None or any(np.ndim(picked) for picked in selected.pick if not isinstance(picked, slice)):
            raise UnsupportedError("virtual datasets by masks, or by lists of indexes that do not increase: give slices or lists that do")
        self.along: list[Along] = [axis if isinstance(axis, tuple) else list(axis) for axis in selected.axes]
        self.count, self.shape = math.prod(selected.box), selected.shape

    @property
    def has_lists(self) -> bool:
        """Whether indexes are listed."""
        return any(isinstance(along, list) for along in self.along)

    def axes(self) -> list[list[int]]:
        """Start, stride, count and block of each dimension, if no indexes are listed."""
        found = []
        for place, along in enumerate(self.along):
            start, count, step = _segment(along, 0, _length(along))
            if place in self.growing:
                found.append([start, step, UNLIMITED, 1])
            else:
                found.append([start, step, count, 1] if step > 1 else [start, 1, 1, count])
        return found

    def cut(self, dimension: int, first: int, last: int) -> Part:
        """The part whose indexes along a dimension are some of these, which lie at equal distances."""
        made = object.__new__(Part)
        made.growing, made.along = self.growing, list(self.along)
        made.along[dimension] = _segment(self.along[dimension], first, last)
        made.count, made.shape = math.prod(map(_length, made.along)), self.shape
        return made


def _length(along: Along) -> int:
    return along[1] if isinstance(along, tuple) else len(along)


def _segment(along: Along, first: int, last: int) -> tuple[int, int, int]:
    """The indexes of some numbers along a dimension."""
    if isinstance(along, tuple):
        return along[0] + first * along[2], last - first, along[2]
    return along[first], last - first, 1


def _ends(along: Along) -> set[int]:
    """Where indexes that lie side by side end, by their numbers."""
    if isinstance(along, tuple):
        return {along[1]}
    return {place for place in range(1, len(along)) if along[place] != along[place - 1] + 1} | {len(along)}


def _pieces(place: Part, source: Part) -> Iterator[tuple[Part, Part]]:
    """A part of a virtual dataset and its source, cut so that no indexes are listed.

    Raises:
        UnsupportedError: Their dimensions do not correspond.
    """
    if not place.has_lists and not source.has_lists:
        yield place, source
        return
    ours, theirs = ([dimension for dimension, along in enumerate(part.along) if _length(along) != 1] for part in (place, source))
    if [_length(place.along[dimension]) for dimension in ours] != [_length(source.along[dimension]) for dimension in theirs]:
        raise UnsupportedError("a list of indexes of a virtual dataset whose source has other dimensions: give the same ones")
    pending = [(place, source)]
    for dimension, other in zip(ours, theirs, strict=True):
        ends = sorted(_ends(place.along[dimension]) | _ends(source.along[other]))
        cuts = list(zip([0, *ends], ends, strict=False))
        pending = [(part.cut(dimension, *cut), whole.cut(other, *cut)) for part, whole in pending for cut in cuts]
    yield from pending


class SlicedSourceError(InvalidInputError, RuntimeError):
    """A part of a part of a source, which is a `RuntimeError` in h5py."""


class VirtualSource:
    """A source of a virtual dataset; `source[2:5]` is a part of it.

    Args:
        path_or_dataset: A dataset of `hyperslab.open` or h5py, or the path of a file.
        name, shape, dtype, maxshape: Of the dataset, if a path is given.

    Example:
        >>> hs.VirtualSource("a.h5", "x", (100,))[10:20]
    """

    def __init__(
        self,
        path_or_dataset: Any,
        name: str | None = None,
        shape: ShapeLike | None = None,
        dtype: DtypeLike | None = None,
        maxshape: MaxShapeLike | None = None,
    ) -> None:
        if isinstance(path_or_dataset, (str, bytes, os.PathLike)):
            if name is None or shape is None:
                raise InvalidTypeError("VirtualSource of a file: give the name and the shape of the dataset")
            self.path, self.name = os.fsdecode(path_or_dataset), name
            self.shape = tuple(dtype_encoding.extents("shape", shape))
        elif any(given is not None for given in (name, shape, dtype, maxshape)):
            raise InvalidTypeError("VirtualSource of a dataset: it has the name, shape, dtype and maxshape")
        else:
            dataset = path_or_dataset
            native = getattr(dataset, "_file", None)
            self.path = native.path if native is not None else dataset.file.filename
            self.name, self.shape, dtype = dataset.name, tuple(dataset.shape), dataset.dtype
        self.dtype, self.maxshape = dtype, self.shape if maxshape is None else tuple(dtype_encoding.extents("maxshape", maxshape, unlimited=True))
        #: What is taken of it; `None` is all.
        self.part: Part | None = None
        self.count = math.prod(self.shape)

    def __getitem__(self, key: Key) -> VirtualSource:
        if self.part is not None:
            raise SlicedSourceError(f"a part of a part of {self.name}: select it at once")
        part = object.__new__(VirtualSource)
        part.__dict__.update(self.__dict__)
        part.part = Part(key, self.shape)
        part.count, part.shape = part.part.count, part.part.shape
        return part


class VirtualLayout:
    """The shape, dtype and sources of a virtual dataset.

    Args:
        shape: Shape of the dataset.
        dtype: Its dtype.
        maxshape: How far each dimension may grow; `None` for no limit.
        filename: The file that will hold the dataset; sources in it are stored without a path.

    Example:
        >>> layout = hs.VirtualLayout((20,), "f8")
        >>> layout[0:10] = hs.VirtualSource("a.h5", "x", (10,))
        >>> f.create_virtual_dataset("x", layout)
    """

    def __init__(self, shape: ShapeLike, dtype: DtypeLike | DescribedType, maxshape: MaxShapeLike | None = None, filename: Path | None = None) -> None:
        self.shape, self.dtype = tuple(dtype_encoding.extents("shape", shape)), dtype
        self.maxshape = None if maxshape is None else dtype_encoding.extents("maxshape", maxshape, unlimited=True)
        #: The file that the layout is for: sources in it are named `.`.
        self.filename = None if filename is None else os.fsdecode(filename)
        self.sources: list[tuple[str, str, Axes, Axes]] = []

    def __setitem__(self, key: Key, source: VirtualSource) -> None:
        if not isinstance(source, VirtualSource):
            raise InvalidTypeError(f"a virtual layout takes a VirtualSource, not {source!r}")
        part = Part(key, self.shape)
        if part.count != source.count:
            raise InvalidInputError(f"a different number: {source.count} elements of {source.name} for {part.count} of a virtual dataset")
        path = "." if self.filename is not None and os.path.abspath(source.path) == os.path.abspath(self.filename) else source.path
        if source.part is None and not part.has_lists:
            self.sources.append((path, source.name, None, part.axes()))
            return
        for place, piece in _pieces(part, source.part or Part(Ellipsis, source.shape)):
            self.sources.append((path, source.name, piece.axes(), place.axes()))
