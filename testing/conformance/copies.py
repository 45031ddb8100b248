"""Copies of every HDF5 file that `make conformance` has fetched: is `repack`, `convert` there and back, `recover`, `fuse` or `merge` of it the same file?

`copies.py [PACKAGE …]` takes names of packages or folders; JOBS (default: cores) files are copied at a time. same_file.py judges. A copy is `equal`; `stated`
if its report (`changed`) names each object that differs; `refused` by name; `damaged` if HDF5 cannot read it all, either; or `different`, an error, a crash
or a hang. What is not equal goes to build/conformance-copies.tsv: package, file, operation, outcome, cause, path, text. Exits with 1 for the bad ones, and
if there was no file.
"""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import hyperslab as hs

# Once, and not in the process of each file.
import hyperslab.comparing.diff
import hyperslab.joining.merge
import hyperslab.maintenance.operations
import one_file
import packages
import same_file
import signature
from compare import Result

# The library looks for raw data next to the file, and not in the present folder.
os.environ["HDF5_EXTFILE_PREFIX"] = "${ORIGIN}"
TIMEOUT_SECONDS = 300.0
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
OUTCOMES = ("equal", "stated", "refused", "damaged", "unopened", "different", "error", "crash", "hang")
BAD = ("different", "error", "crash", "hang")
#: Larger files are left out: each is copied eight times. MAX_MIB in the environment sets another limit.
MAX_BYTES = int(os.environ.get("MAX_MIB") or 256) << 20


def _repack(source: str, target: str, folder: str) -> Iterable[Any]:
    return hs.repack(source, target).changes


def _folder(source: str, target: str, folder: str) -> Iterable[Any]:
    return _there_and_back(source, target, os.path.join(folder, "between.arrow"), "folder")


def _file(source: str, target: str, folder: str) -> Iterable[Any]:
    return _there_and_back(source, target, os.path.join(folder, "between.one"), "file")


def _there_and_back(source: str, target: str, between: str, form: str) -> Iterable[Any]:
    there = hs.convert(source, between, form).changes
    return [*there, *hs.convert(between, target, "hdf5").changes]


def _recover(source: str, target: str, folder: str) -> Iterable[Any]:
    made = hs.recover(source, target)
    if not made.complete:
        raise hs.UnsupportedError(f"not complete, as the report says: {[str(one) for one in made.lost][:3]}")
    return made.changes


def _fuse(source: str, target: str, folder: str) -> Iterable[Any]:
    return hs.fuse(source, target).changes


def _merge(source: str, target: str, folder: str) -> Iterable[Any]:
    """The only file of a merge."""
    return hs.merge([source], target, axis=0).changes


OPERATIONS: tuple[Callable[[str, str, str], Iterable[Any]], ...] = (_repack, _folder, _file, _recover, _fuse, _merge)


def _copied(path: str) -> Iterator[Result]:
    """A result for each operation; `path` is the operation, and `detail` has the cause, the object and what differs, between tabs."""
    try:
        facts = same_file.describe(path)
    except Exception as error:
        yield Result("/", "unopened", f"{type(error).__name__}: {error}"[:200])
        return
    # Damaged on purpose, for the library's own tests. What HDF5 cannot open is no judge.
    is_damaged = same_file.is_damaged(facts)
    unopened = {path for (path, aspect), fact in facts.items() if aspect == "object" and fact.startswith("cannot be opened")}
    for operation in OPERATIONS:
        name = operation.__name__.strip("_")
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, os.path.basename(path))
            try:
                changes = operation(path, target, folder)
            except hs.UnsupportedError as error:
                yield Result(name, "refused", f"refused\t{error}"[:300])
                continue
            except hs.CorruptError as error:
                yield Result(name, "damaged" if is_damaged else "error", f"damaged\t{error}"[:300])
                continue
            except Exception as error:
                yield Result(name, "error", f"{type(error).__name__}\t{error}"[:300])
                continue
            # Objects without a name begin with a character that stands for no byte. The judge does not list them.
            stated = {one.path.encode("utf-8", "surrogateescape") for one in changes if not one.path.startswith("\udc00")}
            found = [one for one in same_file.differences(facts, same_file.describe(target)) if one.path not in unopened]
            # What shares a committed datatype that cannot be opened.
            found = [one for one in found if not unopened or "b'no path'" not in one.text]
            for cause, one in {one.cause: one for one in reversed(found)}.items():
                is_stated = all(other.path in stated for other in found if other.cause == cause)
                place = one.path.decode("utf-8", "backslashreplace")
                yield Result(name, "stated" if is_stated else "different", f"{cause}\t{place}\t{one.text}")
            if not found:
                yield Result(name, "equal")


def _judge(path: pathlib.Path) -> list[Result]:
    return one_file.in_child(_copied, str(path), TIMEOUT_SECONDS)


def places(wanted: list[str]) -> list[tuple[str, pathlib.Path]]:
    places = [(pathlib.Path(one).name, pathlib.Path(one)) for one in wanted if pathlib.Path(one).is_dir()]
    for package in packages.listed():
        folder = packages.CACHE / "files" / package.folder
        if folder.exists() and (not wanted or package.name in wanted):
            places.append((package.name, folder))
    return places


def _worst(results: list[Result]) -> str:
    return max((one.outcome for one in results), key=OUTCOMES.index)


def main() -> int:
    BUILD.mkdir(exist_ok=True)
    seen: set[str] = set()
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    causes: collections.Counter[tuple[str, str]] = collections.Counter()
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    with (BUILD / "conformance-copies.tsv").open("w") as table, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, root in places(sys.argv[1:]):
            files = []
            for path in sorted(root.rglob("*")):
                if signature.kind(path) == "hdf5" and path.stat().st_size <= MAX_BYTES and (digest := packages.sha256(path)) not in seen:
                    seen.add(digest)
                    files.append(path)
            for path, results in zip(files, pool.map(_judge, files), strict=True):
                totals["files"][_worst(results)] += 1
                for operation in {one.path for one in results}:
                    totals[operation][_worst([one for one in results if one.path == operation])] += 1
                for one in results:
                    if one.outcome != "equal":
                        causes[one.outcome, one.detail.split("\t")[0]] += 1
                        print(name, path.relative_to(root), one.path, one.outcome, one.detail.replace("\n", " "), sep="\t", file=table, flush=True)
    print(" ".join([f"{'':10}", *(f"{outcome:>10}" for outcome in OUTCOMES)]))
    for operation, counts in totals.items():
        print(" ".join([f"{operation:10}", *(f"{counts[outcome]:10}" for outcome in OUTCOMES)]))
    for (outcome, cause), count in causes.most_common(40):
        print(f"{count:6} {outcome} {cause}")
    return int(not totals["files"] or any(totals["files"][outcome] for outcome in BAD))


if __name__ == "__main__":
    sys.exit(main())
