"""Dtype encoding: the stored datatype and the stored bytes of numpy values. `dtypes` does the reverse for reading."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any, SupportsInt, overload

import numpy as np

from .. import dtypes
from .._native import Datatype
from ..base import nonstandard_numbers
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike, Values
from . import compounds, narrow_integers, new_references


def _pointer(size: int) -> AnyDtype:
    """Bytes of a variable-length element: length, address, number. Addresses have fewer than 8 bytes in some files."""
    return np.dtype([("length", "<u4"), ("address", f"<u{size - 8}"), ("number", "<u4")])


def _order(dtype: AnyDtype) -> str:
    return {"=": "<" if sys.byteorder == "little" else ">", "|": "<"}.get(dtype.byteorder, dtype.byteorder)


def _text(utf8: bool) -> Datatype:
    return Datatype.variable_string(utf8=utf8)


def of_dtype(dtype: DtypeLike, values: Values = None) -> Datatype:
    """How elements of `dtype` are stored. h5py's special dtypes (text, enumerations, variable length) are known
    by their metadata; of plain objects, `values` tell whether they are text."""
    if dtype in (str, bytes):
        return _text(dtype is str)
    dtype = np.dtype(dtype)
    metadata = dict(dtype.metadata or {})
    if metadata.get("h5py_opaque"):
        return Datatype.opaque(dtype.itemsize, f"NUMPY:{np.dtype(dtype.str).str}")
    if "enum" in metadata:
        base = of_dtype(np.dtype(dtype.str))
        return Datatype.enum(base, [(str(k), int(v)) for k, v in metadata["enum"].items()])
    if "ref" in metadata:
        return new_references.datatype_of("region" if metadata["ref"].__name__ == "RegionReference" else "object")
    if "vlen" in metadata:
        inner = metadata["vlen"]
        return _text(inner is str) if inner in (str, bytes) else Datatype.sequence(of_dtype(inner))
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return Datatype.array(of_dtype(inner), shape)
    if dtype.names is not None:
        return _compound(dtype)
    kind, size = dtype.kind, dtype.itemsize
    if kind == "b":
        return Datatype.enum(Datatype.integer(1, signed=True), [("FALSE", 0), ("TRUE", 1)])
    if kind in "iu":
        return Datatype.integer(size, signed=kind == "i", order=_order(dtype), **narrow_integers.bits_of(dtype))
    if kind == "f" and size in (2, 4, 8):
        return Datatype.float(size, order=_order(dtype))
    if kind == "c" and size in (8, 16):
        part = Datatype.float(size // 2, order=_order(dtype))
        return Datatype.compound(size, [("r", 0, part), ("i", size // 2, part)])
    extended = nonstandard_numbers.extended() if kind in "fc" else None
    if extended is not None and size in (extended.size, 2 * extended.size):
        return extended if kind == "f" else Datatype.compound(size, [("r", 0, extended), ("i", size // 2, extended)])
    if kind == "S":
        return Datatype.string(max(size, 1), padding=metadata.get("padding", "null_padded"), utf8=metadata.get("h5py_encoding") == "utf-8")
    if kind == "U":
        return _text(True)
    if kind == "V":
        return Datatype.opaque(size)
    if kind == "O" and values is not None:
        return _of_objects(values)
    if kind == "T":
        return _text(True)
    hints = {
        "O": ": give dtype=str for text",
        "f": ": give 'f8', which keeps fewer digits",
        "c": ": give 'c16', which keeps fewer digits",
        "M": " inside of structures and arrays: give counts ('i8')",
        "m": " inside of structures and arrays: give counts ('i8')",
    }
    raise UnsupportedError(f"numpy's {dtype} in HDF5{hints.get(kind, '')}")


def _compound(dtype: AnyDtype) -> Datatype:
    assert dtype.names is not None and dtype.fields is not None
    formats = [dtype.fields[name][0] for name in dtype.names]
    offsets = [int(dtype.fields[name][1]) for name in dtype.names]
    types = [of_dtype(format) for format in formats]
    size = dtype.itemsize
    if any(inner.size != format.itemsize for inner, format in zip(types, formats, strict=True)):
        # Text takes other room in a file than in memory.
        offsets, size = [], 0
        for inner in types:
            offsets.append(size)
            size += inner.size
    return Datatype.compound(size, list(zip(dtype.names, offsets, types, strict=True)))


def _of_objects(values: Values) -> Datatype:
    flat = np.asarray(values, dtype=object).reshape(-1)
    for kind in (str, bytes):
        if len(flat) and all(isinstance(value, kind) for value in flat):
            return _text(kind is str)
    other = next((value for value in flat.tolist() if not isinstance(value, (str, bytes))), None)
    what = f"a {type(other).__name__}" if len(flat) and other is not None else "None" if len(flat) else "Python objects"
    raise UnsupportedError(f"HDF5 cannot store {what} in an array of objects: give dtype=str for text, or h5py.vlen_dtype(...) for sequences")


def numpy_dtype(datatype: Datatype) -> AnyDtype:
    """The dtype of the bytes in the file; variable-length elements as length, address and number."""
    kind, size = datatype.class_name, datatype.size
    if _is_without_dtype(datatype):
        return np.dtype(f"V{size}")
    if kind in ("integer", "float"):
        letter = "f" if kind == "float" else "i" if datatype.signed else "u"
        return np.dtype(f"{datatype.order}{letter}{size}")
    if kind == "string":
        return np.dtype(f"S{size}")
    if kind == "enum":
        return numpy_dtype(datatype.base)
    if kind == "array":
        return np.dtype((numpy_dtype(datatype.base), datatype.shape))
    if kind == "compound":
        members = datatype.fields
        if [m[0] for m in members] == ["r", "i"] and size in (8, 16) and all(m[2].class_name == "float" and m[2].size == size // 2 for m in members):
            return np.dtype(f"{members[0][2].order}c{size}")
        return np.dtype(
            {"names": [m[0] for m in members], "formats": [numpy_dtype(m[2]) for m in members], "offsets": [m[1] for m in members], "itemsize": size}
        )
    if kind in ("variable string", "sequence"):
        return _pointer(size)
    return np.dtype(f"V{size}")


def _is_without_dtype(datatype: Datatype) -> bool:
    """Whether numbers have a size that no dtype of numpy has."""
    sizes = {"integer": (1, 2, 4, 8), "float": (2, 4, 8)}.get(datatype.class_name)
    return sizes is not None and datatype.size not in sizes


def has_fields(datatype: Datatype) -> bool:
    """Whether elements are compounds that numpy has as structures; complex numbers are not."""
    return datatype.class_name == "compound" and numpy_dtype(datatype).names is not None and dtypes.extended_dtype(datatype) is None


def stored(values: Values, datatype: Datatype, heap: list[bytes]) -> AnyArray:
    """`values` as stored in the file, contiguous. Variable-length values are added to `heap`."""
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise InvalidInputError("masked values, which HDF5 cannot store: fill them first (`values.filled(...)`), or give the dataset a fillvalue")
        values = values.data
    if datatype.class_name == "reference":
        return new_references.elements_of(values, datatype, heap)
    target = numpy_dtype(datatype)
    if datatype.class_name == "array":
        return stored(values, datatype.base, heap)
    extended = dtypes.extended_dtype(datatype)
    if extended is not None:
        return nonstandard_numbers.extended_bytes(np.asarray(values), extended)
    if has_fields(datatype):
        return _all_fields(values, datatype, heap)
    if datatype.class_name == "opaque":
        raw = np.asarray(values)
        if raw.dtype.itemsize != target.itemsize:
            raise InvalidInputError(f"opaque values of {raw.dtype.itemsize} bytes in a dataset of {target.itemsize}-byte elements")
        return contiguous(raw).view(target)
    number = datatype.base if datatype.class_name == "enum" else datatype
    if _is_without_dtype(number) or (number.class_name == "float" and not number.is_ordinary):
        raise UnsupportedError(f"writing {number.class_name}s of {number.size} bytes with a layout of their own: write them to a dataset of 'f4', 'f8' or 'i8'")
    if not datatype.uses_heap:
        given = exact_numbers(values, target)
        if given.dtype.kind == "O" and target.kind == "S" and all(isinstance(value, (str, bytes)) for value in given.reshape(-1)):
            text = [value.encode("utf-8" if datatype.utf8 else "ascii") if isinstance(value, str) else value for value in given.reshape(-1)]
            given = np.array(text, "S").reshape(given.shape)
        if given.dtype.kind == "U" and target.kind == "S":
            given = np.char.encode(given, "utf-8" if datatype.utf8 else "ascii")
        is_wider = target.kind == "S" and given.dtype.kind == "S" and given.dtype.itemsize > target.itemsize
        if is_wider and given.size and int(np.char.str_len(given).max()) > target.itemsize:
            raise InvalidInputError(f"text of {int(np.char.str_len(given).max())} bytes does not fit fixed strings of {target.itemsize}")
        numbers = contiguous(_checked_cast(given, target))
        return numbers if narrow_integers.is_as_in_memory(number) else narrow_integers.packed(numbers, number)
    given = np.asarray(values, dtype=object) if datatype.class_name == "variable string" else _objects(values)
    out = np.zeros(given.shape, dtype=_pointer(datatype.size))
    flat = out.reshape(-1)
    for place, value in enumerate(given.reshape(-1)):
        count, data = _encoded(value, datatype, heap)
        if count:
            heap.append(data)
            flat[place] = (count, 1, len(heap))
    return out


def filled(values: AnyArray, fill: Values, datatype: Datatype) -> AnyArray:
    """Masked values as stored in the file, with `fill` in place of masked ones. The data under the mask need not fit the
    datatype."""
    mask = np.ma.getmaskarray(values)
    if mask.dtype.names is not None or datatype.uses_heap or has_fields(datatype):
        raise UnsupportedError("masked values of a compound or of variable length: fill them first (`values.filled(...)`)")
    given = np.ma.getdata(values)
    out = np.array(stored(np.where(mask, np.zeros((), given.dtype), given), datatype, []))
    out[mask] = stored(fill, datatype, [])
    return out


def stored_fields(values: Values, datatype: Datatype, heap: list[bytes], names: Sequence[str] = ()) -> tuple[AnyArray, compounds.Parts]:
    """Compound values as stored in the file, matched by field name, and the parts of an element that they cover. Without `names`, a structured array may lack fields of the datatype. With `names`, rows have these fields;
    the values of a single one may be plain."""
    if (
        not names
        and isinstance(values, np.ndarray)
        and values.dtype == numpy_dtype(datatype)
        and not datatype.uses_heap
        and narrow_integers.is_as_in_memory(datatype)
    ):
        return contiguous(values), None
    members = {name: (offset, member) for name, offset, member in datatype.fields}
    compounds.check_names(names, list(members), complete=False)
    shape: tuple[int, ...] | None = None
    if len(names) == 1 and _structure(values) is None:
        columns = {names[0]: values}
    else:
        given = compounds.rows(values, names or members)
        fields, shape = given.dtype.names or (), given.shape
        compounds.check_names(fields, list(names or members), complete=bool(names))
        columns = {name: _split(given[name], members[name][1]) if given.dtype[name] == np.dtype(object) else given[name] for name in fields}
    arrays = {name: stored(column, members[name][1], heap) for name, column in columns.items()}
    for name, array in arrays.items():
        inner = _inner(members[name][1])
        if shape is None:
            shape = array.shape[: array.ndim - len(inner)] if array.ndim >= len(inner) else ()
        if array.shape == shape and inner:
            # As in numpy, one value stands for all elements of an array.
            arrays[name] = array = np.broadcast_to(array.reshape(shape + (1,) * len(inner)), shape + inner)
        if array.shape != shape + inner:
            raise InvalidInputError(f"field {name!r}: values of shape {array.shape[len(shape) :]} for elements of shape {inner}")
    out = np.zeros(shape or (), dtype=numpy_dtype(datatype))
    for name, array in arrays.items():
        out[name] = array
    if len(arrays) == len(members):
        return out, None
    return out, [(members[name][0], members[name][1].size) for name in arrays]


def _all_fields(values: Values, datatype: Datatype, heap: list[bytes]) -> AnyArray:
    """Compound values that have every field of the datatype."""
    out, parts = stored_fields(values, datatype, heap)
    if parts is not None:
        compounds.check_names(np.asarray(values).dtype.names or (), [member[0] for member in datatype.fields], complete=True)
    return out


def _structure(values: Values) -> tuple[str, ...] | None:
    """The names of the fields of structured values, `None` of others."""
    return values.dtype.names if isinstance(values, (np.ndarray, np.void)) else None


def _inner(datatype: Datatype) -> tuple[int, ...]:
    """Shape of an element."""
    return (*datatype.shape, *_inner(datatype.base)) if datatype.class_name == "array" else ()


def _split(column: AnyArray, datatype: Datatype) -> Values:
    """A column of Python objects; elements of array members become further dimensions, sequences stay elements."""
    ndim, base = column.ndim + len(_inner(datatype)), datatype
    while base.class_name == "array":
        base = base.base
    if base.class_name == "variable string":
        return np.array(column.tolist(), dtype=object)
    if base.class_name != "sequence":
        return _as_array(column.tolist(), base)
    while column.ndim < ndim:
        try:
            column = np.array([_objects(one) for one in column.reshape(-1)], dtype=object).reshape(*column.shape, -1)
        except (TypeError, ValueError):
            raise InvalidInputError("elements of an array member of different lengths") from None
    return column


def _as_array(values: Values, base: Datatype) -> Values:
    """Values as an array of a type of their own; rows stay as they are."""
    if has_fields(base):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInputError("elements of an array member of different lengths") from None


def contiguous(values: AnyArray) -> AnyArray:
    """As `numpy.ascontiguousarray`, which makes a dimension for a scalar."""
    same: AnyArray = np.ascontiguousarray(values).reshape(values.shape)
    return same


def checked(values: Values, target: AnyDtype) -> AnyArray:
    """Numbers as `target` has them, if it can hold them; other values as they are."""
    given = np.asarray(values)
    return _checked_cast(given, target) if given.dtype.kind in "iufb" and target.kind in "iuf" else given


def _checked_cast(given: AnyArray, target: AnyDtype) -> AnyArray:
    """A cast that keeps numbers: one that cannot be held is an error, not another number."""
    if given.dtype.kind == "b" and target.kind in "iu":
        return given.astype(target)
    if given.dtype.kind in "mM" and target.kind != given.dtype.kind:
        raise UnsupportedError(f"numpy's {given.dtype} as {target}, which would lose its unit: write counts (`values.astype('i8')`) and a units attribute")
    if given.dtype.kind == "O" and target.kind in "iu" and all(isinstance(value, (int, np.integer)) for value in given.reshape(-1)):
        _check_range(min(given.reshape(-1), default=0), max(given.reshape(-1), default=0), target)
    if given.dtype.kind in "iuf" and target.kind in "iu" and given.size:
        if given.dtype.kind == "f" and not (np.isfinite(given).all() and (np.trunc(given) == given).all()):
            raise InvalidInputError(f"values with a fraction, NaN or infinity do not fit {target}")
        _check_range(given.min(), given.max(), target)
    try:
        return np.asarray(given.astype(target, casting="same_kind" if given.dtype.kind == "c" else "unsafe", copy=False))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"values of {given.dtype} cannot be stored as {target}: {error}") from None


def _check_range(low: SupportsInt, high: SupportsInt, target: AnyDtype) -> None:
    info = np.iinfo(target)
    if int(low) < info.min or int(high) > info.max:
        worst = low if int(low) < info.min else high
        raise InvalidInputError(f"value {worst} does not fit {target}, which holds {info.min} to {info.max}")


def _objects(values: Any) -> AnyArray:
    """Sequences as elements, not as another dimension."""
    is_one = _is_one_sequence(values)
    if isinstance(values, np.ndarray) and values.dtype == object and not is_one:
        return values
    if is_one:
        one: AnyArray = np.empty((), dtype=object)
        one[()] = values
        return one
    return _each(values)


def _each(values: Collection[object]) -> AnyArray:
    """An array of these objects."""
    out: AnyArray = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        out[place] = value
    return out


def _is_one_sequence(values: Values) -> bool:
    """Whether values are the items of one sequence, as in h5py, and no sequences themselves."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return bool(values.ndim <= 1)
    if isinstance(values, np.ndarray) and (values.ndim != 1 or not len(values)):
        return False
    if not isinstance(values, (np.ndarray, list, tuple)):
        return True
    items = [value for value in values if value is not None]
    return not len(values) or (bool(items) and not any(isinstance(item, (list, tuple, np.ndarray)) for item in items))


