"""Merge: the function `hyperslab.merge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .. import _native
from ..base.arguments import check_mode
from ..base.type_aliases import Path, Paths
from ..files.file import File
from .how import JoinOptions, shows_options
from .join import check_target, joined_files, open_master
from .matching import LeftOut

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Merged(NamedTuple):
    """What `merge` did.

    Attributes:
        bytes: Size of the new file.
        copied_chunks: Chunks that were copied as stored.
        reencoded_bytes: Bytes of values that were encoded again.
        left_out: The files that do not fit, and why.
    """

    bytes: int
    copied_chunks: int
    reencoded_bytes: int
    left_out: list[LeftOut]


@shows_options
def merge(
    files: Paths | File,
    path: Path,
    mode: str = "x",
    *,
    progress: Callable[[int, int], object] | None = None,
    **options: Unpack[JoinOptions],
) -> Merged:
    """Writes many files as one HDF5 file, which needs them no more. Chunks are copied as stored where the files have the same chunks and
    filters and each chunk stays whole; other values are decoded, and encoded again. References lead to the same places in the new file.

    Args:
        files: A glob, a list of paths, or a set of open files of HDF5 or netCDF-4, in the order in which they follow each other.
        path: The file that is written. It appears when it is complete.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        progress: Called with the bytes of values processed so far, and their total.
        concat_dim, new_dim, labels, axis, datasets, compat, check_order, misfits, convert_units, options: As in `hyperslab.joined`.

    Returns:
        The size of the new file, what was copied, and which files were left out.

    Raises:
        ConflictError: A file does not fit the first one, and the error names both; or `mode` is `x` and the file exists.
        InvalidInputError: Along which dimension is not clear, or it does not exist.
        UnsupportedError: A file is netCDF classic, or a reference leads out of the files or cannot be written.

    Example:
        >>> hs.merge("era5/*.nc", "era5.nc", concat_dim="time")
    """
    check_mode(mode, ("x", "w"))
    found, opened, opening = joined_files(files, options, keeps_references=True)
    target = check_target(path, found.paths)
    # The master is ours, and names the files that were given: wherever they lie.
    native = open_master(found, opened, {**opening, "format": "hdf5", "paths": "anywhere"}, grows=True)
    made = _native.fuse_file(native, target, mode == "w", progress)
    return Merged(made.bytes, made.copied_chunks, made.reencoded_bytes, found.left_out)
