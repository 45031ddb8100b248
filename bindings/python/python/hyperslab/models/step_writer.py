"""Writers of steps: what the writers of all models with steps have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TypeVar

from ..base.agreement import made_once
from ..base.arguments import check_choice, check_mode
from ..base.errors import InvalidInputError
from ..base.type_aliases import AttributeValues, Communicator, Option, Path
from ..objects.filters import check_filters
from ..writing.new_file import create
from ..writing.parallel import Task
from .step_parts import Known, Layout, StepNames, StepPart, checked_names, names_of, same_types, terminated_texts, with_terminated_texts
from .step_plan import StepPlan, steps_there
from .step_targets import Alone, FileTarget, OnceTarget, StepTarget, Target, TaskTarget

#: Options of datasets that writers of steps take.
STORAGE = ("chunks", "compression", "compression_opts", "shuffle", "fletcher32")

#: What a writer begins with: its target, the layout, the steps that are there and the types of their arrays, and the path.
Beginning = tuple[Target, Layout, Iterable[int], Mapping[str, tuple[str, int]], str]
Self = TypeVar("Self", bound="StepWriter")


class StepWriter:
    """Writes steps. A model adds the method that takes its arrays."""

    def __init__(self, target: Target, layout: Layout, present: Iterable[int], types: Mapping[str, tuple[str, int]], path: str) -> None:
        self._target, self._layout, self._path = target, layout, path
        self._present, self._types = set(present), dict(types)
        self._is_open = True
        #: Numbers of the steps that this writer has written.
        self.steps: list[int] = []

    @property
    def names(self) -> StepNames:
        """How steps are called."""
        return names_of(self._layout)

    def _next(self, step: int | None) -> int:
        """The number of a new step: as given, or the one after the last."""
        if not self._is_open:
            raise InvalidInputError(f"the writer of '{self._path}' is closed")
        number = max(self._present, default=-1) + 1 if step is None else int(step)
        if number < 0:
            raise InvalidInputError(f"step {number}: steps are numbered from 0")
        if number in self._present:
            raise InvalidInputError(f"step {number} is in the file already: a step is written once", object=self.names.path(number))
        return number

    def _write(self, make: Callable[[], StepPart]) -> int:
        """Writes what `make` returns, a part of a step. In a step of several processes, all learn of a failure of one."""
        try:
            step = with_terminated_texts(make())
            types = same_types(self._types, step, self.names)
        except Exception as error:
            if isinstance(self._target, StepTarget):
                self._target.fail(error)
            raise
        self._target.write(step)
        self._types = types
        self._present.add(step.number)
        self.steps.append(step.number)
        return step.number

    def close(self) -> None:
        """Completes the write. Steps that each step's commit has published are visible already.

        Example:
            >>> run.close()
        """
        if self._is_open:
            self._is_open = False
            self._target.close()

    def abort(self) -> None:
        """Discards what is not visible yet.

        Example:
            >>> run.abort()
        """
        if self._is_open:
            self._is_open = False
            self._target.abort()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._path}, {len(self.steps)} steps>"


def begin(
    path: Path, mode: str, comm: Communicator | None, commit: str | None, layout: Layout, attrs: AttributeValues | None, options: dict[str, Option]
) -> Beginning:
    """The target of a new write with what a `StepWriter` needs: target, layout, present steps, their types, path."""
    name = os.fsdecode(path)
    chosen = commit or ("close" if comm is None else "step")
    check_choice("commit", chosen, ("close", "step"))
    check_mode(mode, ("x", "w", "a"))
    names, storage = names_of(layout), layout["storage"]
    given = terminated_texts(names.attributes() | dict(attrs or {}))
    known: Known = {"present": [], "types": {}}
    if comm is None and chosen == "close" and mode != "a":
        if unknown := options.keys() - {"durable", "alignment", "threads"}:
            raise TypeError(f"create() got an unexpected keyword argument {unknown.pop()!r} for a file of one process")
        file = create(name, mode, **options)
        for attribute, value in given.items():
            file.attrs[attribute] = value
        return FileTarget(file, storage), layout, (), {}, name
    together = Alone() if comm is None else comm
    if mode == "a":
        known = made_once(together, 0, lambda: steps_there(name, names))
    if chosen == "step":
        return StepTarget(together, name, mode, given, options, storage), layout, known["present"], known["types"], name
    plan = StepPlan.from_bytes(made_once(together, 0, lambda: bytes(StepPlan(name, mode, layout, dict(attrs or {}), known, **options))))
    assert isinstance(plan, StepPlan)
    return OnceTarget(together, plan, storage), layout, plan.present, plan.types, name


def of_task(task: Task, model: str) -> Beginning:
    """The target of a task of a plan of steps, with what a `StepWriter` needs."""
    plan = task.plan
    if not isinstance(plan, StepPlan) or plan.layout["model"] != model:
        raise InvalidInputError(f"this task is not of a plan of {model}: make the plan with hyperslab.models.{model}.plan")
    return TaskTarget(task, plan.layout["storage"]), plan.layout, plan.present, plan.types, plan.path


def layout_of(model: str, name: str, padding: int, time_attribute: str, options: dict[str, Option]) -> Layout:
    """The layout of H5hut's steps: their names, the attribute with their time, and how arrays are stored, which is taken out of `options`."""
    names = checked_names(name, padding)
    return {"model": model, "name": names.name, "padding": names.padding, "time_attribute": time_attribute, "storage": storage_of(options)}


def storage_of(options: dict[str, Option]) -> dict[str, Option]:
    """Takes the options of datasets out of `options`."""
    check_filters(options)
    chunks = options.get("chunks")
    if isinstance(chunks, tuple):
        options["chunks"] = list(chunks)
    return {name: options.pop(name) for name in STORAGE if name in options}
