"""Profiles: values against the depth, pressure or height of each, which is not the same in all profiles. A few are lines, more are a section."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .plot_auxiliary import Auxiliary, times_of
from .plot_axes import base_name, edges_between, label_of, role_of, text_of
from .plot_categories import categories_of
from .plot_cells import Array, Dataset, Extremes, Part
from .plot_dates import calendar_of, date_text, label_dates, matplotlib_days
from .plot_images import draw_cells
from .plot_lines import point_vertical
from .plot_look import Look, is_drawn, note, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of profiles that are lines, and of profiles and of levels of a section.
MAX_LINES, MAX_PROFILES, MAX_LEVELS = 8, 350, 350


class Profile(NamedTuple):
    """The values of one profile and where they are, from the lowest number up."""

    values: Array
    levels: Array


def level_of(dataset: Dataset, vertical: Auxiliary, fixed: dict[int, int]) -> int:
    """The dimension of a dataset along which a vertical coordinate goes one way, and fastest: between profiles it goes up and down."""
    scores = []
    for dimension in vertical.dims:
        keys = {other: fixed.get(other, dataset.shape[other] // 2) for other in vertical.dims if other != dimension}
        along = vertical.read({**keys, dimension: slice(None)})
        steps = np.diff(along[np.isfinite(along)])
        scores.append((float(abs(np.sign(steps).mean())), float(abs(np.median(steps)))) if len(steps) else (0.0, 0.0))
    best = max(one_way for one_way, _ in scores)
    return max(zip(scores, vertical.dims, strict=True), key=lambda one: (one[0][0] > 0.9 * best, one[0][1]))[1]


def profile_of(part: Part, vertical: Auxiliary, level: int, others: dict[int, int]) -> Profile:
    """One profile: what has a value and a level."""
    fixed = {**part.fixed, **others}
    values = Part(part.dataset, (level,), fixed).read((slice(None),))
    levels = vertical.read({**fixed, level: slice(None)})
    known = np.isfinite(levels)
    order = np.argsort(levels[known], kind="stable")
    return Profile(values[known][order], levels[known][order])


def draw_profile(part: Part, axes: Axes, vertical: Auxiliary, look: Look) -> None:
    """Draws the one profile of a part of one dimension."""
    profile = profile_of(part, vertical, part.dimensions[0], {})
    if is_drawn(part.dataset, axes, profile.values, look):
        _draw_lines(part.dataset, axes, [profile], [""], vertical, _fitted(look, profile.values))


def draw_profiles(part: Part, axes: Axes, vertical: Auxiliary, level: int, look: Look) -> None:
    """Draws a few profiles as lines, and more as a section: side by side, by time if that grows from each one to the next."""
    dataset = part.dataset
    (across,) = (dimension for dimension in part.dimensions if dimension != level)
    count = dataset.shape[across]
    step = -(-count // MAX_PROFILES)
    chosen = np.arange(0, count, step)
    profiles = [profile_of(part, vertical, level, {across: int(at)}) for at in chosen]
    values = np.concatenate([one.values for one in profiles])
    if not is_drawn(dataset, axes, values, look):
        return
    look = _fitted(look, values)
    times = times_of(dataset, across)
    days = None if times is None else times.read({**part.fixed, across: slice(0, None, step)})
    calendar = None if times is None else calendar_of(times.dataset)
    name = (dataset.dims[across] if dataset.dims else None) or f"dimension {across}"
    if count <= MAX_LINES and categories_of(dataset, values) is None:
        is_dated = days is not None and np.isfinite(days).all() and len(np.unique(days)) == count
        labels = [date_text(day, calendar) for day in days] if is_dated and days is not None and calendar else [f"{name} {at}" for at in chosen]
        _draw_lines(dataset, axes, profiles, labels if count > 1 else [""], vertical, look)
        return
    is_ordered = days is not None and np.isfinite(days).all() and bool((np.diff(days) > 0).all())
    if is_ordered and days is not None and calendar is not None and times is not None:
        places, label = matplotlib_days(days, calendar), text_of(times.dataset, "standard_name") or base_name(times.dataset)
        label_dates(axes.xaxis, calendar)
        axes.xaxis.set_tick_params(rotation=30)
    else:
        places, label = chosen.astype(float), name
    _draw_section(dataset, axes, profiles, places, look)
    axes.set(xlabel=label, ylabel=label_of(vertical.dataset, base_name(vertical.dataset)))
    point_vertical(axes, role_of(vertical.dataset, base_name(vertical.dataset)))
    if step > 1:
        note(axes, f"each {step}th of {count:,} profiles")


def _draw_lines(dataset: Dataset, axes: Axes, profiles: list[Profile], labels: list[str], vertical: Auxiliary, look: Look) -> None:
    for profile, label in zip(profiles, labels, strict=True):
        known = np.isfinite(profile.values)
        values = profile.values[known]
        calendar = calendar_of(dataset)
        if calendar is not None:
            values = matplotlib_days(values, calendar)
        axes.plot(values, profile.levels[known], label=label or None, marker="o" if len(values) == 1 else None)
    axes.set(xlabel=value_label(dataset), ylabel=label_of(vertical.dataset, base_name(vertical.dataset)), xlim=(look.vmin, look.vmax))
    point_vertical(axes, role_of(vertical.dataset, base_name(vertical.dataset)))
    if look.log:
        axes.set_xscale("log")
    if (calendar := calendar_of(dataset)) is not None:
        label_dates(axes.xaxis, calendar)
        axes.xaxis.set_tick_params(rotation=30)
    if any(labels):
        axes.legend()


def _fitted(look: Look, values: Array) -> Look:
    return look.fitted(Extremes(values, values, 0.0))


def _draw_section(dataset: Dataset, axes: Axes, profiles: list[Profile], places: Array, look: Look) -> None:
    """Draws each profile as a column of its own, as wide as its neighbors let it, with cells between its own levels."""
    columns = [_column(profile) for profile in profiles]
    highest = max(len(values) for values, _ in columns)
    cells, borders = edges_between(places)
    where = {int(cell): at for at, cell in enumerate(cells) if cell >= 0}
    # Two corners for each profile on both of its sides: between profiles are cells without a width.
    values = np.full((highest, 2 * len(profiles) - 1), np.nan)
    upright = np.zeros((highest + 1, 2 * len(profiles)))
    across = np.broadcast_to(np.array([[borders[where[at]], borders[where[at] + 1]] for at in range(len(profiles))]).reshape(1, -1), upright.shape)
    for at, (own, edges) in enumerate(columns):
        values[: len(own), 2 * at] = own
        padded = np.pad(edges, (0, highest + 1 - len(edges)), mode="edge")
        upright[:, 2 * at] = upright[:, 2 * at + 1] = padded
    draw_cells(dataset, axes, across, upright, values, look)
    ends = np.concatenate([edges for own, edges in columns if len(own)])
    axes.set(xlim=(borders.min(), borders.max()), ylim=(ends.min(), ends.max()))


def _column(profile: Profile) -> tuple[Array, Array]:
    """The values of the cells of a profile, each that is further from its mean if several share a cell, and the edges of the cells."""
    known = np.isfinite(profile.values)
    if not known.any():
        return np.zeros(0), np.zeros(1)
    levels, values = profile.levels, profile.values
    starts = np.arange(0, len(levels), -(-len(levels) // MAX_LEVELS))
    low, high, mean = np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts), float(np.mean(values[known]))
    if len(levels) == 1:
        return values, np.array([levels[0] - 0.5, levels[0] + 0.5])
    edges = np.concatenate([[1.5 * levels[0] - 0.5 * levels[1]], (levels[starts[1:] - 1] + levels[starts[1:]]) / 2, [1.5 * levels[-1] - 0.5 * levels[-2]]])
    if levels[0] >= 0:
        edges = np.maximum(edges, 0)  # nothing is above the surface
    return np.where(high - mean >= mean - low, high, low), edges
