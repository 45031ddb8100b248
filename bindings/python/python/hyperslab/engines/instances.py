"""Instances of DuckDB: one is kept for many queries, since making one takes longer than a small query.

A query has a connection and an empty catalog of its own in the kept instance, so that what it makes is invisible to others. Statements
that may change the instance, and those that list what it has, get an instance of their own.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from ..base.extras import importing

if TYPE_CHECKING:
    import duckdb

#: Queries that an instance is used for: what is left of each is a few kilobytes, which go with the instance.
_MAX_QUERIES = 1000

_lock = threading.Lock()
_has_begun = False
_kept: duckdb.DuckDBPyConnection | None = None
_queries = 0
#: Instances of the process that this one was forked from: they have no threads here, and waiting for those would never end.
_of_parents: list[duckdb.DuckDBPyConnection] = []


def own_instance() -> duckdb.DuckDBPyConnection:
    """A connection to a new instance, in which variables of Python are not tables."""
    import duckdb

    global _has_begun
    if not _has_begun:
        # DuckDB makes static objects at its first connection and query, and a child that is forked meanwhile would wait for them forever.
        # Forks wait for imports.
        with importing():
            duckdb.connect().execute("select count(*) from range(3) where range > 1").fetchall()
            _has_begun = True
    return duckdb.connect(config={"python_enable_replacements": False})


def own_catalog() -> duckdb.DuckDBPyConnection:
    """A connection to the kept instance, with an empty catalog of its own."""
    global _kept, _queries
    with _lock:
        if _kept is None or _queries >= _MAX_QUERIES:
            _kept, _queries = own_instance(), 0
        _queries += 1
        connection, name = _kept.cursor(), f"hyperslab_{_queries}"
    connection.execute(f"attach ':memory:' as {name}; use {name}")
    return connection


def _forget() -> None:
    global _kept, _lock
    _lock = threading.Lock()
    if _kept is not None:
        _of_parents.append(_kept)
        _kept = None


os.register_at_fork(after_in_child=_forget)
