"""A DataFrame keeps the list of files of the moment when it was loaded, as in Spark's own sources."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import pytest

LOADS: dict[str, Callable[[Any, pathlib.Path], Any]] = {
    "load": lambda spark, path: spark.read.format("hdf5").load(str(path)),
    "schema": lambda spark, path: spark.read.format("hdf5").schema("x bigint").load(str(path)),
    "glob": lambda spark, path: spark.read.format("hdf5").option("fileColumns", "false").load(f"{path}/*.h5"),
    "catalog of files": lambda spark, path: spark.table(f"hdf5.`{path}`"),
    "view": lambda spark, path: view(spark, path),
}


def view(spark: Any, path: pathlib.Path) -> Any:
    spark.sql(f"create or replace temporary view listed using hdf5 options (path '{path}')")
    return spark.table("listed")


def write(path: pathlib.Path, rows: int = 10) -> None:
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(rows)


@pytest.mark.parametrize("way", LOADS)
def test_a_file_that_vanished_is_an_error(spark: Any, tmp_path: pathlib.Path, way: str) -> None:
    for name in "abc":
        write(tmp_path / "in" / f"{name}.h5")
    found = LOADS[way](spark, tmp_path / "in")
    (tmp_path / "in" / "b.h5").unlink()
    for read in (found.count, found.where("x > 3").count, found.collect, found.selectExpr("max(x)").collect):
        with pytest.raises(Exception, match=r"NotFound.*b\.h5"):
            read()
    assert LOADS[way](spark, tmp_path / "in").count() == 20


@pytest.mark.parametrize("way", LOADS)
def test_a_file_that_appeared_is_not_read(spark: Any, tmp_path: pathlib.Path, way: str) -> None:
    write(tmp_path / "in" / "a.h5")
    found = LOADS[way](spark, tmp_path / "in")
    write(tmp_path / "in" / "b.h5")
    assert (found.count(), len(found.collect()), found.selectExpr("count(x) + 0 * max(x)").collect()[0][0]) == (10, 10, 10)
    assert LOADS[way](spark, tmp_path / "in").count() == 20


def test_a_file_that_is_ignored_when_it_vanished(spark: Any, tmp_path: pathlib.Path) -> None:
    for name in "abc":
        write(tmp_path / "in" / f"{name}.h5")
    found = spark.read.format("hdf5").option("ignoreMissingFiles", "true").load(str(tmp_path / "in"))
    (tmp_path / "in" / "b.h5").unlink()
    assert (found.count(), found.where("x >= 0").count(), len(found.collect()), found.selectExpr("sum(x)").collect()[0][0]) == (20, 20, 20, 90)


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_cached_frame_is_refreshed_by_a_write_of_the_session(spark: Any, tmp_path: pathlib.Path, partitioned: bool) -> None:
    def save(rows: int, mode: str) -> None:
        writer = spark.range(rows).selectExpr("id", "id % 3 as k").write.format("hdf5").mode(mode)
        (writer.partitionBy("k") if partitioned else writer).save(str(tmp_path / "out"))

    save(10, "overwrite")
    load = spark.read.format("hdf5").load
    cached, folder, derived = load(str(tmp_path / "out")).cache(), load(str(tmp_path / "out")), load(str(tmp_path / "out")).where("id > 0").cache()
    assert (cached.count(), derived.count()) == (10, 9)
    save(3, "overwrite")
    assert (cached.count(), derived.count(), load(str(tmp_path / "out")).count()) == (3, 2, 3)
    save(4, "append")
    assert (cached.count(), derived.count()) == (7, 5) and cached.storageLevel.useMemory
    cached.unpersist()
    derived.unpersist()
    assert folder.columns == ["id", "k"]


def test_a_cached_frame_whose_dataset_is_gone_does_not_fail_the_write(spark: Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "a.h5")
    spark.range(3).write.format("hdf5").option("dataset", "/x").save(path)
    cached = spark.read.format("hdf5").option("dataset", "/x").load(path).cache()
    assert cached.count() == 3
    spark.range(2).write.format("hdf5").option("dataset", "/y").option("replaceFile", "true").mode("overwrite").save(path)
    assert spark.read.format("hdf5").option("dataset", "/y").load(path).count() == 2
    with pytest.raises(Exception, match="NotFound"):
        cached.collect()


def test_a_table_of_the_catalog_follows_its_inserts(spark: Any) -> None:
    spark.sql("create table followed (id bigint, k bigint) using hdf5 partitioned by (k)")
    try:
        kept = spark.table("followed")
        cached = spark.table("followed").cache()
        assert (kept.count(), cached.count()) == (0, 0)
        spark.sql("insert into followed select id, id % 3 from range(9)")
        assert (kept.count(), cached.count()) == (9, 9)
        spark.sql("insert overwrite followed select id, id % 3 from range(6)")
        assert (kept.count(), cached.count()) == (6, 6)
        cached.unpersist()
    finally:
        spark.sql("drop table followed")
