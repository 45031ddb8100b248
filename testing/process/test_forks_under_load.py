"""Children that are forked while 16 threads are busy end, and read what they should; and so do the threads."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("forks_under_load.py")
#: HYPERSLAB_FORKS=10000 was run, and more is better: a lock that is held for a moment is rarely held during a fork.
FORKS = int(os.environ.get("HYPERSLAB_FORKS", "150"))
SECONDS = float(os.environ.get("HYPERSLAB_THREADS_SECONDS", "5"))


def run(folder: pathlib.Path, forks: int, seconds: float, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAM, folder, str(forks), str(seconds)], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"{forks} forks" in done.stdout and " 0 wrong" in done.stdout


def test_children_forked_beside_16_busy_threads_end(tmp_path: pathlib.Path) -> None:
    run(tmp_path, FORKS, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("turn", range(9))
def test_children_forked_while_threads_import_and_scan_for_the_first_time_end(tmp_path: pathlib.Path, turn: int) -> None:
    run(tmp_path, 16, 0, COLD="1")


def test_16_threads_open_read_query_index_and_close_the_same_and_different_files(tmp_path: pathlib.Path) -> None:
    run(tmp_path, 0, SECONDS)
