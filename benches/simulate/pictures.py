"""One picture for each figure: what the paper prints, and what was simulated."""

from __future__ import annotations

import pathlib
from typing import Any

from hyperslab.simulation import load_machine
from observations import Observation, figures, run

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "pictures"
COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown")


def path(figure: str) -> pathlib.Path:
    return FOLDER / f"simulated-{figure}.png"


def draw(figure: str, observations: list[Observation], ours: dict[str, float]) -> None:
    """Paper: filled marks, with bars for ranges. Simulated: lines and crosses."""
    from matplotlib.figure import Figure

    about = figures()[figure]
    shown = [o for o in observations if o.figure == figure and o.x is not None and o.measure != "failed"]
    if figure == "exahdf5-metadata":
        shown = [o for o in shown if o.run["operations"] == 100]
    picture = Figure(figsize=(7, 4.2), layout="constrained", dpi=100)
    axes: Any = picture.subplots()
    series = list(dict.fromkeys(o.series for o in shown))
    for color, name in zip(COLORS, series, strict=False):
        points = sorted((o for o in shown if o.series == name), key=lambda o: o.x or 0)
        # Marks of several series at one place are side by side.
        xs = [(o.x or 0) * (1 + 0.02 * series.index(name)) for o in points]
        middle = [o.value if o.value is not None else ((o.low or 0) + (o.high or 0)) / 2 for o in points]
        spread = [
            [m - (o.low if o.low is not None else m) for o, m in zip(points, middle, strict=True)],
            [(o.high if o.high is not None else m) - m for o, m in zip(points, middle, strict=True)],
        ]
        axes.errorbar(xs, middle, yerr=spread, fmt="o", color=color, capsize=3, label=f"{name}, paper")
        # Points of different jobs are no line.
        style = "x--" if about.get("joined", True) else "x"
        axes.plot(xs, [ours[o.id] for o in points], style, color=color, markersize=9, label=f"{name}, simulated")
    if sweep := about.get("sweep"):
        machine = load_machine(about["machine"])
        outcomes = [run(machine, {**about["run"], sweep["key"]: value}) for value in sweep["values"]]
        values = [o.bytes_per_second / 1e9 if about["y"] == "GB/s" else o.seconds for o in outcomes]
        axes.plot(sweep["values"], values, "-", color="gray", linewidth=1, label=f"simulated, {about['run']['way']}")
    axes.set(xlabel=about["x"], ylabel=about["y"], xscale="log", title=f"SIMULATED, beside the paper's figures\n{about['title']}")
    ticks = sorted({o.x or 0 for o in shown} | set(about.get("sweep", {}).get("values", ())))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45 if len(ticks) > 5 else 0)
    axes.minorticks_off()
    if figure == "exahdf5-metadata":
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    FOLDER.mkdir(exist_ok=True)
    picture.savefig(path(figure), metadata={"Software": None})
