"""Tuning: profiles that are used, refused and explained; the model; measurements that are interrupted, resumed and cleaned up."""

from __future__ import annotations

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
from hyperslab import _native
from hyperslab.tuning import checks, draw_profile, tuner
from hyperslab.tuning.model import fit, predictions
from hyperslab.tuning.points import KINDS, Point, design, levels

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"


def written(path: pathlib.Path, settings: Any, **changes: Any) -> pathlib.Path:
    """A profile of this machine."""
    path.write_text(json.dumps({"format": 1, "version": hs.__version__, "machine": _native.machine(), "settings": settings, **changes}))
    return path


def python(source: str, profile: pathlib.Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    """A program whose profile is this file."""
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", source, *words], capture_output=True, text=True, env={**os.environ, "HYPERSLAB_PROFILE": str(profile)}
    )


def test_a_profile_is_in_force(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path / "p.json", {"chunk_bytes": 65536, "alignment_bytes": 8192, "threads": 1, "subfile_factor": 2, "transfer_bytes": 65536})
    source = """
import sys, hyperslab as hs, numpy as np
print(hs.profile())
with hs.create(sys.argv[1]) as f:
    f.create_dataset("x", data=np.arange(1 << 18, dtype="i4"), compression="zstd")
    f["y"] = np.arange(1 << 18)
with hs.open(sys.argv[1]) as f:
    print(f["x"].chunks, hs._native.stored_chunks(f._file, f["y"]._number)[0][1] % 8192 if f["y"].chunks else 0, (f["x"][...] == np.arange(1 << 18)).all())
plan = hs.WritePlan(sys.argv[1] + ".many", writers=4)
print(plan._native.factor)
"""
    done = python(source, path, str(tmp_path / "x.h5"))
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert "is_used=True" in lines[0] and "'chunk_bytes': 65536" in lines[0]
    assert lines[1] == "(16384,) 0 True" and lines[2] == "2"


def test_without_a_profile_the_defaults_are_in_force(tmp_path: pathlib.Path) -> None:
    done = python("import hyperslab as hs; print(hs.profile())", "")
    assert "is_used=False" in done.stdout and "problem=None" in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_text("{"), "damaged"),
        (lambda path: path.write_bytes(b"\0\xff" * 50), "damaged"),
        (lambda path: path.write_text("[1, 2]"), "damaged"),
        (lambda path: written(path, {"threads": "two"}), "damaged"),
        (lambda path: written(path, {"colour": 1}), "damaged"),
        (lambda path: written(path, {"chunk_bytes": 1 << 50}), "chunk_bytes is 1125899906842624"),
        (lambda path: written(path, {"alignment_bytes": 3000}), "no power of two"),
        (lambda path: written(path, {}, machine="linux pdp11 , 1 cores"), "another machine"),
        (lambda path: written(path, {}, version="0.0.1"), "version 0.0.1"),
        (lambda path: written(path, {}, format=2), "format 2"),
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "not a regular file"),
    ],
)
def test_a_profile_that_cannot_be_used_is_explained(tmp_path: pathlib.Path, damage: Any, words: str) -> None:
    path = tmp_path / "p.json"
    damage(path)
    found = hs.profile(path)
    assert not found.is_used and found.settings == {} and found.problem is not None
    assert words in found.problem and found.problem.endswith("the defaults are in force") and str(path) in found.problem and "\n" not in found.problem


def test_a_profile_that_cannot_be_used_is_one_message(tmp_path: pathlib.Path) -> None:
    (tmp_path / "p.json").write_text("{")
    done = python("import hyperslab as hs; print(hs.profile().settings, hs.profile().is_used)", tmp_path / "p.json")
    assert done.returncode == 0 and done.stdout == "{} False\n"
    assert done.stderr.count("ProfileWarning") == 1 and "damaged" in done.stderr


def test_examining_a_profile_puts_nothing_into_force(tmp_path: pathlib.Path) -> None:
    found = hs.profile(written(tmp_path / "p.json", {"threads": 7}))
    assert found.is_used and found.settings == {"threads": 7}
    assert hs.profile().settings.get("threads") != 7


def test_points_try_each_setting_alone_and_together() -> None:
    points = design(2, 120)
    assert len(points) == len(set(points)) == 120 and points[0] == Point("read")
    tried = levels(2)
    assert tried["threads"] == (None, 1, 4)
    for kind, settings in KINDS.items():
        for setting in settings:
            assert {getattr(point, setting) for point in points if point.kind == kind} == set(tried[setting])


