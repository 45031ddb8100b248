"""Float bounds: what a query of DuckDB demands of floating-point columns of its one table.

DuckDB does not push `>`, `>=` and `BETWEEN` of floats into a scan, because NaN is the largest number in DuckDB, but not in Arrow. It tests
them itself. So a scan may leave out rows that fail, if it keeps each row that may pass: bounds are a little wider than in the query,
and NaN passes unless something is above it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..base.type_aliases import Json, JsonObject

#: Comparisons of a column with a constant on their right, and what they are with both sides exchanged.
_EXCHANGED = {
    "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
}


#: Values of the parameters of a query, by place or by name.
Parameters = Sequence[object] | Mapping[str, object] | None


@dataclass(frozen=True)
class OneTable:
    """A query of one table with a condition.

    Attributes:
        path: The name of the table: with its catalog before it, if the query names one.
        called: What the query may call the table, in lower case.
        terms: The conditions, all of which must hold.
        computed: Names of computed columns, in lower case, which a condition may mean.
    """

    path: tuple[str, ...]
    called: str
    terms: list[JsonObject]
    computed: frozenset[str]


def one_table(statement: JsonObject) -> OneTable | None:
    """The table and the conditions of `select … from table where …`; `None` for every other query."""
    try:
        node = statement["node"]
        source = node["from_table"]
        if node["type"] != "SELECT_NODE" or node["cte_map"]["map"] or node["sample"] is not None or node["where_clause"] is None:
            return None
        if source["type"] != "BASE_TABLE" or source["sample"] is not None or source["at_clause"] is not None or source["column_name_alias"]:
            return None
        path = tuple(source["qualified_name"]["path"])
        # A subquery may read the table again, also by a function (`query_table`), and wants rows that the condition does not speak of.
        if _selects(node) != 1:
            return None
        where = node["where_clause"]
        terms = where["children"] if where["type"] == "CONJUNCTION_AND" else [where]
        computed = frozenset(column["alias"].lower() for column in node["select_list"] if column["alias"])
        return OneTable(path, (source["alias"] or path[-1]).lower(), terms, computed)
    except (KeyError, TypeError, ValueError):
        # Another version of DuckDB may describe queries otherwise: it tests the condition anyway.
        return None


def _selects(node: Json) -> int:
    """The number of selections in a part of a query: subqueries, and itself."""
    if isinstance(node, dict):
        return ("from_table" in node) + sum(map(_selects, node.values()))
    return sum(map(_selects, node)) if isinstance(node, list) else 0


def condition(found: OneTable, columns: Mapping[str, tuple[str, pa.DataType]], parameters: Parameters) -> str | None:
    """A condition of ours that holds for each row of the table that passes.

    Args:
        found: The query.
        columns: For each name of a column in the query, its own name and its type.
        parameters: Values of the query's parameters.

    Returns:
        The condition on its floating-point columns, or `None` if nothing is demanded of them.
    """
    lower_names = {name.lower(): name for name in columns}
    bounds: dict[str, list[float | None]] = {}
    for term in found.terms:
        for reference, kind, constant in _comparisons(term, parameters):
            shown = _column(reference, found, lower_names)
            if shown is None or not pa.types.is_floating(columns[shown][1]):
                continue
            lower, upper = bounds.setdefault(shown, [None, None])
            double = pa.types.is_float64(columns[shown][1])
            if "GREATER" in kind:
                wider = _beyond(constant, -math.inf, double)
                bounds[shown][0] = wider if lower is None else max(lower, wider)
            else:
                wider = _beyond(constant, math.inf, double)
                bounds[shown][1] = wider if upper is None else min(upper, wider)
    terms: list[str] = []
    for shown, (lower, upper) in bounds.items():
        name = columns[shown][0]
        if '"' in name or "`" in name:
            continue
        low = None if lower is None or math.isinf(lower) else f'"{name}" >= {lower!r}'
        high = None if upper is None or math.isinf(upper) else f'"{name}" <= {upper!r}'
        if low is not None and upper is None:
            terms.append(f'({low} or "{name}" is nan)')
        else:
            terms += [side for side in (low, high) if side is not None]
    return " and ".join(terms) or None


def _comparisons(term: JsonObject, parameters: Parameters) -> list[tuple[list[str], str, float]]:
    """The column, the comparison and the constant of each part of a term; nothing if it is no such comparison."""
    kind = term.get("type")
    if kind == "COMPARE_BETWEEN":
        sides = [(term["input"], "COMPARE_GREATERTHANOREQUALTO", term["lower"]), (term["input"], "COMPARE_LESSTHANOREQUALTO", term["upper"])]
    elif kind in _EXCHANGED:
        sides = [(term["left"], kind, term["right"]), (term["right"], _EXCHANGED[kind], term["left"])]
    else:
        return []
    found = []
    for column, comparison, other in sides:
        constant = _number(other, parameters)
        if column.get("type") == "COLUMN_REF" and constant is not None:
            found.append((column["column_names"], comparison, constant))
    return found


def _number(term: JsonObject, parameters: Parameters) -> float | None:
    """A constant or parameter that is a number."""
    try:
        if term.get("type") == "VALUE_CONSTANT" and term["literal"]["kind"] in ("INTEGER", "NUMERIC"):
            number = float(term["literal"]["text"])
        elif term.get("type") == "VALUE_PARAMETER" and parameters is not None:
            given = parameters[term["identifier"]] if isinstance(parameters, Mapping) else parameters[int(term["identifier"]) - 1]
            if isinstance(given, bool) or not isinstance(given, (int, float, np.integer, np.floating)):
                return None
            number = float(given)
        else:
            return None
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _column(names: list[str], found: OneTable, columns: Mapping[str, str]) -> str | None:
    """The column that a reference means; `None` if it may mean something else: a computed column, or a member of a struct."""
    *before, last = (name.lower() for name in names)
    if last in found.computed or before not in ([], [found.called]) or (before and found.called in columns):
        return None
    return columns.get(last)


def _beyond(number: float, way: float, double: bool) -> float:
    """The next number but one in a direction: DuckDB may round a constant to the type of the column."""
    with np.errstate(over="ignore"):
        kind = np.float64 if double else np.float32
        return float(np.nextafter(np.nextafter(kind(number), kind(way)), kind(way)))
