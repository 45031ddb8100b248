"""CF times of every calendar and unit, against cftime, udunits and exact fractions."""

from __future__ import annotations

import contextlib
import datetime
import fractions
import itertools
import operator
import pathlib
import pickle
import re
import tempfile

import cf_units
import cftime
import duckdb
import h5py
import hyperslab as hs
import hypothesis
import netCDF4
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import xarray as xr
from hypothesis import strategies as st
from sampling import examples

REAL = ["standard", "gregorian", "proleptic_gregorian", "julian"]
SAME_LABEL = ["noleap", "365_day"]
TEXT = ["all_leap", "366_day", "360_day"]
CALENDARS = REAL + SAME_LABEL + TEXT
MICROSECONDS = {unit: int(factor) for unit, factor in cftime._cftime.UNIT_CONVERSION_FACTORS.items()}
EVERYWHERE = [unit for unit in MICROSECONDS if "month" not in unit and "year" not in unit]
EPOCH = cftime.datetime(1970, 1, 1, calendar="standard").toordinal()


def made(folder: pathlib.Path, numbers: np.ndarray, units: str, calendar: object = None, **more: object) -> hs.File:
    path = folder / "time.h5"
    with h5py.File(path, "w") as f:
        f["time"] = numbers
        f["time"].attrs["units"] = units
        if calendar is not None:
            f["time"].attrs["calendar"] = calendar
        f["time"].attrs.update(more)
    return hs.open(path)


def decoded(folder: pathlib.Path, numbers: np.ndarray, units: str, calendar: object = None, **more: object) -> pa.ChunkedArray:
    return made(folder, numbers, units, calendar, **more).table("/time", columns=["time"]).to_arrow()["time"]


def iso(date: cftime.datetime) -> str:
    """The text of a time, from cftime's parts."""
    text = f"{date.year:04}-{date.month:02}-{date.day:02}"
    if (date.hour, date.minute, date.second, date.microsecond) == (0, 0, 0, 0):
        return text
    text += f"T{date.hour:02}:{date.minute:02}:{date.second:02}"
    return text + (f".{date.microsecond:06}".rstrip("0") if date.microsecond else "")


def expected(date: cftime.datetime, calendar: str) -> str | int:
    """What we say that a date of cftime becomes: text, or microseconds since 1970."""
    if calendar in TEXT:
        return iso(date)
    if calendar in SAME_LABEL:
        day = cftime.datetime(date.year, date.month, date.day, calendar="proleptic_gregorian").toordinal() - EPOCH
    else:
        day = date.toordinal() - EPOCH
    return (((day * 24 + date.hour) * 60 + date.minute) * 60 + date.second) * 1_000_000 + date.microsecond


def found(column: pa.ChunkedArray, calendar: str) -> list[str | int]:
    if calendar in TEXT:
        assert column.type == pa.string()
        return column.to_pylist()
    assert column.type == pa.timestamp("us")
    return column.cast(pa.int64()).to_pylist()


def dates(numbers: np.ndarray, units: str, calendar: str) -> list[cftime.datetime]:
    return list(np.atleast_1d(cftime.num2date(numbers, units, calendar)))


REFERENCES = ["0001-01-01", "1-1-1 00:00:0.0", "1999-12-30T23:59:59Z", "1850-01-01 00:00:00.25 +01:30", "1582-10-04 12:00", "2000-02-28 06:30:00 UTC"]


