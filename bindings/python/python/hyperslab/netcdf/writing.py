"""Writing netCDF-4: an HDF5 file with dimension scales, under the names that netCDF uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _native
from ..backends.creating import Creating
from ..backends.editing import Editing
from ..backends.plan_writer import AnyWriter
from ..backends.tasking import Parallel
from ..base.errors import UnsupportedError
from ..base.type_aliases import Path
from ..files.file import File
from ..objects.group import Group
from ..objects.native_objects import changes_of
from ..values.netcdf_types import checked_path, fixed_text
from ..writing.new_file import begin, replaces
from .dimension_scales import join
from .edits import EditedView
from .variables import Contents, NetcdfAttributes
from .view import NetcdfView


class NetcdfRules:
    """What a netCDF file has rules for: attributes and names."""

    attributes = NetcdfAttributes

    def group_path(self, path: Any) -> str:
        """The path of a group, in netCDF's normal form."""
        return ("/" if isinstance(path, str) and path.startswith("/") else "") + checked_path(path, "group")


class NetcdfCreating(NetcdfRules, Creating):
    """A netCDF-4 file that is being created."""


class CreatedContents(Contents):
    """The definitions of a file that is being created."""

    def __init__(self, writer: AnyWriter) -> None:
        super().__init__()
        self._writer = writer

    def view(self, group: Group) -> NetcdfView:
        """What netCDF sees of a group."""
        return NetcdfView(group, self._writer, self)

    def complete(self) -> None:
        """Joins variables and dimensions, when the file is closed."""
        join(self, self._writer)


def view_of(group: Group) -> NetcdfView:
    """What netCDF sees of a group of a file that is being created, planned or edited.

    Args:
        group: The group.

    Raises:
        ReadOnlyError: The file is open for reading.
        UnsupportedError: The group is one of a task.
    """
    changes: Any = changes_of(group)
    if isinstance(changes, Editing):
        return EditedView(group)
    if changes.netcdf is None and isinstance(changes, Parallel):
        raise UnsupportedError("netCDF's definitions in a parallel write are those of its plan: hyperslab.NetcdfPlan", changes.path, group.name)
    if changes.netcdf is None:
        _begin_contents(changes)
    view: NetcdfView = changes.netcdf.view(group)
    return view


def _begin_contents(creating: Creating) -> None:
    creating.netcdf = CreatedContents(creating.writer)
    write_properties(creating.writer)


def write_properties(writer: AnyWriter) -> None:
    """Writes what the netCDF library wants to know of the program that made a file."""
    writer.set_attribute("/", "_NCProperties", *fixed_text(f"version=2,hyperslab={_native.__version__}"))


def create_netcdf(
    path: Path,
    mode: str = "w",
    *,
    alignment: int | None = None,
    threads: int | None = None,
    durable: bool = True,
    storage_options: Mapping[str, object] | None = None,
) -> File:
    """Creates a netCDF-4 file. It appears, complete, when the `with` block ends or `close()` is called. Create dimensions first, then
    variables over them.

    Args:
        path: Path of the file, or its address in an object store.
        mode: `w` replaces an existing file, `x` (or `w-`) refuses to.
        alignment, threads, durable, storage_options: As in `create`.

    Returns:
        The file; it appears when it is closed.

    Raises:
        ConflictError: `mode` is `x` and the file exists.

    Example:
        >>> with hs.create_netcdf("out.nc") as f:
        ...     f.create_dimension("x", 3)
        ...     f.create_variable("x", ["x"], data=[1, 2, 3], units="m")
    """
    # The netCDF library writes only to files whose objects have an order.
    creating = begin(
        os.fsdecode(path), replaces(mode), alignment, threads, kind=NetcdfCreating, track_order=True, durable=durable, storage_options=storage_options
    )
    _begin_contents(creating)
    return File(creating)
