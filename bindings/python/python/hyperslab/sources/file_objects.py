"""What functions take besides a path: file objects (the path of a local file that is open in Python, the content of a small one, or what reads
ranges of it), content, and several paths."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Set
from typing import Any

from ..base.errors import InvalidTypeError, IoError
from ..base.natural_order import natural_key
from . import range_readers

#: What content is called in messages.
CONTENT_NAME = "<bytes>"
#: What the file that shows many as one is called in messages.
JOINED_NAME = "<joined files>"


def listed(paths: Any) -> Any:
    """A list of the paths that an iterable has, a set's in natural order; a path, a file (also one that is open), a list and a mapping as they are.

    Args:
        paths: What a function that opens files takes.
    """
    is_one = isinstance(paths, (str, bytes, os.PathLike, Mapping)) or range_readers.is_file(paths) or hasattr(paths, "filename")
    if is_one or isinstance(paths, (list, tuple)) or not isinstance(paths, Iterable):
        return paths
    return sorted(paths, key=lambda path: natural_key(os.fsdecode(path))) if isinstance(paths, Set) else list(paths)


def path_or_content(source: object) -> str | bytes | range_readers.Opened:
    """The path, the content, or what reads ranges, of a file object or a file of fsspec; the bytes of content.

    A file object of a local file that is still at its path is read by that path. `BytesIO`, and what is short, is read whole
    into memory; others by ranges, when they are needed. Their position stays as it was.

    Raises:
        IoError: The file object raises an exception, which is the cause of this one.
    """
    if range_readers.is_content(source):
        return bytes(source)
    return _local_path_of(source) or range_readers.of_file(source) or _content_of(source)


def _local_path_of(source: Any) -> str | None:
    name = getattr(source, "name", None)
    if not isinstance(name, (str, bytes, os.PathLike)) or not hasattr(source, "fileno"):
        return None
    try:
        opened, there = os.fstat(source.fileno()), os.stat(name)
    except (OSError, io.UnsupportedOperation):
        return None
    return os.path.abspath(os.fsdecode(name)) if (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino) else None


def _content_of(source: Any) -> bytes:
    kind = type(source).__name__
    if not hasattr(source, "read"):
        source = source.open("rb") if hasattr(source, "fs") and not hasattr(source, "mode") else source.open()
    try:
        position = source.tell()
        source.seek(0)
        content = source.read()
        source.seek(position)
    except MemoryError:
        raise
    except Exception as error:  # of whatever library it is
        raise IoError(f"the file object ({kind}) failed while it was read: {type(error).__name__}: {error}", CONTENT_NAME) from error
    if not isinstance(content, bytes):
        raise InvalidTypeError(f"{kind} reads text, not bytes: open it in binary mode")
    return content
