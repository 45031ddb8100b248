"""What files of other people's packages taught us (docs/conformance.md), on files made here."""

from __future__ import annotations

import pathlib
import pickle
import re
import struct
import time
import zlib

import h5py
import hyperslab as hs
import library_calls as calls
import netCDF4
import numpy as np
import pytest
from compare import compare


@pytest.mark.parametrize("filters", ["gzip", "gzip and shuffle"])
def test_a_stored_chunk_may_end_where_its_dataset_ends(tmp_path: pathlib.Path, filters: str) -> None:
    path = tmp_path / "a.h5"
    values = np.arange(10, dtype="i4")
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (10,), "i4", chunks=(8,), compression="gzip", shuffle="shuffle" in filters)
        wide = f.create_dataset("wide", (3, 5), "i4", maxshape=(4, 8), chunks=(4, 8), compression="gzip")

        def packed(part: np.ndarray) -> bytes:
            data = part.tobytes()
            if "shuffle" in filters:
                data = np.frombuffer(data, "u1").reshape(-1, 4).T.tobytes()
            return zlib.compress(data)

        d.id.write_direct_chunk((0,), packed(values[:8]))
        d.id.write_direct_chunk((8,), packed(values[8:]))  # 2 elements of a chunk of 8
        whole = np.zeros((4, 8), "i4")
        whole[:3, :5] = np.arange(15).reshape(3, 5)
        wide.id.write_direct_chunk((0, 0), zlib.compress(whole.tobytes()[: (2 * 8 + 5) * 4]))
    f = hs.open(path)
    assert f["d"][...].tolist() == values.tolist()
    assert f["wide"][...].tolist() == np.arange(15).reshape(3, 5).tolist()


def test_a_stored_chunk_that_ends_inside_its_dataset_is_an_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        d = f.create_dataset("d", (10,), "i4", chunks=(8,), compression="gzip")
        d.id.write_direct_chunk((0,), zlib.compress(bytes(8 * 4)))
        d.id.write_direct_chunk((8,), zlib.compress(bytes(7)))  # 8 bytes belong to the dataset
    with pytest.raises(hs.Error, match="a chunk decodes to 7 bytes where 32 belong"):
        hs.open(path)["d"][...]


def test_a_classic_name_ends_at_its_nul(tmp_path: pathlib.Path) -> None:
    """Early writers counted the closing NUL into the length of a name."""

    def name(text: bytes) -> bytes:
        return struct.pack(">I", len(text)) + text + bytes(-len(text) % 4)

    dimensions = struct.pack(">II", 10, 1) + name(b"xx\0") + struct.pack(">I", 2)
    attributes = struct.pack(">II", 12, 1) + name(b"note\0\0") + struct.pack(">II", 2, 2) + b"ab\0\0"
    before = b"CDF\x01" + struct.pack(">I", 0) + dimensions + attributes
    variable = struct.pack(">II", 11, 1) + name(b"yy\0") + struct.pack(">II", 1, 0) + struct.pack(">II", 0, 0)
    begin = len(before) + len(variable) + 12
    path = tmp_path / "a.nc"
    path.write_bytes(before + variable + struct.pack(">III", 4, 8, begin) + struct.pack(">ii", 7, -8))
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        assert f.keys() == list(theirs.variables) == ["yy"]
        assert list(f.attrs) == theirs.ncattrs() == ["note"]
        assert f["yy"].dims == theirs["yy"].dimensions == ("xx",)
        assert f["yy"][...].tolist() == theirs["yy"][...].tolist() == [7, -8]


@pytest.mark.parametrize("rows", [slice(0, 2), slice(1, 6, 2)], ids=["one block", "a block a row"])
def test_a_hyperslab_that_is_stored_as_blocks_maps_by_axes(tmp_path: pathlib.Path, rows: slice) -> None:
    """Counted one by one, as many elements would be refused."""
    width = 1 << 26
    count = len(range(rows.start, rows.stop, rows.step or 1))
    with h5py.File(tmp_path / "source.h5", "w") as f:
        source = f.create_dataset("s", (count, width), "u1", chunks=(1, 1 << 16), fillvalue=5)
        source[:, :3] = np.arange(3 * count).reshape(count, 3)
    layout = h5py.VirtualLayout((6, width), "u1")
    layout[rows, :] = h5py.VirtualSource(tmp_path / "source.h5", "s", (count, width))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("d", layout, fillvalue=9)
    with h5py.File(path) as theirs:
        assert hs.open(path)["d"][:, :5].tolist() == theirs["d"][:, :5].tolist()
        assert hs.open(path)["d"][::2, width - 2 :].tolist() == theirs["d"][::2, width - 2 :].tolist()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("maxshape", [(None,), (700_000,), (None, None)], ids=["extensible array", "fixed array", "B-tree"])
