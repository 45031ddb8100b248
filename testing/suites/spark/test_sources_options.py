"""Options of Spark's own sources, against Parquet: the same folders and rows, the same answers and refusals."""

from __future__ import annotations

import datetime
import os
import pathlib
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

ROOTS = {"hdf5": "h5", "parquet": "parquet"}


def write(folder: pathlib.Path, name: str, **columns: Any) -> None:
    """A file of each format with the same columns."""
    for format, suffix in ROOTS.items():
        path = folder / format / f"{name}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if format == "parquet":
            pa.parquet.write_table(pa.table({column: np.asarray(values) for column, values in columns.items()}), path)
            continue
        with h5py.File(path, "w") as f:
            for column, values in columns.items():
                f[column] = values


def answer(spark: Any, format: str, folder: pathlib.Path, paths: list[str], **options: Any) -> Any:
    """The columns with their types and the sorted rows, or that there is an error."""
    options = {name: str(value).replace("FOLDER", f"{folder}/{format}") for name, value in options.items()}
    try:
        frame = spark.read.format(format).options(**options).load([f"{folder}/{format}/{path}".replace("SUFFIX", ROOTS[format]) for path in paths])
        return frame.dtypes, sorted((tuple(row) for row in frame.collect()), key=repr)
    except Exception:
        return "error"


def same(spark: Any, folder: pathlib.Path, *paths: str, **options: Any) -> Any:
    judge = answer(spark, "parquet", folder, list(paths), **options)
    assert answer(spark, "hdf5", folder, list(paths), **options) == judge, (paths, options)
    return judge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("parts")
    for year in (2023, 2024):
        for month in ("01", "x"):
            write(folder, f"year={year}/month={month}/a", v=[year, len(month)])
    return folder


def test_base_path(spark: Any, folder: pathlib.Path) -> None:
    assert same(spark, folder, "year=2024", basePath="FOLDER")[0] == [("v", "bigint"), ("year", "int"), ("month", "string")]
    assert same(spark, folder, "year=2024")[0] == [("v", "bigint"), ("month", "string")]
    assert same(spark, folder, "year=2024/month=01", "year=2023/month=01", basePath="FOLDER/year=2024") == "error"
    same(spark, folder, "year=2024/month=01", basePath="FOLDER/year=2024")
    same(spark, folder, "year=2024/month=01", "year=2023/month=x", basePath="FOLDER/")
    same(spark, folder, "year=2024/month=01/a.SUFFIX", basePath="FOLDER")
    same(spark, folder, "year=*/month=x", basePath="FOLDER")
    same(spark, folder, "", basePath="FOLDER")
    same(spark, folder, "", basePath="FOLDER", recursiveFileLookup="true")
    assert same(spark, folder, "year=2024", basePath="FOLDER/year=2023") == "error"
    assert same(spark, folder, "year=2024", basePath="FOLDER/nowhere") == "error"
    assert same(spark, folder, "year=2024", basePath="FOLDER/year=2024/month=01/a.SUFFIX") == "error"


def test_predicates_on_a_column_of_the_base_path_skip_files(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("basePath", f"{folder}/hdf5").load(f"{folder}/hdf5/year=2024")
    assert sorted(row.v for row in frame.where("month = 'x' and year = 2024").collect()) == [1, 2024]
    assert frame.where("year = 2023").count() == 0


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("dated")
    for day in range(1, 5):
        write(folder, f"day_{day}", v=[day])
        moment = datetime.datetime(2024, 3, day, 12, tzinfo=datetime.timezone.utc).timestamp()
        for format, suffix in ROOTS.items():
            os.utime(folder / format / f"day_{day}.{suffix}", (moment, moment))
    return folder


FILTERS = [
    {"modifiedBefore": "2024-03-03T00:00:00"},
    {"modifiedAfter": "2024-03-02T00:00:00", "modifiedBefore": "2024-03-04T00:00:00"},
    {"modifiedAfter": "2024-03-02T02:00:00"},
    {"modifiedAfter": "2024-03-02T01:59:59"},
    {"modifiedBefore": "2024-03-02T02:00:00"},
    {"modifiedBefore": "2024-03-02T12:00:00", "timeZone": "UTC"},
    {"modifiedBefore": "2024-03-02T12:00:01", "timeZone": "UTC"},
    {"modifiedAfter": "2024-03-02", "pathGlobFilter": "*_[34].*"},
    {"modifiedAfter": "2025-01-01T00:00:00"},
    {"modifiedBefore": "yesterday"},
    {"modifiedBefore": "2024-03-02T12:00:00", "timeZone": "nowhere"},
    {"pathGlobFilter": "day_{1,3}.*"},
    {"pathGlobFilter": "nothing*"},
]


def test_filters_of_files(spark: Any, dated: pathlib.Path) -> None:
    """The files are of noon in UTC. In a session's zone of UTC - 5, Spark compares that with 2:00, and so do we."""
    answers = [same(spark, dated, "", **options) for options in FILTERS]
    counts = [answer if answer == "error" else len(answer[1]) for answer in answers]
    assert {"error", 1, 2, 3} <= set(counts), "both sides of each limit"


def test_filters_of_files_hold_for_named_files(spark: Any, dated: pathlib.Path) -> None:
    days = [f"day_{day}.SUFFIX" for day in (1, 2, 3)]
    assert len(same(spark, dated, *days, modifiedAfter="2024-03-02T00:00:00")[1]) == 2


def test_streams_refuse_filters_by_time_as_sparks_sources_do(spark: Any, dated: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for format in ROOTS:
        stream = spark.readStream.format(format).schema("v bigint").option("modifiedAfter", "2024-03-02T00:00:00").load(f"{dated}/{format}")
        with pytest.raises(Exception, match="modifiedafter|modifiedAfter"):
            stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / format)).trigger(availableNow=True).start().awaitTermination(60)


def test_merged_schemas(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a", a=[1, 2], b=[1.5, 2.5])
    write(tmp_path, "b", c=[7, 8], a=[3, 4])
    write(tmp_path, "c", b=[0.5])
    merged = same(spark, tmp_path, "", mergeSchema="true")
    assert merged[0] == [("a", "bigint"), ("b", "double"), ("c", "bigint")] and len(merged[1]) == 5
    same(spark, tmp_path, "a.SUFFIX", "c.SUFFIX", mergeSchema="true")
    same(spark, tmp_path, "a.SUFFIX", mergeSchema="false")
    write(tmp_path, "d", a=np.array([1.5]))
    assert same(spark, tmp_path, "", mergeSchema="true") == "error", "types differ"


def test_a_merged_schema_is_queried_as_parquet_is(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a", a=[1, 2], b=[1.5, 2.5])
    write(tmp_path, "b", c=[7, 8], a=[3, 4])
    query = "select count(*), count(b), sum(c), max(a) from {} where c is null or a > 3"
    results = []
    for format in ROOTS:
        spark.read.format(format).option("mergeSchema", "true").load(f"{tmp_path}/{format}").createOrReplaceTempView("merged")
        results.append(spark.sql(query.format("merged")).collect())
    assert results[0] == results[1]
