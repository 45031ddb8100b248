"""Subfiles for xarray: variables that tasks write side by side, each task its part into a subfile of its own."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base.errors import CancelledError, InvalidInputError
from ..base.threads import in_order
from ..base.type_aliases import AnyArray
from ..netcdf.plan import NetcdfPlan, NetcdfTask

if TYPE_CHECKING:
    import xarray

#: Variables up to this size go into the master, as long as all of them together stay below the second limit.
_SMALL_BYTES = 64 << 10
_MASTER_BYTES = 8 << 20
#: Elements of text that may go into the master: how long they are is not known before they are encoded.
_SMALL_TEXTS = 1024
#: A task computes and writes this many bytes of a variable at a time.
_BLOCK_BYTES = 64 << 20


class Deferred(NamedTuple):
    """A variable that tasks write: its path, the encoded variable of xarray, the dimension that is cut, the indexes where parts end,
    and the function that makes stored values of encoded ones."""

    path: str
    variable: xarray.Variable
    axis: int
    bounds: list[int]
    stored: Callable[[AnyArray], AnyArray]


class Subfiles:
    """The variables of a dataset that go into subfiles."""

    def __init__(self, count: int) -> None:
        """With `count` subfiles.

        Raises:
            InvalidInputError: The count is not positive.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidInputError(f"subfiles={count!r} is not a number of subfiles: give 1 or more")
        self._count, self._master_bytes = count, 0
        #: Set when a part has failed, or the user has interrupted: other parts end after the block that they write.
        self._stopped = threading.Event()
        self._deferred: list[Deferred] = []

    def takes(self, variable: xarray.Variable) -> bool:
        """Whether a variable goes into subfiles. Small ones are values of the master."""
        if not variable.ndim or not variable.size:
            return False
        is_small = variable.size <= _SMALL_TEXTS if variable.dtype.kind == "O" else variable.nbytes <= _SMALL_BYTES
        if is_small and self._master_bytes + variable.nbytes <= _MASTER_BYTES:
            self._master_bytes += variable.nbytes
            return False
        return True

    def add(self, path: str, variable: xarray.Variable, chunks: tuple[int, ...] | None, stored: Callable[[AnyArray], AnyArray]) -> None:
        """Cuts a variable along the first dimension that has enough chunks (rows, without chunks) for all subfiles, or else the one
        that has the most."""
        steps = chunks or (1,) * variable.ndim
        blocks = [math.ceil(extent / step) for extent, step in zip(variable.shape, steps, strict=True)]
        axis = next((axis for axis, count in enumerate(blocks) if count >= self._count), int(np.argmax(blocks)))
        bounds = [min(blocks[axis] * part // self._count * steps[axis], variable.shape[axis]) for part in range(self._count)]
        self._deferred.append(Deferred(path, variable, axis, [*bounds, variable.shape[axis]], stored))

    def write(self, plan: NetcdfPlan, threads: int | None) -> None:
        """Writes all parts in tasks, several at a time, and commits them. If a part fails, the plan is aborted."""
        plan.begin()
        workers = min(self._count, threads or os.cpu_count() or 1)
        try:
            tasks = (partial(self._task, plan, part) for part in range(self._count))
            fragments = list(in_order(tasks, workers, self._count, stop=self._stopped.set))
        except BaseException:
            plan.abort()
            raise
        plan.commit(fragments)

    def _task(self, plan: NetcdfPlan, part: int) -> bytes:
        task = plan.task(part, threads=1)
        with task:
            for deferred in self._deferred:
                first, stop = deferred.bounds[part : part + 2]
                if first < stop:
                    self._write_part(task, deferred, first, stop)
            return task.finish()

    def _write_part(self, task: NetcdfTask, deferred: Deferred, first: int, stop: int) -> None:
        """Computes and writes the indexes `first` to `stop` of a variable, some chunks at a time."""

        def along(start: int, end: int) -> tuple[slice, ...]:
            parts = [slice(0, extent) for extent in deferred.variable.shape]
            parts[deferred.axis] = slice(start, end)
            return tuple(parts)

        target = task.variable(deferred.path, along(first, stop))
        step = target.chunks[deferred.axis] if target.chunks else 1
        for start, end in _blocks(first, stop, step, deferred):
            if self._stopped.is_set():
                raise CancelledError("another part of the dataset was not written")
            values = deferred.variable[along(start, end)].values
            target[along(start, end)] = deferred.stored(values)


def _blocks(first: int, stop: int, step: int, deferred: Deferred) -> Iterator[tuple[int, int]]:
    bytes_of_index = max(deferred.variable.nbytes // deferred.variable.shape[deferred.axis], 1)
    length = max(_BLOCK_BYTES // bytes_of_index // step, 1) * step
    for start in range(first, stop, length):
        yield start, min(start + length, stop)
