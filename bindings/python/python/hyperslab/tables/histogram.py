"""Histogram: counts of values in bins, of tables and queries, and what notebooks show of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..base.blocks import card, dim, facts, fold, grid, leaf, text
from ..base.type_aliases import AnyArray, Float64Array

#: Bins of a drawn histogram along each dimension.
MAX_BINS = 100
#: Pixels of a drawing.
_WIDTH, _HEIGHT = 480, 120


class Histogram(NamedTuple):
    """A histogram of one or more variables: `counts, (edges,) = …` of one, `counts, (x, y) = …` of two.

    Attributes:
        values: `values[i, j, …]` is the number of rows, or the sum of their weights, in bin `i` of the first variable, `j` of
            the second, and so on.
        edges: The edges of the bins of each variable, one more than bins.
    """

    values: AnyArray
    edges: tuple[Float64Array, ...]

    def _repr_html_(self) -> str:
        return _html(self.values, self.edges)


def _html(values: AnyArray, edges: Sequence[Float64Array]) -> str:
    """A histogram: a drawing for one or two variables, and the totals."""
    total = values.sum()
    about = [
        ("bins", " × ".join(f"{extent:,}" for extent in values.shape)),
        ("total", f"{total:,}" if values.dtype.kind in "iu" else f"{total:.6g}"),
        ("range", "; ".join(f"{side[0]:.6g} to {side[-1]:.6g}" for side in edges)),
    ]
    drawn = ""
    if values.size and values.ndim == 1:
        drawn = _bars(values, edges[0]) + fold("<b>bins</b>", _bins(values, edges[0]))
    elif values.size and values.ndim == 2 and max(values.shape) <= MAX_BINS:
        drawn = _cells(values, edges)
    return card("Histogram", f"{values.ndim} variable{'' if values.ndim == 1 else 's'}", "", facts(about), drawn)


def _bins(values: AnyArray, edges: Float64Array) -> str:
    return grid(["from", "to", "rows"], [(f"{edges[i]:.6g}", f"{edges[i + 1]:.6g}", f"{value:,}") for i, value in enumerate(values)], numbers=[True] * 3)


def _bars(values: AnyArray, edges: Float64Array) -> str:
    """Bars from edge to edge, as high as their values. Of many bins, neighbors are drawn as the highest of them."""
    together = -(-len(values) // MAX_BINS)
    starts = np.arange(0, len(values), together)
    heights = np.maximum.reduceat(values.astype(float), starts)
    sides = np.append(edges[starts], edges[-1]).astype(float)
    highest, lowest = max(float(heights.max()), 0.0), min(float(heights.min()), 0.0)
    span = sides[-1] - sides[0]
    if not (np.isfinite(heights).all() and np.isfinite(sides).all() and span > 0 and highest > lowest):
        return leaf(dim("nothing to draw"))
    x = (sides - sides[0]) / span * _WIDTH
    scale = _HEIGHT / (highest - lowest)
    zero = highest * scale
    bars = "".join(
        f"<rect x='{left:.1f}' width='{max(right - left - 0.5, 0.5):.1f}' y='{min(zero, zero - height * scale):.1f}' height='{abs(height) * scale:.1f}'/>"
        for left, right, height in zip(x[:-1], x[1:], heights, strict=True)
    )
    low, high, most = (text(f"{number:.6g}") for number in (sides[0], sides[-1], highest))
    labels = (
        f"<text x='0' y='{_HEIGHT + 14}'>{low}</text><text x='{_WIDTH}' y='{_HEIGHT + 14}' text-anchor='end'>{high}</text>"
        f"<text x='{_WIDTH + 6}' y='10'>{most}</text>"
    )
    return _drawing(_WIDTH + 80, _HEIGHT + 18, f"<g fill-opacity='.6'>{bars}</g>{labels}")


def _cells(values: AnyArray, edges: Sequence[Float64Array]) -> str:
    """Cells as dark as their share of the largest value: the first variable to the right, the second upwards."""
    highest = float(np.abs(values).max())
    if not np.isfinite(highest) or highest == 0:
        return leaf(dim("every bin is empty"))
    columns, rows = values.shape
    side = max(2.0, min(12.0, 360 / max(columns, rows)))
    cells = "".join(
        f"<rect x='{i * side:.1f}' y='{(rows - 1 - j) * side:.1f}' width='{side:.1f}' height='{side:.1f}' fill-opacity='{0.08 + 0.92 * abs(float(values[i, j])) / highest:.2f}'/>"
        for i, j in zip(*np.nonzero(values), strict=True)
    )
    width, height = columns * side, rows * side
    (left, right), (bottom, top) = ([text(f"{end:.6g}") for end in (of_one[0], of_one[-1])] for of_one in edges)
    labels = (
        f"<text x='0' y='{height + 14:.0f}'>{left}</text><text x='{max(width, 90):.0f}' y='{height + 14:.0f}' text-anchor='end'>{right}</text>"
        f"<text x='{width + 6:.0f}' y='10'>{top}</text><text x='{width + 6:.0f}' y='{height:.0f}'>{bottom}</text>"
    )
    frame = f"<rect x='.5' y='.5' width='{width - 1:.1f}' height='{height - 1:.1f}' fill='none' stroke='currentColor' stroke-opacity='.3'/>"
    return _drawing(max(width, 90) + 80, height + 18, cells + frame + labels)


def _drawing(width: float, height: float, inner: str) -> str:
    return f"<svg width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.0f} {height:.0f}' fill='currentColor' font-size='11'>{inner}</svg>"
