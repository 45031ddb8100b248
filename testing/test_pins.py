"""Every package of the tests' environment is pinned with hashes: `make setup` installs nothing else."""

from __future__ import annotations

import pathlib
import re

TESTING = pathlib.Path(__file__).resolve().parent


def pins(text: str) -> set[str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\\\]+)", text, re.MULTILINE)
    return {f"{re.sub('[-_.]+', '-', name).lower()}=={version}" for name, version in found}


def test_the_lock_has_every_pin_and_hashes_for_all() -> None:
    lock = (TESTING / "requirements.lock").read_text()
    missing = pins((TESTING / "requirements.txt").read_text()) - pins(lock)
    assert not missing, f"run `make pins`: {missing}"
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", lock, flags=re.MULTILINE).strip())
    assert len(entries) > 60
    assert not [entry.splitlines()[0] for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)]
