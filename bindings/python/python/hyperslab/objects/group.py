"""Group: a mapping from names to groups and datasets."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar, overload

from .. import _native
from ..base.errors import Error, InvalidTypeError, NotFoundError, ObjectNotFoundError, UnsupportedError
from ..base.type_aliases import Name
from ..values.new_references import NewReference
from ..values.references import Reference
from . import tree
from .dataset import Dataset
from .datatype import Datatype
from .foreign_names import GROUP_HINTS, with_hints
from .group_changes import GroupChanges
from .group_views import Members, NamedMembers, Names
from .links import ExternalLink, HardLink, SoftLink
from .node import Node
from .paths import normal, path_text

Default = TypeVar("Default")
Result = TypeVar("Result")


#: Paths that are offered for completion, and levels below a group.
MAX_COMPLETIONS, MAX_DEPTH = 1000, 8


@with_hints(GROUP_HINTS)
class Group(GroupChanges, Mapping[str, "Member | None"]):
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
    def get(self, path: str | bytes | Reference, default: None = None) -> Member | None: ...

    @overload
    def get(self, path: str | bytes | Reference, default: Default) -> Member | Default: ...

    @overload
    def get(self, path: str | bytes | Reference, default: object = None, getclass: bool = False, getlink: bool = False) -> Any: ...

    def get(self, path: str | bytes | Reference, default: object = None, getclass: bool = False, getlink: bool = False) -> Any:
        """The member at a path, its class, or its link; `default` if there is none.

        Args:
            path: Path of the member.
            default: What is returned if there is none.
            getclass: Return the class (of the member, or of the link) instead.
            getlink: Return the link instead: a `SoftLink`, an `ExternalLink` or a `HardLink`. It need not lead anywhere.

        Returns:
            A group, a dataset, a link, a class, or `default`.

        Raises:
            UnsupportedError: The link is of a class that a program defined.

        Example:
            >>> f.get("theta")
            >>> f.get("latest", getlink=True).path
        """
        try:
            found: Any = self._link(path_text(path)) if getlink else self[path]
        except NotFoundError:
            return default
        return type(found) if getclass else found

    def _link(self, path: str) -> SoftLink | ExternalLink | HardLink:
        """The link at a path."""
        with self._backend.lock:
            return self._found_link(path)

    def _found_link(self, path: str) -> SoftLink | ExternalLink | HardLink:
        absolute = self._absolute(path)
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if not parts:
            return HardLink()  # the root group, or this one
        above, name = ("/" if path.startswith("/") else self.path.rstrip("/") + "/") + "/".join(parts[:-1]), parts[-1]
        file, number = self._file.find(above)
        link = file.link(number, name)
        if link is None:
            raise ObjectNotFoundError("there is no link of this name", file.path, absolute)
        kind, target, other = link
        if kind == "hard":
            return HardLink()
        if target is None:
            raise UnsupportedError("a link of a class that a program defined", file.path, absolute)
        return SoftLink(target) if other is None else ExternalLink(other, target)

    def create_group(self, name: Name, track_order: bool | None = None) -> Group:
        """Creates a group, and the groups above it.

        Args:
            name: Path of the group.
            track_order: Record the order in which members and attributes of this group are created.

        Returns:
            The group.

        Raises:
            InvalidInputError: There is an object of this name.

        Example:
            >>> f.create_group("run/1")
        """
        name = self._backend.group_path(name)
        path = self._below(name)
        with self._changes.lock:
            self._changes.make(lambda editor: editor.create_group(path, track_order))
            made = self[path]
            assert isinstance(made, Group)
            return made

    def require_group(self, name: Name) -> Group:
        """Returns the group of this name, or creates it.

        Args:
            name: Path of the group.

        Returns:
            The group.

        Raises:
            InvalidTypeError: There is an object of this name that is not a group.

        Example:
            >>> f.require_group("run/1")
        """
        with self._changes.lock:
            if not self._file.exists(self._below(name)):
                return self.create_group(name)
            found = self[name]
            if not isinstance(found, Group):
                raise InvalidTypeError(f"{found.path} is not a group", self._changes.path, found.path)
            return found

    def visit_links(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each link below this group, until it returns something other than `None`.

        Args:
            function: Called with the path relative to this group, in the order of the names. Each group is looked into once.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visit_links(print)
        """
        for path in self._below_links():
            result = function(path)
            if result is not None:
                return result
        return None

    def visititems_links(self, function: Callable[[str, SoftLink | ExternalLink | HardLink], Result | None]) -> Result | None:
        """Calls `function` with the path of each link below this group and the link, until it returns something other than
        `None`.

        Args:
            function: Called with the path relative to this group and a `SoftLink`, `ExternalLink` or `HardLink`, in the order of
                the names. Each group is looked into once.

        Returns:
            The last result of `function`.

        Example:
            >>> f.visititems_links(lambda path, link: print(path, link))
        """
        for path in self._below_links():
            result = function(path, self.get(path, getlink=True))
            if result is not None:
                return result
        return None

    def _below_links(self) -> Iterator[str]:
        """The path of each link below this group; in a file that is edited, all are listed before one is changed."""
        if self._backend.is_fixed:
            return self._link_paths()
        with self._backend.lock:
            return iter(list(self._link_paths()))

    def _link_paths(self) -> Iterator[str]:
        """The path of each link below this group, depth first."""
        seen = {self._number}
        above = [("", self._number)]
        # A stack of iterators: groups may be nested deeper than Python's calls.
        levels: list[Iterator[tuple[str, int | None]]] = [self._sorted_links(self._number)]
        while levels:
            following = next(levels[-1], None)
            if following is None:
                levels.pop()
                above.pop()
                continue
            name, number = following
            path = above[-1][0] + name
            yield path
            if number is not None and number not in seen and self._file.kind(number) == "group":
                seen.add(number)
                above.append((f"{path}/", number))
                levels.append(self._sorted_links(number))

    def _sorted_links(self, group: int) -> Iterator[tuple[str, int | None]]:
        links = self._file.links(group)
        return iter(sorted(zip(links.names, links.objects, strict=True), key=lambda link: link[0].encode("utf-8", "surrogateescape")))

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
        for path in self._below_paths():
            result = function(path)
            if result is not None:
                return result
        return None

    def _below_paths(self) -> Iterator[str]:
        """The path of each object below this group; in a file that is edited, all are listed before one is changed."""
        if self._backend.is_fixed:
            return self._visited_paths()
        with self._backend.lock:
            return iter(list(self._visited_paths()))

    def _visited_paths(self) -> Iterator[str]:
        visit = self._file.visit(self._number, self.path)
        while paths := visit.paths():
            yield from paths

    def visititems(self, function: Callable[[str, Member], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object, until it returns something other
        than `None`.

        As in h5py, names are in order, and a group comes before its members. Each object is visited once, under its
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
        for path, member in self._below_objects():
            result = function(path, member)
            if result is not None:
                return result
        return None

    def _below_objects(self) -> Iterator[tuple[str, Member]]:
        """The path of each object below this group, and the object."""
        if not self._backend.is_fixed:
            yield from ((path, self[path]) for path in self._below_paths())
            return
        file, above = self._file, self.path.rstrip("/") + "/"
        visit = file.visit(self._number, self.path)
        while found := visit.objects():
            for path, number, about in found:
                yield path, self._object(file, number, above + path, about)

    def _links(self) -> _native.Links:
        return self._file.links(self._number)

    def _entries(self) -> Iterator[tree.Entry]:
        links = self._links()
        for name, kind, number, target in map(links.entry, range(len(links))):
            path = f"{self.path.rstrip('/')}/{name}"
            if number is None:
                yield tree.Entry(name, path, f"{kind} link", None, target)
                continue
            found = self._object(self._file, number, path)
            yield tree.Entry(name, path, found.kind, found, "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __len__(self) -> int:
        if self._backend.is_fixed:
            return self._file.link_count(self._number)
        with self._backend.lock:
            return self._file.link_count(self._number)

    def _names(self) -> list[str]:
        if self._backend.is_fixed:
            return self._file.names(self._number)
        with self._backend.lock:
            return self._file.names(self._number)

    def __contains__(self, path: object) -> bool:
        if path in ("", b""):
            return False
        absolute = self._absolute(path_text(path))
        if self._backend.is_fixed:
            return self._file.exists(absolute)
        with self._backend.lock:
            return self._file.exists(absolute)

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.path.rstrip('/')}/{path}"

    def __getitem__(self, path: str | bytes | Reference) -> Member:
        if isinstance(path, Reference):
            return self._dereferenced(path)
        if isinstance(path, NewReference):
            path = path.path
        absolute = self._absolute(path_text(path))
        if self._backend.is_fixed:
            return self._found(absolute)
        with self._backend.lock:
            return self._found(absolute)

    def _found(self, path: str) -> Member:
        """The object at an absolute path."""
        file, number = self._file.find(path)
        file.check(number)
        return self._object(file, number, self._name(file, number, path))

    def _name(self, file: _native.File, number: int, path: str) -> str:
        """What an object is called that was found at a path. One in another file has its path there, by which its members are found."""
        if file != self._file:
            return file.object_path(number)
        return normal(path)

    def _ipython_key_completions_(self) -> list[str]:
        """What notebooks offer after `f["`: names and paths below, the nearest first."""
        found: list[str] = []
        pending: list[tuple[str, Group]] = [("", self)]
        while pending and len(found) < MAX_COMPLETIONS:
            prefix, group = pending.pop(0)
            for name in itertools.islice(group, MAX_COMPLETIONS - len(found)):
                found.append(prefix + name)
                with contextlib.suppress(Error):  # a link to nothing has a name, too
                    member = group[name]
                    if isinstance(member, Group) and prefix.count("/") < MAX_DEPTH:
                        pending.append((f"{prefix}{name}/", member))
        return found

    def __repr__(self) -> str:
        with self._backend.lock:
            return tree.text(self) if self else self._closed()


#: What a group contains. A `Node` is an object that cannot be read.
Member: TypeAlias = Group | Dataset | Datatype | Node

Node._classes = {"dataset": Dataset, "datatype": Datatype, "group": Group}
