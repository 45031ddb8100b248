"""Point reading: single elements of a dataset, chunk by chunk and in parallel, instead of the box or the product that holds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ..base.errors import InvalidInputError
from ..base.threads import in_order
from ..base.type_aliases import AnyArray, AnyDtype, Elements

#: If all combinations of the points' indexes are at most this many times the points, they are read at once.
_MAX_PRODUCT = 4
#: Up to this many combinations are read at once: that takes less time than grouping the points.
_SMALL_PRODUCT = 4096
#: Bytes of a run of elements that is read for points of a dataset without chunks.
_RUN_BYTES = 4096
#: Groups of points that a thread reads before it takes the next.
_GROUPS_A_TURN = 16


class Indexable(Protocol):
    """A dataset, as far as points need it."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def chunks(self) -> tuple[int, ...] | None: ...
    @property
    def dtype(self) -> AnyDtype: ...
    def __getitem__(self, key: object) -> Elements: ...


def read_points(dataset: Indexable, indexes: Sequence[AnyArray]) -> AnyArray:
    """Reads the elements at points, as numpy's `values[indexes]` does, without reading all values.

    Args:
        dataset: A dataset.
        indexes: For each dimension an array of integers; they are broadcast against each other. Negative ones count from the end.

    Returns:
        The values, in the shape to which the indexes broadcast.

    Raises:
        IndexError: An index is outside of the dataset.
        InvalidInputError: There is not one array for each dimension.

    Example:
        >>> read_points(f["theta"], [np.array([0, 3]), np.array([1, 1]), np.array([5, 2])])
    """
    shape = dataset.shape
    if len(indexes) != len(shape):
        raise InvalidInputError(f"points with {len(indexes)} coordinates for {len(shape)} dimensions")
    axes = [_positive(np.asarray(along), extent) for along, extent in zip(indexes, shape, strict=True)]
    out_shape = np.broadcast_shapes(*(along.shape for along in axes))
    count = int(np.prod(out_shape, dtype=object))
    if count == 0:
        return np.asarray(dataset[tuple(slice(0, 0) for _ in shape) or ...]).reshape(-1)[:0].reshape(out_shape)
    unique = [np.unique(along, return_inverse=True) for along in axes]
    product = int(np.prod([len(along) for along, _ in unique], dtype=object))
    if product <= max(_MAX_PRODUCT * count, _SMALL_PRODUCT):
        product_key = (*(along for along, _ in unique), ...)
        values: AnyArray = np.asarray(dataset[product_key])
        chosen: AnyArray = values[tuple(back.reshape(along.shape) for (_, back), along in zip(unique, axes, strict=True))]
        return chosen
    points = np.stack([np.broadcast_to(along, out_shape).reshape(-1) for along in axes])
    return _by_groups(dataset, points).reshape(out_shape)


def _positive(along: AnyArray, extent: int) -> AnyArray:
    if along.dtype.kind not in "iu":
        raise InvalidInputError(f"points are given by integers, not by {along.dtype}")
    along = along.astype(np.int64)
    outside = (along < -extent) | (along >= extent)
    if outside.any():
        raise IndexError(f"index {along[outside].reshape(-1)[0]} is outside of a dimension of {extent}")
    return np.where(along < 0, along + extent, along)


def _by_groups(dataset: Indexable, points: AnyArray) -> AnyArray:
    """The elements at `points` (dimensions × points). Elements of one chunk are read together, as the box around them."""
    cells = points // np.asarray(_cell(dataset), dtype=np.int64)[:, np.newaxis]
    order = np.lexsort(cells[::-1])
    ordered = cells[:, order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)]))
    bounds = np.append(starts, len(order))
    out = np.empty(points.shape[1], dtype=dataset.dtype)

    def read(first: int) -> None:
        for group in range(first, min(first + _GROUPS_A_TURN, len(starts))):
            places = order[bounds[group] : bounds[group + 1]]
            chosen = points[:, places]
            low, high = chosen.min(axis=1), chosen.max(axis=1) + 1
            box = (*(slice(int(a), int(b)) for a, b in zip(low, high, strict=True)), ...)
            values = np.asarray(dataset[box])
            out[places] = values[tuple(chosen - low[:, np.newaxis])]

    turns = range(0, len(starts), _GROUPS_A_TURN)
    if len(turns) == 1:
        read(0)
        return out
    # Reading and decoding release the interpreter.
    threads = min(len(turns), os.cpu_count() or 1)
    for _ in in_order((partial(read, first) for first in turns), threads, 2 * threads):
        pass
    return out


def _cell(dataset: Indexable) -> tuple[int, ...]:
    """The box whose points are read together: a chunk, or a run of elements of a dataset without chunks."""
    if dataset.chunks is not None:
        return dataset.chunks
    run = max(_RUN_BYTES // max(dataset.dtype.itemsize, 1), 1)
    return (*(1 for _ in dataset.shape[1:]), run)