def test_the_model_finds_the_factors_that_were_put_in() -> None:
    chance = np.random.default_rng(1)
    worth = {"chunk_bytes": {1 << 20: 1.0, 256 << 10: 1.3, 4 << 20: 0.8}, "filter": {"none": 1.0, "gzip": 3.0, "zstd": 1.5, "lz4": 1.1}}
    points = [point for point in design(2, 300) if point.kind == "write"]
    measured = [
        (point, 0.25 * worth["chunk_bytes"][point.chunk_bytes] * worth["filter"][point.filter] * float(np.exp(chance.normal(scale=0.03)))) for point in points
    ]
    model = fit("write", measured)
    assert model is not None and abs(model.seconds - 0.25) < 0.02 and model.held_back_error is not None and model.held_back_error < 0.06
    for setting, factors in worth.items():
        for value, factor in factors.items():
            assert abs(model.factors[setting][str(value)] / factor - 1) < 0.05
    assert all(abs(factor - 1) < 0.05 for factor in model.factors["durable"].values())
    assert tuner._recommended({"write": model}) == {"chunk_bytes": 4 << 20}
    assert fit("read", measured) is None


def test_settings_that_do_not_pay_are_not_recommended() -> None:
    assert not tuner._pays({"read": 0.99, "write": 0.98}) and not tuner._pays({"read": 0.5, "write": 1.2}) and not tuner._pays({})
    assert tuner._pays({"read": 0.8, "write": 1.04})


def test_a_profile_is_checked_with_work_like_a_users(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of work is done by both processes, each of which has its own profile in force; files of one belong to both."""
    folder = tmp_path / "checks"
    folder.mkdir()
    monkeypatch.setattr(tuner, "_CHECK_ROUNDS", 1)
    with tuner._Workers(str(tmp_path), 1 << 20) as workers:
        found = tuner._checked(workers, str(folder), {"chunk_bytes": 65536, "alignment_bytes": 512, "subfile_factor": 4})
        assert found.keys() == checks.WORK.keys() and all(0.02 < ratio < 50 for ratio in found.values())
        assert sorted(os.listdir(folder)) == ["chunked.h5", "fields.h5", "packed.h5", "records.h5", "small"]
        assert sum(file.stat().st_size for file in folder.rglob("*")) < (checks.SIZES - 1) << 20


def test_the_settings_that_are_checked_are_in_force(tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(1).normal(size=(256, 1024)).astype("f4")
    source = "import sys, numpy as np, hyperslab as hs\nfrom hyperslab.tuning import checks\n"
    source += "checks._write({'compression': 'zstd', 'shuffle': True})(sys.argv[1], np.load(sys.argv[2]))\n"
    source += "d = hs.open(sys.argv[1] + '/written.h5')['x']; print(np.prod(d.chunks) * 4 <= 65536, np.array_equal(d[...], np.load(sys.argv[2])))"
    np.save(tmp_path / "x.npy", data)
    profile = written(tmp_path / "p.json", {"chunk_bytes": 65536})
    for which, expected in ((str(profile), "True True\n"), ("", "False True\n")):
        assert python(source, which, str(tmp_path), str(tmp_path / "x.npy")).stdout == expected


def test_a_profile_that_costs_other_work_is_not_written(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What helped the points may cost something else: then the profile changes nothing, and says what was measured."""
    monkeypatch.setattr(tuner, "_recommended", lambda models: {"transfer_bytes": 1 << 20})
    for costs, settings in ({"small files": 1.2}, {}), ({}, {"transfer_bytes": 1 << 20}):
        monkeypatch.setattr(tuner._Workers, "check", lambda self, name, folder, given, costs=costs: costs.get(name, 0.9) if given else 1.0)
        found = hs.tune(tmp_path, minutes=5, size_bytes=1 << 20, points=8, out=tmp_path / "p.json")
        assert found.settings == settings and found.checked["whole"] == 0.9 and found.checked["small files"] == costs.get("small files", 0.9)
        assert hs.profile(tmp_path / "p.json").settings == settings


def test_tuning_writes_a_profile_and_leaves_nothing_else(tmp_path: pathlib.Path) -> None:
    folder, out = tmp_path / "data", tmp_path / "profiles" / "p.json"
    folder.mkdir()
    seen: list[int] = []
    found = hs.tune(folder, minutes=5, size_bytes=1 << 20, points=8, out=out, progress=lambda now, _: seen.append(now))
    assert found.points == found.wanted == 8 and seen == list(range(1, 9)) and set(found.models) == set(KINDS)
    assert os.listdir(folder) == [] and os.listdir(out.parent) == ["p.json"]
    document = json.loads(out.read_text())
    assert len(document["measured"]) == 8 and document["folder"] == str(folder) and document["machine"] == _native.machine()
    assert hs.profile(out).is_used and hs.profile(out).settings.keys() == document["settings"].keys()


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path: pathlib.Path) -> None:
    folder, out = tmp_path / "data", tmp_path / "p.json"
    folder.mkdir()
    words = [COMMAND, "tune", folder, "--size", "1", "--points", "9", "--out", out]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    partial = tmp_path / "p.json.partial"
    for _ in range(600):
        if partial.exists() and len(json.loads(partial.read_text())["measured"]) >= 2:
            break
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "goes on from there" in errors
    assert os.listdir(folder) == [] and not out.exists()
    kept = json.loads(partial.read_text())["measured"]
    assert 2 <= len(kept) < 9
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["points"] == 9 and not partial.exists() and os.listdir(folder) == []
    again = json.loads(out.read_text())["measured"]
    assert again[: len(kept)] == kept


