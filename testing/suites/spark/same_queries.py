"""Generated queries over tables that exist as HDF5 and as Parquet of the same rows: what Spark pushes down to the reader must
give what Spark computes itself."""

from __future__ import annotations

import contextlib
import pathlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import h5py
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet

NAN = "double('NaN')"


@dataclass
class Table:
    """Two views of the same rows, and what queries may ask of their columns."""

    name: str
    #: The literals that each column is compared with.
    literals: dict[str, list[str]]
    #: Columns whose sums and averages do not depend on the order of the rows.
    exact: list[str]
    #: The columns by which rows are grouped.
    keys: list[str] = field(default_factory=list)
    #: The expressions that no row fulfills.
    none: list[str] = field(default_factory=list)

    def view(self, format: str) -> str:
        return f"same_{format}_{self.name}"


def tables(spark: Any, folder: pathlib.Path) -> list[Table]:
    """Writes all tables in both formats, and creates their views."""
    made = [_group, _array, _cube, _empty, _parts]
    return [make(spark, folder) for make in made]


#: Spark plans and compiles longer than it runs such small queries. Its Parquet reader must not filter by statistics, which have no
#: NaN: it loses the rows of `y >= double('NaN')`.
SETTINGS = {
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


@contextlib.contextmanager
def quick(spark: Any) -> Iterator[None]:
    """Settings for small queries."""
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def _views(spark: Any, table: Table, ours: Any, parquet: str) -> Table:
    ours.createOrReplaceTempView(table.view("hdf5"))
    spark.read.parquet(parquet).select(*ours.columns).createOrReplaceTempView(table.view("parquet"))
    return table


def _group(spark: Any, folder: pathlib.Path) -> Table:
    """Columns with nulls, NaN, infinities, text and times."""
    rows, rng = 90, np.random.default_rng(5)
    numbers = rng.integers(-20, 20, rows)
    floats = rng.integers(-30, 30, rows) / 4
    floats[rng.random(rows) < 0.2] = np.nan
    floats[:4] = [np.inf, -np.inf, -0.0, 0.0]
    gaps = rng.random(rows) < 0.4
    words = [["a", "b", "", "ä", "😀"][n % 5] for n in range(rows)]
    with netCDF4.Dataset(folder / "group.nc", "w") as f:
        f.createDimension("n", rows)
        for name, code, values, fill in (("i", "i4", numbers, False), ("f", "f8", floats, False), ("g", "i8", numbers * 3, -999), ("h", "f4", floats, -999.0)):
            f.createVariable(name, code, ("n",), fill_value=fill, chunksizes=(20,))[:] = np.ma.masked_array(values, gaps if fill else False)
        f.createVariable("nothing", "i2", ("n",), fill_value=-1)[:] = np.ma.masked_all(rows, "i2")
        f.createVariable("s", str, ("n",))[:] = np.array(words, dtype=object)
        t = f.createVariable("t", "i8", ("n",), fill_value=False)
        t.units = "days since 2000-01-01"
        t[:] = np.arange(rows) % 7
    columns = {
        "i": pa.array(numbers.astype("i4")),
        "f": pa.array(floats),
        "g": pa.array(numbers * 3, pa.int64(), mask=gaps),
        "h": pa.array(floats.astype("f4"), mask=gaps),
        "nothing": pa.nulls(rows, pa.int16()),
        "s": pa.array(words),
        "t": pa.array((np.arange(rows) % 7 + 10957) * 86_400_000_000, pa.timestamp("us")),
    }
    pa.parquet.write_table(pa.table(columns), folder / "group.parquet")
    table = Table(
        "group",
        {
            "i": ["0", "7", "-50", "1000", "2.5", "null"],
            "f": ["0.0D", "1.5D", NAN, "double('inf')", "1e300", "null"],
            "g": ["0", "-999", "9", "null"],
            "h": ["float(0)", "float('NaN')", "2.25D", "null"],
            "nothing": ["0", "null"],
            "s": ["'a'", "''", "'ä'", "'zz'", "null"],
            "t": ["timestamp_ntz'2000-01-03 00:00:00'", "timestamp_ntz'1999-01-01 00:00:00'"],
        },
        ["i", "g", "nothing"],
        ["s", "t", "g"],
        ["i > 5000", "f > 3 and f < 2", "i in (71, 72)", "s = 'nobody'", "nothing is not null"],
    )
    return _views(spark, table, spark.read.format("netcdf").option("partitions", 2).load(str(folder / "group.nc")), str(folder / "group.parquet"))


def _array(spark: Any, folder: pathlib.Path) -> Table:
    """One dataset, whose index is a dimension."""
    values = (np.arange(400) * 7) % 101 - 40
    with h5py.File(folder / "array.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(50,))
    pa.parquet.write_table(pa.table({"dim_0": np.arange(400), "x": values}), folder / "array.parquet")
    table = Table(
        "array",
        {"dim_0": ["0", "399", "400", "-1", "123", "null"], "x": ["0", "-40", "60", "61", "null"]},
        ["dim_0", "x"],
        ["x"],
        ["dim_0 > 1000000", "dim_0 > 10 and dim_0 < 5", "dim_0 = -1", "dim_0 > 1000 and x > 3", "dim_0 in (900, 901)", "x > 1000"],
    )
    return _views(
        spark, table, spark.read.format("hdf5").option("dataset", "/x").option("partitions", 2).load(str(folder / "array.h5")), str(folder / "array.parquet")
    )


def _cube(spark: Any, folder: pathlib.Path) -> Table:
    """Several dimensions with coordinates: ascending, descending, with a NaN, and times."""
    lat, lon, rng = np.array([-30.0, -10.5, 0.0, 20.25, np.nan]), np.array([350.0, 180.5, 10.0, -5.0]), np.random.default_rng(7)
    values, counts = (rng.integers(-20, 20, (6, 5, 4)) / 4).astype("f4"), rng.integers(-3, 4, (6, 5, 4)).astype("i2")
    gaps = rng.random(values.shape) < 0.2
    with netCDF4.Dataset(folder / "cube.nc", "w") as f:
        for name, size in (("time", 6), ("lat", 5), ("lon", 4)):
            f.createDimension(name, size)
        time = f.createVariable("time", "f8", ("time",))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(6)
        f.createVariable("lat", "f8", ("lat",))[:] = lat
        f.createVariable("lon", "f8", ("lon",))[:] = lon
        f.createVariable("v", "f4", ("time", "lat", "lon"), chunksizes=(2, 3, 2), fill_value=-9.0)[:] = np.ma.masked_array(values, gaps)
        f.createVariable("k", "i2", ("time", "lat", "lon"), chunksizes=(3, 2, 4), fill_value=False)[:] = counts
    days, lats, lons = (axis.ravel() for axis in np.meshgrid((np.arange(6) + 10957) * 86_400_000_000, lat, lon, indexing="ij"))
    columns = {
        "time": pa.array(days, pa.timestamp("us")),
        "lat": pa.array(lats),
        "lon": pa.array(lons),
        "v": pa.array(values.ravel(), mask=gaps.ravel()),
        "k": pa.array(counts.ravel()),
    }
    pa.parquet.write_table(pa.table(columns), folder / "cube.parquet")
    table = Table(
        "cube",
        {
            "time": ["timestamp_ntz'2000-01-03 00:00:00'", "timestamp_ntz'1990-01-01 00:00:00'", "timestamp_ntz'2000-01-02 12:00:00'"],
            "lat": ["0.0D", "-10.5D", "100.0D", NAN, "3.2D", "null"],
            "lon": ["10.0D", "-5.0D", "400.0D", "180.5D", "null"],
            "v": ["float(0)", "1.5D", "float('NaN')", "-9", "null"],
            "k": ["0", "-3", "4", "null"],
        },
        ["k"],
        ["lat", "k"],
        ["lat between 3.2D and 3.8D", "lat > 100 and lat < 200", "lon = 7", "time < timestamp_ntz'1980-01-01 00:00:00' and k > 0", "lat < -100 and v > 0"],
    )
    return _views(spark, table, spark.read.format("netcdf").load(str(folder / "cube.nc")), str(folder / "cube.parquet"))


def _empty(spark: Any, folder: pathlib.Path) -> Table:
    """A dataset of no rows."""
    with h5py.File(folder / "empty.h5", "w") as f:
        f.create_dataset("e", shape=(0,), maxshape=(None,), dtype="f8")
    pa.parquet.write_table(pa.table({"dim_0": pa.array([], pa.int64()), "e": pa.array([], pa.float64())}), folder / "empty.parquet")
    table = Table("empty", {"dim_0": ["0", "1000", "null"], "e": ["0.0D", NAN, "null"]}, ["dim_0", "e"], ["e"], ["dim_0 > 5", "e > 0"])
    return _views(spark, table, spark.read.format("hdf5").option("dataset", "/e").load(str(folder / "empty.h5")), str(folder / "empty.parquet"))


def _parts(spark: Any, folder: pathlib.Path) -> Table:
    """Folders of partitions, one of them null, and a file without rows."""
    for k in ("0", "1", "2", "__HIVE_DEFAULT_PARTITION__"):
        ours, theirs = folder / "parts.h5" / f"_k={k}", folder / "parts.parquet" / f"_k={k}"
        ours.mkdir(parents=True)
        theirs.mkdir(parents=True)
        count = 0 if k == "2" else 30
        x, y = np.arange(count) - 10, np.where(np.arange(count) % 4 == 0, np.nan, np.arange(count) / 2)
        with h5py.File(ours / "a.h5", "w") as f:
            f["x"], f["y"] = x, y
        pa.parquet.write_table(pa.table({"x": x, "y": y}), theirs / "a.parquet")
    table = Table(
        "parts",
        {"x": ["0", "100", "-10", "null"], "y": ["0.0D", NAN, "3.5D", "null"], "_k": ["0", "1", "2", "77", "null"]},
        ["x", "_k"],
        ["_k"],
        ["_k = 77", "_k = 2", "_k = 2 and x > 3", "_k > 5 and y > 0", "x > 4000", "_k is null and x > 900"],
    )
    return _views(spark, table, spark.read.format("hdf5").load(str(folder / "parts.h5")), str(folder / "parts.parquet"))


def _name(random: random.Random, column: str) -> str:
    """The name with other capitals, which are the same column to Spark."""
    return column.upper() if random.random() < 0.3 else column


def _condition(random: random.Random, table: Table, depth: int = 0) -> str:
    kind = random.random()
    if depth == 0 and kind < 0.12:
        return "true"
    if depth == 0 and kind < 0.4:
        return random.choice(table.none)
    if depth < 2 and kind < 0.6:
        return f"({_condition(random, table, depth + 1)} {random.choice(['and', 'or'])} {_condition(random, table, depth + 1)})"
    if depth < 2 and kind < 0.66:
        return f"not {_condition(random, table, 2)}"
    column = random.choice(list(table.literals))
    name, literals = _name(random, column), table.literals[column]
    kind = random.random()
    if kind < 0.15:
        return f"{name} is {random.choice(['', 'not '])}null"
    if kind < 0.3:
        return f"{name} {random.choice(['', 'not '])}in ({', '.join(random.choices(literals, k=2))})"
    if kind < 0.45:
        return f"{name} between {random.choice(literals)} and {random.choice(literals)}"
    return f"{name} {random.choice(['=', '<', '>', '<=', '>=', '<>', '<=>'])} {random.choice(literals)}"


def _aggregate(random: random.Random, table: Table) -> str:
    any = _name(random, random.choice(list(table.literals)))
    exact = _name(random, random.choice(table.exact))
    return random.choice(
        [
            "count(*)",
            "count(1)",
            f"count({any})",
            f"count({any}) + 1",
            f"min({any})",
            f"max({any})",
            f"sum({exact})",
            f"avg({exact})",
            f"sum({exact}) is null",
            f"count(distinct {any})",
            f"count(*) filter (where {_condition(random, table, 2)})",
            f"coalesce(sum({exact}), -1)",
            f"count({any}, {exact})",
            f"every({any} is null)",
        ]
    )


def queries(table: Table, seed: int) -> Iterator[str]:
    """Endless queries over the table, each with its rows as arrays of text, in the place of {table}."""
    source = random.Random(f"{table.name} {seed}")
    while True:
        where = _condition(source, table)
        kind = source.random()
        if kind < 0.75:
            asked = [_aggregate(source, table) for _ in range(source.randint(1, 3))]
            yield f"select {_texts(asked)} as r from {{table}} where {where}"
        elif kind < 0.85 and table.keys:
            key = source.choice(table.keys)
            yield f"select {_texts([key, 'count(*)', _aggregate(source, table)])} as r from {{table}} where {where} group by {key}"
        else:
            names = source.sample(list(table.literals), 2)
            order = ", ".join(f"{name} {source.choice(['asc', 'desc'])} nulls {source.choice(['first', 'last'])}" for name in names)
            limited = f" order by {order} limit {source.choice([0, 1, 5])}" if source.random() < 0.5 else ""
            yield f"select {_texts(names)} as r from (select {', '.join(names)} from {{table}} where {where}{limited})"


def _texts(columns: list[str]) -> str:
    return f"array({', '.join(f'string({column})' for column in columns)})"


def answers(spark: Any, table: Table, format: str, asked: list[str]) -> list[list[Any]]:
    """The rows of each query, as sorted text. All run as one job."""
    parts = [f"select {index} as q, r from ({query.format(table=table.view(format))})" for index, query in enumerate(asked)]
    found: list[list[Any]] = [[] for _ in asked]
    for row in spark.sql(" union all ".join(parts)).collect():
        found[row.q].append([None if text is None else str(text) for text in row.r])
    return [sorted(rows, key=str) for rows in found]
