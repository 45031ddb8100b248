"""As `h5py._hl.attrs`: attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...objects.attributes import Attributes, attribute_name
from ...objects.node import Node
from ...objects.node_attributes import NodeAttributes
from .. import h5a
from .._objects import ObjectID
from ..h5t import TypeID
from ..names import shown
from .mapping_views import ItemsViewHDF5, KeysViewHDF5, ValuesViewHDF5


class AttributeManager(Attributes):
    """The attributes of an object."""

    def __init__(self, parent: Any) -> None:
        super().__init__(NodeAttributes(parent))
        self._node = parent

    @property
    def _id(self) -> ObjectID | TypeID:
        found: ObjectID | TypeID = self._node.id
        return found

    def __contains__(self, name: object) -> bool:
        return attribute_name(name) in self._names

    def __iter__(self) -> Iterator[Any]:
        return map(shown, self._names)

    def __reversed__(self) -> Iterator[Any]:
        return map(shown, reversed(self._names))

    def keys(self) -> KeysViewHDF5:
        """The names."""
        return KeysViewHDF5(self)

    def values(self) -> ValuesViewHDF5:
        """The values."""
        return ValuesViewHDF5(self)

    def items(self) -> ItemsViewHDF5:
        """Names and values."""
        return ItemsViewHDF5(self)

    def get_id(self, name: str | bytes) -> h5a.AttrID:
        """The low-level identifier of an attribute."""
        return h5a.open(self._id, attribute_name(name))

    def __reduce__(self) -> tuple[type[AttributeManager], tuple[Node]]:
        return type(self), (self._node,)

    def __repr__(self) -> str:
        return f"<Attributes of HDF5 object at {id(self)}>" if self._id else "<Attributes of closed HDF5 object>"
