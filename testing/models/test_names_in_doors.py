"""Names: each name that `info` lists is the same table in every door, and a table of a model comes before the object of its name."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable

import anndata
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
import test_models_steps as steps
from test_serve import TOKEN, Client, FlightSqlServer


def cells(path: pathlib.Path) -> None:
    obs = pd.DataFrame({"kind": pd.Categorical(list("aba")), "n": [1, 2, 3]}, index=list("xyz"))
    anndata.AnnData(np.arange(6.0).reshape(3, 2), obs=obs, obsm={"X_umap": np.ones((3, 2))}).write_h5ad(path)


def swath(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        f.createDimension("y", 3)
        f.createDimension("x", 4)
        for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
            f.createVariable(name, "f8", ("y", "x"))[:] = np.arange(12.0).reshape(3, 4)
            f[name].units = units
        brightness = f.createVariable("bt", "i2", ("y", "x"), fill_value=-9)
        brightness.scale_factor, brightness.coordinates, brightness.units = 0.5, "lat lon", "K"
        brightness[:] = np.ma.masked_less(np.arange(12.0).reshape(3, 4), 2)


def series(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        f.createDimension("time", 3)
        f.createVariable("time", "i4", ("time",))[:] = [0, 1, 2]
        f["time"].units = "days since 2020-01-01"
        f.createVariable("co2", "f4", ("time",))[:] = [400, 401, 402]


def argo(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions, f.featureType = "Argo-3.1 CF-1.6", "trajectoryProfile"
        for name, extent in (("N_PROF", 2), ("N_LEVELS", 3), ("STRING4", 4)):
            f.createDimension(name, extent)
        f.createVariable("PLATFORM", "S1", ("N_PROF", "STRING4"))[:] = netCDF4.stringtochar(np.array(["6901", "6902"], "S4"))
        f.createVariable("JULD", "f8", ("N_PROF",))[:] = [25000, 25010]
        f["JULD"].units, f["JULD"].standard_name = "days since 1950-01-01", "time"
        for name, axis in (("LATITUDE", "Y"), ("LONGITUDE", "X")):
            f.createVariable(name, "f8", ("N_PROF",))[:] = [1, 2]
            f[name].axis = axis
        for name, standard in (("PRES", "sea_water_pressure"), ("TEMP", "sea_water_temperature")):
            f.createVariable(name, "f4", ("N_PROF", "N_LEVELS"))[:] = np.arange(6.0).reshape(2, 3)
            f[name].standard_name = standard


def scan(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["NX_class"] = "NXroot"
        f.create_group("entry").attrs["NX_class"] = "NXentry"
        data = f.create_group("entry/data")
        data.attrs.update({"NX_class": "NXdata", "signal": "counts", "axes": ["energy", "angle"]})
        data["counts"], data["energy"], data["angle"] = np.arange(6).reshape(2, 3), [1.0, 2], [10.0, 20, 30]


def rows_of_pytables(path: pathlib.Path) -> None:
    with tables.open_file(path, "w") as f:
        f.create_table("/", "p", np.array([(1, 2.5)], [("i", "i4"), ("x", "f8")]))


FILES: dict[str, Callable[[pathlib.Path], object]] = {
    "cells.h5ad": cells,
    "swath.nc": swath,
    "series.nc": series,
    "argo.nc": argo,
    "scan.nxs": scan,
    "rows.h5": rows_of_pytables,
    "run.h5part": steps.write_particles,
}
#: Columns of the table of one dataset: the coordinates are those of the model.
OF_DATASETS = {
    ("swath.nc", "bt"): ["y", "x", "lat", "lon", "bt"],
    ("argo.nc", "TEMP"): ["N_PROF", "N_LEVELS", "JULD", "LATITUDE", "LONGITUDE", "PRES", "TEMP"],
    ("argo.nc", "PLATFORM"): ["N_PROF", "JULD", "LATITUDE", "LONGITUDE", "PLATFORM"],
    ("scan.nxs", "entry/data/counts"): ["energy", "angle", "counts"],
}


def command(*arguments: object) -> str:
    done = subprocess.run([sys.executable, "-m", "hyperslab", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(table: pa.Table) -> list[list[object]]:
    """The rows; names that differ in case only have numbers in SQL."""
    return json.loads(json.dumps([list(row.values()) for row in table.to_pylist()], default=str))


@pytest.mark.parametrize("name", FILES)
def test_a_listed_name_is_one_table_in_every_door(tmp_path: pathlib.Path, name: str) -> None:
    path = tmp_path / name
    FILES[name](path)
    listed = [row for rows in json.loads(command("info", path, "--json"))["contents"].values() for row in rows]
    assert listed and all(row["path"] for row in listed)
    with hs.open(path) as f, contextlib.closing(FlightSqlServer(tmp_path, TOKEN)) as server:
        client = Client(server)
        for row in listed:
            given = row["path"]
            expected = f.table(given, omitted="ignore").to_arrow()
            if row["kind"] == "table":
                (view,) = [view for view in f.models if row["name"] in view.tables]
                assert expected.equals(view.table(row["name"], omitted="ignore").to_arrow())
                assert f.table(given, omitted="ignore").model == view.name
            assert f.table("/" + given, omitted="ignore").to_arrow().equals(expected)
            quoted = given.replace('"', '""')
            assert plain(hs.sql(f'from "{quoted}"', f).to_arrow_table()) == plain(expected), given
            if "*" not in given:
                served = client.table("CommandStatementQuery", query=f'select * from "{name}"."{quoted}"')
                assert plain(served) == plain(expected), given
        given = listed[0]["path"]
        expected = f.table(given, omitted="ignore").to_arrow()
        assert len(command("head", path, given, "-n", "1000000", "--json").splitlines()) == expected.num_rows
        command("export", path, given, tmp_path / "out.parquet")
        assert plain(pq.read_table(tmp_path / "out.parquet")) == plain(expected)


FRAMES = {
    "plain": pd.DataFrame({"a": [1.5, np.nan, 3], "b": ["x", "y", "z"], "t": pd.date_range("2020", periods=3)}),
    "labeled": pd.DataFrame({"n": [1, 2]}, index=pd.Index(["p", "q"], name="who")),
    "levels": pd.DataFrame({"v": [1.0, 2.0]}, index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "i"])),
    "numbers": pd.DataFrame({"a": [1.5, 2.5], "n": [3, 4]}),
    "line": pd.Series([1.0, 2.0], index=[5, 7], name="s"),
}


@pytest.mark.parametrize("form", ["fixed", "table"])
def test_the_frames_of_pandas_are_shown_as_pandas_reads_them(tmp_path: pathlib.Path, form: str) -> None:
    path = tmp_path / "store.h5"
    for name, frame in FRAMES.items():
        if form == "table" or name != "levels":
            frame.to_hdf(path, key=name, format=form, **({"data_columns": True} if name == "numbers" and form == "table" else {}))
    listed = json.loads(command("info", path, "--json"))["contents"]["pandas"]
    assert {row["path"] for row in listed} == set(FRAMES) - ({"levels"} if form == "fixed" else set())
    with hs.open(path) as f, contextlib.closing(FlightSqlServer(tmp_path, TOKEN)) as server:
        client = Client(server)
        for row in listed:
            name = row["path"]
            expected = pd.read_hdf(path, name)
            expected = expected.to_frame() if isinstance(expected, pd.Series) else expected
            has_index = expected.index.names != [None] or list(expected.index) != list(range(len(expected)))
            rows = plain(pa.Table.from_pandas(expected.reset_index() if has_index else expected, preserve_index=False))
            if name in ("numbers", "line") and form == "table":
                # Their columns are stored as they are: they are tables like others, with conditions and splits.
                table, values = f.table(name), list(expected.columns)
                assert table.model is None and table.schema.names == ["index", *values]
                assert plain(table.to_arrow().select(values)) == plain(pa.concat_tables([split.read() for split in table.splits(2)]).select(values))
                assert plain(hs.sql(f"select * exclude (index) from {name}", f).to_arrow_table()) == expected.to_numpy().tolist()
                assert f.table(name, "index > 0").count() == sum(expected.index > 0)
                continue
            table = f.table(f"/{name}")
            assert plain(table.to_arrow()) == plain(pa.table(table)) == plain(table.batches().read_all()) == rows and table.model == "pandas"
            assert plain(f.table(name, columns=[table.schema.names[-1]], limit=1).to_arrow()) == [row[-1:] for row in rows[:1]]
            assert table.count() == len(expected) and plain(table.head(1)) == rows[:1] and "model pandas" in repr(table) and table._repr_html_()
            assert plain(hs.sql(f"from {name}", f).to_arrow_table()) == rows
            assert hs.sql(f"select count(*) from {name}", f).fetchall() == [(len(expected),)]
            assert plain(client.table("CommandStatementQuery", query=f'select * from "store.h5".{name}')) == rows
            assert client.rows(f'select count(*) as n from "store.h5".{name}') == [{"n": len(expected)}]
            command("export", path, f"/{name}", tmp_path / "out.parquet")
            assert plain(pq.read_table(tmp_path / "out.parquet")) == rows
            assert len(command("head", path, name, "--json").splitlines()) == len(expected)
        for refused in (lambda: f.table("plain", "a > 1"), f.table("plain").splits, f.table("plain").explain):
            with pytest.raises(hs.UnsupportedError, match=r"hyperslab\.sql"):
                refused()
        assert "model" not in repr(f.table("plain", raw=True, omitted="ignore")).partition("\n")[0]
        assert "values" in command("head", path, "plain/table" if form == "table" else "plain/block0_values", "--raw")


def test_the_table_of_a_dataset_has_the_coordinates_that_the_model_knows(tmp_path: pathlib.Path) -> None:
    for (name, dataset), columns in OF_DATASETS.items():
        FILES[name](tmp_path / name)
        with hs.open(tmp_path / name) as f:
            table = f.table(dataset)
            assert table.schema.names == columns
            own = f[dataset].decoded[...] if dataset == "bt" else f[dataset][...]
            values = table.to_arrow()[columns[-1]].to_pylist()
            assert len(values) == (own.size if own.dtype.kind != "S" else 2)
            if own.dtype.kind == "f":
                np.testing.assert_array_equal(np.array([np.nan if value is None else value for value in values], own.dtype), own.ravel())


def test_the_object_of_the_name_is_a_word_away(tmp_path: pathlib.Path) -> None:
    cells(tmp_path / "cells.h5ad")
    with hs.open(tmp_path / "cells.h5ad") as f:
        assert f.table("/obs").schema.names == ["_index", "kind", "n"]
        assert "model='none' reads /obs as an object" in repr(f.table("/obs"))
        assert f.table("/obs", model="none", omitted="ignore").schema.names == ["_index", "n"]
        assert f.table("obs", raw=True, omitted="ignore").schema.names == ["_index", "n"]
    done = subprocess.run([sys.executable, "-m", "hyperslab", "head", tmp_path / "cells.h5ad", "/obs"], capture_output=True, text=True)
    assert "--raw shows the object /obs as stored" in done.stderr and "kind" in done.stdout
    assert "kind" not in command("head", tmp_path / "cells.h5ad", "/obs", "--raw")
    swath(tmp_path / "swath.nc")
    with hs.open(tmp_path / "swath.nc") as f:
        # Stored values are of the object; a table without an object of its name is the model's all the same.
        assert f.table("bt", raw=True).to_arrow()["bt"].to_pylist()[:3] == [-9, -9, 4]
        assert f.table("y_x", raw=True).to_arrow()["bt"].to_pylist()[:3] == [-9, -9, 4]
        with pytest.raises(hs.NotFoundError):
            f.table("y_x", model="none")
        with pytest.raises(hs.NotFoundError, match="; tables of its data models: y_x"):
            f.table("x_y")


def test_a_file_that_contradicts_its_model_is_read_by_paths(tmp_path: pathlib.Path) -> None:
    swath(tmp_path / "swath.nc")
    with netCDF4.Dataset(tmp_path / "swath.nc", "a") as f:
        f["lat"].bounds = "lon"
    with hs.open(tmp_path / "swath.nc") as f:
        with pytest.raises(hs.CorruptError):
            f.models[0].table("y_x")
        assert f.table("/bt").count() == 12


def test_damaged_attributes_of_the_root_do_not_hide_other_objects(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f["x"] = np.arange(3.0)
        for number in range(20):
            f.attrs[f"a{number}"] = number
    content = bytearray(path.read_bytes())
    heap = content.index(b"FRHP")
    content[heap + 10 : heap + 60] = b"\xff" * 50
    path.write_bytes(content)
    with hs.open(path) as f:
        with pytest.raises(hs.CorruptError):
            list(f.attrs)
        assert f.table("/x").to_arrow()["x"].to_pylist() == [0, 1, 2]
        assert hs.sql("select sum(x) from x", f).fetchall() == [(3,)]
