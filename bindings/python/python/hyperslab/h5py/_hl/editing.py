"""Editing: existing files that are changed, with h5py's classes."""

from __future__ import annotations

from typing import Any

from ...arguments import wrong_mode
from ...editing.changes import Changes
from ...editing.edited_attributes import AttributeEdits
from ...editing.edited_dataset import DatasetEdits
from ...editing.edited_file import FileEdits, changes_of, is_existing
from ...editing.edited_group import GroupEdits
from ...editing.edited_node import NodeEdits
from ...errors import InvalidInputError, UnsupportedError
from ...writing.new_file import create
from .attrs import AttributeManager
from .base import HLObject
from .dataset import Dataset
from .datatype import Datatype
from .files import File, NotHdf5Error, open_options
from .group import Group


class EditedAttributeManager(AttributeEdits, AttributeManager):  # type: ignore[override]
    """The attributes of an object, which can be changed."""

    @property
    def _id(self) -> Any:
        return self._node.id  # type: ignore[attr-defined]


class EditedNode(NodeEdits, HLObject):
    """An object of an edited file."""

    def _edited_classes(self) -> dict[str, Any]:
        return CLASSES


class EditedDatatype(EditedNode, Datatype):
    """A committed datatype of an edited file."""


class EditedDataset(EditedNode, DatasetEdits, Dataset):
    """A dataset of an edited file."""


class EditedGroup(EditedNode, GroupEdits, Group):
    """A group of an edited file."""


class EditedFile(EditedGroup, FileEdits, File):
    """An existing file that is open for changes."""

    _swmr, _driver = False, "sec2"

    def __init__(self, name: Any, mode: str = "r+", driver: str | None = None, *_: Any, **__: Any) -> None:
        if driver not in (None, "sec2", "stdio"):
            raise UnsupportedError(f"the file driver {driver!r} of a file that is changed", str(name))
        FileEdits.__init__(self, _changes(name))


def _changes(name: Any) -> Changes:
    try:
        return changes_of(name, {**open_options, "format": "hdf5"})
    except InvalidInputError as error:
        if not isinstance(error, OSError):
            raise NotHdf5Error(error.message, error.file, error.object, error.offset) from None
        raise


#: The class of each kind of object of an edited file.
CLASSES: dict[str, Any] = {
    "attributes": EditedAttributeManager,
    "dataset": EditedDataset,
    "datatype": EditedDatatype,
    "file": EditedFile,
    "group": EditedGroup,
    "node": EditedNode,
}


def _in_other_mode(name: Any, mode: Any, driver: Any = None, libver: Any = None, *_: Any, **more: Any) -> Any:
    """`h5py.File` in a mode other than `r`."""
    if mode == "r+" or (mode == "a" and is_existing(name)):
        return EditedFile.__new__(EditedFile)
    if mode not in ("a", "w", "w-", "x"):
        raise wrong_mode(mode, ("r", "r+", "a", "w", "x"))
    return create(name, "x" if mode == "a" else mode, driver=driver, libver=libver, **more)


File._in_other_mode = staticmethod(_in_other_mode)
