"""Repacking: files with other chunks and filters, judged by h5py and netCDF4."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import h5py
import hdf5plugin
import hyperslab as hs
import netCDF4
import numpy as np
import pytest


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "in.h5"
    rng = np.random.default_rng(5)
    with h5py.File(path, "w") as f:
        f.create_dataset("run/t", data=rng.integers(0, 900, (200, 40, 30)), chunks=(1, 40, 30), compression="gzip", shuffle=True)
        f.create_dataset("run/grows", data=rng.normal(size=(100, 8)), chunks=(10, 8), maxshape=(None, 8))
        f.create_dataset("run/blosc", data=np.arange(20000), chunks=(1000,), **hdf5plugin.Blosc())
        f.create_dataset("run/rounded", data=np.arange(2000.0), chunks=(100,), scaleoffset=2)
        f["plain"] = rng.normal(size=(300, 50)).astype("f4")
        f["small"], f["text"], f["scalar"] = np.arange(5), ["a", "bb"], 3
        f["lost"] = rng.normal(size=40_000)
        f["after"] = rng.normal(size=1000)
        f["hard"], f["soft"] = f["plain"], h5py.SoftLink("/run/t")
        f["run"].attrs["to"] = f["plain"].ref
        f["run/t"].make_scale("t")
    with h5py.File(path, "r+") as f:
        del f["lost"]
    return path


def same(source: pathlib.Path, target: pathlib.Path) -> None:
    """Compares by h5py."""
    with h5py.File(source) as f, h5py.File(target) as g:
        names: list[str] = []
        others: list[str] = []
        f.visit(names.append)
        g.visit(others.append)
        assert names == others
        for name in names:
            if isinstance(f[name], h5py.Dataset):
                assert f[name].dtype == g[name].dtype and f[name].maxshape == g[name].maxshape
                np.testing.assert_array_equal(f[name][()], g[name][()])
            assert set(f[name].attrs) == set(g[name].attrs)
        assert g["hard"] == g["plain"] and g.get("soft", getlink=True).path == "/run/t" and g[g["run"].attrs["to"]] == g["plain"]


def stored(path: pathlib.Path, name: str) -> tuple[Any, ...]:
    with h5py.File(path) as f:
        return f[name].chunks, f[name].compression, f[name].shuffle, f[name].fletcher32


def test_without_options_space_comes_back_and_chunks_are_copied(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = hs.repack(source, tmp_path / "out.h5")
    same(source, tmp_path / "out.h5")
    assert made.changed == [] and made.copied_chunks == 200 + 10 + 20 + 20
    assert made.bytes == os.path.getsize(tmp_path / "out.h5") < made.before_bytes - 290_000
    assert stored(tmp_path / "out.h5", "run/t") == stored(source, "run/t")


def test_other_filters_leave_what_is_not_named(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = hs.repack(source, tmp_path / "out.h5", compression="zstd", compression_opts=5, fletcher32=True)
    same(source, tmp_path / "out.h5")
    assert sorted(made.changed) == ["/after", "/hard", "/run/blosc", "/run/grows", "/run/t"]
    with hs.open(tmp_path / "out.h5") as f:
        assert f["run/t"].filters == ["shuffle", "zstd", "fletcher32"] and f["run/t"].chunks == (1, 40, 30)
        assert f["plain"].filters == ["zstd", "fletcher32"] and f["plain"].chunks is not None
        assert f["run/rounded"].filters == ["scaleoffset"] and f["small"].chunks is None
    again = hs.repack(tmp_path / "out.h5", tmp_path / "again.h5", "/run/*", compression="none", fletcher32=False)
    same(source, tmp_path / "again.h5")
    assert sorted(again.changed) == ["/run/blosc", "/run/grows", "/run/t"] and stored(tmp_path / "again.h5", "run/t")[1:] == (None, True, False)
    levels = hs.repack(source, tmp_path / "levels.h5", "/run/t", compression_opts=1)
    assert levels.changed == ["/run/t"] and stored(tmp_path / "levels.h5", "run/t")[1] == "gzip"
    assert hs.repack(source, tmp_path / "as it is.h5", "/run/t", compression="gzip").changed == []


def test_other_chunks_and_none(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    made = hs.repack(source, tmp_path / "out.h5", chunks=(500, 7, 6))
    same(source, tmp_path / "out.h5")
    assert made.changed == ["/run/t"] and stored(tmp_path / "out.h5", "run/t") == ((200, 7, 6), "gzip", True, False)
    made = hs.repack(source, tmp_path / "rows.h5", ["/run/grows", "/plain"], chunks=[64, 4])
    same(source, tmp_path / "rows.h5")
    assert made.changed == ["/plain", "/run/grows"] and stored(tmp_path / "rows.h5", "run/grows")[0] == (64, 4)
    made = hs.repack(source, tmp_path / "plain.h5", contiguous=True)
    same(source, tmp_path / "plain.h5")
    assert sorted(made.changed) == ["/run/blosc", "/run/t"] and stored(tmp_path / "plain.h5", "run/t")[0] is None
    made = hs.repack(source, tmp_path / "pages.h5", page_bytes=16384)
    same(source, tmp_path / "pages.h5")
    with h5py.File(tmp_path / "pages.h5") as f:
        assert f.id.get_create_plist().get_file_space_page_size() == 16384


def test_netcdf_stays_netcdf(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "in.nc", "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 100)
        values = f.createVariable("t", "f4", ("time", "x"), zlib=True, fill_value=-1)
        values[:] = np.arange(5000).reshape(50, 100)
        values.units = "K"
    hs.repack(tmp_path / "in.nc", tmp_path / "out.nc", "/t", compression="zstd", chunks=(50, 100))
    with netCDF4.Dataset(tmp_path / "out.nc") as f:
        assert f["t"].dimensions == ("time", "x") and f.dimensions["time"].isunlimited() and f["t"].chunking() == [50, 100]
        np.testing.assert_array_equal(f["t"][:], np.arange(5000).reshape(50, 100))
        assert f["t"].units == "K" and f["t"].filters()["zstd"]
    assert hs.diff(tmp_path / "in.nc", tmp_path / "out.nc").equal


def test_what_is_wrong_is_said_and_leaves_nothing(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    before = sorted(os.listdir(tmp_path))
    for options, match in (
        ({"contiguous": True, "compression": "gzip"}, "contiguous with chunks or filters"),
        ({"chunks": (0, 1)}, "above 0"),
        ({"chunks": (3, 3, 3, 3)}, "4 dimensions, and no dataset"),
        ({"compression": "zip"}, "unknown compression 'zip'; expected"),
        ({"datasets": "/nowhere", "compression": "gzip"}, "no dataset whose storage could change matches /nowhere"),
        ({"datasets": "/hard", "compression_opts": 3}, "compression_opts without compression"),
    ):
        with pytest.raises(hs.Error, match=match):
            hs.repack(source, tmp_path / "out.h5", **options)
    (tmp_path / "mine.h5").write_text("mine")
    with pytest.raises(hs.ConflictError):
        hs.repack(source, tmp_path / "mine.h5")
    assert (tmp_path / "mine.h5").read_text() == "mine"
    with h5py.File(source, "r+") as f:
        place = f["run/t"].id.get_chunk_info(7)
    data = bytearray(source.read_bytes())
    data[place.byte_offset : place.byte_offset + 4] = b"\xff" * 4
    source.write_bytes(data)
    with pytest.raises(hs.CorruptError, match="/run/t"):
        hs.repack(source, tmp_path / "out.h5", compression="zstd")
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "mine.h5"])


def test_a_file_without_large_datasets_is_copied(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f["text"] = ["a"]
    assert hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", compression="gzip").changed == []
    assert hs.diff(tmp_path / "in.h5", tmp_path / "out.h5").equal


def test_the_command(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "hyperslab", "repack", *map(str, arguments)], capture_output=True, text=True, check=False)

    made = run(source, tmp_path / "out.h5", "--compression", "zstd", "--level", 3, "--no-shuffle", "--dataset", "/run/t", "--chunks", "20,40,30", "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["changed"] == ["/run/t"]
    same(source, tmp_path / "out.h5")
    again = run(source, tmp_path / "out.h5")
    assert again.returncode == 1 and again.stderr.count("\n") == 1
    assert run(source, tmp_path / "no.h5", "--chunks", "3,x").returncode == 2
