"""Planning netCDF-4: the definitions of a plan, and what its tasks know of them."""

from __future__ import annotations

import os
from typing import NoReturn, TypedDict

import numpy as np

from .. import _native
from ..backends.backend import Creation
from ..backends.plan_writer import AnyWriter, PlanWriter
from ..backends.tasking import Planning, Tasking, box, slices
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import DtypeLike, Elements, VariableOptions
from ..files.file import open as open_file
from ..objects.filters import Filter
from ..objects.group import Group
from ..values import dtype_encoding
from ..values.dtype_encoding import extents, fill_of
from ..values.netcdf_types import NetcdfType
from .dimension_scales import join
from .times import TimeEncoding
from .variables import Contents, Variable
from .view import NetcdfView, storage_of
from .writing import NetcdfRules


class _StoredAs(TypedDict):
    """How values of a variable are stored, for its definition in the plan and for the definition of its regions."""

    chunks: list[int] | None
    filters: list[Filter]
    fill: tuple[bytes, list[bytes]] | None


class PlannedView(NetcdfView):
    """What netCDF sees of a group of a plan."""

    contents: PlannedContents
    _writer: PlanWriter

    def _place(self, path: str, what: str) -> str:
        self._writer.check()
        return super()._place(path, what)

    def _number(self, path: str) -> int:
        there = self.contents.there
        return there[path] if path in there else len(self.contents.dimensions.keys() | there.keys())

    def task_regions(self, name: str) -> list[tuple[slice, ...]] | None:
        """The regions of the tasks in a variable of this group; `None` if the plan does not know the number of its tasks."""
        count = self.contents.writers
        return None if count is None else [slices(self.contents.native.region(self.variables[name].path, task)) for task in range(count)]

    def _new_variable(
        self,
        path: str,
        shape: tuple[int, ...],
        sizes: tuple[int | None, ...],
        given: DtypeLike | NetcdfType,
        fill: Elements,
        options: VariableOptions,
        data: Elements,
        missing: Elements,
    ) -> Variable:
        """Defines a variable, with all of its values if they are given. Without, tasks write it: rows of their own along a
        first dimension without limit, else regions. `shape=` is the extent of a variable over dimensions without limit that
        tasks write by regions, `regions=` are the regions of tasks that share subfiles (`writers=`)."""
        whole, regions = options.pop("shape", None), options.pop("regions", None)
        rows = data is None and whole is None and sizes[:1] == (None,)
        if whole is not None:
            shape = tuple(extents("shape", whole))
            if len(shape) != len(sizes) or any(size not in (None, extent) for size, extent in zip(sizes, shape, strict=True)):
                raise InvalidInputError(f"shape={shape} for variable {path} over dimensions of {sizes}")
        elif data is None and None in sizes[1:]:
            raise InvalidInputError(f"variable {path} over a dimension without limit that is not its first: give shape=")
        datatype, committed = (given.datatype, "/" + given.path) if isinstance(given, NetcdfType) else (dtype_encoding.of_dtype(given), None)
        chunks, filters = storage_of(options, sizes)
        maxshape = list(sizes) if None in sizes else None
        value = None
        if data is not None:
            heap: list[bytes] = []
            stored = dtype_encoding.filled(data, missing, datatype) if np.ma.is_masked(data) else dtype_encoding.stored(data, datatype, heap)
            value = np.broadcast_to(stored, stored.shape).tobytes(), heap
        stored_as: _StoredAs = {"chunks": chunks, "filters": filters, "fill": fill_of(fill, datatype)}
        definition = _native.DatasetDefinition(datatype, list(shape), maxshape=maxshape, committed=committed, **stored_as)
        self._writer.create_dataset("/" + path, definition, rows, value)
        if self.contents.writers is not None and not rows and data is None and shape and not datatype.uses_heap:
            boxes = None if regions is None else [box(region, shape) for region in regions]
            self.contents.native.create_dataset(path, _native.DatasetDefinition(datatype, list(shape), **stored_as), boxes)
        elif regions is not None:
            raise InvalidInputError(f"regions of variable {path}: give the plan writers=, and leave out data and rows")
        return Variable(self._writer, "/" + path, datatype)

    def _fill_variable(self, made: Variable, data: Elements) -> None:
        """The plan has the values already."""


