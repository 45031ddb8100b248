"""Copies are the same file: what HDF5's own library says of a file, it says of its copies, except what their reports name."""

from __future__ import annotations

import ctypes
import datetime
import pathlib
import struct
from collections.abc import Callable

import h5py
import hdf5plugin
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import same_file
from h5py import h5d, h5g, h5p, h5s, h5t

EXAMPLES = sorted(path for path in (pathlib.Path(__file__).parents[2] / "examples" / "data").iterdir() if path.suffix in (".nc", ".h5", ".h5ad"))


def committed(path: pathlib.Path) -> None:
    """Two equal committed types, one of them used, and ordinary datasets of the same type."""
    with h5py.File(path, "w") as f:
        f["a"] = f["b"] = np.dtype("i4")
        f.create_dataset("uses_b", data=np.arange(3, dtype="i4"), dtype=f["b"])
        f["ordinary"] = np.arange(3, dtype="i4")
        f.attrs.create("uses_a", 5, dtype=f["a"])
        f.attrs.create("ordinary", 5, dtype="i4")
        f["a"].attrs["note"] = "text"


def orders(path: pathlib.Path) -> None:
    """Orders of creation that are recorded with and without an index, and not recorded."""
    with h5py.File(path, "w") as f:
        for name, flags in ("none", 0), ("recorded", h5p.CRT_ORDER_TRACKED), ("indexed", h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED):
            plist = h5p.create(h5p.GROUP_CREATE)
            plist.set_link_creation_order(flags)
            plist.set_attr_creation_order(flags)
            group = h5py.Group(h5g.create(f.id, name.encode(), gcpl=plist))
            for member in "zam":
                group.create_group(member)
                group.attrs[member] = member
        many = f.create_group("many", track_order=True)
        for number in range(90, -1, -1):
            many.create_group(f"member{number}")
            many.attrs[f"attribute{number}"] = number


def dimensions(path: pathlib.Path) -> None:
    """Dimension scales: hidden attributes between others."""
    with netCDF4.Dataset(path, "w") as d:
        d.createDimension("z", 2)
        d.createDimension("time", None)
        for name in "zeta", "alpha", "z", "mid":
            variable = d.createVariable(name, "f4", ("time", "z") if name != "z" else ("z",), zlib=name == "mid", fill_value=-1.0)
            variable.units = "m"
            variable[:] = 1.0
            variable.late = "after the hidden ones"


def fills(path: pathlib.Path) -> None:
    """Fill values that are undefined, default and given, and their times."""
    library = same_file.HDF5
    library.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    with h5py.File(path, "w") as f:
        for times in (h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER, h5d.FILL_TIME_IFSET):
            for allocation in (h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE, h5d.ALLOC_TIME_INCR):
                plist = h5p.create(h5p.DATASET_CREATE)
                plist.set_chunk((2,))
                plist.set_fill_time(times)
                plist.set_alloc_time(allocation)
                library.H5Pset_fill_value(plist.id, h5t.STD_I32LE.id, None)
                if times != h5d.FILL_TIME_ALLOC:  # the library has nothing to write
                    made = h5d.create(f.id, f"undefined{times}{allocation}".encode(), h5t.STD_I32LE, h5s.create_simple((4,)), plist)
                    made.write(h5s.ALL, h5s.ALL, np.arange(4, dtype="i4"))
                if times == h5d.FILL_TIME_NEVER:
                    continue  # what was never written has no value to compare
                plist.set_fill_value(np.array(7, "i4"))
                h5d.create(f.id, f"given{times}{allocation}".encode(), h5t.STD_I32LE, h5s.create_simple((4,)), plist)
        f.create_dataset("text", (3,), dtype=h5py.string_dtype(), fillvalue="")
        f.create_dataset("long", (3,), dtype=h5py.string_dtype(), fillvalue="none")
        f.create_dataset("default", (3,), dtype="f8")


