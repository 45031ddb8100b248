"""References: values that point at objects of the file that is edited, and at parts of them."""

from __future__ import annotations

import functools
from typing import Protocol

from .. import _native
from ..backends.backend import Backend
from ..base.errors import InvalidInputError, UnsupportedError
from ..values.new_references import AnyReference, ExistingObjects, NewAttributeReference, NewReference, NewRegionReference
from ..values.references import AttributeReference, Reference, RegionReference, dereferenced, file_of, object_address
from ..values.regions import RegionSelection

#: How references to objects are stored.
OBJECT = _native.Datatype.reference("object", 8)


class Owner(Protocol):
    """An object whose elements point at others."""

    @property
    def _backend(self) -> Backend: ...

    @property
    def _file(self) -> _native.File: ...

    def _current(self, value: Reference) -> Reference: ...


def address_of(file: _native.File, number: int) -> bytes:
    """The address of an object, as references hold it.

    Args:
        file: The file.
        number: The number of the object.

    Returns:
        8 bytes.

    Raises:
        UnsupportedError: The file has no addresses.
    """
    address = file.address(number)
    if address is None:
        raise UnsupportedError("a reference to an object of a file that is not HDF5", file.path)
    return address.to_bytes(8, "little")


def values_of(node: Owner) -> list[bytes]:
    """A list for the values that elements of an object point at.

    Args:
        node: The object.

    Returns:
        An empty list, which encodes references to objects of the file of `node` if they have addresses.
    """
    return [] if not node._backend.is_complete else ExistingObjects(functools.partial(encoded, node))


def encoded(node: Owner, value: AnyReference) -> bytes:
    """Encodes a reference for the writer.

    Args:
        node: An object of the edited file.
        value: The reference.

    Returns:
        The address of the object in 8 bytes, and the part of it.

    Raises:
        InvalidInputError: It points at nothing, or into another file.
        ObjectNotFoundError: There is no object of its path.
    """
    path = node._backend.path
    if isinstance(value, NewReference):
        file, number = node._file.find(value.path)
        if file.path != path:
            raise InvalidInputError(f"a reference to an object of another file: {file.path}")
        return address_of(file, number) + value.part
    if not isinstance(value, Reference):
        raise InvalidInputError(f"a reference of no file: {value!r}")
    if file_of(value).path != path:
        raise InvalidInputError(f"a reference to an object of another file: {file_of(value).path}")
    address = object_address(value)
    if address is not None:
        return address
    found = dereferenced(node._current(value))
    if found is None:
        raise InvalidInputError("a reference to an object that does not exist")
    if found.file.path != path:
        raise InvalidInputError(f"a reference to an object of another file: {found.file.path}")
    part = b""
    if isinstance(value, RegionReference):
        assert found.selection is not None  # a region has one
        kind, parts = found.selection.kind, found.selection.parts
        if kind in ("all", "none"):
            shape = found.file.describe(found.object, found.path)["shape"] or ()
            kind, parts = "hyperslab", [[[0, 1, extent if kind == "all" else 0, 1] for extent in shape]]
        part = NewRegionReference(found.path, parts[0] if kind == "hyperslab" else RegionSelection(kind, parts)).part
    elif isinstance(value, AttributeReference):
        part = NewAttributeReference(found.path, str(found.attribute)).part
    return address_of(found.file, found.object) + part
