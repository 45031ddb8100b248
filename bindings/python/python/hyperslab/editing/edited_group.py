"""Edited group: a group of a file that is edited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

from ..objects.group import Group
from ..objects.read_only import GROUP_NAMES
from .edited_node import NodeEdits, unsupported

Result = TypeVar("Result")


def _refuse_new_objects(kind: type[GroupEdits]) -> type[GroupEdits]:
    """Adds h5py's names for creating, removing and renaming objects, which raise `UnsupportedError`."""
    for name in GROUP_NAMES:
        setattr(kind, name, _refusal(name))
    return kind


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: GroupEdits, *_: Any, **__: Any) -> NoReturn:
        raise unsupported(self._changes.path, f"{name}: creating, removing and renaming objects", self.name)

    refuse.__name__, refuse.__qualname__ = name, name
    refuse.__doc__ = "Raises `UnsupportedError`."
    return refuse


class GroupEdits(NodeEdits, Group):
    """What a group of an edited file has besides reading. Subclasses put it in front of the class that reads it."""

    def __setitem__(self, name: Any, value: Any) -> None:
        raise unsupported(self._changes.path, f"creating {name!r}", self.name)

    def __delitem__(self, name: Any) -> None:
        raise unsupported(self._changes.path, f"removing {name!r}", self.name)

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group, as of a file that is read. It may change objects.

        Args:
            function: Called with the path relative to this group.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visit(print)
        """
        return _first(function, ((path,) for path in self._paths()))

    def visititems(self, function: Callable[[str, Any], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object. It may change objects.

        Args:
            function: Called with the path relative to this group, and the object.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visititems(lambda path, member: print(path, member.attrs))
        """
        return _first(function, ((path, self[path]) for path in self._paths()))

    def _paths(self) -> list[str]:
        """The path of each object, listed before the first is changed."""
        paths: list[str] = []
        super().visit(paths.append)
        return paths

    def _link_paths(self) -> Iterator[str]:
        return iter(list(super()._link_paths()))


def _first(function: Callable[..., Result | None], calls: Iterator[tuple[Any, ...]]) -> Result | None:
    """The first result that is not `None`."""
    for arguments in calls:
        result = function(*arguments)
        if result is not None:
            return result
    return None


_refuse_new_objects(GroupEdits)
