"""Unnamed: objects of two files that only references lead to, each with its counterpart."""

from __future__ import annotations

import threading

from ..base.visible import ADDRESS


class Unnamed:
    """Pairs the objects without names of two files: those that references in the same place lead to are counterparts.

    Their addresses differ. What is paired is compared later.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pairs: dict[str, str] = {}
        self._seconds: set[str] = set()
        #: Paths of objects that were paired and are not compared yet.
        self.waiting: list[tuple[str, str]] = []

    def are_same(self, one: str | None, other: str | None) -> bool:
        """Whether references in the same place lead to counterparts.

        Args:
            one: The path that the reference of the first file leads to.
            other: The path in the second file.

        Returns:
            Whether the paths are equal, or the objects have no names and neither is the counterpart of another.
        """
        if one is None or other is None or not (one.startswith(ADDRESS) and other.startswith(ADDRESS)):
            return one == other
        with self._lock:
            if one in self._pairs or other in self._seconds:
                return self._pairs.get(one) == other
            self._pairs[one] = other
            self._seconds.add(other)
            self.waiting.append((one, other))
            return True
