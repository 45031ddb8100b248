"""Reopening: open files go to other processes by pickle, and are opened again there, once per process."""

from __future__ import annotations

import copyreg
import os
import weakref
from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from .. import _native
from ..base.errors import ConflictError, InvalidTypeError
from .addresses import is_address
from .file_objects import CONTENT_NAME, JOINED_NAME
from .range_readers import Opened, RangeReader
from .sessions import Arguments, session

#: Path, arguments of the session, length in bytes, time of the last modification in nanoseconds, if the file system has one, and
#: the entity tag of a remote object.
Origin: TypeAlias = tuple[str, Arguments, int, "int | None", "str | None"]

#: Files that were pickled or opened from a pickle, as long as they are in use.
_open: weakref.WeakValueDictionary[Origin, _native.File] = weakref.WeakValueDictionary()


def reopened(origin: Origin, folder: str | None = None) -> _native.File:
    """The file of a pickle: the one that is open already, or a new opening.

    Args:
        origin: What was opened.
        folder: The working folder of the process that pickled it, if its path is relative.

    Raises:
        ConflictError: The file has another length or modification time than the one that was pickled.
    """
    path, arguments, *version = origin
    if folder is not None and folder != os.getcwd():
        path = os.path.join(folder, path)
    (opened,) = session(*arguments).open([path])
    found = _origin_of(opened)
    if found[2:] != tuple(version):
        raise ConflictError("the file has changed since this object was pickled: open it again", opened.path)
    known = _open.get(found)
    if known is not None and not known.closed:
        return known
    _open[found] = opened
    return opened


def reopened_by_reader(opened: Opened, arguments: Arguments) -> _native.File:
    """The file of a pickle that was read by a file object or a store of Python.

    Raises:
        ConflictError: It has another length or version than what was pickled.
    """
    now = opened.reader.version()
    if now is not None and now != (opened.length, opened.version):
        raise ConflictError("the file has changed since this object was pickled: open it again", opened.name)
    return session(*arguments).open_reader(*opened)


def storage_options_of(natives: Iterable[_native.File]) -> tuple[tuple[str, str], ...]:
    """The options of the store that remote files were opened with; none for local files."""
    first = next((native for native in natives if is_address(native.path)), None)
    return () if first is None else tuple(first.origin()[1][8])


def _origin_of(file: _native.File) -> Origin:
    path, arguments, length, modified, tag = file.origin()
    return path, (*arguments[:4], tuple(arguments[4]), *arguments[5:8], tuple(arguments[8])), length, modified, tag


def reduced(file: _native.File) -> tuple[Callable[..., _native.File], tuple[object, ...]]:
    """What pickles an open file: how it is opened again."""
    origin = _origin_of(file)
    if os.path.basename(origin[0]) == JOINED_NAME:
        raise InvalidTypeError("an array of joined files is known to this process only: pickle the file of hs.joined, or one that hs.virtual wrote")
    if origin[0] == CONTENT_NAME:
        raise InvalidTypeError("a file that was opened from a file object is in this process's memory: pickle its bytes, or open a path")
    reader = file.reader()
    if reader is not None:
        return reopened_by_reader, (Opened(origin[0], cast(RangeReader, reader), origin[2], origin[4]), origin[1])
    known = _open.get(origin)
    if known is None or known.closed:
        _open[origin] = file
    return reopened, (origin, None if os.path.isabs(origin[0]) or is_address(origin[0]) else os.getcwd())


copyreg.pickle(_native.File, reduced)
