"""The study: a tiny one of every library, interrupted, resumed, cleaned up; its tables and pictures; parallel HDF5's client."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import hyperslab as hs
import numpy as np
import pytest
from hyperslab.tuning.study import libraries, parallel_hdf5, run_study, runner
from hyperslab.tuning.study.cases import COLUMNS, EXPERIMENTS, LIBRARIES, ROW_BYTES, Case, cases

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"
MIB = 1 << 20
EVERYTHING: dict[str, str | None] = dict.fromkeys(LIBRARIES)


@pytest.mark.parametrize("pattern", ["disjoint", "interleaved"])
@pytest.mark.parametrize(("clients", "rows", "transfer"), [(1, 16, 1), (3, 16, 2), (4, 64, 16), (2, 5, 7)])
def test_clients_cover_every_row_once(pattern: str, clients: int, rows: int, transfer: int) -> None:
    case = Case("patterns", "POSIX", pattern, transfer * ROW_BYTES)
    pieces = [case.pieces(client, clients, rows) for client in range(clients)]
    assert sorted(row for mine in pieces for first, end in mine for row in range(first, end)) == list(range(rows))
    assert all(end - first <= transfer for mine in pieces for first, end in mine)
    if pattern == "disjoint":
        assert all(end == first for mine in pieces for (_, end), (first, _) in itertools.pairwise(mine)), "a run of rows"


def test_chunks_have_the_size_that_is_asked_for() -> None:
    assert Case("chunks", "POSIX", chunk_bytes=MIB, chunk_form="square").chunks(4096) == (512, 512)
    assert Case("chunks", "POSIX", chunk_bytes=MIB, chunk_form="rows").chunks(4096) == (16, COLUMNS)
    # The dataset has fewer rows than a square of this size.
    assert Case("chunks", "POSIX", chunk_bytes=MIB, chunk_form="square").chunks(64) == (64, 4096)
    assert Case("patterns", "POSIX").chunks(64) is None


def test_the_study_has_every_experiment_of_the_papers() -> None:
    every = list(cases(EVERYTHING, 4, 64 * MIB, 4096, None))
    assert len(set(every)) == len(every) and {case.experiment for case in every} == set(EXPERIMENTS)
    for library in LIBRARIES:
        mine = [case for case in every if case.library == library]
        assert {case.pattern for case in mine} == {"disjoint", "interleaved"}
        if library != "POSIX":
            assert {case.chunk_form for case in mine} == {"", "square", "rows"} and {bool(case.alignment_bytes) for case in mine} == {True, False}
    assert {case.fill for case in every if case.library == "netCDF-4"} == {True, False}
    assert all(case == Case.of(json.loads(json.dumps(case.to_dict()))) for case in every)


@pytest.mark.slow
def test_a_tiny_study(tmp_path: pathlib.Path) -> None:
    place, out = tmp_path / "data", tmp_path / "out"
    place.mkdir()
    seen: list[int] = []
    found = run_study(place, out, size_bytes=MIB, clients=2, repeats=1, progress=lambda now, _: seen.append(now))
    assert found.measured == found.wanted == len(seen) == len(found.results) and os.listdir(place) == []
    assert "parallel HDF5" in found.missing and "Lustre" in found.missing["stripes"]
    text = (out / "study.md").read_text()
    for experiment in {result.case.experiment for result in found.results}:
        assert f"study-{experiment}.png" in text and (out / f"study-{experiment}.png").stat().st_size > 5000
    assert "h5py was built without MPI" in text or "parallel HDF5" in {result.case.library for result in found.results}
    assert {result.case.library for result in found.results} >= {"POSIX", "HDF5 (h5py)", "netCDF-4", "Hyperslab"}
    assert sorted(path.name for path in out.iterdir() if path.suffix not in (".png",)) == ["study.json", "study.md"]
    # All is there already: nothing is measured again.
    again = run_study(place, out, size_bytes=MIB, clients=2, repeats=1, pictures=False)
    assert [result.written for result in again.results] == [result.written for result in found.results]


@pytest.mark.slow
def test_an_interrupted_study_goes_on(tmp_path: pathlib.Path) -> None:
    place, out = tmp_path / "data", tmp_path / "out"
    place.mkdir()
    words = [COMMAND, "tune", place, "--study", "--out", out, "--size", "1", "--clients", "1", "--repeats", "1"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if (out / "study.json").exists() and len(json.loads((out / "study.json").read_text())["results"]) >= 2:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "goes on from there" in errors and "Traceback" not in errors
    assert os.listdir(place) == [] and not (out / "study.md").exists()
    kept = json.loads((out / "study.json").read_text())["results"]
    done = subprocess.run([*words, "--minutes", "0.001", "--json"], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert len(kept) <= answer["measured"] < answer["wanted"] and (out / "study.md").exists()
    assert json.loads((out / "study.json").read_text())["results"][: len(kept)] == kept


def test_what_goes_wrong_is_one_error_and_nothing_is_left(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"clients": 0}, {"repeats": 0}, {"size_bytes": 1}, {"minutes": 0}):
        with pytest.raises(hs.InvalidInputError):
            run_study(tmp_path, tmp_path / "out", **wrong)
    with pytest.raises(hs.InvalidInputError, match="is not a folder"):
        run_study(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(hs.IoError, match="bytes are free"):
        run_study(tmp_path, tmp_path / "out", size_bytes=1 << 50)
    assert not list(tmp_path.iterdir())

    def full(self: Any, case: Case) -> tuple[float, float]:
        raise hs.IoError("measuring POSIX failed: No space left on device", str(tmp_path))

    monkeypatch.setattr(runner._Workers, "measure", full)
    with pytest.raises(hs.IoError, match="No space left"):
        run_study(tmp_path, tmp_path / "out", size_bytes=MIB)
    assert not list(tmp_path.iterdir())


def test_wrong_values_end_the_study(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = libraries.values(MIB)

    def damaged(path: str, case: Case, clients: int, data: Any, out: Any) -> Any:
        pathlib.Path(path).write_bytes(b"x")
        yield
        out[...] = data
        out[3, 5] += 1

    monkeypatch.setitem(libraries._WAYS, "POSIX", damaged)
    with pytest.raises(hs.InvalidInputError, match="read other values than it wrote"):
        libraries.measure(str(tmp_path / "x"), Case("patterns", "POSIX"), 2, data)


def test_the_client_of_parallel_hdf5(tmp_path: pathlib.Path) -> None:
    """One process, without the driver: what differs with MPI is the driver alone."""

    class Alone:
        def Get_rank(self) -> int:
            return 0

        def Get_size(self) -> int:
            return 1

        def Barrier(self) -> None:
            pass

    data = libraries.values(MIB)
    path = str(tmp_path / "x.h5")
    for case in (Case("chunks", "parallel HDF5", chunk_bytes=MIB // 4, chunk_form="square"), Case("patterns", "parallel HDF5", "interleaved")):
        written, read = parallel_hdf5.run(path, case, data, Alone(), {})
        assert written > 0 and read > 0
        assert np.array_equal(hs.open(path)["x"][...], data)
