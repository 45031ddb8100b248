"""Parameters: the types that clients are told. DuckDB knows none before it has the values, so the other operand of an expression decides."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from ..base.type_aliases import JsonObject
from ..engines.reducing.tree import nodes
from .statements import Statement

if TYPE_CHECKING:
    import duckdb

_NULL = {
    "class": "CONSTANT",
    "type": "VALUE_CONSTANT",
    "alias": "",
    "query_location": 0,
    "query_location_length": 0,
    "literal": {"kind": "NULL_LITERAL", "text": ""},
}
#: Parts of an expression that hold others.
_PARTS = ("left", "right", "input", "lower", "upper", "child", "children", "arguments", "expression")


def types(connection: duckdb.DuckDBPyConnection, statement: Statement) -> list[pa.DataType]:
    """The type of each parameter, in their order; text if there is no other operand.

    Args:
        connection: A connection that has the tables of the statement.
        statement: The statement.
    """
    found = dict.fromkeys(statement.parameters, pa.utf8())
    for node in nodes(statement.tree):
        if node.get("type") == "SELECT_NODE":
            for name, beside in _sites(node):
                found[name] = beside if isinstance(beside, pa.DataType) else _type_of(connection, statement.tree, node, beside)
    return list(found.values())


def _sites(select: JsonObject) -> Iterator[tuple[str, JsonObject | pa.DataType]]:
    """The parameters of a select, each with the other operand of its expression, or with its type."""
    for modifier in select["modifiers"]:
        for part in ("limit", "offset"):
            if _is_parameter(modifier.get(part)):
                yield modifier[part]["identifier"], pa.int64()
    pending = [*select["select_list"], select["where_clause"], select["having"], select["qualify"]]
    while pending:
        here = pending.pop()
        if not isinstance(here, dict):
            continue
        parts = [one for part in _PARTS if part in here for one in (here[part] if isinstance(here[part], list) else [here[part]])]
        inner = [part.get("expression", part) for part in parts if isinstance(part, dict)]
        pending += inner
        beside = [one for one in inner if not _is_parameter(one)]
        for name in (one["identifier"] for one in inner if _is_parameter(one)):
            if here["class"] == "CAST":
                yield name, here
            elif here["class"] == "CONJUNCTION" or here["type"] == "OPERATOR_NOT":
                yield name, pa.bool_()
            elif beside and (here["class"] != "FUNCTION" or here["is_operator"]):
                yield name, beside[0]


def _is_parameter(node: object) -> bool:
    return isinstance(node, dict) and node.get("type") == "VALUE_PARAMETER"


def _type_of(connection: duckdb.DuckDBPyConnection, tree: JsonObject, select: JsonObject, expression: JsonObject) -> pa.DataType:
    """The type of an expression in a select, as clients may give values for it."""
    import duckdb

    empty: JsonObject = {"modifiers": [], "where_clause": None, "group_expressions": [], "group_sets": [], "having": None, "qualify": None, "sample": None}
    asked = copy.deepcopy({**select, **empty, "select_list": [expression]})
    if not asked["cte_map"]["map"]:
        asked["cte_map"] = copy.deepcopy(tree["node"].get("cte_map", asked["cte_map"]))
    for node in list(nodes(asked)):
        if _is_parameter(node):
            node.clear()
            node.update(_NULL)
    try:
        rows = connection.execute("select json_deserialize_sql(?::json)", [json.dumps({"error": False, "statements": [{"node": asked}]})]).fetchall()
        return _given(connection.sql(rows[0][0]).limit(0).to_arrow_table().schema.field(0).type)
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.InvalidInputException):
        return pa.utf8()  # it means nothing alone: the client sends text, and DuckDB makes of it what it needs


def _given(kind: pa.DataType) -> pa.DataType:
    """The type in which a client gives a value to compare with one of this type."""
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ms")  # JDBC's driver puts milliseconds into timestamps of any unit
    if pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_binary(kind):
        return kind
    return pa.utf8()