def storage(path: pathlib.Path) -> None:
    """Layouts, and filters that may be skipped or not."""
    with h5py.File(path, "w") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_layout(h5d.COMPACT)
        compact = h5d.create(f.id, b"compact", h5t.STD_I32LE, h5s.create_simple((4,)), plist)
        compact.write(h5s.ALL, h5s.ALL, np.arange(4, dtype="i4"))
        for flags in 0, 1:
            plist = h5p.create(h5p.DATASET_CREATE)
            plist.set_chunk((2,))
            plist.set_filter(1, flags, (5,))
            made = h5d.create(f.id, f"gzip{flags}".encode(), h5t.STD_I32LE, h5s.create_simple((4,), (9,)), plist)
            made.write(h5s.ALL, h5s.ALL, np.arange(4, dtype="i4"))
        f.create_dataset("contiguous", data=np.arange(4))
        f.create_dataset("checked", data=np.arange(4), shuffle=True, fletcher32=True, chunks=(3,))


def comments(path: pathlib.Path) -> None:
    """Comments, times, several names of one object, and references."""
    with h5py.File(path, "w", userblock_size=512) as f:
        h5py.h5o.set_comment(f.create_group("g").id, b"a comment of a group")
        timed = f.create_dataset("timed", data=1.0, track_times=True)
        h5py.h5o.set_comment(timed.id, b"and of a dataset")
        f["again"] = timed
        f["soft"], f["external"] = h5py.SoftLink("/nowhere"), h5py.ExternalLink("other.h5", "/x")
        f["references"] = np.array([timed.ref, f["g"].ref], dtype=h5py.ref_dtype)
        f["g"].attrs["reference"] = timed.ref
        f["lists"] = np.array([np.arange(2), np.arange(0)], dtype=object).astype(h5py.vlen_dtype("i4"))
    with path.open("r+b") as content:
        content.write(b"in front of the file")


def old_messages(path: pathlib.Path) -> None:
    """Datasets as HDF5 before 1.6 wrote them: no message of a fill value, and their time of change in digits."""
    with h5py.File(path, "w", libver="earliest") as f:
        f.create_dataset("old", data=np.arange(4, dtype="i4"), track_times=True)
        f.create_dataset("texts", data=["a", "bc"], dtype=h5py.string_dtype(), track_times=True)
        headers = [h5py.h5o.get_info(f[name].id).addr for name in f]
    content = bytearray(path.read_bytes())
    for at in headers:
        count, start, size = int.from_bytes(content[at + 2 : at + 4], "little"), at + 16, int.from_bytes(content[at + 8 : at + 12], "little")
        kept, place = [], start
        for _ in range(count):
            kind, length = (int.from_bytes(content[place + n : place + n + 2], "little") for n in (0, 2))
            if kind not in (0x00, 0x05, 0x12):
                kept.append(bytes(content[place : place + 8 + length]))
            place += 8 + length
        kept.append(struct.pack("<HHBxxx", 0x0E, 16, 0) + b"20001109210834\0\0")
        rest = size - sum(map(len, kept)) - 8
        kept.append(struct.pack("<HHBxxx", 0, rest, 0) + bytes(rest))
        content[at + 2 : at + 4] = len(kept).to_bytes(2, "little")
        content[start : start + size] = b"".join(kept)
    path.write_bytes(content)


def named_filters(path: pathlib.Path) -> None:
    """A filter whose name is longer than containers store."""
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(100), chunks=(50,), **hdf5plugin.LZ4())
        assert len(f["x"].id.get_create_plist().get_filter(0)[3]) > 11


def empty_texts(path: pathlib.Path) -> None:
    """Texts of no characters that are not null, which the library does not write any more."""
    with h5py.File(path, "w") as f:
        f.create_dataset("texts", data=["a", "b"], dtype=h5py.string_dtype())
        at = f["texts"].id.get_offset()
    content = bytearray(path.read_bytes())
    # The library stores the last text first. Objects of the heap, and the free space after them, have 16 bytes of header. The second object's value of 8 bytes becomes free.
    heap = int.from_bytes(content[at + 4 : at + 12], "little")
    second = heap + 16 + 24
    assert content[heap : heap + 4] == b"GCOL" and content[second] == 2 and content[second + 16] == ord("a") and content[second + 24] == 0
    free = int.from_bytes(content[second + 32 : second + 40], "little")
    content[second + 8 : second + 32] = bytes(16) + (free + 8).to_bytes(8, "little")
    content[at : at + 4] = bytes(4)
    path.write_bytes(content)
    assert same_file.describe(str(path))[b"/texts", "values"] == ([b"", b"b"],)


MADE = (committed, orders, dimensions, fills, storage, comments, old_messages, named_filters, empty_texts)


