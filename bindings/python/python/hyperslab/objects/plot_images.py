"""Images: values along two dimensions as colored cells over their coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import plot_coastlines
from .plot_axes import Coordinate, edges_of
from .plot_categories import categories_of, category_bar, colors_of
from .plot_cells import Array, Dataset, Extremes
from .plot_dates import calendar_of, matplotlib_days
from .plot_lines import date_axis, point_vertical
from .plot_look import Look, value_bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maps that are longer than this many times their width keep the shape of the picture: they would be stripes.
MAX_ASPECT = 4.0


def shown_values(cells: Extremes) -> Array:
    """The value of each cell that is further from the mean of the image, so that no extreme is lost."""
    return np.where(cells.high - cells.mean >= cells.mean - cells.low, cells.high, cells.low)


def draw_cells(dataset: Dataset, axes: Axes, across: Array, upright: Array, values: Array, look: Look) -> Any:
    """Draws cells between edges, of one or two dimensions, with a color bar."""
    categories = None if look.is_numeric else categories_of(dataset, values)
    if categories is not None:
        mesh = axes.pcolormesh(across, upright, np.ma.masked_invalid(categories.numbers(values)), **colors_of(categories, look))
        category_bar(dataset, mesh, categories, axes)
        return mesh
    calendar = calendar_of(dataset)
    if calendar is not None:
        values = matplotlib_days(values, calendar)
    mesh = axes.pcolormesh(across, upright, np.ma.masked_invalid(values), **look.colors())
    value_bar(dataset, mesh, values, axes, look)
    return mesh


def draw_image(dataset: Dataset, axes: Axes, coordinates: list[Coordinate], values: Array, look: Look) -> None:
    """Draws values over the coordinates of their rows and columns."""
    rows, row_edges = edges_of(coordinates[0])
    columns, column_edges = edges_of(coordinates[1])
    # -1 is a gap between cells.
    with_gaps = np.where((rows[:, None] < 0) | (columns[None, :] < 0), np.nan, values[np.ix_(rows, columns)])
    draw_cells(dataset, axes, column_edges, row_edges, with_gaps, look)
    axes.set(xlabel=coordinates[1].label, ylabel=coordinates[0].label)
    date_axis(axes.xaxis, coordinates[1])
    date_axis(axes.yaxis, coordinates[0])
    if {coordinate.role for coordinate in coordinates} == {"latitude", "longitude"}:
        is_upright = coordinates[0].role == "latitude"
        if look.coastlines:
            longitudes, latitudes = (column_edges, row_edges) if is_upright else (row_edges, column_edges)
            plot_coastlines.draw(axes, longitudes, latitudes, is_upright)
        set_map_scale(axes, column_edges, row_edges)
    if not coordinates[0].known:
        axes.invert_yaxis()  # without coordinates the first row is at the top, as arrays are printed
    elif coordinates[0].role == "down":
        point_vertical(axes, "down")


def set_map_scale(axes: Axes, across: Array, upright: Array) -> None:
    """Gives a map of degrees the same scale in both directions, unless it would be a stripe."""
    tall, wide = np.ptp(upright), np.ptp(across)
    if 1 / MAX_ASPECT < tall / wide < MAX_ASPECT:
        axes.set_aspect("equal")
