"""Stored: chunks of two datasets that have the same bytes in their files, and so the same values."""

from __future__ import annotations

import operator
import os
from types import TracebackType

import numpy as np

from .. import _native
from ..base.errors import LimitExceededError
from ..base.type_aliases import AnyDtype, BoolArray, Int64Array
from ..objects.dataset import Dataset
from ..objects.native_objects import description_of, native_of

#: Bytes of each file that are compared at a time: they stay in the processor's cache.
_BLOCK_BYTES = 1 << 20


class StoredChunks:
    """Compares the stored chunks of datasets in two files, which lie on this machine and are not files of several members."""

    def __init__(self, one: _native.File, other: _native.File) -> None:
        self._descriptors = [_descriptor(file) for file in (one, other)]
        self._buffers = [np.empty(_BLOCK_BYTES, np.uint8) for _ in range(2)]
        #: Bytes in each file that were found the same.
        self.same_bytes = 0

    def __enter__(self) -> StoredChunks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for descriptor in self._descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def differing_chunks(self, one: Dataset, other: Dataset) -> Int64Array | None:
        """Numbers, in the grid of chunks, of those whose bytes differ; `None` if bytes do not tell values. A contiguous dataset is one chunk."""
        if None in self._descriptors or not _are_alike(one, other):
            return None
        try:
            first, second = (_Places(dataset) for dataset in (one, other))
        except LimitExceededError:
            return None  # more chunks than are listed at once
        if first.inside or second.inside:
            return None
        # Chunks that neither file has are the fill value, which is the same.
        numbers, a, b = np.intersect1d(first.numbers, second.numbers, assume_unique=True, return_indices=True)
        fits = (first.lengths[a] == second.lengths[b]) & (first.masks[a] == second.masks[b])
        numbers, a, b = numbers[fits], a[fits], b[fits]
        found = np.zeros(len(numbers), bool)
        self._compare(found, first.offsets[a], second.offsets[b], first.lengths[a])
        return np.setdiff1d(np.union1d(first.numbers, second.numbers), numbers[found], assume_unique=True)

    def _compare(self, found: BoolArray, one: Int64Array, other: Int64Array, lengths: Int64Array) -> None:
        """Compares runs of chunks that follow each other in both files at once; in runs that differ, chunk by chunk."""
        begin = 0
        while begin < len(found):
            # A run ends where a chunk does not follow the one before in both files, or the buffer is full.
            window = slice(begin, min(begin + 65536, len(found)))
            ends = np.cumsum(lengths[window])
            goes_on = (one[window][1:] == one[window][:-1] + lengths[window][:-1]) & (other[window][1:] == other[window][:-1] + lengths[window][:-1])
            breaks = np.flatnonzero(~goes_on)
            count = min(int(breaks[0]) + 1 if len(breaks) else len(ends), max(int(np.searchsorted(ends, _BLOCK_BYTES, "right")), 1))
            run = slice(begin, begin + count)
            if self._are_same(int(one[begin]), int(other[begin]), int(ends[count - 1])):
                found[run] = True
            elif count > 1:
                for at in range(begin, begin + count):
                    found[at] = self._are_same(int(one[at]), int(other[at]), int(lengths[at]))
            begin += count

    def _are_same(self, one: int, other: int, length: int) -> bool:
        a, b = self._buffers
        at = 0
        while at < length:
            size = min(length - at, _BLOCK_BYTES)
            for descriptor, buffer, offset in zip(self._descriptors, (a, b), (one, other), strict=True):
                # A short read is a file that was cut meanwhile: reading the values says so.
                if descriptor is None or os.preadv(descriptor, [buffer.data[:size]], offset + at) != size:
                    return False
            if not np.array_equal(a[:size], b[:size]):
                return False
            at += size
        self.same_bytes += length
        return True


class _Places:
    """Numbers of the chunks that a dataset has, where they lie, their bytes, and masks of filters that were skipped."""

    def __init__(self, dataset: Dataset) -> None:
        numbers, offsets, lengths, masks, inside = _native.chunk_places(*native_of(dataset))
        self.numbers, self.offsets, self.lengths = (np.frombuffer(bytes_, np.uint64).astype(np.int64) for bytes_ in (numbers, offsets, lengths))
        self.inside = bool(inside)
        self.masks = np.zeros(len(self.numbers), np.int64)
        order = np.argsort(self.numbers, kind="stable")
        for number, mask in masks:
            self.masks[order[np.searchsorted(self.numbers, number, sorter=order)]] = mask


def _are_alike(one: Dataset, other: Dataset) -> bool:
    """Whether equal bytes in both files are equal values: the same type, grid, filters and fill value, and nothing that points elsewhere."""
    alike = operator.itemgetter("datatype", "shape", "chunks", "filters", "fill", "storage")
    about = description_of(one)
    if alike(about) != alike(description_of(other)):
        return False
    return bool(one.size) and about["storage"] in ("chunked", "contiguous") and not _points(one.dtype) and not one.external and not other.external


def _points(dtype: AnyDtype) -> bool:
    """Whether elements hold places in the file: text and lists of variable length, references."""
    return bool(dtype.hasobject)


def _descriptor(file: _native.File) -> int | None:
    """A descriptor of a file in which the offsets of the chunks are valid; `None` if there is none."""
    path, _, length, modified, _ = file.origin()
    if file.format not in ("hdf5", "netcdf4") or not os.path.isfile(path):
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    facts = os.fstat(descriptor)
    if facts.st_size == length and (modified is None or facts.st_mtime_ns == modified):
        return descriptor
    os.close(descriptor)
    return None
