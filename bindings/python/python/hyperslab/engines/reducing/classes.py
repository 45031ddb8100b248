"""Classes: the indexes of a dimension that belong to one group, from keys and conditions that DuckDB computes of coordinates."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ... import _native
from ...base.type_aliases import AnyArray, Json, JsonObject
from ..views import widened
from .columns import SEGMENTS, TableColumns
from .tree import NotReduced, own, text_of

if TYPE_CHECKING:
    import duckdb

#: The class of an index that no row has.
LEFT_OUT = 0xFFFF_FFFF
#: The most indexes of one dimension, over all objects of a table, that are put into classes.
MAX_INDEXES = 1 << 21
_NAME, _ROW = "hyperslab_dimension", "hyperslab_row"


@dataclass
class Asked:
    """What a selection asks of a dimension: conditions, keys, and vectors of values."""

    conditions: list[JsonObject]
    keys: list[JsonObject]
    vectors: list[JsonObject]
    #: Names in SQL of the columns that the selection shows.
    shown: set[str]


@dataclass
class Classes:
    """The classes of the indexes of a dimension.

    Attributes:
        count: The number of classes; 1 if there are no keys.
        of_segments: For each object of the table the class of each index; `None` if all are in one class.
        vectors: For each object of the table, and each vector, a value for each index.
        representatives: For each class a row with the columns that are shown, by their names in SQL.
    """

    count: int
    of_segments: list[npt.NDArray[np.uint32] | None]
    vectors: list[list[npt.NDArray[np.float64]]]
    representatives: pa.Table


def classes_of(
    connection: duckdb.DuckDBPyConnection, plan: _native.Plan, columns: TableColumns, axis: int, asked: Asked, cancellation: _native.Cancellation | None
) -> Classes:
    """The classes of the indexes of a dimension. `NotReduced` if they cannot be made.

    Args:
        connection: Computes keys and conditions.
        plan: The scan of the table.
        columns: Its columns.
        axis: The dimension, or `SEGMENTS`.
        asked: The keys and conditions.
        cancellation: Stops the reading of coordinates.
    """
    lengths = [1 if axis == SEGMENTS else shape[axis] for shape in columns.shapes]
    if not (asked.conditions or asked.keys or asked.vectors):
        return Classes(1, [None] * len(lengths), [[] for _ in lengths], pa.table({}))
    if sum(lengths) > MAX_INDEXES:
        raise NotReduced(f"{sum(lengths)} indexes along a dimension")
    used = asked.shown | {name for tree in (*asked.conditions, *asked.keys, *asked.vectors) for name in columns.names(tree)}
    used = {name for name in used if columns.axes.get(name) == axis}
    named = {name: columns.own[name] for name in sorted(used)}
    along = None if axis == SEGMENTS else axis
    read = (plan.along(segment, along, list(named.values()), cancellation) for segment in range(len(lengths)))
    parts = [pa.table(pa.record_batch(batch)).rename_columns(list(named)) for batch in read]
    if any(part.schema.types != parts[0].schema.types for part in parts):
        raise NotReduced("coordinates of different types")
    values = pa.concat_tables(parts)
    values = values.cast(widened(values.schema))
    codes: npt.NDArray[np.uint32] | None
    vectors: list[npt.NDArray[np.float64]] = []
    if _are_alone(asked, columns, values):
        codes, first = np.arange(values.num_rows, dtype=np.uint32), np.arange(values.num_rows, dtype=np.int64)
    else:
        connection.register(_NAME, values.append_column(_ROW, pa.array(np.arange(values.num_rows, dtype=np.int64))))
        try:
            codes, first = _classed(connection, columns, asked, values.num_rows)
            vectors = _vectors(connection, columns, asked.vectors)
        finally:
            connection.unregister(_NAME)
    ends = np.cumsum(lengths)[:-1]
    of_segments: list[npt.NDArray[np.uint32] | None] = [None] * len(lengths) if codes is None else list(np.split(codes, ends))
    representatives = values.select([name for name in named if name in asked.shown]).take(pa.array(first))
    return Classes(
        max(len(first), 1), of_segments, [[part[segment] for part in (np.split(v, ends) for v in vectors)] for segment in range(len(lengths))], representatives
    )


def _are_alone(asked: Asked, columns: TableColumns, values: pa.Table) -> bool:
    """Whether each index is a class of its own, since the only key is a coordinate that rises or falls."""
    if asked.conditions or asked.vectors or len(asked.keys) != 1 or asked.keys[0]["class"] != "COLUMN_REF":
        return False
    key = values.column(columns.name(asked.keys[0])) if columns.name(asked.keys[0]) in values.column_names else None
    if key is None or key.null_count or not (pa.types.is_floating(key.type) or pa.types.is_integer(key.type) or pa.types.is_timestamp(key.type)):
        return False
    numbers = key.to_numpy()
    if numbers.dtype.kind == "M":
        numbers = numbers.view("i8")
    # False beside NaN.
    return bool(np.all(numbers[1:] > numbers[:-1]) or np.all(numbers[1:] < numbers[:-1])) and not (len(numbers) == 1 and numbers[0] != numbers[0])


def _classed(connection: duckdb.DuckDBPyConnection, columns: TableColumns, asked: Asked, rows: int) -> tuple[npt.NDArray[np.uint32] | None, AnyArray]:
    """The class of each row of a dimension, and the first row of each class. Classes are in the order of their first rows."""
    if not asked.conditions and not asked.keys:
        return None, np.zeros(0, dtype=np.int64)
    codes = np.full(rows, LEFT_OUT, dtype=np.uint32)
    if not asked.keys:
        statement = _template(connection, f"select {_ROW} from {_NAME} where true", columns)
        statement["node"]["where_clause"] = _all(asked.conditions)
        members = np.sort(connection.sql(text_of(connection, statement)).fetchnumpy()[_ROW])
        codes[members] = 0
        return codes, members[:1]
    statement = _template(connection, f"select list({_ROW} order by {_ROW}) from {_NAME} where true group by 1 order by min({_ROW})", columns)
    node = statement["node"]
    node["where_clause"] = _all(asked.conditions)
    node["group_expressions"] = [copy.deepcopy(key) for key in asked.keys]
    node["group_sets"] = [list(range(len(asked.keys)))]
    lists = connection.sql(text_of(connection, statement)).to_arrow_table().column(0).combine_chunks()
    if len(lists) == 0:
        return codes, np.zeros(0, dtype=np.int64)
    members, offsets = lists.values.to_numpy(), lists.offsets.to_numpy()
    codes[members] = np.repeat(np.arange(len(lists), dtype=np.uint32), np.diff(offsets))
    return codes, members[offsets[:-1]]


def _vectors(connection: duckdb.DuckDBPyConnection, columns: TableColumns, vectors: list[JsonObject]) -> list[npt.NDArray[np.float64]]:
    if not vectors:
        return []
    statement = _template(connection, f"select 1 from {_NAME} order by {_ROW}", columns)
    statement["node"]["select_list"] = [{**copy.deepcopy(vector), "alias": f"v{at}"} for at, vector in enumerate(vectors)]
    found = connection.sql(text_of(connection, statement)).to_arrow_table()
    for column in found.columns:
        if column.type != pa.float64() or column.null_count:
            raise NotReduced("values of coordinates that are not doubles")
    return [column.to_numpy() for column in found.columns]


def _template(connection: duckdb.DuckDBPyConnection, text: str, columns: TableColumns) -> JsonObject:
    """A statement over the table of a dimension, which has the name that the query gives to its table."""
    statement = own(connection, text)
    statement["node"]["from_table"]["alias"] = columns.called
    return statement


def _all(conditions: list[JsonObject]) -> Json:
    if len(conditions) < 2:
        return copy.deepcopy(conditions[0]) if conditions else None
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": copy.deepcopy(conditions)}
