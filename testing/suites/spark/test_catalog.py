"""Files and groups as namespaces, datasets as tables."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest


@pytest.fixture(scope="module")
def catalog(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("catalog")
    with h5py.File(folder / "era 5.h5", "w") as f:
        f.create_dataset("t2m", data=np.arange(12.0).reshape(3, 4)).attrs["units"] = "K"
        f["deep/down/x"] = np.arange(5)
        f["deep/name.with.dots"] = np.arange(2)
    with h5py.File(folder / "b.h5", "w") as f:
        f["x"] = [1]
    (folder / "notes.txt").write_text("nothing of ours")
    spark.conf.set("spark.sql.catalog.files", "io.hyperslab.spark.Hdf5Catalog")
    spark.conf.set("spark.sql.catalog.files.root", str(folder))
    return "files"


def column(frame: Any, name: str) -> list[Any]:
    return [row[name] for row in frame.collect()]


def test_namespaces_and_tables_are_listed(spark: Any, catalog: str) -> None:
    assert column(spark.sql(f"show namespaces in {catalog}"), "namespace") == ["`b.h5`", "`era 5.h5`"]
    assert column(spark.sql(f"show namespaces in {catalog}.`era 5.h5`"), "namespace") == ["`era 5.h5`.deep"]
    assert column(spark.sql(f"show tables in {catalog}.`era 5.h5`"), "tableName") == ["t2m"]
    assert column(spark.sql(f"show tables in {catalog}.`era 5.h5`.deep"), "tableName") == ["name.with.dots"]


def test_tables_are_read_and_described(spark: Any, catalog: str) -> None:
    means = spark.sql(f"select dim_0, avg(t2m) from {catalog}.`era 5.h5`.t2m where dim_0 > 0 group by dim_0 order by dim_0")
    assert [tuple(row) for row in means.collect()] == [(1, 5.5), (2, 9.5)]
    assert column(spark.table(f"{catalog}.`era 5.h5`.deep.down.x"), "x") == list(range(5))
    assert column(spark.table(f"{catalog}.`era 5.h5`.deep.`name.with.dots`"), "name.with.dots") == [0, 1]
    described = {row.col_name: (row.data_type, row.comment) for row in spark.sql(f"describe {catalog}.`era 5.h5`.t2m").collect()}
    assert described["t2m"] == ("double", "[K]")
    assert spark.sql(f"select _row from {catalog}.`era 5.h5`.t2m where t2m = 7").collect()[0][0] == 7


def test_missing_tables_and_changes_are_errors(spark: Any, catalog: str, tmp_path: pathlib.Path) -> None:
    for name in (f"{catalog}.`era 5.h5`.nothing", f"{catalog}.`nothing.h5`.x"):
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.table(name).collect()
    with pytest.raises(Exception, match="is not supported"):
        spark.sql(f"drop table {catalog}.`b.h5`.x")


def test_objects_and_attributes_are_tables_too(spark: Any, catalog: str) -> None:
    objects = {row.path: row for row in spark.table(f"{catalog}.`era 5.h5`._objects").collect()}
    assert set(objects) == {"/", "/t2m", "/deep", "/deep/down", "/deep/down/x", "/deep/name.with.dots"}
    assert (objects["/t2m"].kind, objects["/t2m"].shape, objects["/t2m"].type) == ("dataset", [3, 4], "Float64")
    assert (objects["/deep"].kind, objects["/deep"].shape) == ("group", None)
    found = spark.sql(f"select * from {catalog}.`era 5.h5`._attributes where name = 'units'").collect()
    assert [tuple(row) for row in found] == [("/t2m", "units", "K")]
    assert spark.sql(f"select count(*) from {catalog}.`era 5.h5`._objects where kind = 'dataset'").collect()[0][0] == 3
    files = spark.table(f"{catalog}._files").collect()
    assert [(row.name, row.bytes) for row in files] == [(pathlib.Path(row.path).name, pathlib.Path(row.path).stat().st_size) for row in files]
    assert [row.name for row in files] == ["b.h5", "era 5.h5"]
    assert spark.sql(f"select count(*) from {catalog}._files where modified <= current_timestamp() and bytes > 0").collect()[0][0] == 2
