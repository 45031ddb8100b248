"""create_netcdf writes what netCDF4-python would have written, and the netCDF library goes on from there."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
ATTRIBUTES: dict[str, Any] = {
    "ascii": "abc",
    "empty": "",
    "unicode": "ä°",
    "bytes": b"xy",
    "integer": 5,
    "real": 2.5,
    "small": np.int8(3),
    "array": np.array([1, 2], "u2"),
    "texts": ["a", "bä"],
    "list": [1.5, 2.5],
}


def stored(path: pathlib.Path, name: str) -> tuple[Any, ...]:
    """Datatype and extent of an attribute of the root as they are in the file."""
    with h5py.File(path) as f:
        attribute = f.attrs.get_id(name)
        type = attribute.get_type()
        text = (type.get_cset(), type.get_strpad(), type.is_variable_str()) if isinstance(type, h5py.h5t.TypeStringID) else ()
        return attribute.shape, attribute.dtype, type.get_size(), text


def test_attributes_are_stored_as_netcdf4_stores_them(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "ours.nc") as f, netCDF4.Dataset(tmp_path / "theirs.nc", "w") as g:
        x = f.create_variable("x", (), "i4")
        y = g.createVariable("x", "i4", ())
        f.create_group("g").attrs["title"] = "abc"
        for name, value in ATTRIBUTES.items():
            f.attrs[name] = x.attrs[name] = value
            g.setncattr(name, value)
            y.setncattr(name, value)
    for name in ATTRIBUTES:
        assert stored(tmp_path / "ours.nc", name) == stored(tmp_path / "theirs.nc", name), name
    with netCDF4.Dataset(tmp_path / "ours.nc") as f, netCDF4.Dataset(tmp_path / "theirs.nc") as g:
        assert f.ncattrs() == g.ncattrs() == list(ATTRIBUTES) and f["g"].title == "abc"
        for name in ATTRIBUTES:
            for ours, theirs in ((f, g), (f["x"], g["x"])):
                assert type(ours.getncattr(name)) is type(theirs.getncattr(name)), name
                np.testing.assert_array_equal(ours.getncattr(name), theirs.getncattr(name))
    ours, theirs = (dump_tools.run("ncdump", tmp_path / name) for name in ("ours.nc", "theirs.nc"))
    if ours is not None and theirs is not None:
        assert ':ascii = "abc"' in ours and "string :ascii" not in ours
        assert ours.replace("netcdf ours", "netcdf theirs").split("group: g")[0].strip() == theirs.rstrip("}\n ").strip()


def test_what_was_never_written_is_netcdfs_fill_value(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "ours.nc") as f, netCDF4.Dataset(tmp_path / "theirs.nc", "w") as g:
        f.create_dimension("x", 4)
        f.create_dimension("t", None)
        g.createDimension("x", 4)
        g.createDimension("t", None)
        for type in TYPES:
            f.create_variable(f"none_{type}", ["x"], type)
            f.create_variable(f"part_{type}", ["t", "x"], type)
            g.createVariable(f"none_{type}", type, ("x",))
            g.createVariable(f"part_{type}", type, ("t", "x"))[3, 1:3] = 1
            f.create_variable(f"rows_{type}", ["t", "x"], type, np.ones((2, 4), type))
            g.createVariable(f"rows_{type}", type, ("t", "x"))[:2] = 1
        for type in TYPES:
            part = f.variables[f"part_{type}"]
            part.resize((4, 4))
            part[3, 1:3] = 1
        f.create_variable("text", ["x"], str)
        f.create_variable("char", ["x"], "S1")
        g.createVariable("text", str, ("x",))
        g.createVariable("char", "S1", ("x",))
    with netCDF4.Dataset(tmp_path / "ours.nc") as f, netCDF4.Dataset(tmp_path / "theirs.nc") as g:
        assert list(f.variables) != [] and set(f.variables) == set(g.variables)
        for mask in (True, False):
            f.set_auto_mask(mask)
            g.set_auto_mask(mask)
            for name in g.variables:
                ours, theirs = f[name][:], g[name][:]
                assert ours.shape == theirs.shape and ours.dtype == theirs.dtype and "_FillValue" not in f[name].ncattrs(), name
                np.testing.assert_array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(theirs), name)
                np.testing.assert_array_equal(np.ma.getdata(ours), np.ma.getdata(theirs), name)


@pytest.mark.parametrize("fill, missing", [(None, None), (-5, None), (None, -7), (-5, -7)])
def test_masked_values_stay_missing(tmp_path: pathlib.Path, fill: Any, missing: Any) -> None:
    values = np.ma.array([[1, 2, 3], [4, 5, 6]], mask=[[0, 1, 0], [1, 0, 0]])
    attrs = {} if missing is None else {"missing_value": np.array(missing, "i2")}
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("t", None)
        f.create_dimension("x", 3)
        for type in ("i2", "f8", "i8"):
            f.create_variable(f"given_{type}", ["t", "x"], type, values, fill_value=fill, attrs=attrs)
            later = f.create_variable(f"later_{type}", ["t", "x"], type, fill_value=fill, attrs=attrs)
            later.append(values[:1])
            later.append(values[1:])
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        for name in f.variables:
            found = f[name][:]
            assert found.mask.tolist() == values.mask.tolist() and found.compressed().tolist() == values.compressed().tolist(), name


def test_masked_values_without_a_fill_value_are_refused(tmp_path: pathlib.Path) -> None:
    values = np.ma.array([1, 2], mask=[0, 1])
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("filled", data=values, fillvalue=-1)
        f["whole"] = np.ma.array([1, 2])
        for write in (
            lambda: f.create_dataset("x", data=values),
            lambda: f.attrs.create("x", values),
            lambda: f.create_dataset("y", (2,), "f8").__setitem__(slice(None), values),
        ):
            with pytest.raises(hs.InvalidInputError, match="masked"):
                write()
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["filled"][:].tolist() == [1, -1] and f["whole"][:].tolist() == [1, 2]
    with hs.create_netcdf(tmp_path / "x.nc") as g:
        g.create_dimension("x", 2)
        with pytest.raises(hs.InvalidInputError, match="give fill_value="):
            g.create_variable("x", ["x"], "i1", values)
        g.create_variable("y", ["x"], "i1", values, fill_value=-1)


def test_characters_are_characters(tmp_path: pathlib.Path) -> None:
    words = np.array([list("abc"), list("de ")], "S1")
    with hs.create_netcdf(tmp_path / "ours.nc") as f:
        f.create_dimension("n", 2)
        f.create_dimension("len", 3)
        f.create_variable("given", ["n", "len"], data=words)
        f.create_variable("typed", ["n", "len"], "S1", words.astype("U1"))
        f.create_variable("filled", ["n"], "c", fill_value="x", attrs={"_Encoding": "ascii"})
        f.create_variable("text", ["n"], "S5", [b"abc", b"de"])
    with netCDF4.Dataset(tmp_path / "ours.nc", "a") as f:
        f.set_auto_chartostring(False)
        f.set_auto_mask(False)
        assert f["given"].dtype == "S1" and f["given"][:].tolist() == f["typed"][:].tolist() == words.tolist()
        assert f["filled"][:].tolist() == [b"x", b"x"] and f["filled"]._FillValue == b"x" and f["text"][:].tolist() == ["abc", "de"]
        f["given"][1, 2] = b"f"
    with netCDF4.Dataset(tmp_path / "ours.nc") as f:
        assert netCDF4.chartostring(f["given"][:]).tolist() == ["abc", "def"]
    if (text := dump_tools.run("ncdump", tmp_path / "ours.nc")) is not None:
        assert "char given(n, len)" in text and '"def"' in text


def example(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        for name, size in {"time": None, "z": 2, "x": 3, "ens": None}.items():
            f.create_dimension(name, size)
        f.create_dimension("g/inner", 2)
        f.create_variable("time", ["time"], data=[0.0, 1.0], attrs={"units": "days since 2000-01-01"})
        f.create_variable("x", ["x"], data=np.array([1, 2, 3], "i4"))
        f.create_variable("t2m", ["time", "x"], "f4", np.arange(6.0).reshape(2, 3), fill_value=-999, attrs={"units": "K"}, compression="gzip", shuffle=True)
        f.create_variable("two", ["time", "ens"], "i2", [[1, 2], [3, 4]])
        f.create_variable("fixed", ["z", "x"], "i8")
        f.create_variable("label", ["x"], str, ["a", "b", "ä"])
        f.create_variable("scalar", (), "i4", 3)
        f.create_variable("g/v", ["inner", "x"], "f8", np.ones((2, 3)))
        f.attrs["title"] = "example"
        f.attrs["history"] = ""


@pytest.mark.parametrize("mode", ["a", "r+"])
def test_netcdf4_goes_on_with_our_files(tmp_path: pathlib.Path, mode: Any) -> None:
    path = tmp_path / "x.nc"
    example(path)
    with netCDF4.Dataset(path, mode) as f:
        f["time"][2:5] = [2, 3, 4]
        f["t2m"][2:5] = np.full((3, 3), 7.0)
        f["two"][1:3, 0:4] = 9
        f["fixed"][1] = [1, 2, 3]
        f["label"][0] = "a much longer label"
        f["scalar"][...] = 4
        f.title = "a much longer title than before, ä"
        f["t2m"].units = "degC"
        f["t2m"].long_name = "temperature"
        f.delncattr("history")
        f.createDimension("new", 4)
        f.createVariable("added", "f4", ("time", "new"), zlib=True)[:] = 1
        f.createVariable("new", "i4", ("new",))[:] = [1, 2, 3, 4]
        f.createGroup("h/deep").createVariable("w", "i4", ("x",))[:] = 5
        f.renameVariable("scalar", "one")
        f.renameDimension("z", "level")
        f["t2m"].renameAttribute("units", "unit")
        f["g"]["v"][0, 0] = 42
    for _ in range(2):
        with netCDF4.Dataset(path, mode) as f:
            f.set_auto_mask(False)
            assert f["time"][:].tolist() == [0, 1, 2, 3, 4] and f["t2m"][:].tolist() == [[0, 1, 2], [3, 4, 5]] + [[7, 7, 7]] * 3
            assert f["two"][:3].tolist() == [[1, 2, -32767, -32767], [9] * 4, [9] * 4]
            assert f["fixed"][1].tolist() == [1, 2, 3] and f["fixed"].dimensions == ("level", "x") and f["fixed"][0, 0] == -9223372036854775806
            assert f["label"][:].tolist() == ["a much longer label", "b", "ä"] and f["one"][...] == 4 and f["t2m"].unit == "degC"
            assert (
                f.title == "a much longer title than before, ä"
                and f.ncattrs() == ["title"]
                and f["added"].shape == (5, 4)
                and f["h/deep/w"][:].tolist() == [5] * 3
            )
            assert f["g/v"][0, 0] == 42 and list(f.variables)[:3] == ["time", "x", "t2m"] and list(f.dimensions)[:4] == ["time", "level", "x", "ens"]
    with hs.open(path) as ours, netCDF4.Dataset(path) as theirs:
        theirs.set_auto_mask(False)
        # netCDF4 reads garbage where a variable ends before two dimensions without limit, in its own files too.
        assert ours["two"][:3].tolist() == theirs["two"][:3].tolist()
        for name in ("time", "t2m", "fixed", "added"):
            np.testing.assert_array_equal(ours[name][...], theirs[name][...])
    if (text := dump_tools.run("ncdump", path)) is not None:
        assert 'title = "a much longer title' in text and "time = UNLIMITED ; // (5 currently)" in text


def test_redefinition_one_step_at_a_time(tmp_path: pathlib.Path) -> None:
    """A record a session, as models do it."""
    path = tmp_path / "x.nc"
    example(path)
    for step in range(2, 30):
        with netCDF4.Dataset(path, "a") as f:
            f["time"][step] = step
            f["t2m"][step] = step
            f.setncattr(f"note{step}", f"step {step}")
    with netCDF4.Dataset(path) as f:
        assert f["time"][:].tolist() == list(range(30)) and f["t2m"][2:, 1].tolist() == list(range(2, 30)) and f.note29 == "step 29"


def test_xarray_adds_to_our_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.nc"
    first = xarray.Dataset(
        {"a": (("time", "x"), np.arange(6.0).reshape(2, 3))}, coords={"time": pd.date_range("2000", periods=2), "x": [1, 2, 3]}, attrs={"title": "first"}
    )
    hs.to_netcdf(first, path, unlimited_dims=["time"])
    second = xarray.Dataset({"b": (("x",), np.array([1, 2, 3], "i2"))}, coords={"x": [1, 2, 3]}, attrs={"more": "ä"})
    second.to_netcdf(path, mode="a", engine="netcdf4")
    with xarray.open_dataset(path, engine="netcdf4") as f:
        np.testing.assert_array_equal(f["a"].values, first["a"].values)
        assert (
            f["b"].values.tolist() == [1, 2, 3]
            and f["time"].values.tolist() == first["time"].values.tolist()
            and f.attrs["title"] == "first"
            and f.attrs["more"] == "ä"
        )


@pytest.mark.parametrize(
    "value, words",
    [
        (True, "bool"),
        (np.float16(1), "float16"),
        (1j, "complex128"),
        ([[1, 2], [3, 4]], "one dimension"),
        ("a\0b", "NUL"),
        (np.datetime64("2000"), "datetime64"),
        (None, "of the type NoneType"),
        (["a", None], "of the type NoneType"),
        ({"a": 1}, "of the type dict"),
        (datetime.date(2000, 1, 1), "of the type date"),
    ],
)
def test_attributes_that_netcdf_has_not_are_refused(tmp_path: pathlib.Path, value: Any, words: str) -> None:
    with pytest.raises(hs.Error, match=words), hs.create_netcdf(tmp_path / "x.nc") as f:
        f.attrs["x"] = value
