"""Runs the snippets of docs/spark.md and docs/howto/spark-ml.md in order, on the project's examples, in a separate process."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.once
@pytest.mark.parametrize(("page", "count"), [("spark.md", 5), ("howto/spark-ml.md", 1)])
def test_the_snippets_of_the_page_run(tmp_path: pathlib.Path, page: str, count: int) -> None:
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    blocks = BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert len(blocks) >= count
    (tmp_path / "page.py").write_text("\n".join(blocks), encoding="utf-8")
    run = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, start_new_session=True)
    assert run.returncode == 0, run.stdout + run.stderr
    promised = re.findall(r"^# -> (.*)$", "\n".join(blocks), re.MULTILINE)
    assert promised and all(line in run.stdout for line in promised), run.stdout


def snippets(language: str) -> str:
    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


@pytest.mark.whole
def test_the_snippets_in_scala_run(tmp_path: pathlib.Path) -> None:
    import hyperslab as hs
    import pyspark

    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    code = snippets("scala")
    (tmp_path / "page.scala").write_text(code + '\nprintln("to the end")\nSystem.exit(0)\n', encoding="utf-8")
    home = pathlib.Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-shell"), "--master", "local[2]", "--jars", str(hs.spark.jar()), "--conf", "spark.ui.enabled=false", "-I", "page.scala"]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "SPARK_HOME": str(home)},
    )
    promised = re.findall(r"^// -> (.*)$", code, re.MULTILINE)
    assert promised and all(line in run.stdout for line in [*promised, "to the end"]), run.stdout + run.stderr


@pytest.mark.once
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R here")
def test_the_snippets_in_r_run(tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    (tmp_path / "page.R").write_text(f'library(SparkR)\nsparkR.session("local[2]", sparkJars = "{hs.spark.jar()}")\n{snippets("r")}', encoding="utf-8")
    run = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, capture_output=True, text=True, timeout=300, start_new_session=True)
    assert run.returncode == 0 and "depth" in run.stdout, run.stdout + run.stderr
