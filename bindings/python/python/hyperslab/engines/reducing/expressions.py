"""Expressions of values: from DuckDB's tree to the core's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...base.type_aliases import JsonObject
from .columns import TableColumns
from .tree import NotReduced, arguments

_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_COMPARISONS = {
    "COMPARE_EQUAL": "equal",
    "COMPARE_NOTEQUAL": "unequal",
    "COMPARE_LESSTHAN": "less",
    "COMPARE_LESSTHANOREQUALTO": "atmost",
    "COMPARE_GREATERTHAN": "greater",
    "COMPARE_GREATERTHANOREQUALTO": "atleast",
}
#: Digits of a decimal constant that is rounded to a float in the same way wherever that is done.
_SHORT_DIGITS = 7
#: Digits of a decimal constant that a double holds.
_DOUBLE_DIGITS = 15


_FLAG_OPERATORS = ("OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "COMPARE_IN", "COMPARE_NOT_IN")


class Typed(NamedTuple):
    """An expression of the core, and the type of its values: `float`, `double`, `integer` (up to 4 bytes), `long`, `flag`, `opaque`, or
    for constants `number`, `whole`, `decimal` with more digits than a float holds, and `wide` for doubles."""

    tree: JsonObject
    type: str


class Values:
    """The value columns and vectors that the expressions of one selection use.

    Attributes:
        columns: Own names of columns that are read, in order.
        vectors: Expressions of coordinates: the dimension and the tree of each.
    """

    def __init__(self, of: TableColumns) -> None:
        self.of = of
        self.columns: list[str] = []
        self.vectors: list[tuple[int, JsonObject]] = []

    def axis(self, tree: JsonObject) -> int | None:
        """The only dimension on which an expression depends; `None` if it is not one."""
        names = self.of.names(tree)
        return self.of.axis(names) if names else None

    def condition(self, tree: JsonObject) -> JsonObject:
        """A condition."""
        return self._flag(tree)

    def value(self, tree: JsonObject) -> Typed:
        """A value of each row."""
        found = self._typed(tree)
        if found.type in ("number", "whole", "decimal"):
            raise NotReduced("an aggregate of a constant")
        return found

    def _flag(self, tree: JsonObject) -> JsonObject:
        found = self._typed(tree)
        if found.type != "flag":
            raise NotReduced("a condition that is not a truth value")
        return found.tree

    def _typed(self, tree: JsonObject) -> Typed:
        names = self.of.names(tree)
        if names and (axis := self.of.axis(names)) is not None:
            return self._vector(axis, tree)
        kind = tree["class"]
        if kind == "COLUMN_REF":
            return self._column(self.of.name(tree))
        if kind == "CONSTANT":
            return _constant(tree["literal"])
        if kind == "FUNCTION":
            return self._function(tree)
        if kind == "CAST":
            return self._cast(tree)
        if kind == "COMPARISON" and tree["type"] in _COMPARISONS:
            return self._comparison(_COMPARISONS[tree["type"]], self._typed(tree["left"]), self._typed(tree["right"]))
        if kind == "BETWEEN" and tree["type"] == "COMPARE_BETWEEN":
            value = self._typed(tree["input"])
            ends = [self._comparison("atleast", value, self._typed(tree["lower"])), self._comparison("atmost", value, self._typed(tree["upper"]))]
            return Typed({"is": "logic", "all": True, "of": [end.tree for end in ends]}, "flag")
        if kind == "CONJUNCTION":
            return Typed({"is": "logic", "all": tree["type"] == "CONJUNCTION_AND", "of": [self._flag(child) for child in tree["children"]]}, "flag")
        if kind == "OPERATOR":
            return self._operator(tree["type"], tree["children"])
        raise NotReduced(f"an expression of the kind {kind.lower()}")

    def _vector(self, axis: int, tree: JsonObject) -> Typed:
        if axis < 0:
            raise NotReduced("values of files in an expression")
        is_flag = tree["class"] in ("COMPARISON", "BETWEEN", "CONJUNCTION") or tree["type"] in _FLAG_OPERATORS
        vector = _flags_as_doubles(tree) if is_flag else tree
        if (axis, vector) not in self.vectors:
            self.vectors.append((axis, vector))
        number: JsonObject = {"is": "vector", "vector": self.vectors.index((axis, vector))}
        if is_flag:
            return Typed({"is": "compare", "operation": "unequal", "left": number, "right": {"is": "number", "value": 0.0}}, "flag")
        return Typed(number, "double")

    def _column(self, name: str) -> Typed:
        own = self.of.own[name]
        if own not in self.columns:
            self.columns.append(own)
        return Typed({"is": "column", "column": self.columns.index(own)}, _kind(self.of.types[name]))

    def _function(self, tree: JsonObject) -> Typed:
        name, given = tree["function_name"].lower(), arguments(tree)
        if name in ("isnan", "isfinite") and len(given) == 1:
            value = self._float(given[0])
            return Typed({"is": "test", "what": "nan" if name == "isnan" else "finite", "of": value.tree}, "flag")
        if name in ("-", "abs") and len(given) == 1:
            value = self._float(given[0])
            return Typed({"is": "unary", "operation": "negative" if name == "-" else "absolute", "of": value.tree}, value.type)
        if name in _ARITHMETIC and len(given) == 2:
            left, right = self._typed(given[0]), self._typed(given[1])
            if name == "/" and {left.type, right.type} <= {"integer", "long", "whole"}:
                # DuckDB divides integers as doubles.
                left, right = _quotient_term(left), _quotient_term(right)
            if {left.type, right.type} & {"integer", "long"}:
                raise NotReduced("arithmetic of integers, which DuckDB checks for overflow")
            left, right = self._matched(left, right)
            kinds = {left.type, right.type} - {"number"}
            if not kinds or not kinds <= {"float", "double"}:
                raise NotReduced("arithmetic of these types")
            tree = {"is": "binary", "operation": _ARITHMETIC[name], "left": left.tree, "right": right.tree}
            return Typed(tree, "double" if "double" in kinds else "float")
        raise NotReduced(f"the function {name} of values")

    def _float(self, tree: JsonObject) -> Typed:
        value = self._typed(tree)
        if value.type not in ("float", "double"):
            raise NotReduced("a function of a value that is not a float")
        return value

    def _cast(self, tree: JsonObject) -> Typed:
        to = str(tree["type_expr"].get("type_name", "")).lower()
        value = self._typed(tree["child"])
        if to in ("double", "float8") and not tree.get("try_cast"):
            return _double(value)
        raise NotReduced(f"a conversion to {to}")

    def _comparison(self, operation: str, left: Typed, right: Typed) -> Typed:
        left, right = self._matched(left, right)
        return Typed({"is": "compare", "operation": operation, "left": left.tree, "right": right.tree}, "flag")

    def _matched(self, left: Typed, right: Typed) -> tuple[Typed, Typed]:
        """Both sides in types that the core computes together as DuckDB does."""
        kinds = {left.type, right.type}
        if kinds <= {"number", "whole"}:
            raise NotReduced("an expression of constants")
        if kinds <= {"integer", "long", "whole"}:
            return left, right
        if "decimal" in kinds and kinds - {"decimal"} == {"double"}:
            return _widened(left), _widened(right)
        if kinds in ({"integer", "number"}, {"integer", "decimal"}):
            # DuckDB compares them as decimal numbers: doubles hold both sides.
            return _widened(left), _widened(right)
        if kinds & {"integer", "long"}:
            raise NotReduced("integers with other numbers")
        if "wide" in kinds and kinds <= {"wide", "float", "double"}:
            # A constant of 8 bytes: what it is computed with is widened.
            return _widened(left), _widened(right)
        if not kinds <= {"number", "whole", "float", "double"}:
            raise NotReduced("an expression of these types")
        return _as_number(left), _as_number(right)

    def _operator(self, type: str, children: list[JsonObject]) -> Typed:
        if type == "OPERATOR_NOT":
            return Typed({"is": "not", "of": self._flag(children[0])}, "flag")
        if type in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            test: JsonObject = {"is": "test", "what": "null", "of": self.value(children[0]).tree}
            return Typed(test if type == "OPERATOR_IS_NULL" else {"is": "not", "of": test}, "flag")
        if type == "COMPARE_IN" and len(children) > 1:
            value = self._typed(children[0])
            equal = [self._comparison("equal", value, self._typed(one)).tree for one in children[1:]]
            return Typed({"is": "logic", "all": False, "of": equal}, "flag")
        raise NotReduced(f"the operator {type.lower()}")


def _kind(type: pa.DataType) -> str:
    if pa.types.is_float16(type) or pa.types.is_float32(type):
        return "float"
    if pa.types.is_float64(type):
        return "double"
    if pa.types.is_boolean(type):
        return "flag"
    if pa.types.is_integer(type) and type != pa.uint64():
        return "long" if type == pa.int64() else "integer"
    return "opaque"


def _constant(literal: Mapping[str, str]) -> Typed:
    kind, text = literal["kind"], literal.get("text", "")
    if kind == "INTEGER" and abs(int(text)) < 1 << 63:
        return Typed({"is": "integer", "value": int(text)}, "whole")
    if kind == "NUMERIC":
        if "e" in text.lower() or "n" in text.lower():
            return Typed({"is": "number", "value": float(text)}, "wide")
        digits = sum(letter.isdigit() for letter in text)
        if digits <= _DOUBLE_DIGITS:
            return Typed({"is": "number", "value": float(text)}, "number" if digits <= _SHORT_DIGITS else "decimal")
    raise NotReduced(f"the constant {text}")


def _as_number(value: Typed) -> Typed:
    """Integer constants as numbers, if a float of 4 bytes holds them."""
    if value.type != "whole":
        return value
    number = value.tree["value"]
    if float(np.float32(number)) != number:
        raise NotReduced(f"the constant {number}")
    return Typed({"is": "number", "value": float(number)}, "number")


def _double(value: Typed) -> Typed:
    if value.type == "double":
        return value
    if value.type not in ("float", "integer", "long"):
        raise NotReduced("a conversion to double")
    return Typed({"is": "double", "of": value.tree}, "double")


def _quotient_term(value: Typed) -> Typed:
    return Typed({"is": "number", "value": float(value.tree["value"])}, "wide") if value.type == "whole" else _double(value)


def _widened(value: Typed) -> Typed:
    return Typed(value.tree, "number") if value.type in ("wide", "decimal", "number") else _double(value)


def _flags_as_doubles(tree: JsonObject) -> JsonObject:
    """1 and 0 for true and false."""
    name = {
        "class": "TYPE",
        "type": "TYPE",
        "alias": "",
        "type_name": "DOUBLE",
        "qualified_name": {"path": ["DOUBLE"]},
        "schema": "",
        "catalog": "",
        "children": [],
    }
    return {"class": "CAST", "type": "OPERATOR_CAST", "alias": "", "child": tree, "type_expr": name, "try_cast": False}
