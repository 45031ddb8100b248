"""Chunks that reach all over the output, and rows too short for SIMD: the same values on one thread and on several."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest

SHAPE = (640, 36, 44)
#: Tall chunks end in every row of the output; their rows have 5 to 44 elements.
CHUNKS = {"tall": (640, 7, 5), "tall and whole": (640, 36, 5), "columns": (640, 1, 44), "pages": (64, 36, 44), "one": SHAPE}
TYPES = ["i2", "f4", ">f8", np.dtype([("a", "f4"), ("b", "u1"), ("c", ">i2")])]
FILTERS = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 1},
    "gzip + shuffle": {"compression": "gzip", "compression_opts": 1, "shuffle": True},
}


def values(dtype: np.dtype) -> np.ndarray:
    random = np.random.default_rng(7)
    whole = np.zeros(SHAPE, dtype)
    for name in dtype.names or [None]:
        part = whole[name] if name else whole
        part[...] = random.integers(0, 120, SHAPE)
    return whole


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    path = tmp_path_factory.mktemp("reads") / "reads.h5"
    expected = {}
    with h5py.File(path, "w") as f:
        for number, dtype in enumerate(map(np.dtype, TYPES)):
            data = values(dtype)
            for chunks in CHUNKS:
                for filters, options in FILTERS.items():
                    name = f"{number} {chunks} {filters}"
                    dataset = f.create_dataset(
                        name, SHAPE, dtype, chunks=CHUNKS[chunks], fillvalue=np.array(3, "i1").astype(dtype) if not dtype.names else None, **options
                    )
                    # Some chunks are never written.
                    dataset[:, :, :20] = data[:, :, :20]
                    expected[name] = dataset[...]
    return path, expected


def selections() -> list[tuple]:
    random = np.random.default_rng(11)
    made: list[tuple] = [(), (slice(None), 3, 4), (slice(None), slice(5, 9), slice(3, 4)), (7,), (slice(3, 600, 7), slice(None), slice(1, 40, 3))]
    for _ in range(12):
        key = []
        for extent in SHAPE:
            start, stop = sorted(random.integers(0, extent + 1, 2))
            key.append([slice(int(start), int(stop), int(random.integers(1, 4))), int(random.integers(extent)), slice(None)][random.integers(3)])
        made.append(tuple(key))
    made.append((np.sort(random.choice(SHAPE[0], 300, replace=False)), slice(None), slice(2, 30)))
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_every_thread_count_reads_what_numpy_selects(written: tuple[pathlib.Path, dict[str, np.ndarray]], chunks: str, threads: int) -> None:
    path, expected = written
    file = hs.open(path, threads=threads)
    names = [name for name in expected if name.split(" ", 1)[1].startswith(f"{chunks} ") and (chunks != "tall" or "whole" not in name)]
    assert len(names) == len(TYPES) * len(FILTERS)
    for name in names:
        for key in selections():
            assert np.array_equal(file[name][key], expected[name][key]), (name, key)
