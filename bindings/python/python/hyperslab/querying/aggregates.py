"""Aggregates of a query: minimum and maximum, sums, quantiles and histograms of the matching rows."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import overload

import numpy as np

from .. import _native
from ..base.arguments import check_choice
from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, ColumnValue, Float64Array
from ..tables.histogram import Histogram
from ..tables.table import Number
from ..values import record_batches
from .histogram_bins import BINS, LARGEST, TINIEST, Bins, Range, log_of_each, per_variable, rising_edges
from .quantiles import METHODS, interpolated
from .results import HistogramBounds


class Aggregates(abc.ABC):
    """What `Query` computes of variables at the matching rows."""

    _native: _native.Query

    @abc.abstractmethod
    def where(self, text: str) -> Aggregates:
        """The query with one more condition.

        Args:
            text: The condition.

        Returns:
            A new query.
        """

    def minmax(self, name: str) -> tuple[ColumnValue, ColumnValue] | None:
        """Finds the minimum and the maximum of a variable at the matching rows.

        Args:
            name: A variable.

        Returns:
            Minimum and maximum as Python values of the variable's type, or `None` if there are none. Nulls and NaN are left
            out.

        Example:
            >>> q.minmax("energy")
        """
        ends = record_batches.column(self._native.extremes(name)).to_pylist()
        return (ends[0], ends[1]) if ends else None

    def sum(self, name: str) -> Number:
        """Sums a numeric variable at the matching rows; 0 if there are none.

        Nulls and NaN are left out. The sum is exact for integers and in double precision for floats.

        Args:
            name: A numeric variable.

        Returns:
            An integer for integers, a float for floats.

        Example:
            >>> q.sum("energy")
        """
        found = self._native.summary(name).sum
        return 0 if found is None else found

    @overload
    def quantile(self, name: str, q: float, method: str = "linear") -> np.generic: ...

    @overload
    def quantile(self, name: str, q: Sequence[float] | Float64Array, method: str = "linear") -> AnyArray: ...

    def quantile(self, name: str, q: float | Sequence[float] | Float64Array, method: str = "linear") -> np.generic | AnyArray:
        """Computes exact quantiles of a variable at the matching rows, as `numpy.nanquantile` does.

        Args:
            name: A numeric variable. Nulls and NaN are left out.
            q: Fractions from 0 to 1.
            method: linear, lower, higher, nearest or midpoint.

        Returns:
            A scalar for one fraction, an array of the shape of `q` for several; NaN if there are no values.

        Raises:
            InvalidInputError: A fraction is not in 0 to 1, or `method` is not known.

        Example:
            >>> q.quantile("energy", [0.05, 0.5, 0.95])
        """
        check_choice("method", method, METHODS)
        wanted = np.asarray(q, dtype=np.float64)
        if np.any(~((wanted >= 0) & (wanted <= 1))):
            raise InvalidInputError("quantiles lie in the range 0 to 1")
        count, capsules = self._native.order_statistics(name, wanted.ravel().tolist())
        if count == 0:
            return _scalar(np.full(wanted.shape, np.nan))
        pairs = record_batches.column(capsules).to_numpy(zero_copy_only=False)
        found = interpolated(pairs[0::2], pairs[1::2], wanted.ravel() * (count - 1), method)
        return _scalar(found.reshape(wanted.shape))

    def histogram(self, name: str, bins: Bins = BINS, range: tuple[float, float] | None = None, weights: str | None = None, log: bool = False) -> Histogram:
        """Counts the matching rows in bins of a variable.

        Args:
            name: A numeric variable.
            bins: Number of bins of equal width (of equal ratio with `log`), the edges, or `"adaptive"` or `"adaptive:64"` for
                bins of equal weight whose edges are exact quantiles.
            range: Lower and upper end of the bins; by default the minimum and maximum (with `log`, the smallest positive
                value and the maximum).
            weights: A variable whose sum is computed in each bin, instead of a count.
            log: Bins of equal ratio.

        Returns:
            The number of rows in each bin, or the sum of their weights, and the edges.

        Raises:
            InvalidInputError: `bins` or `range` is not valid.

        Example:
            >>> counts, (edges,) = hs.query("run.h5", "/", "x < 140").histogram("energy", 64)
        """
        return self._histogram((name,), (bins,), (range,), weights, (log,))

    def histogram2d(
        self,
        x: str,
        y: str,
        bins: Bins | Sequence[Bins] = BINS,
        range: Sequence[tuple[float, float] | None] | None = None,
        weights: str | None = None,
        log: bool | Sequence[bool] = False,
    ) -> Histogram:
        """Counts the matching rows in bins of two variables.

        Args:
            x, y: Numeric variables.
            bins, range, log: As in `histogram`, for both variables, or a pair with one for each.
            weights: As in `histogram`.

        Returns:
            An array with a dimension for each variable, and the edges.

        Example:
            >>> counts, (x, y) = q.histogram2d("x", "y", bins=(64, 32))
        """
        return self._histogram((x, y), *per_variable(2, bins, range), weights, log_of_each(2, log))

    def histogram3d(
        self,
        x: str,
        y: str,
        z: str,
        bins: Bins | Sequence[Bins] = BINS,
        range: Sequence[tuple[float, float] | None] | None = None,
        weights: str | None = None,
        log: bool | Sequence[bool] = False,
    ) -> Histogram:
        """Counts the matching rows in bins of three variables.

        Args:
            x, y, z: Numeric variables.
            bins, range, log: As in `histogram`, for all variables, or a triple with one for each.
            weights: As in `histogram`.

        Returns:
            An array with a dimension for each variable, and the edges.

        Example:
            >>> counts, (x, y, z) = q.histogram3d("x", "y", "z", bins=16)
        """
        return self._histogram((x, y, z), *per_variable(3, bins, range), weights, log_of_each(3, log))

    def histogram_bounds(self, name: str, bins: int | Sequence[float] | Float64Array, range: tuple[float, float] | None = None) -> HistogramBounds:
        """Bounds the number of matching rows in each bin from the index of `name` alone: reads no data.

        Args:
            name: An indexed variable.
            bins: Number of bins of equal width in `range`, or the edges.
            range: Lower and upper end of the bins.

        Returns:
            The bounds of each bin, and the edges.

        Raises:
            InvalidInputError: `name` has no valid index of level K or above, or the query has a condition on another variable.

        Example:
            >>> hs.query("run.h5").histogram_bounds("energy", 64, (0, 2)).upper
        """
        if isinstance(bins, (int, np.integer)) and range is None:
            raise InvalidInputError("histogram_bounds reads no data: give edges, or a range")
        edges = self._edges(name, bins, range, False)
        found = self._native.histogram_bounds(name, edges.tolist())
        if found is None:
            raise InvalidInputError(f"no index tells a histogram of {name}: it needs a valid one of level K or more, and a condition on {name} alone")
        lower, upper = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return HistogramBounds(lower, upper, edges)

    def _histogram(
        self, names: tuple[str, ...], bins: tuple[Bins, ...], ranges: tuple[Range | None, ...], weights: str | None, logs: tuple[bool, ...]
    ) -> Histogram:
        for name in names:
            if not isinstance(name, str):
                raise InvalidInputError(f"{name!r} is not the name of a variable: histogram2d and histogram3d take several")
        edges = tuple(self._edges(name, b, r, log) for name, b, r, log in zip(names, bins, ranges, logs, strict=True))
        raw = self._native.histogram([(name, e.tolist()) for name, e in zip(names, edges, strict=True)], weights)
        values = np.frombuffer(raw, dtype=np.int64 if weights is None else np.float64)
        return Histogram(values.reshape([len(e) - 1 for e in edges]), edges)

    def _edges(self, name: str, bins: Bins, range: tuple[float, float] | None, log: bool) -> Float64Array:
        if isinstance(bins, str):
            word, _, number = bins.partition(":")
            if word != "adaptive" or (number and not number.isdecimal()) or log:
                raise InvalidInputError(f"bins={bins!r}: give a number, edges, or 'adaptive:64' (without log)")
            return self._adaptive(name, int(number or BINS), range)
        if not isinstance(bins, (int, np.integer)):
            return np.asarray(bins, dtype=np.float64)
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        whole = self.where(f"{_quoted(name)} > 0") if log and range is None else self
        low, high = (float(end) for end in range or whole.finite_minmax(name) or ((1.0, 10.0) if log else (0.0, 1.0)))
        if not (np.isfinite(low) and np.isfinite(high)) or low > high or (log and low <= 0):
            raise InvalidInputError(f"a range of bins from {low} to {high}")
        if low == high:
            low, high = (max(low / 2, TINIEST), min(high * 2, LARGEST)) if log else (low - 0.5, high + 0.5)  # the latter as numpy
        return rising_edges(low, high, int(bins), log, range is not None)

    def finite_minmax(self, name: str) -> Range | None:
        """Finds the smallest and the largest finite value of a variable among the matching rows.

        Args:
            name: A numeric variable.

        Returns:
            Minimum and maximum, or `None` if no row matches or no value is finite.

        Example:
            >>> hs.query("run.h5").finite_minmax("energy")
        """
        found = self.minmax(name)
        if found is not None and not all(np.isfinite(float(end)) for end in found):
            found = self.where(f"isfinite({_quoted(name)})").minmax(name)
        return found

    def _adaptive(self, name: str, bins: int, range: tuple[float, float] | None) -> Float64Array:
        if bins < 1:
            raise InvalidInputError(f"bins is {bins}: give 1 or more")
        inside = self.where(f"isfinite({_quoted(name)})") if range is None else self.where(f"{float(range[0])!r} <= {_quoted(name)} <= {float(range[1])!r}")
        edges = np.unique(np.asarray(inside.quantile(name, np.linspace(0, 1, bins + 1).tolist()), dtype=np.float64))
        edges = edges[np.isfinite(edges)]
        if len(edges) < 2:
            middle = float(edges[0]) if len(edges) else 0.5
            return rising_edges(middle - 0.5, middle + 0.5, 1, False, False)
        return edges


def _quoted(name: str) -> str:
    base, bracket, part = name.partition("[") if name.endswith("]") else (name, "", "")
    return '"' + base.replace('"', '""') + '"' + bracket + part


def _scalar(values: AnyArray) -> np.generic | AnyArray:
    """The element of an array without dimensions, other arrays as they are."""
    found: np.generic | AnyArray = values[()]
    return found
