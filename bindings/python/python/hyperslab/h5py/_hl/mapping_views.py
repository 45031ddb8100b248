"""Mapping views: names, values and items of groups and attributes."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, Protocol

from ...base.type_aliases import Elements


class Members(Protocol):
    """A group or the attributes of an object, whose members have names."""

    def get(self, name: str, /) -> Elements: ...

    def __contains__(self, name: object, /) -> bool: ...

    def __iter__(self) -> Iterator[str]: ...

    def __reversed__(self) -> Iterator[str]: ...


class KeysViewHDF5(KeysView[str]):
    """Names."""

    _mapping: Members

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._mapping)

    def __repr__(self) -> str:
        return f"<KeysViewHDF5 {list(self)}>"


class ValuesViewHDF5(ValuesView[Elements]):
    """Members."""

    _mapping: Members

    def __contains__(self, value: object) -> bool:
        return any(value == self._mapping.get(name) for name in self._mapping)

    def __iter__(self) -> Iterator[Elements]:
        return (self._mapping.get(name) for name in self._mapping)

    def __reversed__(self) -> Iterator[Elements]:
        return (self._mapping.get(name) for name in reversed(self._mapping))


class ItemsViewHDF5(ItemsView[str, Elements]):
    """Names and members."""

    _mapping: Members

    def __contains__(self, item: Any) -> bool:
        name, value = item
        return name in self._mapping and value == self._mapping.get(name)

    def __iter__(self) -> Iterator[tuple[str, Elements]]:
        return ((name, self._mapping.get(name)) for name in self._mapping)

    def __reversed__(self) -> Iterator[tuple[str, Elements]]:
        return ((name, self._mapping.get(name)) for name in reversed(self._mapping))
