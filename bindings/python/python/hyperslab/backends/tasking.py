"""Tasking: one writer's part of a parallel write."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import Key, Region, ShapeLike
from ..values import dtype_encoding, indexing_keys, new_references
from .backend import Asked, Creation, Place, TaskOptions
from .creating import Creating, Definitions
from .plan_writer import AnyWriter, PlanWriter


class TaskDefinitions(Definitions):
    """Defines objects that other tasks may define, too."""

    def create_group(self, path: str, tracked: bool | None) -> None:
        """Creates a group, and those above it, unless they are there."""
        self.writer.create_group(path)
        self._track(path, tracked)


class Parallel(Creating):
    """What is defined by several writers of one file: references have their values from the beginning, and nothing is removed."""

    is_shared = True

    def __init__(self, writer: AnyWriter, path: str) -> None:
        super().__init__(writer, path, False)
        self._definitions = TaskDefinitions(self.objects)

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> bool:
        """Creates a dataset of references, which has its values from the beginning.

        Args:
            path: Absolute path of the dataset.
            asked: The arguments of `create_dataset`.
            track_order: Whether the order of its attributes is recorded.

        Returns:
            Whether it is such a dataset.

        Raises:
            UnsupportedError: They are references to regions.
        """
        kind = None if asked.data is None else new_references.kind_of(asked.data, asked.dtype)
        if kind is None:
            return False
        if kind != "object":
            raise UnsupportedError("references to regions in a parallel write", self.path, path)
        heap: list[bytes] = []
        given = dtype_encoding.stored(asked.data, new_references.datatype_of(kind), heap)
        shape = list(given.shape) if asked.shape is None else dtype_encoding.extents("shape", asked.shape)
        numbers = given.reshape(-1).view("<u8").tolist()
        targets = [heap[number - 1].decode("utf-8", "surrogateescape") if number else None for number in numbers]
        with self.lock:
            self.edits += 1
            self.writer.set_references(path, None, shape, targets)
            if track_order is not None:
                self.writer.set_tracked(path, track_order)
        return True

    def stored_path(self, name: str) -> str:
        """The path under which this task has defined a dataset: links are not followed."""
        return self.objects.found(name).path

    def discard(self, path: str) -> None:
        """Keeps it: what is written in parallel fails as a whole."""


class Tasking(Parallel):
    """A task of a parallel write, which ends with its fragment."""

    def __init__(self, writer: AnyWriter, path: str, number: int) -> None:
        self.number = number
        super().__init__(writer, path)

    def _left(self) -> str:
        return f"task {self.number} of '{self.path}' was not finished, so nothing of it was written: call finish()"

    def own_options(self, given: Mapping[str, Any], shape: ShapeLike | None) -> TaskOptions:
        unknown = given.keys() - {"region", "rows"}
        if unknown:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {unknown.pop()!r}")
        options: TaskOptions = {"rows": bool(given.get("rows"))}
        if given.get("region") is not None:
            options["region"] = box(given["region"], tuple(dtype_encoding.extents("shape", () if shape is None else shape)))
        return options

    def placed(self, asked: Asked, options: TaskOptions) -> tuple[Asked, Place]:
        """A definition without values for a dataset of which this task writes rows or a region, and where its values go.

        Args:
            asked: The arguments of `create_dataset`.
            options: `rows` and `region`.

        Returns:
            The definition, and the place: `...` is all of the dataset, and `None` are rows that are appended.
        """
        if options.get("rows"):
            shape = [0, *np.shape(asked.data)[1:]] if asked.data is not None else None if asked.shape is None else dtype_encoding.extents("shape", asked.shape)
            maxshape = asked.maxshape or [None, *(shape or [0])[1:]]
            return dataclasses.replace(asked, shape=shape, dtype=_dtype(asked), data=None, maxshape=maxshape), None
        if options.get("region") is not None and asked.data is not None:
            if asked.shape is None:
                raise InvalidInputError("a region needs the shape of the whole dataset")
            return dataclasses.replace(asked, dtype=_dtype(asked), data=None), slices(options["region"])
        return asked, Ellipsis

    def open_dataset(self, path: str, region: Region | None = None) -> bool:
        """Opens a dataset of the plan for writing, if it is one that was not opened yet.

        Args:
            path: Path of the dataset.
            region: The part that this task writes.

        Returns:
            Whether it was opened.
        """
        with self.lock:
            is_planned = bool(self.writer.is_planned(path))
            if is_planned:
                self.writer.open_dataset(path, region)
                self.edits += 1
            return is_planned

    def region(self, path: str) -> Region | None:
        """The part of a dataset that this task writes; `None` if it may write any."""
        return self.writer.definition(path).region

    def finish(self) -> bytes:
        """Completes the subfile.

        Returns:
            The fragment.
        """
        self._unclosed.detach()
        self._closed = True
        fragment = self.writer.finish()
        assert isinstance(fragment, bytes)  # a task returns one
        return fragment

    def end(self, is_error: bool) -> None:
        """Discards the task unless it was finished; without an error that is a warning."""
        if not is_error:
            self._unclosed()
        self.abandon()

    def close(self) -> NoReturn:
        raise InvalidInputError("a task is not closed: call finish() of the task, and commit() of the plan", self.path)


class Planning(Parallel):
    """A plan of a parallel write: what all tasks have in common."""

    def __init__(self, writer: PlanWriter, path: str) -> None:
        super().__init__(writer, path)
        self._unclosed.detach()

    def own_options(self, given: Mapping[str, Any], shape: ShapeLike | None) -> TaskOptions:
        return {}

    def create_given(self, path: str, asked: Creation, track_order: bool | None) -> bool:
        """Creates a dataset of references.

        Raises:
            UnsupportedError: It is another one: datasets are a matter of tasks, or of `WritePlan.create_dataset`.
        """
        if not super().create_given(path, asked, track_order):
            raise UnsupportedError(f"values of dataset {path!r} in a plan: let tasks write them", self.path, path)
        return True

    def close(self) -> None:
        """Nothing is open."""


def box(key: Key, shape: tuple[int, ...]) -> Region:
    """Start and count of what a key selects without steps."""
    selected = indexing_keys.select(key, shape)
    if any(not isinstance(axis, tuple) or axis[2] != 1 for axis in selected.axes):
        raise UnsupportedError("regions of masks, lists or steps: give slices without")
    return [axis[0] for axis in selected.axes], list(selected.box)


def slices(box: Region) -> tuple[slice, ...]:
    """A box as a key."""
    return tuple(slice(start, start + count) for start, count in zip(*box, strict=True))


def _dtype(asked: Creation) -> object:
    if asked.dtype is not None or asked.data is None:
        return asked.dtype
    array = np.asarray(asked.data)
    return str if array.dtype.kind in "UO" else array.dtype
