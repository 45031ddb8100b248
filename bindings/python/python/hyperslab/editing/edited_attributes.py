"""Edited attributes: attributes of an object of a file that is edited, with h5py's interface."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import numpy as np

from .. import _native
from ..errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError
from ..objects.attributes import Attributes
from ..type_aliases import AttributeValue
from ..values import dtype_encoding
from ..writing import new_attributes
from . import references
from .edited_node import NodeEdits


class AttributeEdits(MutableMapping[str, AttributeValue]):
    """What attributes of an edited file have besides reading. Subclasses put it in front of the class that reads them."""

    def __init__(self, node: NodeEdits) -> None:
        self._node, self._number = node, node._number

    @property
    def _file(self) -> _native.File:
        return self._node._file

    @property
    def _names(self) -> list[str]:
        with self._node._changes.lock:
            return self._file.attribute_names(self._number)

    def __getitem__(self, name: Any) -> Any:
        with self._node._changes.lock:
            return super().__getitem__(name)

    def __setitem__(self, name: str | bytes, value: Any) -> None:
        self.create(name, value)

    def __delitem__(self, name: str | bytes) -> None:
        name = _text(name)
        with self._node._changes.lock:
            self._check_there(name)
            number = self._node._own_number()
            self._node._changes.make(lambda editor: editor.delete_attribute(number, name))

    def create(self, name: str | bytes, data: Any, shape: Any = None, dtype: Any = None) -> None:
        """Sets an attribute, or replaces it.

        Args:
            name: Name of the attribute.
            data: Its value.
            shape: Its shape; by default that of `data`.
            dtype: Its dtype; by default that of `data`.

        Raises:
            UnsupportedError: HDF5 cannot store such a value, or it cannot be written into an existing file yet.

        Example:
            >>> f.attrs.create("count", 3, dtype="u2")
        """
        found, datatype, raw, heap = new_attributes.encoded(_text(name), data, dtype, references.values_of(self._node))
        if shape is not None:
            given = dtype_encoding.extents("shape", shape)
            if found is None or np.prod(given, dtype=object) != np.prod(found, dtype=object):
                raise InvalidInputError(f"attribute {_text(name)!r}: a value of shape {found} for shape {tuple(given)}")
            found = given
        self._set(_text(name), found, datatype, raw, heap)

    def modify(self, name: str | bytes, value: Any) -> None:
        """Changes the value of an attribute, and keeps its dtype and shape. An attribute that does not exist is created.

        Args:
            name: Name of the attribute.
            value: The new value. An attribute of one element may have shape `()` or `(1,)`.

        Raises:
            InvalidTypeError: The shapes differ.
            InvalidInputError: The attribute's dtype cannot hold the value.

        Example:
            >>> f.attrs.modify("count", 4)
        """
        with self._node._changes.lock:
            self._modify(_text(name), value)

    def _modify(self, name: str, value: Any) -> None:
        found = self._file.attribute(self._number, name)
        if found is None:
            self.create(name, value)
            return
        if found.shape is None:
            raise InvalidInputError(f"attribute {name!r} has no elements: set it to replace it", self._file.path, self._node.name)
        if found.datatype["class"] == "reference":
            values = references.values_of(self._node)
            stored = dtype_encoding.stored(value, found.datatype, values)
            if list(stored.shape) != list(found.shape):
                raise InvalidTypeError(f"attribute {name!r}: a value of shape {stored.shape} for shape {tuple(found.shape)}", self._file.path, self._node.name)
            self._set(name, list(found.shape), found.datatype, stored.tobytes(), values)
            return
        heap = references.values_of(self._node)
        data = dtype_encoding.stored(value, found.datatype, heap)
        shape = dtype_encoding.shape_of(data, found.datatype)
        if shape != tuple(found.shape) and not (data.size == 1 and np.prod(found.shape, dtype=object) == 1):
            raise InvalidTypeError(f"attribute {name!r}: a value of shape {shape} for shape {tuple(found.shape)}", self._file.path, self._node.name)
        self._set(name, list(found.shape), found.datatype, data.tobytes(), heap)

    def _set(self, name: str, shape: list[int] | None, datatype: dict[str, Any], raw: bytes, heap: list[bytes]) -> None:
        number = self._node._own_number()
        self._node._changes.make(lambda editor: editor.set_attribute(number, name, shape, datatype, raw, heap))

    def _check_there(self, name: str) -> None:
        if name not in self._names:
            raise ObjectNotFoundError(f"there is no attribute {name!r}; there are {', '.join(self._names) or 'none'}", self._file.path, self._node.name)


class EditedAttributes(AttributeEdits, Attributes):  # type: ignore[override]
    """The attributes of an object of an edited file: a mapping of names to values that can be changed."""


def _text(name: object) -> str:
    """A name as text; bytes are UTF-8, as in h5py."""
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str):
        raise TypeError(f"the name of an attribute is text, not {name!r}")
    return name
