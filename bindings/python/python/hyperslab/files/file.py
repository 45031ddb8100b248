"""File: opening files, and tables of what is in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from .. import _native
from ..backends.backend import Backend
from ..backends.reading import Reading
from ..base.arguments import check_choice
from ..base.errors import CorruptError, Error, InvalidInputError, UnsupportedError
from ..base.extras import late
from ..base.type_aliases import ChangeOptions, Path, Paths
from ..objects import html, tree
from ..objects.attributes import Attributes
from ..objects.group import Group, Member, Result
from ..objects.group_views import Names
from ..objects.kept import kept
from ..objects.node import register
from ..sources import range_readers
from ..sources.addresses import options_of
from ..sources.file_objects import listed
from ..sources.sessions import session
from ..sources.source import classify
from ..tables.table import Table, report_omitted
from ..values.references import Reference
from .model_view import ModelView, recognized

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset
    from typing_extensions import Self


class File(Group):
    """An open file: a mapping of its root group, and tables of what is in it. `hyperslab.open` makes one.

    A file that is open for changes (mode `r+`) shows each change at once. Others see all of them together, after `flush()` (or
    `commit()`), `close()`, or the end of a `with` block. An exception in the block drops those since the last commit.

    A file that is being created (mode `w` or `x`, `hyperslab.create`) appears, complete and on the disk, with `close()` or at the end of a
    `with` block. An exception in the block, or `abort()`, leaves nothing."""

    def __init__(self, opened: _native.File | _native.Files | Backend, pattern: str | None = None) -> None:
        if isinstance(opened, _native.Files):
            self._natives, opened = opened, opened[0]
        backend = Reading(opened) if isinstance(opened, _native.File) else opened
        if not isinstance(backend, Backend):
            raise TypeError(f"File() does not open files: use hyperslab.open({opened!r})")
        super().__init__(backend, backend.file.root, "/")
        self._pattern = pattern

    @kept
    def _natives(self) -> _native.Files:
        return _native.Files([self._backend.native])

    @property
    def files(self) -> list[File]:
        """The open files: a list of this file, or the files of a `FileSet`."""
        return [self]

    @property
    def filename(self) -> str:
        """The path by which it was opened."""
        return self._backend.path

    @property
    def format(self) -> str:
        """The format, in the words of `hyperslab.open(format=)`: `hdf5`, `netcdf3`, `netcdf4`, `references` (a document of references to chunks),
        `container` or `netcdf_container` (HDF5 or netCDF-4 as a container of Arrow files)."""
        return self._file.format

    @property
    def mode(self) -> str:
        """`r` of a file that is open for reading, `r+` of one that can be changed or is being created."""
        return self._backend.mode

    @property
    def userblock_size(self) -> int:
        """Bytes of HDF5's user block, in front of the file's own first byte."""
        return self._file.user_block_bytes

    @property
    def _columns_pattern(self) -> str | None:
        """The glob whose wildcards are columns of tables. `**` stands for any number of folders, so its globs have none."""
        return None if self._pattern is None or "**" in self._pattern else self._pattern

    @classmethod
    def _of(cls, backend: Backend) -> File:
        """The `File` of an object's backend."""
        return cls(backend)

    def commit(self) -> None:
        """Makes all changes visible to others at once, and waits until they are on the disk. If this fails, the file of others is as
        before or as after the commit, never between.

        Raises:
            IoError: The operating system reported an error. A full disk leaves the file as before: the commit may be tried again.
            ReadOnlyError: The file is open for reading.

        Example:
            >>> f.commit()
        """
        self._changes.commit()

    def flush(self) -> None:
        """As `commit`; a file that is open for reading has nothing to write.

        Example:
            >>> f.flush()
        """
        self._backend.flush()

    def roll_back(self) -> None:
        """Drops the changes since the last commit.

        Raises:
            ReadOnlyError: The file is open for reading.

        Example:
            >>> f.roll_back()
        """
        self._changes.roll_back()

    @kept
    def _is_of_pytables(self) -> bool:
        """Whether PyTables wrote the file: it may have data frames of pandas. Not if the attributes of the root are damaged, which is no
        reason to refuse a table of another object."""
        try:
            return len(self.files) == 1 and "PYTABLES_FORMAT_VERSION" in self.attrs
        except CorruptError:
            return False

    @property
    def models(self) -> list[ModelView]:
        """The data models that recognize the file (of several files all of them), the surest first."""
        return recognized(self)

    def table(
        self,
        path: str | None = None,
        where: str | pyarrow.dataset.Expression | None = None,
        columns: Sequence[str] | None = None,
        layout: str | None = None,
        raw: bool = False,
        batch_rows: int = 65536,
        limit: int | None = None,
        omitted: str = "warn",
        variables: Mapping[str, object] | None = None,
        model: str | None = None,
        nonconforming: str = "error",
    ) -> Table:
        """Plans a scan of the arrays at `path`. Planning reads metadata only.

        Args:
            path: The name of a table of a recognized data model (`models`), else the path of a dataset or a group, with wildcards; by
                default the root group. With `raw`, the path comes first.
            where: A condition such as `"depth < 100 and t2m > 280"`, or a pyarrow expression.
            columns: Names of the columns; by default all that fit together, which `Table.omitted` completes.
            layout: `cells`, `rows`, `columns` or `records`; by default the one that fits the arrays.
            raw: Values as stored; by default the netCDF conventions are applied (fill values, scale and offset, times).
            batch_rows: Maximum number of rows of a record batch.
            limit: Maximum number of rows.
            omitted: If members of the group are not columns and `columns` is not given: `warn` (`OmittedColumnsWarning`),
                `error` (`InvalidInputError`) or `ignore`.
            variables: Lists of constants that `where` names after `in`.
            model: The data model whose table `path` is, such as `h5part`; `none` for the object at the path.
            nonconforming: If objects of the table have different columns: `error`, or `null`, with which a column that an object
                lacks is null there and a file without the object has no rows.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: There is no such object or column, or the file is not of the model.
            InvalidInputError: `where` is not a valid condition, or the arrays do not fit together.

        Example:
            >>> hs.open("profiles.nc").table("/profiles", where="id in ids", variables={"ids": [3, 5]}).to_pandas()
        """
        if not raw and model is None and self._is_of_pytables and late("models.frames").is_frame(self, path or "/"):
            if where is not None or variables is not None or layout is not None:
                reason = "a data frame of pandas is read as a whole: hyperslab.sql chooses rows; model='none' has its arrays"
                raise UnsupportedError(reason, self.filename, path)
            frame: Table = late("models.frames").FrameTable(self, path, columns, limit)
            return frame
        options = {
            "where": where,
            "variables": variables,
            "columns": columns if columns is None or isinstance(columns, str) else list(columns),
            "model": model,
            "layout": layout,
            "decode": not raw,
            "batch_rows": batch_rows,
            "limit": limit,
            "file_pattern": self._columns_pattern,
            "nonconforming": nonconforming,
        }
        table = Table(self._natives, path or "/", options)
        report_omitted(table, omitted, 2)
        return table

    def sql(self, query: str, *, parameters: Sequence[object] | Mapping[str, object] | None = None) -> duckdb.DuckDBPyRelation:
        """Runs an SQL query over the datasets and groups, as `hyperslab.sql(query, file)` does. Needs DuckDB
        (`pip install 'hyperslab[sql]'`).

        Args:
            query: SQL of DuckDB; each dataset and table-like group is a view.
            parameters: Values of `?` or `$1` in the query as a sequence, of `$name` as a mapping.

        Returns:
            A DuckDB relation: `.fetchall()`, `.df()`, `.to_arrow_table()`.

        Raises:
            MissingExtraError: DuckDB is not installed.
            InvalidInputError: DuckDB refuses the query.

        Example:
            >>> hs.open("profiles.nc").sql("select avg(theta) from theta where depth < ?", parameters=[100]).fetchall()
        """
        relation: duckdb.DuckDBPyRelation = late("engines.sql").sql(query, self, parameters=parameters)
        return relation

    def refresh(self) -> None:
        """Reads the metadata of the file again: this object, and datasets taken from it afterwards, show what writers have added. A file
        that is edited shows each change at once.

        Example:
            >>> f.refresh()
        """
        if self._backend.is_fixed:
            self._natives = self._natives.reopen()
            self._backend = Reading(self._natives[0])
            self._number = self._backend.file.root
            self._backend.hold(self, self.path, None)

    def close(self) -> None:
        """Commits the changes of a file that is edited, and closes it; if the commit fails, the file stays open. Closes all groups, datasets and tables that come from it: reading them is an `InvalidInputError` then.
        Arrays and tables that were read stay valid. Closing a closed file does nothing. A file that is not closed is closed
        when the last object that uses it is gone.

        Example:
            >>> f.close()
        """
        self._backend.close()

    def abort(self) -> None:
        """Closes the file without the changes since the last commit. Of a file that is being created nothing is left.

        Example:
            >>> f.abort()
        """
        self._backend.abandon()

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._backend.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error and error[0] is not None:
            self._backend.abandon()
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._natives if self._backend.is_fixed else self._backend, self._pattern)

    def _closed(self) -> str:
        return f"<closed {type(self).__name__} {self._file.path}>"

    def __repr__(self) -> str:
        with self._backend.lock:
            return f"{self.filename}\n{tree.text(self)}" if self else self._closed()

    def _repr_html_(self) -> str:
        return html.of_file(self, self.filename, self.format) if self else html.closed(self._closed())


