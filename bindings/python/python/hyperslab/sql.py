"""SQL: DuckDB over the datasets and groups of files, each a view."""

from __future__ import annotations

from typing import Any

import duckdb

from . import interrupts
from .errors import CorruptError, InvalidInputError, LimitExceededError, NotFoundError, UnsupportedError
from .file import File, open
from .table import Table
from .views import View, asks_for_views, counted, explained, names_of, object_paths, words_of


def sql(query: str, files: Any) -> duckdb.DuckDBPyRelation:
    """The rows of `query` as a DuckDB relation. A view is named by its path without the leading slash (`"a/b"`), and by
    its last part if that is unambiguous. Of several files, the views are the objects of the first, with the rows of all.

    Raises `InvalidInputError` for a query that DuckDB refuses; it says why a view or a column is missing. Warns
    (`OmittedColumnsWarning`) of members of a group that are not columns of its view."""
    interrupts.wait_for_the_end()
    file = files if isinstance(files, File) else open(files)
    names = names_of(object_paths(file.files[0]))
    connection = duckdb.connect(config={"python_enable_replacements": False})
    everything = asks_for_views(query)
    used = _tables_of(connection, query)
    refused: dict[str, str] = {}
    omitted: dict[str, str] = {}
    tables: dict[str, Table] = {}
    views: list[View] = []
    for word in names.paths if everything else words_of(query):
        if word not in names.paths:
            continue
        name, path = names.paths[word]
        try:
            table = tables[word] = file.table("/" + path, omitted="ignore")
            if everything and name.rsplit("/", 1)[-1] == name and name != path:
                continue  # a short name of what is listed by its path
            views.append(View(table))
            connection.register(name, views[-1])
        except (InvalidInputError, UnsupportedError, CorruptError, LimitExceededError, NotFoundError) as error:
            refused[word] = error.message
            continue
        omitted |= {member: f"in {path} it {reason}" for member, reason in table.omitted.items()}
    try:
        only = counted(query)
        if only is not None and only[0] in tables:
            # From metadata: DuckDB would go through all rows, and a small file may claim any number of them.
            alias = only[1].replace('"', '""')
            return connection.sql(f'select {tables[only[0]].count()}::bigint as "{alias}"')
        relation = connection.sql(query)
        if relation is not None:  # None: a statement without rows
            interrupts.watch(relation, connection)
    except duckdb.Error as error:
        raise InvalidInputError(explained(error, names, refused, omitted, views)) from None
    for word in [] if everything else tables:
        if used is None or word in used:
            tables[word]._report_omitted("warn", 2)
    return relation


def _tables_of(connection: duckdb.DuckDBPyConnection, query: str) -> set[str] | None:
    """The tables of a query, in lower case; `None` if DuckDB cannot tell before it knows their columns."""
    try:
        return {name.lower() for name in connection.get_table_names(query)}
    except duckdb.Error:
        return None
