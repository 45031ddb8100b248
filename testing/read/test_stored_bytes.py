"""Bytes that chunks take in the file, for every chunk index of HDF5, against the HDF5 library; unwritten chunks cost nothing."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Shape, largest shape and chunks for each chunk index of the latest format: single, fixed array in one block and in pages,
#: extensible array, version-2 B-tree. The earliest format has version-1 B-trees for all.
SHAPES: dict[str, tuple[tuple[int, ...], Any, tuple[int, ...]]] = {
    "single": ((30, 20), None, (30, 20)),
    "fixed": ((300, 20), None, (7, 11)),
    "fixed in pages": ((5000, 4), None, (1, 3)),
    "extensible": ((3000, 20), (None, 20), (1, 20)),
    "extensible in pages": ((200_000,), (None,), (1,)),
    "tree": ((200, 30), (None, None), (3, 7)),
}


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("name", SHAPES)
def test_stored_bytes_are_those_of_the_library(tmp_path: pathlib.Path, name: str, compression: str | None, libver: str) -> None:
    shape, maxshape, chunks = SHAPES[name]
    rng = np.random.default_rng(3)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as f:
        made = {
            how: f.create_dataset(how, shape, np.int32, maxshape=maxshape, chunks=chunks, compression=compression) for how in ("none", "some", "all", "cut")
        }
        for where in rng.integers(0, shape[0], 5):
            made["some"][where] = 7
        for how in ("all", "cut"):
            if shape[0] <= 5000:
                made[how][...] = rng.integers(0, 100, shape)
            else:
                made[how][: shape[0] // 50] = 5
        if maxshape:
            made["cut"].resize(shape[0] // 3, axis=0)
        f.flush()
        wanted = {how: dataset.id.get_storage_size() for how, dataset in made.items()}
    with hs.open(path) as file:
        assert {how: file[how].stored_bytes for how in wanted} == wanted


def test_early_allocation_is_stored(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((3, 5))
        creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made = h5py.h5d.create(f.id, b"implicit", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((10, 12)), creation)
        wanted = made.get_storage_size()
    assert hs.open(path)["implicit"].stored_bytes == wanted > 0


@pytest.mark.parametrize("maxshape", [None, (None, 1 << 20), (None, None)], ids=["fixed", "extensible", "tree"])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_few_chunks_among_billions_are_counted_at_once(tmp_path: pathlib.Path, libver: str, maxshape: Any) -> None:
    if maxshape is None and libver == "latest":
        pytest.skip("the library writes the pages' bits of a fixed array at once: hundreds of megabytes here")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as f:
        made = f.create_dataset("x", (1 << 24, 1 << 20), np.uint8, maxshape=maxshape, chunks=(1, 1 << 10), compression="gzip")
        made[0, 5] = made[1000, 1 << 19] = 1
        wanted = made.id.get_storage_size()
    start = time.process_time()
    with hs.open(path) as file:
        assert file["x"].stored_bytes == wanted
        assert file["x"].compression_ratio is not None and "deflate" in repr(file)
    assert time.process_time() - start < 2
