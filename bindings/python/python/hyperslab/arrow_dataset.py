"""Arrow dataset: the door through which DuckDB and Polars push columns and predicates into our scan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from .table import Table, _batches


class ScanDataset(ds.Dataset):
    """A scan as a `pyarrow.dataset.Dataset`. The predicate is pushed as far as the core
    understands it, then pyarrow evaluates it again, so that the rows are exact."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> ds.Scanner:
        schema = self._table.schema
        if self._table._expression is not None:
            filter = self._table._expression if filter is None else filter & self._table._expression
        pushed: bytes | None = None
        needed: set[str] | None = set(columns) if isinstance(columns, list) else None
        if filter is not None:
            # A limit is of the table, before the engine's filter: then nothing may be pushed below it.
            if self._table._options.get("limit") is None:
                try:
                    pushed = bytes(filter.to_substrait(schema))
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    pushed = None  # pyarrow evaluates what Substrait cannot say
            if needed is not None:
                words = str(filter)
                needed |= {name for name in schema.names if name in words}
        names = [n for n in schema.names if needed is None or n in needed] or schema.names[:1]
        plan = self._table._replan(columns=names, substrait=pushed)
        read = pa.schema(plan)
        reader = pa.RecordBatchReader.from_batches(read, _batches(plan.read()))
        kept = {k: v for k, v in options.items() if k in ("use_threads", "memory_pool")}
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter, **kept)

    def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        return self.scanner(columns, filter, **options).to_batches()

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.scanner(columns, filter, **options).head(num_rows)

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.to_table(columns, filter, **options).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        return self.scanner(None, filter, **options).count_rows()
