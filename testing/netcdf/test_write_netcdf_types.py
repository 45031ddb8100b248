"""The types, groups and names of netCDF-4, compared with files that netCDF4-python has written with the same calls."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray

STATION = np.dtype([("id", "i4"), ("name", "S10"), ("place", "f8", (2,)), ("flag", "u1")])
CLOUDS = {"clear": 0, "cloudy": 1, "missing": 255}
#: An array of text as netCDF4 has it in memory.
ROWS = [(1, b"Hamburg", (53.5, 10.0), 1), (2, b"Bern", (46.9, 7.4), 0), (3, b"0123456789", (0, 0), 255)]


def write_types(f: Any, theirs: bool) -> None:
    """The same by netCDF4-python's names in our file and in one of netCDF4."""
    f.createDimension("n", 3)
    f.createDimension("t", None)
    inner = f.createCompoundType(np.dtype([("u", "f4"), ("v", "i1")]), "wind")
    outer = f.createCompoundType(np.dtype([("at", "i8"), ("wind", inner.dtype)]), "report_t")
    station = f.createCompoundType(STATION, "station_t")
    cloud = f.createEnumType("u1", "cloud_t", CLOUDS)
    ragged = f.createVLType("i2", "ragged_t")
    f.createGroup("g")
    group = f.groups["g"] if theirs else f["g"]
    below = group.createEnumType("i4", "below_t", {"low": -5, "high": 7})
    v = f.createVariable("station", station, ("n",))
    v[:] = np.array(ROWS, station.dtype_view)
    w = f.createVariable("report", outer, ("t",))
    w[0:2] = np.array([(1, (2.5, 3)), (4, (-5.5, 6))], outer.dtype)
    c = f.createVariable("cloud", cloud, ("t", "n"), fill_value=255)
    c[0:2] = np.array([[0, 1, 255], [1, 1, 0]], "u1")
    r = f.createVariable("ragged", ragged, ("n",))
    values = np.empty(3, object)
    values[:] = [np.array([1, 2, 3], "i2"), np.array([7], "i2"), np.array([], "i2")]
    r[:] = values
    b = group.createVariable("below", below, ("n",))
    b[:] = np.array([-5, 7, 7], "i4")
    f.setncattr("title", "types")


