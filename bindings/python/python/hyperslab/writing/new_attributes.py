"""New attributes: attributes of an object of a file that is being written."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

import numpy as np

from .. import _native
from ..errors import ObjectNotFoundError, UnsupportedError
from ..objects import attributes
from ..objects.attributes import Empty
from ..type_aliases import AttributeValue
from ..values import dtype_encoding, new_references


class NewAttributes(MutableMapping[str, AttributeValue]):
    """The attributes of an object that is being written: `attrs["units"] = "K"`. They can be read back, and removed."""

    def __init__(self, writer: _native.Writer, path: str) -> None:
        self._writer, self._path = writer, path

    def __getitem__(self, name: str) -> AttributeValue:
        found = self._writer.attribute(self._path, name)
        if found is None:
            raise ObjectNotFoundError(f"there is no attribute {name!r}; there are {', '.join(self) or 'none'}", object=self._path)
        return attributes.value_of(found, self._writer)

    def __setitem__(self, name: str, value: Any) -> None:
        self.create(name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise ObjectNotFoundError(f"there is no attribute {name!r}", object=self._path)
        self._writer.remove_attribute(self._path, name)

    def __contains__(self, name: object) -> bool:
        return name in self._writer.attribute_names(self._path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._writer.attribute_names(self._path))

    def __len__(self) -> int:
        return len(self._writer.attribute_names(self._path))

    def create(self, name: str, value: Any, dtype: Any = None) -> None:
        """Sets an attribute.

        Args:
            name: Name of the attribute.
            value: Its value.
            dtype: Its dtype; by default that of `value`.

        Raises:
            UnsupportedError: HDF5 cannot store such a value.

        Example:
            >>> f.attrs.create("count", 3, dtype="u2")
        """
        kind = new_references.kind_of(attributes.as_ours(value), dtype)
        if kind == "object":
            heap: list[bytes] = []
            given = dtype_encoding.stored(value, new_references.datatype_of(kind), heap)
            numbers = given.reshape(-1).view("<u8").tolist()
            self._writer.set_references(self._path, name, list(given.shape), [heap[number - 1].decode() if number else None for number in numbers])
            return
        self._writer.set_attribute(self._path, name, *encoded(name, value, dtype))

    def modify(self, name: str, value: Any) -> None:
        """Sets an attribute, with the dtype and shape of `value`.

        Args:
            name: Name of the attribute.
            value: Its value.

        Example:
            >>> f.attrs.modify("count", 4)
        """
        self.create(name, value)

    def __repr__(self) -> str:
        return f"<new attributes: {', '.join(self)}>"


def encoded(name: str, value: Any, dtype: Any = None, heap: list[bytes] | None = None) -> tuple[list[int] | None, dict[str, Any], bytes, list[bytes]]:
    """Shape, datatype and stored bytes of an attribute's value, and its values of variable length.

    Args:
        name: Name of the attribute.
        value: Its value.
        dtype: Its dtype; by default that of `value`.
        heap: Where what elements point at is added; by default a new list.

    Returns:
        The shape (`None` of a null dataspace), the datatype, the bytes of the elements, and what they point at.

    Raises:
        UnsupportedError: HDF5 cannot store such a value.
    """
    value = attributes.as_ours(value)
    if isinstance(value, Empty):
        return None, dtype_encoding.of_dtype(dtype or value.dtype), b"", []
    heap = [] if heap is None else heap
    kind = new_references.kind_of(value, dtype)
    if value is None or isinstance(value, (dict, set)):
        hint = "give hyperslab.Empty(dtype) for a value without elements" if value is None else "give its items one by one"
        raise UnsupportedError(f"attribute '{name}': HDF5 cannot store a {type(value).__name__}; {hint}")
    given = value if kind or isinstance(value, (str, bytes)) else dtype_encoding.as_array(value, dtype)
    if getattr(given, "dtype", np.dtype("u1")).kind in "mM":
        raise UnsupportedError(f"attribute '{name}': times of numpy ({given.dtype}); give text (`np.datetime_as_string`) or counts (`astype('i8')`)")
    datatype = new_references.datatype_of(kind) if kind else dtype_encoding.of_values(dtype, given)
    if isinstance(value, bytes):
        given = np.bytes_(value)
        datatype = dtype_encoding.of_dtype(f"S{max(len(value), 1)}")
    data = dtype_encoding.stored(given, datatype, heap)
    found = data.shape if kind else dtype_encoding.shape_of(given, datatype)
    return list(found), datatype, data.tobytes(), heap
