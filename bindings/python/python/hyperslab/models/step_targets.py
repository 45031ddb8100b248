"""Targets of steps: a file of one process, a task, or the processes of a communicator, at the end or step by step."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

from .. import mpi
from ..base.errors import CancelledError, Error, InvalidInputError
from ..base.type_aliases import AttributeValues, Communicator, Option
from ..files.file import File
from ..objects.group import Group
from ..writing.parallel import Task, WritePlan
from .step_parts import Box, StepPart, check_boxes, check_rows
from .step_plan import StepPlan

Value = TypeVar("Value")


class Target(Protocol):
    """Where steps go."""

    def write(self, step: StepPart) -> None:
        """Writes one writer's part of a step."""

    def close(self) -> None:
        """Publishes what is not visible yet."""

    def abort(self) -> None:
        """Discards what is not visible yet."""


class NoTarget:
    """A writer between two steps that are files of their own."""

    def write(self, step: StepPart) -> None:
        raise AssertionError("a step without a file")

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def _put(root: Group, step: StepPart, storage: Mapping[str, Option], in_parts: bool) -> None:
    """Writes a part of a step into a file, or into a task (`in_parts`)."""
    for path, attributes in step.groups.items():
        group = root.require_group(path)
        for name, value in attributes.items():
            group.attrs[name] = value
    for part in step.parts:
        if not in_parts:
            made = root.create_dataset(part.path, data=part.values, **storage)
        elif part.box is None or part.shape is None:
            made = root.create_dataset(part.path, data=part.values, rows=True, **storage)
        else:
            region = tuple(slice(start, start + count) for start, count in zip(*part.box, strict=True))
            made = root.create_dataset(part.path, part.shape, part.values.dtype, region=region, **storage)
            made[region] = part.values
        for name, value in part.attrs.items():
            made.attrs[name] = value


class FileTarget:
    """A plain file of one process, which appears when it is closed."""

    def __init__(self, file: File, storage: Mapping[str, Option]) -> None:
        self._file, self._storage = file, storage

    def write(self, step: StepPart) -> None:
        check_parts_of_one(step)
        _put(self._file, step, self._storage, in_parts=False)

    def close(self) -> None:
        self._file.close()

    def abort(self) -> None:
        self._file.abort()


def check_parts_of_one(step: StepPart) -> None:
    """Checks that a single writer has whole arrays."""
    for part in step.parts:
        if part.box is not None and part.shape is not None:
            check_boxes(part.path, part.shape, [(0, part.box)])


class TaskTarget:
    """A task of a plan. The process that made the plan commits it."""

    def __init__(self, task: Task, storage: Mapping[str, Option]) -> None:
        self._task, self._storage = task, storage

    def write(self, step: StepPart) -> None:
        _put(self._task, step, self._storage, in_parts=True)

    def close(self) -> None:
        raise InvalidInputError("a writer of a task is not closed: call finish() of the task, and commit() of the plan")

    def abort(self) -> None:
        self._task.abort()


class OnceTarget:
    """The processes of a communicator, which publish all steps together at the end. Until then they do not wait for each other."""

    def __init__(self, comm: Communicator, plan: StepPlan, storage: Mapping[str, Option]) -> None:
        self._comm, self._plan, self._storage = comm, plan, storage
        self._task = plan.task(comm.Get_rank())

    def write(self, step: StepPart) -> None:
        _put(self._task, step, self._storage, in_parts=True)

    def close(self) -> None:
        try:
            fragment = self._task.finish()
        except BaseException:
            self.abort()
            raise
        mpi.commit(self._comm, self._plan, fragment)

    def abort(self) -> None:
        self._task.abort()
        with contextlib.suppress(CancelledError):  # that is what was asked for
            mpi.commit(self._comm, self._plan, None)


