"""Simulates the papers' experiments, and writes tables into results.md and pictures into docs/pictures.

    page.py [--fast]

The text of the page is written by hand; each table stands between `<!-- simulated: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import argparse
import pathlib
import re

import designs
import pictures
from claims import CLAIMS
from hyperslab.simulation import load_machine, names
from observations import Observation, figures, load

PAGE = pathlib.Path(__file__).with_name("results.md")
#: The pictures, as the page links to them.
PICTURES = "../../docs/pictures"
#: Observations that take more than a few seconds of a processor each. `make test` leaves them out.
SLOW = {"hero", "cori-8k", "cori-16k", "cori-16k-rate", "bb-8k", "bb-16k", "bb-16k-rate"}
SLOW_CLAIMS = {claim.text for claim in CLAIMS if claim.place in ("V.B.1", "V.B.2")}


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def row(observation: Observation, ours: float) -> str:
    """The table's line of an observation."""
    if observation.measure == "failed":
        theirs, found, error = ("fails" if observation.value else "ends"), ("fails" if ours else "ends"), "" if ours == observation.value else "wrong"
    else:
        theirs = number(observation.value) if observation.value is not None else f"{observation.low:g} to {observation.high:g}"
        found, error = number(ours), f"{100 * observation.error(ours):+.0f} %"
    note = f" ({observation.note})" if observation.note else ""
    used = "fitted" if observation.use == "fit" else "held back"
    return f"| {observation.place} | {observation.setting}{note} | {theirs} | {found} | {observation.unit} | {error} | {used} |"


def observed(figure: str, observations: list[Observation], ours: dict[str, float]) -> str:
    lines = ["| paper's section | setting | theirs | simulated | unit | error | use |", "|---|---|--:|--:|---|--:|---|"]
    lines += [row(o, ours[o.id]) for o in observations if o.figure == figure]
    return "\n".join([f"![Simulated: {figures()[figure]['title']}]({PICTURES}/{pictures.path(figure).name})", "", *lines])


def summary(observations: list[Observation], ours: dict[str, float]) -> str:
    """How large errors are, of what was held back."""
    lines = ["| figures | held back | within 15 % | within 35 % | within a factor of 2 | worst |", "|---|--:|--:|--:|--:|---|"]
    for figure, about in figures().items():
        tested = [o for o in observations if o.figure == figure and o.use == "test"]
        errors = {o.id: abs(o.error(ours[o.id])) for o in tested}
        factors = {o.id: max(1 + o.error(ours[o.id]), 1 / max(1e-9, 1 + o.error(ours[o.id]))) for o in tested}
        worst = max(tested, key=lambda o: factors[o.id])
        within = [sum(error <= limit for error in errors.values()) for limit in (0.15, 0.35)]
        twice = sum(factor <= 2 for factor in factors.values())
        lines.append(
            f"| {about['title']} | {len(tested)} | {within[0]} | {within[1]} | {twice} | {worst.setting}: {100 * worst.error(ours[worst.id]):+.0f} % |"
        )
    return "\n".join(lines)


def claim_row(index: int) -> str:
    claim = CLAIMS[index]
    found, holds = claim.found()
    return f"| {claim.paper}, {claim.place} | {claim.text} | {found} | {'yes' if holds else '**no**'} |"


def design(make: designs.Any) -> str:
    table = make()
    rule = ["---" if index == 0 else "--:" for index in range(len(table.head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [table.head, rule, *table.rows]).replace("| --- |", "|---|").replace("| --: ", "|--:")


def machine_table(name: str) -> str:
    lines = [f"| {name} | value | source |", "|---|--:|---|"]
    lines += [f"| `{key}` | {value} | {source} |" for key, value, source in designs.sources(load_machine(name))]
    return "\n".join(lines)


def put(text: str, name: str, table: str) -> str:
    """The page with another table."""
    begin, end = f"<!-- simulated: {name} -->\n", "<!-- end -->"
    if begin not in text:
        raise SystemExit(f"{PAGE} has no place for '{name}'")
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + table + "\n" + end, text, count=1, flags=re.DOTALL)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fast", action="store_true", help="only what the tests compare")
    given = arguments.parse_args()
    observations = load()
    text = PAGE.read_text(encoding="utf-8")
    ours = {o.id: o.ours() for o in observations if not (given.fast and o.id in SLOW)}
    for figure in figures():
        if given.fast and any(o.figure == figure and o.id in SLOW for o in observations):
            continue
        pictures.draw(figure, observations, ours)
        text = put(text, figure, observed(figure, observations, ours))
        PAGE.write_text(text, encoding="utf-8")
        print(figure, flush=True)
    if given.fast:
        for index, claim in enumerate(CLAIMS):
            if claim.text not in SLOW_CLAIMS:
                start = f"| {claim.paper}, {claim.place} | {claim.text} |"
                text = "\n".join(claim_row(index) if line.startswith(start) else line for line in text.split("\n"))
    else:
        text = put(text, "summary", summary(observations, ours))
        PAGE.write_text(text, encoding="utf-8")
        text = put(text, "claims", "\n".join(["| paper | says | simulated | agrees |", "|---|---|---|---|", *(claim_row(i) for i in range(len(CLAIMS)))]))
    for make in designs.TABLES:
        if not (given.fast and make.__name__ in designs.SLOW):
            text = put(text, make.__name__, design(make))
            PAGE.write_text(text, encoding="utf-8")
            print(make.__name__, flush=True)
    text = put(text, "machine", machine_table("lustre-248"))
    text = put(text, "machines", ", ".join(f"`{name}`" for name in names()))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
