"""Aggregates: what the core computes of each group, and the SQL that makes DuckDB's result of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from ...base.type_aliases import Json, JsonObject
from .expressions import Typed, Values
from .tree import NotReduced, arguments

#: What is asked of a measure, and the SQL of the result; `{count}`, `{sum}`, `{squares}` … are columns of the groups.
_RESULTS: dict[str, tuple[str | None, str]] = {
    "count": (None, "{count}"),
    "sum": ("sum", "{sum}"),
    "avg": ("sum", "{sum}::double / {count}"),
    "mean": ("sum", "{sum}::double / {count}"),
    "min": ("extremes", "{least}"),
    "max": ("extremes", "{most}"),
    "bool_and": ("extremes", "{least}::boolean"),
    "bool_or": ("extremes", "{most}::boolean"),
    "var_pop": ("deviations", "case when {count} > 1 then {squares} / {count} when {count} = 1 then 0.0::double end"),
    "var_samp": ("deviations", "case when {count} > 1 then {squares} / ({count} - 1) end"),
    "variance": ("deviations", "case when {count} > 1 then {squares} / ({count} - 1) end"),
    "stddev_pop": ("deviations", "case when {count} > 1 then sqrt({squares} / {count}) when {count} = 1 then 0.0::double end"),
    "stddev_samp": ("deviations", "case when {count} > 1 then sqrt({squares} / ({count} - 1)) end"),
    "stddev": ("deviations", "case when {count} > 1 then sqrt({squares} / ({count} - 1)) end"),
}
#: Whether a quantile may lie between two values.
_QUANTILES = {"median": True, "quantile_cont": True, "quantile_disc": False, "quantile": False}
AGGREGATES = frozenset({*_RESULTS, *_QUANTILES, "count_star"})
#: Others that users know: `explain` says that they are computed of rows.
OTHER_AGGREGATES = frozenset(
    [
        "any_value",
        "arbitrary",
        "arg_max",
        "arg_min",
        "argmax",
        "argmin",
        "max_by",
        "min_by",
        "approx_count_distinct",
        "approx_quantile",
        "array_agg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "corr",
        "covar_pop",
        "covar_samp",
        "entropy",
        "favg",
        "first",
        "fsum",
        "geomean",
        "histogram",
        "kahan_sum",
        "kurtosis",
        "last",
        "list",
        "listagg",
        "mad",
        "mode",
        "product",
        "regr_slope",
        "sem",
        "skewness",
        "string_agg",
        "sumkahan",
    ]
)

_SQL_TYPES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint8(): "utinyint",
    pa.uint16(): "usmallint",
    pa.uint32(): "uinteger",
}
#: The rows of a group, whatever their values are.
_ONE: JsonObject = {"is": "integer", "value": 1}
#: Columns of the groups as SQL reads them, where a row of the result has one group, and where it has several.
_OF_ONE = {name: f'first("{name}{{}}")' for name in ("count", "sum", "least", "most", "squares", "quantile")}
_OF_SEVERAL = {
    "count": 'coalesce(sum("count{}"), 0)::bigint',
    "sum": 'sum("sum{}")',
    "least": 'min("least{}")',
    "most": 'max("most{}")',
}
#: Aggregates of coordinates, which need to know no more than which of them have rows.
_OF_COORDINATES = frozenset(["min", "max", "any_value"])
#: The coordinate at which a value is the least or the most.
_PLACES = {"arg_min": "least", "argmin": "least", "min_by": "least", "arg_max": "most", "argmax": "most", "max_by": "most"}


class Result(NamedTuple):
    """An aggregate over the groups: its SQL, or with `None` the function as it is written, some of whose arguments are replaced."""

    text: str | None
    replaced: dict[int, str]


@dataclass
class Measures:
    """The measures of one selection, each once.

    Attributes:
        is_finer: Whether a row of the result has several groups: one for each value of the coordinates that are aggregated.
        found: Each as the core takes it.
        finer: The coordinates that are aggregated: the dimension and the expression of each.
        schema: The columns that the core returns of them.
    """

    values: Values
    is_finer: bool = False
    found: list[JsonObject] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    finer: list[tuple[int, JsonObject]] = field(default_factory=list)

    def result(self, function: JsonObject) -> Result:
        """An aggregate over the groups. `NotReduced` if the core does not compute it."""
        name = function["function_name"].lower()
        if name in _QUANTILES:
            return Result(self._quantile(name, function), {})
        if function["order_bys"]["orders"] or len(function["qualified_name"]["path"]) != 1:
            raise NotReduced(f"{name} of ordered values")
        if self.is_finer and (of_coordinates := self._of_coordinates(name, function)) is not None:
            return of_coordinates
        if function["distinct"]:
            raise NotReduced(f"{name} of distinct values")
        return Result(self._of_values(name, function), {})

    def _of_coordinates(self, name: str, function: JsonObject) -> Result | None:
        """An aggregate of a coordinate, as it is written. Each group has one value of the coordinate."""
        given = arguments(function)
        axis = self.values.axis(given[0]) if given else None
        is_distinct = name == "count" and function["distinct"]
        if axis is None or function["filter"] is not None or not (is_distinct or name in _OF_COORDINATES or name in _PLACES):
            return None
        if name not in _PLACES:
            if len(given) != 1:
                return None
            self.finer.append((axis, given[0]))
            return Result(None, {})
        if len(given) != 2 or function["distinct"]:
            return None
        value = self.values.value(given[1])
        if value.type not in ("float", "double", "integer", "long"):
            raise NotReduced(f"{name} of values that are not numbers")
        self.finer.append((axis, given[0]))
        return Result(None, {1: f'"{_PLACES[name]}{self._number(value, None, "extremes")}"'})

    def _of_values(self, name: str, function: JsonObject) -> str:
        filter = None if function["filter"] is None else self.values.condition(function["filter"])
        given = arguments(function)
        is_count = name == "count_star" or (name == "count" and (not given or _is_one(given)))
        if is_count and filter is None:
            return 'coalesce(sum("rows"), 0)::bigint' if self.is_finer else 'first("rows")'
        if is_count:
            return self._text(Typed(_ONE, "integer"), filter, None, "{count}")
        if name not in _RESULTS or len(given) != 1:
            raise NotReduced(f"the aggregate {name}")
        asked, text = _RESULTS[name]
        value = self.values.value(given[0])
        if asked is not None and value.type != "flag" and value.type not in ("float", "double", "integer", "long"):
            raise NotReduced(f"{name} of values that are not numbers")
        if (value.type == "flag") != name.startswith("bool_") and asked is not None:
            raise NotReduced(f"{name} of values of this type")
        if name == "sum" and value.type in ("integer", "long"):
            text = "{sum}::hugeint"
        if name in ("min", "max") and value.type in ("integer", "long"):
            text += f"::{_SQL_TYPES[self._column_type(given[0])]}"
        if asked == "deviations" and value.type in ("integer", "long"):
            # DuckDB computes them of doubles.
            value = Typed({"is": "double", "of": value.tree}, "double")
        return self._text(value, filter, asked, text)

    def _quantile(self, name: str, function: JsonObject) -> str:
        given, orders = arguments(function), function["order_bys"]["orders"]
        if self.is_finer or function["distinct"]:
            raise NotReduced(f"{name} of distinct values, or beside aggregates of coordinates")
        if orders:
            # percentile_cont(0.5) within group (order by x)
            if len(given) != 1 or len(orders) != 1 or orders[0]["type"] not in ("ORDER_DEFAULT", "ASCENDING") or orders[0]["null_order"] != "ORDER_DEFAULT":
                raise NotReduced(f"{name} of values in another order")
            given = [orders[0]["expression"], *given]
        fraction = 0.5 if name == "median" and len(given) == 1 else _fraction(given[1]) if name != "median" and len(given) == 2 else None
        if fraction is None:
            raise NotReduced(f"{name} without one constant from 0 to 1")
        value = self.values.value(given[0])
        if value.type not in ("float", "double", "integer", "long"):
            raise NotReduced(f"{name} of values that are not numbers")
        is_between = _QUANTILES[name]
        filter = None if function["filter"] is None else self.values.condition(function["filter"])
        quantile = {"fraction": fraction, "is_between": is_between}
        text = "{quantile}"
        if value.type in ("integer", "long") and not is_between:
            text += f"::{_SQL_TYPES[self._column_type(given[0])]}"
        number = self._number(value, filter, None, quantile)
        return text.format(quantile=_OF_ONE["quantile"].format(number))

    def _column_type(self, tree: Json) -> pa.DataType:
        if tree["class"] != "COLUMN_REF":
            raise NotReduced("extremes of computed integers")
        return self.values.of.types[self.values.of.name(tree)]

    def _text(self, value: Typed, filter: JsonObject | None, asked: str | None, text: str) -> str:
        number = self._number(value, filter, asked)
        if not self.is_finer:
            return text.format(**{name: column.format(number) for name, column in _OF_ONE.items()})
        if asked == "deviations":
            raise NotReduced("deviations beside aggregates of coordinates")
        columns = {name: column.format(number) for name, column in _OF_SEVERAL.items()}
        if value.type in ("integer", "long"):
            columns["sum"] = f'sum("sum{number}"::hugeint)'
        return text.format(**columns)

    def _number(self, value: Typed, filter: JsonObject | None, asked: str | None, quantile: JsonObject | None = None) -> int:
        """The number of the measure of these values, to which what is asked is added. A measure has one quantile."""

        def is_theirs(known: JsonObject) -> bool:
            return (known["argument"], known["filter"]) == (value.tree, filter) and (quantile is None or known["quantile"] in (None, quantile))

        number = next((at for at, known in enumerate(self.found) if is_theirs(known)), None)
        if number is None:
            number = len(self.found)
            self.found.append({"argument": value.tree, "filter": filter, "sum": False, "extremes": False, "deviations": False, "quantile": None})
            self.types.append(value.type)
        if asked is not None:
            self.found[number][asked] = True
        if quantile is not None:
            self.found[number]["quantile"] = quantile
        return number

    @property
    def schema(self) -> list[pa.Field]:
        """The columns that the core returns, after those of the classes."""
        fields = [pa.field("rows", pa.int64())]
        for number, (measure, type) in enumerate(zip(self.found, self.types, strict=True)):
            fields.append(pa.field(f"count{number}", pa.int64()))
            is_float = type in ("float", "double")
            if measure["sum"]:
                fields.append(pa.field(f"sum{number}", pa.float64() if is_float else pa.decimal128(38, 0)))
            if measure["extremes"]:
                end = pa.float32() if type == "float" else pa.float64() if is_float else pa.int64()
                fields += [pa.field(f"least{number}", end), pa.field(f"most{number}", end)]
            if measure["deviations"]:
                fields.append(pa.field(f"squares{number}", pa.float64()))
            if measure["quantile"] is not None:
                is_between = measure["quantile"]["is_between"]
                fields.append(pa.field(f"quantile{number}", pa.float32() if type == "float" else pa.float64() if is_float or is_between else pa.int64()))
        return fields


def _is_one(given: list[JsonObject]) -> bool:
    """Whether the argument is a constant: `count(1)` counts rows."""
    return len(given) == 1 and given[0]["class"] == "CONSTANT" and given[0]["literal"]["kind"] in ("INTEGER", "NUMERIC", "STRING", "BOOLEAN")


def _fraction(given: JsonObject) -> float | None:
    """A constant from 0 to 1."""
    if given["class"] != "CONSTANT" or given["literal"]["kind"] not in ("INTEGER", "NUMERIC"):
        return None
    fraction = float(given["literal"]["text"])
    return fraction if 0 <= fraction <= 1 else None
