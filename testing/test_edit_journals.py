"""Journals that did not come from an edit of the file next to them: whatever they say, they write into no file but one that an edit of
their own writer interrupted."""

from __future__ import annotations

import os
import pathlib
import struct
import zlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Of superblock version 0: the byte of the flags, the mark in it, the field with the end of the file, and its length.
FLAGS, MARK, END_FIELD, LENGTH = 20, 0x80, 40, 56
OVERWRITTEN = b"\xee" * 64


def make(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "data.h5"
    with h5py.File(path, "w", libver="earliest") as f:
        f["x"] = np.arange(1000)
    return path


def journal_of(path: pathlib.Path) -> pathlib.Path:
    return path.with_name(f".{path.name}.hyperslab-journal")


def forge(old: bytes, new: bytes, end: int) -> bytes:
    """A journal that overwrites some bytes at the end of the file."""
    images = b"".join(struct.pack("<QB", 0, len(image)) + image for image in (old, new))
    run = struct.pack("<QQ", end - len(OVERWRITTEN), len(OVERWRITTEN)) + OVERWRITTEN
    content = b"hyperslab edit journal 1" + images + struct.pack("<QQ", end, 1) + run
    return content + struct.pack("<I", zlib.crc32(content))


def changed(data: bytes, at: int, mask: int) -> bytes:
    out = bytearray(data)
    out[at] ^= mask
    return bytes(out)


def test_a_forged_journal_changes_no_file_that_no_edit_interrupted(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    before = path.read_bytes()
    found = before[:LENGTH]
    # Each byte of the superblock is that of one of the two images.
    for old, new in ((changed(found, END_FIELD, 1), changed(found, END_FIELD + 1, 1)), (found, found), (changed(found, FLAGS, MARK), found)):
        journal_of(path).write_bytes(forge(old, new, len(before)))
        with hs.open(path, "r+") as f:
            assert f["x"][999] == 999
        assert path.read_bytes() == before and not journal_of(path).exists()


def interrupted(path: pathlib.Path) -> bytes:
    """Marks the file as one whose edit was interrupted, with a journal that fits; returns its bytes."""
    data = path.read_bytes()
    journal_of(path).write_bytes(forge(data[:LENGTH], data[:LENGTH], len(data)))
    path.write_bytes(changed(data, FLAGS, MARK))
    return path.read_bytes()


def test_the_journal_of_an_interrupted_edit_is_applied(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    interrupted(path)
    hs.open(path, "r+").close()
    assert path.read_bytes().endswith(OVERWRITTEN) and not journal_of(path).exists()


def test_a_journal_that_is_a_link_is_not_followed(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    marked = interrupted(path)
    elsewhere = tmp_path / "elsewhere"
    journal_of(path).rename(elsewhere)
    content = elsewhere.read_bytes()
    journal_of(path).symlink_to(elsewhere)
    with pytest.raises(hs.Error, match="journal"):
        hs.open(path, "r+")
    assert path.read_bytes() == marked and elsewhere.read_bytes() == content
    path.write_bytes(changed(marked, FLAGS, MARK))
    hs.open(path, "r+").close()
    assert elsewhere.read_bytes() == content and not journal_of(path).is_symlink()


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_journal_is_an_error_that_changes_nothing(tmp_path: pathlib.Path, kind: str) -> None:
    path = make(tmp_path)
    marked = interrupted(path)
    journal_of(path).unlink()
    os.mkfifo(journal_of(path)) if kind == "fifo" else journal_of(path).mkdir()
    with pytest.raises(hs.Error, match="journal"):
        hs.open(path, "r+")
    assert path.read_bytes() == marked


def test_a_journal_that_others_can_write_is_not_applied(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path)
    marked = interrupted(path)
    path.chmod(0o644)
    journal_of(path).chmod(0o666)
    with pytest.raises(hs.InvalidInputError, match="others may write"):
        hs.open(path, "r+")
    assert path.read_bytes() == marked and journal_of(path).exists()
    journal_of(path).chmod(0o644)
    if os.geteuid() == 0:
        os.chown(journal_of(path), 65534, -1)
        with pytest.raises(hs.InvalidInputError, match="another user"):
            hs.open(path, "r+")
        assert path.read_bytes() == marked
        # That of the file's owner is as good as the file.
        os.chown(path, 65534, -1)
    hs.open(path, "r+").close()
    assert path.read_bytes().endswith(OVERWRITTEN)
