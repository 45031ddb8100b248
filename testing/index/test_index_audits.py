"""Audits of indexes: a process compares an index with its data once, and again when the data or the index are others."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.sources.sessions
import numpy as np
import pytest
from test_index_trust import run

ROWS = 200_000
# Decoded by chunks, which all have the same length.
SHUFFLED = {"chunks": (50_000,), "shuffle": True}
GZIP = {"chunks": (50_000,), "compression": "gzip", "shuffle": True}


def values(seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 200, ROWS).astype("f8")


def write(path: pathlib.Path, data: Any, **options: Any) -> pathlib.Path:
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=data, **options)
    return path


def ask(path: pathlib.Path, level: str = "X") -> tuple[int, bool, list[str], int]:
    """What a new session answers: rows above 100, whether an index is used, its warnings, and the chunks that it decoded."""
    hs.sources.sessions.session.cache_clear()
    before = hs.counters()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        q = hs.query(path, "/", "x > 100", indexes="any")
        answer, used = q.count(), f"index {level} on x" in q.explain()
    warned = [str(warning.message) for warning in caught if warning.category is hs.IndexWarning]
    return answer, used, warned, hs.counters().since(before).chunks_decoded


MANY_SESSIONS = """
import hyperslab.sources.sessions
decoded = []
for _ in range(60):
    hs.sources.sessions.session.cache_clear()
    before = hs.counters()
    q = hs.query(path, "/", "x > 100")
    count = q.count()
    assert "index X on x" in q.explain()
    decoded.append(hs.counters().since(before).chunks_decoded)
print(count, sum(decoded), decoded[0])
"""


def test_an_index_that_passed_is_not_compared_again_by_each_session(tmp_path: pathlib.Path) -> None:
    data = values()
    path = write(tmp_path / "a.h5", data, **GZIP)
    hs.index(path, "/x", "X")
    count, decoded, first = map(int, run(MANY_SESSIONS, path).split())
    assert count == (data > 100).sum()
    assert 1 <= first <= 3
    # Later audits take 2% of the time; with one for each session it would be 60 chunks at least.
    assert decoded <= 30, decoded


@pytest.mark.parametrize("same_times", [False, True], ids=["touched", "times set back"])
def test_a_changed_file_is_compared_again(tmp_path: pathlib.Path, same_times: bool) -> None:
    data = values()
    path = write(tmp_path / "a.h5", data, **SHUFFLED)
    hs.index(path, "/x", "X")
    for _ in range(3):
        assert ask(path)[:3] == ((data > 100).sum(), True, [])
    times = os.stat(path)
    with h5py.File(path, "r+") as f:
        f["x"][...] = data[::-1] / 2 + 0.25
    if same_times:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    answer, used, warned, _ = ask(path)
    assert answer == (data / 2 + 0.25 > 100).sum() and not used
    # Where the times tell that it is stale, there is nothing to compare.
    assert len(warned) == same_times and all("disagrees with the data" in message for message in warned)


@pytest.mark.parametrize("how", ["another sidecar", "other bytes in the same file"])
def test_a_changed_index_is_compared_again(tmp_path: pathlib.Path, how: str) -> None:
    data = values()
    path, other = write(tmp_path / "a.h5", data, **SHUFFLED), write(tmp_path / "other" / "a.h5", data[::-1] + 1000, **SHUFFLED)
    # Its files have the same length for any values.
    hs.index(path, "/x", "P")
    for _ in range(3):
        assert ask(path, "P")[:3] == ((data > 100).sum(), True, [])
    time = os.stat(path).st_mtime_ns
    os.utime(other, ns=(time, time))
    hs.index(other, "/x", "P")
    mine, forged = (pathlib.Path(f"{file}.hsidx") for file in (path, other))
    if how == "another sidecar":
        shutil.rmtree(mine)
        shutil.copytree(forged, mine)
    else:
        (here,), (there,) = mine.glob("*.arrow"), forged.glob("*.arrow")
        assert here.stat().st_size == there.stat().st_size
        here.write_bytes(there.read_bytes())
    answer, used, warned, _ = ask(path, "P")
    assert answer == (data > 100).sum() and not used
    assert len(warned) == 1 and "disagrees with the data" in warned[0]


def test_what_one_session_refutes_no_other_one_believes(tmp_path: pathlib.Path) -> None:
    data = values()
    path, other = write(tmp_path / "a.h5", data, **SHUFFLED), write(tmp_path / "other" / "a.h5", data + 1000, **SHUFFLED)
    time = os.stat(path).st_mtime_ns
    os.utime(other, ns=(time, time))
    hs.index(other, "/x", "X")
    shutil.copytree(f"{other}.hsidx", f"{path}.hsidx")
    for _ in range(3):
        answer, used, warned, decoded = ask(path)
        assert answer == (data > 100).sum() and not used
        assert len(warned) == 1 and "disagrees with the data" in warned[0]
    # The data of the answer, and none for an audit.
    assert decoded == 4


@pytest.mark.parametrize("embedded", [False, True], ids=["sidecar", "embedded"])
def test_a_rebuilt_index_is_compared_again(tmp_path: pathlib.Path, embedded: bool) -> None:
    data = values()
    path = write(tmp_path / "a.h5", data, **GZIP)
    hs.index(path, "/x", "X", embedded=embedded)
    assert ask(path)[3] >= 1
    hs.index(path, "/x", "X", embedded=embedded, rebuild=True)
    answer, used, warned, decoded = ask(path)
    assert (answer, used, warned) == ((data > 100).sum(), True, []) and decoded >= 1


def test_sources_of_a_virtual_dataset_are_compared_again_after_a_change(tmp_path: pathlib.Path) -> None:
    data = values()
    source = write(tmp_path / "source.h5", data, **SHUFFLED)
    path = tmp_path / "a.h5"
    layout = h5py.VirtualLayout((ROWS,), "f8")
    layout[:] = h5py.VirtualSource("source.h5", "x", (ROWS,))
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("x", layout)
    hs.index(path, "/x", "X")
    assert ask(path)[:3] == ((data > 100).sum(), True, [])
    times = os.stat(source)
    with h5py.File(source, "r+") as f:
        f["x"][...] = data + 1000
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    answer, used, warned, _ = ask(path)
    assert answer == ROWS and not used and len(warned) == 1
