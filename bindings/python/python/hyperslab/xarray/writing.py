"""xarray's datasets as netCDF-4, encoded as xarray encodes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInputError, UnsupportedError
from ..netcdf.plan import NetcdfPlan
from ..netcdf.writing import NetcdfGroup, create_netcdf
from ..type_aliases import Path
from ..writing.new_file import unknown_mode
from .subfiles import Subfiles

if TYPE_CHECKING:
    import xarray

#: Keys of a variable's encoding about its storage; the other keys are about the encoding of values.
_STORAGE = ("zlib", "zstd", "complevel", "compression", "compression_opts", "shuffle", "fletcher32", "chunksizes", "contiguous")
#: Keys of xarray's readers that do not apply to a new file.
_OF_THE_SOURCE = ("source", "original_shape", "preferred_chunks", "szip", "bzip2", "blosc", "endian")
#: Encodings that lose digits.
_LOSSY = ("least_significant_digit", "significant_digits", "quantize_mode")


def write_xarray(
    dataset: xarray.Dataset | xarray.DataArray | xarray.DataTree,
    path: Path,
    mode: str = "w",
    *,
    unlimited_dims: str | Iterable[str] | None = None,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    group: str | None = None,
    compression: Any = None,
    compression_opts: Any = None,
    shuffle: bool = False,
    subfiles: int | None = None,
    threads: int | None = None,
    durable: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Writes an xarray object as netCDF-4, encoded by the CF conventions as xarray itself encodes it: times as counts, missing
    values as `_FillValue`, `scale_factor`, `dtype`, character arrays. Needs xarray.

    Args:
        dataset: The object to write.
        path: Path of the file, or its address in an object store (without `subfiles`).
        mode: `w` replaces an existing file, `x` refuses to.
        unlimited_dims: Names of unlimited dimensions.
        encoding: Encoding by variable (of a tree: by group), as in `to_netcdf`; it overrides the variables' own `encoding`.
            Of storage: zlib, complevel, zstd, compression, shuffle, fletcher32, chunksizes, contiguous.
        group: The group of the dataset; by default the root group.
        compression, compression_opts, shuffle: For numeric variables whose encoding has none of these.
        subfiles: Number of files for the values of large variables: each is cut into as many parts along a dimension, and the parts are
            computed and written side by side. `path` becomes a file of virtual datasets over them (`NetcdfPlan`). Arrays of Dask
            are computed some chunks at a time, so they may be larger than the memory.
        threads: Number of threads that compress; one per core by default. Of `subfiles`, as many are written at a time.
        durable: Wait until the file is on the disk.
        storage_options: Options of the store of an address, as in `hyperslab.open`.

    Example:
        >>> hs.write_xarray(dataset, "out.nc", unlimited_dims=["time"], compression="zstd")
    """
    from xarray import DataArray

    if isinstance(dataset, DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "data")
    default = {"compression": compression, "compression_opts": compression_opts, "shuffle": shuffle}
    unlimited = (unlimited_dims,) if isinstance(unlimited_dims, str) else tuple(unlimited_dims or ())
    if subfiles is None:
        with create_netcdf(path, mode, threads=threads, durable=durable, storage_options=storage_options) as f:
            _write_nodes(f, dataset, group or "/", unlimited, encoding or {}, default, None)
        return
    parts = Subfiles(subfiles)
    if mode not in ("w", "x"):
        raise unknown_mode(mode)
    plan = NetcdfPlan(path, "overwrite" if mode == "w" else "create", durable=durable)
    _write_nodes(plan, dataset, group or "/", unlimited, encoding or {}, default, parts)
    parts.write(plan, threads)


def _write_nodes(
    file: NetcdfGroup,
    dataset: Any,
    group: str,
    unlimited: Sequence[str],
    encoding: Mapping[str, Any],
    default: dict[str, Any],
    parts: Subfiles | None,
) -> None:
    """Writes a dataset into a group, or all datasets of a tree."""
    if not hasattr(dataset, "subtree"):
        _write(file, "/" + group.strip("/"), dataset, unlimited, encoding, default, parts)
        return
    for node in dataset.subtree:
        # Coordinates of nodes above are seen by those below, as dimensions are.
        own = node.to_dataset(inherit=node is dataset)
        below = "/" + node.relative_to(dataset).strip("./") if node is not dataset else "/"
        given = encoding.get(below, encoding if below == "/" and not any(key.startswith("/") for key in encoding) else {})
        _write(file, below, own, unlimited, given or {}, default, parts)


