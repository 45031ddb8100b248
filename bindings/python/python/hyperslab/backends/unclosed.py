"""Unclosed: a warning if something that is being written is dropped, or the process ends, before it was closed."""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import TypeAlias

from ..base.errors import Error

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


class UnclosedWarning(ResourceWarning):
    """A file, task or parallel write was dropped before it was complete: nothing of it was written."""


# Python ignores a ResourceWarning by default, and this one says that values are lost. Options of the command line go first.
if not sys.warnoptions:
    warnings.filterwarnings("always", category=UnclosedWarning)

#: Warns, or completes a file, when it is called, which it is unless it is detached before.
Watch: TypeAlias = "weakref.finalize[..., object]"


def watch(owner: object, message: str) -> Watch:
    """Warns when `owner` is dropped or the interpreter exits, unless the returned object is detached before."""
    return weakref.finalize(owner, _warn, message, *_caller(), os.getpid())


def finish(owner: object, function: Callable[..., object], *arguments: object) -> Watch:
    """Calls a function when `owner` is dropped or the interpreter exits, unless the returned object is detached before. If it fails, it warns.

    Args:
        owner: The object.
        function: It must not refer to `owner`.
        arguments: Its arguments.
    """
    return weakref.finalize(owner, _call, function, arguments, *_caller(), os.getpid())


def _caller() -> tuple[str, int]:
    """The place outside of the package that has led here."""
    frame = sys._getframe(2)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _call(function: Callable[..., object], arguments: tuple[object, ...], filename: str, line: int, process: int) -> None:
    if process == os.getpid():  # a forked child has nothing to complete
        try:
            function(*arguments)
        except Error as error:
            _warn(f"this file was dropped, and could not be closed: {error}", filename, line, process)


def _warn(message: str, filename: str, line: int, process: int) -> None:
    if process == os.getpid():  # a forked child has nothing to lose
        warnings.warn_explicit(message, UnclosedWarning, filename, line)
