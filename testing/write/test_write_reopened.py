"""h5py opens our files with "r+" and goes on: what it writes is what it reads."""

from __future__ import annotations

import pathlib
import zlib

import h5py
import hdf5plugin  # noqa: F401  (registers zstd and lz4 for h5py)
import hyperslab as hs
import numpy as np
import pytest

LENGTH = 256


def of_compressed_length(length: int) -> np.ndarray:
    """Bytes that deflate makes exactly `length` long, from as many."""
    random = np.random.default_rng(3)
    for zeros in (n % 64 for n in range(100_000)):
        data = random.integers(1, 256, length, dtype="u1")
        data[length - zeros :] = 0
        if len(zlib.compress(data.tobytes(), 4)) == length:
            return data
    raise AssertionError("no such bytes")


@pytest.mark.parametrize("compression", ["gzip", "lzf", "zstd", "lz4"])
@pytest.mark.parametrize("maxshape", [(2 * LENGTH,), (None,)], ids=str)
def test_chunks_that_do_not_shrink_can_be_overwritten(tmp_path: pathlib.Path, compression: str, maxshape: tuple[int | None]) -> None:
    """The library keeps the filter mask of a chunk that it overwrites with as many bytes."""
    noise, new = np.random.default_rng(1).integers(0, 256, 2 * LENGTH, dtype="u1"), of_compressed_length(LENGTH)
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", data=noise, chunks=(LENGTH,), maxshape=maxshape, compression=compression)
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        x = f["x"]
        assert x[:].tolist() == noise.tolist()
        masks = {x.id.get_chunk_info(i).filter_mask for i in range(2)}
        assert masks == ({1} if compression == "lzf" else {0})
        x[:LENGTH] = new
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["x"][:].tolist() == [*new.tolist(), *noise[LENGTH:].tolist()]
    assert hs.open(tmp_path / "x.h5")["x"][:].tolist() == [*new.tolist(), *noise[LENGTH:].tolist()]


def test_random_chunks_overwritten_by_random_chunks(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(2)
    before = [random.integers(0, random.integers(2, 256), 40, dtype="u1") for _ in range(300)]
    after = [random.integers(0, random.integers(2, 256), 40, dtype="u1") for _ in range(300)]
    with hs.create(tmp_path / "x.h5") as f:
        for number, data in enumerate(before):
            f.create_dataset(str(number), data=data, chunks=(8,), compression=("gzip", "lzf")[number % 2], shuffle=True)
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        for number, data in enumerate(after):
            f[str(number)][...] = data
    with h5py.File(tmp_path / "x.h5") as f:
        for number, data in enumerate(after):
            assert f[str(number)][:].tolist() == data.tolist(), number


@pytest.mark.parametrize("dtype", [h5py.string_dtype(), h5py.vlen_dtype("i4")], ids=str)
def test_variable_length_with_checksums_is_refused_as_hdf5_refuses_it(tmp_path: pathlib.Path, dtype: np.dtype) -> None:
    with h5py.File(tmp_path / "theirs.h5", "w") as f, pytest.raises(ValueError, match="not suitable for filters"):
        f.create_dataset("x", (4,), dtype, chunks=(2,), fletcher32=True)
    with hs.create(tmp_path / "ours.h5") as f:
        with pytest.raises(hs.UnsupportedError, match="fletcher32"):
            f.create_dataset("x", (4,), dtype, chunks=(2,), fletcher32=True)
        f.create_dataset("x", (4,), dtype, chunks=(2,), compression="gzip")
        # HDF5 allows it in compounds.
        f.create_dataset("y", (4,), np.dtype([("a", "i4"), ("t", dtype)]), chunks=(2,), fletcher32=True)
    plan = hs.WritePlan(tmp_path / "plan.h5")
    with plan.task(0) as task, pytest.raises(hs.UnsupportedError, match="fletcher32"):
        task.create_dataset("x", (4,), dtype, chunks=(2,), fletcher32=True)
    plan.abort()


def test_hdf5_goes_on_growing_a_dataset_of_many_chunks_a_row(tmp_path: pathlib.Path) -> None:
    """An extensible array ends at 2^32 chunks, which are few rows of these."""
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", data=np.ones((1, 10, 10)), maxshape=(None, 100_000, 100_000), chunks=(1, 10, 10))
        f.create_dataset("narrow", data=np.ones((1, 10, 10)), maxshape=(None, 100, 100), chunks=(1, 10, 10))
    with h5py.File(tmp_path / "x.h5", "r+") as f:
        for name in ("x", "narrow"):
            f[name].resize((51, 20, 20))
            f[name][50] = 7
    with h5py.File(tmp_path / "x.h5") as f:
        for name in ("x", "narrow"):
            assert (f[name][50] == 7).all() and (f[name][0, :10, :10] == 1).all() and (f[name][1:50] == 0).all()
