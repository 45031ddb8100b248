"""Many files as one dataset of xarray."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import InvalidInputError, MissingFileError
from ..base.extras import require
from ..base.type_aliases import Paths
from ..joining.how import how_of
from ..joining.join import paths_of
from ..sources.addresses import absolute
from .groups import normalized

if TYPE_CHECKING:
    import xarray


def open_mfdataset(
    paths: Paths,
    *,
    concat_dim: str | None = None,
    new_dim: str | Mapping[str, Collection[object]] | None = None,
    compat: str = "equals",
    check_order: bool | None = None,
    misfits: str = "error",
    convert_units: bool = False,
    group: str | None = None,
    drop_variables: str | Iterable[str] | None = None,
    chunks: int | str | Mapping[str, int | str | tuple[int, ...] | None] | None = None,
    threads: int | None = None,
    limits: Mapping[str, int] | None = None,
    chunk_cache_bytes: int | None = None,
    **decoding: Any,
) -> xarray.Dataset:
    """Opens many files as one dataset of xarray, whose variables follow each other along one dimension.

    The files are opened in parallel. Each variable is one lazy array, without a task for each file; a selection reads the files that
    hold it. All files have the variables of the first one, with the same datatypes, shapes and conventions; variables without the
    dimension are compared once. Times may count from another date in each file. Files come in the order of the list, or of a glob's
    names (`run2` before `run10`). Needs xarray.

    Args:
        paths: A list of paths, or a glob.
        concat_dim: The dimension along which the files follow each other; by default the only one whose coordinates or length differ
            between the first two files, or else the only one without a limit.
        new_dim: Instead, the name of a dimension that the files do not have: each file is an index of it, such as a run of an ensemble.
            All variables get it but coordinates. `{"run": ["a", "b"]}` also gives its coordinates.
        compat: Variables without that dimension: `equals` compares them, `override` takes those of the first file.
        check_order: The coordinate of `concat_dim` must increase, or decrease, from file to file; by default only if `concat_dim` is not
            given, as xarray checks what it combines by coordinates.
        misfits: A file that cannot be opened or does not fit is an error (`error`), or left out (`leave_out`): `encoding["left_out"]` of
            the dataset lists these files.
        convert_units: As in `joined`.
        group: Path of the group; by default the root group.
        drop_variables: Names of variables that are left out. They are not looked at.
        chunks: Makes arrays of Dask, as in `xarray.open_dataset`.
        threads, limits, chunk_cache_bytes: As in `open`.
        decoding: Other arguments of `xarray.open_dataset`: `decode_times`, `mask_and_scale` and so on.

    Returns:
        A dataset. Closing it closes all files; values that are asked for later open them again.

    Raises:
        NotFoundError: No file matches, or one does not exist.
        ConflictError: A file does not fit the first one; the message says which, and in what.
        InvalidInputError: Along which dimension is not clear, or it does not exist; or `new_dim` already exists.

    Example:
        >>> hs.open_mfdataset("run*.nc")["t2m"].sel(lat=50, lon=10, method="nearest").load()
    """
    require("open_mfdataset", "xarray", "xarray")
    import xarray

    # It needs xarray, which the package does not.
    implementation = importlib.import_module(".mfdataset", __package__)
    name, coordinates = _new_dimension(new_dim)
    given = {"concat_dim": concat_dim, "new_dim": name, "compat": compat, "misfits": misfits, "convert_units": convert_units}
    how, _ = how_of({**given, "check_order": concat_dim is None if check_order is None else check_order}, group=normalized(group), as_xarray=True)
    files = implementation.OpenFiles(_names(paths), (threads, "netcdf4", None, None, tuple(sorted((limits or {}).items())), None, chunk_cache_bytes))
    dropped = (drop_variables,) if isinstance(drop_variables, str) else tuple(drop_variables or ())
    try:
        wanted = implementation.DecodingOptions.of_arguments(decoding)
        store = implementation.FilesStore(files, how, dropped, wanted)
        if coordinates is not None and len(coordinates) != len(files):
            raise InvalidInputError(f"new_dim has {len(coordinates)} coordinates for {len(files)} files")
        opened = xarray.open_dataset(store, chunks=chunks, **{**decoding, "decode_times": store.decode_times})
        if coordinates is not None and len(store.taken) < len(files):
            coordinates = np.asarray(coordinates)[store.taken]
        return opened if coordinates is None else opened.assign_coords({name: (name, coordinates)})
    except Exception:
        files.close()
        raise


def _new_dimension(given: str | Mapping[str, Collection[object]] | None) -> tuple[str | None, Collection[object] | None]:
    """The name of a new dimension, and its coordinates if there are some."""
    if given is None or isinstance(given, str):
        return given, None
    if len(given) != 1:
        raise InvalidInputError(f"new_dim has {len(given)} names: give one, with its coordinates")
    ((name, coordinates),) = given.items()
    return name, coordinates


def _names(paths: Paths) -> list[str]:
    """The absolute paths that a list or a glob names."""
    names = paths_of(paths)
    if not names:
        raise MissingFileError(f"no file matches {paths!r}")
    return [absolute(name) for name in names]
