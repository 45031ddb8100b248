"""Advice for one dataset: the layout that suits its accesses, with what was measured and predicted."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..objects.dataset import Dataset
from .accesses import Access, Pattern
from .layouts import NO_FILTER, Costs, Filter, Layout, chunk_shapes, work_of
from .pilot import Reads, Source, affordable, choose_reads, make_pilot, time_reads
from .sampling import FLETCHER32, current_filter, measure_filters

#: A dataset is stored in another way only if its reads become faster by more than this.
WORTHWHILE = 1.15
#: How much larger a dataset may become if it is to be balanced.
GROWTH = 1.1
#: Layouts that the model ranks first and that are then timed.
FINALISTS = 3
#: A contiguous dataset of more than this is not made for a pilot, because it would be written whole.
MAX_CONTIGUOUS_BYTES = 1 << 30


@dataclass(frozen=True)
class AccessPrediction:
    """One access: seconds of a read now and with the advice, and the bytes that a read gets from the file."""

    text: str
    weight: float
    before_seconds: float
    after_seconds: float
    before_bytes: float
    after_bytes: float

    @property
    def gain(self) -> float:
        """How many times as fast a read becomes."""
        return self.before_seconds / self.after_seconds if self.after_seconds else 1.0


@dataclass(frozen=True)
class DatasetAdvice:
    """How a dataset is stored, how it should be, and what that brings."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    value_bytes: int
    current: Layout
    advised: Layout
    #: Why the layout is this one.
    reason: str
    #: `pilot`: timed on chunks of this dataset in the new layout; `model`: computed; `none`: nothing changes.
    basis: str
    filters: tuple[Filter, ...]
    accesses: tuple[AccessPrediction, ...]
    stored_bytes: int
    advised_bytes: int
    #: The reads that were timed; `apply` times others.
    patterns: tuple[Pattern, ...]

    @property
    def is_kept(self) -> bool:
        """Whether the dataset stays as it is."""
        return self.basis == "none"

    @property
    def gain(self) -> float:
        """How many times as fast the accesses become together, each with its weight."""
        return total_gain(self.accesses)


def total_gain(accesses: Sequence[AccessPrediction]) -> float:
    """How many times as fast accesses become together."""
    after = sum(access.weight * access.after_seconds for access in accesses)
    return sum(access.weight * access.before_seconds for access in accesses) / after if after else 1.0


def total_seconds(patterns: Sequence[Pattern], seconds: Sequence[float]) -> float:
    """Seconds of one read of each access, by weight."""
    return sum(pattern.access.weight * one for pattern, one in zip(patterns, seconds, strict=True))


@dataclass(frozen=True)
class Wishes:
    """What the caller wants."""

    accesses: Sequence[Access]
    prefer: str
    #: Whether filters may be chosen that programs with the HDF5 library need plugins for.
    plugins: bool
    cold: bool
    threads: int | None
    seed: int
    #: A folder for pilots.
    folder: str


def advise_dataset(dataset: Dataset, filename: str, wishes: Wishes, costs: Costs) -> DatasetAdvice:
    """Compares layouts of a dataset for the wanted accesses, and times the best of them."""
    chance = random.Random(f"{wishes.seed}{dataset.name}")
    wanted = [access for access in wishes.accesses if access.path is None or access.path == dataset.name]
    patterns = [access.pattern(dataset.shape, dataset.dims) for access in wanted]
    element_bytes = dataset.dtype.itemsize
    own = current_filter(dataset)
    current = Layout(dataset.chunks, own or Filter(", ".join(dataset.filters), (("compression", "other"),), is_current=True))
    shapes = chunk_shapes(dataset.shape, element_bytes)
    unfiltered = Filter("?", (("", ""),), 2.0, decode_rate=1e9) if dataset.filters or wishes.prefer == "size" else NO_FILTER
    ranked = sorted(shapes, key=lambda shape: _seconds(patterns, Layout(shape, unfiltered), element_bytes, costs))
    filters = measure_filters(dataset, ranked[0], wishes.folder, chance)
    own_measured = next((filter for filter in filters if filter.is_current), None)
    stored = dataset.stored_bytes
    if own_measured is None:
        # Filters that Hyperslab only reads: their ratio is known, their speed is assumed to be the speed of gzip.
        own_measured = replace(current.filter, ratio=dataset.nbytes / max(stored, 1), decode_rate=2e8)
    current = Layout(dataset.chunks, own_measured)
    layouts = _layouts(dataset, ranked[:40], filters, wishes, stored)
    layouts.sort(key=lambda layout: _rank(layout, patterns, element_bytes, costs, wishes.prefer))
    finalists = _distinct([*layouts, *([current] if own is not None else [])], FINALISTS)
    along = [max(edges) for edges in zip(*((layout.chunks or (1,) * len(dataset.shape)) for layout in [*finalists, current]), strict=True)]
    reads = [choose_reads(pattern, element_bytes, chance, along) for pattern in patterns]
    best, before, after, basis = _best(dataset, filename, finalists, reads, patterns, wishes, costs, current)
    faster = total_seconds(patterns, before) >= WORTHWHILE * total_seconds(patterns, after)
    smaller = wishes.prefer == "size" and best.filter.ratio >= WORTHWHILE * current.filter.ratio
    if not faster and not smaller:
        best, after, basis = current, before, "none"
    predictions = [
        AccessPrediction(p.access.text, p.access.weight, b, a, work_of(p, current, element_bytes).read_bytes, work_of(p, best, element_bytes).read_bytes)
        for p, b, a in zip(patterns, before, after, strict=True)
    ]
    advised_bytes = stored if basis == "none" else int(_padded_bytes(dataset, best) / best.filter.ratio)
    return DatasetAdvice(
        dataset.name, dataset.shape, str(dataset.dtype), dataset.nbytes, current, best, _reason(current, best, basis), basis,
        tuple(filters), tuple(predictions), stored, advised_bytes, tuple(patterns),
    )  # fmt: skip