# cftime has months in one calendar and years in one; the others are compared with udunits below.
PAIRS = [
    (calendar, unit)
    for calendar in CALENDARS
    for unit in MICROSECONDS
    if unit in EVERYWHERE or ("month" in unit and calendar == "360_day") or ("year" in unit and calendar in SAME_LABEL)
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("calendar", "unit"), PAIRS)
def test_every_calendar_and_unit_is_cftimes(tmp_path: pathlib.Path, calendar: str, unit: str) -> None:
    rng = np.random.default_rng(list(calendar.encode() + unit.encode()))
    for reference in REFERENCES:
        units = f"{unit} since {reference}"
        year = 365 * 86_400_000_000 // MICROSECONDS[unit]
        first = 2 if reference.startswith(("0001", "1-")) else -1400
        whole = rng.integers(first * year, 7500 * year, 60, endpoint=True)
        whole[:4] = np.clip([first * year, 59, 60, 7500 * year], first * year, None)
        integers = found(decoded(tmp_path, whole, units, calendar), calendar)
        assert integers == [expected(date, calendar) for date in dates(whole, units, calendar)], units
        floats = whole + rng.random(60)
        # cftime rounds in a long double, and near a whole second to that second's side.
        near = [{expected(date + datetime.timedelta(microseconds=n), calendar) for n in (-1, 0, 1)} for date in dates(floats, units, calendar)]
        ours = found(decoded(tmp_path, floats, units, calendar), calendar)
        assert all(time in wanted for time, wanted in zip(ours, near, strict=True)), units


@pytest.mark.parametrize("kind", ["i1", "u1", "<i2", ">i4", "<u4", "<i8", "<u8", "<f2", "<f4", ">f8"])
@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day"])
def test_every_type_of_number_is_a_time(tmp_path: pathlib.Path, calendar: str, kind: str) -> None:
    numbers = np.array([0, 1, 58, 59, 60, 100], kind)
    wanted = [expected(date, calendar) for date in dates(numbers.astype("f8"), "days since 2000-01-01", calendar)]
    assert found(decoded(tmp_path, numbers, "days since 2000-01-01", calendar), calendar) == wanted


@hypothesis.settings(deadline=None, max_examples=examples(200))
@hypothesis.given(
    value=st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6)),
    unit=st.sampled_from(EVERYWHERE),
    calendar=st.sampled_from(CALENDARS),
    year=st.integers(2, 9000),
    month=st.integers(1, 12),
    day=st.integers(1, 28),
    clock=st.times(),
    zone=st.integers(-23 * 60, 23 * 60),
)
def test_a_time_is_rounded_once_from_its_exact_value(
    value: float, unit: str, calendar: str, year: int, month: int, day: int, clock: datetime.time, zone: int
) -> None:
    hypothesis.assume((year, month) != (1582, 10))
    offset = f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02}:{abs(zone) % 60:02}"
    units = f"{unit} since {year}-{month}-{day} {clock.isoformat()} {offset}"
    # Floats are dyadic fractions: this is exact. Ties go to the later microsecond.
    exact = fractions.Fraction(value) * MICROSECONDS[unit]
    microseconds = (exact + fractions.Fraction(1, 2)).__floor__()
    start = cftime.datetime(year, month, day, clock.hour, clock.minute, clock.second, clock.microsecond, calendar=calendar)
    date = start - datetime.timedelta(minutes=zone) + datetime.timedelta(microseconds=microseconds)
    hypothesis.assume(1 <= date.year <= 9999)
    with tempfile.TemporaryDirectory() as folder:
        assert found(decoded(pathlib.Path(folder), np.array([value]), units, calendar), calendar) == [expected(date, calendar)]


NAMES = [
    "day",
    "days",
    "d",
    "Days",
    "hour",
    "hours",
    "hr",
    "h",
    "HOURS",
    "minute",
    "minutes",
    "min",
    "second",
    "seconds",
    "sec",
    "secs",
    "s",
    "millisecond",
    "milliseconds",
    "msec",
    "msecs",
    "ms",
    "microsecond",
    "microseconds",
    "microsec",
    "usec",
    "us",
    "µs",
    "week",
    "weeks",
    "fortnight",
    "common_year",
    "common_years",
    "leap_year",
    "leap_years",
    "Julian_year",
    "Gregorian_year",
]


def udunits_seconds(units: str, value: float) -> float:
    """Seconds since 1970 by udunits, whose calendar is the standard one."""
    converter = cf_units._ud.get_converter(cf_units.Unit(units).ut_unit, cf_units.Unit("seconds since 1970-01-01").ut_unit)
    return float(cf_units._ud.convert_double(converter, value))


