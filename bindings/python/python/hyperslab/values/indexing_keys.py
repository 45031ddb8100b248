"""Indexing keys: turns a numpy-style key, with h5py's rules, into a hyperslab to write and the indexing left to numpy.

Reading parses keys in Rust; this module words the errors of wrong ones."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import InvalidIndexError, InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyArray, Key

#: What is read along a dimension: start, count and step, or a list of increasing indexes.
Axis = tuple[int, int, int] | list[int]
#: What numpy picks of that: all of it, the only one, or the places of indexes.
Picked = slice | int | AnyArray


class Selected(NamedTuple):
    """`axes` to read, the `box` they give, and the `shape` of the result. `pick` has for each axis a slice (as it was read),
    0 (dropped) or, of a list that is not increasing, the places of its indexes among those that were read."""

    axes: list[Axis]
    box: tuple[int, ...]
    pick: list[Any]
    shape: tuple[int, ...]
    mask: AnyArray | None = None


def select(key: Key, shape: tuple[int, ...]) -> Selected:
    """What `key` selects of `shape`."""
    keys = key if isinstance(key, tuple) else (key,)
    if len(keys) == 1 and _is_mask(keys[0]) and np.ndim(keys[0]) == len(shape) != 1:
        mask = np.asarray(keys[0])
        if mask.shape != shape:
            raise InvalidTypeError(f"a mask of shape {mask.shape} does not fit shape {shape}")
        return Selected([(0, n, 1) for n in shape], shape, [slice(None)] * len(shape), (int(mask.sum()),), mask)
    if sum(k is Ellipsis for k in keys) > 1:
        raise InvalidInputError("only one ... may be given")
    missing = len(shape) - sum(k is not Ellipsis for k in keys)
    if missing < 0:
        raise InvalidIndexError(f"{len(keys)} indexes for {len(shape)} dimensions")
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys = keys[:at] + (slice(None),) * missing + keys[at + 1 :]
    axes: list[Axis] = []
    pick: list[Picked] = []
    box: list[int] = []
    out: list[int] = []
    for k, extent in zip(keys, shape, strict=True):
        axis, picked, count, kept = _axis(k, extent)
        axes.append(axis)
        pick.append(picked)
        box.append(axis[1] if isinstance(axis, tuple) else len(axis))
        if kept:
            out.append(count)
    return Selected(axes, tuple(box), pick, tuple(out))


def _is_mask(key: Key) -> bool:
    return isinstance(key, (np.ndarray, list)) and np.asarray(key).dtype == bool and (np.size(key) > 0 or np.ndim(key) > 1)


def _axis(key: Any, extent: int) -> tuple[Axis, Picked, int, bool]:
    if isinstance(key, slice):
        try:
            start, stop, step = key.indices(extent)
        except TypeError as error:
            raise InvalidInputError(str(error)) from None
        if step < 1:
            raise InvalidInputError("a step must be 1 or more: read forwards and reverse in numpy")
        count = max(0, -(-(stop - start) // step))  # of extents beyond what len() counts, too
        return ((start, count, step) if count else (0, 0, 1)), slice(None), count, True
    if isinstance(key, (list, tuple, range, np.ndarray)) and np.ndim(key) == 1:
        indices = np.asarray(key)
        if indices.dtype == bool:
            if len(indices) != extent:
                raise InvalidTypeError(f"a mask of {len(indices)} for a dimension of {extent}")
            indices = np.flatnonzero(indices)
        elif indices.size == 0:
            indices = indices.astype(np.int64)
        elif indices.dtype.kind not in "iu":
            raise InvalidTypeError("an index list holds integers or booleans")
        _check(indices, extent)
        indices = np.where(indices < 0, indices + extent, indices)
        if not len(indices) or bool((indices[1:] > indices[:-1]).all()):
            return _runs(indices), slice(None), len(indices), True
        unique, back = np.unique(indices, return_inverse=True)
        return unique.tolist(), back, len(indices), True
    try:
        index = operator.index(key)
    except TypeError:
        raise InvalidTypeError(f"{key!r} is not an index: give integers, slices, ..., masks or lists") from None
    if not -extent <= index < extent:
        raise _outside(index, extent)
    return (index % extent, 1, 1), 0, 1, False


def _runs(indices: AnyArray) -> Axis:
    """Increasing indexes as an axis: a range if they lie side by side."""
    if len(indices) and int(indices[-1]) - int(indices[0]) + 1 == len(indices):
        return int(indices[0]), len(indices), 1
    found: list[int] = indices.tolist()
    return found


def _check(indices: AnyArray, extent: int) -> None:
    for bad in indices[(indices < -extent) | (indices >= extent)][:1]:
        raise _outside(bad, extent)


def _outside(index: int, extent: int) -> IndexError:
    return IndexError(f"index {index} is outside of a dimension of {extent}")


def apply(values: AnyArray, selected: Selected) -> AnyArray:
    """Applies numpy's part of a selection without a mask to the values read. Copies only for lists that are not increasing."""
    kept = [axis for axis, picked in enumerate(selected.pick) if isinstance(picked, slice) or np.ndim(picked)]
    inner = values.shape[len(selected.pick) :]
    values = values.reshape([values.shape[axis] for axis in kept] + list(inner))
    for dimension, axis in enumerate(kept):
        picked = selected.pick[axis]
        if not isinstance(picked, slice):
            values = np.take(values, picked, axis=dimension)
    return values


