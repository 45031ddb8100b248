"""What stored numbers mean, in Spark: the cases of all doors."""

from __future__ import annotations

import pathlib
from typing import Any

import meanings
import pytest
from meanings import ALL, cell, in_tables


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("meanings") / "meanings.nc"
    meanings.write(place)
    return place


def read(spark: Any, path: pathlib.Path, name: str, **options: Any) -> Any:
    return spark.read.format("netcdf").option("dataset", f"/{name}").options(**options).load(str(path)).select(name)


def test_rows_mean_what_tables_have(spark: Any, path: pathlib.Path) -> None:
    for name in ALL:
        frame = read(spark, path, name)
        assert [cell(row[0]) for row in frame.collect()] == in_tables(name), name
        assert frame.where(f"{name} is null").count() == in_tables(name).count(None), name


def test_raw_values_are_those_of_the_file(spark: Any, path: pathlib.Path) -> None:
    for name, case in ALL.items():
        found = [cell(row[0]) for row in read(spark, path, name, raw="true").collect()]
        assert found == [cell(value) for value in case.stored], name
