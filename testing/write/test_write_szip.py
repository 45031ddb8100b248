"""Szip, written: what libaec and our own reader decode, and no larger than what libaec makes of the same values."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator

import h5py
import hyperslab as hs
import numpy as np
import pytest

DTYPES = ["u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", ">u8", "<f4", ">f8"]
#: Shapes and chunk shapes: lines of several intervals, of one, shorter than a block, and a long one.
GRIDS = [((12000,), (5000,)), ((120, 100), (50, 70)), ((300, 17), (100, 17)), ((1, 9000), (1, 9000))]


def columns(dtype: str, count: int, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    yield "zeros", np.zeros(count, dtype)
    yield "constant", np.full(count, 7, dtype)
    yield "few", np.where(rng.random(count) < 0.002, rng.integers(0, 100, count), 0).astype(dtype)
    yield "small", np.where(rng.random(count) < 0.02, rng.integers(0, 4, count), 0).astype(dtype)
    yield "ramp", (np.arange(count) % 120).astype(dtype)
    yield "walk", np.cumsum(rng.integers(-1, 2, count)).astype(dtype)
    yield "noise", np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype)


def stored_bytes(dataset: h5py.Dataset) -> int:
    return int(dataset.id.get_storage_size())


def chunks_of(dataset: h5py.Dataset) -> dict[tuple[int, ...], tuple[int, bytes]]:
    """Filter mask and bytes of each chunk by its place."""
    places = [dataset.id.get_chunk_info(index).chunk_offset for index in range(dataset.id.get_num_chunks())]
    return {place: dataset.id.read_direct_chunk(place) for place in places}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("coding", ["nn", "ec"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_chunks_are_no_larger_than_those_of_the_library(tmp_path: pathlib.Path, dtype: str, coding: str) -> None:
    rng = np.random.default_rng(7)
    values = {}
    with hs.create(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5", "w") as g:
        for block, (shape, chunks) in itertools.product((2, 4, 8, 16, 32), GRIDS):
            for kind, column in columns(dtype, int(np.prod(shape)), rng):
                name = f"{kind} {block} {shape}"
                values[name] = column.reshape(shape)
                for file in (f, g):
                    file.create_dataset(name, data=values[name], chunks=chunks, compression="szip", compression_opts=(coding, block))
    ours, compared = hs.open(tmp_path / "ours.h5"), 0
    with h5py.File(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5") as g:
        for name, expected in values.items():
            assert f[name][...].tobytes() == expected.tobytes() == ours[name][...].tobytes(), name
            assert f[name].id.get_create_plist().get_filter(0) == g[name].id.get_create_plist().get_filter(0), name
            for place, (mask, chunk) in chunks_of(g[name]).items():
                # The library leaves the filter out of a chunk that it makes larger.
                if mask == 0:
                    found = chunks_of(f[name])[place][1]
                    assert len(found) <= len(chunk), f"{name}: {len(found)} bytes, {len(chunk)} of the library"
                    compared += 1
            if name.startswith("zeros"):
                # Six bits and more name 64 blocks.
                assert stored_bytes(f[name]) == stored_bytes(g[name]) < expected.nbytes / 4, name
    assert compared > 300


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_random_runs_come_back(tmp_path: pathlib.Path, seed: int) -> None:
    """Runs of zeros and of other values whose ends lie anywhere in blocks, segments of 64 blocks and intervals of 128."""
    rng = np.random.default_rng(seed)
    values = {}
    with hs.create(tmp_path / "x.h5") as f:
        for index in range(30):
            dtype, block, coding = rng.choice(DTYPES), 2 * int(rng.integers(1, 17)), str(rng.choice(["nn", "ec"]))
            column = np.zeros(int(rng.integers(block, 130 * block)), dtype)
            at = 0
            while at < len(column):
                at += int(rng.choice([1, block, 5 * block, 63 * block, 64 * block, rng.integers(1, 70 * block)]))
                width = int(rng.choice([1, 1, 2, block]))
                column[at : at + width] = rng.integers(0, rng.choice([2, 3, 13, 127]), len(column[at : at + width]))
                at += width
            rows = int(rng.choice([1, 1, 2, 3]))
            values[str(index)] = column[: len(column) // rows * rows].reshape(rows, -1)
            if values[str(index)].size >= block:
                f.create_dataset(str(index), data=values[str(index)], chunks=values[str(index)].shape, compression="szip", compression_opts=(coding, block))
            else:
                del values[str(index)]
    ours = hs.open(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f:
        assert len(values) > 20
        for name, expected in values.items():
            assert f[name][...].tobytes() == expected.tobytes() == ours[name][...].tobytes(), (name, expected.dtype)