def check_copies(path: pathlib.Path, folder: pathlib.Path) -> None:
    """Compares each copy with the file; what differs must be stated."""
    facts = same_file.describe(str(path))
    container, one_file = folder / "container", folder / "one_file"
    made = {
        "repack": hs.repack(path, folder / "repacked.h5").changes,
        "recover": hs.recover(path, folder / "recovered.h5").changes,
        "fuse": hs.fuse(path, folder / "fused.h5").changes,
        "folder": (*hs.convert(path, container, "folder").changes, *hs.convert(container, folder / "folder.h5").changes),
        "file": (*hs.convert(path, one_file, "file").changes, *hs.convert(one_file, folder / "file.h5").changes),
    }
    for operation, name in ("repack", "repacked"), ("recover", "recovered"), ("fuse", "fused"), ("folder", "folder"), ("file", "file"):
        found = same_file.differences(facts, same_file.describe(str(folder / f"{name}.h5")))
        stated = {one.path.encode() for one in made[operation]}
        assert [one for one in found if one.path not in stated] == [], operation
    assert not made["repack"] and not made["recover"]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_copies_of_files_of_each_kind(make: Callable[[pathlib.Path], None], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "original.h5"
    make(path)
    check_copies(path, tmp_path)


def test_old_messages_are_kept(tmp_path: pathlib.Path) -> None:
    old_messages(tmp_path / "original.h5")
    hs.repack(tmp_path / "original.h5", tmp_path / "copy.h5")
    facts = same_file.describe(str(tmp_path / "copy.h5"))
    assert facts[b"/old", "fill status"] == facts[b"/texts", "fill status"] == "undefined"
    with h5py.File(tmp_path / "copy.h5", "r+") as f:
        # Properties with which the library creates another dataset.
        h5d.create(f.id, b"like", f["texts"].id.get_type(), h5s.create_simple((2,)), f["texts"].id.get_create_plist())
    assert facts[b"/old", "times"][2] == datetime.datetime(2000, 11, 9, 21, 8, 34, tzinfo=datetime.timezone.utc).timestamp()


def test_chunks_of_filters_that_are_not_written_are_copied(tmp_path: pathlib.Path) -> None:
    """N-bit after another filter, which the library allows."""
    with h5py.File(tmp_path / "original.h5", "w") as f:
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((50,))
        plist.set_shuffle()
        plist.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL)
        datatype = h5t.STD_I32LE.copy()
        datatype.set_precision(20)
        made = h5d.create(f.id, b"x", datatype, h5s.create_simple((100,)), plist)
        made.write(h5s.ALL, h5s.ALL, np.arange(100, dtype="i4"))
    for copy in hs.repack, hs.fuse, hs.recover:
        assert not copy(tmp_path / "original.h5", tmp_path / f"{copy.__name__}.h5").changes
        assert same_file.differences(*(same_file.describe(str(tmp_path / name)) for name in ("original.h5", f"{copy.__name__}.h5"))) == []


def test_packed_lists_of_scales_are_kept(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "original.h5", "w") as f:
        f["scale"], f["x"] = np.arange(3.0), np.arange(3.0)
        f["scale"].make_scale()
        f["x"].dims[0].attach_scale(f["scale"])
        lists = f["scale"].attrs["REFERENCE_LIST"]
        packed = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "i4")])
        f["scale"].attrs.create("REFERENCE_LIST", np.array([(f["x"].ref, 0)], packed), dtype=packed)
        assert len(lists) == 1 and h5py.h5a.open(f["scale"].id, b"REFERENCE_LIST").get_type().get_size() == 12
    for copy in hs.repack, hs.fuse, hs.recover:
        assert not copy(tmp_path / "original.h5", tmp_path / f"{copy.__name__}.h5").changes
        assert same_file.differences(*(same_file.describe(str(tmp_path / name)) for name in ("original.h5", f"{copy.__name__}.h5"))) == []


def test_committed_types_without_a_name_are_stated(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "original.h5", "w") as f:
        f["type"] = np.dtype("i4")
        f.create_dataset("x", data=np.arange(3, dtype="i4"), dtype=f["type"])
        del f["type"]
    for copy in hs.repack, hs.fuse, hs.recover:
        (change,) = copy(tmp_path / "original.h5", tmp_path / f"{copy.__name__}.h5").changes
        assert change.path == "/x" and "committed datatype has no name" in change.text


