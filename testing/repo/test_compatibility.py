"""The table of formats in docs/compatibility.md has the versions that the sources write."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")

#: The beginning of a row, the file that has the version, and how it stands there; several if there are several versions.
SOURCES = {
    "container of the": ("crates/arrow-container/src/catalog/format.rs", r'VERSION\w*: &str = "(\d+)"'),
    "container as one file": ("crates/arrow-container/src/files/archive.rs", r'const VERSION: &str = "(\d+)"'),
    "layout of a growing table": ("crates/write/src/container/tail.rs", r'Envelope::new\("a layout of a tail", (\d+)\)'),
    "[edit journal]": ("crates/edit/src/journal.rs", r'b"hyperslab edit journal (\d+)"'),
    "list of free space": ("crates/edit/src/free_space.rs", r'b"HSLFREE(\d+)"'),
    "record of a commit": ("crates/write/src/container/record.rs", r'Envelope::new\("a record of a commit", (\d+)\)'),
    "write plan": ("crates/write/src/container/plan.rs", r'Envelope::new\("a write plan", (\d+)\)'),
    "write fragment": ("crates/write/src/container/fragment.rs", r'Envelope::new\("a fragment", (\d+)\)'),
    "split of a table": ("crates/scan/src/plan/split.rs", r'Envelope::new\("a split", (\d+)\)'),
    "[value index]": ("crates/index/src/store/manifest.rs", r"const VERSION: u32 = (\d+)"),
    "index task": ("crates/index/src/store/manifest.rs", r"const VERSION: u32 = (\d+)"),
    "[chunk index]": ("crates/storage/src/remote/chunk_index/format.rs", r"const FORMAT\w*: u32 = (\d+)"),
    "block of the cache": ("crates/storage/src/remote/disk_blocks.rs", r'b"HSBLOCK(\d+)"'),
    "[profile]": ("crates/storage/src/profile.rs", r"const FORMAT: \w+ = (\d+)"),
    "[chunk references]": ("bindings/python/python/hyperslab/references/writing.py", r'"version": (\d+)'),
}


def rows() -> list[list[str]]:
    table = PAGE.partition("## Formats on disk")[2].partition("\n\n**What")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")][1:]


def test_each_format_has_a_row() -> None:
    assert len(rows()) == len(SOURCES)


@pytest.mark.parametrize("beginning", SOURCES)
def test_the_version_that_is_written_is_that_of_the_source(beginning: str) -> None:
    (row,) = [cells for cells in rows() if cells[0].startswith(beginning)]
    path, pattern = SOURCES[beginning]
    assert re.findall(r"\d+", row[1]) == re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert set(re.findall(r"\d+", row[1])) <= set(re.findall(r"\d+", row[2]))
