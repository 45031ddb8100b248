"""Range readers: file objects, files of fsspec and stores of obspec, read by ranges of bytes."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard

from .. import _native
from ..base.errors import Error, InvalidTypeError, IoError, remember_cause
from .addresses import shown_address

if TYPE_CHECKING:
    from ..base.type_aliases import JsonObject

#: File objects of at most this many bytes are read whole when they are opened.
MAX_WHOLE_BYTES = 1 << 20


class RangeReader(Protocol):
    """Reads ranges of bytes."""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(offset, length)`."""

    def version(self) -> tuple[int, str | None] | None:
        """The length in bytes now, and what identifies the version; `None` if that cannot be known."""


class Opened(NamedTuple):
    """A reader, the name of what it reads, its length in bytes, and what identifies its version, if that is known."""

    name: str
    reader: RangeReader
    length: int
    version: str | None


class FileSystem(Protocol):
    """The part of a file system of fsspec that ranges need."""

    def cat_ranges(self, paths: list[str], starts: list[int], ends: list[int], *, on_error: str) -> list[bytes]: ...
    def info(self, path: str) -> JsonObject: ...


class ObjectStore(Protocol):
    """The part of a store of obspec that ranges need."""

    def head(self, path: str) -> JsonObject: ...
    def get_ranges(self, path: str, *, starts: list[int], lengths: list[int]) -> Sequence[bytes]: ...


@contextmanager
def _said(what: str, source: object) -> Iterator[None]:
    """Turns an exception of a library into an `IoError` with that cause. Bytes are read on other threads, through native code:
    the error that comes out there finds its cause by its message."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # of whatever library it is
        message = _native.without_queries(f"the {what} ({type(source).__name__}) failed while it was read: {type(error).__name__}: {error}")
        remember_cause(message, error)
        raise IoError(message) from error


class FileSystemReader:
    """Reads a file by its file system of fsspec, many ranges at once. The file object may be closed meanwhile."""

    def __init__(self, file_system: FileSystem, path: str) -> None:
        self._file_system, self._path = file_system, path

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each range."""
        starts = [offset for offset, _ in ranges]
        ends = [offset + length for offset, length in ranges]
        with _said("file system", self._file_system):
            answers = self._file_system.cat_ranges([self._path] * len(ranges), starts, ends, on_error="raise")
            return [bytes(answer) for answer in answers]

    def version(self) -> tuple[int, str | None] | None:
        """The length and the version now, if the file system knows the length."""
        about = self._file_system.info(self._path)
        if about.get("size") is None:
            return None
        found = next((str(about[key]) for key in ("ETag", "etag", "LastModified", "mtime", "created") if about.get(key)), None)
        return int(about["size"]), found


class SeekingReader:
    """Reads a file object by `seek` and `read`, one range after another. Its position stays as it was."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lock = file, threading.Lock()

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each range."""
        with self._lock, _said("file object", self._file):
            position = self._file.tell()
            try:
                return [self._read(offset, length) for offset, length in ranges]
            finally:
                self._file.seek(position)

    def version(self) -> None:
        """Unknown."""

    def _read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        parts, left = [], length
        while left > 0:
            part = self._file.read(left)
            if not isinstance(part, (bytes, bytearray, memoryview)):
                raise InvalidTypeError(f"{type(self._file).__name__} reads {type(part).__name__}, not bytes: open it in binary mode")
            if not part:
                break  # the reader of the ranges says how much is missing
            parts.append(bytes(part))
            left -= len(part)
        return b"".join(parts)

    def __getstate__(self) -> IO[bytes]:
        return self._file

    def __setstate__(self, file: IO[bytes]) -> None:
        SeekingReader.__init__(self, file)


class StoreReader:
    """Reads an object of a store that has the methods of obspec, such as the stores of obstore."""

    def __init__(self, store: ObjectStore, path: str) -> None:
        self._store, self._path = store, path

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each range."""
        starts = [offset for offset, _ in ranges]
        lengths = [length for _, length in ranges]
        with _said("store", self._store):
            return [bytes(memoryview(answer)) for answer in self._store.get_ranges(self._path, starts=starts, lengths=lengths)]

    def version(self) -> tuple[int, str | None]:
        """The length and the version now."""
        about = self._store.head(self._path)
        return int(about["size"]), about.get("e_tag")


def of_store(store: ObjectStore, path: str) -> Opened:
    """The object `path` of a store with obspec's methods `head` and `get_ranges`.

    Raises:
        InvalidTypeError: The store does not have these methods.
        IoError: The store raises an exception, which is the cause of this one.
    """
    if not hasattr(store, "get_ranges") or not hasattr(store, "head"):
        raise InvalidTypeError(f"{type(store).__name__} has no methods head and get_ranges: give a store of obstore, or one with obspec's methods")
    reader = StoreReader(store, path)
    try:
        length, version = reader.version()
    except Exception as error:  # of whatever library it is
        raise IoError(f"the store ({type(store).__name__}) failed: {type(error).__name__}: {error}", path) from error
    # Never the path of a local file.
    return Opened(f"{type(store).__name__.lower()}://{path}", reader, length, version)


def of_file(source: Any) -> Opened | None:
    """What reads a file object, or a file of fsspec that is not open; `None` for one that is better read whole: one in memory,
    or a small one.

    Raises:
        IoError: The file object raises an exception, which is the cause of this one.
    """
    if isinstance(source, io.BytesIO):
        return None
    try:
        if _is_of_fsspec(source):
            reader = FileSystemReader(source.fs, source.path)
            about = reader.version()
            return None if about is None else Opened(shown_address(source.fs.unstrip_protocol(source.path)), reader, *about)
        if not hasattr(source, "seek") or not hasattr(source, "tell"):
            return None
        position = source.tell()
        length = source.seek(0, io.SEEK_END)
        length = source.tell() if length is None else length
        source.seek(position)
        is_binary = isinstance(source.read(0), bytes)
    except MemoryError:
        raise
    except Exception as error:  # of whatever library it is
        raise IoError(f"the file object ({type(source).__name__}) failed: {type(error).__name__}: {error}", "<file object>") from error
    if length <= MAX_WHOLE_BYTES or not is_binary:
        return None
    return Opened("<file object>", SeekingReader(source), length, None)


def is_file(source: object) -> bool:
    """Whether it is a file object, a file of fsspec that is not open, or the content of a file."""
    return hasattr(source, "read") or _is_of_fsspec(source) or is_content(source)


def is_content(source: object) -> TypeGuard[bytes | bytearray | memoryview]:
    """Whether it is the content of a file. `bytes` without a zero are a path: paths have none, and all HDF5 and netCDF files do."""
    return isinstance(source, (bytearray, memoryview)) or (isinstance(source, bytes) and b"\0" in source)


def _is_of_fsspec(source: object) -> bool:
    """Whether its file system reads ranges of it. A file that is decompressed has other bytes than its file system."""
    file_system, path = getattr(source, "fs", None), getattr(source, "path", None)
    return hasattr(file_system, "cat_ranges") and isinstance(path, str) and getattr(source, "compression", None) is None
