"""Reading: selections into numpy arrays, with heap values resolved."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from .dtypes import stored_dtype, uses_heap, value_dtype

Axis = "tuple[int, int, int] | list[int]"


def read(file: _native.File, number: int, datatype: dict[str, Any], axes: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The selected values as a new array of `shape`."""
    count = int(np.prod(shape, dtype=object))
    raw = np.empty(count * datatype["size"], dtype=np.uint8)
    heap = file.read_into(number, axes, raw.ctypes.data, raw.nbytes)
    return convert(raw, datatype, shape, heap)


def convert(raw: np.ndarray[Any, Any], datatype: dict[str, Any], shape: tuple[int, ...], heap: _native.Heap) -> np.ndarray[Any, Any]:
    """Bytes as laid out in the file as an array of values."""
    if datatype["class"] == "array":
        shape, datatype = shape + tuple(datatype["shape"]), datatype["base"]
        return convert(raw, datatype, shape, heap)
    if not uses_heap(datatype):
        return raw.view(stored_dtype(datatype)).reshape(shape)
    size = datatype["size"]
    if datatype["class"] == "compound":
        records = raw.reshape(-1, size)
        out = np.empty(len(records), dtype=value_dtype(datatype))
        for name, offset, member in datatype["members"]:
            part = np.ascontiguousarray(records[:, offset:offset + member["size"]]).reshape(-1)
            out[name] = convert(part, member, (len(records),), heap)
        return out.reshape(shape)
    out = np.empty(raw.size // size, dtype=object)
    if datatype["class"] == "variable string":
        out[:] = heap.values(raw.tobytes(), size, 1)
    else:
        base = datatype["base"]
        for i, value in enumerate(heap.values(raw.tobytes(), size, base["size"])):
            items = np.frombuffer(value, dtype=np.uint8).copy()
            out[i] = convert(items, base, (items.size // base["size"],), heap)
    return out.reshape(shape)
