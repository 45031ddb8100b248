"""Writing H5Part: particles, step by step, by one process or many."""

from __future__ import annotations

from collections.abc import Mapping

from ..base.errors import InvalidInputError
from ..base.type_aliases import AttributeValues, Communicator, Option, Path, Values
from ..writing.parallel import Task
from .step_parts import Box, Part, StepPart, numbers, refuse_unknown, step_attributes
from .step_plan import StepPlan
from .step_writer import StepWriter, begin, layout_of, of_task


class H5PartWriter(StepWriter):
    """Writes particles. `hyperslab.models.h5part.create` makes one."""

    def write_step(
        self,
        particles: Mapping[str, Values],
        *,
        step: int | None = None,
        time: float | None = None,
        attrs: AttributeValues | None = None,
        array_attrs: Mapping[str, AttributeValues] | None = None,
        rows: tuple[int, int] | None = None,
        total: int | None = None,
    ) -> int:
        """Writes the particles of a step. With many writers, each gives its own particles; they follow each other in the order of
        the writers, which may have different numbers of particles.

        Args:
            particles: Arrays by name, each with one value for each particle.
            step: Number of the step; by default the one after the last, from 0.
            time: Time of the step.
            attrs: Attributes of the step. All writers give the same.
            array_attrs: Attributes of arrays: `{"x": {"unit": "m"}}`.
            rows: Where this writer's particles are among all: the first, and the one after the last. Needs `total`.
            total: Number of particles of all writers.

        Returns:
            The number of the step.

        Raises:
            InvalidInputError: Arrays have different lengths, no numbers, or another type than in an earlier step; the step exists;
                with several processes, they have different arrays.
            CancelledError: Another process failed. The step was not written.

        Example:
            >>> run.write_step({"x": x, "y": y, "id": ids}, time=0.5, array_attrs={"x": {"unit": "m"}})
        """

        def make() -> StepPart:
            number = self._next(step)
            where = self.names.path(number)
            if not particles:
                raise InvalidInputError("a step without arrays: give at least one, which may have no particles", object=where)
            refuse_unknown(array_attrs, particles, "arrays", where)
            box, shape = (None, None) if rows is None else _view(rows, total)
            arrays = {name: numbers(name, values, f"{where}/{name}") for name, values in particles.items()}
            first, values = next(iter(arrays.items()))
            for name, array in arrays.items():
                if "/" in name or name in ("", ".", "Block"):
                    raise InvalidInputError(f"{name!r} cannot be the name of an array of particles", object=where)
                if array.ndim != 1:
                    raise InvalidInputError(f"{name} has shape {array.shape}: give one value for each particle", object=f"{where}/{name}")
                if len(array) != len(values):
                    message = f"{name} has {len(array)} values and {first} has {len(values)} in step {number}: give equally many"
                    raise InvalidInputError(message, object=f"{where}/{name}")
                if box is not None and len(array) != box[1][0]:
                    raise InvalidInputError(f"{name} has {len(array)} values for {box[1][0]} rows", object=f"{where}/{name}")
            parts = [Part(f"{where}/{name}", array, box, shape, (array_attrs or {}).get(name, {})) for name, array in sorted(arrays.items())]
            return StepPart(number, {where: step_attributes(time, self._layout["time_attribute"], attrs)}, parts)

        return self._write(make)


def _view(rows: tuple[int, int], total: int | None) -> tuple[Box, tuple[int]]:
    start, stop = map(int, rows)
    if total is None or not 0 <= start <= stop <= total:
        raise InvalidInputError(f"rows={rows} of total={total}: give the first row, the one after the last, and the number of all")
    return ((start,), (stop - start,)), (int(total),)


def create(
    path: Path,
    mode: str = "x",
    *,
    comm: Communicator | None = None,
    commit: str | None = None,
    attrs: AttributeValues | None = None,
    name: str = "Step",
    padding: int = 0,
    time_attribute: str = "TIME",
    **options: Option,
) -> H5PartWriter:
    """Begins a file of particles, by this process or by all processes of a communicator, each of which calls this.

    Args:
        path: The file.
        mode: `x` refuses to replace an existing file, `w` replaces it. `a` adds steps to a file that several processes or commits
            have written, or creates it.
        comm: A communicator of mpi4py; by default this process writes alone.
        commit: When readers see steps: `step` (each step when it is written; the default with `comm`), or `close` (all at the end;
            the default without. One process then writes a plain HDF5 file).
        attrs: Attributes of the file.
        name, padding: Names of steps: `Step#0`; `padding=6` makes `Step#000000`.
        time_attribute: Name of the attribute with a step's time.
        options: `chunks`, `compression`, `compression_opts`, `shuffle`, `fletcher32` of all arrays, as in `Group.create_dataset`;
            `durable`, `checksums`, `factor`, `alignment` of `WritePlan`.

    Returns:
        The writer, for a `with` block.

    Raises:
        ConflictError: The file exists.

    Example:
        >>> with hs.models.h5part.create("run.h5part") as run:
        ...     for n in range(100):
        ...         run.write_step({"x": x, "id": ids}, time=n * dt)
    """
    layout = layout_of("h5part", name, padding, time_attribute, options)
    return H5PartWriter(*begin(path, mode, comm, commit, layout, attrs, options))


def plan(
    path: Path,
    mode: str = "x",
    *,
    attrs: AttributeValues | None = None,
    name: str = "Step",
    padding: int = 0,
    time_attribute: str = "TIME",
    **options: Option,
) -> StepPlan:
    """Plans a write of particles by tasks in threads, processes or machines. Its commit checks that the parts of each step fit together.

    Args:
        path, mode, attrs, name, padding, time_attribute, options: As in `create`.

    Returns:
        The plan. Give its tasks to `writer`.

    Raises:
        ConflictError: The file exists.

    Example:
        >>> plan = hs.models.h5part.plan("run.h5part")
        >>> with plan.task(0) as task:
        ...     hs.models.h5part.writer(task).write_step({"x": x}, time=0.0)
        ...     fragment = task.finish()
        >>> plan.commit([fragment])
    """
    layout = layout_of("h5part", name, padding, time_attribute, options)
    return StepPlan(path, mode, layout, dict(attrs or {}), **options)


def writer(task: Task) -> H5PartWriter:
    """Writes steps into a task.

    Args:
        task: A task of the plan of `plan`.

    Returns:
        The writer. The task is finished as any other.

    Raises:
        InvalidInputError: The task is of another plan.

    Example:
        >>> hs.models.h5part.writer(task).write_step({"x": x}, time=0.0)
    """
    return H5PartWriter(*of_task(task, "h5part"))
