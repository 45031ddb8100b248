"""Errors: one class for each kind, each also the built-in class that Python code expects."""

from __future__ import annotations

import errno
import os


def _fill_in(error: object, number: int | None, message: str, file: str | None) -> None:
    """Gives an `OSError` what Python's own have."""
    if isinstance(error, OSError):
        error.errno, error.strerror, error.filename = number, message, file


class Error(Exception):
    """Any error of Hyperslab; `kind`, `file`, `object` and `offset` say what and where. Those that are an `OSError`
    also have `errno` (if the operating system reported one), `strerror` and `filename`."""

    def __init__(self, message: str, kind: str = "Internal", file: str | None = None,
                 object: str | None = None, offset: int | None = None, os_error: int | None = None) -> None:
        super().__init__(message)
        _fill_in(self, os_error, message, file)
        self.message = message
        self.kind = kind
        self.file = file
        self.object = object
        self.offset = offset

    def __str__(self) -> str:
        places = [f"{word} {value}" for word, value in
                  (("file", self.file), ("object", self.object), ("offset", self.offset)) if value is not None]
        return f"{self.message} ({', '.join(places)})" if places else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.kind, self.file, self.object, self.offset, getattr(self, "errno", None))


class NotFoundError(Error, LookupError):
    """A file, object, column or attribute that is not there."""


class ObjectNotFoundError(NotFoundError, KeyError):
    """An object that the file does not have."""

    __str__ = Error.__str__


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file that is not there."""

    def __init__(self, message: str, kind: str = "NotFound", file: str | None = None,
                 object: str | None = None, offset: int | None = None, os_error: int | None = errno.ENOENT) -> None:
        super().__init__(message, kind, file, object, offset, os_error)

    __str__ = Error.__str__


class MissingTargetError(MissingFileError, ObjectNotFoundError):
    """An object that needs another file (raw data, the target of an external link), which is not there."""


class InvalidInputError(Error, ValueError):
    """Invalid arguments."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument of a wrong type, or whose shape does not fit."""


class UnsupportedError(Error, NotImplementedError):
    """A feature that Hyperslab does not support (yet); the message names it."""


class ReadOnlyError(UnsupportedError, TypeError):
    """An attempt to change a file that is open for reading."""


class CorruptError(Error, OSError):
    """Bytes that contradict the format."""

    __str__ = Error.__str__


class LimitExceededError(Error, MemoryError):
    """A bound on what a file may cost was met."""


class ConflictError(Error):
    """A file that changed between plan and read."""


class IoError(Error, OSError):
    """The operating system returned an error; `errno` says which."""

    __str__ = Error.__str__


class AccessError(IoError, PermissionError):
    """The operating system does not permit the access."""

    __str__ = Error.__str__


class CancelledError(Error):
    """The read was asked to stop."""


class InternalError(Error, RuntimeError):
    """A bug in Hyperslab; please report it."""


class OmittedColumnsWarning(UserWarning):
    """Members of a group that are not columns of its table."""


_CLASSES: dict[str, type[Error]] = {
    "NotFound": NotFoundError, "InvalidInput": InvalidInputError, "Unsupported": UnsupportedError,
    "Corrupt": CorruptError, "LimitExceeded": LimitExceededError, "Conflict": ConflictError,
    "Io": IoError, "Cancelled": CancelledError, "Internal": InternalError,
}


READ_ONLY = "files are opened read-only: hyperslab.create writes a new file, h5py changes an existing one"


def from_native(kind: str, message: str, file: str | None, object: str | None, offset: int | None, os_error: int | None = None) -> Error:
    """The exception for an error of the core."""
    chosen = _CLASSES.get(kind, InternalError)
    if chosen is NotFoundError and object is not None and file is not None and not os.path.exists(file):
        chosen = MissingTargetError
    elif chosen is NotFoundError:
        chosen = ObjectNotFoundError if object is not None else MissingFileError if file is not None else NotFoundError
    if chosen is IoError and os_error in (errno.EACCES, errno.EPERM):
        chosen = AccessError
    if issubclass(chosen, MissingFileError) and os_error is None:
        os_error = errno.ENOENT
    return chosen(message, kind, file, object, offset, os_error)
