"""Edited node: an object of a file that is edited. It shows each change at once."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _native
from ..errors import InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..objects.node import Node
from ..values.references import Reference
from .changes import Changes


def address_of(file: _native.File, number: int) -> bytes:
    """The address of an object, as references hold it.

    Args:
        file: The file.
        number: The number of the object.

    Returns:
        8 bytes.

    Raises:
        UnsupportedError: The file has no addresses.
    """
    address = _native.address(file, number)
    if address is None:
        raise UnsupportedError("a reference to an object of a file that is not HDF5", file.path)
    return address.to_bytes(8, "little")


class NodeEdits(Node):
    """What objects of an edited file have in common. Subclasses put it in front of the class that reads the object."""

    def __init__(self, changes: Changes, number: int, name: str, about: dict[str, Any] | None = None) -> None:
        with changes.lock:
            view = changes.view
            self._changes, self._number, self._path = changes, number, name
            #: What was removed and renamed when this was made.
            self._since, self._renamed = changes.time, len(changes.renamed)
            self._described = view, view.describe(number, name) if about is None else about

    @property
    def name(self) -> str:  # type: ignore[override]
        """The absolute path. It follows when the object is moved."""
        with self._changes.lock:
            renamed = self._changes.renamed
            for path, to in renamed[self._renamed :]:
                if self._path == path or self._path.startswith(f"{path}/"):
                    self._path = to + self._path[len(path) :]
            self._renamed = len(renamed)
            return self._path

    @property
    def _file(self) -> _native.File:  # type: ignore[override]
        changes = self._changes
        with changes.lock:
            view = changes.view
            if not changes.closed:
                if changes.is_doubtful(self._since):
                    # The object may have been made by changes that were dropped.
                    if not view.exists(self.name) or view.find(self.name) != (view, self._number):
                        raise ObjectNotFoundError("this object went with the changes that were dropped", changes.path, self.name)
                    self._since = changes.time
                if not changes.is_there(self._number, self._since):
                    raise ObjectNotFoundError("this object was removed", changes.path, self.name)
            return view

    def _own_number(self) -> int:
        """The number of the object, which was not removed."""
        return self._number if self._file is not None else -1

    @property
    def _about(self) -> dict[str, Any]:  # type: ignore[override]
        with self._changes.lock:
            view = self._file
            if self._described[0] is not view and not self._changes.closed:
                self._described = view, view.describe(self._number, self.name)
            return self._described[1]

    @property
    def attrs(self) -> Any:
        """The attributes, which can be changed: `attrs["count"] = 3`."""
        return self._edited_classes()["attributes"](self)

    @property
    def file(self) -> Any:
        """The file that it is in; closing it closes the file."""
        return self._edited_classes()["file"]._of_changes(self._changes)

    def _edited_classes(self) -> dict[str, Any]:
        """The class of each kind of object of an edited file."""
        raise NotImplementedError

    def _object(self, file: _native.File, number: int, name: str, about: dict[str, Any] | None = None) -> Node:
        with self._changes.lock:
            if file != self._file:
                return super()._object(file, number, name, about)  # the target of an external link is only read
            kind = file.kind(number)
            found: Node = self._edited_classes().get(kind, self._edited_classes()["node"])(self._changes, number, name)
            return found

    def _current(self, reference: Any) -> Any:
        """A reference of this file as the file is now; other values as they are."""
        if not isinstance(reference, Reference) or reference._file.path != self._changes.path:
            return reference
        return reference._in(self._file)

    def _dereferenced(self, reference: Reference) -> Any:
        with self._changes.lock:
            return super()._dereferenced(self._current(reference))

    def refresh(self) -> None:
        """Does nothing: the object shows each change at once."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeEdits) and self._number == other._number and self._changes is other._changes

    def __hash__(self) -> int:
        return hash((id(self._changes), self._number))

    def __bool__(self) -> bool:
        return not self._changes.closed

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError("a file that is edited belongs to this process: pickle what hyperslab.open(path) reads", self._changes.path)
