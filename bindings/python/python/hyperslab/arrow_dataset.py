"""Arrow dataset: the door through which DuckDB and Polars push columns and predicates into our scan."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from .table import Table, _batches


METADATA_COLUMNS = ("_row", "_file")


class ScanDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no stubs
    """A scan as a `pyarrow.dataset.Dataset`. The predicate is pushed as far as the core
    understands it, then pyarrow evaluates it again, so that the rows are exact."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> ds.Scanner:
        table = self._table
        schema = table.schema
        own = table._expression
        if own is not None:
            filter = own if filter is None else filter & own
        # The table's own expression may speak of columns that the table does not show.
        reach = schema if own is None else pa.schema(table._replan(columns=self._reachable(str(own))))
        chosen = list(schema.names) if columns is None else columns
        needed: set[str] | None = set(chosen) if isinstance(chosen, list) else None
        pushed: bytes | None = None
        if filter is not None:
            # A limit is of the table, before the engine's filter: then nothing may be pushed below it.
            if table._options.get("limit") is None:
                try:
                    pushed = bytes(filter.to_substrait(reach))
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    pushed = None  # pyarrow evaluates what Substrait cannot say
            if needed is not None:
                words = str(filter)
                needed |= {name for name in reach.names if name in words}
        names = [n for n in reach.names if needed is None or n in needed] or reach.names[:1]
        plan = table._replan(columns=names, substrait=pushed)
        reader = pa.RecordBatchReader.from_batches(pa.schema(plan), _batches(plan.read()))
        kept = {k: v for k, v in options.items() if k in ("use_threads", "memory_pool")}
        return ds.Scanner.from_batches(reader, columns=chosen, filter=filter, **kept)

    def _reachable(self, words: str) -> list[str]:
        """All columns, and the metadata columns that are shown or spoken of."""
        shown = self._table.schema.names
        everything = list(pa.schema(self._table._replan(columns=None)).names)
        extra = [name for name in METADATA_COLUMNS if (name in shown or name in words) and name not in everything]
        return extra + everything

    def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        return self.scanner(columns, filter, **options).to_batches()

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.scanner(columns, filter, **options).head(num_rows)

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.to_table(columns, filter, **options).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        return int(self.scanner(None, filter, **options).count_rows())
