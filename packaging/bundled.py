"""Writes the licenses of what is compiled into the wheel, or into the jar, as one text. (maturin itself writes the list of the crates, by CycloneDX.)

`python packaging/bundled.py FOLDER [TARGET [CRATE]]` writes `THIRD-PARTY.txt`. Crates are those that CRATE (`hyperslab-python`) needs on this platform, or
on the TARGET of Rust's name (`""` for this platform), at run time or while it is built, as `cargo metadata` resolves them; the same input gives the same bytes.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT")
#: C code that crates compile, which their own license does not mention.
BUNDLED_C = {"zstd-sys": "zstd/LICENSE", "lz4-sys": "liblz4/lib/LICENSE", "libmimalloc-sys": "c_src/mimalloc/v3/LICENSE"}


def packages(root: str, target: str | None = None) -> list[dict[str, Any]]:
    """The packages from registries that a crate needs on a platform, by default this one, sorted by name and version."""
    host = target or next(line for line in run("rustc", "-vV").splitlines() if line.startswith("host: ")).removeprefix("host: ")
    found = json.loads(run("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host))
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    known = {package["id"]: package for package in found["packages"]}
    pending, seen = [package["id"] for package in found["packages"] if package["name"] == root], set()
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            pending += [dep["pkg"] for dep in nodes[current]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
    return sorted((known[one] for one in seen if known[one]["source"]), key=lambda package: (package["name"], package["version"]))


def run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def texts(package: dict[str, Any]) -> dict[str, str]:
    """The texts of a package's licenses and notices by file."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES))
    if package["license_file"]:
        files.append(folder / package["license_file"])
    if package["name"] in BUNDLED_C:
        files.append(folder / BUNDLED_C[package["name"]])
        if not files[-1].is_file():
            raise SystemExit(f"{package['name']}: the license of its C code is not at {BUNDLED_C[package['name']]} any more")
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace").strip() for path in files if path.is_file()}


def third_party(found: list[dict[str, Any]]) -> str:
    """Each text once, after the names of the crates that it belongs to."""
    owners: dict[str, list[str]] = {}
    table = []
    for package in found:
        own = texts(package)
        name = f"{package['name']} {package['version']}"
        table.append(f"{name}: {package['license']}" + ("" if own else f" (its package has no text of it: {package['repository'] or 'no address'})"))
        for file, text in own.items():
            owners.setdefault(text, []).append(f"{name}, {file}")
    parts = ["Software that is compiled into Hyperslab, and its licenses.", "\n".join(table)]
    parts += ["=" * 100 + "\n" + "\n".join(names) + "\n" + "-" * 100 + "\n" + text for text, names in owners.items()]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    folder, target, crate = pathlib.Path(sys.argv[1]), "".join(sys.argv[2:3]), "".join(sys.argv[3:4])
    folder.mkdir(parents=True, exist_ok=True)
    found = packages(crate or "hyperslab-python", target or None)
    (folder / "THIRD-PARTY.txt").write_text(third_party(found), encoding="utf-8")
    print(f"{folder}: {len(found)} crates")


if __name__ == "__main__":
    main()
