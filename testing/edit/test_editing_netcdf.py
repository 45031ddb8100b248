"""Dimensions, variables and types that are added to existing netCDF-4 files, judged by netCDF4 and, for values, by h5py."""

from __future__ import annotations

import pathlib
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest


def made_by_netcdf4(path: pathlib.Path) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.title = "a run"
        f.createDimension("time", None)
        f.createDimension("x", 3)
        f.createDimension("bare", 2)
        f.createVariable("time", "f8", ("time",))[:] = [0.5, 1.5]
        f.createVariable("wind", "f4", ("time", "x"), zlib=True)[:] = np.arange(6).reshape(2, 3)
        f.createVariable("uses_bare", "i4", ("bare", "x"))[:] = 1
        group = f.createGroup("inner")
        group.createDimension("y", 4)
        group.createVariable("v", "i2", ("y",))[:] = range(4)


def made_by_us(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        f.attrs["title"] = "a run"
        f.create_dimension("time")
        f.create_dimension("x", 3)
        f.create_dimension("bare", 2)
        f.create_variable("time", ["time"], data=[0.5, 1.5])
        f.create_variable("wind", ["time", "x"], "f4", data=np.arange(6).reshape(2, 3), compression="gzip")
        f.create_variable("uses_bare", ["bare", "x"], "i4", data=np.ones((2, 3)))
        f.create_group("inner")
        f.create_dimension("inner/y", 4)
        f.create_variable("inner/v", ["y"], "i2", data=range(4))


@pytest.mark.parametrize("make", [made_by_netcdf4, made_by_us])
def test_netcdf4_reads_and_goes_on_with_what_was_added(tmp_path: pathlib.Path, make: Any) -> None:
    path = tmp_path / "a.nc"
    make(path)
    with hs.open(path, "r+") as f:
        assert {name: dim.size for name, dim in f.dimensions.items()} == {"time": None, "x": 3, "bare": 2}
        assert f["inner"].dimensions["y"].size == 4 and set(f.variables) == {"time", "wind", "uses_bare"}
        member = f.create_dimension("member", 5)
        assert member.size == 5 and not member.isunlimited()
        f.create_dimension("inner/step")
        rain = f.create_variable("rain", ["time", "member"], "f4", units="mm", fill_value=-1, compression="zstd", chunks=(2, 5))
        f["wind"].append(np.full((1, 3), 9))
        # Each variable is as long as the dimension.
        assert rain.shape == (3, 5) and rain[...].tolist() == [[-1] * 5] * 3
        rain[...] = np.arange(15.0).reshape(3, 5)
        # The coordinates of dimensions that had none before.
        f.create_variable("x", ["x"], data=[10, 20, 30], units="m")
        f.create_variable("bare", ["bare"], data=[7.0, 8.0])
        f["inner"].create_variable("steps", ["step", "x"], "i2", data=np.ones((2, 3), "i2"), attrs={"long_name": "steps"})
        f.createVariable("text", str, ("x",))[...] = ["a", "bc", "ü"]
        f.create_variable("when", ["x"], data=np.array(["2001-01-01", "2001-01-02", "2001-01-05"], "M8[s]"))
        f.create_variable("masked", ["x"], data=np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]))
        cloud = f.create_enum_type("cloud_t", "u1", {"clear": 0, "cloudy": 1})
        f.create_variable("cloud", ["x"], cloud, data=np.array([0, 1, 0], "u1"))
        f.create_variable("raw", ["x"], f.create_opaque_type("raw_t", 3), data=np.array([b"abc", b"\1\2\3", b"xyz"], "V3"))
        with pytest.raises(hs.InvalidInputError, match="0 bytes"):
            f.create_opaque_type("none_t", 0)
    with netCDF4.Dataset(path, "r+") as f:
        assert {name: (len(dim), dim.isunlimited()) for name, dim in f.dimensions.items()} == {
            "time": (3, True),
            "x": (3, False),
            "bare": (2, False),
            "member": (5, False),
        }
        assert f["inner"].dimensions["step"].isunlimited() and len(f["inner"].dimensions["step"]) == 2
        assert f["rain"].dimensions == ("time", "member") and f["rain"].units == "mm" and f["rain"]._FillValue == -1
        assert np.array_equal(f["rain"][:], np.arange(15.0).reshape(3, 5))
        assert f["x"].dimensions == ("x",) and f["x"][:].tolist() == [10, 20, 30] and f["bare"][:].tolist() == [7, 8]
        assert f["wind"].dimensions == ("time", "x") and f["wind"][2].tolist() == [9, 9, 9]
        assert f["uses_bare"].dimensions == ("bare", "x") and f["inner/steps"].dimensions == ("step", "x")
        assert f["text"][:].tolist() == ["a", "bc", "ü"] and f["cloud"][:].tolist() == [0, 1, 0]
        assert netCDF4.num2date(f["when"][2], f["when"].units).day == 5
        assert f["masked"][:].mask.tolist() == [False, True, False]
        assert f["cloud"].datatype.enum_dict == {"clear": 0, "cloudy": 1}
        # netCDF4 goes on.
        f.createDimension("later", 2)
        f.createVariable("after", "f8", ("time", "later"))[:] = 4
        f["rain"][3] = 5
    with hs.open(path, "r+") as f:
        f.create_variable("last", ["later"], data=[1, 2])
        assert f["after"].dims == ("time", "later") and f["rain"].shape == (4, 5)
        assert f["x"].dims == ("x",)
    with netCDF4.Dataset(path) as f:
        assert f["last"][:].tolist() == [1, 2] and len(f.dimensions["time"]) == 4
        assert [dim._dimid for dim in f.dimensions.values()] == sorted({dim._dimid for dim in f.dimensions.values()})
    if (text := dump_tools.run("ncdump", path)) is not None:
        assert "opaque(3) raw_t" in text and "raw = 0X616263, 0X010203, 0X78797A" in text, text
    with h5py.File(path) as f:
        assert f["raw"][:].tobytes() == b"abc\1\2\3xyz"
        assert f["wind"].dims[1][0] == f["x"] and f["last"].dims[0][0] == f["later"]
    assert hs.check(path).ok


