"""Dask: a table as a data frame of one partition a split, and a dataset as an array of whole chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..base.extras import LateModule, require
from ..base.type_aliases import AnyDtype, Elements, Key

if TYPE_CHECKING:
    import dask.array
    import dask.dataframe
    import pandas
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


class Part(Protocol):
    """A split of a table."""

    def read(self, threads: int | None = None) -> pa.Table: ...


class Stored(Protocol):
    """What Dask asks of a dataset."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> AnyDtype: ...
    @property
    def chunks(self) -> tuple[int, ...] | None: ...
    def __getitem__(self, key: Key) -> Elements: ...


def data_frame(splits: Sequence[Part], schema: pa.Schema) -> dask.dataframe.DataFrame:
    """A data frame of Dask with a partition for each split. Columns have the same dtypes in all partitions."""
    require("to_dask", "dask", "dask", "pandas")
    import dask.dataframe

    from_map: Any = dask.dataframe.from_map  # Dask has no annotations
    frame: dask.dataframe.DataFrame = from_map(_partition, splits, meta=_frame(schema.empty_table()), label="hyperslab", enforce_metadata=False)
    return frame


def _partition(split: Part) -> pandas.DataFrame:
    # Dask runs partitions side by side on threads or processes of its own.
    return _frame(split.read(threads=1))


def _frame(rows: pa.Table) -> pandas.DataFrame:
    """Rows with dtypes that follow from the schema alone: a column that may have nulls is not of floats where it has some."""
    import pandas

    plain = rows.cast(pa.schema([field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in rows.schema]))
    nullable = {field.type for field in plain.schema if field.nullable}

    def dtype(type: pa.DataType) -> Any:
        if type not in nullable:
            return None
        if pa.types.is_boolean(type):
            return pandas.BooleanDtype()
        return pandas.api.types.pandas_dtype(f"{'U' if pa.types.is_unsigned_integer(type) else ''}Int{type.bit_width}") if pa.types.is_integer(type) else None

    return plain.to_pandas(types_mapper=dtype)


def array(dataset: Stored, chunks: object) -> dask.array.Array:
    """An array of Dask over a dataset."""
    require("to_dask", "dask", "dask")
    import dask.array

    dask_array: Any = dask.array  # Dask has no annotations
    cut = dask_array.core.normalize_chunks(chunks, shape=dataset.shape, dtype=dataset.dtype, previous_chunks=dataset.chunks)
    empty = np.empty((0,) * len(dataset.shape), dataset.dtype)
    made: dask.array.Array = dask_array.from_array(dataset, chunks=cut, lock=False, asarray=False, inline_array=True, meta=empty)
    return made
