"""The tables of what run.py has measured, as docs/benchmarks-index.md has them."""

from __future__ import annotations

from typing import Any

import fastbit

#: Beside FastBit: 20 times as fast for bitmaps, 10 times for the rest. Beside a scan: a tenth slower at most.
AIMS = {"bitmap": 20, "positions": 10, "values": 10, "histogram": 10}


def table(head: list[str], rows: list[list[Any]]) -> str:
    def shown(cell: Any) -> str:
        return "" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell)

    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(shown, row)) + " |" for row in rows])


def keys(found: dict[str, Any], start: str) -> list[tuple[str, Any]]:
    """Selectivity and what was measured at it, of what begins with `start`."""
    return [(key.removeprefix(start), value) for key, value in found.items() if key.startswith(start)]


def fastbit_of(kept: dict[str, Any], dataset: str, selectivity: str, what: str) -> float | None:
    measured = kept.get("fastbit")
    if measured:
        return float(measured[dataset]["answers"][selectivity][what])
    return fastbit.STATED[float(selectivity)] if what == "bitmap" else None


def build(kept: dict[str, Any]) -> list[str]:
    rows = [[name, threads, speed, f"{100 * share:.1f}"] for name, threads, speed, share in kept["build"]]
    size = kept["particles"] * 4
    for dataset, found in (kept.get("fastbit") or {}).items():
        rows.append([f"{dataset}, FastBit", 1, size / found["build_ms"], f"{100 * found['bytes'] / (size * 1e6):.1f}"])
    return ["## Build and size", f"{kept['particles']} million float32, {size} MB a column", table(["build", "threads", "GB/s", "% of the column"], rows)]


def answers(kept: dict[str, Any]) -> list[str]:
    said = []
    name = "FastBit" if kept.get("fastbit") else "FastBit (issue)"
    for dataset in ("ordered", "shuffled"):
        for level in "PX":
            rows = []
            for s, found in keys(kept["answers"], f"{dataset} {level} "):
                theirs = fastbit_of(kept, dataset, s, "bitmap")
                times = None if theirs is None else f"{theirs / found['bitmap']:.0f}"
                rows.append([s, found["scan"], theirs, found["bitmap"], times, found["bitmap 1"], found["positions"], found["values"], found["count"]])
            head = ["selectivity", "memory scan", name, "bitmap 2 threads", "times", "1 thread", "positions", "values", "count"]
            said += [f"## {dataset}, level {level}, milliseconds", table(head, rows)]
        quantile, histogram = kept["answers"][f"{dataset} quantile, histogram"]
        said.append(f"quantile {quantile:.2f} ms, histogram of 64 bins {histogram:.2f} ms")
    return said


def queries(kept: dict[str, Any]) -> list[str]:
    said, slower = [], []
    for dataset in ("ordered", "shuffled"):
        for level in "PX":
            rows = []
            for s, found in keys(kept["queries"], f"{dataset} {level} "):
                rows.append([s, *(milliseconds for pair in found.values() for milliseconds in pair)])
                slower += [f"{dataset} {level} {s} {what} {ours / scan:.2f}" for what, (ours, scan) in found.items() if ours > 1.1 * scan]
            head = ["selectivity", *(cell for what in ("count", "positions", "values", "histogram of another array", "histogram") for cell in (what, "scan"))]
            said += [f"## Queries, level {level}, {dataset}: milliseconds on 2 threads, with the index and by a scan of the same file", table(head, rows)]
    said.append(f"More than a tenth slower than the scan: {', '.join(slower) or 'nothing'}.")
    if kept.get("fastbit"):
        rows = []
        for dataset in ("ordered", "shuffled"):
            for s, found in keys(kept["queries"], f"{dataset} P "):
                row: list[Any] = [f"{dataset} {s}"]
                for what in ("positions", "values", "histogram"):
                    theirs, ours = fastbit_of(kept, dataset, s, what), min(found[what][0], kept["queries"][f"{dataset} X {s}"][what][0])
                    row += [theirs, ours, None if theirs is None else f"{theirs / ours:.0f}"]
                rows.append(row)
        head = ["", *(cell for what in ("positions", "values", "histogram of another array") for cell in (f"{what}: FastBit", "query", "times"))]
        said += ["## Queries beside FastBit: milliseconds, the better of levels P and X", table(head, rows)]
    return said


def steps(kept: dict[str, Any]) -> list[str]:
    found = kept["steps"]
    return ["## Steps", f"100 steps of 262,144 float32 (105 MB): index {found['index']:.0f} ms; count {found['count']:.2f} ms (scan {found['count by a scan']:.1f}), positions {found['positions']:.2f} ms "
            f"(scan {found['positions by a scan']:.1f}) at 1e-4; 10 steps appended: refreshed in {found['refresh']:.0f} ms, {found['built']} blocks built, {found['kept']} kept"]


def gzip(kept: dict[str, Any]) -> list[str]:
    found = kept["gzip"]
    return ["## Compressed data", f"gzip, 1e-4: h5py read and numpy {found['h5py']:.0f} ms; positions by the index {found['index']:.2f} ms ({found['h5py'] / found['index']:.0f} times), "
            f"by a query {found['query']:.2f} ms, values {found['values']:.2f} ms"]


def tables(kept: dict[str, Any]) -> str:
    """Those of the parts that were measured."""
    parts = {"build": build, "answers": answers, "queries": queries, "steps": steps, "gzip": gzip}
    return "\n\n".join(line for name, said in parts.items() if kept.get(name) for line in said(kept))
