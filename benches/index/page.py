"""Writes docs/benchmarks-index.md from the results of run.py."""

from __future__ import annotations

from typing import Any

import fastbit

HEAD = """# Benchmarks of indexes

`make bench-index` makes its data (1.3 GB for 64 million particles), measures, and prints this page (`PARTS=queries` measures a
part again, `benches/index/run.py --page` prints what was measured before). Times are milliseconds, medians of repeated runs in
one process, after one that is not counted; builds are the best of three, each in a process of its own, and include bringing the
index to the disk. Queries with the index and without run in turns. The memory scan is numpy's comparison of the column in
memory on two threads. *Bitmap* is the hits as bits, *values* are those of the condition's own column. Positions, values and
counts of the tables by level are those of the index itself; of level P, what was looked up in the data for an edge is kept for
the next question about the same edge, and *first* is with edges that nobody asked for before."""

MEASURED = """FastBit is built here from its published sources (`benches/index/fastbit.sh`; version 2.0.3, one thread, -O2), with bins of
two significant digits and a bitmap for each, as FastQuery had it. Its columns are in memory, too, when it is asked."""
STATED = """FastBit could not be built here: its figures are those of the issue that asked for this index, one thread of the same kind of
machine."""


def table(head: list[str], rows: list[list[Any]]) -> str:
    def shown(cell: Any) -> str:
        return "" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell)

    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(shown, row)) + " |" for row in rows])


def keys(found: dict[str, Any], start: str) -> list[tuple[str, Any]]:
    """Selectivities and their results, for keys that begin with `start`."""
    return [(key.removeprefix(start), value) for key, value in found.items() if key.startswith(start)]


def beside(kept: dict[str, Any]) -> list[str]:
    """FastBit's answers and ours, measured in turns."""
    said = [
        "## Beside FastBit",
        "Milliseconds, measured in turns, ours on 2 threads: the bitmap by the index itself, the rest by a query. A value of the data is "
        "read from the file, by a call of its own where few are wanted and with all that lies between where many are; FastBit has its columns in memory.",
    ]
    whats = ("bitmap", "positions", "values", "histogram")
    head = ["", *(cell for what in whats for cell in (f"{what}: FastBit", "ours", "times"))]
    for dataset in ("ordered", "shuffled"):
        rows = []
        for level in "PX":
            for s, found in keys(kept["beside"], f"{dataset} {level} "):
                rows.append([f"{level} {s}", *(cell for what in whats for cell in (*found[what], f"{found[what][0] / found[what][1]:.1f}"))])
        said += [f"### {dataset}; the histogram is of the other array", table(head, rows)]
    return said


def fastbits(kept: dict[str, Any]) -> list[str]:
    """The effect of FastBit's bins on its bitmaps."""
    measured = kept["fastbit"]
    rows = [[name, found["build_ms"] / 1e3, *(answer["bitmap"] for answer in found["answers"].values())] for name, found in measured.items()]
    selectivities = list(next(iter(measured.values()))["answers"])
    return [
        "## FastBit by its bins",
        "Bitmaps, milliseconds, of the index above and of one with 256 bins. What lies in the bin of an edge is tested value by value: at 1e-4 "
        "the edge lies in a bin of two digits that has next to nothing in it.",
        table(["", "build, s", *selectivities], rows),
    ]


def build(kept: dict[str, Any]) -> list[str]:
    rows = [[name, threads, speed, f"{100 * share:.1f}"] for name, threads, speed, share in kept["build"]]
    size = kept["particles"] * 4
    for dataset, found in (kept.get("fastbit") or {}).items():
        rows.append([f"{dataset}, FastBit", 1, size / found["build_ms"], f"{100 * found['bytes'] / (size * 1e6):.1f}"])
    return [
        "## Build and size",
        f"{kept['particles']} million float32, {size} MB a column",
        table(["build", "threads", "GB/s", "% of the column"], rows),
        "Level P writes half as many bytes as it reads, into memory of the page cache that is fresh: where a host gives memory when it is first "
        "touched, what that costs differs from run to run.",
    ]


