"""Checks the crates that Cargo.lock names: each license is allowed, and each crate comes from crates.io or from this repository.

`cargo deny` does the same and more, but compiling it takes longer than the whole of `make lint`.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "bzip2-1.0.6",
    "CC0-1.0",
    "CDLA-Permissive-2.0",  # certificates as data, of systems that have none of their own
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
REGISTRIES = ("registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/")


def is_allowed(expression: str) -> bool:
    """Evaluates an SPDX expression: one license of each `OR` and all of each `AND` must be allowed. `/` is an old form of `OR`."""
    words = expression.replace("(", " ( ").replace(")", " ) ").replace("/", " OR ").split()

    def any_of() -> bool:
        found = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            found = all_of() or found
        return found

    def all_of() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            found = any_of()
            words.pop(0)
            return found
        if words and words[0] == "WITH":
            word = f"{word} {words.pop(0)} {words.pop(0)}"
        return word in ALLOWED

    return any_of()


def findings(packages: list[dict[str, Any]]) -> list[str]:
    """One line for each crate that breaks a rule."""
    found = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            found.append(f"{name} names no license")
        elif not is_allowed(package["license"]):
            found.append(f"{name} has the license {package['license']!r}, which testing/repo/licenses.py does not allow")
        if package["source"] and not package["source"].startswith(REGISTRIES):
            found.append(f"{name} comes from {package['source']}, not from crates.io")
    return found


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    found = findings(packages)
    print("\n".join(found) or f"licenses: {len(packages)} crates, all allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