def slabs(mask: AnyArray, rows: int) -> Iterator[tuple[list[tuple[int, int, int]], tuple[slice, ...]]]:
    """The parts of an array that hold all elements of a mask, in their order: each as axes to read and as slices of the mask.
    A part is the box of the mask's elements in `rows` rows, which begin at a multiple of `rows`."""
    for first in range(0, mask.shape[0], rows):
        part = mask[first : first + rows]
        bounds = []
        for axis in range(mask.ndim):
            some = np.flatnonzero(part.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
            bounds.append((int(some[0]), int(some[-1]) + 1) if len(some) else (0, 0))
        if bounds[0][1]:
            bounds[0] = (first + bounds[0][0], first + bounds[0][1])
            yield [(start, stop - start, 1) for start, stop in bounds], tuple(slice(start, stop) for start, stop in bounds)


#: Bytes of a box of elements that is read and written again to change some of them.
_BOX_BYTES = 32 << 20


class Piece(NamedTuple):
    """Some elements of a box: the box, their row-major numbers in it, and which of the selection's values they get."""

    start: list[int]
    extent: list[int]
    numbers: AnyArray
    values: slice | AnyArray


def pieces(selected: Selected, size: int) -> Iterator[Piece]:
    """A selection by a mask or by lists of indexes as boxes of elements of `size` bytes. Values are indexed by the elements of
    a mask, or by the rows of the selection."""
    if selected.mask is not None:
        row = max(size * int(np.prod(selected.mask.shape[1:], dtype=object)), 1)
        done = 0
        for axes, part in slabs(selected.mask, max(_BOX_BYTES // row, 1)):
            numbers = np.flatnonzero(selected.mask[part])
            yield Piece([axis[0] for axis in axes], [axis[1] for axis in axes], numbers, slice(done, done + len(numbers)))
            done += len(numbers)
        return
    indexes = [_indexes(axis, picked) for axis, picked in zip(selected.axes, selected.pick, strict=True)]
    if any(not len(along) for along in indexes):
        return
    start = [int(along.min()) for along in indexes]
    count = [int(along.max()) - first + 1 for along, first in zip(indexes, start, strict=True)]
    row = max(size * int(np.prod(count[1:], dtype=object)), 1)
    rows = np.argsort(indexes[0], kind="stable")
    first = 0
    while first < len(rows):
        low = int(indexes[0][rows[first]])
        end = int(np.searchsorted(indexes[0][rows], low + max(_BOX_BYTES // row, 1)))
        chosen = rows[first:end]
        box = [int(indexes[0][chosen[-1]]) - low + 1, *count[1:]]
        places = np.ix_(indexes[0][chosen] - low, *(along - begin for along, begin in zip(indexes[1:], start[1:], strict=True)))
        yield Piece([low, *start[1:]], box, np.ravel_multi_index(places, box).reshape(-1), chosen)
        first = end


def _indexes(axis: Axis, picked: Picked) -> AnyArray:
    """The indexes along an axis in the order of the key."""
    if isinstance(axis, tuple):
        start, count, step = axis
        found = np.arange(start, start + count * step, step, dtype=np.int64)
    else:
        found = np.asarray(axis, dtype=np.int64)
    return found if isinstance(picked, slice) or np.ndim(picked) == 0 else found[picked]


def box_of(selected: Selected) -> tuple[list[int], list[int], tuple[slice | AnyArray, ...]]:
    """The box around a selection without a mask: start and count, and numpy's indexes of the selection in it."""
    start: list[int] = []
    count: list[int] = []
    inside: list[slice | AnyArray] = []
    for axis in selected.axes:
        if isinstance(axis, tuple):
            first, n, step = axis
            length = (n - 1) * step + 1 if n else 0
            inside.append(slice(None, None, step))
        else:
            first, length = (axis[0], axis[-1] - axis[0] + 1) if len(axis) else (0, 0)
            inside.append(np.asarray(axis, dtype=np.int64) - first)
        start.append(first)
        count.append(length)
    return start, count, tuple(inside)
