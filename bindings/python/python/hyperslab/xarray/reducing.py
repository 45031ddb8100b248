"""Reducing for xarray: sums, means, extremes and deviations of variables that are not in memory, block by block."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import xarray

from ..base.errors import InvalidInputError
from ..base.threads import in_order
from ..base.type_aliases import AnyArray

Dimensions: TypeAlias = "Hashable | Iterable[Hashable] | None"
#: What can be computed.
NAMES = ("count", "sum", "mean", "min", "max", "std", "var")
#: Bytes of a block, which one thread reads and reduces at a time, if chunks are not larger.
_BLOCK_BYTES = 16 << 20

Box: TypeAlias = tuple[slice, ...]


def reduced(dataset: xarray.Dataset, how: str, dim: Dimensions) -> xarray.Dataset:
    """A dataset with its variables reduced along dimensions, as xarray has it. Floats are summed in double precision.

    Args:
        dataset: Variables that are in memory, of Dask, or not of numbers are left to xarray.
        how: One of `NAMES`.
        dim: The dimensions, by default all.

    Raises:
        InvalidInputError: `how` or a dimension is unknown.
    """
    if how not in NAMES:
        raise InvalidInputError(f"how is {how!r}: give {', '.join(NAMES)}")
    gone = _dimensions(dataset, dim)
    lazy = [name for name, variable in dataset.data_vars.items() if _is_lazy(variable.variable) and not gone.isdisjoint(variable.dims)]
    others = dataset.drop_vars(lazy)
    result: xarray.Dataset = getattr(others, how)([name for name in others.dims if name in gone])
    found = {name: _reduced(dataset[name].variable, how, gone) for name in lazy}
    ordered: xarray.Dataset = result.assign(found)[[name for name in dataset.data_vars if name in found or name in result]]
    return ordered


def _dimensions(dataset: xarray.Dataset, dim: Dimensions) -> set[Hashable]:
    if dim is None or dim is ...:
        return set(dataset.dims)
    given = {dim} if isinstance(dim, str) or not isinstance(dim, Iterable) else set(dim)
    for name in given.difference(dataset.dims):
        raise InvalidInputError(f"the dataset has no dimension {name!r}: it has {', '.join(map(repr, dataset.dims))}")
    return given


def _is_lazy(variable: xarray.Variable) -> bool:
    """Whether its numbers are still in files."""
    return not variable._in_memory and variable.chunks is None and variable.dtype.kind in "iuf" and variable.size > 0


def _reduced(variable: xarray.Variable, how: str, gone: set[Hashable]) -> xarray.Variable:
    axes = tuple(axis for axis, name in enumerate(variable.dims) if name in gone)
    # xarray itself says of one element what the result is like.
    like: xarray.Variable = getattr(variable.isel(dict.fromkeys(variable.dims, slice(0, 1))), how)([variable.dims[axis] for axis in axes])
    state = _State(how, variable.dtype, tuple(extent for axis, extent in enumerate(variable.shape) if axis not in axes))
    boxes = list(_boxes(variable))
    threads = min(len(boxes), os.cpu_count() or 1)
    for box, part in zip(boxes, in_order((partial(_part, variable, box, axes, how) for box in boxes), threads, threads + 1), strict=True):
        state.add(tuple(along for axis, along in enumerate(box) if axis not in axes), part)
    return xarray.Variable(like.dims, state.result().astype(like.dtype), like.attrs)


def _boxes(variable: xarray.Variable) -> Iterator[Box]:
    """Boxes of whole chunks that together are the variable."""
    stored: Sequence[int] = variable.encoding.get("chunksizes") or [1] * variable.ndim
    block = [min(step, extent) for step, extent in zip(stored, variable.shape, strict=True)] if len(stored) == variable.ndim else [1] * variable.ndim
    for axis in reversed(range(variable.ndim)):
        fits = max(_BLOCK_BYTES // (math.prod(block) * variable.dtype.itemsize), 1)
        block[axis] = min(block[axis] * fits, variable.shape[axis])
    steps = (range(0, extent, step) for extent, step in zip(variable.shape, block, strict=True))
    for starts in itertools.product(*steps):
        yield tuple(slice(start, min(start + step, extent)) for start, step, extent in zip(starts, block, variable.shape, strict=True))


class _Part(NamedTuple):
    """A block's elements that are not NaN: their number, and what was asked: their sum or extreme, and the squared differences from their
    mean."""

    present: AnyArray
    value: AnyArray
    squares: AnyArray


def _part(variable: xarray.Variable, box: Box, axes: tuple[int, ...], how: str) -> _Part:
    values = variable[box].to_numpy()
    is_float = values.dtype.kind == "f"
    missing = np.isnan(values) if is_float else None
    if missing is not None and not missing.any():
        missing = None
    every = math.prod(values.shape[axis] for axis in axes)
    count = np.asarray(every if missing is None else every - np.count_nonzero(missing, axis=axes))
    nothing = np.zeros(0)
    if how == "count":
        return _Part(count, nothing, nothing)
    if how in ("min", "max"):
        # NaN only where there is nothing else.
        least = np.fmin if how == "min" else np.fmax
        return _Part(count, np.asarray(least.reduce(values, axis=axes)), nothing)
    present = values if missing is None else np.where(missing, values.dtype.type(0), values)
    total = np.asarray(present.sum(axis=axes, dtype=None if how == "sum" and not is_float else "f8"))
    if how in ("sum", "mean"):
        return _Part(count, total, nothing)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.asarray(present.sum(axis=axes, dtype="f8", keepdims=True)) / np.expand_dims(np.broadcast_to(count, total.shape), axes)
        apart = np.subtract(values, mean, dtype="f8")
    if missing is not None:
        apart[missing] = 0
    return _Part(count, total, np.asarray(np.square(apart, out=apart).sum(axis=axes)))


class _State:
    """What is known of each element of the result, after some of the blocks."""

    def __init__(self, how: str, dtype: Any, shape: tuple[int, ...]) -> None:
        self._how, self._is_float = how, dtype.kind == "f"
        self._count = np.zeros(shape, dtype=np.int64)
        self._squares = np.zeros(shape if how in ("std", "var") else 0)
        if how in ("min", "max"):
            first = np.nan if self._is_float else np.iinfo(dtype).max if how == "min" else np.iinfo(dtype).min
            self._value = np.full(shape, first, dtype=dtype)
        else:
            of_integers = np.dtype("u8" if dtype.kind == "u" else "i8")
            self._value = np.zeros(shape, dtype=of_integers if how == "sum" and not self._is_float else "f8")

    def add(self, place: Box, part: _Part) -> None:
        """Adds a block at its place in the result."""
        count = self._count[place]
        if self._how in ("min", "max"):
            self._value[place] = (np.fmin if self._how == "min" else np.fmax)(self._value[place], part.value)
        elif self._how != "count":
            if self._how in ("std", "var"):
                self._squares[place] += part.squares + self._between(count, self._value[place], part)
            self._value[place] += part.value
        self._count[place] = count + part.present

    @staticmethod
    def _between(count: AnyArray, total: AnyArray, part: _Part) -> AnyArray:
        """What the distance of two means adds to the squared differences (Chan, Golub and LeVeque, 1983)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = part.value / part.present - total / count
            added = apart * apart * count * part.present / (count + part.present)
        return np.where((count == 0) | (part.present == 0), 0.0, added)

    def result(self) -> AnyArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self._how == "count":
                return self._count
            if self._how == "mean":
                return np.asarray(self._value / self._count)
            if self._how in ("std", "var"):
                variance = self._squares / self._count
                return np.asarray(np.sqrt(variance) if self._how == "std" else variance)
        return self._value
