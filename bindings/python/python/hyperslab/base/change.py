"""Change: something of an object that a copy does not have as it was in the original."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .visible import visible


class Change(NamedTuple):
    """Something of an object that a copy does not have as it was in the original.

    Attributes:
        path: Path of the object.
        text: What is different, in words.
    """

    path: str
    text: str

    def __str__(self) -> str:
        return visible(f"changed: {self.path}: {self.text}")


def changes_of(found: Iterable[tuple[str, str]]) -> tuple[Change, ...]:
    """The changes that the core has found."""
    return tuple(Change(path, text) for path, text in found)
