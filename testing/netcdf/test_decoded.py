"""Decoded numpy arrays against xarray: values and dtypes, of random variables and of real files."""

from __future__ import annotations

import itertools
import pathlib
import warnings
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray

ROOT = pathlib.Path(__file__).parents[2]
REAL = ["SOI_Darwin.nc", "atlantic_profiles.nc", "rotated_pole.nc", "space_weather.nc", "mesh_C4_synthetic_float.nc"]


def same(got: Any, wanted: Any, what: str) -> None:
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, f"{what}: {got.dtype} {got.shape}, xarray has {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind == "O":
        assert [str(one) for one in got.ravel()] == [str(one) for one in wanted.ravel()], what
    elif wanted.dtype.kind == "M":
        # A fraction of a day has fewer digits than nanoseconds need: xarray rounds it in another order.
        assert (np.isnat(got) == np.isnat(wanted)).all() and (np.abs((got - wanted)[~np.isnat(got)]) <= np.timedelta64(1, "us")).all(), what
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)


def compare(path: pathlib.Path, names: list[str] | None = None) -> int:
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xarray.open_dataset(path, engine="netcdf4", decode_timedelta=True, concat_characters=False) as data, hs.open(path) as f:
            for name in names or list(data.variables):
                wanted = data[name].values
                if wanted.dtype.kind in "iufMmO" and not isinstance(next(iter(wanted.ravel()), None), (str, bytes)):
                    view = f[name].decoded
                    got = view[...]
                    same(got, wanted, f"{path.name} {name}")
                    assert view.shape == wanted.shape and (view.dtype == wanted.dtype or wanted.dtype.kind == "O")
                    if wanted.ndim:
                        if wanted.dtype.kind != "O":
                            same(np.asarray(view[-1:]), wanted[-1:], name)
                        first = (0,) * wanted.ndim
                        # A date alone may be one that numpy has.
                        assert wanted.dtype.kind == "O" or str(view[first]) == str(wanted[first]), name
                    compared += 1
    return compared


@pytest.mark.parametrize("name", REAL)
def test_real_files(name: str) -> None:
    assert compare(ROOT / "examples/data" / name) > 0


DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"]
FACTORS: list[Any] = [None, np.float32(0.1), 0.1, np.int16(3)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_packing(tmp_path: pathlib.Path, dtype: str) -> None:
    """Each dtype with each combination of factors, fill values and signs."""
    random = np.random.default_rng(DTYPES.index(dtype))
    path, number = tmp_path / "packed.nc", 0
    with netCDF4.Dataset(path, "w") as f:
        f.set_auto_maskandscale(False)
        f.createDimension("x", 40)
        for scale, offset, fill, missing, unsigned in itertools.product(FACTORS, FACTORS, (None, 5), (None, 5, 7), (None, "true", "false")):
            if unsigned is not None and (dtype[0] == "f" or missing is not None):
                continue  # xarray leaves `missing_value` of unsigned numbers signed
            if isinstance(scale, np.int16) and offset is None:
                continue  # xarray makes whole numbers of these, floats too; we make doubles
            made = f.createVariable(f"v{number}", dtype, ("x",), fill_value=False if fill is None else fill)
            made.set_auto_maskandscale(False)
            about = {
                "scale_factor": scale,
                "add_offset": offset,
                "missing_value": None if missing is None else np.dtype(dtype).type(missing),
                "_Unsigned": unsigned,
            }
            made.setncatts({key: value for key, value in about.items() if value is not None})
            made[:] = random.integers(0 if dtype[0] == "u" else -10, 10, 40).astype(dtype)
            number += 1
    assert compare(path) >= 60


def test_fill_values_that_are_nan_or_do_not_fit(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "nan.nc", "w") as f:
        f.createDimension("x", 4)
        for name, dtype, fill in (("a", "f4", np.nan), ("b", "f8", -999.0), ("c", "f4", 1e20)):
            made = f.createVariable(name, dtype, ("x",), fill_value=fill)
            made.set_auto_maskandscale(False)
            made[:] = [1, fill, np.nan, 3]
        made = f.createVariable("double", "f4", ("x",), fill_value=False)
        made.set_auto_maskandscale(False)
        made.missing_value = np.float64(1e20)
        made[:] = [1, 1e20, 2, 3]
    assert compare(tmp_path / "nan.nc", ["a", "b", "c"]) == 3
    with hs.open(tmp_path / "nan.nc") as f:
        # A double that marks floats is compared as a float, as in tables; xarray and netCDF4 leave 1e20, because no float is the double.
        got = f["double"].decoded[:]
        assert np.isnan(got).tolist() == [False, True, False, False] == f.table("double").to_arrow()["double"].is_null().to_pylist()


CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap", "360_day", "julian"]
UNITS = [
    "days since 2000-01-01",
    "hours since 1999-12-30 18:30:00",
    "seconds since 1970-01-01T00:00:00Z",
    "minutes since 1850-1-1",
    "days since 0001-01-01",
    "hours",
]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_times(tmp_path: pathlib.Path, calendar: str) -> None:
    random = np.random.default_rng(CALENDARS.index(calendar))
    path = tmp_path / "times.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", 12)
        for number, (units, dtype, fill) in enumerate(itertools.product(UNITS, ("i4", "i8", "f8", "f4"), (None, -1))):
            if fill and (dtype == "f4" or calendar not in CALENDARS[:3] or "0001" in units):
                continue  # by cftime, xarray fails for whole numbers that are missing, and has the reference date for floats: see the test below
            made = f.createVariable(f"t{number}", dtype, ("time",), fill_value=False if fill is None else fill)
            made.set_auto_maskandscale(False)
            made.units = units
            if "since" in units:
                made.calendar = calendar
            values = random.integers(0, 30000, 12).astype(dtype)
            if dtype[0] == "f":
                values += np.array([0, 0.5, 0.25, 0.125] * 3, dtype)
            if fill:
                values[3] = fill
            made[:] = values
    assert compare(path) >= 24


