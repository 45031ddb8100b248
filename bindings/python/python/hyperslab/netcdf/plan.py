"""Plans of netCDF-4: many writers of one file, whose dimensions and variables the plan defines."""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, NotFoundError, UnsupportedError
from ..files.file import open as open_file
from ..objects.netcdf_dimension import NetcdfDimension
from ..values import dtype_encoding
from ..values.netcdf_types import NetcdfType, fixed_text
from ..writing import parallel
from ..writing.new_file import NewGroup, extents, fill_of
from ..writing.parallel import PlanWriter, Task, WritePlan
from .times import TimeEncoding
from .variables import Contents, NetcdfAttributes, NetcdfVariable
from .writing import NetcdfGroup, storage_of


class PlannedGroup(NetcdfGroup):
    """A group that a plan defines."""

    _plan: NetcdfPlan

    def _member_type(self) -> type[NewGroup]:
        return PlannedGroup

    def _new_group(self, path: str) -> NewGroup:
        made = super()._new_group(path)
        assert isinstance(made, PlannedGroup)
        made._plan = self._plan
        return made

    def _place(self, path: str, what: str) -> str:
        self._writer.check()
        return super()._place(path, what)

    def _number(self, path: str) -> int:
        there = self._plan._there
        return there[path] if path in there else len(self._contents.dimensions.keys() | there.keys())

    def create_dataset(self, *_: Any, **__: Any) -> NoReturn:
        """Raises `UnsupportedError`: a netCDF file has variables, not datasets."""
        raise UnsupportedError("a dataset in a plan of netCDF: create variables")

    def _new_variable(
        self, path: str, shape: tuple[int, ...], sizes: tuple[int | None, ...], given: Any, fill: Any, options: dict[str, Any], data: Any, missing: Any
    ) -> NetcdfVariable:
        """Defines a variable, with all of its values if they are given. Without, tasks write it: rows of their own along a
        first dimension without limit, else regions. `shape=` is the extent of a variable over dimensions without limit that
        tasks write by regions, `regions=` are those of tasks that share subfiles (`writers=`)."""
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
        native = self._plan._native
        stored_as: dict[str, Any] = {"chunks": chunks, "filters": filters, "fill": fill_of(fill, datatype)}
        native.define_dataset(path, _native.DatasetDefinition(datatype, list(shape), maxshape=maxshape, committed=committed, **stored_as), rows, value)
        if self._plan._writers is not None and not rows and data is None and shape and not dtype_encoding.uses_heap(datatype):
            boxes = None if regions is None else [parallel.box(region, shape) for region in regions]
            native.create_dataset(path, _native.DatasetDefinition(datatype, list(shape), **stored_as), boxes)
        elif regions is not None:
            raise InvalidInputError(f"regions of variable {path}: give the plan writers=, and leave out data and rows")
        self._writer.note("/" + path, "dataset", shape)
        made = NetcdfVariable(self._writer, "/" + path, shape, datatype, None if chunks is None else tuple(chunks))
        self._register(made)
        return made

    def _fill_variable(self, made: NetcdfVariable, data: Any) -> None:
        """The plan has the values already."""


class NetcdfPlan(PlannedGroup, WritePlan):
    """A parallel write of one netCDF-4 file. The plan defines dimensions, variables, groups, types and attributes, as
    `create_netcdf` does. Tasks write values: `task.variable("t2m")`."""

    def __init__(self, path: Any, mode: str = "x", *, writers: int | None = None, **options: Any) -> None:
        """Plans a write. Values of variables that are created with `data` are part of the plan.

        Args:
            path, mode, writers: As in `WritePlan`.
            options: Other arguments of `WritePlan`.

        Example:
            >>> plan = hs.NetcdfPlan("big.nc", writers=4)
        """
        WritePlan.__init__(self, path, mode, writers=writers, track_order=True, **options)
        self._contents, self._plan, self._writers = Contents(), self, writers
        NewGroup.__init__(self, PlanWriter(self._native), "/")
        self._about: dict[str, dict[str, Any]] | None = None
        #: Numbers of dimensions in the file that is appended to.
        self._there: dict[str, int] = {}
        if mode == "a":
            self._there = _dimensions_of(self.path)
        self._writer.set_attribute("/", "_NCProperties", *fixed_text(f"version=2,hyperslab={_native.__version__}"))

    def _scale(self, dimension: NetcdfDimension) -> None:
        if dimension.path not in self._there:
            super()._scale(dimension)

    def _sealed(self) -> None:
        """Ends the definitions: joins variables and dimensions, and notes what tasks need to know."""
        if self._about is None:
            self._join()
            self._about = {path: _about(variable) for path, variable in self._contents.variables.items()}
            self._native.set_note(json.dumps({"netcdf": self._about}))
            self._writer.sealed = True

    def _decoded(self) -> None:
        about = json.loads(self._native.note)["netcdf"]
        if not isinstance(about, dict) or not all(isinstance(variable, dict) and variable.keys() == _KNOWN for variable in about.values()):
            raise ValueError("what a task knows of each variable")
        self._about = about
        self._contents, self._plan, self._writers, self._there = Contents(), self, None, {}
        NewGroup.__init__(self, PlanWriter(self._native), "/")
        self._writer.sealed = True

    def __bytes__(self) -> bytes:
        self._sealed()
        return WritePlan.__bytes__(self)

    def task(self, number: int, *, threads: int | None = None) -> NetcdfTask:
        """Begins a task, or repeats it, as `WritePlan.task` does. After the first task, the plan accepts no definitions.

        Args:
            number: Number of the task, from 0.
            threads: Number of threads that encode; one per core by default.

        Returns:
            The task; `with` aborts it if it was not finished.

        Example:
            >>> with plan.task(0) as task:
            ...     task.write("t", values)
            ...     fragment = task.finish()
        """
        self._sealed()
        return NetcdfTask(self._native.task(number, threads), number, self)

    def commit(self, fragments: Any) -> parallel.Committed:
        """Publishes what the tasks wrote, as `WritePlan.commit`.

        Args:
            fragments: What `finish` of each task returned, in any order.

        Returns:
            What the commit did.

        Example:
            >>> plan.commit(fragments)
        """
        self._sealed()
        return WritePlan.commit(self, fragments)

    def __repr__(self) -> str:
        return f"<netCDF write plan {self.id} of {self.path}>"


