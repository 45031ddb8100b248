"""Written objects: what has been written so far of a file that is being created, as `_native.File` shows the objects of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from .. import _native
from ..base.description import Description
from ..base.errors import Error, InvalidInputError, ObjectNotFoundError, UnsupportedError
from ..values import new_references
from .plan_writer import AnyWriter

#: Objects whose descriptions are kept: a file may have millions.
_MAX_DESCRIBED = 4096


class WrittenLinks:
    """The links of a group, as `_native.Links`."""

    def __init__(self, entries: list[tuple[str, str, int | None, str]]) -> None:
        self._entries = entries

    @property
    def names(self) -> list[str]:
        """Names in the group."""
        return [name for name, *_ in self._entries]

    @property
    def objects(self) -> list[int | None]:
        """Numbers of the objects that hard links lead to; `None` for other links."""
        return [number for _, _, number, _ in self._entries]

    def entry(self, index: int) -> tuple[str, str, int | None, str]:
        """Name, kind, number of the object and target of the link at a position."""
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)


class WrittenPaths:
    """The paths of the objects below a group, each once, as `_native.Visit`."""

    def __init__(self, paths: list[str]) -> None:
        self._left = paths

    def paths(self) -> list[str]:
        """All paths; none at the second call."""
        found, self._left = self._left, []
        return found


class WrittenObjects:
    """The objects of a file that is being created, by their numbers, with the methods of `_native.File`."""

    format = "hdf5"

    def __init__(self, writer: AnyWriter, path: str, user_block_bytes: int = 0) -> None:
        self.writer, self.path, self.user_block_bytes = writer, path, user_block_bytes
        #: Names of the dimensions of netCDF variables, by the numbers of their datasets.
        self.declared: dict[int, tuple[str, ...]] = {}
        #: The path of each object that was looked for, without links: a hard link to it may not depend on others.
        self._paths: dict[int, str] = {}
        #: Descriptions of objects by their numbers, until they change.
        self._described: dict[int, Description] = {}

    @property
    def root(self) -> int:
        """The number of the root group."""
        return self._number("/")

    def _number(self, path: str) -> int:
        return self.found(path).id

    def found(self, path: str) -> _native.ObjectInfo:
        """What is at a path.

        Raises:
            ObjectNotFoundError: There is nothing.
        """
        found = self.writer.look_up(path)
        if found is None:
            raise ObjectNotFoundError(f"there is no {path!r} in the file that is written", self.path, path)
        self._paths[found.id] = found.path
        if found.kind == "group":
            self._keep(found.id, {"kind": "group", "refusal": None})
        return found

    def object_path(self, number: int, known: str | None = None) -> str:
        """A path of an object: one that is known, as long as it leads there.

        Raises:
            ObjectNotFoundError: The object was removed.
        """
        for path in (known, self._paths.get(number)):
            if path is not None and self._leads_to(path, number):
                return path
        # The writer looks through all of its objects.
        found = self.writer.path_of(number)
        if found is None:
            raise ObjectNotFoundError("this object was removed", self.path, known)
        self._paths[number] = found
        return found

    def _leads_to(self, path: str, number: int) -> bool:
        try:
            found = self.writer.look_up(path)
        except UnsupportedError:  # a link to another file
            return False
        return found is not None and found.id == number

    def find(self, path: str) -> tuple[WrittenObjects, int]:
        """The file and number of the object at a path."""
        return self, self._number(path)

    def exists(self, path: str) -> bool:
        """Whether there is such a name; as in h5py, a link may lead nowhere. Those to other files are not followed."""
        try:
            return self.writer.look_up(path) is not None or self.has_link(path)
        except UnsupportedError:
            return True

    def has_link(self, path: str) -> bool:
        """Whether there is a link of this name, which may lead nowhere."""
        above, _, name = path.rstrip("/").rpartition("/")
        try:
            return self.writer.member(above or "/", name) is not None
        except Error:  # there is no such group
            return False

    def kind(self, number: int) -> str:
        """What an object is: `group`, `dataset` or `datatype`."""
        return self.found(self.object_path(number)).kind

    def check(self, number: int) -> None:
        """Every object can be read."""

    def names(self, group: int) -> list[str]:
        """Names of a group's links."""
        return [member.name for member in self.writer.members(self.object_path(group))]

    def link_count(self, group: int) -> int:
        """Number of a group's links."""
        return len(self.writer.members(self.object_path(group)))

    def links(self, group: int) -> WrittenLinks:
        """A group's links."""
        above, entries = self.object_path(group).rstrip("/"), []
        for member in self.writer.members(above or "/"):
            is_hard = member.kind in ("object", "hard")
            target = "" if is_hard else member.target if member.file is None else f"{member.file}:{member.target}"
            entries.append((member.name, "hard" if is_hard else member.kind, self._number(f"{above}/{member.name}") if is_hard else None, target))
        return WrittenLinks(entries)

    def link(self, group: int, name: str) -> tuple[str, str | None, str | None] | None:
        """The kind of a link of a group, and for soft and external links the path and the file."""
        member = self.writer.member(self.object_path(group), name)
        if member is None:
            return None
        return ("hard", None, None) if member.kind in ("object", "hard") else (member.kind, member.target, member.file)

    def visit(self, group: int, path: str) -> WrittenPaths:
        """The paths of all objects below a group, in the order of the names, whatever order is tracked."""
        return WrittenPaths(list(self._below(path, "", {group})))

    def _below(self, group: str, above: str, seen: set[int]) -> Iterator[str]:
        for member in sorted(self.writer.members(group), key=lambda member: member.name.encode("utf-8", "surrogateescape")):
            if member.kind not in ("object", "hard"):
                continue
            path = f"{group.rstrip('/')}/{member.name}"
            found = self.found(path)
            if found.id in seen:
                continue
            seen.add(found.id)
            yield above + member.name
            if found.kind == "group":
                yield from self._below(path, f"{above}{member.name}/", seen)

    def describe(self, number: int, path: str) -> Description:
        """Describes an object, at a path where it is."""
        about = self._described.get(number)
        if about is None:
            about = self.writer.describe(path)
            about["refusal"] = None
            self._keep(number, about)
        return about

    def _keep(self, number: int, about: Description) -> None:
        if len(self._described) >= _MAX_DESCRIBED:
            self._described.clear()
        self._described[number] = about

    def forget(self, number: int) -> None:
        """Describes an object anew when it is asked for: it has changed."""
        self._described.pop(number, None)

    def attribute_names(self, number: int) -> list[str]:
        """Names of an object's attributes."""
        return self.writer.attribute_names(self.object_path(number))

    def attribute(self, number: int, name: str) -> _native.AttributeValue | None:
        """An attribute; `None` if there is none."""
        return self.writer.attribute(self.object_path(number), name)

    def dimensions(self, dataset: int) -> list[tuple[str | None, int | None]]:
        """Name of each dimension of a dataset, and the number of its scale."""
        if dataset in self.declared:
            return [(name, None) for name in self.declared[dataset]]
        path = self.object_path(dataset)
        attached = self.writer.scales(path)
        first = [attached.get(axis, [None])[0] for axis in range(len(self.writer.shape(path) or ()))]
        return [(None, None) if scale is None else (scale.rpartition("/")[2], self._number(scale)) for scale in first]

    def scales(self, dataset: int) -> list[list[bytes]]:
        """The scales of each dimension of a dataset, as `scale_address` gives them."""
        path = self.object_path(dataset)
        attached = self.writer.scales(path)
        return [[self._number(scale).to_bytes(8, "little") for scale in attached.get(axis, [])] for axis in range(len(self.writer.shape(path) or ()))]

    def fill_heap(self, dataset: int) -> _native.Heap:
        """What a dataset's fill value points at."""
        return self.writer.describe(self.object_path(dataset))["fill_heap"]

    def external_files(self, dataset: int) -> list[tuple[str, int, int | None]]:
        """No dataset of a new file has external raw data."""
        return []

    def references(self, datatype: _native.Datatype, raw: bytes) -> list[new_references.NewReference | None]:
        """The references in whole elements."""
        writer: Any = self.writer  # not a plan, which has no values
        return list(new_references.of_elements(writer, datatype, raw))

    def _incomplete(self, what: str) -> NoReturn:
        raise UnsupportedError(f"{what} of a file that is being created: close it, and open it", self.path)

    def stored_bytes(self, dataset: int) -> NoReturn:
        """Refused: values are not all in the file yet."""
        self._incomplete("the stored bytes")

    def virtual_mappings(self, dataset: int) -> NoReturn:
        """Refused: they are read from the complete file."""
        self._incomplete("the sources of a virtual dataset")

    def address(self, number: int) -> NoReturn:
        """Refused: objects get their addresses when the file is complete."""
        self._incomplete("the address of an object")

    def close(self) -> None:
        """Gives the file up."""
        self.writer.abort()

    def reopen(self) -> NoReturn:
        """Refused."""
        raise InvalidInputError("a file that is being created is not reopened: it shows each change at once", self.path)
