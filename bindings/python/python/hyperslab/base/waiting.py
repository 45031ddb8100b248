"""Waiting: progress that appears by itself, in notebooks and on terminals, for work of more than two seconds."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from .blocks import size
from .progress import Progress, is_shown

#: Set to 0, nothing appears by itself.
VARIABLE = "HYPERSLAB_PROGRESS"

#: Nothing appears before this time.
PATIENCE_SECONDS = 2.0

_progress: Progress | None = None


def is_wanted() -> bool:
    """Whether somebody may look: the main thread waits, in a notebook or on a terminal, and nothing else shows progress."""
    if not Progress.automatic or os.environ.get(VARIABLE) == "0" or threading.current_thread() is not threading.main_thread():
        return False
    return is_shown() and not Progress.shown


def show(seconds: float, done: int, total: int | None) -> None:
    """Shows how much was read. The core calls it from time to time while it works.

    Args:
        seconds: How long it has worked.
        done: Bytes that were read or decoded.
        total: Bytes that it will have read, if that is known.
    """
    global _progress
    if _progress is None:
        if not is_wanted():
            return
        _progress = Progress("hyperslab", seconds=seconds)
        sys.stderr.flush()
    note = size(done) if total is None else f"{size(min(done, total))} of {size(total)}"
    _progress.say(f"{note} read", done / total if total else None)


@contextlib.contextmanager
def rows() -> Iterator[Callable[[int], None]]:
    """Around a loop that reads rows.

    Yields:
        A function that is called with the number of rows read since the last call.

    Example:
        >>> with rows() as advance:
        ...     advance(65_536)
    """
    begin, read = time.monotonic(), 0
    progress: Progress | None = None
    with contextlib.ExitStack() as opened:

        def advance(count: int) -> None:
            nonlocal progress, read
            read += count
            seconds = time.monotonic() - begin
            if seconds < PATIENCE_SECONDS:
                return
            if progress is None and is_wanted():
                progress = opened.enter_context(Progress("hyperslab", "rows", seconds=seconds))
            if progress is not None:
                progress(read - progress.done)

        yield advance


def close() -> None:
    """Removes what is shown: the work has ended."""
    global _progress
    if _progress is not None:
        _progress.close()
        _progress = None
