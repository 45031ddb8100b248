"""Tables whose files are described by a catalog: the same rows, and files that cannot match are not opened."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

YEARS = range(2000, 2012)


def write_year(path: pathlib.Path, year: int, scale: float = 1.0) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("lat", 4)
        time = f.createVariable("time", "f8", ("time",))
        time.units = f"days since {year}-01-01"
        time[:] = np.arange(12) * 30
        f.createVariable("lat", "f4", ("lat",))[:] = np.array([0, 1, 2, 3]) + (year - 2000) * 10
        f.createVariable("level", "i4", ("lat",))[:] = year
        t2m = f.createVariable("t2m", "i4", ("time", "lat"), fill_value=-1)
        t2m.units, t2m[:] = "K", np.arange(48).reshape(12, 4) + year * 100 * scale


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "years").mkdir()
    for year in YEARS:
        write_year(tmp_path / "years" / f"y{year}.nc", year)
    hs.write_catalog(f"{tmp_path}/years/*.nc", tmp_path / "c.parquet")
    return tmp_path


def destroy(path: pathlib.Path) -> None:
    """Removes what a file holds, but neither its size nor its time: it can only be left alone, not opened."""
    stamp = path.stat()
    path.write_bytes(bytes(stamp.st_size))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def reader(spark: Any, folder: pathlib.Path, dataset: str = "/t2m") -> Any:
    return spark.read.format("hdf5").option("dataset", dataset).option("catalog", str(folder / "c.parquet"))


def files_of(frame: Any) -> int:
    found = re.search(r"of (\d+) of (\d+) files", frame._jdf.queryExecution().executedPlan().toString())
    assert found is not None
    return int(found[1])


CONDITIONS = [
    ("lat >= 42 and lat < 60", 2),
    ("lat = 33", 1),
    ("lat in (11, 12, 113)", 2),
    ("lat = cast(13.5 as float)", 0),
    ("lat < 3 or lat > 112", 2),
    ("52 < lat and t2m > 0", 7),
    ("time >= timestamp_ntz'2003-05-01' and time < timestamp_ntz'2004-02-01'", 2),
    ("time < timestamp_ntz'1999-01-01'", 0),
    ("not lat < 100", 2),
    ("lat is not null", 12),
    ("t2m = 200500", 12),
    ("abs(lat) > 100", 12),
    ("lat > 40 and time > timestamp_ntz'2010-01-01'", 2),
]


@pytest.mark.parametrize(("where", "files"), CONDITIONS)
def test_rows_are_those_without_a_catalog(spark: Any, folder: pathlib.Path, where: str, files: int) -> None:
    plain = spark.read.format("hdf5").option("dataset", "/t2m").load(f"{folder}/years")
    expected = plain.where(where).collect()
    for frame in (reader(spark, folder).load(), reader(spark, folder).load(f"{folder}/years")):
        assert frame.schema == plain.schema
        assert frame.where(where).collect() == expected
        assert frame.where(where).count() == len(expected)
        if files:
            assert files_of(frame.where(where)) == files
    assert files or not expected


def test_all_conditions(spark: Any, folder: pathlib.Path) -> None:
    """Each test runs with its first parameter only, unless all tests of Spark are wanted."""
    for where, files in CONDITIONS[1:]:
        test_rows_are_those_without_a_catalog(spark, folder, where, files)


def test_files_that_cannot_match_are_not_opened(spark: Any, folder: pathlib.Path) -> None:
    for year in YEARS:
        if year not in (2000, 2003):
            destroy(folder / "years" / f"y{year}.nc")
    frame = reader(spark, folder).load(f"{folder}/years")
    assert [row.t2m for row in frame.where("lat = 33").collect()] == [200300 + 4 * step + 3 for step in range(12)]
    assert frame.where("lat between 30 and 33").count() == 48
    assert frame.where("time between timestamp_ntz'2003-01-01' and timestamp_ntz'2003-12-31'").agg({"t2m": "max"}).first()[0] == 200347
    with pytest.raises(Exception, match="neither HDF5|not a file|y2005"):
        frame.where("lat = 53").collect()


def test_joins_exclude_files(spark: Any, folder: pathlib.Path) -> None:
    for year in YEARS:
        if year not in (2000, 2003):
            destroy(folder / "years" / f"y{year}.nc")
    (folder / "small").mkdir()
    spark.sql("select cast(33 as float) as lat").write.mode("overwrite").parquet(str(folder / "small" / "p"))
    small = spark.read.parquet(str(folder / "small" / "p"))
    frame = reader(spark, folder).load().where("lat between 0 and 3 or lat between 30 and 33")
    assert frame.join(small, "lat").count() == 12


def test_a_file_that_changed_is_opened(spark: Any, folder: pathlib.Path) -> None:
    write_year(folder / "years" / "y2001.nc", 2009)
    write_year(folder / "years" / "y2100.nc", 2009)
    assert reader(spark, folder).load(f"{folder}/years").where("lat = 93").count() == 36
    assert reader(spark, folder).load().where("lat = 93").count() == 24
    assert reader(spark, folder).load(f"{folder}/years").where("lat = 13").count() == 0


def test_a_file_that_is_gone(spark: Any, folder: pathlib.Path) -> None:
    (folder / "years" / "y2001.nc").unlink()
    with pytest.raises(Exception, match=r"y2001\.nc"):
        reader(spark, folder).load().where("lat = 93").count()
    assert reader(spark, folder).option("ignoreMissingFiles", "true").load().where("lat = 93").count() == 12
    assert reader(spark, folder).load(f"{folder}/years").where("lat = 93").count() == 12


def test_a_file_of_another_kind_is_seen(spark: Any, folder: pathlib.Path) -> None:
    with netCDF4.Dataset(folder / "years" / "y2050.nc", "w") as f:
        f.createDimension("time", 2)
        f.createDimension("lat", 4)
        f.createVariable("t2m", "f8", ("time", "lat"))[:] = 1.5
    hs.write_catalog(f"{folder}/years/*.nc", folder / "c.parquet", "a")
    with pytest.raises(Exception, match="do not form one table"):
        reader(spark, folder).load()


def test_coordinates_of_other_names_and_kinds(spark: Any, folder: pathlib.Path) -> None:
    assert reader(spark, folder, "/lat").load().where("lat = 93").count() == 1
    assert reader(spark, folder, "level").load().where("level = 2003 and lat >= 30").count() == 4
    (folder / "own").mkdir()
    for number in range(2):
        # A variable of two dimensions that is called like one of them.
        with netCDF4.Dataset(folder / "own" / f"a{number}.nc", "w") as f:
            f.createDimension("x", 2)
            f.createDimension("y", 2)
            f.createVariable("x", "f8", ("x", "y"))[:] = 7 + number
            f.createVariable("y", "f8", ("y",))[:] = number
    hs.write_catalog(f"{folder}/own/*.nc", folder / "c.parquet", "w")
    assert reader(spark, folder, "/x").load().where("x = 8").count() == 4
    assert reader(spark, folder, "/x").load().where("y = 1 and x = 8").count() == 4


def test_wildcards_of_names_are_columns(spark: Any, folder: pathlib.Path) -> None:
    frame = reader(spark, folder).load(f"{folder}/years/y*.nc")
    assert [row.y for row in frame.where("lat = 43").select("y").distinct().collect()] == [2004]
    assert files_of(frame.where("lat = 43")) == 1


def test_what_a_catalog_cannot_describe(spark: Any, folder: pathlib.Path) -> None:
    with pytest.raises(Exception, match="path of one dataset"):
        spark.read.format("hdf5").option("catalog", str(folder / "c.parquet")).load()
    with pytest.raises(Exception, match="path of one dataset"):
        reader(spark, folder, "/t*").load()
    with pytest.raises(Exception, match='has no dataset "/none"'):
        reader(spark, folder, "/none").load()
    spark.range(3).write.parquet(str(folder / "other.parquet"))
    with pytest.raises(Exception, match="is not a catalog"):
        spark.read.format("hdf5").option("dataset", "/t2m").option("catalog", str(folder / "other.parquet")).load()


def test_a_catalog_of_addresses_is_refused(spark: Any, folder: pathlib.Path) -> None:
    rows = pq.read_table(folder / "c.parquet")
    addresses = pa.array([f"s3://bucket/{os.path.basename(path)}" for path in rows["path"].to_pylist()])
    pq.write_table(rows.set_column(0, rows.schema.field(0), addresses), folder / "c.parquet")
    with pytest.raises(Exception, match="only catalogs of local files are taken"):
        reader(spark, folder).load()
