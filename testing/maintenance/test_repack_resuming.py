"""Copies that are killed and gone on with: the file has the same values as one that was copied at once, judged by h5py."""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

#: Repacks a file in small steps, and kills itself once the log has so many lines.
_CHILD = """
import os, signal, sys, threading, time
import hyperslab as hs
from hyperslab.maintenance import operations as maintenance
maintenance._CHECKPOINT_BYTES = 4000
source, target, lines, number, options = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), eval(sys.argv[5])
log = os.path.join(os.path.dirname(target), "." + os.path.basename(target) + ".repack.log")
def kill():
    while True:
        try:
            with open(log, "rb") as opened:
                if opened.read().count(b"\\n") >= lines:
                    os.kill(os.getpid(), number)
                    return
        except FileNotFoundError:
            pass
        time.sleep(0.0002)
threading.Thread(target=kill, daemon=True).start()
made = hs.repack(source, target, resume=True, **options)
print(made.copied_chunks, made.reencoded_bytes)
"""

_WAYS: list[dict[str, Any]] = [
    {},
    {"compression": "gzip", "compression_opts": 9},
    {"chunks": (7, 50), "compression": "zstd", "shuffle": True},
    {"contiguous": True},
    {"page_bytes": 4096, "compression": "gzip"},
    {"libver": "v108", "alignment": 4096},
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("resuming") / "in.h5"
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", userblock_size=4096) as f:
        for number in range(5):
            f.create_dataset(f"g/chunked{number}", data=rng.integers(0, 9, (300, 100)), chunks=(10, 100), compression="gzip")
        f["plain"] = rng.normal(size=(400, 100)).astype("f4")
        f.create_dataset("grows", data=rng.normal(size=(95, 100)), chunks=(10, 30), maxshape=(None, 100), fillvalue=3.0)
        f.create_dataset("texts", data=[f"text {number}" * (number % 7) for number in range(3000)], chunks=(100,))
        f["scalar"], f["empty"] = 5, h5py.Empty("f4")
        f["refs"] = np.array([f["plain"].ref, f["g"].ref], h5py.ref_dtype)
        f["g"].attrs["x"] = 3
        part = f.create_dataset("unwritten", (200, 100), "f4", chunks=(10, 100), fillvalue=2)
        part[50:70] = 1
    return path


def same(source: pathlib.Path, target: pathlib.Path) -> None:
    with h5py.File(source) as f, h5py.File(target) as g:
        names: list[str] = []
        f.visit(names.append)
        for name in names:
            if isinstance(f[name], h5py.Dataset) and name not in ("empty", "refs"):
                np.testing.assert_array_equal(f[name][()], g[name][()])
        assert [g[reference].name for reference in g["refs"][()]] == ["/plain", "/g"] and g["g"].attrs["x"] == 3


def run(source: pathlib.Path, target: pathlib.Path, lines: int, number: int, options: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", _CHILD, str(source), str(target), str(lines), str(number), repr(options)]
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def begun(source: pathlib.Path, target: pathlib.Path, options: dict[str, Any], lines: int = 5) -> pathlib.Path:
    """Leaves a copy that was killed; returns its log."""
    killed = run(source, target, lines, signal.SIGKILL, options)
    assert killed.returncode == -signal.SIGKILL and not target.exists()
    return target.with_name(f".{target.name}.repack.log")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", _WAYS, ids=str)
def test_a_killed_copy_goes_on(source: pathlib.Path, tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    whole = hs.repack(source, tmp_path / "whole.h5", **options)
    log = begun(source, tmp_path / "out.h5", options)
    more = begun(source, tmp_path / "out.h5", options, 9)
    assert log == more and log.read_bytes().count(b"\n") >= 9
    made = hs.repack(source, tmp_path / "out.h5", resume=True, **options)
    assert made.copied_chunks + made.reencoded_bytes < whole.copied_chunks + whole.reencoded_bytes
    assert sorted(os.listdir(tmp_path)) == ["out.h5", "whole.h5"]
    same(source, tmp_path / "out.h5")
    assert hs.diff(tmp_path / "whole.h5", tmp_path / "out.h5", storage=True).equal
    assert (tmp_path / "out.h5").read_bytes()[:4096] == source.read_bytes()[:4096]
    # What was begun twice, such as values with references, takes space twice. With pages, each record ends one.
    assert "page_bytes" in options or made.bytes <= whole.bytes + 3 * 16384


def test_control_c_leaves_what_is_done(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).integers(0, 1 << 40, (3000, 500))
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(1, 500))
    stopped = run(tmp_path / "in.h5", tmp_path / "out.h5", 4, signal.SIGINT, {})
    assert "KeyboardInterrupt" in stopped.stderr and sorted(os.listdir(tmp_path)) == [".out.h5.repack", ".out.h5.repack.log", "in.h5"]
    made = hs.repack(tmp_path / "in.h5", tmp_path / "out.h5", resume=True)
    assert 0 < made.copied_chunks < 3000 and sorted(os.listdir(tmp_path)) == ["in.h5", "out.h5"]
    with h5py.File(tmp_path / "out.h5") as g:
        np.testing.assert_array_equal(g["x"][()], values)


def test_a_full_disk_leaves_what_is_done(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n" + _CHILD
    arguments = [sys.executable, "-c", program, str(source), str(tmp_path / "out.h5"), "999", "9", "{}"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "File too large" in ended.stderr.splitlines()[-1]
    assert sorted(os.listdir(tmp_path)) == [".out.h5.repack", ".out.h5.repack.log"]
    whole = hs.repack(source, tmp_path / "whole.h5")
    made = hs.repack(source, tmp_path / "out.h5", resume=True)
    assert made.copied_chunks < whole.copied_chunks
    same(source, tmp_path / "out.h5")


def test_the_command_says_how_to_go_on(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as f:
        f.create_dataset("x", data=np.random.default_rng(1).normal(size=(400, 40_000)), chunks=(1, 40_000))
    command = [
        sys.executable,
        "-m",
        "hyperslab",
        "repack",
        str(tmp_path / "in.h5"),
        str(tmp_path / "out.h5"),
        "--compression",
        "gzip",
        "--level",
        "9",
        "--resume",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        while not (tmp_path / ".out.h5.repack").exists():
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        said = child.communicate()[1]
    assert child.returncode == 130 and said.splitlines()[-1] == "hyperslab: interrupted; what was copied is kept, and the same command goes on from there"
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("wrote ") and sorted(os.listdir(tmp_path)) == ["in.h5", "out.h5"]


@pytest.mark.parametrize(
    "damage", ["last line torn", "a byte in the middle", "no log", "no values", "values cut", "a few bytes of the values cut", "an empty log"]
)
def test_what_the_log_does_not_tell_is_copied_again(source: pathlib.Path, tmp_path: pathlib.Path, damage: str) -> None:
    log = begun(source, tmp_path / "out.h5", {}, 12)
    values, content = tmp_path / ".out.h5.repack", log.read_bytes()
    if damage == "last line torn":
        log.write_bytes(content[:-5])
    elif damage == "a byte in the middle":
        log.write_bytes(content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[len(content) // 2 + 1 :])
    elif damage == "an empty log":
        log.write_bytes(b"")
    elif damage == "no log":
        log.unlink()
    elif damage == "no values":
        values.unlink()
    elif damage == "a few bytes of the values cut":
        top = json.loads(log.read_text().splitlines()[-1][9:])["position"]["top"]
        os.truncate(values, 4096 + top - 5)
    else:
        os.truncate(values, values.stat().st_size // 2)
    hs.repack(source, tmp_path / "out.h5", resume=True, verify=False)
    same(source, tmp_path / "out.h5")
    assert os.listdir(tmp_path) == ["out.h5"]


def test_another_copy_is_not_gone_on_with(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    mine = tmp_path / "in.h5"
    mine.write_bytes(source.read_bytes())
    begun(mine, tmp_path / "out.h5", {})
    with pytest.raises(hs.ConflictError, match="a copy with other options was begun"):
        hs.repack(mine, tmp_path / "out.h5", resume=True, compression="zstd")
    with h5py.File(mine, "r+") as f:
        f["plain"][0, 0] = 42
    with pytest.raises(hs.ConflictError, match="of another version of the source was begun"):
        hs.repack(mine, tmp_path / "out.h5", resume=True)
    (tmp_path / "out.h5").write_text("mine")
    with pytest.raises(hs.ConflictError, match="file of this name"):
        hs.repack(mine, tmp_path / "out.h5", resume=True)
    assert (tmp_path / ".out.h5.repack.log").exists()


def test_a_copy_that_differs_is_not_kept(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Values that change under the copy are found by comparing, and the next copy begins anew."""
    begun(source, tmp_path / "out.h5", {"contiguous": True}, 8)
    with open(tmp_path / ".out.h5.repack", "r+b") as values:
        values.seek(9000)
        values.write(bytes(range(256)) * 4)
    with pytest.raises(hs.CorruptError, match="differs from the original"):
        hs.repack(source, tmp_path / "out.h5", resume=True, contiguous=True)
    assert os.listdir(tmp_path) == []


def test_two_do_not_write_at_once(source: pathlib.Path, tmp_path: pathlib.Path) -> None:
    arguments = [sys.executable, "-c", _CHILD, str(source), str(tmp_path / "out.h5"), "3", str(int(signal.SIGSTOP)), "{}"]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as child:
        try:
            log = tmp_path / ".out.h5.repack.log"
            while not log.exists() or log.read_bytes().count(b"\n") < 3:
                time.sleep(0.01)
            time.sleep(0.1)
            with pytest.raises(hs.ConflictError, match="another process writes this file"):
                hs.repack(source, tmp_path / "out.h5", resume=True)
        finally:
            child.kill()
    hs.repack(source, tmp_path / "out.h5", resume=True)
    same(source, tmp_path / "out.h5")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_random_kills(source: pathlib.Path, tmp_path: pathlib.Path, seed: int) -> None:
    random_number = random.Random(seed)
    options = random_number.choice(_WAYS)
    log = tmp_path / ".out.h5.repack.log"
    for _ in range(4):
        done = log.read_bytes().count(b"\n") if log.exists() else 0
        killed = run(source, tmp_path / "out.h5", done + random_number.randint(1, 6), signal.SIGKILL, options)
        if killed.returncode == 0:
            break
    else:
        hs.repack(source, tmp_path / "out.h5", resume=True, **options)
    same(source, tmp_path / "out.h5")