def _write(
    file: NetcdfGroup,
    path: str,
    dataset: Any,
    unlimited: Sequence[str],
    encoding: Mapping[str, Mapping[str, Any]],
    default: dict[str, Any],
    parts: Subfiles | None,
) -> None:
    """Writes a dataset into a group; of `parts`, the values of large variables are left to tasks."""
    from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder
    from xarray.conventions import cf_encoder, encode_dataset_coordinates

    for name in encoding:
        if name not in dataset.variables:
            raise InvalidInputError(f"encoding of {name!r}, which is not a variable of the dataset")
    target: Any = file.create_group(path) if path.strip("/") else file
    without_limit = {*unlimited, *dataset.encoding.get("unlimited_dims", ())}
    variables, attributes = encode_dataset_coordinates(dataset)
    variables = {name: variable.copy(deep=False) for name, variable in variables.items()}
    for name, given in encoding.items():
        variables[name].encoding = {**given}
    storage = {name: _storage_of(name, variable, default, without_limit, name in encoding) for name, variable in variables.items()}
    variables, attributes = cf_encoder(variables, attributes)
    coders: list[Any] = [partial(EncodedStringCoder, allows_unicode=True)(), CharacterArrayCoder()]
    for coder in coders:
        variables = {name: coder.encode(variable, name=name) for name, variable in variables.items()}
    for name in encoding:
        if unknown := [key for key in variables[name].encoding if key not in ("dtype", "_FillValue")]:
            raise InvalidInputError(f"encoding of {name!r} with {unknown[0]}, which is not known: leave it out")
    sizes: dict[Any, int] = {}
    for variable in variables.values():
        sizes.update(variable.sizes)
    for name, extent in sizes.items():
        size = None if name in without_limit else int(extent)
        try:
            seen = target._contents.dimension(target._path.strip("/"), str(name))
        except InvalidInputError:
            seen = None
        if seen is None or seen.size != size:
            target.create_dimension(str(name), size)
    for name, variable in variables.items():
        place = "/".join((path.rstrip("/"), str(name)))
        dims, attrs = [str(dim) for dim in variable.dims], dict(variable.attrs)
        fill = attrs.pop("_FillValue", None)
        dtype, stored = _stored_as(target, variable, attrs)
        kind = variable.dtype.kind
        options = storage[name] if variable.ndim and kind not in "OS" else {key: storage[name][key] for key in ("chunks",) if key in storage[name]}
        if variable.ndim != len(options.get("chunks") or (None,) * variable.ndim):
            options.pop("chunks")
        if parts is not None and parts.takes(variable):
            options["shape"] = variable.shape
            target.create_variable(place, dims, dtype, fill_value=fill, attrs=attrs, **options)
            parts.add(place, variable, options.get("chunks"), stored)
        else:
            values = stored(np.asarray(variable.values))
            target.create_variable(place, dims, dtype, values, fill_value=fill, attrs=attrs, **options)
    target.attrs.update(attributes)


def _stored_as(target: Any, variable: Any, attrs: dict[str, Any]) -> tuple[Any, Callable[[Any], Any]]:
    """The type of an encoded variable in the file, and the function that makes stored values of encoded ones. Booleans are marked in
    `attrs`, as xarray does."""
    if enumeration := (variable.dtype.metadata or {}).get("enum"):
        numbers = np.dtype(variable.dtype.str)
        return _enumeration(target, variable.dtype, enumeration), lambda values: values.astype(numbers)
    if variable.dtype.kind == "b":
        attrs["dtype"] = "bool"
        return np.dtype("i1"), lambda values: values.astype("i1")
    return str if variable.dtype.kind == "O" else variable.dtype, lambda values: values


def _enumeration(target: Any, dtype: np.dtype[Any], members: Mapping[str, int]) -> Any:
    """The enumeration of a variable that was read from netCDF, by its name there."""
    metadata: dict[str, Any] = dict(dtype.metadata or {})
    name = metadata.get("enum_name", "enum_t")
    for path, known in target._contents.types.items():
        if path.rpartition("/")[2] == name and known.enum_dict == {key: int(value) for key, value in members.items()}:
            return known
    return target.create_enum_type(name, np.dtype(dtype.str), members)


def _storage_of(name: Any, variable: Any, default: dict[str, Any], unlimited: set[str], strict: bool) -> dict[str, Any]:
    """Filters and chunks of a variable's encoding; removes them from the encoding."""
    encoding = dict(variable.encoding)
    shape = dict(zip(variable.dims, variable.shape, strict=True))
    given = {key: encoding.pop(key) for key in _STORAGE if key in encoding}
    for key in _LOSSY:
        if encoding.pop(key, None) is not None and strict:
            raise UnsupportedError(f"encoding of {name!r} with {key}, which loses digits: round the values first")
    dropped = {key: encoding.pop(key) for key in _OF_THE_SOURCE if key in encoding}
    variable.encoding = encoding
    if strict and any(dropped.get(key) for key in ("szip", "bzip2", "blosc")):
        raise UnsupportedError(f"encoding of {name!r} with szip, bzip2 or blosc: give zlib or zstd")
    compression, level = given.get("compression"), given.get("compression_opts", given.get("complevel"))
    if given.get("zlib") or compression == "zlib":
        compression = "gzip"
    elif given.get("zstd"):
        compression = "zstd"
    if compression is None:
        options = dict(default)
        if "shuffle" in given and default["compression"] is not None:
            options["shuffle"] = bool(given["shuffle"])
    else:
        level = 4 if level is None and compression == "gzip" else level
        options = {"compression": compression, "compression_opts": level, "shuffle": bool(given.get("shuffle", compression in ("gzip", "zstd")))}
    if given.get("fletcher32"):
        options["fletcher32"] = True
    chunks = given.get("chunksizes")
    changed = dropped.get("original_shape") not in (None, variable.shape)
    fits = (
        chunks is not None
        and len(chunks) == len(shape)
        and all(chunk <= size or dim in unlimited for chunk, (dim, size) in zip(chunks, shape.items(), strict=True))
    )
    if chunks is not None and not fits and strict:
        raise InvalidInputError(f"encoding of {name!r}: chunksizes {tuple(chunks)} for shape {variable.shape}")
    if chunks is not None and fits and not changed and variable.ndim:
        options["chunks"] = tuple(int(chunk) for chunk in chunks)
    return options
