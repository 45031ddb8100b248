"""The developer's commands: the list fits a screen, and each command that a page or a comment names exists."""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
NAMED = re.compile(r"`make ([a-z][a-z0-9-]*)|^\s*make ([a-z][a-z0-9-]*)", re.MULTILINE)


def exists(target: str) -> bool:
    """Whether a rule has this target, or a pattern and the folder that it stands for."""
    rules = {name for line in re.findall(r"^([a-z0-9 %-]+):(?!=)", MAKEFILE, re.MULTILINE) for name in line.split()}
    patterns = {rule.rstrip("%") for rule in rules if rule.endswith("%")}
    folders = {"test-": ROOT / "testing" / "suites", "bench-": ROOT / "benches", "test-spark-": None, "test-hadoop-": None}
    for prefix in patterns:
        if target.startswith(prefix) and prefix in folders:
            folder = folders[prefix]
            if folder is None or (folder / target.removeprefix(prefix)).is_dir():
                return True
    return target in rules


def test_the_commands_that_are_named_exist() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    pages = [ROOT / name for name in files if name.endswith((".md", ".py", ".rs", ".sh", ".toml", ".java", ".yml"))]
    named = {(word, path) for path in pages if path.exists() for match in NAMED.findall(path.read_text(errors="replace")) for word in match if word}
    # Prose in a comment or a string begins a line with "make it" and the like.
    code = {(word, path) for word, path in named if "-" in word or path.suffix == ".md" or f"`make {word}" in path.read_text(errors="replace")}
    prose = {"a", "all", "an", "it", "its", "of", "in", "one", "rows", "the", "them", "this", "up", "no", "everything", "to", "these", "and"}
    missing = sorted(f"{path.relative_to(ROOT)}: make {word}" for word, path in code if word not in prose and not exists(word))
    assert not missing, "\n".join(missing)


def test_the_list_of_commands_fits_a_screen() -> None:
    listed = subprocess.run(["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert 10 < len(listed) <= 20
    assert len(MAKEFILE.splitlines()) <= 350


def test_each_benchmark_says_how_it_runs() -> None:
    for folder in (ROOT / "benches").iterdir():
        runs = (folder / "run.py").exists() or (folder / "prepare.sh").exists()
        assert not runs or f"make bench{'' if folder.name == 'reading' else '-' + folder.name}" in (folder / "README.md").read_text(), folder
