"""quietly.sh, by which `make` shows what it does without the noise of pip and cargo."""

from __future__ import annotations

import os
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "quietly.sh"


def quietly(command: str, seconds: int = 30) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "Doing it", "bash", "-c", command], capture_output=True, text=True, timeout=60, env={**os.environ, "QUIETLY_SECONDS": str(seconds)}
    )


def test_a_command_that_succeeds_is_two_lines() -> None:
    done = quietly("echo noise; echo more >&2")
    assert done.returncode == 0
    first, last = done.stdout.splitlines()
    assert (first, done.stderr) == ("Doing it ...", "") and last.startswith("  done in ")


def test_a_command_that_fails_shows_what_it_said() -> None:
    done = quietly("echo reason; echo more >&2; exit 3")
    assert done.returncode == 3
    assert "reason" in done.stdout and "more" in done.stdout and done.stdout.endswith("Doing it: failed\n")


def test_a_long_command_says_how_far_it_is() -> None:
    done = quietly("echo '   Compiling thing v1.0 (/some/folder)'; sleep 3", seconds=1)
    assert done.returncode == 0
    assert "  1 s: Compiling thing v1.0\n" in done.stdout
