"""File: one file or several, opened."""

from __future__ import annotations

import functools
import glob as globbing
import os
import re
from collections.abc import Mapping
from typing import Any

from . import _native
from .errors import InvalidInputError, MissingFileError
from .objects import Group
from .table import Table


class File(Group):
    """An open file: its root group, and tables of what is in it."""

    def __init__(self, native: _native.File, others: list[_native.File] | None = None, pattern: str | None = None) -> None:
        super().__init__(native, 0, "/")
        self._natives, self._pattern = [native, *(others or [])], pattern

    @property
    def filename(self) -> str:
        """The path it was opened by."""
        return self._file.path

    @property
    def format(self) -> str:
        """`Hdf5`, `Netcdf3` or `Netcdf4`."""
        return self._file.format

    def table(self, path: str | None = None, where: Any = None, columns: list[str] | None = None, layout: str | None = None,
              decode: bool = True, batch_rows: int = 65536, limit: int | None = None, variables: Mapping[str, Any] | None = None) -> Table:
        """Arrays at `path` as a table (the root group without a path). `variables` are lists of constants that `where` names
        behind `in`: `where="id in ids", variables={"ids": array}`."""
        options = {"where": where, "variables": variables, "columns": columns, "layout": layout, "decode": decode,
                   "batch_rows": batch_rows, "limit": limit, "file_pattern": self._pattern}
        return Table(self._natives, path or "/", options)

    def refresh(self) -> None:
        """Reads the file's metadata anew: what a writer has added since shows in this object, and in
        datasets that are taken from it (or refreshed) from now on."""
        self._natives = [native.reopen() for native in self._natives]
        self._file = self._natives[0]
        self._about = self._file.describe(self._number)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: the file closes with its last user."""

    def __repr__(self) -> str:
        return "\n".join([*(native.path for native in self._natives), super().__repr__()])


class FileSet(File):
    """Several files as one table; the tree is the first one's."""


@functools.lru_cache(maxsize=16)
def session(threads: int | None = None, format: str | None = None, paths: str | None = None,
            missing_sources: str | None = None, limits: tuple[tuple[str, int], ...] = ()) -> _native.Session:
    """The session with these options, one in a process: its threads are started once."""
    return _native.Session(threads, format, paths, missing_sources, limits)


def open(path: Any, *, threads: int | None = None, format: str | None = None, paths: str | None = None,
         missing_sources: str | None = None, limits: Mapping[str, int] | None = None) -> File:
    """Opens a path, a list of paths or a glob (files in natural order: `run2` before `run10`).
    `threads` decode, one a core by default. `format` is one of `hdf5`, `netcdf3`, `netcdf4`: another
    file is refused, and `hdf5` shows a netCDF-4 file as plain HDF5.

    External links, virtual datasets and external raw data name other files: `paths="folder"` (the default)
    opens those in the file's folder and below, `paths="anywhere"` any. A source of a virtual dataset that
    is not there is an error, with `missing_sources="fill"` the fill value, as in h5py.

    `limits` changes what a file may cost: `{"chunk_bytes": 1 << 20}`. An unknown name lists them all."""
    wanted = format.lower() if format is not None else None
    if wanted not in (None, "hdf5", "netcdf3", "netcdf4"):
        raise InvalidInputError(f"format {format!r} is not known: give hdf5, netcdf3 or netcdf4, or leave it out", "InvalidInput")
    opener = session(threads, "hdf5" if wanted == "hdf5" else None, paths, missing_sources,
                     tuple(sorted((limits or {}).items())))
    if isinstance(path, (list, tuple)):
        names, pattern = [os.fspath(p) for p in path], None
    else:
        name = os.fspath(path)
        wild = globbing.has_magic(name) and not os.path.exists(name)
        names, pattern = (sorted(globbing.glob(name), key=_natural), name) if wild else ([name], None)
    if not names:
        raise MissingFileError(f"no file matches {path}", "NotFound")
    natives = opener.open(names)
    for native in natives:
        if wanted is not None and native.format.lower() != wanted:
            raise InvalidInputError(f"this file is {native.format}, not {format}", "InvalidInput", native.path)
    return File(natives[0]) if len(natives) == 1 and pattern is None else FileSet(natives[0], natives[1:], pattern)


def _natural(name: str) -> list[tuple[str, int]]:
    """Numbers in names by their value."""
    return [(words, int(digits or 0)) for words, digits in re.findall(r"([^0-9]*)([0-9]*)", name)]