@pytest.mark.parametrize("unit", NAMES)
def test_units_are_as_long_as_in_udunits(tmp_path: pathlib.Path, unit: str) -> None:
    seconds = cf_units.Unit(unit).convert(1.0, "second")
    values = np.array([0, 1, 1000, -1000])
    ours = found(decoded(tmp_path, values, f"{unit} since 1970-01-01"), "standard")
    assert ours == [round(value * fractions.Fraction(repr(float(f"{seconds:.9g}"))) * 1_000_000) for value in values]


@pytest.mark.parametrize("unit", ["tropical_year", "tropical_years"])
@pytest.mark.parametrize("calendar", [c for c in CALENDARS if c != "360_day"])
def test_tropical_years_are_those_of_udunits(tmp_path: pathlib.Path, unit: str, calendar: str) -> None:
    """A year is exactly 365.242198781 days, in whatever calendar."""
    values = np.array([0, 1, 2, 12, 600, 1999.5])
    ours = found(decoded(tmp_path, values, f"{unit} since 1700-01-01", calendar), calendar)
    length = fractions.Fraction("365.242198781") * 86_400_000_000
    start = cftime.datetime(1700, 1, 1, calendar=calendar)
    microseconds = [(fractions.Fraction(value) * length + fractions.Fraction(1, 2)).__floor__() for value in values]
    assert ours == [expected(start + datetime.timedelta(microseconds=n), calendar) for n in microseconds]
    if calendar == "standard":
        # udunits has rounded the year to 31556925.9747 seconds, which is 21.6 microseconds more.
        theirs = [udunits_seconds(f"{unit} since 1700-01-01", value) for value in values]
        np.testing.assert_allclose(np.array(ours) / 1e6, theirs, rtol=0, atol=22e-6 * values.max() + 1e-5)


def test_months_of_30_days_are_dates(tmp_path: pathlib.Path) -> None:
    assert decoded(tmp_path, np.array([0, 1, 2, 13]), "months since 2000-01-30", "360_day").to_pylist() == [
        "2000-01-30",
        "2000-02-30",
        "2000-03-30",
        "2001-02-30",
    ]


FORMS = [
    "2000",
    "2000-5",
    "20000512",
    "20000512T1230",
    "2000-01-01 1230",
    "2000-01-01 12",
    "2000-1-1 00:00:00 6:00",
    "2000-01-01 00:00:00 0:00",
    "2000-01-01 00:00:00 -6:00",
    "2000-01-01 00:00:00 -6",
    "2000-01-01 00:00:00 -600",
    "2000-01-01 00:00:00 +5:30",
    "2000-01-01 00:00:00 5",
    "2000-01-01 00:00:00 UTC",
    "2000-01-01 00:00:00 GMT",
    "2000-01-01T00:00:00Z",
    "19700101T000000Z",
    "-4713-01-01 12:00",
    "-1-1-1",
    "1500-02-29",
    "1582-10-04",
    "1582-10-15",
    "1970-01-01 00:00:00.5 +01:00",
    "1-1-1 00:00:0.0",
]
#: Forms that xarray reads, and UDUNITS-2 does not: pandas says which date they are.
OTHER_FORMS = ["2000/01/05", "2000/1/5 06:00", "05-JAN-2000", "5-oct-2000", "05-Feb-2000 12:30:00", "01-JAN-1970"]


@pytest.mark.parametrize("form", FORMS)
def test_reference_dates_are_read_as_by_udunits(tmp_path: pathlib.Path, form: str) -> None:
    ours = found(decoded(tmp_path, np.array([0]), f"days since {form}"), "standard")
    assert ours[0] / 1e6 == pytest.approx(udunits_seconds(f"days since {form}", 0.0), abs=1e-4)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_reference_dates_are_read_as_by_pandas(tmp_path: pathlib.Path, form: str) -> None:
    path = made(tmp_path, np.array([0, 1]), f"days since {form}").filename
    wanted = [pd.Timestamp(form) + pd.Timedelta(days=days) for days in (0, 1)]
    assert [pd.Timestamp(one) for one in decoded(tmp_path, np.array([0, 1]), f"days since {form}").to_pylist()] == wanted
    with hs.open(path) as f, xr.open_dataset(path, engine="h5netcdf", phony_dims="sort") as judge:
        assert f["time"].decoded[...].tolist() == judge["time"].values.tolist()


