"""Database: DuckDB with the tables of files as views, which reads nothing else and writes nothing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from .. import _native
from ..base.errors import InvalidInputError, NotFoundError
from ..base.extras import require
from ..engines.file_views import NamedTable
from ..engines.reducing.query import reduced
from ..engines.views import View, quoted
from .failures import invalid
from .files import SchemaFile
from .statements import CATALOG, ParameterValues, Statement, parse

if TYPE_CHECKING:
    import duckdb

#: Views that are kept; beyond them all are made again when they are named.
_MAX_VIEWS = 20_000
#: No query may touch files, load extensions, or change this. The order matters: the last one locks the others.
_CLOSED = (
    "set enable_external_access = false",
    "set autoinstall_known_extensions = false",
    "set autoload_known_extensions = false",
    "set allow_community_extensions = false",
    "set lock_configuration = true",
)


class SchemaFiles(Protocol):
    """Files by the names of their schemas."""

    def open(self, written: str, /) -> SchemaFile:
        """The file of a schema's name; the same object as long as the file has not changed."""


class Database:
    """One database in memory for all queries, each of which has a connection of its own.

    Args:
        files: Opens the files whose tables are views.
        memory: Bytes that all queries together may use; nothing is written to the disk.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """

    def __init__(self, files: SchemaFiles, memory: int) -> None:
        require("The server", "serve", "duckdb")
        import duckdb

        self._files = files
        self._connection = duckdb.connect(config={"python_enable_replacements": False, "temp_directory": "", "memory_limit": f"{memory}B"})
        self._connection.execute("load json")  # its parser shows what a query names
        self._connection.execute(f"attach ':memory:' as {CATALOG}")
        self._connection.execute(f"use {CATALOG}")
        for setting in _CLOSED:
            self._connection.execute(setting)
        self._lock = threading.Lock()
        #: What the schemas and views in lower case were made of; a schema also has the name that made it.
        self._schemas: dict[str, tuple[str, SchemaFile]] = {}
        self._views: dict[tuple[str, str], NamedTable] = {}
        #: The views that running queries use, by the number of their connection.
        self._used: dict[int, list[View]] = {}
        #: What stops the reductions of running queries, which are theirs alone.
        self._reductions: dict[int, list[_native.Cancellation]] = {}
        self._stopped: set[int] = set()

    def statement(self, text: str, schema: str | None = None) -> Statement:
        """What a query asks for; see `statements.parse`."""
        with self.connection() as connection:
            return parse(connection, text, schema)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own for a query."""
        connection = self._connection.cursor()
        connection.execute(f"use {CATALOG}")
        return connection

    def relation(
        self, connection: duckdb.DuckDBPyConnection, statement: Statement, parameters: ParameterValues, schema: str | None = None
    ) -> duckdb.DuckDBPyRelation:
        """A query that is bound and does not run yet.

        Args:
            connection: Its connection.
            statement: The query.
            parameters: Values of its parameters.
            schema: The file of tables that are named without one.

        Raises:
            Error: A file or table that it names does not exist, or cannot be read.
            duckdb.Error: DuckDB refuses the query.
        """
        found = [self._view(name.file, name.table) for name in statement.tables]
        cancellation = _native.Cancellation()
        with self._lock:
            self._used.setdefault(id(connection), []).extend(one.view for one in found)
            self._reductions.setdefault(id(connection), []).append(cancellation)
            if id(connection) in self._stopped:
                cancellation.cancel()
        if statement.counted is not None and len(found) == 1:
            # From metadata: DuckDB would scan all rows.
            return connection.sql(f"select {found[0].table.count()}::bigint as {quoted(statement.counted)}")
        if schema is not None and any(name.file == schema for name in statement.tables):
            connection.execute(f"use {CATALOG}.{quoted(schema)}")
        views = {(name.file, name.table): one.view for name, one in zip(statement.tables, found, strict=True)}

        def named(path: tuple[str, ...]) -> View | None:
            return views.get((path[-2] if len(path) > 1 else schema or "", path[-1]))

        relation = None if statement.is_explained else reduced(connection, statement.tree, parameters, named, cancellation).relation
        if relation is None:
            relation = connection.sql(statement.text, params=parameters or None)
        if relation is None:
            raise invalid("the statement has no rows")
        return relation

    def _view(self, file: str, table: str) -> NamedTable:
        opened = self._files.open(file)
        found = opened.find(table)
        schema, view = file.lower(), found.name.lower()
        with self._lock:
            if len(self._views) > _MAX_VIEWS:
                self._forget(list(self._schemas))
            before = self._schemas.get(schema)
            if before is not None and before[1] is not opened:
                self._refuse_alike(*before, file, opened)
                self._forget([schema])
            if schema not in self._schemas:
                self._connection.execute(f"create schema {CATALOG}.{quoted(file)}")
                self._schemas[schema] = (file, opened)
            if (schema, view) not in self._views:
                found.view.scans = []
                self._connection.execute(f"use {CATALOG}.{quoted(file)}")
                try:
                    self._connection.from_arrow(found.view).create_view(found.name, replace=True)
                finally:
                    self._connection.execute(f"use {CATALOG}.main")
                self._views[schema, view] = found
            return self._views[schema, view]

    def cancel_scans(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Cancels what a query reads, after it was interrupted: DuckDB notices that between two batches only. A view that other
        queries use, too, is left alone until these are stopped or end, because its scans may be theirs."""
        with self._lock:
            self._stopped.add(id(connection))
            others = {id(view) for key, views in self._used.items() if key not in self._stopped for view in views}
            own = [view for view in self._used.get(id(connection), ()) if id(view) not in others]
            reductions = tuple(self._reductions.get(id(connection), ()))
        for view in own:
            view.cancel_scans()
        for reduction in reductions:
            reduction.cancel()

    def release(self, connection: duckdb.DuckDBPyConnection) -> None:
        """A query has ended: its connection is about to be closed."""
        with self._lock:
            views = self._used.pop(id(connection), [])
            self._reductions.pop(id(connection), None)
            self._stopped.discard(id(connection))
            others = {id(view) for used in self._used.values() for view in used}
            for view in views:
                if id(view) not in others:
                    view.scans = []

    def _refuse_alike(self, before: str, file_before: SchemaFile, now: str, file_now: SchemaFile) -> None:
        """SQL does not tell upper from lower case: two files whose names differ only in that would be one schema."""
        if file_before.path == file_now.path:
            return
        try:
            is_there = self._files.open(before).path == file_before.path
        except (InvalidInputError, NotFoundError):
            is_there = False
        if is_there:
            raise InvalidInputError(
                f"'{before}' ({file_before.name}) and '{now}' ({file_now.name}) differ in case only, which SQL cannot tell apart: rename one"
            )

    def _forget(self, schemas: list[str]) -> None:
        for schema in schemas:
            self._connection.execute(f"drop schema {CATALOG}.{quoted(schema)} cascade")
            del self._schemas[schema]
        self._views = {key: found for key, found in self._views.items() if key[0] not in schemas}

    def close(self) -> None:
        """Closes the database; queries that run keep their connections until they end."""
        self._connection.close()


def schema_of(relation: duckdb.DuckDBPyRelation) -> pa.Schema:
    """The schema of a query's result; nothing is read."""
    empty = relation.limit(0).to_arrow_table().schema
    # Below a limit DuckDB makes names distinct; the result has the names of the query.
    return pa.schema([field.with_name(name) for field, name in zip(empty, relation.columns, strict=True)])
