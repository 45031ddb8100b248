"""Indexes: value indexes of arrays. Queries, tables and SQL use a valid index automatically.

`hs.index(files, datasets)` builds indexes in this process. To build them in several processes, `plan` them, `build` each task of
the plan anywhere, and `commit` the fragments. `status` says why an existing index is not used, `verify` reads the values again."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from . import _native
from .base.blocks import MAX_ROWS, card, facts, grid, size
from .base.errors import InvalidInputError
from .base.type_aliases import Path
from .querying.sources import Files, opened
from .sources.addresses import is_address, options_of
from .sources.sessions import session

__all__ = ["ChunkIndex", "IndexPlan", "Indexed", "PlannedIndex", "build", "chunk_index", "commit", "plan", "status", "verify"]


class PlannedIndex(NamedTuple):
    """A dataset of a plan.

    Attributes:
        file: Path of the file.
        path: Path of the dataset, followed by the name of the member if it is compound (`/table/energy`); for a composite index the paths of
            all datasets (`/x, /y, /z`).
        level: Level of the index: Z, K, P, X, B, W or C.
        reason: Why this level, or why the dataset is left out.
        elements: Number of values.
        value_bytes: Bytes of values to be read.
        index_bytes: Estimated bytes of the index.
        needed: Whether the index is to be built; `False` if a valid one exists.
    """

    file: str
    path: str
    level: str
    reason: str
    elements: int
    value_bytes: int
    index_bytes: int
    needed: bool


#: Reads the fields of a native `PlannedIndex` in one call: a plan may have very many datasets.
_planned = operator.attrgetter(*PlannedIndex._fields)


class Indexed(NamedTuple):
    """What a commit published: datasets, blocks that were built, and blocks of an older index that were kept."""

    datasets: int
    built_blocks: int
    kept_blocks: int


class IndexPlan:
    """A planned build of indexes, from metadata and a few values. `run()` builds all of it in this process; `tasks()`
    divides it for other processes or machines."""

    def __init__(
        self,
        files: _native.Files | list[_native.File],
        datasets: Sequence[str | tuple[str, ...]],
        *,
        level: str | None = None,
        raw: bool = False,
        together: bool = False,
        rebuild: bool = False,
    ) -> None:
        self._native = _native.IndexPlan(files, list(datasets), level, raw, together, rebuild)

    @property
    def datasets(self) -> list[PlannedIndex]:
        """What will be built, and which indexes exist already."""
        return list(map(PlannedIndex._make, map(_planned, self._native.datasets())))

    @property
    def value_bytes(self) -> int:
        """Bytes of values that will be read, decoded."""
        return self._native.value_bytes

    def explain(self) -> str:
        """Describes the plan.

        Returns:
            One line per dataset.

        Example:
            >>> print(hs.indexes.plan("run.h5", "/energy").explain())
        """
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

    def _repr_html_(self) -> str:
        found = self.datasets
        needed = sum(planned.needed for planned in found)
        rows = [
            (planned.file, planned.path, planned.level, planned.reason, size(planned.value_bytes), size(planned.index_bytes), "yes" if planned.needed else "no")
            for planned in found[:MAX_ROWS]
        ]
        headers = ["file", "dataset", "level", "why", "values", "index (about)", "to be built"]
        about = [("to be built", f"{needed:,} of {len(found):,}"), ("to be read", size(self.value_bytes))]
        return card("IndexPlan", "value indexes", "", facts(about), grid(headers, rows, total=len(found)))

    def run(self, progress: Callable[[int], object] | None = None) -> int:
        """Builds and publishes the indexes in this process.

        Args:
            progress: Called with the number of bytes of values processed since the last call.

        Returns:
            The number of datasets whose indexes were built.

        Raises:
            ConflictError: A file changed since the plan was made.

        Example:
            >>> hs.indexes.plan("run.h5", "/energy").run()
        """
        return self._native.run(progress)

    def tasks(self, count: int) -> list[bytes]:
        """Divides the build into tasks: run each with `indexes.build` on any machine that sees the files, and pass the
        results to `indexes.commit`.

        Args:
            count: About how many tasks.

        Returns:
            The tasks; none if all indexes are valid.

        Raises:
            InvalidInputError: `count` is less than 1.

        Example:
            >>> hs.indexes.plan("run.h5", "/energy").tasks(8)
        """
        if count < 1:
            raise InvalidInputError(f"count is {count}: give 1 or more")
        return self._native.tasks(count)

    def __repr__(self) -> str:
        return f"<IndexPlan>\n{self.explain()}"


def plan(
    files: Files,
    datasets: str | Iterable[str | tuple[str, ...]],
    level: str | None = None,
    *,
    raw: bool = False,
    together: bool = False,
    rebuild: bool = False,
    index_folder: Path | None = None,
) -> IndexPlan:
    """Plans what `hyperslab.index` would build, with the same arguments. Builds nothing.

    Args:
        files, datasets, level, raw, together, rebuild, index_folder: As in `index`.

    Returns:
        The plan: `explain()` describes it, `run()` builds, `tasks()` divides the work.

    Example:
        >>> plan = hs.indexes.plan("run.h5", "/energy")
        >>> fragments = [hs.indexes.build(task) for task in plan.tasks(8)]  # anywhere
        >>> hs.indexes.commit(fragments)
    """
    names = [datasets] if isinstance(datasets, str) else list(datasets)
    return IndexPlan(opened(files, None, index_folder).files, names, level=level, raw=raw, together=together, rebuild=rebuild)


def index(
    files: Files,
    datasets: str | Iterable[str | tuple[str, ...]],
    level: str | None = None,
    *,
    raw: bool = False,
    together: bool = False,
    rebuild: bool = False,
    embedded: bool = False,
    index_folder: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> IndexPlan:
    """Builds value indexes of datasets, or brings stale ones up to date. Tables with `where=`, queries, SQL and Spark use
    valid indexes automatically.

    Args:
        files: As in `query`. Arrays of other libraries (read-only memory maps, h5py and Zarr datasets) must all be in one
            file or folder.
        datasets: Paths of datasets, of members of compound datasets (`/table/energy`), of compound datasets for all their
            members, or of groups for all datasets in them. `*` and `?` are wildcards. A tuple of 2 to 4 paths in the list,
            `[("/x", "/y", "/z")]`, is one composite index (C) of these datasets together, for boxes: they have one dimension, and one
            shape and chunking. With wildcards, all paths of a tuple have the same, and there is an index for each text that they match.
        level: Z (zones), K (every 64th value), P (positions in order), X (positions and values), B (bitmaps of distinct
            values) or W (text: bitmaps of distinct texts, or the rows of each word); by default the one that suits each
            dataset. Composite indexes always have level C.
        raw: Index values as stored instead of decoded ones.
        together: Make one index of all files of a folder.
        rebuild: Build valid indexes again, too.
        embedded: Put the index at the end of each HDF5 file instead of next to it.
        index_folder: Put the index in this folder, below the path of the file's own folder, if that is not writable. Pass
            the same folder to `open` and `query`.
        progress: Called with the bytes of values processed so far, and their total.

    Returns:
        The plan that was built.

    Raises:
        NotFoundError: No dataset matches.
        ConflictError: A file changed while its index was built.

    Example:
        >>> hs.index("run.h5", "/Step#*/energy")
        >>> hs.index("run.h5", ["/energy", ("/x", "/y", "/z")])
    """
    inside: list[str] = []
    if embedded:
        if together or index_folder is not None:
            raise InvalidInputError("an index is either embedded in each file, or of all of a folder together, or in an index_folder")
        files = inside = list(dict.fromkeys(native.path for native in opened(files).files))
    staged = [path for path in inside if _native.index_stage(path)]
    try:
        built = _run(plan(files, datasets, level, raw=raw, together=together, rebuild=rebuild, index_folder=index_folder), progress)
    except BaseException:
        # The indexes in the files are untouched.
        for path in staged:
            _native.index_unstage(path)
        raise
    for path in inside:
        if os.path.isdir(path + ".hsidx"):
            _native.index_embed(path)
    return built


def _run(planned: IndexPlan, progress: Callable[[int, int], object] | None) -> IndexPlan:
    """Builds a plan, and reports progress."""
    total, done = planned.value_bytes, 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    planned.run(report if progress is not None else None)
    return planned


class ChunkIndex(NamedTuple):
    """A chunk index that was made.

    Attributes:
        path: Its file or address.
        bytes: Length of the file in bytes.
        metadata_bytes: Bytes of the object in it: its metadata, and inlined values.
        objects: Objects whose metadata it has.
        unreadable: Those of them that cannot be read, with the index or without.
        restart_chunks: Chunks that have restart points.
        restart_points: Restart points of all chunks.
    """

    path: str
    bytes: int
    metadata_bytes: int
    objects: int
    unreadable: int
    restart_chunks: int = 0
    restart_points: int = 0


def chunk_index(
    address: Path,
    out: Path | Literal["beside"] | None = None,
    *,
    inline_threshold: int = 0,
    restart_points: int | None = None,
    threads: int | None = None,
    storage_options: Mapping[str, object] | None = None,
) -> ChunkIndex:
    """Makes a chunk index of a remote file: its metadata in a local file, with which the remote file is opened, and its chunks are
    located, without a request; or in an object next to it, for everybody who opens it. With `restart_points`, a part of a large gzip
    chunk is fetched and inflated without the rest of it, of remote and of local files.

    Args:
        address: The address, such as `s3://bucket/run.h5`; or with `restart_points`, the path of a local file.
        out: A file, an existing folder, or an address for the index; `storage_options={"chunk_index": out}` opens the remote file with
            it. `"beside"` puts it next to the remote file, as `s3://bucket/run.h5.chunks`; `storage_options={"chunk_index": "beside"}` asks
            for both at once. By default the cache folder, where `hyperslab.open` finds it by itself.
        inline_threshold: The values of datasets that take at most this many bytes in the file are in the index, too, as in kerchunk's
            references: such as coordinates. Reading them needs no request, so it does not notice that the object was replaced.
        restart_points: Bytes of output between the places of a chunk at which inflating can begin, 65536 or more, such as `1 << 20`. Chunks
            of more than two such distances have points, if gzip was their last filter, alone or after shuffle. All of them are read to find
            the points, and inflated twice. The index of a local file has these points and nothing else.
        threads: Number of threads; one per core by default.
        storage_options: As in `hyperslab.open`.

    Returns:
        Where the index is, and how large.

    Raises:
        UnsupportedError: The file is local and there shall be no restart points, the store gives no strong entity tag, or the index would
            go to an HTTP server.
        ConflictError: The file is changed meanwhile.
        InvalidInputError: `inline_threshold` is negative, or `restart_points` is less than 65536.

    Example:
        >>> hs.indexes.chunk_index("s3://bucket/run.h5")
        >>> hs.indexes.chunk_index("field.nc", restart_points=1 << 20)
    """
    if inline_threshold < 0:
        raise InvalidInputError(f"inline_threshold={inline_threshold} is negative: give a number of bytes, 0 for no values")
    if restart_points is not None and restart_points < 0:
        raise InvalidInputError(f"restart_points={restart_points} is negative: give a number of bytes, such as {1 << 20}")
    opener = session(threads, None, None, None, (), None, None, None, options_of(storage_options))
    is_beside = out == "beside"
    place = None if out is None or is_beside else os.fsdecode(out)
    if place is not None and not is_address(place):
        place = os.path.abspath(place)
    path, *rest = opener.make_chunk_index(os.fsdecode(address), place, is_beside, inline_threshold, restart_points)
    return ChunkIndex(path, *rest)


def build(task: bytes, *, threads: int | None = None) -> bytes:
    """Builds one task of a plan.

    Args:
        task: An element of `IndexPlan.tasks`.
        threads: Number of threads; one per core by default.

    Returns:
        A fragment to pass to `commit`.

    Raises:
        ConflictError: A file changed since the plan was made.

    Example:
        >>> fragments = [hs.indexes.build(task) for task in hs.indexes.plan("run.h5", "/x").tasks(4)]
    """
    return _native.index_task(bytes(task), threads)


def commit(fragments: Iterable[bytes]) -> Indexed:
    """Publishes what tasks have built, atomically for each folder. Repeating a commit is harmless.

    Args:
        fragments: The results of `build` for all tasks of a plan.

    Returns:
        What was built.

    Raises:
        ConflictError: A file changed since the plan was made, or fragments are missing.

    Example:
        >>> hs.indexes.commit(fragments)
    """
    done = _native.index_commit([bytes(fragment) for fragment in fragments])
    return Indexed(done.datasets, done.built_blocks, done.kept_blocks)


def status(files: Files, *, index_folder: Path | None = None, indexes: str | None = None) -> list[str]:
    """Explains why existing indexes are not used, or only in part: stale, of another version, not readable, cut off, lacking
    blocks. Opens all index files, but reads only the beginnings of their blocks: `hyperslab.indexes.verify` reads everything.

    Args:
        files: As in `hyperslab.open`, or an open file.
        index_folder: The folder of indexes that are not next to the files.
        indexes: Which indexes: `own` (the default), `any` or `none`, as in `hyperslab.open`.

    Returns:
        One remark per problem; none if all indexes are used.

    Example:
        >>> hs.indexes.status("run.h5")
    """
    return [remark for native in opened(files, None, index_folder, indexes).files for remark in _native.index_remarks(native)]


def verify(files: Files, *, index_folder: Path | None = None, indexes: str | None = None) -> list[str]:
    """Reads the values of indexed datasets again, and finds those that changed although the size and modification time of
    the file did not: damage that nothing else detects. Also compares all bytes of the indexes with their checksums. Skips
    datasets without a valid index.

    Args:
        files: As in `hyperslab.open`, or an open file.
        index_folder: The folder of indexes that are not next to the files.
        indexes: Which indexes: `own` (the default), `any` or `none`, as in `hyperslab.open`.

    Returns:
        One message per dataset with changed values, and one per dataset whose index has damaged blocks.

    Example:
        >>> hs.indexes.verify("run.h5")
        []
    """
    return [problem for native in opened(files, None, index_folder, indexes).files for problem in _native.index_verify(native)]
