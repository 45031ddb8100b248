"""Applying advice: a new file with the advised layouts, compared with the old one, and both timed."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from ..comparing.diff import check_copy
from ..objects.filters import filters_of
from .dataset_advice import DatasetAdvice, Wishes
from .pilot import Source, choose_reads, time_reads


@dataclass(frozen=True)
class MeasuredAccess:
    """One access of one dataset: seconds of a read in the old file and in the new one, predicted and measured."""

    path: str
    text: str
    weight: float
    predicted_gain: float
    before_seconds: float
    after_seconds: float

    @property
    def gain(self) -> float:
        """How many times as fast the read has become."""
        return self.before_seconds / self.after_seconds


@dataclass(frozen=True)
class Applied:
    """A file that was written with advice."""

    path: str
    bytes: int
    before_bytes: int
    #: Chunks that were copied as stored, and bytes of values that were encoded again.
    copied_chunks: int
    reencoded_bytes: int
    accesses: tuple[MeasuredAccess, ...]

    @property
    def predicted_gain(self) -> float:
        """The predicted gain of all accesses, by weight."""
        before = sum(one.weight * one.before_seconds for one in self.accesses)
        return before / sum(one.weight * one.before_seconds / one.predicted_gain for one in self.accesses)

    @property
    def gain(self) -> float:
        """How many times as fast the accesses have become, by weight."""
        return sum(one.weight * one.before_seconds for one in self.accesses) / sum(one.weight * one.after_seconds for one in self.accesses)


def apply(
    source: str, out: str, advised: Sequence[DatasetAdvice], wishes: Wishes, page_bytes: int | None, progress: Callable[[int, int], object] | None
) -> Applied:
    """Writes `out`, compares it with `source` before it appears, and times reads that the prediction did not use."""
    changed = []
    for one in advised:
        if not one.is_kept:
            options = dict(one.advised.filter.options)
            pipeline = filters_of(
                options.get("compression"), options.get("compression_opts"), bool(options.get("shuffle")), bool(options.get("fletcher32")),
                options.get("scaleoffset"), "integer" if one.dtype.lstrip("<>|=")[:1] in "iu" else "float",
            )  # fmt: skip
            changed.append((one.path, None if one.advised.chunks is None else list(one.advised.chunks), pipeline))

    def check(path: Any, restated: list[tuple[str, str]]) -> None:
        check_copy(source, os.fspath(path), changed=[*(path for path, _, _ in changed), *(path for path, _ in restated)])

    made = _native.repack(source, out, changed, check, page_bytes=page_bytes, progress=progress)
    accesses = [measured for one in advised for measured in _timed(source, out, one, wishes)]
    return Applied(out, os.path.getsize(out), os.path.getsize(source), made.copied_chunks, made.reencoded_bytes, tuple(accesses))


def _timed(source: str, out: str, one: DatasetAdvice, wishes: Wishes) -> list[MeasuredAccess]:
    # Other places than those that the prediction was made of.
    chance = random.Random(f"{wishes.seed}{one.path} measured")
    along = [max(edges) for edges in zip(one.current.chunks or (1,) * len(one.shape), one.advised.chunks or (1,) * len(one.shape), strict=True)]
    size = one.value_bytes
    for extent in one.shape:
        size //= extent
    reads = [choose_reads(pattern, size, chance, along) for pattern in one.patterns]
    before, after = time_reads([Source(source, one.path, reads), Source(out, one.path, reads)], threads=wishes.threads, cold=wishes.cold)
    return [MeasuredAccess(one.path, access.text, access.weight, access.gain, b, a) for access, b, a in zip(one.accesses, before, after, strict=True)]
