"""The arrows between the crates are those of docs/architecture.md, and no crate brings libhdf5."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent

ARROWS = {
    "hyperslab-array": set(),
    "hyperslab-storage": {"hyperslab-array"},
    "hyperslab-formats": {"hyperslab-array", "hyperslab-storage"},
    "hyperslab-reader": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats"},
    "hyperslab-columns": {"hyperslab-array"},
    "hyperslab-predicate": {"hyperslab-array", "hyperslab-columns"},
    "hyperslab-scan": {"hyperslab-array", "hyperslab-formats", "hyperslab-reader", "hyperslab-columns", "hyperslab-predicate"},
    "hyperslab-write": {"hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader"},
    "hyperslab-index": {
        "hyperslab-array", "hyperslab-storage", "hyperslab-formats", "hyperslab-reader", "hyperslab-columns", "hyperslab-predicate", "hyperslab-scan",
    },
    "hyperslab-query": {"hyperslab-array", "hyperslab-formats", "hyperslab-reader", "hyperslab-predicate", "hyperslab-scan"},
    "hyperslab": {
        "hyperslab-array", "hyperslab-formats", "hyperslab-reader", "hyperslab-columns", "hyperslab-predicate", "hyperslab-scan", "hyperslab-write",
        "hyperslab-index", "hyperslab-query",
    },
    "hyperslab-jni": {"hyperslab"},
    "hyperslab-python": {"hyperslab"},
    "hyperslab-vol": set(),
}


@pytest.fixture(scope="module")
def packages() -> dict[str, dict]:
    run = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {package["name"]: package for package in json.loads(run.stdout)["packages"]}


def test_each_crate_knows_only_those_that_it_may(packages: dict[str, dict]) -> None:
    def is_ours(package: dict) -> bool:
        path = pathlib.Path(package["manifest_path"])
        return path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "benches")

    ours = {name for name, package in packages.items() if is_ours(package)}
    assert ours == set(ARROWS)
    for name in ours:
        known = {d["name"] for d in packages[name]["dependencies"] if d["kind"] is None and d["name"] in ours}
        assert known == ARROWS[name], name


def test_formats_knows_no_arrow_and_nothing_brings_libhdf5_or_an_engine(packages: dict[str, dict]) -> None:
    direct = {d["name"] for d in packages["hyperslab-formats"]["dependencies"] if d["kind"] is None}
    assert not [name for name in direct if name.startswith(("arrow", "parquet"))]
    reached, pending = set(), [(name, None) for name in ARROWS]
    while pending:
        name, _ = pending.pop()
        if name not in reached and name in packages:
            reached.add(name)
            pending += [(d["name"], None) for d in packages[name]["dependencies"] if d["kind"] is None]
    assert not [name for name in reached if name.startswith(("hdf5", "netcdf", "datafusion", "polars"))]


def test_no_crate_has_unsafe() -> None:
    for crate in sorted(path.name for path in (ROOT / "crates").iterdir()):
        assert "#![forbid(unsafe_code)]" in (ROOT / "crates" / crate / "src" / "lib.rs").read_text(), crate
