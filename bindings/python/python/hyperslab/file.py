"""File: one file or several, opened."""

from __future__ import annotations

import glob as globbing
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from . import _native, tree
from .attributes import Attributes
from .errors import READ_ONLY, InvalidInputError, MissingFileError, ReadOnlyError, UnsupportedError
from .natural_order import natural_key
from .objects import Group, Names
from .sessions import session
from .table import Table


class File(Group):
    """An open file: its root group, and tables of what is in it."""

    def __init__(self, native: _native.File, others: list[_native.File] | None = None, pattern: str | None = None) -> None:
        if not isinstance(native, _native.File):
            raise TypeError(f"File() does not open files: use hyperslab.open({native!r})")
        super().__init__(native, 0, "/")
        self._natives, self._pattern = [native, *(others or [])], pattern

    @property
    def files(self) -> list[File]:
        """The open files: itself, or each file of a `FileSet`."""
        return [self]

    @property
    def filename(self) -> str:
        """The path it was opened by."""
        return self._file.path

    @property
    def format(self) -> str:
        """`Hdf5`, `Netcdf3` or `Netcdf4`."""
        return self._file.format

    def table(self, path: str | None = None, where: Any = None, columns: list[str] | None = None, layout: str | None = None,
              decode: bool = True, batch_rows: int = 65536, limit: int | None = None, omitted: str = "warn",
              variables: Mapping[str, Any] | None = None) -> Table:
        """Arrays at `path` as a table (the root group without a path). Members of a group that are not columns are in
        `Table.omitted`, and in an `OmittedColumnsWarning` unless `columns` are given; `omitted="error"` makes them an
        `InvalidInputError`, `omitted="ignore"` no warning. `variables` are lists of constants that `where` names behind `in`:
        `where="id in ids", variables={"ids": array}`."""
        options = {"where": where, "variables": variables, "columns": columns, "layout": layout, "decode": decode,
                   "batch_rows": batch_rows, "limit": limit, "file_pattern": self._pattern}
        table = Table(self._natives, path or "/", options)
        table._report_omitted(omitted, 2)
        return table

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
        return f"{self.filename}\n{tree.text(self)}"

    def _repr_html_(self) -> str:
        return tree.as_html(self, f"{self.filename}  {self.format}")


class FileSet(File):
    """Several files. `table`, `hs.sql`, `hs.query` and `hs.index` take all of them, in order. Arrays, groups and
    attributes belong to one file: `files[0]["x"]`. A glob that matches a single file gives a set that is used like
    that file."""

    @property
    def files(self) -> list[File]:
        """Each file, in order."""
        return [File(native) for native in self._natives]

    @property
    def filenames(self) -> list[str]:
        """The path of each file, in order."""
        return [native.path for native in self._natives]

    @property
    def filename(self) -> str:
        """The path of the file if there is only one; `InvalidInputError` for more, which `filenames` lists."""
        self._check_single("filenames has their paths")
        return super().filename

    @property
    def format(self) -> str:
        """The format of all files, or `InvalidInputError` if they differ."""
        formats = list(dict.fromkeys(native.format for native in self._natives))
        if len(formats) > 1:
            self._check_single(f"they are {' and '.join(formats)}")
        return formats[0]

    @property
    def attrs(self) -> Attributes:
        """The attributes of the file if there is only one; `InvalidInputError` for more."""
        self._check_single("take the attributes of one, files[0].attrs")
        return super().attrs

    def keys(self) -> Names:
        """The names of the members of the file if there is only one; `InvalidInputError` for more."""
        self._names()
        return super().keys()

    def _names(self) -> list[str]:
        self._check_single("list the members of one, files[0].keys()")
        return super()._names()

    def __contains__(self, path: object) -> bool:
        self._check_single(f"look in one, {path!r} in files[0]")
        return super().__contains__(path)

    def __getitem__(self, path: Any) -> Any:
        self._check_single(f"take an array of one, files[0][{path!r}], or the rows of all, table({path!r})")
        return super().__getitem__(path)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        """Whether they are the same opened files."""
        return isinstance(other, FileSet) and self._natives == other._natives

    def __hash__(self) -> int:
        return hash(tuple(self._natives))

    def _check_single(self, instead: str) -> None:
        """`InvalidInputError`, which says what to do `instead`, unless there is one file only."""
        if len(self._natives) > 1:
            raise InvalidInputError(f"{self._title()} are open: {instead}")

    def _title(self) -> str:
        """`50 files (data/*.nc)`, without the pattern for a list of files."""
        count = len(self._natives)
        return f"{count} file{'' if count == 1 else 's'}{'' if self._pattern is None else f' ({self._pattern})'}"

    def __repr__(self) -> str:
        first, last = self._natives[0].path, self._natives[-1].path
        through = "" if len(self._natives) == 1 else f" to {last}"
        return f"{self._title()}: {first}{through}\nthe first file has\n{tree.text(File(self._natives[0]))}"

    def _repr_html_(self) -> str:
        return tree.set_as_html(self._title(), self.filenames, File(self._natives[0]))


