"""Opening: `hyperslab.open` in modes other than `r`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from .. import _native
from ..backends.editing import Editing
from ..base.arguments import check_mode
from ..base.errors import ConflictError, InvalidInputError, UnsupportedError
from ..base.type_aliases import ChangeOptions, Path
from ..files import file
from ..sources.addresses import is_address
from ..sources.local_path import local_path
from ..sources.sessions import session
from ..sources.source import Content, LocalPattern, Location, Several, classify
from .new_file import create

#: Seconds between attempts to open a file that another program has open.
_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.05


def editing_of(path: Path | IO[bytes], options: Mapping[str, Any], kind: Callable[[str, _native.Session], Editing] = Editing) -> Editing:
    """Opens an existing file for changes, with the options of `hyperslab.open`.

    Args:
        path: The path.
        options: Options that were given.
        kind: Makes the backend: its class.

    Raises:
        MissingFileError: There is no such file.
        ConflictError: Another program has it open.
        UnsupportedError: It cannot be edited; the message names what it has.
    """
    source = classify(path)
    if isinstance(source, (Content, Several)):
        raise InvalidInputError("give the path of one file to change it")
    name = local_path(path)
    if is_address(name) or options.get("store") is not None or options.get("storage_options") is not None:
        raise UnsupportedError("files of object stores and servers are read only: change a local copy", name)
    format = options.get("format")
    if format is not None and format.lower() not in ("hdf5", "netcdf4"):
        raise UnsupportedError(f"format {format!r}: only HDF5 files can be changed", name)
    opener = session(
        options.get("threads"),
        "hdf5" if format is not None and format.lower() == "hdf5" else None,
        options.get("paths"),
        options.get("missing_sources"),
        tuple(sorted((options.get("limits") or {}).items())),
        None,
        options.get("chunk_cache_bytes"),
        # Value indexes describe the file before the change.
        "none",
    )
    timeout = options.get("timeout")
    if timeout is not None and not timeout >= 0:
        raise InvalidInputError(f"timeout={timeout}: give seconds, 0 or more")
    deadline, pause = time.monotonic() + (timeout or 0), _FIRST_PAUSE
    while True:
        try:
            return kind(name, opener)
        except ConflictError:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)


def is_existing(path: Path) -> bool:
    """Whether mode `a` opens a file that exists.

    Args:
        path: The path.
    """
    source = classify(path)
    return not isinstance(source, (LocalPattern, Location)) or is_address(local_path(path)) or os.path.exists(local_path(path))


def open_for_changes(path: Path, mode: str, options: ChangeOptions) -> file.File:
    """`hyperslab.open` in a mode other than `r`."""
    if mode == "r+" or (mode == "a" and is_existing(path)):
        return file.File(editing_of(path, options))
    if mode not in ("a", "w", "w-", "x"):
        check_mode(mode, ("r", "r+", "a", "w", "x"))
    if isinstance(classify(path), (Content, Several)):
        raise InvalidInputError("give the path of one file to create it")
    given = [name for name, value in options.items() if value is not None and name not in ("threads", "timeout")]
    if given:
        raise InvalidInputError(f"{given[0]}= is for files that exist: hyperslab.create has the options of new ones")
    return create(local_path(path), "x" if mode == "a" else mode, threads=options.get("threads"))
