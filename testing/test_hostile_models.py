"""Whole files of data models whose parts contradict each other: each view answers, or raises one error with a place. `make hostile` reads more."""

from __future__ import annotations

import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "hostile"


def test_hostile_files_of_models_are_answers_or_errors() -> None:
    # Processes are forked, which a test runner with threads should not do.
    done = subprocess.run([sys.executable, str(FOLDER / "run_models.py"), "--count", "140"], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "140 files of models" in done.stdout and "0 findings" in done.stdout
    answers = int(done.stdout.split("models: ")[1].split()[0])
    errors = int(done.stdout.split("answers, ")[1].split()[0])
    assert answers > 1000 and errors > 50, "files are damaged, and not beyond recognition"
