"""Values written through `decoded`: stored as netCDF4 and xarray pack them, and the same when they are read again."""

from __future__ import annotations

import datetime
import io
import itertools
import pathlib
import warnings
from typing import Any

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray
from hyperslab.objects.decoding import Decoder
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

ATTRIBUTES: list[dict[str, Any]] = [
    {"scale_factor": 0.01, "add_offset": 273.15},
    {"scale_factor": np.float32(0.5)},
    {"add_offset": 10.0, "_FillValue": 7},
    {"scale_factor": -2.0, "_FillValue": -1},
    {"_FillValue": 5},
    {"scale_factor": np.float32(0.1), "add_offset": np.float32(100), "missing_value": 3},
    {},
]


def file_of(path: pathlib.Path, dtype: str, count: int, attributes: list[dict[str, Any]]) -> None:
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", count)
        for number, about in enumerate(attributes):
            others = {key: np.dtype(dtype).type(value) if key in ("_FillValue", "missing_value") else value for key, value in about.items()}
            v = f.createVariable(f"v{number}", dtype, ("x",), fill_value=others.pop("_FillValue", False))
            v.set_auto_maskandscale(False)
            v.setncatts(others)


def raw(path: pathlib.Path, name: str) -> np.ndarray[Any, Any]:
    """The stored values, by the netCDF library."""
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        found: np.ndarray[Any, Any] = f[name][:]
        return found


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
def test_every_stored_number_comes_back(tmp_path: pathlib.Path, dtype: str) -> None:
    info = np.iinfo(dtype)
    stored = np.arange(info.min, int(info.max) + 1).astype(dtype)
    attributes = [one for one in ATTRIBUTES if dtype[0] == "i" or one.get("_FillValue", 0) >= 0]
    signs = [{**one, "_Unsigned": sign} for one, sign in itertools.product(attributes, ("true", "false")) if "missing_value" not in one]
    attributes += signs
    file_of(tmp_path / "a.nc", dtype, len(stored), attributes)
    with hs.open(tmp_path / "a.nc", "r+") as f:
        for number in range(len(attributes)):
            f[f"v{number}"][...] = stored
            decoded = f[f"v{number}"].decoded[...]
            f[f"v{number}"][...] = 0
            f[f"v{number}"].decoded[...] = decoded
    for number, about in enumerate(attributes):
        np.testing.assert_array_equal(raw(tmp_path / "a.nc", f"v{number}"), stored, err_msg=str(about))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f4", "f8"])
def test_values_are_stored_as_netcdf4_and_xarray_pack_them(tmp_path: pathlib.Path, dtype: str) -> None:
    random = np.random.default_rng(3)
    attributes = [one for one in ATTRIBUTES if one]
    packed = random.integers(8, 100, 400)
    for name in ("ours.nc", "theirs.nc"):
        file_of(tmp_path / name, dtype, 400, attributes)
    for number, about in enumerate(attributes):
        scale, offset = float(about.get("scale_factor", 1)), float(about.get("add_offset", 0))
        # Not between two steps, where the last digit decides.
        values = (packed + random.uniform(-0.45, 0.45, 400) * ("scale_factor" in about or dtype[0] == "f")) * scale + offset
        is_missing = (random.random(400) < 0.2) & bool({"_FillValue", "missing_value"} & {*about})
        ours = np.where(is_missing, np.nan, values)
        with hs.open(tmp_path / "ours.nc", "r+") as f:
            f[f"v{number}"].decoded[:300] = ours[:300]
            f[f"v{number}"].decoded[300:] = np.ma.masked_array(values, is_missing)[300:]
        with netCDF4.Dataset(tmp_path / "theirs.nc", "a") as judge:
            judge.set_auto_maskandscale(True)
            judge[f"v{number}"][:] = np.ma.masked_array(values, is_missing)
        found = raw(tmp_path / "ours.nc", f"v{number}")
        np.testing.assert_array_equal(found, raw(tmp_path / "theirs.nc", f"v{number}"), err_msg=str(about))
        if dtype[0] != "f":
            encoding = {**{key: float(value) for key, value in about.items() if key in ("scale_factor", "add_offset")}, "dtype": dtype}
            fill = {key: np.dtype(dtype).type(value) for key, value in about.items() if key in ("_FillValue", "missing_value")}
            variable = xarray.conventions.encode_cf_variable(xarray.Variable("x", ours, encoding={**encoding, **fill}))
            np.testing.assert_array_equal(found, variable.values, err_msg=str(about))


