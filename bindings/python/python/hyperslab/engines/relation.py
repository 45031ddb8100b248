"""A relation of DuckDB whose interrupted queries are `KeyboardInterrupt`, as all other work in Python is: DuckDB raises a
`RuntimeError` instead, which programs take for a fault."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import duckdb

    from .reducing.query import Groups

Result = TypeVar("Result")

#: How the aggregates of relations are computed.
_groups: weakref.WeakKeyDictionary[Any, Groups] = weakref.WeakKeyDictionary()

#: Methods that run the query.
_RUNNING = (
    *("execute", "show", "fetchone", "fetchmany", "fetchall", "fetchnumpy", "fetchdf", "fetch_df_chunk", "fetch_arrow_table", "fetch_arrow_reader"),
    *("df", "to_df", "arrow", "to_arrow_table", "to_arrow_reader", "pl", "torch", "tf", "__repr__", "__len__"),
    *("write_csv", "to_csv", "write_parquet", "to_parquet", "create", "to_table"),
)


def interruptible(relation: duckdb.DuckDBPyRelation, groups: Groups | None = None) -> duckdb.DuckDBPyRelation:
    """The same relation, whose methods raise `KeyboardInterrupt` after Ctrl-C.

    Args:
        relation: A relation of DuckDB.
        groups: How its aggregates are computed.

    Returns:
        The relation.

    Example:
        >>> interruptible(connection.sql("from x")).fetchall()
    """
    # Assigned, not wrapped: DuckDB takes only its own relations in further queries.
    relation.__class__ = _interruptible_class()
    if groups is not None:
        _groups[relation] = groups
    return relation


@functools.cache
def _interruptible_class() -> Any:
    import duckdb

    base = duckdb.DuckDBPyRelation

    def explain(self: Any, *arguments: Any, **options: Any) -> str:
        return "\n".join([base.explain(self, *arguments, **options).rstrip("\n"), *(_groups[self].notes() if self in _groups else [])])

    methods: dict[str, Any] = {name: _converting(getattr(base, name)) for name in _RUNNING if hasattr(base, name)}
    return type("DuckDBPyRelation", (base,), {"__slots__": (), "__module__": base.__module__, "__doc__": base.__doc__, "explain": explain, **methods})


def _converting(method: Callable[..., Result]) -> Callable[..., Result]:
    import duckdb

    @functools.wraps(method)
    def run(self: object, *arguments: Any, **options: Any) -> Result:
        if self in _groups:
            # Here, where Ctrl-C ends it at once, and not in a thread of DuckDB's.
            _groups[self].compute()
        try:
            return method(self, *arguments, **options)
        except RuntimeError as error:
            # DuckDB asks Python for signals, takes the KeyboardInterrupt, and says this in its place.
            if str(error) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise
        except duckdb.Error as error:
            # As it is said of what a source in Python was asked for.
            if "failed: KeyboardInterrupt" in str(error):
                raise KeyboardInterrupt from None
            raise

    return run
