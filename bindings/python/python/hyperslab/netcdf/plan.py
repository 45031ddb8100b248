"""Plans of netCDF-4: many writers of one file, whose dimensions and variables the plan defines."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from .. import _native
from ..backends.plan_writer import PlanWriter
from ..backends.tasking import box
from ..base.errors import InvalidInputError, NotFoundError, UnsupportedError
from ..base.type_aliases import Key, Path
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.native_objects import native_of
from ..writing import parallel
from ..writing.parallel import PlanOptions, Task, WritePlan
from .planning import KnownVariable, NetcdfPlanning, NetcdfTasking, PlannedContents, about_variable, dimensions_of, known_variable
from .writing import write_properties

if TYPE_CHECKING:
    from typing_extensions import Unpack


class NetcdfPlan(Group, WritePlan):
    """A parallel write of one netCDF-4 file. The plan defines dimensions, variables, groups, types and attributes, as
    `create_netcdf` does. Tasks write values: `task.variable("t2m")`."""

    def __init__(self, path: Path, mode: str = "x", *, writers: int | None = None, **options: Unpack[PlanOptions]) -> None:
        """Plans a write. Values of variables that are created with `data` are part of the plan.

        Args:
            path, mode, writers: As in `WritePlan`.
            options: Other arguments of `WritePlan`.

        Example:
            >>> plan = hs.NetcdfPlan("big.nc", writers=4)
        """
        WritePlan.__init__(self, path, mode, writers=writers, track_order=True, **options)
        self._about_variables: dict[str, KnownVariable] | None = None
        self._sealing = threading.Lock()
        self._begin(writers, dimensions_of(self.path) if mode == "a" else {})
        write_properties(self._writer)

    def _begin(self, writers: int | None, there: dict[str, int]) -> None:
        self._writer = PlanWriter(self._native)
        self._contents = PlannedContents(self._writer, self._native, writers, there)
        planning = NetcdfPlanning(self._writer, self.path)
        planning.netcdf = self._contents
        Group.__init__(self, planning, 0, "/")

    @property
    def path(self) -> str:
        """The file that readers will open."""
        return self._native.path

    def create_dataset(self, *_: object, **__: object) -> NoReturn:
        """Raises `UnsupportedError`: a netCDF file has variables, not datasets."""
        raise UnsupportedError("a dataset in a plan of netCDF: create variables", self.path)

    def _sealed(self) -> dict[str, KnownVariable]:
        """Ends the definitions, and notes what tasks need to know; returns that."""
        with self._sealing:  # threads begin tasks at the same time
            if self._about_variables is None:
                self._contents.seal()
                about = {path: about_variable(variable) for path, variable in self._contents.variables.items()}
                self._native.set_note(json.dumps({"netcdf": about}))
                self._about_variables = about
            return self._about_variables

    def _decoded(self) -> None:
        about = json.loads(self._native.note)["netcdf"]
        if not isinstance(about, dict) or not all(
            isinstance(variable, dict) and variable.keys() == KnownVariable.__required_keys__ for variable in about.values()
        ):
            raise ValueError("what a task knows of each variable")
        self._about_variables, self._sealing = about, threading.Lock()
        self._begin(None, {})
        self._writer.sealed = True

    def __bytes__(self) -> bytes:
        self._sealed()
        return WritePlan.__bytes__(self)

    def __reduce__(self) -> tuple[object, ...]:
        return WritePlan.__reduce__(self)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

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
        about = self._sealed()
        return NetcdfTask(self._native.task(number, threads), number, self, about)

    def commit(self, fragments: Iterable[bytes]) -> parallel.Committed:
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

    def _repr_html_(self) -> str:
        return WritePlan._repr_html_(self)


class NetcdfTask(Task):
    """One writer's part of a netCDF-4 file."""

    _backend_class = NetcdfTasking

    def __init__(self, native: _native.Writer, number: int, plan: NetcdfPlan, about: dict[str, KnownVariable]) -> None:
        super().__init__(native, number, plan)
        self._variables_about, self._opened = about, dict[str, Dataset]()

    def variable(self, path: str, region: Key | None = None) -> Dataset:
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
        if not self._tasking.open_dataset(about["stored"], None if region is None else box(region, tuple(about["shape"]))) and region is not None:
            raise InvalidInputError(f"a region of variable {path!r}, whose regions the plan has")
        dataset = super().dataset(about["stored"])
        number = native_of(dataset)[1]
        self._tasking.notes[number] = known_variable(about, self._tasking.writer, dataset.datatype)
        self._tasking.declare(number, tuple(about["dims"]))
        self._opened[name] = dataset
        return dataset

    def dataset(self, path: str) -> Dataset:
        """The same as `variable`.

        Args:
            path: Path of the variable.

        Returns:
            The part of the variable that this task writes.

        Example:
            >>> task.dataset("t")[...] = values
        """
        return self.variable(path)

    def write(self, path: str, values: object) -> None:
        """Writes this task's part of a variable: its region, or its own rows.

        Args:
            path: Path of the variable.
            values: The values of the region of this task.

        Example:
            >>> task.write("t", values)
        """
        variable = self.variable(path)
        if variable.shape[:1] == (0,) and self._tasking.region(variable.name) is None:
            variable.append(values)
        else:
            variable[self.region(variable.name)] = values
