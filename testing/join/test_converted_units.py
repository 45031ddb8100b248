"""Coordinates in other units: equal if their values are, once that is asked for; UDUNITS says how units are converted."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import cf_units
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr

LEVELS = np.array([1000.0, 850.0, 512.3, 10.0])


def write(path: pathlib.Path, start: int, unit: str, levels: np.ndarray, dtype: str = "f8") -> str:
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("plev", len(levels))
        f.createVariable("time", "i4", ("time",))[:] = [start, start + 1]
        f["time"].units = "days since 2000-01-01"
        f.createVariable("plev", dtype, ("plev",))[:] = levels
        f["plev"].units = unit
        f.createVariable("t", "f4", ("time", "plev"))[:] = np.arange(8.0).reshape(2, 4) + start
    return str(path)


def joined(files: list[str], out: pathlib.Path, **options: object) -> tuple[np.ndarray, np.ndarray, str]:
    with hs.joined(files, **options) as f:
        return f["t"][...], f["plev"][...], str(f["plev"].attrs["units"], "utf-8")


def virtual(files: list[str], out: pathlib.Path, **options: object) -> tuple[np.ndarray, np.ndarray, str]:
    hs.virtual(files, out, "w", **options)
    with netCDF4.Dataset(out) as f:
        return np.asarray(f["t"][...]), np.asarray(f["plev"][...]), f["plev"].units


def merged(files: list[str], out: pathlib.Path, **options: object) -> tuple[np.ndarray, np.ndarray, str]:
    hs.merge(files, out, "w", **options)
    with netCDF4.Dataset(out) as f:
        return np.asarray(f["t"][...]), np.asarray(f["plev"][...]), f["plev"].units


def mfdataset(files: list[str], out: pathlib.Path, **options: object) -> tuple[np.ndarray, np.ndarray, str]:
    with hs.open_mfdataset(files, **options) as f:
        return f["t"].values, f["plev"].values, f["plev"].units


DOORS = (joined, virtual, merged, mfdataset)
Door = Callable[..., tuple[np.ndarray, np.ndarray, str]]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize(("one", "other", "dtype"), [("hPa", "Pa", "f8"), ("Pa", "hPa", "f4"), ("degC", "K", "f8"), ("m", "km", "f4"), ("K", "degF", "f8")])
def test_equal_levels_are_one_coordinate(tmp_path: pathlib.Path, door: Door, one: str, other: str, dtype: str) -> None:
    levels = cf_units.Unit(one).convert(LEVELS, other)
    files = [write(tmp_path / "a.nc", 0, one, LEVELS), write(tmp_path / "b.nc", 2, other, levels, dtype)]
    with pytest.raises(hs.ConflictError, match="plev has (other values|another attribute)"):
        door(files, tmp_path / "out.nc", concat_dim="time")
    values, coordinate, unit = door(files, tmp_path / "out.nc", concat_dim="time", convert_units=True)
    parts = [xr.open_dataset(file)["t"].values for file in files]
    np.testing.assert_array_equal(values, np.concatenate(parts))
    np.testing.assert_array_equal(coordinate, LEVELS)
    assert unit == one


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize(
    ("unit", "levels"),
    [
        ("Pa", LEVELS),  # equal numbers of other units
        ("Pa", LEVELS * 100 * (1 + 1e-9)),
        ("K", LEVELS * 100),
        ("no unit", LEVELS * 100),
        ("Pa", np.array([np.nan, *LEVELS[1:] * 100])),
    ],
)
def test_other_levels_are_refused(tmp_path: pathlib.Path, door: Door, unit: str, levels: np.ndarray) -> None:
    files = [write(tmp_path / "a.nc", 0, "hPa", LEVELS), write(tmp_path / "b.nc", 2, unit, levels)]
    with pytest.raises(hs.ConflictError, match="plev"):
        door(files, tmp_path / "out.nc", concat_dim="time", convert_units=True)


def test_the_dimension_of_a_converted_coordinate_does_not_differ(tmp_path: pathlib.Path) -> None:
    files = [write(tmp_path / "a.nc", 0, "hPa", LEVELS), write(tmp_path / "b.nc", 2, "Pa", LEVELS * 100)]
    with hs.joined(files, convert_units=True) as f:
        assert f["t"].shape == (4, 4)


def test_data_in_other_units_are_refused(tmp_path: pathlib.Path) -> None:
    files = [write(tmp_path / f"{name}.nc", start, "hPa", LEVELS) for name, start in (("a", 0), ("b", 2))]
    for file, unit in zip(files, ("K", "degC"), strict=True):
        with netCDF4.Dataset(file, "a") as f:
            f["t"].units = unit
    with pytest.raises(hs.ConflictError, match="t has another attribute units"):
        hs.joined(files, convert_units=True)
