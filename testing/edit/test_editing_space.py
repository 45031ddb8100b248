"""Space of edited files: `hs.vacuum(path, shrink=True)` gives back what removed and replaced objects leave."""

from __future__ import annotations

import os
import pathlib

import h5py
import hyperslab as hs
import library_calls
import numpy as np
import pytest


def edited(path: pathlib.Path, libver: str) -> None:
    """A file most of whose bytes nothing leads to."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("kept", data=np.arange(1000), chunks=(100,), compression="gzip")
        f.create_dataset("gone", data=rng.normal(size=50_000))
        f.create_dataset("texts", data=["a text of some length"] * 500)
        f["kept"].attrs["large"] = rng.normal(size=2000)
    with hs.open(path, "r+") as f:
        del f["gone"]
        f["texts"][...] = ["another"] * 500
        del f["kept"].attrs["large"]
        f["kept"].attrs["units"] = "m"


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_file_shrinks_to_what_it_holds(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    edited(path, libver)
    path.chmod(0o640)
    before = path.stat()
    planned = hs.vacuum(path, shrink=True, dry_run=True)
    assert path.stat().st_ino == before.st_ino and planned.shrunk_bytes > 400_000
    done = hs.vacuum(path, shrink=True)
    after = path.stat()
    assert done.shrunk_bytes == planned.shrunk_bytes == before.st_size - after.st_size and after.st_mode == before.st_mode
    assert os.listdir(tmp_path) == ["a.h5"]
    with h5py.File(path) as f:
        assert sorted(f) == ["kept", "texts"] and np.array_equal(f["kept"][...], np.arange(1000)) and f["kept"].attrs["units"] == "m"
        assert f["texts"].asstr()[499] == "another"
    assert hs.vacuum(path, shrink=True).shrunk_bytes < 5_000


def test_a_file_in_use_stays_as_it_is(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    edited(path, "latest")
    before = path.read_bytes()
    with h5py.File(path), pytest.raises(hs.ConflictError, match="open"):
        hs.vacuum(path, shrink=True)
    os.link(path, tmp_path / "b.h5")
    with pytest.raises(hs.InvalidInputError, match="hard links"):
        hs.vacuum(path, shrink=True)
    assert path.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["a.h5", "b.h5"]


def test_what_cannot_be_copied_is_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = 1
        library_calls.link_by_user(f, "user")
    before = path.read_bytes()
    with pytest.raises(hs.UnsupportedError, match="link of class"):
        hs.vacuum(path, shrink=True)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.h5"]


def test_a_user_block_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as f:
        f["lost"], f["x"] = np.arange(10_000), 1
        del f["lost"]
    with open(path, "r+b") as raw:
        raw.write(b"of the user")
    assert hs.vacuum(path, shrink=True).shrunk_bytes > 70_000
    assert path.read_bytes().startswith(b"of the user")
    with h5py.File(path) as f:
        assert f["x"][()] == 1 and f.userblock_size == 512


def test_an_editor_that_waited_gets_the_new_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    edited(path, "latest")
    hs.vacuum(path, shrink=True)
    with hs.open(path, "r+") as f:
        f["kept"][0] = 7
    with h5py.File(path) as f:
        assert f["kept"][0] == 7