def _padded_bytes(dataset: Dataset, layout: Layout) -> int:
    """Bytes of all chunks before filters, whole ones at the borders."""
    if layout.chunks is None:
        return dataset.nbytes
    return math.prod(-(-extent // edge) * edge for extent, edge in zip(dataset.shape, layout.chunks, strict=True)) * dataset.dtype.itemsize


def _layouts(dataset: Dataset, shapes: Sequence[tuple[int, ...]], filters: Sequence[Filter], wishes: Wishes, stored: int) -> list[Layout]:
    allowed = [filter for filter in filters if filter.is_current or not (filter.lossy or (filter.needs_plugin and not wishes.plugins))]
    found = [Layout(shape, filter) for filter in allowed for shape in shapes]
    if tuple(dataset.maxshape) == dataset.shape and FLETCHER32 not in dataset.filter_ids:
        found.append(Layout(None, NO_FILTER))
    if wishes.prefer != "balanced":
        return found
    # The ratios are of sampled blocks of one shape, and of other shapes they differ: what the dataset's own filters reach on
    # the same blocks is the measure.
    own = next((filter.ratio for filter in filters if filter.is_current), dataset.nbytes / max(stored, 1))
    limit = max(dataset.nbytes / own, stored) * GROWTH
    fitting = [layout for layout in found if _padded_bytes(dataset, layout) / layout.filter.ratio <= limit]
    smallest = min(_padded_bytes(dataset, layout) / layout.filter.ratio for layout in found)
    return fitting or [layout for layout in found if _padded_bytes(dataset, layout) / layout.filter.ratio <= smallest * GROWTH]


def _rank(layout: Layout, patterns: Sequence[Pattern], element_bytes: int, costs: Costs, prefer: str) -> tuple[float, float]:
    seconds = _seconds(patterns, layout, element_bytes, costs)
    # Sizes within 2 % are equal.
    return (-round(math.log(layout.filter.ratio) / 0.02), seconds) if prefer == "size" else (0, seconds)


def _seconds(patterns: Sequence[Pattern], layout: Layout, element_bytes: int, costs: Costs) -> float:
    return sum(pattern.access.weight * work_of(pattern, layout, element_bytes).seconds(layout, costs) for pattern in patterns)


def _distinct(layouts: Sequence[Layout], count: int) -> list[Layout]:
    """The first layouts that differ much: by filter, or by a factor of 3 in an extent of the chunks."""
    found: list[Layout] = []
    for layout in layouts:
        if not any(_alike(layout, other) for other in found):
            found.append(layout)
        if len(found) == count:
            break
    return found


def _alike(one: Layout, other: Layout) -> bool:
    if one.filter.name != other.filter.name or (one.chunks is None) != (other.chunks is None):
        return False
    return all(max(a, b) < 3 * min(a, b) for a, b in zip(one.chunks or (), other.chunks or (), strict=True))


def _best(
    dataset: Dataset, filename: str, finalists: Sequence[Layout], reads: Sequence[Reads], patterns: Sequence[Pattern], wishes: Wishes,
    costs: Costs, current: Layout,
) -> tuple[Layout, list[float], list[float], str]:  # fmt: skip
    """The fastest of the finalists, seconds of each access now and in it, and where these come from."""
    sources, layouts = [Source(filename, dataset.name, reads)], []
    try:
        for number, layout in enumerate(finalists):
            kept = affordable(dataset, layout, reads)
            if layout.stores_like(current) or kept is None or (layout.chunks is None and dataset.nbytes > MAX_CONTIGUOUS_BYTES):
                continue
            path = os.path.join(wishes.folder, f"pilot{number}.h5")
            make_pilot(dataset, layout, kept, path)
            sources.append(Source(path, "x", kept))
            layouts.append(layout)
        before, *timed = time_reads(sources, threads=wishes.threads, cold=wishes.cold)
    finally:
        for source in sources[1:]:
            os.remove(source.path)
    if timed:
        weighted = [total_seconds(patterns, seconds) for seconds in timed]
        # If size matters most, the layouts are in its order, and the times only say what the first costs.
        chosen = 0 if wishes.prefer == "size" else weighted.index(min(weighted))
        return layouts[chosen], before, timed[chosen], "pilot"
    changed = [layout for layout in finalists if not layout.stores_like(current)]
    if not changed:
        return current, before, before, "none"
    # By the model's ratio to what it says of the present layout, so that its errors in common cancel.
    size, after = dataset.dtype.itemsize, []
    for pattern, seconds in zip(patterns, before, strict=True):
        modeled = work_of(pattern, current, size).seconds(current, costs)
        after.append(seconds * work_of(pattern, changed[0], size).seconds(changed[0], costs) / modeled)
    return changed[0], before, after, "model"


def _reason(current: Layout, best: Layout, basis: str) -> str:
    if basis == "none":
        return f"no layout that was compared is {WORTHWHILE:g} times as fast: it stays as it is"
    parts = []
    if best.chunks != current.chunks:
        parts.append("a read touches fewer bytes and chunks" if best.chunks else "reads take whole rows, and need no chunks")
    if best.filter.options != current.filter.options:
        filter = best.filter
        parts.append("no filter has to be undone" if filter.is_none else f"{filter.name} decodes {filter.decode_rate / 1e6:,.0f} MB/s at {filter.ratio:.2f}:1")
    return "; ".join(parts)
