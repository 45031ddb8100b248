"""Statements: what a query asks for, from DuckDB's own parser, before anything of it runs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..base.type_aliases import JsonObject
from ..engines.reducing.tree import nodes, serialized
from .failures import forbidden, invalid

if TYPE_CHECKING:
    import duckdb

CATALOG = "hyperslab"
MAX_CHARS = 1 << 20
#: Functions in `from` that only make rows. Others read files, addresses in memory, or the server's settings, or run text as SQL.
_TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"}
_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(?!\()", re.IGNORECASE)


class TableName(NamedTuple):
    """A table of a query: the name of its file, and its own, as the query writes them."""

    file: str
    table: str


#: Values of the parameters of a statement, by place or by name; `None` if it has none.
ParameterValues = list[object] | dict[str, object] | None


@dataclass(frozen=True)
class Statement:
    """A query that may run.

    Attributes:
        text: The SQL.
        tables: The tables of files that it names.
        parameters: Names of its parameters in their order: `1`, `2` for those that are only counted.
        tree: The query as DuckDB parses it.
        counted: The name of the result, if the query only counts the rows of its only table.
        is_explained: Whether the query is not computed, but explained.
    """

    text: str
    tables: tuple[TableName, ...]
    parameters: tuple[str, ...]
    tree: JsonObject
    counted: str | None
    is_explained: bool


def parse(connection: duckdb.DuckDBPyConnection, text: str, schema: str | None = None) -> Statement:
    """What a query asks for.

    Args:
        connection: A connection that parses; nothing runs in it.
        text: The SQL of a client.
        schema: The file of tables that are named without one; by default they are refused.

    Raises:
        FlightServerError: It is not a single query, has an error of syntax, or names something that is not a table of a file.
        FlightUnauthorizedError: It would change something, or calls a function that is not for clients.
    """
    if len(text) > MAX_CHARS:
        raise invalid(f"the query has more than {MAX_CHARS} characters")
    explained = _EXPLAIN.match(text)
    inner = text[explained.end() :] if explained else text
    try:
        tree = json.loads(serialized(connection, inner))
    except RecursionError:
        raise invalid("the query is nested too deeply") from None
    if tree["error"]:
        if tree["error_type"] == "not implemented":
            raise forbidden("the server is read-only: it takes one SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE or EXPLAIN (PIVOT without IN needs several)")
        raise invalid(tree["error_message"])
    statements = tree["statements"]
    if len(statements) != 1:
        raise invalid("send one statement at a time" if statements else "send one statement: the query is empty")
    return Statement(
        text, _tables(statements[0], schema), _parameters(statements[0]), statements[0], None if explained else _counted(statements[0]), bool(explained)
    )


def _tables(statement: JsonObject, schema: str | None) -> tuple[TableName, ...]:
    found: list[TableName] = []
    bare: list[str] = []
    temporary: set[str] = set()
    for node in nodes(statement):
        kind = node.get("type")
        if kind == "BASE_TABLE":
            if not node["schema_name"]:
                bare.append(node["table_name"])
            elif node["catalog_name"].lower() not in ("", CATALOG):
                raise invalid(f'there is no catalog \'{node["catalog_name"]}\': tables are {CATALOG}."FILE"."TABLE"')
            else:
                found.append(TableName(node["schema_name"], node["table_name"]))
        elif kind == "TABLE_FUNCTION":
            name = node["function"].get("function_name", "")
            if name.lower() not in _TABLE_FUNCTIONS:
                raise forbidden(f'the function {name} is not available here: tables are "FILE"."TABLE"')
        elif kind == "SHOW_REF" and node.get("query") is None:
            raise invalid("ask the client for the catalog (tables, schemas): SHOW knows only what queries have used")
        if isinstance(node.get("cte_map"), dict):
            temporary |= {entry["key"].lower() for entry in node["cte_map"]["map"]}
    for name in bare:
        if name.lower() in temporary:
            continue
        if schema is not None:
            found.append(TableName(schema, name))
        else:
            raise invalid(f'say in which file \'{name}\' is: "FILE"."{name}"')
    return tuple(dict.fromkeys(found))


def _parameters(statement: JsonObject) -> tuple[str, ...]:
    names = {node["identifier"] for node in nodes(statement) if node.get("type") == "VALUE_PARAMETER"}
    return tuple(sorted(names, key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name)))


def _counted(statement: JsonObject) -> str | None:
    """The result's name, if only rows of one table are counted: metadata tell it, and DuckDB would scan all rows."""
    node = statement["node"]
    if node["type"] != "SELECT_NODE" or len(node["select_list"]) != 1 or node["from_table"]["type"] != "BASE_TABLE":
        return None
    is_plain = not (
        node["modifiers"] or node["cte_map"]["map"] or node["where_clause"] or node["group_expressions"] or node["having"] or node["qualify"] or node["sample"]
    )
    asked, table = node["select_list"][0], node["from_table"]
    is_count = asked["type"] == "FUNCTION" and asked["function_name"].lower() in ("count", "count_star") and not asked.get("arguments", asked.get("children"))
    if not (is_plain and is_count) or asked["distinct"] or asked["filter"] or table["sample"] or table["at_clause"] or not table["schema_name"]:
        return None
    return asked["alias"] or "count_star()"
