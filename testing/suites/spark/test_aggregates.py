"""Counts, minima, maxima and sums in the reader: the same results as Spark's own, including NaN, null and overflow."""

from __future__ import annotations

import pathlib
from typing import Any

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

ROWS = 5000
CODES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The same rows as netCDF and as Parquet: each type with and without missing values, NaN, times."""
    folder = tmp_path_factory.mktemp("aggregates")
    rng = np.random.default_rng(1)
    columns: dict[str, pa.Array] = {}
    with netCDF4.Dataset(folder / "a.nc", "w") as f:
        f.createDimension("n", ROWS)
        for code in CODES:
            for gaps in (False, True):
                name = f"{code}{'_gaps' if gaps else ''}"
                variable = f.createVariable(name, code, ("n",), fill_value=100 if gaps else False, zlib=True, chunksizes=(500,))
                data = (rng.standard_normal(ROWS) * 1000 if code[0] == "f" else rng.integers(0, 100, ROWS)).astype(code)
                mask = rng.random(ROWS) < 0.3 if gaps else np.zeros(ROWS, bool)
                variable[:] = np.ma.masked_array(data, mask=mask)
                columns[name] = pa.array(data.astype({"u1": "i2", "u2": "i4", "u4": "i8"}.get(code, code)), mask=mask)
        for name, kind in (("nan", np.nan), ("negative_nan", np.copysign(np.nan, -1))):
            data = rng.standard_normal(ROWS)
            data[::50] = kind
            f.createVariable(name, "f8", ("n",), fill_value=False)[:] = data
            columns[name] = pa.array(data)
        empty = f.createVariable("nothing", "i4", ("n",), fill_value=100)
        empty[:] = np.ma.masked_all(ROWS, "i4")
        columns["nothing"] = pa.nulls(ROWS, pa.int32())
        time = f.createVariable("time", "i8", ("n",), fill_value=False)
        time.units = "seconds since 2000-01-01"
        time[:] = rng.integers(-(10**9), 10**9, ROWS)
        columns["time"] = pa.array((np.array(time[:]) + 946684800) * 10**6, pa.timestamp("us"))
    pyarrow.parquet.write_table(pa.table(columns), folder / "a.parquet")
    return str(folder / "a.nc"), str(folder / "a.parquet")


def frames(spark: Any, paths: tuple[str, str], **options: Any) -> tuple[Any, Any]:
    ours = spark.read.format("netcdf").options(**options).option("partitions", 4).load(paths[0])
    return ours, spark.read.parquet(paths[1]).select(*ours.columns)


def plan(frame: Any) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def test_every_type_as_in_spark(spark: Any, paths: tuple[str, str]) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    ours, theirs = frames(spark, paths)
    numbers = [c for c in ours.columns if c != "time"]
    asked = [f"{function}({c})" for c in ours.columns for function in ("min", "max", "count")]
    asked += [f"sum({c})" for c in numbers if ours.schema[c].dataType.typeName() not in ("float", "double")] + ["count(1)"]
    assert "PushedAggregates: [{" in plan(ours.selectExpr(*asked))
    for where in ("true", "i8 > 50", "i4 > 1000"):
        # Compared as text, so that NaN equals NaN.
        got, wanted = (str(frame.where(where).selectExpr(*asked).collect()[0].asDict()) for frame in (ours, theirs))
        assert got == wanted, where


def test_averages_and_sums_of_floats(spark: Any, paths: tuple[str, str]) -> None:
    ours, theirs = frames(spark, paths, sumFloats=True)
    asked = ["avg(i4_gaps)", "sum(f4)", "sum(f8_gaps)", "avg(f8)", "sum(nan)"]
    assert "sum" in plan(ours.selectExpr(*asked)).split("PushedAggregates")[1]
    np.testing.assert_allclose(ours.selectExpr(*asked).collect()[0], theirs.selectExpr(*asked).collect()[0], rtol=1e-12)
    without, _ = frames(spark, paths)
    assert "PushedAggregates: []" in plan(without.selectExpr("sum(f8)")), "the order of additions changes the last digits"


def test_what_is_not_pushed_is_still_right(spark: Any, paths: tuple[str, str]) -> None:
    ours, theirs = frames(spark, paths)
    for asked in (["count(distinct i1)"], ["sum(distinct i1)"], ["min(i4 + 1)", "max(i4)"], ["count(i4_gaps)", "stddev(i4)"]):
        got, wanted = ours.selectExpr(*asked), theirs.selectExpr(*asked)
        np.testing.assert_allclose(got.collect()[0], wanted.collect()[0])
    grouped = [sorted(map(tuple, f.groupBy("i1").agg({"i4": "max"}).collect())) for f in (ours, theirs)]
    assert grouped[0] == grouped[1]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_sum_that_overflows(spark: Any, tmp_path: pathlib.Path, ansi: str) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.full(4, 2**62)
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "a.h5"))
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        if ansi == "true":
            with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
                frame.selectExpr("sum(x)").collect()
        else:
            assert frame.selectExpr("sum(x)").collect()[0][0] == 0
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
