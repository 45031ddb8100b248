"""Journals that did not come from an edit of the file in which they are: whatever they say, they change no file but one that an edit interrupted."""

from __future__ import annotations

import pathlib
import struct
import zlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Superblock version 0: offset of the flags, the mark in them, offset of the end-of-file field, and length in bytes.
FLAGS, MARK, END_FIELD, LENGTH = 20, 0x80, 40, 56
OVERWRITTEN = b"\xee" * 64


def make(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "data.h5"
    with h5py.File(path, "w", libver="earliest") as f:
        f["x"] = np.arange(1000)
    return path


def forge(old: bytes, new: bytes, end: int) -> bytes:
    """A journal that overwrites some bytes at the end of the file."""
    images = b"".join(struct.pack("<QB", 0, len(image)) + image for image in (old, new))
    run = struct.pack("<QQ", end - len(OVERWRITTEN), len(OVERWRITTEN)) + OVERWRITTEN
    content = b"hyperslab edit journal 2" + images + struct.pack("<QQQ", end, end, 1) + run
    journal = content + struct.pack("<I", zlib.crc32(content))
    length = struct.pack("<Q", len(journal) + 20)
    return journal + length + struct.pack("<I", zlib.crc32(length)) + b"HSLJRNL2"


def changed(data: bytes, at: int, mask: int) -> bytes:
    out = bytearray(data)
    out[at] ^= mask
    return bytes(out)


def interrupted(path: pathlib.Path) -> bytes:
    """Marks the file as one whose edit was interrupted, with a journal that fits; returns its bytes."""
    data = path.read_bytes()
    marked = changed(data, FLAGS, MARK) + forge(data[:LENGTH], data[:LENGTH], len(data))
    path.write_bytes(marked)
    return marked


def test_a_forged_journal_changes_no_file_that_no_edit_interrupted(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    before = path.read_bytes()
    found = before[:LENGTH]
    # Each byte of the superblock comes from one of the two images.
    for old, new in ((changed(found, END_FIELD, 1), changed(found, END_FIELD + 1, 1)), (found, found), (changed(found, FLAGS, MARK), found)):
        path.write_bytes(before + forge(old, new, len(before)))
        with hs.open(path, "r+") as f:
            assert f["x"][999] == 999
        assert path.read_bytes().startswith(before)


def test_a_forged_journal_does_not_lengthen_a_file(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    before = path.read_bytes()
    path.write_bytes(before + forge(before[:LENGTH], before[:LENGTH], 1 << 40))
    whole = path.read_bytes()
    hs.open(path, "r+").close()
    assert path.stat().st_size == len(whole) and path.read_bytes() == whole


def test_the_journal_of_an_interrupted_edit_is_applied(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    before = path.read_bytes()
    interrupted(path)
    with pytest.raises(OSError):
        h5py.File(path)
    with pytest.raises(hs.ConflictError, match="r\\+"):
        hs.open(path)
    hs.open(path, "r+").close()
    assert path.read_bytes() == before[: -len(OVERWRITTEN)] + OVERWRITTEN


@pytest.mark.parametrize("damage", ["cut", "extended", "changed", "gone"])
def test_a_journal_that_is_not_whole_is_an_error_that_changes_nothing(tmp_path: pathlib.Path, damage: str) -> None:
    path = make(tmp_path)
    length = path.stat().st_size
    marked = interrupted(path)
    broken = {"cut": marked[:-1], "extended": marked + b"x", "changed": changed(marked, length + 40, 1), "gone": marked[:length]}[damage]
    path.write_bytes(broken)
    with pytest.raises(hs.CorruptError, match="journal"):
        hs.open(path, "r+")
    assert path.read_bytes() == broken


def test_a_file_that_another_program_went_on_with_stays_as_it_is(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    data = path.read_bytes()
    # The edit was not begun: its journal is cut off, unless the file is another one now.
    path.write_bytes(data + forge(data[:LENGTH], data[:LENGTH], len(data)))
    with h5py.File(path, "r+") as f:
        f["y"] = np.arange(2000)
    with hs.open(path, "r+") as f:
        assert f["x"][999] == 999 and f["y"][1999] == 1999
    with h5py.File(path) as f:
        assert f["y"][...].tolist() == list(range(2000))
