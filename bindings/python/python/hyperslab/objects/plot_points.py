"""Points: arrays of two columns as a scatter, or of many points as their numbers in squares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .inherited import coordinate_of as coordinate_of_bounds
from .plot_axes import label_of
from .plot_cells import Dataset, decoded, slabs
from .plot_look import add_bar, note, say_instead

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of points that are drawn as such, and squares along each axis for more.
MAX_POINTS, SQUARES = 100_000, 300
_MIN_POINTS = 3


def are_points(dataset: Dataset) -> bool:
    """Whether a dataset is two columns of numbers without names. The columns of netCDF arrays are dimensions."""
    if dataset.ndim != 2 or dataset.shape[1] != 2 or dataset.shape[0] < _MIN_POINTS or dataset.dtype.kind not in "iuf":
        return False
    has_name = bool(dataset.dims and dataset.dims[1]) or dataset._scale(1) is not None
    return not has_name and coordinate_of_bounds(cast(Any, dataset)) is None


def draw_points(dataset: Dataset, axes: Axes) -> None:
    """Draws the first column across and the second one upright."""
    axes.set(xlabel="column 0", ylabel=f"column 1 of {label_of(dataset, dataset.name)}")
    if dataset.shape[0] <= MAX_POINTS:
        points = decoded(dataset, (slice(None), slice(None)))
        known = np.isfinite(points).all(axis=1)
        if not known.any():
            say_instead(axes, "all values are missing")
            return
        axes.plot(*points[known].T, ".", markersize=8 if len(points) < 500 else 3, rasterized=len(points) > 5000)
        missing = int(np.count_nonzero(~known))
    else:
        missing = _draw_squares(dataset, axes)
    if missing:
        note(axes, f"{missing:,} of {dataset.shape[0]:,} points are missing")


def _draw_squares(dataset: Dataset, axes: Axes) -> int:
    """Draws the number of points in each square, and returns how many points are missing."""
    from matplotlib.colors import LogNorm

    ends, known = np.array([[np.inf, -np.inf]] * 2), 0
    for key in slabs(dataset.shape):
        points = decoded(dataset, (key[0], slice(None)))
        points = points[np.isfinite(points).all(axis=1)]
        known += len(points)
        if len(points):
            ends = np.stack([np.minimum(ends[:, 0], points.min(axis=0)), np.maximum(ends[:, 1], points.max(axis=0))], axis=1)
    if not known:
        say_instead(axes, "all values are missing")
        return 0
    ends[:, 1] = np.where(ends[:, 1] > ends[:, 0], ends[:, 1], ends[:, 0] + 1)
    edges = [np.linspace(low, high, SQUARES + 1) for low, high in ends]
    counts = np.zeros((SQUARES, SQUARES))
    for key in slabs(dataset.shape):
        points = decoded(dataset, (key[0], slice(None)))
        known_points = points[np.isfinite(points).all(axis=1)]
        counts += np.histogram2d(known_points[:, 0], known_points[:, 1], bins=edges)[0]
    mesh = axes.pcolormesh(*edges, np.ma.masked_equal(counts.T, 0), norm=LogNorm())
    add_bar(mesh, axes, "points")
    return dataset.shape[0] - known
