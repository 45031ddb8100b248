"""Watching: how long an answer may take, and whether its client still waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from ..values.batch_reader import BatchReader
from .requests import Refused


class Gone(Exception):
    """The client does not wait for its answer any more."""


class Watch:
    """The time of one answer, and its client.

    Args:
        seconds: Time that the answer may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._started = time.monotonic()
        self._is_gone = threading.Event()
        self._on_leave: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def leave(self) -> None:
        """The client went away: stops what is computed for it."""
        with self._lock:
            self._is_gone.set()
            stops, self._on_leave = self._on_leave, []
        for stop in stops:
            stop()

    def is_cancelled(self) -> bool:
        """Whether the client went away."""
        return self._is_gone.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds since the request."""
        return time.monotonic() - self._started

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self.elapsed > self.seconds

    def check(self) -> None:
        """Ends the answer if its client is gone.

        Raises:
            Gone: It is.
        """
        if self._is_gone.is_set():
            raise Gone

    def require_time(self, advice: str) -> None:
        """Ends the answer if its client is gone or its time is over.

        Args:
            advice: What the user can do about it.

        Raises:
            Gone: The client is gone.
            Refused: The time is over.
        """
        self.check()
        if self.is_late:
            raise Refused(503, f"this took longer than {self.seconds:g} seconds, the limit of the server: {advice}")

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Calls `stop` from another thread if the client goes away or the time is over inside of the block."""
        timer = threading.Timer(max(0.0, self.seconds - self.elapsed), stop)
        timer.daemon = True
        with self._lock:
            self._on_leave.append(stop)
        timer.start()
        try:
            self.check()
            yield
        finally:
            timer.cancel()
            with self._lock:
                if stop in self._on_leave:
                    self._on_leave.remove(stop)


def batches(reader: BatchReader, watch: Watch, advice: str) -> Iterator[pa.RecordBatch]:
    """The record batches of a reader, until its time is over.

    Raises:
        Gone: The client is gone.
        Refused: The time is over; `advice` says what the user can do about it.
    """
    while True:
        watch.require_time(advice)
        try:
            yield reader.read_next_batch()
        except StopIteration:
            return