def answers(kept: dict[str, Any]) -> list[str]:
    said = []
    for dataset in ("ordered", "shuffled"):
        for level in "PX":
            rows = [
                [s, *(found[what] for what in ("scan", "bitmap", "bitmap first", "bitmap 1", "positions", "values", "count"))]
                for s, found in keys(kept["answers"], f"{dataset} {level} ")
            ]
            head = ["selectivity", "memory scan", "bitmap 2 threads", "first", "1 thread", "positions", "values", "count"]
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
    return said


def beside_of(kept: dict[str, Any], dataset: str, level: str, selectivity: str, what: str) -> Any:
    """Milliseconds of FastBit and of Hyperslab; if FastBit is not installed, published figures of its bitmaps."""
    if kept.get("beside"):
        return kept["beside"][f"{dataset} {level} {selectivity}"][what]
    return [fastbit.STATED[float(selectivity)], kept["answers"][f"{dataset} {level} {selectivity}"]["bitmap"]] if what == "bitmap" else None


def aims(kept: dict[str, Any]) -> list[str]:
    """The targets, and the worst result for each."""
    rows: list[list[Any]] = []

    def aim(what: str, asked: float, found: list[float], most: bool = False) -> None:
        if found:
            worst = max(found) if most else min(found)
            rows.append([what, asked, worst, "yes" if (worst <= asked if most else worst >= asked) else "no"])

    # FastBit's way at 1e-4 is another than beyond.
    spans = {"from 1e-2 to 0.5": ("0.01", "0.1", "0.5"), "at 1e-4": ("0.0001",)}

    def beside_fastbit(title: str, asked: float, what: str, levels: str) -> None:
        for dataset in ("ordered", "shuffled"):
            for span, selectivities in spans.items():
                pairs = [[beside_of(kept, dataset, level, s, what) for level in levels] for s in selectivities]
                aim(f"{title}, {dataset}, {span}: times FastBit", asked, [max(theirs / ours for theirs, ours in found) for found in pairs if None not in found])

    if kept.get("answers"):
        for level in "PX":
            beside_fastbit(f"bitmaps by level {level}", 20.0, "bitmap", level)
    if kept.get("beside"):
        for what in ("positions", "values", "histogram"):
            beside_fastbit(f"{what}{' of another array' if what == 'histogram' else ''}, the better level", 10.0, what, "PX")
    if kept.get("queries"):
        aim("queries: times a scan", 1.1, [ours / scan for found in kept["queries"].values() for ours, scan in found.values()], most=True)
    if kept.get("build"):
        speeds = {(name, threads): speed for name, threads, speed, _ in kept["build"]}
        aim("level P on two threads, shuffled: GB/s", 1.4, [speeds["shuffled P", 2]])
        aim("level P on two threads, ordered: GB/s", 1.4, [speeds["ordered P", 2]])
        aim("level P, two threads: times one", 1.9, [speeds[name, 2] / speeds[name, 1] for name in ("shuffled P", "ordered P")])
    if kept.get("gzip"):
        aim("gzip at 1e-4: times reading and scanning", 100.0, [kept["gzip"]["h5py"] / kept["gzip"]["index"]])
    return ["## Aims", "Of several figures, the worst.", table(["aim", "asked", "measured", "met"], rows)] if rows else []


def model(kept: dict[str, Any]) -> list[str]:
    """56 TB on 10,000 cores, on paper."""
    if not (kept.get("answers") and kept.get("build")):
        return []
    columns = 56e12 / 10_000 / (kept["particles"] * 4e6)
    bitmap = {(level, s): columns * kept["answers"][f"shuffled {level} {s}"]["bitmap 1"] for level in "PX" for s in ("0.0001", "0.01")}
    built = 5.6 / next(speed for name, threads, speed, _ in kept["build"] if name == "shuffled P" and threads == 1)
    return [
        "## 56 TB on 10,000 cores, on paper",
        f"ExaHDF5 asked 56 TB with an index in ten seconds. 5.6 GB a core are {columns:.0f} columns of the size above. With the slopes of one "
        f"thread above (shuffled, level X) a core's bitmaps take {bitmap['X', '0.0001']:.0f} ms at 1e-4 and {bitmap['X', '0.01']:.0f} ms at 1e-2, and with level P "
        f"{bitmap['P', '0.0001']:.0f} ms at 1e-4. Building P takes {built:.0f} s. This leaves out what reading the index from a cold file system costs, and what it "
        "costs to bring answers together: it says what the processors need, no more.",
    ]


