"""Reading: selections into numpy arrays, with heap values resolved."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from .. import _native
from ..base import nonstandard_numbers
from ..base.description import Description
from ..base.errors import InternalError, LimitExceededError
from ..base.type_aliases import AnyArray, AnyDtype
from ..dtypes import is_extended_complex, is_plain, is_reference, stored_dtype, value_dtype
from ..values import indexing_keys, references, tagged_dtypes


def values(reader: _native.DatasetReader, key: tuple[object, ...], file: _native.File, name: str, about: Description) -> AnyArray:
    """The values for a key without names of members, of the dataset called `name`."""
    try:
        found = reader.get_bytes(key)
        if found is None:
            indexing_keys.select(key or (Ellipsis,), tuple(about["shape"] or ()))  # words the error
            raise InternalError(f"the key {key!r} is not understood", file.path, name)
        raw, shape, heap = found
        return convert(raw, about["datatype"], shape, heap, file)
    except MemoryError as error:
        if isinstance(error, LimitExceededError):
            raise
        raise LimitExceededError("the values of this selection exceed the memory of this machine: read it in parts", file.path, name) from None


def read(file: _native.File, number: int, datatype: _native.Datatype, axes: Sequence[Sequence[int]], shape: tuple[int, ...]) -> AnyArray:
    """The selected values as a new array of `shape`."""
    count = int(np.prod(shape, dtype=object))
    # numpy multiplies extents even where one of them is 0.
    max_bytes = datatype.size * int(np.prod([max(extent, 1) for extent in shape], dtype=object))
    if max_bytes > sys.maxsize:
        raise MemoryError
    raw = np.empty(count * datatype.size, dtype=np.uint8)
    heap = file.read_into(number, axes, raw.ctypes.data, raw.nbytes)
    return convert(raw, datatype, shape, heap, file)


def reader(file: _native.File, number: int, about: Description, dtype: AnyDtype) -> _native.DatasetReader | None:
    """The native reader of a dataset with elements of `dtype`; `None` if it has none. It makes arrays itself of elements that need
    no more than a copy."""
    if about["shape"] is None:
        return None
    datatype = about["datatype"]
    inner: list[int] = []
    if datatype.class_name == "variable string":
        return _native.DatasetReader(file, number, dtype, [])
    while datatype.class_name == "array":
        inner += datatype.shape
        datatype = datatype.base
    if not datatype.size or not is_plain(datatype) or datatype.has_padded_strings:
        return _native.DatasetReader(file, number, None, [])
    return _native.DatasetReader(file, number, tagged_dtypes.element(dtype), inner)


def _cut_padding(raw: AnyArray, datatype: _native.Datatype, offset: int = 0, stride: int | None = None) -> None:
    """Clears the padding of fixed strings in place: numpy's strings end in NULs."""
    kind, size = datatype.class_name, datatype.size
    stride = size if stride is None else stride
    if kind == "compound":
        for _, at, member in datatype.fields:
            _cut_padding(raw, member, offset + at, stride)
    elif kind == "array":
        step = datatype.base.size
        for at in range(0, size, step) if datatype.base.has_padded_strings else ():
            _cut_padding(raw, datatype.base, offset + at, stride)
    elif kind == "string" and datatype.padding != "null_padded" and raw.size:
        text = raw.reshape(-1, stride)[:, offset : offset + size]
        if datatype.padding == "null_terminated":
            text[np.logical_or.accumulate(text == 0, axis=1)] = 0
        else:
            trailing = np.logical_and.accumulate(text[:, ::-1] == ord(" "), axis=1)[:, ::-1]
            text[trailing] = 0


def convert(raw: AnyArray, datatype: _native.Datatype, shape: tuple[int, ...], heap: _native.Heap, file: _native.File) -> AnyArray:
    """Bytes as laid out in the file as an array of values."""
    if datatype.class_name == "array":
        shape, datatype = shape + datatype.shape, datatype.base
        return convert(raw, datatype, shape, heap, file)
    if datatype.class_name == "string" and datatype.size == 0:
        return np.zeros(shape, dtype="S1")  # numpy's shortest
    if is_plain(datatype):
        _cut_padding(raw, datatype)
        return raw.view(stored_dtype(datatype)).reshape(shape)
    size = datatype.size
    if datatype.class_name == "enum":
        numbers = convert(raw, datatype.base, shape, heap, file)
        return numbers != 0 if datatype.is_boolean else numbers
    if datatype.is_nonstandard:
        return nonstandard_numbers.convert(raw, datatype).reshape(shape)
    if datatype.class_name == "compound":
        records = raw.reshape(-1, size)
        if is_extended_complex(datatype):
            real, imaginary = (
                convert(np.ascontiguousarray(part).reshape(-1), datatype.fields[0][2], (len(records),), heap, file) for part in np.split(records, 2, axis=1)
            )
            pairs = np.empty(len(records), np.clongdouble)
            pairs.real, pairs.imag = real, imaginary
            return pairs.reshape(shape)
        # Padding between the fields must not leak what the process had in memory.
        out = np.zeros(len(records), dtype=value_dtype(datatype))
        for name, offset, member in datatype.fields:
            part = np.ascontiguousarray(records[:, offset : offset + member.size]).reshape(-1)
            out[name] = convert(part, member, (len(records),), heap, file)
        return out.reshape(shape)
    if is_reference(datatype):
        out = np.empty(raw.size // size, dtype=object)
        out[:] = references.of_elements(file, datatype, raw.tobytes())
        return out.reshape(shape)
    out = np.empty(raw.size // size, dtype=object)
    if datatype.class_name == "variable string":
        # In memory they end at the first NUL, even if the file has a longer length.
        out[:] = [value.partition(b"\0")[0] for value in heap.values(raw.tobytes(), size, 1)]
    else:
        base = datatype.base
        # As in h5py, which tags text of fixed length and compounds in sequences only.
        tagged = tagged_dtypes.of_datatype(base) if base.class_name in ("string", "compound") else value_dtype(base)
        for i, value in enumerate(heap.values(raw.tobytes(), size, base.size)):
            items = np.frombuffer(value, dtype=np.uint8).copy()
            out[i] = tagged_dtypes.tag(convert(items, base, (items.size // base.size,), heap, file), tagged)
    return out.reshape(shape)
