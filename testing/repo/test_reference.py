"""The generated pages of the reference are up to date with the code."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "site" / "reference.py")
assert SPEC is not None and SPEC.loader is not None
reference: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reference)


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_of_this_code(name: str) -> None:
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == reference.PAGES[name](), "python docs/site/reference.py writes it"


def test_every_environment_variable_is_listed() -> None:
    """Those that the package, the crates and the connectors read; variables of tests and benchmarks are not for users."""
    files = subprocess.run(["git", "ls-files", "crates", "bindings", "spark"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [ROOT / name for name in files if name.endswith((".rs", ".py", ".java", ".scala")) and "/test" not in name]
    named = {name for path in sources for name in re.findall(r'"(HYPERSLAB_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    listed = set(re.findall(r"`(HYPERSLAB_[A-Z_]+)`", reference.environment()))
    assert "HYPERSLAB_PROFILE" in named
    assert named - listed - {"HYPERSLAB_SPARK_PYTHON"} == set(), "docs/site/reference.py has a list"
