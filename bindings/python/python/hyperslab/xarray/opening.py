"""Opening for xarray: what a file manager of xarray keeps open, and opens again after it was closed or pickled."""

from __future__ import annotations

import os
import threading
from typing import NamedTuple, Protocol

from .. import _native
from ..backends.reading import Reading
from ..base.errors import ConflictError, InvalidTypeError
from ..objects.dataset import Dataset
from ..sources import file_objects
from ..sources.addresses import absolute
from ..sources.file_objects import CONTENT_NAME
from ..sources.local_path import local_path
from ..sources.range_readers import Opened, is_file
from ..sources.sessions import Arguments, session


class FileVersion(NamedTuple):
    """Identifies the content of a file: its inode, length in bytes, and time of the last modification in nanoseconds."""

    inode: int
    length: int
    modified: int

    @classmethod
    def of(cls, path: str) -> FileVersion:
        """The version that is at `path` now."""
        found = os.stat(path)
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class OpenedFile:
    """An open file, and the datasets that were asked for by their path.

    Closing only drops the reference: a read that another thread has begun ends first, and then the file is closed."""

    def __init__(self, file: _native.File, version: FileVersion | None) -> None:
        self.file, self.version = file, version
        self._datasets: dict[str, Dataset] = {}

    def dataset(self, path: str) -> Dataset:
        """The dataset at a path. Objects are kept, since making them takes longer than a small read."""
        found = self._datasets.get(path)
        if found is None:
            file, number = self.file.find(path)
            found = self._datasets[path] = Dataset(Reading(file), number, path)
        return found

    def check_unchanged(self) -> None:
        """Raises `ConflictError` if the file was written to since it was opened.

        A file that was replaced by another under the same name (an atomic rename) stays readable: the open one is the old one.
        """
        if self.version is None:
            return
        try:
            now = FileVersion.of(self.file.path)
        except OSError:
            return  # removed: what is open stays readable
        if now.inode == self.version.inode and now != self.version:
            raise ConflictError("the file has changed since it was opened: open it again", self.file.path)

    def close(self) -> None:
        """Nothing: the file is closed when its last user is gone."""


class Manager(Protocol):
    """What keeps a file open, and opens it again: one of xarray, or one of these here."""

    def acquire(self) -> OpenedFile:
        """The open file, opened again after `close`."""

    def close(self) -> None:
        """Closes the file."""


def open_path(path: str, options: Arguments, mode: str = "r") -> OpenedFile:
    """Opens a local file; `options` are options of a session. Managers of xarray that have no mode do not survive a copy."""
    version = FileVersion.of(path) if os.path.exists(path) else None  # remote objects are read as the version that was opened
    (file,) = session(*options).open([path])
    return OpenedFile(file, version)


def open_content(content: bytes, options: Arguments) -> OpenedFile:
    """Opens a file that is in memory."""
    return OpenedFile(session(*options).open_content(CONTENT_NAME, content), None)


class ContentManager:
    """Keeps a file open that is in memory. A pickle has its bytes."""

    def __init__(self, content: bytes, options: Arguments) -> None:
        self._content, self._options = content, options
        self._opened: OpenedFile | None = None
        self._lock = threading.Lock()

    def acquire(self, needs_lock: bool = True) -> OpenedFile:
        """The open file, opened again after `close`."""
        with self._lock:
            if self._opened is None:
                self._opened = open_content(self._content, self._options)
            return self._opened

    def close(self, needs_lock: bool = True) -> None:
        """Drops the parsed file; the bytes stay, and reading opens it again."""
        self._opened = None

    def __getstate__(self) -> tuple[bytes, Arguments]:
        return self._content, self._options

    def __setstate__(self, state: tuple[bytes, Arguments]) -> None:
        ContentManager.__init__(self, *state)


class ReaderManager:
    """Keeps a file open that a file object reads. A pickle has the file object, if that can be pickled."""

    def __init__(self, opened: Opened, options: Arguments) -> None:
        self._source, self._options = opened, options
        self._opened: OpenedFile | None = None
        self._lock = threading.Lock()

    def acquire(self, needs_lock: bool = True) -> OpenedFile:
        """The open file, opened again after `close`."""
        with self._lock:
            if self._opened is None:
                self._opened = OpenedFile(session(*self._options).open_reader(*self._source), None)
            return self._opened

    def close(self, needs_lock: bool = True) -> None:
        """Drops the parsed file; the file object stays as it is, and reading opens it again."""
        self._opened = None

    def __getstate__(self) -> tuple[Opened, Arguments]:
        return self._source, self._options

    def __setstate__(self, state: tuple[Opened, Arguments]) -> None:
        ReaderManager.__init__(self, *state)


def path_or_content(source: object) -> str | bytes | Opened:
    """A path or an address, the content of bytes and small file objects, or what reads ranges of others."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, (str, os.PathLike)):
        return absolute(local_path(os.fspath(source)))
    if not is_file(source):
        raise InvalidTypeError(f"{type(source).__name__} is not a path, bytes or a file object")
    return file_objects.path_or_content(source)
