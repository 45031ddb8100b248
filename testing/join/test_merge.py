"""Many files merged into one, judged by h5py, netCDF4 and numpy."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

import h5py
import hyperslab as hs
import library_calls as calls
import netCDF4
import numpy as np
import pytest
from command_server import CommandServer
from hyperslab import _native
from test_joined import write_step


@pytest.fixture
def days(tmp_path: pathlib.Path) -> tuple[pathlib.Path, np.ndarray[Any, Any]]:
    folder = tmp_path / "days"
    folder.mkdir()
    fields = [write_step(folder / f"d{number}.nc", first, count) for number, (first, count) in enumerate([(0, 3), (3, 1), (4, 5), (9, 2)])]
    return folder, np.concatenate(fields)


def test_a_merged_file_needs_the_others_no_more(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days
    seen = list[tuple[int, int]]()
    made = hs.merge(f"{folder}/*.nc", tmp_path / "all.nc", progress=lambda done, total: seen.append((done, total)))
    assert made.copied_chunks >= 11 and made.left_out == [] and made.bytes == (tmp_path / "all.nc").stat().st_size
    assert seen and seen[-1][0] == seen[-1][1]
    for path in folder.iterdir():
        path.unlink()
    with netCDF4.Dataset(tmp_path / "all.nc") as f:
        assert f.dimensions["time"].isunlimited() and {name: len(dim) for name, dim in f.dimensions.items()} == {"time": 11, "y": 3, "x": 4, "word": 5}
        assert f["t2m"].dimensions == ("time", "y", "x") and f["t2m"].filters()["zlib"] and f["t2m"].chunking() == [1, 3, 4] and f.title == "run"
        np.testing.assert_array_equal(f["t2m"][:], field)
        np.testing.assert_array_equal(f["packed"][:], field[:, :, 0].T / 2)
        np.testing.assert_array_equal(f["g/count"][:], [0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 1])
        np.testing.assert_array_equal(f["time"][:], np.arange(11))
        np.testing.assert_array_equal(f["label"][:], np.array(list("abcde"), "S1"))
    with netCDF4.Dataset(tmp_path / "all.nc", "a") as f:
        f["t2m"][11] = 7
    with h5py.File(tmp_path / "all.nc") as f:
        assert not f["t2m"].is_virtual and f["t2m"].shape == (12, 3, 4) and f["t2m"].dims[0][0].name == "/time"


def test_a_new_dimension(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    for run in range(3):
        write_step(tmp_path / f"run{run}.nc", 4, 5, y=[1, 2, 3])
    made = hs.merge(f"{tmp_path}/run*.nc", tmp_path / "runs.nc", new_dim="run", labels=lambda f: f.filename[-4], compat="override")
    assert made.copied_chunks >= 15
    with netCDF4.Dataset(tmp_path / "run1.nc") as one, netCDF4.Dataset(tmp_path / "runs.nc") as f:
        assert f["t2m"].dimensions == ("run", "time", "y", "x") and f["t2m"].chunking() == [1, 1, 3, 4] and list(f["run"][:]) == ["0", "1", "2"]
        for run in range(3):
            np.testing.assert_array_equal(f["t2m"][run], one["t2m"][:])
            np.testing.assert_array_equal(f["packed"][run], one["packed"][:])


@pytest.mark.parametrize("lengths", [(8, 4, 6), (5, 8, 3), (4, 0, 4)])
def test_chunks_are_copied_only_if_they_stay_whole(tmp_path: pathlib.Path, lengths: tuple[int, ...]) -> None:
    parts, rng = [], np.random.default_rng(0)
    for number, length in enumerate(lengths):
        values = rng.integers(0, 99, (length, 5)).astype(">i2")
        parts.append(values)
        with h5py.File(tmp_path / f"p{number}.h5", "w") as f:
            f.create_dataset("x", data=values, chunks=(4, 3), maxshape=(None, 5), compression="gzip", shuffle=True, fletcher32=True)
            f.create_dataset("text", data=[f"{number} {row}" for row in range(length)], dtype=h5py.string_dtype())
            f.create_dataset("plain", data=values.astype("c16") + 1j)
    made = hs.merge(f"{tmp_path}/p*.h5", tmp_path / "all.h5", axis=0, threads=1)
    # A part whose first row is not the first of a chunk, or whose last one ends within one, is encoded again.
    aligned = [sum(lengths[:n]) % 4 == 0 and (length % 4 == 0 or n == len(lengths) - 1) for n, length in enumerate(lengths)]
    assert made.copied_chunks == sum(-(-length // 4) * 2 for is_copied, length in zip(aligned, lengths, strict=True) if is_copied)
    with h5py.File(tmp_path / "all.h5") as f:
        np.testing.assert_array_equal(f["x"][()], np.concatenate(parts))
        np.testing.assert_array_equal(f["plain"][()], np.concatenate(parts) + 1j)
        assert (f["x"].chunks, f["x"].maxshape, f["x"].compression, f["x"].shuffle, f["x"].fletcher32) == ((4, 3), (None, 5), "gzip", True, True)
        assert f["x"].dtype == ">i2"
        assert [text.decode() for text in f["text"][()]] == [f"{number} {row}" for number, length in enumerate(lengths) for row in range(length)]


def test_times_from_other_dates_and_other_chunks(tmp_path: pathlib.Path) -> None:
    write_step(tmp_path / "a.nc", 0, 3)
    write_step(tmp_path / "b.nc", 1, 2, units="days since 2000-01-03")
    hs.merge([tmp_path / "a.nc", tmp_path / "b.nc"], tmp_path / "all.nc", concat_dim="time")
    with netCDF4.Dataset(tmp_path / "all.nc") as f:
        np.testing.assert_array_equal(f["time"][:], [0, 1, 2, 3, 4])
        assert f.dimensions["time"].isunlimited()
    with h5py.File(tmp_path / "c.h5", "w") as c, h5py.File(tmp_path / "d.h5", "w") as d:
        c.create_dataset("x", data=np.arange(6.0), chunks=(2,), compression="gzip")
        d.create_dataset("x", data=np.arange(4.0))
    made = hs.merge([tmp_path / "c.h5", tmp_path / "d.h5"], tmp_path / "cd.h5", axis=0)
    assert made.copied_chunks == 0 and made.reencoded_bytes == 80
    with h5py.File(tmp_path / "cd.h5") as f:
        np.testing.assert_array_equal(f["x"][()], [*range(6), *range(4)])


def test_what_cannot_be_merged(days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days
    out = tmp_path / "all.nc"
    (folder / "d2.nc").write_bytes(b"no file")
    with pytest.raises(hs.InvalidInputError, match=r"d2\.nc"):
        hs.merge(f"{folder}/*.nc", out)
    assert not out.exists() and sorted(path.name for path in tmp_path.iterdir()) == ["days"]
    made = hs.merge(f"{folder}/*.nc", out, misfits="leave_out")
    assert [pathlib.Path(left.path).name for left in made.left_out] == ["d2.nc"]
    before = out.read_bytes()
    with pytest.raises(hs.ConflictError, match="of this name already"):
        hs.merge(f"{folder}/d[01].nc", out)
    assert out.read_bytes() == before
    with pytest.raises(hs.InvalidInputError, match="would be replaced"):
        hs.merge(f"{folder}/d[01].nc", folder / "d0.nc", "w")
    with pytest.raises(hs.UnsupportedError, match="mode"):
        hs.merge(f"{folder}/d[01].nc", out, "a")
    hs.merge(f"{folder}/d[01].nc", out, "w")
    with h5py.File(out) as f:
        np.testing.assert_array_equal(f["t2m"][()], field[:4])


def test_the_command(command_server: CommandServer, days: tuple[pathlib.Path, np.ndarray[Any, Any]], tmp_path: pathlib.Path) -> None:
    folder, field = days

    def run(*words: object, status: int = 0) -> str:
        done = subprocess.run([command_server.folder / "hyperslab", "merge", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stderr if status else done.stdout

    out, master = tmp_path / "all.nc", tmp_path / "master.nc"
    assert "chunks copied" in run(*sorted(folder.iterdir()), "-o", out)
    run(f"{folder}/*.nc", "-o", master, "--virtual")
    for path in (out, master):
        with netCDF4.Dataset(path) as f:
            np.testing.assert_array_equal(f["t2m"][:], field)
    assert "--force" in run(f"{folder}/*.nc", "-o", out, status=1)
    (folder / "d2.nc").write_bytes(b"no file")
    told = json.loads(run(f"{folder}/*.nc", "-o", out, "--force", "--dim", "time", "--leave-out", "--json"))
    assert told["bytes"] == out.stat().st_size and [pathlib.Path(left["path"]).name for left in told["left_out"]] == ["d2.nc"]
    assert "left out: " in run(f"{folder}/*.nc", "-o", out, "--force", "--leave-out")
    assert "concat_dim" in run(f"{folder}/*.nc", "-o", tmp_path / "x.nc", "--dim", "z", status=1)


def write_unfiltered_edges(path: pathlib.Path, first: int) -> np.ndarray[Any, Any]:
    """Four rows of which chunks of two by three hang over the last column. One dataset has a filter that does not change lengths."""
    values = np.arange(first, first + 28, dtype="<i4").reshape(4, 7)
    with h5py.File(path, "w", libver="latest") as f:
        for name, deflates in [("shuffled", False), ("deflated", True)]:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((2, 3))
            creation.set_shuffle()
            if deflates:
                creation.set_deflate(6)
            calls.leave_edges_unfiltered(creation)
            space = h5py.h5s.create_simple(values.shape, (h5py.h5s.UNLIMITED, 7))
            h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    return values


@pytest.mark.parametrize("make", ["merge", "repack"])
def test_edges_without_filters_stay_right(make: str, tmp_path: pathlib.Path) -> None:
    values = write_unfiltered_edges(tmp_path / "a.h5", 1)
    if make == "merge":
        values = np.concatenate([values, write_unfiltered_edges(tmp_path / "b.h5", 100)])
        made = hs.merge([tmp_path / "a.h5", tmp_path / "b.h5"], tmp_path / "out.h5", axis=0)
        assert made.copied_chunks == 24
    else:
        _native.repack(str(tmp_path / "a.h5"), str(tmp_path / "out.h5"), [], lambda *_: None)
    for _ in range(2):
        with h5py.File(tmp_path / "out.h5", "r+") as f, hs.open(tmp_path / "out.h5") as ours:
            for name in ("shuffled", "deflated"):
                np.testing.assert_array_equal(f[name][...], values)
                np.testing.assert_array_equal(ours[name][...], values)
        # The library keeps a chunk's mask when it overwrites it with as many bytes.
        values = values[::-1] * 3
        with h5py.File(tmp_path / "out.h5", "r+") as f:
            for name in ("shuffled", "deflated"):
                f[name][...] = values
