"""Writes `docs/benchmarks.md` from the figures of `make bench`."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

HEAD = """# Benchmarks

`make bench` makes its data (3 to 10 GB, kept outside of the clone), races all contestants and prints these tables;
`python benches/reading/document.py results.json` turns its figures into this page. `GROUPS="main"` takes a part,
`REPEATS=7` says how often.

How it is measured: every contestant is a process of its own that answers one request after the other. The rounds
are interleaved, so that whatever else the machine does falls on all alike; the first round is for the page cache
and is not counted. A figure is the median of the rounds with the quartiles beside it, a ratio the median of the
ratios within a round. *Reused* memory is an output array that was touched before (`read_direct`, a kept buffer);
*fresh* memory is new for every request. The **limit** is `benches/limit`: it knows from a side file where every
chunk is, parses nothing, and does only what must be done: `pread` on two threads, libdeflate into known size,
unshuffle with SSE2 straight into place. `ours` is the Python package, `ours (Rust)` the crate.

None of this gates CI.
"""


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


#: The group whose races are one table: each is a call of microseconds.
SMALL = "small"
PEERS = ("netCDF4", "pyfive", "hdf5-reader (Rust)")


def small(races: list[dict[str, Any]]) -> list[str]:
    """Small operations as one table."""
    lines = [
        "Microseconds an operation; each contestant opens the files afresh in each round. The ratio is that of h5py's time to ours. An empty",
        "field: the contestant cannot do this. Peak memory is that of the whole process, with the libraries that it imports.\n",
        "| work | ours | h5py | ratio | " + " | ".join(PEERS) + " | peak MiB: ours, h5py |",
        "|---|--:|--:|--:|" + "--:|" * len(PEERS) + "--:|",
    ]
    for race in races:
        rows = {row["who"]: row for row in race["rows"]}
        ours, h5py = rows["ours"], rows["h5py"]
        others = [number(rows[who]["median"]) if who in rows else "" for who in PEERS]
        peaks = ", ".join(f"{row['peak_bytes'] / 2**20:,.0f}" for row in (ours, h5py))
        fields = [race["race"], number(ours["median"]), number(h5py["median"]), f"{ours['ratio']:.2f}", *others, peaks]
        lines.append(f"| {' | '.join(fields)} |")
    return [*lines, ""]


def model(races: list[dict[str, Any]]) -> list[str]:
    """Projected speeds with more cores, from those of one and two threads (Amdahl's law), as a table."""
    lines = [
        "## More cores, as a model\n",
        "No machine of more than two cores was measured. Of the time of one thread, a part `p` is shared out among the",
        "threads and the rest is not; one and two threads tell `p` (at most 1). *This memory*: no faster than two threads",
        "copy here, for a machine with as many memory channels as this one. *Memory that grows*: with as many channels a",
        "core as here. A prediction, not a measurement.\n",
        "| work | 1 thread | 2 threads | shared out | 16, this memory | 16, memory that grows | 64, this memory | 64, memory that grows |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    speeds = {race["race"]: {row["who"]: row["median"] for row in race["rows"]} for race in races if race["unit"] == "GB/s"}
    copying = max((who["ours"] for name, who in speeds.items() if name.startswith("contiguous") and "ours" in who), default=None)
    for name, who in speeds.items():
        one, two = who.get("ours, 1 thread"), who.get("ours")
        if not one or not two or copying is None:
            continue
        part = min(max(2 * (1 - one / two), 0.0), 1.0)
        row = [name, number(one), number(two), f"{part:.0%}"]
        for cores in (16, 64):
            by_threads = one / (1 - part + part / cores)
            row += [number(min(by_threads, copying)), number(min(by_threads, copying * cores / 2))]
        lines.append(f"| {' | '.join(row)} |")
    return [*lines, ""] if len(lines) > 7 else []


def main() -> None:
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    lines = [HEAD, f"Machine: {machine}.\n"]
    group = None
    for race in results["races"]:
        if race["group"] != group:
            group = race["group"]
            lines.append(f"## {group.capitalize()}\n")
            if group == SMALL:
                lines += small([race for race in results["races"] if race["group"] == SMALL])
        if group == SMALL:
            continue
        lines.append(f"### {race['race']}\n")
        lines.append(f"| who | {race['unit']} | quartiles | x {race['basis']} | of the limit | peak MiB |\n|---|--:|--:|--:|--:|--:|")
        for row in race["rows"]:
            of_limit = f"{row['of_limit']:.2f}" if row["of_limit"] else ""
            lines.append(
                f"| {row['who']} | {number(row['median'])} | {number(row['low'])} to {number(row['high'])} | {row['ratio']:.2f} "
                f"| {of_limit} | {row['peak_bytes'] / 2**20:,.0f} |"
            )
        lines.append("")
    lines += model(results["races"])
    tail = pathlib.Path(__file__).with_name("remarks.md").read_text()
    pathlib.Path(__file__).parents[2].joinpath("docs/benchmarks.md").write_text("\n".join(lines) + tail)


if __name__ == "__main__":
    main()
