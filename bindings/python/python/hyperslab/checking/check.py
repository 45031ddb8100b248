"""Check a file for damage, show where its bytes are, and recover what a damaged one holds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from .. import _native
from ..base.arguments import check_mode
from ..base.change import changes_of
from ..base.errors import UnsupportedError
from ..base.type_aliases import Json, JsonObject, Path
from ..sources.addresses import is_address
from ..sources.sessions import session
from .recovery import DeletedObject, LostPart, RecoveredObject, RecoveredValues, Recovery
from .report import CheckReport, Finding
from .space import DatasetStat, KindStat, SpaceAdvice, Stat

#: Called with what is done, what there is to do as far as it is known, and the unit: `objects` or `bytes`.
Progress = Callable[[int, int, str], object]


def check(
    path: Path,
    *,
    data: bool = True,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    paths: str | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Checks a file of HDF5 or netCDF for damage: every structure, checksum, link, reference and chunk.

    Walks everything that the superblock leads to and goes on after damage. Nothing of the file is changed.

    Args:
        path: A local file.
        data: Whether all values are read and all chunks decoded, by all threads.
        threads: Number of threads; one per core by default.
        limits: Limits on what the file may cost, by name, as in `hyperslab.open`.
        paths: Other files that the file may name, as in `hyperslab.open`: external files and sources of virtual datasets must exist.
        progress: Called with what is done, what there is to do as far as it is known, and the unit, `objects` or `bytes`.

    Returns:
        The findings. A damaged file is not an exception: look at `ok`.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: The file is of another format, or has lost its beginning.
        LimitExceededError: The file costs more than `limits` allow.

    Example:
        >>> hs.check("run.h5").ok
        True
    """
    found = json.loads(_native.check(_session(threads, limits, paths), _local(path, "check"), data, progress))
    return CheckReport(**{**found, "findings": tuple(Finding(**one) for one in found["findings"])})


def stat(
    path: Path,
    *,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Stat:
    """Shows where the bytes of an HDF5 or netCDF file are: values by dataset, metadata by kind, free space.

    Reads metadata only.

    Args:
        path: A local file.
        threads: Number of threads; one per core by default.
        limits: Limits on what the file may cost, by name, as in `hyperslab.open`.
        progress: Called with what is done, what there is to do as far as it is known, and the unit.

    Returns:
        The sums, the datasets with their chunks and compression, and advice on what is inefficient.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: The file is of another format.
        LimitExceededError: The file costs more than `limits` allow.

    Example:
        >>> hs.stat("run.h5").data_bytes
    """
    found = json.loads(_native.stat(_session(threads, limits, None), _local(path, "stat"), progress))
    kinds = tuple(KindStat(one["kind"], one["purpose"], one["count"], one["bytes"]) for one in found.pop("kinds"))
    datasets = tuple(DatasetStat(**{name: _plain(value) for name, value in one.items()}) for one in found.pop("dataset_list"))
    advice = tuple(SpaceAdvice(**one) for one in found.pop("advice"))
    return Stat(**found, kinds=kinds, dataset_list=datasets, advice=advice)


def recover(
    broken: Path,
    out: Path,
    mode: str = "x",
    *,
    deleted: bool = False,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Recovery:
    """Saves what a damaged HDF5 or netCDF-4 file holds into a new file.

    Walks what the superblock leads to, looks for objects, links and chunks in the rest of the file, and decodes every chunk. Chunks that are
    right are copied as they are stored. What is lost is the fill value in the new file, and in the report: no value is invented.
    The damaged file is only read.

    Args:
        broken: The damaged file, on this machine.
        out: The new file.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        deleted: Whether what is left of objects that were deleted from a file without damage is copied to `/lost+found`, too.
        threads: Number of threads; one per core by default.
        limits: Limits on what the file may cost, by name, as in `hyperslab.open`.
        progress: Called with what is done, what there is to do as far as it is known, and the unit.

    Returns:
        What was saved, what was lost, and how sure each is.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: Nothing in the file looks like HDF5.
        ConflictError: `mode` is `x` and the file `out` exists.

    Example:
        >>> hs.recover("broken.h5", "saved.h5").lost
    """
    check_mode(mode, ("x", "w"))
    found = json.loads(_native.recover(_session(threads, limits, None), _local(broken, "recover"), os.fsdecode(out), mode == "w", deleted, progress))
    objects = tuple(RecoveredObject(**{**one, "values": None if one["values"] is None else _values(one["values"])}) for one in found.pop("objects"))
    lost = tuple(LostPart(**one) for one in found.pop("lost"))
    bad = tuple((start, length) for start, length in found.pop("bad_ranges"))
    left = tuple(DeletedObject(**{**one, "losses": tuple(one["losses"])}) for one in found.pop("deleted"))
    changes = changes_of(found.pop("changes"))
    return Recovery(**{**found, "changes": changes, "deleted": left, "damages": tuple(found["damages"])}, objects=objects, lost=lost, bad_ranges=bad)


def _values(found: JsonObject) -> RecoveredValues:
    boxes = {name: tuple((tuple(start), tuple(count)) for start, count in found[name]) for name in ("lost", "doubtful")}
    return RecoveredValues(**{**found, **boxes})


def _plain(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


def _session(threads: int | None, limits: Mapping[str, int] | None, paths: str | None) -> _native.Session:
    """A session that shows files as plain HDF5."""
    return session(threads, "hdf5", paths, None, tuple(sorted((limits or {}).items())))


def _local(path: Path, what: str) -> str:
    name = os.fsdecode(path)
    if is_address(name):
        raise UnsupportedError(f"{what} reads local files: copy the object first", name)
    return name
