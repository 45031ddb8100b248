"""Sparse rows: some rows of a matrix that is stored as offsets, indices and values, with few and large reads."""

from __future__ import annotations

import numpy as np

from ..base.errors import CorruptError
from ..base.type_aliases import AnyArray, Int64Array
from ..files.file import File
from ..objects.dataset import Dataset

#: Values between rows that are read and dropped, because one more read would take longer.
_MAX_GAP = 1 << 16
#: Values that are read at a time, so that little more than the result is in memory.
_MAX_VALUES = 1 << 23


def read(file: File, name: str, rows: AnyArray, major: int, minor: int) -> tuple[AnyArray, AnyArray, Int64Array]:
    """The values, indices and offsets of increasing rows of the matrix called `name`, which has `major` rows of `minor` columns (CSC: columns of rows)."""
    parts: dict[str, Dataset] = {}
    for part in ("data", "indices", "indptr"):
        dataset = file[f"{name}/{part}"]
        if not isinstance(dataset, Dataset) or len(dataset.shape) != 1:
            raise CorruptError("a part of a sparse matrix that is not an array of one dimension", file.filename, f"/{name}/{part}")
        parts[part] = dataset
    offsets: Int64Array = np.asarray(parts["indptr"][...]).astype(np.int64, copy=False)
    count = int(parts["data"].shape[0])
    if len(offsets) != major + 1 or int(parts["indices"].shape[0]) != count:
        message = f"a sparse matrix of {major} rows with {len(offsets)} offsets, {parts['indices'].shape[0]} indices and {count} values"
        raise CorruptError(message, file.filename, f"/{name}/indptr")
    if (np.diff(offsets) < 0).any() or offsets[0] < 0 or offsets[-1] > count:
        raise CorruptError(f"offsets decrease, or lead beyond the {count} values", file.filename, f"/{name}/indptr")
    starts, stops = offsets[rows], offsets[rows + 1]
    found = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(stops - starts, out=found[1:])
    values: AnyArray = np.empty(int(found[-1]), parts["data"].dtype)
    indices: AnyArray = np.empty(int(found[-1]), parts["indices"].dtype)
    for first, last in _spans(starts, stops):
        low, high, out = int(starts[first]), int(stops[last - 1]), slice(int(found[first]), int(found[last]))
        _fill(parts, low, high, starts[first:last], stops[first:last], (values[out], indices[out]))
    # SciPy does not look, and writes outside of arrays.
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= minor):
        raise CorruptError(f"indices from {indices.min()} to {indices.max()} for {minor}, from 0", file.filename, f"/{name}/indices")
    return values, indices, found


def _spans(starts: Int64Array, stops: Int64Array) -> list[tuple[int, int]]:
    """The rows that are read together: first and last + 1."""
    if not len(starts):
        return []
    wide = np.flatnonzero(starts[1:] - stops[:-1] > _MAX_GAP) + 1
    # Rows that begin in different parts of the file of this many values are read apart.
    parts = np.flatnonzero(np.diff(starts // _MAX_VALUES)) + 1
    cuts = np.union1d(wide, parts).tolist()
    return list(zip([0, *cuts], [*cuts, len(starts)], strict=True))


def _fill(parts: dict[str, Dataset], low: int, high: int, starts: Int64Array, stops: Int64Array, out: tuple[AnyArray, AnyArray]) -> None:
    """Reads the values and indices from `low` to `high`, and keeps those between `starts` and `stops`."""
    lengths = stops - starts
    if int(lengths.sum()) == high - low:
        out[0][...], out[1][...] = parts["data"][low:high], parts["indices"][low:high]
        return
    # Where each value comes from: counting up within a row.
    shifts = starts - low
    shifts[1:] -= np.cumsum(lengths[:-1])
    wanted = np.repeat(shifts, lengths) + np.arange(int(lengths.sum()))
    for values, part in zip(out, ("data", "indices"), strict=True):
        np.take(parts[part][low:high], wanted, out=values, mode="clip")
