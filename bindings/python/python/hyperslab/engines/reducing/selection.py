"""Selection: one `select` of a query whose aggregates are computed on arrays."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ... import _native
from ...base.type_aliases import JsonObject
from ..views import View
from .aggregates import AGGREGATES, OTHER_AGGREGATES, Measures
from .classes import Asked, classes_of
from .columns import SEGMENTS, TableColumns, is_pure
from .expressions import Values
from .tree import NotReduced, expressions, nodes, text_of
from .view import ReducedView

if TYPE_CHECKING:
    import duckdb

#: Rows of a table from which on its aggregates are computed on arrays: DuckDB has read fewer before keys are computed.
MIN_ROWS = 100_000
#: Tables of groups have names of their own in a connection.
_numbers = itertools.count()


def aggregates_of(node: JsonObject) -> Iterator[JsonObject]:
    """The aggregates of a selection, without those of selections within it."""
    return (function for function in _functions(node) if function["function_name"].lower() in AGGREGATES | OTHER_AGGREGATES)


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


def reduce_selection(connection: duckdb.DuckDBPyConnection, node: JsonObject, view: View, cancellation: _native.Cancellation | None) -> tuple[ReducedView, str]:
    """Rewrites a selection, so that it reads groups; says how they are made. Nothing is changed if it raises `NotReduced`."""
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
    columns = TableColumns.of(request.plan(), view.columns_in_sql(), called)
    if sum(map(math.prod, columns.shapes)) < MIN_ROWS:
        raise NotReduced("few rows")
    values = Values(columns)
    asked = {axis: Asked([], [], [], set()) for axis in (SEGMENTS, *range(len(columns.shapes[0])))}
    condition = _conditions(node["where_clause"], columns, values, asked)
    keys = _keys(node, columns)
    for key in keys:
        used = columns.names(key)
        axis = columns.axis(used) if used else None
        if axis is None:
            raise NotReduced("a key that does not follow from one dimension")
        asked[axis].keys.append(key)
        asked[axis].shown |= used
    measures = Measures(values)
    aggregates = list(aggregates_of(node))
    for function in _functions(node):
        # Of another aggregate, or a macro with one, the groups would be the rows.
        if function not in aggregates and not is_pure(function):
            raise NotReduced(f"the function {function['function_name']}")
    texts = [measures.result(function) for function in aggregates]
    for axis, vector in values.vectors:
        asked[axis].vectors.append(vector)
    plan = request.plan(columns=values.columns or _any_column(columns))
    classes = {axis: classes_of(connection, plan, columns, axis, asked[axis], cancellation) for axis in asked}
    places = [(axis, asked[axis].vectors.index(vector)) for axis, vector in values.vectors]
    reduced_view = ReducedView(plan, classes, measures, condition, bool(keys), places, cancellation)
    names = connection.sql(text_of(connection, {"node": node, "named_param_map": []})).columns
    name = f"hyperslab_groups_{next(_numbers)}"
    connection.register(name, reduced_view)
    for function, replacement in zip(aggregates, expressions(connection, texts), strict=True):
        alias = function["alias"]
        function.clear()
        function.update(copy.deepcopy(replacement), alias=alias)
    for column, shown in zip(node["select_list"], names, strict=False):
        if not column["alias"] and column["class"] not in ("COLUMN_REF", "STAR"):
            column["alias"] = shown
    node["where_clause"] = None
    node["from_table"] = {**source, "alias": called, "schema_name": "", "catalog_name": "", "table_name": name, "qualified_name": {"path": [name]}}
    return reduced_view, _note(columns, keys, values)


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


def _note(columns: TableColumns, keys: list[JsonObject], values: Values) -> str:
    named = sorted({name for key in keys for name in columns.names(key)})
    read = ", ".join(values.columns) or "nothing"
    return f"reduced in the array: keys {', '.join(named) or 'none'}; 1 pass over {read}"
