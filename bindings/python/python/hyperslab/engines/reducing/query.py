"""Query: one whose selections are computed on arrays where that is the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ... import _native
from ...base.errors import LimitExceededError, UnsupportedError
from ...base.type_aliases import JsonObject
from ..float_bounds import Parameters
from ..views import View
from .parameters import with_constants
from .selection import aggregates_of, is_distinct, reduce_selection
from .tree import NotReduced, nodes, text_of
from .view import ReducedView

if TYPE_CHECKING:
    import duckdb


class Groups:
    """The groups of a query, and why others are not computed on arrays.

    Attributes:
        reasons: For each selection with aggregates that is not reduced, why not.
    """

    def __init__(self, reasons: list[str], views: Sequence[ReducedView] = ()) -> None:
        self.reasons, self._views = reasons, views

    def notes(self) -> list[str]:
        """A line for each selection with aggregates: how it is reduced, or why not."""
        return [*(view.note() for view in self._views), *(f"not reduced in the array: {reason}" for reason in self.reasons)]

    def compute(self) -> None:
        """Computes the groups, if they are not known; else DuckDB has it done when it reads them."""
        for view in self._views:
            view.compute()


class Reduced(NamedTuple):
    """A query after its aggregates were looked at.

    Attributes:
        relation: The result of the query over the groups; `None` if nothing is reduced.
        groups: The groups. They do not know the relation: what is kept for it while it lives must not keep it alive.
    """

    relation: duckdb.DuckDBPyRelation | None
    groups: Groups


def reduced(
    connection: duckdb.DuckDBPyConnection,
    statement: JsonObject,
    parameters: Parameters,
    find: Callable[[tuple[str, ...]], View | None],
    cancellation: _native.Cancellation | None = None,
) -> Reduced:
    """Computes the aggregates of a query on arrays, where that is the same.

    Args:
        connection: The connection that will run the query.
        statement: The query.
        parameters: Values of its parameters.
        find: The view that a name in the query means.
        cancellation: Stops what is read of files, from any thread.

    Returns:
        The result, which is computed when it is read, and what was done.
    """
    import duckdb

    reasons: list[str] = []
    views: list[ReducedView] = []
    try:
        if not any(map(_has_groups, nodes(statement))):
            return Reduced(None, Groups(reasons))
        statement = with_constants(statement, parameters)
        temporary = {entry["key"].lower() for node in nodes(statement) if isinstance(node.get("cte_map"), dict) for entry in node["cte_map"]["map"]}
        for node in filter(_has_groups, list(nodes(statement))):
            path = tuple(node["from_table"]["qualified_name"]["path"])
            view = None if len(path) == 1 and path[0].lower() in temporary else find(path)
            if view is not None:
                try:
                    views.append(reduce_selection(connection, node, view, f"hyperslab_groups_{len(views)}", cancellation))
                except (NotReduced, UnsupportedError, LimitExceededError) as reason:
                    reasons.append(str(reason))
        relation = connection.sql(text_of(connection, statement)) if views else None
        return Reduced(relation, Groups(reasons, views))
    except NotReduced as reason:
        return Reduced(None, Groups([str(reason)]))
    except (duckdb.Error, KeyError, TypeError, ValueError) as error:
        # DuckDB refuses a query with the names that its author knows; and another version of DuckDB may describe it otherwise.
        return Reduced(None, Groups([str(error).splitlines()[0]]))


def _has_groups(node: JsonObject) -> bool:
    """Whether it is a selection of one table with groups: aggregates, keys, or distinct rows."""
    if node.get("type") != "SELECT_NODE" or node["from_table"]["type"] != "BASE_TABLE":
        return False
    return bool(node["group_expressions"]) or is_distinct(node) or any(aggregates_of(node))
