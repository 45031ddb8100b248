"""Values for people: times and missing values are the same text in tables, reprs and notebooks."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest
from hyperslab.objects.value_text import value_text
from hyperslab.values.cells import cell

TIMES = [
    (np.datetime64("2001-02-01", "ns"), datetime.datetime(2001, 2, 1), "2001-02-01"),
    (np.datetime64("2001-02-01T06:30:00", "ns"), datetime.datetime(2001, 2, 1, 6, 30), "2001-02-01 06:30:00"),
    (cftime.DatetimeNoLeap(2001, 2, 1), datetime.datetime(2001, 2, 1), "2001-02-01"),
    (np.timedelta64(36, "h"), datetime.timedelta(hours=36), "1 day, 12:00:00"),
    (np.timedelta64(2, "D"), datetime.timedelta(days=2), "2 days"),
    (np.datetime64("NaT"), None, "—"),
    (None, None, "—"),
]


@pytest.mark.parametrize("of_array, of_table, text", TIMES, ids=str)
def test_times_are_alike(of_array: Any, of_table: Any, text: str) -> None:
    assert value_text(of_array) == text == cell(of_table, pa.duration("us") if isinstance(of_table, datetime.timedelta) else pa.timestamp("us"))


def test_tables_have_all_digits() -> None:
    assert cell(datetime.datetime(2001, 2, 1, 0, 0, 0, 250_000), pa.timestamp("us")) == "2001-02-01 00:00:00.25"
    assert (cell(0.1234567891, pa.float64()), cell(0.1, pa.float32()), cell(float("nan"), pa.float64())) == ("0.1234567891", "0.1", "nan")
    assert (value_text(0.1234567891), value_text(np.nan)) == ("0.123457", "—")
    assert cell([1.5, None], pa.list_(pa.float64())) == "[1.5, —]"


def test_a_file_in_each_door(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as f:
        f.createDimension("time", 2)
        time = f.createVariable("time", "i4", ("time",), fill_value=-1)
        time.set_auto_maskandscale(False)
        time[:], time.units = [31, -1], "days since 2001-01-01"
    with hs.open(tmp_path / "t.nc") as f:
        table = f.table("/time")._repr_html_()
        for shown in (repr(f["time"].decoded), f["time"]._repr_html_(), table):
            assert "2001-02-01" in shown and "—" in shown and "00:00:00" not in shown, shown
