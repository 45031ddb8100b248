"""Datatypes: the numpy dtype that h5py gives for the same datatype.

A stored datatype is an object of the core, `hyperslab._native.Datatype`; the datatypes of the fields of compounds and the bases of
arrays and of enumerations are such objects, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from . import _native
from .base import nonstandard_numbers
from .base.errors import UnsupportedError
from .base.type_aliases import AnyDtype

#: Members of a compound datatype that a description names.
MAX_DESCRIBED = 40

#: Members from which on the results for a datatype are kept, and how many datatypes have kept results.
_LARGE_MEMBERS, _MAX_KEPT = 64, 16

T = TypeVar("T")


def kept_for_large(function: Callable[[_native.Datatype], T]) -> Callable[[_native.Datatype], T]:
    """A function of a stored datatype whose results for the last large datatypes are kept: many objects may share one of these.

    Args:
        function: Its result is not changed by those who get it.

    Returns:
        A function with the same results.
    """
    kept: dict[_native.Datatype, T] = {}

    @wraps(function)
    def of(datatype: _native.Datatype) -> T:
        if datatype.member_count < _LARGE_MEMBERS:
            return function(datatype)
        try:
            return kept[datatype]
        except KeyError:
            pass
        result = function(datatype)
        while len(kept) >= _MAX_KEPT:
            kept.pop(next(iter(kept)), None)
        kept[datatype] = result
        return result

    return of


#: Maximum bytes of an element: numpy counts them in a C int.
MAX_BYTES = (1 << 31) - 1


@kept_for_large
def stored_dtype(datatype: _native.Datatype) -> AnyDtype:
    """The dtype of the bytes as stored in the file, with references into a heap as opaque bytes.

    Args:
        datatype: A stored datatype.

    Returns:
        A dtype with the size of the datatype.

    Raises:
        UnsupportedError: numpy has no such dtype.

    Example:
        >>> stored_dtype(_native.Datatype.float(8, order=">"))
        dtype('>f8')
    """
    kind, size = datatype.class_name, datatype.size
    if size > MAX_BYTES or (kind == "array" and max(datatype.shape, default=0) > MAX_BYTES) or (kind == "opaque" and size == 0):
        raise UnsupportedError(f"elements of {size} bytes, which numpy cannot hold")
    if kind in ("integer", "float", "bitfield"):
        if datatype.is_nonstandard:
            return np.dtype(f"V{size}")
        letter = "f" if kind == "float" else "i" if kind == "integer" and datatype.signed else "u"
        return np.dtype(f"{datatype.order}{letter}{size}")
    if kind == "time":
        return np.dtype(f"{datatype.order}i{size}")
    if kind == "string":
        return np.dtype(f"S{size}")
    if kind == "enum":
        return np.dtype(bool) if datatype.is_boolean and size == 1 else stored_dtype(datatype.base)
    if kind == "array":
        return np.dtype((stored_dtype(datatype.base), datatype.shape))
    if kind == "compound":
        complex_dtype = _complex(datatype)
        if complex_dtype is not None:
            return complex_dtype
        members = datatype.fields
        return np.dtype(
            {"names": [m[0] for m in members], "formats": [stored_dtype(m[2]) for m in members], "offsets": [m[1] for m in members], "itemsize": size}
        )
    if kind in ("variable string", "sequence", "opaque", "reference"):
        return np.dtype(f"V{size}")
    raise UnsupportedError(f"a datatype of class {datatype.name} with {size} bytes")


def _complex(datatype: _native.Datatype) -> AnyDtype | None:
    members = datatype.fields
    if [m[0] for m in members] != ["r", "i"]:
        return None
    real, imaginary = members[0][2], members[1][2]
    if real != imaginary or real.class_name != "float" or not real.is_ordinary or real.size not in (4, 8):
        return None
    if (members[0][1], members[1][1], datatype.size) != (0, real.size, 2 * real.size):
        return None
    return np.dtype(f"{real.order}c{datatype.size}")


def is_plain(datatype: _native.Datatype) -> bool:
    """Whether an element has the same bytes in the file and in numpy.

    Args:
        datatype: A stored datatype.

    Returns:
        `True` if values need no conversion.
    """
    return datatype.is_plain


def is_reference(datatype: _native.Datatype) -> bool:
    """Whether the values are references.

    Args:
        datatype: A stored datatype.

    Returns:
        `True` for references to objects, regions and attributes.
    """
    return datatype.class_name == "reference"


@kept_for_large
def memory_size(datatype: _native.Datatype) -> int:
    """Bytes of an element in the memory of the HDF5 library, from which h5py takes the offsets of members.

    Args:
        datatype: A stored datatype.

    Returns:
        A number of bytes.
    """
    kind, size = datatype.class_name, datatype.size
    if kind == "variable string":
        return np.dtype(object).itemsize
    if kind == "sequence":
        return 2 * np.dtype(object).itemsize
    if kind == "array":
        return int(np.prod(datatype.shape, dtype=object)) * memory_size(datatype.base)
    if kind == "compound":
        return size + sum(memory_size(m[2]) - m[2].size for m in datatype.fields)
    return size


def is_extended_complex(datatype: _native.Datatype) -> bool:
    """Whether a compound is a complex number of two of numpy's `longdouble`.

    Args:
        datatype: A stored datatype.

    Returns:
        `True` if its dtype is `clongdouble`.
    """
    members = datatype.fields
    if [m[0] for m in members] != ["r", "i"] or members[0][2] != members[1][2]:
        return False
    real = members[0][2]
    side_by_side = (members[0][1], members[1][1], datatype.size) == (0, real.size, 2 * real.size)
    return side_by_side and real.is_nonstandard and value_dtype(real) == np.longdouble


def extended_dtype(datatype: _native.Datatype) -> AnyDtype | None:
    """The dtype of numbers that are stored as this machine's `longdouble`, or of complex numbers of two of them.

    Args:
        datatype: A stored datatype.

    Returns:
        `longdouble` or `clongdouble`; `None` for other datatypes.
    """
    if datatype.class_name == "compound":
        return np.dtype(np.clongdouble) if is_extended_complex(datatype) else None
    is_one = datatype.class_name == "float" and not datatype.is_ordinary and datatype == nonstandard_numbers.extended()
    return np.dtype(np.longdouble) if is_one else None


@kept_for_large
def value_dtype(datatype: _native.Datatype) -> AnyDtype:
    """The dtype of the values: as stored, with `object` for variable-length values and references.

    Args:
        datatype: A stored datatype.

    Returns:
        The dtype that h5py gives.

    Raises:
        UnsupportedError: numpy has no such dtype.
    """
    number = number_dtype(datatype)
    if number is not None:
        return number
    kind = datatype.class_name
    if is_plain(datatype):
        return stored_dtype(datatype)
    if kind == "compound":
        if is_extended_complex(datatype):
            return np.dtype(np.clongdouble)
        members = datatype.fields
        formats = [value_dtype(m[2]) for m in members]
        offsets, grown = [0] * len(members), 0
        for place in sorted(range(len(members)), key=lambda i: members[i][1]):
            _, offset, member = members[place]
            offsets[place] = offset + grown
            grown += max(memory_size(member), formats[place].itemsize) - member.size
        return np.dtype({"names": [m[0] for m in members], "formats": formats, "offsets": offsets, "itemsize": datatype.size + grown})
    if kind == "array":
        return np.dtype((value_dtype(datatype.base), datatype.shape))
    if kind == "enum":
        return np.dtype(bool) if datatype.is_boolean else value_dtype(datatype.base)
    if datatype.is_nonstandard:
        return nonstandard_numbers.value_dtype(datatype)
    return np.dtype(object)


def number_dtype(datatype: _native.Datatype) -> AnyDtype | None:
    """The dtype of an integer or a float with a layout of numpy.

    Args:
        datatype: A stored datatype.

    Returns:
        A dtype, or `None` for all other datatypes.
    """
    return datatype.number_dtype


@kept_for_large
def count_parts(datatype: _native.Datatype) -> int:
    """The members of a datatype, of all levels.

    Args:
        datatype: A stored datatype.

    Returns:
        1 for a datatype without members.
    """
    count, pending = 0, [datatype]
    while pending:
        one = pending.pop()
        count += 1
        if one.class_name == "compound":
            pending += [member for _, _, member in one.fields]
        elif one.class_name in ("enum", "sequence", "array"):
            pending.append(one.base)
    return count


@kept_for_large
def describe(datatype: _native.Datatype) -> str:
    """Describes a datatype in a word or two, for people.

    Args:
        datatype: A stored datatype.

    Returns:
        A text such as `float64`, `string` or `{x: float64, y: int32}`.
    """
    kind = datatype.class_name
    if kind == "variable string":
        return "string"
    if kind == "reference":
        return "region reference" if datatype.reference_kind == "region" else "reference"
    if kind == "sequence":
        return f"sequence of {describe(datatype.base)}"
    if kind == "compound":
        members = datatype.fields
        shown = [f"{m[0]}: {describe(m[2])}" for m in members[:MAX_DESCRIBED]]
        return "{" + ", ".join(shown + ["…"] * (len(members) > MAX_DESCRIBED)) + "}"
    if kind == "enum" and not datatype.is_boolean:
        return f"enum of {describe(datatype.base)}"
    try:
        found = value_dtype(datatype)
        base, shape = found.subdtype or (found, ())
        return f"{base}[{', '.join(map(str, shape))}]" if shape else str(found)
    except UnsupportedError:
        return f"{datatype.name if kind == 'unsupported' else kind} of {datatype.size} bytes"