def _local(path: Any) -> str:
    """The local path that `path` stands for."""
    if hasattr(path, "read"):
        name = getattr(path, "name", None)
        hint = f"open({name!r})" if isinstance(name, str) else "open() with the path of a file"
        raise TypeError(f"open() takes a path, not an open file ({type(path).__name__}): use hyperslab.{hint}")
    name = os.fsdecode(path)
    scheme, separator, _ = name.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme) and not os.path.exists(name):
        url = urlsplit(name)
        if scheme.lower() != "file" or url.netloc not in ("", "localhost"):
            raise UnsupportedError(f"'{name}': remote files are not supported yet; download the file and give its path")
        return unquote(url.path)
    return os.path.expanduser(name) if name.startswith("~") and not os.path.exists(name) else name


def open(path: Any, mode: str = "r", *, threads: int | None = None, format: str | None = None, paths: str | None = None,
         missing_sources: str | None = None, limits: Mapping[str, int] | None = None, index_folder: Any = None) -> File:
    """Opens a path, a list of paths or a glob (files in natural order: `run2` before `run10`) for reading; `mode` is
    always `r`. A leading `~` is the home folder, and `file://` URLs are paths, as in pandas.
    `threads` decode, one a core by default. `format` is one of `hdf5`, `netcdf3`, `netcdf4`: another
    file is refused, and `hdf5` shows a netCDF-4 file as plain HDF5.

    External links, virtual datasets and external raw data name other files: `paths="folder"` (the default)
    opens those in the file's folder and below, `paths="anywhere"` any. A source of a virtual dataset that
    is not there is an error, with `missing_sources="fill"` the fill value, as in h5py.

    `limits` changes what a file may cost: `{"chunk_bytes": 1 << 20}`. An unknown name lists them all.

    `index_folder` is a folder for value indexes of files that nobody may write beside (`hyperslab.index`); tables,
    queries and SQL of this file look there first."""
    if mode != "r":
        raise ReadOnlyError(f"mode {mode!r}: {READ_ONLY}")
    wanted = format.lower() if format is not None else None
    if wanted not in (None, "hdf5", "netcdf3", "netcdf4"):
        raise InvalidInputError(f"format {format!r} is not known: give hdf5, netcdf3 or netcdf4, or leave it out")
    opener = session(threads, "hdf5" if wanted == "hdf5" else None, paths, missing_sources,
                     tuple(sorted((limits or {}).items())), None if index_folder is None else os.path.abspath(index_folder))
    if isinstance(path, (list, tuple)):
        names, pattern = [_local(p) for p in path], None
    else:
        name = _local(path)
        wild = globbing.has_magic(name) and not os.path.exists(name)
        names, pattern = (sorted(globbing.glob(name), key=natural_key), name) if wild else ([name], None)
    if not names:
        raise MissingFileError(f"no file matches {path}")
    natives = opener.open(names)
    for native in natives:
        if wanted is not None and native.format.lower() != wanted:
            raise InvalidInputError(f"this file is {native.format}, not {format}", native.path)
    return File(natives[0]) if len(natives) == 1 and pattern is None else FileSet(natives[0], natives[1:], pattern)
