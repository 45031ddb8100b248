"""Small files whose reads, patterns or conditions would cost minutes or gigabytes: a value or one clear error, in seconds of processor time."""

from __future__ import annotations

import os
import pathlib
import resource
import struct
import time
from collections.abc import Callable
from typing import Any

import blocks as b
import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Processor time of one question.
SECONDS = 3


def answer(ask: Callable[[], Any]) -> Any:
    """The value or the error of a question; neither may take long, and no error may be a fault of ours."""
    start = time.process_time()
    try:
        value = ask()
    except hs.Error as error:
        assert not isinstance(error, hs.InternalError)
        value = error
    assert time.process_time() - start < SECONDS
    return value


def frame(count: int) -> bytes:
    """A frame of blosc2 with one chunk of `count` zeros, which are not stored, in tiles of one byte of 16 dimensions."""
    ndim = 16
    shape = [1] * (ndim - 1) + [count]
    layer = bytes([0x97, 0, ndim, 0x90 | ndim]) + b"".join(b"\xd3" + struct.pack(">Q", extent) for extent in shape)
    for extents in (shape, [1] * ndim):
        layer += bytes([0x90 | ndim]) + b"".join(b"\xd2" + struct.pack(">I", extent) for extent in extents)

    def chunk(total: int, block: int, special: int, body: bytes, item: int) -> bytes:
        return bytes([5, 1, 1 | 4, item]) + struct.pack("<III", total, block, 32 + len(body)) + bytes(15) + bytes([special << 4]) + body

    data, place = chunk(count, 1, 1, b"", 1), chunk(8, 8, 3, struct.pack("<Q", 0), 8)
    header = bytearray(0x5C)
    header[:10] = b"\x9e\xa8b2frame\0"
    meta = struct.pack(">H", 1) + bytes([4 | 0xA0]) + b"b2nd" + b"\xd2"
    meta += struct.pack(">I", 0x5C + len(meta) + 4) + b"\xc6" + struct.pack(">I", len(layer)) + layer
    header += meta
    header[0x0B:0x0F] = struct.pack(">I", len(header))
    header[0x1E:0x26], header[0x27:0x2F], header[0x30:0x34] = struct.pack(">Q", count), struct.pack(">Q", len(data)), struct.pack(">I", 1)
    return bytes(header) + data + place


def test_tiles_of_one_byte_cost_no_call_each(tmp_path: pathlib.Path) -> None:
    count = 1 << 24
    with h5py.File(tmp_path / "x.h5", "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((count,))
        creation.set_filter(32026, h5py.h5z.FLAG_OPTIONAL, ())
        made = h5py.h5d.create(f.id, b"x", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((count,)), creation)
        made.write_direct_chunk((0,), frame(count))
    with hs.open(tmp_path / "x.h5", threads=1) as file:
        found = answer(lambda: file["x"][:2])
    assert isinstance(found, hs.Error) or found.tolist() == [0, 0]


def nested(path: pathlib.Path, chain: int, levels: int, parts: int) -> None:
    """Virtual datasets of virtual datasets: `chain` of one part, then `levels` that have the one below `parts` times."""
    with h5py.File(path, "w") as f:
        count = 1
        f.create_dataset("d0", data=[7], dtype="u1")
        for level in range(1, chain + levels + 1):
            times = parts if level > chain else 1
            layout = h5py.VirtualLayout((count * times,), "u1")
            source = h5py.VirtualSource(".", f"d{level - 1}", (count,))
            for part in range(times):
                layout[part * count : (part + 1) * count] = source[0:count]
            count *= times
            f.create_virtual_dataset(f"d{level}", layout)


@pytest.mark.parametrize(("chain", "levels", "parts"), [(62, 0, 1), (20, 4, 8), (40, 8, 8)])
def test_virtual_datasets_of_virtual_datasets(tmp_path: pathlib.Path, chain: int, levels: int, parts: int) -> None:
    nested(tmp_path / "v.h5", chain, levels, parts)
    with hs.open(tmp_path / "v.h5", threads=1) as file:
        last = file[f"d{chain + levels}"]
        assert last.shape == (parts**levels,)
        found = answer(lambda: last[:10])
    assert isinstance(found, hs.Error) or found.tolist() == [7] * min(parts**levels, 10)


def test_many_mappings_that_look_for_files(tmp_path: pathlib.Path) -> None:
    """Each of 200 mappings may look for a million files that are not there."""
    count, unlimited = 1 << 20, h5py.h5s.UNLIMITED
    with h5py.File(tmp_path / "v.h5", "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        one = h5py.h5s.create_simple((1,))
        for number in range(200):
            space = h5py.h5s.create_simple((10,), (unlimited,))
            space.select_hyperslab((0,), (unlimited,), (1,), (1,))
            creation.set_virtual(space, b"none%d-%%b.h5" % number, b"s", one)
        space = h5py.h5s.create_simple((count,), (unlimited,))
        space.select_hyperslab((count - 1,), (1,), (1,), (1,))
        creation.set_virtual(space, b"none.h5", b"s", one)
        h5py.h5d.create(f.id, b"v", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((count,), (unlimited,)), creation)
    for sources in ("error", "fill"):
        with hs.open(tmp_path / "v.h5", threads=1, missing_sources=sources) as file:
            answer(lambda file=file: file["v"].shape)
            answer(lambda file=file: file["v"][:3])


@pytest.mark.parametrize("pattern", ["a*b", "a*a*b", "a*a*a*a*a*a*a*a*b", "*a*a*a*a?a*a*[!a]", "*" * 1000 + "b"])
def test_patterns_are_compared_in_proportion(tmp_path: pathlib.Path, pattern: str) -> None:
    image = b.Image()
    layout = b.message(8, bytes([3, 1]) + struct.pack("<QQ", b.UNDEFINED, 3))
    dataset = image.put(b.header_v2([b.message(1, b.dataspace([3])), b.message(3, b.integer()), layout]))
    root = image.put(b.header_v2([b.link_info(), b.message(6, b.link(b"a" * 60_000, dataset))]))
    (tmp_path / "x.h5").write_bytes(image.finish(root, 2))
    with hs.open(tmp_path / "x.h5") as file:
        assert isinstance(answer(lambda: file.table("/" + pattern).to_arrow()), hs.Error)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param("(" * 100_000 + "x > 1" + ")" * 100_000, id="parentheses"),
        pytest.param("not " * 100_000 + "x > 1", id="not"),
        pytest.param(" and ".join(["(x > 1 or x < 0)"] * 5000), id="and"),
        pytest.param("x" + "+1" * 50_000 + " > 1", id="sum"),
        pytest.param("x > " + "9" * 1_000_000, id="digits"),
        pytest.param("x > 1e999999999999", id="exponent"),
        pytest.param("s like '" + "%a" * 200 + "b'", id="like"),
        pytest.param("s like '" + "_" * 100_000 + "'", id="long like"),
    ],
)
def test_long_conditions_are_answered_or_refused(tmp_path: pathlib.Path, condition: str) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["g/x"], f["g/s"] = np.arange(10.0), np.array([b"a" * 5000] * 10)
    with hs.open(tmp_path / "x.h5", threads=1) as file:
        answer(lambda: file.table("/g", where=condition).count())


