"""Batch arrow: batches as record batches of Arrow, and columns of Arrow as numpy arrays."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray
from .values import Values


def record_batch(values: dict[str, Values]) -> pa.RecordBatch:
    """A batch as a record batch. More dimensions become a flat list of fixed size with the shape in the field's metadata."""
    columns, fields = [], []
    for name, found in values.items():
        column = _column(found)
        inner = found.shape[1:] if isinstance(found, np.ndarray) else ()
        metadata = {"shape": json.dumps(inner, separators=(",", ":"))} if inner else None
        columns.append(column)
        fields.append(pa.field(name, column.type, metadata=metadata))
    return pa.record_batch(columns, schema=pa.schema(fields))


def _column(found: Values) -> pa.Array:
    if isinstance(found, pa.ChunkedArray):
        return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)
    if not isinstance(found, np.ndarray):  # sparse rows
        offsets = pa.array(found.indptr, pa.int64())
        lists = [pa.LargeListArray.from_arrays(offsets, pa.array(part)) for part in (found.indices, found.data)]
        return pa.StructArray.from_arrays(lists, ["indices", "values"])
    if found.ndim > 1:
        size = int(np.prod(found.shape[1:]))
        flat = _column(found.reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, size) if size else pa.array([[]] * len(found), pa.list_(flat.type, 0))
    if found.dtype.names:
        return pa.StructArray.from_arrays([_column(np.ascontiguousarray(found[name])) for name in found.dtype.names], list(found.dtype.names))
    if found.dtype.kind == "c":
        size = found.dtype.itemsize // 2
        parts = [_column(np.ascontiguousarray(part).astype(f"f{size}", copy=False)) for part in (found.real, found.imag)]
        return pa.StructArray.from_arrays(parts, ["r", "i"])
    return pa.array(found.tolist() if found.dtype.kind == "S" else found, pa.binary() if found.dtype.kind == "S" else None)


def as_numpy(name: str, column: pa.ChunkedArray) -> AnyArray:
    """A column of a table as a numpy array of its own. Nulls of floating-point numbers are NaN; others are refused."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        column = column.cast(type_.value_type)
    if column.null_count and not pa.types.is_floating(type_):
        raise InvalidInputError(f"column '{name}' of type {type_} has nulls, which numpy has no value for: give output='arrow'")
    if pa.types.is_fixed_size_list(type_) and not pa.types.is_nested(type_.value_type):
        flat = pa.chunked_array([chunk.flatten() for chunk in column.chunks], type_.value_type)
        return as_numpy(name, flat).reshape(len(column), type_.list_size)
    found: AnyArray = column.to_numpy()
    return found if found.flags.writeable else found.copy()