@pytest.mark.parametrize("word", ["since", "Since", "after", "from", "ref", "@"])
def test_udunits_other_words_for_since(tmp_path: pathlib.Path, word: str) -> None:
    assert decoded(tmp_path, np.array([2]), f"3 hours  {word} 2000-01-01").to_pylist() == [datetime.datetime(2000, 1, 1, 6)]


UNKNOWN: list[tuple[str, object, dict[str, object]]] = [
    ("days since 2000-01-01", "none", {}),
    ("days since 2000-01-01", "tai", {}),
    ("days since 2000-01-01", "utc", {}),
    ("days since 2000-01-01", "martian", {}),
    ("days since 2000-01-01", "", {}),
    ("days since 2000-01-01", 360, {}),
    ("days since 2000-01-01", None, {"month_lengths": [34, 31, 32, 30, 29, 27, 28, 28, 28, 32, 32, 34]}),
    ("Ms since 2000-01-01", None, {}),
    ("furlongs since 2000-01-01", None, {}),
    ("days since 2000-02-30", None, {}),
    ("days since 1582-10-10", None, {}),
    ("days since 0000-01-01", "standard", {}),
    ("days since 2000-02-29", "noleap", {}),
    ("days since 2000-01-31", "360_day", {}),
    ("days since 2000-01-01 -06:00", None, {}),
    ("days since 2000-01-01 00:00:00 EST", None, {}),
    ("days since yesterday", None, {}),
    ("months since 2000-01-01", None, {}),
    ("years since 2000-01-01", "360_day", {}),
    ("yr since 2000-01-01", "noleap", {}),
    ("days since 01/02/2000", None, {}),
    ("days since", None, {}),
    ("days", None, {}),
    ("", None, {}),
]


@pytest.mark.parametrize(("units", "calendar", "more"), UNKNOWN, ids=[f"{u}|{c}|{','.join(m)}" for u, c, m in UNKNOWN])
def test_what_is_not_known_stays_a_number(tmp_path: pathlib.Path, units: str, calendar: object, more: dict[str, object]) -> None:
    file = made(tmp_path, np.array([1.5]), units, calendar, **more)
    # What looks like a date says that it is not decoded, in each door.
    looks = len(units.split()) > 2
    with pytest.warns(hs.DecodingWarning, match="time") if looks else contextlib.nullcontext():
        table = file.table("/time", columns=["time"])
    with pytest.warns(hs.DecodingWarning, match="/time") if looks else contextlib.nullcontext():
        values = file["time"].decoded[...]
    assert values.tolist() == [1.5] or units == "days"
    assert table.schema.field("time").type == pa.float64()
    assert table.schema.field("time").metadata[b"units"].decode() == units
    assert table.to_arrow()["time"].to_pylist() == [1.5]


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("value", [1e9, -1e9, 1e300, float("inf"), 2**63 - 1, 1 - 2**63])
def test_what_a_column_cannot_hold_is_an_error(tmp_path: pathlib.Path, calendar: str, value: float) -> None:
    f = made(tmp_path, np.array([0, value]), "days since 2000-01-01", calendar)
    with pytest.raises(hs.InvalidInputError, match="read with decode off"):
        f.table("/time").to_arrow()
    assert f.table("/time", raw=True).to_arrow()["time"].to_pylist() == [0, value]


@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day"])
def test_nat_is_missing(tmp_path: pathlib.Path, calendar: str) -> None:
    """numpy's NaT as the number that it is, which pandas writes."""
    f = made(tmp_path, np.array([0, -(2**63)]), "days since 2000-01-01", calendar)
    assert f.table("/time").to_arrow()["time"].is_null().to_pylist() == [False, True]
    assert [one is None or one != one for one in f["time"].decoded[...]] == [False, True]


