"""Stamps: whether a file is still the one that was opened."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Stamp:
    """What changes if a file does."""

    inode: int
    size: int
    modified: int


def stamp_of(path: str) -> Stamp:
    """The stamp of a file.

    Raises:
        OSError: The file does not exist, or may not be looked at.
    """
    status = os.stat(path)
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)
