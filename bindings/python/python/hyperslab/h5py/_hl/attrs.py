"""As `h5py._hl.attrs`: attributes."""

from __future__ import annotations

from typing import Any

from ...objects.attributes import Attributes
from .. import h5a
from .mapping_views import ItemsViewHDF5, KeysViewHDF5, ValuesViewHDF5


def _text(name: Any) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")
    if not isinstance(name, str):
        raise TypeError(f"the name of an attribute is text, not {name!r}")
    return name


class AttributeManager(Attributes):
    """The attributes of an object."""

    def __init__(self, parent: Any) -> None:
        super().__init__(parent._file, parent._number)
        self._id = parent.id

    def __getitem__(self, name: str | bytes) -> Any:
        return super().__getitem__(_text(name))

    def __contains__(self, name: object) -> bool:
        return _text(name) in self._names

    def __reversed__(self) -> Any:
        return reversed(self._names)

    def keys(self) -> Any:
        """The names."""
        return KeysViewHDF5(self)

    def values(self) -> Any:
        """The values."""
        return ValuesViewHDF5(self)

    def items(self) -> Any:
        """Names and values."""
        return ItemsViewHDF5(self)

    def get_id(self, name: str | bytes) -> h5a.AttrID:
        """The low-level identifier of an attribute."""
        return h5a.open(self._id, _text(name))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._id._node,)

    def __repr__(self) -> str:
        return f"<Attributes of HDF5 object at {id(self)}>" if self._id else "<Attributes of closed HDF5 object>"
