"""New members: what a group of a file that is being written contains so far, a mapping of names as h5py's."""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable, ItemsView, Iterator, MutableMapping, ValuesView
from typing import Any, TypeVar

from ..base.errors import InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..objects.links import ExternalLink, HardLink, SoftLink
from ..values.new_references import NewReference
from .new_dataset import NewDataset

Result = TypeVar("Result")


class _Gone:
    """The writer of an object that was removed."""

    def __init__(self, path: str) -> None:
        self._gone = path

    def __getattr__(self, name: str) -> Any:
        raise ObjectNotFoundError(f"'{self._gone}' was removed", object=self._gone)


class _Members(ValuesView[Any]):
    """The members of a group; `None` for a dangling link."""

    _mapping: NewMembers

    def __iter__(self) -> Iterator[Any]:
        return (self._mapping.get(name) for name in self._mapping)


class _NamedMembers(ItemsView[str, Any]):
    """Names and members of a group; `None` for a dangling link."""

    _mapping: NewMembers

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, self._mapping.get(name)) for name in self._mapping)


def normal(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


class NewMembers(MutableMapping[str, Any]):
    """The members of a group by name. Objects that were returned keep working after they are moved."""

    _dataset: type[NewDataset] = NewDataset

    def __init__(self, writer: Any, path: str, objects: dict[int, Any] | None = None) -> None:
        self._writer, self._path = writer, path
        #: Groups, datasets and datatypes of the file by the number that the writer assigned to each.
        self._objects: dict[int, Any] = {0: self} if objects is None else objects

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    def _below(self, path: Any) -> str:
        if isinstance(path, bytes):
            path = path.decode("utf-8", "surrogateescape")
        if not isinstance(path, str):
            raise InvalidTypeError(f"a group is indexed by the path of a member, not by {path!r}")
        return path if path.startswith("/") else f"{self._path.rstrip('/')}/{path}"

    def __getitem__(self, name: Any) -> Any:
        """The group, dataset or datatype at a path, or that a reference points at; links are followed."""
        path = normal(name.path if isinstance(name, NewReference) else self._below(name))
        found = self._writer.look_up(path)
        if found is None:
            shown = name.path if isinstance(name, NewReference) else name
            raise ObjectNotFoundError(f"there is no {shown!r} in {self.name} of the file that is written", object=path)
        known = self._objects.get(found.id)
        if known is None:
            known = self._objects[found.id] = self._new_group(path) if found.kind == "group" else self._known_dataset(path)
        if normal(known._path) != path:
            # Another name of the same object.
            known = copy.copy(known)
            known._path = path
        return known

    def _known_dataset(self, path: str) -> NewDataset:
        about = self._writer.describe(path)
        return self._dataset(self._writer, path, None, about["datatype"], about["chunks"])

    @abc.abstractmethod
    def _new_group(self, path: str) -> NewMembers:
        """A group of this one's class, at a path."""

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; a link may lead nowhere."""
        if not isinstance(name, (str, bytes)):
            return False
        path = normal(self._below(name))
        try:
            return self._writer.look_up(path) is not None or self._link(path, None) is not None
        except UnsupportedError:
            return True  # a link to another file

    def __iter__(self) -> Iterator[str]:
        return iter([member.name for member in self._writer.members(self._path)])

    def __len__(self) -> int:
        return len(self._writer.members(self._path))

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NewMembers):
            return NotImplemented
        return self._writer is other._writer and self._writer.look_up(self._path) == other._writer.look_up(other._path)

    def __hash__(self) -> int:
        return hash(id(self._writer))

    def values(self) -> _Members:
        """The members; `None` for a dangling link.

        Returns:
            A view of groups, datasets and datatypes.

        Example:
            >>> [member.name for member in f.values() if member is not None]
        """
        return _Members(self)

    def items(self) -> _NamedMembers:
        """Names and members; the member is `None` for a dangling link.

        Returns:
            A view of pairs.

        Example:
            >>> dict(f.items())
        """
        return _NamedMembers(self)

    def get(self, name: Any, default: Any = None, getclass: bool = False, getlink: bool = False) -> Any:
        """The member at a path, or `default` if there is none.

        Args:
            name: Path of the member.
            default: What is returned if there is none.
            getclass: Return the class of the member or of the link instead.
            getlink: Return the link that leads to the member: a `HardLink`, `SoftLink` or `ExternalLink`.

        Returns:
            A group, a dataset, a datatype, a link, a class, or `default`.

        Example:
            >>> f.get("x")
        """
        if getlink:
            found = self._link(normal(self._below(name)), default)
            return type(found) if getclass and found is not default else found
        try:
            found = self[name]
        except (KeyError, UnsupportedError):
            return default
        return type(found) if getclass else found

    def _link(self, path: str, default: Any) -> Any:
        above, _, name = path.rpartition("/")
        group = self._writer.look_up(above or "/")
        if group is None or group.kind != "group":
            return default
        member = self._writer.member(above or "/", name)
        if member is None:
            return default
        if member.kind in ("object", "hard"):
            return HardLink(member.target or path)
        return SoftLink(member.target) if member.kind == "soft" else ExternalLink(member.file, member.target)

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group, until it returns something other than `None`.

        Args:
            function: Called with the path relative to this group.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visit(print)
        """
        return self.visititems(lambda name, _: function(name))

    def visititems(self, function: Callable[[str, Any], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object, until it returns something other
        than `None`. Visits each object once, and does not follow soft and external links.

        Args:
            function: Called with the path relative to this group, and the object.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visititems(lambda name, member: print(name, member))
        """
        return self._visit("", function, {self._writer.look_up(self._path).id})

    def _visit(self, above: str, function: Callable[[str, Any], Result | None], seen: set[int]) -> Result | None:
        for member in self._writer.members(self._path):
            if member.kind not in ("object", "hard"):
                continue
            number = self._writer.look_up(self._below(member.name)).id
            if number in seen:
                continue
            seen.add(number)
            made = self[member.name]
            found = function(above + member.name, made)
            if found is None and isinstance(made, NewMembers):
                found = made._visit(f"{above}{member.name}/", function, seen)
            if found is not None:
                return found
        return None

    def _known_below(self, path: str) -> list[tuple[int, Any]]:
        """The objects whose paths a change of this name may change, with their numbers."""
        return [(number, known) for number, known in self._objects.items() if normal(known._path) == path or normal(known._path).startswith(f"{path}/")]

    def _relocate(self, affected: list[tuple[int, Any]]) -> None:
        for number, known in affected:
            path = self._writer.path_of(number)
            if path is None:
                known._writer = _Gone(normal(known._path))
                del self._objects[number]
            else:
                known._path = path
