"""Prints the section of a version in a changelog: `release_notes.py CHANGELOG.md 1.2.0`."""

from __future__ import annotations

import pathlib
import re
import sys


def section(changelog: str, version: str) -> str:
    """The text under the version's heading, up to the next heading of that level."""
    sections = {re.split(r"[\s\]]", heading.lstrip("["))[0]: text for heading, text in re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE)}
    found = sections.get(version, "").strip()
    if not found:
        raise SystemExit(f"the changelog has no section {version}: run `towncrier build --version {version}` first")
    return f"# Hyperslab {version}\n\n{found}\n"


if __name__ == "__main__":
    sys.stdout.write(section(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2]))