@pytest.mark.parametrize("calendar", ["noleap", "360_day"])
def test_missing_times_are_null_and_packed_ones_unpacked(tmp_path: pathlib.Path, calendar: str) -> None:
    numbers = np.array([1, -1, 4], "i2")
    ours = found(decoded(tmp_path, numbers, "days since 2000-01-01", calendar, _FillValue=np.int16(-1), scale_factor=0.5), calendar)
    wanted = [expected(date, calendar) for date in dates(np.array([0.5, 2.0]), "days since 2000-01-01", calendar)]
    assert ours == [wanted[0], None, wanted[1]]
    assert found(decoded(tmp_path, np.array([np.nan, 2]), "days since 2000-01-01", calendar), calendar) == [None, wanted[1]]


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    """Three years of a model of 360 days: four times a day, a time as coordinate and one as data."""
    path = tmp_path / "model.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", 1080 * 4)
        for name in ("time", "issued"):
            time = f.createVariable(name, "f8", ("time",))
            time.units, time.calendar = "days since 1999-01-01", "360_day"
            time[:] = np.arange(1080 * 4) / 4
        f.createVariable("v", "i4", ("time",), chunksizes=(100,))[:] = np.arange(1080 * 4)
    return path


LITERALS = {
    "2000-02-30": (),
    "2000-2-30T00:00": (),
    "2000-02-30 06:00": (6,),
    "2000-02-30T06:00:00Z": (6,),
    "2000-02-30T07:00:00.000+01:00": (6,),
    "2000-02-30T05:59:59.999999": (5, 59, 59, 999999),
}
OPERATORS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, "!=": operator.ne, ">=": operator.ge, ">": operator.gt}


@pytest.mark.parametrize("column", ["time", "issued"])
@pytest.mark.parametrize(("literal", "symbol"), list(itertools.product(LITERALS, OPERATORS)))
def test_a_predicate_compares_times_however_they_are_written(model: pathlib.Path, column: str, literal: str, symbol: str) -> None:
    all_dates = dates(np.arange(1080 * 4) / 4, "days since 1999-01-01", "360_day")
    constant = cftime.datetime(2000, 2, 30, *LITERALS[literal], calendar="360_day")
    wanted = [row for row, date in enumerate(all_dates) if OPERATORS[symbol](date, constant)]
    f = hs.open(model)
    table = f.table("/v" if column == "time" else "/", where=f"{column} {symbol} '{literal}'", columns=["v", column])
    assert table.to_arrow()["v"].to_pylist() == wanted
    assert table.count() == len(wanted)
    splits = pickle.loads(pickle.dumps(table.splits(3)))
    assert [row for split in splits for row in split.read()["v"].to_pylist()] == wanted


def test_a_predicate_on_model_dates_is_a_hyperslab(model: pathlib.Path) -> None:
    table = hs.open(model).table("/v", where="time >= '2000-02-29' and time < '2000-03-01'")
    assert "8 of 4320 rows by dimensions, no test row by row" in table.explain()
    within = hs.open(model).table("/v", where="time between '2000-02-29' and '2000-02-30' or time in ('2001-02-30T12:00', '2001-02-30')")
    assert within.to_arrow()["time"].to_pylist() == [
        "2000-02-29",
        "2000-02-29T06:00:00",
        "2000-02-29T12:00:00",
        "2000-02-29T18:00:00",
        "2000-02-30",
        "2001-02-30",
        "2001-02-30T12:00:00",
    ]


@pytest.mark.parametrize("calendar", ["360_day", "standard"])
@pytest.mark.parametrize(("period", "first"), [("2000", "2000-01-01"), ("2000-02", "2000-02-01")])
def test_a_year_or_month_is_its_first_day_where_that_is_clear(model: pathlib.Path, period: str, first: str, calendar: str) -> None:
    with netCDF4.Dataset(model, "a") as f:
        f["time"].calendar = calendar
    f = hs.open(model)
    for symbol in ("<", ">="):
        assert f.table("/v", f"time {symbol} '{period}'").to_arrow() == f.table("/v", f"time {symbol} '{first}'").to_arrow()
    for condition in (f"time = '{period}'", f"time <= '{period}'", f"time > '{period}'", f"time in ('{period}')", f"time between '1999' and '{period}'"):
        with pytest.raises(hs.InvalidInputError, match=rf"'{period}' is a (year|month).*>= '{first}'"):
            f.table("/v", condition)