class FileSet(File):
    """Several files. `table`, `hs.sql`, `hs.query` and `hs.index` take all of them, in order. Arrays, groups and
    attributes are those of the whole, as `hs.joined` makes it when one is asked for first; if it is not clear how the files follow
    each other, they belong to one file: `files[0]["x"]`. A glob that matches a single file makes a set that can be used like
    that file."""

    #: The files as one, once that was asked for.
    _joined: File | None = None

    @property
    def files(self) -> list[File]:
        """Each file, in order."""
        return [File(native) for native in self._natives]

    @property
    def filenames(self) -> list[str]:
        """The path of each file, in order."""
        return self._natives.paths()

    @property
    def filename(self) -> str:
        """The path of the file if there is only one; `InvalidInputError` for more, which `filenames` lists."""
        self._check_single("filenames has their paths")
        return super().filename

    @property
    def format(self) -> str:
        """The format of all files, or `InvalidInputError` if they differ."""
        formats = self._natives.formats()
        if len(formats) > 1:
            self._check_single(f"they are {' and '.join(formats)}")
        return formats[0]

    @property
    def attrs(self) -> Attributes:
        """The attributes of the file if there is only one, else those that all files have with the same value."""
        return super().attrs if self._is_single() else self._whole("take the attributes of one, files[0].attrs").attrs

    def keys(self) -> Names:
        """The names of the members of the file if there is only one, else of the whole.

        Returns:
            The names, in the order of the file.

        Example:
            >>> list(hs.open(["run.h5"]).keys())
        """
        return super().keys() if self._is_single() else self._whole("list the members of one, files[0].keys()").keys()

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """As in a group, for the file if there is only one, else for the whole.

        Args:
            function: Called with the path of each object.

        Returns:
            The last result of `function`.

        Example:
            >>> hs.open(["run.h5"]).visit(print)
        """
        return super().visit(function) if self._is_single() else self._whole("visit one, files[0].visit(function)").visit(function)

    def visititems(self, function: Callable[[str, Member], Result | None]) -> Result | None:
        """As in a group, for the file if there is only one, else for the whole.

        Args:
            function: Called with the path of each object, and the object.

        Returns:
            The last result of `function`.

        Example:
            >>> hs.open(["run.h5"]).visititems(print)
        """
        return super().visititems(function) if self._is_single() else self._whole("visit one, files[0].visititems(function)").visititems(function)

    def _names(self) -> list[str]:
        return super()._names() if self._is_single() else self._whole("list the members of one, files[0].keys()")._names()

    def __len__(self) -> int:
        return super().__len__() if self._is_single() else len(self._whole("count the members of one, len(files[0])"))

    def __contains__(self, path: object) -> bool:
        return super().__contains__(path) if self._is_single() else path in self._whole(f"look in one, {path!r} in files[0]")

    def __getitem__(self, path: str | bytes | Reference) -> Member:
        if self._is_single():
            return super().__getitem__(path)
        return self._whole(f"take an array of one, files[0][{path!r}], or the rows of all, table({path!r})")[path]

    def refresh(self) -> None:
        """Reads the metadata of the files again: what is asked for afterwards shows what writers have added.

        Example:
            >>> files.refresh()
        """
        self._joined = None
        super().refresh()

    def close(self) -> None:
        """Closes all files, as `File.close` does.

        Example:
            >>> files.close()
        """
        if self._joined is not None:
            self._joined.close()
        self._natives.close()

    def abort(self) -> None:
        """Closes all files, as `close`: nothing of them was changed.

        Example:
            >>> files.abort()
        """
        self.close()

    @property
    def closed(self) -> bool:
        """Whether all of the files were closed."""
        return self._natives.closed

    def __bool__(self) -> bool:
        """Whether one of the files is open."""
        return not self.closed

    def __eq__(self, other: object) -> bool:
        """Whether they are the same opened files."""
        return isinstance(other, FileSet) and self._natives == other._natives

    def __hash__(self) -> int:
        return hash(self._natives)

    def _is_single(self) -> bool:
        return len(self._natives) == 1

    def _whole(self, instead: str) -> File:
        """The files as one, or an `InvalidInputError` that says what to do `instead`."""
        if self.closed:
            raise InvalidInputError("the file is closed: open it again")
        if self._joined is None:
            try:
                self._joined = late("joining.join").joined(self)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self._title()} are open: {instead}. They are not one: {error.message}") from None
        return self._joined

    def _check_single(self, instead: str) -> None:
        """`InvalidInputError`, which says what to do `instead`, unless there is one file only."""
        if len(self._natives) > 1:
            raise InvalidInputError(f"{self._title()} are open: {instead}")

    def _title(self) -> str:
        """`50 files (data/*.nc)`, without the pattern for a list of files."""
        count = len(self._natives)
        return f"{count} file{'' if count == 1 else 's'}{'' if self._pattern is None else f' ({self._pattern})'}"

    def _closed(self) -> str:
        return f"<closed FileSet of {self._title()}>"

    def __repr__(self) -> str:
        if not self:
            return self._closed()
        first, last = self._natives[0].path, self._natives[-1].path
        through = "" if len(self._natives) == 1 else f" to {last}"
        return f"{self._title()}: {first}{through}\nthe first file has\n{tree.text(File(self._natives[0]))}"

    def _repr_html_(self) -> str:
        if not self:
            return html.closed(self._closed())
        whole, misfit = self._shown_whole()
        return html.of_files(self._title(), self.filenames, self._natives.formats(), File(self._natives[0]), whole, misfit)

    def _shown_whole(self) -> tuple[File | None, str]:
        """The files as one for notebooks, or why they are not: sets of many files, and remote ones, are not joined for it."""
        if self._is_single():
            return File(self._natives[0]), ""
        if self._joined is not None:
            return self._joined, ""
        if len(self._natives) > html.MAX_JOINED_FILES or not all(map(os.path.exists, self.filenames)):
            return None, "go on from file to file; they are joined when one is asked for"
        try:
            return self._whole(""), ""
        except Error as error:
            return None, f"are those of each file: {error.message.rpartition('They are not one: ')[2]}"


