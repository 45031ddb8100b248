"""Many files as one dataset of xarray."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..addresses import absolute
from ..errors import InvalidInputError, MissingFileError
from ..extras import require
from ..file import local_path
from ..file_objects import listed
from ..joining.how import how_of
from ..natural_order import matching_paths
from ..type_aliases import Path, Paths
from .groups import normalized
from .write_arguments import refuse_what_other_writers_do
from .writing import write_xarray

if TYPE_CHECKING:
    import xarray


def open_mfdataset(
    paths: Paths,
    *,
    concat_dim: str | None = None,
    new_dim: str | Mapping[str, Any] | None = None,
    compat: str = "equals",
    check_order: bool | None = None,
    misfits: str = "error",
    group: str | None = None,
    drop_variables: str | Iterable[str] | None = None,
    chunks: Any = None,
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
    given = {"concat_dim": concat_dim, "new_dim": name, "compat": compat, "misfits": misfits}
    how, _ = how_of({**given, "check_order": concat_dim is None if check_order is None else check_order}, group=normalized(group), as_xarray=True)
    files = implementation.OpenFiles(_names(paths), (threads, "netcdf4", None, None, tuple(sorted((limits or {}).items())), None, chunk_cache_bytes))
    dropped = (drop_variables,) if isinstance(drop_variables, str) else tuple(drop_variables or ())
    try:
        store = implementation.FilesStore(files, how, dropped)
        if coordinates is not None and len(coordinates) != len(files):
            raise InvalidInputError(f"new_dim has {len(coordinates)} coordinates for {len(files)} files")
        opened = xarray.open_dataset(store, chunks=chunks, **decoding)
        return opened if coordinates is None else opened.assign_coords({name: (name, [coordinates[index] for index in store.taken])})
    except Exception:
        files.close()
        raise


def _new_dimension(given: str | Mapping[str, Any] | None) -> tuple[str | None, Any]:
    """The name of a new dimension, and its coordinates if there are some."""
    if given is None or isinstance(given, str):
        return given, None
    if len(given) != 1:
        raise InvalidInputError(f"new_dim has {len(given)} names: give one, with its coordinates")
    ((name, coordinates),) = given.items()
    return name, coordinates


def _names(paths: Paths) -> list[str]:
    """The absolute paths that a list or a glob names."""
    paths = listed(paths)
    if isinstance(paths, (list, tuple)):
        names = [local_path(path) for path in paths]
    else:
        name = local_path(paths)
        names = [name] if os.path.exists(name) or not glob.has_magic(name) else matching_paths(name)
    if not names:
        raise MissingFileError(f"no file matches {paths!r}")
    return [absolute(name) for name in names]


def to_netcdf(
    dataset: xarray.Dataset | xarray.DataArray | xarray.DataTree,
    path: Path | None = None,
    mode: str = "w",
    format: str | None = None,
    group: str | None = None,
    engine: str | None = None,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    unlimited_dims: str | Iterable[str] | Mapping[str, Any] | None = None,
    compute: bool = True,
    invalid_netcdf: bool = False,
    auto_complex: bool | None = None,
    *,
    write_inherited_coords: bool = False,
    compression: Any = None,
    compression_opts: Any = None,
    shuffle: bool = False,
    subfiles: int | None = None,
    threads: int | None = None,
    durable: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Writes an xarray object as netCDF-4, with the arguments of xarray's `to_netcdf`. Needs xarray.

    Args:
        dataset: The object to write.
        path: Path of the file, or its address in an object store.
        mode: `w` replaces an existing file, `x` refuses to.
        format: `NETCDF4`, or nothing.
        group: The group of the dataset; by default the root group.
        engine: `hyperslab`, or nothing.
        encoding: Encoding by variable, of a tree by group.
        unlimited_dims: Names of unlimited dimensions; by default those that the dataset was read with.
        compute: `True`: values are written at once.
        invalid_netcdf, auto_complex: `False`: netCDF-4 has neither booleans nor complex numbers.
        write_inherited_coords: Of a tree: write coordinates of nodes above into each group below, too.
        compression, compression_opts, shuffle, subfiles, threads, durable, storage_options: As in `write_xarray`.

    Raises:
        InvalidInputError: As of `write_xarray`.
        UnsupportedError: An argument asks for another format or engine, a delayed write, or what netCDF-4 does not have.

    Example:
        >>> hs.to_netcdf(dataset, "out.nc", unlimited_dims="time", encoding={"t2m": {"zlib": True}})
    """
    refuse_what_other_writers_do(path, format, engine, compute, invalid_netcdf, auto_complex)
    assert path is not None
    write_xarray(
        dataset,
        path,
        mode,
        unlimited_dims=unlimited_dims,
        encoding=encoding,
        group=group,
        compression=compression,
        compression_opts=compression_opts,
        shuffle=shuffle,
        subfiles=subfiles,
        threads=threads,
        durable=durable,
        storage_options=storage_options,
        write_inherited_coords=write_inherited_coords,
    )
