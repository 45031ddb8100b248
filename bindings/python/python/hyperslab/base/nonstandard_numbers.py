"""Nonstandard numbers: integers and floats with a bit layout that numpy lacks, converted to the next wider numpy type."""

from __future__ import annotations

import numpy as np

from .. import _native
from .errors import UnsupportedError
from .type_aliases import AnyArray, AnyDtype


def value_dtype(datatype: _native.Datatype) -> AnyDtype:
    """The narrowest dtype that holds every value."""
    size, order = datatype.size, datatype.order
    if datatype.class_name == "float":
        return _float_dtype(datatype)
    wider = next((width for width in (1, 2, 4, 8) if width >= size), None)
    if wider is None:
        raise UnsupportedError(f"an integer of {size} bytes, which numpy does not have")
    return np.dtype(f"{order}{'i' if _is_signed(datatype) else 'u'}{wider}")


def extended() -> _native.Datatype | None:
    """x87's 80-bit float, if it is numpy's longdouble on this machine."""
    size = np.dtype(np.longdouble).itemsize
    made = _native.Datatype.float(size, "<", _native.FloatLayout(0, 80, 79, 64, 15, 0, 64, 16383, "as_stored"))
    return made if _is_extended(made) else None


def extended_bytes(values: AnyArray, dtype: AnyDtype) -> AnyArray:
    """Values of `longdouble`, or of complex numbers of two of them, as they are stored: with zeros in the bytes that mean nothing."""
    given = np.ascontiguousarray(values, dtype)
    raw = given.reshape(-1).view(np.uint8).reshape(-1, np.dtype(np.longdouble).itemsize).copy()
    raw[:, 10:] = 0
    return np.asarray(raw.reshape(-1).view(f"V{dtype.itemsize}").reshape(np.shape(values)))


def _is_signed(datatype: _native.Datatype) -> bool:
    return datatype.class_name == "integer" and datatype.signed


def _float_dtype(datatype: _native.Datatype) -> AnyDtype:
    layout = datatype.layout
    if _is_extended(datatype):
        return np.dtype(np.longdouble)
    fraction_bits = layout.mantissa_size - (layout.mantissa == "always_set")
    largest = 2**layout.exponent_size - layout.exponent_bias - 1
    for width in (2, 4, 8):
        kind = np.finfo(f"f{width}")
        if fraction_bits <= kind.nmant and largest <= kind.maxexp and 1 - layout.exponent_bias >= kind.minexp:
            return np.dtype(f"{datatype.order}f{width}")
    raise UnsupportedError(f"a float of {datatype.size} bytes that no numpy float holds exactly")


def _is_extended(datatype: _native.Datatype) -> bool:
    """Whether it is x87's 80-bit float, which is numpy's longdouble on that machine only."""
    layout = datatype.layout
    native = np.finfo(np.longdouble)
    return (
        native.nmant == 63
        and datatype.order == "<"
        and datatype.size >= 10
        and (
            layout.sign_location,
            layout.exponent_location,
            layout.exponent_size,
            layout.mantissa_location,
            layout.mantissa_size,
            layout.exponent_bias,
            layout.bit_offset,
        )
        == (79, 64, 15, 0, 64, 16383, 0)
    )


def convert(raw: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """The values of elements whose bytes are `raw`."""
    dtype, size = value_dtype(datatype), datatype.size
    elements = raw.reshape(-1, size)
    if datatype.class_name == "float" and _is_extended(datatype):
        out = np.zeros((len(elements), dtype.itemsize), np.uint8)
        out[:, :10] = elements[:, :10]
        return out.reshape(-1).view(dtype)
    if size > 8:
        raise UnsupportedError(f"a number of {size} bytes with a layout of its own")
    words = np.zeros((len(elements), 8), np.uint8)
    words[:, :size] = elements if datatype.order == "<" else elements[:, ::-1]
    bits = words.reshape(-1).view("<u8")
    return (_float if datatype.class_name == "float" else _integer)(bits, datatype).astype(dtype)


def _field(bits: AnyArray, start: int, count: int) -> AnyArray:
    return np.asarray((bits >> np.uint64(start)) & np.uint64((1 << count) - 1))


def _integer(bits: AnyArray, datatype: _native.Datatype) -> AnyArray:
    if datatype.class_name == "bitfield":
        return bits
    precision = datatype.bit_precision
    value = _field(bits, datatype.bit_offset, precision)
    if not datatype.signed:
        return value
    unused = np.uint64(64 - precision)  # shifted up and down again, the sign fills what is above
    return np.asarray((value << unused).view(np.int64) >> np.int64(64 - precision))


def _float(bits: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """Values by HDF5's specification (IV.A.2.d, class 1). An exponent of ones means infinity or NaN as in the HDF5 library; unlike the
    library, a mantissa without any bit is 0 also where no leading bit is implied."""
    layout = datatype.layout
    exponent = _field(bits, layout.exponent_location, layout.exponent_size).astype(np.int64)
    stored = _field(bits, layout.mantissa_location, layout.mantissa_size)
    size, is_implied = layout.mantissa_size, layout.mantissa == "implied"
    fraction, power = stored.astype(np.float64), exponent - layout.exponent_bias - size
    if is_implied:
        fraction = fraction + np.where(exponent > 0, 2.0**size, 0.0)
    else:
        power = power + 1  # The leading bit, which is 1, is stored.
    if layout.mantissa != "as_stored":
        # Without a leading bit, subnormal numbers have the exponent of the smallest normal ones. Unnormalized mantissas need no such rule.
        power = power + (exponent == 0)
    with np.errstate(over="ignore"):  # the highest exponent means infinity or NaN, below
        value = np.ldexp(fraction, power.astype(np.int32))
    top = exponent == (1 << layout.exponent_size) - 1
    is_infinity = (stored == 0) | ((stored == 1 << (size - 1)) & (not is_implied))
    value = np.where(top, np.where(is_infinity, np.inf, np.nan), value)
    negative = _field(bits, layout.sign_location, 1) == 1
    return np.where(negative, -value, value)
