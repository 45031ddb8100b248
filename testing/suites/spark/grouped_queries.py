"""Generated queries with `group by` over tables that exist in HDF5 and in Parquet, of the same rows."""

from __future__ import annotations

import itertools
import pathlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet

NAN = "double('NaN')"
DAY = 86_400_000_000


@dataclass
class Grouped:
    """Two views of the same rows, and what queries may ask of their columns."""

    name: str
    #: Columns that follow from dimensions, folders or files, and one that does not.
    keys: list[str]
    #: Columns whose sums do not depend on the order of the rows.
    sums: list[str]
    #: Columns to compare and count.
    values: list[str]
    #: Conditions. No row meets some of them.
    conditions: list[str]
    #: Columns of `sums` whose averages depend on the order of the rows, because doubles do not hold their sums.
    inexact: tuple[str, ...] = ()
    #: Whether sums that overflow are errors. Spark pushes casts of keys only then.
    ansi: bool = True

    def view(self, format: str) -> str:
        return f"grouped_{format}_{self.name}"


def tables(spark: Any, folder: pathlib.Path) -> list[Grouped]:
    """Writes all tables in both formats, and creates their views."""
    return [make(spark, folder) for make in (_grids, _arrays, _virtual, _folders, _stations)]


def _views(spark: Any, table: Grouped, ours: Any, columns: dict[str, Any], folder: pathlib.Path) -> Grouped:
    pa.parquet.write_table(pa.table(columns), folder / f"{table.name}.parquet")
    ours.createOrReplaceTempView(table.view("hdf5"))
    spark.read.parquet(str(folder / f"{table.name}.parquet")).createOrReplaceTempView(table.view("parquet"))
    return table


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}


def _spread(shape: tuple[int, ...], axis: int, values: Any) -> Any:
    """The values along a dimension for each row."""
    return np.broadcast_to(np.asarray(values).reshape([-1 if a == axis else 1 for a in range(len(shape))]), shape).ravel()


