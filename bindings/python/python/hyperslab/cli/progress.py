"""Progress: shown on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PATIENCE_SECONDS = 1.0


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    status = Console(stderr=True).status(what)
    timer = threading.Timer(PATIENCE_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


@contextlib.contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar of rows: call the returned function with the number of rows done since the last call."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(what, total=total)
    since = time.monotonic()

    def advance(rows: int) -> None:
        progress.advance(task, rows)
        if not progress.live.is_started and time.monotonic() - since > PATIENCE_SECONDS:
            progress.start()

    try:
        yield advance
    finally:
        progress.stop()