class PlannedContents(Contents):
    """The definitions of a plan."""

    def __init__(self, writer: PlanWriter, native: _native.WritePlan, writers: int | None, there: dict[str, int]) -> None:
        super().__init__()
        self._writer, self.native, self.writers = writer, native, writers
        #: Numbers of dimensions in the file that is appended to.
        self.there = there

    def view(self, group: Group) -> PlannedView:
        """What netCDF sees of a group."""
        return PlannedView(group, self._writer, self)

    def seal(self) -> None:
        """Ends the definitions: joins variables and dimensions."""
        join(self, self._writer, self.there)
        self._writer.sealed = True


class NetcdfPlanning(NetcdfRules, Planning):
    """A plan of a netCDF file."""

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> NoReturn:
        """Refused: a netCDF file has variables, not datasets."""
        raise UnsupportedError("a dataset in a plan of netCDF: create variables", self.path, path)


class NetcdfTasking(NetcdfRules, Tasking):
    """A task of a plan of a netCDF file."""

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> NoReturn:
        """Refused: the plan defines the variables."""
        raise UnsupportedError("a dataset in a task of netCDF: let the plan create the variable", self.path, path)


def dimensions_of(path: str) -> dict[str, int]:
    """Numbers of a file's dimensions by path; none if there is no file."""
    found: dict[str, int] = {}
    if not os.path.exists(path):
        return found

    def look(group: Group) -> None:
        for name in group:
            member = group[name]
            if "CLASS" in member.attrs and "_Netcdf4Dimid" in member.attrs:
                found[member.name.strip("/")] = int(member.attrs["_Netcdf4Dimid"])
            elif isinstance(member, Group):
                look(member)

    with open_file(path, format="hdf5") as file:
        look(file)
    return found


class KnownVariable(TypedDict):
    """What a task knows of a variable."""

    #: The path of its dataset.
    stored: str
    shape: list[int]
    #: Names of its dimensions.
    dims: list[str]
    #: How dates are stored: units, calendar, dtype and fill value.
    times: tuple[str, str | None, str, int | float] | None
    #: The path of the type that the file defines.
    type: str | None
    fill: int | float | str | None
    fill_is_known: bool


def about_variable(variable: Variable) -> KnownVariable:
    fill = None if variable.fill is None else np.asarray(variable.fill).item()
    encoding = variable.encoding
    return {
        "stored": variable.path,
        "shape": list(variable.shape),
        "dims": list(variable.dims),
        "times": None if encoding is None else (encoding.units, encoding.calendar, encoding.dtype.str, np.asarray(encoding.fill).item()),
        "type": None if variable.type is None else variable.type.path,
        "fill": fill.decode("latin-1") if isinstance(fill, bytes) else fill if isinstance(fill, (int, float, str)) else None,
        "fill_is_known": variable.fill_is_known,
    }


def known_variable(about: KnownVariable, writer: AnyWriter, datatype: _native.Datatype) -> Variable:
    """A variable of the plan, as a task knows it."""
    made = Variable(writer, about["stored"], datatype)
    made.dims, made.fill, made.fill_is_known = tuple(about["dims"]), about["fill"], about["fill_is_known"]
    if about["times"] is not None:
        units, calendar, dtype, fill = about["times"]
        made.encoding = TimeEncoding(units, calendar, np.dtype(dtype), fill)
    if about["type"] is not None:
        made.type = NetcdfType(about["type"], dtype_encoding.numpy_dtype(datatype) if datatype.class_name == "compound" else np.dtype(object), datatype)
    return made
