"""What stored numbers mean: cases for all doors. That xarray decodes them so is tested in testing/netcdf, from where other suites have the cases."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any, NamedTuple

import numpy as np

#: Values in one form: missing ones None, dates as text, durations in seconds.
Cells = list[Any]


class Case(NamedTuple):
    """A variable: its dtype, stored numbers and attributes, and what they mean."""

    dtype: str
    stored: list[Any]
    attributes: dict[str, Any]
    meant: Cells


def _days(*dates: str | None) -> Cells:
    return [None if date is None else f"{date} 00:00:00" for date in dates]


CASES = {
    "plain": Case("i2", [1, 2, 3], {}, [1, 2, 3]),
    "packed": Case("i2", [1, 2, -9], {"scale_factor": np.float32(0.5), "add_offset": np.float32(10), "_FillValue": np.int16(-9)}, [10.5, 11, None]),
    "packed_by_doubles": Case("i2", [1, 2, 3], {"scale_factor": 0.1, "add_offset": 273.15}, [273.25, 273.35, 273.45]),
    "only_offset": Case("u1", [1, 200, 3], {"add_offset": np.float32(0.5)}, [1.5, 200.5, 3.5]),
    "fill_of_integers": Case("i4", [1, 5, 2**31 - 1], {"_FillValue": np.int32(5)}, [1, None, 2**31 - 1]),
    "missing_values": Case("f4", [1, 5, 7], {"missing_value": np.array([5, 7], "f4")}, [1, None, None]),
    "fill_nan": Case("f8", [1, np.nan, 7], {"_FillValue": np.nan}, [1, None, 7]),
    "unsigned": Case("i1", [1, -1, -2], {"_Unsigned": "true", "_FillValue": np.int8(-1)}, [1, None, 254]),
    "signed": Case("u2", [1, 65535, 32768], {"_Unsigned": "false"}, [1, -1, -32768]),
    "valid_range": Case("i2", [1, 20, 3], {"valid_range": np.array([0, 10], "i2")}, [1, 20, 3]),
    "days": Case("i4", [0, 1, 31], {"units": "days since 2001-01-01"}, _days("2001-01-01", "2001-01-02", "2001-02-01")),
    "hours_with_zone": Case(
        "f8", [0, 1.5, 31], {"units": "hours since 2001-01-01 00:00:00 +01:00"}, ["2000-12-31 23:00:00", "2001-01-01 00:30:00", "2001-01-02 06:00:00"]
    ),
    "slashed_date": Case("i4", [0, 1, 31], {"units": "days since 1970/01/01"}, _days("1970-01-01", "1970-01-02", "1970-02-01")),
    "named_month": Case("i4", [0, 1, 31], {"units": "days since 01-JAN-1970"}, _days("1970-01-01", "1970-01-02", "1970-02-01")),
    "packed_date": Case("i4", [0, 1, 31], {"units": "days since 19900101"}, _days("1990-01-01", "1990-01-02", "1990-02-01")),
    "year_and_month": Case("i4", [0, 1, 31], {"units": "days since 1990-02"}, _days("1990-02-01", "1990-02-02", "1990-03-04")),
    "missing_date": Case("i4", [0, -1, 31], {"units": "days since 2001-01-01", "_FillValue": np.int32(-1)}, _days("2001-01-01", None, "2001-02-01")),
    "packed_time": Case(
        "i2", [0, 1, 4], {"units": "days since 2001-01-01", "scale_factor": 0.25}, ["2001-01-01 00:00:00", "2001-01-01 06:00:00", "2001-01-02 00:00:00"]
    ),
    "proleptic": Case("i4", [0, 1, 31], {"units": "days since 1500-02-27", "calendar": "proleptic_gregorian"}, _days("1500-02-27", "1500-02-28", "1500-03-30")),
    "julian": Case("i4", [0, 1, 31], {"units": "days since 2001-01-01", "calendar": "julian"}, _days("2001-01-01", "2001-01-02", "2001-02-01")),
    "noleap": Case("i4", [0, 1, 31], {"units": "days since 2000-02-28", "calendar": "noleap"}, _days("2000-02-28", "2000-03-01", "2000-03-31")),
    "of_360_days": Case("i4", [0, 1, 31], {"units": "days since 2000-02-29", "calendar": "360_day"}, _days("2000-02-29", "2000-02-30", "2000-03-30")),
    "duration": Case("i4", [0, 1, 31], {"units": "hours"}, [0, 3600, 111600]),
    "seconds_are_no_duration": Case("i4", [0, 1, 31], {"units": "s"}, [0, 1, 31]),
    "boolean": Case("i1", [0, 1, 1], {"dtype": "bool"}, [False, True, True]),
    "flags": Case("i1", [0, 1, 2], {"flag_values": np.array([0, 1, 2], "i1"), "flag_meanings": "a b c"}, [0, 1, 2]),
}
#: Dates in units that xarray refuses; all doors decode them.
ONLY_OURS = {
    "slashed_noleap": Case("i4", [0, 1, 31], {"units": "days since 2000/02/28", "calendar": "noleap"}, _days("2000-02-28", "2000-03-01", "2000-03-31")),
    "slashed_360": Case("i4", [0, 1, 31], {"units": "days since 2000/02/29", "calendar": "360_day"}, _days("2000-02-29", "2000-02-30", "2000-03-30")),
    "named_noleap": Case("i4", [0, 1, 31], {"units": "days since 28-FEB-2000", "calendar": "365_day"}, _days("2000-02-28", "2000-03-01", "2000-03-31")),
    "packed_360": Case("i4", [0, 1, 31], {"units": "days since 20000229", "calendar": "360_day"}, _days("2000-02-29", "2000-02-30", "2000-03-30")),
    "weeks": Case("i4", [0, 1, 2], {"units": "weeks since 2001-01-01"}, _days("2001-01-01", "2001-01-08", "2001-01-15")),
    "six_hours": Case("i4", [0, 4, 8], {"units": "6 hours since 2001-01-01"}, _days("2001-01-01", "2001-01-02", "2001-01-03")),
}
#: Values that xarray refuses, and all doors leave as they are stored, with a warning.
REFUSED = {
    "months": Case("i4", [0, 1, 31], {"units": "months since 2001-01-01"}, [0, 1, 31]),
    "unknown_calendar": Case("i4", [0, 1, 31], {"units": "days since 2001-01-01", "calendar": "martian"}, [0, 1, 31]),
    "unknown_date": Case("i4", [0, 1, 31], {"units": "days since 2001-13-01"}, [0, 1, 31]),
}
ALL = {**CASES, **ONLY_OURS, **REFUSED}
#: What tables have instead, and why.
IN_TABLES: dict[str, tuple[Cells, str]] = {
    "valid_range": ([1, None, 3], "null is what SQL has for values that are out of range; numpy's integers have none"),
    "duration": ([0, 1, 31], "SQL computes with numbers; units are in the metadata"),
    "julian": (_days("2001-01-14", "2001-01-15", "2001-02-14"), "timestamps are instants, which every engine has; CalendarWarning says so"),
}


def in_tables(name: str) -> Cells:
    """What tables have."""
    return IN_TABLES[name][0] if name in IN_TABLES else ALL[name].meant


def write(path: pathlib.Path) -> None:
    """Writes a variable for each case, as netCDF-4."""
    import h5py

    with h5py.File(path, "w") as f:
        # As the netCDF library writes a dimension that has no coordinate.
        f.create_dataset("x", (3,), ">f4").make_scale("This is a netCDF dimension but not a netCDF variable.         3")
        for name, case in ALL.items():
            made = f.create_dataset(name, data=np.array(case.stored, case.dtype))
            made.dims[0].attach_scale(f["x"])
            for key, value in case.attributes.items():
                made.attrs[key] = np.bytes_(value) if isinstance(value, str) else value


def cell(value: Any) -> Any:
    """A value in one form: missing ones None, dates as text to the second, numbers of Python."""
    if value is None or value is np.ma.masked or (not isinstance(value, (str, bytes)) and value != value):
        return None
    if isinstance(value, (np.datetime64, datetime.datetime, datetime.date)) or hasattr(value, "calendar"):
        text = str(value.isoformat() if hasattr(value, "isoformat") else value)[:19].replace("T", " ")
        return text if len(text) > 10 else f"{text} 00:00:00"
    if isinstance(value, (np.timedelta64, datetime.timedelta)):
        return value / np.timedelta64(1, "s") if isinstance(value, np.timedelta64) else value.total_seconds()
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return f"{value.replace('T', ' ').removesuffix('Z')} 00:00:00"[:19] if value[:4].isdigit() and value[4:5] == "-" else value
    return round(float(value), 4)


def cells(values: Any) -> Cells:
    """Values in one form."""
    return [cell(one) for one in np.asarray(values).ravel()]
