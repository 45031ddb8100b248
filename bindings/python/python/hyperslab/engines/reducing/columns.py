"""Columns of a table by what they depend on: one dimension, nothing but the file, or all dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from ... import _native
from ...base.type_aliases import Json
from .tree import NotReduced, nodes

#: Functions whose result follows from their arguments alone; DuckDB is asked about others.
_PURE = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "^",
        "**",
        "||",
        "abs",
        "floor",
        "ceil",
        "ceiling",
        "round",
        "trunc",
        "sign",
        "sqrt",
        "exp",
        "ln",
        "log",
        "log2",
        "log10",
        "pow",
        "power",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "radians",
        "degrees",
        "pi",
        "least",
        "greatest",
        "coalesce",
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "dayofyear",
        "dayofweek",
        "isodow",
        "week",
        "weekofyear",
        "quarter",
        "date_trunc",
        "datetrunc",
        "date_part",
        "datepart",
        "extract",
        "epoch",
        "strftime",
        "monthname",
        "dayname",
        "last_day",
        "make_date",
        "time_bucket",
        "isnan",
        "isfinite",
        "isinf",
        "lower",
        "upper",
        "substring",
        "substr",
        "length",
    ]
)
_SIMPLE = {"COLUMN_REF", "CONSTANT", "FUNCTION", "COMPARISON", "BETWEEN", "CONJUNCTION", "OPERATOR", "CAST", "CASE", "TYPE"}

#: The segments of a table (files, or objects that a wildcard matched) as if they were a dimension.
SEGMENTS = -1


@dataclass
class TableColumns:
    """The columns of a table as SQL names them.

    Attributes:
        own: The name in the file, by the name in SQL in lower case.
        axes: The dimension along which a column's values are, by its name in SQL in lower case; others are values.
        types: The Arrow types of values, by the name in SQL in lower case.
        called: What a query may call the table, in lower case.
    """

    own: dict[str, str]
    axes: dict[str, int]
    types: dict[str, pa.DataType]
    called: str
    shapes: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, plan: _native.Plan, shown: dict[str, tuple[str, pa.DataType]], called: str) -> TableColumns:
        """The columns of a plan. `shown` has for each name in SQL its own name and type."""
        dimensions = plan.dimensions()
        if not dimensions or any(len(shape) != len(dimensions[0][0]) for shape, _, _ in dimensions):
            raise NotReduced("objects of different dimensions")
        _, along, constant = dimensions[0]
        if any((names, alone) != (along, constant) for _, names, alone in dimensions[1:]):
            raise NotReduced("objects of different columns")
        axes = {name: axis for axis, names in enumerate(along) for name in names} | dict.fromkeys(constant, SEGMENTS)
        found = cls({}, {}, {}, called.lower(), [shape for shape, _, _ in dimensions])
        for name, (own, type) in shown.items():
            found.own[name.lower()] = own
            found.types[name.lower()] = type
            if own in axes:
                found.axes[name.lower()] = axes[own]
        return found

    def name(self, reference: Json) -> str:
        """The name of the column, in lower case, that a reference means. `NotReduced` if it may mean something else."""
        *before, last = (name.lower() for name in reference["column_names"])
        if before not in ([], [self.called]) or last not in self.own:
            raise NotReduced(f"{'.'.join(reference['column_names'])} is not a column of the table")
        return str(last)

    def names(self, tree: Json) -> set[str]:
        """The columns that an expression uses. `NotReduced` if it is of a kind whose value may depend on anything else."""
        found = set()
        for node in nodes(tree):
            kind = node.get("class")
            if kind == "COLUMN_REF":
                found.add(self.name(node))
            elif kind is not None and kind not in _SIMPLE:
                raise NotReduced(f"an expression of the kind {kind.lower()}")
            if kind == "FUNCTION" and not is_pure(node):
                raise NotReduced(f"the function {node['function_name']}")
        return found

    def axis(self, names: Iterable[str]) -> int | None:
        """The only dimension on which columns depend; `None` if it is not one."""
        axes = {self.axes.get(name) for name in names}
        return axes.pop() if len(axes) == 1 else None


def is_pure(function: Json) -> bool:
    """Whether a function's result follows from its arguments."""
    return function["function_name"].lower() in _PURE and not function["distinct"] and function["filter"] is None and not function["order_bys"]["orders"]
