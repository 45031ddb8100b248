"""Shrinking: an existing file is replaced by a copy without the bytes that nothing leads to."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable

from .. import _native
from ..base.errors import ConflictError, InvalidInputError
from ..sources.sessions import session


def shrink(path: str, copy: Callable[[str, str], int], dry_run: bool = False) -> int:
    """Replaces an HDF5 file by a copy without unused bytes. The copy is compared with the file before it takes its place.

    Args:
        path: The file.
        copy: Makes a copy of a file without unused bytes, compares both, and returns its size.
        dry_run: Make the copy, and remove it again.

    Returns:
        By how many bytes the file is smaller now; 0 if it was left as it is.

    Raises:
        ConflictError: A program has the file open.
        InvalidInputError: It is not an HDF5 file of its own.
        UnsupportedError: The file has something that cannot be copied; the message names it.
    """
    place = os.path.realpath(path)
    # Completes or drops what an interrupted edit has left.
    _native.Editor(place, session(indexes="none")).close()
    before = os.stat(place)
    if before.st_nlink > 1:
        raise InvalidInputError("the file has several names (hard links), and the copy would have one: use hyperslab.repack", path)
    part = os.path.join(os.path.dirname(place), f".{os.path.basename(place)}.{secrets.token_hex(8)}.part")
    with open(place, "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError("another program has the file open: close it there", path) from None
        try:
            size = copy(place, part)
            if size >= before.st_size or dry_run:
                return max(before.st_size - size, 0)
            shutil.copystat(place, part)
            if os.stat(part).st_uid != before.st_uid or os.stat(part).st_gid != before.st_gid:
                os.chown(part, before.st_uid, before.st_gid)
            os.utime(part)
            with open(part, "rb+") as made:
                os.fsync(made.fileno())
            os.replace(part, place)
            folder = os.open(os.path.dirname(place), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return before.st_size - size
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)
