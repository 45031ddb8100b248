"""Writes the tables of docs/benchmarks.md and docs/advise.md from benches/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the text around it is written by hand."""

from __future__ import annotations

import json
import pathlib
import re
import textwrap
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: The contestant of ours that a peer is compared with, if it is not the first.
PAIRED = {"h5py": "hyperslab, durable=False", "Parquet, snappy": "hyperslab, gzip and shuffle"}
#: These say what is possible; they are not alternatives.
BOUNDS = ("limit", "native read", "Spark's own loop", "no rows")
#: Above the first ratio a peer is faster, less is noise; below the second it is so by little.
FASTER, LITTLE = 1.05, 1.25


def load(name: str) -> Any:
    return json.loads((ROOT / "benches" / "results" / f"{name}.json").read_text())


def races(name: str) -> dict[str, dict[str, float]]:
    """For each race the result of each contestant."""
    kept = load(name)
    if name == "read":
        return {race["race"]: {row["who"]: row["median"] for row in race["rows"]} for race in kept["races"]}
    if name == "edit":
        return {row[0]: {"ours": row[1], "h5py, fsync": row[3], "h5py": row[5]} for row in kept["tables"][0][2]}
    if name == "index":
        found: dict[str, dict[str, float]] = {}
        for place, answers in kept["beside"].items():
            dataset, _, selectivity = place.split()
            for what, (theirs, ours) in answers.items():
                both = found.setdefault(f"{what}, {dataset}, {float(selectivity):g}", {"ours": ours, "FastBit": theirs})
                both["ours"] = min(both["ours"], ours)
        return found
    return {title: {row[0]: row[1] for row in rows} for title, _, rows in kept["tables"]}


def unit(name: str, race: str) -> str:
    if name == "read":
        return next(one["unit"] for one in load("read")["races"] if one["race"] == race)
    return "ms" if name in ("edit", "index") else "s"


def shown(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def lines(head: list[str], rows: list[list[Any]]) -> str:
    cells = [head, *([shown(cell) for cell in row] for row in rows)]
    bars = [f"| {' | '.join(row)} |" for row in cells]
    rule = "".join("--:|" if re.fullmatch(r"[-+\d.,%×]*", cell) else "---|" for cell in cells[1])
    return "\n".join([bars[0], f"|{rule}", *bars[1:]])


def faster() -> str:
    """Every race in which a peer is faster, with all peers that are; FastBit has a table of its own."""
    rows: list[list[Any]] = []
    little: list[str] = []
    for name in ("read", "write", "edit", "spark"):
        for race, results in races(name).items():
            mine = sorted((who for who in results if "ours" in who or "hyperslab" in who), key=lambda who: "(Rust)" in who)
            in_unit, found = unit(name, race), []
            for who, theirs in results.items() if mine else ():
                ours = results.get(PAIRED.get(who, ""), results[mine[0]])
                ratio = ours / theirs if in_unit in ("s", "ms", "µs") else theirs / ours
                if who not in mine and not who.startswith(BOUNDS) and ratio > FASTER:
                    found.append((ratio, f"{shown(ours)} {in_unit}", f"{who} {shown(theirs)}"))
            if found and max(found)[0] < LITTLE:
                little.append(f"{race}, {found[0][1]} ({', '.join(text for *_, text in found)})")
            elif found:
                rows.append([race, found[0][1], ", ".join(f"{text} ({ratio:.2g} times)" for ratio, _, text in found)])
    return lines(["work", "Hyperslab", "faster"], rows) + "\n\n" + textwrap.fill(f"By less than a quarter: {'; '.join(little)}.", 120)


def compared(name: str, contestants: list[str], only: str) -> str:
    """A row for each race whose name matches `only`, a column for each contestant."""
    rows = [
        [f"{race}, {unit(name, race)}", *(results.get(who) for who in contestants)]
        for race, results in races(name).items()
        if re.search(only, race) and any(who in results for who in contestants)
    ]
    return lines(["work", *contestants], rows)


def next_to_fastbit() -> str:
    """How many times as long FastBit takes."""
    found: dict[str, list[Any]] = {}
    selectivities = []
    for race, both in races("index").items():
        what, _, selectivity = race.rpartition(", ")
        selectivities += [selectivity] if selectivity not in selectivities else []
        found.setdefault(what, [what]).append(both["FastBit"] / both["ours"])
    return lines(["answer, values", *selectivities], list(found.values()))


def whole(name: str, step: int = 1) -> str:
    """A table as it was measured, or every `step`th row of it."""
    _, head, rows = load(name)["tables"][0]
    return lines(head, rows[::step])


#: Samples of races.
MAIN = "^(contiguous f64|gzip-4|chunked f32|compound|5,000)"
FILTERS = r"^(gzip$|zstd|blosc-lz4|strided hyperslab \[|time series|where.*1e-2|1,000,000)"
SMALL = "^(netCDF-4.*fixed|a random row, (chunked|gzip)|1,000 sorted random rows, chunked|20,000 variable)"
ONE = "^(One|1,000 appends of 1 KiB, in|200|50)"
TABLES = {
    "faster": faster,
    "main": lambda: compared("read", ["ours", "ours, 1 thread", "h5py", "h5py, 2 processes", "netCDF4", "jhdf", "hdf5-reader (Rust)", "limit"], MAIN),
    "filters": lambda: compared("read", ["ours", "ours, 1 thread", "h5py"], FILTERS),
    "small": lambda: compared("read", ["ours", "h5py", "netCDF4", "pyfive", "hdf5-reader (Rust)"], SMALL),
    "vpic": lambda: compared("write", ["hyperslab", "own", "own, by h5py", "independent", "collective", "subfiling"], "^VPIC"),
    "one-process": lambda: compared("write", ["hyperslab, on the disk", "hyperslab, durable=False", "h5py and fsync", "h5py", "netCDF4"], ONE),
    "fastbit": next_to_fastbit,
    "advise": lambda: textwrap.fill(load("advise")["about"] + " Every fourth row:", 120) + "\n\n" + whole("advise", 4),
}


def filled(text: str) -> str:
    """A page with the tables of today's results."""
    for name, make in TABLES.items():
        text = re.sub(rf"(<!-- (?:table: )?{name} -->\n).*?(<!-- end -->)", lambda found, make=make: f"{found[1]}{make()}\n{found[2]}", text, flags=re.DOTALL)
    return text


def main() -> None:
    for path in (ROOT / "docs" / name for name in ("benchmarks.md", "advise.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
