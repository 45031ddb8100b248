"""Progress: shown on a terminal only, and only for what takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ..base.counters import counters
from .terminal import console

PATIENCE_SECONDS = 1.0


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    status = console(errors=True).status(what)
    timer = threading.Timer(PATIENCE_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        status.stop()


class _Count(ProgressColumn):
    """`1,234 of 5,000 rows`. Without a total, the bytes that were read show that something happens."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit, self._before = unit, counters()

    def render(self, task: Task) -> Text:
        done, total = int(task.completed), None if task.total is None else int(task.total)
        if self._unit == "bytes":
            return Text(decimal(done) + (f" of {decimal(total)}" if total is not None else ""))
        if total is not None:
            return Text(f"{done:,} of {total:,} {self._unit}")
        return Text(f"{done:,} {self._unit}, {decimal(counters().since(self._before).bytes_read)} read")


@contextlib.contextmanager
def _bar(what: str, total: int | None, unit: str) -> Iterator[tuple[Progress, TaskID]]:
    columns = (TextColumn("{task.description}"), BarColumn(), _Count(unit), TimeElapsedColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console(errors=True), transient=True)
    task = progress.add_task(what, total=total)
    timer = threading.Timer(PATIENCE_SECONDS, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield progress, task
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


@contextlib.contextmanager
def counting(what: str, total: int | None, unit: str = "rows") -> Iterator[Callable[[int], None]]:
    """A progress bar: call the returned function with the number of rows, bytes or other units done since the last call."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    with _bar(what, total, unit) as (progress, task):

        def advance(count: int) -> None:
            progress.advance(task, count)

        yield advance


@contextlib.contextmanager
def reporting(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar whose function is called with how much is done, and how much there is."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    with _bar(what, None, unit) as (progress, task):

        def report(done: int, of: int) -> None:
            progress.update(task, completed=done, total=of or None)

        yield report
