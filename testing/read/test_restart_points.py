"""Restart points: parts of large gzip chunks are what the whole chunks have, and what does not fit is not used."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
import warnings
import zlib

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from sampling import one_in

INTERVAL = 1 << 16

TYPES = {
    "u1": np.dtype("u1"),
    "i2": np.dtype(">i2"),
    "s3": np.dtype("S3"),
    "f4": np.dtype("<f4"),
    "v5": np.dtype("V5"),
    "f8": np.dtype("<f8"),
    "s11": np.dtype("S11"),
    "c16": np.dtype("<c16"),
    "compound": np.dtype([("a", "<f4"), ("b", ">i8"), ("c", "S4")]),
}


def values_of(dtype: np.dtype, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Bytes with runs, repetitions and noise, so that blocks of all kinds arise."""
    random = np.random.default_rng(seed)
    length = int(np.prod(shape)) * dtype.itemsize
    smooth = (np.cumsum(random.integers(-1, 2, length)) & 0xFF).astype(np.uint8)
    noise = random.integers(0, 256, length, dtype=np.uint8)
    kind = np.repeat(random.integers(0, 3, length // 5000 + 1), 5000)[:length]
    plain = np.where(kind == 0, smooth, np.where(kind == 1, noise, smooth // 64))
    # Texts of h5py end at a zero byte, and numbers shall not be NaN, which differ from themselves.
    plain = np.where(plain % 64 == 63, 1, plain % 120 + 1).astype(np.uint8)
    return plain.view(dtype).reshape(shape)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("restart") / "sample.h5"
    with h5py.File(path, "w") as f:
        for name, dtype in TYPES.items():
            rows = (400_000 // dtype.itemsize) // 90
            for shuffle in (False, True):
                # The last chunks hang over the edges.
                shape, chunks = (3 * rows // 2, 200), (rows, 90)
                f.create_dataset(f"{name}_{shuffle}", data=values_of(dtype, shape), chunks=chunks, compression=4, shuffle=shuffle)
        cube = values_of(np.dtype("<f4"), (20, 64, 200), 1)
        f.create_dataset("cube", data=cube, chunks=(12, 50, 200), compression=6, shuffle=True, maxshape=(None, None, None))
        f.create_dataset("line", data=values_of(np.dtype("<i4"), (300_000,), 2), chunks=(200_000,), compression=9)
        f.create_dataset("wide", data=values_of(np.dtype("<c16"), (150_000,), 9), chunks=(140_000,), compression=4, shuffle=True)
        wide = np.dtype([("a", "<f4"), ("b", ">i8"), ("c", "S1")])
        f.create_dataset("records", data=values_of(wide, (150_000,), 9), chunks=(140_000,), compression=4, shuffle=True)
        f.create_dataset("stored", data=values_of(np.dtype("<f8"), (60_000,), 3), chunks=(60_000,), compression=0)
        f.create_dataset("summed", data=values_of(np.dtype("<f8"), (60_000,), 3), chunks=(60_000,), compression=4, fletcher32=True)
        masked = f.create_dataset("masked", shape=(4, 100_000), dtype="<f4", chunks=(1, 100_000), compression=4, shuffle=True, fillvalue=7)
        raw = values_of(np.dtype("<f4"), (100_000,), 4)
        masked[0] = raw
        masked.id.write_direct_chunk((1, 0), raw.tobytes(), filter_mask=0b11)
        masked.id.write_direct_chunk((2, 0), fixed_blocks(raw.tobytes()), filter_mask=0b01)
    time.sleep(0.05)
    made = hs.indexes.chunk_index(path, path.with_suffix(".chunks"), restart_points=INTERVAL)
    assert made.restart_chunks > 40 and made.restart_points > 3 * made.restart_chunks and made.metadata_bytes == 0
    return path


def fixed_blocks(content: bytes) -> bytes:
    """A zlib stream with the fixed codes, blocks of which begin at all bits."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 15, 9, zlib.Z_FIXED)
    parts = [stream.compress(content[start : start + 7001]) + stream.flush(zlib.Z_PARTIAL_FLUSH) for start in range(0, len(content), 7001)]
    return b"".join(parts) + stream.flush()


def opened(path, **more):
    return hs.open(path, storage_options={"chunk_index": str(path.with_suffix(".chunks"))}, chunk_cache_bytes=0, **more)


def keys_of(shape, random):
    """Selections of all kinds, most of them small."""
    point = tuple(int(random.integers(0, extent)) for extent in shape)
    box = tuple(slice(start, start + int(random.integers(1, 12))) for start in point)
    steps = tuple(slice(start % 17, None, int(random.integers(1, 90))) for start in point)
    yield from (point, box, steps, (point[0],), (slice(None), *point[1:]), (*point[:-1], slice(None)), (slice(point[0], point[0] + 2),))
    picked = np.unique(random.integers(0, shape[0], 5))
    yield (picked, *point[1:])


@one_in(3)
def test_every_selection_has_the_values_of_h5py(sample, step):
    random = np.random.default_rng(5)
    f = opened(sample)
    before = hs.counters()
    with h5py.File(sample) as there:
        for name in there:
            here = hs.counters().parts_inflated
            for _ in range(6 // step):
                for key in keys_of(there[name].shape, random):
                    expected = there[name][key]
                    found = f[name][key]
                    assert found.dtype == expected.dtype, (name, key)
                    np.testing.assert_array_equal(found, expected, err_msg=f"{name}{key}")
            # Where a plane is shorter than a segment, all segments are needed.
            plane = np.prod(there[name].chunks) * (1 if there[name].shuffle else there[name].dtype.itemsize)
            assert (hs.counters().parts_inflated > here) == (name != "summed" and plane > INTERVAL), name
    cost = hs.counters().since(before)
    assert cost.inflating_skipped_bytes > cost.decoded_bytes / 4


def test_a_part_inflates_and_reads_little(sample):
    f = opened(sample)
    before = hs.counters()
    f["line"][150_000]
    cost = hs.counters().since(before)
    assert (cost.parts_inflated, cost.chunks_decoded) == (1, 0)
    # One segment: blocks of zlib end where they end.
    assert cost.decoded_bytes + cost.inflating_skipped_bytes == 800_000 and cost.decoded_bytes < 3 * INTERVAL
    assert cost.bytes_read < 300_000
    before = hs.counters()
    np.testing.assert_array_equal(f["line"][:150_000], h5py.File(sample)["line"][:150_000])
    cost = hs.counters().since(before)
    assert (cost.parts_inflated, cost.chunks_decoded) == (0, 1), "most of the chunk is needed"


def test_reads_that_go_through_a_chunk_decode_it_once(sample):
    f = hs.open(sample, storage_options={"chunk_index": str(sample.with_suffix(".chunks"))}, threads=1, chunk_cache_bytes=64 << 20)
    with h5py.File(sample) as there:
        before = hs.counters()
        for start in range(0, 200_000, 1000):
            np.testing.assert_array_equal(f["line"][start : start + 1000], there["line"][start : start + 1000])
        cost = hs.counters().since(before)
    assert cost.parts_inflated > 0 and cost.chunks_decoded <= 2 and cost.decoded_bytes <= 3 * 800_000


def test_queries_use_them(sample, tmp_path):
    path = tmp_path / "table.h5"
    number = np.arange(400_000, dtype="<i8")
    with h5py.File(path, "w") as f:
        f.create_dataset("number", data=number, chunks=(200_000,), compression=4, shuffle=True)
        f.create_dataset("value", data=np.sin(number).astype("f4"), chunks=(200_000,), compression=4)
    time.sleep(0.05)
    hs.indexes.chunk_index(path, "beside", restart_points=INTERVAL)
    assert (tmp_path / "table.h5.chunks").exists()
    hs.index(hs.open(path), ["/number"])
    before = hs.counters()
    f = hs.open(path, storage_options={"chunk_index": "beside"})
    table = f.table("/", "number == 123456 or number == 399999", columns=["number", "value"])
    found = table.to_arrow()
    assert found["number"].to_pylist() == [123456, 399999]
    np.testing.assert_array_equal(found["value"], np.sin([123456, 399999]).astype("f4"))
    cost = hs.counters().since(before)
    assert cost.parts_inflated >= 2 and cost.inflating_skipped_bytes > 1_000_000
    assert "restart points: this session has inflated" in table.explain()
    # Everything is as before, and costs about as much.
    before = hs.counters()
    assert f.table("/", columns=["number"]).to_arrow()["number"].to_numpy().tolist() == number.tolist()
    cost = hs.counters().since(before)
    assert cost.decoded_bytes <= number.nbytes * 9 // 8


def test_netcdf_and_virtual_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    path = tmp_path / "field.nc"
    data = values_of(np.dtype("<f4"), (3, 300, 400))
    with netCDF4.Dataset(path, "w") as f:
        for name, extent in zip("tyx", data.shape):
            f.createDimension(name, extent)
        f.createVariable("field", "f4", ("t", "y", "x"), zlib=True, shuffle=True, chunksizes=(1, 300, 400))[:] = data
    with h5py.File(tmp_path / "view.h5", "w") as f:
        layout = h5py.VirtualLayout(data.shape, "f4")
        layout[:] = h5py.VirtualSource(str(path), "field", data.shape)
        f.create_virtual_dataset("field", layout)
    time.sleep(0.05)
    made = hs.indexes.chunk_index(path, restart_points=INTERVAL)
    assert pathlib.Path(made.path).is_relative_to(tmp_path / "caches") and made.restart_chunks == 3
    for name in ("field.nc", "view.h5"):
        before = hs.counters().parts_inflated
        f = hs.open(tmp_path / name)
        np.testing.assert_array_equal(f["field"][:, 17, 33], data[:, 17, 33])
        assert hs.counters().parts_inflated == before + 3
    before = hs.counters().parts_inflated
    np.testing.assert_array_equal(hs.open(path, storage_options={"chunk_index": False})["field"][:, 17, 33], data[:, 17, 33])
    assert hs.counters().parts_inflated == before


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", ["file", "beside", "cache"])
def test_remote_files_fetch_little(server, sample, tmp_path, place):
    server.objects["bucket/x.h5"] = sample.read_bytes()
    options = server.s3_options(cache_storage=str(tmp_path)) if place == "cache" else server.s3_options(chunk_index=False)
    out = {"file": tmp_path / "x.chunks", "beside": "beside", "cache": None}[place]
    made = hs.indexes.chunk_index("s3://bucket/x.h5", out, restart_points=INTERVAL, storage_options=options)
    assert made.restart_chunks > 40 and made.metadata_bytes > 0
    if place != "cache":
        options["chunk_index"] = str(out)
    else:
        del options["cache_storage"]
        options["chunk_index"] = str(made.path)
    random = np.random.default_rng(6)
    with h5py.File(sample) as there:
        f = hs.open("s3://bucket/x.h5", storage_options=options, chunk_cache_bytes=0)
        f["cube"][0, 0, 0]
        before = hs.counters()
        np.testing.assert_array_equal(f["line"][123_456], there["line"][123_456])
        cost = hs.counters().since(before)
        assert cost.remote_bytes_fetched < there["line"].id.get_storage_size() / 5 and cost.request_rounds == 1
        for name in ("f4_True", "compound_False", "compound_True", "cube", "masked"):
            for key in keys_of(there[name].shape, random):
                np.testing.assert_array_equal(f[name][key], there[name][key], err_msg=f"{name}{key}")


def test_a_file_that_changed_is_read_without_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    path = tmp_path / "x.h5"

    def write(seed):
        data = values_of(np.dtype("<f4"), (200_000,), seed)
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=data, chunks=(200_000,), compression=4)
        time.sleep(0.05)
        return data

    write(0)
    made = hs.indexes.chunk_index(path, restart_points=INTERVAL)
    named = hs.indexes.chunk_index(path, tmp_path / "named.chunks", restart_points=INTERVAL)
    data = write(1)
    with pytest.warns(hs.CacheWarning, match="was removed: .* has changed"):
        assert hs.open(path)["x"][5] == data[5]
    assert not os.path.exists(made.path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hs.open(path)["x"][5] == data[5]
    with pytest.warns(hs.CacheWarning, match="is not used: .* has changed"):
        assert hs.open(path, storage_options={"chunk_index": named.path})["x"][5] == data[5]
    # An open file that is replaced meanwhile.
    hs.indexes.chunk_index(path, restart_points=INTERVAL)
    f = hs.open(path)
    assert f["x"][77] == data[77]
    os.rename(path, tmp_path / "old.h5")
    assert f["x"][99_999] == data[99_999]
    with pytest.raises(hs.NotFoundError):
        hs.open(tmp_path / "old.h5", storage_options={"chunk_index": str(tmp_path / "none.chunks")})


def test_no_damage_of_an_index_gives_a_wrong_value(tmp_path):
    path = tmp_path / "x.h5"
    data = values_of(np.dtype("<f4"), (400_000,), 3)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=data, chunks=(400_000,), compression=4, shuffle=True)
    time.sleep(0.05)
    index = tmp_path / "x.chunks"
    hs.indexes.chunk_index(path, index, restart_points=INTERVAL)
    whole = index.read_bytes()
    random = np.random.default_rng(8)
    outcomes = {"refused": 0, "not used": 0, "used": 0}
    places = np.concatenate([np.arange(0, 700, 3), random.integers(0, len(whole), 300)])
    for place in places:
        changed = bytearray(whole)
        changed[place % len(whole)] ^= 1 << int(random.integers(0, 8))
        index.write_bytes(changed)
        before = hs.counters().parts_inflated
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                f = hs.open(path, storage_options={"chunk_index": str(index)}, chunk_cache_bytes=0)
                for position in (3, 200_000, 399_999):
                    assert f["x"][position] == data[position], place
                outcomes["used" if hs.counters().parts_inflated - before == 3 else "not used"] += 1
                assert hs.counters().parts_inflated - before == 3 or warned, place
            except (hs.CorruptError, hs.UnsupportedError) as error:
                assert "chunk index" in str(error)
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes
    for length in range(0, len(whole), 997):
        index.write_bytes(whole[:length])
        with pytest.raises(hs.CorruptError):
            hs.open(path, storage_options={"chunk_index": str(index)})


def test_a_damaged_chunk_is_named(tmp_path):
    path = tmp_path / "x.h5"
    data = values_of(np.dtype("<f4"), (100_000,), 3)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=data, chunks=(100_000,), compression=4)
        chunk = f["x"].id.get_chunk_info(0)
    time.sleep(0.05)
    hs.indexes.chunk_index(path, tmp_path / "x.chunks", restart_points=INTERVAL)
    stamp = path.stat()
    with open(path, "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))
    # As by a failing disk.
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    f = hs.open(path, storage_options={"chunk_index": str(tmp_path / "x.chunks")}, chunk_cache_bytes=0)
    assert f["x"][10] == data[10], "what the damage does not touch"
    failed = []
    with pytest.warns(hs.CacheWarning, match="does not fit"):
        for position in range(0, 100_000, 1000):
            try:
                assert f["x"][position] == data[position]
            except hs.CorruptError as error:
                failed.append(str(error))
    assert 0 < len(failed) < 100 and all("x.h5" in message and "/x" in message and str(chunk.byte_offset) in message for message in failed), failed


def test_indexes_without_points_are_as_before(server, sample, tmp_path):
    server.objects["bucket/x.h5"] = sample.read_bytes()
    options = server.s3_options(chunk_index=False)
    made = hs.indexes.chunk_index("s3://bucket/x.h5", tmp_path / "plain.chunks", storage_options=options)
    content = pathlib.Path(made.path).read_bytes()
    assert content[8:12] == b"\1\0\0\0" and b"points" not in content[:4096] and made.restart_points == 0
    made = hs.indexes.chunk_index("s3://bucket/x.h5", tmp_path / "points.chunks", restart_points=INTERVAL, storage_options=options)
    assert pathlib.Path(made.path).read_bytes()[8:12] == b"\2\0\0\0"


def test_what_cannot_be_is_refused(sample, tmp_path):
    with pytest.raises(hs.UnsupportedError, match="without restart points"):
        hs.indexes.chunk_index(sample)
    for wrong in (-1, 0, 65_535):
        with pytest.raises(hs.InvalidInputError, match="restart"):
            hs.indexes.chunk_index(sample, restart_points=wrong)
    with pytest.raises(hs.UnsupportedError, match="local file at an address"):
        hs.indexes.chunk_index(sample, "s3://bucket/x.chunks", restart_points=INTERVAL)
    with pytest.raises(hs.UnsupportedError, match="name a local file"):
        hs.open(sample, storage_options={"chunk_index": "s3://bucket/x.chunks"})
    command = [sys.executable, "-m", "hyperslab", "chunk-index", "--restart-points"]
    run = subprocess.run([*command, "64KiB", str(sample), "--out", str(tmp_path), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["restart_points"] > 100
    run = subprocess.run([*command, "many", str(sample)], capture_output=True, text=True)
    assert run.returncode and "such as 1048576 or 1MiB" in run.stderr
