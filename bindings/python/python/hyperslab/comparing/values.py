"""Values: how the values of two datasets differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..base.errors import LimitExceededError, UnsupportedError
from ..base.threads import in_order
from ..base.type_aliases import AnyArray, ColumnValue, Int64Array, UInt8Array
from ..objects.dataset import Dataset
from .stored import StoredChunks
from .tolerance import Tolerance, differing, distance

#: Bytes of values of each file that one thread compares at a time.
_BOX_BYTES = 16 << 20
#: Most chunks of a box: reading one element each costs more than its bytes.
_BOX_CHUNKS = 1 << 16
#: Most bytes of a box that has whole chunks of both files, where these are of different shapes.
_UNIT_BYTES = 128 << 20
#: Bytes of values that are compared whatever is stored of them, and for each stored byte: a small file may claim any number of values.
_SPARSE_BYTES = 1 << 32
_SPARSE_FACTOR = 1 << 16
#: Threads that compare: reading has its own.
_THREADS = 2

Box = tuple[slice, ...]


@dataclass(frozen=True)
class ValueDifference:
    """How the values of two datasets differ.

    Attributes:
        count: Elements that differ; of datasets compared in any order, rows that only one of them has.
        total: Elements (or rows) that there are.
        index: Index of the first element that differs; `None` in any order.
        values: The two values there.
        absolute: Largest difference of two finite numbers; `None` without any.
        relative: Largest such difference, relative to the second number.
    """

    count: int
    total: int
    index: tuple[int, ...] | None = None
    values: tuple[ColumnValue, ColumnValue] | None = None
    absolute: float | None = None
    relative: float | None = None


def compare_values(one: Dataset, other: Dataset, tolerance: Tolerance, stored: StoredChunks) -> ValueDifference | None:
    """Compares two datasets of one shape and of comparable types; `None` if they do not differ.

    Chunks with the same bytes in both files are not decoded, unless NaN shall differ from NaN.
    """
    if not one.shape or not one.size:
        return _summary([_compare((), np.asarray(one[()]), np.asarray(other[()]), tolerance)], one.size or 0)
    chunks = stored.differing_chunks(one, other) if tolerance.equal_nan or tolerance.bits or one.dtype.kind in "biuS" else None
    if chunks is not None and not len(chunks):
        return None
    item_bytes = max(one.dtype.itemsize, other.dtype.itemsize, 1)
    # If bytes were compared, both have one grid of chunks.
    smallest = min(math.prod(dataset.chunks) if dataset.chunks else _BOX_BYTES for dataset in (one, other))
    element_bytes = max(item_bytes, _BOX_BYTES // (_BOX_CHUNKS * smallest))
    boxes = _boxes(one.shape, _unit(one, other, item_bytes), element_bytes, one.chunks, None if one.chunks is None else chunks)

    stored_bytes = sum(dataset.stored_bytes or 0 for dataset in (one, other))
    if chunks is None and one.size * item_bytes > max(_SPARSE_BYTES, _SPARSE_FACTOR * stored_bytes):
        raise LimitExceededError(f"comparing {one.size:,} values, most of which were never written: compare parts of them", one.file.filename, one.name)

    def work(box: Box) -> _Part | None:
        # Without this an element of a dataset of strings of one character would be a string.
        return _compare(tuple(part.start for part in box), np.asarray(one[box]), np.asarray(other[box]), tolerance)

    return _summary(in_order((partial(work, box) for box in boxes), _THREADS, _THREADS + 1), one.size)


@dataclass(frozen=True)
class _Part:
    count: int
    index: tuple[int, ...]
    values: tuple[ColumnValue, ColumnValue]
    absolute: float | None
    relative: float | None


def _compare(start: Sequence[int], one: AnyArray, other: AnyArray, tolerance: Tolerance) -> _Part | None:
    where = differing(one, other, tolerance)
    count = int(np.count_nonzero(where))
    if not count:
        return None
    first = np.unravel_index(int(np.argmax(where)), where.shape) if where.shape else ()
    index = tuple(int(at) + begin for at, begin in zip(first, start, strict=True))
    absolute, relative = _largest(one[where], other[where])
    return _Part(count, index, (one[first], other[first]), absolute, relative)


def _largest(one: AnyArray, other: AnyArray) -> tuple[float | None, float | None]:
    if one.dtype.kind not in "iufc" or other.dtype.kind not in "iufc":
        return None, None
    finite = np.isfinite(one) & np.isfinite(other)
    if not finite.any():
        return None, None
    apart = distance(one[finite], other[finite]).astype(np.float64)
    size = np.abs(other[finite].astype(np.complex128 if other.dtype.kind == "c" else np.float64))
    relative = apart[size > 0] / size[size > 0]
    return float(apart.max()), float(relative.max()) if len(relative) else None


def _summary(parts: Iterable[_Part | None], total: int) -> ValueDifference | None:
    found: list[_Part] = [part for part in parts if part is not None]
    if not found:
        return None
    first = min(found, key=lambda part: part.index)

    def largest(values: list[float | None]) -> float | None:
        return max((value for value in values if value is not None), default=None)

    return ValueDifference(
        sum(part.count for part in found), max(total, 1), first.index, first.values, largest([p.absolute for p in found]), largest([p.relative for p in found])
    )


def _unit(one: Dataset, other: Dataset, item_bytes: int) -> list[int]:
    """The smallest box of whole chunks of both datasets, or one of `_UNIT_BYTES` if it is larger. Contiguous datasets have no grid."""
    none = (1,) * one.ndim
    unit = [min(max(a, b), extent) for a, b, extent in zip(one.chunks or none, other.chunks or none, one.shape, strict=True)]
    least = [min(a, b) for a, b in zip(one.chunks or unit, other.chunks or unit, strict=True)]
    while math.prod(unit) * item_bytes > _UNIT_BYTES:
        # Chunks that reach along different dimensions: some are decoded more than once. A single chunk is not cut.
        axis = max(range(len(unit)), key=lambda at: unit[at] / least[at])
        if unit[axis] <= least[axis]:
            break
        unit[axis] = max(-(-unit[axis] // (2 * least[axis])), 1) * least[axis]
    return unit


def _boxes(shape: Sequence[int], unit: Sequence[int], item_bytes: int, chunks: Sequence[int] | None, numbers: Int64Array | None) -> Iterator[Box]:
    """Boxes of whole units with about `_BOX_BYTES` each, or one unit if it is larger; with `numbers` only those that have one of these chunks."""
    steps = list(shape)
    for axis in range(len(shape)):
        others = math.prod(steps) // steps[axis] * item_bytes
        wanted = max(_BOX_BYTES // max(others, 1), 1)
        steps[axis] = min(max(wanted // unit[axis], 1) * unit[axis], shape[axis])
        if math.prod(steps) * item_bytes <= _BOX_BYTES:
            break
    counts = [-(-extent // step) for extent, step in zip(shape, steps, strict=True)]
    positions: Iterable[list[int]] = _positions(counts)
    if chunks is not None and numbers is not None:
        grid = [-(-extent // chunk) for extent, chunk in zip(shape, chunks, strict=True)]
        starts = np.unravel_index(numbers, grid)
        positions = np.unique(np.stack([at * chunk // step for at, chunk, step in zip(starts, chunks, steps, strict=True)], axis=1), axis=0).tolist()
    for position in positions:
        yield tuple(slice(at * step, min((at + 1) * step, extent)) for at, step, extent in zip(position, steps, shape, strict=True))


def _positions(counts: Sequence[int]) -> Iterator[list[int]]:
    """All positions in a grid, row-major. A file claims the counts: numpy's own iterator takes none beyond its integers."""
    for number in range(math.prod(counts)):
        position = [0] * len(counts)
        for axis in reversed(range(len(counts))):
            number, position[axis] = divmod(number, counts[axis])
        yield position


