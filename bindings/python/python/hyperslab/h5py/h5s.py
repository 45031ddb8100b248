"""As `h5py.h5s`: dataspaces and selections."""

from __future__ import annotations

from ..values.regions import RegionSelection
from ._missing import missing_from, unsupported

NO_CLASS, SCALAR, SIMPLE, NULL = -1, 0, 1, 2
SEL_NONE, SEL_POINTS, SEL_HYPERSLABS, SEL_ALL = range(4)
UNLIMITED = 2**64 - 1
ALL = 0

_SELECTIONS = {"none": SEL_NONE, "points": SEL_POINTS, "blocks": SEL_HYPERSLABS, "hyperslab": SEL_HYPERSLABS, "all": SEL_ALL}


class SpaceID:
    """A dataspace, and what is selected of it."""

    def __init__(self, shape: tuple[int, ...] | None, maxshape: tuple[int | None, ...] | None = None, selection: RegionSelection | None = None) -> None:
        self._shape, self._maxshape, self._selection = shape, maxshape if maxshape is not None else shape, selection

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension; `None` of a null dataspace."""
        return self._shape

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._shape or ())

    def get_simple_extent_ndims(self) -> int:
        """Number of dimensions."""
        return self.rank

    def get_simple_extent_dims(self, maxdims: bool = False) -> tuple[int, ...] | None:
        """Extents, or maximum extents."""
        if not maxdims or self._maxshape is None:
            return self._shape
        return tuple(UNLIMITED if extent is None else extent for extent in self._maxshape)

    def get_simple_extent_npoints(self) -> int:
        """Number of elements."""
        count = 0 if self._shape is None else 1
        for extent in self._shape or ():
            count *= extent
        return count

    def get_simple_extent_type(self) -> int:
        """`NULL`, `SCALAR` or `SIMPLE`."""
        return NULL if self._shape is None else SIMPLE if self._shape else SCALAR

    def is_simple(self) -> bool:
        """Whether it has extents."""
        return self._shape is not None

    def get_select_type(self) -> int:
        """The kind of selection."""
        return SEL_ALL if self._selection is None else _SELECTIONS[self._selection.kind]

    def is_regular_hyperslab(self) -> bool:
        """Whether the selection is one hyperslab."""
        if self._selection is None:
            return False
        return self._selection.kind == "hyperslab" or (self._selection.kind == "blocks" and len(self._selection.parts) == 1)

    def get_regular_hyperslab(self) -> tuple[tuple[int, ...], ...]:
        """Start, stride, count and block of a hyperslab."""
        if self._selection is None or not self.is_regular_hyperslab():
            raise TypeError("the selection is not a regular hyperslab")
        if self._selection.kind == "blocks":
            first, last = self._selection.parts[0]
            ones = (1,) * len(first)
            return tuple(first), ones, ones, tuple(end - begin + 1 for begin, end in zip(first, last, strict=True))
        start, stride, count, block = zip(*self._selection.parts[0], strict=True)
        return start, stride, count, block

    def get_select_bounds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """First and last selected index of each dimension."""
        if self._selection is None or self._selection.kind == "all":
            shape = self._shape or ()
            return (0,) * len(shape), tuple(extent - 1 for extent in shape)
        if self._selection.kind == "hyperslab":
            axes = self._selection.parts[0]
            return tuple(axis[0] for axis in axes), tuple(start + (count - 1) * stride + block - 1 for start, stride, count, block in axes)
        points = [point for part in self._selection.parts for point in part]
        if not points:
            raise ValueError("nothing is selected")
        return tuple(map(min, zip(*points, strict=True))), tuple(map(max, zip(*points, strict=True)))


create = unsupported("h5s.create")
create_simple = unsupported("h5s.create_simple")

__getattr__ = missing_from("h5py.h5s")
