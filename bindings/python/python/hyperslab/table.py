"""Table: a scan of arrays as rows and columns, read when asked for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from . import _native, record_batches
from .arguments import check_count
from .arrow_dataset import ScanDataset
from .errors import InvalidInputError, OmittedColumnsWarning, UnsupportedError
from .scan_request import ScanRequest
from .sessions import session


class Split:
    """A unit of reading; goes to another process by pickle or as `bytes(split)`."""

    def __init__(self, data: bytes, schema: pa.Schema) -> None:
        self._data, self.schema = bytes(data), schema

    def __bytes__(self) -> bytes:
        return self._data

    @property
    def rows(self) -> int:
        """How many rows it looks at; conditions that have to be tested leave fewer."""
        rows = json.loads(self._data)["rows"]
        return int(rows["end"]) - int(rows["start"])

    def batches(self, threads: int | None = None) -> pa.RecordBatchReader:
        """Its record batches, one after the other; `threads` decode, one a core by default."""
        return pa.RecordBatchReader.from_batches(self.schema, record_batches.batches(session(threads).read_split(self._data)))

    def read(self, threads: int | None = None) -> pa.Table:
        """Its rows."""
        return self.batches(threads).read_all()


def listed(omitted: Mapping[str, str]) -> str:
    """The first few names with their reasons."""
    shown = [f"{name} {reason}" for name, reason in omitted.items()][:8]
    more = len(omitted) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


class Table:
    """A planned scan."""

    def __init__(self, files: list[_native.File], path: str, options: dict[str, Any]) -> None:
        self._request = ScanRequest(files, path, options)
        self._plan = self._request.plan()

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types."""
        return pa.schema(self._plan)

    @property
    def omitted(self) -> dict[str, str]:
        """Members of the group that are not columns, and why: `{"cell_type": "is a group"}`."""
        return dict(self._plan.omitted())

    def _report_omitted(self, how: str, stacklevel: int) -> None:
        """Warns of what is left out, or raises, if the columns were not chosen by name."""
        if how not in ("warn", "error", "ignore"):
            raise InvalidInputError(f"omitted is {how!r}: give warn, error or ignore")
        if how == "ignore" or (how == "warn" and self._request.options.get("columns") is not None) or not self.omitted:
            return
        message = f"{listed(self.omitted)} (table {self._request.path} of {self._request.files[0].path})"
        if how == "error":
            raise InvalidInputError(f"not columns: {message}")
        warnings.warn(f"not columns: {message}; Table.omitted lists them, omitted='ignore' silences this", OmittedColumnsWarning, stacklevel + 1)

    def batches(self) -> pa.RecordBatchReader:
        """The record batches, one after the other, for a loop in Python; hand the table itself, or its `dataset()`, to
        an engine."""
        if self._request.expression is not None:
            return self.dataset().scanner().to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, record_batches.batches(self._plan.read()))

    def to_arrow(self) -> pa.Table:
        """All rows."""
        return self.batches().read_all() if self._request.expression is None else self.dataset().to_table()

    def head(self, n: int = 5) -> pa.Table:
        """The first `n` rows."""
        check_count("n", n)
        if self._request.expression is not None:
            return self.dataset().head(n)
        limit = self._request.limit
        limit = n if limit is None else min(n, limit)
        return pa.RecordBatchReader.from_batches(self.schema, record_batches.batches(self._request.plan(limit=limit).read())).read_all()

    def count(self) -> int:
        """Number of rows."""
        if self._request.expression is not None:
            return sum(batch.num_rows for batch in self.dataset().to_batches())
        return self._plan.count()

    def minmax(self, column: str) -> tuple[Any, Any] | None:
        """The least and the greatest value of a column of numbers; nulls and NaN are left out, and `None` where
        nothing is left. Exact for integers of any width; no batches are made."""
        extremes = self._of_column(column).summary(column)[3]
        return None if extremes is None else extremes[:2]

    def sum(self, column: str) -> Any:
        """The sum of a column of numbers, 0 of none: exact for integers, in double precision for floats, and the
        same for any number of threads. Nulls and NaN are left out."""
        extremes = self._of_column(column).summary(column)[3]
        return 0 if extremes is None else extremes[2]

    def histogram(self, column: str, bins: int = 10, range: tuple[float, float] | None = None) -> tuple[Any, Any]:
        """How many values lie in each of `bins` bins of equal width, and the bins' edges, as `numpy.histogram`.
        The range is that of the values unless given; nulls, NaN and values outside are in no bin."""
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        low, high = range or self.minmax(column) or (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5  # as numpy
        edges = np.linspace(low, high, bins + 1)
        return np.array(self._of_column(column).histogram(column, edges.tolist()), dtype=np.int64), edges

    def _of_column(self, column: str) -> _native.Plan:
        if self._request.expression is not None:
            raise UnsupportedError("aggregates of a table with an Arrow expression: give `where` as text")
        return self._request.plan(columns=[column])

    def to_pandas(self) -> Any:
        """All rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as a Polars frame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def splits(self, count: int | None = None, target_bytes: int | None = None) -> list[Split]:
        """Units of reading for other threads, processes or machines: `count` of them, or of about `target_bytes` each."""
        check_count("count", count)
        check_count("target_bytes", target_bytes)
        if self._request.expression is not None:
            raise UnsupportedError("splits of a pyarrow expression: give `where` as text")
        return [Split(data, self.schema) for data in self._plan.split(count, target_bytes)]

    def explain(self) -> str:
        """How the scan will run."""
        plan = self._plan if self._request.expression is None else self.dataset().pushed(self.schema.names, None).plan
        return plan.explain()

    def dataset(self) -> ScanDataset:
        """A `pyarrow.dataset.Dataset`, into whose scans engines push columns and predicates."""
        return ScanDataset(self._request, self.schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._request.expression is not None:
            return self.batches().__arrow_c_stream__(requested_schema)
        return self._plan.stream().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._plan.__arrow_c_schema__()

    def __repr__(self) -> str:
        omitted = f"\nnot columns: {listed(self.omitted)}" if self.omitted else ""
        return f"<Table of {self._request.path}>\n{self.schema.to_string(show_schema_metadata=False, show_field_metadata=False)}{omitted}"
