"""xarray's datasets as netCDF-4, encoded as xarray encodes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, Path
from ..netcdf.plan import NetcdfPlan
from ..netcdf.writing import create_netcdf, view_of
from ..objects.filters import filters_of
from ..objects.group import Group
from ..writing.new_file import unknown_mode
from . import write_arguments
from .encoding import Encoding
from .subfiles import Subfiles
from .write_arguments import Encodings, Unlimited

if TYPE_CHECKING:
    import xarray
    from xarray.coding.common import VariableCoder

    from ..values.netcdf_types import NetcdfType

#: Variables by name, their attributes, and the type that a variable has in a file.
Variables: TypeAlias = "dict[str, xarray.Variable]"
Attributes = dict[str, AttributeValue]
Stored: TypeAlias = "type[str] | AnyDtype | NetcdfType"
#: Keys of a variable's encoding about its storage; the other keys are about the encoding of values.
_STORAGE = ("zlib", "zstd", "complevel", "compression", "compression_opts", "shuffle", "fletcher32", "chunksizes", "contiguous")
#: Keys of xarray's readers that do not apply to a new file. xarray's writers ignore the first two, and refuse the others if they are given.
_OF_THE_SOURCE = ("source", "original_shape", "preferred_chunks", "hdf5_filters", "szip", "bzip2", "blosc")
#: Key of storage whose compression is of the variable's encoding, not of the call.
_IS_GIVEN = "is_given"
#: Encodings that lose digits.
_LOSSY = ("least_significant_digit", "significant_digits", "quantize_mode")


def to_netcdf(
    dataset: xarray.Dataset | xarray.DataArray | xarray.DataTree,
    path: Path | None = None,
    mode: str = "w",
    format: str | None = None,
    group: str | None = None,
    engine: str | None = None,
    encoding: Encodings | None = None,
    unlimited_dims: Unlimited = None,
    compute: bool = True,
    invalid_netcdf: bool = False,
    auto_complex: bool | None = None,
    *,
    write_inherited_coords: bool = False,
    compression: str | int | None = None,
    compression_opts: int | Sequence[int] | None = None,
    shuffle: bool = False,
    subfiles: int | None = None,
    threads: int | None = None,
    durable: bool = True,
    storage_options: Mapping[str, object] | None = None,
) -> None:
    """Writes an xarray object as netCDF-4, with the arguments of xarray's `to_netcdf`, encoded by the CF conventions as xarray itself
    encodes it: times as counts, missing values as `_FillValue`, `scale_factor`, `dtype`, character arrays. Needs xarray.

    Args:
        dataset: The object to write.
        path: Path of the file, or its address in an object store (without `subfiles`).
        mode: `w` replaces an existing file, `x` refuses to.
        format: `NETCDF4`, or nothing.
        group: The group of the dataset; by default the root group.
        engine: `hyperslab`, or nothing.
        encoding: Encoding by variable (of a tree: by group); it overrides the variables' own `encoding`.
            Of storage: zlib, complevel, zstd, compression, shuffle, fletcher32, chunksizes, contiguous.
        unlimited_dims: Names of unlimited dimensions (of a tree also by group); by default those that the dataset was read with.
        compute: `True`: values are written at once.
        invalid_netcdf, auto_complex: `False`: netCDF-4 has neither booleans nor complex numbers.
        write_inherited_coords: Of a tree: write coordinates of nodes above into each group below, too.
        compression, compression_opts, shuffle: For numeric variables whose encoding has none of these.
        subfiles: Number of files for the values of large variables: each is cut into as many parts along a dimension, and the parts are
            computed and written side by side. `path` becomes a file of virtual datasets over them (`NetcdfPlan`). Arrays of Dask
            are computed some chunks at a time, so they may be larger than the memory.
        threads: Number of threads that compress; one per core by default. Of `subfiles`, as many are written at a time.
        durable: Wait until the file is on the disk.
        storage_options: Options of the store of an address, as in `hyperslab.open`.

    Raises:
        InvalidInputError: A name has a slash, `unlimited_dims` or `encoding` name what the dataset does not have, or an encoding is not known.
        InvalidTypeError: An attribute has a value, such as `None`, that netCDF cannot store.
        UnsupportedError: An argument asks for another format or engine, or a delayed write; or an encoding is not written: lossy ones, szip,
            bzip2, blosc, another byte order.

    Example:
        >>> hs.to_netcdf(dataset, "out.nc", unlimited_dims="time", encoding={"t2m": {"zlib": True}})
    """
    from xarray import DataArray

    write_arguments.refuse_what_other_writers_do(path, format, engine, compute, invalid_netcdf, auto_complex)
    assert path is not None

    if isinstance(dataset, DataArray):
        dataset = write_arguments.as_dataset(dataset)
    default = {"compression": compression, "compression_opts": compression_opts, "shuffle": shuffle}
    nodes = _nodes(dataset, group, unlimited_dims, encoding or {}, write_inherited_coords)
    if subfiles is None:
        with create_netcdf(path, mode, threads=threads, durable=durable, storage_options=storage_options) as f:
            for node in nodes:
                _write(f, node, default, None)
        return
    parts = Subfiles(subfiles)
    if mode not in ("w", "x"):
        raise unknown_mode(mode)
    plan = NetcdfPlan(path, mode, durable=durable)
    for node in nodes:
        _write(plan, node, default, parts)
    parts.write(plan, threads)


class _Node(NamedTuple):
    """A dataset of one group, and how it is written."""

    path: str
    dataset: xarray.Dataset
    unlimited: set[str]
    encoding: Encodings


def _nodes(dataset: xarray.Dataset | xarray.DataTree, group: str | None, unlimited: Unlimited, encoding: Encodings, with_inherited: bool) -> list[_Node]:
    """The dataset, or all datasets of a tree, checked."""
    from xarray import DataTree

    if not isinstance(dataset, DataTree):
        found = [_Node("/" + (group or "").strip("/"), dataset, write_arguments.unlimited_of(dataset, unlimited), encoding)]
    else:
        found = []
        for node, (path, own, names) in zip(dataset.subtree, write_arguments.of_nodes(dataset, encoding, unlimited, group), strict=True):
            # Coordinates of nodes above are seen by those below, as dimensions are.
            below = node.to_dataset(inherit=with_inherited or node is dataset)
            # A node that inherits a dimension may have no variable over it.
            there = names if names is None else [name for name in ([names] if isinstance(names, str) else names) if name in below.dims or name not in node.dims]
            found.append(_Node(path, below, write_arguments.unlimited_of(below, there), own))
    for each in found:
        write_arguments.check(each.dataset)
        for name in each.encoding:
            if name not in each.dataset.variables:
                raise InvalidInputError(f"encoding of {name!r}, which is not a variable of the dataset")
    return found


def _encoded(variables: Variables, attributes: Attributes) -> tuple[Variables, Attributes]:
    """Variables as xarray's engine of netCDF-4 stores them."""
    from xarray import conventions
    from xarray.backends import common
    from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder

    # xarray before 2025 has it among the conventions.
    place: ModuleType = common if hasattr(common, "ensure_dtype_not_object") else conventions
    variables, attributes = conventions.cf_encoder(variables, attributes)
    coders: list[VariableCoder] = [partial(EncodedStringCoder, allows_unicode=True)(), CharacterArrayCoder()]
    for name, variable in variables.items():
        made = place.ensure_dtype_not_object(variable, name=name)
        if made.dtype.kind in "iufc" and not made.dtype.isnative:
            made = made.astype(made.dtype.newbyteorder("="), keep_attrs=True)
        for coder in coders:
            made = coder.encode(made, name=name)
        variables[name] = made
    return variables, attributes


