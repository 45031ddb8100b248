"""DuckDB catalog: views of files in a connection of DuckDB, under a name of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.errors import InvalidInputError, LimitExceededError, NotFoundError
from ..base.extras import require
from ..base.type_aliases import Paths
from ..files.file import File, open
from .file_views import FileViews, NamedTable
from .views import quoted

if TYPE_CHECKING:
    import duckdb

#: Each view is planned and kept.
MAX_VIEWS = 10_000


@dataclass(frozen=True)
class Attached:
    """What `attach` made.

    Attributes:
        name: The catalog's name.
        views: The names of its views.
        refused: The objects that have none, with the reason.
    """

    name: str
    views: tuple[str, ...]
    refused: dict[str, str]


def attach(connection: duckdb.DuckDBPyConnection, files: File | Paths, name: str, objects: Sequence[str] | None = None) -> Attached:
    """Makes the datasets and groups of files views in a connection of DuckDB.

    The views are in a catalog of their own in memory, which `detach name` removes: nothing is written into a database. They
    read when they are queried.

    Args:
        connection: A connection of DuckDB. Its cursors have the views, too.
        files: An open file, or what `open` takes. With several files, the views are the objects of the first one and contain
            the rows of all.
        name: Name of the catalog: views are `name.view`, or `name."a/b"`.
        objects: Names of the views as in `hs.sql`, also with wildcards; by default all.

    Returns:
        The names of the views, and the objects that have none with the reason.

    Raises:
        MissingExtraError: DuckDB is not installed: it comes with `pip install 'hyperslab[sql]'`.
        InvalidInputError: The name is taken.
        NotFoundError: There is none of the `objects`.
        LimitExceededError: There are more than 10,000 views: choose `objects`.

    Example:
        >>> con = duckdb.connect()
        >>> hs.attach(con, "profiles.nc", "ocean")
        >>> con.sql("select avg(theta) from ocean.theta")
    """
    require("attach", "sql", "duckdb")
    source = FileViews(files if isinstance(files, File) else open(files))
    if objects is None and len(source.names.paths) > MAX_VIEWS:
        raise LimitExceededError(
            f"the file has {len(source.names.paths)} names of views, more than {MAX_VIEWS}: choose objects=[…]", source.file.files[0].filename
        )
    chosen = list(source.all()) if objects is None else [_required(source, one) for one in objects]
    create_catalog(connection, name)
    for found in chosen:
        create_view(connection, name, found)
    return Attached(name, tuple(found.name for found in chosen), dict(source.refused))


def _required(source: FileViews, written: str) -> NamedTable:
    found = source.find(written.lstrip("/"))
    if found is None:
        reason = source.refused.get(written.lstrip("/").lower())
        raise NotFoundError(f"there is no view {written!r}" + (f": {reason}" if reason else ""), source.file.files[0].filename)
    return found


def create_catalog(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """An empty catalog in memory. `InvalidInputError` if the name is taken."""
    import duckdb

    try:
        connection.execute(f"attach ':memory:' as {quoted(name)}")
    except duckdb.Error as error:
        raise InvalidInputError(f"the name {name!r} cannot be used: {' '.join(str(error).split())}") from None


def create_view(connection: duckdb.DuckDBPyConnection, catalog: str, found: NamedTable) -> None:
    """A view in a catalog, or in the connection's own if the name is empty."""
    if not catalog:
        connection.register(found.name, found.view)
        return
    with _using(connection, catalog):
        # A registered object would be temporary: invisible to cursors, and listed among the user's tables.
        connection.from_arrow(found.view).create_view(found.name, replace=True)


@contextlib.contextmanager
def _using(connection: duckdb.DuckDBPyConnection, catalog: str) -> Iterator[None]:
    row = connection.execute("select current_database(), current_schema()").fetchone()
    assert row is not None  # a query without a condition has a row
    connection.execute(f"use {quoted(catalog)}")
    try:
        yield
    finally:
        connection.execute(f"use {quoted(row[0])}.{quoted(row[1])}")
