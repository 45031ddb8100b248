"""Bounds without units of their own count from the date of their coordinate, in each way to join files. Judge: netCDF4 and cftime, file by file; xarray for signs."""

from __future__ import annotations

import pathlib
from typing import Any

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr

UNITS = ("days since 2000-01-01", "days since 2000-01-03", "hours since 2000-01-05 00:00:00")
#: Counts of each file in its units: days, or hours that are whole days.
STEPS = (1, 1, 24)


def write(folder: pathlib.Path, dtype: str, name: str, own_units: bool) -> list[pathlib.Path]:
    paths = []
    for number, (units, step) in enumerate(zip(UNITS, STEPS, strict=True)):
        paths.append(folder / f"{number}.nc")
        with netCDF4.Dataset(paths[-1], "w") as f:
            f.createDimension("time", None)
            f.createDimension("nv", 2)
            time = f.createVariable("time", dtype, ("time",))
            time.units, time.calendar = units, "standard"
            time.setncattr(name, "time_cells")
            time[:] = [0, step]
            cells = f.createVariable("time_cells", dtype, ("time", "nv"))
            if own_units:
                cells.units, cells.calendar = units, "standard"
            cells[:] = [[0, step], [step, 2 * step]]
    return paths


def dates(values: Any, units: str) -> list[list[str]]:
    return [[str(one) for one in row] for row in cftime.num2date(np.asarray(values, "f8"), units, "standard", only_use_cftime_datetimes=True)]


def expected(paths: list[pathlib.Path]) -> list[list[str]]:
    found = []
    for path in paths:
        with netCDF4.Dataset(path) as f:
            found += dates(f["time_cells"][:], f["time"].units)
    return found


@pytest.mark.parametrize("own_units", [False, True], ids=["inherited", "own"])
@pytest.mark.parametrize("name", ["bounds", "climatology"])
@pytest.mark.parametrize("dtype", ["f8", "i4", "i8"])
def test_bounds_go_on_as_their_coordinate_does(dtype: str, name: str, own_units: bool, tmp_path: pathlib.Path) -> None:
    # The third file counts in hours, so whole days of the first.
    paths = write(tmp_path, dtype, name, own_units)
    right = expected(paths)
    with hs.joined(paths) as whole:
        assert dates(whole["time_cells"][...], UNITS[0]) == right and whole["time"].attrs["units"] == UNITS[0].encode()
        assert [[str(one)[:19].replace("T", " ") for one in row] for row in whole["time_cells"].decoded[...]] == right
    hs.merge(paths, tmp_path / "merged.nc")
    hs.virtual(paths, tmp_path / "virtual.nc")
    for made in ("merged.nc", "virtual.nc"):
        with netCDF4.Dataset(tmp_path / made) as f:
            assert dates(f["time_cells"][:], f["time"].units) == right, made
    opened = hs.open_mfdataset(paths)
    assert [[str(one)[:19].replace("T", " ") for one in row] for row in opened["time_cells"].values] == right


def test_bounds_inherit_in_each_mode(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "new.nc") as f:
        f.create_dimension("time", 2)
        f.create_dimension("nv", 2)
        time = f.create_variable("time", ["time"], "f8", data=[0.5, 1.5])
        time.attrs.update(units="days since 2000-01-01", bounds="cells")
        cells = f.create_variable("cells", ["time", "nv"], "f8", data=[[0, 1], [1, 2]])
        assert cells.decoded[0, 1] == np.datetime64("2000-01-02")
    for mode in ("r", "r+"):
        with hs.open(tmp_path / "new.nc", mode) as f:
            assert f["cells"].decoded.dtype == np.dtype("M8[ns]") and f["cells"].decoded[1, 1] == np.datetime64("2000-01-03")


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        ("hours since 2000-01-01", "hours since 2000-01-02", False),
        ("hours since 2000-01-01", "hours since 2000-01-01 00:00:00", True),
        ("degrees_north", "degree_N", True),
        ("hPa", "Pa", False),
        ("meter", "meters", True),
        ("ms", "m", False),
        ("s", "", False),
        ("mPas", "mPa", False),
    ],
)
def test_coordinates_are_equal_if_they_mean_the_same(one: str, other: str, is_equal: bool, tmp_path: pathlib.Path) -> None:
    for number, units in enumerate((one, other)):
        with netCDF4.Dataset(tmp_path / f"{number}.nc", "w") as f:
            f.createDimension("x", 2)
            f.createDimension("z", 3)
            f.createVariable("x", "f8", ("x",))[:] = [2 * number, 2 * number + 1]
            z = f.createVariable("z", "f8", ("z",))
            z.units, z[:] = units, [0, 1, 2]
            f.createVariable("v", "f8", ("x", "z"))[:] = number
    paths = [tmp_path / "0.nc", tmp_path / "1.nc"]
    if is_equal:
        assert hs.open_mfdataset(paths, concat_dim="x")["v"].shape == (4, 3)
    else:
        with pytest.raises(hs.ConflictError, match="/z has"):
            hs.open_mfdataset(paths, concat_dim="x")


@pytest.mark.parametrize(
    ("kind", "stored", "meant"), [("u1", [0, 128, 255, 7], "i1"), ("u2", [0, 32768, 65535, 7], "i2"), ("u4", [0, 2**31, 2**32 - 1, 7], "i4")]
)
def test_unsigned_false_means_signed_values(kind: str, stored: list[int], meant: str, tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "u.nc", "w") as f:
        f.createDimension("x", 4)
        v = f.createVariable("v", kind, ("x",))
        v.set_auto_maskandscale(False)
        v.setncattr("_Unsigned", "false")
        v[:] = stored
    right = np.asarray(stored, kind).view(meant).tolist()
    assert xr.load_dataset(tmp_path / "u.nc", engine="netcdf4")["v"].values.tolist() == right
    with hs.open(tmp_path / "u.nc") as f:
        assert f["v"].decoded[...].tolist() == right
        assert f.table("/v").to_arrow()["v"].to_pylist() == right
        assert hs.sql("select count(*) from v where v < 0", f).fetchall() == [(2,)]
