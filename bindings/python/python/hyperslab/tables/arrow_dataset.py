"""Arrow dataset: the interface through which DuckDB and Polars push columns and predicates into a scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from .. import _native
from ..base.errors import NotFoundError
from ..base.type_aliases import AnyArray
from ..values.batch_reader import BatchReader, own_errors
from .scan_request import ScanRequest

#: Names of columns, or expressions by the names of what they make; all columns if it is `None`.
Columns = Sequence[str] | Mapping[str, ds.Expression] | None
METADATA_COLUMNS = ("_row", "_file")

# Threads of Arrow make static objects in the first scan, and a child that is forked meanwhile would wait for them forever. Forks wait for
# this import.
ds.Scanner.from_batches([pa.record_batch({"x": [0]})], schema=pa.schema({"x": pa.int64()})).to_table()


class Pushed(NamedTuple):
    """A scan, and the expression that is still to be evaluated on its batches."""

    plan: _native.Plan
    filter: ds.Expression | None


class ScanDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no stubs
    """A scan as a `pyarrow.dataset.Dataset`. The predicate is pushed as far as the core
    understands it, then pyarrow evaluates it again, so that the rows are exact."""

    def __init__(self, request: ScanRequest, schema: pa.Schema) -> None:
        self._request, self._columns = request, schema
        #: Scans that were begun, for servers that cancel them; `None` keeps none.
        self.scans: list[_native.Reader] | None = None

    def cancel_scans(self) -> None:
        """Cancels all scans that were begun: engines notice an interrupt only between two batches, and a scan may find none for long."""
        for scan in tuple(self.scans or ()):
            scan.cancel()

    @property
    def schema(self) -> pa.Schema:
        return self._columns

    def scanner(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner:
        return self._scan(columns, filter, options)[0]

    def _scan(self, columns: Columns, filter: ds.Expression | None, options: dict[str, object]) -> tuple[ds.Scanner, _native.Reader]:
        """A scanner, and the scan that it reads as a stream: Arrow reads it on its own threads, which must not enter Python."""
        chosen = list(self._columns.names) if columns is None else columns
        pushed = self.pushed(chosen, filter)
        scan = self._begun(pushed.plan)
        kept = {k: v for k, v in options.items() if k in ("use_threads", "memory_pool")}
        return ds.Scanner.from_batches(pa.RecordBatchReader.from_stream(scan), columns=chosen, filter=pushed.filter, **kept), scan

    def _begun(self, plan: _native.Plan) -> _native.Reader:
        """A scan that begins, and can be cancelled."""
        scan = plan.read()
        if self.scans is not None:
            self.scans.append(scan)
        return scan

    def pushed(self, columns: Columns, filter: ds.Expression | None) -> Pushed:
        """The scan of `columns` with as much of `filter` (and the table's own expression) as the core understands."""
        request = self._request
        own = request.expression
        if own is not None:
            filter = own if filter is None else filter & own
        # The table's own expression may speak of columns that the table does not show.
        reach = self._columns if own is None else request.schema(columns=self._reachable(str(own)))
        needed: set[str] | None = set(columns) if isinstance(columns, list) else None
        predicate: bytes | None = None
        if filter is not None:
            try:
                substrait = bytes(filter.to_substrait(reach))
                # A limit is of the table, before the engine's filter: then nothing may be pushed below it.
                predicate = substrait if request.limit is None else None
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                if "No match for FieldRef" in str(error):
                    what = str(error).splitlines()[0].split(" in ")[0]
                    raise NotFoundError(f"predicate: {what}; there are: {', '.join(reach.names)}", object=request.path) from None
                # Otherwise pyarrow evaluates what Substrait cannot say.
            if needed is not None:
                words = str(filter)
                needed |= {name for name in reach.names if name in words}
        names = [n for n in reach.names if needed is None or n in needed] or reach.names[:1]
        return Pushed(request.plan(columns=names, substrait=predicate), filter)

    def _reachable(self, words: str) -> list[str]:
        """All columns, and the metadata columns that are shown or spoken of."""
        shown = self._columns.names
        everything = list(self._request.schema(columns=None).names)
        extra = [name for name in METADATA_COLUMNS if (name in shown or name in words) and name not in everything]
        return extra + everything

    def get_fragments(self, filter: ds.Expression | None = None) -> Iterator[ScanFragment]:
        """The dataset as one fragment: a scan is parallel by itself."""
        yield ScanFragment(self, filter)

    def to_table(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> pa.Table:
        scanner, scan = self._scan(columns, filter, options)
        with own_errors(scan):
            return scanner.to_table()

    def to_batches(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> Iterator[pa.RecordBatch]:
        scanner, scan = self._scan(columns, filter, options)

        def batches() -> Iterator[pa.RecordBatch]:
            with own_errors(scan):
                yield from scanner.to_batches()

        return batches()

    def reader(self, columns: Columns = None) -> BatchReader:
        """The rows, batch by batch: all columns, or some."""
        scanner, scan = self._scan(columns, None, {})
        return BatchReader(scan, scanner.to_reader())

    def head(self, num_rows: int, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> pa.Table:
        scanner, scan = self._scan(columns, filter, options)
        with own_errors(scan):
            return scanner.head(num_rows)

    def take(self, indices: Sequence[int] | AnyArray | pa.Array, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> pa.Table:
        return self.to_table(columns, filter, **options).take(indices)

    def count_rows(self, filter: ds.Expression | None = None, **options: object) -> int:
        scanner, scan = self._scan(None, filter, options)
        with own_errors(scan):
            return int(scanner.count_rows())


class ScanFragment:
    """The one fragment of a `ScanDataset`, as DataFusion reads them."""

    def __init__(self, dataset: ScanDataset, filter: ds.Expression | None) -> None:
        self._dataset, self._filter = dataset, filter

    @property
    def physical_schema(self) -> pa.Schema:
        return self._dataset.schema

    def scanner(self, schema: pa.Schema | None = None, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner:
        both = self._filter if filter is None else filter if self._filter is None else self._filter & filter
        return self._dataset.scanner(columns, both, **options)

    def count_rows(self, filter: ds.Expression | None = None, **options: object) -> int:
        return int(self.scanner(None, None, filter, **options).count_rows())
