"""Connected components: matching cells that touch each other, with sizes and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..base.type_aliases import Int64Array


class Components(NamedTuple):
    """Groups of matching cells that are connected. Components are numbered from 0 over all steps, in the order of their first cell.

    Attributes:
        labels: The component of each matching row, in the order of `positions()`.
        sizes: Number of cells of each component.
        steps: The step of each component.
        lower: Lowest index of each component along each dimension, with shape (components, dimensions).
        upper: The index after the highest one, so that `array[lower:upper]` holds the component.
    """

    labels: Int64Array
    sizes: Int64Array
    steps: Int64Array
    lower: Int64Array
    upper: Int64Array


def grid_neighbors(positions: Int64Array, shape: tuple[int, ...], corners: bool) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Pairs of cells of a regular array that touch each other, as indexes into `positions`, which increase."""
    indexes = np.unravel_index(positions, shape)
    strides = [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
    for offset in itertools.product((-1, 0, 1), repeat=len(shape)):
        # One of each pair of opposite directions.
        if offset <= (0,) * len(shape) or (not corners and sum(map(abs, offset)) > 1):
            continue
        inside = np.ones(len(positions), bool)
        for index, step, extent in zip(indexes, offset, shape, strict=True):
            if step:
                inside &= (index + step >= 0) & (index + step < extent)
        cells = np.flatnonzero(inside)
        wanted = positions[cells] + sum(step * stride for step, stride in zip(offset, strides, strict=True))
        found = np.searchsorted(positions, wanted)
        found[found == len(positions)] = 0
        same = positions[found] == wanted
        yield cells[same], found[same]


def mesh_neighbors(positions: Int64Array, pairs: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The pairs of which both cells match, as indexes into `positions`, which increase."""
    found = np.searchsorted(positions, pairs)
    found[found == len(positions)] = 0
    both = (positions[found] == pairs).all(axis=1)
    return found[both, 0], found[both, 1]


def labeled(count: int, neighbors: list[tuple[Int64Array, Int64Array]]) -> Int64Array:
    """The lowest cell that each of `count` cells is connected with, through pairs of neighbors."""
    root = np.arange(count)
    first = np.concatenate([pair[0] for pair in neighbors]) if neighbors else np.zeros(0, np.int64)
    second = np.concatenate([pair[1] for pair in neighbors]) if neighbors else np.zeros(0, np.int64)
    while len(first):
        one, other = root[first], root[second]
        apart = one != other
        if not apart.any():
            break
        first, second, one, other = first[apart], second[apart], one[apart], other[apart]
        # The higher root of each pair gets the lowest one that it touches; then cells skip to the root of their root.
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while True:
            above = root[root]
            if np.array_equal(above, root):
                break
            root = above
    return root
