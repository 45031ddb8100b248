"""Damaged files: an error of ours or the right kind of value, never a crash, a hang or a panic."""

from __future__ import annotations

import pathlib
import random
import re
import struct

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

MUTATIONS = 400


def read_everything(path: pathlib.Path) -> None:
    """Opens and reads all; only our own errors may come out, and never `InternalError`."""
    try:
        pending: list[object] = [hs.open(path)]
        seen: set[object] = set()
        while pending:
            node = pending.pop()
            if node in seen:  # damage may link a group into itself
                continue
            seen.add(node)
            for name in node.attrs:
                try:
                    node.attrs[name]
                except hs.Error as error:
                    assert not isinstance(error, hs.InternalError), error
            if isinstance(node, hs.Dataset):
                if node.size > 1_000_000:
                    continue
                try:
                    node[()]
                except hs.Error as error:
                    assert not isinstance(error, hs.InternalError), error
            elif isinstance(node, hs.Group):
                for name in node:
                    try:
                        pending.append(node[name])
                    except hs.Error as error:
                        assert not isinstance(error, hs.InternalError), error
    except hs.Error as error:
        assert not isinstance(error, hs.InternalError), error


def make_hdf5(path: pathlib.Path, libver: str) -> None:
    with h5py.File(path, "w", libver=libver) as f:
        for i in range(12):
            f[f"group/member {i}"] = np.arange(i)
        f.create_dataset("chunked", data=np.arange(60).reshape(12, 5), chunks=(5, 2), maxshape=(None, 5), compression="gzip", shuffle=True)
        f.create_dataset("fixed", data=np.arange(60.0), chunks=(7,), fletcher32=True, compression="lzf")
        f.create_dataset("tree", data=np.arange(60.0).reshape(6, 10), chunks=(2, 3), maxshape=(None, None))
        f["text"] = ["a", "bc", "def"]
        f["records"] = np.zeros(3, dtype=[("a", "i4"), ("s", "S3"), ("v", "f4", (2,))])
        f["soft"] = h5py.SoftLink("/text")
        for i in range(10):
            f["text"].attrs[f"a{i}"] = np.arange(i)


def make_netcdf(path: pathlib.Path, model: str) -> None:
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("t", None)
        f.createDimension("x", 5)
        f.createVariable("a", "f4", ("t", "x"))[:] = np.arange(20).reshape(4, 5)
        f.createVariable("b", "i2", ("t",))[:] = np.arange(4)
        f.createVariable("x", "f8", ("x",))[:] = np.arange(5)
        f["a"].units = "K"


@pytest.mark.parametrize("kind", ["earliest", "latest", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"])
def test_mutated_files_give_errors_and_never_crash(tmp_path: pathlib.Path, kind: str) -> None:
    whole = tmp_path / "whole"
    make_netcdf(whole, kind) if kind.startswith("NET") else make_hdf5(whole, kind)
    read_everything(whole)
    original = whole.read_bytes()
    rng = random.Random(7)
    damaged = tmp_path / "damaged"
    for _ in range(MUTATIONS):
        data = bytearray(original)
        action = rng.randrange(5)
        if action == 0:
            data = data[: rng.randrange(len(data))]
        elif action == 1:
            at = rng.randrange(len(data))
            data[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7])
        elif action == 2:
            a, b = (rng.randrange(0, len(data) - 8, 8) for _ in range(2))
            data[a : a + 8], data[b : b + 8] = data[b : b + 8], data[a : a + 8]
        else:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        damaged.write_bytes(data)
        read_everything(damaged)


def endless(extent: int) -> h5py.h5s.SpaceID:
    """A dataspace that can grow, with a selection without end."""
    space = h5py.h5s.create_simple((extent,), (h5py.h5s.UNLIMITED,))
    space.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), (1,), (1,))
    return space


def test_virtual_datasets_that_lead_back_into_themselves_give_errors(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "self.h5"
    with h5py.File(path, "w", libver="latest") as f:
        for name, file, source in (("itself", ".", "itself"), ("a", ".", "b"), ("b", "./self.h5", "a")):
            layout = h5py.VirtualLayout((4,), "i4")
            layout[:] = h5py.VirtualSource(file, source, (4,))
            f.create_virtual_dataset(name, layout)
        # Each twice over the next: 2 ** 40 sources.
        for level in range(40):
            layout = h5py.VirtualLayout((4,), "i4")
            for _ in range(2):
                layout[:] = h5py.VirtualSource(".", f"level {level + 1}", (4,))
            f.create_virtual_dataset(f"level {level}", layout)
        f["level 40"] = np.arange(4, dtype="i4")
        for name, file in (("grows", "."), ("grows apart", "./self.h5"), ("grows far apart", "././self.h5")):
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_virtual(endless(4), file.encode(), name.encode(), endless(4))
            h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_I32LE, endless(4), creation)
    f = hs.open(path, missing_sources="fill")
    for name in ("itself", "a", "b", "level 0", "grows apart", "grows far apart"):
        with pytest.raises(hs.LimitExceededError):
            f[name][:4]
    np.testing.assert_array_equal(f["level 30"][()], np.arange(4))