@settings(max_examples=examples(200), deadline=None)
@given(scale=st.floats(0.001, 100), offset=st.floats(-1000, 1000), values=st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_a_value_is_at_most_half_a_step_off(scale: float, offset: float, values: list[float]) -> None:
    made = netCDF4.Dataset("packed.nc", "w", memory=1 << 16)
    made.createDimension("x", 1)
    made.createVariable("x", "i2", ("x",)).setncatts({"scale_factor": scale, "add_offset": offset})
    content = made.close()
    with hs.open(io.BytesIO(bytes(content))) as f:
        decoder = Decoder(f["x"])
    wanted = np.array(values) * 30000 * scale + offset
    found = np.asarray(decoder.decoded(decoder.encoded(wanted)))
    assert (np.abs(found - wanted) <= scale / 2 * (1 + 1e-9) + np.spacing(np.abs(wanted))).all()


def test_what_cannot_be_stored_is_refused_and_nothing_is_written(tmp_path: pathlib.Path) -> None:
    file_of(tmp_path / "a.nc", "i1", 3, [{"scale_factor": 0.5, "_FillValue": -128}, {"scale_factor": 0.5}, {"dtype": "bool"}])
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as f:
        f.createVariable("t", "i4", ("x",)).units = "days since 2000-01-01"
        f.createVariable("c", "S1", ("x",))
        f["t"][:] = 1
    before = (tmp_path / "a.nc").read_bytes()
    for name, values, words in (
        ("v0", 64.0, "64.0 is out of the range"),
        ("v0", [1, -64.0, 2], "-64.0 has the stored number that means a missing value"),
        ("v1", [0.0, np.nan, 1], "nan is missing, and the variable has no _FillValue"),
        ("v0", np.inf, "inf is out of the range"),
        ("v0", "x", "values of <U1 for numbers"),
        ("v0", np.datetime64("2000-01-01"), "for numbers"),
        ("t", 1.5, "give dates or durations"),
        ("t", np.timedelta64(1, "D"), "durations for dates"),
        ("t", np.datetime64("2000-01-01T01"), "is not a whole number of the variable's units"),
        ("t", np.datetime64("1500-01-01"), "another day in the variable's calendar"),
        ("t", np.datetime64("NaT", "s"), "no _FillValue"),
    ):
        with hs.open(tmp_path / "a.nc", "r+") as edited, pytest.raises(hs.InvalidInputError, match=words):
            edited[name].decoded[...] = values
    assert (tmp_path / "a.nc").read_bytes() == before


def test_masked_integers_keep_all_digits(tmp_path: pathlib.Path) -> None:
    file_of(tmp_path / "a.nc", "i8", 3, [{"_FillValue": -1}, {}])
    values = np.ma.masked_array([2**62 + 1, 5, 2**62 + 3], [False, True, False])
    with hs.open(tmp_path / "a.nc", "r+") as f:
        f["v0"].decoded[...] = values
        with pytest.raises(hs.InvalidInputError, match="is missing, and the variable has no _FillValue"):
            f["v1"].decoded[...] = values
        with pytest.raises(hs.InvalidInputError, match="is missing"):
            f["v1"].decoded[1] = None
        f["v1"].decoded[...] = [2**62 + 1, 2, 3]
    assert raw(tmp_path / "a.nc", "v0").tolist() == [2**62 + 1, -1, 2**62 + 3]
    assert raw(tmp_path / "a.nc", "v1").tolist() == [2**62 + 1, 2, 3]


CALENDARS = ["standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian"]


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("units", ["hours since 1850-01-01", "seconds since 2000-01-01 06:00", "days since 0001-01-01"])
def test_dates_are_counted_as_cftime_counts_them(tmp_path: pathlib.Path, calendar: str, units: str) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("x", 40)
        for name, dtype in (("whole", "i8"), ("float", "f8")):
            v = f.createVariable(name, dtype, ("x",), fill_value=-999)
            v.units, v.calendar = units, calendar
    days = np.random.default_rng(1).integers(650_000, 760_000, 40)
    dates = cftime.num2date(days, "days since 0001-01-01", calendar, only_use_cftime_datetimes=True)
    given: list[Any] = [None if number % 7 == 0 else date for number, date in enumerate(dates)]
    with hs.open(tmp_path / "t.nc", "r+") as f:
        for name in ("whole", "float"):
            f[name].decoded[...] = given
            again = f[name].decoded[...]
            if again.dtype == object:
                assert again.tolist() == given
            if calendar in ("standard", "proleptic_gregorian"):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    f[name].decoded[20:] = np.array([None if date is None else date.isoformat() for date in given[20:]], "M8[s]")
    wanted = [-999 if date is None else cftime.date2num(date, units, calendar) for date in given]
    for name in ("whole", "float"):
        found = raw(tmp_path / "t.nc", name)
        np.testing.assert_array_equal(found, np.array(wanted, found.dtype))


def test_durations_truth_values_and_packed_times(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "d.nc", "w") as f:
        f.createDimension("x", 3)
        for name, dtype, attributes in (
            ("d", "i4", {"units": "minutes"}),
            ("b", "i1", {"dtype": "bool"}),
            ("t", "i2", {"units": "days since 2001-01-01", "scale_factor": 0.25}),
        ):
            f.createVariable(name, dtype, ("x",), fill_value=False if name == "b" else -1).setncatts(attributes)
    with hs.open(tmp_path / "d.nc", "r+") as f:
        f["d"].decoded[...] = [datetime.timedelta(hours=1), None, np.timedelta64(60, "s")]
        f["b"].decoded[...] = [True, False, True]
        f["t"].decoded[...] = np.array(["2001-01-01T06", "NaT", "2001-01-03T00"], "M8[h]")
        assert f["d"].decoded[...].tolist() == np.array([3600, "NaT", 60], "m8[s]").astype("m8[ns]").tolist()
        assert f["b"].decoded[...].tolist() == [True, False, True]
        with pytest.raises(hs.InvalidInputError, match="is not a whole number"):
            f["t"].decoded[0] = np.datetime64("2001-01-01T05")
    for name, stored in (("d", [60, -1, 1]), ("b", [1, 0, 1]), ("t", [1, -1, 8])):
        assert raw(tmp_path / "d.nc", name).tolist() == stored
