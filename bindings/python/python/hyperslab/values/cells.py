"""Single values of Arrow columns for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.extras import LateModule
from ..base.type_aliases import ColumnValue
from ..base.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


def cell(value: ColumnValue, type: pa.DataType) -> str:
    """A value in one line: a narrow float with its own few digits, not a double's; a null is empty."""
    if value is None:
        return ""
    return str(np.float32(value)) if pa.types.is_float32(type) else visible(str(value))