def _encoded(value: object, datatype: Datatype, heap: list[bytes]) -> tuple[int, bytes]:
    if datatype.class_name == "sequence":
        if value is None:
            return 0, b""
        if not isinstance(value, (list, tuple)) and not (isinstance(value, np.ndarray) and value.ndim):
            raise InvalidInputError(f"{value!r} in a dataset of sequences: give a list for each element")
        if datatype.base.class_name == "sequence" and isinstance(value, (list, tuple)):
            # The items are sequences, also if there are none.
            value = _each(value)
        items = stored(value, datatype.base, heap)
        return len(items), items.tobytes()
    if value is None:
        return 0, b""
    if not isinstance(value, (str, bytes)):
        raise InvalidInputError(f"{value!r} is not text")
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if not datatype.utf8 and not data.isascii() and isinstance(value, str):
        raise InvalidInputError(f"{value!r} is not ASCII text: give dtype=str")
    if b"\0" in data:
        raise InvalidInputError("text with a NUL, where HDF5 would end it")
    return len(data), data


def as_array(data: Any, dtype: DtypeLike | None) -> AnyArray:
    """The values as an array, of whose elements sequences and rows are not another dimension."""
    plain = dtype in (None, str, bytes)
    metadata = None if plain else np.dtype(dtype).metadata
    if metadata and "vlen" in metadata and metadata["vlen"] not in (str, bytes) and not (isinstance(data, np.ndarray) and data.dtype == object):
        if not all(value is None or isinstance(value, (list, tuple, np.ndarray)) for value in data):
            raise InvalidInputError("data of a dataset of sequences: give a list for each element")
        return _each(data)
    if isinstance(data, np.ndarray):
        return data
    names = None if plain else np.dtype(dtype).names
    return exact_numbers(data, None if plain else np.dtype(dtype)) if names is None else compounds.rows(data, names)


