"""Sidecars, plans, splits, fragments and containers with right checksums that are not what the package makes: a value or one clear
error, and no other file is touched. `make hostile` uses more of them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import hyperslab as hs
import pytest

HOSTILE = pathlib.Path(__file__).resolve().parent

import documents  # noqa: E402


def test_changed_documents_end_in_values_or_errors() -> None:
    """Two of each kind, and one that was a finding."""
    done = subprocess.run([sys.executable, HOSTILE / "run_documents.py", "--first", "44", "--count", "22"], capture_output=True, text=True)
    assert done.returncode == 0 and "22 documents" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("note", ["x", "1", "{}", "[]", '{"unknown": 1}', '{"netcdf": {}, "x": 1}', '{"netcdf": 3}', "null"])
def test_a_plan_with_another_note_is_refused(tmp_path: pathlib.Path, note: str) -> None:
    plan = documents.unsealed(bytes(hs.WritePlan(tmp_path / "x.h5")))
    with pytest.raises(hs.InvalidInputError):
        hs.WritePlan.from_bytes(documents.seal(documents.compact(plan | {"note": note}))).task(0)


def test_changes_reach_every_part_of_a_document() -> None:
    """The generator has no hole: every number, name and list of a document changes, and checksums are right."""
    document = {"version": 1, "names": ["a", "b"], "inner": {"count": 3, "last": None, "flag": True}}
    seen = set()
    for number in range(400):
        changed = documents.Changes(documents.random.Random(number), {"version"}).change(document)
        assert changed["version"] == 1 if isinstance(changed, dict) and "version" in changed else True
        seen |= {key for key in ("names", "inner") if changed.get(key) != document[key]}
        inner = changed.get("inner")
        if isinstance(inner, dict):
            seen |= {key for key in ("count", "last", "flag") if inner.get(key, "gone") != document["inner"][key]}
    assert seen == {"names", "inner", "count", "last", "flag"}
