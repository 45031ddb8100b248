"""Chunk iteration: the parts of a dataset that lie in one chunk each."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import Key


def parts(shape: tuple[int, ...], chunks: tuple[int, ...] | None, region: Key | None = None) -> Iterator[tuple[slice, ...]]:
    """The parts of a region that lie in one chunk each, in the order of the file's chunks, as tuples of slices.

    Args:
        shape: Extents of the dataset.
        chunks: Extents of a chunk.
        region: A slice or an index of each dimension; by default all of it.

    Raises:
        InvalidTypeError: The dataset is not chunked, or an item of the region is neither a slice nor an index.
        InvalidInputError: The region is empty, leaves the dataset, or has another number of dimensions.
    """
    if not chunks:
        raise InvalidTypeError("the dataset is not chunked: only chunked datasets have chunks to iterate over")
    bounds = _bounds(shape, region)
    along = [
        [slice(max(at, start), min(at + chunk, stop), 1) for at in range(start // chunk * chunk, stop, chunk)]
        for (start, stop), chunk in zip(bounds, chunks, strict=True)
    ]
    return itertools.product(*along)


def _bounds(shape: tuple[int, ...], region: Any) -> list[tuple[int, int]]:
    if region is None:
        # The whole of an empty dataset has no parts.
        return [(0, extent) for extent in shape]
    items = region if isinstance(region, (tuple, list)) else (region,)
    if len(items) != len(shape):
        raise InvalidInputError(f"the region has {len(items)} dimensions and the dataset {len(shape)}: give a slice for each")
    found = []
    for item, extent in zip(items, shape, strict=True):
        if isinstance(item, slice):
            start, stop = item.start or 0, item.stop or extent
        else:
            try:
                start = operator.index(item)
            except TypeError:
                raise InvalidTypeError(f"{item!r} is neither a slice nor an index") from None
            stop = start + 1
        if start < 0 or stop > extent or stop <= start:
            raise InvalidInputError(f"{item!r} is empty or leaves a dimension of {extent}")
        found.append((start, stop))
    return found