def steps(kept: dict[str, Any]) -> list[str]:
    found = kept["steps"]
    return [
        "## Steps",
        f"100 steps of 262,144 float32 (105 MB): index {found['index']:.0f} ms; count {found['count']:.2f} ms (scan {found['count by a scan']:.1f}), positions {found['positions']:.2f} ms "
        f"(scan {found['positions by a scan']:.1f}) at 1e-4; 10 steps appended: refreshed in {found['refresh']:.0f} ms, {found['built']} blocks built, {found['kept']} kept",
    ]


def gzip(kept: dict[str, Any]) -> list[str]:
    found = kept["gzip"]
    return [
        "## Compressed data",
        f"gzip, 1e-4: h5py read and numpy {found['h5py']:.0f} ms; positions by the index {found['index']:.2f} ms ({found['h5py'] / found['index']:.0f} times), "
        f"by a query {found['query']:.2f} ms, values {found['values']:.2f} ms",
    ]


def lists(kept: dict[str, Any]) -> list[str]:
    rows = [[name, cost["numpy"], cost["scan"], f"{cost['scan'] / cost['numpy']:.2f}", cost["index P"]] for name, cost in keys(kept["lists"], "")]
    return [
        "## Lists of constants",
        "Positions of the ids in a list, in ms:",
        table(["ids, constants", "`np.isin` in memory", "scan", "scan / numpy", "index P"], rows),
    ]


def small(kept: dict[str, Any]) -> list[str]:
    rows = [[name, cost["build"], int(int(name) / cost["build"]), cost["plan"], cost["ask"]] for name, cost in keys(kept["small"], "")]
    return ["## Many small datasets", "Of 100 values each, in one file:", table(["datasets", "index, s", "a second", "plan again, s", "ask all, ms"], rows)]


def several(kept: dict[str, Any]) -> list[str]:
    rows = [[name, cost["alone"], cost["three"], f"{cost['three'] / cost['alone']:.1f}"] for name, cost in keys(kept["several"], "")]
    return [
        "## A rare condition among others",
        "Positions in ms; the two other conditions hold for half of the rows each:",
        table(["level, rows", "alone", "with two others", "times"], rows),
    ]


def spark(kept: dict[str, Any]) -> list[str]:
    found = kept["spark"]
    head = ["", "by tasks", "in one process"]
    said = [
        f"## Spark {found['version']}, local[2]",
        "Level P from nothing: `hs.spark.index` beside `hs.index`. Answers: count, and rows (`_row` and the value) into Spark's `noop` sink, "
        "of the reader `hdf5` and of `hs.spark.query`, which is planned again each time; with the index and with its sidecar moved away, "
        "in turns; and the same query in this process, with the index. Medians, milliseconds.",
        table(
            head,
            [
                [{"particles": f"{kept['particles']} million, shuffled", "steps": "100 steps"}[name], made["spark"], made["here"]]
                for name, made in found["build"].items()
            ],
        ),
    ]
    names = ("count", "rows", "query count", "query rows")
    head = ["", "hits", *(cell for name in names for cell in (name, "scan")), "here: count", "table"]
    for name, title in (("particles", f"{kept['particles']} million, shuffled"), ("steps", "100 steps of 262,144")):
        rows = [
            [s, one["hits"], *(one[f"{what}{by}"] for what in names for by in ("", " scan")), one["here count"], one["here rows"]]
            for s, one in keys(found, f"{name} ")
        ]
        said += [f"### {title}", table(head, rows)]
    return said


def page(kept: dict[str, Any]) -> str:
    """All of it, as far as parts were measured."""
    parts = {
        "build": build,
        "beside": beside,
        "fastbit": fastbits,
        "answers": answers,
        "queries": queries,
        "steps": steps,
        "gzip": gzip,
        "lists": lists,
        "small": small,
        "several": several,
        "spark": spark,
    }
    said = [HEAD, MEASURED if kept.get("fastbit") else STATED]
    if kept.get("machine"):
        said.append(f"Measured on {kept['machine']}, warm page cache.")
    said += aims(kept) + [line for name, part in parts.items() if kept.get(name) for line in part(kept)] + model(kept)
    return "\n\n".join(said)
