"""`hs.diff` and `h5diff` on pairs of every HDF5 file that `make conformance` has fetched: do they say the same?

`differences.py [PACKAGE …]` takes names of packages or folders; JOBS and MAX_MIB are as in copies.py. Prints how many pairs of each kind have which
verdicts, `h5diff`'s first. Pairs with other verdicts go to build/conformance-differences.tsv. Exits with 1 if one of the two calls a pair equal and
the other does not, and if there was no file.
"""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator

import copies
import h5diff
import one_file
import packages
import signature
from compare import Result

BUILD = copies.BUILD / "conformance-differences.tsv"


def _compared(path: str) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        for pair, theirs, ours, detail in h5diff.verdicts(pathlib.Path(path), pathlib.Path(folder)):
            yield Result(pair, f"{theirs} {ours}", detail[:300])


def main() -> int:
    BUILD.parent.mkdir(exist_ok=True)
    seen: set[str] = set()
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    with BUILD.open("w") as table, concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        for name, root in copies.places(sys.argv[1:]):
            files = []
            for path in sorted(root.rglob("*")):
                if signature.kind(path) == "hdf5" and path.stat().st_size <= copies.MAX_BYTES and (digest := packages.sha256(path)) not in seen:
                    seen.add(digest)
                    files.append(path)
            judged = pool.map(lambda path: one_file.in_child(_compared, str(path), copies.TIMEOUT_SECONDS), files)
            for path, results in zip(files, judged, strict=True):
                for one in results:
                    counts[one.path, one.outcome] += 1
                    if len({*one.outcome.split(" ")}) > 1:
                        print(name, path.relative_to(root), one.path, one.outcome, one.detail.replace("\n", " "), sep="\t", file=table, flush=True)
    for (pair, outcome), count in sorted(counts.items()):
        print(f"{count:6} {pair}: {outcome}")
    return int(not counts or any(outcome in ("equal different", "different equal") for _, outcome in counts))


if __name__ == "__main__":
    sys.exit(main())
