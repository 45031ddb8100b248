"""Attributes: the attributes of an object as a mapping, with the values of h5py."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Protocol

import numpy as np

from .. import _native, dtypes
from ..base.errors import READ_ONLY, Error, InvalidInputError, InvalidTypeError, ObjectNotFoundError, ReadOnlyError
from ..base.type_aliases import AttributeValue, DtypeLike, ShapeLike
from ..base.visible import visible
from ..values import attribute_encoding, dtype_encoding, tagged_dtypes
from ..values.empty import Empty as Empty
from . import reading

#: Attributes that a repr shows, and characters of each value.
MAX_SHOWN, MAX_CHARS = 12, 50


def value_of(found: _native.AttributeValue, file: _native.File) -> AttributeValue:
    """The value of an attribute."""
    shape, datatype = found.shape, found.datatype
    if shape is None:
        return Empty(tagged_dtypes.of_datatype(datatype))
    number = dtypes.number_dtype(datatype)
    if number is not None and not shape:
        return np.frombuffer(found.data, number)[0]
    values = reading.convert(np.frombuffer(found.data, np.uint8).copy(), datatype, tuple(shape), found.heap, file)
    if datatype.class_name == "variable string":
        text = [v.decode("utf-8", "surrogateescape") for v in values.reshape(-1)]
        if not shape:
            return text[0]
        values = np.empty(len(text), dtype=object)
        values[:] = text
        values = values.reshape(shape)
    values = tagged_dtypes.tag(values, tagged_dtypes.of_datatype(datatype))
    return values[()] if values.ndim == 0 else values


class AttributeStore(Protocol):
    """Where the attributes of an object are: in a file that is read or edited, or in one that is being written."""

    #: Whether the names stay as they are.
    is_fixed: bool

    @property
    def lock(self) -> contextlib.AbstractContextManager[object]:
        """Held while more than one look has to see one state of the file."""

    def place(self) -> tuple[str | None, str]:
        """The path of the file, if it is known, and the path of the object, for errors."""

    def check(self) -> None:
        """Raises `ReadOnlyError` if attributes cannot be changed."""

    def names(self) -> list[str]:
        """The names of the attributes."""

    def get(self, name: str) -> _native.AttributeValue | None:
        """An attribute as it is stored."""

    def value(self, found: _native.AttributeValue) -> AttributeValue:
        """The value of a stored attribute."""

    def heap(self) -> list[bytes]:
        """An empty list for what elements of new values point at."""

    def set(self, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        """Sets an attribute."""

    def delete(self, name: str) -> None:
        """Removes an attribute that is there."""


class EmptyAttributeError(InvalidInputError, OSError):
    """A change of an attribute without elements, which h5py reports as an `OSError`."""

    __str__ = InvalidInputError.__str__


class Attributes(MutableMapping[str, AttributeValue]):
    """The attributes of an object: a mapping of names to values, read on access. They can be changed if the file can."""

    def __init__(self, store: AttributeStore) -> None:
        self._store = store
        self._kept: list[str] | None = None

    @property
    def _names(self) -> list[str]:
        if self._kept is not None:
            return self._kept
        names = self._store.names()
        if self._store.is_fixed:
            self._kept = names
        return names

    def __getitem__(self, name: str | bytes) -> AttributeValue:
        text = attribute_name(name)
        with self._store.lock:
            found = self._store.get(text)
            if found is None:
                raise self._missing(text)
            return self._store.value(found)

    def __setitem__(self, name: str | bytes, value: object) -> None:
        self.create(name, value)

    def __delitem__(self, name: str | bytes) -> None:
        text = attribute_name(name)
        self._store.check()
        with self._store.lock:
            if text not in self._names:
                raise self._missing(text)
            self._store.delete(text)

    def __contains__(self, name: object) -> bool:
        return (attribute_name(name) if isinstance(name, bytes) else name) in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def create(self, name: str | bytes, data: object, shape: ShapeLike | None = None, dtype: DtypeLike | None = None) -> None:
        """Sets an attribute, or replaces it.

        Args:
            name: Name of the attribute.
            data: Its value.
            shape: Its shape; by default the shape of `data`.
            dtype: Its dtype; by default the dtype of `data`.

        Raises:
            UnsupportedError: HDF5 cannot store such a value, or it cannot be written into an existing file yet.

        Example:
            >>> f.attrs.create("count", 3, dtype="u2")
        """
        self._store.check()
        found, datatype, raw, heap = attribute_encoding.encoded(attribute_name(name), data, dtype, self._store.heap())
        if shape is not None:
            given = dtype_encoding.extents("shape", shape)
            if found is None or np.prod(given, dtype=object) != np.prod(found, dtype=object):
                raise InvalidInputError(f"attribute {attribute_name(name)!r}: a value of shape {found} for shape {tuple(given)}")
            found = given
        self._store.set(attribute_name(name), found, datatype, raw, heap)

    def create_described(self, name: str, shape: Sequence[int] | None, datatype: _native.Datatype) -> None:
        """Creates an attribute whose elements are 0 or empty.

        Args:
            name: Name of the attribute.
            shape: Its shape; `None` of a null dataspace.
            datatype: How one element is stored.
        """
        self._store.check()
        count = 0 if shape is None else math.prod(shape)
        self._store.set(name, None if shape is None else list(shape), datatype, bytes(count * int(datatype.size)), [])

    def modify(self, name: str | bytes, value: object) -> None:
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
        self._store.check()
        with self._store.lock:
            self._modify(attribute_name(name), value)

    def _modify(self, name: str, value: object) -> None:
        found = self._store.get(name)
        if found is None:
            self.create(name, value)
            return
        if found.shape is None:
            raise EmptyAttributeError(f"attribute {name!r} has no elements: set it to replace it", *self._store.place())
        if found.datatype.class_name == "reference":
            values = self._store.heap()
            stored = dtype_encoding.stored(value, found.datatype, values)
            if list(stored.shape) != list(found.shape):
                raise InvalidTypeError(f"attribute {name!r}: a value of shape {stored.shape} for shape {tuple(found.shape)}", *self._store.place())
            self._store.set(name, list(found.shape), found.datatype, stored.tobytes(), values)
            return
        heap = self._store.heap()
        data = dtype_encoding.stored(value, found.datatype, heap)
        shape = dtype_encoding.shape_of(data, found.datatype)
        if shape != tuple(found.shape) and not (data.size == 1 and np.prod(found.shape, dtype=object) == 1):
            raise InvalidTypeError(f"attribute {name!r}: a value of shape {shape} for shape {tuple(found.shape)}", *self._store.place())
        self._store.set(name, list(found.shape), found.datatype, data.tobytes(), heap)

    def _missing(self, name: str) -> ObjectNotFoundError:
        return ObjectNotFoundError(f"there is no attribute {name!r}; there are {', '.join(self._names) or 'none'}", *self._store.place())

    def _ipython_key_completions_(self) -> list[str]:
        """What notebooks offer after `attrs["`."""
        return list(self._names)

    def __repr__(self) -> str:
        try:
            names = self._names
        except InvalidInputError:
            return "<closed Attributes>"
        if not names:
            return "<no attributes>"
        more = len(names) - MAX_SHOWN
        listed = [f"{visible(name)}={self._shown(name)}" for name in names[:MAX_SHOWN]]
        return f"<Attributes: {', '.join(listed)}{f' and {more} more' if more > 0 else ''}>"

    def _shown(self, name: str) -> str:
        """A value in a few characters."""
        try:
            value = self[name]
            text = visible(repr(shown(value)) if isinstance(value, (str, bytes)) else shown(value))
        except Error as error:
            return f"<{error.kind.value}>"
        return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"


def attributes_of(file: _native.File, number: int) -> Attributes:
    """The attributes of an object of a file that is open for reading.

    Args:
        file: The file.
        number: The number of the object.

    Returns:
        The attributes.
    """
    return Attributes(ReadAttributes(file, number))


class ReadAttributes:
    """The attributes of an object in a file that is open for reading, when only the number of the object is known."""

    is_fixed = True
    lock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()

    def __init__(self, file: _native.File, number: int) -> None:
        self._file, self._number = file, number

    def place(self) -> tuple[str | None, str]:
        return self._file.path, self._file.object_path(self._number)

    def check(self) -> None:
        raise ReadOnlyError(READ_ONLY, *self.place())

    def names(self) -> list[str]:
        return self._file.attribute_names(self._number)

    def get(self, name: str) -> _native.AttributeValue | None:
        return self._file.attribute(self._number, name)

    def value(self, found: _native.AttributeValue) -> AttributeValue:
        return value_of(found, self._file)

    def heap(self) -> list[bytes]:
        return []

    def set(self, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        self.check()

    def delete(self, name: str) -> None:
        self.check()


def shown(value: object) -> str:
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