def test_dates_that_numpy_lacks_are_those_of_cftime(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "old.nc", "w") as f:
        f.createDimension("time", 2)
        for name, values, calendar in (("far", [0, 400000], "standard"), ("old", [-200000, 0], "standard"), ("proleptic", [-200000, 0], "proleptic_gregorian")):
            made = f.createVariable(name, "f8", ("time",))
            made.units, made.calendar = "days since 2000-01-01", calendar
            made[:] = values
    assert compare(tmp_path / "old.nc") == 3
    with hs.open(tmp_path / "old.nc") as f:
        assert f["far"].decoded[1].year == 3095 and f["far"].decoded[:1].dtype == "M8[ns]"


def test_missing_dates_of_cftime_are_none(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "missing.nc", "w") as f:
        f.createDimension("time", 3)
        for name, start in (("time", "2000-01-01"), ("wrong", "2000-01-31")):
            made = f.createVariable(name, "i4", ("time",), fill_value=-1)
            made.units, made.calendar = f"days since {start}", "360_day"
            made[:] = [59, -1, 0]
    with hs.open(tmp_path / "missing.nc") as f:
        assert [str(one) for one in f["time"].decoded[:]] == ["2000-02-30 00:00:00", "None", "2000-01-01 00:00:00"]
        with pytest.warns(hs.DecodingWarning, match="/wrong stays as numbers"):
            assert f["wrong"].decoded[[0, 2]].tolist() == [59, 0]


def test_what_is_not_decoded(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "other.nc", "w") as f:
        f.createDimension("x", 3)
        f.createVariable("text", str, ("x",))[:] = np.array(["a", "b", ""], object)
        kind = f.createEnumType("u1", "kind_t", {"land": 0, "sea": 1})
        f.createVariable("kind", kind, ("x",), fill_value=0)[:] = [0, 1, 1]
        f.createVariable("bad", "i2", ("x",)).scale_factor = "0.1"
        made = f.createVariable("range", "i2", ("x",), fill_value=False)
        made.valid_range = np.array([0, 10], "i2")
        made.set_auto_maskandscale(False)
        made[:] = [1, 20, 3]
    with hs.open(tmp_path / "other.nc") as f:
        assert f["text"].decoded[:].tolist() == f["text"][:].tolist() and f["kind"].decoded[:].tolist() == [0, 1, 1]
        assert f["range"].decoded[:].tolist() == [1, 20, 3], "as in xarray; tables have null"
        with pytest.raises(hs.InvalidInputError, match="scale_factor"):
            assert f["bad"].decoded


