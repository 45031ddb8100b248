"""Query results: what the methods of a query return."""

from __future__ import annotations

from typing import NamedTuple

from ..base.type_aliases import Float64Array, Int64Array


class Step(NamedTuple):
    """A group that a query matches.

    Attributes:
        file: Path of the file.
        group: Path of the group in the file.
        shape: Shape of its arrays.
    """

    file: str
    group: str
    shape: tuple[int, ...]


class CountBounds(NamedTuple):
    """Lower and upper bound of a number of rows, both inclusive."""

    lower: int
    upper: int


class HistogramBounds(NamedTuple):
    """Lower and upper bound of the number of rows of each bin, both inclusive, and the edges of the bins."""

    lower: Int64Array
    upper: Int64Array
    edges: Float64Array
