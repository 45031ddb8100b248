"""The machine: the cores that this process may use, and the page cache."""

from __future__ import annotations

import os

from ..base.errors import UnsupportedError


def cores() -> int:
    """How many cores this process may use."""
    # macOS does not bind processes to cores.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def forget(path: str, durable: bool = False) -> None:
    """Asks the system to drop the bytes of a file from the page cache, so that they are read from the device.

    Args:
        path: Path of the file.
        durable: Wait until the bytes are on the disk first: those that are not stay in the cache.

    Raises:
        UnsupportedError: The system has no such request (macOS).
    """
    if not hasattr(os, "posix_fadvise"):
        raise UnsupportedError("measuring reads from the disk: this system cannot drop a file from the page cache", path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if durable:
            os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
