"""Every package that `make` installs is pinned with hashes."""

from __future__ import annotations

import pathlib
import re

import pytest

TESTING = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTING.parent
LOCKED = sorted(
    [
        TESTING / "requirements.txt",
        TESTING / "demo.txt",
        TESTING / "maturin.txt",
        ROOT / "docs/site/requirements.txt",
        *(ROOT / "packaging").glob("*.txt"),
        *(TESTING / "suites" / "spark").glob("spark?.txt"),
        ROOT / "benches/reading/contestants/xarray-sql.txt",
    ]
    + [path for folder in ("testing/suites", "benches") for name in ("requirements", "without_dependencies") for path in ROOT.glob(f"{folder}/*/{name}.txt")]
)


def pins(text: str) -> set[str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\\\]+)", text, re.MULTILINE)
    return {f"{re.sub('[-_.]+', '-', name).lower()}=={version}" for name, version in found}


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lock_has_every_pin_and_hashes_for_all(path: pathlib.Path) -> None:
    lock = path.with_suffix(".lock").read_text()
    missing = pins(path.read_text()) - pins(lock)
    assert not missing, f"run `make pins`: {missing}"
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE).strip())
    assert len(entries) >= len(pins(path.read_text()))
    assert not [entry.splitlines()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)]


def test_commands_install_lists_by_their_locks() -> None:
    assert len(LOCKED) > 24
    scripts = [ROOT / "Makefile", *(path for folder in ("packaging", "testing", "benches", "docs/site") for path in (ROOT / folder).rglob("*.sh"))]
    lines = [line for path in scripts for line in path.read_text().replace("\\\n", "").splitlines() if "pip install" in line]
    others = [line for line in lines if "--require-hashes" not in line]
    # The wheel that was just built, and what it asks for.
    built = ("./*.whl", '--no-deps "$1"/*.whl')
    assert len(lines) >= 5 and all(any(wheel in line for wheel in built) for line in others), others
