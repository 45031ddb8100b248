"""Splits, failures, retries and speculative tasks that cross processes; Spark Connect."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import pyspark
import pytest

SCRIPT = pathlib.Path(__file__).with_name("processes.py")


@pytest.mark.once
@pytest.mark.parametrize("what", ["cluster", "connect", "speculation"])
def test_other_processes(what: str, tmp_path: pathlib.Path) -> None:
    if what == "connect" and int(pyspark.__version__.split(".")[0]) < 4:
        pytest.skip("the package of Spark 3.5 has no Connect server")
    run = subprocess.run([sys.executable, str(SCRIPT), what, str(tmp_path)], capture_output=True, text=True, timeout=400, cwd=tmp_path, start_new_session=True)
    assert run.returncode == 0 and run.stdout.rstrip().endswith("as it should be"), run.stdout + run.stderr


@pytest.mark.once
def test_partitions_in_the_order_of_storage_targets(tmp_path: pathlib.Path) -> None:
    """The system calls of Python, of Java and of the native library are answered as on Lustre."""
    lustre = importlib.import_module("lustre")  # of testing/lib
    run = lustre.run([sys.executable, str(SCRIPT), "targets", str(tmp_path)], lustre.layout(1 << 20, [0, 1, 2, 3]), timeout=400, cwd=tmp_path)
    assert run.returncode == 0 and run.stdout.rstrip().endswith("as it should be"), run.stdout + run.stderr
