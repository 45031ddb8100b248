"""Arrays: the datasets of a group as arrays of Zarr whose chunks lie in the file."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..backends.reading import Reading
from ..base.errors import UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, Json, JsonObject, UInt64Array
from ..dtypes import describe, is_plain
from ..objects.dataset import Dataset
from ..objects.native_objects import native_of
from ..xarray.groups import Member, find_group, leave_out, members
from ..xarray.opening import OpenedFile
from ..xarray.store import HyperslabStore
from .codecs import codecs_of

if TYPE_CHECKING:
    from xarray import Variable


@dataclass(frozen=True)
class Chunks:
    """Where the chunks of an array lie. A chunk in neither `numbers` nor `contents` was never written: it has the fill value."""

    #: How many chunks there are along each dimension.
    grid: tuple[int, ...]
    #: Chunks that the file stores as the array's codecs encode them: row-major chunk number, offset in the file and length in bytes.
    numbers: UInt64Array
    offsets: UInt64Array
    lengths: UInt64Array
    #: The encoded bytes of all other chunks, such as chunks in an object's header, by chunk number.
    contents: dict[int, bytes]


@dataclass(frozen=True)
class Array:
    """A dataset as an array of Zarr."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]
    #: The dtype of the elements as they are stored, in their byte order.
    dtype: AnyDtype
    #: The value of elements that were never written.
    fill: AnyArray | np.generic
    #: Configurations of numcodecs, in the order in which a writer applies them.
    codecs: list[JsonObject]
    attributes: JsonObject
    chunks: Chunks


class Kept:
    """Keeps a file open, as stores of xarray want it."""

    def __init__(self, file: _native.File) -> None:
        self._opened = OpenedFile(file, None)

    def acquire(self) -> OpenedFile:
        return self._opened

    def close(self) -> None:
        """Nothing: the file is closed when its last user is gone."""


def arrays_of(file: _native.File, group: str, drop: Collection[str] = ()) -> Iterator[Array]:
    """The arrays of a group.

    Args:
        file: A file of HDF5, shown as the netCDF library shows it.
        group: Path of the group.
        drop: Names of datasets that are not looked at.

    Raises:
        UnsupportedError: Zarr has no array like one of the datasets; the error names it.
    """
    if file.format == "netcdf3":
        raise UnsupportedError("references into netCDF classic files, whose records have no chunks of their own", file.path)
    if file.format in ("container", "netcdf_container"):
        raise UnsupportedError("references into a container of Arrow files, whose values are in files of their own", file.path)
    store = HyperslabStore(Kept(file), group, file.path, drop)
    variables = store.get_variables()
    found, number = find_group(file, group)
    for name, member in members(found, number, group, drop):
        if member.about["kind"] != "dataset":
            continue
        try:
            yield _array(file.path, name, member, variables[name])
        except UnsupportedError as error:
            raise UnsupportedError(f"{error.message}; {leave_out(name)}", file.path, member.path) from error


def _array(path: str, name: str, member: Member, variable: Variable) -> Array:
    about, datatype = member.about, member.about["datatype"]
    if member.file.path != path:
        raise UnsupportedError(f"it lies in another file ({member.file.path}): references are into one")
    if about.get("refusal"):
        raise UnsupportedError(f"it cannot be read ({about['refusal']})")
    dataset = Dataset(Reading(member.file), member.number, member.path)
    if not is_plain(datatype) or datatype.class_name == "array" or dataset.dtype.kind not in "iufcbS":
        raise UnsupportedError(f"elements that are {describe(datatype)} have no counterpart in Zarr: VirtualiZarr can load them (loadable_variables)")
    if about["storage"] == "virtual":
        raise UnsupportedError("a virtual dataset: give the files that it shows")
    if member.file.external_files(member.number):
        raise UnsupportedError("a dataset whose values are in external files")
    dtype = np.dtype(dataset.dtype.str)
    codecs = codecs_of(about["filters"], dtype.itemsize)
    shape = dataset.shape
    chunk_shape = tuple(max(1, extent) for extent in (about["chunks"] or shape))
    chunks = _chunks(dataset, shape, chunk_shape, dtype, codecs)
    fill = np.asarray(dataset.fillvalue, dtype)[()]
    return Array(name, tuple(map(str, variable.dims)), shape, chunk_shape, dtype, fill, codecs, json_attributes(variable.attrs), chunks)


def _chunks(dataset: Dataset, shape: tuple[int, ...], chunk_shape: tuple[int, ...], dtype: AnyDtype, codecs: list[JsonObject]) -> Chunks:
    grid = tuple(-(-extent // chunk) for extent, chunk in zip(shape, chunk_shape, strict=True))
    *places, masks, inside = _native.chunk_places(*native_of(dataset))
    numbers, offsets, lengths = (np.frombuffer(place, np.uint64) for place in places)
    contents = dict(inside)
    skipping = [number for number, _ in masks]
    if skipping:
        # In Zarr, all chunks have the same codecs. A chunk that skips a filter is re-encoded.
        kept = ~np.isin(numbers, np.array(skipping, np.uint64))
        numbers, offsets, lengths = numbers[kept], offsets[kept], lengths[kept]
        contents |= {number: _encoded(dataset, np.unravel_index(number, grid), chunk_shape, dtype, codecs) for number in skipping}
    return Chunks(grid, numbers, offsets, lengths, contents)


def _encoded(dataset: Dataset, position: Sequence[int | np.integer[Any]], chunk_shape: tuple[int, ...], dtype: AnyDtype, codecs: list[JsonObject]) -> bytes:
    """A chunk as the codecs make it."""
    import numcodecs

    bounds = zip(position, chunk_shape, dataset.shape, strict=True)
    region = tuple(slice(int(at) * chunk, min((int(at) + 1) * chunk, extent)) for at, chunk, extent in bounds)
    chunk = np.full(chunk_shape, dataset.fillvalue, dtype)
    values = dataset[region]
    chunk[tuple(slice(0, extent) for extent in values.shape)] = values
    encoded: bytes = chunk.tobytes()
    for codec in codecs:
        encoded = numcodecs.get_codec(codec).encode(encoded)
    return bytes(encoded)


def json_attributes(attributes: Mapping[str, AttributeValue]) -> JsonObject:
    """Attributes as JSON has them: numbers, texts and lists."""
    return {name: _json_value(value) for name, value in attributes.items()}


def _json_value(value: AttributeValue) -> Json:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "iufbSU":
            return _json_value(value.tolist())
        return [_json_value(element) for element in value.reshape(-1)] if isinstance(value, np.ndarray) else str(value)
    if isinstance(value, (list, tuple)):
        return [_json_value(element) for element in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def chunk_keys(chunks: Chunks, numbers: UInt64Array) -> Iterator[str]:
    """Names of chunks in Zarr's second version: `0.1.2`."""
    if not chunks.grid:
        return itertools.repeat("0", len(numbers))
    axes = np.unravel_index(numbers.astype(np.int64), chunks.grid)
    return (".".join(map(str, position)) for position in zip(*(axis.tolist() for axis in axes), strict=True))
