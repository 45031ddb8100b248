"""Random arrays and random queries with aggregates over them, judged by DuckDB over the rows as one table in memory."""

from __future__ import annotations

import contextlib
import math
import pathlib
from dataclasses import dataclass
from typing import Any

import duckdb
import hyperslab as hs
import netCDF4
import numpy as np

#: Multiples of 1/64 whose sums are exact in any order, so that results are equal and not only close.
_UNIT = 64.0


@dataclass(frozen=True)
class Field:
    """Files with one variable `x`, others on the same grid, and what queries may speak of."""

    files: list[str]
    dimensions: tuple[str, ...]
    variables: tuple[str, ...]
    #: Constants that lie among the values of each column.
    constants: dict[str, list[str]]


def make_field(folder: pathlib.Path, seed: int) -> Field:
    """Files of one to three dimensions with coordinates of all kinds."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    names = ["time", "lat", "lon"][:count] if rng.random() < 0.8 else ["lat", "lon", "level"][:count]
    shape = [int(rng.choice([1, 3, 7, 24, 40])) if name != "lon" else int(rng.choice([1, 5, 30, 100])) for name in names]
    files = []
    kinds = [str(rng.choice(["float", "double", "packed", "int", "wide", "byte"])) for _ in range(int(rng.integers(1, 3)))]
    chunks = None if rng.random() < 0.4 else [int(rng.integers(1, extent + 1)) for extent in shape]
    has_coordinate = {name: rng.random() < 0.8 for name in names}
    lat = np.round(np.linspace(80, -75, dict(zip(names, shape, strict=True)).get("lat", 1)) / 5) * 5
    if rng.random() < 0.3:
        lat[rng.integers(0, len(lat), 2)] = np.nan
    if rng.random() < 0.3:
        lat = -np.abs(lat) * 0.0 + np.where(rng.random(len(lat)) < 0.5, 0.0, -0.0) if rng.random() < 0.3 else rng.permutation(lat)
    specials, fill = rng.random() < 0.5, rng.random() < 0.6
    calendar = str(rng.choice(["standard", "standard", "noleap", "360_day"]))
    for number in range(int(rng.choice([1, 1, 2, 3]))):
        path = folder / f"{seed}_{number}.nc"
        with netCDF4.Dataset(path, "w") as f:
            for name, extent in zip(names, shape, strict=True):
                f.createDimension(name, extent)
                if not has_coordinate[name]:
                    continue
                if name == "time":
                    variable = f.createVariable("time", "f8" if rng.random() < 0.0 else "i4", ("time",))
                    variable.units, variable.calendar = "hours since 2000-01-28", calendar
                    variable[:] = (number * extent + np.arange(extent)) * 7
                elif name == "lat":
                    f.createVariable("lat", "f8", ("lat",))[:] = lat
                elif name == "lon":
                    f.createVariable("lon", "f4", ("lon",))[:] = np.arange(extent) * (360 / extent)
                else:
                    f.createVariable("level", "i2", ("level",))[:] = np.arange(extent)[::-1] % 5
            for at, kind in enumerate(kinds):
                _variable(f, "xy"[at], kind, names, shape, chunks, rng, specials, fill)
        files.append(str(path))
    # Of its own: fields of a seed are the same with indexes and without.
    choice = np.random.default_rng([seed, 1])
    if choice.random() < 0.4:
        level = str(choice.choice(["Z", "K", "P", "X", "B"]))
        for path in files:
            with contextlib.suppress(hs.UnsupportedError, hs.InvalidInputError):
                hs.index(path, [f"/{name}" for name in "xy"[: len(kinds)]], level=level)
    constants = {"x": _constants(kinds[0]), "y": _constants(kinds[1]) if len(kinds) > 1 else []}
    constants |= {
        "lat": ["0", "-10", "35.5", "90"],
        "lon": ["180", "90.5", "-1"],
        "level": ["2", "0"],
        "time": ["timestamp '2000-01-30'", "timestamp '2000-02-03'"],
    }
    if not has_coordinate.get("time", True):
        constants["time"] = ["3", "10"]
    return Field(files, tuple(names), tuple("xy"[: len(kinds)]), constants)


def _constants(kind: str) -> list[str]:
    return {"packed": ["0", "3.5", "-7.25", "100"], "wide": ["0", "4611686018427387904", "-5"]}.get(kind, ["0", "1", "-3", "20", "100"]) + (
        ["0.5", "-2.25", "1e1", "12.345678", "-0.1"] if kind in ("float", "double") else []
    )


def _variable(f: Any, name: str, kind: str, names: list[str], shape: list[int], chunks: Any, rng: Any, specials: bool, fill: bool) -> None:
    types = {"float": "f4", "double": "f8", "packed": "i2", "int": "i4", "wide": "i8", "byte": "u1"}
    options: dict[str, Any] = {"chunksizes": chunks, "zlib": chunks is not None and rng.random() < 0.5} if chunks else {}
    if fill:
        options["fill_value"] = {"float": -999.0, "double": 1e20, "packed": -1000, "int": -999, "wide": -999, "byte": 255}[kind]
    variable = f.createVariable(name, types[kind], names, **options)
    variable.set_auto_maskandscale(False)
    if kind == "packed":
        variable.scale_factor, variable.add_offset = np.float32(0.25), np.float32(-3)
    if kind in ("float", "double"):
        values = (np.round(rng.normal(0, 20, shape) * _UNIT) / _UNIT).astype(types[kind])
        if specials and values.size:
            flat = values.reshape(-1)
            for special in (np.nan, np.inf, -np.inf, -0.0, np.nan):
                if rng.random() < 0.6:
                    flat[rng.integers(0, flat.size, max(1, flat.size // 50))] = special
    elif kind == "wide":
        values = rng.integers(-(2**63), 2**63 - 1, shape) if rng.random() < 0.5 else rng.integers(2**62, 2**63 - 1, shape)
    else:
        info = np.iinfo(types[kind])
        values = rng.integers(max(info.min, -200), min(info.max, 200), shape).astype(types[kind])
    if fill and values.size:
        values[rng.random(shape) < 0.2] = options["fill_value"]
    variable[:] = values


def make_query(field: Field, rng: Any) -> str:
    """A query with aggregates of all kinds."""
    keys = [_key(field, rng) for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3])))]
    aggregates = [_aggregate(field, rng) for _ in range(int(rng.integers(1, 4)))]
    conditions = [_condition(field, rng) for _ in range(int(rng.choice([0, 0, 1, 2, 3])))]
    if rng.random() < 0.08:
        return f"select distinct {', '.join([*keys, _key(field, rng)])} from fields" + (f" where {' and '.join(conditions)}" if conditions else "")
    where = f" where {' and '.join(conditions)}" if conditions else ""
    group = ""
    if keys:
        ways = [f" group by {', '.join(keys)}", f" group by {', '.join(str(at + 1) for at in range(len(keys)))}", " group by all"]
        group = str(rng.choice(ways))
    having = f" having {rng.choice(['count(*) > 2', _aggregate(field, rng) + ' is not null'])}" if keys and rng.random() < 0.2 else ""
    return f"select {', '.join([*keys, *aggregates])} from fields{where}{group}{having}"


def _key(field: Field, rng: Any) -> str:
    name = str(rng.choice(field.dimensions))
    if name == "time" and field.constants["time"][0].startswith("timestamp"):
        return str(rng.choice(["time", "month(time)", "date_trunc('day', time)", "hour(time) % 12", "time > timestamp '2000-02-01'"]))
    return str(rng.choice([name, f"floor({name} / 10)", f"{name} > 3", f"case when {name} > 20 then 'a' when {name} < -20 then 'b' end", f"abs({name})"]))


def _values(field: Field, rng: Any) -> str:
    name = str(rng.choice(field.variables))
    other = str(rng.choice(field.variables))
    weights = [f"{name}::double * {dimension}::double" for dimension in field.dimensions if dimension in ("lat", "lon")]
    return str(rng.choice([name, name, name, name, f"abs({name})", f"{name} * {other}", f"{name} - 1.5", f"-{name}", f"{name} / 4", *weights]))


def _aggregate(field: Field, rng: Any) -> str:
    function = str(
        rng.choice(["count(*)", "count", "sum", "avg", "min", "max", "stddev", "var_pop", "bool_or", "bool_and", "sum", "avg", "coordinate", "quantile"])
    )
    if function == "count(*)":
        text = function
    elif function == "coordinate":
        text = f"{rng.choice(['min(', 'max(', 'count(distinct '])}{_key(field, rng)})"
    elif function == "quantile":
        value, fraction = _values(field, rng), rng.choice(["0", "0.1", "0.25", "0.613", "0.95", "1"])
        ways = ["median({0})", "quantile_cont({0}, {1})", "quantile_disc({0}, {1})", "quantile({0}, {1})", "percentile_cont({1}) within group (order by {0})"]
        text = str(rng.choice(ways)).format(value, fraction)
    elif function.startswith("bool"):
        text = f"{function}({_condition(field, rng)})"
    else:
        text = f"{function}({_values(field, rng)})"
    return f"{text} filter (where {_condition(field, rng)})" if rng.random() < 0.15 else text


def _condition(field: Field, rng: Any) -> str:
    name = str(rng.choice([*field.dimensions, *field.variables]))
    one, other = (str(rng.choice(field.constants[name])) for _ in range(2))
    comparison = f"{name} {rng.choice(['<', '<=', '>', '>=', '=', '<>'])} {one}"
    others = [comparison, comparison, f"{name} between {one} and {other}", f"{name} is not null", f"not ({comparison})", f"{name} in ({one}, {other})"]
    if rng.random() < 0.25:
        return f"({comparison} {rng.choice(['or', 'and'])} {_condition(field, rng)})"
    if name in field.variables and rng.random() < 0.1:
        return f"{name} is null"
    return str(rng.choice(others))


@dataclass
class Outcome:
    """What became of a query: refused by both, or compared, and whether it was computed on the array."""

    is_reduced: bool
    note: str


def judge(field: Field, table: hs.Table, memory: duckdb.DuckDBPyConnection, query: str) -> Outcome:
    """Compares a query of the table `fields` with DuckDB over its rows. AssertionError if they differ."""
    try:
        wanted = memory.sql(query)
        wanted_rows = wanted.fetchall()
    except duckdb.Error as error:
        try:
            hs.sql(query, fields=table).fetchall()
        except (duckdb.Error, hs.Error):
            return Outcome(False, "refused")
        raise AssertionError(f"DuckDB refuses {query}: {error}") from None
    relation = hs.sql(query, fields=table)
    found = relation.fetchall()
    assert relation.columns == wanted.columns and relation.types == wanted.types, (query, relation.columns, wanted.columns, relation.types, wanted.types)
    ours, theirs = ([row for _, row in sorted(map(_sortable, rows), key=lambda one: one[0])] for rows in (found, wanted_rows))
    assert len(ours) == len(theirs), (field.files, query, len(ours), len(theirs))
    for one, other in zip(ours, theirs, strict=True):
        assert all(map(_same, one, other)), (field.files, query, one, other)
    note = relation.explain().splitlines()[-1]
    return Outcome(note.startswith("reduced in the array"), note)


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row that has an order, which does not depend on the last digits of floats, and its values."""
    return tuple((type(value).__name__, _rounded(value)) for value in row), row


def _rounded(value: Any) -> str:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{value + 0.0:.5g}"
    return str(value)


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        if math.isnan(mine) or math.isnan(theirs):
            return math.isnan(mine) and math.isnan(theirs)
        return mine == theirs or abs(mine - theirs) <= 1e-9 * max(1.0, abs(mine), abs(theirs))
    return bool(mine == theirs)
