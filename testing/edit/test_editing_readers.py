"""Readers of a file that another session edits: each value is of the state that they opened, or the read is a conflict."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time

import h5py
import hyperslab as hs
import numpy as np
import pytest

NAMES = ("contiguous", "packed", "grown")


def made(path: pathlib.Path, libver: str = "earliest") -> pathlib.Path:
    """All values and the attribute are 0. The file is larger than what a reader keeps of it."""
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("contiguous", data=np.zeros(20_000, "i4"))
        f.create_dataset("packed", data=np.zeros(20_000, "i4"), chunks=(1_000,), compression="gzip")
        f.create_dataset("grown", data=np.zeros(1_000, "i4"), chunks=(500,), maxshape=(None,))
        f.attrs["state"] = 0
    return path


def edit(path: pathlib.Path, state: int, durable: bool = True) -> None:
    """All values become `state`, in one commit."""
    with hs.open(path, "r+", timeout=10) as f:
        for name in NAMES:
            f[name][...] = state
        f["grown"].append(np.full(500, state, "i4"))
        f.attrs["state"] = state
        if not durable:
            f.roll_back()


def states(f: hs.File) -> set[int]:
    """All different values that a reader sees."""
    found = {int(value) for name in NAMES for value in np.unique(f[name][...])}
    return found | {int(f.attrs["state"])}


def test_a_reader_gets_what_it_opened_or_a_conflict(tmp_path: pathlib.Path) -> None:
    path = made(tmp_path / "a.h5")
    for open_options in ({}, {"format": "hdf5"}):
        f = hs.open(path, **open_options)
        state = int(f.attrs["state"])
        assert np.unique(f["packed"][:5_000]).tolist() == [state]
        edit(path, state + 1)
        for read in (lambda: f["contiguous"][...], lambda: f["packed"][-10:], lambda: f.table("/grown").to_arrow(), lambda: f["grown"][0]):
            with pytest.raises(hs.ConflictError, match="has changed since it was opened: open it again"):
                read()
        f.refresh()
        assert states(f) == {state + 1} and states(hs.open(path)) == {state + 1}


def test_a_small_file_is_the_snapshot(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.zeros(10)
    f = hs.open(path)
    with hs.open(path, "r+") as edited:
        edited["x"][...] = 1
    assert f["x"][...].tolist() == [0] * 10 and hs.open(path)["x"][...].tolist() == [1] * 10


def test_changes_that_are_dropped_disturb_no_reader(tmp_path: pathlib.Path) -> None:
    path = made(tmp_path / "a.h5")
    f = hs.open(path)
    edit(path, 1, durable=False)
    assert states(f) == {0}


def test_readers_of_another_process_never_see_two_states(tmp_path: pathlib.Path) -> None:
    path = made(tmp_path / "a.h5")
    writer = subprocess.Popen([sys.executable, __file__, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline() == "1\n"
        whole = conflicts = 0
        seen = set()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                found = states(hs.open(path))
            except hs.ConflictError:
                conflicts += 1
                continue
            assert len(found) == 1, f"values of the states {found} in one reader"
            seen |= found
            whole += 1
        assert whole > 0 and conflicts + len(seen) > 1
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


if __name__ == "__main__":
    for number in range(1, 100_000):
        edit(pathlib.Path(sys.argv[1]), number)
        print(number, flush=True)
