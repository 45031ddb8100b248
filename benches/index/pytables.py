"""`make bench-index PROGRAM=pytables`: rows of a PyTables table by a condition, by PyTables and by us, with an index and without.

Both ask the same table, each in its own copy of the file: PyTables with `read_where` (numexpr; its index is completely sorted,
`create_csindex`), which returns numpy records, and we with `table(…, where).to_arrow()`, which returns an Arrow table of all members. Before
anything is timed, both must find the same rows. Rounds are interleaved, the first is not counted, and every answer is made from a file that was
opened before, with a warm page cache. "Again" is the same condition in each round: both libraries keep decoded chunks and parts of their indexes.
"Other rows" asks for another interval of values in each round, which leaves as many rows.

The tables are those of `docs/coming-from/pytables.md`; the last lines are rows for `docs/comparison.md`.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import hyperslab as hs
import numpy as np
import tables

RECORD = np.dtype([("id", "<i8"), ("energy", "<f4"), ("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
#: Shares of the rows that pass.
SHARES = (5e-7, 1e-4, 1e-2)


def make(path: pathlib.Path, rows: int, compressed: bool) -> None:
    """Particles in random order; energies are exponential."""
    random = np.random.default_rng(7)
    records = np.empty(rows, RECORD)
    records["id"] = random.permutation(rows)
    records["energy"] = random.exponential(size=rows)
    for name in "xyz":
        records[name] = random.normal(size=rows)
    filters = tables.Filters(complevel=1, complib="zlib", shuffle=True) if compressed else None
    with tables.open_file(path, "w") as f:
        f.create_table("/", "particles", records, filters=filters, expectedrows=rows)


def milliseconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e3


def middle(times: list[float]) -> str:
    low, half, high = statistics.quantiles(times, n=4)
    return f"{half:,.1f} ({low:,.1f} to {high:,.1f})"


def size(path: pathlib.Path) -> int:
    return sum(one.stat().st_size for one in path.parent.rglob("*") if one.is_file())


Call = Callable[[], Any]


def ids(found: Any) -> list[int]:
    return sorted(np.asarray(found["id"]).tolist())


def timed(rounds: int, calls: Callable[[int], tuple[Call, Call]]) -> tuple[list[float], list[float], int]:
    """Times two calls in turns: those of each round are `calls(round)`. Returns the milliseconds of both, and the number of rows."""
    found = 0
    for number in range(rounds + 1):
        both = [ids(call()) for call in calls(number)]
        if not both[0] or both[0] != both[1]:
            raise SystemExit(f"round {number}: {len(both[0])} and {len(both[1])} rows, or not the same ones")
        found = len(both[0])
    # The answers above have filled the caches of both: conditions of later rounds are new ones.
    pairs = [[milliseconds(call) for call in calls(rounds + 1 + number)] for number in range(rounds + 1)][1:]
    theirs, ours = (list(column) for column in zip(*pairs, strict=True))
    return theirs, ours, found


def row(what: str, theirs: list[float], ours: list[float]) -> tuple[str, float, float]:
    ratio = statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
    print(f"| {what} | {middle(theirs)} | {middle(ours)} | {ratio:.1f} |", flush=True)
    return what, statistics.median(theirs), statistics.median(ours)


def race(folder: pathlib.Path, rows: int, rounds: int, compressed: bool) -> list[tuple[str, float, float]]:
    """Builds both indexes, then asks in turns. Returns the medians of each line."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {}
    for name in ("theirs", "ours"):
        (folder / name).mkdir(parents=True)
        files[name] = folder / name / "particles.h5"
    make(files["theirs"], rows, compressed)
    shutil.copy(files["theirs"], files["ours"])
    before = size(files["ours"])
    with tables.open_file(files["ours"]) as f:
        energies = np.sort(f.root.particles.col("energy"))
    scanned = hs.open(str(files["ours"]), indexes="none")

    def build_theirs() -> None:
        with tables.open_file(files["theirs"], "a") as f:
            f.root.particles.cols.energy.create_csindex()

    built = {"PyTables": milliseconds(build_theirs), "ours": milliseconds(lambda: hs.index(str(files["ours"]), "/particles/energy"))}
    kind = "zlib and shuffle" if compressed else "not compressed"
    print(f"\n{rows:,} records of {RECORD.itemsize} bytes, {kind}; an index of the member `energy` ({rows * 4 / 1e6:.0f} MB):\n")
    print("| index | built in, s | MB |\n|---|--:|--:|")
    for who, name in (("PyTables", "theirs"), ("ours", "ours")):
        print(f"| {who} | {built[who] / 1e3:.2f} | {(size(files[name]) - before) / 1e6:.0f} |")

    lines = []
    with tables.open_file(files["theirs"]) as indexed:
        table, looked_up = indexed.root.particles, hs.open(str(files["ours"]))
        print("\n| | PyTables, ms | ours, ms | PyTables / ours |\n|---|--:|--:|--:|")
        for share in SHARES:
            count = max(2, int(rows * share))
            edge = float(energies[-count - 1])
            condition = f"energy > {edge!r}"
            again: tuple[Call, Call] = (
                lambda condition=condition: table.read_where(condition),
                lambda condition=condition: looked_up.table("/particles", condition).to_arrow(),
            )
            theirs, ours, found = timed(rounds, lambda _, again=again: again)
            lines.append(row(f"{found:,} rows, again", theirs, ours))

            def others(number: int, count: int = count) -> tuple[Call, Call]:
                first = (number + 1) * (rows // (2 * rounds + 4))
                low, high = float(energies[first]), float(energies[min(first + count, rows - 1)])
                return (
                    lambda: table.read_where(f"(energy >= {low!r}) & (energy < {high!r})"),
                    lambda: looked_up.table("/particles", f"energy >= {low!r} and energy < {high!r}").to_arrow(),
                )

            lines.append(row(f"{count:,} rows, other rows in each round", *timed(rounds, others)[:2]))
        with tables.open_file(folder / "ours" / "particles.h5") as plain:
            scans: tuple[Call, Call] = (lambda: plain.root.particles.read_where(condition), lambda: scanned.table("/particles", condition).to_arrow())
            lines.append(row(f"{found:,} rows, by a scan", *timed(rounds, lambda _: scans)[:2]))
    shutil.rmtree(folder)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"{options.rounds} rounds, PyTables {tables.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    race(options.folder, options.rows, options.rounds, compressed=False)
    lines = race(options.folder, options.rows, options.rounds, compressed=True)
    print("\nFor docs/comparison.md:\n")
    for what, theirs, ours in (lines[1], lines[0], lines[-2]):
        other = f"PyTables **{theirs:,.1f}**" if theirs < ours else f"PyTables {theirs:,.1f}"
        print(
            f"| {what}, of {options.rows:,} by an index, compressed PyTables table | {ours:,.1f} ms | {other} | [PyTables](coming-from/pytables.md#measured) |"
        )
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
