"""Attributes: the attributes of an object as a mapping, with the values of h5py."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Protocol

import numpy as np

from .. import _native, dtypes
from ..backends.backend import Backend, Changes
from ..backends.reading import Reading
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError
from ..base.type_aliases import AttributeValue
from ..values import attribute_encoding, dtype_encoding, tagged_dtypes
from ..values.empty import Empty as Empty
from . import reading, stored_references
from .kept import kept


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


class Owner(Protocol):
    """An object that has attributes."""

    _backend: Backend
    _number: int

    @property
    def _file(self) -> _native.File: ...

    @property
    def name(self) -> str: ...

    @property
    def _changes(self) -> Changes: ...

    def _own_number(self) -> int: ...

    def _current(self, value: Any) -> Any: ...


class Attributes(MutableMapping[str, AttributeValue]):
    """The attributes of an object: a mapping of names to values, read on access. They can be changed if the file can."""

    def __init__(self, node: Owner) -> None:
        self._node, self._number, self._backend = node, node._number, node._backend

    @property
    def _file(self) -> _native.File:
        return self._node._file

    @kept
    def _names(self) -> list[str]:
        with self._backend.lock:
            return self._file.attribute_names(self._number)

    def __getitem__(self, name: str | bytes) -> Any:
        text = attribute_name(name)
        with self._backend.lock:
            found = self._file.attribute(self._number, text)
            if found is None:
                raise self._missing(text)
            return value_of(found, self._file)

    def __setitem__(self, name: str | bytes, value: Any) -> None:
        self.create(name, value)

    def __delitem__(self, name: str | bytes) -> None:
        text, changes = attribute_name(name), self._node._changes
        with changes.lock:
            if text not in self._names:
                raise self._missing(text)
            number = self._node._own_number()
            changes.make(lambda editor: editor.delete_attribute(number, text))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

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
        changes = self._node._changes
        found, datatype, raw, heap = attribute_encoding.encoded(attribute_name(name), data, dtype, stored_references.values_of(self._node))
        if shape is not None:
            given = dtype_encoding.extents("shape", shape)
            if found is None or np.prod(given, dtype=object) != np.prod(found, dtype=object):
                raise InvalidInputError(f"attribute {attribute_name(name)!r}: a value of shape {found} for shape {tuple(given)}")
            found = given
        self._set(changes, attribute_name(name), found, datatype, raw, heap)

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
        changes = self._node._changes
        with changes.lock:
            self._modify(changes, attribute_name(name), value)

    def _modify(self, changes: Changes, name: str, value: Any) -> None:
        found = self._file.attribute(self._number, name)
        if found is None:
            self.create(name, value)
            return
        if found.shape is None:
            raise InvalidInputError(f"attribute {name!r} has no elements: set it to replace it", self._file.path, self._node.name)
        if found.datatype["class"] == "reference":
            values = stored_references.values_of(self._node)
            stored = dtype_encoding.stored(value, found.datatype, values)
            if list(stored.shape) != list(found.shape):
                raise InvalidTypeError(f"attribute {name!r}: a value of shape {stored.shape} for shape {tuple(found.shape)}", self._file.path, self._node.name)
            self._set(changes, name, list(found.shape), found.datatype, stored.tobytes(), values)
            return
        heap = stored_references.values_of(self._node)
        data = dtype_encoding.stored(value, found.datatype, heap)
        shape = dtype_encoding.shape_of(data, found.datatype)
        if shape != tuple(found.shape) and not (data.size == 1 and np.prod(found.shape, dtype=object) == 1):
            raise InvalidTypeError(f"attribute {name!r}: a value of shape {shape} for shape {tuple(found.shape)}", self._file.path, self._node.name)
        self._set(changes, name, list(found.shape), found.datatype, data.tobytes(), heap)

    def _set(self, changes: Changes, name: str, shape: list[int] | None, datatype: dict[str, Any], raw: bytes, heap: list[bytes]) -> None:
        number = self._node._own_number()
        changes.make(lambda editor: editor.set_attribute(number, name, shape, datatype, raw, heap))

    def _missing(self, name: str) -> ObjectNotFoundError:
        return ObjectNotFoundError(f"there is no attribute {name!r}; there are {', '.join(self._names) or 'none'}", self._file.path, self._node.name)

    def __repr__(self) -> str:
        return f"<Attributes: {', '.join(self._names)}>"


def attributes_of(file: _native.File, number: int) -> Attributes:
    """The attributes of an object of a file that is open for reading.

    Args:
        file: The file.
        number: The number of the object.

    Returns:
        The attributes.
    """
    return Attributes(_Unnamed(file, number))


class _Unnamed:
    """An object of a file that is open for reading, of which only the number is known."""

    def __init__(self, file: _native.File, number: int) -> None:
        self._file, self._number = file, number
        self._backend: Backend = Reading(file)

    @property
    def name(self) -> str:
        return self._file.object_path(self._number)

    @property
    def _changes(self) -> Changes:
        return self._backend.changes(self.name)

    def _own_number(self) -> int:
        return self._number

    def _current(self, value: Any) -> Any:
        return value


def shown(value: Any) -> str:
    """An attribute's value for people: text as text, one element as itself."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        return (
            shown(value.reshape(-1)[0]) if value.size == 1 else "[" + ", ".join(shown(v) for v in value.reshape(-1)[:20]) + (", …]" if value.size > 20 else "]")
        )
    return str(value)


def attribute_name(name: object) -> str:
    """The name of an attribute as text; bytes are UTF-8, as in h5py."""
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str):
        raise TypeError(f"the name of an attribute is text, not {name!r}")
    return name
