"""Batch sources: what the rows of batches are read from: datasets, several files end to end, and several sources row by row."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ..base.errors import ConflictError, InvalidInputError
from ..base.type_aliases import AnyArray, Int64Array
from ..objects.dataset import Dataset
from ..objects.decoded_view import DecodedView
from ..objects.text_view import TextView
from ..sources.addresses import is_address
from .values import Values, joined_batches

#: Blocks are whole chunks of at least this many bytes, so that a block is worth a read.
MIN_BLOCK_BYTES = 64 << 10
#: Variable-length rows whose bytes are measured, evenly spaced.
SAMPLED_ROWS = 32
#: Rows side by side are read as ranges if a range has at least this many rows on average, else as a list.
MIN_RANGE_ROWS = 4


#: Type and shape of a row, by name.
Shape = Mapping[str, tuple[object, tuple[int, ...]]]


class Source(Protocol):
    """Rows of one or more names.

    Attributes:
        rows: Number of rows.
        row_bytes: Bytes of a row in memory; of variable-length rows the mean of a sample.
        chunk_bytes: Bytes of the largest chunk that has to be decoded for one of its rows; 0 without filters.
        chunk_rows: Rows that are decoded for one row; 1 without filters.
        edges: First row of each block, and the number of rows. A block is what is worth reading in one go.
        shape: What the rows of all files must agree in: dtype and shape of a row by name.
        exact: Whether rows can be read one by one; `no_exact` says what to do if not.
    """

    rows: int
    row_bytes: float
    chunk_bytes: int
    chunk_rows: float
    edges: Int64Array
    no_exact: str | None

    @property
    def shape(self) -> Shape: ...

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        ...


class FileStamp:
    """The version of a file. A file that is replaced or changed while batches are read would mix the rows of two versions."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)  # the working folder may change
        self._seen = self._now()

    def _now(self) -> tuple[int, int, int]:
        found = os.stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns

    def check(self) -> None:
        """`ConflictError` if the file is not the one that it was."""
        try:
            same = self._now() == self._seen
        except OSError as error:
            raise ConflictError(f"the file is not there any more ({error.strerror}), and batches of it were being read", self._path) from None
        if not same:
            raise ConflictError("the file changed after hs.batches; open it again and make new batches", self._path)


def stamps_of(dataset: Dataset) -> list[FileStamp]:
    """The files that hold the values of a dataset: the file itself, the sources of a virtual dataset, and external raw data."""
    path = dataset.file.filename
    if is_address(path):
        return []  # each read of a remote file asks for the version that was opened
    names = {source.file_name for source in dataset.virtual_sources()} if dataset.is_virtual else {name for name, _, _ in dataset.external or ()}
    others = (os.path.join(os.path.dirname(os.path.abspath(path)), name) for name in sorted(names) if name != ".")
    return [FileStamp(path), *(FileStamp(other) for other in others if os.path.isfile(other))]


