"""Mapping views: names, values and items of groups and attributes."""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any


class KeysViewHDF5(KeysView[str]):
    """Names."""

    _mapping: Any

    def __reversed__(self) -> Any:
        return reversed(self._mapping)

    def __repr__(self) -> str:
        return f"<KeysViewHDF5 {list(self)}>"


class ValuesViewHDF5(ValuesView[Any]):
    """Members."""

    _mapping: Any

    def __contains__(self, value: object) -> bool:
        return any(value == self._mapping.get(name) for name in self._mapping)

    def __iter__(self) -> Any:
        return (self._mapping.get(name) for name in self._mapping)

    def __reversed__(self) -> Any:
        return (self._mapping.get(name) for name in reversed(self._mapping))


class ItemsViewHDF5(ItemsView[str, Any]):
    """Names and members."""

    _mapping: Any

    def __contains__(self, item: Any) -> bool:
        name, value = item
        return name in self._mapping and value == self._mapping.get(name)

    def __iter__(self) -> Any:
        return ((name, self._mapping.get(name)) for name in self._mapping)

    def __reversed__(self) -> Any:
        return ((name, self._mapping.get(name)) for name in reversed(self._mapping))