def _write(file: Group, node: _Node, default: Encoding, parts: Subfiles | None) -> None:
    """Writes a dataset into a group; of `parts`, the values of large variables are left to tasks."""
    from xarray.conventions import encode_dataset_coordinates

    path, dataset, without_limit, encoding = node
    target: Any = file.require_group(path) if path.strip("/") else file
    found, attributes = encode_dataset_coordinates(dataset)
    variables: Variables = {str(name): variable.copy(deep=False) for name, variable in found.items()}
    for name, given in encoding.items():
        variables[name].encoding = {**given}
    storage = {name: _storage_of(name, variable, default, without_limit, name in encoding) for name, variable in variables.items()}
    variables, attributes = _encoded(variables, attributes)
    for name in encoding:
        if unknown := [key for key in variables[name].encoding if key not in ("dtype", "_FillValue")]:
            raise InvalidInputError(f"encoding of {name!r} with {unknown[0]}, which is not known: leave it out")
    for name, variable in variables.items():
        if variable.encoding.get("dtype") is str and variable.dtype.kind not in "OU":
            raise InvalidTypeError(f"encoding of {name!r} with dtype=str: its values are {variable.dtype}, not text")
    sizes: dict[Hashable, int] = {}
    for variable in variables.values():
        sizes.update(variable.sizes)
    for dim, extent in sizes.items():
        size = None if dim in without_limit else int(extent)
        try:
            seen = view_of(target).dimension(str(dim))
        except InvalidInputError:
            seen = None
        if seen is None or seen.size != size:
            target.create_dimension(str(dim), size)
    for name, variable in variables.items():
        place = "/".join((path.rstrip("/"), str(name)))
        dims, attrs = [str(dim) for dim in variable.dims], dict(variable.attrs)
        fill = attrs.pop("_FillValue", None)
        dtype, stored = _stored_as(target, variable)
        options = _fitting(name, variable, storage[name], default, name in encoding)
        if parts is not None and parts.takes(variable):
            options["shape"] = variable.shape
            target.create_variable(place, dims, dtype, fill_value=fill, attrs=attrs, **options)
            parts.add(place, variable, options.get("chunks"), stored)
        else:
            values = stored(np.asarray(variable.values))
            target.create_variable(place, dims, dtype, values, fill_value=fill, attrs=attrs, **options)
    target.attrs.update(attributes)


