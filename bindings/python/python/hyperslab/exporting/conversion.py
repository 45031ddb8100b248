"""Conversion between HDF5 files and containers of Arrow files, which the VOL connector writes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

from .. import _native
from ..base.arguments import check_choice
from ..base.change import Change, changes_of
from ..base.errors import ConflictError, InvalidInputError
from ..base.type_aliases import Path
from ..comparing.diff import check_copy
from ..files.file import open as open_file
from ..maintenance.operations import repack

#: Formats of files that are containers.
_CONTAINERS = ("container", "netcdf_container")
_FORMS = ("hdf5", "folder", "file")


class Converted(NamedTuple):
    """A conversion.

    Attributes:
        form: `hdf5`, `folder` or `file`.
        bytes: Size of the new file, or of all files in the new folder.
        changes: What is not as it was in the original, such as times of objects, which a container does not keep.
    """

    form: str
    bytes: int
    changes: tuple[Change, ...] = ()


def convert(source: Path, target: Path, form: str | None = None, *, verify: bool = True, progress: Callable[[int, int], object] | None = None) -> Converted:
    """Copies an HDF5 file into a container of Arrow files, or a container into an HDF5 file.

    Groups, datasets, attributes, links, committed datatypes, references, and the chunk shapes and filters that were asked for are kept. A container stores values
    without filters; the HDF5 file that is made of it has them again.

    Args:
        source: A file of HDF5 or netCDF-4, or a container.
        target: The new file or folder. An existing one is never replaced.
        form: `folder` or `file`, the forms of a container, or `hdf5`. Without it, a container becomes `hdf5`, and any other file a `folder`.
        verify: Compare all of the copy with the original, bit by bit.
        progress: Called with the bytes of values that were copied so far, and their total.

    Returns:
        The form and the size of the copy.

    Raises:
        ConflictError: The new file or folder exists already.
        CorruptError: The original cannot be read, or the copy differs; no copy is left.
        InvalidInputError: The form is not known.
        UnsupportedError: The file has something that cannot be copied; the error names it.

    Example:
        >>> hs.convert("run.h5", "run.arrow")
        >>> hs.convert("run.arrow", "again.h5")
    """
    before, after = os.fsdecode(source), os.fsdecode(target)
    check_choice("form", form, (None, *_FORMS))
    if os.path.lexists(after):
        raise ConflictError("there is a file or folder of this name already: give another name", after)
    with open_file(before) as opened:
        is_container = opened.format in _CONTAINERS
    if form is None:
        form = "hdf5" if is_container else "folder"
    if form == "hdf5":
        if not is_container:
            raise InvalidInputError("this is an HDF5 file already: hs.repack copies it", before)
        made = repack(before, after, verify=verify, progress=progress)
        return Converted(form, made.bytes, made.changes)
    changes = changes_of(_native.to_container(before, after, form == "file", progress))
    if verify:
        try:
            changes += check_copy(before, after, changed=[one.path for one in changes])
        except BaseException:
            _remove(after)
            raise
    return Converted(form, _size(after), changes)


def _remove(path: str) -> None:
    """Removes the container that was made."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.remove(path)


def _size(path: str) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(path)) if os.path.isdir(path) else os.path.getsize(path)
