"""Single values of Arrow columns for people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..base.visible import visible


def cell(value: Any, type: pa.DataType) -> str:
    """A value in one line: a narrow float with its own few digits, not a double's; a null is empty."""
    if value is None:
        return ""
    return str(np.float32(value)) if pa.types.is_float32(type) else visible(str(value))
