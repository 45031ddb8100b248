"""What audits of indexes cost: the same queries by two builds, in turns.

    python benches/index/audits.py FIRST SECOND [--folder FOLDER] [--rounds 15]

FIRST and SECOND are folders that have the package `hyperslab` (its native module included), for example an older one, or one in which
`audit_claims` and `audit_decisions` of `crates/index/src/query/audit.rs` return at once. A round starts a process of each build, in an order that
changes, which opens 30 sessions one after the other, as tasks of Spark do, and asks each the same queries. Prints medians of the
rounds of: the first session, the median of the later ones, and the ratios of the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

MAKE = """
import sys, os, h5py, numpy as np, hyperslab as hs
path = sys.argv[1]
if not os.path.exists(path):
    rng = np.random.default_rng(42)
    values = rng.exponential(size=16_000_000).astype("f4")
    with h5py.File(path + ".part", "w") as f:
        f.create_dataset("gzip", data=values, chunks=(262_144,), compression="gzip", compression_opts=4, shuffle=True)
        f["plain"] = values
    os.replace(path + ".part", path)
    hs.index(path, ["/gzip", "/plain"])
"""

ASK = """
import sys, json, time, hyperslab as hs, hyperslab.sources.sessions
path, column = sys.argv[1:]
times, decoded = [], []
for _ in range(30):
    hs.sources.sessions.session.cache_clear()
    before = hs.counters()
    begin = time.perf_counter()
    f = hs.open(path)
    for text in (f"{column} > 14", f"{column} > 12", f"{column} > 3 and {column} < 3.0001"):
        hs.query(f, "/", text).count()
    hs.query(f, "/", f"{column} > 13").values(column)
    times.append((time.perf_counter() - begin) * 1e3)
    decoded.append(hs.counters().since(before).chunks_decoded)
print(json.dumps({"first": times[0], "later": sorted(times[1:])[len(times) // 2], "decoded": [decoded[0], sum(decoded[1:])]}))
"""


def run(package: str, code: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": package, "HYPERSLAB_POISON": ""}
    return subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True, env=environment).stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("packages", nargs=2)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.home() / ".cache/hyperslab/bench/index")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    path = str(given.folder / "audits16.h5")
    run(given.packages[0], MAKE, path)
    print("| dataset | sessions | first build (ms) | second (ms) | median of the ratios | chunks decoded, first build | second |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for column in ("gzip", "plain"):
        found: list[tuple[dict[str, float], dict[str, float]]] = []
        decoded: list[list[list[int]]] = []
        for number in range(given.rounds):
            order = given.packages if number % 2 else given.packages[::-1]
            answers = {package: json.loads(run(package, ASK, path, column)) for package in order}
            found.append((answers[given.packages[0]], answers[given.packages[1]]))
            decoded.append([answers[package]["decoded"] for package in given.packages])
        for index, (session, name) in enumerate((("first", "first of a process"), ("later", "29 later ones"))):
            pairs = [(first[session], second[session]) for first, second in found]
            times = [statistics.median(pair[side] for pair in pairs) for side in (0, 1)]
            ratio = statistics.median(first / second for first, second in pairs)
            chunks = [statistics.median(one[side][index] for one in decoded) for side in (0, 1)]
            print(f"| {column} | {name} | {times[0]:.2f} | {times[1]:.2f} | {ratio:.2f} | {chunks[0]:g} | {chunks[1]:g} |")


if __name__ == "__main__":
    main()
