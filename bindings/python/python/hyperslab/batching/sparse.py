"""Batch sparse: rows of a matrix that AnnData stores by rows (CSR), read straight from its three arrays."""

from __future__ import annotations

import numpy as np

from ..base.errors import CorruptError, InvalidInputError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import AnyArray, Int64Array
from ..objects.dataset import Dataset
from ..objects.group import Group
from .sources import MIN_BLOCK_BYTES, FileStamp, ranges
from .values import Values

#: Elements between two wanted ranges that are read along: with filters the chunk is decoded anyway, without they cost less than a read.
MAX_GAP_BYTES = 16 << 10
#: Bytes that are read at once for ranges that are not wanted whole.
MAX_SPAN_BYTES = 8 << 20
#: Chunks in a block: rows do not end where chunks end, so a block shares a chunk with the next one.
BLOCK_CHUNKS = 4


def _format(group: Group) -> str:
    """`csr` or `csc` for a group with a sparse matrix, else something else. AnnData before 0.7 had another attribute."""
    found = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", ""))
    return (found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found))[:3]


class SparseSource:
    """The rows of a CSR matrix, as SciPy's sparse rows or dense."""

    no_exact: str | None = None

    def __init__(self, name: str, group: Group, dense: bool) -> None:
        require("batches of a sparse matrix", "scipy", "scipy")
        self._name, self._group, self._dense = name, group, dense
        self._file = group.file.filename
        self._stamp = FileStamp(self._file)
        attributes = group.attrs
        if _format(group) == "csc":
            raise UnsupportedError(
                "the matrix is stored by columns (CSC), so its rows are spread over all of it: store it by rows (CSR)", self._file, group.name
            )
        extents = attributes["shape" if "shape" in attributes else "h5sparse_shape"]
        self.rows, self._columns = int(extents[0]), int(extents[1])
        self._data, self._indices = self._array("data"), self._array("indices")
        self._offsets = self._checked_offsets()
        pair = self._data.dtype.itemsize + self._indices.dtype.itemsize
        elements = len(self._data)
        mean = elements / max(self.rows, 1)
        self.row_bytes = self._columns * self._data.dtype.itemsize + mean * pair if dense else mean * pair + self._offsets.itemsize
        filtered = self._data.chunks if self._data.filters else None
        self._chunk = filtered[0] if filtered else None
        self.chunk_bytes = self._chunk * pair if self._chunk else 0
        self.chunk_rows = max(self._chunk / max(mean, 1), 1.0) if self._chunk else 1.0
        # Blocks begin with the first row that begins in a chunk.
        step = max(MIN_BLOCK_BYTES // pair, BLOCK_CHUNKS * self._chunk if self._chunk else 1)
        begins = np.searchsorted(self._offsets, np.arange(0, max(elements, 1), step), side="left")
        self.edges: Int64Array = np.unique(np.concatenate(([0], np.minimum(begins, self.rows), [self.rows]))).astype(np.int64)
        self.shape = {name: (f"{'dense' if dense else 'sparse'} {self._data.dtype}", (self._columns,))}

    def _array(self, name: str) -> Dataset:
        found = self._group[name]
        if not isinstance(found, Dataset) or found.ndim != 1:
            raise CorruptError(f"'{name}' of the sparse matrix is not an array of one dimension", self._file, self._group.name)
        return found

    def _checked_offsets(self) -> Int64Array:
        offsets: AnyArray = np.asarray(self._array("indptr")[...])
        good = len(offsets) == self.rows + 1 and offsets.dtype.kind in "iu" and offsets[0] == 0 and not (offsets[1:] < offsets[:-1]).any()
        if not good or int(offsets[-1]) > min(len(self._data), len(self._indices)):
            raise CorruptError(f"'indptr' does not divide {len(self._data):,} values into {self.rows:,} rows", self._file, self._group.name)
        return offsets.astype(np.int64)

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        import scipy.sparse

        lengths = self._offsets[rows + 1] - self._offsets[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        first, last = ranges(rows)
        wanted = np.stack([self._offsets[rows[first]], self._offsets[rows[last - 1] + 1], offsets[first]], axis=1) if len(rows) else np.zeros((0, 3), np.int64)
        data, indices = (self._elements(array, wanted, int(offsets[-1])) for array in (self._data, self._indices))
        self._stamp.check()
        if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= self._columns):
            raise CorruptError(f"'indices' leads outside of {self._columns:,} columns", self._file, self._group.name)
        found = scipy.sparse.csr_array((data, indices, offsets), shape=(len(rows), self._columns))
        return {self._name: found.toarray() if self._dense else found}

    def _elements(self, array: Dataset, wanted: Int64Array, count: int) -> AnyArray:
        """The elements of ranges (start, stop, place in the result), which increase."""
        native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
        if len(wanted) == 1:
            return np.asarray(array[int(wanted[0, 0]) : int(wanted[0, 1])]).astype(native, copy=False)
        out = np.empty(count, native)
        for members in self._spans(wanted.tolist(), array.dtype.itemsize):
            start = members[0][0]
            values = array[start : members[-1][1]]
            for begin, end, place in members:
                out[place : place + end - begin] = values[begin - start : end - start]
        return out

    def _spans(self, wanted: list[list[int]], size: int) -> list[list[list[int]]]:
        """Ranges that are read together: they share a chunk with filters, or are close to each other."""
        spans: list[list[list[int]]] = []
        chunk, gap, longest = self._chunk, MAX_GAP_BYTES // size, MAX_SPAN_BYTES // size
        for range_ in wanted:
            if range_[0] == range_[1]:
                continue
            if spans:
                before = spans[-1][-1][1]
                near = range_[0] // chunk <= (before - 1) // chunk if chunk else range_[0] - before <= gap
                if near and range_[1] - spans[-1][0][0] <= longest:
                    spans[-1].append(range_)
                    continue
            spans.append([range_])
        return spans


def sparse_source(name: str, group: Group, sparse: str) -> SparseSource:
    """The rows of a group that holds a sparse matrix."""
    if _format(group) not in ("csr", "csc"):
        raise InvalidInputError(
            f"'{group.name}' is a group without a sparse matrix: give datasets, such as {{'x': f['{group.name.rstrip('/')}/x']}}", None, group.name
        )
    return SparseSource(name, group, sparse == "dense")
