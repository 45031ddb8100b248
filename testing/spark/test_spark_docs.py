"""The snippets of docs/spark.md run, in order, on the project's examples, in a process of their own."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.once
def test_the_snippets_of_the_page_run(tmp_path: pathlib.Path) -> None:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    assert len(blocks) > 4
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    run = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, start_new_session=True)
    assert run.returncode == 0, run.stdout + run.stderr
    promised = re.findall(r"^# -> (.*)$", "\n".join(blocks), re.MULTILINE)
    assert all(line in run.stdout for line in promised), run.stdout
