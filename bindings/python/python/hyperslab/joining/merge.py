"""Merge: the function `hyperslab.merge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .. import _native
from ..base.arguments import check_mode
from ..base.change import Change, changes_of
from ..base.type_aliases import Path, Paths
from ..files.file import File
from ..objects.native_objects import native_of
from .differing import Differing
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
        changes: What is not as it was in the first file, such as an attribute that differs between the files.
    """

    bytes: int
    copied_chunks: int
    reencoded_bytes: int
    left_out: list[LeftOut]
    changes: tuple[Change, ...] = ()


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
    filters and each chunk stays whole; other values are decoded, and encoded again. References lead to the same places in the new file. All
    else, such as links, committed types and orders of creation, is as in the first file, which `repack` would copy like that.

    Args:
        files: A glob, a list of paths, or a set of open files of HDF5 or netCDF-4, in the order in which they follow each other.
        path: The file that is written. It appears when it is complete.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        progress: Called with the bytes of values processed so far, and their total.
        concat_dim, new_dim, labels, axis, datasets, compat, check_order, misfits, convert_units, options: As in `hyperslab.joined`.

    Returns:
        The size of the new file, what was copied and changed, and which files were left out.

    Raises:
        ConflictError: A file does not fit the first one, or a name means something else there, and the error names both; or `mode` is `x` and the file exists.
        InvalidInputError: Along which dimension is not clear, or it does not exist.
        UnsupportedError: A file is netCDF classic or has a link that a program defined, or a reference leads out of the files or cannot be written.

    Example:
        >>> hs.merge("era5/*.nc", "era5.nc", concat_dim="time")
    """
    check_mode(mode, ("x", "w"))
    found, opened, opening = joined_files(files, options, is_copied=True)
    target = check_target(path, found.paths)
    first = opened(found.paths[0])
    if found.count == 1 and found.how.new_dim is None:
        # It is the whole.
        made = _native.fuse_file(native_of(first)[0], target, mode == "w", progress)
        changes = changes_of(made.changes)
    else:
        # The master is ours, and names the files that were given: wherever they lie.
        native = open_master(found, opened, {**opening, "format": "hdf5", "paths": "anywhere"}, grows=True)
        differing = Differing(found)
        made = differing.write(native_of(first)[0], native, target, mode == "w", progress)
        changes = (*changes_of(made.changes), *differing.changes)
    return Merged(made.bytes, made.copied_chunks, made.reencoded_bytes, found.left_out, changes)
