"""Hints: what else makes reads and writes of a file fast: alignment, transfers, threads, subfiles, stripes, pages, indexes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .. import indexes
from ..base.errors import Error
from ..files.file import File
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..sources.storage import StorageLayout
from ..tuning.machine import cores
from .accesses import Access
from .dataset_advice import DatasetAdvice
from .sampling import dataset_at

LUSTRE_STUDY = "Lustre study 2015 (Bartz et al.)"
SUBFILING_STUDY = "Subfiling 2017 (Byna et al.), V.B"
H5SPARK = "H5Spark 2016 (Liu et al.), V.D"
#: Number of stripes by size of the file, as the commands of the site in the paper set them: stripe_small, _medium and _large.
_STRIPES = ((1 << 30, 1), (10 << 30, 8), (100 << 30, 24))
_WIDE_STRIPES = 72
#: Metadata of a file that is worth reading in pages.
_PAGED_BYTES = 1 << 20
_PAGED_OBJECTS = 100


@dataclass(frozen=True)
class Hint:
    """One piece of advice: what about, what to do, why, and the study or measurement that it rests on."""

    topic: str
    advice: str
    reason: str
    basis: str


def hints(file: File, layout: StorageLayout, advised: Sequence[DatasetAdvice], accesses: Sequence[Access]) -> list[Hint]:
    """All of them."""
    found = [_alignment(layout), _transfer(layout, advised), _threads(file, advised), _subfiles(layout), _stripes(file, layout), _pages(file, advised)]
    return [*found, *_indexes(file, accesses)]


def _size(count: float) -> str:
    """Bytes for people."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count:.4g} bytes"


def _alignment(layout: StorageLayout) -> Hint:
    if layout.stripe_bytes:
        return Hint("alignment", _size(layout.stripe_bytes), "values that begin at a stripe are read from one target", LUSTRE_STUDY)
    return Hint("alignment", _size(layout.block_bytes), "the block size of the file system, at which Hyperslab's writer aligns by itself", "file system")


def _transfer(layout: StorageLayout, advised: Sequence[DatasetAdvice]) -> Hint:
    largest = max((_bytes(one) for one in advised if one.advised.chunks), default=0)
    wanted = max(4 << 20, layout.stripe_bytes or 0, largest)
    return Hint(
        "transfer size", f"{_size(wanted)} or more at a time", "the largest transfers had the highest throughput, with chunks and without", LUSTRE_STUDY
    )


def _bytes(one: DatasetAdvice) -> int:
    count = one.value_bytes
    for extent in one.shape:
        count //= max(extent, 1)
    for extent in one.advised.chunks or ():
        count *= extent
    return count


