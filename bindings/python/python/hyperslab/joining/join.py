"""Join: the functions `hyperslab.virtual` and `hyperslab.joined`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .. import _native
from ..base.arguments import check_mode
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import Option, Path, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.native_files import natives_of
from ..objects.native_objects import native_of
from ..sources.addresses import is_address, options_of
from ..sources.file_objects import JOINED_NAME
from ..sources.sessions import session
from ..sources.source import classify
from .how import JoinOptions, how_of, shows_options
from .master import write_master
from .matching import Joined, LeftOut, common_folder

if TYPE_CHECKING:
    from typing_extensions import Unpack


class JoinedFile(File):
    """The arrays of many files as the arrays of one. It has the groups, datasets and attributes that all files have; each array reads from
    the files that hold what is asked for, in parallel."""

    def __init__(self, native: _native.File, sources: list[str], left_out: list[LeftOut], again: tuple[list[str], dict[str, Option]]) -> None:
        super().__init__(native)
        #: The paths of the files, in order.
        self.sources = sources
        #: The files that do not fit, and why.
        self.left_out = left_out
        self._again = again

    def __reduce__(self) -> tuple[Callable[[list[str], dict[str, Option]], JoinedFile], tuple[list[str], dict[str, Option]]]:
        return joined_again, self._again


def joined_again(files: list[str], options: dict[str, Option]) -> JoinedFile:
    """Joins the files of a pickle."""
    return joined(files, **options)


@shows_options
def virtual(files: Paths | File, path: Path, mode: str = "x", **options: Unpack[JoinOptions]) -> list[LeftOut]:
    """Writes an HDF5 file that shows many files as one: virtual datasets, which every HDF5 and netCDF-4 program reads as long as the files
    stay where they are. Values are not copied.

    Args:
        files: A glob, a list of paths, or a set of open files of HDF5 or netCDF-4, in the order in which they follow each other.
        path: The file that is written. Files in its folder and below are named relative to it.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        concat_dim, new_dim, labels, axis, datasets, compat, check_order, misfits, convert_units, options: As in `hyperslab.joined`.

    Returns:
        The files that were left out, each with the reason.

    Raises:
        ConflictError: A file does not fit the first one; the error names both.
        InvalidInputError: Along which dimension is not clear, or it does not exist.
        UnsupportedError: A file is netCDF classic, or a dataset holds references.

    Example:
        >>> hs.virtual("era5/*.nc", "era5.nc", concat_dim="time")
    """
    check_mode(mode, ("x", "w"))
    found, opened, _ = joined_files(files, options)
    target = check_target(path, found.paths)
    write_master(found, target, os.path.dirname(target), opened, replace=mode == "w")
    return found.left_out


@shows_options
def joined(files: Paths | File, **options: Unpack[JoinOptions]) -> JoinedFile:
    """Opens many files as one: `joined("era5/*.nc")["t2m"]` is one array over all of them, which reads in parallel, and tables, SQL and
    queries work as with one file.

    Args:
        files: A glob, a list of paths, or a set of open files, in the order in which they follow each other.
        concat_dim: The dimension along which the files follow each other; by default the only one whose coordinates or length differ
            between the first two files, or else the only one without a limit.
        new_dim: Instead, the name of a new first dimension with an index for each file. Coordinates and what others name as their bounds
            do not get it.
        labels: With `new_dim`, a function of an open file that returns its value of the new dimension, from its name, an attribute or a
            coordinate: `lambda f: f.attrs["year"]`.
        axis: Instead, for files without names of dimensions, the axis along which the datasets follow each other.
        datasets: With `axis`, the paths of the datasets that follow each other; by default all that have this axis.
        compat: Other datasets must be equal in all files (`equals`), or are those of the first file (`override`).
        check_order: The coordinate of `concat_dim` must increase, or decrease, from file to file.
        misfits: A file that cannot be opened or does not fit is an error (`error`), or left out (`leave_out`).
        convert_units: Coordinates in other units, such as hPa and Pa, are compared after a conversion, and are those of the first file; by
            default they are a `ConflictError`. Needs cf-units (`pip install 'hyperslab[units]'`).
        options: Those of `hyperslab.open`, such as `threads` and `paths`.

    Returns:
        The file; `sources` has the paths, `left_out` what does not fit. Close it when it is not needed any more.

    Raises:
        ConflictError: A file does not fit the first one; the error names both.
        InvalidInputError: Along which dimension is not clear, or it does not exist.
        UnsupportedError: A dataset holds references.

    Example:
        >>> hs.joined("era5/*.nc")["t2m"].shape
    """
    found, opened, opening = joined_files(files, options, takes_classic=True)
    native = open_master(found, opened, opening)
    return JoinedFile(native, found.paths, found.left_out, (found.names, {**_options_of(files), **options}))


def joined_files(
    files: Paths | File, options: Mapping[str, Option], takes_classic: bool = False, is_copied: bool = False
) -> tuple[Joined, Callable[[str], File], dict[str, Option]]:
    """The files that fit together (also netCDF classic ones, which only Hyperslab reads as sources of virtual datasets), a function that opens one of them again, and the options to open them with."""
    how, opening = how_of({**_options_of(files), **options}, is_copied=is_copied)
    names = paths_of(files, opening.get("storage_options"))
    found = Joined(names, (_opener(name, opening, takes_classic) for name in names), how)
    return found, lambda name: _opener(name, opening, takes_classic)(), opening


def check_target(path: Path, sources: Sequence[str]) -> str:
    """The absolute path of a file to write, which is none of the sources."""
    target = os.path.abspath(os.fsdecode(path))
    if os.path.exists(target) and any(os.path.samefile(name, target) for name in sources if not is_address(name) and os.path.exists(name)):
        raise InvalidInputError("one of the files would be replaced: give another path", target)
    return target


def open_master(found: Joined, opened: Callable[[str], File], options: Mapping[str, Option], grows: bool = False) -> _native.File:
    """Writes a file of virtual datasets, as `write_master` does, and opens it from memory."""
    folder = common_folder(found.paths)
    with tempfile.TemporaryDirectory() as temporary:
        master = os.path.join(temporary, "master.h5")
        write_master(found, master, folder, opened, grows=grows)
        with open(master, "rb") as file:
            content = file.read()
    kept = {"limits": tuple(sorted((options.get("limits") or {}).items())), "storage_options": options_of(options.get("storage_options"))}
    return session(**{**options, **kept}).open_content(os.path.join(folder, JOINED_NAME), content)


def paths_of(files: Paths | File, storage_options: Mapping[str, object] | None = None) -> list[str]:
    """The paths of files that are open, or that a pattern or a list names: without opening them.

    Args:
        files: What `hyperslab.open` takes, or has opened.
        storage_options: Options of the stores whose objects a pattern names.
    """
    if isinstance(files, File):
        return [native.path for native in natives_of(files)]
    if not isinstance(files, (str, bytes, os.PathLike, Iterable)):
        raise InvalidInputError(f"files to join are a glob, a list of paths, or open files, not {type(files).__name__}")
    return classify(files).paths(session(storage_options=options_of(storage_options)))


def _options_of(files: Paths | File) -> dict[str, Option]:
    """The options that open files were opened with."""
    if not isinstance(files, File):
        return {}
    threads, _, paths, missing_sources, limits, index_folder, chunk_cache_bytes, indexes, storage_options = native_of(files)[0].origin()[1]
    found = {
        "threads": threads,
        "paths": paths,
        "missing_sources": missing_sources,
        "limits": dict(limits),
        "index_folder": index_folder,
        "chunk_cache_bytes": chunk_cache_bytes,
        "indexes": indexes,
        "storage_options": dict(storage_options),
    }
    return {name: value for name, value in found.items() if value}


def _opener(name: str, options: dict[str, Option], takes_classic: bool) -> Callable[[], File]:
    def opens() -> File:
        try:
            return open_files(name, **{**options, "format": "hdf5"})
        except InvalidInputError:
            found = open_files(name, **options)
            if found.format != "netcdf3":
                raise
            if takes_classic:
                return found
            message = "a netCDF classic file cannot be a source of a virtual dataset: hs.joined and hs.open_mfdataset open many as one"
            raise UnsupportedError(message, name) from None

    return opens
