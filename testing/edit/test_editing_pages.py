"""Files of pages that cannot be edited."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import pytest
from file_kinds import new_file
from hostile.blocks import lookup3


def test_files_of_pages_whose_ends_are_kept_free_are_refused_by_name(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    new_file(path, "small pages").close()
    data = bytearray(path.read_bytes())
    # Kind, length and flags of the message, its version, strategy, persistence, and two lengths.
    place = data.index(b"\x17\x1d\x00") + 4 + 3 + 16
    data[place] = 1
    start = data.rindex(b"OHDR", 0, place)
    # Signature, version, flags, perhaps four times, the length of the messages in one byte, the messages.
    assert data[start + 5] & 0x13 == 0
    length = start + 6 + 16 * (data[start + 5] >> 5)
    end = length + 1 + data[length]
    data[end : end + 4] = lookup3(bytes(data[start:end])).to_bytes(4, "little")
    path.write_bytes(data)
    with h5py.File(path) as f:
        assert list(f) == []
    with pytest.raises(hs.UnsupportedError, match="kept free cannot be edited yet"):
        hs.open(path, "r+")
    assert path.read_bytes() == data
