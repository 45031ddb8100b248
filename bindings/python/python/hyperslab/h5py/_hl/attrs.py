"""As `h5py._hl.attrs`: attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.errors import InvalidInputError
from ...objects import datatype
from ...objects.attributes import Attributes, attribute_name
from ...objects.node import Node
from ...objects.node_attributes import NodeAttributes
from ...values.described import DescribedType
from .. import h5a
from .._objects import ObjectID
from ..h5t import TypeID
from ..names import shown
from ..new_values import objects_of_bytes
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

    def create(self, name: str | bytes, data: Any, shape: Any = None, dtype: Any = None) -> None:
        """Sets an attribute, or replaces it."""
        if isinstance(data, bytes) and not isinstance(data, np.bytes_) and dtype is None and b"\0" in data:
            raise InvalidInputError(f"attribute {name!r}: text with a NUL, where HDF5 would end it; give numpy.bytes_ or numpy.void")
        if dtype is None:
            data = objects_of_bytes(data)
        if isinstance(dtype, TypeID):
            dtype = DescribedType(dtype.described)
        elif isinstance(dtype, datatype.Datatype):
            dtype = DescribedType(dtype.datatype)
        super().create(name, data, shape, dtype)

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
