"""As `h5py.h5i`: kinds and names of objects."""

from __future__ import annotations

from typing import Any

from ._missing import missing_from
from .h5a import AttrID, node_of
from .h5f import FileID
from .h5s import SpaceID
from .h5t import TypeID
from .names import path_of

BADID, FILE, GROUP, DATATYPE, DATASPACE, DATASET, ATTR = -1, 1, 2, 3, 4, 5, 7

_KINDS = {"group": GROUP, "datatype": DATATYPE, "dataset": DATASET}
_CLASSES = {FileID: FILE, TypeID: DATATYPE, SpaceID: DATASPACE, AttrID: ATTR}


def get_type(obj: Any) -> int:
    """The kind of an object."""
    for known, kind in _CLASSES.items():
        if isinstance(obj, known):
            return kind
    return _KINDS.get(obj.node.kind, BADID)


def get_name(obj: Any) -> bytes | None:
    """The path of an object."""
    return obj.name if isinstance(obj, TypeID) else path_of(obj.node)


def get_file_id(obj: Any) -> FileID:
    """The identifier of the file of an object."""
    found: FileID = node_of(obj).file.id
    return found


__getattr__ = missing_from("h5py.h5i")
