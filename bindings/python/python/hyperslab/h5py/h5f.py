"""As `h5py.h5f`: identifiers of files."""

from __future__ import annotations

from ..objects.native_objects import native_of
from ._missing import missing_from, unsupported
from ._objects import ObjectID
from .h5g import GroupID

ACC_RDONLY, ACC_RDWR, ACC_TRUNC, ACC_EXCL = 0, 1, 2, 4
SCOPE_LOCAL, SCOPE_GLOBAL = 0, 1
OBJ_FILE, OBJ_DATASET, OBJ_GROUP, OBJ_DATATYPE, OBJ_ATTR, OBJ_ALL = 1, 2, 4, 8, 16, 31


class FileID(GroupID):
    """Identifies an open file."""

    @property
    def name(self) -> bytes:
        """The path of the file."""
        return self._file.path.encode()

    def get_intent(self) -> int:
        """`ACC_RDONLY`."""
        return ACC_RDONLY

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def get_name(obj: ObjectID) -> bytes:
    """The path of the file of an object."""
    return str(native_of(obj._node)[0].path).encode()


open = unsupported("h5f.open")
create = unsupported("h5f.create")
flush = unsupported("h5f.flush")

__getattr__ = missing_from("h5py.h5f")
