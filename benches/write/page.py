"""Writes the tables of earlier runs into the page: `page.py PAGE --json WRITE.JSON --metadata METADATA.JSON`.

In the page, each table is between `<!-- table: TITLE -->` and `<!-- end -->`. A table whose title is in neither file is not
changed, and its title is printed. Figures in the surrounding text are not changed: check them."""

from __future__ import annotations

import argparse
import json
import pathlib
import re
from typing import Any

#: The rows of `metadata.py` that the page shows.
REAL, SIMULATED = (2, 8, 64), (128, 1024, 10_240)


def lines(head: list[str], rows: list[list[Any]], align: str = "---|") -> str:
    cells = [head, *[[str(cell) for cell in row] for row in rows]]
    bars = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([bars[0], "|---|" + align * (len(head) - 1), *bars[1:]])


def measured(kept: dict[str, Any]) -> dict[str, str]:
    """The results of `run.py`."""
    rounds = {title: len(next(iter(times.values()))) for title, times in kept["rounds"].items()}
    return {title: (f"{rounds[title]} rounds:\n\n" if title in rounds else "") + lines(head, rows) for title, head, rows in kept["tables"]}


def of_metadata(kept: dict[str, Any]) -> dict[str, str]:
    """The results of `metadata.py`: real processes, simulated ones, and the measured costs."""
    head = ["seconds", "1 operation", "2 operations", "100 operations"]

    def part(words: tuple[str, ...], counts: tuple[int, ...]) -> str:
        def wanted(name: str) -> bool:
            return any(word in name for word in words) and int(name.split(", ")[1].split()[0]) in counts

        return lines(head, [[name, *(f"{cell:.4f}" for cell in cells)] for name, *cells in kept["rows"] if wanted(name)], "---:|")

    costs = "; ".join(f"{name}: {1e6 * seconds:.0f} µs" for name, seconds in kept["costs"].items())
    return {
        "metadata, real processes": part(("processes",), REAL),
        "metadata, simulated": f"Costs measured here: {costs}.\n\n" + part(("simulated", "committed"), SIMULATED),
    }


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("page", type=pathlib.Path)
    arguments.add_argument("--json", type=pathlib.Path, required=True)
    arguments.add_argument("--metadata", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    tables: dict[str, str] = {}
    if given.json.exists():
        tables |= measured(json.loads(given.json.read_text()))
    if given.metadata.exists():
        tables |= of_metadata(json.loads(given.metadata.read_text()))
    seen: set[str] = set()

    def filled(found: re.Match[str]) -> str:
        title = found["title"]
        seen.add(title)
        if title not in tables:
            print(f"as it was: {title}")
            return found[0]
        return f"<!-- table: {title} -->\n{tables[title]}\n<!-- end -->"

    text = given.page.read_text()
    given.page.write_text(re.sub(r"<!-- table: (?P<title>.*?) -->\n.*?<!-- end -->", filled, text, flags=re.DOTALL))
    for title in tables.keys() - seen:
        print(f"no place in the page: {title}")


if __name__ == "__main__":
    main()
