"""Definition: from the arguments of `create_dataset` to a shape, a datatype and a storage layout."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError
from ..base.type_aliases import AnyDtype, CreateOptions, DtypeLike, Elements, MaxShapeLike, ShapeLike
from ..values import dtype_encoding, new_references, tagged_dtypes, times
from ..values.described import DescribedType, StoredFill
from ..values.empty import Empty
from . import filters
from .dataset import Dataset
from .datatype import Datatype

#: Options of h5py's create_dataset that do not change the written file: caches, and locations of other files.
_HARMLESS = {"rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "efile_prefix", "virtual_prefix", "allow_unknown_filter", "dapl"}
#: Options that are not supported.
_UNSUPPORTED = {
    "external": "values are in the file itself; leave it out",
    "track_times": "leave it out, or give False",
    "dcpl": "give the options by name",
}


def checked(options: dict[str, object]) -> dict[str, object]:
    """The options that remain after options of h5py that change nothing were dropped and unsupported ones refused."""
    if options.get("track_times") not in (None, True, False):
        raise InvalidTypeError(f"track_times={options['track_times']!r}: give True or False")
    for option in options.keys() & _UNSUPPORTED.keys():
        if options.pop(option) not in (None, False):
            raise UnsupportedError(f"create_dataset with {option}: {_UNSUPPORTED[option]}")
    return {name: value for name, value in options.items() if name not in _HARMLESS}


@dataclass
class Stated:
    """Shape (`None` is null), datatype and values of a dataset; the dtype of times that are stored as counts."""

    shape: tuple[int, ...] | None
    datatype: _native.Datatype
    data: object
    times: AnyDtype | None


def stated(shape: ShapeLike | None, dtype: Any, data: Any) -> Stated:
    """What shape, dtype and values say of a dataset."""
    if isinstance(dtype, Datatype):
        dtype = DescribedType(dtype._about["datatype"])
    elif type(dtype).__name__ == "Datatype" and type(dtype).__module__.startswith("h5py"):
        dtype = dtype.dtype
    if isinstance(dtype, DescribedType):
        return _described(shape, dtype, data)
    empty = isinstance(data, Empty)
    if empty:
        dtype, data = dtype or data.dtype, None
    if shape is None and data is None and not empty:
        if dtype is None:
            raise InvalidTypeError("a dataset needs a shape, data or a dtype")
        empty = True  # as in h5py: a dtype alone is a dataset without elements
    kind = new_references.kind_of(data, dtype)
    if data is not None and kind is None and not isinstance(data, (str, bytes)):
        data = dtype_encoding.as_array(data, dtype)
    time = times.stored_dtype(getattr(data, "dtype", None) if dtype is None else dtype)
    if time is not None:
        dtype, data = "i8", None if data is None else times.counts(data, time)
    if data is None and dtype is None and kind is None:
        dtype = "f4"
    datatype = new_references.datatype_of(kind) if kind else dtype_encoding.of_values(dtype, data)
    if isinstance(data, bytes) and dtype is None:
        data, datatype = dtype_encoding.of_bytes(data)
    found = None if data is None else np.shape(np.asarray(data, dtype=object)) if kind else dtype_encoding.shape_of(data, datatype)
    if shape is not None:
        extent = tuple(dtype_encoding.extents("shape", shape))
        if found is not None and found != extent:
            if math.prod(extent) != math.prod(found):
                raise InvalidInputError(f"Shape tuple is incompatible with data: data of shape {found} for a dataset of shape {extent}")
            data = np.reshape(np.asarray(data, dtype=object) if kind else data, extent + tuple(np.shape(data)[len(found) :]))
    elif found is not None:
        extent = found
    return Stated(None if empty else extent, datatype, data, time)


def _described(shape: ShapeLike | None, dtype: DescribedType, data: Any) -> Stated:
    """As `stated`, with the datatype that another dataset has."""
    datatype = dtype.datatype
    if isinstance(data, Empty):
        return Stated(None, datatype, None, None)
    if data is not None and not new_references.kind_of(None, dtype):
        data = dtype_encoding.as_array(data, tagged_dtypes.of_datatype(datatype))
    if shape is None and data is None:
        raise InvalidInputError("a dataset needs a shape or data")
    found = None if data is None else dtype_encoding.shape_of(data, datatype)
    extent = found if shape is None else tuple(dtype_encoding.extents("shape", shape))
    if found not in (None, extent):
        if math.prod(found or ()) != math.prod(extent or ()):
            raise InvalidInputError(f"Shape tuple is incompatible with data: data of shape {found} for a dataset of shape {extent}")
        data = np.reshape(np.asarray(data), (extent or ()) + tuple(np.shape(data)[len(found or ()) :]))
    return Stated(extent, datatype, data, None)


@dataclass
class Storage:
    """How a dataset is stored: largest shape, chunk shape (`None` is chosen or not there) and filters."""

    maxshape: list[int | None] | None
    chunks: list[int] | None
    filters: list[filters.Filter]


def storage(
    stated: Stated,
    chunks: ShapeLike | bool | None,
    maxshape: MaxShapeLike | bool | None,
    compression: str | int | None,
    compression_opts: object,
    shuffle: bool,
    fletcher32: bool,
    scaleoffset: int | bool | None,
) -> Storage:
    """How the options of `create_dataset` ask for a dataset to be stored."""
    found = filters.filters_of(compression, compression_opts, shuffle, fletcher32, scaleoffset, stated.datatype.class_name)
    if maxshape is True:
        maxshape = (None,) * len(stated.shape or ())
    largest = None if maxshape is None else dtype_encoding.extents("maxshape", maxshape, unlimited=True)
    if stated.shape and not found and (chunks is True or (chunks is None and largest is not None)) and largest in (None, list(stated.shape)):
        chunks = _halved(stated.shape, stated.datatype.size)
    chosen = None if chunks is None or isinstance(chunks, bool) else dtype_encoding.extents("chunks", chunks)
    _check_chunks(stated.shape, largest, chunks, chosen)
    return Storage(largest, chosen, found)


def _check_chunks(shape: tuple[int, ...] | None, largest: list[int | None] | None, chunks: object, chosen: list[int] | None) -> None:
    """Chunks that h5py refuses, too."""
    if chunks is False and largest is not None and largest != list(shape or ()):
        raise InvalidInputError("chunks=False: a dataset that can grow has chunks")
    if shape is None and (chunks not in (None, False) or largest is not None):
        raise InvalidTypeError("Empty datasets have no chunks and no maximum shape")
    if chosen and not shape:
        raise InvalidTypeError("a scalar dataset has no chunks")


def fill(stated: Stated, fillvalue: object, heap: list[bytes] | None = None) -> tuple[Elements, tuple[bytes, list[bytes]] | None]:
    """The value of unwritten elements, as given and as stored; times use the missing value unless another is given. `heap` takes what it points at."""
    if isinstance(fillvalue, StoredFill):
        return fillvalue.value, (fillvalue.stored, [])
    if stated.times is None:
        return fillvalue, dtype_encoding.fill_of(fillvalue, stated.datatype, heap)
    given = np.int64(times.MISSING) if fillvalue is None else fillvalue
    return given, dtype_encoding.fill_of(times.counts(given, stated.times), stated.datatype)


@dataclass(frozen=True)
class Asked:
    """The arguments of `create_dataset`."""

    shape: ShapeLike | None
    dtype: DtypeLike | None
    data: object
    chunks: ShapeLike | bool | None
    maxshape: MaxShapeLike | bool | None
    fillvalue: object
    compression: str | int | None
    compression_opts: object
    shuffle: bool
    fletcher32: bool
    scaleoffset: int | bool | None
    fill_time: str | None

    def stated(self) -> Stated:
        """What shape, dtype and values say."""
        return stated(self.shape, self.dtype, self.data)

    def storage(self, stated: Stated) -> Storage:
        """How the dataset is stored."""
        options = self.compression, self.compression_opts, self.shuffle, self.fletcher32, self.scaleoffset
        return storage(stated, self.chunks, self.maxshape, *options)


def native(stated: Stated, storage: Storage, fill: tuple[bytes, list[bytes]] | None, committed: str | None, fill_time: str | None) -> _native.DatasetDefinition:
    """The definition that writers take.

    Args:
        stated: Shape, datatype and values.
        storage: How it is stored.
        fill: The stored value of unwritten elements.
        committed: Path of a committed datatype.
        fill_time: When programs that change the file later write the fill value.
    """
    extent = None if stated.shape is None else list(stated.shape)
    if not isinstance(fill_time, (str, type(None))):
        raise InvalidInputError(f"fill_time={fill_time!r}: give 'ifset', 'alloc' or 'never'")
    return _native.DatasetDefinition(
        stated.datatype,
        extent,
        maxshape=storage.maxshape,
        chunks=storage.chunks,
        filters=storage.filters,
        fill=fill,
        committed=committed,
        fill_time=fill_time,
    )


def check_largest(found: Dataset, maxshape: MaxShapeLike | bool | None, file: str | None = None) -> None:
    """Checks that a dataset which `require_dataset` has found may grow as far as was asked for; its shape may be any then, as in h5py.

    Raises:
        InvalidTypeError: It may not, or further.
    """
    wanted = (None,) * len(found.shape) if maxshape is True else tuple(dtype_encoding.extents("maxshape", maxshape, unlimited=True))
    if found.maxshape != wanted:
        raise InvalidTypeError(f"{found.path} has maxshape {found.maxshape}, not {wanted}", file, found.path)


def check_required(found: Dataset, shape: ShapeLike, dtype: DtypeLike, exact: bool, file: str | None = None) -> None:
    """Checks that a dataset which `require_dataset` has found is the one that was asked for.

    Raises:
        InvalidTypeError: It has another shape or dtype.
    """
    wanted = tuple(dtype_encoding.extents("shape", shape))
    if found.shape != wanted:
        raise InvalidTypeError(f"{found.path} has shape {found.shape}, not {wanted}", file, found.path)
    if not (found.dtype == dtype if exact else np.can_cast(dtype, found.dtype)):
        raise InvalidTypeError(f"{found.path} has dtype {found.dtype}, not {np.dtype(dtype)}", file, found.path)


def _halved(shape: tuple[int, ...], size: int) -> list[int]:
    chunks = [max(n, 1) for n in shape]
    while math.prod(chunks) * size > 1 << 20 and any(n > 1 for n in chunks):  # an element may be larger
        longest = chunks.index(max(chunks))
        chunks[longest] = -(-chunks[longest] // 2)
    return chunks


def like(other: Any, options: CreateOptions) -> dict[str, Any]:
    """The options that create a dataset like `other`, which may be from h5py, overridden by `options`."""
    found: dict[str, Any] = {"shape": other.shape, "dtype": other.dtype, "chunks": other.chunks, "fillvalue": other.fillvalue}
    for name in ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset"):
        found[name] = getattr(other, name, None)
    described = getattr(other, "_about", None)
    if described is not None:
        found["compression"], found["compression_opts"] = filters.compression_of([(number, values) for number, _, values in described["filters"]])
    if other.shape is None or (described is not None and described["shape"] is None):
        found.update(shape=None, data=Empty(other.dtype))
    elif other.maxshape != other.shape:
        found["maxshape"] = other.maxshape
    if described is None or "dtype" in options:
        is_text = isinstance(found["fillvalue"], (str, bytes))
        if (other.dtype.kind == "O" and not is_text) or (described is None and not _has_fill(other)):
            found["fillvalue"] = None
    elif (notes := other._notes) is not None and notes.times is not None:
        found.update(dtype=notes.times, fillvalue=notes.fill)
    else:
        datatype, fill = described["datatype"], described["fill"]
        found["dtype"] = DescribedType(datatype)
        if not fill:
            found["fillvalue"] = None
        elif not datatype.uses_heap and not datatype.has_references:
            found["fillvalue"] = StoredFill(found["fillvalue"], bytes(fill))
    if options.get("shape") is not None or options.get("data") is not None:
        found.update(shape=None, data=None)
    found.update(options)
    return found


def _has_fill(other: Any) -> bool:
    """Whether a dataset of h5py was given a fill value."""
    creation = getattr(getattr(other, "id", None), "get_create_plist", None)
    # `H5D_FILL_VALUE_USER_DEFINED`.
    return creation is None or creation().fill_value_defined() == 2
