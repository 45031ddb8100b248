"""Tree: a query as DuckDB parses it, and back to text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...base.type_aliases import Json, JsonObject

if TYPE_CHECKING:
    import duckdb


class NotReduced(Exception):
    """Why a selection is left to DuckDB."""


def parsed(connection: duckdb.DuckDBPyConnection, query: str) -> JsonObject | None:
    """The only statement of a query, or `None` if it is none that DuckDB describes: a change, or several statements."""
    ((text,),) = connection.execute("select json_serialize_sql(?)", [query]).fetchall()
    try:
        tree = json.loads(text)
        statements = [] if tree["error"] else tree["statements"]
        return statements[0] if len(statements) == 1 and isinstance(statements[0], dict) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        # No query, several, one that is nested very deeply, or another version of DuckDB.
        return None


#: Trees of our own texts, each parsed once.
_own: dict[str, str] = {}
_MAX_OWN = 1000


def own(connection: duckdb.DuckDBPyConnection, text: str) -> JsonObject:
    """The tree of a text of our own, which the caller may change."""
    if text not in _own:
        statement = parsed(connection, text)
        assert statement is not None  # our own text
        if len(_own) >= _MAX_OWN:
            _own.clear()
        _own[text] = json.dumps(statement)
        return statement
    found: JsonObject = json.loads(_own[text])
    return found


def text_of(connection: duckdb.DuckDBPyConnection, statement: JsonObject) -> str:
    """The SQL of a statement."""
    ((text,),) = connection.execute("select json_deserialize_sql(?::json)", [json.dumps({"error": False, "statements": [statement]})]).fetchall()
    return str(text)


def expressions(connection: duckdb.DuckDBPyConnection, texts: list[str]) -> list[JsonObject]:
    """The trees of expressions."""
    found: list[JsonObject] = own(connection, "select " + ", ".join(texts))["node"]["select_list"]
    return found


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


def arguments(function: JsonObject) -> list[JsonObject]:
    """The arguments of a function. `NotReduced` if they are named."""
    given = function["arguments"]
    if any(argument["name"] for argument in given):
        raise NotReduced("named arguments")
    return [argument["expression"] for argument in given]
