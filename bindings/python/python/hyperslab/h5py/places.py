"""Places: files that lie elsewhere while they are written: those in memory, and those in Python's file objects."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any


class TemporaryPlace:
    """A temporary file, which nothing keeps: HDF5's driver `core` without a backing store.

    Args:
        name: What `File.filename` shows.
        content: What the file begins with.
    """

    def __init__(self, name: str, content: bytes | None = None) -> None:
        folder = tempfile.mkdtemp(prefix="hyperslab-")
        self.name, self.path = name, os.path.join(folder, "file.h5")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        if content is not None:
            with open(self.path, "wb") as file:
                file.write(content)

    def store(self) -> None:
        """Nothing keeps the file."""

    def remove(self) -> None:
        """Removes the temporary file."""
        self._remove()


class ObjectPlace(TemporaryPlace):
    """A temporary file whose content is written into a file object: HDF5's driver `fileobj`."""

    def __init__(self, fileobj: Any, content: bytes | None = None) -> None:
        super().__init__(repr(fileobj), content)
        self._fileobj: Any = fileobj

    def store(self) -> None:
        """Writes the content, from the beginning."""
        self._fileobj.seek(0)
        with open(self.path, "rb") as file:
            shutil.copyfileobj(file, self._fileobj, 1 << 20)
        self._fileobj.truncate()
        self._fileobj.flush()

    def remove(self) -> None:
        """Removes the temporary file, and gives the file object up, which may exist for as long as something refers to it."""
        super().remove()
        self._fileobj = None


def content_of(fileobj: Any) -> bytes:
    """The whole content of a file object."""
    fileobj.seek(0)
    content: bytes = fileobj.read()
    return content
