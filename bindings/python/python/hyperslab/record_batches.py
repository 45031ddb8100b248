"""Record batches: results of the core as pyarrow objects."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from . import _native


def batches(reader: _native.Reader) -> Iterator[pa.RecordBatch]:
    """The batches of a scan, one after the other."""
    while (capsules := reader.next_batch()) is not None:
        yield pa.RecordBatch._import_from_c_capsule(*capsules)


def column(capsules: tuple[object, object]) -> pa.Array:
    """The column of a batch that has one."""
    return pa.RecordBatch._import_from_c_capsule(*capsules).column(0)
