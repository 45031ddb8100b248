"""Backend: how a file was opened. All objects of an open file hold one, and ask it for what they show and change."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar

from .. import _native

Result = TypeVar("Result")


class Holder(Protocol):
    """An object of a file, as a backend sees it."""

    _file: _native.File
    _number: int
    _about: dict[str, Any]
    _state: Any
    _own_name: str


class Changes(Protocol):
    """What makes changes to an existing file."""

    #: Held while a change is made and while values are read, so that threads see whole changes.
    lock: contextlib.AbstractContextManager[Any]
    #: Counts changes, by which the definitions of a netCDF file are known to be those of the file.
    edits: int
    #: Those definitions, if they were looked at.
    netcdf: Any

    @property
    def path(self) -> str:
        """The path by which the file was opened."""

    @property
    def raw(self) -> _native.File:
        """The file with all changes so far, read as HDF5: netCDF's own attributes are shown, too."""

    def make(self, change: Callable[[_native.Editor], Result]) -> Result:
        """Makes one change: what `change` does with the native editor.

        Raises:
            InvalidInputError: The file is closed.
        """

    def remove(self, path: str) -> None:
        """Removes a link, and the object if it has no other name."""

    def rename(self, path: str, to: str) -> None:
        """Gives a link another name."""

    def flush(self) -> None:
        """Makes the changes visible to others, and waits until they are on the disk."""

    def roll_back(self) -> None:
        """Drops the changes since they were last made visible."""


class Backend(abc.ABC):
    """How a file was opened."""

    #: `r` or `r+`.
    mode: ClassVar[str]
    #: Whether what objects show stays as it is.
    is_fixed: ClassVar[bool]
    #: Held while more than one look at the file has to see one state of it.
    lock: contextlib.AbstractContextManager[Any]

    @property
    @abc.abstractmethod
    def file(self) -> _native.File:
        """The file as it is now."""

    @property
    @abc.abstractmethod
    def path(self) -> str:
        """The path by which it was opened."""

    @property
    @abc.abstractmethod
    def closed(self) -> bool:
        """Whether it was closed."""

    @abc.abstractmethod
    def hold(self, node: Holder, name: str, about: dict[str, Any] | None) -> None:
        """Gives a new object what it shows: its file, its name and its description."""

    @abc.abstractmethod
    def changes(self, name: str) -> Changes:
        """What makes changes to the object of this name.

        Raises:
            ReadOnlyError: The file is open for reading.
        """

    @abc.abstractmethod
    def refreshed(self, name: str) -> tuple[Backend, int] | None:
        """The file as it is now, and the number of the object of this name in it; `None` if objects show each change at once."""

    @abc.abstractmethod
    def reader(self, node: Any, make: Any) -> Any:
        """The reader of a dataset, which `make` makes of the file as it is now."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Makes changes visible to others."""

    @abc.abstractmethod
    def close(self) -> None:
        """Makes changes visible to others, and closes the file."""

    @abc.abstractmethod
    def abandon(self) -> None:
        """Closes the file, without changes since they were last made visible."""
