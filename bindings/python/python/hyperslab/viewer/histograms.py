"""Histograms of a dataset, from its index if it has one that tells, else by reading the values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..base.errors import Error, InvalidInputError
from ..base.type_aliases import AnyArray, JsonObject
from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.plot_axes import label_of
from ..objects.plot_cells import decoded
from ..querying.histogram_bins import rising_edges
from ..querying.query import Query, query
from .conditions import exactly
from .downsampling import block_values
from .requests import Member, Refused
from .watching import Watch

MAX_BINS = 1000
_INDEX = re.compile(r"index (\w) on ")
_ADVICE = "select less of the dataset, or build an index with `hyperslab index`"


def histogram(
    file: File, dataset: Dataset, members: Sequence[Member] | None, bins: int, ends: tuple[float, float] | None, exact: bool, watch: Watch
) -> JsonObject:
    """Counts values in bins of equal width.

    Args:
        file: The open file.
        dataset: One of its datasets.
        members: A selection; by default everything.
        bins: Number of bins.
        ends: Lower and upper end; by default the smallest and the largest finite value.
        exact: Read the values if the index only bounds the counts.
        watch: Ends the reading.

    Returns:
        The answer: edges, lower and upper bounds of the counts (the same if they are exact), and where they come from.

    Raises:
        Refused: The dataset has no numbers, or reading takes too long.
        Gone: The client is gone.
    """
    if dataset.dtype.kind not in "iufb" or not dataset.size:
        raise Refused(422, f"'{dataset.name}' is not an array of numbers with something in it: choose another dataset")
    if not 1 <= bins <= MAX_BINS:
        raise Refused(422, f"bins is {bins}: give 1 to {MAX_BINS}")
    if ends is not None and not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
        raise Refused(422, f"the range {ends[0]:g} to {ends[1]:g} is empty or infinite")
    found = _from_index(file, dataset, bins, ends) if not members and not exact else None
    if found is None:
        found = _from_values(dataset, tuple(members or ()), bins, ends, watch)
    lower, upper, edges, source = found
    return {
        "edges": edges,
        "lower": lower,
        "upper": upper,
        "is_exact": bool((lower == upper).all()),
        "source": source,
        "label": label_of(dataset, dataset.name.rsplit("/", 1)[-1]),
        "seconds": round(watch.elapsed, 3),
    }


def _from_index(file: File, dataset: Dataset, bins: int, ends: tuple[float, float] | None) -> tuple[AnyArray, AnyArray, AnyArray, str] | None:
    """Bounds of the counts from an index alone; `None` if there is none that tells."""
    parent, _, name = dataset.name.rpartition("/")
    try:
        asked = query(file, exactly(parent or "/"), rows=name)
        asked.histogram_bounds(name, 1, (0.0, 1.0))  # refused if there is no index: then finding the ends would read everything
        found = ends or asked.finite_minmax(name)
        if found is None:
            return None
        low, high = (float(end) for end in found)
        edges = rising_edges(low, high, bins, False, ends is not None) if low < high else np.linspace(low - 0.5, high + 0.5, bins + 1)
        bounds = asked.histogram_bounds(name, edges)
    except Error:
        return None  # no index answers; reading the values says what is wrong with them, if anything is
    return bounds.lower, bounds.upper, edges, f"index {_level(asked, name, edges)} on {name}"


def _level(asked: Query, name: str, edges: AnyArray) -> str:
    """The level of the index as a query that uses it names it."""
    try:
        text = asked.where(f'"{name}" > {float(edges[0])!r}').explain()
    except InvalidInputError:
        return ""
    level = _INDEX.search(text)
    return level[1] if level else ""


def _from_values(
    dataset: Dataset, members: tuple[Member, ...], bins: int, ends: tuple[float, float] | None, watch: Watch
) -> tuple[AnyArray, AnyArray, AnyArray, str]:
    """Counts by reading: once for the ends if they are not given, once for the counts."""
    whole = tuple(members) + (slice(None),) * (dataset.ndim - len(members))
    keys = partial(_keys, dataset.shape, whole, block_values(dataset))
    if ends is None:
        low, high = math.inf, -math.inf
        for key in keys():
            watch.require_time(_ADVICE)
            values = decoded(dataset, key)
            values = values[~np.isnan(values)]
            if values.size:
                low, high = min(low, float(values.min())), max(high, float(values.max()))
        if low > high:
            raise Refused(422, f"all values of '{dataset.name}' are missing: there is nothing to count")
        edges = rising_edges(low, high, bins, False, False) if low < high else np.linspace(low - 0.5, high + 0.5, bins + 1)
    else:
        edges = rising_edges(*ends, bins, False, True)
    counts = np.zeros(bins, np.int64)
    for key in keys():
        watch.require_time(_ADVICE)
        values = decoded(dataset, key)
        counts += np.histogram(values[~np.isnan(values)], edges)[0]
    return counts, counts, edges, "values"


def _keys(shape: Sequence[int], members: tuple[Member, ...], values: int) -> Iterator[tuple[Member, ...]]:
    """Keys that together select what `members` do, of at most `values` values each if rows are not longer."""
    parts = [range(*member.indices(extent)) if isinstance(member, slice) else range(member, member + 1) for member, extent in zip(members, shape, strict=True)]
    if not parts:
        yield ()  # a scalar
        return
    below = 1
    for position in range(len(parts) - 1, -1, -1):
        if below * len(parts[position]) > values or position == 0:
            break
        below *= len(parts[position])
    rows = max(1, values // below)
    for fixed in _combinations(parts[:position]):
        for first in range(0, len(parts[position]), rows):
            piece = parts[position][first : first + rows]
            yield (*fixed, slice(piece.start, piece.stop, piece.step), *(slice(part.start, part.stop, part.step) for part in parts[position + 1 :]))


def _combinations(parts: list[range]) -> Iterator[tuple[int, ...]]:
    """Each index of each part with all others, one after the other: `itertools.product` would make lists of them first."""
    if not parts:
        yield ()
        return
    for index in parts[0]:
        for rest in _combinations(parts[1:]):
            yield index, *rest
