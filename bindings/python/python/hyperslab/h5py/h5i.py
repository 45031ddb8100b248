"""As `h5py.h5i`: kinds and names of objects."""

from __future__ import annotations

from ._missing import missing_from
from ._objects import ObjectID
from .names import path_of

BADID, FILE, GROUP, DATATYPE, DATASPACE, DATASET = -1, 1, 2, 3, 4, 5

_KINDS = {"group": GROUP, "datatype": DATATYPE, "dataset": DATASET}


def get_type(obj: ObjectID) -> int:
    """The kind of an object."""
    return _KINDS.get(obj._node.kind, BADID)


def get_name(obj: ObjectID) -> bytes | None:
    """The path of an object."""
    return path_of(obj._node)


__getattr__ = missing_from("h5py.h5i")