def exact_numbers(values: Any, wanted: AnyDtype | None) -> AnyArray:
    """Values as an array. Where integers are wanted, integers of Python stay exact: numpy makes doubles of `[1, 2**63]`."""
    array = np.asarray(values)
    if wanted is None or wanted.kind not in "iu" or array.dtype.kind != "f" or isinstance(values, (np.ndarray, np.generic, float)):
        return array
    exact = np.asarray(values, dtype=object)
    return exact if all(isinstance(value, (int, np.integer)) for value in exact.reshape(-1)) else array


def of_values(dtype: DtypeLike | None, values: Values) -> Datatype:
    """How `values` are stored if `dtype` does not say it."""
    if dtype is not None:
        return of_dtype(dtype)
    if isinstance(values, str):
        return of_dtype(str)
    array = np.asarray(values)
    return of_dtype(array.dtype, array)


def of_bytes(value: bytes) -> tuple[Any, Datatype]:
    """How a value of `bytes` is stored, as h5py does: ASCII text of variable length; what such text cannot hold, and `numpy.bytes_`, of fixed length."""
    if type(value) is bytes and b"\0" not in value and value.isascii():
        return value, of_dtype(np.dtype("O", metadata={"vlen": bytes}))
    return np.bytes_(value), of_dtype(f"S{max(len(value), 1)}")


