"""Catalogs of many files, judged by netCDF4, numpy and DuckDB."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import subprocess

import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow.parquet as pq
import pytest
from command_server import CommandServer
from range_server import serving


def write_year(path: pathlib.Path, year: int) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC" if year == 2001 else "NETCDF4") as f:
        f.createDimension("time", None)
        f.createDimension("lat", 4)
        time = f.createVariable("time", "f8", ("time",))
        time.units = f"days since {year}-01-01"
        time[:] = np.arange(12) * 30
        lat = f.createVariable("lat", "f4", ("lat",))
        lat[:] = [90, 30, -30, -90]
        t2m = f.createVariable("t2m", "i2", ("time", "lat"), zlib=year != 2001, fill_value=-1)
        t2m.units, t2m.standard_name, t2m[:] = "K", "air_temperature", np.arange(48).reshape(12, 4)
        f.createVariable("level", "i4", ())[...] = year


@pytest.fixture
def years(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "years"
    folder.mkdir()
    for year in (2000, 2001, 2002):
        write_year(folder / f"y{year}.nc", year)
    return folder


def test_rows_are_arrays(years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(years / "plain.h5", "w") as f:
        f["g/x"] = np.arange(6.0).reshape(2, 3)
        f["g/text"] = ["a", "b"]
        f["nothing"] = h5py.Empty("f4")
    seen = list[tuple[int, int]]()
    made = hs.write_catalog([*sorted(years.glob("*.nc")), years / "plain.h5"], tmp_path / "c.parquet", progress=lambda done, total: seen.append((done, total)))
    assert made == (4, 15, 4, []) and seen[-1] == (4, 4)
    rows = {(os.path.basename(row["path"]), row["dataset"]): row for row in pq.read_table(tmp_path / "c.parquet").to_pylist()}
    for year in (2000, 2001, 2002):
        row = rows[f"y{year}.nc", "/t2m"]
        assert row["shape"] == [12, 4] and row["dims"] == ["time", "lat"] and np.dtype(row["dtype"]).itemsize == 2
        assert (row["units"], row["standard_name"]) == ("K", "air_temperature")
        assert row["first_time"] == datetime.datetime(year, 1, 1) and row["last_time"] == datetime.datetime(year, 1, 1) + datetime.timedelta(330)
        begin = int(np.datetime64(f"{year}-01-01", "us").astype("i8"))
        times = {"first_microseconds": begin, "last_microseconds": begin + 330 * 86_400_000_000}
        assert row["ranges"] == [
            {"dim": "time", "least": 0.0, "most": 330.0, "as_stored": False, **times},
            {"dim": "lat", "least": -90.0, "most": 90.0, "as_stored": True, "first_microseconds": None, "last_microseconds": None},
        ]
        assert row["format"] == ("netcdf3" if year == 2001 else "netcdf4") and row["filters"] == ([] if year == 2001 else ["shuffle", "deflate"])
        stat = (years / f"y{year}.nc").stat()
        assert (row["file_bytes"], row["modified"]) == (stat.st_size, stat.st_mtime_ns)
        level = rows[f"y{year}.nc", "/level"]
        assert level["shape"] == [] and level["first_time"] is None and level["ranges"] == []
    assert rows["plain.h5", "/g/x"]["dims"] == [None, None] and rows["plain.h5", "/g/x"]["dtype"] == "float64"
    assert duckdb.sql(f"select count(*) from '{tmp_path}/c.parquet' where standard_name = 'air_temperature'").fetchall() == [(3,)]


def test_bounds_that_tables_do_not_show_are_none(tmp_path: pathlib.Path) -> None:
    """Spark skips files by bounds, so they must be the bounds of the columns."""
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        for name, values, attributes in [
            ("packed", np.arange(4, dtype="i2"), {"scale_factor": 0.5}),
            ("unsigned", np.arange(4, dtype="i1"), {"_Unsigned": "true"}),
            ("not_a_number", np.array([1, np.nan, 3, 4]), {}),
            ("large", np.array([1, 2, 3, 2**53 + 1]), {}),
            ("filled", np.array([1, 2, 3, -1]), {"missing_value": np.int64(-1)}),
            ("plain", np.array([1.5, 2, 3, 4], "f4"), {"units": "m"}),
        ]:
            f.createDimension(name, 4)
            f.createVariable(name, values.dtype, (name,))[:] = values
            f[name].setncatts(attributes)
            f.createVariable(f"of_{name}", "f4", (name,))[:] = 0
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f["x"], f["scale"] = np.arange(4), np.arange(3.0)
        f["scale"].make_scale("s")
        f["x"].dims[0].attach_scale(f["scale"])
    hs.write_catalog(f"{tmp_path}/*", tmp_path / "c.parquet")
    rows = {row["dataset"]: row["ranges"] for row in pq.read_table(tmp_path / "c.parquet").to_pylist()}
    shown = {name.removeprefix("/of_"): ranges[0]["as_stored"] for name, ranges in rows.items() if name.startswith("/of_")}
    assert shown == {"packed": False, "unsigned": False, "not_a_number": False, "large": False, "filled": True, "plain": True}
    assert not any(one["as_stored"] for one in rows["/x"]), "of another length than the dimension"


def test_only_what_has_changed_is_read_again(years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pattern, path = f"{years}/*.nc", tmp_path / "c.parquet"
    assert hs.write_catalog(pattern, path, "a").read == 3
    first = path.read_bytes()
    # What was not opened cannot be read: its bytes are gone, its size and time are not.
    victim, stamp = years / "y2000.nc", (years / "y2000.nc").stat()
    content = victim.read_bytes()
    victim.write_bytes(bytes(len(content)))
    os.utime(victim, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert hs.write_catalog(pattern, path, "a").read == 0
    assert pq.read_table(path).equals(pq.read_table(pathlib.Path(tmp_path / "first.parquet").write_bytes(first) and tmp_path / "first.parquet"))
    victim.write_bytes(content)
    write_year(years / "y2003.nc", 2003)
    (years / "y2001.nc").unlink()
    made = hs.write_catalog(pattern, path, "a")
    assert (made.files, made.read) == (3, 2)
    names = sorted({os.path.basename(name) for name in pq.read_table(path)["path"].to_pylist()})
    assert names == ["y2000.nc", "y2002.nc", "y2003.nc"]
    with pytest.raises(hs.ConflictError, match="exists"):
        hs.write_catalog(pattern, path)
    (tmp_path / "other.parquet").write_bytes(b"PAR1")
    with pytest.raises(hs.CorruptError, match="not a catalog"):
        hs.write_catalog(pattern, tmp_path / "other.parquet", "a")


def test_files_that_fulfill_a_condition_are_opened(years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c.parquet"
    hs.write_catalog(f"{years}/*.nc", path)
    files = hs.open_catalog(path, "dataset = '/t2m' and last_time >= '2001-06-01' and first_time < '2002-02-01'")
    assert [os.path.basename(name) for name in files.filenames] == ["y2001.nc", "y2002.nc"]
    np.testing.assert_array_equal(files.table("t2m").to_pandas()["t2m"].dropna(), np.tile(np.arange(48), 2))
    assert len(hs.open_catalog(path).filenames) == 3
    assert len(hs.open_catalog(path, "list_contains(dims, 'lat') and dataset = '/lat' and ranges[1].most = 90").filenames) == 3
    with pytest.raises(hs.NotFoundError, match="no row"):
        hs.open_catalog(path, "dataset = '/nothing'")
    with pytest.raises(hs.InvalidInputError, match="condition"):
        hs.open_catalog(path, "nonsense = 1")
    with pytest.raises(hs.NotFoundError, match="no such catalog"):
        hs.open_catalog(tmp_path / "none.parquet")
    os.utime(years / "y2001.nc")
    assert len(hs.open_catalog(path, "path like '%y2000.nc'").filenames) == 1
    with pytest.raises(hs.ConflictError, match=r"changed.*y2001\.nc"):
        hs.open_catalog(path)
    (years / "y2001.nc").unlink()
    with pytest.raises(hs.NotFoundError, match=r"not there any more.*y2001\.nc"):
        hs.open_catalog(path)


def test_files_that_cannot_be_read(years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (years / "y1999.nc").write_text("text")
    (years / "y2004.nc").write_bytes((years / "y2002.nc").read_bytes()[:500])
    with pytest.raises(hs.InvalidInputError, match=r"2 of 5 files.*y1999\.nc"):
        hs.write_catalog(f"{years}/*.nc", tmp_path / "c.parquet")
    assert not (tmp_path / "c.parquet").exists()
    made = hs.write_catalog([*sorted(years.glob("*.nc")), years / "gone.nc"], tmp_path / "c.parquet", errors="leave_out")
    assert made.files == 3 and [os.path.basename(left.path) for left in made.left_out] == ["y1999.nc", "y2004.nc", "gone.nc"]
    with pytest.raises(hs.NotFoundError):
        hs.write_catalog(f"{years}/none*.nc", tmp_path / "d.parquet")


def test_more_files_than_are_open_at_a_time(tmp_path: pathlib.Path) -> None:
    for number in range(600):
        with h5py.File(tmp_path / f"f{number}.h5", "w") as f:
            f["x"] = np.full(number % 5 + 1, number)
    (tmp_path / "f300.h5").write_bytes(b"")
    made = hs.write_catalog(f"{tmp_path}/*.h5", tmp_path / "c.parquet", errors="leave_out")
    assert (made.files, made.arrays, len(made.left_out)) == (599, 599, 1)
    (tmp_path / "f300.h5").unlink()
    assert hs.write_catalog(f"{tmp_path}/*.h5", tmp_path / "c.parquet", "a").read == 0
    assert pq.ParquetFile(tmp_path / "c.parquet").num_row_groups == 1
    table = pq.read_table(tmp_path / "c.parquet")
    assert [shape[0] for shape in table["shape"].to_pylist()] == [number % 5 + 1 for number in range(600) if number != 300]


def extremes(catalog: pathlib.Path) -> dict[str, tuple[float | None, float | None, str | None]]:
    return {row["dataset"]: (row["least"], row["most"], row["known_by"]) for row in pq.read_table(catalog).to_pylist()}


def test_least_and_greatest_values_are_there_where_they_are_known(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(3).normal(size=70_000)
    values[5] = np.nan
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as f:
        f.createDimension("row", len(values))
        f.createVariable("row", "f8", ("row",))[:] = np.arange(len(values)) * 0.5
        for name in ("indexed", "plain", "said", "wrong"):
            f.createVariable(name, "f8", ("row",), fill_value=False)[:] = values
        packed = f.createVariable("packed", "i2", ("row",), fill_value=-999)
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed[:] = np.ma.masked_array(10 + 0.5 * (np.arange(len(values)) % 100), np.arange(len(values)) < 3)
        f["said"].actual_range = np.array([-4.5, 4.75])
        time = f.createVariable("time", "f8", ("row",), fill_value=False)
        time.units, time.actual_range, time[:] = "days since 2000-01-01", np.array([0.0, 1.0]), 0.5
        f["wrong"].actual_range = np.array([3.0, -3.0])
        big = f.createVariable("big", "i8", ("row",), fill_value=False)
        big[:] = np.arange(len(values)) + (1 << 60)
    hs.index(tmp_path / "x.nc", ["/indexed", "/packed", "/big", "/time"], level="X")
    hs.write_catalog(tmp_path / "x.nc", tmp_path / "c.parquet")
    unknown = (None, None, None)
    assert extremes(tmp_path / "c.parquet") == {
        "/row": (0, 0.5 * (len(values) - 1), "values"),
        "/indexed": (np.nanmin(values), np.nanmax(values), "index"),
        "/packed": (10, 59.5, "index"),
        "/big": unknown,
        "/plain": unknown,
        "/said": (-4.5, 4.75, "attribute"),
        "/time": unknown,
        "/wrong": unknown,
    }
    files = hs.open_catalog(tmp_path / "c.parquet", "dataset = '/indexed' and most > 3")
    assert len(files.filenames) == 1
    with pytest.raises(hs.NotFoundError, match="no row of the catalog"):
        hs.open_catalog(tmp_path / "c.parquet", "dataset = '/indexed' and most > 300")


@pytest.mark.parametrize("kind", ["s3", "gs", "http"])
def test_objects_of_stores_are_cataloged(kind: str, years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    catalog = tmp_path / "c.parquet"
    with serving() as server:
        for path in years.iterdir():
            server.put(f"bucket/years/{path.name}", path.read_bytes())
        base = f"{server.url}/bucket" if kind == "http" else f"{kind}://bucket"
        options = {
            "s3": server.s3_options,
            "gs": lambda: server.google_options(
                google_service_account_key='{"disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}'
            ),
            "http": dict,
        }[kind]()
        names = [f"{base}/years/y{year}.nc" for year in (2000, 2001, 2002)]
        files = names if kind == "http" else f"{base}/years/*.nc"
        assert hs.write_catalog(files, catalog, storage_options=options) == (3, 12, 3, [])
        hs.write_catalog(sorted(years.iterdir()), tmp_path / "local.parquet")
        differing = {"path", "file_bytes", "modified", "version"}
        ours, local = (pq.read_table(path).to_pylist() for path in (catalog, tmp_path / "local.parquet"))
        assert [{k: v for k, v in row.items() if k not in differing} for row in ours] == [{k: v for k, v in row.items() if k not in differing} for row in local]
        assert {row["path"] for row in ours} == set(names) and all(row["version"] for row in ours)

        server.forget()
        assert hs.write_catalog(files, catalog, "a", storage_options=options).read == 0
        # A pattern is listed once for its names, and once for their versions; a web server tells versions of files that are opened.
        assert len(server.asked) == (3 if kind == "http" else 2), [asked.path for asked in server.asked]
        found = hs.open_catalog(catalog, "dataset = '/t2m' and first_time >= '2001-01-01'", storage_options=options)
        assert found.filenames == names[1:]
        assert found.files[0]["t2m"].shape == (12, 4)

        write_year(tmp_path / "other.nc", 2010)
        server.put("bucket/years/y2001.nc", (tmp_path / "other.nc").read_bytes())
        with pytest.raises(hs.ConflictError, match="has changed since it was read for the catalog"):
            hs.open_catalog(catalog, storage_options=options)
        del server.objects["bucket/years/y2002.nc"]
        done = hs.write_catalog(names[:2], catalog, "a", storage_options=options)
        assert (done.files, done.read) == (2, 1)
        assert hs.open_catalog(catalog, "first_time >= '2010-01-01'", storage_options=options).filenames == [names[1]]
        with pytest.raises(hs.UnsupportedError, match="a query or a password") as refused:
            hs.write_catalog([f"{server.url}/bucket/years/y2000.nc?sig=secret"], catalog, "w", storage_options=options)
        assert "secret" not in str(refused.value)


def test_functions_of_many_files_take_the_options_of_a_store(years: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with serving() as server:
        for path in years.iterdir():
            server.put(f"bucket/years/{path.name}", path.read_bytes())
        pattern, options = "s3://bucket/years/*.nc", server.s3_options()
        assert [path for path, _ in hs.read_each(pattern, "/lat", storage_options=options)] == [f"s3://bucket/years/y{year}.nc" for year in (2000, 2001, 2002)]
        del server.objects["bucket/years/y2001.nc"]  # netCDF classic is not joined
        assert hs.joined(pattern, concat_dim="time", compat="override", storage_options=options)["t2m"].shape == (24, 4)
        hs.merge(pattern, tmp_path / "merged.nc", concat_dim="time", compat="override", storage_options=options)
        with netCDF4.Dataset(tmp_path / "merged.nc") as f:
            assert f["t2m"].shape == (24, 4)


def test_the_command(years: pathlib.Path, tmp_path: pathlib.Path, command_server: CommandServer) -> None:
    words = [command_server.folder / "hyperslab", "catalog", f"{years}/*.nc", "-o", str(tmp_path / "c.parquet"), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"files": 3, "arrays": 12, "read": 3, "left_out": []}
