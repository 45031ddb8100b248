"""Group: a mapping from names to groups and datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar, overload

from . import _native, tree
from .dataset import Dataset
from .errors import InvalidInputError, NotFoundError
from .group_views import Members, NamedMembers, Names
from .node import Node
from .references import Reference

Default = TypeVar("Default")
Result = TypeVar("Result")


class Group(Node, Mapping[str, "Member | None"]):
    """A group: a mapping from the names of its members to groups and datasets. Iteration follows the file's order of
    names; `f["a/b"]` follows a path."""

    def keys(self) -> Names:
        """The members' names.

        Returns:
            A view, in the order of the file.

        Example:
            >>> list(f.keys())
        """
        return Names(self)

    def values(self) -> Members[Member | None]:
        """The members; `None` for a dangling link.

        Returns:
            A view, in the order of the file.

        Example:
            >>> [member.name for member in f.values() if member is not None]
        """
        return Members(self)

    def items(self) -> NamedMembers[Member | None]:
        """Names and members; the member is `None` for a dangling link.

        Returns:
            A view, in the order of the file.

        Example:
            >>> dict(f.items())
        """
        return NamedMembers(self)

    @overload
    def get(self, path: str | Reference, default: None = None) -> Member | None: ...

    @overload
    def get(self, path: str | Reference, default: Default) -> Member | Default: ...

    def get(self, path: str | Reference, default: Default | None = None) -> Member | Default | None:
        """The member at a path, or `default` if there is none.

        Args:
            path: Path of the member.
            default: What is returned if there is none.

        Returns:
            A group, a dataset, or `default`.

        Example:
            >>> f.get("theta")
        """
        try:
            return self[path]
        except NotFoundError:
            return default

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group, until it returns something other than `None`.

        The order and what is visited are as in `visititems`, which says more.

        Args:
            function: Called with the path relative to this group.

        Returns:
            The last result of `function`.

        Raises:
            CorruptError: The members of this group cannot be listed.

        Example:
            >>> f.visit(print)
        """
        visit = _native.Visit(self._file, self._number, self.name)
        while paths := visit.paths():
            for path in paths:
                result = function(path)
                if result is not None:
                    return result
        return None

    def visititems(self, function: Callable[[str, Member], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object, until it returns something other
        than `None`.

        As in h5py, the order is that of the names, and a group comes before its members. Each object is visited once, under its
        first path, even if several hard links lead to it. Soft and external links are not followed. An object that cannot be read
        is visited as a `Node` with a `refusal`, and raises its error when it is used. Objects are parsed ahead, in parallel.

        Args:
            function: Called with the path relative to this group, and the object.

        Returns:
            The last result of `function`.

        Raises:
            CorruptError: The members of this group cannot be listed.

        Example:
            >>> f.visititems(lambda path, member: print(path, member.attrs))
        """
        file, above = self._file, self.name.rstrip("/") + "/"
        visit = _native.Visit(file, self._number, self.name)
        while found := visit.objects():
            for path, number, about in found:
                result = function(path, self._object(file, number, above + path, about))
                if result is not None:
                    return result
        return None

    def _links(self) -> _native.Links:
        return self._file.links(self._number)

    def _entries(self, ancestors: frozenset[int]) -> Iterator[tree.Entry]:
        links = self._links()
        for name, kind, number, target in zip(links.names, links.kinds, links.objects, links.targets, strict=True):
            path = f"{self.name.rstrip('/')}/{name}"
            if number is None:
                yield tree.Entry(name, path, f"{kind} link", None, target, False)
                continue
            found = self._object(self._file, number, path)
            yield tree.Entry(name, path, found.kind, found, "", number in ancestors)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __len__(self) -> int:
        return self._file.link_count(self._number)

    def _names(self) -> list[str]:
        return self._file.names(self._number)

    def __contains__(self, path: object) -> bool:
        return self._file.exists(self._absolute(str(path)))

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.name.rstrip('/')}/{path}"

    def __getitem__(self, path: str | Reference) -> Member:
        if isinstance(path, Reference):
            found = path._found()
            if found is None:
                raise InvalidInputError("this reference points at nothing")
            found.file.check(found.object)
            return self._object(found.file, found.object, found.path)
        if not isinstance(path, str):
            raise TypeError(f"a group is indexed by the path of a member, not by {path!r}")
        absolute = self._absolute(path)
        file, number = self._file.find(absolute)
        file.check(number)
        return self._object(file, number, "/" + "/".join(p for p in absolute.split("/") if p))

    def __repr__(self) -> str:
        return tree.text(self) if self else self._closed()


#: What a group contains. A `Node` is a committed datatype or an object that cannot be read.
Member: TypeAlias = Group | Dataset | Node

Node._classes = {"dataset": Dataset, "group": Group}
