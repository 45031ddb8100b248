"""Writing: new HDF5 files with h5py's interface. A file appears when it is complete."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _native
from ..backends.creating import Creating
from ..base.arguments import check_choice, wrong_mode
from ..base.errors import InvalidInputError, MissingFileError, UnsupportedError
from ..base.type_aliases import Path
from ..files.file import File
from ..sources.addresses import is_address, options_of, shown_address


def begin(
    path: str,
    replace: bool,
    alignment: int | None = None,
    threads: int | None = None,
    *,
    track_order: bool = False,
    durable: bool = True,
    continued: bool = False,
    userblock_size: int = 0,
    page_bytes: int | None = None,
    userblock: bytes | None = None,
    storage_options: Mapping[str, object] | None = None,
    newest: str | None = None,
    kind: Callable[[_native.Writer, str, bool, int], Creating] = Creating,
) -> Creating:
    """Begins a file.

    Args:
        path: Its path, or its address in an object store.
        replace: Whether an existing file is replaced.
        alignment, threads, track_order, durable, userblock_size, storage_options: As in `create`.
        continued: Whether it begins with the contents of the existing file.
        page_bytes: Bytes of a page of a file of pages.
        userblock: What the user block begins with.
        newest: The newest version of HDF5 whose structures it may have.
        kind: Makes the backend: its class.

    Raises:
        MissingFileError: There is no such folder.
    """
    stored = options_of(storage_options)
    try:
        writer = _native.Writer(path, alignment, threads, track_order, durable, replace, continued, userblock_size, page_bytes, userblock, stored, newest)
    except MissingFileError:
        folder = os.path.dirname(path)
        if folder and not is_address(path) and not os.path.isdir(folder):
            raise MissingFileError(f"there is no folder '{folder}': create it first", path) from None
        raise
    return kind(writer, shown_address(path), replace, userblock_size)


def unknown_mode(mode: object) -> Exception:
    """The error for a mode that does not create a file."""
    return wrong_mode(mode, ("w", "x"))


def replaces(mode: object) -> bool:
    """Whether a mode that creates a file replaces an existing one.

    Raises:
        UnsupportedError: It is a mode that opens files.
        InvalidInputError: There is no such mode.
    """
    if mode not in ("w", "w-", "x"):
        raise unknown_mode(mode)
    return mode == "w"


def create(
    path: Path,
    mode: str = "w",
    *,
    alignment: int | None = None,
    threads: int | None = None,
    track_order: bool = False,
    durable: bool = True,
    userblock_size: int = 0,
    fs_strategy: str | None = None,
    fs_page_size: int | None = None,
    libver: str | Sequence[str] | None = None,
    storage_options: Mapping[str, object] | None = None,
    **more: object,
) -> File:
    """Creates an HDF5 file.

    The file appears, complete, when the `with` block ends or `close()` is called. Until then an existing file of this name
    stays as it was. A file that is never closed is not written, and warns (`UnclosedWarning`).

    Args:
        path: Path of the file, or its address in an object store (`s3://`, `gs://`, `az://`): then it is written to the folder for
            temporary files, and uploaded by `close()`.
        mode: `w` replaces an existing file, `x` (or `w-`) refuses to.
        alignment: Blocks of this many bytes or more begin at multiples of it; by default the block or stripe size of the file
            system.
        threads: Number of threads that compress; one per core by default.
        track_order: Record the order in which groups, datasets and attributes are created, so that readers list them in that
            order instead of by name. `create_group` and `create_dataset` override it for one object.
        durable: Wait in `close()` until the file is on the disk. With `False`, a killed process still leaves either the old or
            the complete new file, but a crash of the machine may leave an incomplete one.
        userblock_size: Bytes left free at the beginning of the file: 0, 512, or 512 times a power of two.
        fs_strategy: `page` makes a file of pages, which h5py reads page by page with `page_buf_size`: metadata and values are
            in separate pages.
        fs_page_size: Bytes of a page: a multiple of 8 from 512 bytes to 1 GiB, by default 4096.
        storage_options: Options of the store of an address, as in `hyperslab.open`.
        libver: As in h5py, a version of HDF5 or a pair of them, whose second is the newest whose structures the file may have:
            `("earliest", "v108")` makes a file for HDF5 1.8. A single version is the oldest, and changes nothing.
        more: Other options of `h5py.File`. Those that do not change a written file (caches) are accepted.

    Returns:
        The file; it appears when it is closed.

    Raises:
        ConflictError: `mode` is `x` and the file exists.
        NotFoundError: The folder does not exist.
        UnsupportedError: An option of `h5py.File` is not supported, or the newest version that `libver` allows does not have what it asks for.

    Example:
        >>> with hs.create("out.h5") as f:
        ...     f["x"] = np.arange(10)
        ...     f.create_dataset("y", data=np.zeros((1000, 1000)), compression="zstd")
    """
    options = {"alignment": alignment, "threads": threads, "track_order": track_order, "durable": durable, "userblock_size": userblock_size}
    return File(creating_of(path, mode, fs_strategy, fs_page_size, libver, more, storage_options=storage_options, **options))


def creating_of(
    path: Path,
    mode: str,
    fs_strategy: str | None,
    fs_page_size: int | None,
    libver: str | Sequence[str] | None,
    more: Mapping[str, object],
    **options: Any,
) -> Creating:
    """Begins a file with the arguments of `create`.

    Args:
        path, mode, fs_strategy, fs_page_size, libver, more: As in `create`.
        options: The other ones.
    """
    replace = replaces(mode)
    _check_options(more)
    page_bytes = _page_bytes(fs_strategy, fs_page_size, options.get("alignment"))
    return begin(os.fsdecode(path), replace, page_bytes=page_bytes, newest=_newest(libver), **options)


def _newest(libver: str | Sequence[str] | None) -> str | None:
    """The newest version of HDF5 whose structures a file may have, by h5py's `libver`."""
    versions = () if libver is None else (libver,) if isinstance(libver, str) else tuple(libver)
    for version in versions:
        check_choice("libver", version, _VERSIONS)
    if len(versions) > 2:
        raise InvalidInputError(f"libver={libver!r}: give the oldest version and the newest")
    return versions[1] if len(versions) == 2 else None


