"""Datasources of Ray Data: tables by their splits, and datasets side by side. Tasks have paths, and no open file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask
from ray.data.extensions import ArrowTensorArray

from ..base.errors import InvalidInputError
from ..batching.arrow import as_numpy, record_batch
from ..batching.sources import DatasetSource, SideBySide, TextSource
from ..files.file import File, FileSet
from ..objects.dataset import Dataset
from ..tables.packing import packed, value_bytes
from ..tables.table import Split, Table

#: Maximum bytes of the rows of several datasets that a task reads at once.
BLOCK_BYTES = 64 << 20


class TableDatasource(Datasource):  # type: ignore[misc, unused-ignore]  # Ray is not installed where types are checked
    """The rows of a table."""

    def __init__(self, files: File | FileSet, path: str, where: str | None, columns: Sequence[str] | None, options: dict[str, Any]) -> None:
        super().__init__()
        if options.get("layout") is None and _is_array(files, path):
            options["layout"] = "rows"
        self._projection_map: dict[str, str] | None = None
        self._has_where = where is not None
        self._with_columns: Callable[[Sequence[str] | None], Table] = lambda columns: files.table(path, where=where, columns=columns, **options)
        self._table = self._with_columns(columns)

    def get_name(self) -> str:
        return "HDF5"

    def supports_projection_pushdown(self) -> bool:
        return True

    def _projected(self) -> Table:
        """The table with the columns that a later operator selects."""
        chosen = self._get_data_columns()
        if chosen is None:
            return self._table
        # A table has at least one column; Ray drops it.
        return self._with_columns(chosen or self._table.schema.names[:1])

    def estimate_inmemory_data_size(self) -> int | None:
        table = self._projected()
        rows = sum(split.rows for split in table.splits())
        return rows * sum(value_bytes(field.type) for field in table.schema)

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None) -> list[ReadTask]:
        table = self._projected()
        row_bytes = sum(value_bytes(field.type) for field in table.schema)
        schema = _with_tensors(table.schema.empty_table()).schema
        tasks = []
        for splits in packed(table.splits(parallelism), parallelism) or [[]]:
            rows = sum(split.rows for split in splits)
            metadata = _metadata(None if self._has_where else rows, rows * row_bytes)
            tasks.append(ReadTask(partial(_read_splits, splits, table.schema), metadata, schema=schema, per_task_row_limit=per_task_row_limit))
        return tasks


class DatasetsDatasource(Datasource):  # type: ignore[misc, unused-ignore]
    """The rows of several datasets of equal length."""

    def __init__(self, files: File | FileSet, paths: Mapping[str, str], raw: bool) -> None:
        super().__init__()

        def source(file: File, name: str, path: str) -> DatasetSource:
            found = file[path]
            if not isinstance(found, Dataset):
                raise InvalidInputError(f"'{path}' is not a dataset; give one path to read a group as a table", file.filename, path)
            try:
                return TextSource(name, found)
            except TypeError:
                return DatasetSource(name, found if raw else found.decoded)

        self._sources = [SideBySide({name: source(file, name, path) for name, path in paths.items()}) for file in files.files]
        first = self._sources[0]
        for number, other in enumerate(self._sources):
            if other.shape != first.shape:
                raise InvalidInputError(f"rows are {other.shape}, and {first.shape} in {files.files[0].filename}", files.files[number].filename)

    def get_name(self) -> str:
        return "HDF5"

    def estimate_inmemory_data_size(self) -> int | None:
        return int(sum(source.rows * source.row_bytes for source in self._sources))

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None) -> list[ReadTask]:
        schema = _with_tensors(pa.Table.from_batches([record_batch(self._sources[0].read(np.zeros(0, np.int64)))])).schema
        whole = max(sum(source.rows for source in self._sources), 1)
        tasks = []
        for source in self._sources:
            pickled = pickle.dumps(source)
            count = max(1, round(parallelism * source.rows / whole))
            # Tasks begin at chunk boundaries.
            targets = np.arange(count + 1) * source.rows // count
            edges = np.unique(source.edges[np.searchsorted(source.edges, targets)]).tolist()
            for start, end in pairwise(edges if len(edges) > 1 else [0, 0]):
                metadata = _metadata(end - start, int((end - start) * source.row_bytes))
                read = partial(_read_rows, pickled, start, end)
                tasks.append(ReadTask(read, metadata, schema=schema, per_task_row_limit=per_task_row_limit))
        return tasks


def _metadata(rows: int | None, size: int) -> BlockMetadata:
    return BlockMetadata(num_rows=rows, size_bytes=size, exec_stats=None, input_files=None)


def _is_array(files: File | FileSet, path: str) -> bool:
    """Whether it is a dataset of one file or all files whose rows are arrays."""
    found = files.files[0].get(path)
    return isinstance(found, Dataset) and len(found.shape) > 1 and found.dtype.names is None


def _read_splits(splits: Sequence[Split], schema: pa.Schema) -> Iterator[pa.Table]:
    # Ray takes the columns from a block, also of a task without rows.
    yield _with_tensors(schema.empty_table())
    for split in splits:
        # Ray runs tasks side by side, so each has one thread.
        for batch in split.batches(threads=1):
            yield _with_tensors(pa.Table.from_batches([batch]))


def _read_rows(pickled: bytes, start: int, end: int) -> Iterator[pa.Table]:
    # Here, because an error of Ray's own unpickling is not the error of this package.
    source: SideBySide = pickle.loads(pickled)
    step = max(1, int(BLOCK_BYTES // max(source.row_bytes, 1)))
    for first in range(start, max(end, start + 1), step):
        yield _with_tensors(pa.Table.from_batches([record_batch(source.read(np.arange(first, min(first + step, end))))]))


def _with_tensors(table: pa.Table) -> pa.Table:
    """Lists that were arrays as Ray's tensors."""
    for number, field in enumerate(table.schema):
        shape = (field.metadata or {}).get(b"shape")
        if shape is not None and pa.types.is_fixed_size_list(field.type) and pa.types.is_primitive(field.type.value_type):
            values = as_numpy(field.name, table.column(number)).reshape(len(table), *json.loads(shape))
            table = table.set_column(number, field.name, ArrowTensorArray.from_numpy(values))
    return table
