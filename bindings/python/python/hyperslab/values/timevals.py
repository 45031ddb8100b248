"""Time values: PyTables' times of 8 bytes, which are seconds and microseconds, as seconds."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.type_aliases import AnyArray


def has_timevals(datatype: _native.Datatype) -> bool:
    """Whether an element has times of 8 bytes in it."""
    kind = datatype.class_name
    if kind == "compound":
        return any(has_timevals(member) for _, _, member in datatype.fields)
    return has_timevals(datatype.base) if kind == "array" else kind == "time" and datatype.size == 8


def in_seconds(values: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """The values with their times as doubles of seconds."""
    while datatype.class_name == "array":
        datatype = datatype.base
    if datatype.class_name == "time" and datatype.size == 8:
        # Both parts have a sign. The sum is made in the order in which PyTables makes it.
        seconds: AnyArray = 1e-6 * values.astype("i4") + (values >> 32)
        return seconds
    if datatype.class_name != "compound" or values.dtype.names is None:
        return values
    parts = {name: in_seconds(values[name], member) for name, _, member in datatype.fields}
    out = np.empty(values.shape, [(name, part.dtype, part.shape[values.ndim :]) for name, part in parts.items()])
    for name, part in parts.items():
        out[name] = part
    return out
