"""Every HDF5 and netCDF file of the packages in packages.toml, read by the references and by us: one table.

`run.py [PACKAGE …]` takes names or folders; JOBS (default: cores) files are compared at a time. Every
result that is not `equal` goes to build/conformance.tsv. Exits with 1 if anything is different, an
error, a crash or a hang, or if no package could be reached.
"""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
import sys

import one_file
import packages
import signature

TIMEOUT_SECONDS = 120.0
FILE_OUTCOMES = ("equal", "refused", "different", "error", "crash", "hang")
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def row(name: str, files: int, outcomes: collections.Counter[str], objects: int) -> str:
    cells = [f"{name[:40]:40}", f"{files:5}", f"{sum(outcomes[o] for o in FILE_OUTCOMES):6}", f"{objects:8}"]
    return " ".join([*cells, *(f"{outcomes[o]:9}" for o in FILE_OUTCOMES)])


def main() -> int:
    wanted = sys.argv[1:]
    places = [(pathlib.Path(w).name, pathlib.Path(w)) for w in wanted if pathlib.Path(w).is_dir()]
    unreachable = []
    for package in packages.listed():
        if wanted and package.name not in wanted:
            continue
        try:
            places.append((f"{package.name} {package.version}", packages.unpack(package)))
        except Exception as error:  # whatever a registry or an archive does: the others go on
            unreachable.append(f"{package.registry} {package.name} {package.version}: {error}")
    BUILD.mkdir(exist_ok=True)
    header = " ".join([f"{'package':40}", "files", "opened", " objects", *(f"{o:>9}" for o in FILE_OUTCOMES)])
    print(header)
    total: collections.Counter[str] = collections.Counter()
    total_objects: collections.Counter[str] = collections.Counter()
    total_files = 0
    seen: set[str] = set()
    with (BUILD / "conformance.tsv").open("w") as table, concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as jobs:
        for name, root in places:
            files = []
            for path in sorted(root.rglob("*")):
                kind = signature.kind(path)
                if kind is None or (digest := packages.sha256(path)) in seen:
                    continue
                seen.add(digest)
                files.append((path, kind))
            outcomes: collections.Counter[str] = collections.Counter()
            objects = 0
            judged = jobs.map(lambda item: one_file.judge(str(item[0]), item[1], TIMEOUT_SECONDS), files)
            for (path, _), answer in zip(files, judged, strict=True):
                outcomes[answer.outcome] += 1
                for result in answer.results:
                    objects += result.outcome in FILE_OUTCOMES
                    total_objects[result.outcome] += 1
                    if result.outcome != "equal":
                        print(name, path.relative_to(root), result.path, result.outcome, result.detail, sep="\t", file=table, flush=True)
            print(row(name, len(files), outcomes, objects), flush=True)
            total += outcomes
            total_files += len(files)
    print(row("all", total_files, total, sum(total_objects[o] for o in FILE_OUTCOMES)))
    print(row("objects and attributes", 0, total_objects, sum(total_objects[o] for o in FILE_OUTCOMES)))
    read = sum(total[o] for o in FILE_OUTCOMES)
    print(f"refused: {100 * total['refused'] / max(read, 1):.2f} % of the files that the reference opens; reasons: build/conformance.tsv")
    for line in unreachable:
        print("not reached:", line)
    return int(not places or any(total[o] for o in ("different", "error", "crash", "hang")))


if __name__ == "__main__":
    sys.exit(main())
