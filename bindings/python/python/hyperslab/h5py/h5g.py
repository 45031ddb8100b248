"""As `h5py.h5g`: identifiers of groups."""

from __future__ import annotations

from typing import Any

from ._missing import missing_from
from ._objects import ObjectID


class GroupID(ObjectID):
    """Identifies a group."""

    _node: Any

    def get_num_objs(self) -> int:
        """Number of links."""
        return len(self._node)

    def __contains__(self, name: bytes) -> bool:
        return name in self._node

    def __iter__(self) -> Any:
        return (name.encode() for name in self._node)

    def __len__(self) -> int:
        return len(self._node)

    @property
    def links(self) -> LinkProxy:
        """The links."""
        return LinkProxy(self._node)


class LinkProxy:
    """The links of a group."""

    def __init__(self, group: Any) -> None:
        self._group = group

    def visit(self, func: Any) -> Any:
        """Calls a function with the path of each link, as bytes."""
        return self._group.visit_links(lambda path: func(path.encode()))


__getattr__ = missing_from("h5py.h5g")
