"""Changes: an existing file that is open for editing, with its view, its lock and the warning if changes are dropped."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _native, file
from ..errors import InvalidInputError
from ..sessions import session as session_of
from ..writing import unclosed

Result = TypeVar("Result")


class Changes:
    """The changes of one open file. All objects of the file share it."""

    def __init__(self, path: str, session: _native.Session) -> None:
        self.path = path
        #: Held while a change is made and while values are read, so that threads see whole changes.
        self.lock = threading.RLock()
        self._editor = _native.Editor(path, session)
        self._view: _native.File = self._editor.view()
        self._is_current = True
        self._unclosed: weakref.finalize[Any, Any] | None = None
        #: Counts changes, by which the definitions of a netCDF file are known to be those of the file.
        self.edits = 0
        #: Those definitions (`EditedContents`), if they were looked at.
        self.netcdf: Any = None
        self._raw: tuple[int, Any] | None = None
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
    def view(self) -> _native.File:
        """The file with all changes so far. After `close`, the closed file."""
        with self.lock:
            if not self._is_current and not self._editor.closed:
                self._view = self._editor.view()
                self._is_current = True
            return self._view

    @property
    def raw(self) -> Any:
        """The file with all changes so far, read as HDF5: netCDF's own attributes are shown, too."""
        with self.lock:
            if self._raw is None or self._raw[0] != self.edits:
                self._raw = self.edits, file.File(self._editor.view_in(session_of(format="hdf5", indexes="none")))
            return self._raw[1]

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._editor.closed

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
                message = f"'{self.path}' was not closed, so the changes since the last commit are dropped: call close(), or use it in a `with` block"
                self._unclosed = unclosed.watch(self, message)
            self._is_current = False
            self.edits += 1
            return change(self._editor)

    def remove(self, path: str) -> None:
        """Removes a link, and the object if it has no other name.

        Args:
            path: Absolute path of the link.
        """
        with self.lock:
            removed = self.make(lambda editor: editor.remove(path))
            self.time += 1
            self._removed.update(dict.fromkeys(removed, self.time))

    def rename(self, path: str, to: str) -> None:
        """Gives a link another name.

        Args:
            path: Absolute path of the link.
            to: Its new path.
        """
        with self.lock:
            self.make(lambda editor: editor.rename(path, to))
            self.renamed.append((path, to))

    def is_there(self, number: int, since: int) -> bool:
        """Whether an object was not removed since some time.

        Args:
            number: Number of the object.
            since: When the caller knew that it was there.

        Returns:
            Whether it is still there.
        """
        return self._removed.get(number, -1) <= since

    def is_doubtful(self, since: int) -> bool:
        """Whether an object that was found then may have gone with the changes that were dropped.

        Args:
            since: When it was found.

        Returns:
            Whether changes were dropped since then.
        """
        return since < self.return_time

    def commit(self) -> None:
        """Makes the changes visible to others, and waits until they are on the disk."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.commit()
            self._removed_before, self._committed = dict(self._removed), len(self.renamed)
            self._settled()

    def roll_back(self) -> None:
        """Drops the changes since the last commit."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.roll_back()
            self._is_current = False
            self.edits += 1
            self._removed = dict(self._removed_before)
            self.renamed.extend((to, path) for path, to in reversed(self.renamed[self._committed :]))
            self._committed = len(self.renamed)
            self.time += 1
            self.return_time = self.time
            self._settled()

    def close(self) -> None:
        """Drops the changes since the last commit, and closes the file."""
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
