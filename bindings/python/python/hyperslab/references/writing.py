"""Writing: references to the chunks of a file, in the JSON of kerchunk."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from ..base.arguments import check_mode
from ..base.errors import ConflictError
from ..base.extras import require
from ..base.type_aliases import OpenOptions, Path
from ..sources.addresses import is_address, options_of
from ..sources.sessions import session
from ..tuning.places import replace_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


class References(NamedTuple):
    """What `write_references` wrote.

    Attributes:
        arrays: How many arrays.
        chunks: How many chunks lie in the file.
        inside: How many chunks are in the document itself.
    """

    arrays: int
    chunks: int
    inside: int


def write_references(
    source: Path, path: Path, mode: str = "x", *, address: str | None = None, drop_variables: Collection[str] = (), **options: Unpack[OpenOptions]
) -> References:
    """Writes where the chunks of an HDF5 or netCDF-4 file lie, as JSON that kerchunk, fsspec, Zarr and `hyperslab.open` read.

    Args:
        source: The file, or its address.
        path: The document that is written. It appears when it is complete.
        mode: `x` refuses to replace an existing file, `w` replaces it.
        address: Where readers will find the file; by default its absolute path, or its address.
        drop_variables: Names of datasets that are left out.
        options: Those of `hyperslab.open`: `threads`, `limits`, `storage_options`.

    Returns:
        How many arrays and chunks the document has.

    Raises:
        ConflictError: `mode` is `x` and the file exists.
        UnsupportedError: Zarr has no array like one of the datasets; the error names it.
        InvalidInputError: The file is neither HDF5 nor netCDF-4, or an argument is not valid.
        MissingExtraError: xarray, whose rules for names of dimensions are used, is not installed.

    Example:
        >>> hs.write_references("s3://bucket/day1.nc", "day1.json")
    """
    require("references", "xarray", "xarray")
    check_mode(mode, ("x", "w"))
    name, target = os.fsdecode(source), os.fsdecode(path)
    if mode == "x" and os.path.exists(target):
        raise ConflictError("the file exists: mode w replaces it", target)
    kept = {"limits": tuple(sorted((options.get("limits") or {}).items())), "storage_options": options_of(options.get("storage_options"))}
    [file] = session(**{**options, **kept, "format": "netcdf4", "paths": "none"}).open([name])
    said = address or (name if is_address(name) else os.path.abspath(name))
    document = importlib.import_module(".document", __package__).Document(
        file, said, frozenset([drop_variables] if isinstance(drop_variables, str) else drop_variables)
    )
    document.add_group("/")
    replace_text(target, json.dumps({"version": 1, "refs": document.refs}, allow_nan=False))
    return References(document.arrays, document.chunks, document.inside)
