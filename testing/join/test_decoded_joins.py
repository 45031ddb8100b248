"""Joining and decoding in either order: for random sets of files, what their join means is what the files mean, one after the other, or the join is
refused by name. Judge: netCDF4 reads each file, cftime its dates; packing is decoded by a naive oracle."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

Random = np.random.Generator
Meaning = dict[str, Any]
CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "360_day", "all_leap", "julian"]
REFERENCES = [
    "2000-01-01",
    "2000-01-01 00:00:00",
    "1999-12-30T12:00:00Z",
    "2000-01-02 00:00:00 +01:00",
    "1850-1-1",
    "20000101",
    "2000/01/01",
    "2000-01-01 06:00 UTC",
]
UNITS = ["days", "hours", "minutes", "seconds", "hour", "d"]
#: What may differ from file to file, each with this probability.
CHANCE = 0.02


class Contents(NamedTuple):
    """What is stored in one file, or in a whole of several."""

    arrays: dict[str, np.ndarray[Any, Any]]
    attributes: dict[str, dict[str, Any]]


class Set(NamedTuple):
    """What the files of a set have in common; each may differ in some of it."""

    calendar: str
    time_dtype: str
    time_fill: bool
    own_units: bool
    dtype: str
    packing: dict[str, Any]
    endian: Any
    form: str
    as_strings: bool
    text_length: int
    x_units: str


def random_packing(random: Random, dtype: str) -> dict[str, Any]:
    kind = np.dtype(dtype).type
    made: dict[str, Any] = {}
    if random.random() < 0.6:
        made["scale_factor"] = random.choice([np.float32(0.5), np.float64(0.25), np.float32(-2)])
    if random.random() < 0.5:
        made["add_offset"] = random.choice([np.float32(10), np.float64(273.25)])
    if random.random() < 0.5:
        made["_FillValue"] = kind(random.choice([1, 7]))
    if random.random() < 0.3:
        made["missing_value"] = kind(random.choice([2, 3]))
    if dtype[0] in "iu" and random.random() < 0.3:
        made["_Unsigned"] = str(random.choice(["true", "false"]))
    if random.random() < 0.2:
        made["valid_max"] = kind(random.choice([50, 60]))
    return made


def random_set(random: Random) -> Set:
    dtype = str(random.choice(["i1", "i2", "i4", "u1", "u2", "f4", "f8"]))
    return Set(
        str(random.choice(CALENDARS)),
        str(random.choice(["i4", "i8", "f8"])),
        bool(random.random() < 0.2),
        bool(random.random() < 0.5),
        dtype,
        random_packing(random, dtype),
        str(random.choice(["little", "big"])),
        str(random.choice(["NETCDF4", "NETCDF4", "NETCDF3_CLASSIC"])),
        bool(random.random() < 0.3),
        int(random.integers(1, 6)),
        str(random.choice(["m", "degrees_north", "hPa"])),
    )


def varied(random: Random, base: Set) -> Set:
    """A file's own variation of its set."""
    other = random_set(random)._replace(dtype=base.dtype)
    other = other._replace(packing=random_packing(random, base.dtype))
    return Set(*(own if random.random() > CHANCE else another for own, another in zip(base, other, strict=True)))


def write(path: pathlib.Path, random: Random, one: Set, first_hour: int, length: int, reference: tuple[str, str]) -> int:
    """Writes a file of `length` times from `first_hour` on; returns the hour after the last one."""
    units = f"{reference[0]} since {reference[1]}"
    is_classic = one.form != "NETCDF4"
    time_dtype = "f8" if is_classic and one.time_dtype == "i8" else one.time_dtype
    dtype = one.dtype if not is_classic or one.dtype[0] != "u" else "i2"
    steps = random.choice([24, 12, 6]) * np.arange(length + 1) + first_hour
    dates = cftime.num2date(steps, "hours since 2000-01-05", one.calendar, only_use_cftime_datetimes=True)
    # The judge's own parser does not know all references: the same dates as hours, counted by hand.
    start = cftime.num2date(0, f"hours since {plain_reference(reference[1])}", one.calendar, only_use_cftime_datetimes=True)
    per = {"days": 86400, "d": 86400, "hours": 3600, "hour": 3600, "minutes": 60, "seconds": 1}[reference[0]]
    counts = np.array([(date - start).total_seconds() / per for date in dates])
    counts = counts if time_dtype == "f8" else np.floor(counts).astype(time_dtype)
    with netCDF4.Dataset(path, "w", format=one.form) as f:
        options: dict[str, Any] = {} if is_classic else {"endian": one.endian}
        for name, size in (("time", None), ("x", 2), ("nv", 2), ("length", one.text_length)):
            f.createDimension(name, size)
        put = (lambda v, key, value: v.setncattr_string(key, value)) if one.as_strings and not is_classic else (lambda v, key, value: v.setncattr(key, value))
        fill = np.dtype(time_dtype).type(counts[0]) if one.time_fill and length > 1 else False
        time = f.createVariable("time", time_dtype, ("time",), fill_value=fill, **options)
        bounds = f.createVariable("cells", time_dtype, ("time", "nv"), fill_value=False, **options)
        for variable in (time, bounds) if one.own_units else (time,):
            put(variable, "units", units)
            put(variable, "calendar", one.calendar)
        put(time, "bounds", "cells")
        packing = dict(one.packing)
        v = f.createVariable("v", dtype, ("time", "x"), fill_value=packing.pop("_FillValue", False), **options)
        x = f.createVariable("x", "f8", ("x",), fill_value=False, **options)
        text = f.createVariable("text", "S1", ("time", "length"))
        for variable in (time, bounds, v, x):
            variable.set_auto_maskandscale(False)
        for key, value in packing.items():
            put(v, key, value) if isinstance(value, str) else v.setncattr(key, value.astype(dtype) if key in ("missing_value", "valid_max") else value)
        put(x, "units", one.x_units)
        x[:] = [1.0, 2.0]
        time[:], bounds[:] = counts[:-1], np.stack([counts[:-1], counts[1:]], axis=1)
        v[:] = random.integers(0, 100, (length, 2)).astype(dtype)
        text[:] = random.choice([b"a", b"b", b"c"], (length, one.text_length))
    return int(steps[-1])


