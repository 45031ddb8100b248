"""Progress that appears by itself: on a terminal, after two seconds, and nowhere else."""

from __future__ import annotations

import os
import pathlib
import pty
import subprocess
import sys
from collections.abc import Iterator

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.base import waiting
from range_server import Server, serving

PROGRAM = """
import sys
import hyperslab as hs
f = hs.open(sys.argv[1], storage_options={"allow_http": "true"})
print("opened", flush=True)
input()
print(f["x"][...].sum(), flush=True)
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def shown(server: Server, path: pathlib.Path, *, is_terminal: bool, **environment: str) -> str:
    """What a program prints on standard error while it reads from a store that takes its time."""
    server.latency_seconds = 0
    leader, follower = pty.openpty() if is_terminal else os.pipe()
    address = server.put("x.h5", path)
    words = [sys.executable, "-c", PROGRAM, address]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=follower, text=True, env={**os.environ, **environment}) as program:
        os.close(follower)
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "opened\n"
        server.latency_seconds = 3
        program.stdin.write("\n")
        program.stdin.flush()
        assert float(program.stdout.readline()) == 499_999_500_000
    text = b""
    while True:
        try:
            part = os.read(leader, 1 << 16)
        except OSError:  # the other end of a terminal is gone
            break
        if not part:
            break
        text += part
    os.close(leader)
    return text.decode()


def test_a_long_read_shows_how_far_it_is_and_removes_it(server: Server, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=np.arange(1_000_000.0), chunks=(100_000,))
    text = shown(server, tmp_path / "x.h5", is_terminal=True)
    assert "hyperslab" in text and "of 8 MB read, 2 s" in text and text.endswith("\r\x1b[K")
    assert shown(server, tmp_path / "x.h5", is_terminal=True, HYPERSLAB_PROGRESS="0") == ""
    assert shown(server, tmp_path / "x.h5", is_terminal=False) == ""


def test_rows_are_counted_after_two_seconds_if_somebody_looks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 1.0, 2.5, *[3.0] * 20])
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with waiting.rows() as advance:
        advance(10)
        assert capsys.readouterr().err == ""
        advance(10)
        assert "20 rows" in capsys.readouterr().err
    assert capsys.readouterr().err == "\r\x1b[K" and hs.Progress.shown == 0
    monkeypatch.setattr(hs.Progress, "automatic", False)
    clock = iter([0.0, 9.0, 9.0])
    with waiting.rows() as advance:
        advance(10)
    assert capsys.readouterr().err == ""
