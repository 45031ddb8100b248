"""Writes `docs/benchmarks.md` from the figures of `make bench`."""

from __future__ import annotations

import json
import pathlib
import sys

HEAD = """# Benchmarks

`make bench` makes its data (3 to 10 GB, kept outside of the clone), races all contestants and prints these tables;
`python benches/document.py results.json` turns its figures into this page. `GROUPS="main"` takes a part,
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


def main() -> None:
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    lines = [HEAD, f"Machine: {machine}.\n"]
    group = None
    for race in results["races"]:
        if race["group"] != group:
            group = race["group"]
            lines.append(f"## {group.capitalize()}\n")
        lines.append(f"### {race['race']}\n")
        lines.append(f"| who | {race['unit']} | quartiles | x {race['basis']} | of the limit | peak MiB |\n|---|--:|--:|--:|--:|--:|")
        for row in race["rows"]:
            of_limit = f"{row['of_limit']:.2f}" if row["of_limit"] else ""
            lines.append(f"| {row['who']} | {number(row['median'])} | {number(row['low'])} to {number(row['high'])} | {row['ratio']:.2f} "
                         f"| {of_limit} | {row['peak_bytes'] / 2**20:,.0f} |")
        lines.append("")
    tail = pathlib.Path(__file__).with_name("remarks.md").read_text()
    pathlib.Path(__file__).parent.parent.joinpath("docs/benchmarks.md").write_text("\n".join(lines) + tail)


if __name__ == "__main__":
    main()
