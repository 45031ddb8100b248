"""Histogram bins: edges, and options that apply to one variable or to all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, Float64Array

#: A number of bins, their edges, or `adaptive:64`.
Bins = int | str | Sequence[float] | AnyArray
#: Lower and upper end.
Range = tuple[float, float]

#: Default number of bins.
BINS = 10
#: The smallest positive double, and the largest.
TINIEST, LARGEST = 5e-324, float(np.finfo(np.float64).max)


def rising_edges(low: float, high: float, bins: int, log: bool, is_given: bool) -> Float64Array:
    """Edges from `low` to `high`. Unless the range was given, widens it if doubles are too coarse for that many edges."""
    wider: tuple[float, float] | None = None
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            # The distance of the ends may be more than a double holds.
            scale = 1.0 if math.isfinite(float(high) - float(low)) else 2.0
            edges = np.geomspace(low, high, bins + 1) if log else scale * np.linspace(low / scale, high / scale, bins + 1)
        edges[0], edges[-1] = low, high
        if is_given or bool(np.all(np.diff(edges) > 0)) or (low, high) == wider:
            return edges
        wider = (low, high)
        width = max(high - low, 4 * float(np.spacing(max(abs(low), abs(high)))))
        low, high = (max(low / 2, TINIEST), min(high * 2, LARGEST)) if log else (max(low - width / 2, -LARGEST), min(high + width / 2, LARGEST))


def per_variable(count: int, bins: Any, range: Sequence[Range | None] | None) -> tuple[tuple[Bins, ...], tuple[Range | None, ...]]:
    """The bins and the range of each variable."""
    per_axis = isinstance(bins, (list, tuple)) and len(bins) == count and not all(isinstance(b, float) for b in bins)
    ranges = tuple(range) if range is not None else (None,) * count
    if len(ranges) != count:
        raise InvalidInputError(f"range has {len(ranges)} entries for {count} variables")
    return tuple(bins) if per_axis else (bins,) * count, ranges


def log_of_each(count: int, log: bool | Sequence[bool]) -> tuple[bool, ...]:
    """The option `log` of each variable."""
    each = (bool(log),) * count if isinstance(log, (bool, np.bool_)) else tuple(log)
    if len(each) != count:
        raise InvalidInputError(f"log has {len(each)} entries for {count} variables")
    return each
