"""Node: an object of an open file, with what groups, datasets and others have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .. import _native
from ..backends.backend import Backend, Changes, State
from ..backends.reading import Reading
from ..base.description import Description
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..base.extras import late
from ..base.visible import ADDRESS, visible
from ..values.new_references import AnyReference, NewReference
from ..values.references import Reference, dereferenced, file_of, in_file
from . import html, tree
from .attributes import Attributes
from .kept import kept
from .node_attributes import NodeAttributes
from .region_references import NewRegions, RegionReferences

Value = TypeVar("Value")


class Node:
    """An object of a file: a group, a dataset, or another one. How the file was opened decides whether it can be changed."""

    #: The class of each kind of object, set by `group` and `files.file`; others are a `Node`.
    _classes: ClassVar[Mapping[str, Any]] = {}
    #: What the backend keeps of an object of a file that changes.
    _state: State

    def __init__(self, backend: Backend, number: int, name: str, about: Description | None = None) -> None:
        self._backend, self._number = backend, number
        backend.hold(self, name, about)

    if TYPE_CHECKING:
        _own_name: str
        _file: _native.File
        _about: Description
    else:

        @kept
        def _own_name(self):
            return self._state.name

        @kept
        def _file(self):
            return self._state.file

        @kept
        def _about(self):
            return self._state.about

    @property
    def name(self) -> str:
        """The absolute path, as in h5py. It follows when the object is moved."""
        return self._own_name

    @property
    def _changes(self) -> Changes:
        """What makes changes to this object; `ReadOnlyError` if its file is open for reading."""
        return self._backend.changes(self)

    @classmethod
    def _class_of(cls, kind: str) -> Any:
        """The class of a kind of object. A process that got an object by pickle has not imported the modules of all of them."""
        if "file" not in cls._classes:
            late("files.file")
        return cls._classes.get(kind, Node)

    def _own_number(self) -> int:
        """The number of the object, which was not removed."""
        return self._number if self._file is not None else -1

    @property
    def kind(self) -> str:
        """`group`, `dataset`, `datatype` (a committed one) or `unreadable`."""
        return str(self._about["kind"])

    @property
    def refusal(self) -> str | None:
        """Why the object cannot be read; `None` if it can."""
        return self._about.get("refusal")

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        made: Attributes = (self._backend.attributes or Attributes)(NodeAttributes(self))
        return made

    @property
    def path(self) -> str:
        """The absolute path; of an object that only references lead to, a text that `File` finds it by."""
        return self._own_name

    @property
    def parent(self) -> Node:
        """The group that its path names before the last `/`; of the root group itself."""
        path = self.path.rstrip("/").rpartition("/")[0] or "/"
        return self._object(*self._file.find(path), path)

    @property
    def file(self) -> Any:
        """The `File` that it is in; closing it closes the file."""
        return self._class_of("file")._of(self._backend)

    @property
    def ref(self) -> AnyReference:
        """A reference to the object: `f[x.ref] == x`."""
        if not self._backend.is_complete:
            return NewReference(self.path)
        address = self._file.address(self._number)
        if address is None:
            raise UnsupportedError("references in a file that is not HDF5", self._file.path, self.path)
        return Reference(self._file, "object", address.to_bytes(8, "little"), False)

    @property
    def regionref(self) -> RegionReferences:
        """Makes region references, `x.regionref[2:5]`, and tells their shapes."""
        if not self._backend.is_complete:
            return NewRegions(self)
        return RegionReferences(self)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object of the same opening of a file, under any path. Copies are equal, and so is what comes out of a
        pickle as long as this process uses the opening that was pickled."""
        return isinstance(other, Node) and self._number == other._number and self._backend == other._backend

    def __hash__(self) -> int:
        return hash(self._backend.key(self._number))

    def __bool__(self) -> bool:
        """Whether its file is open, as in h5py."""
        return not self._backend.closed

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._backend, self._number, self.path)

    def _object(self, file: _native.File, number: int, name: str, about: Description | None = None) -> Node:
        """The object with this number in a file: this file, or the target of an external link, which is only read."""
        # The core makes a Python object of the file for each answer. All objects of an opening share one: what was pickled is found
        # again as long as it lives (`reopening`).
        backend = self._backend if file == self._file else Reading(file)
        about = file.describe(number, name) if about is None else about
        found: Node = self._class_of(about["kind"])(backend, number, name, about)
        return found

    def _current(self, value: Value) -> Value | Reference:
        """A reference of this file as the file is now; other values as they are."""
        if self._backend.is_fixed or not isinstance(value, Reference) or not value or file_of(value).path != self._backend.path:
            return value
        return in_file(value, self._file)

    def _dereferenced(self, reference: Reference) -> Node:
        """The object that a reference points at."""
        with self._backend.lock:
            found = dereferenced(self._current(reference))
            if found is None:
                raise InvalidInputError("this reference points at nothing")
            if ADDRESS in found.path and self._backend.was_removed(found.object):
                raise ObjectNotFoundError("this reference points at an object that was removed", self._backend.path)
            found.file.check(found.object)
            return self._object(found.file, found.object, found.path)

    def refresh(self) -> None:
        """Reads the metadata of the file again: a dataset that has grown shows its new shape."""
        found = self._backend.refreshed(self.path)
        if found is not None:
            name = self.path
            self._backend, self._number = found
            self._backend.hold(self, name, None)

    def __setitem__(self, key: Any, value: object) -> None:
        raise InvalidTypeError(f"a {self.kind} has no items that can be set", self._changes.path, self.path)

    def __delitem__(self, key: Any) -> None:
        raise InvalidTypeError(f"a {self.kind} has no items that can be deleted", self._changes.path, self.path)

    def _summary(self) -> list[str]:
        """The parts of the object's line in a tree; of a dataset the first two are its dimensions and type."""
        if self.kind == "unreadable":
            return [f"cannot be read: {self.refusal}"]
        return [] if self.kind == "group" else [self.kind]

    def _parts(self) -> int:
        """The members of its datatype, of all levels, which its line describes."""
        return 1

    def _entries(self) -> Iterator[tree.Entry]:
        """The links of a group, in the order of the file; only groups have some."""
        return iter(())

    def _closed(self) -> str:
        """What `repr` shows of an object whose file is closed."""
        return f"<closed {self.kind} {visible(self.path)}>"

    def __repr__(self) -> str:
        return f"<{self.kind} {visible(self.path)}>" if self else self._closed()

    def _repr_html_(self) -> str:
        return html.of_node(self, self.kind.capitalize(), self._file.path) if self else html.closed(self._closed())


def register(kind: str, made: type[Node]) -> None:
    """Registers the class of all objects of a kind. The package `files`, which this one must not import, calls it."""
    Node._classes = {**Node._classes, kind: made}