def test_a_view_is_an_array(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as f:
        f.createDimension("time", 3)
        f.createDimension("length", 4)
        t = f.createVariable("t", "i2", ("time",), fill_value=-9)
        t.scale_factor, t[:] = 0.5, np.ma.masked_equal([1.5, -9, 2.0], -9)
        time = f.createVariable("time", "i4", ("time",))
        time.units, time[:] = "days since 2001-01-01", [0, 1, 2]
        f.createVariable("name", "S1", ("time", "length"))[:] = np.array([list("ab\0\0"), list("abcd"), [b"\xe9", *"xyz"]], "S1")
    with hs.open(tmp_path / "a.nc") as f:
        t, time, name = (f[one].decoded for one in ("t", "time", "name"))
        assert (t.shape, t.dtype, t.dims, t.ndim, len(t)) == ((3,), np.dtype("f8"), ("time",), 1, 3)
        assert repr(t) == "<Decoded /t: (time=3), float64, 1.5 — 2>"
        assert repr(time) == "<Decoded /time: (time=3), datetime64[ns], 2001-01-01 2001-01-02 2001-01-03>"
        assert (name.shape, name.dims, name[...].tolist(), name[1]) == ((3,), ("time",), ["ab", "abcd", "\xe9xyz"], "abcd")
        assert name[1:].tolist() == name[[1, 2]].tolist() == f.table("/name").to_arrow()["name"].to_pylist()[1:]
        assert np.nansum(t) == 3.5 and np.asarray(t, "f4").dtype == np.dtype("f4")
        assert [len(batch["t"]) for batch in hs.batches({"t": t, "time": time}, 2)] == [2, 1]
        assert float(np.nanmax(t.to_dask().compute())) == 2.0


@pytest.mark.parametrize("shape", [(200_000,), (1, 200_000), (3, 70_001), (5, 2, 40_000), (70, 3000)], ids=str)
@pytest.mark.parametrize("dtype", ["<i2", ">i2"])
def test_parts_of_large_boxes(tmp_path: pathlib.Path, shape: tuple[int, ...], dtype: str) -> None:
    """Boxes of more values than a part has, with one, several and no missing values."""
    stored = np.random.default_rng(len(shape)).integers(-50, 50, shape).astype(dtype)
    marks = {"none": [], "one": [7], "three": [7, -3, 0]}
    with h5py.File(tmp_path / "large.h5", "w") as f:
        for name, missing in marks.items():
            made = f.create_dataset(name, data=stored)
            made.attrs["scale_factor"], made.attrs["add_offset"] = np.float32(0.1), np.float32(273.15)
            if missing:
                made.attrs["missing_value"] = np.array(missing, dtype)
    keys: list[Any] = [..., 0, slice(1, None, 2), (..., slice(3, None, 7)), (..., slice(5, -5)), (0,) * (len(shape) - 1)]
    with hs.open(tmp_path / "large.h5") as f:
        for name, missing in marks.items():
            right = np.where(np.isin(stored, missing), np.float32(np.nan), stored.astype("f4") * np.float32(0.1) + np.float32(273.15))
            for key in keys:
                found = f[name].decoded[key]
                assert np.asarray(found).dtype == np.dtype("f4")
                np.testing.assert_array_equal(found, right[key], err_msg=f"{name} {key}")


def test_texts_are_those_of_xarray_in_arrays_and_tables(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "texts.nc", "w") as f:
        for dimension, extent in (("n", 3), ("length", 4), ("width", 2)):
            f.createDimension(dimension, extent)
        f.createVariable("name", "S1", ("n", "length"))[:] = np.array([list("ab  "), list("a b\0"), list("\0\0\0\0")], "S1")
        f.createVariable("codes", "S1", ("n", "width"))[:] = np.array([list("ab")] * 3, "S1")
        f.createVariable("shared", "i4", ("width",))[:] = [1, 2]
    with hs.open(tmp_path / "texts.nc") as f:
        assert f["name"].decoded[...].tolist() == f.table("/name").to_arrow()["name"].to_pylist() == ["ab  ", "a b", ""]
        with xarray.open_dataset(tmp_path / "texts.nc", engine="netcdf4") as data:
            assert [one.decode() for one in data["name"].values] == ["ab  ", "a b", ""]
        assert "→ text" in repr(f["name"]) and "→ text" not in repr(f["codes"])
        assert f["codes"].decoded.shape == (3, 2), "the dimension is that of numbers, too"
        with pytest.raises(hs.UnsupportedError, match="written as characters"):
            f["name"].decoded[...] = ["x"] * 3
