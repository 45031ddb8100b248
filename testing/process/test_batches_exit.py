"""The end of a process that reads batches: stopped early, interrupted, or in the middle of reading ahead."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import h5py
import numpy as np
import pytest

PATIENCE = 60
"""Seconds that a process may take to end; one that hangs takes forever."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Rows of 2 MB that were never written: the file is small, an epoch of it long on every machine."""
    path = tmp_path_factory.mktemp("exit") / "long.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("z", (60_000, 500, 500), "f8", chunks=(1, 500, 500), fillvalue=1.5)
        f["t/x"] = np.arange(3_000_000)
    return str(path)


def python(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a script to its end; the test fails if there is none."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script), *words], capture_output=True, text=True, timeout=PATIENCE)


UNFINISHED = {
    "break": "for batch in loader: break",
    "next": "next(iter(loader))",
    "kept": "kept = iter(loader); next(kept)",
    "kept in a circle": "kept = [iter(loader)]; kept.append(kept); next(kept[0])",
    "zip": "list(zip(range(2), loader))",
    "two at once": "a, b = iter(loader), iter(loader); next(a), next(b), next(a)",
    "an error of a transform": "failing = hs.batches(f['z'], 2, transform=lambda batch, generator: 1 / 0)\ntry: next(iter(failing))\nexcept ZeroDivisionError: pass",
    "a table": "kept = iter(hs.batches(f.table('/t'), 1000)); next(kept)",
    "daemon thread": "import threading, time; threading.Thread(target=lambda: [batch for batch in loader], daemon=True).start(); time.sleep(0.4)",
    "forked": "import os; kept = iter(loader); next(kept); child = os.fork()\nif child == 0:\n    next(iter(loader)); sys.exit(0)\nassert os.waitpid(child, 0)[1] == 0",
}


ENDS = {"falls off": ("", 0), "sys.exit": ("\nsys.exit(3)", 3), "exception": ("\nraise RuntimeError('mine')", 1)}
CASES = [(form, "falls off") for form in UNFINISHED] + [(form, end) for form in ("kept", "daemon thread") for end in ("sys.exit", "exception")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("form", "end"), CASES)
def test_a_process_ends_after_batches_that_were_not_read_to_their_end(long: str, form: str, end: str) -> None:
    last, status = ENDS[end]
    script = f"import sys, hyperslab as hs\nf = hs.open(sys.argv[1])\nloader = hs.batches(f['z'], 2, order='exact', threads=3, memory_bytes=100 << 20)\n{UNFINISHED[form]}\nprint('read', flush=True){last}"
    since = time.monotonic()
    done = python(script, long)
    assert done.stdout == "read\n", done.stderr
    assert done.returncode == status, done.stderr
    assert "mine" in done.stderr if status == 1 else done.stderr == ""
    assert time.monotonic() - since < 20


@pytest.mark.parametrize("threads", [0, 3])
def test_control_c_ends_an_epoch(long: str, threads: int) -> None:
    script = f"""
        import sys, time, hyperslab as hs
        loader = hs.batches(hs.open(sys.argv[1])["z"], 8, order="block", threads={threads}, memory_bytes=200 << 20)
        for number, batch in enumerate(loader):
            if number == 1:
                print("ready", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), long], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        since = time.monotonic()
        errors = process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert time.monotonic() - since < 10
