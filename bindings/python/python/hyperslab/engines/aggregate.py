"""Aggregates of a table by groups, as SQL computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ..tables.table import Table
from .sql import sql
from .views import quoted


def aggregate(table: Table, aggregates: Mapping[str, str], keys: Sequence[str]) -> pa.Table:
    """A row for each group of the rows of a table.

    Args:
        table: The rows.
        aggregates: The name and the SQL of each aggregate.
        keys: The SQL of what rows of a group share.

    Returns:
        The keys, and the aggregates.

    Raises:
        MissingExtraError: DuckDB is not installed.
        InvalidInputError: DuckDB refuses an expression.

    Example:
        >>> aggregate(table, {"mean": "avg(t2m)"}, ["lat"])
    """
    columns = [*keys, *(f"{text} as {quoted(name)}" for name, text in aggregates.items())]
    group = f" group by {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
    return sql(f"select {', '.join(columns)} from hyperslab_rows{group}", hyperslab_rows=table).to_arrow_table()
