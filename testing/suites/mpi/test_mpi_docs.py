"""The programs of MPI in the docs and in the examples, run by mpiexec."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import hyperslab as hs
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "mpi4py" in page.read_text(encoding="utf-8")]
PROGRAMS = [
    pytest.param(program, id=f"{page.relative_to(ROOT / 'docs')}-{number}")
    for page in PAGES
    for number, program in enumerate(re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    if "mpi4py" in program
]


def mpiexec(*words: str | pathlib.Path, folder: pathlib.Path) -> str:
    program = pathlib.Path(sys.executable).with_name("mpiexec")
    run = subprocess.run([program, "-n", "4", sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_there_are_programs_in_the_docs() -> None:
    assert PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_docs_prints_what_the_page_says(program: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    wanted = re.findall(r"^# -> (.*)$", program, re.MULTILINE)
    assert wanted, "the program says what it prints"
    assert mpiexec("program.py", folder=tmp_path).splitlines() == wanted


def test_the_example(tmp_path: pathlib.Path) -> None:
    assert mpiexec(ROOT / "examples" / "write_mpi.py", "out.h5", folder=tmp_path) == "(40000,) True\n"
    x = hs.open(tmp_path / "out.h5")["Step#0/x"][...]
    assert (x == np.repeat(np.arange(4), 10_000)).all()