def test_a_virtual_dataset_of_endless_blocks_is_read_in_parts(tmp_path: pathlib.Path) -> None:
    far = 1 << 50
    with h5py.File(tmp_path / "blocks.h5", "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        one = h5py.h5s.create_simple((1,))
        creation.set_virtual(endless(far + 1), b".", b"b%b", one)
        last = h5py.h5s.create_simple((far + 1,), (h5py.h5s.UNLIMITED,))
        last.select_hyperslab((far,), (1,))
        creation.set_virtual(last, b".", b"b", one)
        h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I32LE, endless(far + 1), creation)
    v = hs.open(tmp_path / "blocks.h5", missing_sources="fill")["v"]
    assert v[:3].tolist() == [0, 0, 0]
    with pytest.raises(hs.LimitExceededError):
        v[...]


def test_a_dataset_beyond_memory_is_refused_and_read_in_parts(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "huge.h5", "w") as f:
        f.create_dataset("rows", (1 << 62, 2), "i1", chunks=(1, 2), maxshape=(None, 2), fillvalue=7)
        f.create_dataset("chunks", (1 << 31,), "i1", chunks=(1,), maxshape=(None,))
    f = hs.open(tmp_path / "huge.h5")
    for name in f:
        with pytest.raises(hs.LimitExceededError):
            f[name][()]
        repr(f[name])
    assert f["rows"][1 << 61 : (1 << 61) + 2].tolist() == [[7, 7], [7, 7]]
    assert f["rows"][0 : 1 << 62 : 1 << 61].shape == (2, 2)
    assert f.table("/rows", limit=3).to_arrow().num_rows == 3
    with pytest.raises(hs.LimitExceededError):
        f.table("/rows").splits()


def lists_within_lists(file: h5py.File, name: str, depth: int) -> None:
    kind = h5py.h5t.STD_I16LE
    for _ in range(depth):
        kind = h5py.h5t.vlen_create(kind)
    h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((1,)))


def first_place(path: pathlib.Path, name: str) -> tuple[int, bytes]:
    """Where a contiguous dataset's bytes are, and the first 16 of them: length, address and index in the heap."""
    with h5py.File(path) as f:
        offset = f[name].id.get_offset()
    return offset, path.read_bytes()[offset : offset + 16]


def test_elements_that_share_one_object_of_the_heap_cost_no_more_than_the_limit(tmp_path: pathlib.Path) -> None:
    """20,000 times 100,000 bytes in a file of half a megabyte."""
    path = tmp_path / "shared.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("text", data=["x" * 100_000] + [""] * 19_999, dtype=h5py.string_dtype())
    offset, place = first_place(path, "text")
    data = path.read_bytes()
    path.write_bytes(data[:offset] + place * 20_000 + data[offset + 16 * 20_000 :])
    f = hs.open(path)
    for read in (lambda: f["text"][()], lambda: f.table("/text").to_arrow()):
        with pytest.raises(hs.LimitExceededError, match="heap_bytes"):
            read()
    assert set(f["text"].asstr()[:3]) == {"x" * 100_000}
    with pytest.raises(hs.LimitExceededError, match="heap_bytes"):
        hs.open(path, limits={"heap_bytes": 0})["text"][:100]


def test_lists_that_hold_themselves_end_in_an_error(tmp_path: pathlib.Path) -> None:
    """A list of 100 lists, each of them itself, six levels deep."""
    path = tmp_path / "self.h5"
    with h5py.File(path, "w") as f:
        lists_within_lists(f, "lists", 6)
        f.create_dataset("bytes", (1,), h5py.vlen_dtype("u1"))[0] = np.zeros(1600, "u1")
    _, place = first_place(path, "bytes")
    place = struct.pack("<I", 100) + place[4:]
    with h5py.File(path, "r+") as f:
        f["place"] = np.frombuffer(place, "u1")
    offset, _ = first_place(path, "place")
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL")
    data[heap + 32 : heap + 32 + 1600] = place * 100
    layout = data.index(b"\xff" * 8 + struct.pack("<Q", 16))
    data[layout : layout + 8] = struct.pack("<Q", offset)
    path.write_bytes(data)
    f = hs.open(path)
    for read in (lambda: f["lists"][()], lambda: f.table("/lists").to_arrow()):
        with pytest.raises(hs.LimitExceededError, match="heap_bytes"):
            read()


