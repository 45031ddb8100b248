"""Plans of steps: many writers, whose parts of each step are checked against each other before the commit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from .. import _native
from ..base.errors import InvalidInputError
from ..base.type_aliases import AttributeValues, Option, Path
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.node import Node
from ..writing.parallel import Committed, WritePlan
from .step_parts import Box, Known, Layout, StepNames, check_boxes, check_rows, names_of, terminated_texts


class StepPlan(WritePlan):
    """A parallel write of steps. The plan knows the names of steps, and which are in the file already; the commit checks that the
    writers' parts of each step fit together. `hyperslab.models.h5part.plan` makes one."""

    def __init__(self, path: Path, mode: str, layout: Layout, attrs: AttributeValues, known: Known | None = None, **options: Option) -> None:
        super().__init__(path, mode, **options)
        #: How the model lays out its steps: plain data.
        self.layout = layout
        known = known or (steps_there(self.path, self.names) if mode == "a" else {"present": [], "types": {}})
        #: Numbers of the steps in the file, and the type of each array with a step that has it.
        self.present: set[int] = set(known["present"])
        self.types: dict[str, tuple[str, int]] = {name: (dtype, step) for name, (dtype, step) in known["types"].items()}
        for name, value in terminated_texts({**self.names.attributes(), **attrs}).items():
            self.attrs[name] = value
        self._native.set_note(json.dumps({"steps": {"layout": layout, "known": {"present": sorted(self.present), "types": self.types}}}))

    @property
    def names(self) -> StepNames:
        """How steps are called."""
        return names_of(self.layout)

    def _decoded(self) -> None:
        note = json.loads(self._native.note)["steps"]
        self.layout, self.present = note["layout"], set(note["known"]["present"])
        self.types = {name: (dtype, step) for name, (dtype, step) in note["known"]["types"].items()}

    def commit(self, fragments: Iterable[bytes]) -> Committed:
        """Publishes the steps, as `WritePlan.commit`, if the parts of the writers fit together.

        Args:
            fragments: The results of `Task.finish`.

        Returns:
            What the commit did.

        Raises:
            InvalidInputError: A writer has arrays of different lengths, or no writer has some elements. Nothing has changed.
            ConflictError: As in `WritePlan.commit`; also for parts that overlap.

        Example:
            >>> plan.commit(fragments)
        """
        given = [bytes(fragment) for fragment in fragments]
        check_parts(given)
        return super().commit(given)


def check_parts(fragments: Iterable[bytes]) -> None:
    """Checks that the parts of tasks fit together. Of several attempts at a task one counts."""
    tasks: dict[int, list[_native.WrittenDataset]] = dict(_native.written_datasets(fragment) for fragment in fragments)
    check_rows((task, f"/{written.path}", written.shape[0]) for task, datasets in tasks.items() for written in datasets if written.has_rows)
    boxes: dict[str, tuple[list[int], list[tuple[int, Box]]]] = {}
    for task, datasets in tasks.items():
        for written in datasets:
            if not written.has_rows:
                _, all_boxes = boxes.setdefault(written.path, (written.shape, []))
                all_boxes += [(task, (tuple(start), tuple(count))) for start, count in written.regions]
    for path, (shape, given) in boxes.items():
        check_boxes(f"/{path}", tuple(shape), given)


def steps_there(path: str, names: StepNames) -> Known:
    """The steps of a file that is appended to: their numbers, and the types of arrays in the last one."""
    found: Known = {"present": [], "types": {}}
    if not os.path.exists(path):
        return found
    with open_file(path) as file:
        group = file if names.separator == "#" else file.get(names.name)
        by_number = dict[int, str]()
        if isinstance(group, Group):
            by_number = {number: member for name in group if (number := names.number(member := f"{group.name}/{name}".lstrip("/"))) is not None}
        found["present"] = sorted(by_number)
        if by_number:
            last = max(by_number)
            group = file[by_number[last]]
            if not isinstance(group, Group):
                raise InvalidInputError(f"{group.name} is not a group, so it is not a step", path, group.name)

            def note(name: str, member: Node) -> None:
                if isinstance(member, Dataset):
                    found["types"][name] = (member.dtype.newbyteorder("=").str, last)

            group.visititems(note)
    return found
