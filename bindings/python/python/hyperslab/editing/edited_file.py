"""Edited file: an existing file that is open for changes, and `hyperslab.open` in modes other than `r`."""

from __future__ import annotations

import os
import time
from typing import Any

from .. import _native, file
from ..addresses import is_address
from ..arguments import check_mode
from ..errors import ConflictError, InvalidInputError, UnsupportedError
from ..objects.datatype import Datatype
from ..range_readers import is_file
from ..sessions import session
from ..writing.new_file import create
from .changes import Changes
from .edited_attributes import EditedAttributes
from .edited_dataset import DatasetEdits
from .edited_group import GroupEdits
from .edited_node import NodeEdits

#: Seconds between attempts to open a file that another program has open.
_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05


class FileEdits(GroupEdits, file.File):
    """What an edited file has besides reading. Subclasses put it in front of the class that reads it.

    Changes become visible to others together, at `commit()` (or `flush()`), `close()`, or the end of a `with` block. An exception
    in the block drops those since the last commit."""

    def __init__(self, changes: Changes) -> None:
        super().__init__(changes, changes.view.root, "/")
        self._pattern = None

    @classmethod
    def _of_changes(cls, changes: Changes) -> Any:
        """Another object of an open file."""
        made = cls.__new__(cls)
        FileEdits.__init__(made, changes)
        return made

    @property
    def _natives(self) -> _native.Files:  # type: ignore[override]
        return _native.Files([self._file])

    @property
    def filename(self) -> str:
        """The path by which it was opened."""
        return self._changes.path

    @property
    def mode(self) -> str:
        """`r+`: the file can be changed."""
        return "r+"

    def commit(self) -> None:
        """Makes all changes visible to others at once, and waits until they are on the disk. If this fails, the file of others is as
        before or as after the commit, never between.

        Raises:
            IoError: The operating system reported an error. A full disk leaves the file as before: the commit may be tried again.

        Example:
            >>> f.commit()
        """
        self._changes.commit()

    def flush(self) -> None:
        """As `commit`.

        Example:
            >>> f.flush()
        """
        self._changes.commit()

    def roll_back(self) -> None:
        """Drops the changes since the last commit.

        Example:
            >>> f.roll_back()
        """
        self._changes.roll_back()

    def refresh(self) -> None:
        """Does nothing: the file shows each change at once, and no other program changes it meanwhile."""

    def close(self) -> None:
        """Commits, closes the file, and unlocks it. Closing a closed file does nothing. If the commit fails, the file stays open.

        Example:
            >>> f.close()
        """
        if not self._changes.closed:
            self._changes.commit()
            self._changes.close()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._changes.closed

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        if not error or error[0] is None:
            self.close()
        else:
            self._changes.close()


class EditedNode(NodeEdits):
    """An object of an edited file that is neither group nor dataset."""

    def _edited_classes(self) -> dict[str, Any]:
        return CLASSES


class EditedDatatype(EditedNode, Datatype):
    """A committed datatype of an edited file."""


class EditedDataset(EditedNode, DatasetEdits):
    """A dataset of an edited file: `dataset[3:5] = values` writes, `dataset[3:5]` reads what was written."""


class EditedGroup(EditedNode, GroupEdits):
    """A group of an edited file."""


class EditedFile(EditedGroup, FileEdits):
    """An existing file that is open for changes. `hyperslab.open(path, "r+")` makes one.

    Changes become visible to others together, at `commit()` (or `flush()`), `close()`, or the end of a `with` block. An exception
    in the block drops those since the last commit."""


#: The class of each kind of object of an edited file.
CLASSES: dict[str, Any] = {
    "attributes": EditedAttributes,
    "dataset": EditedDataset,
    "datatype": EditedDatatype,
    "file": EditedFile,
    "group": EditedGroup,
    "node": EditedNode,
}


def changes_of(path: Any, options: dict[str, Any]) -> Changes:
    """Opens an existing file for changes, with the options of `hyperslab.open`.

    Args:
        path: The path.
        options: Options that were given.

    Raises:
        MissingFileError: There is no such file.
        ConflictError: Another program has it open.
        UnsupportedError: It cannot be edited; the message names what it has.
    """
    if is_file(path) or isinstance(path, (list, tuple)):
        raise InvalidInputError("give the path of one file to change it")
    name = file.local_path(path)
    if is_address(name) or options.get("store") is not None or options.get("storage_options") is not None:
        raise UnsupportedError("files of object stores and servers are read only: change a local copy", name)
    format = options.get("format")
    if format is not None and format.lower() not in ("hdf5", "netcdf4"):
        raise UnsupportedError(f"format {format!r}: only HDF5 files can be changed", name)
    opener = session(
        options.get("threads"),
        "hdf5" if format is not None and format.lower() == "hdf5" else None,
        options.get("paths"),
        options.get("missing_sources"),
        tuple(sorted((options.get("limits") or {}).items())),
        None,
        options.get("chunk_cache_bytes"),
        # Value indexes are those of the file before the change.
        "none",
    )
    timeout = options.get("timeout")
    if timeout is not None and not timeout >= 0:
        raise InvalidInputError(f"timeout={timeout}: give seconds, 0 or more")
    deadline, pause = time.monotonic() + (timeout or 0), _FIRST_PAUSE
    while True:
        try:
            return Changes(name, opener)
        except ConflictError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)


def is_existing(path: Any) -> bool:
    """Whether mode `a` opens a file that exists.

    Args:
        path: The path.
    """
    return is_file(path) or isinstance(path, (list, tuple)) or is_address(file.local_path(path)) or os.path.exists(file.local_path(path))


def open_for_changes(path: Any, mode: Any, options: dict[str, Any]) -> Any:
    """`hyperslab.open` in a mode other than `r`."""
    if mode == "r+" or (mode == "a" and is_existing(path)):
        return EditedFile(changes_of(path, options))
    if mode not in ("a", "w", "w-", "x"):
        check_mode(mode, ("r", "r+", "a", "w", "x"))
    if is_file(path) or isinstance(path, (list, tuple)):
        raise InvalidInputError("give the path of one file to create it")
    given = [name for name, value in options.items() if value is not None and name not in ("threads", "timeout")]
    if given:
        raise InvalidInputError(f"{given[0]}= is for files that exist: hyperslab.create has the options of new ones")
    return create(file.local_path(path), "x" if mode == "a" else mode, threads=options.get("threads"))
