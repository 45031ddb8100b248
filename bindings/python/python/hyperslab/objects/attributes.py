"""Attributes: the attributes of an object as a mapping, with the values of h5py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .. import _native, dtypes
from ..errors import READ_ONLY, ReadOnlyError
from ..type_aliases import AttributeValue
from ..values import tagged_dtypes
from . import reading
from .read_only import ATTRIBUTE_NAMES, refuse_changes


class Empty:
    """The value of an attribute or dataset with a null dataspace: it has a dtype, but no elements.

    Args:
        dtype: The dtype.

    Example:
        >>> f.attrs["unknown"] = hs.Empty(np.dtype("f8"))
    """

    #: As of h5py's: there is no shape, and there are no elements to count.
    shape: None = None
    size: None = None

    def __init__(self, dtype: Any) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empty) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"Empty(dtype={self.dtype!r})"


def as_ours(value: Any) -> Any:
    """Converts `h5py.Empty` to `Empty`; returns other values unchanged."""
    is_theirs = type(value).__name__ == "Empty" and type(value).__module__.partition(".")[0] == "h5py"
    return Empty(value.dtype) if is_theirs else value


def value_of(found: _native.AttributeValue, file: _native.File | _native.Writer) -> AttributeValue:
    """The value of an attribute."""
    shape, datatype = found.shape, found.datatype
    if shape is None:
        return Empty(tagged_dtypes.of_datatype(datatype))
    number = dtypes.number_dtype(datatype)
    if number is not None and not shape:
        return np.frombuffer(found.data, number)[0]
    values = reading.convert(np.frombuffer(found.data, np.uint8).copy(), datatype, tuple(shape), found.heap, file)
    if datatype["class"] == "variable string":
        text = [v.decode("utf-8", "surrogateescape") for v in values.reshape(-1)]
        if not shape:
            return text[0]
        values = np.empty(len(text), dtype=object)
        values[:] = text
        values = values.reshape(shape)
    values = tagged_dtypes.tag(values, tagged_dtypes.of_datatype(datatype))
    return values[()] if values.ndim == 0 else values


@refuse_changes(*ATTRIBUTE_NAMES)
class Attributes(Mapping[str, AttributeValue]):
    """The attributes of an object: a mapping of names to values, read on access."""

    def __init__(self, file: _native.File, number: int) -> None:
        self._file, self._number = file, number
        self._names = file.attribute_names(number)

    def __getitem__(self, name: str) -> AttributeValue:
        found = self._file.attribute(self._number, name)
        if found is None:
            raise KeyError(f"there is no attribute {name!r}; there are {', '.join(self._names) or 'none'}")
        return value_of(found, self._file)

    def __setitem__(self, name: str, value: Any) -> None:
        raise ReadOnlyError(READ_ONLY, self._file.path)

    def __delitem__(self, name: str) -> None:
        raise ReadOnlyError(READ_ONLY, self._file.path)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Attributes: {', '.join(self._names)}>"


def shown(value: Any) -> str:
    """An attribute's value for people: text as text, one element as itself."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        return (
            shown(value.reshape(-1)[0]) if value.size == 1 else "[" + ", ".join(shown(v) for v in value.reshape(-1)[:20]) + (", …]" if value.size > 20 else "]")
        )
    return str(value)
