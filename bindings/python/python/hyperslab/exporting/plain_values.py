"""Values as JSON has them."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..base.type_aliases import Json


def plain(value: object) -> Json:
    """A value for JSON: NaN and infinity become null, bytes that are not UTF-8 become base64."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
