"""Blocks along a dimension: `h5py.MultiBlockSlice`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import InvalidInputError, InvalidTypeError


class MultiBlockSlice:
    """Blocks of elements at equal distances along a dimension: a key as a slice is one.

    Args:
        start: The first element.
        stride: Distance between the starts of blocks.
        count: Number of blocks; by default as many as there are whole ones.
        block: Elements of a block.

    Raises:
        InvalidInputError: `start` is negative, another number is less than 1, or blocks overlap.

    Example:
        >>> f["x"][h5py.MultiBlockSlice(start=1, stride=5, count=2, block=3)]
    """

    def __init__(self, start: int = 0, stride: int = 1, count: int | None = None, block: int = 1) -> None:
        if start < 0 or stride < 1 or block < 1 or (count is not None and count < 1):
            raise InvalidInputError(f"start={start}, stride={stride}, count={count}, block={block}: start is at least 0, the others at least 1")
        if block > stride:
            raise InvalidInputError(f"blocks of {block} elements every {stride} overlap")
        self.start, self.stride, self.count, self.block = start, stride, count, block

    def indices(self, length: int) -> tuple[int, int, int, int]:
        """Start, stride, count and block along a dimension.

        Args:
            length: Extent of the dimension.

        Raises:
            InvalidInputError: The blocks do not fit.
        """
        count = (length - self.start - self.block) // self.stride + 1 if self.count is None else self.count
        if count < 1:
            raise InvalidInputError(f"no whole block of {self!r} fits into {length} elements")
        end = self.start + self.stride * (count - 1) + self.block
        if end > length:
            raise InvalidInputError(f"{self!r} ends at {end}, behind the {length} elements of the dimension")
        return self.start, self.stride, count, self.block

    def key(self, length: int) -> Any:
        """The same elements as a slice, or as indexes."""
        start, stride, count, block = self.indices(length)
        if block == stride:
            return slice(start, start + count * block)
        if block == 1:
            return slice(start, start + stride * (count - 1) + 1, stride)
        return (start + stride * np.arange(count)[:, np.newaxis] + np.arange(block)).reshape(-1)

    def __repr__(self) -> str:
        return f"MultiBlockSlice(start={self.start}, stride={self.stride}, count={self.count}, block={self.block})"


def without_blocks(key: Any, shape: tuple[int, ...] | None) -> Any:
    """A key with slices or indexes in the place of blocks."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(one, MultiBlockSlice) for one in keys):
        return key
    if not shape:
        raise InvalidTypeError("a scalar or empty dataset is not indexed by MultiBlockSlice")
    names = [one for one in keys if isinstance(one, str)]
    places = [one for one in keys if not isinstance(one, str)]
    before = next((at for at, one in enumerate(places) if one is Ellipsis), len(places))
    after = len(places) - before - 1
    found = []
    for at, one in enumerate(places):
        axis = at if at < before else len(shape) - after + (at - before - 1)
        if isinstance(one, MultiBlockSlice):
            if not 0 <= axis < len(shape):
                raise InvalidTypeError(f"{len(places)} indexes for {len(shape)} dimensions")
            one = one.key(shape[axis])
        found.append(one)
    return (*names, *found)
