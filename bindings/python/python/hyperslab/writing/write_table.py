"""write_table: Arrow tables as HDF5, a dataset a column or one compound dataset."""

from __future__ import annotations

import contextlib
import decimal
import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa

from .. import _native, dtypes
from ..backends.plan_writer import AnyWriter
from ..base.arguments import check_choice, check_mode
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, AttributeValue, Elements, Path
from ..files.file import File
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..sources.addresses import is_address, shown_address
from ..values import dtype_encoding
from ..values.batch_reader import BatchReader
from .new_file import begin

#: Adds the rows of a batch.
Write: TypeAlias = Callable[[pa.RecordBatch], None]


class Storage(TypedDict):
    """How the datasets of a table are stored."""

    compression: str | int | None
    compression_opts: object
    shuffle: bool
    fletcher32: bool


_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
#: Smaller batches are joined until they have this many bytes: one call per column and batch costs more than a copy.
_BATCH_BYTES = 32 << 20


def _reader(source: object) -> pa.RecordBatchReader | BatchReader:
    if isinstance(source, (pa.RecordBatchReader, BatchReader)):
        return source
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, (list, tuple)):
        source = pa.Table.from_batches(list(source))
    if hasattr(source, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(source)
    if isinstance(source, np.ndarray) and source.dtype.names is not None and source.ndim == 1:
        try:
            return pa.table({name: _members(source[name]) for name in source.dtype.names}).to_reader()
        except pa.ArrowException as error:
            raise InvalidInputError(f"records of {source.dtype}: {error}") from None
    raise InvalidInputError(f"{type(source).__name__} is not Arrow data: give a table, batches, or an object with an Arrow stream")


def _members(values: AnyArray) -> pa.Array:
    """A field of records as a column; arrays in records are lists, and bytes that are text are text."""
    if values.dtype.kind == "S":
        with contextlib.suppress(UnicodeDecodeError):
            values = np.char.decode(values, "utf-8")
    if values.ndim == 1:
        return pa.array(values.astype(values.dtype.newbyteorder("=")) if values.dtype.kind in "iufc" else values)
    return pa.FixedSizeListArray.from_arrays(_members(values.reshape(-1, *values.shape[2:])), values.shape[1])


class _Column:
    """How values of an Arrow type become elements: `dtype` and `shape` of one, and the attributes that say what they mean."""

    def __init__(self, name: str, type: pa.DataType, nulls: str, overflow: str) -> None:
        self.name, self.type, self._nulls, self._overflow = name, type, nulls, overflow
        self.inner: tuple[int, ...] = ()
        while pa.types.is_fixed_size_list(type):
            self.inner += (type.list_size,)
            type = type.value_type
        if pa.types.is_dictionary(type) and not self.inner:
            type = type.value_type
        self.item = type
        if self.inner and not _is_plain(type):
            raise self._refused()
        self.attributes = _meaning(type)
        if pa.types.is_boolean(type):
            self.dtype: Any = np.dtype(bool)
        elif pa.types.is_integer(type) or pa.types.is_floating(type):
            self.dtype = np.dtype(type.to_pandas_dtype()).newbyteorder("<")
        elif pa.types.is_decimal(type):
            self.dtype = np.dtype("<f8")
        elif self.attributes:
            self.dtype = np.dtype(f"<i{type.bit_width // 8}")
        elif _is_text(type):
            self.dtype = str
        elif pa.types.is_fixed_size_binary(type):
            self.dtype = np.dtype(f"V{type.byte_width}")
        elif (pa.types.is_list(type) or pa.types.is_large_list(type)) and _is_plain(type.value_type) and not pa.types.is_boolean(type.value_type):
            self.dtype = np.dtype(object, metadata={"vlen": np.dtype(type.value_type.to_pandas_dtype())})
        else:
            raise self._refused()
        #: The dtype of an element: a list of fixed size is an array, so that every column has one dimension.
        self.element = np.dtype((self.dtype, self.inner)) if self.inner else self.dtype

    def _refused(self) -> UnsupportedError:
        return UnsupportedError(f"column {self.name!r} of Arrow type {self.type} in HDF5")

    def _filled(self, array: pa.Array, where: str = "") -> pa.Array:
        """The values without nulls, which HDF5 cannot store."""
        if not array.null_count:
            return array
        if self._nulls == "nan" and pa.types.is_floating(array.type):
            return array.fill_null(float("nan"))
        hint = 'fill them first, floats with nulls="nan"' if self._nulls == "error" else 'nulls="nan" is for floats; fill them first'
        raise UnsupportedError(f"column {self.name!r} has {array.null_count} nulls{where}, which HDF5 cannot store: {hint}")

    def checked(self, array: pa.Array) -> pa.Array:
        """The values of a batch without nulls and without a dictionary, which may have nulls of its own."""
        return self._filled(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array)

    def _numbers(self, array: pa.Array) -> pa.Array:
        """Dates, times and durations as counts, decimals as floats."""
        if pa.types.is_decimal(self.item):
            # Arrow's own cast is wrong in the last digit of some values.
            given = array.to_pylist()
            rounded = [float(number) for number in given]
            if self._overflow == "error" and any(
                not math.isfinite(near) or decimal.Decimal(repr(near)) != number for near, number in zip(rounded, given, strict=True)
            ):
                raise InvalidInputError(
                    f'column {self.name!r} has values of {self.item} that a float of 8 bytes cannot hold: give overflow="round", or cast them first'
                )
            return pa.array(rounded, pa.float64())
        return array.view(pa.int32() if self.item.bit_width == 32 else pa.int64()) if self.attributes else array

    def values(self, array: pa.Array) -> Elements:
        """The same as numpy has them."""
        if self.inner and array.null_count:
            raise UnsupportedError(f"column {self.name!r} has {array.null_count} nulls, which HDF5 cannot store: fill them first")
        array = self.checked(array)
        for _ in self.inner:
            array = self._filled(array.flatten(), " in its lists")
        array = self._numbers(array)
        if self.dtype is str:
            out = np.empty(len(array), dtype=object)
            out[:] = array.to_pylist()
            return out
        if pa.types.is_fixed_size_binary(self.item):
            return _fixed(array, self.dtype)
        if self.dtype.kind == "O":
            inner = self._filled(array.flatten(), " in its lists")
            items, ends = inner.to_numpy(zero_copy_only=False), array.offsets.to_numpy()
            out = np.empty(len(array), dtype=object)
            for place, (start, end) in enumerate(zip((ends - ends[0])[:-1].tolist(), (ends - ends[0])[1:].tolist(), strict=True)):
                out[place] = items[start:end]
            return out
        return array.to_numpy(zero_copy_only=False).reshape(-1, *self.inner)


def _meaning(type: pa.DataType) -> dict[str, str]:
    """The attributes of numbers that stand for something else: CF's units, and the Arrow type."""
    attributes: dict[str, str] = {}
    if pa.types.is_timestamp(type):
        attributes = {"units": f"{_UNITS[type.unit]} since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
        if type.tz is not None:
            # Their counts are in UTC in any zone.
            attributes["time_zone"] = type.tz
    elif pa.types.is_date(type):
        attributes = {"units": ("days" if pa.types.is_date32(type) else "milliseconds") + " since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
    elif pa.types.is_time(type) or pa.types.is_duration(type):
        attributes = {"units": _UNITS[type.unit]}
    elif not pa.types.is_decimal(type):
        return {}
    return {**attributes, "arrow_type": str(type)}


def _fixed(array: pa.Array, dtype: AnyDtype) -> AnyArray:
    """Values of fixed length as laid out in memory."""
    return np.frombuffer(array.buffers()[1], dtype, count=len(array), offset=array.offset * dtype.itemsize) if len(array) else np.empty(0, dtype)


def _append_text(writer: AnyWriter, dataset: Dataset, array: pa.Array) -> None:
    """Adds rows of text, which stay where they are in Arrow's memory."""
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    before, width = dataset.shape[0], 8 if pa.types.is_large_string(array.type) else 4
    dataset.resize((before + len(array),))
    if len(array):
        _, offsets, data = array.buffers()
        writer.write_text(
            dataset.name,
            before,
            len(array),
            offsets.address + width * array.offset,
            width,
            0 if data is None else data.address,
            0 if data is None else data.size,
        )


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _is_plain(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_boolean(type))


def _columns(group: Group, writer: AnyWriter, columns: list[_Column], options: Storage) -> Write:
    datasets: list[Dataset] = []
    for column in columns:
        made = group.create_dataset(column.name, (0,), column.element, maxshape=(None,), **options)
        made.attrs.update(column.attributes)
        datasets.append(made)
    return _writer_of(writer, columns, datasets)


def _writer_of(writer: AnyWriter, columns: list[_Column], datasets: list[Dataset]) -> Write:
    def write(batch: pa.RecordBatch) -> None:
        for column, dataset, array in zip(columns, datasets, batch.columns, strict=True):
            if column.dtype is str:
                _append_text(writer, dataset, column.checked(array))
            else:
                dataset.append(column.values(array))

    return write


def _records(file: File, path: str, columns: list[_Column], options: Storage) -> Write:
    dtype = _record_dtype(columns)
    return _records_writer(columns, dtype, file.create_dataset(path, (0,), dtype, maxshape=(None,), **options))


def _record_dtype(columns: list[_Column]) -> AnyDtype:
    fields: list[tuple[str, AnyDtype] | tuple[str, AnyDtype, tuple[int, ...]]] = []
    for column in columns:
        dtype = np.dtype(object, metadata={"vlen": str}) if column.dtype is str else column.dtype
        if column.attributes:
            raise UnsupportedError(f'column {column.name!r} of {column.type} as a member of a compound, which has no attributes: give layout="columns"')
        fields.append((column.name, dtype, column.inner) if column.inner else (column.name, dtype))
    return np.dtype(fields)


def _records_writer(columns: list[_Column], dtype: AnyDtype, dataset: Dataset) -> Write:
    def write(batch: pa.RecordBatch) -> None:
        out = np.empty(batch.num_rows, dtype=dtype)
        for column, array in zip(columns, batch.columns, strict=True):
            out[column.name] = column.values(array)
        dataset.append(out)

    return write


def _appended_columns(file: File, writer: AnyWriter, group: str, columns: list[_Column]) -> Write:
    """Adds rows to the datasets of columns that a file has."""
    path = "/" + group.strip("/")
    there = _column_names(file, path)
    names = {column.name for column in columns}
    for name in [*(column.name for column in columns if column.name not in there), *(name for name in there if name not in names)]:
        where = "the table, but not in the file" if name in names else "the file, but not in the table"
        raise InvalidInputError(f"column {name!r} is in {where}: tables are appended with the same columns")
    datasets = [_existing(file, f"{path.rstrip('/')}/{column.name}") for column in columns]
    for column, dataset in zip(columns, datasets, strict=True):
        _check_column(column, dataset.datatype, _meanings(file, dataset.name))
        if len(dataset.shape) != 1 or dataset.shape != datasets[0].shape:
            raise InvalidInputError(
                f"column {column.name!r} in the file has shape {dataset.shape}, column {columns[0].name!r} {datasets[0].shape}: these are not columns of one table"
            )
    return _writer_of(writer, columns, datasets)


def _appended_records(file: File, path: str, columns: list[_Column]) -> Write:
    """Adds rows to the compound dataset that a file has."""
    dataset = _existing(file, path)
    datatype = dataset.datatype
    members = {name: member for name, _, member in datatype.fields} if datatype.class_name == "compound" else {}
    for name in [
        *(column.name for column in columns if column.name not in members),
        *(name for name in members if name not in {column.name for column in columns}),
    ]:
        where = "the file, but not in the table" if name in members else "the table, but not in the file"
        raise InvalidInputError(f"column {name!r} is in {where}: tables are appended with the same columns")
    dtype = _record_dtype(columns)
    for column in columns:
        _check_column(column, members[column.name], {}, dtype_encoding.of_dtype(dtype[column.name]))
    return _records_writer(columns, dtype, dataset)


def _existing(file: File, path: str) -> Dataset:
    found = file.get(path)
    if not isinstance(found, Dataset):
        raise InvalidInputError(f"there is no dataset '{path}' in the file to append to", file.filename)
    return found


def _column_names(file: File, path: str) -> list[str]:
    with open_file(file.filename, format="hdf5") as old:
        group = old.get(path)
        if not isinstance(group, Group):
            raise InvalidInputError(f"there is no group '{path}' in the file to append to", file.filename)
        return [name for name, member in group.items() if isinstance(member, Dataset)]


def _meanings(file: File, path: str) -> dict[str, AttributeValue]:
    with open_file(file.filename, format="hdf5") as old:
        attributes = old[path].attrs
        return {name: attributes[name] for name in ("units", "calendar", "time_zone", "arrow_type") if name in attributes}


def _check_column(column: _Column, datatype: _native.Datatype, meaning: Mapping[str, AttributeValue], own: _native.Datatype | None = None) -> None:
    """Refuses values that mean something else than those in the file."""
    if not _same(own or dtype_encoding.of_dtype(column.element), datatype) or {**column.attributes} != meaning:
        found = meaning.get("arrow_type", dtypes.describe(datatype)) + (f" in the zone {meaning['time_zone']}" if "time_zone" in meaning else "")
        raise InvalidInputError(f"column {column.name!r} of Arrow type {column.type} does not fit the file, where it is {found}: cast it first")


def _same(mine: _native.Datatype, found: _native.Datatype) -> bool:
    """Whether a datatype in a file is this one, for values. How text is padded, how opaque bytes are called and which bits of numbers
    are significant do not matter."""
    kind = mine.class_name
    if kind != found.class_name or mine.size != found.size:
        return False
    if kind == "compound":
        pairs = zip(mine.fields, found.fields, strict=False)
        return mine.member_count == found.member_count and all((a[0], a[1]) == (b[0], b[1]) and _same(a[2], b[2]) for a, b in pairs)
    if kind in ("array", "sequence"):
        return (kind == "sequence" or mine.shape == found.shape) and _same(mine.base, found.base)
    return kind == "opaque" or not {*mine.differences(found)} - {"padding", "bit_offset", "bit_precision", "layout"}


def _joined(reader: pa.RecordBatchReader | BatchReader) -> Iterator[pa.RecordBatch]:
    """The batches, small ones together."""
    few: list[pa.RecordBatch] = []
    size = 0
    for batch in reader:
        few.append(batch)
        size += batch.nbytes
        if size >= _BATCH_BYTES:
            yield from few if len(few) == 1 else pa.Table.from_batches(few).combine_chunks().to_batches()
            few, size = [], 0
    if few:
        yield from pa.Table.from_batches(few).combine_chunks().to_batches()


def write_table(
    source: object,
    path: Path,
    *,
    group: str = "/",
    layout: str = "columns",
    mode: str = "w",
    compression: str | int | None = None,
    compression_opts: object = None,
    shuffle: bool = False,
    fletcher32: bool = False,
    threads: int | None = None,
    nulls: str = "error",
    overflow: str = "error",
    durable: bool = True,
    storage_options: Mapping[str, object] | None = None,
) -> int:
    """Writes Arrow data as HDF5.

    Dates, times and durations become counts with CF's `units`, and decimals become 8-byte floats. The attribute `arrow_type`
    records their Arrow type, `time_zone` the zone of times, whose counts are in UTC.

    Args:
        source: A table, a record batch, a list of batches, a structured array, or any object with an Arrow stream (Polars, DuckDB,
            `hs.open(…).table(…)`). Batches are written as they arrive.
        path: Path of the file, or its address in an object store.
        group: The group of the columns; with `layout="records"` the name of the dataset.
        layout: `columns` makes a dataset of each column, `records` one compound dataset.
        mode: `w` replaces an existing file, `x` (or `w-`) refuses to. `a` appends rows to the table in it, which must have the same
            columns, and keeps its filters and chunks. It copies the file (chunks as stored) and replaces the old one when the
            copy is complete, so that a killed process changes nothing.
        compression, compression_opts, shuffle, fletcher32: As in `create_dataset`.
        threads: Number of threads that compress; one per core by default.
        nulls: `error`, or `nan` to store nulls in columns of floats as NaN.
        overflow: `error`, or `round` to round decimals that a float cannot represent.
        durable: Wait until the file is on the disk.
        storage_options: Options of the store of an address, as in `hyperslab.open`.

    Returns:
        The number of rows written.

    Raises:
        UnsupportedError: HDF5 has no type for a column.
        InvalidInputError: A column contains nulls or decimals that HDF5 cannot store, or columns differ from the file's.
        ConflictError: `mode` is `x` and the file exists.

    Example:
        >>> hs.write_table(pa.table({"x": [1, 2, 3]}), "out.h5", compression="zstd")
        3
    """
    for option, value, known in (("nulls", nulls, ("error", "nan")), ("overflow", overflow, ("error", "round"))):
        check_choice(option, value, known)
    reader = _reader(source)
    columns = [_Column(field.name, field.type, nulls, overflow) for field in reader.schema]
    names = [column.name for column in columns]
    if len(set(names)) != len(names) or not names:
        raise InvalidInputError(f"columns called {names}: each needs a name of its own")
    if any("/" in name or not name for name in names) and layout == "columns":
        raise InvalidInputError(f"columns called {names}: a dataset has no / in its name")
    options: Storage = {"compression": compression, "compression_opts": compression_opts, "shuffle": shuffle, "fletcher32": fletcher32}
    count = 0
    check_choice("layout", layout, ("columns", "records"))
    check_mode("x" if mode == "w-" else mode, ("w", "x", "a"))
    place = os.fsdecode(path)
    if mode == "a" and is_address(place):
        raise UnsupportedError("mode 'a' of an address: objects of a store are written whole", shown_address(place))
    appends = mode == "a" and os.path.exists(place)
    if appends and any((compression, shuffle, fletcher32)):
        raise InvalidInputError("filters of a table that is appended to: leave compression, shuffle and fletcher32 out, they are the file's")
    records = group if group.strip("/") else "table"
    creating = (
        begin(place, True, threads=threads, durable=durable, continued=True)
        if appends
        else begin(place, mode == "w", threads=threads, track_order=True, durable=durable, storage_options=storage_options)
    )
    with File(creating) as file:
        if appends and layout == "columns":
            write = _appended_columns(file, creating.writer, group, columns)
        elif appends:
            write = _appended_records(file, records, columns)
        elif layout == "columns":
            write = _columns(file.require_group(group), creating.writer, columns, options)
        else:
            write = _records(file, records, columns, options)
        for batch in _joined(reader):
            write(batch)
            count += batch.num_rows
    return count
