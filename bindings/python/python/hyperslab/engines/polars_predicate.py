"""Polars predicate: what of an expression of Polars a scan can test, as a condition of ours.

The condition holds for each row for which the expression holds, perhaps for more: Polars tests the rows again. What is not
known here makes no condition. Polars writes expressions as JSON, after it has cast each literal to the type of its column.
"""

from __future__ import annotations

import datetime
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..base.type_aliases import Json, JsonObject

if TYPE_CHECKING:
    import polars

COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
MIRRORED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
BOUNDS = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
INTEGERS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
#: Largest integer up to which all integers are exact as doubles.
EXACT = 2**52
EPOCH = datetime.datetime(1970, 1, 1)


def pushed(predicate: polars.Expr, schema: pa.Schema) -> str | None:
    """The condition for a predicate.

    Args:
        predicate: An expression of Polars with a truth value.
        schema: The columns.

    Returns:
        Text for `where`, or `None` if all rows must be given to Polars.
    """
    return _Columns(schema).condition(json.loads(predicate.meta.serialize(format="json")))


class _Columns:
    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def condition(self, node: Json) -> str | None:
        kind, inner = _only(node)
        if kind == "Column":
            return self._truth(inner, "true")
        if kind == "Function":
            return self._function(inner)
        if kind != "BinaryExpr":
            return None
        operator = inner.get("op")
        if operator in ("And", "LogicalAnd", "Or", "LogicalOr"):
            parts = [self.condition(inner["left"]), self.condition(inner["right"])]
            known = [f"({part})" for part in parts if part is not None]
            if operator.endswith("And"):
                return " and ".join(known) or None
            return " or ".join(known) if len(known) == 2 else None
        if operator in COMPARISONS:
            return self._comparison(inner["left"], operator, inner["right"]) or self._comparison(inner["right"], MIRRORED[operator], inner["left"])
        return None

    def _function(self, call: JsonObject) -> str | None:
        function = call.get("function")
        what = function.get("Boolean") if isinstance(function, dict) else None
        inputs = call.get("input", [])
        kind, name = _only(inputs[0]) if inputs else ("", None)
        if what == "Not" and kind == "Column":
            return self._truth(name, "false")
        if what in ("IsNull", "IsNotNull") and kind == "Column" and isinstance(name, str) and name in self.schema.names:
            return f"{_name(name)} is {'not ' if what == 'IsNotNull' else ''}null"
        named, options = _only(what)
        if named == "IsBetween" and len(inputs) == 3 and options.get("closed") in BOUNDS:
            low, high = BOUNDS[options["closed"]]
            both = [self._comparison(inputs[0], low, inputs[1]), self._comparison(inputs[0], high, inputs[2])]
            return " and ".join(f"({part})" for part in both if part is not None) or None
        return None

    def _truth(self, name: Json, value: str) -> str | None:
        known = name in self.schema.names and pa.types.is_boolean(self.schema.field(name).type)
        return f"{_name(name)} = {value}" if known else None

    def _comparison(self, left: Json, operator: str, right: Json) -> str | None:
        kind, inner = _only(left)
        to_double = False
        if kind == "Cast":
            # Polars compares integers with fractions, and single with double precision, as doubles.
            to_double = inner.get("dtype") == {"Literal": "Float64"}
            kind, inner = _only(inner.get("expr")) if to_double else ("", None)
        if kind != "Column" or inner not in self.schema.names:
            return None
        field = self.schema.field(inner)
        literal = _literal(right, field, to_double)
        if literal is None:
            return None
        condition = f"{_name(inner)} {COMPARISONS[operator]} {literal}"
        # For Polars NaN is more than every number.
        return f"{condition} or {_name(inner)} is nan" if operator in ("Gt", "GtEq") and pa.types.is_floating(field.type) else condition


def _literal(node: Json, field: pa.Field, to_double: bool) -> str | None:
    """A literal as text, if the column is compared with it in the same way here and there."""
    kind, inner = _only(node)
    if kind != "Literal":
        return None
    kind, inner = _only(inner)
    if kind != "Scalar":
        return None
    kind, value = _only(inner)
    type = field.type
    if kind in INTEGERS and pa.types.is_integer(type) and not to_double:
        return str(int(value))
    if kind in ("Float32", "Float64") and isinstance(value, (int, float)) and math.isfinite(value):
        number = float(np.float32(value)) if kind == "Float32" else float(value)
        if pa.types.is_integer(type):
            return repr(number) if to_double and abs(number) < EXACT else None
        own = (kind == "Float32") == pa.types.is_float32(type) and not to_double
        return repr(number) if pa.types.is_floating(type) and (own or (to_double and kind == "Float64")) else None
    if kind == "Boolean" and pa.types.is_boolean(type):
        return "true" if value else "false"
    # Text of a calendar compares as a time here.
    if kind == "String" and (pa.types.is_string(type) or pa.types.is_large_string(type)) and b"calendar" not in (field.metadata or {}):
        return "'" + value.replace("'", "''") + "'" if "\0" not in value else None
    if kind == "Datetime" and type in (pa.timestamp("us"), pa.timestamp("us", "UTC")) and value[1] == "Microseconds":
        try:
            return f"'{(EPOCH + datetime.timedelta(microseconds=value[0])).isoformat()}'"
        except OverflowError:
            return None
    return None


def _only(node: Json) -> tuple[str, Json]:
    """The key and the value of an object of one member."""
    return next(iter(node.items())) if isinstance(node, dict) and len(node) == 1 else ("", None)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
