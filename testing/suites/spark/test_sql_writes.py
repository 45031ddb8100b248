"""CREATE TABLE AS SELECT, INSERT INTO and INSERT OVERWRITE, in Spark's catalog and in that of files."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import h5py
import pytest


@pytest.fixture
def source(spark: Any) -> Iterator[None]:
    spark.sql("create or replace temporary view numbers as select id, id / 4.0D as x from range(1000)")
    yield
    for table in ("made", "managed"):
        spark.sql(f"drop table if exists {table}")


def rows(spark: Any, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(f"select id, x from {table} order by id").collect()]


def test_a_table_of_a_file(spark: Any, source: None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    spark.sql(f"create table made using hdf5 options (path '{path}', dataset '/run', compression 'gzip') as select * from numbers where id < 100")
    assert rows(spark, "made") == [(i, i / 4) for i in range(100)]
    spark.sql("insert into made select * from numbers where id >= 100 and id < 150")
    assert rows(spark, "made") == [(i, i / 4) for i in range(150)]
    spark.sql("insert into made (x, id) values (0.5, 7777)")
    assert rows(spark, "made")[-1] == (7777, 0.5)
    spark.sql("insert overwrite made select * from numbers where id < 3")
    assert rows(spark, "made") == [(0, 0.0), (1, 0.25), (2, 0.5)]
    with h5py.File(path) as f:
        assert f["run/x"][()].tolist() == [0.0, 0.25, 0.5]
    spark.sql("drop table made")
    assert path.exists()


def test_a_table_that_spark_manages(spark: Any, source: None) -> None:
    spark.sql("create table managed (id bigint, x double) using hdf5")
    spark.sql("insert into managed select * from numbers where id < 10")
    spark.sql("insert into managed select * from numbers where id >= 10 and id < 20")
    assert rows(spark, "managed") == [(i, i / 4) for i in range(20)]


def test_a_dataset_of_the_catalog_of_files(spark: Any, source: None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    spark.sql(f"create table hdf5.`{path}`.`a` as select * from numbers where id < 10")
    with h5py.File(path) as f:
        assert f["a/id"][()].tolist() == list(range(10))
    spark.sql(f"create table hdf5.`{path}`.`b` as select x from numbers where id < 5")
    spark.sql(f"insert into hdf5.`{path}`.`b` select x from numbers where id = 999")
    with h5py.File(path) as f:
        assert f["b"][()].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 249.75]
        assert f["a/id"][()].tolist() == list(range(10))
    spark.table("numbers").where("id < 2").writeTo(f"hdf5.`{path}`.`c`").create()
    with h5py.File(path) as f:
        assert f["c/x"][()].tolist() == [0.0, 0.25]
    with pytest.raises(Exception, match="already exists"):
        spark.sql(f"create table hdf5.`{path}`.`b` as select 1 as x")
    with pytest.raises(Exception, match="DROP TABLE .* is not supported"):
        spark.sql(f"drop table hdf5.`{path}`.`b`")


def test_a_failed_statement_leaves_the_file_as_it_was(spark: Any, source: None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.h5"
    with pytest.raises(Exception, match="too late"):
        spark.sql(f"create table hdf5.`{path}`.`a` as select if(id > 900, raise_error('too late'), id) as id from numbers")
    assert list(tmp_path.iterdir()) == []
    spark.sql(f"create table hdf5.`{path}`.`a` as select id from numbers")
    before = path.read_bytes()
    with pytest.raises(Exception, match="too late"):
        spark.sql(f"insert into hdf5.`{path}`.`a` select if(id > 900, raise_error('too late'), id) as id from numbers")
    assert path.read_bytes() == before


def test_several_files_cannot_be_inserted_into(spark: Any, source: None, tmp_path: pathlib.Path) -> None:
    for name in "ab":
        spark.table("numbers").write.format("hdf5").option("dataset", "/run").save(str(tmp_path / f"{name}.h5"))
    spark.sql(f"create table made using hdf5 options (path '{tmp_path}/*.h5', dataset '/run', fileColumns 'false')")
    with pytest.raises(Exception, match="several files"):
        spark.sql("insert into made select * from numbers")
