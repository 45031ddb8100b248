"""Arrays: objects with a shape, a dtype and `__getitem__`, as a file that the core reads."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, DtypeLike, Values
from . import dtype_encoding

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet
else:
    pa = LateModule("pyarrow")

#: Bytes of a block of an array that has no chunks of its own.
_BLOCK_BYTES = 1 << 20


@runtime_checkable
class Array(Protocol):
    """The interface of arrays that queries and indexes accept: numpy arrays and memory maps, h5py and Zarr datasets have it.

    If the array has `chunks`, they are read one at a time. `__getitem__` gets a tuple of slices and returns their values; it may
    be called from any thread, but never from two at a time.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> DtypeLike: ...

    def __getitem__(self, key: tuple[slice, ...], /) -> Values: ...


def from_arrays(session: _native.Session, arrays: Mapping[str, Values] | pa.Table | pa.RecordBatch | str | os.PathLike[str]) -> _native.File:
    """Makes a file of arrays: a mapping of names, an Arrow table, or a Parquet file."""
    if isinstance(arrays, (str, os.PathLike)):
        name = os.fspath(arrays)
        # Before anything is read: a change while reading makes the index stale.
        stamp = _native.path_stamp(name)
        columns = [(key, *_described(key, value), zlib.crc32(f"column {key}".encode())) for key, value in _parquet(name).items()]
        return session.arrays(name, columns, stamp)
    if isinstance(arrays, (pa.Table, pa.RecordBatch)):
        name, members = "arrow", dict[str, Values]({field.name: _ArrowColumn(arrays.column(field.name)) for field in arrays.schema})
    else:
        name, members = "arrays", dict(arrays)
    origins = [_origin(value) for value in members.values()]
    places = {origin[0] if origin else None for origin in origins}
    place = places.pop() if len(places) == 1 else None
    stamp = _native.path_stamp(place) if place else None
    described = [
        (str(key), *_described(str(key), value), zlib.crc32(origin[1].encode()) if origin else 0)
        for (key, value), origin in zip(members.items(), origins, strict=True)
    ]
    return session.arrays(place or name, described, stamp)


def _origin(array: Any) -> tuple[str, str] | None:
    """The file or folder of an array, and its identity there. Only for arrays that are open read-only: then the modification
    time of the file tells whether they have changed."""
    if isinstance(array, np.memmap):
        mapped = getattr(array, "_mmap", None)
        if mapped is None or array.filename is None or array.mode != "r":
            return None
        start = array.__array_interface__["data"][0] - np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
        return os.path.abspath(array.filename), f"memmap {array.offset} {start} {array.strides}"
    library, kind = type(array).__module__.partition(".")[0], type(array).__name__
    if library == "h5py" and kind == "Dataset" and array.file.mode == "r":
        return os.path.abspath(array.file.filename), f"h5py {array.name}"
    if library == "zarr" and kind == "Array":
        folder = getattr(array.store, "root", None) or getattr(array.store, "path", None)
        if folder is not None and os.path.isdir(folder) and getattr(array, "read_only", False):
            return os.path.abspath(folder), f"zarr {array.path}"
    return None


def _described(name: str, array: Values) -> tuple[_native.Datatype, list[int], list[int], bytes | None, Callable[[list[int], list[int]], bytes]]:
    """Datatype, shape, shape of a block, fill value, and what reads a block."""
    if isinstance(array, (pa.Array, pa.ChunkedArray)):
        array = _ArrowColumn(array)
    if isinstance(array, (list, tuple)):
        array = np.asarray(array)
    if not isinstance(array, Array):
        raise InvalidInputError(f"{name} is {type(array).__name__}, which has no shape, dtype and values by index")
    dtype, fill = np.dtype(array.dtype), getattr(array, "null_value", None)
    if isinstance(array, np.ma.MaskedArray):
        raise UnsupportedError(f"{name} is a masked array: give an Arrow array, which has nulls")
    if dtype.kind == "U":
        stored = np.dtype(f"S{max(1, dtype.itemsize)}")  # UTF-8 takes as many bytes at most
    elif dtype.kind in "iufbS":
        stored = dtype
    else:
        raise UnsupportedError(f"{name} is of {dtype}: only numbers, truth values and text of fixed length can be asked")
    datatype = dtype_encoding.of_dtype(stored)
    if dtype.kind == "U":
        datatype = _native.Datatype.string(stored.itemsize, padding="null_padded", utf8=True)
    shape = [int(extent) for extent in array.shape]

    def block(start: list[int], count: list[int]) -> bytes:
        values = np.asarray(array[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))])
        if values.shape != tuple(count):
            raise InvalidInputError(f"{name} gave values of shape {values.shape} where {tuple(count)} were asked for")
        if dtype.kind == "U":
            values = np.char.encode(values, "utf-8")
        elif values.dtype != stored and not np.can_cast(values.dtype, stored, "safe"):
            raise InvalidInputError(f"{name} gave values of {values.dtype}, not of {stored}")
        return np.ascontiguousarray(values, dtype=stored).tobytes()

    return datatype, shape, _blocks(array, shape, stored.itemsize), None if fill is None else np.asarray(fill, stored).tobytes(), block


