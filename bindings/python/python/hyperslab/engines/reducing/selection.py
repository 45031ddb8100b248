"""Selection: one `select` of a query whose aggregates are computed on arrays."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import _native
from ...base.type_aliases import JsonObject
from ..float_bounds import condition, one_table
from ..views import View
from .aggregates import AGGREGATES, OTHER_AGGREGATES, Measures, Result
from .classes import Asked, Classes, classes_of
from .columns import SEGMENTS, TableColumns, is_pure
from .expressions import Values
from .tree import NotReduced, expressions, nodes, text_of
from .view import ReducedView

if TYPE_CHECKING:
    import duckdb

#: Rows of a table from which on its aggregates are computed on arrays: DuckDB has read fewer before keys are computed.
MIN_ROWS = 100_000
#: Groups beyond which there have to be several rows for each.
MAX_GROUPS = 1 << 20


def aggregates_of(node: JsonObject) -> Iterator[JsonObject]:
    """The aggregates of a selection, without those of selections within it."""
    return (function for function in _functions(node) if function["function_name"].lower() in AGGREGATES | OTHER_AGGREGATES)


def is_distinct(node: JsonObject) -> bool:
    """Whether it shows each row once."""
    return any(modifier["type"] == "DISTINCT_MODIFIER" and not modifier["distinct_on_targets"] for modifier in node["modifiers"])


def _functions(node: JsonObject) -> Iterator[JsonObject]:
    """The functions of what a selection shows, not those within its aggregates."""
    pending = [node["select_list"], node["having"], node["qualify"], node["modifiers"]]
    while pending:
        here = pending.pop()
        if isinstance(here, list):
            pending += here
        elif isinstance(here, dict) and here.get("type") != "SELECT_NODE":
            if here.get("class") == "FUNCTION":
                yield here
                if here["function_name"].lower() in AGGREGATES | OTHER_AGGREGATES:
                    continue
            pending += here.values()


def reduce_selection(connection: duckdb.DuckDBPyConnection, node: JsonObject, view: View, name: str, cancellation: _native.Cancellation | None) -> ReducedView:
    """Rewrites a selection, so that it reads groups from a table of this name. Nothing is changed if it raises `NotReduced`."""
    source = node["from_table"]
    if source["sample"] is not None or source["at_clause"] is not None or source["column_name_alias"] or node["sample"] is not None:
        raise NotReduced("a sample")
    if node["group_sets"] not in ([], [list(range(len(node["group_expressions"])))]):
        raise NotReduced("grouping sets")
    if any(inner is not node and inner.get("type") == "SELECT_NODE" for inner in nodes(node)):
        raise NotReduced("a query within it")
    if not view.is_scanned:
        raise NotReduced("a table in memory")
    request = view._request
    if request.limit is not None or request.expression is not None:
        raise NotReduced("a table with a limit, or with an expression of pyarrow as its condition")
    called = source["alias"] or source["qualified_name"]["path"][-1]
    columns = TableColumns.of(view._plan, view.columns_in_sql(), called)
    if sum(map(math.prod, columns.shapes)) < MIN_ROWS:
        raise NotReduced("few rows")
    aggregates = list(aggregates_of(node))
    for function in _functions(node):
        # Of another aggregate, or a macro with one, the groups would be the rows.
        if function not in aggregates and not is_pure(function):
            raise NotReduced(f"the function {function['function_name']}")
    try:
        wanted, plan, classes = _planned(connection, node, view, columns, cancellation, is_finer=False)
    except NotReduced as reason:
        try:
            wanted, plan, classes = _planned(connection, node, view, columns, cancellation, is_finer=True)
        except NotReduced:
            raise reason from None
    values = wanted.values
    groups, rows = math.prod(found.count for found in classes.values()), sum(map(math.prod, columns.shapes))
    if groups > MAX_GROUPS and groups > rows // 4:
        raise NotReduced("nearly as many groups as rows")
    places = [(axis, wanted.asked[axis].vectors.index(vector)) for axis, vector in values.vectors]
    is_grouped = bool(wanted.keys) or wanted.measures.is_finer
    named = sorted({name for key in wanted.keys for name in columns.names(key)})
    reduced_view = ReducedView(plan, classes, wanted.measures, wanted.condition, is_grouped, places, named, wanted.values.columns, cancellation)
    names = connection.sql(text_of(connection, {"node": node, "named_param_map": []})).columns
    connection.register(name, reduced_view)
    for function, result in zip(aggregates, wanted.results, strict=True):
        if result.text is not None:
            _replace(function, expressions(connection, [result.text])[0])
        for place, text in result.replaced.items():
            _replace(function["arguments"][place]["expression"], expressions(connection, [text])[0])
    for column, shown in zip(node["select_list"], names, strict=False):
        if not column["alias"] and column["class"] not in ("COLUMN_REF", "STAR"):
            column["alias"] = shown
    node["where_clause"] = None
    node["from_table"] = {**source, "alias": called, "schema_name": "", "catalog_name": "", "table_name": name, "qualified_name": {"path": [name]}}
    return reduced_view


def _planned(
    connection: duckdb.DuckDBPyConnection,
    node: JsonObject,
    view: View,
    columns: TableColumns,
    cancellation: _native.Cancellation | None,
    *,
    is_finer: bool,
) -> tuple[_Wanted, _native.Plan, dict[int, Classes]]:
    """What is wanted of the array, its scan, and the classes along each dimension."""
    wanted = _Wanted.of(node, columns, list(aggregates_of(node)), is_finer=is_finer)
    read = wanted.values.columns or _any_column(columns)
    if (narrow := _narrowed(node, view)) is not None:
        few = view._request.narrowed(narrow).plan(columns=read).few_rows()
        if few is not None and (wanted.measures.found or few[0] != few[1]):
            raise NotReduced("an index finds few rows")
    plan = view._request.plan(columns=read)
    return wanted, plan, {axis: classes_of(connection, plan, columns, axis, asked, cancellation) for axis, asked in wanted.asked.items()}


def _narrowed(node: JsonObject, view: View) -> str | None:
    """A condition that an index may know, which holds for each row that counts."""
    found = one_table({"node": node})
    return None if found is None else condition(found, view.columns_in_sql(), None)


def _replace(tree: JsonObject, by: JsonObject) -> None:
    alias = tree["alias"]
    tree.clear()
    tree.update(copy.deepcopy(by), alias=alias)


@dataclass
class _Wanted:
    """What a selection wants of the array.

    Attributes:
        values: The columns and vectors that are read.
        asked: What is asked of each dimension.
        condition: The condition on values.
        keys: The expressions by which it groups.
        measures: What is computed of each group.
        results: What becomes of each aggregate.
    """

    values: Values
    asked: dict[int, Asked]
    condition: JsonObject | None
    keys: list[JsonObject]
    measures: Measures
    results: list[Result]

    @classmethod
    def of(cls, node: JsonObject, columns: TableColumns, aggregates: list[JsonObject], *, is_finer: bool) -> _Wanted:
        values = Values(columns)
        asked = {axis: Asked([], [], [], set()) for axis in (SEGMENTS, *range(len(columns.shapes[0])))}
        condition = _conditions(node["where_clause"], columns, values, asked)
        keys = _keys(node, columns)
        measures = Measures(values, is_finer)
        results = [measures.result(function) for function in aggregates]
        for key in [*keys, *(tree for _, tree in measures.finer)]:
            axis = values.axis(key)
            if axis is None:
                raise NotReduced("a key that does not follow from one dimension")
            asked[axis].keys.append(copy.deepcopy(key))
            asked[axis].shown |= columns.names(key)
        for axis, vector in values.vectors:
            asked[axis].vectors.append(vector)
        return cls(values, asked, condition, keys, measures, results)


def _conditions(where: JsonObject | None, columns: TableColumns, values: Values, asked: dict[int, Asked]) -> JsonObject | None:
    """Shares the conditions out to the dimensions; what is left is a condition on values."""
    if where is None:
        return None
    left = []
    for term in where["children"] if where["type"] == "CONJUNCTION_AND" else [where]:
        names = columns.names(term)
        axis = columns.axis(names) if names else None
        if axis is not None:
            asked[axis].conditions.append(term)
        else:
            left.append(values.condition(term))
    return {"is": "logic", "all": True, "of": left} if len(left) > 1 else left[0] if left else None


def _keys(node: JsonObject, columns: TableColumns) -> list[JsonObject]:
    """The expressions by which a selection groups."""
    if is_distinct(node) and not any(aggregates_of(node)) and not node["group_expressions"]:
        return list(node["select_list"])
    if node["aggregate_handling"] == "FORCE_AGGREGATES":
        return [column for column in node["select_list"] if not any(aggregates_of({**_EMPTY, "select_list": column}))]
    keys = []
    aliases = {column["alias"].lower(): column for column in node["select_list"] if column["alias"]}
    for key in node["group_expressions"]:
        if key["class"] == "CONSTANT" and key["literal"]["kind"] == "INTEGER":
            place = int(key["literal"]["text"]) - 1
            if not 0 <= place < len(node["select_list"]) or any(column["class"] == "STAR" for column in node["select_list"]):
                raise NotReduced("a key by its place")
            key = node["select_list"][place]
        elif key["class"] == "COLUMN_REF" and len(key["column_names"]) == 1 and key["column_names"][0].lower() not in columns.own:
            key = aliases.get(key["column_names"][0].lower(), key)
        keys.append(key)
    return keys


_EMPTY: JsonObject = {"having": None, "qualify": None, "modifiers": None}


def _any_column(columns: TableColumns) -> list[str]:
    """A column that need not be read: the groups follow from dimensions alone."""
    return [next(iter(own for name, own in columns.own.items() if name in columns.axes), next(iter(columns.own.values())))]
