"""Names of types for people: `text`, `category`, `3 × float64` where Arrow says `dictionary<…>` and `fixed_size_list<…>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.extras import LateModule

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


def type_name(type: pa.DataType) -> str:
    """What people call a type.

    Args:
        type: A type of Arrow.

    Returns:
        The name; Arrow's own if there is no other.

    Example:
        >>> type_name(pa.list_(pa.float64(), 3))
        '3 × float64'
    """
    if pa.types.is_fixed_size_list(type):
        return f"{type.list_size} × {type_name(type.value_type)}"
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return f"list of {type_name(type.value_type)}"
    for is_it, name in (
        (pa.types.is_dictionary, "category"),
        (pa.types.is_float16, "float16"),
        (pa.types.is_float32, "float32"),
        (pa.types.is_float64, "float64"),
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_timestamp, "time"),
        (pa.types.is_date, "date"),
        (pa.types.is_duration, "duration"),
        (pa.types.is_struct, "record"),
        (_is_text, "text"),
        (_is_bytes, "bytes"),
    ):
        if is_it(type):
            return name
    return str(type)


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _is_bytes(type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type) or pa.types.is_large_binary(type) or pa.types.is_binary_view(type) or pa.types.is_fixed_size_binary(type))
