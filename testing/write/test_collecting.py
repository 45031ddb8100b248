"""Collecting: rows of several threads become long writes; the judge is h5py."""

from __future__ import annotations

import pathlib
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.mark.parametrize("options", [{}, {"chunks": (100, 8)}, {"chunks": (64, 3), "compression": "gzip"}, {"maxshape": (None, 8), "chunks": (64, 8)}])
@pytest.mark.parametrize("buffer_bytes", [1, 4000, 1 << 20])
def test_threads_hand_in_interleaved_rows(tmp_path: pathlib.Path, options: dict[str, Any], buffer_bytes: int) -> None:
    data = np.random.default_rng(1).integers(0, 99, (1003, 8)).astype("f4")
    path = tmp_path / "x.h5"
    with hs.create(path) as f:
        x = f.create_dataset("x", data.shape, "f4", **options)

        def work(client: int, rows: hs.Collector) -> None:
            for first in range(3 * client, len(data), 12):
                rows.write(first, data[first : first + 3])

        with hs.Collector(x, buffer_bytes=buffer_bytes) as rows, ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda client: work(client, rows), range(4)))
    with h5py.File(path) as f:
        assert np.array_equal(f["x"][...], data)


def test_rows_in_any_order_and_rows_that_nobody_hands_in(tmp_path: pathlib.Path) -> None:
    data = np.arange(500)
    wanted = [row for row in range(500) if row % 7]
    random.Random(1).shuffle(wanted)
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (500,), "i8", chunks=(50,), fillvalue=-1)
        with hs.Collector(x, buffer_bytes=8 * 200) as rows:
            for row in wanted:
                rows.write(row, data[row])
    with h5py.File(tmp_path / "x.h5") as f:
        assert np.array_equal(f["x"][...], np.where(data % 7, data, -1))


def test_long_pieces_become_few_writes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (1000, 4), "f8", chunks=(100, 4))
        old = type(x).__setitem__
        monkeypatch.setattr(type(x), "__setitem__", lambda self, key, values: (calls.append((key.start, key.stop)), old(self, key, values))[1])
        with hs.Collector(x, buffer_bytes=4 * 100 * 32) as rows:
            for first in range(0, 1000, 5):
                rows.write(first, np.ones((5, 4)))
    assert calls == [(first, first + 100) for first in range(0, 1000, 100)]


def test_a_whole_array_at_once(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (1000,), "i4", chunks=(64,))
        with hs.Collector(x, buffer_bytes=1024) as rows:
            rows.write(0, np.arange(1000))
    assert hs.open(tmp_path / "x.h5")["x"][...].tolist() == list(range(1000))


def test_what_does_not_fit_is_an_error(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (10, 3), "i4", chunks=(5, 3))
        with pytest.raises(hs.UnsupportedError, match="variable length"):
            hs.Collector(f.create_dataset("text", (3,), str))
        with pytest.raises(hs.UnsupportedError, match="no rows"):
            hs.Collector(f.create_dataset("scalar", (), "f4"))
        with pytest.raises(hs.InvalidInputError, match="at least 1"):
            hs.Collector(x, buffer_bytes=0)
        rows = hs.Collector(x)
        rows.write(2, [1, 2, 3])
        for first, values, words in [(9, np.zeros((2, 3)), "has 10"), (-1, np.zeros(3), "has 10"), (0, np.zeros(4), "have shape"), (2, np.zeros(3), "row 2")]:
            with pytest.raises(hs.InvalidInputError, match=words):
                rows.write(first, values)
        rows.close()
        with pytest.raises(hs.InvalidInputError, match="is closed"):
            rows.write(0, [1, 2, 3])
    assert hs.open(tmp_path / "x.h5")["x"][2].tolist() == [1, 2, 3]


def test_an_exception_discards_what_was_collected(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (10,), "i4")
        with pytest.raises(KeyError), hs.Collector(x) as rows:
            rows.write(0, np.ones(7))
            raise KeyError
    assert hs.open(tmp_path / "x.h5")["x"][...].tolist() == [0] * 10


def test_a_failed_write_is_reported_to_everyone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        x = f.create_dataset("x", (10,), "i4", chunks=(5,))

        def full(self: Any, key: Any, values: Any) -> None:
            raise hs.IoError("No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(type(x), "__setitem__", full)
            rows = hs.Collector(x, buffer_bytes=1)
            with pytest.raises(hs.IoError, match="No space"):
                rows.write(0, np.ones(5))
            with pytest.raises(hs.InvalidInputError, match="No space"):
                rows.write(5, 1)
            with pytest.raises(hs.InvalidInputError, match="No space"):
                rows.close()
