"""Pilot: a small file with the chunks that some reads touch, in another layout, to time those reads.

The pilot's dataset has the shape and the chunks of the file that is advised, and only the chunks that the reads touch are in it."""

from __future__ import annotations

import contextlib
import functools
import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..base.type_aliases import UInt8Array
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..tuning.machine import forget
from ..writing.new_file import create
from .accesses import Key, Pattern
from .layouts import Layout
from .sampling import dataset_at, source_bytes

#: Reads of an access that are timed: at most, and at least unless they are large. Chunks differ in how well they compress, so few places say little about the
#: others.
READS = 48
MIN_READS = 9
#: Time that one pass over the reads of an access may take in a file; it is timed at as many places as fit.
PASS_SECONDS = 0.1
#: Values that the reads of an access may take in all, and values that may be decoded for a pilot.
WANTED_BYTES = 128 << 20
PILOT_SOURCE_BYTES = 1 << 30
#: A read that takes more than this is timed on its first part.
READ_BYTES = 64 << 20
#: Time that repeating the reads of an access may take.
PATIENCE_SECONDS = 1.5
MAX_REPETITIONS = 100
#: After so many repetitions, this time is enough.
MIN_REPETITIONS = 8
QUICK_SECONDS = 0.3
#: Bytes that are overwritten before each timed read: more than a core's own caches hold. A read at a random place of a large file finds nothing there, while
#: repeated reads of a small pilot would find all of it.
SWEPT_BYTES = 4 << 20
#: Bytes in a pilot before its chunks. Files of a few KiB are kept in memory when they are opened, so they need no reads.
LEADING_BYTES = 64 << 10
#: What reads are timed by. `make bench-advise` takes the processor's time on a machine that has other work.
clock: Callable[[], float] = time.perf_counter


class Reads(NamedTuple):
    """Reads of one access that are timed: their keys, and how many times as long a whole read is as a timed one."""

    keys: list[Key]
    scale: float


def choose_reads(pattern: Pattern, element_bytes: int, chance: random.Random, along: Sequence[int]) -> Reads:
    """Reads at random places. A large read is cut along its longest dimension, in multiples of `along`."""
    keys = pattern.keys(chance, READS)
    if pattern.counts() == list(pattern.shape):
        keys = keys[:1]
    wanted = element_bytes
    for count in pattern.counts():
        wanted *= count
    scale = 1.0
    if wanted > READ_BYTES:
        axis = max(range(len(pattern.shape)), key=lambda a: pattern.counts()[a] / max(along[a], 1))
        count = pattern.counts()[axis]
        kept = max(int(count * READ_BYTES / wanted) // along[axis] * along[axis], min(along[axis], count))
        keys = [(*key[:axis], slice(key[axis].start, key[axis].start + kept), *key[axis + 1 :]) for key in keys]
        scale, wanted = count / kept, wanted * kept // count
    keys = keys[: max(int(WANTED_BYTES // max(wanted, 1)), 2)]
    return Reads(keys, scale)


def box_of(key: Key, chunks: Sequence[int] | None, shape: Sequence[int]) -> Key:
    """The whole chunks that a read touches."""
    if chunks is None:
        return key
    return tuple(
        slice(part.start // chunk * chunk, min(-(-part.stop // chunk) * chunk, extent)) for part, chunk, extent in zip(key, chunks, shape, strict=True)
    )


def affordable(dataset: Dataset, layout: Layout, reads: Sequence[Reads]) -> list[Reads] | None:
    """As many of the reads as can be written into a pilot without decoding too much; `None` if two of each are too many."""
    if dataset.nbytes <= PILOT_SOURCE_BYTES // 2:
        return list(reads)
    for count in (READS, 32, 20, *range(12, 1, -1)):
        kept = [Reads(some.keys[:count], some.scale) for some in reads]
        boxes = [box_of(key, layout.chunks, dataset.shape) for some in kept for key in some.keys]
        if sum(source_bytes(dataset, box) for box in boxes) <= PILOT_SOURCE_BYTES:
            return kept
    return None


def make_pilot(dataset: Dataset, layout: Layout, reads: Sequence[Reads], path: str) -> None:
    """Writes the chunks that the reads touch."""
    chunks = None if layout.chunks is None else tuple(layout.chunks)
    boxes = {tuple((part.start, part.stop) for part in box_of(key, chunks, dataset.shape)) for some in reads for key in some.keys}
    keys = [tuple(slice(start, stop) for start, stop in box) for box in sorted(boxes)]
    # Boxes that need more decoding together than the whole array does are taken from the whole.
    is_cheaper = sum(source_bytes(dataset, key) for key in keys) > dataset.nbytes
    source = dataset[...] if is_cheaper and dataset.nbytes <= PILOT_SOURCE_BYTES // 2 else dataset
    with create(path) as out:
        out.create_dataset("leading", data=np.ones(LEADING_BYTES, "u1"))
        made = out.create_dataset("x", dataset.shape, dataset.dtype, chunks=chunks, **dict(layout.filter.options))
        for key in keys:
            made[key] = source[key]


class Source(NamedTuple):
    """A dataset whose reads are timed: the file's path, the dataset's, and the reads of each access."""

    path: str
    name: str
    reads: Sequence[Reads]


def time_reads(sources: Sequence[Source], *, threads: int | None = None, cold: bool = False) -> list[list[float]]:
    """Mean seconds of a whole read, for each source and access. The sources take turns, so that what else the machine does
    slows all of them; each read is repeated, and its fastest run counts. Slow reads are timed at fewer places."""
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        # Without the cache of decoded chunks: in a large file, reads at random places hardly meet. The files stay open, so that the
        # fastest repetition finds the places of its chunks, of which a pilot has fewer.
        timed = [
            _Timed(one.path, dataset_at(stack.enter_context(open_file(one.path, threads=threads, chunk_cache_bytes=0)), one.name), some, [])
            for one in sources
            for some in one.reads
        ]
        for one in timed:
            one.choose_places(cold)
        for repetition in range(MAX_REPETITIONS):
            for one in timed:
                one.repeat(cold)
            elapsed = time.perf_counter() - began
            if (repetition >= 4 and elapsed > PATIENCE_SECONDS * len(sources)) or (repetition >= MIN_REPETITIONS and elapsed > QUICK_SECONDS * len(sources)):
                break
    seconds = iter(one.mean() for one in timed)
    return [[next(seconds) for _ in source.reads] for source in sources]


class _Timed(NamedTuple):
    """The reads of one access from one source, with the fastest time of each place."""

    path: str
    dataset: Dataset
    reads: Reads
    fastest: list[float]

    def choose_places(self, cold: bool) -> None:
        """Times each place once, until a pass has taken its time."""
        taken = 0.0
        for key in self.reads.keys:
            if len(self.fastest) >= MIN_READS and taken > PASS_SECONDS:
                break
            self.fastest.append(self._once(key, cold))
            taken += self.fastest[-1]

    def repeat(self, cold: bool) -> None:
        for i, before in enumerate(self.fastest):
            self.fastest[i] = min(before, self._once(self.reads.keys[i], cold))

    def mean(self) -> float:
        """Of a whole read."""
        return sum(self.fastest) / len(self.fastest) * self.reads.scale

    def _once(self, key: Key, cold: bool) -> float:
        if cold:
            forget(self.path)
        _swept().fill(1)
        start = clock()
        self.dataset[key]
        return clock() - start


@functools.cache
def _swept() -> UInt8Array:
    return np.zeros(SWEPT_BYTES, "u1")