def _threads(file: File, advised: Sequence[DatasetAdvice]) -> Hint:
    """Measured: the largest dataset, up to 32 MiB of it, by 1, 2, 4 … threads."""
    most = cores()
    largest = max(advised, key=lambda one: one.value_bytes)
    rows = max(min((32 << 20) * largest.shape[0] // max(largest.value_bytes, 1), largest.shape[0]), 1)
    counts = [1]
    while counts[-1] * 2 <= most:
        counts.append(counts[-1] * 2)
    seconds = dict.fromkeys(counts, float("inf"))
    for _ in range(3):
        for count in counts:
            with open_file(file.filename, threads=count, chunk_cache_bytes=0) as f:
                start = time.perf_counter()
                dataset_at(f, largest.path)[:rows]
                seconds[count] = min(seconds[count], time.perf_counter() - start)
    fastest = min(seconds.values())
    best = next(count for count in counts if seconds[count] <= 1.05 * fastest)
    shown = ", ".join(f"{count}: {seconds[1] / seconds[count]:.2f}×" for count in counts)
    return Hint("threads", str(best), f"large reads of {largest.path}: {shown} ({most} cores)", "measured on this file")


def _subfiles(layout: StorageLayout) -> Hint:
    if layout.is_parallel:
        return Hint(
            "subfiles", "8 to 32 writers each", "factors of 8 to 32 were the fastest of 1 to 4,096 for many writers; one writer needs none", SUBFILING_STUDY
        )
    return Hint("subfiles", "1 writer each", "files are cheap on this file system, and writers of one file wait for its lock", "docs/decisions/0015")


def _stripes(file: File, layout: StorageLayout) -> Hint:
    length = os.path.getsize(file.filename)
    count = next((count for limit, count in _STRIPES if length < limit), _WIDE_STRIPES)
    if layout.stripe_bytes is None:
        return Hint("stripes", "none", f"{layout.file_system or 'the file system'} shows no stripes; on Lustre a file of this size would get {count}", H5SPARK)
    now = "all targets" if layout.stripe_count is None else f"{layout.stripe_count}"
    reason = f"a file of {_size(length)}; it has {now} of {_size(layout.stripe_bytes)}. Small stripes mean more requests"
    return Hint("stripes", f"{count} of {_size(max(layout.stripe_bytes, 4 << 20))}", reason, f"{H5SPARK}; {SUBFILING_STUDY}")


def _pages(file: File, advised: Sequence[DatasetAdvice]) -> Hint:
    chunks = sum(_chunks(one) for one in advised)
    objects = sum(1 for _ in _objects(file, _PAGED_OBJECTS + 1))
    # A chunk's entry and its part of a B-tree's key: about 32 bytes and 8 for each dimension.
    about = 512 * objects + 60 * chunks
    if about >= _PAGED_BYTES or objects > _PAGED_OBJECTS:
        return Hint(
            "paged metadata",
            "yes: fs_strategy='page'",
            f"about {_size(about)} of metadata lie together, for readers with page_buf_size",
            "estimate; not measured",
        )
    return Hint("paged metadata", "no", f"about {_size(about)} of metadata are one or two reads anyway", "estimate")


def _objects(file: File, limit: int) -> Sequence[str]:
    found: list[str] = []

    def visit(name: str) -> bool | None:
        found.append(name)
        return True if len(found) >= limit else None

    file.visit(visit)
    return found


def _chunks(one: DatasetAdvice) -> int:
    count = 1
    for extent, edge in zip(one.shape, one.advised.chunks or one.shape, strict=True):
        count *= -(-extent // max(edge, 1))
    return count


def _indexes(file: File, accesses: Sequence[Access]) -> list[Hint]:
    conditions = [access for access in accesses if access.condition is not None]
    if not conditions:
        return [Hint("value indexes", "none", "no access has a condition: give 'where CONDITION'", "docs/indexes.md")]
    return [hint for access in conditions for hint in _index_for(file, str(access.condition))]


def _index_for(file: File, condition: str) -> list[Hint]:
    names = dict.fromkeys(re.findall(r"[A-Za-z_][\w/]*", condition))
    paths = [f"/{name.strip('/')}" for name in names if name in file and isinstance(file[name], Dataset)]
    found = []
    for path in paths:
        try:
            (planned,) = indexes.plan(file, path, rebuild=True).datasets
            kept = _fraction(file, path, condition)
        except (Error, ValueError) as error:
            found.append(Hint("value indexes", f"not of {path}", " ".join(str(error).split()), "hs.indexes.plan"))
            continue
        if planned.elements == 0:
            found.append(Hint("value indexes", f"not of {path}", planned.reason, "hs.indexes.plan"))
        elif kept > 1 / 16:
            found.append(Hint("value indexes", f"not of {path}", f"{kept:.0%} of the sampled rows match, and above 1/16 reading all is cheaper", "measured"))
        else:
            size = f"level {planned.level}, about {_size(planned.index_bytes)}"
            reason = f"{kept:.2%} of the sampled rows match: {_size(planned.value_bytes)} need not be read"
            found.append(Hint("value indexes", f"{path}: {size}", reason, "measured; docs/benchmarks.md"))
    return found or [Hint("value indexes", "none", f"no dataset at the top of the file is in {condition!r}", "docs/indexes.md")]


def _fraction(file: File, path: str, condition: str) -> float:
    """The fraction of the first million rows that match; a condition on several columns is tested as it stands."""
    rows = 1 << 20
    table = file.table("/" if path.count("/") == 1 else path.rpartition("/")[0], where=condition, omitted="ignore")
    total = dataset_at(file, path).size or 0
    matching = table.count() if total <= rows * 64 else table.head(rows).num_rows
    return matching / max(total, 1)
