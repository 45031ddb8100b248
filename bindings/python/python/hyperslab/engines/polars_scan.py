"""Polars: a table as a lazy frame that reads what a query needs of it."""

from __future__ import annotations

import atexit
import inspect
import threading
import time
import weakref
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from ..base.errors import InvalidInputError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import FileTableOptions, Paths
from ..files.file import File, open
from ..tables.table import Table
from ..values.batch_reader import BatchReader
from .polars_predicate import pushed

if TYPE_CHECKING:
    import polars
    from typing_extensions import Unpack

#: How long the end of the process waits for threads of Polars at most.
MAX_WAIT_SECONDS = 2.0
#: Seconds without a thread of Polars in Python, after which all of them count as waiting for a consumer of their rows.
QUIET_SECONDS = 0.05
POLL_SECONDS = 0.002
_alive: weakref.WeakSet[Generator[polars.DataFrame, None, None]] = weakref.WeakSet()
_ending = threading.Event()


def _end() -> None:
    """Waits until the threads of Polars have left Python: one that comes back to an interpreter which is gone is unwound, and
    Rust does not survive that."""
    _ending.set()
    since = active = time.monotonic()
    while _alive and (now := time.monotonic()) < min(since + MAX_WAIT_SECONDS, active + QUIET_SECONDS):
        if any(inspect.getgeneratorstate(batches) == inspect.GEN_RUNNING for batches in list(_alive)):
            active = now
        time.sleep(POLL_SECONDS)


atexit.register(_end)


def scan_polars(source: Table | File | Paths, path: str | None = None, **options: Unpack[FileTableOptions]) -> polars.LazyFrame:
    """Makes a lazy frame of Polars of a table: a query reads the columns and rows that it needs, batch by batch.

    Columns, limits and conditions are pushed down: comparisons of numbers, texts, truth values and times with constants,
    `is_between`, `is_null`, and what `&` and `|` make of them. What cannot be pushed down Polars tests itself.

    Args:
        source: A table, an open file, or what `open` takes.
        path: A dataset or a group, with wildcards, as for `File.table`; not with a table.
        options: Other arguments of `File.table`.

    Returns:
        A lazy frame. It opens nothing again: it reads the files that are open.

    Raises:
        MissingExtraError: Polars is not installed: it comes with `pip install 'hyperslab[polars]'`.
        NotFoundError: There is no such object or column.
        polars.exceptions.ComputeError: The scan failed, when the frame is collected; its text has the error of this package.

    Example:
        >>> hs.scan_polars("profiles.nc", "/theta").filter(pl.col("depth") < 100).select("lat", "theta").collect()
    """
    require("scan_polars", "polars", "polars")
    import polars
    from polars.io.plugins import register_io_source

    if isinstance(source, Table):
        if path is not None or options:
            raise InvalidInputError("scan_polars of a table takes no path and no options: give them to `table`")
        table = source
    else:
        table = (source if isinstance(source, File) else open(source)).table(path, **options)
    schema = table.schema
    empty = polars.from_arrow(schema.empty_table())
    assert isinstance(empty, polars.DataFrame)  # a Series comes from arrays only

    def batches(columns: list[str] | None, predicate: polars.Expr | None, rows: int | None) -> Generator[polars.DataFrame, None, None]:
        # A limit is of the table, before the predicate: then nothing may be pushed below it.
        condition = None if predicate is None or rows is not None else pushed(predicate, schema)
        with _reader(table, columns, condition, rows) as reader:
            for batch in reader:
                if _ending.is_set():
                    return
                frame = polars.from_arrow(pa.Table.from_batches([batch]), rechunk=False)
                assert isinstance(frame, polars.DataFrame)
                yield frame if predicate is None else frame.filter(predicate)

    def read(columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, batch_rows: int | None) -> Iterator[polars.DataFrame]:
        made = batches(columns, predicate, rows)
        _alive.add(made)
        return made

    return register_io_source(read, schema=empty.schema)


def _reader(table: Table, columns: list[str] | None, condition: str | None, rows: int | None) -> BatchReader:
    """The batches of some columns, and at most some rows."""
    request = table.request
    names = list(table.schema.names) if columns is None else columns
    if request.expression is not None:
        # Its columns may be others than those that are wanted.
        return table.dataset().reader(names)
    if rows is not None:
        limit = rows if request.limit is None else min(rows, request.limit)
        return BatchReader(request.plan(columns=names, limit=limit).read())
    if condition is not None and request.limit is None:
        try:
            return BatchReader(request.narrowed(condition).plan(columns=names).read())
        except (InvalidInputError, UnsupportedError):
            pass  # Polars tests all rows
    return BatchReader(request.plan(columns=names).read())
