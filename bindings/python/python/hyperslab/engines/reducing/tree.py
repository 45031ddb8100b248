"""Tree: a query as DuckDB parses it, and back to text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...base.type_aliases import Json, JsonObject

if TYPE_CHECKING:
    import duckdb


class NotReduced(Exception):
    """Why a selection is left to DuckDB."""


#: What DuckDB has made of texts and of trees: a small query takes longer to be parsed than to be computed.
_trees: dict[str, str] = {}
_texts: dict[str, str] = {}
_MAX_KEPT = 1000
_MAX_CHARS = 10_000


def parsed(connection: duckdb.DuckDBPyConnection, query: str) -> JsonObject | None:
    """The only statement of a query, which the caller may change, or `None` if it is none that DuckDB describes: a change, or several statements."""
    try:
        tree = json.loads(serialized(connection, query))
        statements = [] if tree["error"] else tree["statements"]
        return statements[0] if len(statements) == 1 and isinstance(statements[0], dict) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        # No query, several, one that is nested very deeply, or another version of DuckDB.
        return None


def serialized(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The statements of a query, or why DuckDB refuses it, as JSON."""
    return _kept(_trees, query, lambda: connection.execute("select json_serialize_sql(?)", [query]))


def text_of(connection: duckdb.DuckDBPyConnection, statement: JsonObject) -> str:
    """The SQL of a statement."""
    tree = json.dumps({"error": False, "statements": [statement]})
    return _kept(_texts, tree, lambda: connection.execute("select json_deserialize_sql(?::json)", [tree]))


def _kept(known: dict[str, str], given: str, ask: Callable[[], duckdb.DuckDBPyConnection]) -> str:
    """What DuckDB answers on a text, which is asked once for texts that are not long."""
    found = known.get(given)
    if found is None:
        ((answer,),) = ask().fetchall()
        found = str(answer)
        if len(given) + len(found) <= _MAX_CHARS:
            if len(known) >= _MAX_KEPT:
                known.clear()
            known[given] = found
    return found


def expressions(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> list[JsonObject]:
    """The trees of expressions."""
    found: list[JsonObject] = own(connection, "select " + ", ".join(texts))["node"]["select_list"]
    return found


def own(connection: duckdb.DuckDBPyConnection, text: str) -> JsonObject:
    """The tree of a text of our own, which the caller may change."""
    statement = parsed(connection, text)
    assert statement is not None  # our own text
    return statement


def nodes(tree: Json) -> Iterator[JsonObject]:
    """All parts of a tree, outer ones first."""
    pending = [tree]
    while pending:
        here = pending.pop()
        if isinstance(here, dict):
            yield here
            pending += reversed(list(here.values()))
        elif isinstance(here, list):
            pending += reversed(here)


#: What is in `from`, besides tables that are named there.
_FROM = frozenset(["BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY"])
_OTHER_FROM = frozenset(["TABLE_FUNCTION", "EXPRESSION_LIST", "COLUMN_DATA_SCAN", "COLUMN_DATA", "PIVOT", "SHOW_REF", "DELIM_GET", "BOUND_TABLE_REF"])


def table_names(statement: JsonObject) -> list[str] | None:
    """The names of tables in a query, and of the catalogs before them, each once; `None` if it may name tables in another way."""
    found: dict[str, str] = {}
    for node in nodes(statement):
        if node.get("type") in _OTHER_FROM or ("from_table" in node and node["from_table"]["type"] not in _FROM):
            return None
        if node.get("type") == "BASE_TABLE":
            found.update((name.lower(), name) for name in node["qualified_name"]["path"])
    return list(found.values())


def arguments(function: JsonObject) -> list[JsonObject]:
    """The arguments of a function. `NotReduced` if they are named."""
    given = function["arguments"]
    if any(argument["name"] for argument in given):
        raise NotReduced("named arguments")
    return [argument["expression"] for argument in given]
