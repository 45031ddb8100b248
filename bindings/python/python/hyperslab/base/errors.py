"""Errors: one class for each kind of error. Each is also the built-in exception that Python code expects.

Error
├── NotFoundError (LookupError)          a file, object, column or attribute does not exist
│   ├── ObjectNotFoundError (KeyError)         … an object of a file
│   └── MissingFileError (FileNotFoundError)   … a file
│       └── MissingTargetError (KeyError)      … a file that an object needs
├── InvalidInputError (ValueError)       an argument is wrong
│   └── InvalidTypeError (TypeError)           … it has the wrong type or shape
├── UnsupportedError (NotImplementedError)
│   ├── ReadOnlyError (TypeError)              … changing a file that is open for reading
│   └── MissingExtraError (ImportError)        … a feature whose package is not installed
├── CorruptError (OSError)               the bytes of a file contradict its format
├── LimitExceededError (MemoryError)     a limit on what a file may cost
├── ConflictError                        a file changed between plan and use, or writers contradict each other
├── IoError (OSError)                    the operating system reported an error
│   └── AccessError (PermissionError)          … it does not permit the access
├── CancelledError                       a scan or a write was asked to stop
└── InternalError (RuntimeError)         a bug in Hyperslab
"""

from __future__ import annotations

import collections
import contextlib
import enum
import errno
import functools
import os
from typing import ClassVar

from .visible import visible


class ErrorKind(str, enum.Enum):
    """The kinds of errors, equal to their names as text: `error.kind == "NotFound"`. New versions may add kinds."""

    NOT_FOUND = "NotFound"
    INVALID_INPUT = "InvalidInput"
    UNSUPPORTED = "Unsupported"
    CORRUPT = "Corrupt"
    LIMIT_EXCEEDED = "LimitExceeded"
    CONFLICT = "Conflict"
    IO = "Io"
    CANCELLED = "Cancelled"
    INTERNAL = "Internal"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, format_spec: str) -> str:
        return format(str(self.value), format_spec)


def _fill_in(error: object, number: int | None, message: str, file: str | None) -> None:
    """Sets the attributes that Python's own `OSError` has."""
    if isinstance(error, OSError):
        error.errno, error.strerror, error.filename = number, message, file


class Error(Exception):
    """Any error of Hyperslab.

    Attributes:
        kind: The kind of error, the same for all errors of a class.
        message: What is wrong and what to do, without the place.
        file: Path of the file, if one is involved.
        object: Path of the object in the file.
        offset: Byte offset in the file.

    Classes that are an `OSError` also have `errno` (if the operating system reported one), `strerror` and `filename`.

    Example:
        >>> try:
        ...     hs.open("missing.h5")
        ... except hs.Error as error:
        ...     print(error.kind, error.file)
        NotFound missing.h5
    """

    kind: ClassVar[ErrorKind] = ErrorKind.INTERNAL

    def __init__(self, message: str, file: str | None = None, object: str | None = None, offset: int | None = None, os_error: int | None = None) -> None:
        super().__init__(message)
        _fill_in(self, os_error, message, file)
        self.message = message
        self.file = file
        self.object = object
        self.offset = offset

    def __str__(self) -> str:
        places = [f"{word} {value}" for word, value in (("file", self.file), ("object", self.object), ("offset", self.offset)) if value is not None]
        # Names of a file are in messages: a terminal must not act on them.
        return visible(f"{self.message} ({', '.join(places)})" if places else self.message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.file, self.object, self.offset, getattr(self, "errno", None))


class NotFoundError(Error, LookupError):
    """A file, object, column or attribute does not exist."""

    kind = ErrorKind.NOT_FOUND


class ObjectNotFoundError(NotFoundError, KeyError):
    """A file has no object of this name."""

    __str__ = Error.__str__


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file does not exist."""

    def __init__(
        self, message: str, file: str | None = None, object: str | None = None, offset: int | None = None, os_error: int | None = errno.ENOENT
    ) -> None:
        super().__init__(message, file, object, offset, os_error)

    __str__ = Error.__str__


class MissingTargetError(MissingFileError, ObjectNotFoundError):
    """An object needs another file (raw data, the target of an external link) that does not exist."""


class InvalidInputError(Error, ValueError):
    """An argument is not valid."""

    kind = ErrorKind.INVALID_INPUT


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument has the wrong type, or a shape that does not fit."""