def test_hundreds_of_thousands_of_chunks_are_all_found(tmp_path: pathlib.Path, maxshape: tuple[int | None, ...]) -> None:
    count = 300_000
    shape = (count,) if len(maxshape) == 1 else (count // 1000, 1000)
    values = (np.arange(count) % 251 + 1).astype("u1").reshape(shape)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        # Pages of a chunk locator that were never written lie between others.
        d = f.create_dataset("x", shape, "u1", chunks=(1,) * len(shape), maxshape=maxshape)
        for start in (0, 2, 5, 7, 8):
            part = slice(start * shape[0] // 10, (start + 1) * shape[0] // 10)
            d[part] = values[part]
    with h5py.File(tmp_path / "a.h5") as f:
        np.testing.assert_array_equal(hs.open(tmp_path / "a.h5")["x"][...], f["x"][...])


def check(path: pathlib.Path) -> None:
    """All that h5py reads is equal."""
    results = list(compare(str(path)))
    assert len(results) > 1
    assert [r for r in results if r.outcome != "equal"] == []


@pytest.mark.parametrize("version", [1, 2])
def test_layout_messages_of_old_files(tmp_path: pathlib.Path, version: int) -> None:
    """Versions 1 and 2 hold the dataset's dimensions, or the chunk's; written today, the message is of version 3."""
    path = tmp_path / "a.h5"
    values = np.arange(10, dtype="i4")
    with h5py.File(path, "w") as f:
        f["contiguous"] = values
        f.create_dataset("chunked", data=values * 3, chunks=(4,), compression="gzip")
    data = path.read_bytes()
    for kind, found in ((1, rb"\x03\x01(.{8})\x28\0{7}.{6}"), (2, rb"\x03\x02\x02(.{8})(\x04\0{3}\x04\0{3}).{5}")):
        sizes = struct.pack("<I", 10) + bytes(4) if kind == 1 else struct.pack("<II", 4, 4)
        head = bytes([version, kind, kind]) + bytes(5)
        data, count = re.subn(found, lambda m, head=head, sizes=sizes: head + m[1] + sizes, data, flags=re.DOTALL)
        assert count == 1
    path.write_bytes(data)
    with h5py.File(path) as theirs:
        assert theirs["contiguous"][:].tolist() == values.tolist() and theirs["chunked"][:].tolist() == (values * 3).tolist()
    check(path)


@pytest.mark.parametrize("maxshape", [None, (None, 9), (9, None), (None, None)], ids=str)
@pytest.mark.parametrize("extent", [(5, 7), (6, 9), (3, 3)], ids=str)
def test_edges_may_be_left_unfiltered(tmp_path: pathlib.Path, maxshape: tuple | None, extent: tuple[int, int]) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((2, 3))
        creation.set_shuffle()
        creation.set_deflate(6)
        calls.leave_edges_unfiltered(creation)
        most = tuple(h5py.h5s.UNLIMITED if n is None else n for n in maxshape) if maxshape else extent
        space = h5py.h5s.create_simple(extent, most)
        d = h5py.h5d.create(f.id, b"d", h5py.h5t.STD_I32LE, space, creation)
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(np.prod(extent), dtype="i4").reshape(extent))
    check(path)


def test_a_metadata_cache_image_is_read(tmp_path: pathlib.Path) -> None:
    """What the image holds need not be anywhere else in the file. The library fails on some of its own
    images, so the same file without one is asked."""

    def write(path: pathlib.Path, image: bool) -> None:
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_LATEST)
        if image:
            calls.keep_cache_image(access)
        with h5py.File(h5py.h5f.create(bytes(path), h5py.h5f.ACC_TRUNC, fapl=access)) as f:
            f.create_dataset("d", data=np.arange(300).reshape(60, 5), chunks=(7, 2), maxshape=(None, None), compression="gzip")
            for i in range(30):
                f[f"g/x{i}"] = np.arange(i)
                f["g"].attrs[f"a{i}"] = f"text {i}"

    write(tmp_path / "a.h5", True)
    write(tmp_path / "plain.h5", False)
    assert b"MDCI" in (tmp_path / "a.h5").read_bytes() and b"MDCI" not in (tmp_path / "plain.h5").read_bytes()
    f = hs.open(tmp_path / "a.h5")
    with h5py.File(tmp_path / "plain.h5") as theirs:
        np.testing.assert_array_equal(f["d"][...], theirs["d"][...])
        assert sorted(f["g"]) == sorted(theirs["g"]) and dict(f["g"].attrs) == dict(theirs["g"].attrs)
        for name in theirs["g"]:
            np.testing.assert_array_equal(f["g"][name][...], theirs["g"][name][...])
    # It is a version of a file like any other.
    again = pickle.loads(pickle.dumps(f))
    assert again["d"][-1].tolist() == f["d"][-1].tolist() and f.table("/d", where="d >= 7").count() == 293
    assert hs.diff(tmp_path / "a.h5", tmp_path / "plain.h5").equal
    hs.repack(tmp_path / "a.h5", tmp_path / "repacked.h5")
    assert hs.diff(tmp_path / "plain.h5", tmp_path / "repacked.h5").equal
    hs.index(tmp_path / "a.h5", "/d")
    assert hs.query(tmp_path / "a.h5", "/", "d >= 7").count() == 293
    assert sum(split.read().num_rows for split in f.table("/d").splits(2)) == 300


