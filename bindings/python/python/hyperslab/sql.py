"""SQL: DuckDB over the datasets and groups of files, each a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import interrupts
from .errors import CorruptError, InvalidInputError, LimitExceededError, NotFoundError, UnsupportedError
from .extras import require
from .file import File, open
from .table import Table
from .type_aliases import Paths
from .views import View, asks_for_views, counted, explained, names_of, object_paths, words_of

if TYPE_CHECKING:
    import duckdb


def sql(query: str, files: File | Paths) -> duckdb.DuckDBPyRelation:
    """Runs an SQL query over the datasets and groups of files.

    Args:
        query: SQL of DuckDB. A view is named by the path of its object without the leading slash (`"a/b"`), and by the last
            part of the path if that is unambiguous. Tables of data models (`File.models`) are views by their names.
        files: An open file, or what `open` takes. With several files, the views are the objects of the first one and contain
            the rows of all.

    Returns:
        A DuckDB relation: `.fetchall()`, `.df()`, `.to_arrow_table()`.

    Raises:
        MissingExtraError: DuckDB is not installed: it comes with `pip install 'hyperslab[sql]'`.
        InvalidInputError: DuckDB refuses the query; the message says why a view or a column is missing.

    Warns:
        OmittedColumnsWarning: Members of a group are not columns of its view.

    Example:
        >>> hs.sql("select avg(theta) from profiles where depth < 100", "profiles.nc").fetchall()
    """
    require("SQL", "sql", "duckdb")
    import duckdb

    interrupts.wait_for_the_end()
    file = files if isinstance(files, File) else open(files)
    names = names_of(object_paths(file.files[0]))
    of_model: dict[str, str] = {}
    for view in reversed([view for view in file.models if view.certainty != "possible"]):
        for table_name in view.tables:
            # What a table means comes before the object of its name: `obs` is a data frame, not a group.
            names.paths[table_name.lower()] = (table_name, table_name)
            of_model[table_name.lower()] = view.name
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
            model = of_model.get(word)
            table = tables[word] = file.table(path if model else "/" + path, omitted="ignore", model=model)
            if everything and name.rsplit("/", 1)[-1] == name and name != path:
                continue  # a short name of a view that is listed by its path
            views.append(View(table))
            connection.register(name, views[-1])
        except (InvalidInputError, UnsupportedError, CorruptError, LimitExceededError, NotFoundError) as error:
            refused[word] = error.message
            continue
        omitted |= {member: f"in {path} it {reason}" for member, reason in table.omitted.items()}
    try:
        only = counted(query)
        if only is not None and only[0] in tables:
            # From metadata: DuckDB would scan all rows, and a small file may claim any number of them.
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
    import duckdb

    try:
        return {name.lower() for name in connection.get_table_names(query)}
    except duckdb.Error:
        return None
