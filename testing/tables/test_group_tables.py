"""Tables of groups: which members are columns, what is said of the others, and how columns are named."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import warnings

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"


def quiet(path: pathlib.Path, where: str = "/", **options: object) -> hs.Table:
    """The table, without a warning of what is left out."""
    return hs.open(path).table(where, omitted="ignore", **options)


@pytest.fixture
def annotated(tmp_path: pathlib.Path) -> pathlib.Path:
    """`obs` of an AnnData file by its on-disk specification (0.8 and later): categorical and nullable columns are groups."""
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as f:
        obs = f.create_group("obs")
        obs.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": ["n", "cell_type", "flag"]})
        obs["_index"] = np.array(["a", "b", "c"], dtype=h5py.string_dtype())
        obs["n"] = np.arange(3)
        kind = obs.create_group("cell_type")
        kind.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": False})
        kind["codes"], kind["categories"] = np.array([0, 1, 0], "i1"), np.array(["T", "B"], dtype=h5py.string_dtype())
        flag = obs.create_group("flag")
        flag.attrs.update({"encoding-type": "nullable-boolean", "encoding-version": "0.1.0"})
        flag["values"], flag["mask"] = np.array([True, False, True]), np.array([False, True, False])
    return path


def test_members_that_are_not_columns_are_named(annotated: pathlib.Path) -> None:
    f = hs.open(annotated)
    with pytest.warns(hs.OmittedColumnsWarning, match=r"cell_type is a group, flag is a group \(table /obs of .*a\.h5ad\)") as caught:
        table = f.table("/obs")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert sorted(table.schema.names) == ["_index", "n"]
    assert table.omitted == {"cell_type": "is a group", "flag": "is a group"}
    assert "not columns: cell_type is a group" in repr(table)
    assert "not a column: flag is a group" in table.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.to_arrow(), table.dataset().to_table(), table.count()  # one warning a table, none while it is read
        f.table("/obs", omitted="ignore")
        f.table("/obs", columns=["n"])


def test_a_member_that_is_not_a_column_is_an_error_if_asked_for(annotated: pathlib.Path) -> None:
    f = hs.open(annotated)
    with pytest.raises(hs.NotFoundError, match='there is no column "cell_type" in this table: it is a group'):
        f.table("/obs", columns=["n", "cell_type"])
    with pytest.raises(hs.NotFoundError, match='there is no column "cell_type" in this table: it is a group'):
        f.table("/obs", where="cell_type = 'T'")
    with pytest.raises(hs.InvalidInputError, match="cell_type is a group"):
        f.table("/obs", omitted="error")
    with pytest.raises(hs.InvalidInputError, match="'quiet'"):
        f.table("/obs", omitted="quiet")


def test_sql_says_why_a_column_is_missing(annotated: pathlib.Path) -> None:
    with pytest.warns(hs.OmittedColumnsWarning, match="cell_type is a group"):
        assert hs.sql("select sum(n) from obs", annotated).fetchall() == [(3,)]
    with pytest.raises(hs.InvalidInputError, match=r"there is no column 'cell_type': in obs it is a group$"):
        hs.sql("select cell_type from obs", annotated)


def test_the_command_line_says_what_is_left_out(annotated: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "obs.csv"
    for words in (["head", str(annotated), "/obs", "--json"], ["export", str(annotated), "/obs", str(out)]):
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True)
        assert done.returncode == 0
        assert done.stderr == "hyperslab: not columns: cell_type is a group, flag is a group\n"
    done = subprocess.run([COMMAND, "head", annotated, "/obs", "--json", "--columns", "n"], capture_output=True, text=True)
    assert (json.loads(done.stdout.splitlines()[0]), done.stderr) == ({"n": 0}, "")


def test_every_kind_of_member_says_why_it_is_not_a_column(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "kinds.h5"
    with h5py.File(path, "w") as f:
        f["x"], f["y"] = np.arange(4), np.arange(4.0)
        f["image"] = np.zeros((4, 5))
        f["scalar"] = 1
        f["empty"] = h5py.Empty("f4")
        f["group/z"] = [1]
        f["soft"], f["outside"] = h5py.SoftLink("/x"), h5py.ExternalLink("other.h5", "/x")
        f["type"] = np.dtype("f8")
        f["wide"] = np.zeros(4, dtype=np.longdouble)
        # A filter that nobody has.
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((4,))
        plist.set_filter(32099, h5py.h5z.FLAG_OPTIONAL)
        h5py.h5d.create(f.id, b"refused", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((4,)), plist)
    table = quiet(path)
    assert table.schema.names == ["x", "y"]
    wanted = {
        "image": "has dimensions (4, 5), not (4)",
        "scalar": "is a scalar",
        "empty": "dataspace is null",
        "group": "is a group",
        "soft": "is a soft link to /x",
        "outside": "is a link to /x in other.h5",
        "type": "is a committed datatype",
        "wide": "mantissa",
        "refused": "32099",
    }
    assert set(table.omitted) == set(wanted)
    assert {name: reason in table.omitted[name] for name, reason in wanted.items()} == dict.fromkeys(wanted, True)
    assert table.to_arrow()["y"].to_pylist() == [0, 1, 2, 3]


def test_the_lone_compound_of_a_group_is_its_table(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "store.h5"
    frame = pd.DataFrame({"energy": [1.5, 2.5, 3.5], "run": [1, 2, 3]})
    frame.to_hdf(path, key="df", format="table", data_columns=True)
    table = hs.open(path).table("/df", omitted="error")  # pandas' index of the table is not worth a word
    assert table.schema.names == ["index", "energy", "run"]
    assert table.to_pandas()["energy"].tolist() == [1.5, 2.5, 3.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a column of the name of a group that the query does not ask is not worth a word, too
        assert hs.sql("select sum(run) from df", path).fetchall() == [(6,)]
    assert hs.open(path).table("/df", where="energy > 2").count() == 2
    assert [row for split in table.splits(2) for row in split.read().to_pylist()] == table.to_arrow().to_pylist()
    assert hs.open(path).table("/df", layout="columns", omitted="ignore").schema.names == ["table"]


def test_a_compound_beside_columns_of_its_length_is_a_column(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mixed.h5"
    with h5py.File(path, "w") as f:
        f["point"] = np.zeros(3, dtype=[("x", "f4"), ("y", "f4")])
        f["id"] = np.arange(3)
    assert sorted(hs.open(path).table("/", omitted="error").schema.names) == ["id", "point"]


def test_a_dataset_without_values_is_the_same_error_alone_and_in_its_group(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "null.h5"
    with h5py.File(path, "w") as f:
        f["alone/a"] = h5py.Empty("i4")
        f["scalar/a"], f["scalar/e"] = 1, h5py.Empty("f4")
        f["scalars/a"], f["scalars/b"] = 1, 2.5
        f["two/a"], f["two/b"] = h5py.Empty("i4"), h5py.Empty("i4")
        f["nested/g/x"] = [1]
        f.create_group("nothing")
    for where in ("/alone/a", "/alone"):
        with pytest.raises(hs.InvalidInputError, match="its dataspace is null"):
            quiet(path, where)
    assert quiet(path, "/scalar").to_arrow().to_pylist() == [{"a": 1}]
    assert quiet(path, "/scalar").omitted == {"e": "cannot be a column: its dataspace is null: there are no values to make rows of"}
    assert quiet(path, "/scalars").to_arrow().to_pylist() == [{"a": 1, "b": 2.5}]
    for where, says in (("/two", "a cannot be a column.*b cannot be a column"), ("/nested", "g is a group"), ("/nothing", "empty")):
        with pytest.raises(hs.InvalidInputError, match=says):
            quiet(path, where)


@pytest.fixture
def climate(tmp_path: pathlib.Path) -> pathlib.Path:
    """What CMIP files have in addition to their variable: bounds, a scalar height, two-dimensional coordinates."""
    path = tmp_path / "tas.nc"
    with netCDF4.Dataset(path, "w") as f:
        for name, extent in (("time", 3), ("lat", 4), ("lon", 5), ("bnds", 2)):
            f.createDimension(name, extent)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time.bounds = "days since 2000-01-01", "time_bnds"
        time[:] = [15, 45, 75]
        f.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = 0
        for name in ("lat", "lon"):
            variable = f.createVariable(name, "f8", (name,))
            variable.bounds = f"{name}_bnds"
            variable[:] = np.arange(len(f.dimensions[name]))
            f.createVariable(f"{name}_bnds", "f8", (name, "bnds"))[:] = 0
        f.createVariable("height", "f8")[...] = 2
        f.createVariable("area", "f4", ("lat", "lon"))[:] = 1
        f.createVariable("tas", "f4", ("time", "lat", "lon"))[:] = np.arange(60).reshape(3, 4, 5)
        f.createVariable("pr", "f4", ("time", "lat", "lon"))[:] = 0.5
    return path


def test_a_netcdf_file_is_a_table_of_its_largest_dimensions(climate: pathlib.Path) -> None:
    table = quiet(climate)
    assert table.schema.names[:3] == ["time", "lat", "lon"] and sorted(table.schema.names[3:]) == ["pr", "tas"]
    assert table.omitted == {
        "height": "is a scalar",
        "area": "has dimensions (lat=4, lon=5), not (time=3, lat=4, lon=5)",
        "time_bnds": "has the bounds of time",
        "lat_bnds": "has the bounds of lat",
        "lon_bnds": "has the bounds of lon",
    }
    assert table.to_arrow()["tas"].to_pylist() == list(range(60))
    done = subprocess.run([COMMAND, "head", climate, "-n", "1", "--json"], capture_output=True, text=True)
    assert json.loads(done.stdout)["pr"] == 0.5 and "time_bnds has the bounds of time" in done.stderr
    rows = quiet(climate, layout="rows")
    assert rows.schema.names[0] == "time" and {"lat", "lon"} <= set(rows.omitted)


def test_bounds_are_not_the_table_of_a_file_of_one_dimension(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "series.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("bnds", 2)
        f.createVariable("time", "f8", ("time",)).bounds = "time_bnds"
        f.createVariable("time_bnds", "f8", ("time", "bnds"))
        f.createVariable("x", "f8", ("time",))
        f["time"][:], f["x"][:], f["time_bnds"][:] = [1, 2], [3, 4], 0
    assert quiet(path).to_arrow().to_pylist() == [{"time": 1, "x": 3}, {"time": 2, "x": 4}]
    # Without any record yet it is the same table.
    with netCDF4.Dataset(path.with_name("none.nc"), "w") as f:
        f.createDimension("time", None)
        f.createDimension("y", 3)
        f.createVariable("mask", "i1", ("y",))
        f.createVariable("t", "f4", ("time", "y"))
    assert quiet(path.with_name("none.nc")).schema.names == ["time", "y", "t"]


def test_twenty_columns_and_a_matrix_are_a_table_of_twenty_columns(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "particles.h5"
    with h5py.File(path, "w") as f:
        f["position"] = np.zeros((7, 3))
        for number in range(20):
            f[f"c{number}"] = np.arange(7)
    table = quiet(path)
    assert len(table.schema.names) == 20 and table.omitted == {"position": "has dimensions (7, 3), not (7)"}


def test_a_variable_named_like_a_dimension_has_a_table(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fvcom.nc"
    with netCDF4.Dataset(path, "w") as f:
        for name, extent in (("siglay", 2), ("node", 3), ("time", 2), ("time_bnds", 2), ("lat", 2), ("taken", 2)):
            f.createDimension(name, extent)
        f.createVariable("siglay", "f4", ("siglay", "node"))[:] = np.arange(6).reshape(2, 3)
        f.createVariable("time", "f8", ("time",))[:] = [5, 6]
        f.createVariable("time_bnds", "f8", ("time", "time_bnds"))[:] = np.arange(4).reshape(2, 2)
        position = f.createGroup("Position")
        position.createVariable("lat", "f8", ("lat",))[:] = [50, 60]
        position.createVariable("lat_index", "f8", ("lat",))[:] = [7, 8]
    f = hs.open(path)
    assert f.table("/siglay").to_arrow().to_pydict() == {"siglay_index": [0, 0, 0, 1, 1, 1], "node": [0, 1, 2] * 2, "siglay": [0, 1, 2, 3, 4, 5]}
    assert f.table("/time_bnds").to_arrow().to_pydict() == {"time": [5, 5, 6, 6], "time_bnds_index": [0, 1, 0, 1], "time_bnds": [0, 1, 2, 3]}
    assert f.table("/siglay", layout="rows").schema.names == ["siglay_index", "siglay"]
    assert f.table("/siglay", where="siglay_index = 1 and node = 2").to_arrow()["siglay"].to_pylist() == [5]
    assert f.table("/Position/lat").to_arrow()["lat"].to_pylist() == [50, 60]
    group = f.table("/Position", layout="cells", omitted="error")
    assert sorted(group.schema.names) == sorted(set(group.schema.names)) and {"lat", "lat_index"} <= set(group.schema.names)
    assert group.to_arrow()["lat_index"].to_pylist() == [7, 8]
    assert hs.sql("select sum(siglay) from siglay where siglay_index = 0", f).fetchall() == [(3,)]


def test_what_a_wildcard_stood_for_never_takes_the_name_of_a_column(tmp_path: pathlib.Path) -> None:
    for number in (1, 2):
        with h5py.File(tmp_path / f"x_{number}.h5", "w") as f:
            f["x"], f["x_part"] = [number], [number * 10]
    table = hs.open(str(tmp_path / "x_*.h5")).table("/")
    assert sorted(table.schema.names) == ["x", "x_part", "x_part_2"]
    assert table.to_arrow()["x_part_2"].to_pylist() == [1, 2]


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_an_array_of_characters_is_text(tmp_path: pathlib.Path, format: str) -> None:
    import xarray

    path = tmp_path / "stations.nc"
    names = np.array(["Oslo", "Rødby", "", "Lisbon  "])
    with netCDF4.Dataset(path, "w", format=format) as f:
        for name, extent in (("station", 4), ("strlen", 8), ("run", 2)):
            f.createDimension(name, extent)
        f.createVariable("temperature", "f4", ("station",))[:] = [1, 2, 3, 4]
        encoded = np.char.encode(names, "utf-8").astype("S8")
        f.createVariable("name", "S1", ("station", "strlen"))[:] = encoded.view("S1").reshape(4, 8)
        f.createVariable("title", "S1", ("strlen",))[:] = np.array([b"a title"], "S8").view("S1")
        f.createVariable("flag", "S1", ("station",))[:] = np.array([b"a", b"b", b"c", b"d"])
        f.createVariable("labels", "S1", ("run", "station", "strlen"))[:] = np.stack([encoded, encoded[::-1]]).view("S1").reshape(2, 4, 8)
    f = hs.open(path)
    wanted = [text.rstrip("\0") for text in names]
    assert f.table("/name").to_arrow().to_pydict() == {"station": [0, 1, 2, 3], "name": wanted}
    with xarray.open_dataset(path) as dataset:
        assert [value.decode() for value in dataset["name"].values.tolist()] == wanted
        assert dataset["labels"].shape == (2, 4)
    assert f.table("/name", where="name = 'Rødby'").to_arrow()["station"].to_pylist() == [1]
    assert f.table("/labels").to_arrow()["labels"].to_pylist() == wanted + wanted[::-1]
    assert f.table("/labels", layout="rows").to_arrow()["labels"].to_pylist() == [wanted, wanted[::-1]]
    assert f.table("/title").to_arrow().to_pylist() == [{"title": "a title"}]
    # Characters of a dimension that numbers have too are one for each.
    assert f.table("/flag").to_arrow()["flag"].to_pylist() == ["a", "b", "c", "d"]
    group = f.table("/", omitted="ignore", columns=["name", "temperature", "flag"]).to_arrow() if "labels" not in quiet(path).schema.names else None
    assert group is None or group["name"].to_pylist() == wanted
    assert f.table("/name", raw=True).count() == 32
    assert hs.sql("select station from name where name like 'Os%'", f).fetchall() == [(0,)]
    parts = f.table("/name").splits(2)
    assert [row for part in parts for row in part.read()["name"].to_pylist()] == wanted


def test_an_index_of_characters_is_not_used_for_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "names.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("n", 3)
        f.createDimension("strlen", 2)
        f.createVariable("name", "S1", ("n", "strlen"))[:] = np.array([b"ab", b"cd", b"ab"]).view("S1").reshape(3, 2)
    with contextlib.suppress(hs.UnsupportedError):
        hs.index(path, "/name")
    assert hs.open(path).table("/name", where="name = 'ab'").to_arrow()["n"].to_pylist() == [0, 2]


def test_an_object_whose_name_has_wildcards_is_taken_literally(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.h5"
    with h5py.File(path, "w") as f:
        f["g/dataset_?"], f["g/dataset_1"], f["g/*"] = [1, 2], [3.5], [4]
        f["Step?/x"] = [5]
    f = hs.open(path)
    assert f.table("/g/dataset_?").to_arrow().to_pydict() == {"dim_0": [0, 1], "dataset_?": [1, 2]}
    assert f.table("/g/*").to_arrow()["*"].to_pylist() == [4]
    assert hs.query(path, "/Step?", "x > 0").count() == 1
    assert hs.sql('select * from "dataset_?"', f).fetchall() == [(0, 1), (1, 2)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(25))
def test_every_member_of_a_group_is_a_column_or_named(tmp_path: pathlib.Path, seed: int) -> None:
    """Groups of any datasets, in every layout: nothing vanishes, values are h5py's, splits give the same rows."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "any.h5"
    with h5py.File(path, "w") as f:
        for number in range(rng.integers(1, 7)):
            name, kind = f"d{number}", rng.integers(0, 8)
            if kind == 0:
                f[name] = h5py.Empty("f4")
            elif kind == 1:
                f[name] = number
            elif kind == 2:
                f.create_group(name)
            elif kind == 3:
                f[name] = np.zeros(rng.integers(1, 4), dtype=[("a", "i4"), ("b", "f8")])
            else:
                f[name] = rng.integers(0, 100, tuple(rng.integers(1, 4, size=rng.integers(1, 3))))
    for layout in (None, "cells", "rows", "columns", "records"):
        try:
            table = quiet(path, layout=layout)
        except hs.InvalidInputError:
            continue
        rows = table.to_arrow()
        with h5py.File(path) as other:
            shown = {name for name in table.schema.names if name in other}
            assert not shown & set(table.omitted)
            if {"a", "b"} <= set(table.schema.names):  # the records of one of them
                assert len(set(other) - set(table.omitted)) == 1
            else:
                assert shown | set(table.omitted) == set(other)
            for name in shown:
                values = other[name][()]
                if np.asarray(values).dtype.names is None:
                    assert np.array(rows[name].to_pylist()).reshape(-1).tolist() == np.reshape(values, -1).tolist()
        assert [row for split in table.splits(3) for row in split.read().to_pylist()] == rows.to_pylist()
