"""Regions of datasets in one form, whatever form a file stores: a regular hyperslab may be stored as a list of its blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple


class RegionSelection(NamedTuple):
    """The elements that a region reference selects.

    Attributes:
        kind: `points`, `blocks`, `hyperslab`, `all` or `none`.
        parts: Of points the coordinates of each, of blocks `[first, last]` of each, of a hyperslab
            `[start, stride, count, block]` of each dimension; empty for `all` and `none`.
    """

    kind: str
    parts: list[list[list[int]]]


def canonical(kind: str, parts: Sequence[list[list[int]]]) -> tuple[str, tuple[tuple[int, int, int, int], ...] | str]:
    """A selection in a form that is the same for the same elements, as far as they are a regular hyperslab."""
    if kind == "hyperslab":
        return "hyperslab", tuple(_axis(*axis) for axis in parts[0])
    if kind == "blocks":
        axes = _regular([(tuple(first), tuple(last)) for first, last in parts])
        if axes is not None:
            return "hyperslab", axes
    return kind, repr(parts)


def _axis(start: int, stride: int, count: int, block: int) -> tuple[int, int, int, int]:
    # Blocks that touch each other are one block.
    if stride == block:
        count, block = 1, count * block
    return start, block if count == 1 else stride, count, block


def _regular(blocks: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> tuple[tuple[int, int, int, int], ...] | None:
    """The axes of the regular hyperslab that consists of these blocks, if there is one."""
    sizes = {tuple(b - a + 1 for a, b in zip(first, last, strict=True)) for first, last in blocks}
    starts = [sorted(along) for along in map(set, zip(*(first for first, _ in blocks), strict=True))]
    if len(sizes) != 1 or len({first for first, _ in blocks}) != len(blocks) or math.prod(map(len, starts)) != len(blocks):
        return None
    axes = []
    for along, size in zip(starts, next(iter(sizes)), strict=True):
        strides = {b - a for a, b in itertools.pairwise(along)} or {size}
        if len(strides) > 1 or min(strides) < size:
            return None
        axes.append(_axis(along[0], strides.pop(), len(along), size))
    return tuple(axes)
