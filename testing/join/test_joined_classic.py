"""Many netCDF classic files as one, judged by xarray's open_mfdataset over netCDF4 and scipy, and by numpy."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr


def write_part(path: pathlib.Path, first: int, count: int, form: str = "NETCDF3_CLASSIC", **changes: Any) -> None:
    """Some records of all types, whose lengths are padded to 4 bytes, next to variables without records."""
    random = np.random.default_rng(first)
    with netCDF4.Dataset(path, "w", format=form) as f:
        f.createDimension("time", changes.get("unlimited") if "unlimited" in changes else None)
        f.createDimension("lat", 3)
        f.createDimension("word", 5)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time[:] = changes.get("units", "days since 2000-01-01"), np.arange(first, first + count)
        f.createVariable("lat", "f4", ("lat",))[:] = changes.get("lat", [10, 20, 30])
        f.createVariable("byte", "i1", ("time",))[:] = random.integers(-9, 9, count)
        f.createVariable("bytes3", "i1", ("time", "lat"))[:] = random.integers(-9, 9, (count, 3))
        packed = f.createVariable("packed", "i2", ("time", "lat"), fill_value=-99)
        packed.scale_factor, packed.add_offset = 0.5, 100.0
        packed[:] = np.ma.masked_equal(random.integers(0, 5, (count, 3)), 0) / 2 + 100
        f.createVariable("label", "S1", ("time", "word"))[:] = random.choice(np.array(list("abcde"), "S1"), (count, 5))
        f.createVariable("wide", "f8", ("lat", "word"))[:] = np.arange(15).reshape(3, 5)
        f.createVariable("number", "i4", ())[...] = 7
        if form == "NETCDF3_64BIT_DATA":
            f.createVariable("long", "u8", ("time",))[:] = np.arange(first, first + count, dtype="u8") + (1 << 40)
        f.createVariable("t2m", "f4", ("time", "lat"))[:] = np.arange(first * 3, (first + count) * 3).reshape(count, 3)
        f.title, f.part = "run", first


PARTS = [(0, 3), (3, 1), (4, 5), (9, 2)]


@pytest.fixture(params=["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def parts(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> list[pathlib.Path]:
    paths = [tmp_path / f"part{number}.nc" for number in range(len(PARTS))]
    for path, (first, count) in zip(paths, PARTS, strict=True):
        write_part(path, first, count, request.param)
    return paths


def stored(ds: xr.Dataset) -> dict[str, np.ndarray[Any, Any]]:
    return {name: ds[name].values for name in ds.variables}


def test_values_along_the_unlimited_dimension(parts: list[pathlib.Path]) -> None:
    whole = hs.open(parts)
    options = {"mask_and_scale": False, "decode_times": False, "decode_cf": False, "data_vars": "minimal", "combine": "nested", "concat_dim": "time"}
    judges = ["netcdf4"] if "NETCDF3_64BIT_DATA" in netCDF4.Dataset(parts[0]).data_model else ["netcdf4", "scipy"]
    for engine in judges:
        with xr.open_mfdataset(parts, engine=engine, coords="minimal", compat="override", **options) as expected:
            assert sorted(whole) == sorted([*expected.variables, "word"])
            values_of = stored(expected)
            for name, values in values_of.items():
                assert whole[name].dims == expected[name].dims, name
                assert whole[name].shape == values.shape
                np.testing.assert_array_equal(whole[name][...], values, err_msg=f"{engine} {name}")
            for key in (np.s_[2:9, 1], np.s_[::3, ::2], np.s_[-1], np.s_[[0, 3, 8]], np.s_[4:4]):
                for name in ("bytes3", "packed", "t2m", "label"):
                    np.testing.assert_array_equal(whole[name][key], values_of[name][key], err_msg=f"{name} {key}")
    assert whole.attrs["title"] == b"run" and "part" not in whole.attrs
    with xr.open_mfdataset(parts, engine="netcdf4", data_vars="minimal", coords="minimal", compat="override") as decoded:
        np.testing.assert_array_equal(whole["packed"].decoded[...], decoded["packed"].values)
        np.testing.assert_array_equal(whole["time"].decoded[...], decoded["time"].values)
    table = whole.table("t2m", "t2m > 20").to_pandas()
    assert len(table) == 12 and table["t2m"].min() == 21
    with hs.joined(parts, concat_dim="time") as joined:
        again = pickle.loads(pickle.dumps(joined))
        np.testing.assert_array_equal(again["byte"][:], whole["byte"][:])
        assert joined.sources == [str(path) for path in parts] and joined.left_out == []


def test_a_new_dimension(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / f"run{number}.nc" for number in range(3)]
    for number, path in enumerate(paths):
        write_part(path, 0, 4, lat=[number, 20, 30])
    with pytest.raises(hs.ConflictError, match="/lat has other values"):
        hs.joined(paths, new_dim="run")
    whole = hs.joined(paths, new_dim="run", compat="override", labels=lambda f: int(f["number"][()]) + int(f["lat"][0]))
    assert whole["t2m"].shape == (3, 4, 3) and whole["t2m"].dims == ("run", "time", "lat") and whole["number"].dims == ("run",)
    np.testing.assert_array_equal(whole["run"][:], [7, 8, 9])
    for number, path in enumerate(paths):
        with netCDF4.Dataset(path) as there:
            there.set_auto_maskandscale(False)
            for name in ("t2m", "packed", "label", "wide", "bytes3"):
                np.testing.assert_array_equal(whole[name][number], there[name][...], err_msg=name)


def test_dimensions_without_variables(tmp_path: pathlib.Path) -> None:
    for number, length in enumerate((2, 3)):
        with netCDF4.Dataset(tmp_path / f"p{number}.nc", "w", format="NETCDF3_CLASSIC") as f:
            f.createDimension("record", None)
            f.createDimension("y", 2)
            f.createVariable("v", "i2", ("record", "y"))[:] = np.full((length, 2), number)
            f.createVariable("only", "i2", ("record",))[:] = np.full(length, number)
    for whole in (hs.joined([tmp_path / "p0.nc", tmp_path / "p1.nc"]), hs.joined(f"{tmp_path}/p?.nc", concat_dim="record")):
        np.testing.assert_array_equal(whole["v"][:], np.repeat([[0, 0], [1, 1]], (2, 3), axis=0))
        np.testing.assert_array_equal(whole["only"][:], [0, 0, 1, 1, 1])
        assert whole["v"].dims == ("record", "y")
    with pytest.raises(hs.InvalidInputError, match="is an object of the files already"):
        hs.joined([tmp_path / "p0.nc", tmp_path / "p1.nc"], new_dim="record")


def test_what_does_not_fit_is_an_error_that_names_both(tmp_path: pathlib.Path) -> None:
    write_part(tmp_path / "a.nc", 0, 2)
    write_part(tmp_path / "b.nc", 2, 2, units="days since 2000-02-01")
    whole = hs.joined([tmp_path / "a.nc", tmp_path / "b.nc"])
    np.testing.assert_array_equal(whole["time"][:], [0, 1, 33, 34])
    write_part(tmp_path / "other.nc", 4, 2, lat=[1, 2, 3])
    with pytest.raises(hs.ConflictError, match=r"/lat has other values than in .*a\.nc"):
        hs.joined([tmp_path / "a.nc", tmp_path / "other.nc"], concat_dim="time")
    write_part(tmp_path / "hdf5.nc", 2, 2, "NETCDF4")
    with pytest.raises(hs.ConflictError, match=r"a\.nc is netCDF classic and .*hdf5\.nc is not"):
        hs.joined([tmp_path / "a.nc", tmp_path / "hdf5.nc"], concat_dim="time")
    with pytest.raises(hs.ConflictError, match=r"a\.nc is netCDF classic and .*hdf5\.nc is not"):
        hs.joined([tmp_path / "hdf5.nc", tmp_path / "a.nc"], concat_dim="time")
    left = hs.joined([tmp_path / "a.nc", tmp_path / "hdf5.nc"], concat_dim="time", misfits="leave_out")
    assert left["t2m"].shape == (2, 3) and len(left.left_out) == 1
    for write in (hs.virtual, hs.merge):
        with pytest.raises(hs.UnsupportedError, match="netCDF classic"):
            write([tmp_path / "a.nc", tmp_path / "b.nc"], tmp_path / "out.nc")
        assert not (tmp_path / "out.nc").exists()
