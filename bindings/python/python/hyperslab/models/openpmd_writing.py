"""Writing openPMD: iterations of particles and meshes by one process or many, into one file or a file for each."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .._native import __version__
from ..base.arguments import check_choice, check_mode
from ..base.errors import CancelledError, Error, InvalidInputError
from ..base.type_aliases import AttributeValues, Communicator, Option, Path, Values
from ..writing.parallel import Task
from .openpmd_records import Mesh, Parts, Patch, Record, Rows, checked, count, put_mesh, put_species
from .step_parts import Layout, StepPart
from .step_plan import StepPlan
from .step_targets import NoTarget, TaskTarget
from .step_writer import Beginning, StepWriter, begin, of_task, storage_of

_PATTERN = re.compile(r"%(0\d+)?T")
_VERSIONS = ("1.1.0", "2.0.0")


class OpenPmdWriter(StepWriter):
    """Writes iterations. `hyperslab.models.openpmd.create` makes one."""

    _comm: Communicator | None = None
    #: Makes the target of an iteration that has a file of its own.
    _begin: Callable[[str], Beginning] | None = None

    @property
    def iterations(self) -> list[int]:
        """Numbers of the iterations that this writer has written."""
        return self.steps

    def write_iteration(
        self,
        number: int,
        *,
        time: float,
        dt: float,
        time_unit_si: float = 1.0,
        particles: Mapping[str, Mapping[str, Record]] | None = None,
        meshes: Mapping[str, Mesh] | None = None,
        patches: Mapping[str, Sequence[Patch]] | None = None,
        rows: Mapping[str, tuple[int, int]] | None = None,
        attrs: AttributeValues | None = None,
    ) -> None:
        """Writes an iteration, or what this process has of it. In a series of files, and with a communicator, readers see it when this returns.

        Args:
            number: Number of the iteration.
            time: Its time.
            dt: Length of its time step.
            time_unit_si: Seconds of a unit of both.
            particles: Records by their names, by species. Each species has the record `position`; `positionOffset` is 0 unless it is given. With
                a communicator each process gives its own particles, which follow the particles of the processes before.
            meshes: Meshes by their names. Several writers give their `partition`, and the `shape` of the whole.
            patches: Boxes that particles are in, by species.
            rows: In a task: the index of its first particle among the particles of all tasks, and the number of all, by species.
            attrs: More attributes of the iteration. All writers give the same.

        Raises:
            InvalidInputError: Names, lengths or shapes contradict each other or the standard, or the iteration was written.
            ConflictError: The iteration's file exists; the partitions of two writers overlap.
            CancelledError: Another process failed. The iteration was not written.

        Example:
            >>> series.write_iteration(100, time=5.0, dt=0.05, time_unit_si=1e-15, particles={"electrons": {"position": position}})
        """
        particles, meshes = particles or {}, meshes or {}
        about = {"time": float(time), "dt": float(dt), "timeUnitSI": float(time_unit_si), **(attrs or {})}
        if self._layout["separator"] == "":
            about["snapshot"] = number

        def counts() -> dict[str, int]:
            base = self._checked(number)
            return {species: count(f"{base}/particles/{checked(species, base)}", records) for species, records in particles.items()}

        if self._comm is None:
            places = {species: Rows(int(first), int(total)) for species, (first, total) in (rows or {}).items()}
        else:
            places = _together(self._comm, counts)

        def make() -> StepPart:
            base = self._checked(number)
            if rows is not None and not isinstance(self._target, TaskTarget):
                raise InvalidInputError("rows are for tasks: here the place of particles is known", object=base)
            if patches and set(patches) - set(particles):
                raise InvalidInputError(f"patches of {sorted(set(patches) - set(particles))}, which are none of the species", object=base)
            parts = Parts()
            parts.group(base, about)
            is_one_of_many = self._comm is not None or isinstance(self._target, TaskTarget)
            for species, records in particles.items():
                place = f"{base}/particles/{checked(species, base)}"
                if is_one_of_many and species not in places:
                    raise InvalidInputError(f"rows has no place of {species}: give the first particle of this task and the number of all", object=place)
                put_species(parts, place, records, (patches or {}).get(species), places.get(species))
            for name, mesh in meshes.items():
                put_mesh(parts, f"{base}/meshes/{checked(name, base)}", mesh, self._layout["version"], is_one_of_many)
            return StepPart(int(number), parts.groups, parts.arrays)

        if self._begin is None:
            self._write(make)
        else:
            self._write_file(number, self._begin, make)

    def _write_file(self, number: int, begin: Callable[[str], Beginning], make: Callable[[], StepPart]) -> None:
        """Writes an iteration into a file of its own. Nothing is there before the iteration is checked."""
        step = make() if self._comm is None else None
        folder, name = os.path.split(self._path)
        self._target = begin(os.path.join(folder, _PATTERN.sub(lambda found: f"{number:{found[1] or ''}d}", name)))[0]
        try:
            self._write(make if step is None else lambda: step)
        except BaseException:
            self._target.abort()
            raise
        self._target.close()

    def _checked(self, number: int) -> str:
        """Path of a new iteration."""
        if not self._is_open:
            raise InvalidInputError(f"the writer of '{self._path}' is closed")
        if isinstance(number, bool) or int(number) != number or number < 0:
            raise InvalidInputError(f"iteration {number}: give a number from 0 on")
        base = self.names.path(number)
        if number in self._present:
            raise InvalidInputError(f"iteration {number} is written already", object=base)
        if self._layout["separator"] == "" and self._begin is None and self._present:
            raise InvalidInputError("a file by variables has one iteration: give a name with %T", object=base)
        return base

    def close(self) -> None:
        """Completes the file, which then appears.

        Example:
            >>> series.close()
        """
        if self._begin is None:
            super().close()
        self._is_open = False

    def abort(self) -> None:
        """Discards a file that is not complete. Iterations that readers see stay.

        Example:
            >>> series.abort()
        """
        if self._begin is None:
            super().abort()
        self._is_open = False


def _together(comm: Communicator, counts: Callable[[], dict[str, int]]) -> dict[str, Rows]:
    """The position of this process's particles among the particles of all processes. Every process calls this, and raises if one of them fails."""
    own: dict[str, int] | Exception
    try:
        own = counts()
    except Exception as error:  # the others wait for it
        comm.allgather(error if isinstance(error, Error) else CancelledError(str(error)))
        raise
    everyone = comm.allgather(own)
    for process, theirs in enumerate(everyone):
        if isinstance(theirs, Exception):
            raise CancelledError(f"process {process} has no part of the iteration, so it was not written: {theirs}")
        if sorted(theirs) != sorted(everyone[0]):
            raise InvalidInputError(f"process 0 has the species {sorted(everyone[0])}, process {process} has {sorted(theirs)}: give the same")
    rank = comm.Get_rank()
    return {species: Rows(sum(theirs[species] for theirs in everyone[:rank]), sum(theirs[species] for theirs in everyone)) for species in sorted(everyone[0])}


