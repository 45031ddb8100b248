"""The table of findings in docs/hostile-files.md names files and tests that exist."""

from __future__ import annotations

import pathlib
import re

import test_hostile_graphs

TESTING = pathlib.Path(__file__).resolve().parents[1]
PAGE = (TESTING.parent / "docs" / "hostile-files.md").read_text()


def rows() -> list[str]:
    part = PAGE.split("## Findings and their tests")[1].split("\n## ")[0]
    return [line.rsplit("|", 2)[1] for line in part.splitlines() if line.startswith("| ")][1:]


def test_each_finding_has_a_test_that_exists() -> None:
    found = rows()
    assert len(found) > 25
    made = {*test_hostile_graphs.ATTACKS, *test_hostile_graphs.CLASSIC_ATTACKS}
    for row in found:
        named = set(re.findall(r'"([^"]+)"', row))
        assert named <= made, named - made
        file = None
        for place, test in re.findall(r"`((?:testing/vol/)?test_\w+\.py)?(?:::)?(test_\w+)?`", row):
            file = next(TESTING.rglob(pathlib.Path(place).name), None) if place else file
            assert not place or (file is not None and file.exists()), place
            assert not test or (file is not None and f"def {test}(" in file.read_text()), f"{file}: {test}"
        assert named or file or "cargo test" in row, row
