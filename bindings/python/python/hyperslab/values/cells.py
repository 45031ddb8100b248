"""Single values of Arrow columns for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.extras import LateModule
from ..base.type_aliases import ColumnValue
from ..base.visible import visible
from .scalar_text import scalar_text

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: Bytes that are shown as they are, and members of a list; of longer ones the size, or the first, are.
MAX_BYTES, MAX_MEMBERS = 32, 8


def cell(value: ColumnValue, type: pa.DataType) -> str:
    """A value in one line: a narrow float with its own few digits, not a double's; of long bytes and lists the size."""
    if value is not None and (pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type)):
        if pa.types.is_uint8(type.value_type) and len(value) > MAX_BYTES and None not in value:
            return _size(bytes(value), "values")
        members = [cell(member, type.value_type) for member in value[:MAX_MEMBERS]]
        return f"[{', '.join(members)}{f', … {len(value):,} in all' if len(value) > MAX_MEMBERS else ''}]"
    if isinstance(value, bytes) and len(value) > MAX_BYTES:
        return _size(value, "bytes")
    text = scalar_text(np.float32(value) if pa.types.is_float32(type) and value is not None else value, is_exact=True)
    return visible(str(value)) if text is None else text


def _size(value: bytes, unit: str) -> str:
    """The size of bytes, and whether Python pickled them: the protocol comes first, and a full stop last."""
    is_pickle = value[0] == 0x80 and 2 <= value[1] <= 5 and value.endswith(b".")
    return f"<pickle, {len(value):,} bytes>" if is_pickle else f"<{len(value):,} {unit}>"
