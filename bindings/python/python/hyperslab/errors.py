"""Errors: one class for each kind, each also the built-in class that Python code expects."""

from __future__ import annotations


class Error(Exception):
    """Any error of Hyperslab; `kind`, `file`, `object` and `offset` say what and where."""

    def __init__(self, message: str, kind: str = "Internal", file: str | None = None,
                 object: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
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
        return type(self), (self.message, self.kind, self.file, self.object, self.offset)


class NotFoundError(Error, LookupError):
    """A file, object, column or attribute that is not there."""


class ObjectNotFoundError(NotFoundError, KeyError):
    """An object that the file does not have."""

    __str__ = Error.__str__


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file that is not there."""

    __str__ = Error.__str__


class InvalidInputError(Error, ValueError):
    """A request that makes no sense."""


class UnsupportedError(Error, NotImplementedError):
    """Something that Hyperslab does not do (yet), by name."""


class CorruptError(Error, OSError):
    """Bytes that contradict the format."""

    __str__ = Error.__str__


class LimitExceededError(Error, MemoryError):
    """A bound on what a file may cost was met."""


class ConflictError(Error):
    """A file that changed between plan and read."""


class IoError(Error, OSError):
    """The operating system said no."""

    __str__ = Error.__str__


class CancelledError(Error):
    """The read was asked to stop."""


class InternalError(Error, RuntimeError):
    """A fault of Hyperslab's own."""


class OmittedColumnsWarning(UserWarning):
    """Members of a group that are not columns of its table."""


_CLASSES: dict[str, type[Error]] = {
    "NotFound": NotFoundError, "InvalidInput": InvalidInputError, "Unsupported": UnsupportedError,
    "Corrupt": CorruptError, "LimitExceeded": LimitExceededError, "Conflict": ConflictError,
    "Io": IoError, "Cancelled": CancelledError, "Internal": InternalError,
}


def from_native(kind: str, message: str, file: str | None, object: str | None, offset: int | None) -> Error:
    """The exception for an error of the core."""
    chosen = _CLASSES.get(kind, InternalError)
    if chosen is NotFoundError:
        chosen = ObjectNotFoundError if object is not None else MissingFileError if file is not None else NotFoundError
    return chosen(message, kind, file, object, offset)
