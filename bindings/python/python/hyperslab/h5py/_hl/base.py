"""As `h5py._hl.base`: what objects have in common."""

from __future__ import annotations

from typing import IO, Any

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

    @property
    def name(self) -> Any:
        """The path; bytes if it is not UTF-8, `None` of an object that only references lead to."""
        return name_of(self)

    @property
    def id(self) -> Any:
        """The low-level identifier."""
        return self._id_class(self)

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
