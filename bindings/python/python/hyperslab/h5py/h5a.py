"""As `h5py.h5a`: identifiers of attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import _native
from ..base.errors import InvalidInputError, ObjectNotFoundError
from ..base.type_aliases import AnyArray, AnyDtype
from ..objects.native_objects import complete, native_of, object_at, stored_attribute
from ._missing import missing_from
from ._objects import ObjectID
from .h5s import SpaceID
from .h5t import TypeID, of_description
from .names import stored, text_of

_Result = TypeVar("_Result")


class AttrID:
    """Identifies an attribute."""

    def __init__(self, owner: ObjectID | TypeID, name: str) -> None:
        self._owner, self._name = owner, name

    @property
    def _found(self) -> _native.AttributeValue:
        node = node_of(self._owner)
        found = stored_attribute(node, self._name)
        if found is None:
            raise ObjectNotFoundError(f"there is no attribute {self._name!r}", native_of(node)[0].path, node.path)
        return found

    @property
    def name(self) -> bytes:
        """The name."""
        return stored(self._name)

    def get_name(self) -> bytes:
        """The name."""
        return self.name

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extent of each dimension; `None` of a null dataspace."""
        shape = self._found.shape
        return None if shape is None else tuple(shape)

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
        node = node_of(self._owner)
        complete(node)
        file, number = native_of(node)
        committed = file.structure(number)["committed_of_attributes"].get(self._name)
        return of_description(self._found.datatype, None if committed is None else object_at(node, file.object_path(committed)))

    def get_space(self) -> SpaceID:
        """The dataspace."""
        return SpaceID(self.shape)

    def get_storage_size(self) -> int:
        """Bytes of the value in the file, without variable-length data."""
        return len(self._found.data)

    def read(self, arr: AnyArray, mtype: object = None) -> None:
        """Reads the value into an array."""
        arr[...] = node_of(self._owner).attrs[self._name]

    def write(self, arr: AnyArray, mtype: object = None) -> None:
        """Changes the value."""
        node_of(self._owner).attrs.modify(self._name, arr)

    def close(self) -> None:
        """Does nothing."""


def node_of(loc: ObjectID | TypeID) -> Any:
    """The object of an identifier. The identifier of a committed datatype holds the object as its owner."""
    return loc.owner if isinstance(loc, TypeID) else loc.node


def _at(loc: ObjectID | TypeID, obj_name: bytes) -> ObjectID | TypeID:
    """The identifier of the object at a path below another one."""
    found: ObjectID | TypeID = loc if obj_name == b"." else node_of(loc)[text_of(obj_name)].id
    return found


def _names(loc: ObjectID | TypeID) -> list[str]:
    file, number = native_of(node_of(loc))
    return file.attribute_names(number)


def create(loc: ObjectID | TypeID, name: bytes | str, tid: TypeID, space: SpaceID, *, obj_name: bytes = b".", lapl: object = None) -> AttrID:
    """Creates an attribute, whose elements are 0 or empty."""
    place, text = _at(loc, obj_name), text_of(name)
    if text in _names(place):
        raise InvalidInputError(f"there is an attribute {text!r} already", None, node_of(place).path)
    node_of(place).attrs.create_described(text, space.shape, tid.described)
    return AttrID(place, text)


def open(loc: ObjectID | TypeID, name: bytes | str | None = None, index: int = -1, *, obj_name: bytes = b".", lapl: object = None) -> AttrID:
    """The attribute of a name or a number."""
    place = _at(loc, obj_name)
    text = _names(place)[index] if name is None else text_of(name)
    if text not in _names(place):
        raise ObjectNotFoundError(f"there is no attribute {text!r}", native_of(node_of(place))[0].path, node_of(place).path)
    return AttrID(place, text)


def exists(loc: ObjectID | TypeID, name: bytes | str, *, obj_name: bytes = b".", lapl: object = None) -> bool:
    """Whether an object has an attribute."""
    return text_of(name) in _names(_at(loc, obj_name))


def delete(loc: ObjectID | TypeID, name: bytes | str, *, obj_name: bytes = b".", lapl: object = None) -> None:
    """Removes an attribute."""
    del node_of(_at(loc, obj_name)).attrs[text_of(name)]


def rename(loc: ObjectID | TypeID, name: bytes | str, new_name: bytes | str, *, obj_name: bytes = b".", lapl: object = None) -> None:
    """Gives an attribute another name."""
    attributes = node_of(_at(loc, obj_name)).attrs
    attributes[text_of(new_name)] = attributes[text_of(name)]
    del attributes[text_of(name)]


def get_num_attrs(loc: ObjectID | TypeID) -> int:
    """Number of attributes of an object."""
    return len(_names(loc))


def iterate(loc: ObjectID | TypeID, func: Callable[[bytes], _Result | None], index: int = 0) -> _Result | None:
    """Calls a function with the name of each attribute, until it returns something other than `None`."""
    for name in _names(loc)[index:]:
        result = func(stored(name))
        if result is not None:
            return result
    return None


__getattr__ = missing_from("h5py.h5a")