@pytest.fixture
def pair(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    with hs.create_netcdf(tmp_path / "ours.nc") as f:
        write_types(f, False)
    with netCDF4.Dataset(tmp_path / "theirs.nc", "w") as g:
        write_types(g, True)
    return tmp_path / "ours.nc", tmp_path / "theirs.nc"


def test_user_defined_types_are_those_of_netcdf4(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with netCDF4.Dataset(pair[0]) as f, netCDF4.Dataset(pair[1]) as g:
        for name in ("cmptypes", "enumtypes", "vltypes"):
            assert list(getattr(f, name)) == list(getattr(g, name)) != []
        assert f.cmptypes["station_t"].dtype == g.cmptypes["station_t"].dtype and f.cmptypes["report_t"].dtype == g.cmptypes["report_t"].dtype
        assert f.enumtypes["cloud_t"].enum_dict == CLOUDS and f["g"].enumtypes["below_t"].enum_dict == {"low": -5, "high": 7}
        assert list(f.variables) == list(g.variables) and f["cloud"]._FillValue == g["cloud"]._FillValue == 255
        for path in ("station", "report", "cloud", "ragged", "g/below"):
            ours, theirs = f[path][:], g[path][:]
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape and f[path].dimensions == g[path].dimensions, path
            for a, b in zip(ours.reshape(-1), theirs.reshape(-1)):
                np.testing.assert_array_equal(a, b)
    ours, theirs = (dump_tools.run("ncdump", path) for path in pair)
    if ours is not None and theirs is not None:
        assert ours.replace("netcdf ours", "netcdf theirs") == theirs
    with h5py.File(pair[0]) as f, h5py.File(pair[1]) as g:
        for path in ("station", "report", "cloud", "ragged", "g/below"):
            a, b = f[path].id.get_type(), g[path].id.get_type()
            assert a.committed() and a.equal(b) and a.get_size() == b.get_size(), path
        for path in ("wind", "report_t", "station_t", "cloud_t", "ragged_t", "g/below_t"):
            assert isinstance(f[path], h5py.Datatype)
    for ours, theirs in zip((hs.open(pair[0]),), (hs.open(pair[1]),)):
        for path in ("station", "report", "cloud", "g/below"):
            assert ours[path].dtype == theirs[path].dtype and ours[path].dims == theirs[path].dims
            np.testing.assert_array_equal(ours[path][...], theirs[path][...])
        assert [v.tolist() for v in ours["ragged"][:]] == [[1, 2, 3], [7], []]


def test_netcdf4_goes_on_with_our_types(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with netCDF4.Dataset(pair[0], "a") as f:
        f["cloud"][2, :] = [255, 0, 1]
        f["report"][2] = np.array((9, (1.5, 2)), f.cmptypes["report_t"].dtype)
        f["ragged"][2] = np.array([5, 6], "i2")
        f.createVariable("more", f.enumtypes["cloud_t"], ("n",))[:] = [0, 1, 0]
        f.createVariable("g/again", f.cmptypes["station_t"], ("n",))[:] = f["station"][:]
        f.renameVariable("station", "stations")
    with h5py.File(pair[0], "r+") as f:
        del f["stations"], f["g/again"]
        assert f["station_t"].dtype.names == STATION.names
    with netCDF4.Dataset(pair[0]) as f:
        assert f["cloud"][:].tolist() == [[0, 1, None], [1, 1, 0], [None, 0, 1]] and f["report"][2].tolist() == (9, (1.5, 2))
        assert [v.tolist() for v in f["ragged"][:]] == [[1, 2, 3], [7], [5, 6]] and f["more"][:].tolist() == [0, 1, 0]


def test_opaque_values_and_types_of_types(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.nc"
    with hs.create_netcdf(path) as f:
        f.create_dimension("n", 2)
        raw = f.create_opaque_type("raw_t", 5)
        f.create_variable("raw", ["n"], raw, np.array([b"abcde", b"\1\2\3\4\5"], "V5"))
        point = f.create_compound_type("point_t", [("x", "f4"), ("y", "f4")])
        line = f.create_vlen_type("line_t", point)
        f.create_variable("line", ["n"], line, [np.array([(1, 2), (3, 4)], point.dtype), np.array([], point.dtype)])
        f.create_variable("square", [], f.create_vlen_type("bytes_t", "u1"), np.array([1, 2], "u1"))
        kind = f.create_enum_type("kind_t", "i2", {"a": 1, "b": -1})
        f.create_variable("both", ["n"], f.create_compound_type("both_t", np.dtype([("kind", kind.dtype), ("p", point.dtype)])), [(1, (2, 3)), (-1, (4, 5))])
    with h5py.File(path) as f:
        assert f["raw"][:].tobytes() == b"abcde\1\2\3\4\5" and f["line"][0].tolist() == [(1, 2), (3, 4)] and f["square"][()].tolist() == [1, 2]
        assert f["both"][:].tolist() == [(1, (2, 3)), (-1, (4, 5))]
    ours = hs.open(path)
    assert ours["both"]["p"]["y"].tolist() == [3, 5] and ours["line"][0].tolist() == [(1, 2), (3, 4)]
    if (text := dump_tools.run("ncdump", path)) is not None:
        for words in ("opaque(5) raw_t", "0X6162636465", "point_t(*) line_t", "{{1, 2}, {3, 4}}, {}", "{a, {2, 3}}, {b, {4, 5}}", "square = {1, 2}"):
            assert words in text, text


def test_booleans_are_as_xarray_stores_them(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("n", 3)
        f.create_variable("given", ["n"], data=[True, False, True])
        later = f.create_variable("later", ["n"], bool)
        later[1] = True
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4") as f:
        assert f["given"].dtype == f["later"].dtype == bool and f["given"].values.tolist() == [True, False, True]
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        f.set_auto_mask(False)
        assert f["given"].dtype == "i1" and f["given"].ncattrs() == ["dtype"] and f["later"][1] == 1


def groups(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None)
        f.create_dimension("x", 2)
        f.create_dimension("empty", 0)
        f.create_variable("x", ["x"], data=[1.0, 2.0])
        a = f.create_group("/a")
        a.attrs["title"] = "of a"
        a.create_dimension("x", 3)
        a.create_dimension("only", 4)
        a.create_variable("own", ["time", "x"], data=np.ones((2, 3), "i4"))
        b = a.create_group("b")
        b.create_dimension("ens", None)
        v = b.create_variable("deep", ["time", "ens", "x", "only"], data=np.arange(48.0).reshape(2, 2, 3, 4))
        v.setncattr("units", "K")
        # They have the names of dimensions of this group or a group above, but are not their coordinate variables.
        b.create_variable("x", ["only"], data=[1, 2, 3, 4])
        f.create_variable("time", [], data=5)
        a.create_variable("only", ["x"], data=[7, 8, 9])
        f.create_dimension("plane", 2)
        f.create_dimension("name", 3)
        f.create_variable("plane", ["plane", "name"], data=np.array([list("abc"), list("def")], "S1"))
        f.create_variable("label", ["plane", "x"], data=[[1, 2], [3, 4]])
        f.create_variable("nothing", ["empty", "x"], "f4")
        f.create_variable("twice", ["x", "x"], data=[[1, 2], [3, 4]])
        f.create_variable("g/h/made", ["x"], data=[1, 2])


def test_groups_see_the_dimensions_above_them(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.nc"
    groups(path)
    for mode in ("r", "a"):
        with netCDF4.Dataset(path, mode) as f:
            assert f["a/own"].get_dims()[1].group().path == "/a" and f["a/b/deep"].get_dims()[0].group().path == "/" and f["a"].title == "of a"
            assert f["a/b/deep"].dimensions == ("time", "ens", "x", "only") and f["a/b/deep"][:].ravel().tolist() == list(range(48))
            assert f["a/b/x"].dimensions == ("only",) and f["a/b/x"][:].tolist() == [1, 2, 3, 4] and f["time"][...] == 5 and f["time"].dimensions == ()
            assert f["a/only"].dimensions == ("x",) and f["a/only"][:].tolist() == [7, 8, 9] and f["a"].dimensions["only"].size == 4
            assert f["plane"].dimensions == ("plane", "name") and f["label"].dimensions == ("plane", "x") and f["label"][:].tolist() == [[1, 2], [3, 4]]
            assert f["nothing"].shape == (0, 2) and f["twice"].dimensions == ("x", "x") and f["twice"][:].tolist() == [[1, 2], [3, 4]]
            assert (
                f.dimensions["time"].isunlimited()
                and f.dimensions["time"].size == 2
                and f["a/b"].dimensions["ens"].isunlimited()
                and f["a/b/deep"].units == "K"
            )
            assert f["g/h/made"][:].tolist() == [1, 2] and sorted(f.groups) == ["a", "g"]
            if mode == "a":
                f["a/b/deep"][2] = 1
                f["a/only"][1] = 8
    with netCDF4.Dataset(path) as f:
        assert f["a/own"].shape == (3, 3) and f["a/b/deep"].shape == (3, 2, 3, 4) and f["a/only"][:].tolist() == [7, 8, 9]
    ours = hs.open(path)
    assert (
        ours["a/b/deep"].dims == ("time", "ens", "x", "only")
        and ours["a/only"][:].tolist() == [7, 8, 9]
        and ours["time"][()] == 5
        and ours["twice"].dims == ("x", "x")
    )
    with xarray.open_dataset(path, engine="netcdf4", group="a/b") as f:
        assert f["deep"].dims == ("time", "ens", "x", "only")
    if (text := dump_tools.run("ncdump", path)) is not None:
        assert (
            "int64 only(x) ;" in text
            and "int64 time ;" in text
            and "empty = UNLIMITED ; // (0 currently)" in text
            and "group: b {" in text
            and 'plane =\n  "abc",\n  "def" ;' in text
        )


@pytest.mark.parametrize(
    "name, stored",
    [("_x", "_x"), ("2m", "2m"), ("a b", "a b"), ("e\u0301", "\u00e9"), ("ä°", "ä°"), ("a.b-c+d@e", "a.b-c+d@e"), ("DIMENSION_LIST2", "DIMENSION_LIST2")],
)
def test_names_that_need_care(tmp_path: pathlib.Path, name: str, stored: str) -> None:
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension(name, 2)
        f.create_variable(name, [name], data=[1, 2], attrs={name: 3})
        f.create_group("g_" + name).create_variable("v", [name], data=[3, 4])
    with netCDF4.Dataset(tmp_path / "x.nc", "a") as f:
        assert list(f.variables) == list(f.dimensions) == [stored] and f[stored][:].tolist() == [1, 2] and f[stored].getncattr(stored) == 3
        assert f.groups["g_" + stored]["v"].dimensions == (stored,)


@pytest.mark.parametrize(
    "define, words",
    [
        (lambda f: f.create_dimension("a\0"), "'a\\x00' as the name of a dimension"),
        (lambda f: f.create_variable("a ", ()), "do not end with a space"),
        (lambda f: f.create_variable("-a", ()), "as the name of a variable"),
        (lambda f: f.create_group(""), "as the name of a group"),
        (lambda f: f.create_dimension("x" * 257), "256 bytes"),
        (lambda f: f.attrs.update({"a/b": 1}), "'a/b' as the name of a attribute"),
        (lambda f: (f.create_variable("v", ()), f.create_dimension("v", 2)), "create a dimension before the variable of its name"),
        (lambda f: (f.create_variable("v", ()), f.create_variable("/v", ())), "there is a variable v already"),
        (lambda f: f.create_dimension("v", 2.5), "size 2.5"),
        (lambda f: f.create_variable("v", (), np.dtype([("a", "i4")])), "create_compound_type"),
        (lambda f: f.create_variable("v", (), h5py.enum_dtype({"a": 1})), "create_enum_type"),
        (lambda f: f.create_variable("v", (), h5py.vlen_dtype("i4")), "create_vlen_type"),
        (lambda f: f.create_compound_type("t", [("a", "c8")]), "complex64"),
        (lambda f: f.create_compound_type("t", [("a", "?")]), "bool"),
        (lambda f: f.create_compound_type("t", [("a", "O")]), "variable length"),
        (lambda f: f.create_compound_type("t", [("a", [("b", "i4")])]), "create the type of the field first"),
        (lambda f: f.create_compound_type("t", "i4"), "no fields"),
        (lambda f: f.create_enum_type("t", "f4", {"a": 1}), "give an integer type"),
        (lambda f: f.create_enum_type("t", "u1", {"a": 256}), "uint8 cannot hold"),
        (lambda f: f.create_enum_type("t", "u1", {"a": 1, "b": 1}), "two names for one value"),
        (lambda f: f.create_variable("v", (), f.create_enum_type("t", "u1", {"a": 1}), 2), "2 is none of the values"),
        (
            lambda f: f.create_variable("v", (), f.create_compound_type("t", [("a", "S2"), ("b", "i1")]), np.array((b"abc", 1), [("a", "S3"), ("b", "i1")])),
            "text of 3 bytes for 2",
        ),
        (lambda f: f.create_variable("v", (), f.create_compound_type("t", [("b", "i1")]), np.array((300,), [("b", "i4")])), "300 does not fit"),
        (lambda f: f.create_opaque_type("t", 0), "0 bytes"),
        (lambda f: (f.create_opaque_type("t", 1), f.create_opaque_type("t", 2)), "a type t already"),
        (lambda f: f.createVariable("v", "f4", least_significant_digit=3), "least_significant_digit=3"),
    ],
)
def test_what_netcdf_has_not_is_refused_by_name(tmp_path: pathlib.Path, define: Any, words: str) -> None:
    with pytest.raises(hs.Error, match=re.escape(words)), hs.create_netcdf(tmp_path / "x.nc") as f:
        define(f)
    assert list(tmp_path.iterdir()) == []
