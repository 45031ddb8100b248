"""Tasks of one process decode the chunks that they share once. The judge of values is h5py."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import h5py
import numpy as np
import pytest
from test_push_down import metrics

#: Chunks of all rows, too large together for one window: each task reads some rows, of every chunk.
SHAPE, CHUNKS = (64, 800, 1000), (64, 40, 1000)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    rng = np.random.default_rng(2)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=rng.integers(0, 50, SHAPE, "i2"), chunks=CHUNKS, compression="gzip", compression_opts=1)
    return tmp_path / "a.h5"


def frame(spark: Any, path: pathlib.Path) -> Any:
    return spark.read.format("hdf5").option("dataset", "/x").option("targetPartitionBytes", "4m").load(str(path))


def sums(found: Any) -> list[int]:
    return [row[1] for row in found.groupBy("dim_0").agg({"x": "sum"}).orderBy("dim_0").collect()]


def wanted(path: pathlib.Path) -> list[int]:
    with h5py.File(path) as f:
        return np.sum(f["x"][...], axis=(1, 2), dtype="i8").tolist()


def test_a_chunk_is_decoded_once_by_all_tasks(spark: Any, path: pathlib.Path) -> None:
    found = frame(spark, path).select("x")
    tasks = found.rdd.getNumPartitions()
    assert tasks > 8
    assert metrics(found.where("x >= 0").selectExpr("sum(x)"))["chunksDecoded"] == 20, "not once for each task"


def test_a_replaced_file_has_its_own_chunks(spark: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert sums(frame(spark, path).where("x >= 0")) == wanted(path)
    other = tmp_path / "other.h5"
    shutil.copy(path, other)
    with h5py.File(other, "r+") as f:
        f["x"][...] = f["x"][...] + 1
    other.replace(path)
    assert sums(frame(spark, path).where("x >= 0")) == wanted(path)


def test_datasets_of_a_file_have_their_own_chunks(spark: Any, path: pathlib.Path) -> None:
    with h5py.File(path, "r+") as f:
        f.create_dataset("y", data=-f["x"][...], chunks=CHUNKS, compression="gzip", compression_opts=1)
    group = spark.read.format("hdf5").option("targetPartitionBytes", "4m")
    x, y = (sums(group.option("dataset", f"/{name}").load(str(path)).withColumnRenamed(name, "x").where("x > -2000")) for name in "xy")
    assert x == wanted(path) and y == [-value for value in x]
