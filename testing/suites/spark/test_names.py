"""The names of the format, and the session extension that sets the catalogs."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import h5py
import numpy as np
import pytest

NAMES = ["hdf5", "h5", "netcdf", "netcdf4", "nc"]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"] = np.arange(5)
    return tmp_path / "a.h5"


def test_every_name_reads_and_writes(spark: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for name in NAMES:
        assert [row.x for row in spark.read.format(name).load(str(path)).collect()] == list(range(5))
        spark.range(3).write.format(name).option("dataset", "/g").save(str(tmp_path / f"{name}.out"))
        with h5py.File(tmp_path / f"{name}.out") as f:
            assert sorted(f["g"]) == [0, 1, 2] if isinstance(f["g"], h5py.Dataset) else "id" in f["g"]


def test_every_name_is_a_provider_and_a_catalog(spark: Any, path: pathlib.Path) -> None:
    for name in NAMES:
        spark.sql(f"create table named_{name} using {name} options (path '{path}')")
        try:
            assert spark.sql(f"select sum(x) from named_{name} where x > 1").collect()[0][0] == 9
        finally:
            spark.sql(f"drop table named_{name}")
        assert spark.sql(f"select max(x) from {name}.`{path}`").collect()[0][0] == 4


SESSION = """
import json, sys
from pyspark.sql import SparkSession
jar, path, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", jar)
builder = builder.config("spark.sql.warehouse.dir", folder).config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
spark = builder.config("spark.sql.extensions", "io.hyperslab.spark.Hdf5Extensions").config("spark.sql.catalog.nc", "org.example.Mine").getOrCreate()
read = lambda query: spark.sql(query).collect()[0][0]
found = [read(f"select max(x) from hdf5.`{path}`")]
spark.sql(f"create table t using h5 options (path '{path}')")
found.append(read("select sum(x) from t"))
found.append(spark.newSession().sql(f"select count(*) from h5.`{path}`").collect()[0][0])
found.append(spark.conf.get("spark.sql.catalog.nc"))
print(json.dumps(found))
"""


@pytest.mark.once
def test_one_line_of_configuration_sets_the_catalogs(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    command = [sys.executable, "-c", SESSION, str(hs.spark.jar()), str(path), str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, start_new_session=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == [4, 10, 5, "org.example.Mine"], "a catalog that is set already is kept"


def test_large_attributes_are_named_and_not_in_the_schema(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        f["x"] = np.arange(3)
        f["x"].attrs["table"] = np.arange(100_000.0)
        f["x"].attrs["units"] = "K"
    frame = spark.read.format("hdf5").load(str(tmp_path / "a.h5"))
    metadata = frame.schema["x"].metadata
    assert metadata["units"] == "K" and metadata["hyperslab.omitted_attributes"] == ["table"] and "table" not in metadata
    assert len(frame.schema.json()) < 1000 and frame.count() == 3
