"""Checking, recovering and counting say how far they are, and end at Ctrl-C without leaving anything behind."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from test_interrupted_parsing import interrupt_after

#: Each is called with the file, a path for what it writes, and what takes its progress.
WORK: dict[str, Callable[[pathlib.Path, pathlib.Path, Any], Any]] = {
    "check": lambda path, _, progress: hs.check(path, progress=progress),
    "stat": lambda path, _, progress: hs.stat(path, progress=progress),
    "recover": lambda path, out, progress: hs.recover(path, out, "w", progress=progress),
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("large") / "large.h5"
    with h5py.File(path, "w") as f:
        for number in range(40):
            f.create_dataset(f"g{number % 4}/x{number}", data=np.arange(100_000) + number, chunks=(5_000,), compression="gzip", compression_opts=1)
    return path


@pytest.mark.parametrize("name", WORK)
def test_progress_ends_at_what_there_is_to_do(large: pathlib.Path, tmp_path: pathlib.Path, name: str) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    WORK[name](large, tmp_path / "out.h5", lambda done, total, unit: told.setdefault(unit, []).append((done, total)))
    assert told.keys() <= {"objects", "datasets", "bytes"} and told
    for unit, calls in told.items():
        assert [done for done, _ in calls] == sorted(done for done, _ in calls) or unit == "bytes", unit
        assert all(done <= total for done, total in calls if total), unit
    if name == "check":
        assert told["bytes"][-1][0] == told["bytes"][-1][1] > 100_000


@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_ends_it(large: pathlib.Path, tmp_path: pathlib.Path, name: str) -> None:
    before = large.read_bytes()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.03):
        for _ in range(10_000):
            WORK[name](large, tmp_path / "out.h5", None)
    assert large.read_bytes() == before and set(os.listdir(tmp_path)) <= {"out.h5"}
    WORK[name](large, tmp_path / "out.h5", None)
