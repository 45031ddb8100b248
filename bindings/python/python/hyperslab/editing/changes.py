"""Changes: an existing file that is open for editing, with its view, its lock and the warning if changes are dropped."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _native
from ..errors import InvalidInputError
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

    @property
    def view(self) -> _native.File:
        """The file with all changes so far. After `close`, the closed file."""
        with self.lock:
            if not self._is_current and not self._editor.closed:
                self._view = self._editor.view()
                self._is_current = True
            return self._view

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
            return change(self._editor)

    def commit(self) -> None:
        """Makes the changes visible to others, and waits until they are on the disk."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.commit()
            self._settled()

    def roll_back(self) -> None:
        """Drops the changes since the last commit."""
        with self.lock:
            if self._editor.closed:
                raise InvalidInputError("the file is closed: open it again", self.path)
            self._editor.roll_back()
            self._is_current = False
            self._settled()

    def close(self) -> None:
        """Drops the changes since the last commit, and closes the file."""
        with self.lock:
            self._settled()
            self._editor.close()
            self._view.close()

    def _settled(self) -> None:
        """Nothing is lost from here on."""
        if self._unclosed is not None:
            self._unclosed.detach()
            self._unclosed = None
