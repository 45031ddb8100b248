"""Indexes: value indexes of arrays. Queries, tables and SQL use a valid index automatically.

`hs.index(files, datasets)` builds indexes in this process. To build them in several processes, `plan` them, `build` each task of
the plan anywhere, and `commit` the fragments. `status` says why an existing index is not used, `verify` reads the values again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from . import _native
from .errors import InvalidInputError
from .sources import opened

__all__ = ["IndexPlan", "Indexed", "PlannedIndex", "build", "commit", "plan", "status", "verify"]


class PlannedIndex(NamedTuple):
    """One dataset: what is to be built, and why so."""

    file: str
    path: str
    level: str
    reason: str
    elements: int
    value_bytes: int
    index_bytes: int
    needed: bool


class Indexed(NamedTuple):
    """What a commit did: datasets, blocks that were built, blocks of an older index that were kept."""

    datasets: int
    built_blocks: int
    kept_blocks: int


class IndexPlan:
    """A build of indexes, planned from metadata and a few values. `run()` builds everything here; `tasks()` are for
    other processes or machines."""

    def __init__(self, files: list[_native.File], datasets: Sequence[str], *, level: str | None = None, decode: bool = True,
                 together: bool = False, anew: bool = False) -> None:
        self._native = _native.IndexPlan(files, list(datasets), level, not decode, together, anew)

    @property
    def datasets(self) -> list[PlannedIndex]:
        """What will be built, and what is there already."""
        return [PlannedIndex(*planned) for planned in self._native.datasets()]

    @property
    def value_bytes(self) -> int:
        """Bytes of values that will be read, decoded."""
        return self._native.value_bytes

    def explain(self) -> str:
        """The plan for people, a line a dataset."""
        lines = []
        for planned in self.datasets:
            if planned.elements == 0 and not planned.needed:
                what = planned.reason
            elif planned.needed:
                what = f"level {planned.level} ({planned.reason}), {planned.value_bytes} bytes of values, about {planned.index_bytes} of index"
            else:
                what = f"level {planned.level}, {planned.reason}"
            lines.append(f"{planned.file} {planned.path}: {what}")
        return "\n".join(lines)

    def run(self, progress: Callable[[int], object] | None = None) -> int:
        """Builds and publishes; the number of datasets. `progress` hears bytes of values that are done more."""
        return self._native.run(progress)

    def tasks(self, count: int) -> list[bytes]:
        """About `count` units of building, as bytes: run each with `indexes.build` on any machine that
        sees the files, and pass the results to `indexes.commit`."""
        if count < 1:
            raise InvalidInputError(f"count is {count}: give 1 or more")
        return self._native.tasks(count)

    def __repr__(self) -> str:
        return f"<IndexPlan>\n{self.explain()}"


def plan(files: Any, datasets: str | Iterable[str], level: str | None = None, *, decode: bool = True, together: bool = False,
               anew: bool = False, index_folder: Any = None) -> IndexPlan:
    """Plans what `index` builds."""
    names = [datasets] if isinstance(datasets, str) else list(datasets)
    return IndexPlan(opened(files, None, index_folder).files, names, level=level, decode=decode, together=together, anew=anew)


def index(files: Any, datasets: str | Iterable[str], level: str | None = None, *, decode: bool = True, together: bool = False,
          anew: bool = False, embedded: bool = False, index_folder: Any = None,
          progress: Callable[[int, int], object] | None = None) -> IndexPlan:
    """Builds value indexes of datasets (paths, wildcards, or groups for all that is in them) beside their files, and
    brings those up to date that are stale. Tables with `where=`, SQL and Spark use them from then on.

    `level` is Z (zones), K (every 64th value), P (positions in order), X (and the values) or B (bitmaps of distinct
    values); each dataset gets one that suits it where none is given. `decode=False` indexes values as stored.
    `together=True` makes one index of all files of a folder, `embedded=True` puts it at the end of each HDF5 file itself,
    and `index_folder` is a folder to put it into below the path of the file's own folder, for data that nobody may write
    beside; `open` and `query` take it, too.
    `files` may be arrays of others (read-only memory maps, datasets of h5py and Zarr) and Parquet files, as `query` takes
    them, if all of them are in one file or folder. `progress` hears bytes of values done and in all."""
    inside: list[str] = []
    if embedded:
        if together or index_folder is not None:
            raise InvalidInputError("an index is either embedded in each file, or of all of a folder together, or in an index_folder")
        files = inside = list(dict.fromkeys(native.path for native in opened(files).files))
    staged = [path for path in inside if _native.index_stage(path)]
    try:
        built = _run(plan(files, datasets, level, decode=decode, together=together, anew=anew, index_folder=index_folder), progress)
    except BaseException:
        # What is in a file is still there.
        for path in staged:
            _native.index_unstage(path)
        raise
    for path in inside:
        if os.path.isdir(path + ".hsidx"):
            _native.index_embed(path)
    return built


def _run(planned: IndexPlan, progress: Callable[[int, int], object] | None) -> IndexPlan:
    """Builds what is planned, and tells how far it is."""
    total, done = planned.value_bytes, 0

    def hear(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    planned.run(hear if progress is not None else None)
    return planned


def build(task: bytes, *, threads: int | None = None) -> bytes:
    """Builds one task of a plan, and returns the fragment to pass to `commit`."""
    return _native.index_task(bytes(task), threads)


def commit(fragments: Iterable[bytes]) -> Indexed:
    """Makes what tasks have built visible, for each folder at once."""
    return Indexed(*_native.index_commit([bytes(fragment) for fragment in fragments]))


def status(files: Any, *, index_folder: Any = None) -> list[str]:
    """Why indexes that are there are not used, or only in part: stale, damaged, of another version, not readable, cut off."""
    return [remark for native in opened(files, None, index_folder).files for remark in _native.index_remarks(native)]


def verify(files: Any, *, index_folder: Any = None) -> list[str]:
    """Reads the values of indexed datasets, and says which are not those that the indexes were made of, though by length and
    time of change the files are the same: damage that nothing else tells. What has no valid index is not read."""
    return [problem for native in opened(files, None, index_folder).files for problem in _native.index_verify(native)]
