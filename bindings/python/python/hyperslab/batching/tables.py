"""Batch tables: the rows of a table, which are reached through its splits."""

from __future__ import annotations

import numpy as np

from ..base.errors import UnsupportedError
from ..base.type_aliases import Int64Array
from ..tables.table import Table
from .sources import MIN_BLOCK_BYTES
from .values import Values

#: Splits are as small as they get: some MiB, for they are made of the windows of a scan.
SPLIT_BYTES = MIN_BLOCK_BYTES


class TableSource:
    """The rows of a table. A split is read whole, so single rows of a table are not read at random."""

    no_exact: str | None = "rows of a table are read split by split: give order='block', or the datasets of its columns"

    def __init__(self, table: Table) -> None:
        self._splits = table.splits(target_bytes=SPLIT_BYTES)
        counts = [split.rows for split in self._splits]
        if sum(counts) != table.count():
            raise UnsupportedError(
                "batches of a table whose condition is tested row by row: how many rows a split has is known only after reading it. "
                "Read the numbers of the rows, table(columns=['_row']), and give batches of the datasets with weights, or write the rows to a new file"
            )
        self._starts = np.cumsum([0, *counts], dtype=np.int64)
        self.rows = int(self._starts[-1])
        self.edges: Int64Array = np.unique(self._starts)
        sample = table.head(64)
        self.row_bytes = max(sample.nbytes / max(sample.num_rows, 1), 1.0)
        self.chunk_bytes = int(max(counts, default=0) * self.row_bytes)
        self.chunk_rows = 1.0
        self.shape = {field.name: (str(field.type), ()) for field in table.schema}

    def read(self, rows: Int64Array) -> dict[str, Values]:
        """The rows of these numbers, which increase."""
        import pyarrow as pa

        places = np.searchsorted(rows, self._starts)
        parts = []
        for split, start, begin, end in zip(self._splits, self._starts, places, places[1:], strict=False):
            if begin == end:
                continue
            inside, read = rows[begin:end] - start, split.read(threads=1)
            whole = int(inside[-1]) - int(inside[0]) + 1 == len(inside)
            parts.append(read.slice(int(inside[0]), len(inside)) if whole else read.take(pa.array(inside)))
        found = pa.concat_tables(parts)
        return dict(zip(found.schema.names, found.columns, strict=True))
