"""Batch values: rows of a batch, which are a numpy array, sparse rows of SciPy, or a column of Arrow: taken, cut and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..base.type_aliases import AnyArray

#: A numpy array, a `csr_array` of SciPy or a `pyarrow.ChunkedArray`; the first dimension counts rows.
Values = Any
#: Values by name, a record batch, or what a transform made of one of these.
Batch = Any


def taken(values: Values, places: AnyArray) -> Values:
    """The rows at `places`, as a copy."""
    if isinstance(values, pa.ChunkedArray):
        return values.take(pa.array(places))
    return np.take(values, places, axis=0) if isinstance(values, np.ndarray) else values[places]


def part(values: Values, start: int, stop: int) -> Values:
    """The rows of a range, as a copy: a view would keep all other rows in memory."""
    if isinstance(values, np.ndarray):
        return values[start:stop].copy()
    return values.slice(start, stop - start) if isinstance(values, pa.ChunkedArray) else values[start:stop]


def joined(parts: list[Values]) -> Values:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if isinstance(parts[0], pa.ChunkedArray):
        return pa.chunked_array([chunk for column in parts for chunk in column.chunks], parts[0].type)
    import scipy.sparse  # there are sparse rows, so it is installed

    return scipy.sparse.vstack(parts, format="csr")


def joined_batches(parts: list[dict[str, Values]]) -> dict[str, Values]:
    """The rows of all parts, name by name."""
    return parts[0] if len(parts) == 1 else {name: joined([values[name] for values in parts]) for name in parts[0]}
