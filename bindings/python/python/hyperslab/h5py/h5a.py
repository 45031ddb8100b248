"""As `h5py.h5a`: identifiers of attributes."""

from __future__ import annotations

from typing import Any

from .. import _native
from ..base.errors import ObjectNotFoundError
from ..base.type_aliases import AnyDtype
from ..objects.native_objects import native_of, stored_attribute
from ._missing import missing_from, unsupported
from ._objects import ObjectID
from .h5s import SpaceID
from .h5t import TypeID, of_description
from .names import stored


class AttrID:
    """Identifies an attribute."""

    def __init__(self, name: str, found: _native.AttributeValue) -> None:
        self._name, self._found = name, found

    @property
    def name(self) -> bytes:
        """The name."""
        return stored(self._name)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension; `None` of a null dataspace."""
        return None if self._found.shape is None else tuple(self._found.shape)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape or ())

    @property
    def dtype(self) -> AnyDtype:
        """The numpy dtype."""
        return self.get_type().dtype

    def get_type(self) -> TypeID:
        """The datatype."""
        return of_description(self._found.datatype)

    def get_space(self) -> SpaceID:
        """The dataspace."""
        return SpaceID(self.shape)

    def get_storage_size(self) -> int:
        """Bytes of the value in the file, without variable-length data."""
        return len(self._found.data)

    def close(self) -> None:
        """Does nothing."""


def _node(loc: ObjectID | TypeID) -> Any:
    """The object of an identifier. The identifier of a committed datatype holds the object as its owner."""
    return loc._owner if isinstance(loc, TypeID) else loc._node


def _names(loc: ObjectID | TypeID) -> list[str]:
    file, number = native_of(_node(loc))
    return file.attribute_names(number)


def open(loc: ObjectID | TypeID, name: bytes | str) -> AttrID:
    """The attribute of an object."""
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    node = _node(loc)
    found = stored_attribute(node, text)
    if found is None:
        raise ObjectNotFoundError(f"there is no attribute {text!r}", native_of(node)[0].path, node.path)
    return AttrID(text, found)


def exists(loc: ObjectID | TypeID, name: bytes | str) -> bool:
    """Whether an object has an attribute."""
    return (name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name) in _names(loc)


def get_num_attrs(loc: ObjectID | TypeID) -> int:
    """Number of attributes of an object."""
    return len(_names(loc))


create = unsupported("h5a.create")
delete = unsupported("h5a.delete")

__getattr__ = missing_from("h5py.h5a")