def test_sessions_with_limits_of_their_own_share_threads(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=np.arange(100_000.0), chunks=(10_000,), compression="gzip")
    opened = []
    for number in range(60):
        opened.append(hs.open(tmp_path / "x.h5", limits={"chunk_bytes": (1 << 30) + number % 3}))
        opened[-1]["x"][...]
        if number == 9:
            before = len(os.listdir("/proc/self/task"))
    assert len(os.listdir("/proc/self/task")) <= before
    for file in opened:
        file.close()


@pytest.mark.parametrize("driver", ["family", "split"])
def test_an_index_is_not_embedded_in_one_of_several_files(tmp_path: pathlib.Path, driver: str) -> None:
    name, first, options = ("f-%d.h5", "f-0.h5", {"memb_size": 1 << 20}) if driver == "family" else ("s.h5", "s.h5-m.h5", {})
    with h5py.File(tmp_path / name, "w", driver=driver, **options) as f:
        f["x"] = np.arange(200_000.0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(hs.Error):
        hs.index(tmp_path / first, "/x", embedded=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with h5py.File(tmp_path / name, "r", driver=driver, **options) as f:
        assert np.array_equal(f["x"][:], np.arange(200_000.0))


def test_lists_of_dimension_scales_cost_no_name_each(tmp_path: pathlib.Path) -> None:
    """Both attributes name one dataset, whose path is long, again and again."""
    path = tmp_path / "scales.h5"
    with h5py.File(path, "w", libver="latest") as f:
        name = "n" * 60_000
        f[name], f["x"] = np.arange(3), np.arange(3)
        f["x"].make_scale("x")
        users = np.zeros(300_000, [("dataset", h5py.ref_dtype), ("dimension", "u4")])
        users["dataset"], users["dimension"] = f[name].ref, np.arange(len(users))
        f["x"].attrs["REFERENCE_LIST"] = users
        scales = np.empty(1, object)
        scales[0] = np.array([f["x"].ref] * 300_000, h5py.ref_dtype)
        f[name].attrs.create("DIMENSION_LIST", scales, dtype=h5py.vlen_dtype(h5py.ref_dtype))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer(lambda: hs.repack(path, tmp_path / "copy.h5", verify=False))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10
    with h5py.File(tmp_path / "copy.h5") as f:
        assert [scale.name for scale in f[name].dims[0].values()] == ["/x"] and len(f["x"].attrs["REFERENCE_LIST"]) == 1
