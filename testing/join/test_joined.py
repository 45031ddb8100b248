"""Many files as one: virtual datasets over them, judged by h5py, netCDF4 and numpy."""

from __future__ import annotations

import pathlib
import pickle
import shutil
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest


def write_step(path: pathlib.Path, first: int, count: int, **changes: Any) -> np.ndarray[Any, Any]:
    """A netCDF-4 file of some days, with a gzip field, a packed one, text, coordinates and a group."""
    field = np.arange(first * 12, (first + count) * 12, dtype="f4").reshape(count, 3, 4)
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("y", 3)
        f.createDimension("x", 4)
        f.createDimension("word", 5)
        time = f.createVariable("time", "f8", ("time",))
        time.units, time[:] = changes.get("units", "days since 2000-01-01"), np.arange(first, first + count)
        y = f.createVariable("y", "f8", ("y",))
        y[:] = changes.get("y", [10, 20, 30])
        t2m = f.createVariable("t2m", changes.get("dtype", "f4"), ("time", "y", "x"), zlib=True, chunksizes=(1, 3, 4), fill_value=-999)
        t2m.units, t2m.orbit, t2m[:] = "K", first, field
        packed = f.createVariable("packed", "i2", ("y", "time"))
        packed.scale_factor, packed[:] = 0.5, field[:, :, 0].T / 2
        f.createVariable("label", "S1", ("word",))[:] = np.array(list("abcde"), "S1")
        group = f.createGroup("g")
        group.createVariable("count", "i4", ("time",))[:] = np.arange(count)
        f.title, f.history = "run", f"written as {first}"
    return field


@pytest.fixture
def days(tmp_path: pathlib.Path) -> tuple[pathlib.Path, np.ndarray[Any, Any]]:
    folder = tmp_path / "days"
    folder.mkdir()
    fields = [write_step(folder / f"d{number}.nc", first, count) for number, (first, count) in enumerate([(0, 3), (3, 1), (4, 5), (9, 2)])]
    return folder, np.concatenate(fields)


KEYS = [np.s_[:], np.s_[2], np.s_[2:9, 1], np.s_[::3, :, ::2], np.s_[-1], np.s_[[0, 3, 8]], np.s_[4:4]]


def test_arrays_of_many_files_are_those_of_one(days: tuple[pathlib.Path, np.ndarray[Any, Any]]) -> None:
    folder, field = days
    whole = hs.joined(f"{folder}/*.nc")
    assert whole["t2m"].shape == (11, 3, 4) and whole["t2m"].dims == ("time", "y", "x") and whole["t2m"].dtype == np.dtype("f4")
    for key in KEYS:
        np.testing.assert_array_equal(whole["t2m"][key], field[key])
    np.testing.assert_array_equal(whole["time"][()], np.arange(11))
    np.testing.assert_array_equal(whole["g/count"][()], [0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 1])
    assert whole["packed"].shape == (3, 11)
    np.testing.assert_array_equal(whole["packed"].decoded[:, 3:6], field[3:6, :, 0].T / 2)
    np.testing.assert_array_equal(whole["y"][()], [10, 20, 30])
    first = hs.open(folder / "d0.nc")
    assert whole.format == "netcdf4" and whole.attrs["title"] == first.attrs["title"] and "history" not in whole.attrs, "what differs belongs to no whole"
    assert whole["t2m"].attrs["units"] == first["t2m"].attrs["units"] and "orbit" not in whole["t2m"].attrs
    assert [pathlib.Path(path).name for path in whole.sources] == ["d0.nc", "d1.nc", "d2.nc", "d3.nc"] and whole.left_out == []
    table = whole.table("/t2m", where="time >= '2000-01-04' and time < '2000-01-06'").to_arrow()
    np.testing.assert_array_equal(table["t2m"].to_numpy(), field[3:5].ravel())
    assert hs.sql("select max(t2m) from t2m", whole).fetchall() == [(field.max(),)]
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again["t2m"][5], field[5])
    with pytest.raises(TypeError, match="joined files"):
        pickle.dumps(whole["t2m"])
    with pytest.raises(KeyError, match="<joined files>"):
        whole["t2n"]


