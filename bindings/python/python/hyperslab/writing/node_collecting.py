"""Node collecting: the processes of a node hand rows to one of them through shared memory, and it writes them in long runs.

The first process of each node writes; the others never touch the file. Each process keeps its rows until they are a share of the
window, and then joins a round, which is one `allgather` of the node: each process says which rows it has, and copies those that are
in the window to their places in shared memory. When rows are left that are not, or the window is full, its first process writes it.
A process that has left the block takes part in rounds, with the rows that it has left, until all have left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import CancelledError, InvalidInputError
from .collecting import row_form, runs, window_rows


class _Pieces:
    """Rows of one dataset that a process still has to copy to the shared window."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        self.values: list[np.ndarray[Any, Any]] = []

    def joined(self) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, Any]]:
        """The index of each row, and the rows."""
        if len(self.rows) > 1:
            self.rows, self.values = [np.concatenate(self.rows)], [np.concatenate(self.values)]
        return self.rows[0], self.values[0]


#: First and last plus one of each run of rows, by dataset.
_Runs = dict[str, list[tuple[int, int]]]


class NodeCollector:
    """The rows of the processes of a node. `hyperslab.mpi.collect` makes one."""

    def __init__(self, node: Any, task: Any, names: dict[str, tuple[Any, ...]], buffer: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self._node, self._task, self._buffer = node, task, buffer
        #: Rows of the dataset, dtype, shape of a row, rows of a window, by name.
        self._datasets = names
        self._share = max(len(buffer) // node.Get_size(), 1)
        self._pieces: dict[str, _Pieces] = {}
        self._bytes = 0
        #: The window.
        self._name = ""
        self._first = 0
        self._filled = np.zeros(0, bool)
        #: Whether there is no further round, for any process of the node.
        self._is_over = False
        self._has_failed = False

    def write(self, name: str, first: int, values: Any) -> None:
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
        total, dtype, row, _ = self._datasets[name]
        piece = np.array(values, dtype)
        if piece.shape == row:
            piece = piece[None]
        if piece.shape[1:] != row or first < 0 or first + len(piece) > total:
            raise InvalidInputError(f"rows {first} to {first + len(piece)} of shape {piece.shape[1:]} for {name}, which has {total} rows of shape {row}")
        if self._is_over:
            raise InvalidInputError("the block of this collector has ended, or a process has failed")
        if not len(piece):
            return
        mine = self._pieces.setdefault(name, _Pieces())
        mine.rows.append(np.arange(first, first + len(piece)))
        mine.values.append(piece)
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
        mine: _Runs = {name: _runs_of(pieces.joined()[0]) for name, pieces in self._pieces.items()}
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
            self._name, self._first = min((name, first) for given, *_ in everyone for name, found in given.items() for first, _ in found)
            total, _, _, rows = self._datasets[self._name]
            self._first -= self._first % rows
            self._filled = np.zeros(min(rows, total - self._first), bool)
        is_complete = self._mark([given for given, *_ in everyone])
        self._copy()
        if not is_complete or self._filled.all():
            self._flush()

    def _mark(self, everyone: list[_Runs]) -> bool:
        """Marks the rows that are copied in this round; returns whether these are all that the processes have."""
        is_complete = True
        end = self._first + len(self._filled)
        for mine in everyone:
            is_complete &= all(name == self._name for name in mine)
            for first, last in mine.get(self._name, ()):
                is_complete &= self._first <= first and last <= end
                inside = slice(max(first, self._first) - self._first, max(min(last, end) - self._first, 0))
                if self._filled[inside].any():
                    # Every process raises it.
                    self._is_over = self._has_failed = True
                    again = self._first + inside.start + int(np.flatnonzero(self._filled[inside])[0])
                    raise InvalidInputError(f"row {again} of {self._name} was handed in twice")
                self._filled[inside] = True
        return is_complete

    def _copy(self) -> None:
        """Copies the rows of this process that are in the window, and keeps the others."""
        pieces = self._pieces.get(self._name)
        if pieces is None:
            return
        rows, values = pieces.joined()
        is_inside = (rows >= self._first) & (rows < self._first + len(self._filled))
        self._view()[rows[is_inside] - self._first] = values[is_inside]
        self._bytes -= values[is_inside].nbytes
        if is_inside.all():
            del self._pieces[self._name]
        else:
            pieces.rows, pieces.values = [rows[~is_inside]], [values[~is_inside]]

    def _view(self) -> np.ndarray[Any, Any]:
        _, dtype, row, _ = self._datasets[self._name]
        count = len(self._filled) * int(np.prod(row, dtype=np.int64))
        return np.frombuffer(self._buffer, dtype, count).reshape(len(self._filled), *row)

    def _flush(self) -> None:
        """Writes the window. Every process of the node calls it."""
        if not self._name:
            return
        # All copies are made before the first process reads them; `bcast` ends when it has written.
        self._node.Barrier()
        failure: Exception | None = None
        if self._task is not None:
            try:
                view = self._view()
                for first, end in runs(self._filled):
                    self._task.dataset(self._name)[self._first + first : self._first + end] = view[first:end]
            except Exception as error:  # the others must learn of it, or wait forever
                failure = error
        failure = self._node.bcast(failure, 0)
        self._name = ""
        if failure is not None:
            self._is_over = self._has_failed = True
            raise failure


def _runs_of(rows: np.ndarray[Any, np.dtype[np.int64]]) -> list[tuple[int, int]]:
    """Runs of the rows in the order in which they were handed in; a row that is there twice is in two runs."""
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2) != 1)
    ends = np.append(starts[1:], len(rows)) - 1
    return list(zip(rows[starts].tolist(), (rows[ends] + 1).tolist(), strict=True))


def forms_of(task: Any, create: Callable[[Any], object], datasets: list[str], buffer_bytes: int) -> dict[str, tuple[Any, ...]] | Exception:
    """What all processes must know of the datasets, or why they cannot be written."""
    try:
        create(task)
        return {name: _form(task.dataset(name), buffer_bytes) for name in datasets}
    except Exception as error:
        return error


def body_of(node: Any, task: Any, forms: dict[str, tuple[Any, ...]] | Exception, buffer: Any) -> Iterator[NodeCollector]:
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


def _form(dataset: Any, buffer_bytes: int) -> tuple[int, np.dtype[Any], tuple[int, ...], int]:
    dtype, row = row_form(dataset)
    row_bytes = dtype.itemsize * int(np.prod(row, dtype=np.int64))
    if row_bytes > buffer_bytes:
        raise InvalidInputError(f"a row of {dataset.name} has {row_bytes} bytes, and buffer_bytes is {buffer_bytes}")
    return dataset.shape[0], dtype, row, window_rows(dataset, row_bytes, buffer_bytes)
