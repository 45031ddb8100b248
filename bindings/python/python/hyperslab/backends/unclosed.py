"""Unclosed: a warning if something that is being written is dropped, or the process ends, before it was closed."""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from typing import TypeAlias

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class UnclosedWarning(ResourceWarning):
    """A file, task or parallel write was dropped before it was complete: nothing of it was written."""


# Python ignores a ResourceWarning by default, and this one says that values are lost. Options of the command line go first.
if not sys.warnoptions:
    warnings.filterwarnings("always", category=UnclosedWarning)

#: Warns when it is called, which it is unless it is detached before.
Watch: TypeAlias = "weakref.finalize[[str, str, int, int], object]"


def watch(owner: object, message: str) -> Watch:
    """Warns when `owner` is dropped or the interpreter exits, unless the returned object is detached before."""
    frame = sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    return weakref.finalize(owner, _warn, message, frame.f_code.co_filename, frame.f_lineno, os.getpid())


def _warn(message: str, filename: str, line: int, process: int) -> None:
    if process == os.getpid():  # a forked child has nothing to lose
        warnings.warn_explicit(message, UnclosedWarning, filename, line)
