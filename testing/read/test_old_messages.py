"""Messages that today's library reads but does not write: made from today's files, read by h5py too."""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator

import h5py
import hyperslab as hs
import numpy as np
import pytest
from compare import compare

NIL, FILL_OLD, FILL, LAYOUT, PIPELINE, ATTRIBUTE, CONTINUATION = 0x00, 0x04, 0x05, 0x08, 0x0B, 0x0C, 0x10
#: Name of the attribute whose message gives its room to another.
ROOM = "room"


def places(data: bytes, address: int) -> Iterator[tuple[int, int, int]]:
    """Kind, place and length of the messages of a version-1 object header, which has no checksum."""
    version, total = struct.unpack_from("<BxxxxxxxI", data, address)
    assert version == 1
    blocks = [(address + 16, total)]
    for start, size in blocks:
        at = start
        while at + 8 <= start + size:
            kind, length = struct.unpack_from("<HH", data, at)
            if kind == CONTINUATION:
                blocks.append(struct.unpack_from("<QQ", data, at + 8))
            yield kind, at, length
            at += 8 + length


def exchange(path: pathlib.Path, name: str, dropped: tuple[int, ...], kind: int, body: bytes) -> None:
    """Takes the messages of some kinds out of a dataset's header and puts one in, where its attribute was."""
    with h5py.File(path) as f:
        address = h5py.h5o.get_info(f[name].id).addr
    data = bytearray(path.read_bytes())
    room = 0
    for found, at, length in list(places(data, address)):
        if found in dropped:
            struct.pack_into("<H", data, at, NIL)
        if found == ATTRIBUTE:
            assert length >= len(body), "the attribute is too small"
            struct.pack_into("<H", data, at, kind)
            data[at + 8 : at + 8 + length] = body.ljust(length, b"\0")
            room += 1
    assert room == 1
    path.write_bytes(data)


def check(path: pathlib.Path) -> None:
    results = list(compare(str(path)))
    assert len(results) > 1
    assert [r for r in results if r.outcome != "equal"] == []


def compact(f: h5py.File, name: str, data: np.ndarray) -> None:
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    kind = h5py.h5t.py_create(data.dtype, logical=True)
    space = h5py.h5s.create_simple(data.shape) if data.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
    h5py.h5d.create(f.id, name.encode(), kind, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    f[name].attrs[ROOM] = np.zeros(60, "u1")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "values",
    [np.arange(5, dtype="<i4"), np.arange(6, dtype=">f8").reshape(2, 3) / 7, np.array(-9, "<i2"), np.arange(24, dtype="u1").reshape(2, 3, 4)],
    ids=lambda v: f"{v.dtype.str}{v.shape}",
)
def test_compact_data_in_old_layout_messages(tmp_path: pathlib.Path, version: int, values: np.ndarray) -> None:
    """Version, number of dimensions, class, their extents, the data's length and the data."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        compact(f, "d", values)
    extents = values.shape or (1,)
    body = struct.pack("<BBB5x", version, len(extents), 0) + struct.pack(f"<{len(extents)}I", *extents)
    exchange(path, "d", (LAYOUT,), LAYOUT, body + struct.pack("<I", values.nbytes) + values.tobytes())
    check(path)
    found = hs.open(path)["d"]
    assert found[()].tobytes() == values.tobytes() and found.shape == values.shape


def unwritten(path: pathlib.Path, fill: int | None, chunks: tuple[int, ...] | None) -> None:
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (7,), "<i4", chunks=chunks, fillvalue=fill)
        d.attrs[ROOM] = np.zeros(40, "u1")


#: Message, and the value; where none is defined the library reads nothing and we read zeros.
OLD_FILLS = {
    "old, with a value": (FILL_OLD, struct.pack("<Ii", 4, -7), -7),
    "old, without": (FILL_OLD, struct.pack("<I", 0), None),
    **{f"version {version}, with a value": (FILL, struct.pack("<BBBBIi", version, 2, 2, 1, 4, -7), -7) for version in (1, 2)},
    **{f"version {version}, the default": (FILL, struct.pack("<BBBBI", version, 2, 2, 1, 0), 0) for version in (1, 2)},
    **{f"version {version}, undefined": (FILL, struct.pack("<BBBB", version, 2, 2, 0), None) for version in (1, 2)},
    "version 1, undefined, with bytes behind": (FILL, struct.pack("<BBBBIi", 1, 2, 2, 0, 4, -7), None),
    "version 3, with a value": (FILL, struct.pack("<BBIi", 3, 2 | 2 << 2 | 1 << 5, 4, -7), -7),
    "version 3, undefined": (FILL, struct.pack("<BB", 3, 2 | 2 << 2 | 1 << 4), None),
}


@pytest.mark.parametrize("chunks", [None, (3,)], ids=["contiguous", "chunked"])
@pytest.mark.parametrize("form", OLD_FILLS)
def test_every_form_of_the_fill_value(tmp_path: pathlib.Path, form: str, chunks: tuple[int, ...] | None) -> None:
    kind, body, expected = OLD_FILLS[form]
    path = tmp_path / "a.h5"
    unwritten(path, 99, chunks)
    exchange(path, "d", (FILL, FILL_OLD), kind, body)
    with h5py.File(path) as theirs:
        if expected is None:
            with pytest.raises(OSError, match="no data can be read"):
                theirs["d"][...]
        else:
            assert theirs["d"][...].tolist() == [expected] * 7
            check(path)
    assert hs.open(path)["d"][...].tolist() == [expected or 0] * 7


def test_the_new_fill_value_wins_over_the_old(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    unwritten(path, 99, (3,))
    exchange(path, "d", (FILL_OLD,), FILL_OLD, struct.pack("<Ii", 4, -7))
    with h5py.File(path) as theirs:
        assert hs.open(path)["d"][...].tolist() == theirs["d"][...].tolist() == [99] * 7


def test_a_fill_value_of_another_length_than_an_element_is_corrupt(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    unwritten(path, 99, None)
    exchange(path, "d", (FILL, FILL_OLD), FILL_OLD, struct.pack("<Ih", 2, -7))
    with pytest.raises(hs.CorruptError, match="a fill value of 2 bytes for elements of 4"):
        hs.open(path)["d"][...]


@pytest.mark.parametrize(
    ("number", "stored", "shown"),
    [(32017, b"", "sz"), (32017, b"my own name", "sz"), (60_123, b"my own filter", "my own"), (60_123, b"", "filter-60123")],
)
def test_a_filter_is_called_by_its_registered_name_else_by_the_files_own(tmp_path: pathlib.Path, number: int, stored: bytes, shown: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=np.arange(8, dtype="u1"), chunks=(4,), compression="gzip").attrs[ROOM] = np.zeros(60, "u1")
    name = stored + bytes(-len(stored) % 8)
    body = struct.pack("<BB6x", 1, 1) + struct.pack("<HHHH", number, len(name), 1, 2) + name + struct.pack("<II", 1, 2)
    exchange(path, "d", (PIPELINE,), PIPELINE, body)
    with h5py.File(path) as theirs:
        their_number, _, _, name = theirs["d"].id.get_create_plist().get_filter(0)
        # A plug-in that the library has loaded gives its own name.
        assert their_number == number and (name == stored or not stored)
    found = hs.open(path)["d"]
    assert found.filters == [shown]
    with pytest.raises(hs.UnsupportedError, match=rf"{shown} filter \(number {number}\)"):
        found[...]
