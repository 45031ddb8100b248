"""Stopping: Ctrl-C and SIGTERM end a command immediately, with status 128 + signal, and leave no half-written file."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from ..exporting.part_files import PARTS

PATIENCE_SECONDS = 0.15
"""How long a signal waits for the main thread, which may be in native code that does not check for signals or takes
long to end."""

_first: int | None = None
_careful = threading.Event()


class Stopped(BaseException):
    """Raised by a signal, to end the command."""


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Ends the process when SIGINT or SIGTERM arrives in the block: by an exception, so that everything is cleaned up,
    or, if the main thread is in native code, by removing the part files. A closed pipe ends it as any Unix command."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _handle)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    try:
        yield
    except BaseException:
        if _first is not None:
            end(_first)
        raise


@contextlib.contextmanager
def careful() -> Iterator[None]:
    """The block handles signals itself and has to clean up: only a second signal ends it by force."""
    _careful.set()
    try:
        yield
    finally:
        _careful.clear()


def _handle(number: int, _: FrameType | None) -> None:
    global _first
    if _first is not None:
        end(number)
    _first = number
    raise Stopped


def _watch(reader: int) -> None:
    """Python runs `_handle` on the main thread only; this runs on another."""
    signals = 0
    while received := os.read(reader, 1):
        number = received[0]
        if number not in (signal.SIGINT, signal.SIGTERM):
            continue
        signals += 1
        if signals == 1:
            time.sleep(PATIENCE_SECONDS)
        if signals > 1 or not _careful.is_set():
            end(number)


def end(number: int) -> NoReturn:
    """Removes the part files and ends the process."""
    for part in tuple(PARTS):
        part.discard()
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\r\x1b[K\x1b[?25h")  # the line and the cursor, which a progress bar has hidden
    os._exit(128 + number)
