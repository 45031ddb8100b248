"""Virtual layouts: datasets of a file that is written whose values are in other datasets, put together as with h5py."""

from __future__ import annotations

import math
import os
from typing import Any

from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..base.type_aliases import DtypeLike, Key, MaxShapeLike, Path, ShapeLike
from ..values import dtype_encoding, indexing_keys

#: The end of a selection that grows, as HDF5 and h5py write it.
UNLIMITED = 2**64 - 1

#: Start, stride, count and block of each dimension; `None` is all.
Axes = list[list[int]] | None


def _axes(key: Key, shape: tuple[int, ...]) -> tuple[Axes, int, tuple[int, ...]]:
    """What a key selects, how many elements those are, and their shape."""
    if any(isinstance(along, slice) and along.stop == UNLIMITED for along in (key if isinstance(key, tuple) else (key,))):
        raise UnsupportedError("a virtual dataset that grows with its source (h5py.UNLIMITED): give the extent")
    selected = indexing_keys.select(key, shape)
    if selected.mask is not None or any(not isinstance(axis, tuple) for axis in selected.axes):
        raise UnsupportedError("virtual datasets by masks or lists of indexes: give slices")
    axes = [[start, step, count, 1] if step > 1 else [start, 1, 1, count] for start, count, step in selected.axes]
    return axes, math.prod(selected.box), selected.shape


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
        else:
            dataset = path_or_dataset
            native = getattr(dataset, "_file", None)
            self.path = native.path if native is not None else dataset.file.filename
            self.name, self.shape, dtype = dataset.name, tuple(dataset.shape), dataset.dtype
        self.dtype, self.maxshape = dtype, self.shape if maxshape is None else tuple(dtype_encoding.extents("maxshape", maxshape, unlimited=True))
        self.axes: Axes = None
        self.count = math.prod(self.shape)

    def __getitem__(self, key: Key) -> VirtualSource:
        if self.axes is not None:
            raise SlicedSourceError(f"a part of a part of {self.name}: select it at once")
        part = object.__new__(VirtualSource)
        part.__dict__.update(self.__dict__)
        part.axes, part.count, part.shape = _axes(key, self.shape)
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

    def __init__(self, shape: ShapeLike, dtype: DtypeLike, maxshape: MaxShapeLike | None = None, filename: Path | None = None) -> None:
        self.shape, self.dtype = tuple(dtype_encoding.extents("shape", shape)), dtype
        self.maxshape = None if maxshape is None else dtype_encoding.extents("maxshape", maxshape, unlimited=True)
        #: The file that the layout is for: sources in it are named `.`.
        self.filename = None if filename is None else os.fsdecode(filename)
        self.sources: list[tuple[str, str, Axes, Axes]] = []

    def __setitem__(self, key: Key, source: VirtualSource) -> None:
        if not isinstance(source, VirtualSource):
            raise InvalidTypeError(f"a virtual layout takes a VirtualSource, not {source!r}")
        axes, count, _ = _axes(key, self.shape)
        if count != source.count:
            raise InvalidInputError(f"{source.count} elements of {source.name} for {count} of a virtual dataset")
        path = "." if self.filename is not None and os.path.abspath(source.path) == os.path.abspath(self.filename) else source.path
        self.sources.append((path, source.name, source.axes, axes))