def _blocks(array: Array, shape: list[int], size: int) -> list[int]:
    chunks = getattr(array, "chunks", None)
    if isinstance(chunks, tuple) and len(chunks) == len(shape):
        # Dask has the extents of all chunks of a dimension.
        chunks = tuple(chunk[0] if isinstance(chunk, tuple) and chunk else chunk for chunk in chunks)
        if all(isinstance(chunk, (int, np.integer)) and chunk > 0 for chunk in chunks):
            return [int(chunk) for chunk in chunks]
    blocks, below = [max(1, extent) for extent in shape], max(1, size)
    for dimension in reversed(range(len(shape))):
        if below * blocks[dimension] > _BLOCK_BYTES:
            blocks[dimension] = max(1, _BLOCK_BYTES // below)
            blocks[:dimension] = [1] * dimension
            break
        below *= blocks[dimension]
    return blocks


class _ArrowColumn:
    """An Arrow column as an array. Nulls are a value that it does not have."""

    def __init__(self, column: pa.Array | pa.ChunkedArray) -> None:
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        self.shape = (len(column),)
        self.null_value: object = None
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            if column.null_count:
                raise UnsupportedError("text with nulls cannot be asked")
            self._values = np.asarray(column.to_pylist(), dtype=str)
        elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
            raise UnsupportedError(f"Arrow columns of {column.type} cannot be asked: only numbers, truth values and text")
        elif column.null_count == 0:
            self._values = column.to_numpy()
        elif pa.types.is_boolean(column.type):
            raise UnsupportedError("truth values with nulls cannot be asked: cast them to int8")
        else:
            self._values, self.null_value = _without_nulls(column)
        self.dtype = self._values.dtype

    def __getitem__(self, key: tuple[slice, ...]) -> AnyArray:
        return self._values[key]


def _without_nulls(column: pa.ChunkedArray) -> tuple[AnyArray, object]:
    """The values, and the one among them that stands for null."""
    import pyarrow.compute as pc

    present = set(column.drop_null().unique().to_pylist()) if column.type.bit_width < 32 else None
    dtype = np.dtype(column.type.to_pandas_dtype())
    if dtype.kind == "f":
        found = pc.unique(column.drop_null()).to_numpy()
        # A float between 1 and 2 that is not there; of a 16-bit float there may be none.
        value = next((v for v in (np.nextafter(dtype.type(1), dtype.type(2)) * dtype.type(1 + k / 2048) for k in range(2048)) if v not in found), None)
    else:
        info = np.iinfo(dtype)
        known = present if present is not None else set()
        candidates = [info.min, info.max, *range(info.max, max(info.min, info.max - 70_000), -1)]
        if present is None:
            known = set(
                pc.unique(column.drop_null().filter(pc.greater_equal(column.drop_null(), pa.scalar(max(info.min, info.max - 70_000), column.type)))).to_pylist()
            )
            known |= {info.min} if pc.any(pc.equal(column, pa.scalar(info.min, column.type))).as_py() else set()
        value = next((v for v in candidates if v not in known), None)
    if value is None:
        wider = {"f": pa.float32(), "i": pa.int32(), "u": pa.uint32()}.get(dtype.kind)
        if wider is None or column.type.bit_width >= 32:
            raise UnsupportedError("a column with nulls that has every other value, too")
        return _without_nulls(column.cast(wider))
    return pc.fill_null(column, pa.scalar(value, column.type)).to_numpy(), value


class _ParquetColumn:
    """A column of a Parquet file, a row group at a time."""

    def __init__(self, file: pyarrow.parquet.ParquetFile, name: str) -> None:
        self._file, self._name = file, name
        groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(groups, dtype=np.int64)])
        self.shape = (int(self._starts[-1]),)
        self.chunks = (max(1, groups[0]),) if groups else None
        self.dtype = np.dtype(file.schema_arrow.field(name).type.to_pandas_dtype())

    def __getitem__(self, key: tuple[slice, ...]) -> AnyArray:
        (wanted,) = key
        first = int(np.searchsorted(self._starts, wanted.start, "right")) - 1
        last = int(np.searchsorted(self._starts, wanted.stop, "left"))
        table = self._file.read_row_groups(list(range(first, last)), columns=[self._name], use_threads=False)
        offset = wanted.start - int(self._starts[first])
        values: AnyArray = table.column(0).slice(offset, wanted.stop - wanted.start).to_numpy()
        return values


def _parquet(path: str) -> dict[str, _ArrowColumn | _ParquetColumn]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    columns: dict[str, _ArrowColumn | _ParquetColumn] = {}
    for field in file.schema_arrow:
        plain = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        number = file.schema_arrow.names.index(field.name)
        statistics = (
            [file.metadata.row_group(g).column(number).statistics for g in range(file.metadata.num_row_groups)]
            if len(file.schema) == len(file.schema_arrow)
            else [None]
        )
        whole = all(s is not None and s.null_count == 0 for s in statistics)
        if plain and (not field.nullable or whole):
            columns[field.name] = _ParquetColumn(file, field.name)
        elif plain or pa.types.is_boolean(field.type) or pa.types.is_string(field.type):
            columns[field.name] = _ArrowColumn(file.read([field.name]).column(0))
    return columns
