"""The arrows between the crates are those of docs/architecture.md, and no crate brings libhdf5."""

from __future__ import annotations

import pytest

import rooms
from rooms import ROOT

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


def test_each_crate_knows_only_those_that_it_may() -> None:
    assert rooms.ours() == ARROWS


def test_the_drawing_is_of_these_crates() -> None:
    drawn = rooms.PAGE.read_text().split(rooms.BEGIN)[1].split(rooms.END)[0]
    assert drawn == rooms.drawing(), "python testing/rooms.py writes it"


def test_formats_knows_no_arrow_and_nothing_brings_libhdf5_or_an_engine() -> None:
    packages = rooms.packages()
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


@pytest.mark.parametrize("crate", ["array", "storage", "formats", "reader", "columns", "predicate"])
def test_no_file_of_a_crate_depends_on_itself_by_way_of_others(crate: str) -> None:
    assert rooms.circles(rooms.imports(ROOT / "crates" / crate)) == []
