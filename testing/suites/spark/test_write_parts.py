"""Writes that replace one dataset of a file, and folders of partitions."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import random
from typing import Any

import h5py
import kills
import numpy as np
import pytest


def save(frame: Any, path: pathlib.Path, dataset: str, **options: Any) -> None:
    frame.write.format("hdf5").option("dataset", dataset).options(replaceDataset="true", **options).mode("overwrite").save(str(path))


def names(folder: pathlib.Path) -> list[str]:
    return sorted(member.name for member in folder.iterdir())


def test_one_dataset_of_a_file_is_replaced_and_everything_else_stays(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "keep.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(5)
        f["x"].attrs["units"] = "m"
        f.create_dataset("group/y", data=np.arange(3000.0), chunks=(100,), compression="gzip")
        f["group/old"] = [1, 2]
        f["soft"] = h5py.SoftLink("/x")
        f["group"].attrs["title"] = "measured once"
        f.create_dataset("text", data=["a", "bc"], dtype=h5py.string_dtype())
    frame = spark.range(0, 1000, 1, 4).selectExpr("id * 2 as v")
    save(frame, path, "/group/old", compression="gzip")
    save(spark.range(3).selectExpr("id as a", "cast(id as string) as b"), path, "new/table")
    with h5py.File(path) as f:
        assert sorted(f) == ["group", "new", "soft", "text", "x"] and sorted(f["group"]) == ["old", "y"]
        assert f["group/old"][:].tolist() == list(range(0, 2000, 2)) and f["group/old"].compression == "gzip"
        assert not f["group/old"].is_virtual
        assert f["x"][:].tolist() == list(range(5)) and f["x"].attrs["units"] == "m" and f["soft"][1] == 1
        assert f["group"].attrs["title"] == "measured once" and f["text"].asstr()[:].tolist() == ["a", "bc"]
        np.testing.assert_array_equal(f["group/y"][:], np.arange(3000.0))
        assert f["new/table/a"][:].tolist() == [0, 1, 2] and f["new/table/b"].asstr()[:].tolist() == ["0", "1", "2"]
    # The dataset may be what the query reads.
    read = spark.read.format("hdf5").option("dataset", "/group/old").load(str(path))
    save(read.selectExpr("old + 1 as old"), path, "/group/old")
    with h5py.File(path) as f:
        assert f["group/old"][:].tolist() == list(range(1, 2001, 2)) and f["x"].shape == (5,)
    assert names(tmp_path) == ["keep.h5"]
    # A file that does not exist is created.
    save(spark.range(2), tmp_path / "fresh.h5", "/d")
    with h5py.File(tmp_path / "fresh.h5") as f:
        assert f["d"][:].tolist() == [0, 1]


def test_a_replacement_that_fails_leaves_the_file_as_it_was(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "keep.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(5)
        f["y"] = np.arange(3)
    before = path.read_bytes()
    with pytest.raises(Exception, match="broken row"):
        save(spark.range(0, 100, 1, 4).selectExpr("if(id = 90, raise_error('broken row'), id) as x"), path, "/x")
    with pytest.raises(Exception, match="replaceDataset needs option dataset"):
        save(spark.range(2), path, "/")
    with pytest.raises(Exception, match="replaceDataset needs option dataset, and no option replaceFile"):
        save(spark.range(2), path, "/x", replaceFile="true")
    with pytest.raises(Exception, match="option replacedataset must be true or false"):
        spark.range(2).write.format("hdf5").option("dataset", "/x").option("replaceDataset", "1").mode("overwrite").save(str(path))
    with pytest.raises(Exception, match="x.* is not a group|not a group"):
        save(spark.range(2), path, "/x/below")
    assert path.read_bytes() == before and names(tmp_path) == ["keep.h5"]
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(Exception, match="text.h5"):
        save(spark.range(2), tmp_path / "text.h5", "/x")
    assert (tmp_path / "text.h5").read_text() == "no HDF5"
    spark.range(3).write.format("hdf5").option("dataset", "/a").save(str(tmp_path / "many.h5"))
    with pytest.raises(Exception, match="many writers wrote is not supported: make one file of it with `hyperslab fuse`"):
        save(spark.range(2), tmp_path / "many.h5", "/a")
    assert names(tmp_path) == ["keep.h5", "many.h5", "many.h5.d", "text.h5"]


def test_partitions_are_folders_that_come_back_as_columns(spark: Any, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "parts"
    frame = spark.range(0, 300, 1, 3).selectExpr(
        "id",
        "cast(id % 3 as int) as k",
        "if(id % 5 = 0, null, concat('a/b=', id % 2)) as t",
        "date_add(date'2024-02-28', cast(id % 2 as int)) as day",
        "id / 2 as half",
    )

    def write(data: Any, mode: str, **options: Any) -> None:
        data.write.partitionBy("k", "t", "day").format("hdf5").options(**options).mode(mode).save(str(folder))

    def back() -> Any:
        return spark.read.format("hdf5").load(str(folder)).select(*frame.columns)

    write(frame, "errorifexists", compression="gzip")
    assert back().dtypes == frame.dtypes and sorted(back().collect(), key=lambda row: row.id) == frame.collect()
    assert names(folder) == ["k=0", "k=1", "k=2"]
    assert names(folder / "k=1") == ["t=__HIVE_DEFAULT_PARTITION__", "t=a%2Fb%3D0", "t=a%2Fb%3D1"]
    files = list(folder.rglob("*.h5"))
    assert {path.name[:6] for path in files} == {"part-0"} and {member for member in folder.rglob("*") if member.is_file()} == set(files)
    with h5py.File(files[0]) as f:
        assert sorted(f) == ["half", "id"] and not f["id"].is_virtual and f["id"].compression == "gzip"
    some = back().where("k = 1 and t = 'a/b=1'")
    assert [row.id for row in some.orderBy("id").collect()] == [n for n in range(300) if n % 3 == 1 and n % 2 == 1 and n % 5]
    write(frame.where("id < 7"), "append")
    assert back().count() == 307
    with pytest.raises(Exception, match="exists already"):
        write(frame, "errorifexists")
    write(frame, "ignore")
    with pytest.raises(Exception, match="broken row"):
        write(frame.selectExpr("if(id = 299, raise_error('broken row'), id) as id", "k", "t", "day", "half"), "overwrite")
    assert back().count() == 307
    write(frame.where("k = 2"), "overwrite")
    assert back().count() == 100 and names(folder) == ["k=2"]
    # The query may read the folder that it overwrites.
    write(back().selectExpr("id + 1 as id", "k", "t", "day", "half"), "overwrite")
    assert sorted(row.id for row in back().collect()) == list(range(3, 303, 3))


def test_partitions_by_what_cannot_be_are_errors(spark: Any, tmp_path: pathlib.Path) -> None:
    frame = spark.range(5).selectExpr("id", "id % 2 as k", "map(id, 1) as m")
    for columns, words in ((["id", "k"], "all columns|column.* m"), (["nothing"], "nothing")):
        with pytest.raises(Exception, match=words):
            frame.select("id", "k").write.partitionBy(*columns).format("hdf5").save(str(tmp_path / "p"))
    with pytest.raises(Exception, match="map"):
        frame.write.partitionBy("k").format("hdf5").save(str(tmp_path / "p"))
    with pytest.raises(Exception, match="contains nulls"):
        frame.selectExpr("if(id = 3, null, id) as id", "k").write.partitionBy("k").format("hdf5").save(str(tmp_path / "p"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file.h5").write_bytes(b"x")
    with pytest.raises(Exception, match="there is a file"):
        frame.select("id", "k").write.partitionBy("k").format("hdf5").mode("append").save(str(tmp_path / "file.h5"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(Exception, match="would lose it.*notes.txt"):
        frame.select("id", "k").write.partitionBy("k").format("hdf5").mode("overwrite").save(str(tmp_path / "other"))
    assert names(tmp_path / "other") == ["notes.txt"] and (tmp_path / "file.h5").read_bytes() == b"x"
    now = datetime.datetime(2024, 3, 1, 12)
    spark.createDataFrame([(1, now, 2.5), (2, now, float("nan"))], "v int, t timestamp, x double").write.partitionBy("t", "x").format("hdf5").save(
        str(tmp_path / "t")
    )
    assert spark.read.format("hdf5").load(str(tmp_path / "t")).where("v = 1").collect()[0].t == now


@pytest.mark.once
def test_a_driver_that_is_killed_leaves_the_old_state_or_the_new(spark: Any, tmp_path: pathlib.Path) -> None:
    """Once; `make crash-spark` kills many."""
    with h5py.File(tmp_path / "file.h5", "w") as f:
        f["kept"] = np.arange(100)
        f["group/v"] = np.arange(kills.ROWS)
    kills.kill(tmp_path, random.Random(1))
    kills.check(tmp_path, spark)


def test_a_write_in_effect_is_completed_by_the_next_reader(spark: Any, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "parts"
    frame = spark.range(0, 40, 1, 1).selectExpr("id", "id % 4 as k")
    frame.where("k < 2").write.partitionBy("k").format("hdf5").save(str(folder))
    frame.where("k > 1").write.partitionBy("k").format("hdf5").save(str(tmp_path / "other"))
    # As a driver leaves it that is killed after the first of two moves of an overwrite.
    olds = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h5"))
    news = sorted(str(path.relative_to(tmp_path / "other")) for path in (tmp_path / "other").rglob("*.h5"))
    committed = folder / "_committed-1"
    (tmp_path / "other").rename(committed)
    (committed / "attempt-3").mkdir()
    for member in committed.glob("k=*"):
        member.rename(committed / "attempt-3" / member.name)
    (committed / "moves.json").write_text(json.dumps({"replaced": olds, "added": [f"attempt-3/{name}" for name in news]}))
    (committed / "replaced" / olds[0]).parent.mkdir(parents=True)
    (folder / olds[0]).rename(committed / "replaced" / olds[0])
    # A write that never took effect, of today and of last week.
    for name, age in (("_writing-today", 0), ("_writing-old", 7 * 86400)):
        (folder / name).mkdir()
        (folder / name / "part.h5").write_bytes(b"x")
        for path in (folder / name / "part.h5", folder / name):
            os.utime(path, (path.stat().st_mtime - age,) * 2)
    read = spark.read.format("hdf5").load(str(folder))
    assert sorted(row.id for row in read.collect()) == [n for n in range(40) if n % 4 > 1]
    assert names(folder) == ["_writing-old", "_writing-today", "k=2", "k=3"]
    frame.where("k = 0").write.partitionBy("k").format("hdf5").mode("append").save(str(folder))
    assert names(folder) == ["_writing-today", "k=0", "k=2", "k=3"]