def ranges(rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Increasing rows as ranges: the place of the first row of each, and of the row after its last."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    return np.concatenate(([0], breaks)), np.concatenate((breaks, [len(rows)]))


def even_edges(rows: int, block_rows: int) -> Int64Array:
    """Blocks of `block_rows` rows; the last one may be shorter."""
    return np.append(np.arange(0, rows, block_rows, dtype=np.int64), rows).astype(np.int64)


class DatasetSource:
    """The rows of one dataset: its indexes along the first dimension."""

    no_exact: str | None = None

    _dataset: Dataset | DecodedView | TextView

    def __init__(self, name: str, dataset: Dataset | DecodedView) -> None:
        if not dataset.shape:
            raise InvalidInputError(f"'{dataset.name}' has no dimension, so it has no rows", dataset.file.filename, dataset.name)
        self._name, self._dataset = name, dataset
        stored = dataset.dataset if isinstance(dataset, DecodedView) else dataset
        self._stamps = stamps_of(stored)
        self.rows = dataset.shape[0]
        inner = int(np.prod(dataset.shape[1:], dtype=object))
        self.row_bytes = float(inner * dataset.dtype.itemsize) if not dataset.dtype.hasobject else self._measured()
        chunk = dataset.chunks
        self.chunk_bytes = int(np.prod(chunk, dtype=object)) * stored.dtype.itemsize if chunk and stored.filters else 0
        slab = chunk[0] if chunk else 1
        self.chunk_rows = float(slab if self.chunk_bytes else 1)
        block_rows = slab * math.ceil(MIN_BLOCK_BYTES / max(slab * self.row_bytes, 1))
        self.edges = even_edges(self.rows, max(1, min(block_rows, self.rows)))
        # Batches have the byte order of the machine, because DLPack and Arrow need it.
        self._dtype = dataset.dtype if dataset.dtype.isnative else dataset.dtype.newbyteorder("=")
        self.shape = {name: (self._dtype, dataset.shape[1:])}

    def _measured(self) -> float:
        """Mean bytes of a row of variable length."""
        sampled = np.unique(np.linspace(0, max(self.rows - 1, 0), SAMPLED_ROWS, dtype=np.int64)) if self.rows else np.zeros(0, np.int64)
        values = np.asarray(self._dataset[sampled]).reshape(-1)
        return sum(_object_bytes(value) for value in values) / max(len(sampled), 1)

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        values = self._values(rows)
        for stamp in self._stamps:
            stamp.check()
        return {self._name: values.astype(self._dtype, copy=False)}

    def _values(self, rows: Int64Array) -> AnyArray:
        first, last = ranges(rows)
        if len(rows) < MIN_RANGE_ROWS * len(first):
            return np.asarray(self._dataset[rows])
        if len(first) == 1:
            return np.asarray(self._dataset[int(rows[0]) : int(rows[-1]) + 1])
        parts = [self._dataset[int(rows[begin]) : int(rows[end - 1]) + 1] for begin, end in zip(first.tolist(), last.tolist(), strict=True)]
        return np.concatenate(parts)


class TextSource(DatasetSource):
    """The rows of a dataset of text, as `str`.

    Raises:
        TypeError: The dataset is not text.
    """

    def __init__(self, name: str, dataset: Dataset) -> None:
        text = dataset.asstr()
        super().__init__(name, dataset)
        self._dataset, self._dtype = text, np.dtype(object)
        self.shape = {name: (self._dtype, dataset.shape[1:])}


class EndToEnd:
    """The rows of several sources, one after the other. Blocks end where a source ends."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        first = self._sources[0].shape
        for number, source in enumerate(self._sources):
            if source.shape != first:
                raise InvalidInputError(f"rows differ between the sources of a list: {_rows(first)} in the first, {_rows(source.shape)} in number {number}")
        self._starts = np.cumsum([0, *(source.rows for source in self._sources)], dtype=np.int64)
        self.rows = int(self._starts[-1])
        self.row_bytes = sum(source.row_bytes * source.rows for source in self._sources) / max(self.rows, 1)
        self.chunk_bytes = max(source.chunk_bytes for source in self._sources)
        self.chunk_rows = max(source.chunk_rows for source in self._sources)
        self.edges = np.unique(np.concatenate([source.edges + start for source, start in zip(self._sources, self._starts, strict=False)]))
        self.shape, self.no_exact = first, next((source.no_exact for source in self._sources if source.no_exact), None)

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        parts = []
        places = np.searchsorted(rows, self._starts)
        for source, start, begin, end in zip(self._sources, self._starts, places, places[1:], strict=False):
            if begin < end:
                parts.append(source.read(rows[begin:end] - start))
        return joined_batches(parts)


class SideBySide:
    """The rows of several sources with equal numbers of rows. Its blocks are the blocks of the source with the most bytes per row."""

    def __init__(self, sources: dict[str, Source]) -> None:
        counts = {name: source.rows for name, source in sources.items()}
        if len(set(counts.values())) > 1:
            raise InvalidInputError(f"sources differ in their numbers of rows: {', '.join(f'{name!r} has {count:,}' for name, count in counts.items())}")
        self._sources = list(sources.values())
        self.rows = self._sources[0].rows
        self.row_bytes = sum(source.row_bytes for source in self._sources)
        self.chunk_bytes = max(source.chunk_bytes for source in self._sources)
        self.chunk_rows = max(source.chunk_rows for source in self._sources)
        self.edges = max(self._sources, key=lambda source: source.row_bytes).edges
        self.shape: dict[str, tuple[object, tuple[int, ...]]] = {}
        for source in self._sources:
            if twice := self.shape.keys() & source.shape.keys():
                raise InvalidInputError(f"two sources have the name {sorted(twice)[0]!r}")
            self.shape.update(source.shape)
        self.no_exact = next((source.no_exact for source in self._sources if source.no_exact), None)

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        found: dict[str, Values] = {}
        for source in self._sources:
            found.update(source.read(rows))
        return found


def _object_bytes(value: object) -> int:
    """Bytes of an element with parts of variable length. An object of Python is counted as 64."""
    if isinstance(value, np.void):
        return sum(_object_bytes(value[name]) for name in value.dtype.names or ())
    return 64 + (value.nbytes if isinstance(value, (np.ndarray, np.generic)) else len(value) if isinstance(value, (bytes, str)) else 0)


def _rows(shape: Shape) -> str:
    return ", ".join(f"{name} {dtype} {tuple(extents)}" for name, (dtype, extents) in shape.items())
