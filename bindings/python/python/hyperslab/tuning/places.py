"""Places: the hidden folder that measurements work in, and files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from ..errors import IoError


@contextlib.contextmanager
def workplace(folder: str, size: int) -> Iterator[str]:
    """A hidden folder that is removed whatever happens."""
    free = shutil.disk_usage(folder).free
    if free < 4 * size:
        raise IoError(f"{free} bytes are free, and 4 files of {size} bytes are needed: give another folder or a smaller size", folder)
    work = tempfile.mkdtemp(prefix=".hyperslab-tune-", dir=folder)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def replace_file(path: str, document: Any) -> None:
    """Writes JSON to a file, completely or not at all."""
    part = f"{path}.{secrets.token_hex(8)}.part"
    try:
        with open(part, "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)
        raise IoError(f"'{os.path.basename(path)}' cannot be written: {error.strerror}", path) from None
