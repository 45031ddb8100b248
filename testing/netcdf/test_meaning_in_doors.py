"""What stored numbers mean, in each door: a table of doors and kinds of meaning, compared with what xarray decodes. Differences by design are listed,
with their reason, and held: they must differ."""

from __future__ import annotations

import datetime
import json
import pathlib
import subprocess
import warnings
from collections.abc import Callable
from typing import Any

import hyperslab as hs
import hyperslab.xarray.engine as xarray_engine
import netCDF4
import numpy as np
import pytest
import xarray as xr
from command_server import CommandServer

ENGINE = xarray_engine.HyperslabBackendEntrypoint
Cells = list[Any]
#: dtype, stored numbers, attributes.
KINDS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "plain": ("i2", [1, 2, 3], {}),
    "packed": ("i2", [1, 2, -9], {"scale_factor": np.float32(0.5), "add_offset": np.float32(10), "_FillValue": np.int16(-9)}),
    "packed_by_doubles": ("i2", [1, 2, 3], {"scale_factor": 0.1, "add_offset": 273.15}),
    "only_offset": ("u1", [1, 200, 3], {"add_offset": np.float32(0.5)}),
    "fill_of_integers": ("i4", [1, 5, 2**31 - 1], {"_FillValue": np.int32(5)}),
    "missing_values": ("f4", [1, 5, 7], {"missing_value": np.array([5, 7], "f4")}),
    "fill_nan": ("f8", [1, np.nan, 7], {"_FillValue": np.nan}),
    "unsigned": ("i1", [1, -1, -2], {"_Unsigned": "true", "_FillValue": np.int8(-1)}),
    "signed": ("u2", [1, 65535, 32768], {"_Unsigned": "false"}),
    "valid_range": ("i2", [1, 20, 3], {"valid_range": np.array([0, 10], "i2")}),
    "days": ("i4", [0, 1, 31], {"units": "days since 2001-01-01"}),
    "hours_with_zone": ("f8", [0, 1.5, 31], {"units": "hours since 2001-01-01 00:00:00 +01:00"}),
    "slashed_date": ("i4", [0, 1, 31], {"units": "days since 1970/01/01"}),
    "named_month": ("i4", [0, 1, 31], {"units": "days since 01-JAN-1970"}),
    "packed_date": ("i4", [0, 1, 31], {"units": "days since 19900101"}),
    "year_and_month": ("i4", [0, 1, 31], {"units": "days since 1990-02"}),
    "missing_date": ("i4", [0, -1, 31], {"units": "days since 2001-01-01", "_FillValue": np.int32(-1)}),
    "packed_time": ("i2", [0, 1, 4], {"units": "days since 2001-01-01", "scale_factor": 0.25}),
    "proleptic": ("i4", [0, 1, 31], {"units": "days since 1500-02-27", "calendar": "proleptic_gregorian"}),
    "julian": ("i4", [0, 1, 31], {"units": "days since 2001-01-01", "calendar": "julian"}),
    "noleap": ("i4", [0, 1, 31], {"units": "days since 2000-02-28", "calendar": "noleap"}),
    "of_360_days": ("i4", [0, 1, 31], {"units": "days since 2000-02-29", "calendar": "360_day"}),
    "duration": ("i4", [0, 1, 31], {"units": "hours"}),
    "seconds_are_no_duration": ("i4", [0, 1, 31], {"units": "s"}),
    "boolean": ("i1", [0, 1, 1], {"dtype": "bool"}),
    "flags": ("i1", [0, 1, 2], {"flag_values": np.array([0, 1, 2], "i1"), "flag_meanings": "a b c"}),
}
#: Values that xarray refuses, and all doors leave as they are stored, with a warning.
REFUSED: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "months": ("i4", [0, 1, 31], {"units": "months since 2001-01-01"}),
    "unknown_calendar": ("i4", [0, 1, 31], {"units": "days since 2001-01-01", "calendar": "martian"}),
    "unknown_date": ("i4", [0, 1, 31], {"units": "days since 2001-13-01"}),
}


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
    return [cell(one) for one in np.asarray(values).ravel()]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("meaning") / "meaning.nc"
    with netCDF4.Dataset(place, "w") as f:
        f.createDimension("x", 3)
        for name, (dtype, values, attributes) in {**KINDS, **REFUSED}.items():
            others = dict(attributes)
            v = f.createVariable(name, dtype, ("x",), fill_value=others.pop("_FillValue", False))
            v.set_auto_maskandscale(False)
            v.setncatts(others)
            v[:] = np.array(values, dtype)
    return place


def by_xarray(engine: Any, **options: Any) -> Callable[[pathlib.Path, str], Cells]:
    def read(path: pathlib.Path, name: str) -> Cells:
        others = [other for other in (*KINDS, *REFUSED) if other != name]
        with xr.open_dataset(path, engine=engine, decode_timedelta=True, drop_variables=others, **options) as data:
            return cells(data[name].values)

    return read


def by_view(read: Callable[[Any], Any]) -> Callable[[pathlib.Path, str], Cells]:
    def door(path: pathlib.Path, name: str) -> Cells:
        with hs.open(path) as f:
            return cells(read(f[name].decoded))

    return door


def by_edited_file(path: pathlib.Path, name: str) -> Cells:
    with hs.open(path, "r+") as f:
        return cells(f[name].decoded[...])


