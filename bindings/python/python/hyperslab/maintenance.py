"""Maintenance of files that several writers made: verify, vacuum, and fuse into one ordinary file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from . import _native
from .errors import InvalidInputError
from .type_aliases import Path


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
        values: Read all bytes, too: those of plans with `checksums=True` must have their checksums, chunks of others must
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
    and `files` leftover files of killed writers that were removed."""

    removed: list[str]
    young: list[str]
    indexes: list[str]
    orphans: list[str]
    files: list[str]


def vacuum(path: Path, *, hours: float = 24, index_folder: Path | None = None, orphans: bool = False, dry_run: bool = False) -> VacuumResult:
    """Removes leftovers of killed writers and killed index builds, and data that was overwritten.

    Keeps all that a master in the same folder uses, even if it was renamed or copied. Cuts off unused indexes at the end of
    the file: no program may have the file open without locks meanwhile.

    Args:
        path: A file of any kind, or the master of a container.
        hours: Remove uncommitted writes and overwritten data only if they were not touched for this many hours.
        index_folder: The folder of indexes that are not next to the file.
        orphans: Also remove commits that no master in the folder uses.
        dry_run: Remove nothing, only report.

    Returns:
        What was removed, or with `dry_run` would be.

    Example:
        >>> hs.vacuum("big.h5", dry_run=True).removed
        []
    """
    name = os.fsdecode(path)
    found = _native.vacuum(name, hours * 3600, orphans, dry_run)
    elsewhere = None if index_folder is None else os.path.abspath(os.fsdecode(index_folder))
    indexes = _native.index_vacuum(name, hours * 3600, elsewhere, dry_run)
    return VacuumResult(found.removed, found.young, indexes, found.orphans, found.files)


class Fused(NamedTuple):
    """What `fuse` did.

    Attributes:
        bytes: Size of the new file.
        copied_chunks: Chunks that were copied as stored.
        reencoded_bytes: Bytes of values that were encoded again.
    """

    bytes: int
    copied_chunks: int
    reencoded_bytes: int


def fuse(master: Path, target: Path, mode: str = "x", *, progress: Callable[[int, int], object] | None = None) -> Fused:
    """Makes one ordinary file out of a master and its subfiles. Copies chunks without decoding them if possible.

    Args:
        master: The master file.
        target: The file to write.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        progress: Called with the bytes of values processed so far, and their total.

    Returns:
        The size of the new file, and what was copied.

    Raises:
        ConflictError: `mode` is `x` and the file exists.
        CorruptError: A subfile is missing or damaged.

    Example:
        >>> hs.fuse("big.h5", "one.h5")
    """
    if mode not in ("w", "x"):
        raise InvalidInputError(f"mode {mode!r} is not known: give w (replace) or x (there must be none)")
    fused = _native.fuse(os.fsdecode(master), os.fsdecode(target), mode == "w", progress)
    return Fused(fused.bytes, fused.copied_chunks, fused.reencoded_bytes)
