"""As `h5py.h5g`: identifiers of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from ..objects.group import Group
from ._missing import missing_from
from ._objects import ObjectID
from .names import stored

_Result = TypeVar("_Result")


class GroupID(ObjectID):
    """Identifies a group."""

    _node: Group

    def get_num_objs(self) -> int:
        """Number of links."""
        return len(self._node)

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


class LinkProxy:
    """The links of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def visit(self, func: Callable[[bytes], _Result | None]) -> _Result | None:
        """Calls a function with the path of each link, as bytes."""
        return Group.visit_links(self._group, lambda path: func(stored(path)))


__getattr__ = missing_from("h5py.h5g")
