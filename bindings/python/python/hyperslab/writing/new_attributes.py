"""New attributes: attributes of an object of a file that is being written."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from .. import _native
from ..base.errors import ObjectNotFoundError
from ..base.type_aliases import AttributeValue
from ..objects import attributes
from ..values import attribute_encoding, dtype_encoding, empty, new_references


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
        kind = new_references.kind_of(empty.as_ours(value), dtype)
        if kind == "object":
            heap: list[bytes] = []
            given = dtype_encoding.stored(value, new_references.datatype_of(kind), heap)
            numbers = given.reshape(-1).view("<u8").tolist()
            self._writer.set_references(self._path, name, list(given.shape), [heap[number - 1].decode() if number else None for number in numbers])
            return
        self._writer.set_attribute(self._path, name, *attribute_encoding.encoded(name, value, dtype))

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
