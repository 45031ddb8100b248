"""As `h5py.h5g`: identifiers of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from .. import _native
from ..objects.group import Group
from ..objects.links import HardLink, SoftLink
from ..objects.native_objects import native_of
from ..objects.node import Node
from . import h5o
from ._missing import missing_from
from ._objects import ObjectID, group_of
from .h5l import LinkProxy
from .names import stored, text_of

UNKNOWN, GROUP, DATASET, TYPE, LINK = -1, 0, 1, 2, 3
LINK_ERROR, LINK_HARD, LINK_SOFT = -1, 0, 1

_Result = TypeVar("_Result")


class GroupStat(NamedTuple):
    """What is known of an object.

    Attributes:
        fileno: Numbers of the opened file.
        objno: Address of the header.
        nlink: Number of hard links; not known: 1.
        type: `GROUP`, `DATASET` or `TYPE`.
        mtime: When it was last changed, in seconds since 1970; 0 if the file does not say.
        linklen: Bytes of the target of a soft link.
    """

    fileno: tuple[int, int]
    objno: tuple[int, int]
    nlink: int
    type: int
    mtime: int
    linklen: int


class GroupID(ObjectID):
    """Identifies a group."""

    def node_at(self, name: bytes | str) -> Any:
        """The object at a path."""
        return self._node[text_of(name)]

    def commit_datatype(self, name: bytes | str, datatype: _native.Datatype, lcpl: object = None) -> Node:
        """Gives a datatype a name, and returns the committed one."""
        path = text_of(name)
        self._node.commit_type(path, datatype)
        return self.node_at(path)  # type: ignore[no-any-return]

    def get_num_objs(self) -> int:
        """Number of links."""
        return len(self._node)

    def get_objname_by_idx(self, idx: int) -> bytes:
        """Name of the link of a number."""
        return list(self)[idx]

    def get_objtype_by_idx(self, idx: int) -> int:
        """Kind of the object that the link of a number leads to."""
        name = self.get_objname_by_idx(idx)
        link = self._node.get(text_of(name), getlink=True)
        return h5o.kind_of(self.node_at(name)) if isinstance(link, HardLink) else LINK

    def get_linkval(self, name: bytes) -> bytes:
        """The target of a soft link."""
        link = self._node.get(text_of(name), getlink=True)
        if not isinstance(link, SoftLink):
            raise ValueError(f"{name!r} is not a soft link")
        return stored(link.path)

    def link(self, current_name: bytes, new_name: bytes, link_type: int = LINK_HARD, remote: GroupID | None = None) -> None:
        """Creates a hard or a soft link."""
        group = self if remote is None else remote
        if link_type == LINK_SOFT:
            group.links.create_soft(new_name, current_name)
        else:
            group.links.create_hard(new_name, self, current_name)

    def unlink(self, name: bytes) -> None:
        """Removes a link."""
        del self._node[text_of(name)]

    def move(self, current_name: bytes, new_name: bytes, remote: GroupID | None = None) -> None:
        """Renames a link."""
        self._node.move(text_of(current_name), text_of(new_name) if remote is None else f"{remote._node.path.rstrip('/')}/{text_of(new_name)}")

    def get_comment(self, name: bytes) -> bytes:
        """The comment of an object; empty without one."""
        return h5o.get_comment(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self._node

    def __iter__(self) -> Iterator[bytes]:
        return map(stored, Group.__iter__(self._node))

    def __len__(self) -> int:
        return len(self._node)

    @property
    def links(self) -> LinkProxy:
        """The links."""
        return LinkProxy(self._node)


def create(loc: Any, name: bytes | None, lcpl: object = None, gcpl: Any = None) -> GroupID:
    """Creates a group."""
    tracked = None if gcpl is None else bool(gcpl.get_link_creation_order())
    made: GroupID = group_of(loc).create_group(None if name is None else text_of(name), track_order=tracked).id
    return made


def open(loc: Any, name: bytes) -> GroupID:
    """The group at a path."""
    found = group_of(loc)[text_of(name)].id
    if not isinstance(found, GroupID):
        raise ValueError(f"{name!r} is not a group")
    return found


def iterate(loc: Any, func: Callable[[bytes], _Result | None], startidx: int = 0, *, obj_name: bytes = b".") -> _Result | None:
    """Calls a function with the name of each member, until it returns something other than `None`."""
    group = open(loc, obj_name) if obj_name != b"." else loc
    for name in list(group)[startidx:]:
        result = func(name)
        if result is not None:
            return result
    return None


def get_objinfo(obj: Any, name: bytes = b".", follow_link: bool = True) -> GroupStat:
    """What is known of an object, or of the one at a path below it."""
    info = h5o.get_info(obj, None if name == b"." else name)
    node = obj.complete() if name == b"." else obj.node_at(name)
    file, number = native_of(node)
    times = file.structure(number)["times"]
    return GroupStat((info.fileno, 0), (info.addr, 0), 1, info.type, 0 if times is None else times[2], 0)


__getattr__ = missing_from("h5py.h5g")
