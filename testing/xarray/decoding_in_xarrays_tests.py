"""A plugin of pytest for xarray's own tests: whatever these decode, Hyperslab decodes from a file as well, and what differs is written down."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
import warnings
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
import xarray.coding.times
import xarray.conventions

FOUND: dict[str, Any] = {"compared": 0, "refused": 0, "left": 0, "differing": []}
FOLDER = tempfile.TemporaryDirectory()


def ours(values: Any, attributes: dict[str, Any]) -> Any:
    """The values as a file has them, decoded; `None` if they are left as they are, with a warning."""
    # A new file each time: one that is written again within a tick of the clock looks the same.
    path = pathlib.Path(FOLDER.name) / f"{sum(FOUND[key] for key in ('compared', 'refused', 'left'))}.h5"
    with h5py.File(path, "w") as f:
        f["v"] = values
        f["v"].attrs.update(attributes)
    with hs.open(path) as f, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = f["v"].decoded[...]
        except hs.InvalidInputError:
            return None
    path.unlink()
    return None if any(issubclass(one.category, hs.DecodingWarning) for one in said) else found


def shown(values: Any) -> list[Any]:
    """Dates to hundredths of a second, missing ones None; other values as they are."""
    made = []
    for one in np.asarray(values).ravel():
        if one is None or one != one:
            made.append(None)
        elif isinstance(one, np.datetime64):
            # Not by astype, which overflows for the first nanoseconds that numpy has.
            microseconds = int(one.astype("i8")) // 1000 if one.dtype == "M8[ns]" else int(one.astype("M8[us]").astype("i8"))
            made.append(str(np.datetime64(microseconds, "us"))[:22])
        elif hasattr(one, "isoformat"):
            made.append(one.isoformat(timespec="microseconds")[:22])
        elif isinstance(one, np.timedelta64):
            made.append(int(one.astype("m8[us]").astype("i8")))
        else:
            made.append(round(float(one), 5) if abs(float(one)) < 1e9 else float(f"{float(one):.6g}"))
    return made


def note(values: Any, attributes: dict[str, Any], theirs: Any) -> None:
    """Compares one decoding; `theirs` is xarray's result or error."""
    stored = np.asarray(values)
    if stored.dtype.kind not in "iuf" or not stored.size or any(not isinstance(one, (str, int, float, np.generic, np.ndarray)) for one in attributes.values()):
        FOUND["left"] += 1
        return
    found = ours(stored, attributes)
    if isinstance(theirs, Exception) or found is None:
        FOUND["refused"] += 1
        # What xarray refuses may have a meaning all the same (weeks, a calendar in capitals), but not the other way round.
        # Times beyond what nanoseconds hold are refused by name.
        is_far = not isinstance(theirs, Exception) and theirs.dtype.kind in "mM" and "[ns]" not in str(theirs.dtype)
        if found is None and not isinstance(theirs, Exception) and not is_far:
            FOUND["differing"].append(f"{attributes} {stored.dtype} {stored.ravel()[:4]}: xarray decodes it as {theirs.dtype} {theirs.ravel()[:4]}")
        return
    FOUND["compared"] += 1
    if shown(found) != shown(theirs):
        FOUND["differing"].append(f"{attributes} {stored.dtype} {stored.ravel()[:4]}: {shown(found)[:4]}, xarray has {theirs.dtype} {shown(theirs)[:4]}")


def pytest_configure() -> None:
    datetimes = xarray.coding.times.decode_cf_datetime
    timedeltas = xarray.coding.times.decode_cf_timedelta
    variables = xarray.conventions.decode_cf_variable

    def decode_cf_datetime(num_dates: Any, units: str, calendar: Any = None, use_cftime: Any = None, time_unit: Any = "ns") -> Any:
        attributes = {"units": units, **({} if calendar is None else {"calendar": calendar})}
        stored = np.array(num_dates)  # xarray scales floats in place
        try:
            found = datetimes(num_dates, units, calendar, use_cftime, time_unit)
        except Exception as error:
            # Asked for numpy's dates only, xarray refuses those that numpy lacks.
            if use_cftime is None:
                note(stored, attributes, error)
            raise
        note(stored, attributes, found)
        return found

    def decode_cf_timedelta(num_timedeltas: Any, units: str, time_unit: Any = "ns") -> Any:
        stored = np.array(num_timedeltas)  # xarray scales floats in place
        found = timedeltas(num_timedeltas, units, time_unit)
        if units in ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"):
            note(stored, {"units": units}, found)
        return found

    def decode_cf_variable(name: Any, var: Any, *arguments: Any, **options: Any) -> Any:
        attributes = dict(var.attrs)
        is_default = not arguments and set(options) <= {"decode_timedelta", "decode_times"} and all(value is True for value in options.values())
        is_packed = any(key in attributes for key in ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned"))
        values = var.values if is_default and is_packed and isinstance(getattr(var, "_data", None), np.ndarray) else None
        try:
            found = variables(name, var, *arguments, **options)
        except Exception as error:
            if values is not None:
                note(values, attributes, error)
            raise
        if values is not None:
            note(values, attributes, found.values)
        return found

    xarray.coding.times.decode_cf_datetime = decode_cf_datetime
    xarray.coding.times.decode_cf_timedelta = decode_cf_timedelta
    xarray.conventions.decode_cf_variable = decode_cf_variable


def pytest_sessionfinish(session: pytest.Session) -> None:
    FOUND["tests"] = session.testscollected
    pathlib.Path(os.environ["FOUND_BY_DECODING"]).write_text(json.dumps(FOUND))
    FOLDER.cleanup()
