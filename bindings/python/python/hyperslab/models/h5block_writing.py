"""Writing H5Block: fields on a regular grid, step by step. Each writer has a partition of the grid, perhaps with ghost zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..backends.tasking import box
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValues, Communicator, Key, Option, Path, Values
from ..writing.parallel import Task
from .step_parts import Box, Grid, Layout, Part, StepPart, numbers, refuse_unknown, step_attributes
from .step_plan import StepPlan
from .step_writer import StepWriter, begin, layout_of, of_task

#: Ghost cells: as many on all sides, or before and after the partition along k, j and i.
Ghosts = int | Sequence[tuple[int, int]]


class H5BlockWriter(StepWriter):
    """Writes fields. `hyperslab.models.h5block.create` makes one."""

    def write_step(
        self,
        fields: Mapping[str, Values],
        *,
        step: int | None = None,
        time: float | None = None,
        partition: Key = None,
        ghosts: Ghosts = 0,
        attrs: AttributeValues | None = None,
        field_attrs: Mapping[str, AttributeValues] | None = None,
    ) -> int:
        """Writes the fields of a step. With many writers, each gives its partition of the grid.

        Args:
            fields: Fields by name: an array (k, j, i) of a scalar, or a list of arrays, one for each component.
            step: Number of the step; by default the one after the last, from 0.
            time: Time of the step.
            partition: Slices (k, j, i) of the grid that this writer has, such as `np.s_[0:8, :, :]`; by default the whole grid.
            ghosts: Ghost cells around the partition in the arrays. They are not written. A number is the same on all six sides;
                `((1, 1), (0, 0), (2, 2))` gives those before and after along k, j and i.
            attrs: Attributes of the step. All writers give the same.
            field_attrs: Attributes of fields: `{"E": {"unit": "V/m"}}`. `__Origin__` and `__Spacing__` are those of the grid unless
                they are given here.

        Returns:
            The number of the step.

        Raises:
            InvalidInputError: An array does not have the shape of the partition with its ghost cells, or another type than in an
                earlier step; the step exists; no writer has some cells.
            ConflictError: The partitions of two writers overlap.
            CancelledError: Another process failed. The step was not written.

        Example:
            >>> run.write_step({"E": (ex, ey, ez), "phi": phi}, time=0.5, partition=np.s_[8:16, :, :], ghosts=1)
        """

        def make() -> StepPart:
            number = self._next(step)
            where = self.names.path(number)
            grid = self._layout["grid"]
            shape = tuple(grid["shape"])
            own: Box = ((0, 0, 0), shape)
            if partition is not None:
                start, count = box(partition, shape)
                own = tuple(start), tuple(count)
            sides = _sides(ghosts)
            groups: dict[str, dict[str, Values]] = {where: step_attributes(time, self._layout["time_attribute"], attrs)}
            parts: list[Part] = []
            if not fields:
                raise InvalidInputError("a step without fields: give at least one", object=where)
            refuse_unknown(field_attrs, fields, "fields", where)
            for name, field in sorted(fields.items()):
                path = f"{where}/Block/{name}"
                if "/" in name or name in ("", "."):
                    raise InvalidInputError(f"{name!r} cannot be the name of a field", object=where)
                about = {} if grid["origin"] is None else {"__Origin__": np.array(grid["origin"]), "__Spacing__": np.array(grid["spacing"])}
                groups[path] = about | dict((field_attrs or {}).get(name, {}))
                for component, values in enumerate(_components(field, path)):
                    inside = _without_ghosts(values, own, sides, f"{path}/{component}")
                    parts.append(Part(f"{path}/{component}", inside, own, shape, {}))
            return StepPart(number, groups, parts)

        return self._write(make)


def _components(field: Values, path: str) -> list[AnyArray]:
    """The components of a field: of a scalar one."""
    if isinstance(field, (list, tuple)):
        given = list(field)
    else:
        array = np.asarray(field)
        given = list(array) if array.ndim == 4 else [field]
    if not given:
        raise InvalidInputError("a field without components", object=path)
    return [numbers(f"component {component} of {path.rpartition('/')[2]}", values, f"{path}/{component}") for component, values in enumerate(given)]


def _sides(ghosts: Ghosts) -> list[tuple[int, int]]:
    sides = [(ghosts, ghosts)] * 3 if isinstance(ghosts, int) else [(int(before), int(after)) for before, after in ghosts]
    if len(sides) != 3 or min(map(min, sides)) < 0:
        raise InvalidInputError(f"ghosts={ghosts}: give a number, or those before and after along k, j and i")
    return sides


def _without_ghosts(values: AnyArray, own: Box, sides: list[tuple[int, int]], path: str) -> AnyArray:
    needed = tuple(count + before + after for count, (before, after) in zip(own[1], sides, strict=True))
    if values.shape != needed:
        ghosts = f" with ghost cells {sides}" if any(map(any, sides)) else ""
        raise InvalidInputError(f"the array has shape {values.shape}; the partition{ghosts} has {needed}", object=path)
    return values[tuple(slice(before, before + count) for count, (before, _) in zip(own[1], sides, strict=True))]


def _layout(
    shape: Sequence[int],
    origin: Sequence[float] | None,
    spacing: Sequence[float] | None,
    name: str,
    padding: int,
    time_attribute: str,
    options: dict[str, Option],
) -> Layout:
    layout = layout_of("h5block", name, padding, time_attribute, options)
    extents = [int(extent) for extent in shape]
    if len(extents) != 3 or min(extents) < 1:
        raise InvalidInputError(f"shape={tuple(shape)}: give the number of cells along k, j and i")
    if (origin is None) != (spacing is None):
        raise InvalidInputError("origin and spacing belong together: give both, or none")
    for what, three in (("origin", origin), ("spacing", spacing)):
        if three is not None and (len(three) != 3 or not np.isfinite(three).all()):
            raise InvalidInputError(f"{what}={three}: give three finite numbers, along x, y and z")
    grid: Grid = {
        "shape": extents,
        "origin": None if origin is None else [float(value) for value in origin],
        "spacing": None if spacing is None else [float(value) for value in spacing],
    }
    return {**layout, "grid": grid}


def create(
    path: Path,
    shape: Sequence[int],
    mode: str = "x",
    *,
    origin: Sequence[float] | None = None,
    spacing: Sequence[float] | None = None,
    comm: Communicator | None = None,
    commit: str | None = None,
    attrs: AttributeValues | None = None,
    name: str = "Step",
    padding: int = 0,
    time_attribute: str = "TIME",
    **options: Option,
) -> H5BlockWriter:
    """Begins a file of fields, by this process or by all processes of a communicator, each of which calls this.

    Args:
        path: The file.
        shape: Number of cells along k, j and i: the shape of the arrays.
        origin: Coordinates x, y and z of the cell (0, 0, 0).
        spacing: Distances between cells along x, y and z.
        mode, comm, commit, attrs, name, padding, time_attribute, options: As in `hyperslab.models.h5part.create`.

    Returns:
        The writer, for a `with` block.

    Raises:
        ConflictError: The file exists.

    Example:
        >>> with hs.models.h5block.create("fields.h5", (16, 32, 64), origin=(0, 0, 0), spacing=(0.1, 0.1, 0.1)) as run:
        ...     run.write_step({"E": (ex, ey, ez), "phi": phi}, time=0.0)
    """
    layout = _layout(shape, origin, spacing, name, padding, time_attribute, options)
    return H5BlockWriter(*begin(path, mode, comm, commit, layout, attrs, options))


def plan(
    path: Path,
    shape: Sequence[int],
    mode: str = "x",
    *,
    origin: Sequence[float] | None = None,
    spacing: Sequence[float] | None = None,
    attrs: AttributeValues | None = None,
    name: str = "Step",
    padding: int = 0,
    time_attribute: str = "TIME",
    **options: Option,
) -> StepPlan:
    """Plans a write of fields by tasks in threads, processes or machines. Its commit checks that the partitions cover the grid.

    Args:
        path, shape, mode, origin, spacing, attrs, name, padding, time_attribute, options: As in `create`.

    Returns:
        The plan. Give its tasks to `writer`.

    Raises:
        ConflictError: The file exists.

    Example:
        >>> plan = hs.models.h5block.plan("fields.h5", (16, 32, 64))
        >>> with plan.task(0) as task:
        ...     hs.models.h5block.writer(task).write_step({"phi": phi}, partition=np.s_[:8, :, :])
        ...     fragment = task.finish()
    """
    layout = _layout(shape, origin, spacing, name, padding, time_attribute, options)
    return StepPlan(path, mode, layout, dict(attrs or {}), **options)


def writer(task: Task) -> H5BlockWriter:
    """Writes steps into a task.

    Args:
        task: A task of the plan of `plan`.

    Returns:
        The writer. The task is finished as any other.

    Raises:
        InvalidInputError: The task is of another plan.

    Example:
        >>> hs.models.h5block.writer(task).write_step({"phi": phi}, partition=np.s_[:8, :, :])
    """
    return H5BlockWriter(*of_task(task, "h5block"))