def by_table(path: pathlib.Path, name: str) -> Cells:
    with hs.open(path) as f:
        return [cell(one) for one in f.table(f"/{name}").to_arrow()[name].to_pylist()]


def by_sql(path: pathlib.Path, name: str) -> Cells:
    return [cell(one) for (one,) in hs.sql(f'select "{name}" from "{name}"', str(path)).fetchall()]


def by_condition(path: pathlib.Path, name: str) -> Cells:
    """Rows that are not null."""
    with hs.open(path) as f:
        table = f.table(f"/{name}", where=f"{name} is not null")
        return [cell(one) for one in table.to_arrow()[name].to_pylist()]


def by_join(path: pathlib.Path, name: str) -> Cells:
    with hs.joined([path, path], new_dim="run") as whole:
        return cells(whole[name].decoded[...])[:3]


def by_copy(path: pathlib.Path, name: str) -> Cells:
    """A merged file, read by netCDF4 and decoded by xarray."""
    made = path.with_name(f"{name}.merged.nc")
    hs.merge([path, path], made, new_dim="run")
    try:
        return by_xarray("netcdf4")(made, name)[:3]
    finally:
        made.unlink()


def by_batches(path: pathlib.Path, name: str) -> Cells:
    with hs.open(path) as f:
        return [one for batch in hs.batches({"v": f[name].decoded}, 2) for one in cells(batch["v"])]


ARRAYS: dict[str, Callable[[pathlib.Path, str], Cells]] = {
    "decoded": by_view(lambda view: view[...]),
    "decoded, a slice": by_view(lambda view: np.concatenate([view[:1], view[[1, 2]]])),
    "decoded, one by one": by_view(lambda view: np.array([view[0], view[1], view[2]], dtype=object)),
    "decoded of a file that is edited": by_edited_file,
    "numpy": by_view(np.asarray),
    "Dask": by_view(lambda view: view.to_dask(chunks=2).compute()),
    "engine": by_xarray(ENGINE),
    "engine, fused": by_xarray(ENGINE, fused_decoding=True),
    "joined": by_join,
    "merged": by_copy,
}
TABLES: dict[str, Callable[[pathlib.Path, str], Cells]] = {"table": by_table, "SQL": by_sql}
#: What tables show otherwise than xarray, and why.
BY_DESIGN = {
    "valid_range": "null is what SQL has for values that are out of range; numpy's integers have none",
    "duration": "SQL computes with numbers; units are in the metadata",
    "julian": "timestamps are instants, which every engine has; CalendarWarning says so",
}


def judged(path: pathlib.Path, name: str) -> Cells:
    return by_xarray("netcdf4")(path, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_mean_what_xarray_decodes(path: pathlib.Path, kind: str) -> None:
    right = judged(path, kind)
    for name, door in ARRAYS.items():
        assert door(path, kind) == right, (name, kind)
    if None not in right and not isinstance(right[0], (str, bool)):
        assert by_batches(path, kind) == right, ("batches", kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_tables_mean_what_xarray_decodes(path: pathlib.Path, kind: str) -> None:
    right = judged(path, kind)
    found = {name: door(path, kind) for name, door in TABLES.items()}
    assert len({str(cells) for cells in found.values()}) == 1, found
    assert (found["table"] != right) == (kind in BY_DESIGN), (kind, found["table"], right)
    assert by_condition(path, kind) == [one for one in found["table"] if one is not None]


def test_the_command_shows_what_tables_have(path: pathlib.Path, command_server: CommandServer) -> None:
    for kind in (*KINDS, *REFUSED):
        shown = subprocess.run([command_server.folder / "hyperslab", "head", path, f"/{kind}", "--json"], capture_output=True, text=True, check=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [cell(json.loads(line)[kind]) for line in shown.stdout.splitlines()] == by_table(path, kind), kind
        is_said = kind in REFUSED or kind in ("noleap", "julian", "of_360_days")
        assert ("warning" in shown.stderr and f"{kind!r}" in shown.stderr) == is_said, (kind, shown.stderr)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_xarray_refuses_stays_as_it_is_in_each_door(path: pathlib.Path, kind: str) -> None:
    stored = [float(one) for one in REFUSED[kind][1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="unable to decode time units"):
            judged(path, kind)
        with pytest.raises(ValueError, match="unable to decode time units"):
            by_xarray(ENGINE)(path, kind)
    for name, door in {**TABLES, "decoded": ARRAYS["decoded"]}.items():
        with pytest.warns(hs.DecodingWarning, match=kind):
            assert door(path, kind) == stored, name


def test_dates_of_other_calendars_say_so_and_elapsed_times_are_exact(path: pathlib.Path) -> None:
    with hs.open(path) as f:
        for kind in ("noleap", "julian", "of_360_days"):
            with pytest.warns(hs.CalendarWarning, match=kind):
                rows = f.table(f"/{kind}").to_arrow()
            assert [one.total_seconds() / 86400 for one in hs.elapsed(rows, kind).to_pylist()] == [0, 1, 31]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = f.table("/missing_date").to_arrow()
        assert [None if one is None else one.days for one in hs.elapsed(rows, "missing_date").to_pylist()] == [0, None, 31]
        with pytest.raises(hs.InvalidInputError, match="has no times"):
            hs.elapsed(f.table("/plain").to_arrow(), "plain")
