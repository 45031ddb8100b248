"""What stored numbers mean, in each door: a table of doors and kinds of meaning, compared with what xarray decodes. Differences by design are listed,
with their reason, and held: they must differ."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import warnings
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py
import hyperslab.xarray.engine as xarray_engine
import meanings
import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import xarray as xr
from command_server import CommandServer
from meanings import ALL, CASES, IN_TABLES, ONLY_OURS, REFUSED, Cells, cell, cells, in_tables

ENGINE = xarray_engine.HyperslabBackendEntrypoint


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("meaning") / "meaning.nc"
    meanings.write(place)
    return place


def by_xarray(engine: Any, **options: Any) -> Callable[[pathlib.Path, str], Cells]:
    def read(path: pathlib.Path, name: str) -> Cells:
        others = [other for other in ALL if other != name]
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


def by_export(ending: str, read: Callable[[pathlib.Path], Any]) -> Callable[[pathlib.Path, str], Cells]:
    def door(path: pathlib.Path, name: str) -> Cells:
        out = path.with_name(f"{name}{ending}")
        with hs.open(path) as f:
            f.table(f"/{name}").write(out)
        try:
            return [cell(one) for one in read(out)[name].to_pylist()]
        finally:
            out.unlink()

    return door


EXPORTS = {
    "Parquet": by_export(".parquet", pyarrow.parquet.read_table),
    "Arrow": by_export(".arrow", lambda path: pyarrow.ipc.open_file(path).read_all()),
    "CSV": by_export(".csv", pyarrow.csv.read_csv),
}
#: As h5py: they know no conventions.
RAW: dict[str, Callable[[Any, pathlib.Path, str], Any]] = {
    "a key": lambda h5, path, name: h5.File(path)[name][...],
    "one by one": lambda h5, path, name: [h5.File(path)[name][index] for index in range(3)],
    "numpy": lambda h5, path, name: np.asarray(h5.File(path)[name]),
    "astype": lambda h5, path, name: h5.File(path)[name].astype("f8")[:],
}


def judged(path: pathlib.Path, name: str) -> Cells:
    return by_xarray("netcdf4")(path, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CASES)
def test_arrays_mean_what_xarray_decodes(path: pathlib.Path, kind: str) -> None:
    right = judged(path, kind)
    assert right == CASES[kind].meant
    for name, door in ARRAYS.items():
        assert door(path, kind) == right, (name, kind)
    if None not in right and not isinstance(right[0], (str, bool)):
        assert by_batches(path, kind) == right, ("batches", kind)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ONLY_OURS)
def test_dates_that_only_xarray_refuses_are_decoded_in_each_door(path: pathlib.Path, kind: str) -> None:
    with pytest.raises(ValueError, match="unable to decode time units"):
        judged(path, kind)
    for name, door in {**ARRAYS, **TABLES}.items():
        if name != "merged":  # a file that xarray reads
            assert door(path, kind) == ONLY_OURS[kind].meant, (name, kind)
    with xr.open_dataset(path, engine=ENGINE, drop_variables=[*REFUSED]) as data:
        assert "units" not in data[kind].attrs and data[kind].encoding["calendar"] in ("standard", "noleap", "360_day")
        again = pickle.loads(pickle.dumps(data[kind]))
        assert cells(again.values) == ONLY_OURS[kind].meant == cells(data[kind][[2, 0, 1]].values[[1, 2, 0]])
        data[[kind]].to_netcdf(path.with_name("again.nc"), engine="netcdf4")
    with xr.open_dataset(path.with_name("again.nc"), engine="netcdf4") as written:
        assert cells(written[kind].values) == ONLY_OURS[kind].meant


@pytest.mark.filterwarnings("ignore")
def test_many_files_have_dates_that_only_xarray_refuses(path: pathlib.Path) -> None:
    with hs.open_mfdataset([path, path], new_dim="run", drop_variables=[*REFUSED]) as whole:
        for kind, case in ONLY_OURS.items():
            assert cells(whole[kind].values) == 2 * case.meant, kind
        assert "units" in xr.open_dataset(path, engine=ENGINE, decode_times=False)["weeks"].attrs
    with hs.open_mfdataset([path, path], new_dim="run", drop_variables=[*REFUSED], decode_times=False) as whole:
        assert whole["weeks"].values.tolist() == [[0, 1, 2], [0, 1, 2]] and whole["weeks"].attrs["units"] == "weeks since 2001-01-01"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*CASES, *ONLY_OURS])
def test_tables_mean_what_xarray_decodes(path: pathlib.Path, kind: str) -> None:
    right = in_tables(kind)
    for name, door in {**TABLES, **EXPORTS}.items():
        assert door(path, kind) == right, (name, kind)
    assert (right != ALL[kind].meant) == (kind in IN_TABLES)
    assert by_condition(path, kind) == [one for one in right if one is not None]


@pytest.mark.parametrize("kind", ALL)
def test_names_of_h5py_are_raw(path: pathlib.Path, kind: str) -> None:
    for name, door in RAW.items():
        found, right = np.asarray(door(hyperslab.h5py, path, kind)), np.asarray(door(h5py, path, kind))
        assert found.dtype == right.dtype, name
        np.testing.assert_array_equal(found, np.array(ALL[kind].stored, right.dtype), err_msg=name)


def test_the_command_shows_what_tables_have(path: pathlib.Path, command_server: CommandServer) -> None:
    for kind in ALL:
        shown = subprocess.run([command_server.folder / "hyperslab", "head", path, f"/{kind}", "--json"], capture_output=True, text=True, check=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [cell(json.loads(line)[kind]) for line in shown.stdout.splitlines()] == by_table(path, kind), kind
        is_said = kind in REFUSED or (ALL[kind].attributes.get("calendar") or "standard") not in ("standard", "proleptic_gregorian")
        assert ("warning" in shown.stderr and f"{kind!r}" in shown.stderr) == is_said, (kind, shown.stderr)


@pytest.mark.parametrize("kind", ONLY_OURS)
def test_dates_that_xarray_refuses_stay_numbers_if_they_are_not_masked(path: pathlib.Path, kind: str) -> None:
    others = [name for name in ALL if name != kind]
    openings: dict[str, Callable[..., xr.Dataset]] = {
        "engine": lambda **options: xr.open_dataset(path, engine=ENGINE, drop_variables=others, **options),
        "fused": lambda **options: xr.open_dataset(path, engine=ENGINE, fused_decoding=True, drop_variables=others, **options),
        "many files": lambda **options: hs.open_mfdataset([path], new_dim="run", drop_variables=others, **options),
    }
    for name, opened in openings.items():
        with pytest.warns(hs.DecodingWarning, match=f"{kind} stays as numbers: .*mask_and_scale"), opened(mask_and_scale=False) as data:
            assert data[kind].values.ravel().tolist() == ALL[kind].stored, name
            assert data[kind].attrs["units"] == ALL[kind].attributes["units"], name


@pytest.mark.parametrize("kind", REFUSED)
def test_many_files_leave_numbers_that_xarray_refuses(path: pathlib.Path, kind: str) -> None:
    with pytest.warns(hs.DecodingWarning, match=f"{kind} stays as numbers"):
        opened = hs.open_mfdataset([path, path], new_dim="run", drop_variables=[name for name in ALL if name != kind])
    with opened as data:
        assert data[kind].values.tolist() == 2 * [ALL[kind].stored]


@pytest.mark.parametrize("kind", REFUSED)
def test_what_xarray_refuses_stays_as_it_is_in_each_door(path: pathlib.Path, kind: str) -> None:
    stored = REFUSED[kind].meant
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="unable to decode time units"):
            judged(path, kind)
    for name, door in {**TABLES, **ARRAYS}.items():
        if name == "merged":  # a file that xarray reads
            continue
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