def _dimensions_of(path: str) -> dict[str, int]:
    """Numbers of a file's dimensions by path; none if there is no file."""
    found: dict[str, int] = {}
    if not os.path.exists(path):
        return found

    def look(group: Any) -> None:
        for name in group:
            member = group[name]
            if "CLASS" in member.attrs and "_Netcdf4Dimid" in member.attrs:
                found[member.name.strip("/")] = int(member.attrs["_Netcdf4Dimid"])
            elif hasattr(member, "keys"):
                look(member)

    with open_file(path, format="hdf5") as file:
        look(file)
    return found


#: What a task knows of a variable.
_KNOWN = {"stored", "shape", "dims", "times", "type", "fill", "fill_is_known"}


def _about(variable: NetcdfVariable) -> dict[str, Any]:
    fill = None if variable._fill is None else np.asarray(variable._fill).item()
    times = (
        None if variable.times is None else [variable.times.units, variable.times.calendar, variable.times.dtype.str, np.asarray(variable.times.fill).item()]
    )
    return {
        "stored": variable._path,
        "shape": list(variable.shape),
        "dims": list(variable.dims),
        "times": times,
        "type": None if variable.type is None else variable.type.path,
        "fill": fill.decode("latin-1") if isinstance(fill, bytes) else fill if isinstance(fill, (int, float, str)) else None,
        "fill_is_known": variable._fill_is_known,
    }


class NetcdfTaskGroup(parallel.TaskGroup):
    """A group of a task."""

    _attributes = NetcdfAttributes

    def _member_type(self) -> type[NewGroup]:
        return NetcdfTaskGroup

    def create_dataset(self, *_: Any, **__: Any) -> NoReturn:
        """Raises `UnsupportedError`: the plan defines the variables."""
        raise UnsupportedError("a dataset in a task of netCDF: let the plan create the variable")


class NetcdfTask(NetcdfTaskGroup, Task):
    """One writer's part of a netCDF-4 file."""

    def __init__(self, native: _native.Writer, number: int, plan: NetcdfPlan) -> None:
        Task.__init__(self, native, number, plan)
        assert plan._about is not None
        self._variables_about, self._opened = plan._about, dict[str, NetcdfVariable]()

    def variable(self, path: str, region: Any = None) -> NetcdfVariable:
        """A variable of the plan, for writing.

        Args:
            path: Path of the variable.
            region: The part that this task writes, such as `np.s_[0:10]`; by default any part. A variable with an unlimited
                first dimension has no region: `append` adds rows of this task.

        Returns:
            The part of the variable that this task writes.

        Raises:
            NotFoundError: The plan has no such variable.
            InvalidInputError: The variable is open already, or the plan has its regions.

        Example:
            >>> task.variable("t", np.s_[0:10])[0:10] = values
        """
        name = path.strip("/")
        about = self._variables_about.get(name)
        if about is None:
            raise NotFoundError(f"there is no variable {path!r} in the plan: there are {', '.join(self._variables_about) or 'none'}")
        if name in self._opened:
            if region is not None:
                raise InvalidInputError(f"variable {path!r} is open in this task already: give its region the first time")
            return self._opened[name]
        if self._writer.is_planned(about["stored"]):
            self._writer.open_dataset(about["stored"], None if region is None else parallel.box(region, tuple(about["shape"])))
        elif region is not None:
            raise InvalidInputError(f"a region of variable {path!r}, whose regions the plan has")
        defined = self._writer.definition(about["stored"])
        datatype, chunks = defined.datatype, defined.chunks
        made = NetcdfVariable(self._writer, about["stored"], tuple(defined.shape), datatype, None if chunks is None else tuple(chunks))
        made.dims, made._fill, made._fill_is_known = tuple(about["dims"]), about["fill"], about["fill_is_known"]
        if about["times"] is not None:
            units, calendar, dtype, fill = about["times"]
            made.times = TimeEncoding(units, calendar, np.dtype(dtype), fill)
        if about["type"] is not None:
            made.type = NetcdfType(about["type"], dtype_encoding.numpy_dtype(datatype) if datatype.class_name == "compound" else np.dtype(object), datatype)
        self._opened[name] = made
        return made

    def dataset(self, path: str) -> NetcdfVariable:
        """The same as `variable`.

        Args:
            path: Path of the variable.

        Returns:
            The part of the variable that this task writes.

        Example:
            >>> task.dataset("t")[...] = values
        """
        return self.variable(path)

    def write(self, path: str, values: Any) -> None:
        """Writes this task's part of a variable: its region, or its own rows.

        Args:
            path: Path of the variable.
            values: The values of the region of this task.

        Example:
            >>> task.write("t", values)
        """
        variable = self.variable(path)
        if variable.shape[:1] == (0,) and self._writer.definition(variable._path).region is None:
            variable.append(values)
        else:
            variable[self.region(variable._path)] = values