def test_a_set_of_files_has_the_arrays_of_all(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days
    files = hs.open(f"{folder}/*.nc", threads=1, limits={"chunk_bytes": 1 << 20})
    assert files["t2m"].shape == (11, 3, 4) and "t2m" in files and "nowhere" not in files and len(files) == len(list(files)) == len(files.keys())
    np.testing.assert_array_equal(files["t2m"][2:9], field[2:9])
    assert "title" in files.attrs and "history" not in files.attrs and files.visit(lambda path: path if path == "t2m" else None) == "t2m"
    with pytest.raises(hs.LimitExceededError):
        hs.open(f"{folder}/*.nc", limits={"chunk_bytes": 8})["t2m"][:]
    write_step(folder / "d3.nc", 9, 4)
    files.refresh()
    assert files["t2m"].shape == (13, 3, 4)
    files.close()
    for use in (lambda: files["t2m"], lambda: list(files)):
        with pytest.raises(hs.InvalidInputError, match="closed"):
            use()
    never_used = hs.open(f"{folder}/*.nc")
    never_used.close()
    with pytest.raises(hs.InvalidInputError, match="closed"):
        never_used["t2m"]


def test_every_tool_reads_the_file_of_virtual_datasets(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days
    moved = tmp_path / "moved"
    moved.mkdir()
    assert hs.virtual(f"{folder}/*.nc", folder / "all.nc4", concat_dim="time") == []
    shutil.move(folder, moved / "days")
    master = moved / "days" / "all.nc4"
    with h5py.File(master) as f:
        assert f["t2m"].is_virtual and [source.file_name for source in f["t2m"].virtual_sources()] == ["d0.nc", "d1.nc", "d2.nc", "d3.nc"]
        np.testing.assert_array_equal(f["t2m"][()], field)
        assert [dim.label or dim.keys()[0] for dim in f["t2m"].dims] and f["t2m"].dims[0][0].name == "/time" and f["t2m"].fillvalue == -999
    with netCDF4.Dataset(master) as f:
        assert f["t2m"].dimensions == ("time", "y", "x") and f["t2m"].units == "K" and f.title == "run"
        assert {name: len(dim) for name, dim in f.dimensions.items()} == {"time": 11, "y": 3, "x": 4, "word": 5}
        np.testing.assert_array_equal(f["t2m"][:], field)
        np.testing.assert_array_equal(f["packed"][:], field[:, :, 0].T / 2)
        np.testing.assert_array_equal(f["g/count"][:], [0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 1])
    with hs.open(master) as f:
        kept = f["t2m"]
        np.testing.assert_array_equal(kept[2:9], field[2:9])
    with pytest.raises(hs.InvalidInputError, match="closed"):
        kept[0]
    with pytest.raises(hs.InvalidInputError, match="would be replaced"):
        hs.virtual([master], master, new_dim="n")
    with pytest.raises(hs.ConflictError):
        hs.virtual(f"{moved}/days/*.nc", master, "x")


def test_a_new_dimension_has_an_index_and_a_label_for_each_file(tmp_path: pathlib.Path) -> None:
    fields = [write_step(tmp_path / f"run{number}.nc", 0, 2) for number in range(3)]
    whole = hs.joined(f"{tmp_path}/run*.nc", new_dim="run", labels=lambda f: pathlib.Path(f.filename).stem)
    assert whole["t2m"].dims == ("run", "time", "y", "x") and whole["t2m"].shape == (3, 2, 3, 4)
    np.testing.assert_array_equal(whole["t2m"][:, 1], np.stack(fields)[:, 1])
    assert whole["run"].asstr()[()].tolist() == ["run0", "run1", "run2"] and whole["time"].shape == (2,)
    numbered = hs.joined(f"{tmp_path}/run*.nc", new_dim="run", labels=lambda f: f["t2m"].attrs["orbit"])
    assert numbered["run"][()].tolist() == [0, 0, 0]
    hs.virtual(f"{tmp_path}/run*.nc", tmp_path / "all.nc4", new_dim="run")
    with netCDF4.Dataset(tmp_path / "all.nc4") as f:
        assert f["t2m"].dimensions == ("run", "time", "y", "x") and len(f.dimensions["run"]) == 3
        np.testing.assert_array_equal(f["t2m"][:], np.stack(fields))


def test_arrays_without_names_of_dimensions_go_on_along_an_axis(tmp_path: pathlib.Path) -> None:
    parts = []
    for number, count in enumerate([4, 0, 3]):
        part = np.arange(count * 2, dtype=">i4").reshape(count, 2) + 100 * number
        with h5py.File(tmp_path / f"p{number}%b.h5", "w") as f:
            f["particles/v"] = part
            f.create_dataset("names", data=[f"n{n}" for n in range(count)], dtype=h5py.string_dtype())
            f["box"] = [1.0, 2.0]
        parts.append(part)
    whole = hs.joined(f"{tmp_path}/p*.h5", axis=0, datasets=["particles/v", "names"])
    np.testing.assert_array_equal(whole["particles/v"][()], np.concatenate(parts))
    assert whole["names"].asstr()[()].tolist() == ["n0", "n1", "n2", "n3", "n0", "n1", "n2"] and whole["box"][()].tolist() == [1, 2]
    hs.virtual(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, datasets=["particles/v", "names"])
    with h5py.File(tmp_path / "all.h5") as f:
        np.testing.assert_array_equal(f["particles/v"][()], np.concatenate(parts))
    with pytest.raises(hs.InvalidInputError, match=r"not clear.*axis=0"):
        hs.joined(f"{tmp_path}/p*.h5")
    with pytest.raises(hs.InvalidInputError, match="there is no such dataset"):
        hs.joined(f"{tmp_path}/p*.h5", axis=0, datasets=["nowhere"])


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "other coordinates": ({"y": [1, 2, 3]}, r"/y has other values than in .*d0.nc; compat='override'"),
    "another type": ({"dtype": "f8"}, r"/t2m has another datatype than in .*d0.nc"),
    "other units": ({"units": "hours"}, r"/time has another attribute units than in .*d0.nc"),
    "earlier times": ({"units": "days since 1900-01-01"}, r"/time goes from .*: files must follow each other"),
}


@pytest.mark.parametrize("what", MISFITS)
def test_what_does_not_fit_is_an_error_that_names_both_files_or_left_out(days: tuple[pathlib.Path, np.ndarray[Any, Any]], what: str) -> None:
    folder, field = days
    changes, message = MISFITS[what]
    write_step(folder / "d9.nc", 11, 2, **changes)
    with pytest.raises(hs.ConflictError, match=message) as raised:
        hs.joined(f"{folder}/*.nc", concat_dim="time")
    assert raised.value.file.endswith("d9.nc")
    whole = hs.joined(f"{folder}/*.nc", concat_dim="time", misfits="leave_out")
    assert [pathlib.Path(left.path).name for left in whole.left_out] == ["d9.nc"] and whole["t2m"].shape == (11, 3, 4)
    np.testing.assert_array_equal(whole["t2m"][()], field)


@pytest.mark.parametrize("dtype", ["f8", "i4", "i2", "f4"])
def test_times_that_count_from_another_date_are_counted_from_the_first(tmp_path: pathlib.Path, dtype: str) -> None:
    expected = []
    for number, (units, calendar) in enumerate(
        [("days since 2000-01-01", "standard"), ("hours since 2000-02-01 06:00", "standard"), ("days since 2000-03-01T00:00:00Z", "standard")]
    ):
        values = np.array([0, 24, 48] if units.startswith("hours") else [0, 1, 2])
        values = values - 6 if units.startswith("hours") else values
        with netCDF4.Dataset(tmp_path / f"m{number}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", dtype, ("time",), fill_value=-99)
            time.units, time.calendar, time[:] = units, calendar, values
            f.createVariable("x", "f4", ("time",))[:] = values
            expected += [date.isoformat() for date in netCDF4.num2date(values, units, calendar)]
    whole = hs.open(f"{tmp_path}/m?.nc")
    assert whole["time"].dtype == np.dtype(dtype) and whole["x"].shape == (9,)
    hs.virtual(f"{tmp_path}/m?.nc", tmp_path / "all.nc4")
    with netCDF4.Dataset(tmp_path / "all.nc4") as f:
        assert [date.isoformat() for date in netCDF4.num2date(f["time"][:], f["time"].units, f["time"].calendar)] == expected
        np.testing.assert_array_equal(f["time"][:], whole["time"][()])


def test_times_that_other_units_cannot_represent_are_refused(tmp_path: pathlib.Path) -> None:
    for number, units in enumerate(["days since 2000-01-01", "hours since 2000-01-05"]):
        with netCDF4.Dataset(tmp_path / f"m{number}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "i4", ("time",))
            time.units, time[:] = units, [0, 1, 2]
    with pytest.raises(hs.ConflictError, match="are not whole numbers in 'days since 2000-01-01'"):
        hs.joined(f"{tmp_path}/m?.nc")
    for number, calendar in enumerate(["noleap", "360_day"]):
        with netCDF4.Dataset(tmp_path / f"n{number}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "f8", ("time",))
            time.units, time.calendar, time[:] = f"days since 200{number}-01-01", calendar, [0, 1, 2]
    with pytest.raises(hs.ConflictError, match="another attribute (units|calendar)"):
        hs.joined(f"{tmp_path}/n?.nc", concat_dim="time")


def test_times_of_calendars_without_leap_days_go_on(tmp_path: pathlib.Path) -> None:
    for number, start in enumerate(["2000-02-28", "2000-03-02"]):
        with netCDF4.Dataset(tmp_path / f"n{number}.nc", "w") as f:
            f.createDimension("time", None)
            time = f.createVariable("time", "i4", ("time",))
            time.units, time.calendar, time[:] = f"days since {start}", "noleap", [0, 1]
    with hs.joined(f"{tmp_path}/n?.nc") as whole:
        assert whole["time"][...].tolist() == [0, 1, 2, 3]
        assert [f"{date:%m-%d}" for date in whole["time"].decoded[...]] == ["02-28", "03-01", "03-02", "03-03"]


def test_missing_and_broken_files_are_left_out_together(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days
    (folder / "d5.nc").write_bytes(b"no file")
    names = [folder / f"d{number}.nc" for number in (0, 1, 5, 7, 2, 3)]
    whole = hs.joined(names, concat_dim="time", misfits="leave_out")
    assert [pathlib.Path(left.path).name for left in whole.left_out] == ["d5.nc", "d7.nc"]
    np.testing.assert_array_equal(whole["t2m"][()], field)
    with pytest.raises(hs.Error, match=r"d5\.nc"):
        hs.joined(names, concat_dim="time")


def test_what_does_not_fit_is_left_out_wherever_it_stands(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    """The first two files say which dimension goes on."""
    folder, field = days
    write_step(tmp_path / "other.nc", 1, 1, dtype="f8")
    (tmp_path / "broken.nc").write_bytes(b"no file")
    good = [folder / f"d{number}.nc" for number in range(4)]
    for place in range(5):
        for bad in (["other.nc"], ["broken.nc"], ["broken.nc", "other.nc"]):
            if place == 0 and bad[-1] == "other.nc":
                continue  # then it is the others that do not fit
            names = [*good[:place], *(tmp_path / name for name in bad), *good[place:]]
            whole = hs.joined(names, misfits="leave_out")
            assert sorted(pathlib.Path(left.path).name for left in whole.left_out) == sorted(bad)
            assert whole.sources == [str(path) for path in good]
            np.testing.assert_array_equal(whole["t2m"][()], field)


def test_files_in_another_order_are_refused_unless_asked_for(days: tuple[pathlib.Path, np.ndarray[Any, Any]]) -> None:
    folder, field = days
    names = [folder / "d2.nc", folder / "d0.nc"]
    with pytest.raises(hs.ConflictError, match=r"/time goes from 4.0 to 8.0 in .*d2.nc, and from 0.0 to 2.0 in the next file"):
        hs.joined(names)
    whole = hs.joined(names, check_order=False)
    np.testing.assert_array_equal(whole["t2m"][()], np.concatenate([field[4:9], field[:3]]))


def test_wrong_arguments_are_named(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    pattern = f"{days[0]}/*.nc"
    for options, message in (
        ({"concat_dim": "depth"}, "is not a dimension of the files; they have .*/time"),
        ({"concat_dim": "time", "axis": 0}, "give one of them"),
        ({"axis": -1}, "axis=-1"),
        ({"compat": "maybe"}, "unknown compat 'maybe'"),
        ({"misfits": "ignore"}, "unknown misfits 'ignore'"),
        ({"datasets": ["t2m"]}, "for axis="),
        ({"new_dim": "time"}, "is an object of the files already"),
    ):
        with pytest.raises(hs.InvalidInputError, match=message):
            hs.joined(pattern, **options)
    with pytest.raises(hs.NotFoundError, match="no file matches"):
        hs.joined(f"{tmp_path}/none*.nc")


def test_a_source_that_is_gone_is_an_error_that_names_it(days: tuple[pathlib.Path, np.ndarray[Any, Any]]) -> None:
    folder, field = days
    with hs.joined(f"{folder}/*.nc", concat_dim="time") as whole:
        (folder / "d2.nc").unlink()
        np.testing.assert_array_equal(whole["t2m"][:3], field[:3])
        with pytest.raises(hs.NotFoundError, match=r"d2\.nc"):
            whole["t2m"][5]


def test_a_time_that_would_become_the_fill_value_is_refused(tmp_path: pathlib.Path) -> None:
    for number, dtype in enumerate(["i4", "f8"]):
        for day in (1, 3):
            with netCDF4.Dataset(tmp_path / f"{number}-{day}.nc", "w") as f:
                f.createDimension("time", None)
                time = f.createVariable("time", dtype, ("time",), fill_value=2)
                time.set_auto_maskandscale(False)
                time.units, time[:] = f"days since 2000-01-0{day}", [0, 1]
        with pytest.raises(hs.ConflictError, match="count of a missing value"):
            hs.merge([tmp_path / f"{number}-1.nc", tmp_path / f"{number}-3.nc"], tmp_path / "whole.nc", concat_dim="time")