def compare_rows(one: Dataset, other: Dataset, tolerance: Tolerance) -> ValueDifference | None:
    """Compares the rows (the elements along the first dimension) of two datasets as if both were sorted. Reads both whole.

    Raises:
        UnsupportedError: Rows of this type have no order, or a tolerance is given for rows that are not single numbers.
    """
    a, b = np.asarray(one[()]), np.asarray(other[()])
    if not tolerance.is_exact:
        if a.ndim != 1 or a.dtype.kind not in "iuf" or b.dtype.kind not in "iuf":
            raise UnsupportedError("a tolerance for rows in any order that are not single numbers", one.file.filename, one.name)
        if a.shape == b.shape:
            part = _compare((0,), np.sort(a), np.sort(b), tolerance)
            return None if part is None else ValueDifference(part.count, len(a), None, None, part.absolute, part.relative)
    if a.dtype.hasobject and a.dtype.names is None and a.ndim == 1 and all(isinstance(value, (str, bytes)) for value in [*a, *b]):
        keys = np.array([value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape") for value in [*a, *b]], object)
        _, inverse = np.unique(keys, return_inverse=True)
    elif a.dtype.hasobject or b.dtype.hasobject:
        raise UnsupportedError("rows in any order whose elements have variable lengths or are references", one.file.filename, one.name)
    else:
        common = np.result_type(a.dtype, b.dtype)
        rows = np.concatenate([_canonical(a.astype(common)), _canonical(b.astype(common))])
        _, inverse = np.unique(rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1), return_inverse=True)
    kinds = int(inverse.max()) + 1 if len(inverse) else 0
    counts = np.bincount(inverse[: len(a)], minlength=kinds) - np.bincount(inverse[len(a) :], minlength=kinds)
    count = int(np.abs(counts).sum())
    return ValueDifference(count, len(a) + len(b)) if count else None


def _canonical(array: AnyArray) -> UInt8Array:
    """The bytes of each row, such that equal rows have equal bytes: without padding, with one zero and one NaN."""
    if array.dtype.names is not None:
        members = [_canonical(array[name]) for name in array.dtype.names]
        return np.concatenate(members, axis=1) if members else np.zeros((len(array), 1), np.uint8)
    plain = np.ascontiguousarray(array)
    if plain.dtype.kind in "fc":
        plain = plain + 0
        plain[plain != plain] = np.nan
    if not plain.size:
        return np.zeros((len(array), 1), np.uint8)
    return np.frombuffer(plain.tobytes(), np.uint8).reshape(len(array), -1)