class InvalidIndexError(InvalidInputError, IndexError):
    """There are more indexes than dimensions: an `IndexError` as in numpy, and a `ValueError` as in h5py."""


class UnsupportedError(Error, NotImplementedError):
    """Hyperslab does not support a feature (yet); the message names it."""

    kind = ErrorKind.UNSUPPORTED


class ReadOnlyError(UnsupportedError, TypeError, ValueError, OSError, KeyError):
    """An attempt to change a file that is open for reading. h5py raises a `ValueError`, `OSError` or `KeyError`, as the method may be."""

    __str__ = Error.__str__


class MissingExtraError(UnsupportedError, ImportError):
    """A feature needs a package that is not installed; the message says how to install it.

    Attributes:
        name: The package, as it is imported.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        object: str | None = None,
        offset: int | None = None,
        os_error: int | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(message, file, object, offset, os_error)
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        return functools.partial(type(self), name=self.name), (self.message, self.file, self.object, self.offset)


class CorruptError(Error, OSError):
    """The bytes of a file contradict its format."""

    kind = ErrorKind.CORRUPT

    __str__ = Error.__str__


class LimitExceededError(Error, MemoryError):
    """A file exceeds a limit on what it may cost; `hs.open(limits=...)` sets the limits."""

    kind = ErrorKind.LIMIT_EXCEEDED


class ConflictError(Error):
    """A file changed between plan and read or commit, a file exists already, or writers contradict each other."""

    kind = ErrorKind.CONFLICT


class IoError(Error, OSError):
    """The operating system returned an error; `errno` says which."""

    kind = ErrorKind.IO

    __str__ = Error.__str__


class AccessError(IoError, PermissionError):
    """The operating system does not permit the access."""

    __str__ = Error.__str__


class CancelledError(Error):
    """A scan or a write was asked to stop."""

    kind = ErrorKind.CANCELLED


class InternalError(Error, RuntimeError):
    """A bug in Hyperslab; please report it."""

    kind = ErrorKind.INTERNAL


class IndexWarning(UserWarning):
    """An index disagrees with its data. It is not used any more: the answer was read from the data."""


class CacheWarning(UserWarning):
    """The cache on disk, or a chunk index in it, is not used: the read went on without it."""


class OmittedColumnsWarning(UserWarning):
    """Some members of a group are not columns of its table."""


class DecodingWarning(UserWarning):
    """An attribute states what is not understood, so that values stay as they are stored."""


class CalendarWarning(DecodingWarning):
    """Dates are those of a calendar in which other days exist than in that of the computer: differences between them are not durations."""


_CLASSES: dict[str, type[Error]] = {known.kind.value: known for known in Error.__subclasses__()}


READ_ONLY = "the file is open read-only: hyperslab.open(path, 'r+') changes an existing file, hyperslab.create writes a new one"


#: Exceptions of other libraries by the message of ours, for as long as it may take to come out of native code.
_CAUSES: collections.OrderedDict[str, BaseException] = collections.OrderedDict()
_MAX_CAUSES = 16


def remember_cause(message: str, cause: BaseException) -> None:
    """Keeps what led to a message, until the error with that message is made on another thread."""
    _CAUSES[message] = cause
    while len(_CAUSES) > _MAX_CAUSES:
        with contextlib.suppress(KeyError):
            _CAUSES.popitem(last=False)


def from_native(kind: str, message: str, file: str | None, object: str | None, offset: int | None, os_error: int | None = None) -> Error:
    """Makes the exception for an error of the core; the extension module calls this."""
    chosen = _CLASSES.get(kind, InternalError)
    if chosen is NotFoundError and object is not None and file is not None and not os.path.exists(file):
        chosen = MissingTargetError
    elif chosen is NotFoundError:
        chosen = ObjectNotFoundError if object is not None or offset is not None else MissingFileError if file is not None else NotFoundError
    if chosen is IoError and os_error in (errno.EACCES, errno.EPERM):
        chosen = AccessError
    if issubclass(chosen, MissingFileError) and os_error is None:
        os_error = errno.ENOENT
    made = chosen(message, file, object, offset, os_error)
    made.__cause__ = _CAUSES.pop(message, None)
    return made
