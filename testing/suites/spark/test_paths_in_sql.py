"""Paths in SQL (hdf5.`path`), the column _metadata, and damaged files that are named in a folder."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("paths")
    for number in range(3):
        with hs.create(place / f"run {number}.h5") as f:
            f.create_dataset("id", data=np.arange(10) + 10 * number)
            f.create_dataset("deep/er/x", data=np.arange(4.0))
    return place


@pytest.mark.parametrize("name", ["hdf5", "netcdf"])
def test_a_path_is_a_table(spark: Any, folder: pathlib.Path, name: str) -> None:
    path = folder / "run 1.h5"
    assert [row.id for row in spark.sql(f"select id from {name}.`{path}` where id > 15").collect()] == [16, 17, 18, 19]
    assert spark.table(f"{name}.`{path}`.deep.er.x").count() == 4
    assert spark.sql(f"select count(*) from {name}.`{path}`.id").collect()[0][0] == 10
    assert spark.sql(f"select sum(id) from {name}.`{folder}`").collect()[0][0] == sum(range(30))
    assert spark.sql(f"select sum(id) from {name}.`{folder}/run [01].h5`").collect()[0][0] == sum(range(20))
    with pytest.raises(Exception, match=r"no such file or folder .*none\.h5"):
        spark.sql(f"select * from {name}.`{folder}/none.h5`")


def test_the_metadata_of_files(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/id").load(str(folder))
    found = {row.file_name: row for row in frame.select("_metadata.*").distinct().collect()}
    assert sorted(found) == [f"run {number}.h5" for number in range(3)]
    for name, row in found.items():
        facts = os.stat(folder / name)
        assert row.file_path == (folder / name).as_uri().replace("file:///", "file:/") or row.file_path == (folder / name).as_uri()
        assert (row.file_size, row.file_block_start, row.file_block_length) == (facts.st_size, 0, facts.st_size)
        assert abs(row.file_modification_time.timestamp() - facts.st_mtime) < 1e-3
    few = frame.where("_metadata.file_name = 'run 2.h5' and id > 25").select("id", "_metadata.file_size", "_row")
    assert [row.id for row in few.collect()] == [26, 27, 28, 29]
    assert frame.selectExpr("_metadata").schema["_metadata"].dataType.fieldNames() == [
        "file_path",
        "file_name",
        "file_size",
        "file_block_start",
        "file_block_length",
        "file_modification_time",
        "dataset",
    ]


def test_the_members_are_those_of_sparks_own_sources(spark: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    spark.range(3).coalesce(1).write.parquet(str(tmp_path / "own"))
    own = spark.read.parquet(str(tmp_path / "own")).selectExpr("_metadata.*").schema
    ours = spark.read.format("hdf5").option("dataset", "/id").load(str(folder)).selectExpr("_metadata.*").schema
    assert [(field.name, field.dataType) for field in ours][:-1] == [(field.name, field.dataType) for field in own if not field.name.startswith("row_")]


def test_the_dataset_of_a_row(spark: Any, tmp_path: pathlib.Path) -> None:
    """The HDF Group's example: statistics of each dataset that a list names."""
    numbers = {"a.h5": {"x": [1, 2], "deep/x": [3]}, "b.h5": {"x": [10, 20, 30]}}
    for name, datasets in numbers.items():
        with h5py.File(tmp_path / name, "w") as f:
            for dataset, values in datasets.items():
                f[dataset] = values
    (tmp_path / "list.csv").write_text("file,dataset\na.h5,/x\na.h5,/deep/x\nb.h5,/x\n")
    frame = spark.read.format("hdf5").load(str(tmp_path / "list.csv"))
    wanted = sorted((name, f"/{dataset}", sum(values)) for name, datasets in numbers.items() for dataset, values in datasets.items())
    groups = frame.groupBy("_metadata.file_name", "_metadata.dataset").agg({"x": "sum"}).collect()
    assert sorted(tuple(row) for row in groups) == wanted
    assert sorted(row.x for row in frame.where("_metadata.dataset = '/deep/x'").collect()) == [3]
    wild = spark.read.format("hdf5").option("dataset", "/*/x").load(str(tmp_path / "a.h5"))
    assert [tuple(row) for row in wild.select("x", "_metadata.dataset").collect()] == [(3, "/deep/x")]
    group = spark.read.format("hdf5").load(str(tmp_path / "b.h5"))
    assert {row.dataset for row in group.select("_metadata.dataset").collect()} == {"/"}


def test_damaged_files_are_named(spark: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    data, bad = tmp_path / "data", tmp_path / "bad"
    data.mkdir()
    for number in range(3):
        content = (folder / f"run {number}.h5").read_bytes()
        (data / f"run_{number}.h5").write_bytes(content if number != 1 else content[:96])
    (data / "text.h5").write_text("no HDF5 file")
    frame = spark.read.format("hdf5").option("dataset", "/id").option("badRecordsPath", str(bad)).load(str(data))
    for _ in range(2):
        assert [row.id for row in frame.select("id").orderBy("id").collect()] == [*range(10), *range(20, 30)]
    records = [json.loads(path.read_text()) for path in (bad / "bad_files").glob("*.json")]
    assert sorted(record["path"] for record in records) == [str(data / "run_1.h5"), str(data / "text.h5")]
    assert all(record["reason"] and record["timestamp"].startswith("20") for record in records)
    assert spark.read.json(str(bad / "bad_files")).count() == 2
    with pytest.raises(Exception, match=r"run_1\.h5"):
        spark.read.format("hdf5").option("dataset", "/id").load(str(data)).collect()


def test_chunks_that_are_damaged_are_named_by_the_task(spark: Any, tmp_path: pathlib.Path) -> None:
    path, bad = tmp_path / "a.h5", tmp_path / "bad"
    with hs.create(path) as f:
        f.create_dataset("x", data=np.arange(1000.0), chunks=(100,), compression="gzip", fletcher32=True)
    with h5py.File(path) as f:
        place = f["x"].id.get_chunk_info(5).byte_offset
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(bytes(16))
    frame = spark.read.format("hdf5").option("dataset", "/x").option("badRecordsPath", str(bad)).load(str(path))
    assert frame.count() == 0
    assert frame.selectExpr("sum(x)").collect()[0][0] is None
    (record,) = [json.loads(found.read_text()) for found in (bad / "bad_files").glob("*.json")]
    assert record["path"] == str(path)