def _page_bytes(strategy: str | None, page_size: int | None, alignment: int | None) -> int | None:
    """Bytes of a page if the options ask for a file of pages."""
    if strategy != "page":
        _check_options({"fs_strategy": strategy, "fs_page_size": page_size})
        return None
    if alignment is not None:
        raise InvalidInputError(f"alignment={alignment} in a file of pages: values begin at pages, leave it out")
    page_bytes = 4096 if page_size is None else operator.index(page_size)
    if page_bytes < 0:
        raise InvalidInputError(f"fs_page_size={page_bytes}: give a multiple of 8 from 512 to 1073741824")
    return page_bytes


#: Options of h5py.File without effect here, and other options with the values that ask for what is written anyway.
_HARMLESS = {"locking", "rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "meta_block_size", "page_buf_size", "min_meta_keep", "min_raw_keep"}
_ASKED_FOR: dict[str, tuple[object, ...]] = {
    "driver": (None, "sec2"),
    "swmr": (None, False),
    "fs_strategy": (None, "none", "aggregate", "fsm"),
    "fs_persist": (None, False),
    "fs_page_size": (None,),
    "fs_threshold": (None, 1),
    "alignment_threshold": (None, 1),
    "alignment_interval": (None, 1),
}
_VERSIONS = ("earliest", "v108", "v110", "v112", "v114", "v200", "latest")


def _check_options(options: Mapping[str, object]) -> None:
    """Checks the other options of h5py.File."""
    for name, value in options.items():
        if name in _ASKED_FOR:
            if value not in _ASKED_FOR[name]:
                hint = "; give alignment=" if name.startswith("alignment") else ""
                raise UnsupportedError(f"{name}={value!r} of a file that is created: leave it out{hint}")
        elif name not in _HARMLESS:
            raise TypeError(f"create() got an unexpected keyword argument {name!r}")
