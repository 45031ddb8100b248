"""The native library's structures and readers are released after many batches, errors, early ends and cancellations.

The counts are looked at after every test of this folder (`conftest.py`); here are the ways that lead to many.
"""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("leaks") / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(100_000)
        f.create_dataset("text", data=[str(n) for n in range(2000)], dtype=h5py.string_dtype())
    return path


def read(spark: Any, path: pathlib.Path, dataset: str, **options: Any) -> Any:
    return spark.read.format("hdf5").option("dataset", dataset).options(**options).load(str(path))


def test_a_hundred_thousand_batches(spark: Any, path: pathlib.Path) -> None:
    frame = read(spark, path, "/x", batchRows=1)
    assert frame.selectExpr("sum(x)", "count(1)", "max(_row)").collect()[0][:] == (100_000 * 99_999 // 2, 100_000, 99_999)


def test_tasks_that_stop_early_or_fail(spark: Any, path: pathlib.Path) -> None:
    frame = read(spark, path, "/x", batchRows=100, partitions=4)
    for _ in range(20):
        assert len(frame.take(3)) == 3
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO|raise_error|too many"):
        frame.selectExpr("if(x = 60000, raise_error('too many'), x)").collect()


def test_values_outlive_their_batches(spark: Any, path: pathlib.Path) -> None:
    frame = read(spark, path, "/text", batchRows=7)
    texts = [str(n) for n in range(2000)]
    assert [row.text for row in frame.orderBy("dim_0").collect()] == texts
    assert sorted(row.text for row in frame.distinct().collect()) == sorted(texts)
    assert {row.text: row.n for row in frame.groupBy("text").agg({"*": "count"}).toDF("text", "n").collect()} == dict.fromkeys(texts, 1)
    joined = frame.alias("a").join(frame.alias("b"), "text").count()
    assert joined == 2000
    cached = frame.cache()
    assert [row.text for row in cached.orderBy("dim_0").collect()] == texts
    cached.unpersist(True)
