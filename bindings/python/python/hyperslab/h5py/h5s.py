"""As `h5py.h5s`: dataspaces and selections."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, LimitExceededError
from ..base.type_aliases import AnyArray
from ..values.regions import RegionSelection, canonical
from ._missing import missing_from

NO_CLASS, SCALAR, SIMPLE, NULL = -1, 0, 1, 2
SEL_ERROR, SEL_NONE, SEL_POINTS, SEL_HYPERSLABS, SEL_ALL = range(-1, 4)
SELECT_NOOP, SELECT_SET, SELECT_OR, SELECT_AND, SELECT_XOR, SELECT_NOTB, SELECT_NOTA, SELECT_APPEND, SELECT_PREPEND = range(-1, 8)
UNLIMITED = 2**64 - 1
ALL = 0

_KINDS = {"none": SEL_NONE, "points": SEL_POINTS, "blocks": SEL_HYPERSLABS, "hyperslab": SEL_HYPERSLABS, "all": SEL_ALL}
_ALL, _NONE = RegionSelection("all", []), RegionSelection("none", [])

#: Elements of a dataspace up to which selections are combined.
MAX_COMBINED = 1 << 28

Space = TypeVar("Space", bound="SpaceID")


class SpaceID:
    """A dataspace, and what is selected of it."""

    def __init__(self, shape: tuple[int, ...] | None, maxshape: tuple[int | None, ...] | None = None, selection: RegionSelection | None = None) -> None:
        self._shape, self._maxshape = shape, maxshape if maxshape is not None else shape
        self._selection = _ALL if selection is None else selection

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension; `None` of a null dataspace."""
        return self._shape

    @property
    def maxshape(self) -> tuple[int | None, ...] | None:
        """The maximum extent of each dimension, `None` without a limit; `None` of a null dataspace."""
        return self._maxshape

    @property
    def selection(self) -> RegionSelection:
        """What is selected."""
        return self._selection

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self._shape or ())

    def copy(self: Space) -> Space:
        """The same dataspace with the same selection."""
        return type(self)(self._shape, self._maxshape, self._selection)

    def close(self) -> None:
        """Does nothing."""

    def extent_copy(self, source: SpaceID) -> None:
        """Takes the extents of another dataspace, and selects everything."""
        self.__init__(source._shape, source._maxshape)  # type: ignore[misc]

    def extent_equal(self, other: SpaceID) -> bool:
        """Whether both have the same extents."""
        return (self._shape, self._maxshape) == (other._shape, other._maxshape)

    def set_extent_none(self) -> None:
        """Makes it a null dataspace."""
        self.__init__(None)  # type: ignore[misc]

    def set_extent_simple(self, dims_tpl: Sequence[int], max_dims_tpl: Sequence[int | None] | None = None) -> None:
        """Sets the extents, and selects everything."""
        made = create_simple(dims_tpl, max_dims_tpl)
        self.__init__(made._shape, made._maxshape)  # type: ignore[misc]

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
        return 0 if self._shape is None else math.prod(self._shape)

    def get_simple_extent_type(self) -> int:
        """`NULL`, `SCALAR` or `SIMPLE`."""
        return NULL if self._shape is None else SIMPLE if self._shape else SCALAR

    def is_simple(self) -> bool:
        """Whether it has extents."""
        return self._shape is not None

    # What is selected

    def get_select_type(self) -> int:
        """The kind of selection."""
        return _KINDS[self._selection.kind]

    def get_select_npoints(self) -> int:
        """Number of selected elements."""
        kind, parts = self._selection
        if kind == "all":
            return self.get_simple_extent_npoints()
        if kind == "hyperslab":
            return math.prod(count * block for _, _, count, block in parts[0])
        if kind == "points":
            return len(parts[0])
        return sum(math.prod(last - first + 1 for first, last in zip(*block, strict=True)) for block in parts)

    def select_valid(self) -> bool:
        """Whether the selection lies within the extents."""
        if self._selection.kind in ("all", "none"):
            return True
        return all(last < extent for last, extent in zip(self.get_select_bounds()[1], self._shape or (), strict=True))

    def is_regular_hyperslab(self) -> bool:
        """Whether the selection is one hyperslab."""
        return canonical(*self._selection)[0] == "hyperslab"

    def get_regular_hyperslab(self) -> tuple[tuple[int, ...], ...]:
        """Start, stride, count and block of a hyperslab."""
        kind, axes = self._selection.kind, self._selection.parts[0] if self._selection.parts else []
        if kind == "blocks" and len(self._selection.parts) == 1:
            axes = [[first, 1, 1, last - first + 1] for first, last in zip(*self._selection.parts[0], strict=True)]
            kind = "hyperslab"
        elif kind == "blocks":
            found = canonical(*self._selection)
            kind, axes = found[0], [list(axis) for axis in found[1]]  # type: ignore[arg-type]
        if kind != "hyperslab":
            raise InvalidTypeError("the selection is not a regular hyperslab")
        start, stride, count, block = zip(*axes, strict=True)
        return start, stride, count, block

    def get_select_bounds(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """First and last selected index of each dimension."""
        kind, parts = self._selection
        if kind == "all":
            shape = self._shape or ()
            return (0,) * len(shape), tuple(extent - 1 for extent in shape)
        if kind == "hyperslab":
            return tuple(axis[0] for axis in parts[0]), tuple(start + (count - 1) * stride + block - 1 for start, stride, count, block in parts[0])
        points = [point for part in parts for point in part]
        if not points:
            raise InvalidInputError("nothing is selected")
        return tuple(map(min, zip(*points, strict=True))), tuple(map(max, zip(*points, strict=True)))

    def get_select_elem_npoints(self) -> int:
        """Number of selected points."""
        return len(self.get_select_elem_pointlist())

    def get_select_elem_pointlist(self) -> AnyArray:
        """The coordinates of each selected point."""
        if self._selection.kind != "points":
            raise InvalidInputError("the selection is not one of points")
        return np.array(self._selection.parts[0], np.uint64).reshape(-1, self.rank)

    def get_select_hyper_nblocks(self) -> int:
        """Number of blocks of a selection of hyperslabs."""
        return len(self.get_select_hyper_blocklist())

    def get_select_hyper_blocklist(self) -> AnyArray:
        """First and last corner of each block of a selection of hyperslabs."""
        if self._selection.kind not in ("blocks", "hyperslab"):
            raise InvalidInputError("the selection is not one of hyperslabs")
        blocks = self._selection.parts if self._selection.kind == "blocks" else _blocks_of_axes(self._selection.parts[0])
        return np.array(blocks, np.uint64).reshape(-1, 2, self.rank)

    def select_all(self) -> None:
        """Selects everything."""
        self._selection = _ALL

    def select_none(self) -> None:
        """Selects nothing."""
        self._selection = _NONE

    def select_region(self, region: RegionSelection) -> None:
        """Selects what a region of a dataset has."""
        self._selection = region

    def select_elements(self, coords: Any, op: int = SELECT_SET) -> None:
        """Selects points, in this order."""
        points = np.asarray(coords).reshape(-1, self.rank).tolist()
        before = self._selection.parts[0] if self._selection.kind == "points" else []
        if op not in (SELECT_SET, SELECT_APPEND, SELECT_PREPEND):
            raise InvalidInputError(f"op={op}: points are set, appended or prepended")
        listed = points if op == SELECT_SET else before + points if op == SELECT_APPEND else points + before
        self._selection = RegionSelection("points", [listed]) if listed else _NONE

    def select_hyperslab(
        self, start: Sequence[int], count: Sequence[int], stride: Sequence[int] | None = None, block: Sequence[int] | None = None, op: int = SELECT_SET
    ) -> None:
        """Selects a hyperslab, or combines it with what is selected."""
        ones = (1,) * self.rank
        axes = [list(map(int, axis)) for axis in zip(start, ones if stride is None else stride, count, ones if block is None else block, strict=True)]
        if not self.rank or len(axes) != self.rank:
            raise InvalidInputError(f"a hyperslab of {len(axes)} dimensions in a dataspace of {self.rank}")
        for begin, step, number, size in axes:
            if begin < 0 or step < 1 or number < 0 or size < 0 or (number > 1 and size > step):
                raise InvalidInputError(f"a hyperslab of start {begin}, stride {step}, count {number} and block {size}")
        made = RegionSelection("hyperslab", [axes]) if all(axis[2] and axis[3] for axis in axes) else _NONE
        self._selection = made if op == SELECT_SET else self._combined(made, op)

    def select_copy(self, space: SpaceID) -> None:
        """Selects what is selected in another dataspace of the same extents."""
        self._selection = space._selection

    def combine_select(self: Space, other: SpaceID, op: int) -> Space:
        """The dataspace with what is selected here and there, combined."""
        return type(self)(self._shape, self._maxshape, self._combined(other._selection, op))

    def modify_select(self, other: SpaceID, op: int) -> None:
        """Combines what is selected with what is selected in another dataspace."""
        self._selection = self._combined(other._selection, op)

    def combine_hyperslab(
        self: Space, start: Sequence[int], count: Sequence[int], stride: Sequence[int] | None = None, block: Sequence[int] | None = None, op: int = SELECT_SET
    ) -> Space:
        """The dataspace with a hyperslab combined with what is selected."""
        made = self.copy()
        made.select_hyperslab(start, count, stride, block, op)
        return made

    def select_shape_same(self, other: SpaceID) -> bool:
        """Whether what is selected here and there has the same shape, wherever it lies."""
        if self.get_select_npoints() != other.get_select_npoints():
            return False
        if not self.get_select_npoints():
            return True
        boxes = [mask[_box(mask)] for mask in (self.mask(), other.mask())]
        squeezed = [box.reshape([extent for extent in box.shape if extent != 1]) for box in boxes]
        return bool(np.array_equal(squeezed[0], squeezed[1]))

    def mask(self) -> AnyArray:
        """The selected elements as booleans."""
        return self._mask(self._selection)

    def _combined(self, other: RegionSelection, op: int) -> RegionSelection:
        """What is selected here combined with another selection of this dataspace."""
        combinations: dict[int, Callable[[AnyArray, AnyArray], AnyArray]] = {
            SELECT_SET: lambda a, b: b,
            SELECT_OR: np.logical_or,
            SELECT_AND: np.logical_and,
            SELECT_XOR: np.logical_xor,
            SELECT_NOTB: lambda a, b: a & ~b,
            SELECT_NOTA: lambda a, b: ~a & b,
        }
        if op not in combinations:
            raise InvalidInputError(f"op={op} combines no hyperslabs")
        mask = combinations[op](self._mask(self._selection), self._mask(other))
        return RegionSelection("blocks", _blocks_of_mask(mask)) if mask.any() else _NONE

    def _mask(self, selection: RegionSelection) -> AnyArray:
        """The selected elements as booleans."""
        shape, (kind, parts) = self._shape or (), selection
        if math.prod(shape) > MAX_COMBINED:
            raise LimitExceededError(f"combining selections of {math.prod(shape):,} elements")
        mask = np.full(shape, kind == "all")
        if kind == "points":
            mask[tuple(np.array(parts[0]).T)] = True
        elif kind == "hyperslab":
            mask[np.ix_(*(_indexes(axis, extent) for axis, extent in zip(parts[0], shape, strict=True)))] = True
        elif kind == "blocks":
            for first, last in parts:
                mask[tuple(slice(begin, end + 1) for begin, end in zip(first, last, strict=True))] = True
        return mask


def _indexes(axis: list[int], extent: int) -> AnyArray:
    """The indexes along a dimension."""
    start, stride, count, block = axis
    if start + (count - 1) * stride + block > extent:
        raise InvalidInputError(f"a hyperslab of start {start}, stride {stride}, count {count} and block {block} in {extent} elements")
    return np.asarray(np.add.outer(start + stride * np.arange(count), np.arange(block)).reshape(-1))


def _box(mask: AnyArray) -> tuple[slice, ...]:
    """The smallest box around the elements of a mask."""
    places = np.argwhere(mask)
    return tuple(slice(first, last + 1) for first, last in zip(places.min(axis=0), places.max(axis=0), strict=True))


def _blocks_of_axes(axes: list[list[int]]) -> list[list[list[int]]]:
    """The blocks of a hyperslab, in the order of the elements."""
    start, stride, count, block = (np.array(part) for part in zip(*axes, strict=True))
    firsts = start + np.array(list(np.ndindex(*count))) * stride
    return [[first.tolist(), (first + block - 1).tolist()] for first in firsts]


def _blocks_of_mask(mask: AnyArray) -> list[list[list[int]]]:
    """A mask as blocks, as the HDF5 library divides it: rows that select the same are one block."""
    if mask.ndim == 1:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
        return [[[int(first)], [int(last) - 1]] for first, last in zip(edges[::2], edges[1::2], strict=True)]
    found, first = [], 0
    while first < len(mask):
        last = first
        while last + 1 < len(mask) and np.array_equal(mask[last + 1], mask[first]):
            last += 1
        found += [[[first, *low], [last, *high]] for low, high in _blocks_of_mask(mask[first])]
        first = last + 1
    return found


def create(class_code: int) -> SpaceID:
    """A dataspace of a class: `NULL`, `SCALAR`, or `SIMPLE` without dimensions."""
    if class_code not in (NULL, SCALAR, SIMPLE):
        raise InvalidInputError(f"class_code={class_code}: give NULL, SCALAR or SIMPLE")
    return SpaceID(None if class_code == NULL else ())


def create_simple(dims_tpl: Sequence[int], max_dims_tpl: Sequence[int | None] | None = None) -> SpaceID:
    """A dataspace of these extents and maximum extents (`UNLIMITED` or `None` without a limit)."""
    shape = tuple(int(extent) for extent in dims_tpl)
    if max_dims_tpl is None:
        return SpaceID(shape)
    largest = tuple(None if extent in (None, UNLIMITED) else int(extent) for extent in max_dims_tpl)
    if len(largest) != len(shape) or any(most is not None and most < extent for extent, most in zip(shape, largest, strict=True)):
        raise InvalidInputError(f"maximum extents {largest} of a dataspace of shape {shape}")
    return SpaceID(shape, largest)


__getattr__ = missing_from("h5py.h5s")