def _layout(encoding: str | None, version: str, options: dict[str, Option]) -> Layout:
    check_choice("version", version, _VERSIONS)
    check_choice("encoding", encoding, (None, "variable"))
    separator = "" if encoding == "variable" else "/"
    return {
        "model": "openpmd",
        "name": "data",
        "padding": 0,
        "separator": separator,
        "version": int(version.split(".")[0]),
        "storage": storage_of(options),
    }


def _attributes(path: str, mode: str, encoding: str | None, version: str, attrs: AttributeValues | None) -> dict[str, Values]:
    """Attributes of a file of a series. A file that is appended to has them."""
    if mode == "a":
        return dict(attrs or {})
    is_by_file = _PATTERN.search(os.path.basename(path)) is not None
    by_variables = encoding == "variable"
    base = "/data" if by_variables else "/data/%T/"
    given = {
        "openPMD": version,
        "basePath": base,
        "meshesPath": "meshes/",
        "particlesPath": "particles/",
        "iterationEncoding": "fileBased" if is_by_file and not by_variables else "variableBased" if by_variables else "groupBased",
        "iterationFormat": os.path.basename(path) if is_by_file else base,
        "software": "hyperslab",
        "softwareVersion": __version__,
        "date": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z"),
    }
    if version.startswith("1"):
        given["openPMDextension"] = np.uint32(0)
    return given | dict(attrs or {})