def _grids(spark: Any, folder: pathlib.Path) -> Grouped:
    """Three files of grids: coordinates with NaN, both zeros and equal values, fills, NaN, packed numbers."""
    shape, parts = (6, 7, 8), []
    lat, lon = np.array([-30.0, 0.0, -0.0, 20.25, np.nan, 20.25, np.nan]), np.array([350, 10, 10, -5, 0, 7, 7, 10], "i2")
    for number in range(3):
        rng = np.random.default_rng(number)
        v = (rng.integers(-20, 20, shape) / 4).astype("f4")
        v[rng.random(shape) < 0.1] = np.nan
        v[rng.random(shape) < 0.1] = -0.0
        gaps, packed = rng.random(shape) < 0.2, rng.integers(-100, 100, shape).astype("i2")
        k, hours = rng.integers(-3, 4, shape).astype("i2"), np.arange(6) // 2 * 17 + number * 20
        # A group without values.
        gaps[:, 3] = gaps[:, 5] = True
        with netCDF4.Dataset(folder / f"grid_{number}.nc", "w") as f:
            for name, size in zip(("time", "lat", "lon"), shape):
                f.createDimension(name, size)
            time = f.createVariable("time", "f8", ("time",))
            time.units = "hours since 2000-12-31"
            time[:] = hours
            f.createVariable("lat", "f8", ("lat",))[:] = lat
            f.createVariable("lon", "i2", ("lon",))[:] = lon
            options: dict[str, Any] = {"chunksizes": (2, 3, 5), "zlib": True}
            f.createVariable("v", "f4", ("time", "lat", "lon"), fill_value=-9.0, **options)[:] = np.ma.masked_array(v, gaps)
            p = f.createVariable("p", "i2", ("time", "lat", "lon"), fill_value=-999, **options)
            p.set_auto_maskandscale(False)
            p.scale_factor, p.add_offset = 0.5, 1.0
            p[:] = np.where(gaps, -999, packed)
            f.createVariable("k", "i2", ("time", "lat", "lon"), fill_value=False)[:] = k
        parts.append(
            {
                "time": pa.array(_spread(shape, 0, 11322 * DAY + hours * DAY // 24), pa.timestamp("us")),
                "lat": pa.array(_spread(shape, 1, lat)),
                "lon": pa.array(_spread(shape, 2, lon)),
                "v": pa.array(v.ravel(), mask=gaps.ravel()),
                "p": pa.array(packed.ravel() * 0.5 + 1.0, mask=gaps.ravel()),
                "k": pa.array(k.ravel()),
            }
        )
    table = Grouped(
        "grids",
        ["time", "lat", "lon", "k", "year(time)", "month(time)", "date(time)", "hour(time)"],
        ["v", "p", "k", "lon"],
        ["v", "p", "k", "lat", "time"],
        [
            "true",
            "lat > -10",
            f"lat <> {NAN}",
            "lat = 0",
            "lon between 0 and 20",
            "time >= timestamp_ntz'2001-01-01 00:00:00'",
            "time < timestamp_ntz'1990-01-01 00:00:00'",
            "v > 1.5D",
            f"v = {NAN}",
            "v is null",
            "k in (-3, 2)",
            "p < 10 and lat < 25",
            "(k = 1 or lon = 7)",
            "k > 100",
            "not v <= 0",
        ],
    )
    ours = spark.read.format("netcdf").option("sumFloats", True).option("partitions", 5).load(str(folder / "grid_*.nc"))
    return _views(spark, table, ours, _joined(parts), folder)


def _arrays(spark: Any, folder: pathlib.Path) -> Grouped:
    """Indexes as keys; sums of integers that do not fit 64 bits wrap around."""
    shape = (11, 40)
    x = np.random.default_rng(8).integers(-(2**62), 2**62, shape)
    with h5py.File(folder / "array.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(4, 9))
    columns = {"dim_0": pa.array(_spread(shape, 0, np.arange(11))), "dim_1": pa.array(_spread(shape, 1, np.arange(40))), "x": pa.array(x.ravel())}
    table = Grouped(
        "arrays",
        ["dim_0", "dim_1"],
        ["x", "dim_0"],
        ["x", "dim_1"],
        ["true", "dim_0 > 4", "dim_1 in (3, 39)", "dim_1 > 100", "x > 0", "x is null", "dim_0 = 3"],
    )
    table.inexact, table.ansi = ("x",), False
    ours = spark.read.format("hdf5").option("dataset", "/x").option("partitions", 3).load(str(folder / "array.h5"))
    return _views(spark, table, ours, columns, folder)


def _virtual(spark: Any, folder: pathlib.Path) -> Grouped:
    """A virtual dataset. Part of it has no source."""
    shape, values = (8, 9), np.random.default_rng(2).integers(0, 50, (8, 9)).astype("i4")
    values[6:] = -1
    layout = h5py.VirtualLayout(shape, "i4")
    for part in range(3):
        with h5py.File(folder / f"part_{part}.h5", "w") as f:
            f.create_dataset("x", data=values[2 * part : 2 * part + 2], chunks=(1, 4), compression="gzip")
        layout[2 * part : 2 * part + 2] = h5py.VirtualSource(folder / f"part_{part}.h5", "x", (2, 9))
    with h5py.File(folder / "virtual.h5", "w") as f:
        f.create_virtual_dataset("x", layout, fillvalue=-1)
    columns = {"dim_0": pa.array(_spread(shape, 0, np.arange(8))), "dim_1": pa.array(_spread(shape, 1, np.arange(9))), "x": pa.array(values.ravel())}
    table = Grouped("virtual", ["dim_0", "dim_1"], ["x"], ["x", "dim_0"], ["true", "dim_0 >= 5", "x > 20", "dim_1 < 0"])
    ours = spark.read.format("hdf5").option("dataset", "/x").load(str(folder / "virtual.h5"))
    return _views(spark, table, ours, columns, folder)


def _folders(spark: Any, folder: pathlib.Path) -> Grouped:
    """Folders of partitions, one of them null, and a file without rows."""
    parts = []
    for number, k in enumerate(("0", "1", "2", "__HIVE_DEFAULT_PARTITION__", "1")):
        below = folder / "folders" / f"part={k}"
        below.mkdir(parents=True, exist_ok=True)
        shape = (0 if k == "2" else 5, 6)
        x = np.random.default_rng(number).integers(-10, 10, shape).astype("u1")
        with h5py.File(below / f"{number}.h5", "w") as f:
            f.create_dataset("x", data=x, chunks=(2, 6), maxshape=(None, 6))
        size, part = x.size, None if k.startswith("_") else int(k)
        axes = {"dim_0": pa.array(_spread(shape, 0, np.arange(shape[0]))), "dim_1": pa.array(_spread(shape, 1, np.arange(6)))}
        parts.append({**axes, "x": pa.array(x.ravel().astype("i2")), "part": pa.array([part] * size, pa.int32())})
    table = Grouped(
        "folders", ["dim_0", "dim_1", "part"], ["x"], ["x", "dim_0"], ["true", "part = 1", "part is null", "part = 77", "x > 100", "dim_0 > 2", "dim_0 > 9"]
    )
    ours = spark.read.format("hdf5").option("dataset", "/x").option("partitions", 3).load(str(folder / "folders"))
    return _views(spark, table, ours, _joined(parts), folder)


def _stations(spark: Any, folder: pathlib.Path) -> Grouped:
    """Text as a coordinate, with equal values, and numbers of 16 bits."""
    names, shape = ["b", "", "ä", "b", "😀"], (5, 24)
    x = (np.random.default_rng(3).integers(-8, 8, shape) / 2).astype("f8")
    flags = np.random.default_rng(4).integers(0, 3, shape).astype("u2")
    with netCDF4.Dataset(folder / "stations.nc", "w") as f:
        f.createDimension("station", 5)
        f.createDimension("hour", 24)
        f.createVariable("station", str, ("station",))[:] = np.array(names, dtype=object)
        f.createVariable("hour", "f4", ("hour",), fill_value=-1)[:] = np.ma.masked_array(np.arange(24) // 6, np.arange(24) == 7)
        f.createVariable("x", "f8", ("station", "hour"), fill_value=False)[:] = x
        f.createVariable("flags", "u2", ("station", "hour"), fill_value=False)[:] = flags
    columns = {
        "station": pa.array(_spread(shape, 0, np.array(names, dtype=object)).tolist()),
        "hour": pa.array(_spread(shape, 1, (np.arange(24) // 6).astype("f4")), mask=_spread(shape, 1, np.arange(24) == 7)),
        "x": pa.array(x.ravel()),
        "flags": pa.array(flags.ravel().astype("i4")),
    }
    conditions = ["true", "station = 'b'", "station < 'b'", "hour is null", "hour > 1.5D", "x > 0", "station = 'nobody'", "flags = 2"]
    table = Grouped("stations", ["station", "hour"], ["x", "flags"], ["x", "flags", "station", "hour"], conditions)
    ours = spark.read.format("netcdf").option("sumFloats", True).option("partitions", 2).load(str(folder / "stations.nc"))
    return _views(spark, table, ours, columns, folder)


def _aggregate(random: random.Random, table: Grouped) -> str:
    value, summed = random.choice(table.values), random.choice(table.sums)
    total = "sum" if summed in table.inexact else random.choice(["sum", "avg"])
    return random.choice(["count(*)", f"count({value})", f"min({value})", f"max({value})", f"{total}({summed})", f"count({value}) + count(*)"])


def queries(table: Grouped, seed: int) -> Iterator[str]:
    """Endless queries over the table, each with its rows as arrays of text, in the place of {table}."""
    source = random.Random(f"{table.name} {seed}")
    while True:
        keys = source.sample(table.keys, min(len(table.keys), source.choice([1, 1, 1, 2, 2, 3])))
        where = source.choice(table.conditions)
        if source.random() < 0.3:
            where = f"{where} and {source.choice(table.conditions)}"
        asked = [_aggregate(source, table) for _ in range(source.randint(0, 4))]
        having = f" having count(*) > {source.choice([0, 5, 30])}" if source.random() < 0.2 else ""
        # Which zero an extreme is depends on the order of the rows, in Spark, too.
        texts = ", ".join(f"replace(string({column}), '-0.0', '0.0')" for column in [*keys, *asked])
        yield f"select array({texts}) as r from {{table}} where {where} group by {', '.join(keys)}{having}"


def answers(spark: Any, table: Grouped, format: str, asked: list[str]) -> tuple[list[list[str]], int]:
    """The rows of each query, as sorted text, and how many of them were grouped by splits. All run as one job."""
    spark.conf.set("spark.sql.ansi.enabled", str(table.ansi).lower())
    parts = [f"select {index} as q, r from ({query.format(table=table.view(format))})" for index, query in enumerate(asked)]
    frame = spark.sql(" union all ".join(parts))
    found: list[list[str]] = [[] for _ in asked]
    for row in frame.collect():
        found[row.q].append(str(row.r))
    return [sorted(rows) for rows in found], frame._jdf.queryExecution().executedPlan().toString().count("PushedGroupBy")


def differences(spark: Any, table: Grouped, seed: int, count: int) -> tuple[list[Any], int]:
    """Queries whose rows are not those of Parquet, with both, and how many queries splits have grouped."""
    asked = list(itertools.islice(queries(table, seed), count))
    (ours, pushed), (theirs, _) = answers(spark, table, "hdf5", asked), answers(spark, table, "parquet", asked)
    return [(query.format(table=table.name), a, b) for query, a, b in zip(asked, ours, theirs) if a != b], pushed
