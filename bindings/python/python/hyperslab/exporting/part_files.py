"""Files that appear when they are complete."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Protocol

from .. import _native
from ..base.errors import Error, IoError, MissingFileError
from ..sources.addresses import is_address, options_of

#: How long code that ends the process waits for a writer to remove its file.
REMOVAL_SECONDS = 2.0


class Part(Protocol):
    """A file that is being written."""

    def discard(self) -> None:
        """Removes it."""


#: The files that are being written: code that ends the process without unwinding the stack discards them.
PARTS: set[Part] = set()


class _OfWriter:
    """A file that a writer removes when the stack of its thread unwinds."""

    def __init__(self) -> None:
        self._thread, self._ended = threading.get_ident(), threading.Event()

    def discard(self) -> None:
        """Waits until the writer has removed it, unless that is this thread."""
        if threading.get_ident() != self._thread:
            self._ended.wait(REMOVAL_SECONDS)

    def end(self) -> None:
        """The writer has published the file, or removed it."""
        self._ended.set()


@contextlib.contextmanager
def removed_by_its_writer() -> Iterator[None]:
    """A block in which this thread writes a file of HDF5 or netCDF, whose writer removes it if the block does not end well."""
    part = _OfWriter()
    PARTS.add(part)
    try:
        yield
    finally:
        part.end()
        PARTS.discard(part)


@contextlib.contextmanager
def complete(out: str, storage_options: Mapping[str, object] | None = None) -> Iterator[BinaryIO]:
    """A file to write to, which appears as `out`, a path or an address, when the block ends well, and is removed if it does not. Its name
    cannot be guessed, and it is opened once. If it replaces a file, only its owner may read it until it is complete; then it gets the
    permissions, owner and group of that file. Symbolic links are followed as far as the kernel follows them. What killed processes have
    left of the same file is removed."""
    folder = os.path.dirname(os.path.realpath(out))
    if not is_address(out) and not os.path.isdir(folder):
        raise MissingFileError(f"there is no folder '{folder}'", out)
    part = _native.PartFile(out, options_of(storage_options))
    try:
        PARTS.add(part)
        with os.fdopen(part.descriptor(), "w+b") as file:
            yield file
        part.publish()
    except OSError as error:
        # Of a write without a name: a full disk, a quota.
        if isinstance(error, Error) or error.filename is not None or error.errno is None:
            raise
        raise IoError(f"cannot be written: {error.strerror}; what was written of it is removed", out, os_error=error.errno) from None
    finally:
        part.discard()
        PARTS.discard(part)
