"""Table: a planned scan of arrays as rows and columns. Planning reads metadata only."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _native
from ..base.arguments import check_count
from ..base.errors import Error, InvalidInputError, OmittedColumnsWarning, UnsupportedError
from ..base.extras import LateModule, importing, late, require
from ..base.type_aliases import Path
from ..base.visible import visible
from ..objects.dask_collections import data_frame
from ..sources.reopening import storage_options_of
from ..sources.sessions import session
from ..sources.storage import StorageLayout, native_layout
from ..values.batch_reader import BatchReader
from ..values.type_names import type_name
from . import html
from .histogram import Histogram
from .scan_request import ScanRequest
from .times import report_times

if TYPE_CHECKING:
    import dask.dataframe
    import pandas
    import polars
    import pyarrow as pa

    from .arrow_dataset import ScanDataset
else:
    pa = LateModule("pyarrow")

#: An integer for columns of integers, a float for columns of floats.
Number = int | float


class Split:
    """A unit of reading. It goes to another process by pickle or as `bytes(split)`. A pickle has the `storage_options` of remote
    files, and bytes have not: whoever reads them takes the options from the environment.

    Attributes:
        schema: The columns and their types.
        targets: With `order="targets"`, bytes of the split on each storage target, in the order in which they are read first;
            empty if they are not known.
    """

    def __init__(self, data: bytes, schema: pa.Schema, targets: Mapping[int, int] | None = None, storage_options: tuple[tuple[str, str], ...] = ()) -> None:
        self._data, self.schema, self.targets, self._storage_options = bytes(data), schema, dict(targets or {}), storage_options

    def __bytes__(self) -> bytes:
        return self._data

    @property
    def rows(self) -> int:
        """The number of rows that it scans; a condition may leave fewer."""
        rows = json.loads(self._data.rpartition(b"\n")[0])["rows"]
        return int(rows["end"]) - int(rows["start"])

    def batches(self, threads: int | None = None) -> BatchReader:
        """Reads the record batches one after the other.

        Args:
            threads: Number of threads that decode; one per core by default.

        Returns:
            A reader of the record batches, which is also an Arrow stream.

        Raises:
            ConflictError: A file changed since the split was planned.

        Example:
            >>> for batch in split.batches(threads=1):
            ...     print(batch.num_rows)
        """
        return BatchReader(session(threads, storage_options=self._storage_options).read_split(self._data))

    def read(self, threads: int | None = None) -> pa.Table:
        """Reads all rows.

        Args:
            threads: Number of threads that decode; one per core by default.

        Returns:
            The rows as one table.

        Example:
            >>> f.table("/profiles").splits(8)[0].read()
        """
        return self.batches(threads).read_all()


def listed(omitted: Mapping[str, str]) -> str:
    """The first few names with their reasons."""
    shown = [f"{name} {reason}" for name, reason in omitted.items()][:8]
    more = len(omitted) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def report_omitted(table: Table, how: str, stacklevel: int) -> None:
    """Warns of omitted members of a table, or raises, unless its columns were chosen by name; and of times that are not what they seem."""
    if how not in ("warn", "error", "ignore"):
        raise InvalidInputError(f"omitted is {how!r}: give warn, error or ignore")
    request, omitted = table.request, table.omitted
    report_times(table.schema, f"table {request.path} of {request.files[0].path}", stacklevel + 1)
    if how == "ignore" or (how == "warn" and request.options.get("columns") is not None) or not omitted:
        return
    message = f"{listed(omitted)} (table {request.path} of {request.files[0].path})"
    if how == "error":
        raise InvalidInputError(f"not columns: {message}")
    warnings.warn(f"not columns: {message}; Table.omitted lists them, omitted='ignore' silences this", OmittedColumnsWarning, stacklevel + 1)


class Table:
    """A planned scan: columns, an optional condition and an optional limit. `File.table` makes one.

    Arrow consumers (DuckDB, Polars, pandas, pyarrow) can take the table itself, or its `dataset()`. A table goes to another
    process by pickle, which opens the files there; it is planned again, and a file that has changed is a `ConflictError`.
    """

    def __init__(self, files: _native.Files | list[_native.File], path: str, options: dict[str, Any]) -> None:
        self._request = ScanRequest(files, path, options)
        self._plan = self._request.plan()

    def __eq__(self, other: object) -> bool:
        """Whether it is the same request for the same open files."""
        return isinstance(other, Table) and self._request == other._request

    def __hash__(self) -> int:
        return hash(self._request)

    def __getstate__(self) -> ScanRequest:
        return self._request

    def __setstate__(self, request: ScanRequest) -> None:
        self._request = request
        self._plan = request.plan()

    @property
    def request(self) -> ScanRequest:
        """What the scan was planned from: the files, the path and the options of `File.table`."""
        return self._request

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return pa.schema(self._plan)

    @property
    def model(self) -> str | None:
        """The data model whose table this is; `None` for the table of the object at the path."""
        return self._plan.model

    @property
    def other_meaning(self) -> str | None:
        """Path of an object that has the name of this model's table, but other columns: `model="none"` chooses it, and so does `raw`."""
        files, name = self._request.files, self._request.path
        path = "/" + name.strip("/")
        if self.model is None or self._request.options.get("model") is not None or not files[0].exists(path):
            return None
        try:
            own = self._request.schema(model="none").names
        except Error:
            own = []
        return path if own != self._request.schema(columns=None).names else None

    @property
    def omitted(self) -> dict[str, str]:
        """The members of the group that are not columns, and why: `{"cell_type": "is a group"}`."""
        return dict(self._plan.omitted())

    def batches(self) -> BatchReader:
        """Reads the rows batch by batch, in a loop or as an Arrow stream.

        An engine that is given the table itself or its `dataset()` reads only the columns and rows that it needs.

        Returns:
            A reader of the record batches, which is also an Arrow stream.

        Example:
            >>> for batch in f.table("/profiles").batches():
            ...     print(batch.num_rows)
        """
        if self._request.expression is not None:
            return self.dataset().reader()
        return BatchReader(self._plan.read())

    def to_arrow(self) -> pa.Table:
        """Reads all rows.

        Returns:
            The rows as one table.

        Example:
            >>> f.table("/profiles", "depth < 10").to_arrow()
        """
        return self.batches().read_all() if self._request.expression is None else self.dataset().to_table()

    def head(self, n: int = 5) -> pa.Table:
        """Reads the first `n` rows.

        Args:
            n: Number of rows.

        Returns:
            At most `n` rows.

        Example:
            >>> f.table("/profiles").head(3)
        """
        check_count("n", n)
        if self._request.expression is not None:
            return self.dataset().head(n)
        limit = self._request.limit
        limit = n if limit is None else min(n, limit)
        return BatchReader(self._request.plan(limit=limit).read()).read_all()

    def count(self) -> int:
        """Counts the rows. Without a condition, metadata is enough.

        Returns:
            The number of rows.

        Example:
            >>> f.table("/profiles", "depth < 10").count()
        """
        if self._request.expression is not None:
            return sum(batch.num_rows for batch in self.dataset().to_batches())
        return self._plan.count()

    def minmax(self, column: str) -> tuple[Number, Number] | None:
        """Finds the minimum and the maximum of a numeric column, without making record batches.

        Nulls and NaN are left out. Integers of any width are exact.

        Args:
            column: A numeric column.

        Returns:
            Minimum and maximum, or `None` if no value is left.

        Raises:
            NotFoundError: There is no such column.
            UnsupportedError: `where` is a pyarrow expression.

        Example:
            >>> f.table("/theta").minmax("theta")
        """
        found = self._of_column(column).summary(column)
        return None if found.minimum is None or found.maximum is None else (found.minimum, found.maximum)

    def sum(self, column: str) -> Number:
        """Sums a numeric column; 0 if it has no values.

        Nulls and NaN are left out. The sum is exact for integers and in double precision for floats, and it does not depend on
        the number of threads. Raises the errors of `minmax`.

        Args:
            column: A numeric column.

        Returns:
            An integer for integers, a float for floats.

        Example:
            >>> f.table("/theta").sum("theta")
        """
        found = self._of_column(column).summary(column).sum
        return 0 if found is None else found

    def histogram(self, column: str, bins: int | Sequence[float] = 10, range: tuple[float, float] | None = None) -> Histogram:
        """Counts the values of a numeric column in bins of equal width, as `numpy.histogram` does.

        Args:
            column: A numeric column. Nulls, NaN and values outside of `range` are in no bin.
            bins: Number of bins of equal width, or the edges of all bins in increasing order.
            range: Lower and upper end of the bins; by default the minimum and maximum of the column.

        Returns:
            The count of each bin, and the `bins + 1` edges, as `Query.histogram` returns them.

        Raises:
            InvalidInputError: `bins` is less than 1, or edges do not increase.
            NotFoundError: There is no such column.

        Example:
            >>> counts, (edges,) = f.table("/theta").histogram("theta", 20)
        """
        if not isinstance(bins, (int, np.integer)):
            given = np.asarray(bins, dtype=np.float64)
            if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all() or (np.diff(given) <= 0).any() or range is not None:
                raise InvalidInputError("bins: give a number, or two or more edges that increase, without range")
            return Histogram(np.array(self._of_column(column).histogram(column, given.tolist()), dtype=np.int64), (given,))
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        low, high = range or self.minmax(column) or (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5  # as numpy
        edges = np.linspace(low, high, bins + 1)
        return Histogram(np.array(self._of_column(column).histogram(column, edges.tolist()), dtype=np.int64), (edges,))

    def aggregate(self, aggregates: Mapping[str, str], by: Sequence[str] | str = ()) -> pa.Table:
        """Aggregates by groups, in SQL's terms. Needs DuckDB (`pip install 'hyperslab[sql]'`).

        Keys that follow from coordinates and indexes, and aggregates of numbers, are computed on the array, without rows; other
        ones by DuckDB over the rows. The result is the same.

        Args:
            aggregates: For each column of the result an aggregate: `{"warmest": "max(t2m)"}`.
            by: Expressions that rows of a group share, as `["lat", "month(time)"]`; by default there is one group.

        Returns:
            A row for each group, with the keys first. Without `by` there is one row, even of no rows: its counts are 0, and all else
            null.

        Raises:
            MissingExtraError: DuckDB is not installed.
            InvalidInputError: There are no aggregates, or DuckDB refuses an expression.

        Example:
            >>> f.table("/t2m").aggregate({"mean": "avg(t2m)"}, by=["lat"])
        """
        keys = [by] if isinstance(by, str) else list(by)
        if not aggregates:
            raise InvalidInputError('aggregates is empty: give a column and an aggregate, as {"mean": "avg(t2m)"}')
        result: pa.Table = late("engines.aggregate").aggregate(self, aggregates, keys)
        return result

    def _of_column(self, column: str) -> _native.Plan:
        if self._request.expression is not None:
            raise UnsupportedError("aggregates of a table with an Arrow expression: give `where` as text")
        return self._request.plan(columns=[column])

    def to_pandas(self) -> pandas.DataFrame:
        """Reads all rows into a pandas data frame. Needs pandas (`pip install 'hyperslab[pandas]'`).

        Returns:
            The rows as one data frame.

        Raises:
            MissingExtraError: pandas is not installed.

        Example:
            >>> f.table("/profiles").to_pandas()
        """
        require("to_pandas", "pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Reads all rows into a Polars data frame. Needs Polars (`pip install 'hyperslab[polars]'`).

        Returns:
            The rows as one data frame.

        Raises:
            MissingExtraError: Polars is not installed.

        Example:
            >>> f.table("/profiles").to_polars()
        """
        require("to_polars", "polars", "polars")
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)  # a Series comes from arrays only
        return frame

    def to_dask(self, count: int | None = None, target_bytes: int | None = None) -> dask.dataframe.DataFrame:
        """Makes a data frame of Dask with a partition for each split. Needs Dask (`pip install 'hyperslab[dask]'`).

        Nothing is pushed down into the table later: choose its columns and its `where` first. Columns that may have nulls have
        pandas' nullable dtypes.

        Args:
            count: Number of partitions.
            target_bytes: Bytes of values of a partition, instead of `count`.

        Returns:
            A lazy data frame, for threads and processes.

        Raises:
            MissingExtraError: Dask or pandas is not installed.
            UnsupportedError: `where` is a pyarrow expression.

        Example:
            >>> f.table("/profiles", columns=["depth", "t"]).to_dask().groupby("depth").mean().compute()
        """
        return data_frame(self.splits(count, target_bytes), self.schema)

    def write(self, out: Path, format: str | None = None, *, storage_options: Mapping[str, object] | None = None) -> int:
        """Writes the rows to a file, batch by batch, so that the table may be larger than memory. The file appears when it is
        complete, and replaces an existing one.

        Args:
            out: Path of the file, or its address in an object store. Its ending says the format, unless `format` does.
            format: `parquet`, `arrow` or `feather` (an Arrow file), `arrows` (an Arrow stream), `csv`, `csv.gz`, `jsonl`, `h5` (a
                dataset for each column) or `nc` (netCDF-4, a variable for each column).
            storage_options: Options of the store of an address, as in `hyperslab.open`.

        Returns:
            The number of rows written.

        Raises:
            InvalidInputError: There is no such format.
            UnsupportedError: The format cannot hold a column, such as a list in CSV.
            MissingFileError: The folder of `out` does not exist.

        Example:
            >>> f.table("/theta", "theta > 299").write("warm.parquet")
            195
        """
        return int(late("exporting.rows").write_table(self, out, format, storage_options))

    def splits(
        self,
        count: int | None = None,
        target_bytes: int | None = None,
        *,
        order: Literal["rows", "targets"] = "rows",
        layout: StorageLayout | None = None,
    ) -> list[Split]:
        """Divides the scan into units of reading for other threads, processes or machines.

        Args:
            count: Number of splits.
            target_bytes: Bytes of values of a split, instead of `count`.
            order: `targets` puts splits after each other that read from different storage targets, so that those which run at
                the same time do not wait for the same one. It reads the places of all chunks if targets are known.
            layout: Layout of the files, if the file system does not show it; of all files the same.

        Returns:
            Splits whose rows, one after the other, are the rows of the table in order, unless `order` is `targets`.

        Raises:
            UnsupportedError: `where` is a pyarrow expression.

        Example:
            >>> with concurrent.futures.ProcessPoolExecutor() as pool:
            ...     parts = pool.map(hs.Split.read, f.table("/profiles").splits(8))
        """
        check_count("count", count)
        check_count("target_bytes", target_bytes)
        if self._request.expression is not None:
            raise UnsupportedError("splits of a pyarrow expression: give `where` as text")
        schema, options = self.schema, storage_options_of(self._request.files)
        if order == "rows":
            if layout is not None:
                raise InvalidInputError("a layout is for order='targets'")
            return [Split(data, schema, None, options) for data in self._plan.split(count, target_bytes)]
        if order != "targets":
            raise InvalidInputError(f"order is {order!r}: give 'rows' or 'targets'")
        placed = self._plan.split_placed(count, target_bytes, native_layout(layout))
        return [Split(data, schema, dict(targets), options) for data, targets in placed]

    def explain(self) -> str:
        """Describes how the scan will run, as text for people.

        Returns:
            The windows, the strategy and the indexes of the scan.

        Example:
            >>> print(f.table("/theta", "theta > 300").explain())
        """
        plan = self._plan if self._request.expression is None else self.dataset().pushed(self.schema.names, None).plan
        return plan.explain()

    def dataset(self) -> ScanDataset:
        """The table as a `pyarrow.dataset.Dataset`: engines push columns and predicates into its scans.

        Returns:
            A dataset of pyarrow, for DuckDB, Polars and others.

        Example:
            >>> f.table("/theta").dataset().head(5)
        """
        with importing():
            from .arrow_dataset import ScanDataset
        return ScanDataset(self._request, self.schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._plan.__arrow_c_schema__()

    def __repr__(self) -> str:
        files = self._request.files
        of = files[0].path if len(files) == 1 else f"{len(files):,} files"
        where = self._request.text if self._request.expression is None else self._request.expression
        condition = "" if where is None else f", where {where}"
        omitted = f"\nnot columns: {listed(self.omitted)}" if self.omitted else ""
        meaning = f" (model {self.model})" if self.model is not None else ""
        other = f"\nmodel='none' reads {self.other_meaning} as an object" if self.other_meaning is not None else ""
        columns = "\n".join(f"{visible(field.name)}: {type_name(field.type)}" for field in self.schema)
        return f"<Table of {self._request.path}{meaning} in {of}{condition}>\n{columns}{omitted}{other}"

    def _repr_html_(self) -> str:
        where = self._request.text if self._request.expression is None else self._request.expression
        return html.of_table(
            self,
            self._request.path + (f" (model {self.model})" if self.model is not None else ""),
            [file.path for file in self._request.files],
            where,
            self._request.limit,
        )
