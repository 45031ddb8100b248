"""Mapped: values where they lie in the file, as numpy and Arrow, without a copy."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .. import _native, dtypes
from ..backends.backend import Backend
from ..base.description import Description
from ..base.errors import UnsupportedError
from ..base.extras import LateModule
from ..base.type_aliases import AnyArray, AnyDtype

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")


class _Dataset(Protocol):
    """What this module needs of a dataset."""

    _backend: Backend
    _file: _native.File
    _number: int
    _about: Description

    @property
    def path(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int | None: ...

    @property
    def dtype(self) -> AnyDtype: ...


def map_values(dataset: _Dataset) -> AnyArray:
    """All values of a dataset as a read-only array over the file's own pages."""
    datatype = dataset._about["datatype"]
    if dataset._about["shape"] is None:
        raise _refusal(dataset, "the dataspace is null, so there are none")
    if not datatype.is_plain or datatype.has_padded_strings:
        raise _refusal(dataset, f"{dtypes.describe(datatype)} is converted when it is read")
    if not dataset.size:
        nothing: AnyArray = np.empty(dataset.shape, dataset.dtype)
        nothing.flags.writeable = False
        return nothing
    descriptor, offset, length = _native.value_bytes(dataset._backend.native, dataset._number)
    try:
        start = offset - offset % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(descriptor, offset - start + length, access=mmap.ACCESS_READ, offset=start)
    finally:
        os.close(descriptor)
    values: AnyArray = np.ndarray(dataset.shape, dataset.dtype, pages, offset - start)
    return values


def zero_copy(dataset: _Dataset) -> pa.Array:
    """All values as an Arrow array over the file's own pages."""
    values = map_values(dataset)
    if values.dtype.kind not in "iuf" or not values.dtype.isnative:
        raise _refusal(dataset, f"Arrow stores {dtypes.describe(dataset._about['datatype'])} in another way")
    if values.size and values.ctypes.data % values.dtype.itemsize:
        raise _refusal(dataset, f"Arrow wants them to begin at a multiple of {values.dtype.itemsize} bytes")
    return numbers(values)


def numbers(values: AnyArray) -> pa.Array:
    """Numbers in this machine's byte order as an Arrow array over the same memory; with further dimensions, of tensors."""
    kind = pa.from_numpy_dtype(values.dtype)
    rows = values.reshape(1) if values.ndim == 0 else values
    flat = pa.Array.from_buffers(kind, rows.size, [None, pa.py_buffer(rows.reshape(-1))])
    if rows.ndim == 1:
        return flat
    width = int(np.prod(rows.shape[1:], dtype=object))
    lists = pa.FixedSizeListArray.from_arrays(flat, type=pa.list_(kind, width)) if rows.size else pa.nulls(0, pa.list_(kind, width))
    if len(lists) != len(rows):
        raise UnsupportedError(f"rows of no elements: an array of shape {values.shape} has no Arrow array")
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(kind, rows.shape[1:]), lists)


def _refusal(dataset: _Dataset, why: str) -> UnsupportedError:
    return UnsupportedError(f"the values cannot be mapped: {why}", dataset._file.path, dataset.path)