PARTS = {"year": "year", "quarter": None, "month": "month", "day": "day", "hour": "hour", "minute": "minute", "second": "second"}


@pytest.mark.parametrize("part", PARTS)
# Dates of the Julian calendar become dates of the Gregorian one on the same day.
@pytest.mark.parametrize("calendar", [calendar for calendar in CALENDARS if calendar != "julian"])
def test_parts_of_times_are_cftimes(tmp_path: pathlib.Path, calendar: str, part: str) -> None:
    """Also before 1970 and with fractions of seconds; the column and the coordinate are tested on different ways."""
    numbers = np.random.default_rng(7).integers(-(10**10), 10**10, 300).astype("f8") / 4
    path = tmp_path / "times.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", len(numbers))
        for name in ("time", "issued"):
            time = f.createVariable(name, "f8", ("time",))
            time.units, time.calendar = "seconds since 2000-01-01", calendar
            time[:] = numbers
        f.createVariable("v", "i4", ("time",))[:] = np.arange(len(numbers))
    all_dates = dates(numbers, "seconds since 2000-01-01", calendar)
    parts = [(date.month + 2) // 3 if PARTS[part] is None else getattr(date, PARTS[part]) for date in all_dates]
    middle = sorted(parts)[150]
    f = hs.open(path)
    for condition, holds in (
        (f"{part}({{}}) = {middle}", lambda p: p == middle),
        (f"{part}({{}}) * 2 > {2 * middle}", lambda p: p > middle),
        (f"not {part.upper()}({{}}) in ({parts[0]}, {parts[1]})", lambda p: p not in parts[:2]),
    ):
        wanted = [row for row, value in enumerate(parts) if holds(value)]
        for object, column in (("/v", "time"), ("/", "issued")):
            table = f.table(object, condition.format(column), columns=["v"])
            assert table.to_arrow()["v"].to_pylist() == wanted, condition
            assert [row for split in pickle.loads(pickle.dumps(table.splits(3))) for row in split.read()["v"].to_pylist()] == wanted
        assert hs.query(f, "/", condition.format("issued")).count() == len(wanted)


def test_parts_of_a_coordinate_are_found_without_its_data(model: pathlib.Path) -> None:
    table = hs.open(model).table("/v", where="month(time) = 2 and day(time) = 30")
    assert "12 of 4320 rows by dimensions, no test row by row" in table.explain()
    assert {text[5:10] for text in table.to_arrow()["time"].to_pylist()} == {"02-30"}


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("month(v) = 1", "month needs a column of times; v is int32"),
        ("month(time + 1) = 1", "month takes the name of one column of times"),
        ("month('1990-01-01') = 1", "month takes the name of one column of times"),
        ("month(time, time) = 1", "month takes the name of one column of times"),
        ("weekday(time) = 1", "there is no function weekday: year, quarter, month"),
        ("month(tine) = 1", 'no column "tine"; nearest: time'),
        ("month(time) = 'May'", "compared with a number, not with 'May'"),
    ],
)
def test_wrong_parts_of_times(model: pathlib.Path, condition: str, message: str) -> None:
    with pytest.raises((hs.InvalidInputError, hs.NotFoundError), match=re.escape(message)):
        hs.open(model).table("/v", condition)


@pytest.mark.parametrize("literal", ["'2000-01-31'", "'2000-13-01'", "'soon'", "''", "5", "true"])
def test_a_literal_that_is_no_date_of_the_calendar_is_refused(model: pathlib.Path, literal: str) -> None:
    with pytest.raises(hs.InvalidInputError, match="time"):
        hs.open(model).table("/", where=f"time < {literal}").to_arrow()


def test_the_metadata_names_the_calendar_of_text(model: pathlib.Path) -> None:
    f = hs.open(model)
    assert f.table("/").schema.field("time").metadata[b"hyperslab:calendar"] == b"360_day"
    assert f.table("/", raw=True).schema.field("time").type == pa.float64()
    assert b"hyperslab:calendar" not in f.table("/", raw=True).schema.field("time").metadata


