"""Places: the hidden folder that measurements work in, and files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator

from .. import _native
from ..base.errors import IoError
from ..base.type_aliases import Json


@contextlib.contextmanager
def workplace(folder: str, needed: int) -> Iterator[str]:
    """A hidden folder that is removed whatever happens, for `needed` bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise IoError(f"{free} bytes are free, and {needed} are needed: give another folder or a smaller size", folder)
    work = tempfile.mkdtemp(prefix=".hyperslab-tune-", dir=folder)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def replace_file(path: str, document: Json) -> None:
    """Writes JSON to a file, completely or not at all."""
    replace_text(path, json.dumps(document, indent=1))


def replace_text(path: str, text: str) -> None:
    """Writes a text to a file, completely or not at all."""
    part = None
    try:
        part = _native.PartFile(path)
        with os.fdopen(part.descriptor(), "w", encoding="utf-8") as out:
            out.write(text)
        part.publish()
    except OSError as error:
        raise IoError(f"'{os.path.basename(path)}' cannot be written: {error.strerror or error}", path) from None
    finally:
        if part is not None:
            part.discard()
