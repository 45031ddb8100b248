"""Collecting: small pieces of rows from several threads become long writes."""

from __future__ import annotations

import threading
from types import TracebackType

import numpy as np

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, BoolArray
from ..objects.dataset import Dataset

#: Windows of rows that are collected at the same time.
MAX_WINDOWS = 4


def row_form(dataset: Dataset) -> tuple[AnyDtype, tuple[int, ...]]:
    """The dtype and the shape of a row of a dataset whose rows can be collected.

    Raises:
        UnsupportedError: Its elements have no fixed size in memory, or it has no rows.
    """
    dtype = np.dtype(dataset.dtype)
    if dtype.hasobject or not dataset.shape:
        raise UnsupportedError(f"collecting rows of {dataset.name}, which has {'no rows' if not dataset.shape else 'elements of variable length'}")
    return dtype, tuple(dataset.shape[1:])


def window_rows(dataset: Dataset, row_bytes: int, window_bytes: int) -> int:
    """Rows of a window of about `window_bytes`: whole chunks, if one fits."""
    rows = max(window_bytes // max(row_bytes, 1), 1)
    chunk = dataset.chunks[0] if dataset.chunks else 1
    return max(rows // chunk, 1) * chunk if rows >= chunk else rows


def runs(filled: BoolArray) -> list[tuple[int, int]]:
    """First and last plus one of each run of rows that are there."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], filled, [False]]).astype(np.int8)))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]


class _Window:
    """Rows from `first` on, as far as they were handed in."""

    def __init__(self, first: int, rows: int, row: tuple[int, ...], dtype: AnyDtype) -> None:
        self.first = first
        self.values = np.empty((rows, *row), dtype)
        self.filled = np.zeros(rows, bool)
        self.left = rows


class Collector:
    """Collects small pieces of rows from several threads, and writes them in runs of whole chunks.

    Writing a few rows of a chunk at a time costs a call for each, and a filtered chunk is encoded again for each. Threads that
    share the rows of a dataset in turns hand their pieces to one collector instead. The rows are in the file when `close` returns
    or the `with` block ends. If it ends by an exception, rows that were not written yet are lost.

    Example:
        >>> with hs.create("x.h5") as f:
        ...     x = f.create_dataset("x", (10000, 64), "f4", chunks=(1000, 64), compression="zstd")
        ...     with hs.Collector(x) as rows, ThreadPoolExecutor(4) as pool:
        ...         list(pool.map(lambda n: rows.write(n, values(n)), range(10000)))
    """

    def __init__(self, dataset: Dataset, *, buffer_bytes: int = 64 << 20) -> None:
        """Collects rows of a dataset.

        Args:
            dataset: A dataset that is being written, of elements of fixed size.
            buffer_bytes: Memory for rows that are not written yet. If pieces come from more places than fit, windows are written
                before they are complete.

        Raises:
            UnsupportedError: The elements have variable length.
        """
        if buffer_bytes < 1:
            raise InvalidInputError("buffer_bytes must be at least 1")
        self._dataset = dataset
        self._dtype, self._row = row_form(dataset)
        row_bytes = self._dtype.itemsize * int(np.prod(self._row, dtype=np.int64))
        self._rows = window_rows(dataset, row_bytes, buffer_bytes // MAX_WINDOWS)
        self._lock = threading.Lock()
        #: In the order in which they were begun.
        self._windows: dict[int, _Window] = {}
        self._failure: BaseException | None = None
        self._closed = False

    def write(self, first: int, values: object) -> None:
        """Hands in rows. Any thread may call it.

        Args:
            first: Index of the first row.
            values: One or more rows: an array of the shape of a row, or with a dimension more.

        Raises:
            InvalidInputError: The rows do not fit the dataset, or one of them was handed in already; the collector is closed.

        Example:
            >>> rows.write(17, np.zeros(64))
        """
        piece = np.asarray(values, self._dtype)
        if piece.shape == self._row:
            piece = piece[None]
        if piece.shape[1:] != self._row:
            raise InvalidInputError(f"rows of shape {piece.shape[1:]} for {self._dataset.name}, whose rows have shape {self._row}")
        if first < 0 or first + len(piece) > self._dataset.shape[0]:
            raise InvalidInputError(f"rows {first} to {first + len(piece)} of {self._dataset.name}, which has {self._dataset.shape[0]}")
        done = 0
        while done < len(piece):
            number, at = divmod(first + done, self._rows)
            count = min(len(piece) - done, self._rows - at)
            for window in self._take(number, at, piece[done : done + count]):
                self._write(window)
            done += count

    def _take(self, number: int, at: int, piece: AnyArray) -> list[_Window]:
        """Takes rows of a window; returns the windows that are to be written now."""
        with self._lock:
            if self._closed:
                raise InvalidInputError(f"the collector of {self._dataset.name} is closed")
            if self._failure is not None:
                raise InvalidInputError(f"rows of {self._dataset.name} could not be written: {self._failure}") from self._failure
            ready = []
            window = self._windows.get(number)
            if window is None:
                if len(self._windows) >= MAX_WINDOWS:
                    ready.append(self._windows.pop(next(iter(self._windows))))
                start = number * self._rows
                window = self._windows[number] = _Window(start, min(self._rows, self._dataset.shape[0] - start), self._row, self._dtype)
            rows = slice(at, at + len(piece))
            if window.filled[rows].any():
                again = window.first + at + int(np.flatnonzero(window.filled[rows])[0])
                raise InvalidInputError(f"row {again} of {self._dataset.name} was handed in twice")
            window.values[rows] = piece
            window.filled[rows] = True
            window.left -= len(piece)
            if window.left == 0:
                ready.append(self._windows.pop(number))
            return ready

    def _write(self, window: _Window) -> None:
        try:
            for first, end in runs(window.filled):
                self._dataset[window.first + first : window.first + end] = window.values[first:end]
        except BaseException as error:
            with self._lock:
                self._failure = error
            raise

    def close(self) -> None:
        """Writes what is left.

        Raises:
            InvalidInputError: Rows could not be written, now or before.

        Example:
            >>> rows.close()
        """
        with self._lock:
            self._closed = True
            left, self._windows = list(self._windows.values()), {}
        for window in left:
            self._write(window)
        if self._failure is not None:
            raise InvalidInputError(f"rows of {self._dataset.name} could not be written: {self._failure}") from self._failure

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Writes what is left, unless the block ended by an exception."""
        if kind is None:
            self.close()
        else:
            with self._lock:
                self._closed, self._windows = True, {}
