"""Packing: splits as the tasks of an engine, and how many bytes their rows have."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from .table import Split

#: What a value of variable length is counted as.
VARIABLE_BYTES = 16


def packed(splits: Sequence[Split], tasks: int) -> list[list[Split]]:
    """Adjacent splits in groups of about equally many rows, because each task has an overhead of some milliseconds."""
    whole = max(sum(split.rows for split in splits), 1)
    groups: list[list[Split]] = []
    last, done = -1, 0
    for split in splits:
        middle = done + split.rows // 2
        if (group := middle * tasks // whole) != last:
            groups.append([])
            last = group
        groups[-1].append(split)
        done += split.rows
    return groups


def value_bytes(kind: pa.DataType) -> int:
    """Bytes of a value of this type in memory."""
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * value_bytes(kind.value_type)
    return int(kind.bit_width) // 8 if pa.types.is_primitive(kind) else VARIABLE_BYTES