@pytest.mark.parametrize("strategy", ["page", "fsm", "aggregate", "none"])
@pytest.mark.parametrize("persist", [False, True])
def test_paged_files_and_file_space_messages(tmp_path: pathlib.Path, strategy: str, persist: bool) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", fs_strategy=strategy, fs_persist=persist, fs_threshold=1) as f:
        f.create_dataset("d", data=np.arange(300).reshape(60, 5), chunks=(7, 2), compression="gzip")
        f["gone"] = np.arange(1000)
        f["g/x"] = np.arange(3)
        f["g"].attrs["a"] = "text"
        del f["gone"]
    check(path)


def test_a_group_of_15000_links_is_walked_once(tmp_path: pathlib.Path) -> None:
    for libver in ("earliest", "latest"):
        path = tmp_path / f"{libver}.h5"
        with h5py.File(path, "w", libver=libver) as f:
            group = f.create_group("many")
            group["0"] = 5
            for i in range(1, 15_000):
                group[str(i)] = h5py.SoftLink("/many/0")
        f = hs.open(path)
        # Once per path it would be 225 million links: minutes.
        begin = time.monotonic()
        assert len(f["many"]) == 15_000
        assert all(f[f"many/{i}"].size == 1 for i in range(15_000))
        assert time.monotonic() - begin < 20


def test_compounds_of_numbers_with_layouts_of_their_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    brain = h5py.h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_precision(16)
    brain.set_size(2)
    brain.set_ebias(127)
    odd = h5py.h5t.STD_I32BE.copy()
    odd.set_precision(17)
    odd.set_offset(3)
    record = h5py.h5t.create(h5py.h5t.COMPOUND, 16)
    for name, offset, kind in ((b"half", 0, h5py.h5t.IEEE_F16BE), (b"brain", 2, brain), (b"odd", 6, odd), (b"n", 12, h5py.h5t.STD_U8LE)):
        record.insert(name, offset, kind)
    values = np.array([(1.5, -2.25, -7, 1), (0, 3e38, 65535, 2)], [("half", "f2"), ("brain", "f4"), ("odd", "i4"), ("n", "u1")])
    with h5py.File(path, "w") as f:
        d = h5py.h5d.create(f.id, b"d", record, h5py.h5s.create_simple((2,)))
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    check(path)


def test_the_attribute_fill_value_is_not_the_datasets(tmp_path: pathlib.Path) -> None:
    """What was never written has the fill value of HDF5, whatever an attribute says."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 4)
        f.createVariable("v", "i4", ("x",), fill_value=-5)
    with h5py.File(path, "r+") as f:
        f["v"].attrs.modify("_FillValue", np.array([-9], "i4"))
        f.create_dataset("own", (4,), "i4", fillvalue=7).attrs["_FillValue"] = np.array([-9], "i4")
    check(path)
    for kind in ("hdf5", None):
        f = hs.open(path, format=kind)
        assert f["v"][...].tolist() == [-5] * 4 and f["own"][...].tolist() == [7] * 4
    with netCDF4.Dataset(path) as theirs:
        theirs.set_auto_mask(False)
        assert theirs["v"][:].tolist() == [-5] * 4


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_user_defined_link_is_refused_by_name(tmp_path: pathlib.Path, libver: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver=libver) as f:
        f["x"] = 1
        calls.link_by_user(f, "own")
    f = hs.open(path)
    assert f.keys() == ["own", "x"] and f["x"][()] == 1
    with pytest.raises(hs.UnsupportedError, match=f"user-defined link of class {calls.USER_LINK_CLASS} at .own."):
        f["own"]


@pytest.mark.parametrize("count", [3, 100])
def test_links_and_attributes_in_the_order_of_their_creation(tmp_path: pathlib.Path, count: int) -> None:
    """The order is kept in addition to the names, for few and for many."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", track_order=True, libver="latest") as f:
        d = f.create_dataset("d", data=np.arange(3), track_order=True)
        for i in reversed(range(count)):
            f.create_group(f"g/{i}", track_order=True)
            d.attrs[f"a{i}"] = np.arange(i % 5)
    check(path)
    with h5py.File(path) as theirs:
        assert sorted(hs.open(path)["d"].attrs) == sorted(theirs["d"].attrs)
