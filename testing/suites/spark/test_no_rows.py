"""Aggregates over no rows: a count is 0 and everything else null, whether files, rows or splits are missing."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

ASKED = ("count(*)", "count(x)", "max(x)", "sum(x)")
NONE = (0, 0, None, None)


def frame(spark: Any, path: Any, **options: Any) -> Any:
    return spark.read.format("hdf5").options(dataset="/x", **options).load(str(path))


def write(path: pathlib.Path, values: Any) -> None:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, maxshape=(None,), chunks=(100,))


@pytest.mark.parametrize("where", ["dim_0 > 1000000", "dim_0 > 10 and dim_0 < 5", "dim_0 > 1000000 and x > 3", "x > 1000000", "dim_0 = -1"])
def test_no_split(spark: Any, tmp_path: pathlib.Path, where: str) -> None:
    write(tmp_path / "a.h5", np.arange(1000))
    found = frame(spark, tmp_path / "a.h5").where(where)
    assert tuple(found.selectExpr(*ASKED).collect()[0]) == NONE
    assert found.count() == 0 and found.selectExpr("count(*)").collect()[0][0] == 0


def test_an_empty_dataset(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.h5", np.arange(0))
    assert tuple(frame(spark, tmp_path / "a.h5").selectExpr(*ASKED).collect()[0]) == NONE


def test_files_that_vanished_and_are_ignored(spark: Any, tmp_path: pathlib.Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.h5", np.arange(10))
    found = frame(spark, tmp_path, ignoreMissingFiles="true")
    (tmp_path / "a.h5").unlink()
    assert tuple(found.selectExpr(*ASKED).collect()[0]) == (10, 10, 9, 45)
    (tmp_path / "b.h5").unlink()
    for condition in ("true", "x > 3"):
        assert tuple(found.where(condition).selectExpr(*ASKED).collect()[0]) == NONE
        assert found.where(condition).count() == 0 and found.where(condition).collect() == []


def test_files_that_vanish_after_planning(spark: Any, tmp_path: pathlib.Path) -> None:
    """Every split of the only task is skipped."""
    write(tmp_path / "a.h5", np.arange(10))
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        found = frame(spark, tmp_path / "a.h5", ignoreMissingFiles="true").selectExpr(*ASKED)
        plan = found._jdf.queryExecution().executedPlan()
        assert plan.execute().getNumPartitions() == 1
        (tmp_path / "a.h5").unlink()
        (row,) = plan.executeCollect()
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert [None if row.isNullAt(index) else row.getLong(index) for index in range(4)] == list(NONE)


def test_a_count_of_a_column_is_that_of_the_files(spark: Any, tmp_path: pathlib.Path) -> None:
    """A schema from the user does not make values of nulls."""
    import netCDF4

    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("n", 10)
        f.createVariable("x", "i4", ("n",), fill_value=-1)[:] = np.ma.masked_less(np.arange(10), 4)
    for schema in ("x int", "x int not null"):
        found = spark.read.format("netcdf").schema(schema).load(str(tmp_path / "a.nc"))
        assert tuple(found.selectExpr("count(x)", "count(*)").collect()[0]) == (6, 10), schema
        assert found.where("x is null").count() == 4, schema


def test_an_aggregate_that_spark_folds_to_a_constant(spark: Any, tmp_path: pathlib.Path) -> None:
    """Then nothing is left to push down, and one row remains."""
    write(tmp_path / "a.h5", np.arange(10))
    for where in ("true", "x > 3", "dim_0 > 100"):
        assert frame(spark, tmp_path / "a.h5").where(where).selectExpr("count(*) filter (where x <=> null)").collect() == [(0,)], where
