"""Layouts: ways to store an array, what a read costs in each, and which chunk shapes are worth comparing."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from ..base.type_aliases import Json
from .accesses import Pattern

#: Chunk sizes that are compared, in bytes. Smaller ones cost more metadata than they save, larger ones are not kept by the
#: chunk caches of readers.
CHUNK_BYTES = (64 << 10, 256 << 10, 1 << 20, 4 << 20)
#: Runs of wanted elements that lie further apart are read one by one (see docs/costs.md).
GAP_BYTES = 32 << 10


@dataclass(frozen=True)
class Filter:
    """Filters of a dataset, as arguments of `create_dataset`, and what was measured on sampled chunks of the file."""

    name: str
    options: tuple[tuple[str, Json], ...]
    #: Size of the values divided by their stored size.
    ratio: float = 1.0
    #: Bytes of values each second, of one thread.
    encode_rate: float = 2e9
    decode_rate: float = 4e9
    #: Whether values change; such a filter is measured, and never applied.
    lossy: bool = False
    #: Whether programs that use the HDF5 library need a plugin for it.
    needs_plugin: bool = False
    #: Whether it is the dataset's current layout.
    is_current: bool = False

    @property
    def is_none(self) -> bool:
        """Whether chunks are stored as they are."""
        return not self.options


NO_FILTER = Filter("none", ())


@dataclass(frozen=True)
class Layout:
    """A chunk shape (`None` is contiguous) and filters."""

    chunks: tuple[int, ...] | None
    filter: Filter

    def stores_like(self, other: Layout) -> bool:
        """Whether a dataset is stored the same way in both, whatever was measured of their filters."""
        return self.chunks == other.chunks and dict(self.filter.options) == dict(other.filter.options)

    def describe(self) -> str:
        """In a few words."""
        shape = "contiguous" if self.chunks is None else "×".join(map(str, self.chunks))
        return shape if self.filter.is_none else f"{shape}, {self.filter.name}"


@dataclass(frozen=True)
class Costs:
    """What a read costs on this machine, in seconds and bytes each second."""

    call_seconds: float = 20e-6
    #: Finding a chunk and handing it to a thread: `make bench-scale`, benches/results/scale.json.
    chunk_seconds: float = 8.6e-6
    #: A read of the operating system, and its bytes.
    request_seconds: float = 3e-6
    request_rate: float = 4e9
    #: Copying values into the result, and starting a run of them.
    copy_rate: float = 3e9
    run_seconds: float = 4e-9
    threads: int = 1


@dataclass(frozen=True)
class Work:
    """What one read makes a reader do."""

    chunks: float
    requests: float
    read_bytes: float
    decoded_bytes: float
    wanted_bytes: float
    runs: float

    def seconds(self, layout: Layout, costs: Costs) -> float:
        """How long it takes, by the model."""
        side_by_side = max(min(costs.threads, self.chunks), 1)
        decoding = 0.0 if layout.filter.is_none else self.decoded_bytes / layout.filter.decode_rate
        copying = self.wanted_bytes / costs.copy_rate + self.runs * costs.run_seconds
        chunks = self.chunks * costs.chunk_seconds
        reading = self.requests * costs.request_seconds + self.read_bytes / costs.request_rate
        return costs.call_seconds + (chunks + decoding + copying) / side_by_side + reading


def work_of(pattern: Pattern, layout: Layout, element_bytes: int) -> Work:
    """What a read of this pattern costs in this layout."""
    shape = pattern.shape
    counts = pattern.counts()
    chunks = layout.chunks or shape
    touched = pattern.touched(chunks)
    number = math.prod(touched)
    inside = [min(count, chunk) for count, chunk in zip(counts, chunks, strict=True)]
    wanted = float(math.prod(counts) * element_bytes)
    runs = math.prod(counts[:-1]) * (touched[-1] if touched else 1.0)
    chunk_bytes = float(math.prod(chunks) * element_bytes)
    if not layout.filter.is_none:
        # Chunks at the border are stored whole, too.
        decoded = number * chunk_bytes
        return Work(number, number, decoded / layout.filter.ratio, decoded, wanted, runs)
    span, requests = _span(inside, chunks, element_bytes)
    return Work(number, number * requests, min(number * span, max(number, 1) * chunk_bytes), 0.0, wanted, runs)


def _span(inside: list[int], chunks: tuple[int, ...], element_bytes: int) -> tuple[float, float]:
    """Bytes that are read of one chunk without filters, and in how many pieces."""
    length, stride, pieces = float(element_bytes), float(element_bytes), 1.0
    for count, extent in zip(reversed(inside), reversed(chunks), strict=True):
        gap = stride - length
        if count > 1 and gap > GAP_BYTES:
            pieces *= count
        else:
            length += (count - 1) * stride
        stride *= extent
    return length * pieces, pieces


def chunk_shapes(shape: tuple[int, ...], element_bytes: int) -> list[tuple[int, ...]]:
    """Chunk shapes that are compared: powers of two along each dimension, and all of it, in the sizes of `CHUNK_BYTES`."""
    found: set[tuple[int, ...]] = set()
    whole = math.prod(shape) * element_bytes
    for aim in CHUNK_BYTES:
        if whole <= aim:
            found.add(shape)
            continue
        room = aim // element_bytes
        # The last dimension but those that were chosen takes what is left, so that no shape is much smaller than it may be.
        for free in range(len(shape)):
            others = [_extents(extent, room) for axis, extent in enumerate(shape) if axis != free]
            for chosen in itertools.islice(itertools.product(*others), 20_000):
                left = room // max(math.prod(chosen), 1)
                if left < 1:
                    continue
                candidate = list(chosen)
                candidate.insert(free, min(left, shape[free]))
                if math.prod(candidate) * element_bytes * 4 >= aim:
                    found.add(tuple(candidate))
    return sorted(found)


def _extents(extent: int, room: int) -> list[int]:
    powers = [1 << n for n in range(extent.bit_length()) if 1 << n < extent]
    return [n for n in [*powers, extent] if n <= room]
