"""Query results: what the methods of a query return."""

from __future__ import annotations

from typing import NamedTuple

from ..type_aliases import AnyArray, Float64Array, Int64Array
from . import html


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


class Histogram(NamedTuple):
    """A histogram of one or more variables.

    Attributes:
        values: `values[i, j, …]` is the number of rows, or the sum of their weights, in bin `i` of the first variable, `j` of
            the second, and so on.
        edges: The edges of the bins of each variable, one more than bins.
    """

    values: AnyArray
    edges: tuple[Float64Array, ...]

    def _repr_html_(self) -> str:
        return html.of_histogram(self.values, self.edges)


class HistogramBounds(NamedTuple):
    """Lower and upper bound of the number of rows of each bin, both inclusive, and the edges of the bins."""

    lower: Int64Array
    upper: Int64Array
    edges: Float64Array
