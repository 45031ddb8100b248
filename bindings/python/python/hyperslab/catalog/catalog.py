"""Catalog: the functions `hyperslab.write_catalog` and `hyperslab.open_catalog`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from .. import _native
from ..base.arguments import check_choice, check_mode
from ..base.errors import ConflictError, CorruptError, Error, InvalidInputError, MissingFileError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import OpenOptions, Path, Paths
from ..files.file import FileSet
from ..files.file import open as open_files
from ..files.native_files import natives_of
from ..joining.join import paths_of
from ..joining.matching import LeftOut
from ..sources.addresses import absolute, is_address, options_of, shown_address
from ..sources.sessions import session
from .rows import SCHEMA, rows_of
from .stamps import Listings, Stamp, of_opened, of_path

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Files that are open at a time.
_BATCH = 256
#: Files whose rows are written together.
_TABLES = 1 << 13


class Cataloged(NamedTuple):
    """What `write_catalog` did.

    Attributes:
        files: Files of the catalog.
        arrays: Its rows.
        read: Files that were opened, because they are new or were changed.
        left_out: Files that cannot be read, and why.
    """

    files: int
    arrays: int
    read: int
    left_out: list[LeftOut]


def write_catalog(
    files: Paths, path: Path, mode: str = "x", *, errors: str = "raise", progress: Callable[[int, int], object] | None = None, **options: Unpack[OpenOptions]
) -> Cataloged:
    """Writes what many files hold as a Parquet file with a row for each array: shape, datatype, dimensions, chunks, units, and the ranges of
    its coordinates.

    Args:
        files: A glob, or paths, of HDF5 and netCDF files; also addresses in object stores and on web servers.
        path: The catalog. It appears when it is complete.
        mode: `x` refuses to replace an existing catalog, `w` replaces it. `a` brings it up to date: files with the same size and time of
            change as when they were read (objects of a store: with the same entity tag, by one listing for each folder) are not read again, and files
            that are gone lose their rows.
        errors: Files that cannot be read are an error that names the first ones (`raise`), or are listed in the result (`leave_out`).
        progress: Called with the files processed so far, and their number.
        options: Those of `hyperslab.open`, such as `threads`, `limits` and `storage_options`.

    Returns:
        How many files and arrays there are, how many files were opened, and which were left out.

    Raises:
        ConflictError: `mode` is `x` and the catalog exists.
        CorruptError: `mode` is `a` and the file is not a catalog.
        MissingFileError: No file matches.

    Example:
        >>> hs.write_catalog("archive/*.nc", "archive.parquet", "a")
    """
    check_mode(mode, ("x", "w", "a"))
    check_choice("errors", errors, ("raise", "leave_out"))
    target = os.fsdecode(path)
    if mode == "x" and os.path.exists(target):
        raise ConflictError("the file exists: mode w replaces it, and a brings it up to date", target)
    storage_options = options.get("storage_options")
    names = [absolute(name) for name in paths_of(files, storage_options)]
    for name in names:
        if is_address(name) and shown_address(name) != name:
            raise UnsupportedError(
                "an address with a query or a password is not cataloged, because everybody who reads the catalog would have it", shown_address(name)
            )
    known = _Known(target if mode == "a" and os.path.exists(target) else None)
    kept = {"limits": tuple(sorted((options.get("limits") or {}).items())), "storage_options": options_of(storage_options)}
    opener = session(**{**options, **kept})
    left_out, read, cataloged, arrays = list[LeftOut](), 0, 0, 0
    part = _native.PartFile(target)
    try:
        with os.fdopen(part.descriptor(), "wb") as out, pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
            waiting = list[pa.Table | list[dict[str, object]]]()
            for done, (name, found) in enumerate(_each(opener, names, known), 1):
                if isinstance(found, Error):
                    left_out.append(LeftOut(name, found.message))
                else:
                    read += isinstance(found, list)
                    cataloged, arrays = cataloged + 1, arrays + len(found)
                    waiting.append(found)
                if len(waiting) >= _TABLES:
                    _write(writer, waiting)
                if progress is not None:
                    progress(done, len(names))
            _write(writer, waiting)
        if left_out and errors == "raise":
            some = "; ".join(f"{left.path}: {left.reason}" for left in left_out[:3])
            raise InvalidInputError(f"{len(left_out)} of {len(names)} files cannot be read (errors='leave_out' lists them): {some}")
        part.publish()
    finally:
        part.discard()
    return Cataloged(cataloged, arrays, read, left_out)


def open_catalog(path: Path, where: str | None = None, **options: Unpack[OpenOptions]) -> FileSet:
    """Opens the files of a catalog that hold what is wanted, without looking into the others.

    Args:
        path: The catalog that `write_catalog` has written.
        where: A condition of SQL over its columns, such as `dataset = '/t2m' and last_time >= '2020-01-01'`; by default all files are opened.
            Give no condition of strangers: it is run as SQL.
        options: Those of `hyperslab.open`.

    Returns:
        The files of the rows that fulfill it, in the catalog's order.

    Raises:
        MissingFileError: No row fulfills the condition.
        CorruptError: The file is not a catalog.
        ConflictError: One of the files has changed since it was read: `write_catalog(..., mode="a")` brings the catalog up to date.

    Example:
        >>> files = hs.open_catalog("archive.parquet", "dataset = '/t2m'")
    """
    target = os.fsdecode(path)
    if where is None:
        found = _table(target, ["path", *Stamp._fields])
    else:
        require("conditions on a catalog", "sql", "duckdb")
        import duckdb

        _table(target, ["path"])
        connection = duckdb.connect()
        try:
            relation = connection.sql(
                "select * from read_parquet(?)",
                params=[target],
            )
            found = relation.filter(where).to_arrow_table()
        except duckdb.Error as error:
            raise InvalidInputError(f"the condition {where!r}: {error}", target) from None
        finally:
            connection.close()
    columns = [found[name].to_pylist() for name in ("path", *Stamp._fields)]
    stamps = {name: Stamp(*stamp) for name, *stamp in zip(*columns, strict=True)}
    if not stamps:
        raise MissingFileError("no row of the catalog fulfills the condition" if where is not None else "the catalog has no files", target)
    for name, stamp in stamps.items():
        if not is_address(name):
            _check(name, stamp, of_path(name))
    opened = open_files(list(stamps), **options)
    natives = natives_of(opened)
    for (name, stamp), native in zip(stamps.items(), natives, strict=True):
        if is_address(name):
            _check(name, stamp, of_opened(native))
    # One file of a list is a file, not a set.
    return opened if isinstance(opened, FileSet) else FileSet(natives, None)


def _check(name: str, stamp: Stamp, now: Stamp | None) -> None:
    if now is None:
        raise MissingFileError("it is in the catalog, but not there any more: write_catalog(..., mode='a') brings the catalog up to date", name)
    if not stamp.is_of(now):
        raise ConflictError("it has changed since it was read for the catalog: write_catalog(..., mode='a') brings the catalog up to date", name)


def _write(writer: pq.ParquetWriter, waiting: list[pa.Table | list[dict[str, object]]]) -> None:
    """Writes rows of files together: a row group, or a table, for each of many small ones would cost more than their rows."""
    tables = list[pa.Table]()
    for is_new, files in itertools.groupby(waiting, lambda found: isinstance(found, list)):
        rows = list(files)
        tables += [pa.Table.from_pylist([row for of_file in rows for row in of_file], SCHEMA)] if is_new else rows
    if tables:
        writer.write_table(pa.concat_tables(tables).combine_chunks())
        waiting.clear()


def _table(path: str, columns: list[str]) -> pa.Table:
    try:
        return pq.read_table(path, columns=columns, partitioning=None)
    except FileNotFoundError:
        raise MissingFileError("there is no such catalog", path) from None
    except (pa.ArrowException, OSError) as error:
        raise CorruptError(f"this is not a catalog: {error}", path) from None


class _Known:
    """The rows of each file that a catalog has. A table for each of 100,000 files would take 1 GB."""

    def __init__(self, path: str | None) -> None:
        self._table = SCHEMA.empty_table() if path is None else _table(path, SCHEMA.names).combine_chunks()
        if not self._table.schema.equals(SCHEMA):
            raise CorruptError("this is not a catalog: its columns are others", path)
        paths, *stamps = (self._table[name].to_pylist() for name in ("path", *Stamp._fields))
        #: Stamp, first row and number of rows.
        self._files: dict[str, tuple[Stamp, int, int]] = {}
        first = 0
        for row in range(1, len(paths) + 1):
            if row == len(paths) or paths[row] != paths[first]:
                self._files[paths[first]] = Stamp(*(column[first] for column in stamps)), first, row - first
                first = row

    def rows(self, name: str, stamp: Stamp | None) -> pa.Table | None:
        """The rows of an unchanged file."""
        known = self._files.get(name)
        return self._table.slice(*known[1:]) if known is not None and stamp is not None and known[0].is_of(stamp) else None

    def __contains__(self, name: str) -> bool:
        return name in self._files


def _each(opener: _native.Session, names: list[str], known: _Known) -> Iterator[tuple[str, pa.Table | list[dict[str, object]] | Error]]:
    """Each file with its rows, or the error of reading it. The rows come from the catalog if the file has not changed."""
    listings = Listings(opener)
    for first in range(0, len(names), _BATCH):
        batch = names[first : first + _BATCH]
        stamps = {name: (listings.stamp(name) if name in known else None) if is_address(name) else of_path(name) for name in batch}
        kept = {name: rows for name in batch if (rows := known.rows(name, stamps[name])) is not None}
        wanted = [name for name in batch if name not in kept]
        opened = dict(zip(wanted, _opened(opener, wanted), strict=True))
        for name in batch:
            yield name, kept[name] if name in kept else _read(name, opened[name], stamps[name], known)


def _read(name: str, found: _native.File | Error, stamp: Stamp | None, known: _Known) -> pa.Table | list[dict[str, object]] | Error:
    """The rows of a file that was opened."""
    if isinstance(found, Error):
        return found
    try:
        stamp = of_opened(found) if is_address(name) else stamp
        if stamp is None:
            return MissingFileError("there is no such file", name)
        # Servers that do not list files tell the version when one is opened.
        rows = known.rows(name, stamp) if is_address(name) else None
        return list(rows_of(found, name, stamp)) if rows is None else rows
    except Error as error:
        return error
    finally:
        found.close()


def _opened(opener: _native.Session, names: list[str]) -> list[_native.File | Error]:
    """The files, or the errors of opening them."""
    try:
        return list(opener.open(names)) if names else []
    except Error:
        return [_one(opener, name) for name in names]


def _one(opener: _native.Session, name: str) -> _native.File | Error:
    try:
        return opener.open([name])[0]
    except Error as error:
        return error