def create(
    path: Path,
    mode: str = "x",
    *,
    comm: Communicator | None = None,
    attrs: AttributeValues | None = None,
    encoding: str | None = None,
    version: str = "1.1.0",
    **options: Option,
) -> OpenPmdWriter:
    """Begins a series of openPMD, written by this process or by all processes of a communicator, each of which calls this.

    Args:
        path: The file, which has all iterations. With `%T` in its name (`run_%T.h5`, or `run_%06T.h5` for numbers of six digits) each iteration is
            a file. One process publishes its file at the end of the `with` block; with `comm`, or `%T`, readers see each iteration when it is written.
        mode: `x` refuses to replace an existing file, `w` replaces it; with `comm`, `a` adds iterations to it.
        comm: A communicator of mpi4py; by default this process writes alone.
        attrs: Attributes of the file: `{"author": "…"}`.
        encoding: `variable` writes the iteration without a group of its own, as openpmd-api does by variables; a file then has one iteration.
        version: Of the standard: `1.1.0` or `2.0.0`, which was not released yet in November 2026.
        options: `chunks`, `compression`, `compression_opts`, `shuffle`, `fletcher32` of all arrays, as in `Group.create_dataset`;
            `durable`, `alignment`, `threads` of `hyperslab.create`; with `comm` those of `WritePlan`.

    Returns:
        The writer, for a `with` block.

    Raises:
        ConflictError: The file exists.
        InvalidInputError: The mode, the encoding or the version is unknown.

    Example:
        >>> with hs.models.openpmd.create("run.h5") as series:
        ...     series.write_iteration(0, time=0.0, dt=1.0, particles={"e": {"position": position}}, meshes={"rho": rho})
    """
    check_mode(mode, ("x", "w", *(["a"] if comm is not None else [])), "comm= or a plan adds iterations to a file")
    name = os.fsdecode(path)
    layout, about = _layout(encoding, version, options), _attributes(name, mode, encoding, version, attrs)

    def one(file: str) -> Beginning:
        return begin(file, mode, comm, None, layout, about, dict(options))

    if _PATTERN.search(os.path.basename(name)) is None:
        series = OpenPmdWriter(*one(name))
    else:
        series = OpenPmdWriter(NoTarget(), layout, (), {}, name)
        series._begin = one
    series._comm = comm
    return series


def plan(
    path: Path, mode: str = "x", *, attrs: AttributeValues | None = None, encoding: str | None = None, version: str = "1.1.0", **options: Option
) -> StepPlan:
    """Plans a write of iterations by tasks in threads, processes or machines. Its commit checks that the parts of each iteration fit together.

    Args:
        path: The file, which has all iterations.
        mode, attrs, encoding, version, options: As in `create`; `mode` may be `a`.

    Returns:
        The plan. Give its tasks to `writer`.

    Raises:
        ConflictError: The file exists.

    Example:
        >>> plan = hs.models.openpmd.plan("run.h5")
        >>> with plan.task(0) as task:
        ...     hs.models.openpmd.writer(task).write_iteration(0, time=0.0, dt=1.0, particles={"e": mine}, rows={"e": (0, 1000)})
        ...     fragment = task.finish()
        >>> plan.commit([fragment])
    """
    name = os.fsdecode(path)
    if _PATTERN.search(os.path.basename(name)):
        raise InvalidInputError(f"a plan is of one file, and '{name}' names many: plan each")
    return StepPlan(path, mode, _layout(encoding, version, options), _attributes(name, mode, encoding, version, attrs), **options)


def writer(task: Task) -> OpenPmdWriter:
    """Writes iterations into a task.

    Args:
        task: A task of the plan of `plan`.

    Returns:
        The writer. The task is finished as any other.

    Raises:
        InvalidInputError: The task is of another plan.

    Example:
        >>> hs.models.openpmd.writer(task).write_iteration(0, time=0.0, dt=1.0, particles={"e": mine}, rows={"e": (0, 1000)})
    """
    return OpenPmdWriter(*of_task(task, "openpmd"))
