"""Budget: the memory that answers may hold at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .requests import Refused


class Budget:
    """Bytes that are shared by all answers: one that does not fit waits for others to end.

    Args:
        bytes_each: What one answer may need.
        bytes_together: What all may need at the same time.
    """

    def __init__(self, bytes_each: int, bytes_together: int) -> None:
        self._each, self._together = bytes_each, max(bytes_together, bytes_each)
        self._used = 0
        self._freed = threading.Condition()

    @contextmanager
    def spend(self, needed: int) -> Iterator[None]:
        """Holds bytes while an answer is made.

        Raises:
            Refused: One answer may not have so many.
        """
        if needed > self._each:
            raise Refused(413, f"this answer would need {needed:,} bytes, and {self._each:,} are allowed: select less of the dataset")
        with self._freed:
            self._freed.wait_for(lambda: self._used + needed <= self._together)
            self._used += needed
        try:
            yield
        finally:
            with self._freed:
                self._used -= needed
                self._freed.notify_all()
