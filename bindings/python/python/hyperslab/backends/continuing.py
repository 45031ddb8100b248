"""Continuing: a file that is being created until something needs the complete file, and is edited from then on, as files of h5py are."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

from .. import _native
from ..base.errors import ObjectNotFoundError
from . import unclosed
from .backend import Backend, Holder
from .creating import Creating
from .editing import Editing
from .plan_writer import AnyWriter


class Place(Protocol):
    """Where a file lies while it is written, if this is not where it belongs: a temporary file for one in memory."""

    #: The name by which it was opened.
    name: str

    def store(self) -> None:
        """Takes the file as it is now to where it belongs."""

    def remove(self) -> None:
        """Removes the temporary file."""


class ContinuedEditing(Editing):
    """A file that is edited as h5py's files are: changes are kept if it is dropped before it was closed, and it may belong somewhere else."""

    def __init__(self, path: str, session: _native.Session, place: Place | None = None) -> None:
        super().__init__(path, session)
        self.place = place

    def _watched(self) -> unclosed.Watch:
        return unclosed.Pending(self)

    def __del__(self) -> None:
        # There is nothing if opening failed.
        pending = self.__dict__.get("_unclosed")
        if isinstance(pending, unclosed.Pending):
            pending(self)

    def flush(self) -> None:
        super().flush()
        if self.place is not None:
            self.place.store()

    def abandon(self) -> None:
        super().abandon()
        if self.place is not None:
            self.place.remove()


class Continuing(Creating):
    """A file that is being created. What only a complete file has (addresses, places of chunks, links to other files) completes it: from
    then on all of its objects are those of a file that is edited.

    Args:
        writer, path, replace, user_block_bytes: As `Creating`.
        reopen: Opens the file for changes.
        place: Where it lies, if this is not where it belongs.
    """

    def __init__(
        self, writer: AnyWriter, path: str, replace: bool, user_block_bytes: int = 0, *, reopen: Callable[[], Editing], place: Place | None = None
    ) -> None:
        self._reopen, self.place = reopen, place
        super().__init__(writer, path, replace, user_block_bytes)
        self._nodes: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def _watched(self) -> unclosed.Watch:
        return unclosed.Pending(self)

    def __del__(self) -> None:
        # There is nothing if opening failed.
        pending = self.__dict__.get("_unclosed")
        if isinstance(pending, unclosed.Pending) and not self.closed:
            pending(self)

    def hold(self, node: Holder, name: str, about: Any) -> None:
        super().hold(node, name, about)
        self._nodes[id(node)] = node

    def complete(self) -> None:
        """Makes the file appear, and goes on with it as one that is edited: this backend leaves all objects of the file that exist."""
        with self.lock:
            nodes = [(node, path) for node in list(self._nodes.values()) if (path := _path_of(node)) is not None]
            super().close()
            editing = self._reopen()
            editing.settings = self.settings
            numbers = {}
            for node, path in nodes:
                number = editing.file.find(path)[1]
                numbers[node._number] = number
                editing.keys[number] = self.key(node._number)
                node._backend, node._number = editing, number
                editing.hold(node, path, None)
            editing.notes.update({numbers[number]: notes for number, notes in self.notes.items() if number in numbers})

    def close(self) -> None:
        super().close()
        if self.place is not None:
            self.place.store()
            self.place.remove()

    def abandon(self) -> None:
        super().abandon()
        if self.place is not None:
            self.place.remove()


def _path_of(node: Holder) -> str | None:
    """The path of an object; `None` if it was removed."""
    try:
        return node.path
    except ObjectNotFoundError:
        return None


def completed(backend: Backend) -> bool:
    """Completes the file of a backend, if it is one that goes on.

    Args:
        backend: The backend.

    Returns:
        Whether its objects have another backend now.
    """
    if not isinstance(backend, Continuing) or backend.closed:
        return False
    backend.complete()
    return True
