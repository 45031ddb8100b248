"""Editing: an existing file that is open for changes, with its view, its lock and the warning if changes are dropped."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from .. import _native
from ..base.description import Description
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError
from ..sources.sessions import session as session_of
from ..values.encoded import Encoded
from . import editing_values, unclosed
from .backend import Backend, Holder, Named, Notes

Result = TypeVar("Result")


class EditedObject:
    """An object of a file that is edited, as it is after all changes so far."""

    def __init__(self, editing: Editing, number: int, name: str, about: Description | None) -> None:
        view = editing.file
        self._editing, self._number, self._path = editing, number, name
        #: What was removed and renamed when this was made.
        self._since, self._renamed = editing.time, len(editing.renamed)
        self._described = view, view.describe(number, name) if about is None else about

    @property
    def name(self) -> str:
        """The absolute path. It follows when the object is moved."""
        with self._editing.lock:
            renamed = self._editing.renamed
            for path, to in renamed[self._renamed :]:
                if self._path == path or self._path.startswith(f"{path}/"):
                    self._path = to + self._path[len(path) :]
            self._renamed = len(renamed)
            return self._path

    @property
    def file(self) -> _native.File:
        """The file with all changes so far.

        Raises:
            ObjectNotFoundError: The object was removed.
        """
        editing = self._editing
        with editing.lock:
            view = editing.file
            if not editing.closed:
                if editing.is_doubtful(self._since):
                    # The object may have been made by changes that were dropped.
                    if not view.exists(self.name) or view.find(self.name) != (view, self._number):
                        raise ObjectNotFoundError("this object went with the changes that were dropped", editing.path, self.name)
                    self._since = editing.time
                if not editing.is_there(self._number, self._since):
                    raise ObjectNotFoundError("this object was removed", editing.path, self.name)
            return view

    @property
    def about(self) -> Description:
        """The description of the object."""
        with self._editing.lock:
            view = self.file
            if self._described[0] is not view and not self._editing.closed:
                self._described = view, view.describe(self._number, self.name)
            return self._described[1]


class CurrentReader:
    """Reads a dataset as it is after all changes so far, with the methods of `_native.DatasetReader`."""

    def __init__(self, editing: Editing, node: Holder, make: Callable[[], _native.DatasetReader | None]) -> None:
        self._editing, self._node, self._make = editing, node, make
        #: The reader of a view of the file.
        self._made: tuple[_native.File, _native.DatasetReader | None] | None = None

    def _call(self, method: str, *arguments: object) -> object:
        with self._editing.lock:
            view = self._node._file
            if self._made is None or self._made[0] is not view:
                self._made = view, self._make()
            return getattr(self._made[1], method)(*arguments)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return functools.partial(self._call, method)


class Editing(Backend):
    """An existing file that is open for changes. Each change shows at once in all of its objects, and is visible to others after `flush`."""

    mode = "r+"
    is_fixed = False

    def __init__(self, path: str, session: _native.Session) -> None:
        self._path = path
        #: Held while a change is made and while values are read, so that threads see whole changes.
        self.lock: contextlib.AbstractContextManager[object] = threading.RLock()
        self._editor = _native.Editor(path, session)
        self._view: _native.File = self._editor.view()
        self._is_current = True
        self._unclosed: unclosed.Watch | None = None
        #: Counts changes: cached definitions of a netCDF file are up to date if the count has not changed.
        self.edits = 0
        #: Those definitions (`EditedContents`), if they were looked at.
        self.netcdf: Any = None
        self.notes: dict[int, Notes] = {}
        #: What hashes come from of objects that had other numbers before the file was complete.
        self.keys: dict[int, object] = {}
        self._raw: tuple[int, _native.File] | None = None
        #: Counts removals and returns to the last commit: what objects of the file were made before and after.
        self.time = 0
        #: When objects were removed, by their numbers, now and at the last commit.
        self._removed: dict[int, int] = {}
        self._removed_before: dict[int, int] = {}
        #: Old and new paths, in order; the first ones are committed.
        self.renamed: list[tuple[str, str]] = []
        self._committed = 0
        #: When changes were last dropped.
        self.return_time = -1

    @property
    def path(self) -> str:
        return self._path

    @property
    def file(self) -> _native.File:
        """The file with all changes so far. After `close`, the closed file."""
        with self.lock:
            if not self._is_current and not self._editor.closed:
                self._view = self._editor.view()
                self._is_current = True
            return self._view

    @property
    def raw(self) -> _native.File:
        """The file with all changes so far, read as HDF5: netCDF's own attributes are shown, too."""
        with self.lock:
            if self._raw is None or self._raw[0] != self.edits:
                self._raw = self.edits, self._editor.view_in(session_of(format="hdf5", indexes="none"))
            return self._raw[1]

    @property
    def closed(self) -> bool:
        return self._editor.closed

    def key(self, number: int) -> object:
        return self.keys.get(number) or super().key(number)

    def hold(self, node: Holder, name: str, about: Description | None) -> None:
        with self.lock:
            node._state = EditedObject(self, node._number, name, about)

    def changes(self, node: Named) -> Editing:
        return self

    def refreshed(self, name: str) -> None:
        """Objects show each change at once, and no other program changes the file meanwhile."""

    def reader(self, node: Holder, make: Callable[[], _native.DatasetReader | None]) -> CurrentReader:
        return CurrentReader(self, node, make)

    def make(self, change: Callable[[_native.Editor], Result]) -> Result:
        """Makes one change.

        Args:
            change: What is done with the native editor.

        Returns:
            The result of `change`.

        Raises:
            InvalidInputError: The file is closed.
        """
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            if self._unclosed is None:
                self._unclosed = self._watched()
            self._is_current = False
            self.edits += 1
            return change(self._editor)

    def _watched(self) -> unclosed.Watch:
        """What happens if the file is dropped before it was closed: the changes are, too."""
        message = f"'{self.path}' was not closed, so the changes since the last commit are dropped: call close(), or use it in a `with` block"
        return unclosed.watch(self, message)

    def remove(self, path: str) -> None:
        """Removes a link, and the object if it has no other name.

        Args:
            path: Absolute path of the link.
        """
        with self.lock:
            removed = self.make(lambda editor: editor.remove(path))
            self.time += 1
            self._removed.update(dict.fromkeys(removed, self.time))
            for number in removed:
                self.notes.pop(number, None)

    def rename(self, path: str, to: str) -> None:
        """Gives a link another name.

        Args:
            path: Absolute path of the link.
            to: Its new path.
        """
        with self.lock:
            self.make(lambda editor: editor.rename(path, to))
            self.renamed.append((path, to))

    def put(self, node: Holder, encoded: Encoded) -> None:
        """Writes values.

        Args:
            node: The dataset.
            encoded: The values.
        """
        editing_values.put(self, node, encoded)

    def create_hard_link(self, path: str, target: str) -> None:
        """Gives the object at a path one more name.

        Args:
            path: The new name.
            target: Path of the object.
        """
        with self.lock:
            file, number = self.file.find(target)
            if file != self.file:
                raise InvalidInputError(f"{target} is in another file: a hard link leads to an object of this one", self.path, path)
            self.make(lambda editor: editor.create_hard_link(path, number))

    def discard(self, path: str) -> None:
        """Removes an object whose creation has failed.

        Args:
            path: Absolute path of the object.
        """
        self.remove(path)

    def is_there(self, number: int, since: int) -> bool:
        """Whether an object was not removed since some time.

        Args:
            number: Number of the object.
            since: When the caller knew that it was there.

        Returns:
            Whether it is still there.
        """
        return self._removed.get(number, -1) <= since

    def was_removed(self, number: int) -> bool:
        return number in self._removed

    def is_doubtful(self, since: int) -> bool:
        """Whether an object that was found then may have gone with the changes that were dropped.

        Args:
            since: When it was found.

        Returns:
            Whether changes were dropped since then.
        """
        return since < self.return_time

    def flush(self) -> None:
        """Makes the changes visible to others, and waits until they are on the disk."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.commit()
            self._removed_before, self._committed = dict(self._removed), len(self.renamed)
            self._settled()

    def commit(self) -> None:
        self.flush()

    def roll_back(self) -> None:
        """Drops the changes since the last commit."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.roll_back()
            self._is_current = False
            self.edits += 1
            self._removed = dict(self._removed_before)
            self.notes.clear()
            self.renamed.extend((to, path) for path, to in reversed(self.renamed[self._committed :]))
            self._committed = len(self.renamed)
            self.time += 1
            self.return_time = self.time
            self._settled()

    def close(self) -> None:
        if not self.closed:
            self.flush()
            self.abandon()

    def abandon(self) -> None:
        with self.lock:
            self._settled()
            self._editor.close()
            self._view.close()
            self._raw = None

    def _settled(self) -> None:
        """Nothing is lost from here on."""
        if self._unclosed is not None:
            self._unclosed.detach()
            self._unclosed = None

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError("a file that is edited belongs to this process: pickle what hyperslab.open(path) reads", self.path)