def plain_reference(reference: str) -> str:
    """A reference date as cftime reads it."""
    return {"20000101": "2000-01-01", "2000/01/01": "2000-01-01", "1999-12-30T12:00:00Z": "1999-12-30 12:00:00", "2000-01-02 00:00:00 +01:00": "2000-01-01 23:00:00",
            "2000-01-01 06:00 UTC": "2000-01-01 06:00:00"}.get(reference, reference)  # fmt: skip


# What is stored, and what it means.


def stored_by_netcdf4(path: pathlib.Path) -> Contents:
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        return Contents(
            {name: v[...] for name, v in f.variables.items()}, {name: {key: v.getncattr(key) for key in v.ncattrs()} for name, v in f.variables.items()}
        )


def stored_by_hyperslab(file: Any) -> Contents:
    names = ["time", "cells", "v", "x", "text"]

    def plain(value: Any) -> Any:
        value = value[0] if isinstance(value, np.ndarray) and value.size == 1 else value
        return value.decode() if isinstance(value, bytes) else value

    return Contents({name: file[name][...] for name in names}, {name: {key: plain(value) for key, value in file[name].attrs.items()} for name in names})


def dates_of(values: np.ndarray[Any, Any], units: str, calendar: str, marks: list[Any]) -> list[str | None]:
    word, reference = units.split(" since ")
    word = "days" if word == "d" else word
    flat = np.asarray(values).ravel()
    found = cftime.num2date(flat.astype(flat.dtype.newbyteorder("=")), f"{word} since {plain_reference(reference)}", calendar, only_use_cftime_datetimes=True)
    return [None if raw in marks or raw != raw else date.isoformat() for raw, date in zip(flat.tolist(), found, strict=True)]


def meaning_of(stored: Contents) -> Meaning:
    time = stored.attributes["time"]
    marks = [float(time["_FillValue"])] if "_FillValue" in time else []
    own = stored.attributes["cells"]
    kinds = {"gregorian": "standard", "365_day": "noleap"}
    return {
        "calendar": kinds.get(time["calendar"], time["calendar"]),
        "time": dates_of(stored.arrays["time"], time["units"], time["calendar"], marks),
        "cells": dates_of(stored.arrays["cells"], own.get("units", time["units"]), own.get("calendar", time["calendar"]), []),
        "v": numbers_of(stored.arrays["v"], stored.attributes["v"]),
        "x": (stored.arrays["x"].tolist(), stored.attributes["x"]["units"]),
        "text": [row.tobytes().rstrip(b"\0") for row in stored.arrays["text"]],
    }


def numbers_of(values: np.ndarray[Any, Any], attributes: dict[str, Any]) -> list[float]:
    """Decoded one by one."""
    kind = np.dtype(values.dtype).newbyteorder("=")
    sign = {"true": "u", "false": "i"}.get(str(attributes.get("_Unsigned")), kind.kind) if kind.kind in "iu" else kind.kind
    meant = np.dtype(f"{sign}{kind.itemsize}")
    as_meant = lambda number: np.asarray(number).astype(kind).view(meant).item()  # noqa: E731
    marks = [as_meant(attributes[key]) for key in ("_FillValue", "missing_value") if key in attributes]
    scale, offset = float(attributes.get("scale_factor", 1)), float(attributes.get("add_offset", 0))
    return [float("nan") if as_meant(raw) in marks else as_meant(raw) * scale + offset for raw in np.asarray(values).ravel()]


def of_files(paths: list[pathlib.Path]) -> Meaning:
    each = [meaning_of(stored_by_netcdf4(path)) for path in paths]
    joined = {key: [value for one in each for value in one[key]] for key in ("time", "cells", "v", "text")}
    return {**joined, "calendar": {one["calendar"] for one in each}, "x": [one["x"] for one in each]}


