"""Constants: lists of values that a condition names after `in`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, ColumnValue, Elements
from ..objects.dataset import Dataset

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: A name, what its values are, and the values: what the core takes.
Named = tuple[str, str, bytes | list[str]]


def named_lists(text: str | None, variables: Mapping[str, object] | None) -> list[Named]:
    """The lists that `text` names after `in`, from `variables`."""
    if not variables or text is None:
        return []
    return [(name, *_constants(name, variables[name])) for name in dict.fromkeys(_native.list_names(text)) if name in variables]


def _constants(name: str, values: Any) -> tuple[str, bytes | list[str]]:
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__array__") or hasattr(values, "__iter__")):
        raise InvalidInputError(f"{name!r} is a {type(values).__name__}; give an array or a list of constants after `in`")
    if isinstance(values, Dataset):
        values = values.asstr()[...] if values.dtype.kind in "OS" else values[...]
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        if values.null_count:
            raise InvalidInputError(f"{name!r} has nulls, which equal nothing: leave them out")
        values = _numpy(name, values)
    if np.ma.is_masked(values):
        raise InvalidInputError(f"{name!r} has masked values, which equal nothing: leave them out")
    array = np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else values
    if not hasattr(array, "dtype"):
        return _of_objects(name, list(array))
    array = np.asarray(array).ravel()
    kind = array.dtype.kind
    if kind == "i":
        return "i8", array.astype(np.int64).tobytes()
    if kind == "u":
        return "u8", array.astype(np.uint64).tobytes()
    if kind == "f" and array.dtype.itemsize <= 8:
        return "f8", array.astype(np.float64).tobytes()
    if kind == "b":
        return "bool", array.astype(np.uint8).tobytes()
    if kind == "M":
        if np.isnat(array).any():
            raise InvalidInputError(f"{name!r} has NaT, which equals nothing: leave it out")
        return "text", _times(name, array)
    if kind in "SUOT":
        return _of_objects(name, array.tolist())
    raise InvalidInputError(f"{name!r} has values of type {array.dtype}; constants are numbers, truth values, texts or times")


def _times(name: str, array: AnyArray) -> list[str]:
    """Times as texts, in nanoseconds if that is exact."""
    exact = array.astype("M8[ns]")
    if (exact.astype(array.dtype) != array).any():
        raise InvalidInputError(f"{name!r} has times that do not fit nanoseconds in 64 bits (years 1678 to 2261)")
    return [str(time) for time in np.datetime_as_string(exact)]


def _numpy(name: str, values: pa.Array | pa.ChunkedArray) -> Elements:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
        return values.cast(pa.timestamp("ns")).to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.cast(pa.timestamp("ns")).to_numpy()
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_boolean(values.type):
        return values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    return np.array(values.to_pylist(), dtype=object)


def _of_objects(name: str, values: list[ColumnValue]) -> tuple[str, bytes | list[str]]:
    """Python's own values; numbers stay what they are, however large."""
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return "bool", bytes(values)
    if all(isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) for value in values):
        # Digits alone are exact; of a float without a fraction they are its value.
        whole = (isinstance(value, (int, np.integer)) or float(value).is_integer() for value in values)
        return "number", [str(int(value)) if is_whole else repr(float(value)) for value, is_whole in zip(values, whole, strict=True)]
    if all(isinstance(value, (str, bytes)) for value in values):
        try:
            return "text", [value.decode() if isinstance(value, bytes) else value for value in values]
        except UnicodeDecodeError:
            raise InvalidInputError(f"{name!r} has bytes that are not UTF-8") from None
    if all(isinstance(value, np.datetime64) or hasattr(value, "isoformat") for value in values):
        return "text", _times(name, np.array(values, dtype="M8[ns]"))
    other = next(value for value in values if value is None or type(value) is not type(values[0]))
    raise InvalidInputError(f"{name!r} has a {type(values[0]).__name__} and a {type(other).__name__}; constants are all numbers, truth values, texts or times")
