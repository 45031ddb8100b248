"""Quantiles: interpolation between the values below and above, by the methods of numpy."""

from __future__ import annotations

import numpy as np

from ..base.type_aliases import AnyArray, Float64Array

#: Methods of `Query.quantile`.
METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def interpolated(below: AnyArray, above: AnyArray, places: Float64Array, method: str) -> AnyArray:
    """Interpolates at `places`, between the values below and above, by numpy's rules."""
    part = places - np.floor(places)
    if method == "lower":
        return below
    if method == "higher":
        return np.asarray(np.where(part > 0, above, below))
    if method == "nearest":
        even = np.floor(places) % 2 == 0
        return np.asarray(np.where((part < 0.5) | ((part == 0.5) & even), below, above))
    if method == "midpoint":
        part = np.where(part > 0, 0.5, 0.0)
    if below.dtype.kind not in "fc":
        below, above = below.astype(np.float64), above.astype(np.float64)
    with np.errstate(invalid="ignore"):
        step = above - below
        found = np.where(part < 0.5, below + step * part, above - step * (1 - part))
    # Between two infinities of one sign, the result is that infinity.
    return np.asarray(np.where(below == above, below, found))
