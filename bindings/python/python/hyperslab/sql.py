"""SQL: DuckDB over the datasets and groups of files, each a view."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb

from .errors import InvalidInputError, UnsupportedError
from .file import File, open
from .objects import Group


def _paths(group: Group, prefix: str, seen: frozenset[int]) -> list[str]:
    found: list[str] = []
    for name, kind, number, _ in group._about["links"]:
        if kind != "hard" or number in seen:
            continue
        about = group._file.describe(number)
        if about["kind"] in ("dataset", "group"):
            found.append(prefix + name)
        if about["kind"] == "group":
            found += _paths(Group(group._file, number, "/" + prefix + name), f"{prefix}{name}/", seen | {number})
    return found


def sql(query: str, files: Any) -> duckdb.DuckDBPyRelation:
    """The rows of `query` as a DuckDB relation. A view is named by its path without the leading
    slash (`"a/b"`), and by its last part where that is unambiguous; only views that the query names are made."""
    file = files if isinstance(files, File) else open(files)
    paths = _paths(file, "", frozenset({0}))
    last = Counter(path.rsplit("/", 1)[-1] for path in paths)
    connection = duckdb.connect()
    refused: list[str] = []  # what the query may have meant but cannot be a table
    for path in paths:
        short = path.rsplit("/", 1)[-1]
        for name in {path} | ({short} if last[short] == 1 else set()):
            if name.lower() in query.lower():
                try:
                    connection.register(name, file.table("/" + path).dataset())
                except (InvalidInputError, UnsupportedError) as error:
                    refused.append(f"{name}: {error}")
    try:
        return connection.sql(query)
    except duckdb.Error as error:
        raise InvalidInputError(f"{error}; views: {', '.join(paths[:20])}{'; ' + '; '.join(refused) if refused else ''}", "InvalidInput") from None