def _fitting(name: str, variable: xarray.Variable, options: Encoding, default: Encoding, strict: bool) -> Encoding:
    """The storage of an encoded variable: without filters if it has no dimensions, and without the filters of the call if it is text."""
    options = dict(options)
    if not variable.ndim:
        filters_of(options.get("compression"), options.get("compression_opts"), False, False)  # a name that is not known is an error here, too
        options = {}
    elif variable.dtype.kind in "OSU" and not options.pop(_IS_GIVEN, False):
        options = {key: value for key, value in options.items() if key not in default}
    options.pop(_IS_GIVEN, None)
    if "chunks" in options and len(options["chunks"]) != variable.ndim:
        if strict:
            raise InvalidInputError(f"encoding of {name!r}: chunksizes {options['chunks']} for {variable.ndim} dimensions, with that of its characters")
        del options["chunks"]
    return options


def _stored_as(target: Group, variable: xarray.Variable) -> tuple[Stored, Callable[[AnyArray], AnyArray]]:
    """The type of an encoded variable in the file, and the function that makes stored values of encoded ones."""
    if enumeration := (variable.dtype.metadata or {}).get("enum"):
        numbers = np.dtype(variable.dtype.str)
        return _enumeration(target, variable.dtype, enumeration), lambda values: values.astype(numbers)
    if variable.dtype.kind == "b":
        raise InvalidTypeError("booleans with an encoding that has a dtype: leave dtype= out, and they are stored as i1 with the attribute dtype")
    return str if variable.dtype.kind == "O" else variable.dtype, lambda values: values


def _enumeration(target: Group, dtype: AnyDtype, members: Mapping[str, int]) -> NetcdfType:
    """The enumeration of a variable that was read from netCDF, by its name there."""
    metadata: Encoding = dict(dtype.metadata or {})
    name = metadata.get("enum_name", "enum_t")
    types: Mapping[str, NetcdfType] = view_of(target).contents.types
    for path, known in types.items():
        if path.rpartition("/")[2] == name and known.enum_dict == {key: int(value) for key, value in members.items()}:
            return known
    return target.create_enum_type(name, np.dtype(dtype.str), members)


def _contiguous(name: str, variable: xarray.Variable, given: Encoding, unlimited: set[str]) -> Encoding:
    """The options of a variable that is to be stored in one piece."""
    if other := [key for key in ("zlib", "zstd", "compression", "fletcher32", "chunksizes") if given.get(key)]:
        raise InvalidInputError(f"encoding of {name!r} with contiguous and {other[0]}: only chunks have {'a shape' if other[0] == 'chunksizes' else 'filters'}")
    if growing := [dim for dim in variable.dims if dim in unlimited]:
        raise InvalidInputError(f"encoding of {name!r} with contiguous, along the unlimited dimension {growing[0]!r}")
    return {}


def _storage_of(name: str, variable: xarray.Variable, default: Encoding, unlimited: set[str], strict: bool) -> Encoding:
    """Filters and chunks of a variable's encoding; removes them from the encoding."""
    encoding = dict(variable.encoding)
    shape = dict(zip(variable.dims, variable.shape, strict=True))
    given = {key: encoding.pop(key) for key in _STORAGE if key in encoding}
    for key in _LOSSY:
        if encoding.pop(key, None) is not None and strict:
            raise UnsupportedError(f"encoding of {name!r} with {key}, which loses digits: round the values first")
    dropped = {key: encoding.pop(key) for key in _OF_THE_SOURCE if key in encoding}
    if (order := encoding.pop("endian", None)) not in (None, "native", sys.byteorder):
        raise UnsupportedError(f"encoding of {name!r} with endian={order!r}: values are stored in the byte order of this machine")
    variable.encoding = encoding
    if strict and any(dropped.get(key) for key in ("szip", "bzip2", "blosc")):
        raise UnsupportedError(f"encoding of {name!r} with szip, bzip2 or blosc: give zlib or zstd")
    if strict and (of_reader := [key for key in ("preferred_chunks", "hdf5_filters") if key in dropped]):
        raise InvalidInputError(f"encoding of {name!r} with {of_reader[0]}, which is of a reader: give chunksizes, compression")
    if strict and given.get("contiguous"):
        return _contiguous(name, variable, given, unlimited)
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
        # netCDF4-python's default.
        level = 4 if level is None and compression in ("gzip", "zstd") else level
        shuffle = bool(given.get("shuffle", compression in ("gzip", "zstd")))
        options = {"compression": compression, "compression_opts": level, "shuffle": shuffle, _IS_GIVEN: True}
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
