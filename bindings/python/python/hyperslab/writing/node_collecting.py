"""Node collecting: the processes of a node hand rows to one of them through shared memory, and it writes them in long runs.

The first process of each node writes; the others never touch the file. Each process keeps its rows until they are a share of the
window, and then joins a round, which is one `allgather` of the node: each process says which rows it has, and copies those that are
in the window to their places in shared memory. When rows are left that are not, or the window is full, its first process writes it.
A process that has left the block takes part in rounds, with the rows that it has left, until all have left.

Processes that wait sleep. MPI's blocking calls spin, and the process that writes and compresses needs the cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ..base.errors import CancelledError, InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, BoolArray, Int64Array, UInt8Array
from ..objects.dataset import Dataset
from .collecting import row_form, runs, window_rows
from .parallel import Task

Sent = TypeVar("Sent")
#: Bytes of rows that a process keeps before it joins a round: they fit into the processor's caches, and rounds cost little next to them.
SHARE_BYTES = 1 << 20
SHARE_CHUNKS = 4
#: How long a process sleeps at most before it looks again.
MAX_PAUSE_SECONDS = 5e-4


class _Pieces:
    """Rows of one dataset that a process still has to copy to the shared window, in memory that is used again."""

    def __init__(self, dtype: AnyDtype, row: tuple[int, ...]) -> None:
        self._rows: Int64Array = np.empty(0, np.int64)
        self._values: AnyArray = np.empty((0, *row), dtype)
        self._count = 0

    def add(self, first: int, piece: AnyArray) -> None:
        """Copies rows from `first` on."""
        end = self._count + len(piece)
        if end > len(self._rows):
            longer = max(end, 2 * len(self._rows))
            rows, values = np.empty(longer, np.int64), np.empty((longer, *self._values.shape[1:]), self._values.dtype)
            rows[: self._count], values[: self._count] = self.rows, self.values
            self._rows, self._values = rows, values
        self._rows[self._count : end] = np.arange(first, first + len(piece))
        self._values[self._count : end] = piece
        self._count = end

    def keep(self, is_kept: BoolArray) -> None:
        """Forgets the other rows."""
        count = int(np.count_nonzero(is_kept))
        self._rows[:count], self._values[:count] = self.rows[is_kept], self.values[is_kept]
        self._count = count

    @property
    def rows(self) -> Int64Array:
        """The index of each row."""
        return self._rows[: self._count]

    @property
    def values(self) -> AnyArray:
        """The rows, in the same order."""
        return self._values[: self._count]


def sleep_until_all(comm: Communicator) -> None:
    """Returns when all processes have come here."""
    request, pause = comm.Ibarrier(), 1e-5
    while not request.Test():
        time.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_SECONDS)


class Request(Protocol):
    """What a call that does not block returns."""

    def Test(self) -> bool: ...


class Communicator(Protocol):
    """The part of a communicator of mpi4py that is used here."""

    def Get_size(self) -> int: ...

    def Ibarrier(self) -> Request: ...

    def allgather(self, sendobj: Sent) -> list[Sent]: ...

    def bcast(self, obj: Sent, root: int) -> Sent: ...


class Form(NamedTuple):
    """What all processes know of a dataset."""

    total: int
    dtype: AnyDtype
    #: The shape of a row.
    row: tuple[int, ...]
    window_rows: int
    #: Bytes of a row of chunks.
    chunk_bytes: int


#: First and last plus one of each run of rows, by dataset.
_Runs = dict[str, Int64Array]


class NodeCollector:
    """The rows of the processes of a node. `hyperslab.mpi.collect` makes one."""

    def __init__(self, node: Communicator, task: Task | None, names: dict[str, Form], buffer: UInt8Array) -> None:
        self._node, self._task, self._buffer = node, task, buffer
        #: Rows of the dataset, dtype, shape of a row, rows of a window, bytes of a row of chunks, by name.
        self._datasets = names
        # If processes write at places far apart, a round of one of them should have some whole chunks.
        wanted = max([SHARE_BYTES, *(SHARE_CHUNKS * chunk_bytes for *_, chunk_bytes in names.values())])
        self._share = max(min(len(buffer) // node.Get_size(), wanted), 1)
        self._pieces: dict[str, _Pieces] = {}
        self._bytes = 0
        #: The window.
        self._name = ""
        self._first = 0
        self._filled = np.zeros(0, bool)
        #: Whether there is no further round, for any process of the node.
        self._is_over = False
        self._has_failed = False

    def write(self, name: str, first: int, values: object) -> None:
        """Hands in rows. The processes need not call it equally often, but it may wait for the others.

        Args:
            name: The dataset.
            first: Index of the first row.
            values: One or more rows: an array of the shape of a row, or with a dimension more.

        Raises:
            InvalidInputError: The rows do not fit the dataset, or a row was handed in twice.
            CancelledError: Another process failed.

        Example:
            >>> rows.write("x", 17, np.zeros(64))
        """
        if name not in self._datasets:
            raise InvalidInputError(f"there is no dataset {name!r}: create it in create=")
        total, dtype, row, *_ = self._datasets[name]
        piece = np.asarray(values, dtype)
        if piece.shape == row:
            piece = piece[None]
        if piece.shape[1:] != row or first < 0 or first + len(piece) > total:
            raise InvalidInputError(f"rows {first} to {first + len(piece)} of shape {piece.shape[1:]} for {name}, which has {total} rows of shape {row}")
        if self._is_over:
            raise InvalidInputError("the block of this collector has ended, or a process has failed")
        if not len(piece):
            return
        if name not in self._pieces:
            self._pieces[name] = _Pieces(dtype, row)
        self._pieces[name].add(first, piece)
        self._bytes += piece.nbytes
        while self._bytes >= self._share:
            self._round(False)

    def leave(self, *, failed: bool) -> None:
        """Takes part until all processes of the node have left; the last rows are then written.

        Raises:
            CancelledError: Another process failed.
        """
        try:
            while not self._is_over:
                self._round(True, failed)
            if self._has_failed and not failed:
                raise CancelledError("another process of this node failed: nothing was written")
        finally:
            # The memory is about to be freed.
            self._buffer = np.zeros(0, np.uint8)

    def _round(self, leaving: bool, failed: bool = False) -> None:
        """One round: copies rows of this process to the window, and writes the window if it is time."""
        mine: _Runs = {name: _runs_of(pieces.rows) for name, pieces in self._pieces.items() if len(pieces.rows)}
        sleep_until_all(self._node)
        everyone: list[tuple[_Runs, bool, bool]] = self._node.allgather((mine, leaving, failed))
        if any(failed for *_, failed in everyone):
            self._is_over = self._has_failed = True
            if not leaving:
                raise CancelledError("another process of this node failed: nothing was written")
            return
        if not any(given for given, *_ in everyone):
            self._flush()
            self._is_over = all(leaving for _, leaving, _ in everyone)
            return
        if not self._name:
            self._name, self._first = min((name, int(found[:, 0].min())) for given, *_ in everyone for name, found in given.items())
            total, _, _, rows, _ = self._datasets[self._name]
            self._first -= self._first % rows
            self._filled = np.zeros(min(rows, total - self._first), bool)
        is_complete = self._mark([given for given, *_ in everyone])
        self._copy()
        if not is_complete or self._filled.all():
            self._flush()

    def _mark(self, everyone: list[_Runs]) -> bool:
        """Marks the rows that are copied in this round; returns whether these are all that the processes have."""
        end = self._first + len(self._filled)
        is_complete = all(name == self._name for mine in everyone for name in mine)
        found = np.concatenate([mine[self._name] for mine in everyone if self._name in mine] or [np.empty((0, 2), np.int64)])
        inside = np.clip(found, self._first, end) - self._first
        is_complete &= bool((inside + self._first == found).all())
        lengths = inside[:, 1] - inside[:, 0]
        # The rows of all runs: each run's first row, and its distance from there.
        rows = np.repeat(inside[:, 0] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        again = rows[self._filled[rows]]
        if not len(again):
            self._filled[rows] = True
            if len(rows) > 1:
                sorted_rows = np.sort(rows)
                again = sorted_rows[1:][sorted_rows[1:] == sorted_rows[:-1]]
        if len(again):
            # Every process raises it.
            self._is_over = self._has_failed = True
            raise InvalidInputError(f"row {self._first + int(again.min())} of {self._name} was handed in twice")
        return is_complete

    def _copy(self) -> None:
        """Copies the rows of this process that are in the window, and keeps the others."""
        pieces = self._pieces.get(self._name)
        if pieces is None:
            return
        is_inside = (pieces.rows >= self._first) & (pieces.rows < self._first + len(self._filled))
        values = pieces.values if is_inside.all() else pieces.values[is_inside]
        self._view()[pieces.rows[is_inside] - self._first] = values
        self._bytes -= values.nbytes
        pieces.keep(~is_inside)

    def _view(self) -> AnyArray:
        _, dtype, row, *_ = self._datasets[self._name]
        count = len(self._filled) * int(np.prod(row, dtype=np.int64))
        return np.frombuffer(self._buffer, dtype, count).reshape(len(self._filled), *row)

    def _flush(self) -> None:
        """Writes the window. Every process of the node calls it."""
        if not self._name:
            return
        # The first process reads when all copies are made, and the others go on when it has written.
        sleep_until_all(self._node)
        failure: Exception | None = None
        if self._task is not None:
            try:
                view = self._view()
                for first, end in runs(self._filled):
                    self._task.dataset(self._name)[self._first + first : self._first + end] = view[first:end]
            except Exception as error:  # the others must learn of it, or wait forever
                failure = error
        sleep_until_all(self._node)
        failure = self._node.bcast(failure, 0)
        self._name = ""
        if failure is not None:
            self._is_over = self._has_failed = True
            raise failure


def _runs_of(rows: Int64Array) -> Int64Array:
    """Runs of the rows in the order in which they were handed in; a row that is there twice is in two runs."""
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
    ends = np.append(starts[1:], len(rows)) - 1
    return np.stack([rows[starts], rows[ends] + 1], axis=1)


def forms_of(task: Task, create: Callable[[Task], object], datasets: list[str], buffer_bytes: int) -> dict[str, Form] | Exception:
    """What all processes must know of the datasets, or why they cannot be written."""
    try:
        create(task)
        return {name: _form(task.dataset(name), buffer_bytes) for name in datasets}
    except Exception as error:
        return error


def body_of(node: Communicator, task: Task | None, forms: dict[str, Form] | Exception, buffer: UInt8Array) -> Iterator[NodeCollector]:
    """The part of a process: the block, and rounds until all processes of the node have left theirs."""
    if isinstance(forms, Exception):
        raise forms
    collector = NodeCollector(node, task, forms, buffer)
    try:
        yield collector
    except BaseException:
        collector.leave(failed=True)
        raise
    collector.leave(failed=False)


def _form(dataset: Dataset, buffer_bytes: int) -> Form:
    dtype, row = row_form(dataset)
    row_bytes = dtype.itemsize * int(np.prod(row, dtype=np.int64))
    if row_bytes > buffer_bytes:
        raise InvalidInputError(f"a row of {dataset.name} has {row_bytes} bytes, and buffer_bytes is {buffer_bytes}")
    chunk_rows = dataset.chunks[0] if dataset.chunks else 1
    return Form(dataset.shape[0], dtype, row, window_rows(dataset, row_bytes, buffer_bytes), chunk_rows * row_bytes)
