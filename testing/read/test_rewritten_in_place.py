"""A file that is written while it is open: what does not fit together any more is no damage, and the error says so."""

from __future__ import annotations

import os
import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

VALUES = np.random.default_rng(1).integers(0, 9, (4_000, 100))


def made(path: pathlib.Path) -> tuple[pathlib.Path, int]:
    """A file with a compressed dataset of 40 chunks, and where the bytes of one of the last begin."""
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", data=VALUES, chunks=(100, 100), compression="gzip")
        return path, d.id.get_chunk_info(30).byte_offset


def overwrite(path: pathlib.Path, offset: int) -> None:
    with open(path, "rb+") as raw:
        raw.seek(offset)
        raw.write(b"\xff" * 64)


def test_bytes_that_were_written_after_the_opening_are_a_conflict(tmp_path: pathlib.Path) -> None:
    path, offset = made(tmp_path / "a.h5")
    f = hs.open(path)
    assert np.array_equal(f["x"][:100], VALUES[:100])
    overwrite(path, offset)
    with pytest.raises(hs.ConflictError, match=r"has changed since it was opened: open it again") as caught:
        f["x"][...]
    assert caught.value.file == str(path) and caught.value.object == "/x"
    # Opened again it is what it is: damaged.
    with pytest.raises(hs.CorruptError):
        hs.open(path)["x"][...]


def test_a_file_that_is_cut_is_a_conflict(tmp_path: pathlib.Path) -> None:
    path, offset = made(tmp_path / "a.h5")
    f = hs.open(path)
    os.truncate(path, offset)
    for read in (lambda: f["x"][...], lambda: f.table("/x").to_arrow(), lambda: f["x"][[3100, 3200]]):
        with pytest.raises(hs.ConflictError):
            read()


def test_another_file_in_its_place_changes_nothing(tmp_path: pathlib.Path) -> None:
    path, _ = made(tmp_path / "a.h5")
    f = hs.open(path)
    other, offset = made(tmp_path / "b.h5")
    overwrite(other, offset)
    other.replace(path)
    assert np.array_equal(f["x"][...], VALUES)


def test_damage_from_before_stays_damage(tmp_path: pathlib.Path) -> None:
    path, offset = made(tmp_path / "a.h5")
    overwrite(path, offset)
    with pytest.raises(hs.CorruptError):
        hs.open(path)["x"][...]
