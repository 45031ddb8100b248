"""Writing a file in one thread while another one ends it: other threads of the interpreter go on."""

from __future__ import annotations

import pathlib
import threading
import time

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.mark.parametrize("end", ["close", "abort"])
def test_ending_a_file_that_another_thread_writes_stops_nobody_else(tmp_path: pathlib.Path, end: str) -> None:
    values = np.random.default_rng(0).integers(0, 50, (5, 1000, 1000)).astype("i4")
    f = hs.create(tmp_path / "a.h5")
    dataset = f.create_dataset("x", values.shape, "i4", chunks=(1, 1000, 1000), compression="gzip", compression_opts=9)
    ticks: list[float] = []
    ended = threading.Event()
    begun = threading.Event()

    def tick() -> None:
        while not ended.wait(0.01):
            ticks.append(time.monotonic())

    def write() -> None:
        begun.set()
        dataset[...] = values

    threads = [threading.Thread(target=work) for work in (tick, write)]
    for thread in threads:
        thread.start()
    begun.wait()
    time.sleep(0.2)
    start = time.monotonic()
    getattr(f, end)()
    took = time.monotonic() - start
    ended.set()
    for thread in threads:
        thread.join()
    pauses = np.diff([start, *(at for at in ticks if at > start), start + took])
    assert took > 0.2 and pauses.max() < took / 2, (took, pauses.max())
    if end == "close":
        with h5py.File(tmp_path / "a.h5") as written:
            np.testing.assert_array_equal(written["x"][...], values)
    else:
        assert list(tmp_path.iterdir()) == []
