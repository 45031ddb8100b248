"""Rows in the form in which a table of PyTables stores them: booleans as bit fields, times as seconds and microseconds, text padded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype
from ..values.dtype_encoding import has_fields, numpy_dtype

#: A structured array, a mapping of columns by name, or a table of Arrow or pandas; a column is an array, or rows again.
Rows = Any


def columns_of(rows: Rows) -> dict[str, Rows]:
    """The columns of a structured array, a mapping, or a table of Arrow or pandas, by name.

    Raises:
        InvalidInputError: `rows` is nothing of these, or a column has missing values.
    """
    if isinstance(rows, np.ndarray) and rows.dtype.names is not None:
        return {name: rows[name] for name in rows.dtype.names}
    if isinstance(rows, Mapping):
        return dict(rows)
    if hasattr(rows, "column_names") and hasattr(rows, "column"):
        for name in rows.column_names:
            if rows.column(name).null_count:
                raise InvalidInputError(f"column {name!r} has {rows.column(name).null_count} missing values, which PyTables cannot store: fill them first")
        return {name: np.asarray(rows.column(name).to_pylist()) for name in rows.column_names}
    if hasattr(rows, "columns") and hasattr(rows, "to_numpy"):
        return {str(name): rows[name].to_numpy() for name in rows.columns}
    raise InvalidInputError(f"rows of type {type(rows).__name__}: give a structured array, a mapping of columns, or a table of Arrow or pandas")


def encoded(rows: Rows, datatype: _native.Datatype) -> AnyArray:
    """Rows as elements of a table.

    Args:
        rows: As in `columns_of`; of a nested column the same again.
        datatype: The compound type of the table.

    Returns:
        A structured array whose bytes are the same as in the file.

    Raises:
        InvalidInputError: Columns are missing or unknown, differ in length, or have values that the table cannot store; the message names the column.
        UnsupportedError: The table has a column of a type that PyTables does not write.
    """
    columns = columns_of(rows)
    lengths = {name: _length(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInputError(f"columns differ in length: {', '.join(f'{name} has {length}' for name, length in lengths.items())}")
    out = np.zeros(next(iter(lengths.values()), 0), numpy_dtype(datatype))
    _fill(out, columns, datatype, "")
    return out


def _length(values: Rows) -> int:
    if isinstance(values, Mapping):
        return _length(next(iter(values.values()), ()))
    return len(values)


def _fill(out: AnyArray, columns: Mapping[str, Rows], datatype: _native.Datatype, prefix: str) -> None:
    members = {name: member for name, _, member in datatype.fields}
    for names, what in ((members.keys() - columns.keys(), "are missing"), (columns.keys() - members.keys(), "are not in the table")):
        if names:
            listed = ", ".join(repr(prefix + name) for name in sorted(names))
            raise InvalidInputError(f"columns {listed} {what}: it has {', '.join(prefix + name for name in members)}")
    for name, member in members.items():
        if has_fields(member):
            _fill(out[name], columns_of(columns[name]), member, f"{prefix}{name}/")
        else:
            out[name] = _stored(np.asarray(columns[name]), member, out[name], prefix + name)


def _stored(values: AnyArray, datatype: _native.Datatype, place: AnyArray, name: str) -> AnyArray:
    """Values of a column as they are stored in `place`."""
    while datatype.class_name == "array":
        datatype = datatype.base
    if values.shape != place.shape:
        raise InvalidInputError(f"column {name!r} has values of the shape {values.shape}, and the table {place.shape}")
    kind, size = datatype.class_name, datatype.size
    if kind == "bitfield" and size == 1:
        if values.dtype.kind not in "biu" or not np.isin(values, (0, 1)).all():
            raise InvalidInputError(f"column {name!r} has booleans: give True and False")
        return values.astype("u1").view("V1")
    if kind == "time":
        packed = _packed(_numbers(values, np.dtype("f8"), name), name) if size == 8 else _numbers(values, np.dtype("i4"), name)
        return packed.astype(f"{datatype.order}i{size}").view(f"V{size}")
    if kind == "string":
        return _texts(values, size, name)
    if kind == "enum":
        known = [value for _, value in datatype.values]
        if not np.isin(values, known).all():
            raise InvalidInputError(f"column {name!r} has values that are not of its enumeration: give {', '.join(map(str, known))}")
    elif kind not in ("integer", "float", "compound"):
        raise UnsupportedError(f"column {name!r} of HDF5's class {kind} is not written")
    return _numbers(values, numpy_dtype(datatype), name)


def _numbers(values: AnyArray, dtype: AnyDtype, name: str) -> AnyArray:
    """Numbers as `dtype`. Integers keep their value, floating-point numbers may be rounded."""
    if values.dtype.kind not in "biufc" or (
        values.size and not np.can_cast(values.dtype, dtype, "same_kind") and not {values.dtype.kind, dtype.kind} <= set("iu")
    ):
        raise InvalidInputError(f"column {name!r} stores {dtype}, not {values.dtype}")
    converted = values.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(converted, values):
        raise InvalidInputError(f"column {name!r} stores {dtype}, and has values from {values.min()} to {values.max()}")
    return converted


def _packed(seconds: AnyArray, name: str) -> AnyArray:
    """Seconds as PyTables packs them: the seconds in the upper four bytes, the microseconds in the lower four, both with the sign."""
    whole = np.trunc(seconds)
    if not (np.isfinite(seconds) & (abs(whole) < 2.0**31)).all():
        raise InvalidInputError(f"column {name!r} stores seconds of 32 bits: from -2147483647 to 2147483647")
    part = (seconds - whole) * 1e6
    microseconds = (np.sign(part) * np.floor(abs(part) + 0.5)).astype("i8")
    packed: AnyArray = (whole.astype("i8") << 32) | (microseconds & 0xFFFFFFFF)
    return packed


def _texts(values: AnyArray, size: int, name: str) -> AnyArray:
    if not values.size:
        # An empty list has the dtype of numbers.
        return np.zeros(values.shape, f"S{size}")
    if values.dtype.kind not in "SUOT" or not all(isinstance(value, (str, bytes)) for value in values.ravel().tolist()):
        raise InvalidInputError(f"column {name!r} stores text of {size} bytes, not {values.dtype}")
    given = [value.encode() if isinstance(value, str) else value for value in values.ravel().tolist()]
    longest = max(given, key=len, default=b"")
    if len(longest) > size:
        raise InvalidInputError(f"column {name!r} stores text of {size} bytes, and has one of {len(longest)}: {longest[:40]!r}")
    padded: AnyArray = np.array(given, f"S{size}").reshape(values.shape)
    return padded
