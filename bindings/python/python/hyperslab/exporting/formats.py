"""The formats that tables are exported to: each writes batches to an open file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pyarrow as pa

from ..base.errors import InvalidInputError
from ..values.python_values import python_rows
from .plain_values import plain

#: The command's name of standard output.
STANDARD_OUTPUT = "-"
#: Writes a batch.
Write = Callable[[pa.RecordBatch], None]
Maker = Callable[[BinaryIO, pa.Schema], contextlib.AbstractContextManager[Write]]


def format_of(out: str, given: str | None, *, option: str = "format=") -> str:
    """The name of the format of a file called `out`: as given, or by the ending of the name. Errors call the argument `option`."""
    names = [*STREAMS, HDF5, NETCDF]
    either = f"{', '.join(names[:-1])} or {names[-1]}"
    if given is not None and given not in names:
        raise InvalidInputError(f"{option}{given}: give {either}")
    if given is None and out == STANDARD_OUTPUT:
        raise InvalidInputError(f"- is standard output: add {option}{either}")
    if given is not None:
        return given
    found = [name for name in names if os.path.basename(out).endswith(f".{name}")]
    if not found:
        raise InvalidInputError(f"{out}: name it {', '.join(f'.{name}' for name in names[:-1])} or .{names[-1]}, or add {option.rstrip(' =')}")
    return found[0]


@contextlib.contextmanager
def _parquet(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    from pyarrow import parquet

    with parquet.ParquetWriter(out, schema) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _arrow(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    with pa.ipc.new_file(out, schema) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _arrow_stream(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    with pa.ipc.new_stream(out, schema) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _csv(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    from pyarrow import csv

    with csv.CSVWriter(out, schema) as writer:
        yield writer.write_batch


@contextlib.contextmanager
def _csv_gzip(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    with pa.CompressedOutputStream(pa.PythonFile(out, "w"), "gzip") as packed, _csv(packed, schema) as write:
        yield write


@contextlib.contextmanager
def _json_lines(out: BinaryIO, schema: pa.Schema) -> Iterator[Write]:
    def write(batch: pa.RecordBatch) -> None:
        for row in python_rows(batch):
            out.write(json.dumps(plain(row), ensure_ascii=False).encode() + b"\n")

    yield write


#: Written by `hyperslab.write_table` and `hyperslab.netcdf.tables.write_rows`, which make their files themselves.
HDF5, NETCDF = "h5", "nc"
#: The formats that are a stream of bytes, by the ending of a file's name.
STREAMS: dict[str, Maker] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "feather": _arrow,
    "arrows": _arrow_stream,
    "csv": _csv,
    "csv.gz": _csv_gzip,
    "jsonl": _json_lines,
}
#: Those that no terminal shows.
BINARY = frozenset([*STREAMS, HDF5, NETCDF]) - {"csv", "jsonl"}
