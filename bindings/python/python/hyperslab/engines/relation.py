"""A relation of DuckDB whose interrupted queries are `KeyboardInterrupt`, as all other work in Python is: DuckDB raises a
`RuntimeError` instead, which programs take for a fault."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import duckdb

Result = TypeVar("Result")

#: How the aggregates of a relation are computed.
_notes: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()

#: Methods that run the query.
_RUNNING = (
    *("execute", "show", "fetchone", "fetchmany", "fetchall", "fetchnumpy", "fetchdf", "fetch_df_chunk", "fetch_arrow_table", "fetch_arrow_reader"),
    *("df", "to_df", "arrow", "to_arrow_table", "to_arrow_reader", "pl", "torch", "tf", "__repr__", "__len__"),
    *("write_csv", "to_csv", "write_parquet", "to_parquet", "create", "to_table"),
)


def interruptible(relation: duckdb.DuckDBPyRelation, notes: list[str]) -> duckdb.DuckDBPyRelation:
    """The same relation, whose methods raise `KeyboardInterrupt` after Ctrl-C.

    Args:
        relation: A relation of DuckDB.
        notes: Lines that `explain` adds.

    Returns:
        The relation.

    Example:
        >>> interruptible(connection.sql("from x"), []).fetchall()
    """
    # Assigned, not wrapped: DuckDB takes only its own relations in further queries.
    relation.__class__ = _interruptible_class()
    if notes:
        _notes[relation] = notes
    return relation


@functools.cache
def _interruptible_class() -> Any:
    import duckdb

    base = duckdb.DuckDBPyRelation

    def explain(self: Any, *arguments: Any, **options: Any) -> str:
        return "\n".join([base.explain(self, *arguments, **options).rstrip("\n"), *_notes.get(self, [])])

    methods: dict[str, Any] = {name: _converting(getattr(base, name)) for name in _RUNNING if hasattr(base, name)}
    return type("DuckDBPyRelation", (base,), {"__slots__": (), "__module__": base.__module__, "__doc__": base.__doc__, "explain": explain, **methods})


def _converting(method: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(method)
    def run(self: object, *arguments: Any, **options: Any) -> Result:
        try:
            return method(self, *arguments, **options)
        except RuntimeError as error:
            # DuckDB asks Python for signals, takes the KeyboardInterrupt, and says this in its place.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise

    return run
