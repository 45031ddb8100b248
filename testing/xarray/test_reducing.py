"""`dataset.hyperslab.reduce` gives what xarray's methods give of loaded values."""

from __future__ import annotations

import pathlib

import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hyperslab.xarray import reducing

HOW = ("count", "sum", "mean", "min", "max", "std", "var")


@pytest.fixture
def files(tmp_path: pathlib.Path) -> list[str]:
    """Two files that follow each other in time, with variables of all kinds."""
    rng = np.random.default_rng(1)
    for number in range(2):
        with netCDF4.Dataset(tmp_path / f"{number}.nc", "w") as f:
            for name, extent in (("time", None), ("lat", 7), ("lon", 11)):
                f.createDimension(name, extent)
            time = f.createVariable("time", "i4", ("time",))
            time.units = "days since 2001-01-01"
            time[:] = np.arange(5) + 5 * number
            f.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-60, 60, 7)
            f.createVariable("area", "f8", ("lat", "lon"))[:] = np.arange(77.0).reshape(7, 11)
            grid = ("time", "lat", "lon")
            single = rng.normal(280, 20, (5, 7, 11)).astype("f4")
            single[rng.random(single.shape) < 0.3] = np.nan
            single[:, 2, 3] = np.nan
            f.createVariable("single", "f4", grid, chunksizes=(2, 4, 5), zlib=True)[:] = single
            double = f.createVariable("double", "f8", grid, fill_value=-1e30)
            double.units = "K"
            double[:] = np.ma.masked_less(rng.normal(0, 1e3, (5, 7, 11)), -800)
            packed = f.createVariable("packed", "i2", grid, fill_value=-9999)
            packed.scale_factor, packed.add_offset = 0.01, 250.0
            packed[:] = np.ma.masked_less(rng.normal(260, 5, (5, 7, 11)), 255)
            f.createVariable("whole", "i4", grid)[:] = rng.integers(-(2**31), 2**31, (5, 7, 11))
            f.createVariable("bytes", "u1", ("lat", "lon"))[:] = np.arange(77).reshape(7, 11) * 3
            f.createVariable("flag", str, ("lat",))[:] = np.array(list("abcdefg"), dtype=object)
            f.createVariable("alone", "f8", ())[...] = 3
        with xr.open_dataset(tmp_path / f"{number}.nc") as check:
            assert set(check.variables) > {"single", "flag"}
    return [str(tmp_path / "0.nc"), str(tmp_path / "1.nc")]


def same(found: xr.Dataset, wanted: xr.Dataset) -> None:
    xr.testing.assert_allclose(found, wanted, rtol=2e-6)
    assert list(found.data_vars) == list(wanted.data_vars) and set(found.coords) == set(wanted.coords) and found.attrs == wanted.attrs
    for name, variable in found.variables.items():
        assert variable.dtype == wanted[name].dtype and variable.attrs == wanted[name].attrs and variable.dims == wanted[name].dims, name


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("options", [{}, {"fused_decoding": True}])
def test_results_are_those_of_xarray(files: list[str], how: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "_BLOCK_BYTES", 300)
    for dim in (None, "time", ["lat", "lon"], ["lon", "time"], ...):
        with xr.open_dataset(files[0], engine="hyperslab", **options) as lazy, xr.open_dataset(files[0]) as loaded:
            numbers = ["time", "lat", "area", "single", "double", "packed", "whole", "bytes", "alone"]
            same(lazy[numbers].hyperslab.reduce(how, dim), getattr(loaded[numbers].load(), how)(dim))
            assert not lazy["single"]._in_memory


@pytest.mark.parametrize("how", HOW)
def test_many_files_and_selections(files: list[str], how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "_BLOCK_BYTES", 1000)
    names = ["single", "double", "packed", "whole"]
    lazy = hs.open_mfdataset(files)[names]
    loaded = xr.concat([xr.open_dataset(file)[names].load() for file in files], "time")
    for part in ({}, {"time": slice(3, 8), "lon": slice(None, None, -2)}, {"lat": 2}, {"lat": [5, 0], "time": [9, 1, 1]}):
        same(lazy.isel(part).hyperslab.reduce(how, "time"), getattr(loaded.isel(part), how)("time"))


def test_texts_times_and_what_is_in_memory_are_left_to_xarray(files: list[str]) -> None:
    with xr.open_dataset(files[0], engine="hyperslab") as lazy:
        same(lazy.hyperslab.reduce("mean", "lon"), lazy.load().mean("lon"))
    with xr.open_dataset(files[0], engine="hyperslab") as lazy:
        warmer = lazy[["single", "area"]] + 1
        same(warmer.hyperslab.reduce("max"), warmer.load().max())
        empty = lazy[["single"]].isel(time=slice(0, 0))
        assert np.isnan(empty.hyperslab.reduce("mean", "time")["single"]).all()


def test_what_is_refused(files: list[str]) -> None:
    with xr.open_dataset(files[0], engine="hyperslab") as lazy:
        with pytest.raises(hs.InvalidInputError, match="median"):
            lazy.hyperslab.reduce("median")
        with pytest.raises(hs.InvalidInputError, match="no dimension 'depth'"):
            lazy.hyperslab.reduce("mean", "depth")
