"""Sizes in headers that contradict each other, or are unusual: readers and `check` agree with each other, and with h5py."""

from __future__ import annotations

import pathlib
import struct
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hostile.blocks import lookup3

#: Members of 12 bytes in elements of 24.
PADDED = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [0, 8], "itemsize": 24})


def values() -> np.ndarray[Any, Any]:
    made = np.zeros(10, PADDED)
    made["a"], made["b"] = np.arange(10), np.arange(10) / 2
    return made


def write(path: pathlib.Path, storage: str, size: int) -> None:
    """Ten elements whose datatype says another size than that at which they were written."""
    with h5py.File(path, "w", libver="earliest") as f:
        if storage == "attribute":
            f["d"] = 1
            f["d"].attrs.create("t", values(), dtype=PADDED)
        elif storage == "compact":
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_layout(h5py.h5d.COMPACT)
            h5py.h5d.create(f.id, b"d", h5py.h5t.py_create(PADDED), h5py.h5s.create_simple((10,)), plist).write(h5py.h5s.ALL, h5py.h5s.ALL, values())
        else:
            f.create_dataset("d", data=values(), chunks={"contiguous": None, "chunked": (4,)}[storage])
    raw = bytearray(path.read_bytes())
    places = [at for at in range(len(raw) - 8) if raw[at] & 15 == 6 and raw[at] >> 4 in (1, 2, 3) and raw[at + 1 : at + 8] == b"\2\0\0" + struct.pack("<I", 24)]
    assert len(places) == 1
    raw[places[0] + 4 : places[0] + 8] = struct.pack("<I", size)
    path.write_bytes(raw)


@pytest.mark.parametrize("storage", ["contiguous", "chunked", "compact", "attribute"])
@pytest.mark.parametrize("size", [8, 15, 16, 17, 20, 23, 24, 25, 32, 48])
def test_compounds_of_another_size_are_what_h5py_reads(tmp_path: pathlib.Path, storage: str, size: int) -> None:
    path = tmp_path / "a.h5"
    write(path, storage, size)
    try:
        with h5py.File(path) as f:
            right = f["d"].attrs["t"] if storage == "attribute" else f["d"][...]
    except (KeyError, OSError):
        with pytest.raises(hs.CorruptError):
            f = hs.open(path)
            f["d"].attrs["t"] if storage == "attribute" else f["d"][...]
        return
    f = hs.open(path)
    got = f["d"].attrs["t"] if storage == "attribute" else f["d"][...]
    for name in ("a", "b"):
        assert got[name].tobytes() == right[name].tobytes()


@pytest.mark.parametrize("size", [16, 20, 24, 32])
def test_a_compact_dataset_of_another_size_is_damaged(tmp_path: pathlib.Path, size: int) -> None:
    """Also of numbers, and in tables."""
    path = tmp_path / "a.h5"
    write(path, "compact", size)
    if size == 24:
        assert hs.open(path)["d"]["a"].tolist() == list(range(10)) and hs.check(path).ok
        return
    for read in (lambda f: f["d"][...], lambda f: f["d"][3], lambda f: f.table("/d").to_arrow()):
        with pytest.raises(hs.CorruptError, match=f"compact dataset of 240 bytes, whose shape needs {size * 10}"):
            read(hs.open(path))
    with pytest.raises((KeyError, OSError)), h5py.File(path) as f:
        f["d"]


@pytest.mark.parametrize("page_bits", [1, 10, 31, 32, 40, 63, 64, 255])
@pytest.mark.parametrize("signature", [b"EAHD", b"FAHD"])
def test_pages_of_chunk_arrays(tmp_path: pathlib.Path, signature: bytes, page_bits: int) -> None:
    """Headers are parsed in one place: what is read is not a finding, and what is a finding is not read."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("x", data=np.arange(20), chunks=(4,), maxshape=(None if signature == b"EAHD" else 40,))
    raw = bytearray(path.read_bytes())
    start = raw.index(signature)
    # Version, client, bytes of an entry; then (extensible arrays) bits, entries of the index block, smallest blocks and pointers.
    raw[start + (11 if signature == b"EAHD" else 7)] = page_bits
    length = 12 + 6 * 8 + 8 if signature == b"EAHD" else 8 + 8 + 8
    raw[start + length : start + length + 4] = struct.pack("<I", lookup3(bytes(raw[start : start + length])))
    path.write_bytes(raw)
    try:
        read = hs.open(path)["x"][...].tolist()
    except hs.CorruptError:
        assert page_bits >= 64 or page_bits < 3
        assert not hs.check(path).ok
    else:
        assert read == list(range(20)) and hs.check(path).ok
