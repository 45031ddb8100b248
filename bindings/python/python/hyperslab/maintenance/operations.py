"""Maintenance of files that several writers made: verify, vacuum, and fuse into one ordinary file; repack of any file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _native
from ..base.arguments import check_mode
from ..base.change import Change, changes_of
from ..base.description import Description
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import Path
from ..comparing.diff import check_copy
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.filters import Filter, check_filters, compression_of, filters_of
from ..objects.links import HardLink
from ..objects.native_objects import description_of, native_of
from ..sources.addresses import is_address, options_of
from . import shrinking

#: Bytes of values after which a copy that can be resumed is noted.
_CHECKPOINT_BYTES = 256 << 20
#: Contiguous datasets with fewer bytes of values are not worth chunks.
_LEAST_BYTES = 4096
#: Filters that change values or count bits: scaleoffset and nbit. Their chunks are copied as they are.
_KEPT_FILTERS = (5, 6)


class Verification(NamedTuple):
    """The state of a container.

    Attributes:
        problems: What is missing or damaged; none if the container is complete.
        commits: Number of commits.
        subfiles: Number of subfiles.
        subfile_bytes: Total size of the subfiles.
        remarks: Findings that do not affect values, such as leftover files.
    """

    problems: list[str]
    commits: int
    subfiles: int
    subfile_bytes: int
    remarks: list[str]


def verify(path: Path, *, values: bool = False) -> Verification:
    """Checks that all subfiles of a container exist, are complete, and belong together.

    Args:
        path: The master file, which readers open.
        values: Read all bytes, too: bytes of plans with `checksums=True` must have their checksums, chunks of others must
            decode.

    Returns:
        The findings. A damaged container is not an exception: look at `problems`.

    Example:
        >>> hs.verify("big.h5").problems
        []
    """
    found = _native.verify(os.fsdecode(path), values)
    return Verification(found.problems, found.commits, found.subfiles, found.subfile_bytes, found.remarks)


class VacuumResult(NamedTuple):
    """What `vacuum` removed, or with `dry_run` would remove.

    `removed` are writes whose subfiles were removed, `young` those that another process may still write or read, `indexes`
    leftovers of index builds that were removed, `orphans` commits that were kept although no master in the folder uses them,
    `files` leftover files of killed writers that were removed, and `shrunk_bytes` by how much the file itself is smaller (`shrink=True`)."""

    removed: list[str]
    young: list[str]
    indexes: list[str]
    orphans: list[str]
    files: list[str]
    shrunk_bytes: int = 0


def vacuum(
    path: Path,
    *,
    hours: float = 24,
    index_folder: Path | None = None,
    orphans: bool = False,
    shrink: bool = False,
    dry_run: bool = False,
    storage_options: Mapping[str, object] | None = None,
) -> VacuumResult:
    """Removes leftovers of killed writers and killed index builds, and data that was overwritten.

    Keeps all that a master in the same folder uses, even if it was renamed or copied. Cuts off unused indexes at the end of
    the file: no program may have the file open without locks meanwhile.

    Args:
        path: A file of any kind, or the master of a container; also the address of a master in an object store.
        hours: Remove uncommitted writes and overwritten data only if they were not touched for this many hours.
        index_folder: The folder of indexes that are not next to the file.
        orphans: Also remove commits that no master in the folder uses.
        shrink: Also replace an HDF5 file by a copy without unused bytes, which is compared with it first: what is left of removed objects and attributes
            and of replaced values is gone.
        dry_run: Remove nothing, only report.
        storage_options: Options of the store of an address, as in `hyperslab.open`.

    Returns:
        What was removed, or with `dry_run` would be.

    Raises:
        ConflictError: `shrink`, and a program has the file open.
        InvalidInputError: `shrink`, and the file has several names (hard links).
        UnsupportedError: `shrink`, and the file has something that cannot be copied, such as a user-defined link; the message names it. `shrink` of an address.

    Example:
        >>> hs.vacuum("big.h5", dry_run=True).removed
        []
    """
    name = os.fsdecode(path)
    if is_address(name):
        if shrink:
            raise UnsupportedError("shrink of an object in a store: shrink a local copy, and upload it")
        there = _native.vacuum(name, hours * 3600, orphans, dry_run, options_of(storage_options))
        return VacuumResult(there.removed, there.young, [], there.orphans, there.files, 0)
    found = _native.vacuum(name, hours * 3600, orphans, dry_run)
    elsewhere = None if index_folder is None else os.path.abspath(os.fsdecode(index_folder))
    indexes = _native.index_vacuum(name, hours * 3600, elsewhere, dry_run)
    smaller = shrinking.shrink(name, lambda source, target: repack(source, target).bytes, dry_run) if shrink else 0
    return VacuumResult(found.removed, found.young, indexes, found.orphans, found.files, smaller)


class Fused(NamedTuple):
    """What `fuse` did.

    Attributes:
        bytes: Size of the new file.
        copied_chunks: Chunks that were copied as stored.
        reencoded_bytes: Bytes of values that were encoded again.
        changes: What is not as it was in the original, such as a virtual dataset that is an ordinary one now.
    """

    bytes: int
    copied_chunks: int
    reencoded_bytes: int
    changes: tuple[Change, ...] = ()


def fuse(
    master: Path,
    target: Path,
    mode: str = "x",
    *,
    storage_options: Mapping[str, object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Fused:
    """Makes one ordinary file out of a master and its subfiles. Copies chunks without decoding them if possible.

    Args:
        master: The master file.
        target: The file to write. Both may be addresses in an object store; then the file is written to the folder for temporary files, and uploaded.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        storage_options: Options of the stores of addresses, as in `hyperslab.open`.
        progress: Called with the bytes of values processed so far, and their total.

    Returns:
        The size of the new file, and what was copied.

    Raises:
        ConflictError: `mode` is `x` and the file exists.
        CorruptError: A subfile is missing or damaged.

    Example:
        >>> hs.fuse("big.h5", "one.h5")
    """
    check_mode(mode, ("x", "w"))
    source, out = os.fsdecode(master), os.fsdecode(target)
    if is_address(source) or is_address(out):
        with open_file(source, format="hdf5", storage_options=storage_options) as opened:
            fused = _native.fuse_file(native_of(opened)[0], out, mode == "w", progress)
    else:
        fused = _native.fuse(source, out, mode == "w", progress)
    return Fused(fused.bytes, fused.copied_chunks, fused.reencoded_bytes, changes_of(fused.changes))


class Repacked(NamedTuple):
    """What `repack` did.

    Attributes:
        bytes: Size of the new file.
        before_bytes: Size of the old one.
        changed: Paths of the datasets that are stored in another way.
        copied_chunks: Chunks that were copied as stored, by this call.
        reencoded_bytes: Bytes of values that were encoded again, by this call.
        changes: What else is not as it was in the original, such as a virtual dataset that is an ordinary one now.
    """

    bytes: int
    before_bytes: int
    changed: list[str]
    copied_chunks: int
    reencoded_bytes: int
    changes: tuple[Change, ...] = ()


def repack(
    source: Path,
    target: Path,
    datasets: str | Iterable[str] = "*",
    *,
    chunks: int | Sequence[int] | None = None,
    contiguous: bool = False,
    compression: str | int | None = None,
    compression_opts: int | str | Sequence[int] | None = None,
    shuffle: bool | None = None,
    fletcher32: bool | None = None,
    page_bytes: int | None = None,
    alignment: int | None = None,
    libver: str | None = None,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] = (),
    resume: bool = False,
    verify: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Repacked:
    """Copies an HDF5 file into a new one with other chunks and filters, without the space that was lost in the old one, and with its metadata in one
    place.

    What is not given stays as it is, and chunks of datasets that stay as they are, are copied without decoding them. The new file gets its name when it is
    complete and was compared with the old one.

    Args:
        source: A file of HDF5 or netCDF-4.
        target: The new file. An existing one is never replaced.
        datasets: Patterns (`/run/*`) of the paths of the datasets that are stored in another way. Datasets of variable length or of references, virtual
            ones, those with scaleoffset or nbit, and contiguous ones of less than 4,096 bytes stay as they are.
        chunks: Shape of chunks, for datasets with as many dimensions; cut to the shape of the dataset. Without it, datasets that get their first filter get
            chunks of about 1 MiB.
        contiguous: Store without chunks and filters, where a dataset cannot grow.
        compression: As in `create_dataset`: `zstd`, `gzip`, `lz4`, `lzf`, `bitshuffle`, `szip`; `none` takes the compression away.
        compression_opts: Its level.
        shuffle: Whether bytes are shuffled before they are compressed.
        fletcher32: Whether chunks have checksums.
        page_bytes: Make a file of pages of this many bytes, for reading from object stores.
        alignment: Blocks of at least this many bytes begin at multiples of it.
        libver: The newest version of HDF5 whose structures the file may have: `earliest` or `v108`, `v110`, `v112` … `latest`.
        only: Patterns of the paths of the objects and links to copy, with all below them. The groups above them are copied, too, with their attributes,
            and the dimension scales and targets of references that they need.
        exclude: Patterns of the paths of objects and links that are left out, with all below them.
        resume: If the copy is interrupted, leave what is done in hidden files next to the new one (`.NAME.repack`, `.NAME.repack.log`), and go on with
            it if it is called again in the same way. Datasets with references are copied again.
        verify: Compare all of the new file with the old one, bit by bit, before it gets its name.
        progress: Called with the bytes of values that were copied so far, and their total.

    Returns:
        Sizes, and what was changed and copied.

    Raises:
        ConflictError: The new file exists already, or a copy that is resumed was begun with other options or of another version of the file.
        CorruptError: A chunk of the old file cannot be decoded, or the copy differs; no file is left.
        InvalidInputError: No object matches patterns that are given, or the options contradict each other.
        UnsupportedError: The file has something that cannot be copied (links that a program defined, what `libver` does not have), or something that is
            excluded is needed; the error names it.

    Example:
        >>> hs.repack("run.h5", "small.h5", compression="zstd", shuffle=True)
    """
    if contiguous and (chunks is not None or compression not in (None, "none") or shuffle or fletcher32):
        raise InvalidInputError("contiguous with chunks or filters: contiguous datasets have none")
    if compression is not None:
        # Here, and not only for the datasets that change: there may be none.
        named = None if compression == "none" else compression
        check_filters({"compression": named, "compression_opts": compression_opts, "shuffle": shuffle, "fletcher32": fletcher32})
    shape = None if chunks is None else tuple(chunks) if isinstance(chunks, Sequence) else (chunks,)
    if shape is not None and (not shape or any(isinstance(extent, bool) or not isinstance(extent, int) or extent < 1 for extent in shape)):
        raise InvalidInputError(f"chunks={chunks!r}: give a whole number above 0 for each dimension")
    before, after, patterns = os.fsdecode(source), os.fsdecode(target), (datasets,) if isinstance(datasets, str) else tuple(datasets)
    objects = None if only is None and not exclude else _chosen(before, only, exclude)
    changes, filters = [], (compression, compression_opts, shuffle, fletcher32)
    if contiguous or shape is not None or any(one is not None for one in filters):
        matching = [found for found in _matching(before, patterns) if objects is None or objects.has(found[0])]
        if not matching and patterns != ("*",):
            raise InvalidInputError(f"no dataset whose storage could change matches {', '.join(patterns)}", before)
        if matching and shape is not None and not any(len(about["shape"] or ()) == len(shape) for _, about, _ in matching):
            raise InvalidInputError(f"chunks={shape} have {len(shape)} dimensions, and no dataset that matches has as many", before)
        for dataset, about, flags in matching:
            found = _storage(about, flags, shape, contiguous, filters)
            if found is not None:
                changes.append((dataset, *found))

    structural: tuple[Change, ...] = ()

    def check(path: Any, changed: list[tuple[str, str]]) -> None:
        nonlocal structural
        if verify:
            restored = [path for path, _, _ in changes]
            structural = check_copy(before, os.fspath(path), None if objects is None else objects.has, [*restored, *(path for path, _ in changed)])

    chosen = None if objects is None else (list(objects.chosen), list(objects.excluded))
    made = _native.repack(before, after, changes, check, alignment, page_bytes, libver, chosen, _CHECKPOINT_BYTES if resume else None, progress)
    return Repacked(
        made.bytes,
        os.path.getsize(before),
        [path for path, _, _ in changes],
        made.copied_chunks,
        made.reencoded_bytes,
        (*changes_of(made.changes), *structural),
    )


class _Chosen(NamedTuple):
    """Paths of objects and links: the chosen ones, and those that are left out."""

    chosen: frozenset[str]
    excluded: frozenset[str]

    def has(self, path: str) -> bool:
        """Whether the object at a path is copied because it was chosen."""
        parts = path.rstrip("/").split("/")
        above = ["/", *("/".join(parts[:count]) for count in range(2, len(parts) + 1))]
        return not self.chosen.isdisjoint(above) and self.excluded.isdisjoint(above)


def _chosen(file: str, only: str | Iterable[str] | None, exclude: str | Iterable[str]) -> _Chosen:
    """Looks up the objects and links whose paths match."""
    wanted, unwanted = ((patterns,) if isinstance(patterns, str) else tuple(patterns or ()) for patterns in (only, exclude))
    chosen, excluded = set[str](), set[str]()
    unused = {*wanted, *unwanted}
    with open_file(file, format="hdf5") as opened:

        def look(path: str, _: object) -> None:
            for patterns, found in (wanted, chosen), (unwanted, excluded):
                matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(f"/{path}", pattern)]
                unused.difference_update(matching)
                if matching:
                    found.add(f"/{path}")

        opened.visititems_links(look)
    if unused:
        raise InvalidInputError(f"no object or link matches {', '.join(sorted(unused))}", file)
    return _Chosen(frozenset({"/"} if only is None else chosen), frozenset(excluded))


_Filters = list[Filter]


def _matching(file: str, patterns: tuple[str, ...]) -> list[tuple[str, Description, list[bool]]]:
    """Paths and descriptions of the datasets that match and whose storage may change, and which of their filters a writer may skip."""
    found: dict[int, tuple[str, Description, list[bool]]] = {}
    with open_file(file, format="hdf5") as opened:

        def look(path: str, link: object) -> None:
            # An object may have several names, and one of them is enough.
            if isinstance(link, HardLink) and any(fnmatch.fnmatchcase(f"/{path}", pattern) for pattern in patterns):
                node = opened.get(path)
                if isinstance(node, Dataset) and _may_change(node):
                    native, number = native_of(node)
                    found.setdefault(number, (node.name, description_of(node), native.structure(number)["filter_flags"]))

        opened.visititems_links(look)
    return list(found.values())


def _may_change(dataset: Dataset) -> bool:
    if dataset.refusal or not dataset.shape or dataset.dtype.hasobject or dataset.external:
        return False
    storage = description_of(dataset)["storage"]
    is_large = storage == "chunked" or (storage == "contiguous" and dataset.nbytes >= _LEAST_BYTES)
    return is_large and not any(number in _KEPT_FILTERS for number in dataset.filter_ids)


def _storage(
    about: Description,
    flags: list[bool],
    chunks: tuple[int, ...] | None,
    contiguous: bool,
    filters: tuple[str | int | None, object, bool | None, bool | None],
) -> tuple[list[int] | None, _Filters] | None:
    """Chunk shape and filters that a dataset gets; `None` if it stays as it is."""
    extents = about["shape"] or []
    can_grow = extents != about["maxshape"]
    if contiguous:
        return None if can_grow or about["chunks"] is None else (None, [])
    now = [(number, parameters) for number, _, parameters in about["filters"]]
    stays: _Filters = [
        (number, name if number >= 256 else None, may_skip, parameters) for (number, name, parameters), may_skip in zip(about["filters"], flags, strict=True)
    ]
    compression, level, shuffle, fletcher32 = filters
    wanted = stays
    if any(one is not None for one in filters):
        before, kept = compression_of(now)
        if compression in (None, before):
            compression, level = before, kept if level is None else level
        elif compression == "none":
            compression = None
        numbers = [number for number, _ in now]
        wanted = filters_of(compression, level, 2 in numbers if shuffle is None else shuffle, 3 in numbers if fletcher32 is None else fletcher32)
    shape = None if about["chunks"] is None else list(about["chunks"])
    if chunks is not None and len(chunks) == len(extents):
        # A chunk may be larger than a dataset only where the dataset may grow.
        limits = zip(chunks, extents, about["maxshape"], strict=True)
        shape = [chunk if most is None else min(chunk, max(most, extent, 1)) for chunk, extent, most in limits]
    chunked = about["chunks"] and list(about["chunks"])
    # Parameters that follow from the type are set when the dataset is made: filters are the same if their numbers and levels are.
    alike = [one[0] for one in wanted] == [number for number, _ in now] and compression_of([(one[0], one[3]) for one in wanted]) == compression_of(now)
    is_same = shape == chunked and alike
    return None if is_same else (shape, wanted)
