"""Batch reader: the record batches of a scan, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import _native
from ..base import waiting
from ..base.errors import InvalidInputError
from ..base.extras import LateModule, require
from . import record_batches

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


@contextlib.contextmanager
def own_errors(scan: _native.Reader) -> Iterator[None]:
    """Arrow keeps only the text of an error of the scan: raises the error itself."""
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError):
        scan.check()
        raise


class BatchReader:
    """Reads the record batches of a table, a split or a query, in a loop or as an Arrow stream.

    It has the methods of a `pyarrow.RecordBatchReader`, and everything that takes an Arrow stream takes it: pyarrow, DuckDB,
    Polars, `pyarrow.RecordBatchReader.from_stream(reader)`. All readers share the batches that are left. A stream does not
    enter Python, so engines can read it on threads of their own, also while the process ends.

    Attributes:
        schema: The columns and their types.

    Raises:
        CorruptError: The bytes of a file contradict its format; other errors of reading have their own class, too.
        ConflictError: A file changed since the scan was planned.

    Example:
        >>> with f.table("/profiles").batches() as reader:
        ...     first = reader.read_next_batch()
    """

    def __init__(self, scan: _native.Reader, filtered: pa.RecordBatchReader | None = None) -> None:
        """`filtered` is a reader of Arrow over the stream of `scan`."""
        self._scan, self._filtered, self._closed = scan, filtered, False
        self.schema: pa.Schema = pa.schema(scan) if filtered is None else filtered.schema

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidInputError("the reader is closed")

    def read_next_batch(self) -> pa.RecordBatch:
        """Reads the next record batch.

        Returns:
            The batch.

        Raises:
            StopIteration: There are no more batches.

        Example:
            >>> f.table("/profiles").batches().read_next_batch().num_rows
        """
        self._check_open()
        if self._filtered is not None:
            with own_errors(self._scan):
                return self._filtered.read_next_batch()
        if (capsules := self._scan.next_batch()) is None:
            raise StopIteration
        return record_batches.imported(capsules)

    def __iter__(self) -> BatchReader:
        return self

    def __next__(self) -> pa.RecordBatch:
        return self.read_next_batch()

    def read_all(self) -> pa.Table:
        """Reads the rows that are left.

        Returns:
            The rows as one table.

        Example:
            >>> f.table("/profiles").batches().read_all()
        """
        self._check_open()
        if self._filtered is not None:
            with own_errors(self._scan):
                return self._filtered.read_all()
        batches = []
        with waiting.rows() as advance:
            for batch in self:
                batches.append(batch)
                advance(batch.num_rows)
        return pa.Table.from_batches(batches, self.schema)

    def read_pandas(self) -> pandas.DataFrame:
        """Reads the rows that are left into a pandas data frame. Needs pandas (`pip install 'hyperslab[pandas]'`).

        Returns:
            The rows as one data frame.

        Raises:
            MissingExtraError: pandas is not installed.

        Example:
            >>> f.table("/profiles").batches().read_pandas()
        """
        require("read_pandas", "pandas", "pandas")
        return self.read_all().to_pandas()

    def close(self) -> None:
        """Stops the scan, also for readers of its stream.

        Example:
            >>> reader.close()
        """
        if not self._closed:
            self._closed = True
            self._scan.cancel()
            self._filtered = None

    def __enter__(self) -> BatchReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        self._check_open()
        reader = self._filtered
        if reader is None:
            if requested_schema is None:
                return self._scan.__arrow_c_stream__()
            reader = pa.RecordBatchReader.from_stream(self._scan)
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<BatchReader>\n{self.schema.to_string(show_schema_metadata=False, show_field_metadata=False)}"