def test_time_is_bounded(tmp_path: pathlib.Path) -> None:
    found = hs.tune(tmp_path, minutes=1e-6, size_bytes=1 << 20, points=9, out=tmp_path / "p.json")
    assert found.points == 0 and found.settings == {} and hs.profile(tmp_path / "p.json").is_used


def test_a_full_disk_is_one_error_and_nothing_is_left(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "p.json"
    with pytest.raises(hs.IoError, match="bytes are free"):
        hs.tune(tmp_path, size_bytes=1 << 50, out=out)

    def full(self: Any, point: Point) -> float:
        raise hs.IoError("a measurement failed: No space left on device", str(tmp_path))

    monkeypatch.setattr(tuner._Workers, "measure", full)
    with pytest.raises(hs.IoError, match="No space left"):
        hs.tune(tmp_path, size_bytes=1 << 20, out=out)
    assert os.listdir(tmp_path) == []


def test_the_worker_says_that_the_disk_is_full(tmp_path: pathlib.Path) -> None:
    """A limit on the size of files stands for a full disk."""
    source = "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
    source += "import hyperslab as hs\ntry:\n    hs.tune(sys.argv[1], size_bytes=4 << 20, points=6, out=sys.argv[1] + '/p.json')\nexcept hs.IoError as error:\n    print(error)"
    done = python(source, "", str(tmp_path))
    assert done.stdout.count("\n") == 1 and "a measurement failed" in done.stdout, done.stderr
    assert os.listdir(tmp_path) == []


def test_what_is_not_possible_is_an_error(tmp_path: pathlib.Path) -> None:
    for wrong in ({"size_bytes": 0}, {"points": 0}, {"minutes": 0}, {"minutes": float("nan")}):
        with pytest.raises(hs.InvalidInputError):
            hs.tune(tmp_path, out=tmp_path / "p.json", **wrong)
    with pytest.raises(hs.InvalidInputError, match="is not a folder"):
        hs.tune(tmp_path / "nowhere", out=tmp_path / "p.json")


def test_the_command_that_shows_the_profile(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path / "p.json", {"threads": 3})
    done = subprocess.run([COMMAND, "profile"], capture_output=True, text=True, check=True, env={**os.environ, "HYPERSLAB_PROFILE": str(path)})
    assert done.stdout == f"{path}: threads=3\n"


def test_the_command_says_of_a_profile_that_cannot_be_used_in_one_line(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "p.json"
    path.write_text("{")
    for words, lines in ((["--version"], 1), (["profile"], 0)):
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=True, env={**os.environ, "HYPERSLAB_PROFILE": str(path)})
        assert done.stderr.count("\n") == lines and "ProfileWarning" not in done.stderr
        assert "the defaults are in force" in done.stderr + done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_a_profile_is_drawn(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "p.json"
    monkeypatch.setattr(tuner, "_CHECK_ROUNDS", 1)
    hs.tune(tmp_path, minutes=5, size_bytes=1 << 20, points=60, out=out)
    picture = tmp_path / "p.png"
    done = subprocess.run(
        [COMMAND, "profile", "--plot", picture], capture_output=True, text=True, check=True, env={**os.environ, "HYPERSLAB_PROFILE": str(out)}
    )
    assert done.stdout.startswith(str(out)) and picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
    missing = {**os.environ, "HYPERSLAB_PROFILE": str(tmp_path / "nothing.json")}
    done = subprocess.run([COMMAND, "profile", "--plot", picture], capture_output=True, text=True, env=missing)
    assert done.returncode == 1 and "there is no profile to draw" in done.stderr
    with pytest.raises(hs.InvalidInputError, match="no measurements"):
        draw_profile(written(tmp_path / "hand.json", {"threads": 1}), picture)


def test_points_held_back_are_predicted_without_them() -> None:
    points = [point for point in design(2, 200) if point.kind == "read"]
    measured = [(point, 1.0 + index / 100) for index, point in enumerate(points)]
    found = predictions("read", measured)
    assert [point for point, *_ in found] == points and sum(held for *_, held in found) == len(points) // 5
    model = fit("read", measured)
    assert model is not None and model.held_back_error == pytest.approx(
        float(np.median([abs(predicted / seconds - 1) for _, seconds, predicted, held in found if held]))
    )
    assert not any(held for *_, held in predictions("read", measured[:9])) and predictions("write", measured) == []
