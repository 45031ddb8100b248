"""The netCDF-4 flavour: netCDF4-python, ncdump, xarray and h5py read it without complaint."""

from __future__ import annotations

import pathlib

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray
from compare import compare


def test_netcdf4_reads_dimensions_variables_and_fill_values(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.nc"
    data = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None)
        f.create_dimension("lat", 3)
        f.create_dimension("lon", 4)
        f.create_dimension("g/inner", 5)
        f.create_variable("time", ["time"], data=np.array([1, 2], "i4"), attrs={"units": "days since 2000-01-01"})
        f.create_variable("lat", ["lat"], data=[10.0, 20.0, 30.0], attrs={"units": "degrees_north"})
        f.create_variable(
            "t2m", ["time", "lat", "lon"], "f4", data, fill_value=-999, compression="gzip", shuffle=True, attrs={"units": "K", "flags": np.array([1, 2], "i2")}
        )
        f.create_variable("label", ["lat"], str, ["a", "bä", ""])
        f.create_variable("g/x", ["inner", "lat"], "i8", fill_value=-1)
        f.create_variable("scalar", (), "u2", 7)
        f.attrs["title"] = "a test"
    with netCDF4.Dataset(path) as f:
        assert {name: (len(d), d.isunlimited()) for name, d in f.dimensions.items()} == {"time": (2, True), "lat": (3, False), "lon": (4, False)}
        assert f["t2m"].dimensions == ("time", "lat", "lon") and f["g/x"].dimensions == ("inner", "lat") and f["g"].dimensions["inner"].size == 5
        assert f["t2m"]._FillValue == -999 and f["t2m"].units == "K" and f["t2m"].flags.tolist() == [1, 2] and f.title == "a test"
        f.set_auto_mask(False)
        assert (f["t2m"][:] == data).all() and f["label"][:].tolist() == ["a", "bä", ""] and (f["g/x"][:] == -1).all() and f["scalar"][...] == 7
        assert f["lat"][:].tolist() == [10, 20, 30] and sorted(f.variables) == ["label", "lat", "scalar", "t2m", "time"]
        assert netCDF4.num2date(f["time"][0], f["time"].units).day == 2
    if (text := dump_tools.run("ncdump", path)) is not None:
        for words in ("time = UNLIMITED ; // (2 currently)", "_FillValue = -999.f", "8, 9, 10, 11", '"a", "bä"', "scalar = 7 ;", "group: g {"):
            assert words in text, text
    with xarray.open_dataset(path, engine="netcdf4") as f:
        assert f["t2m"].dims == ("time", "lat", "lon") and str(f["time"].values[0])[:10] == "2000-01-02"
    with h5py.File(path) as f:
        assert f["t2m"].dims[1][0] == f["lat"] and f["lat"].is_scale and not f["t2m"].is_scale
        assert f["t2m"].dims[2][0].name == "/lon" and f.attrs["_NCProperties"].startswith(b"version=2,hyperslab=")
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    ours = hs.open(path)
    assert ours["t2m"].dims == ("time", "lat", "lon") and sorted(ours.keys()) == ["g", "label", "lat", "scalar", "t2m", "time"]
    # The library adds to it: the bookkeeping is sound enough to be changed.
    with netCDF4.Dataset(path, "r") as f:
        assert f.data_model == "NETCDF4"


def test_an_xarray_dataset_comes_back(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "xarray.nc"
    data = np.random.default_rng(1).normal(size=(4, 3))
    data[1, 1] = np.nan
    dataset = xarray.Dataset(
        {"t2m": (("time", "station"), data, {"units": "K"}), "count": (("station",), np.array([1, 2, 3], "i2")), "ok": (("time",), [True, False, True, True])},
        coords={"time": pd.date_range("2001-02-03", periods=4, freq="6h"), "station": ["a", "b", "ç"], "height": 2.0},
        attrs={"title": "stations"},
    )
    hs.to_netcdf(dataset, path, unlimited_dims=["time"], compression="zstd")
    with xarray.open_dataset(path, engine="netcdf4") as f:
        xarray.testing.assert_identical(f.load().drop_encoding(), dataset)
    with netCDF4.Dataset(path) as f:
        assert f.dimensions["time"].isunlimited()
    hs.to_netcdf(dataset["count"], tmp_path / "one.nc")
    with xarray.open_dataset(tmp_path / "one.nc", engine="netcdf4") as f:
        assert f["count"].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "write, error, words",
    [
        (lambda f: f.create_variable("x", ["nowhere"]), hs.InvalidInputError, "no dimension nowhere"),
        (lambda f: (f.create_dimension("x", 3), f.create_dimension("x", 3)), hs.InvalidInputError, "already"),
        (lambda f: (f.create_dimension("x", 3), f.create_variable("y", ["x"], data=[1, 2])), hs.InvalidInputError, "shape"),
        (lambda f: f.create_variable("x", (), "c8"), hs.UnsupportedError, "complex64 in netCDF-4"),
        (lambda f: f.create_variable("x", (), "f2"), hs.UnsupportedError, "float16"),
        (lambda f: f.create_variable("x", (), "f4", attrs={"_FillValue": 1}), hs.InvalidInputError, "fill_value="),
    ],
)
def test_what_netcdf_has_not_is_refused_by_name(tmp_path: pathlib.Path, write, error, words: str) -> None:
    with pytest.raises(error, match=words), hs.create_netcdf(tmp_path / "out.nc") as f:
        write(f)
    assert list(tmp_path.iterdir()) == []
