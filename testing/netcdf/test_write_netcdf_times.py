"""Dates and durations in create_netcdf and to_netcdf: xarray, netCDF4 and we read what was written, to the last digit."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray

RNG = np.random.default_rng(5)
TIMES: dict[str, Any] = {
    "days": (np.array(["2000-01-01", "1900-02-28", "2100-12-31"], "M8[D]"), "days"),
    "hours": (np.array(["2000-01-01T05", "1999-12-31T23"], "M8[h]"), "hours"),
    "seconds": (np.array(["2000-01-01T05:06:07", "1583-01-01T00:00:01"], "M8[s]"), "seconds"),
    "milliseconds": (np.array(["2000-01-01T05:06:07.123"], "M8[ms]"), "milliseconds"),
    "whole hours of pandas": (pd.date_range("2001-02-03", periods=5, freq="6h").values, "hours"),
    "whole seconds of pandas": (pd.date_range("2001-02-03", periods=5, freq="61s").values, "seconds"),
    "nanoseconds": (np.array([1, -1, 2**62], "M8[ns]"), "nanoseconds"),
    "months": (np.array(["2000-01", "1999-12"], "M8[M]"), "days"),
    "missing": (np.array(["2000-01-01", "NaT", "2001-01-01"], "M8[s]"), "days"),
    "all missing": (np.array(["NaT"], "M8[us]"), "microseconds"),
    "far": (np.array(["-0043-03-15", "9999-12-31"], "M8[D]"), "days"),
    "Python": ([datetime.datetime(2000, 1, 2, 3, 4, 5, 600_000), datetime.datetime(1950, 1, 1)], "milliseconds"),
    "Python in a zone": ([datetime.datetime(2000, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))], "hours"),
    "Python dates": ([datetime.date(2000, 1, 2), None], "days"),
}


def expected(values: Any) -> np.ndarray[Any, Any]:
    plain = [v.astimezone(datetime.timezone.utc).replace(tzinfo=None) if isinstance(v, datetime.datetime) and v.tzinfo else v for v in values]
    return np.array(plain, "M8[us]") if not isinstance(values, np.ndarray) else values


@pytest.mark.parametrize("growing", [False, True])
@pytest.mark.parametrize("case", TIMES)
def test_dates_lose_nothing(tmp_path: pathlib.Path, case: str, growing: bool) -> None:
    values, units = TIMES[case]
    path, want = tmp_path / "x.nc", expected(values)
    with hs.create_netcdf(path) as f:
        f.create_dimension("t", None if growing else len(want))
        v = f.create_variable("t", ["t"], data=values)
        if growing:
            v.append(values)
    if growing:
        want = np.concatenate([want, want])
    with netCDF4.Dataset(path) as f:
        v = f["t"]
        assert v.dtype == "i8" and v.calendar == "proleptic_gregorian" and (growing or v.units == f"{units} since 1970-01-01 00:00:00")
        assert ("_FillValue" in v.ncattrs()) == bool(np.isnat(want).any())
        found = v[:]
        assert np.ma.getmaskarray(found).tolist() == np.isnat(want).tolist()
        if "nanoseconds" not in v.units:
            dates = netCDF4.num2date(found.compressed(), v.units, v.calendar)
            iso = [str(np.datetime64(w, "us")).replace("-043-", "-0043-") for w in want[~np.isnat(want)]]
            assert [date.isoformat(timespec="microseconds") for date in dates] == iso
    with (
        xarray.open_dataset(path, engine="netcdf4", decode_times=xarray.coders.CFDatetimeCoder(time_unit="us"))
        if "ns" not in str(want.dtype)
        else xarray.open_dataset(path, engine="netcdf4") as f
    ):
        if case != "far":
            np.testing.assert_array_equal(f["t"].values, want.astype(f["t"].dtype))
    if case not in ("far", "nanoseconds"):
        # Our tables have microseconds.
        ours = hs.open(path).table("t").to_arrow().column(0)
        found = ours.to_numpy()
        np.testing.assert_array_equal(found.astype("M8[ns]"), want.astype("M8[ns]"))


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_random_dates_with_given_units_are_what_cftime_says(tmp_path: pathlib.Path, unit: str) -> None:
    days = RNG.integers(-100_000, 100_000, 200).astype("M8[D]").astype("M8[h]") + RNG.integers(0, 24, 200).astype("m8[h]")
    values = days.astype("M8[D]") if unit == "D" else days.astype(f"M8[{unit}]")
    for number, units in enumerate(
        (
            "days since 1850-01-01",
            "hours since 2000-01-01 12:00",
            "seconds since 1999-12-31T23:59:59.5Z",
            "minutes since 1900-1-1 0:0:0 +01:30",
            "microseconds since 2000-01-01",
        )
    ):
        dtype = "f8" if number in (0, 2) else "i8"
        with hs.create_netcdf(tmp_path / "x.nc") as f:
            f.create_dimension("t", 200)
            v = f.create_variable("t", ["t"], dtype, values, units=units, calendar="standard")
            assert v.name == "/t"
        with netCDF4.Dataset(tmp_path / "x.nc") as f:
            assert f["t"].units == units and f["t"].calendar == "standard"
            dates = netCDF4.num2date(f["t"][:], units, "standard", only_use_cftime_datetimes=False, only_use_python_datetimes=True)
            np.testing.assert_array_equal(np.array(dates, "M8[us]"), values.astype("M8[us]"))
            theirs = netCDF4.date2num(values.astype("M8[us]").tolist(), units, "standard") if unit != "D" else f["t"][:]
            np.testing.assert_allclose(f["t"][:], theirs, rtol=1e-15)


@pytest.mark.parametrize("calendar", ["noleap", "360_day", "julian", "standard", "proleptic_gregorian"])
def test_dates_of_cftime(tmp_path: pathlib.Path, calendar: str) -> None:
    dates = [cftime.datetime(2000, 2, 28, 3, 4, 5, calendar=calendar), cftime.datetime(1999, 12, 30, calendar=calendar)]
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("t", None)
        f.create_dimension("n", 3)
        f.create_variable("t", ["t"], data=dates).append(dates[:1])
        f.create_dimension("two", 2)
        f.create_variable("given", ["two"], "f8", dates, units="days since 1850-01-01")
        f.create_variable("missing", ["n"], data=[dates[0], None, dates[1]])
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        for name, want in (("t", [*dates, dates[0]]), ("given", dates)):
            v = f[name]
            assert v.calendar == calendar and netCDF4.num2date(v[: len(want)], v.units, calendar).tolist() == want
        assert f["missing"][:].mask.tolist() == [False, True, False] and f["t"].units.startswith("seconds since")
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4", decode_times=xarray.coders.CFDatetimeCoder(use_cftime=True)) as f:
        assert f["t"].values.tolist() == [*dates, dates[0]]


def test_durations(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("n", 3)
        f.create_variable("a", ["n"], data=np.array([1, "NaT", 3], "m8[h]"))
        f.create_variable("b", ["n"], data=[datetime.timedelta(days=1), datetime.timedelta(seconds=1.5), None])
        f.create_variable("c", ["n"], "f8", np.array([1, 2, 3], "m8[s]"), units="minutes")
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4", decode_timedelta=True) as f:
        assert f["a"].values.astype("m8[h]").tolist() == np.array([1, "NaT", 3], "m8[h]").tolist()
        assert f["b"].values.astype("m8[ms]").tolist() == np.array([86_400_000, 1500, "NaT"], "m8[ms]").tolist() and f["c"].values.astype("m8[s]").astype(
            int
        ).tolist() == [1, 2, 3]
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        assert f["a"].units == "hours" and f["b"].units == "milliseconds" and f["c"][:].tolist() == pytest.approx([1 / 60, 2 / 60, 3 / 60])


def test_dates_that_come_later(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "x.nc") as f:
        f.create_dimension("t", None)
        f.create_dimension("n", 4)
        t = f.create_variable("t", ["t"], "M8[s]", attrs={"long_name": "time"})
        for day in range(3):
            t.append(np.array([f"2000-01-0{day + 1}"], "M8[D]"))
        t.append(np.array(["NaT"], "M8[ns]"))
        n = f.create_variable("n", ["n"], "i4", units="days since 2000-01-01", data=np.array(["2000-01-02", "2000-01-03", "NaT", "2000-01-05"], "M8[D]"))
        n[3:] = [datetime.date(2000, 1, 9)]
        n[0] = datetime.datetime(2000, 1, 8)
        with pytest.raises(hs.InvalidInputError, match="not a whole number of days: give finer units"):
            n[0] = datetime.datetime(2000, 1, 8, 1)
        with pytest.raises(hs.UnsupportedError, match="dates or durations in variable"):
            f.create_variable("plain", [], "i8")[()] = datetime.date(2000, 1, 1)
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4") as f:
        assert f["t"].values.astype("M8[s]").tolist() == np.array(["2000-01-01", "2000-01-02", "2000-01-03", "NaT"], "M8[s]").tolist()
        assert f["n"].values.astype("M8[D]").tolist() == np.array(["2000-01-08", "2000-01-03", "NaT", "2000-01-09"], "M8[D]").tolist()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"data": np.array(["2000-01-01T01"], "M8[h]"), "units": "days since 2000-01-01"}, "2000-01-01T01 is not a whole number of days"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "units": "fortnights since 2000-01-01"}, "expected days"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "units": "days since yesterday"}, "days since 2000-01-01 00:00:00"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "units": "days since 2000-02-30"}, "is not a date"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "units": "days"}, "with units='days': dates for durations"),
        ({"data": np.array([1], "m8[D]"), "units": "days since 2000-01-01"}, "durations for dates"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "calendar": "noleap"}, "give dates of cftime"),
        ({"data": np.array(["1500-01-01"], "M8[D]"), "calendar": "standard"}, "before 1582-10-15"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "units": "nanoseconds since 2000-01-01", "dtype": "i4", "calendar": None}, None),
        ({"data": np.array(["2200-01-01"], "M8[D]"), "units": "seconds since 2000-01-01", "dtype": "i4"}, "do not fit int32"),
        ({"data": np.array([1], "m8[Y]")}, "no fixed length"),
        ({"data": np.array([1], "M8[ps]")}, "nanoseconds or longer"),
        ({"data": np.array([10**6], "M8[D]"), "units": "nanoseconds since 1970-01-01"}, "do not fit int64"),
        ({"data": np.array(["2000-01-01"], "M8[D]"), "dtype": "u1"}, "times as uint8"),
    ],
)
def test_what_cannot_be_a_count_is_refused(tmp_path: pathlib.Path, options: dict[str, Any], words: str | None) -> None:
    def write() -> None:
        with hs.create_netcdf(tmp_path / "x.nc") as f:
            f.create_dimension("t", 1)
            f.create_variable("t", ["t"], **options)

    if words is None:
        write()
        return
    with pytest.raises(hs.Error, match=words):
        write()
    assert list(tmp_path.iterdir()) == []
