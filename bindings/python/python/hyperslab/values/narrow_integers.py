"""Narrow integers: datatypes of integers with fewer significant bits than their bytes have, and their values as they are stored."""

from __future__ import annotations

import operator

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike


def integer_dtype(dtype: DtypeLike, precision: int, offset: int = 0) -> AnyDtype:
    """Makes a dtype for `create_dataset` whose integers have fewer significant bits than their bytes, as
    `H5Tset_precision` and `H5Tset_offset` do. `compression="nbit"` stores only those bits.

    In memory, and when it is read, the type is the integer `dtype`. Writing a value that needs more bits raises an error.

    Args:
        dtype: The integer dtype in memory.
        precision: Number of significant bits.
        offset: Position of the lowest significant bit.

    Returns:
        A dtype whose metadata has the bits; numpy computes with it as with any integer.

    Raises:
        InvalidInputError: `dtype` lacks these bits, or a smaller integer would suffice: HDF5 cannot read integers with more
            than half of their bits unused.

    Example:
        >>> f.create_dataset("x", data=counts, dtype=hs.integer_dtype("u2", precision=12), compression="nbit")
    """
    base = np.dtype(dtype)
    if base.kind not in "iu":
        raise InvalidTypeError(f"integer_dtype of {base}: give an integer dtype")
    try:
        precision, offset = operator.index(precision), operator.index(offset)
    except TypeError:
        raise InvalidTypeError(f"precision={precision!r}, offset={offset!r}: give whole numbers of bits") from None
    bits, end = 8 * base.itemsize, precision + offset
    if precision < 1 or offset < 0 or end > bits:
        raise InvalidInputError(f"{precision} bits from bit {offset} on in an integer of {bits} bits")
    if bits > 8 and end <= bits // 2:
        smaller = f"{base.kind}{next(size for size in (1, 2, 4) if end <= 8 * size)}"
        raise InvalidInputError(f"{precision} bits from bit {offset} on in an integer of {bits} bits, which HDF5 does not read: give dtype {smaller!r}")
    narrow: AnyDtype = np.dtype(base, metadata={"precision": precision, "offset": offset})
    return narrow


def bits_of(dtype: AnyDtype) -> dict[str, int]:
    """What the metadata of an integer dtype adds to its description."""
    metadata = dict(dtype.metadata or {})
    if "precision" not in metadata:
        return {}
    # Metadata that was not made by `integer_dtype` is checked here.
    checked = dict(integer_dtype(np.dtype(dtype.str), metadata["precision"], metadata.get("offset", 0)).metadata or {})
    return {"bit_precision": checked["precision"], "bit_offset": checked["offset"]}


def with_bits(dtype: AnyDtype, datatype: _native.Datatype) -> AnyDtype:
    """`dtype` with the significant bits of the integers that `datatype` describes."""
    return integer_dtype(dtype, datatype.bit_precision, datatype.bit_offset) if is_narrow(datatype) else dtype


def is_narrow(datatype: _native.Datatype) -> bool:
    """Whether it is an integer that has unused bits."""
    return datatype.class_name == "integer" and not datatype.is_ordinary


def is_as_in_memory(datatype: _native.Datatype) -> bool:
    """Whether every number in an element is stored in numpy's layout: no narrow integers, no nonstandard floats."""
    if datatype.class_name == "compound":
        return all(is_as_in_memory(member) for _, _, member in datatype.fields)
    if datatype.class_name in ("enum", "sequence", "array"):
        return is_as_in_memory(datatype.base)
    return datatype.class_name not in ("integer", "float") or datatype.is_ordinary


def packed(values: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """Integers of full precision as stored in the file: shifted to their bits, with zeros around them."""
    precision, offset = datatype.bit_precision, datatype.bit_offset
    low, high = (-1 << precision - 1, (1 << precision - 1) - 1) if datatype.signed else (0, (1 << precision) - 1)
    for value in (int(values.min()), int(values.max())) if values.size else ():
        if not low <= value <= high:
            raise InvalidInputError(f"value {value} does not fit {precision} bits, which hold {low} to {high}")
    unsigned = np.dtype(f"u{values.dtype.itemsize}").newbyteorder(values.dtype.byteorder)
    bits = (values.view(unsigned) & unsigned.type((1 << precision) - 1)) << unsigned.type(offset)
    return np.asarray(bits, unsigned).view(values.dtype)
