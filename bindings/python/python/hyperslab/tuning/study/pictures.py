"""Pictures in the form of the study: bars with the range for the patterns, and lines over the sizes that were varied."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...base.extras import require
from .cases import EXPERIMENTS, LIBRARIES, Case
from .report import Result, size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = dict(zip(LIBRARIES, ("tab:gray", "tab:orange", "tab:green", "tab:red", "tab:blue"), strict=True))
#: For the experiments with lines: the varied number, and what tells lines of one library apart.
_LINES: dict[str, tuple[str, Callable[[Case], float], Callable[[Case], str]]] = {
    "transfer": ("transfer size", lambda case: case.transfer_bytes, lambda case: case.pattern),
    "chunks": ("chunk size", lambda case: case.chunk_bytes, lambda case: case.chunk_form),
    "factor": ("tasks of a subfile", lambda case: case.factor, lambda case: ""),
    "stripe": ("stripe count", lambda case: case.stripes[0], lambda case: size_text(case.stripes[1])),
    "threshold": ("alignment threshold", lambda case: case.threshold_bytes, lambda case: ""),
}


def draw(folder: str, results: Sequence[Result], size: int) -> dict[str, str]:
    """Draws a picture for each experiment that has results; returns the names of the files."""
    require("pictures of a study", "plot", "matplotlib")
    from matplotlib.figure import Figure

    drawn = {}
    for experiment, title in EXPERIMENTS.items():
        mine = [result for result in results if result.case.experiment == experiment]
        if not mine:
            continue
        picture = Figure(figsize=(9, 4.2), layout="constrained", dpi=100)
        axes = picture.subplots(1, 2, squeeze=False)[0]
        for place, write in zip(axes, (True, False), strict=True):
            (_lines if experiment in _LINES else _bars)(place, mine, size, write)
            place.set_title("write" if write else "read")
            place.set_ylabel("MiB/s")
            place.set_ylim(bottom=0)
        picture.suptitle(title)
        handles = {label: handle for place in axes for handle, label in zip(*place.get_legend_handles_labels(), strict=True)}
        if len(handles) > 1:
            picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 4), fontsize=8)
        name = f"study-{experiment}.png"
        picture.savefig(os.path.join(folder, name), metadata={"Software": None})
        drawn[experiment] = name
    return drawn


def _spread(rates: Sequence[float]) -> tuple[float, float, float]:
    mean = sum(rates) / len(rates)
    return mean, mean - min(rates), max(rates) - mean


def _lines(place: Axes, results: Sequence[Result], size: int, write: bool) -> None:
    word, number, apart = _LINES[results[0].case.experiment]
    series: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        series.setdefault((result.case.library, apart(result.case)), []).append(result)
    kinds = list(dict.fromkeys(kind for _, kind in series))
    for (library, kind), mine in series.items():
        mine.sort(key=lambda result: number(result.case))
        spreads = [_spread(result.rates(size, write)) for result in mine]
        style = ("-", "--", ":")[kinds.index(kind) % 3]
        place.errorbar(
            [number(result.case) for result in mine],
            [mean for mean, _, _ in spreads],
            yerr=[[low for _, low, _ in spreads], [high for _, _, high in spreads]],
            fmt="o" + style,
            markersize=4,
            capsize=3,
            color=COLORS[library],
            label=f"{library}{', ' if kind else ''}{kind}",
        )
    place.set_xscale("log", base=2)
    ticks = sorted({number(result.case) for result in results})
    is_size = word.endswith(("size", "threshold"))
    place.set_xticks(ticks, [size_text(int(tick)) if is_size else f"{tick:g}" for tick in ticks], fontsize=8)
    place.set_xlabel(word)


def _bars(place: Axes, results: Sequence[Result], size: int, write: bool) -> None:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(_group(result.case), []).append(result)
    libraries = [name for name in LIBRARIES if any(result.case.library == name for result in results)]
    width = 0.8 / len(libraries)
    for slot, library in enumerate(libraries):
        bars = [(at, result) for at, mine in enumerate(groups.values()) for result in mine if result.case.library == library]
        spreads = [_spread(result.rates(size, write)) for _, result in bars]
        place.bar(
            [at - 0.4 + width * (slot + 0.5) for at, _ in bars],
            [mean for mean, _, _ in spreads],
            width,
            yerr=[[low for _, low, _ in spreads], [high for _, _, high in spreads]],
            capsize=2,
            color=COLORS[library],
            label=library,
        )
    place.set_xticks(range(len(groups)), [name.replace(", ", "\n") for name in groups], fontsize=8)


def _group(case: Case) -> str:
    if case.experiment == "patterns":
        return f"{case.pattern}, {'aligned' if case.alignment_bytes else 'not aligned'}"
    return f"{'chunked' if case.chunk_bytes else 'contiguous'}, {'fill values' if case.fill else 'no fill values'}"
