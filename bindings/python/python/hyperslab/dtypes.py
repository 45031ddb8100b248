"""Datatypes: the numpy dtype that h5py gives for the same datatype.

A described datatype is a dictionary of the core: `{"class": "float", "size": 8, "order": "<", …}`; members of compounds, bases of
arrays and of enumerations are described datatypes, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .base import nonstandard_numbers
from .base.errors import UnsupportedError
from .base.type_aliases import AnyDtype

#: Members of a compound datatype that a description names.
MAX_DESCRIBED = 40

#: Members from which on the results for a datatype are kept, and how many datatypes have kept results.
_LARGE_MEMBERS, _MAX_KEPT = 64, 16

T = TypeVar("T")


def kept_for_large(function: Callable[[dict[str, Any]], T]) -> Callable[[dict[str, Any]], T]:
    """A function of a described datatype whose results for the last large datatypes are kept: the core describes a datatype that many
    objects share by one dictionary.

    Args:
        function: Its result is not changed by those who get it.

    Returns:
        A function with the same results.
    """
    kept: dict[int, tuple[dict[str, Any], T]] = {}

    @wraps(function)
    def of(datatype: dict[str, Any]) -> T:
        if len(datatype.get("members", ())) < _LARGE_MEMBERS:
            return function(datatype)
        found = kept.get(id(datatype))
        if found is not None and found[0] is datatype:
            return found[1]
        result = function(datatype)
        while len(kept) >= _MAX_KEPT:
            kept.pop(next(iter(kept)), None)
        kept[id(datatype)] = datatype, result
        return result

    return of


#: Maximum bytes of an element: numpy counts them in a C int.
MAX_BYTES = (1 << 31) - 1


@kept_for_large
def stored_dtype(datatype: dict[str, Any]) -> AnyDtype:
    """The dtype of the bytes as stored in the file, with references into a heap as opaque bytes.

    Args:
        datatype: A described datatype.

    Returns:
        A dtype with the size of the datatype.

    Raises:
        UnsupportedError: numpy has no such dtype.

    Example:
        >>> stored_dtype({"class": "float", "size": 8, "order": ">", "ordinary": True})
        dtype('>f8')
    """
    kind, size = datatype["class"], datatype["size"]
    if max([size, *datatype.get("shape", ())]) > MAX_BYTES or (kind == "opaque" and size == 0):
        raise UnsupportedError(f"elements of {size} bytes, which numpy cannot hold")
    if kind in ("integer", "float", "bitfield"):
        if nonstandard_numbers.is_nonstandard(datatype):
            return np.dtype(f"V{size}")
        letter = {"float": "f", "bitfield": "u"}.get(kind, "i" if datatype.get("signed") else "u")
        return np.dtype(f"{datatype['order']}{letter}{size}")
    if kind == "time":
        return np.dtype(f"{datatype['order']}i{size}")
    if kind == "string":
        return np.dtype(f"S{size}")
    if kind == "enum":
        return np.dtype(bool) if datatype["boolean"] else stored_dtype(datatype["base"])
    if kind == "array":
        return np.dtype((stored_dtype(datatype["base"]), tuple(datatype["shape"])))
    if kind == "compound":
        complex_dtype = _complex(datatype)
        if complex_dtype is not None:
            return complex_dtype
        members = datatype["members"]
        return np.dtype(
            {"names": [m[0] for m in members], "formats": [stored_dtype(m[2]) for m in members], "offsets": [m[1] for m in members], "itemsize": size}
        )
    if kind in ("variable string", "sequence", "opaque", "reference"):
        return np.dtype(f"V{size}")
    raise UnsupportedError(f"a datatype of class {datatype.get('name', kind)} with {size} bytes")


def _complex(datatype: dict[str, Any]) -> AnyDtype | None:
    members = datatype["members"]
    if [m[0] for m in members] != ["r", "i"]:
        return None
    real, imaginary = members[0][2], members[1][2]
    if real != imaginary or real["class"] != "float" or not real["ordinary"] or real["size"] not in (4, 8):
        return None
    if (members[0][1], members[1][1], datatype["size"]) != (0, real["size"], 2 * real["size"]):
        return None
    return np.dtype(f"{real['order']}c{datatype['size']}")


@kept_for_large
def is_plain(datatype: dict[str, Any]) -> bool:
    """Whether an element has the same bytes in the file and in numpy.

    Args:
        datatype: A described datatype.

    Returns:
        `True` if values need no conversion.
    """
    kind = datatype["class"]
    if kind == "compound":
        return all(is_plain(member) for _, _, member in datatype["members"])
    if kind in ("array", "enum"):
        return is_plain(datatype["base"])
    return kind not in ("variable string", "sequence") and not is_reference(datatype) and not nonstandard_numbers.is_nonstandard(datatype)


def is_reference(datatype: dict[str, Any]) -> bool:
    """Whether the values are references.

    Args:
        datatype: A described datatype.

    Returns:
        `True` for references to objects, regions and attributes.
    """
    return bool(datatype["class"] == "reference")


@kept_for_large
def memory_size(datatype: dict[str, Any]) -> int:
    """Bytes of an element in the memory of the HDF5 library, from which h5py takes the offsets of members.

    Args:
        datatype: A described datatype.

    Returns:
        A number of bytes.
    """
    kind, size = datatype["class"], int(datatype["size"])
    if kind == "variable string":
        return np.dtype(object).itemsize
    if kind == "sequence":
        return 2 * np.dtype(object).itemsize
    if kind == "array":
        return int(np.prod(datatype["shape"], dtype=object)) * memory_size(datatype["base"])
    if kind == "compound":
        return size + sum(memory_size(m[2]) - int(m[2]["size"]) for m in datatype["members"])
    return size


def is_extended_complex(datatype: dict[str, Any]) -> bool:
    """Whether a compound is a complex number of two of numpy's `longdouble`.

    Args:
        datatype: A described datatype.

    Returns:
        `True` if its dtype is `clongdouble`.
    """
    members = datatype["members"]
    if [m[0] for m in members] != ["r", "i"] or members[0][2] != members[1][2]:
        return False
    real = members[0][2]
    side_by_side = (members[0][1], members[1][1], datatype["size"]) == (0, real["size"], 2 * real["size"])
    return side_by_side and nonstandard_numbers.is_nonstandard(real) and value_dtype(real) == np.longdouble


@kept_for_large
def value_dtype(datatype: dict[str, Any]) -> AnyDtype:
    """The dtype of the values: as stored, with `object` for variable-length values and references.

    Args:
        datatype: A described datatype.

    Returns:
        The dtype that h5py gives.

    Raises:
        UnsupportedError: numpy has no such dtype.
    """
    number = number_dtype(datatype)
    if number is not None:
        return number
    kind = datatype["class"]
    if is_plain(datatype):
        return stored_dtype(datatype)
    if kind == "compound":
        if is_extended_complex(datatype):
            return np.dtype(np.clongdouble)
        members = datatype["members"]
        formats = [value_dtype(m[2]) for m in members]
        offsets, grown = [0] * len(members), 0
        for place in sorted(range(len(members)), key=lambda i: int(members[i][1])):
            _, offset, member = members[place]
            offsets[place] = offset + grown
            grown += max(memory_size(member), formats[place].itemsize) - member["size"]
        return np.dtype({"names": [m[0] for m in members], "formats": formats, "offsets": offsets, "itemsize": datatype["size"] + grown})
    if kind == "array":
        return np.dtype((value_dtype(datatype["base"]), tuple(datatype["shape"])))
    if kind == "enum":
        return value_dtype(datatype["base"])
    if nonstandard_numbers.is_nonstandard(datatype):
        return nonstandard_numbers.value_dtype(datatype)
    return np.dtype(object)


def number_dtype(datatype: dict[str, Any]) -> AnyDtype | None:
    """The dtype of an integer or a float with a layout of numpy.

    Args:
        datatype: A described datatype.

    Returns:
        A dtype, or `None` for all other datatypes.
    """
    if not datatype.get("ordinary"):
        return None
    return _NUMBERS.get((datatype["class"], datatype["size"], datatype["order"], datatype.get("signed", False)))


#: The dtypes of numbers by class, size, byte order and signedness.
_NUMBERS = {("float", size, order, False): np.dtype(f"{order}f{size}") for size in (2, 4, 8) for order in "<>"} | {
    ("integer", size, order, signed): np.dtype(f"{order}{'i' if signed else 'u'}{size}") for size in (1, 2, 4, 8) for order in "<>" for signed in (False, True)
}


@kept_for_large
def count_parts(datatype: dict[str, Any]) -> int:
    """The members of a datatype, of all levels.

    Args:
        datatype: A described datatype.

    Returns:
        1 for a datatype without members.
    """
    count, pending = 0, [datatype]
    while pending:
        one = pending.pop()
        count += 1
        if one["class"] == "compound":
            pending += [member for _, _, member in one["members"]]
        elif "base" in one:
            pending.append(one["base"])
    return count


def describe(datatype: dict[str, Any]) -> str:
    """Describes a datatype in a word or two, for people.

    Args:
        datatype: A described datatype.

    Returns:
        A text such as `float64`, `string` or `{x: float64, y: int32}`.
    """
    kind = datatype["class"]
    if kind == "variable string":
        return "string"
    if kind == "reference":
        return "region reference" if datatype["kind"] == "region" else "reference"
    if kind == "sequence":
        return f"sequence of {describe(datatype['base'])}"
    if kind == "compound":
        members = datatype["members"]
        shown = [f"{m[0]}: {describe(m[2])}" for m in members[:MAX_DESCRIBED]]
        return "{" + ", ".join(shown + ["…"] * (len(members) > MAX_DESCRIBED)) + "}"
    if kind == "enum" and not datatype["boolean"]:
        return f"enum of {describe(datatype['base'])}"
    try:
        found = value_dtype(datatype)
        base, shape = found.subdtype or (found, ())
        return f"{base}[{', '.join(map(str, shape))}]" if shape else str(found)
    except UnsupportedError:
        return f"{datatype.get('name', kind)} of {datatype['size']} bytes"