register("file", File)


def is_of_pytables(file: File) -> bool:
    """Whether PyTables wrote a file, so that it may have data frames of pandas.

    Args:
        file: An open file.

    Returns:
        Whether it did; not of several files.

    Example:
        >>> is_of_pytables(hs.open("store.h5"))
        True
    """
    return file._is_of_pytables


def open(
    path: Paths | IO[bytes],
    mode: str = "r",
    *,
    threads: int | None = None,
    format: str | None = None,
    paths: str | None = None,
    missing_sources: str | None = None,
    limits: Mapping[str, int] | None = None,
    index_folder: Path | None = None,
    chunk_cache_bytes: int | None = None,
    indexes: str | None = None,
    storage_options: Mapping[str, object] | None = None,
    store: object = None,
    timeout: float | None = None,
) -> File:
    """Opens one or more HDF5 or netCDF files for reading, or one HDF5 file to change it.

    Args:
        path: A path, a list of paths, or a glob, whose files are sorted naturally (`run2` before `run10`); `**` matches folders
            of any depth, and wildcards of such a glob are not columns of tables. A folder stands for the HDF5 and netCDF files in it
            and in folders below. A leading `~` is the home folder, and `file://` URLs are paths, as in pandas. Addresses of object stores and web servers (`s3://`,
            `gs://`, `az://`, `abfs://`, `http://`, `https://`) are read by ranges; addresses of object stores may be globs. An open
            binary file of Python is read by its path, and another file object, or a file of fsspec, by ranges; `BytesIO` is read
            whole, as are `memoryview`, `bytearray`, and `bytes` that contain a NUL; other `bytes` are a path, as in `os`. A generator,
            an array or another iterable of paths is a list, and a set one in natural order. Documents of references (kerchunk's JSON, or a folder of its Parquet) are files
            whose chunks lie in others.
        mode: `r` reads. `r+` changes an existing HDF5 file, `a` one that exists or is created. `w` creates a file or replaces one, `x` and
            `w-` refuse to replace one, as `hyperslab.create`.
        threads: Number of threads that decode; one per core by default.
        format: Refuses files of other formats: `hdf5`, `netcdf3`, `netcdf4`, or another value of `File.format`. `hdf5` shows a netCDF-4 file as
            plain HDF5. `hdf5` and `netcdf4` include containers of Arrow files.
        paths: Other files that external links, virtual datasets, external raw data and the drivers of files in several members
            may name: regular files in the file's folder and below (`below`, the default; symbolic links lead no farther), none
            (`none`, for untrusted files), or any (`anywhere`).
        missing_sources: If a source of a virtual dataset does not exist: `error` (the default), or `fill` for the fill value,
            as in h5py.
        limits: Limits on what a file may cost, such as `{"chunk_bytes": 1 << 20}`. The error for an unknown name lists all.
        index_folder: A folder with value indexes of files in folders that are not writable (`hyperslab.index`). Tables,
            queries and SQL look there first.
        chunk_cache_bytes: Bytes of decoded chunks that are kept for small reads, over all files that are opened with the same
            options; 64 MiB by default. 0 keeps none.
        indexes: Which value indexes are used: those that you built and those in `index_folder` (`own`, the default), those of
            others, too (`any`, also PyTables' own that are not marked as out of date), or none (`none`).
        storage_options: Options of the store of an address, as in the Rust crate `object_store` and in obstore: `endpoint`,
            `region`, `access_key_id`, `skip_signature` (for public objects; also `anon`), `allow_http`, `timeout`, `max_retries`
            and others. What is not given comes from the environment (`AWS_…`, `GOOGLE_…`, `AZURE_…`). Also `cache_storage`, a folder in
            which blocks of remote files are kept, `cache_bytes`, and `chunk_index` (`hyperslab.indexes.chunk_index`).
        store: A store of obstore, or another object with obspec's methods `head` and `get_ranges`; `path` is then a path in it.
        timeout: With `r+` and `a`, seconds to wait while another program has the file open; by default that is a `ConflictError` at once.

    Returns:
        A `File`, or for a list, a glob or a folder a `FileSet`; of modes other than `r` a `File`.

    Raises:
        NotFoundError: A file does not exist, or no file matches.
        InvalidInputError: A file is neither HDF5 nor netCDF, or an argument is not valid.

    Example:
        >>> with hs.open("profiles.nc") as f:
        ...     f["theta"][0, :10]
    """
    if mode != "r":
        options: ChangeOptions = {
            "threads": threads,
            "format": format,
            "paths": paths,
            "missing_sources": missing_sources,
            "limits": limits,
            "index_folder": index_folder,
            "chunk_cache_bytes": chunk_cache_bytes,
            "indexes": indexes,
            "storage_options": storage_options,
            "store": store,
            "timeout": timeout,
        }
        changed: File = late("writing.opening").open_for_changes(path, mode, options)
        return changed
    if timeout is not None:
        raise InvalidInputError("timeout= is for modes r+ and a: readers do not wait for writers")
    wanted = format.lower() if format is not None else None
    check_choice("format", wanted, (None, *_native.FORMATS))
    if chunk_cache_bytes is not None and chunk_cache_bytes < 0:
        raise InvalidInputError(f"chunk_cache_bytes={chunk_cache_bytes} is negative: give 0 to keep no chunks, or more")
    opener = session(
        threads,
        "hdf5" if wanted == "hdf5" else None,
        paths,
        missing_sources,
        tuple(sorted((limits or {}).items())),
        None if index_folder is None else os.path.abspath(os.fsdecode(index_folder)),
        chunk_cache_bytes,
        indexes,
        options_of(storage_options),
    )
    natives, pattern = classify(path).open(opener) if store is None else (_of_store(opener, store, listed(path)), None)
    if wanted is not None and not all(_is_format(known, wanted) for known in natives.formats()):
        other = next(native for native in natives if not _is_format(native.format, wanted))
        raise InvalidInputError(f"this file is {other.format}, not {format}", other.path)
    return File(natives) if len(natives) == 1 and pattern is None else FileSet(natives, pattern)


def _is_format(format: str, wanted: str) -> bool:
    """Whether `open` takes a file of `format` for the one that was asked for: a container of Arrow files shows what HDF5 or the netCDF-4
    library wrote."""
    return wanted in (format, {"container": "hdf5", "netcdf_container": "netcdf4"}.get(format))


def _of_store(opener: _native.Session, store: Any, path: Any) -> _native.Files:
    """The objects of a store at one path, or at each of a list."""
    names = path if isinstance(path, (list, tuple)) else [path]
    return _native.Files([opener.open_reader(*range_readers.of_store(store, os.fsdecode(name))) for name in names])
