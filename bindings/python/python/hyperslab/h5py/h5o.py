"""As `h5py.h5o`: what an object is and where its header lies."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..objects.native_objects import native_of
from ._missing import missing_from, unsupported
from .h5g import GroupID

TYPE_GROUP, TYPE_DATASET, TYPE_NAMED_DATATYPE = 0, 1, 2

_KINDS = {"group": TYPE_GROUP, "dataset": TYPE_DATASET, "datatype": TYPE_NAMED_DATATYPE}


class ObjInfo(NamedTuple):
    """What is known of an object.

    Attributes:
        fileno: A number of the opened file.
        addr: Address of the header.
        type: `TYPE_GROUP`, `TYPE_DATASET` or `TYPE_NAMED_DATATYPE`.
    """

    fileno: int
    addr: int
    type: int


def get_info(loc: GroupID, name: bytes | None = None) -> ObjInfo:
    """What is known of an object, or of the one at a path below it."""
    node = loc._node if name is None else loc._node[name]
    file, number = native_of(node)
    return ObjInfo(hash(file), file.address(number) or 0, _KINDS[node.kind])


def open(loc: Any, name: bytes) -> Any:
    """The object at a path."""
    return loc._node[name].id


link = unsupported("h5o.link")
copy = unsupported("h5o.copy")

__getattr__ = missing_from("h5py.h5o")