def test_what_describes_a_file_costs_no_more_than_the_limit(tmp_path: pathlib.Path) -> None:
    """300 attributes that share one megabyte: they would be read when the file is opened."""
    path = tmp_path / "shared.h5"
    with h5py.File(path, "w") as f:
        f["d"] = 1
        f["d"].attrs.create("long", "x" * 1_000_000, dtype=h5py.string_dtype())
        for i in range(300):
            f["d"].attrs.create(f"a{i}", "four", dtype=h5py.string_dtype())
    assert len(hs.open(path, limits={"metadata_bytes": 0})["d"].attrs["long"]) == 1_000_000
    data = path.read_bytes()
    length = struct.pack("<I", 1_000_000)
    place = data[data.index(length) :][:16]
    short = re.compile(re.escape(struct.pack("<I", 4)) + b"[^\0]..\0{5}.\0{3}", re.DOTALL)
    damaged, count = short.subn(lambda _: place, data)
    assert count >= 300
    path.write_bytes(damaged)
    attributes = hs.open(path, limits={"metadata_bytes": 1 << 20})["d"].attrs
    read, refused = 0, 0
    for name in attributes:
        try:
            read += len(attributes[name]) == 1_000_000
        except hs.LimitExceededError:
            refused += 1
    assert refused > 200 and read > 1


def damage(path: pathlib.Path, find: bytes, replace: bytes) -> None:
    """Replaces bytes wherever they occur."""
    data = path.read_bytes()
    assert find in data
    path.write_bytes(data.replace(find, replace))


def test_variable_strings_end_at_a_nul_as_in_h5py(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "text.h5"
    with h5py.File(path, "w") as f:
        f["text"] = ["before and after", "b"]
        f.attrs["text"] = "one and two"
    damage(path, b"before and after", b"before\0and after")
    damage(path, b"one and two", b"one\0and two")
    f = hs.open(path)
    with h5py.File(path) as theirs:
        assert f["text"][()].tolist() == theirs["text"][()].tolist() == [b"before", b"b"]
        assert f.attrs["text"] == theirs.attrs["text"] == "one"
    assert f.table("/text").to_arrow()["text"].to_pylist() == ["before", "b"]


def test_elements_that_numpy_cannot_hold_are_refused_by_name(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wide.h5"
    with h5py.File(path, "w", track_order=False) as f:
        f.create_dataset("opaque", (1,), h5py.h5t.create(h5py.h5t.OPAQUE, 0x1234567))
    damage(path, (0x1234567).to_bytes(4, "little"), (0xFFFF_FFF0).to_bytes(4, "little"))
    f = hs.open(path)
    with pytest.raises(hs.Error):
        _ = f["opaque"].dtype
    with pytest.raises(hs.Error):
        f["opaque"][()]


def test_a_string_of_no_bytes_is_empty(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "short.h5"
    with h5py.File(path, "w") as f:
        f["s"] = np.array([b"x" * 77])
    # Class 3 (string), version 1, null-padded, 77 bytes.
    damage(path, b"\x13\x01\0\0\x4d\0\0\0", b"\x13\x01\0\0\0\0\0\0")
    assert hs.open(path)["s"][()].tolist() == [b""]


def test_members_that_overlap_are_corrupt(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "records.h5"
    with h5py.File(path, "w") as f:
        f["records"] = np.zeros(2, [("a", "i4"), ("b", "i4")])
    # The name, padded to 8 bytes, and the offset.
    damage(path, b"b" + bytes(7) + b"\4\0\0\0", b"b" + bytes(7) + b"\2\0\0\0")
    with pytest.raises(hs.CorruptError, match="overlap"):
        hs.open(path)["records"][()]


def test_an_endless_dataset_of_no_elements_is_opened_at_once(tmp_path: pathlib.Path) -> None:
    """Its chunks were listed, to see whether any went through its unknown filter: found by the trees' fuzz target."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        for name, filters in (("unknown", [60_003]), ("known", [1])):
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((1, 1, 1))
            for number in filters:
                creation.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (1,))
            space = h5py.h5s.create_simple((1 << 40, 1 << 40, 0), (1 << 40, 1 << 40, h5py.h5s.UNLIMITED))
            h5py.h5d.create(f.id, name.encode(), h5py.h5t.STD_U8LE, space, creation)
    f = hs.open(path)
    for name in f:
        assert f[name].shape == (1 << 40, 1 << 40, 0) and f[name].size == 0
    assert f["known"][:2, -3:].shape == (2, 3, 0)