@pytest.mark.parametrize("symbol", ["<", "<=", "=", "!=", ">=", ">"])
@pytest.mark.parametrize("literal", ["2000-02-30", "2000-02-30T06:00:00", "2000-02-30T00:00:00", "2000-02", "x"])
def test_engines_compare_the_text_by_bytes_pushed_down_or_not(model: pathlib.Path, symbol: str, literal: str) -> None:
    f = hs.open(model)
    plain = f.table("/").to_arrow()
    text = plain["time"].to_pylist()
    wanted = [row for row, time in enumerate(text) if OPERATORS[symbol](time, literal)]
    assert [row for (row,) in hs.sql(f"select v from v where time {symbol} '{literal}' order by v", f).fetchall()] == wanted
    assert [row for (row,) in duckdb.sql(f"select v from plain where time {symbol} '{literal}' order by v").fetchall()] == wanted
    expression = {"<": pc.less, "<=": pc.less_equal, "=": pc.equal, "!=": pc.not_equal, ">=": pc.greater_equal, ">": pc.greater}[symbol]
    filtered = f.table("/", where=expression(pc.field("time"), literal)).to_arrow()
    assert filtered["v"].to_pylist() == wanted
    lazy = pl.scan_pyarrow_dataset(f.table("/").dataset())
    assert lazy.filter(OPERATORS[symbol](pl.col("time"), literal)).select("v").collect()["v"].to_list() == wanted


def test_months_are_groups_of_text(model: pathlib.Path) -> None:
    f = hs.open(model)
    months = hs.sql("select left(time, 7) as month, count(*) from v group by month order by month", f).fetchall()
    assert months == [(f"{year}-{month:02}", 120) for year in (1999, 2000, 2001) for month in range(1, 13)]


@pytest.mark.parametrize("attribute", ["bounds", "climatology"])
@pytest.mark.parametrize("calendar", ["standard", "noleap", "360_day"])
def test_bounds_take_over_units_and_calendar(tmp_path: pathlib.Path, attribute: str, calendar: str) -> None:
    """CF 7.1: a boundary variable need not repeat what its coordinate says; what it says itself holds."""
    path = tmp_path / "a.nc"
    cells = np.array([[0, 31], [31, 59], [59, 90]], "f8")
    with netCDF4.Dataset(path, "w") as f:
        for group in (f, f.createGroup("inner")):
            group.createDimension("time", 3)
            group.createDimension("nv", 2)
            time = group.createVariable("time", "f8", ("time",))
            time[:] = cells.mean(axis=1)
            time.setncatts({"units": f"days since {'2001' if group is f else '1850'}-01-01", "calendar": calendar, attribute: "cells"})
            group.createVariable("cells", "f8", ("time", "nv"))[:] = cells
            # Not a boundary variable: numbers.
            group.createVariable("other", "f8", ("time", "nv"))[:] = cells
        f.createDimension("x", 1)
        own = f.createVariable("x", "f8", ("x",))
        own.setncatts({"units": "days since 2001-01-01", "calendar": calendar, attribute: "own"})
        kept = f.createVariable("own", "f8", ("x", "nv"))
        kept[:] = [[0, 1]]
        kept.units = "hours since 1900-01-01"
    f = hs.open(path)
    for prefix, year in (("", 2001), ("inner/", 1850)):
        with netCDF4.Dataset(path) as theirs:
            expected = cftime.num2date(theirs[f"{prefix}cells"][:].data.reshape(-1), f"days since {year}-01-01", calendar)
        found = f.table(f"/{prefix}cells").to_arrow()["cells"].to_pylist()
        shown = [value.split("T")[0] if isinstance(value, str) else f"{value:%Y-%m-%d %H:%M}" for value in found]
        assert shown == [date.strftime("%Y-%m-%d" if calendar == "360_day" else "%Y-%m-%d %H:%M") for date in expected]
        assert f.table(f"/{prefix}other").to_arrow()["other"].to_pylist() == cells.reshape(-1).tolist()
    inherited = f.table("/own").to_arrow()["own"].to_pylist()
    expected = cftime.num2date([0, 1], "hours since 1900-01-01", calendar)
    assert [str(value).replace("T", " ")[:16] for value in inherited][1] == expected[1].strftime("%Y-%m-%d %H:%M")
