"""MATLAB values: what the datasets of one description mean, many at a time. Containers are in `matlab_objects`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..base.errors import CorruptError
from ..base.extras import require
from ..base.type_aliases import AnyArray

if TYPE_CHECKING:
    import scipy.sparse

#: Classes of numbers, whose values are as stored.
NUMBERS = ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
#: `MATLAB_class` of what an unassigned element of a cell array points at.
CANONICAL_EMPTY = "canonical empty"
#: Structs without fields in one array; a damaged shape may declare any number.
_MAX_STRUCTS = 1 << 20
#: Maximum number of dimensions in numpy, and maximum product of the nonzero dimensions of an empty array, for any type.
_MAX_DIMENSIONS, _MAX_ELEMENTS = 32, 1 << 56


#: A value of MATLAB: numbers and arrays of numpy, text, lists (cell arrays, strings), dictionaries (structs, maps), matrices of SciPy, data frames,
#: a `MatlabObject`, or `None`.
MatlabValue: TypeAlias = Any
#: Values by the names of properties, fields or attributes.
Named = dict[str, MatlabValue]


class MatlabObject:
    """A value of a class without a counterpart in Python: an object, a function handle.

    Attributes:
        class_name: The name of the class: `function_handle`, `timeseries`, a class of a user.
        contents: What the file has for it: its properties as a dictionary, the names of members of an enumeration, or the stored
            numbers.
    """

    def __init__(self, class_name: str, contents: MatlabValue) -> None:
        self.class_name, self.contents = class_name, contents

    def __repr__(self) -> str:
        return f"<MatlabObject of class {self.class_name}>"


def squeezed_shape(shape: tuple[int, ...], squeeze: bool) -> tuple[int, ...]:
    """A shape of MATLAB without the extents of 1 that make vectors and scalars matrices. Other arrays keep their shape."""
    return tuple(extent for extent in shape if extent != 1) if squeeze and len(shape) == 2 else shape


def in_matlab_order(values: AnyArray, squeeze: bool) -> AnyArray:
    """Arrays that lie along the first dimension, each with its dimensions as MATLAB has them."""
    turned = values.transpose(0, *range(values.ndim - 1, 0, -1))
    shape = squeezed_shape(turned.shape[1:], squeeze)
    return np.asarray(turned if shape == turned.shape[1:] else turned.reshape(len(values), *shape))


def numbers(values: AnyArray) -> AnyArray:
    """Complex numbers for pairs of floats called real and imag; other values as they are."""
    names = values.dtype.names
    if names != ("real", "imag"):
        return values
    part = values.dtype["real"]
    if part.kind != "f" or part != values.dtype["imag"] or part.itemsize not in (4, 8):
        return values
    out: AnyArray = np.empty(values.shape, np.dtype(f"c{2 * part.itemsize}"))
    out.real, out.imag = values["real"], values["imag"]
    return out


def texts(codes: AnyArray) -> list[MatlabValue]:
    """Text for each char array along the first dimension: a `str` for a row of characters, else an array of the rows."""
    if codes.dtype.kind not in "ui" or codes.dtype.itemsize not in (1, 2, 4):
        raise CorruptError(f"a char array of {codes.dtype}, not of UTF-16 code units")
    turned = codes.transpose(0, *range(codes.ndim - 1, 0, -1))
    shape = turned.shape[1:]
    if len(shape) < 2:
        rows = _rows(turned.reshape(len(turned), -1))
        return rows
    # The characters of a text lie along the second dimension.
    by_row = np.moveaxis(turned, 2, -1)
    rows = _rows(by_row.reshape(-1, shape[1]))
    if shape[0] == 1 and len(shape) == 2:
        return rows
    found = np.empty(len(rows), object)
    found[:] = rows
    grouped = found.reshape(by_row.shape[:-1])
    return [part.tolist() for part in grouped] if len(shape) == 2 else list(grouped)


def _rows(codes: AnyArray) -> list[str]:
    """The text of each row of code units."""
    count, length = codes.shape
    if not length:
        return [""] * count
    wide = np.ascontiguousarray(codes, np.dtype("<u4"))
    is_plain = codes.dtype.itemsize < 4 and not ((wide & 0xFFFFF800) == 0xD800).any()
    # numpy cuts NUL characters off the end.
    if is_plain and wide[:, -1].all():
        return list(wide.view(f"<U{length}").ravel().tolist())
    encoding = "utf-16-le" if codes.dtype.itemsize < 4 else "utf-32-le"
    narrow = np.ascontiguousarray(codes, np.dtype("<u2" if codes.dtype.itemsize < 4 else "<u4"))
    try:
        return [row.tobytes().decode(encoding, "surrogatepass") for row in narrow]
    except UnicodeDecodeError as error:
        raise CorruptError(f"a char array whose codes are not characters: {error.reason}") from None


def empty(class_name: str, shape: tuple[int, ...], squeeze: bool, name: str) -> MatlabValue:
    """An empty value: text, an empty list or array of this shape; structs without fields, which may be several."""
    if class_name == "struct" and shape and 0 < (count := int(np.prod(shape, dtype=object))) <= _MAX_STRUCTS:
        return {} if squeeze and shape == (1, 1) else _structs(count, shape, squeeze)
    if np.prod(shape, dtype=object) != 0:
        raise CorruptError(f"MATLAB_empty says that a value is empty, but its shape is {shape}", object=name)
    if len(shape) > _MAX_DIMENSIONS or math.prod(extent or 1 for extent in shape) > _MAX_ELEMENTS:
        raise CorruptError(f"an empty value of shape {shape if len(shape) < 10 else f'with {len(shape)} dimensions'}", object=name)
    if class_name == "char":
        rows = shape[0] if len(shape) == 2 else 0
        return [""] * rows if rows > 1 else ""
    if class_name in ("cell", "struct"):
        return [] if squeeze and len(shape) == 2 else np.empty(shape, object)
    dtype = {"double": "f8", CANONICAL_EMPTY: "f8", "single": "f4", "logical": "?"}.get(class_name, class_name)
    if dtype == class_name and class_name not in NUMBERS:
        return MatlabObject(class_name, np.empty(shape))
    return np.empty(squeezed_shape(shape, squeeze), dtype)


def _structs(count: int, shape: tuple[int, ...], squeeze: bool) -> list[dict[str, MatlabValue]] | AnyArray:
    """Structs without fields."""
    found: AnyArray = np.empty(count, object)
    found[:] = [{} for _ in range(count)]
    return found.tolist() if squeeze and len(shape) == 2 and 1 in shape else found.reshape(shape)


def sparse(rows: int, parts: dict[str, AnyArray], is_logical: bool, name: str) -> scipy.sparse.csc_array:
    """A sparse matrix of so many rows from its parts `data`, `ir` and `jc`."""
    require("sparse matrices", "scipy", "scipy")
    import scipy.sparse

    if "jc" not in parts:
        raise CorruptError("a sparse matrix without jc", object=name)
    for part in ("jc", "ir"):
        if part in parts and np.asarray(parts[part]).dtype.kind not in "iu":
            raise CorruptError(f"{part} of a sparse matrix is not an array of integers", object=name)
    if "data" in parts and np.asarray(parts["data"]).dtype.kind not in "biufcV":
        raise CorruptError("the values of a sparse matrix are not numbers", object=name)
    offsets = parts["jc"].astype(np.int64)
    indices = parts["ir"].astype(np.int64) if "ir" in parts else np.empty(0, np.int64)
    values = numbers(parts["data"]) if "data" in parts else np.empty(0, bool if is_logical else np.float64)
    if is_logical:
        values = values.astype(bool)
    if any(part.ndim != 1 for part in (offsets, indices, values)) or not len(offsets) or len(indices) != len(values):
        raise CorruptError(f"the parts of a sparse matrix have shapes {values.shape}, {indices.shape} and {offsets.shape}", object=name)
    if offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise CorruptError("the offsets jc of a sparse matrix decrease, or do not lead from 0 to the number of values", object=name)
    if len(indices) and (indices.min() < 0 or indices.max() >= rows):
        raise CorruptError(f"a row index of a sparse matrix is outside of its {rows} rows", object=name)
    return scipy.sparse.csc_array((values, indices, offsets), shape=(rows, len(offsets) - 1))