def shape_of(values: Any, datatype: Datatype) -> tuple[int, ...]:
    """Extents of `values`, without the extents of elements that are arrays."""
    shape: tuple[int, ...] = tuple(np.shape(values))
    inner = len(datatype.shape) if datatype.class_name == "array" else 0
    return shape[: len(shape) - inner]


@overload
def extents(name: str, values: object) -> list[int]: ...
@overload
def extents(name: str, values: object, unlimited: bool) -> list[int | None]: ...
def extents(name: str, values: Any, unlimited: bool = False) -> Sequence[int | None]:
    """The extents of a shape, given as one number or several; `None` is allowed if `unlimited`."""
    found = list(values) if np.iterable(values) else [values]
    for extent in found:
        if not (extent is None and unlimited) and (isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 0):
            raise InvalidInputError(f"{name}={values!r}: extents are whole numbers, 0 or more{', or None without a limit' if unlimited else ''}")
    return [None if extent is None else int(extent) for extent in found]


def fill_of(value: Values, datatype: Datatype, heap: list[bytes] | None = None) -> tuple[bytes, list[bytes]] | None:
    """The bytes of a fill value, and what its parts of variable length point at, which is added to `heap`; empty values of variable length and null
    references need none."""
    heap = [] if heap is None else heap
    fill = None if value is None else _one_element(value, datatype, heap).tobytes()
    return (fill, heap) if fill and (any(fill) or not (datatype.uses_heap or datatype.has_references)) else None


def stored_elements(values: Values, shape: Sequence[int], datatype: Datatype, heap: list[bytes]) -> AnyArray:
    """As `stored`, for values of this shape: a sequence may be one element."""
    return _one_element(values, datatype, heap) if not shape else stored(values, datatype, heap)


def _one_element(value: Values, datatype: Datatype, heap: list[bytes]) -> AnyArray:
    if datatype.class_name == "sequence":
        # A list is one element.
        one = np.empty(1, dtype=object)
        one[0] = value
        return stored(one, datatype, heap)
    return stored(value, datatype, heap)
