"""Group views: the names and members of a group as views, as of a dict."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

from ..base.visible import visible

Member = TypeVar("Member")


class Names(KeysView[str]):
    """The names of a group's members."""

    _mapping: Mapping[str, object]

    def __eq__(self, other: object) -> bool:
        return list(self) == other if isinstance(other, list) else super().__eq__(other)

    def __repr__(self) -> str:
        return f"Names({list(self)})"


class Members(ValuesView[Member]):
    """The members of a group; `None` for a dangling link."""

    _mapping: Any

    def __iter__(self) -> Iterator[Member]:
        return (self._mapping.get(name) for name in self._mapping)

    def __repr__(self) -> str:
        return f"Members of {visible(self._mapping.path)}"


class NamedMembers(ItemsView[str, Member]):
    """Names and members of a group; `None` for a dangling link."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[str, Member]]:
        return ((name, self._mapping.get(name)) for name in self._mapping)

    def __repr__(self) -> str:
        return f"NamedMembers of {visible(self._mapping.path)}"
