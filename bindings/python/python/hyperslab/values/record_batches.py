"""Record batches: results of the core as pyarrow objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.extras import LateModule, importing
from ..base.type_aliases import AnyArray

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


def imported(capsules: tuple[object, object]) -> pa.RecordBatch:
    """The record batch of a schema and an array capsule."""
    return pa.RecordBatch._import_from_c_capsule(*capsules)


def column(capsules: tuple[object, object]) -> pa.Array:
    """The column of a batch that has one."""
    return imported(capsules).column(0)


def as_numpy(column: pa.Array | pa.ChunkedArray) -> AnyArray:
    """A column as numpy, masked if it contains nulls."""
    if column.null_count and pa.types.is_primitive(column.type):
        with importing():
            import pyarrow.compute as pc
        default = False if pa.types.is_boolean(column.type) else pa.scalar(0, pa.int64()).cast(column.type)
        return np.ma.MaskedArray(pc.fill_null(column, default).to_numpy(), column.is_null().to_numpy())
    values: AnyArray = column.to_numpy()
    return values
