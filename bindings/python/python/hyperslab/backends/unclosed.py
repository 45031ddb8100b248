"""Unclosed: a warning if something that is being written is dropped, or the process ends, before it was closed."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from typing import Protocol

from ..base.errors import Error

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class UnclosedWarning(ResourceWarning):
    """A file, task or parallel write was dropped before it was complete: nothing of it was written."""


# Python ignores a ResourceWarning by default, and this one says that values are lost. Options of the command line go first.
if not sys.warnoptions:
    warnings.filterwarnings("always", category=UnclosedWarning)


class Watch(Protocol):
    """Warns, or closes its owner, when that is dropped, unless it is detached before."""

    def detach(self) -> object:
        """Ends it."""

    def __call__(self) -> object:
        """Warns or closes at once."""


def watch(owner: object, message: str) -> Watch:
    """Warns when `owner` is dropped or the interpreter exits, unless the returned object is detached before."""
    return weakref.finalize(owner, _warn, message, *_caller(), os.getpid())


class Closing(Protocol):
    """What is closed when it is dropped."""

    def close(self) -> None:
        """Closes it."""


class Pending:
    """Closes its owner, which calls it in `__del__`, and which is closed when the interpreter exits.

    Callbacks of weak references would come too early: before the `__del__` of what refers to the owner, which may write.

    Args:
        owner: What is closed.
    """

    def __init__(self, owner: Closing) -> None:
        self._owner, self._process, self._place = weakref.ref(owner), os.getpid(), _caller()
        _PENDING.add(self)

    def detach(self) -> None:
        """Nothing is pending any more."""
        _PENDING.discard(self)

    def __call__(self, owner: Closing | None = None) -> None:
        """Closes the owner. If this fails, it is a warning.

        Args:
            owner: It is given in `__del__`, when nothing leads to it any more.
        """
        self.detach()
        found = self._owner() if owner is None else owner
        if found is None or self._process != os.getpid():  # a forked child has nothing to complete
            return
        try:
            found.close()
        except (Error, OSError, ValueError) as error:  # a file object may be closed
            _warn(f"this file was dropped, and could not be closed: {error}", *self._place, self._process)


_PENDING: set[Pending] = set()


@atexit.register
def _close_pending() -> None:
    for pending in list(_PENDING):
        pending()


def _caller() -> tuple[str, int]:
    """The place outside of the package that has led here."""
    frame = sys._getframe(2)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _warn(message: str, filename: str, line: int, process: int) -> None:
    if process == os.getpid():  # a forked child has nothing to lose
        warnings.warn_explicit(message, UnclosedWarning, filename, line)
