"""Groups by coordinates in the reader: the same results as Spark's own over Parquet of the same rows."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from grouped_queries import Grouped, differences, tables
from same_queries import quick

#: Queries of each of the 5 tables; more with GROUPED_QUERIES.
COUNT = int(os.environ.get("GROUPED_QUERIES", "12"))


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Grouped]]:
    before = spark.conf.get("spark.sql.ansi.enabled")
    with quick(spark):
        yield tables(spark, tmp_path_factory.mktemp("grouped"))
    spark.conf.set("spark.sql.ansi.enabled", before)


def test_random_groups_are_those_of_spark(spark: Any, made: list[Grouped], capsys: pytest.CaptureFixture[str]) -> None:
    compared = all_pushed = 0
    for table in made:
        for first in range(0, COUNT, 20):
            count = min(20, COUNT - first)
            different, pushed = differences(spark, table, first, count)
            assert different == [], different[:2]
            compared, all_pushed = compared + count, all_pushed + pushed
    with capsys.disabled():
        print(f" [{compared} queries, {all_pushed} grouped by splits]", end="")
    assert compared == COUNT * len(made) and all_pushed > compared / 3


def plan(frame: Any) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("grid") / "a.nc"
    with netCDF4.Dataset(path, "w") as f:
        for name, size in (("time", 8), ("lat", 5), ("lon", 6)):
            f.createDimension(name, size)
            f.createVariable(name, "f8", (name,))[:] = np.arange(size)
        f.createVariable("v", "f4", ("time", "lat", "lon"), chunksizes=(2, 5, 6))[:] = np.arange(240).reshape(8, 5, 6)
        f.createVariable("big", "i8", ("time", "lat", "lon"), fill_value=False)[:] = 2**62
    return str(path)


def test_explain_shows_the_keys(spark: Any, grid: str) -> None:
    frame = spark.read.format("netcdf").load(grid)
    pushed = plan(frame.where("lat > 0 and v > 3").groupBy("lat", "time").agg({"v": "max"}))
    assert "PushedGroupBy: [lat, time]" in pushed and '"function":"max","column":"v"' in pushed
    assert "PushedGroupBy: [lat]" in plan(frame.select("lat").distinct())
    assert "PushedGroupBy: [_file]" in plan(frame.groupBy("_file").count())
    assert [row[1] for row in frame.groupBy("_file").count().collect()] == [240]


@pytest.mark.parametrize(
    "query",
    [
        "select v, count(*) from {t} group by v",
        "select floor(lat), count(*) from {t} group by 1",
        "select time, lat, lon, max(v) from {t} group by time, lat, lon",
        "select lat, sum(v) from {t} group by lat",
        "select lat, avg(big) from {t} group by lat",
        "select lat, count(distinct v) from {t} group by lat",
        "select lat, max(v + 1) from {t} group by lat",
        "select lat, max(v) from {t} where cast(v as int) % 2 = 0 group by lat",
    ],
)
def test_what_splits_do_not_group(spark: Any, grid: str, query: str) -> None:
    """Keys that are no coordinates, groups of single rows, inexact sums, conditions and expressions that Spark computes."""
    spark.read.format("netcdf").load(grid).createOrReplaceTempView("grid")
    assert "PushedGroupBy" not in plan(spark.sql(query.format(t="grid")))


def test_parts_of_times(spark: Any, tmp_path: pathlib.Path) -> None:
    """Before 1970, at the ends of years, and a null."""
    texts = ["1969-12-31T23:59:59.999999", "1970-01-01T00:00", "2000-02-29T12:00", "1600-03-01T05:00", "2024-12-31T23:00", "1899-07-15T00:30"]
    times = np.array([*texts, "NaT"], "M8[us]")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("time", 7)
        f.createDimension("x", 30)
        time = f.createVariable("time", "i8", ("time",), fill_value=-1)
        time.units, time.calendar = "microseconds since 1500-01-01", "proleptic_gregorian"
        time[:] = np.where(np.isnat(times), -1, (times - np.datetime64("1500-01-01", "us")).astype("i8"))
        f.createVariable("v", "i4", ("time", "x"), fill_value=False)[:] = np.arange(210).reshape(7, 30)
    frame = spark.read.format("netcdf").load(str(tmp_path / "a.nc"))
    frame.createOrReplaceTempView("pushed_times")
    spark.createDataFrame(frame.rdd, frame.schema).createOrReplaceTempView("own_times")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        for part in ("year", "quarter", "month", "day", "dayofyear", "hour", "date"):
            query = f"select {part}(time) k, sum(v), count(*) from {{}}_times group by {part}(time) order by k"
            pushed, own = (spark.sql(query.format(name)) for name in ("pushed", "own"))
            assert "PushedGroupBy" in plan(pushed), part
            assert pushed.collect() == own.collect(), part
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)


def test_keys_have_columns_named_like_results(spark: Any, tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        for name, size in (("a0", 2), ("a1", 8)):
            f.createDimension(name, size)
            f.createVariable(name, "i4", (name,))[:] = np.arange(size)
        f.createVariable("v", "i4", ("a0", "a1"), fill_value=False)[:] = np.arange(16).reshape(2, 8)
    frame = spark.read.format("netcdf").load(str(tmp_path / "a.nc")).groupBy("a0").agg({"v": "sum", "a1": "max"})
    assert "PushedGroupBy" in plan(frame)
    assert sorted(tuple(row) for row in frame.selectExpr("a0", "`sum(v)`", "`max(a1)`").collect()) == [(0, 28, 7), (1, 92, 7)]


def test_many_groups_are_left_to_spark(spark: Any, tmp_path: pathlib.Path) -> None:
    """More groups than one split keeps: it returns its rows."""
    x = np.arange(2000 * 1200, dtype="i4").reshape(4, 600, 1000) % 1000
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=x)
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "a.h5")).groupBy("dim_1", "dim_2").agg({"x": "sum"})
    assert "PushedGroupBy" in plan(frame)
    assert frame.selectExpr("count(*)", "sum(`sum(x)`)", "max(`sum(x)`)").collect()[0][:] == (600_000, int(x.sum()), int(x.sum(0).max()))


def test_a_sum_of_a_group_that_overflows(spark: Any, grid: str) -> None:
    frame = spark.read.format("netcdf").load(grid).groupBy("lat").agg({"big": "sum"})
    assert "PushedGroupBy" in plan(frame)
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
            spark.read.format("netcdf").load(grid).groupBy("lat").agg({"big": "sum"}).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