def test_what_containers_do_not_keep_is_stated(tmp_path: pathlib.Path) -> None:
    for make, text in (named_filters, "cut in the container"), (empty_texts, "empty texts are null"):
        path = tmp_path / f"{make.__name__}.h5"
        make(path)
        (change,) = hs.convert(path, tmp_path / make.__name__).changes
        assert text in change.text


def test_growing_mappings_are_recovered_as_they_are(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f.create_dataset("d", data=np.arange(12).reshape(3, 4), maxshape=(None, 4), chunks=(1, 4))
    layout = h5py.VirtualLayout((6, 4), "i8", maxshape=(None, 4))
    layout[0 : h5py.h5s.UNLIMITED : 2] = h5py.VirtualSource("source.h5", "d", (3, 4), maxshape=(None, 4))[0 : h5py.h5s.UNLIMITED]
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        f.create_virtual_dataset("v", layout)
    hs.recover(tmp_path / "virtual.h5", tmp_path / "copy.h5")
    assert same_file.differences(*(same_file.describe(str(tmp_path / name)) for name in ("virtual.h5", "copy.h5"))) == []


@pytest.mark.parametrize("verify", [True, False])
def test_containers_hold_the_values_of_virtual_datasets(tmp_path: pathlib.Path, verify: bool) -> None:
    """With the extent that the sources have now."""
    (tmp_path / "parts").mkdir()
    with h5py.File(tmp_path / "parts" / "grown.h5", "w") as f:
        f.create_dataset("d", data=np.arange(12).reshape(3, 4), maxshape=(None, 4), chunks=(1, 4))
    grown, fixed = h5py.VirtualLayout((2, 4), "i8", maxshape=(None, 4)), h5py.VirtualLayout((3, 4), "i8")
    source = h5py.VirtualSource("parts/grown.h5", "d", (2, 4), maxshape=(None, 4))
    grown[0 : h5py.h5s.UNLIMITED] = source[0 : h5py.h5s.UNLIMITED]
    fixed[:2] = h5py.VirtualSource("parts/grown.h5", "d", (3, 4))[1:]
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        f.create_virtual_dataset("grown", grown)
        f.create_virtual_dataset("fixed", fixed, fillvalue=-1)
    changes = hs.convert(tmp_path / "virtual.h5", tmp_path / "container", verify=verify).changes
    hs.convert(tmp_path / "container", tmp_path / "back.h5")
    with h5py.File(tmp_path / "virtual.h5") as f, h5py.File(tmp_path / "back.h5") as back:
        assert f["grown"][...].tolist() == back["grown"][...].tolist() == np.arange(12).reshape(3, 4).tolist()
        assert f["fixed"][...].tolist() == back["fixed"][...].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11], [-1] * 4]
    assert {one.path for one in changes if "in the container now" in one.text} == {"/grown", "/fixed"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_copies_of_real_files(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not h5py.is_hdf5(path):
        pytest.skip("netCDF classic")
    check_copies(path, tmp_path)


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_diff_finds_what_differs(make: Callable[[pathlib.Path], None], tmp_path: pathlib.Path) -> None:
    """Equal only to itself: any fact that HDF5's library sees differ, `diff(structure=True)` sees."""
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    make(first)
    assert hs.diff(first, first, structure=True).equal
    with h5py.File(first) as source, h5py.File(second, "w") as f:
        # High-level creation: other orders, comments, committed types and filters.
        for name in source:
            link = source.get(name, getlink=True)
            if isinstance(link, h5py.HardLink) and isinstance(source[name], h5py.Dataset):
                f.create_dataset(name, source[name].shape, source[name].dtype)
    assert not hs.diff(first, second, structure=True, format="hdf5").equal


def test_deleted_objects_are_no_loss(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f["deleted"] = np.arange(20)
        f["kept"] = np.arange(10)
    with h5py.File(path, "r+") as f:
        del f["deleted"]
    made = hs.recover(path, tmp_path / "r.h5")
    assert made.complete and not made.lost and len(made.deleted) == 1 and made.deleted[0].path is None
    assert same_file.differences(same_file.describe(str(path)), same_file.describe(str(tmp_path / "r.h5"))) == []
    offered = hs.recover(path, tmp_path / "d.h5", deleted=True)
    assert offered.complete and offered.deleted[0].path is not None
    with h5py.File(tmp_path / "d.h5") as f:
        assert f[offered.deleted[0].path][:].tolist() == list(range(20))
