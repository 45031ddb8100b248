"""Regions that references lead to are the same if they select the same elements, whatever form the file stores."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hyperslab.values.regions import canonical


def blocks(axes: list[tuple[int, int, int, int]]) -> list[Any]:
    """The blocks of a hyperslab, one by one."""
    firsts = [[start + stride * number for number in range(count)] for start, stride, count, _ in axes]
    return [[list(first), [a + axis[3] - 1 for a, axis in zip(first, axes, strict=True)]] for first in itertools.product(*firsts)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(50))
def test_a_hyperslab_equals_its_blocks_in_any_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = []
    for _ in range(random.integers(1, 4)):
        block = int(random.integers(1, 4))
        axes.append((int(random.integers(0, 9)), block + int(random.integers(0, 4)), int(random.integers(1, 5)), block))
    every = blocks(axes)
    random.shuffle(every)
    merged = canonical("hyperslab", [axes])
    if all(stride > block or count == 1 for _, stride, count, block in axes):
        assert canonical("blocks", every) == merged
    moved = [(axes[0][0] + 1, *axes[0][1:]), *axes[1:]]
    assert canonical("hyperslab", [moved]) != merged
    if len(every) > 1:
        assert canonical("blocks", every[:-1]) != merged


def test_touching_blocks_are_one() -> None:
    assert canonical("hyperslab", [[(2, 3, 4, 3)]]) == canonical("hyperslab", [[(2, 1, 12, 1)]]) == canonical("blocks", [[[2], [13]]])
    assert canonical("blocks", blocks([(2, 3, 4, 3)])) == canonical("blocks", [[[2], [13]]])


def test_irregular_blocks_and_points_are_compared_as_they_are() -> None:
    irregular = [[[0, 0], [1, 1]], [[5, 5], [5, 5]]]
    assert canonical("blocks", irregular) == canonical("blocks", irregular)
    assert canonical("blocks", irregular)[0] == "blocks"
    assert canonical("points", [[[0, 0]]]) != canonical("points", [[[0, 1]]])