class StepTarget:
    """The processes of a communicator, which publish each step when all have given their part."""

    def __init__(self, comm: Communicator, path: str, mode: str, attrs: AttributeValues, options: Mapping[str, Option], storage: Mapping[str, Option]) -> None:
        self._comm, self._path, self._mode, self._attrs, self._storage = comm, path, mode, dict(attrs), storage
        self._options = {"factor": min(comm.Get_size(), 32), **options}

    def write(self, step: StepPart) -> None:
        """Writes a step together. Every process calls this; all of them get the same step, or an exception."""
        size = self._comm.Get_size()
        about = [(part.path, part.values.dtype.str, part.values.shape, part.box, part.shape) for part in step.parts]
        everyone = self._comm.allgather((step.number, _plain(step.groups), about))
        shapes, boxes = _together(everyone)
        own_storage = {name: value for name, value in self._storage.items() if value is not None and value is not False}

        def define(plan: WritePlan) -> None:
            for path, attributes in {"/": self._attrs, **step.groups}.items():
                group = plan.root if path == "/" else plan.root.create_group(path)
                for name, value in attributes.items():
                    group.attrs[name] = value
            if not own_storage:
                for part in step.parts:
                    if np.prod(shapes[part.path]):
                        regions = [tuple(slice(a, a + b) for a, b in zip(*box, strict=True)) for box in boxes[part.path]]
                        plan.create_dataset(part.path, shapes[part.path], part.values.dtype, regions=regions)

        with mpi.write(self._comm, self._path, self._mode, define=define, writers=size, **self._options) as task:
            for part in step.parts:
                if own_storage or not np.prod(shapes[part.path]):
                    _put(task, StepPart(step.number, {}, [part]), own_storage, in_parts=True)
                    continue
                task.write(part.path, part.values)
                for name, value in part.attrs.items():
                    task.dataset(part.path).attrs[name] = value
        self._mode = "a"

    def fail(self, error: Exception) -> None:
        """Tells the other processes that this one has no part of the step."""
        self._comm.allgather(error if isinstance(error, Error) else CancelledError(str(error)))

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


def _plain(groups: Mapping[str, AttributeValues]) -> dict[str, dict[str, object]]:
    """Attributes as data that compare."""
    return {path: {name: np.asarray(value).tolist() for name, value in attributes.items()} for path, attributes in groups.items()}


def _together(everyone: list[Any]) -> tuple[dict[str, tuple[int, ...]], dict[str, list[Box]]]:
    """Shapes of whole arrays, and the boxes of all writers, from what each writer has. Every process raises the same error."""
    for writer, own in enumerate(everyone):
        if isinstance(own, Exception):
            raise CancelledError(f"process {writer} has no part of the step, so it was not written: {own}")
    (first, groups, arrays), *others = everyone
    for writer, (number, their_groups, theirs) in enumerate(others, 1):
        if number != first:
            raise InvalidInputError(f"process 0 writes step {first}, process {writer} step {number}: write the same")
        if their_groups != groups:
            raise InvalidInputError(f"process 0 and process {writer} have different attributes of step {first}: give the same", object=next(iter(groups)))
        if [(path, dtype) for path, dtype, *_ in theirs] != [(path, dtype) for path, dtype, *_ in arrays]:
            ours, other = (", ".join(f"{path} ({np.dtype(dtype)})" for path, dtype, *_ in some) for some in (arrays, theirs))
            path = next((a for (a, *x), (b, *y) in zip(arrays, theirs, strict=False) if (a, x[0]) != (b, y[0])), None)
            raise InvalidInputError(f"process 0 has the arrays {ours}; process {writer} has {other}: give the same", object=path)
    shapes: dict[str, tuple[int, ...]] = {}
    boxes: dict[str, list[Box]] = {}
    for index, (path, _, _, box, shape) in enumerate(arrays):
        own = [arrays_of_one[index] for _, _, arrays_of_one in everyone]
        if box is None:
            ends = np.cumsum([given[0] for _, _, given, _, _ in own]).tolist()
            shapes[path] = (ends[-1],)
            boxes[path] = [((end - given[0],), (given[0],)) for end, (_, _, given, _, _) in zip(ends, own, strict=True)]
        else:
            shapes[path], boxes[path] = shape, [given for *_, given, _ in own]
            different = next((writer for writer, (*_, theirs) in enumerate(own) if theirs != shape), None)
            if different is not None:
                raise InvalidInputError(f"process 0 writes {path} of shape {shape}, process {different} of shape {own[different][-1]}", object=path)
            check_boxes(path, shape, enumerate(boxes[path]))
    check_rows((writer, path, given[0]) for writer, (_, _, own) in enumerate(everyone) for path, _, given, box, _ in own if box is None)
    return shapes, boxes


class Alone:
    """The communicator of a single process."""

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def bcast(self, value: Value, root: int = 0) -> Value:
        return value

    def gather(self, value: Value, root: int = 0) -> list[Value]:
        return [value]

    def allgather(self, value: Value) -> list[Value]:
        return [value]