def test_what_is_refused_leaves_the_file_as_it_was(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.nc"
    made_by_netcdf4(path)
    before = path.read_bytes()
    with hs.open(path, "r+") as f:
        for refused in (
            lambda: f.create_dimension("x", 4),
            lambda: f.create_dimension("wind", 4),
            lambda: f.create_dimension("n", -1),
            lambda: f.create_variable("wind", ["x"], "f4"),
            lambda: f.create_variable("new", ["nowhere"], "f4"),
            lambda: f.create_variable("new", ["x"], "f4", data=[1, 2]),
            lambda: f.create_variable("bare", ["bare"], data=["a", object()]),
            lambda: f.create_variable("new", ["x"], "f4", coordinates="nowhere"),
        ):
            with pytest.raises((hs.Error, TypeError, ValueError)):
                refused()
        f.roll_back()
    assert path.read_bytes() == before
    with hs.open(path, "r+") as f, pytest.raises((hs.Error, TypeError, ValueError)):
        f.create_variable("bare", ["bare"], str, data=[1, object()])
    with netCDF4.Dataset(path) as f:
        assert f["uses_bare"].dimensions == ("bare", "x") and "bare" not in f.variables


def test_a_plain_file_becomes_one_of_netcdf(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True):
        pass
    with hs.open(path, "r+") as f:
        f.create_dimension("time")
        f.create_variable("time", ["time"], "f8", units="days since 2001-01-01").append([0, 1])
    with netCDF4.Dataset(path) as f:
        assert f["time"][:].tolist() == [0, 1] and f.dimensions["time"].isunlimited()
    with h5py.File(path) as f:
        assert b"hyperslab" in f.attrs["_NCProperties"]
