"""The rules of files, lists and appends on a Hadoop file system: `viewfs`, which comes with Spark, over a local folder."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest


@pytest.fixture
def address(spark: Any, tmp_path: pathlib.Path) -> str:
    spark.conf.set("fs.viewfs.mounttable.same.link./data", tmp_path.as_uri())
    return "viewfs://same/data"


def load(spark: Any, path: str, **options: str) -> Any:
    return spark.read.format("hdf5").options(**options).load(path)


def test_appends_are_checked_as_tables(spark: Any, address: str, tmp_path: pathlib.Path) -> None:
    def save(columns: list[str], mode: str) -> None:
        spark.range(3).selectExpr(*columns).write.format("hdf5").option("dataset", "/g").mode(mode).save(f"{address}/a.h5")

    save(["id as a", "id as b"], "overwrite")
    before = (tmp_path / "a.h5").read_bytes()
    for columns, named in ((["id as a"], "cannot be appended"), (["id as a", "id as b", "id as c"], '"c" is missing'), (["id as a", "'x' as b"], "datatypes")):
        with pytest.raises(Exception, match=f"Conflict: .*{named}"):
            save(columns, "append")
        assert (tmp_path / "a.h5").read_bytes() == before
    cached = load(spark, f"{address}/a.h5", dataset="/g").cache()
    assert cached.count() == 3
    save(["id as B", "id as A"], "append")
    assert cached.count() == 6 and load(spark, f"{address}/a.h5", dataset="/g").columns == ["a", "b"]
    cached.unpersist()


def test_damaged_files_have_no_rows(spark: Any, address: str, tmp_path: pathlib.Path) -> None:
    def write(chunk: int | None) -> None:
        with h5py.File(tmp_path / "a.h5", "w") as f:
            f.create_dataset("x", data=np.arange(1000), chunks=(100,), compression="gzip")
            place = f["x"].id.get_chunk_info(chunk or 0).byte_offset
        if chunk is not None:
            with open(tmp_path / "a.h5", "r+b") as file:
                file.seek(place + 4)
                file.write(b"\xff" * 26)

    write(None)
    found = load(spark, f"{address}/a.h5", dataset="/x", ignoreCorruptFiles="true")
    for chunk, rows in ((None, 1000), (7, 0), (None, 1000)):
        write(chunk)
        assert [
            found.count(),
            found.where("x >= 0").count(),
            len(found.select("x").collect()),
            found.selectExpr("count(x) + 0 * sum(dim_0)").collect()[0][0] or 0,
        ] == [rows] * 4


def test_lists_counts_and_hidden_names(spark: Any, address: str, tmp_path: pathlib.Path) -> None:
    for k in range(3):
        (tmp_path / "p" / f"_k={k}").mkdir(parents=True)
        with h5py.File(tmp_path / "p" / f"_k={k}" / "a.h5", "w") as f:
            f["x"] = np.arange(10)
    (tmp_path / "p" / "_k=0" / "_half.h5").write_bytes(b"")
    (tmp_path / "p" / "_k=0" / "b.h5._COPYING_").write_bytes(b"")
    found, ignoring = load(spark, f"{address}/p"), load(spark, f"{address}/p", ignoreMissingFiles="true")
    assert (found.count(), found.where("_k = 1").count()) == (30, 10)
    for where in ("_k = 77", "_k = 1 and x > 100", "x > 100"):
        assert tuple(found.where(where).selectExpr("count(*)", "count(x)", "max(x)").collect()[0]) == (0, 0, None), where
    (tmp_path / "p" / "_k=1" / "a.h5").unlink()
    with h5py.File(tmp_path / "p" / "_k=2" / "new.h5", "w") as f:
        f["x"] = np.arange(5)
    for read in (found.count, found.collect, found.selectExpr("sum(x)").collect):
        with pytest.raises(Exception, match="NotFound"):
            read()
    assert (ignoring.count(), len(ignoring.collect()), ignoring.selectExpr("sum(x)").collect()[0][0]) == (20, 20, 90)
    assert load(spark, f"{address}/p").count() == 25
