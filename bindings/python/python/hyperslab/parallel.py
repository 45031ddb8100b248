"""Parallel: many writers, a subfile each, one file to the reader; plan, tasks, fragments, commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

from . import _native, selecting
from .errors import InvalidInputError, UnsupportedError
from .writing import NewDataset, NewGroup


class Subfile(NamedTuple):
    """A subfile of a commit."""

    name: str
    bytes: int
    task: int


class Committed(NamedTuple):
    """What a commit did: its subfiles, whether an earlier call had done it already, and what could not be
    tidied up."""

    subfiles: list[Subfile]
    repeated: bool
    left: list[str]


class Verification(NamedTuple):
    """What there is to say of a container; it is whole where there are no problems."""

    problems: list[str]
    commits: int
    subfiles: int
    subfile_bytes: int


def verify(path: Any) -> Verification:
    """Whether all subfiles of a master are there, whole, and belong together. Values are not read."""
    return Verification(*_native.verify(os.fspath(path)))


class Fused(NamedTuple):
    """What fusing did: the file's length, chunks copied as they were stored, bytes of values encoded anew."""

    bytes: int
    copied_chunks: int
    recoded_bytes: int


def fuse(master: Any, target: Any, mode: str = "x", *, progress: Callable[[int, int], object] | None = None) -> Fused:
    """Makes one ordinary file out of a master and its subfiles. Chunks that are the same in both are copied without
    decoding. `mode="w"` takes the place of a file that is there; `progress` hears bytes of values done and in all."""
    if mode not in ("w", "x"):
        raise InvalidInputError(f"mode {mode!r} is not known: give w (replace) or x (there must be none)", "InvalidInput")
    return Fused(*_native.fuse(os.fspath(master), os.fspath(target), mode == "w", progress))


class TaskGroup(NewGroup):
    """A group in a task."""

    def _more(self, given: dict[str, Any], shape: list[int] | None) -> dict[str, Any]:
        unknown = given.keys() - {"region", "rows"}
        if unknown:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {unknown.pop()!r}")
        options: dict[str, Any] = {"rows": bool(given.get("rows"))}
        if given.get("region") is not None:
            selected = selecting.select(given["region"], tuple(shape or ()))
            if any(not isinstance(axis, tuple) or axis[2] != 1 for axis in selected.axes):
                raise UnsupportedError("regions of masks, lists or steps: give slices without", "Unsupported")
            options["region"] = [axis[0] for axis in selected.axes], list(selected.box)
        return options

    def create_dataset(self, path: str, shape: Any = None, dtype: Any = None, data: Any = None, **options: Any) -> NewDataset:
        """A dataset of the whole container, defined alike by every task that writes to it: `shape` is the whole.

        `region=np.s_[100:200]` says which part this task writes; its subfile then holds just that. Without, it may
        write any part. `rows=True` (of a shape that begins with 0) makes rows of the task's own, to be added with
        `append`; the commit puts them behind those of the tasks before."""
        if options.get("rows") and data is not None:
            made = super().create_dataset(path, (0, *_shape(data)[1:]), dtype if dtype is not None else _dtype(data), **options)
            made.append(data)
            return made
        if options.get("region") is not None and data is not None:
            if shape is None:
                raise InvalidInputError("a region needs the shape of the whole dataset", "InvalidInput")
            made = super().create_dataset(path, shape, dtype if dtype is not None else _dtype(data), **options)
            made[options["region"]] = data
            return made
        return super().create_dataset(path, shape, dtype, data, **options)


def _dtype(data: Any) -> Any:
    import numpy as np

    array = np.asarray(data)
    return str if array.dtype.kind in "UO" else array.dtype


def _shape(data: Any) -> tuple[int, ...]:
    import numpy as np

    return np.shape(data)


class Task(TaskGroup):
    """One writer's part. `finish()` gives the fragment to hand to `WritePlan.commit`; a task that is not finished
    leaves nothing."""

    def __init__(self, native: _native.Task, number: int) -> None:
        super().__init__(native, "/")
        self.number = number

    def finish(self) -> bytes:
        """Ends the subfile and gives the fragment; nothing of it is visible yet."""
        fragment: bytes = self._writer.finish()
        return fragment

    def abort(self) -> None:
        """Gives the task up."""
        self._writer.abort()

    def __enter__(self) -> Task:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Gives up what was not finished."""
        self.abort()

    def __repr__(self) -> str:
        return f"<task {self.number}>"


class WritePlan:
    """A parallel write of one file. Made once; goes to writers by pickle or as `bytes(plan)`."""

    def __init__(self, path: Any, mode: str = "create", *, alignment: int | None = None) -> None:
        self._native = _native.WritePlan(os.fspath(path), mode, alignment)

    @classmethod
    def from_bytes(cls, data: bytes) -> WritePlan:
        """The plan of `bytes(plan)`."""
        plan = cls.__new__(cls)
        plan._native = _native.WritePlan.decode(data)
        return plan

    def __bytes__(self) -> bytes:
        return self._native.encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return WritePlan.from_bytes, (bytes(self),)

    @property
    def path(self) -> str:
        """The file that readers will open."""
        return str(self._native.path)

    @property
    def id(self) -> str:
        """What identifies this write."""
        return self._native.id

    def task(self, number: int, *, threads: int | None = None) -> Task:
        """Begins the task with this number, or another attempt at it. Rows that tasks append follow each other in
        the order of the numbers."""
        return Task(self._native.task(number, threads), number)

    def commit(self, fragments: Iterable[bytes]) -> Committed:
        """Makes what the tasks wrote visible, all at once. Two tasks that contradict each other, or a file that was
        changed since the plan was made, are a `ConflictError`, and nothing has changed. A commit that was done
        already, by a call that was killed say, recognises itself."""
        subfiles, repeated, left = self._native.commit([bytes(fragment) for fragment in fragments])
        return Committed([Subfile(*subfile) for subfile in subfiles], repeated, left)

    def abort(self) -> None:
        """Gives the write up and removes what its tasks have written. May be called again."""
        self._native.abort()

    def __repr__(self) -> str:
        return f"<write plan {self.id} of {self.path}>"
