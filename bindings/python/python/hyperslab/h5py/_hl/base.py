"""As `h5py._hl.base`: what objects have in common."""

from __future__ import annotations

from typing import IO, Any

from ...backends.continuing import completed
from ...base.errors import Error, InvalidInputError, MissingFileError
from ...base.type_aliases import Path
from ...files.file import open as open_file
from ...objects.node import Node
from ...values.empty import Empty
from .._objects import ObjectID
from ..h5t import TypeID
from ..names import name_of
from .attrs import AttributeManager
from .mapping_views import ItemsViewHDF5, KeysViewHDF5, ValuesViewHDF5

__all__ = ["Empty", "HLObject", "ItemsViewHDF5", "KeysViewHDF5", "ValuesViewHDF5", "is_hdf5"]


class HLObject(Node):
    """An object of a file, with h5py's classes and names."""

    _id_class: type[ObjectID] = ObjectID

    def __init__(self, bind: Any, *more: Any, **options: Any) -> None:
        if not isinstance(bind, (ObjectID, TypeID)):
            super().__init__(bind, *more, **options)
            return
        if not isinstance(bind, self._id_class):
            raise InvalidInputError(f"{bind} is not a {self._id_class.__name__}")
        node = bind.node
        super().__init__(node._backend, node._number, node._own_name)
        self.__dict__.update({name: value for name, value in vars(node).items() if name not in vars(self)})

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if isinstance(other, Node) else NotImplemented

    __hash__ = Node.__hash__

    @property
    def name(self) -> Any:
        """The path; bytes if it is not UTF-8, `None` of an object that only references lead to."""
        return name_of(self)

    @property
    def id(self) -> Any:
        """The low-level identifier."""
        return self._id_class(self)

    def _object(self, file: Any, number: int, name: str, about: Any = None) -> Node:
        found = super()._object(file, number, name, about)
        if found._backend is not self._backend and self._backend.settings is not None:
            found._backend.settings = self._backend.settings.linked()
        return found

    @property
    def parent(self) -> Node:
        """The group that its path names before the last `/`."""
        if self.name is None:
            raise InvalidInputError("the parent of an object without a name")
        return super().parent

    @property
    def ref(self) -> Any:
        """A reference to the object."""
        completed(self._backend)
        return super().ref

    @property
    def regionref(self) -> Any:
        """Makes region references, and tells their shapes."""
        completed(self._backend)
        return super().regionref

    @property
    def _id(self) -> ObjectID | TypeID:
        found: ObjectID | TypeID = self.id
        return found

    @property
    def attrs(self) -> AttributeManager:
        """The attributes."""
        return AttributeManager(self)


def is_hdf5(fname: Path | IO[bytes]) -> bool:
    """Whether a path is an HDF5 file."""
    try:
        open_file(fname, format="hdf5").close()
    except (InvalidInputError, MissingFileError, TypeError):
        return False
    except Error as error:
        # The signature is there, what follows is damaged or not supported.
        return not isinstance(error, OSError) or error.kind == "Corrupt"
    return True