def check(found: Meaning, right: Meaning, door: str) -> None:
    assert right["calendar"] == {found["calendar"]}, (door, right["calendar"], found["calendar"])
    # Where a date of cftime is missing, xarray has the date that is counted from.
    pairs = [(mine, theirs) for mine, theirs in zip(found["time"], right["time"], strict=True) if theirs is not None or door != "opened"]
    assert all(mine == theirs for mine, theirs in pairs), (door, "time", found["time"], right["time"])
    assert found["cells"] == right["cells"], (door, "cells", found["cells"], right["cells"])
    np.testing.assert_allclose(found["v"], right["v"], rtol=1e-6, err_msg=door)
    assert found["text"] == right["text"], (door, "text")
    assert all(one[0] == found["x"][0] for one in right["x"]), (door, "x")
    assert {one[1] for one in right["x"]} == {found["x"][1]}, (door, "units of x")


# The doors.


def joined(paths: list[pathlib.Path], _: pathlib.Path) -> Meaning:
    with hs.joined(paths, concat_dim="time") as whole:
        found = meaning_of(stored_by_hyperslab(whole))
        # What `decoded` and tables say of the whole is what the judge says of what is stored.
        times = whole["time"].decoded[...]
        assert [None if one is None or one != one else str(one)[:19].replace("T", " ") for one in times] == [
            None if one is None else one[:19].replace("T", " ") for one in found["time"]
        ], "decoded"
        np.testing.assert_allclose(np.asarray(whole["v"].decoded[...], "f8").ravel(), found["v"], rtol=1e-6, err_msg="decoded")
        column = whole.table("/v", omitted="ignore").to_arrow()["v"].to_pylist()
        limit = whole["v"].attrs.get("valid_max")
        for cell, number, raw in zip(column, found["v"], np.asarray(whole["v"][...]).ravel().tolist(), strict=True):
            is_out = limit is not None and cell is None
            assert is_out or (cell is None) == (number != number), ("table", cell, number, raw)
            assert cell is None or abs(cell - number) <= 1e-5 * abs(number), ("table", cell, number)
    return found


def merged(paths: list[pathlib.Path], folder: pathlib.Path) -> Meaning:
    hs.merge(paths, folder / "merged.nc", concat_dim="time")
    return meaning_of(stored_by_netcdf4(folder / "merged.nc"))


def virtual(paths: list[pathlib.Path], folder: pathlib.Path) -> Meaning:
    hs.virtual(paths, folder / "virtual.nc", concat_dim="time")
    return meaning_of(stored_by_netcdf4(folder / "virtual.nc"))


def opened(paths: list[pathlib.Path], _: pathlib.Path) -> Meaning:
    with hs.open_mfdataset(paths, concat_dim="time") as data:

        def dates(name: str) -> list[str | None]:
            missing = data[name].isnull().values.ravel()
            raw = data[name].values.ravel()
            shown = [str(one if raw.dtype.kind == "M" or one is None else one.isoformat())[:19].replace("T", " ") for one in raw]
            return [None if is_missing else one for one, is_missing in zip(shown, missing, strict=True)]

        calendar = data["time"].encoding.get("calendar", "standard")
        texts = [one if isinstance(one, bytes) else str(one).encode() for one in data["text"].values.tolist()]
        return {
            "calendar": {"gregorian": "standard", "365_day": "noleap"}.get(calendar, calendar),
            "time": dates("time"),
            "cells": dates("cells"),
            "v": data["v"].values.astype("f8").ravel().tolist(),
            "x": (data["x"].values.tolist(), data["x"].attrs["units"]),
            "text": texts,
        }


DOORS: list[Callable[[list[pathlib.Path], pathlib.Path], Meaning]] = [joined, merged, virtual, opened]


def whole_seconds(right: Meaning) -> Meaning:
    return {**right, **{name: [None if one is None else one[:19].replace("T", " ") for one in right[name]] for name in ("time", "cells")}}


@pytest.mark.parametrize("count", [150, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_join_means_what_the_files_mean(count: int, tmp_path: pathlib.Path) -> None:
    taken = {door.__name__: 0 for door in DOORS}
    for seed in range(count):
        random = np.random.default_rng(seed)
        base, hour, paths = random_set(random), 0, []
        reference = (str(random.choice(UNITS)), str(random.choice(REFERENCES)))
        folder = tmp_path / str(seed)
        folder.mkdir()
        for number in range(int(random.integers(1, 6))):
            if random.random() < 0.5:
                reference = (str(random.choice(UNITS)), str(random.choice(REFERENCES)))
            paths.append(folder / f"{number}.nc")
            hour = write(paths[-1], random, varied(random, base), hour, int(random.integers(1, 4)), reference)
        right = of_files(paths)
        for door in DOORS:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = door(paths, folder)
            except hs.Error as error:
                assert ".nc" in str(error) or "/" in str(error), (seed, door.__name__, error)
                continue
            except ValueError as error:
                # cftime, which xarray asks, does not read all reference dates that pandas does.
                assert door is opened and "unable to decode time units" in str(error), (seed, error)
                continue
            taken[door.__name__] += 1
            try:
                check(found, whole_seconds(right) if door is opened else right, door.__name__)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
        for path in folder.iterdir():
            path.unlink()
    # Enough of them are joined for this to say something.
    assert all(number > count / 12 for number in taken.values()), taken
