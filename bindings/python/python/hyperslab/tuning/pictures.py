"""Pictures of a profile: what was measured next to what the model says, and what each setting is worth."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError, MissingFileError
from ..base.extras import require
from ..base.type_aliases import Path
from .model import Model, predictions
from .points import KINDS, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_profile(profile: Path, out: Path) -> None:
    """Draws what a profile was made from: for each kind of work the measured and the predicted seconds of each point, those held
    back apart, and the factor of each setting. Needs matplotlib (`pip install 'hyperslab[plot]'`).

    Args:
        profile: A profile that `hs.tune` has written.
        out: Path of the picture; its ending says the format.

    Raises:
        MissingFileError: There is no such profile.
        InvalidInputError: It has no measurements, or is damaged.
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> hs.tuning.draw_profile("profile.json", "profile.png")
    """
    figure = profile_figure(os.fsdecode(profile))
    figure.savefig(os.fsdecode(out), metadata={"Software": None} if os.fsdecode(out).endswith(".png") else None)


def profile_figure(profile: str) -> Figure:
    """What `draw_profile` draws."""
    require("pictures of a profile", "plot", "matplotlib")
    from matplotlib.figure import Figure

    measured, models = _read(profile)
    kinds = [kind for kind in KINDS if kind in models]
    picture = Figure(figsize=(11, 3.4 * len(kinds)), layout="constrained", dpi=90)
    rows = picture.subplots(len(kinds), 2, squeeze=False)
    for (left, right), kind in zip(rows, kinds, strict=True):
        _predicted(left, kind, measured, models[kind])
        _factors(right, models[kind])
    return picture


def _read(path: str) -> tuple[list[tuple[Point, float]], dict[str, Model]]:
    try:
        with open(path, encoding="utf-8") as text:
            document = json.load(text)
        measured = [(Point(**{name: value for name, value in one.items() if name != "seconds"}), float(one["seconds"])) for one in document["measured"]]
        models = {one["kind"]: Model(**one) for one in document["models"]}
    except FileNotFoundError:
        raise MissingFileError(f"there is no profile '{path}'", path) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"'{path}' has no measurements that can be drawn: {error}", path) from None
    if not models:
        raise InvalidInputError(f"'{path}' was written before anything was measured", path)
    return measured, models


def _predicted(axes: Axes, kind: str, measured: list[tuple[Point, float]], model: Model) -> None:
    found = predictions(kind, measured)
    for held, marker, label in ((False, "o", "fitted"), (True, "D", "held back")):
        pairs = [(seconds, predicted) for _, seconds, predicted, is_held in found if is_held == held]
        if pairs:
            color = "tab:orange" if held else "tab:blue"
            axes.plot(*zip(*pairs, strict=True), marker, color=color, markersize=5, alpha=0.8, label=f"{label} ({len(pairs)})")
    every = [seconds for _, *both, _ in found for seconds in both]
    ends = [min(every) / 1.2, max(every) * 1.2]
    axes.plot(ends, ends, "-", color="gray", linewidth=1)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured, s", ylabel="predicted, s")
    error = "none held back" if model.held_back_error is None else f"median error {model.held_back_error:.0%} held back"
    axes.set_title(f"{kind}: {error}, {model.fitted_error:.0%} fitted", fontsize=10)
    axes.legend(fontsize=8)


def _factors(axes: Axes, model: Model) -> None:
    bars = [(f"{setting} {_text(value)}", factor) for setting, factors in model.factors.items() for value, factor in factors.items() if factor != 1.0]
    if not bars:
        axes.set_axis_off()
        return
    names, factors = zip(*bars, strict=True)
    places = np.arange(len(bars))
    logs = np.log2(factors)
    axes.barh(places, logs, color=["tab:green" if log < 0 else "tab:red" for log in logs])
    axes.axvline(0, color="gray", linewidth=1)
    axes.set_yticks(places, names, fontsize=7)
    axes.invert_yaxis()
    limit = max(0.2, float(np.abs(logs).max()) * 1.1)
    ticks = np.linspace(-limit, limit, 5)
    axes.set_xlim(-limit, limit)
    axes.set_xticks(ticks, [f"{2**tick:.2f}" for tick in ticks], fontsize=8)
    axes.set_title(f"{model.kind}: time multiplied by, next to the defaults ({model.seconds:.3g} s)", fontsize=10)


def _text(value: str) -> str:
    count = int(value) if value.isdigit() else 0
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB" if count >= 1 << 10 else value
