"""Lines: values along one dimension, as a line or a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError
from .plot_axes import Coordinate
from .plot_categories import categories_of
from .plot_cells import Array, Dataset, Extremes, histogram
from .plot_dates import STANDARD, calendar_of, label_dates, matplotlib_days
from .plot_look import Look, note, say_instead, value_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis


def draw_line(dataset: Dataset, axes: Axes, coordinate: Coordinate, cells: Extremes, look: Look) -> None:
    """Draws the values of cells, both extremes of those that have several, against a coordinate: upright if that is a vertical one."""
    if len(coordinate.values) == len(cells.low) and np.array_equal(cells.low, cells.high, equal_nan=True):  # one value or equal ones
        where, values = coordinate.values, cells.low
    else:
        where, values = np.repeat(coordinate.values, 2), np.stack([cells.low, cells.high], axis=1).reshape(-1)
    categories = None if look.is_numeric else categories_of(dataset, values)
    calendar = calendar_of(dataset)
    if categories is not None:
        values = categories.numbers(values)
    elif calendar is not None:
        values = matplotlib_days(values, calendar)
    is_upright = coordinate.role in ("up", "down")
    _values_line(axes, where, values, is_upright, categories is not None)
    if is_upright:
        axes.set(xlabel=value_label(dataset), ylabel=coordinate.label, xlim=(look.vmin, look.vmax))
        point_vertical(axes, coordinate.role)
        value_axis: Axis = axes.xaxis
        set_scale = axes.set_xscale
    else:
        axes.set(xlabel=coordinate.label, ylabel=value_label(dataset), ylim=(look.vmin, look.vmax))
        value_axis, set_scale = axes.yaxis, axes.set_yscale
        date_axis(axes.xaxis, coordinate)
    if look.log:
        set_scale("log")
    if categories is not None:
        value_axis.set_ticks(list(range(len(categories.names))), labels=categories.names)
    elif calendar is not None:
        label_dates(value_axis, calendar)


def _values_line(axes: Axes, where: Array, values: Array, is_upright: bool, is_stepped: bool) -> None:
    # A line needs two values: one without neighbors is a point.
    empty = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    alone = ~empty[1:-1] & empty[:-2] & empty[2:]
    ends = (values, where) if is_upright else (where, values)
    (line,) = axes.plot(*ends, drawstyle="steps-mid" if is_stepped and not is_upright else "default")
    axes.plot(*(end[alone] for end in ends), "o", color=line.get_color())


def date_axis(axis: Axis, coordinate: Coordinate) -> None:
    """Labels the axis of a coordinate of dates."""
    if coordinate.calendar is not None:
        axis.set_label_text(f"{coordinate.label.partition(' [')[0]} [{coordinate.calendar}]")  # instead of the units of days
    calendar = STANDARD if coordinate.values.dtype.kind == "M" else coordinate.calendar
    if calendar is not None:
        label_dates(axis, calendar)
        if axis is axis.axes.xaxis:
            axis.set_tick_params(rotation=30)


def point_vertical(axes: Axes, role: str) -> None:
    """Depth and pressure grow downwards."""
    if (role == "down") != axes.yaxis_inverted():
        axes.invert_yaxis()


def draw_histogram(dataset: Dataset, axes: Axes, bins: int, look: Look) -> None:
    """Draws the numbers of values in bins; a note says how many are in none."""
    if bins < 1:
        raise InvalidInputError(f"bins is {bins}: give 1 or more")
    counts, edges, left_out = histogram(dataset, bins, look.log)
    if not counts.size:
        say_instead(axes, "no value is above 0" if look.log else "all values are missing")
        return
    if look.log:
        axes.set_xscale("log")
    calendar = calendar_of(dataset)
    if calendar == STANDARD:
        edges = matplotlib_days(edges, calendar)
    axes.stairs(counts, edges, fill=True)
    axes.set(xlabel=value_label(dataset), ylabel="values", xlim=(edges[0] if look.vmin is None else look.vmin, edges[-1] if look.vmax is None else look.vmax))
    axes.locator_params(axis="y", integer=True)
    if calendar is not None:
        label_dates(axes.xaxis, calendar)
        axes.xaxis.set_tick_params(rotation=30)
    if left_out:
        note(axes, f"{left_out:,} of {dataset.size:,} {'missing, infinite or not above 0' if look.log else 'missing or infinite'}")
