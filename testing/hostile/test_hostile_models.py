"""Whole files of data models whose parts contradict each other: each view answers, or raises one error with a place. `make hostile` reads more."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from sampling import one_in

FOLDER = pathlib.Path(__file__).resolve().parent
import model_cases  # noqa: E402
import run_models  # noqa: E402


@one_in(4)
def test_hostile_files_of_models_are_answers_or_errors(step: int) -> None:
    # Processes are forked, which a test runner with threads should not do.
    done = subprocess.run(
        [sys.executable, str(FOLDER / "run_models.py"), "--count", f"{140 // step}"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{140 // step} files of models" in done.stdout and "0 findings" in done.stdout
    answers = int(done.stdout.split("models: ")[1].split()[0])
    errors = int(done.stdout.split("answers, ")[1].split()[0])
    assert answers > 1000 // step and errors > 50 // step, "files are damaged, and not beyond recognition"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", model_cases.CASES)
def test_what_is_wrong_is_named(tmp_path: pathlib.Path, name: str) -> None:
    answers = run_models.read(model_cases.make(name, tmp_path))
    named = [*answers.messages, *answers.problems]
    wanted = model_cases.CASES[name].object
    assert any(wanted in one for one in named) if wanted is not None else not named, named


@pytest.mark.parametrize("model", sorted({case.model for case in model_cases.CASES.values()}))
def test_the_good_files_have_no_errors(model: str) -> None:
    answers = run_models.read(run_models.models.good(model))
    assert answers.answered > 3 and not answers.problems, answers.problems
