"""Dates, durations and truth values with fused_decoding=True: the same dtypes, attributes, encoding and values as xarray's own decoding."""

from __future__ import annotations

import itertools
import pathlib
import pickle
import warnings
from typing import Any

import cftime
import hyperslab as hs
import hyperslab.xarray.engine as xarray_engine
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hyperslab.xarray.unpacked import UnpackedArray

ENGINE = xarray_engine.HyperslabBackendEntrypoint
UNITS = [
    "days since 2000-01-01",
    "hours since 1999-12-30 18:30:00",
    "seconds since 1970-01-01T00:00:00Z",
    "minutes since 1850-1-1 00:00:00 +01:00",
    "days since 1582-10-20",
]
CALENDARS = [None, "standard", "proleptic_gregorian", "noleap", "360_day", "julian"]
DTYPES = ["i1", "i2", "i4", "i8", "u1", "u4", "f4", "f8"]


def is_fused(variable: xr.DataArray) -> bool:
    data: Any = variable.variable._data
    while not isinstance(data, UnpackedArray) and hasattr(data, "array"):
        data = data.array
    return isinstance(data, UnpackedArray)


def same(path: pathlib.Path, **options: Any) -> list[str]:
    """Compares all variables, and lists those that were fused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            xr.open_dataset(path, engine=ENGINE, fused_decoding=True, **options) as ours,
            xr.open_dataset(path, engine=ENGINE, **options) as theirs,
            xr.open_dataset(path, engine="netcdf4", **options) as judge,
        ):
            fused = [str(name) for name in ours.variables if is_fused(ours[name])]
            for name in judge.variables:
                a, b = ours[name], theirs[name]
                assert a.dtype == b.dtype == judge[name].dtype and repr(a.attrs) == repr(b.attrs) == repr(judge[name].attrs), name
                assert repr(sorted(a.encoding.items(), key=str)) == repr(sorted(b.encoding.items(), key=str)), name
                key: Any = tuple(slice(None, None, -2) for _ in a.shape)
                np.testing.assert_array_equal(a[key].values, b[key].values, err_msg=str(name))
                np.testing.assert_array_equal(a.values, judge[name].values, err_msg=str(name))
                np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).values, b.values, err_msg=str(name))
    return fused


def cftime_or_numpy(use_cftime: bool | None, time_unit: str = "ns") -> Any:
    return xr.coders.CFDatetimeCoder(use_cftime=use_cftime, time_unit=time_unit)


@pytest.mark.parametrize("calendar", CALENDARS)
def test_dates_are_what_xarray_decodes(tmp_path: pathlib.Path, calendar: str | None) -> None:
    random = np.random.default_rng(2)
    made, masked = set[str](), set[str]()
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("y", 5)
        f.createDimension("x", 7)
        for number, (units, dtype, fill) in enumerate(CASES):
            has_numpy = calendar in CALENDARS[:3] and not units.endswith("1582-10-20")
            if dtype != "f8" and fill is not None and not has_numpy:
                continue  # xarray fails itself: it gives cftime the number of NaT
            v = f.createVariable(f"v{number}", dtype, ("y", "x"), fill_value=False if fill is None else fill, endian="big" if number % 4 == 0 else "native")
            v.set_auto_maskandscale(False)
            v[...] = random.integers(0, 120, (5, 7)) + (random.choice([0, 0.5, 1 / 3, 1e-7, 0.1], (5, 7)) if dtype[0] == "f" else 0)
            v.units = units
            if calendar is not None:
                v.calendar = calendar
            made.add(f"v{number}")
            if fill is not None:
                masked.add(f"v{number}")
        packed = f.createVariable("packed", "i2", ("y", "x"), fill_value=False)
        packed.set_auto_maskandscale(False)
        packed[...], packed.scale_factor, packed.units = random.integers(0, 120, (5, 7)), np.float32(0.1), "hours since 2000-01-01"
        if calendar is not None:
            packed.calendar = calendar
    path, all_of_them = tmp_path / "t.nc", {*made, "packed"}
    assert set(same(path)) == all_of_them
    assert set(same(path, decode_times=False)) == {*masked, "packed"}
    assert set(same(path, use_cftime=None, decode_timedelta=True)) == all_of_them
    # xarray fails itself for whole numbers that are missing, as above.
    of_cftime = [name for name in masked if CASES[int(name[1:])][1] != "f8"]
    assert set(same(path, use_cftime=True, drop_variables=of_cftime)) == all_of_them - {*of_cftime}
    assert set(same(path, decode_times=cftime_or_numpy(True), drop_variables=of_cftime)) == all_of_them - {*of_cftime}
    if calendar in CALENDARS[:3]:
        old = [name for name in made if CASES[int(name[1:])][0].endswith("1582-10-20")]
        assert set(same(path, use_cftime=False, drop_variables=old)) == all_of_them - {*old}
        for unit in ("us", "ms", "s"):
            # Missing whole numbers are NaT, which no number is.
            assert all_of_them - {*masked} <= set(same(path, decode_times=cftime_or_numpy(None, unit)))


CASES = list(itertools.product(UNITS, DTYPES, (None, 5)))


def test_dates_that_are_too_far_are_those_of_xarray(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("x", 3)
        for name, values in (("first", [-200_000, 0, 1]), ("below", [-117_710, 1, 2]), ("last", [0, 1, 200_000])):
            v = f.createVariable(name, "i8", ("x",))
            v[:], v.units = values, "days since 2000-01-01"
            v = f.createVariable(f"{name}_float", "f8", ("x",))
            v[:], v.units = np.array(values) + 0.25, "days since 2000-01-01"
    assert len(same(tmp_path / "t.nc")) == 6
    with pytest.warns(xr.SerializationWarning, match="Unable to decode time axis"):
        xr.open_dataset(tmp_path / "t.nc", engine=ENGINE, fused_decoding=True).close()


def test_durations_truth_values_and_bounds(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("n", 4)
        f.createDimension("two", 2)
        time = f.createVariable("time", "i4", ("n",))
        time[:] = np.arange(4)
        time.setncatts({"units": "days since 2000-01-01", "calendar": "standard", "bounds": "cells"})
        f.createVariable("cells", "i8", ("n", "two"))[:] = np.arange(8).reshape(4, 2)
        for name, dtype, attributes in (
            ("whole", "i4", {"units": "hours"}),
            ("float", "f8", {"units": "hours"}),
            ("packed", "i2", {"units": "minutes", "scale_factor": np.float32(0.1)}),
            ("truth", "i1", {"dtype": "bool"}),
            ("flags", "i1", {"flag_values": np.array([0, 1], "i1"), "flag_meanings": "a b"}),
            ("masked_flags", "i1", {"flag_values": np.array([0, 1], "i1"), "flag_meanings": "a b", "missing_value": np.int8(1)}),
        ):
            v = f.createVariable(name, dtype, ("n",))
            v.set_auto_maskandscale(False)
            v[:] = [0, 1, 1, 0]
            v.setncatts(attributes)
    assert set(same(tmp_path / "t.nc")) == {"time", "cells", "truth", "masked_flags", "packed"}
    assert set(same(tmp_path / "t.nc", decode_timedelta=True)) == {"time", "cells", "truth", "masked_flags", "whole", "float", "packed"}
    assert set(same(tmp_path / "t.nc", decode_times={"time": False, "cells": False})) == {"truth", "masked_flags", "packed"}
    assert same(tmp_path / "t.nc", mask_and_scale=False) == []


@pytest.mark.parametrize("units", ["d since 2000-01-01", "days since 2000/01/01"])
def test_bounds_of_dates_that_only_the_core_decodes(tmp_path: pathlib.Path, units: str) -> None:
    """xarray fails for missing dates of this calendar, and does not look for units at a coordinate that is decoded."""
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("time", 3)
        f.createDimension("two", 2)
        time = f.createVariable("time", "i4", ("time",), fill_value=0)
        time.set_auto_maskandscale(False)
        time[:] = np.arange(3)
        time.setncatts({"units": units, "calendar": "julian", "bounds": "cells"})
        f.createVariable("cells", "i4", ("time", "two"))[:] = np.arange(6).reshape(3, 2)
    right = cftime.num2date(np.arange(6).reshape(3, 2), "days since 2000-01-01", "julian")
    for fused in (False, True):
        with xr.open_dataset(tmp_path / "t.nc", engine=ENGINE, fused_decoding=fused) as data:
            np.testing.assert_array_equal(data["cells"].values, right)
            assert data["time"].values.tolist() == [None, *right.ravel()[1:3]]
    with hs.open_mfdataset([tmp_path / "t.nc"], new_dim="run") as data:
        np.testing.assert_array_equal(data["cells"].values.reshape(3, 2), right)
