"""SQL: DuckDB over the datasets and groups of files, each a view."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

from ..base import interrupts
from ..base.errors import InvalidInputError
from ..base.type_aliases import JsonObject, Paths
from ..files.file import File, open
from ..tables.table import Table, report_omitted
from .duckdb_catalog import create_catalog, create_view
from .file_views import FileViews
from .float_bounds import Parameters, condition, one_table
from .instances import own_catalog, own_instance
from .reducing.query import reduced
from .reducing.tree import parsed, table_names
from .relation import interruptible
from .views import View, asks_for_views, counted, explained, names_of, quoted, words_of

if TYPE_CHECKING:
    import duckdb


#: DuckDB's words for a table that it does not know, and for a view that a statement would change.
_MISSING_TABLE = re.compile(r"Table with name .* does not exist")
_NOT_A_TABLE = re.compile(r"is not an table|Can only (update|delete from|insert into) base table", re.IGNORECASE)


def sql(
    query: str,
    files: File | Paths | Mapping[str, object] | None = None,
    *,
    parameters: Parameters = None,
    **named: object,
) -> duckdb.DuckDBPyRelation:
    """Runs an SQL query over the datasets and groups of files.

    Args:
        query: SQL of DuckDB. A view is named by the path of its object without the leading slash (`"a/b"`), and by the last
            part of the path if that is unambiguous; with wildcards (`"Step#*/x"`) it has the rows of all objects that match.
            Tables of data models (`File.models`) are views by their names.
        files: An open file, or what `open` takes. With several files, the views are the objects of the first one and contain
            the rows of all. A mapping has what `named` has.
        parameters: Values of `?` or `$1` in the query as a sequence, of `$name` as a mapping.
        named: More files, whose views are `name.view`; and tables by their names: a `Table`, a frame of pandas or Polars, or
            what pyarrow has.

    Returns:
        A DuckDB relation: `.fetchall()`, `.df()`, `.to_arrow_table()`.

    Raises:
        MissingExtraError: DuckDB is not installed: it comes with `pip install 'hyperslab[sql]'`.
        InvalidInputError: DuckDB refuses the query; the message says why a view or a column is missing.

    Warns:
        OmittedColumnsWarning: Members of a group are not columns of its view.

    Example:
        >>> hs.sql("select avg(theta) from profiles where depth < 100", "profiles.nc").fetchall()
        >>> hs.sql("select a.x.x - b.x.x as change from a.x join b.x using (dim_0)", a="monday.h5", b="tuesday.h5").fetchall()
    """
    interrupts.prepare()
    with interrupts.preparing():
        return _relation(query, files, parameters, named)


def _relation(query: str, files: File | Paths | Mapping[str, object] | None, parameters: Parameters, named: dict[str, object]) -> duckdb.DuckDBPyRelation:
    import duckdb

    if isinstance(files, Mapping) and not isinstance(files, File):
        named, files = {**files, **named}, None
    connection = own_catalog()
    statement = parsed(connection, query)
    everything = asks_for_views(query)
    if statement is None or everything or any(map(_is_of_files, named.values())):
        connection = own_instance()
    sources: dict[str, FileViews] = {}
    given: dict[str, View | None] = {}
    if files is not None:
        sources[""] = FileViews(files if isinstance(files, File) else open(files))
    for name, value in named.items():
        if _is_of_files(value):
            sources[name] = FileViews(value if isinstance(value, File) else open(value))
            create_catalog(connection, name)
        else:
            given[name.lower()] = _register(connection, name, value)
    names = None if statement is None else table_names(statement)
    names = words_of(query) if names is None else names
    views: dict[tuple[str, ...], View | None] = {(name,): view for name, view in given.items()}
    for catalog, source in sources.items():
        for found in source.all() if everything else filter(None, map(source.find, names)):
            create_view(connection, catalog, found)
            views[(catalog.lower(), found.name.lower()) if catalog else (found.name.lower(),)] = found.view
    main = sources.get("")
    try:
        only = counted(query)
        if main is not None and only is not None and only[0] in main.tables:
            # From metadata: DuckDB would scan all rows, and a small file may claim any number of them.
            return connection.sql(f"select {main.tables[only[0]].count()}::bigint as {quoted(only[1])}")
        in_array = None if statement is None else reduced(connection, statement, parameters, lambda path: views.get(tuple(part.lower() for part in path)))
        relation = None if in_array is None else in_array.relation
        if relation is None:
            if statement is not None:
                _narrow(statement, views, parameters)
            relation = connection.sql(query, params=parameters)
        if relation is not None:  # None: a statement without rows
            interrupts.watch(relation, connection)
            interruptible(relation, None if in_array is None else in_array.groups)
    except duckdb.Error as error:
        raise InvalidInputError(_explained(error, sources)) from None
    for source in [] if everything else sources.values():
        for table in source.tables.values():
            report_omitted(table, "warn", 3)
    return relation


def _narrow(statement: JsonObject, views: Mapping[tuple[str, ...], View | None], parameters: Parameters) -> None:
    """Leaves out rows of the only table of a query that its condition on floats refuses."""
    if (only_table := one_table(statement)) is not None:
        view = views.get(tuple(part.lower() for part in only_table.path))
        if view is not None and (narrow := condition(only_table, view.columns_in_sql(), parameters)) is not None:
            view.narrow(narrow)


def _is_of_files(value: object) -> TypeGuard[File | Paths]:
    """Whether it is a file, a path, or a list of paths, and not a table."""
    if isinstance(value, (File, str, bytes, os.PathLike)):
        return True
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, (str, bytes, os.PathLike)) for one in value)


def _register(connection: duckdb.DuckDBPyConnection, name: str, value: object) -> View | None:
    """Makes a table or frame known under a name; the view of a table."""
    import duckdb

    view = View(value) if isinstance(value, Table) else None
    try:
        connection.register(name, value if view is None else view)
    except duckdb.Error:
        message = f"{name}={type(value).__name__}: give a file, a path, a Table, a data frame of pandas or Polars, or a table of pyarrow"
        raise InvalidInputError(message) from None
    return view


def _explained(error: duckdb.Error, sources: Mapping[str, FileViews]) -> str:
    """What DuckDB misses, from what the files have."""
    if not sources and _MISSING_TABLE.search(str(error)):
        return f"{str(error).splitlines()[0]} Give a file: hs.sql(query, 'profiles.nc'), or a table by its name: hs.sql(query, t=table)"
    if _NOT_A_TABLE.search(str(error)):
        return "tables of files are only read in SQL: hs.write_table and the mode r+ change files"
    if list(sources) == [""]:
        only = sources[""]
        return explained(error, only.names, only.refused, only.omitted, only.views)
    shown = names_of([])
    refused: dict[str, str] = {}
    omitted: dict[str, str] = {}
    views: list[View] = []
    for catalog, source in sources.items():
        prefix = f"{catalog}." if catalog else ""
        for word, (name, path) in source.names.paths.items():
            shown.paths[prefix + word] = (prefix + name, path)
        refused |= source.refused
        omitted |= source.omitted
        views += source.views
    return explained(error, shown, refused, omitted, views, tuple(filter(None, sources)))
