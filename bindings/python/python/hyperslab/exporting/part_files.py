"""Files that appear when they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from .. import _native
from ..base.errors import MissingFileError
from ..sources.addresses import is_address, options_of

#: The files that are being written: code that ends the process without unwinding the stack discards them.
PARTS: set[_native.PartFile] = set()


@contextlib.contextmanager
def complete(out: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[BinaryIO]:
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
    finally:
        part.discard()
        PARTS.discard(part)
