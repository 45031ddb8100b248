"""Attribute encoding: the value of an attribute as HDF5 stores it."""

from __future__ import annotations

import numpy as np

from .. import _native
from ..base.errors import UnsupportedError
from ..base.type_aliases import DtypeLike, Values
from . import dtype_encoding, empty, new_references, tagged_dtypes
from .described import DescribedType
from .empty import Empty


def encoded(
    name: str, value: Values, dtype: DtypeLike | DescribedType | None = None, heap: list[bytes] | None = None
) -> tuple[list[int] | None, _native.Datatype, bytes, list[bytes]]:
    """Shape, datatype and stored bytes of an attribute's value, and its values of variable length.

    Args:
        name: Name of the attribute.
        value: Its value.
        dtype: Its dtype; by default the dtype of `value`.
        heap: Where what elements point at is added; by default a new list.

    Returns:
        The shape (`None` of a null dataspace), the datatype, the bytes of the elements, and what they point at.

    Raises:
        UnsupportedError: HDF5 cannot store such a value.
    """
    value = empty.as_ours(value)
    if isinstance(value, Empty):
        return None, dtype.datatype if isinstance(dtype, DescribedType) else dtype_encoding.of_dtype(dtype or value.dtype), b"", []
    heap = [] if heap is None else heap
    described = dtype.datatype if isinstance(dtype, DescribedType) else None
    plain = tagged_dtypes.of_datatype(dtype.datatype) if isinstance(dtype, DescribedType) else dtype
    kind = new_references.kind_of(value, plain)
    if value is None or isinstance(value, (dict, set)):
        hint = "give hyperslab.Empty(dtype) for a value without elements" if value is None else "give its items one by one"
        raise UnsupportedError(f"attribute '{name}': HDF5 cannot store a {type(value).__name__}; {hint}")
    given = value if kind or isinstance(value, (str, bytes)) else dtype_encoding.as_array(value, plain)
    given_dtype = getattr(given, "dtype", np.dtype("u1"))
    if given_dtype.kind in "mM":
        raise UnsupportedError(f"attribute '{name}': times of numpy ({given_dtype}); give text (`np.datetime_as_string`) or counts (`astype('i8')`)")
    datatype = described or (new_references.datatype_of(kind) if kind else dtype_encoding.of_values(plain, given))
    if isinstance(value, bytes) and plain is None:
        given, datatype = dtype_encoding.of_bytes(value)
    data = dtype_encoding.stored(given, datatype, heap)
    found = data.shape if kind else dtype_encoding.shape_of(given, datatype)
    return list(found), datatype, data.tobytes(), heap
