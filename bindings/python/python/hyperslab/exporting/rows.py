"""Rows written to a file, a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

import pyarrow as pa

from ..base.type_aliases import Path
from ..tables.table import Table
from ..values.batch_reader import BatchReader
from .formats import HDF5, NETCDF, STREAMS, format_of
from .part_files import complete, removed_by_its_writer

#: Called with the number of rows written since the last call.
Advance = Callable[[int], None]


def write_rows(
    source: pa.RecordBatchReader | BatchReader,
    out: str,
    format: str,
    advance: Advance = lambda rows: None,
    storage_options: Mapping[str, object] | None = None,
) -> int:
    """Writes the rows of `source` to the file `out`, which appears when it is complete.

    Args:
        source: The batches.
        out: Path of the file, or its address in an object store.
        format: A name of `formats.STREAMS`, or `HDF5` or `NETCDF`.
        advance: Called with the number of rows written since the last call.
        storage_options: Options of the store of an address.

    Returns:
        The number of rows written.

    Raises:
        UnsupportedError: The format cannot hold a column.

    Example:
        >>> write_rows(table.batches(), "out.parquet", "parquet")
        1920
    """
    if format == NETCDF:
        from ..netcdf.tables import write_rows as write_netcdf

        with removed_by_its_writer():
            return write_netcdf(source, out, advance, storage_options)
    if format == HDF5:
        from ..writing.write_table import write_table

        with removed_by_its_writer():
            return write_table(_counted(source, advance), out, nulls="nan", storage_options=storage_options)
    with complete(out, storage_options) as part:
        return write_stream(part, format, source, advance)


def write_stream(file: BinaryIO, format: str, source: pa.RecordBatchReader | BatchReader, advance: Advance = lambda rows: None) -> int:
    """Writes the rows of `source` to an open file, in a format of `formats.STREAMS`.

    Args:
        file: The file, open for binary writing.
        format: The name of the format.
        source: The batches.
        advance: Called with the number of rows written since the last call.

    Returns:
        The number of rows written.

    Example:
        >>> write_stream(sys.stdout.buffer, "csv", table.batches())
    """
    rows = 0
    with STREAMS[format](file, source.schema) as write:
        for batch in source:
            write(batch)
            rows += batch.num_rows
            advance(batch.num_rows)
    return rows


def _counted(source: pa.RecordBatchReader | BatchReader, advance: Advance) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        for batch in source:
            yield batch
            advance(batch.num_rows)

    return pa.RecordBatchReader.from_batches(source.schema, batches())


def write_table(table: Table, out: Path, format: str | None, storage_options: Mapping[str, object] | None) -> int:
    """`Table.write`."""
    path = os.fspath(out)
    text = path if isinstance(path, str) else os.fsdecode(path)
    return write_rows(table.batches(), text, format_of(text, format), storage_options=storage_options)
