"""As `h5py.h5o`: what an object is and where its header lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..objects.group import Group
from ..objects.native_objects import native_of
from ._missing import missing_from
from ._objects import group_of, member_of
from .names import stored, text_of

TYPE_GROUP, TYPE_DATASET, TYPE_NAMED_DATATYPE = 0, 1, 2
COPY_SHALLOW_HIERARCHY_FLAG, COPY_EXPAND_SOFT_LINK_FLAG, COPY_EXPAND_EXT_LINK_FLAG, COPY_EXPAND_REFERENCE_FLAG, COPY_WITHOUT_ATTR_FLAG = 1, 2, 4, 8, 16

_KINDS = {"group": TYPE_GROUP, "dataset": TYPE_DATASET, "datatype": TYPE_NAMED_DATATYPE}
_Result = TypeVar("_Result")


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


def kind_of(node: Any) -> int:
    """The constant of an object's kind."""
    return _KINDS[node.kind]


def get_info(loc: Any, name: bytes | None = None) -> ObjInfo:
    """What is known of an object, or of the one at a path below it."""
    loc.complete()
    node = loc.node if name is None else loc.node_at(name)
    file, number = native_of(node)
    return ObjInfo(hash(file), file.address(number) or 0, kind_of(node))


def open(loc: Any, name: bytes, lapl: object = None) -> Any:
    """The object at a path."""
    return member_of(loc, name).id


def exists_by_name(loc: Any, name: bytes, lapl: object = None) -> bool:
    """Whether a path leads to an object."""
    return group_of(loc).get(text_of(name)) is not None


def link(obj: Any, loc: Any, name: bytes, lcpl: object = None, lapl: object = None) -> None:
    """Gives an object a name."""
    group_of(loc)[text_of(name)] = obj.node


def copy(src_loc: Any, src_name: bytes, dst_loc: Any, dst_name: bytes, copypl: Any = None, lcpl: object = None) -> None:
    """Copies an object."""
    flags = 0 if copypl is None else copypl.get_copy_object()
    group_of(dst_loc).copy(
        member_of(src_loc, src_name),
        group_of(dst_loc),
        text_of(dst_name),
        shallow=bool(flags & COPY_SHALLOW_HIERARCHY_FLAG),
        expand_soft=bool(flags & COPY_EXPAND_SOFT_LINK_FLAG),
        expand_external=bool(flags & COPY_EXPAND_EXT_LINK_FLAG),
        expand_refs=bool(flags & COPY_EXPAND_REFERENCE_FLAG),
        without_attrs=bool(flags & COPY_WITHOUT_ATTR_FLAG),
    )


def get_comment(loc: Any, comment: bytes, *, obj_name: bytes = b".", lapl: object = None) -> bytes:
    """The comment of an object; empty without one."""
    loc.complete()
    file, number = native_of(member_of(loc, comment or obj_name))
    found: bytes | None = file.structure(number)["comment"]
    return found or b""


def visit(loc: Any, func: Callable[..., _Result | None], *, obj_name: bytes = b".", info: bool = False) -> _Result | None:
    """Calls a function with the path of each object below a group, and with `info` also with what is known of it."""
    group = member_of(loc, obj_name)
    if not info:
        return Group.visit(group, lambda path: func(stored(path)))
    return Group.visititems(group, lambda path, member: func(stored(path), get_info(member.id)))  # type: ignore[union-attr]


__getattr__ = missing_from("h5py.h5o")
