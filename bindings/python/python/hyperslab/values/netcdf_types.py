"""netCDF's types and names: what they are in HDF5, and what netCDF refuses."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

import numpy as np

from .._native import Datatype
from ..base.errors import InvalidInputError, UnsupportedError
from ..base.type_aliases import AnyArray, AnyDtype, DtypeLike, Values
from . import compounds, dtype_encoding

#: What netCDF has where nothing was written, by numpy's name of the type.
DEFAULT_FILLS: dict[str, int | float] = {
    "i1": -127,
    "u1": 255,
    "i2": -32767,
    "u2": 65535,
    "i4": -2147483647,
    "u4": 4294967295,
    "i8": -9223372036854775806,
    "u8": 18446744073709551614,
    "f4": 9.9692099683868690e36,
    "f8": 9.9692099683868690e36,
}
#: A character: netCDF's library reads no other padding of one byte.
CHARACTER = np.dtype("S1", metadata={"padding": "null_terminated"})
_MAX_NAME_BYTES = 256


def checked_name(name: str, what: str) -> str:
    """A name as netCDF stores it: composed Unicode. A name that its library does not open is refused."""
    if not isinstance(name, str):
        raise InvalidInputError(f"{name!r} as the name of a {what}: give text")
    composed = unicodedata.normalize("NFC", name)
    if (
        not composed
        or composed != composed.rstrip(" ")
        or any(ord(c) < 32 or ord(c) == 127 or c == "/" for c in composed)
        or not (composed[0].isalnum() or composed[0] == "_" or ord(composed[0]) > 127)
        or len(composed.encode("utf-8", "surrogateescape")) > _MAX_NAME_BYTES
    ):
        raise InvalidInputError(
            f"{name!r} as the name of a {what}: netCDF's names begin with a letter, a digit or _, have no / and no control characters, "
            f"do not end with a space, and have {_MAX_NAME_BYTES} bytes or fewer"
        )
    return composed


def checked_path(path: str, what: str) -> str:
    """A path of netCDF's names, without slashes around it."""
    if not isinstance(path, str) or not path.strip("/"):
        raise InvalidInputError(f"{path!r} as the name of a {what}: give text")
    return "/".join(checked_name(part, what) for part in path.strip("/").split("/"))


def stored_type(given: DtypeLike, what: str) -> type[str] | AnyDtype:
    """The dtype of a netCDF type that needs no definition: `str` is text of any length, `S1` a character."""
    if given is str:
        return str
    dtype = np.dtype(given)
    if dtype.kind in "SU":
        return CHARACTER if dtype.str[1:] == "S1" else str
    if dtype.kind == "O":
        if dtype.metadata and dtype.metadata.get("vlen") not in (str, bytes):
            raise UnsupportedError(f"values of variable length in netCDF-4 ({what}): create their type with create_vlen_type")
        return str
    if dtype.names is not None:
        raise UnsupportedError(f"numpy's {dtype} in netCDF-4 ({what}): create its type with create_compound_type")
    if dtype.metadata and "enum" in dtype.metadata:
        raise UnsupportedError(f"an enumeration in netCDF-4 ({what}): create its type with create_enum_type")
    if dtype.subdtype is None and dtype.str[1:] in DEFAULT_FILLS:
        return dtype
    raise UnsupportedError(f"numpy's {dtype} in netCDF-4 ({what}): give integers, floats of 4 or 8 bytes, S1 for characters, or text")


def fixed_text(text: str | bytes, what: str = "text") -> tuple[list[int], Datatype, bytes, list[bytes]]:
    """A scalar of fixed length. The library's own names (`str`) end with NUL, its attributes of characters do not."""
    data = text.encode() + b"\0" if isinstance(text, str) else text or b"\0"
    if b"\0" in data[:-1]:
        raise InvalidInputError(f"{what}: text with a NUL, where readers would end it")
    return [], Datatype.string(len(data)), data, []


class NetcdfType:
    """A type that the file defines: give it as the `dtype` of variables. `dtype` is numpy's for its values."""

    def __init__(self, path: str, dtype: AnyDtype, datatype: Datatype) -> None:
        self.path, self.dtype, self.datatype = path, dtype, datatype
        #: Names of an enumeration's values.
        self.enum_dict: dict[str, int] = dict(datatype.values) if datatype.class_name == "enum" else {}

    @property
    def name(self) -> str:
        """The name in its group."""
        return self.path.rpartition("/")[2]

    def checked(self, values: Values, what: str) -> Values:
        """Checks values against this type.

        Args:
            values: The values.
            what: What they are for, the beginning of the message.

        Returns:
            The values, with text in compounds as characters.

        Raises:
            InvalidInputError: A value is not one of the enumeration, or a text is too long.
        """
        if self.enum_dict:
            given = np.ma.compressed(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
            other = given[~np.isin(given, list(self.enum_dict.values()))]
            if other.size:
                raise InvalidInputError(f"{what}: {other.reshape(-1)[0]} is none of the values of the enumeration {self.name!r}, {self.enum_dict}")
        if self.dtype.names is None:
            return values
        if not isinstance(values, (np.ndarray, np.void)) or values.dtype.names is None:
            values = np.array(values, dtype=self.dtype_view)
        return _characters_of(values, self.dtype, what)

    @property
    def dtype_view(self) -> AnyDtype:
        """numpy's dtype with fixed text where the file has arrays of characters."""
        return _view(self.dtype)

    def __repr__(self) -> str:
        return f"<netCDF type {self.path}: {self.datatype.class_name}>"


def _length(dtype: AnyDtype) -> int:
    """Characters of a field of fixed text; 0 of other fields."""
    return dtype.shape[-1] if dtype.subdtype is not None and dtype.base == np.dtype("S1") else 0


def _view(dtype: AnyDtype) -> AnyDtype:
    if length := _length(dtype):
        return np.dtype((f"S{length}", dtype.shape[:-1]))
    if dtype.subdtype is not None:
        return np.dtype((_view(dtype.base), dtype.shape))
    if dtype.names is None or dtype.fields is None:
        return dtype
    return np.dtype([(name, _view(dtype.fields[name][0])) for name in dtype.names])


def _characters_of(values: Values, target: AnyDtype, what: str) -> AnyArray:
    """Structured values whose fixed text has become characters, in the fields of `target`."""
    given = np.asarray(values)
    compounds.check_names(given.dtype.names or (), target.names or (), complete=True)
    out = np.zeros(given.shape, dtype=target)
    for name in target.names or ():
        field, column = target[name], given[name]
        if (length := _length(field)) and (column.dtype.itemsize > 1 or column.ndim < out[name].ndim):
            text = np.char.encode(column, "utf-8") if column.dtype.kind == "U" else column
            if text.size and int(np.char.str_len(text).max()) > length:
                raise InvalidInputError(f"{what}, field {name!r}: text of {int(np.char.str_len(text).max())} bytes for {length}")
            column = np.ascontiguousarray(text.astype(f"S{length}")).view("S1").reshape(*text.shape, length)
        elif field.base.names is not None:
            column = _characters_of(column, field.base, what)
        out[name] = dtype_encoding.checked(column, field.base)
    return out


def compound(path: str, dtype: DtypeLike, known: Mapping[str, NetcdfType]) -> NetcdfType:
    """A type of named fields, laid out as C does it. Fields are numbers, `S1`, fixed text (an array of `S1`), arrays of
    these, and types that the file defines."""
    given = np.dtype(dtype)
    if given.names is None:
        raise InvalidInputError(f"compound type {path!r} of {given}, which has no fields")
    aligned = _aligned(given, path)
    datatype = _characters(dtype_encoding.of_dtype(aligned))
    for name, _, member in datatype.fields:
        _check_member(checked_name(name, "field"), member, path, known)
    return NetcdfType(path, aligned, datatype)


def _aligned(dtype: AnyDtype, path: str) -> AnyDtype:
    if dtype.subdtype is not None:
        return np.dtype((_aligned(dtype.subdtype[0], path), dtype.subdtype[1]))
    if dtype.names is not None and dtype.fields is not None:
        return np.dtype([(name, _aligned(dtype.fields[name][0], path)) for name in dtype.names], align=True)
    if dtype.metadata and "enum" in dtype.metadata:
        return dtype
    if dtype.kind == "S":
        return np.dtype("S1") if dtype.itemsize <= 1 else np.dtype(("S1", (dtype.itemsize,)))
    return np.dtype(stored_type(dtype, f"a field of type {path!r}")) if dtype.kind != "O" else _refused_objects(path)


def _refused_objects(path: str) -> AnyDtype:
    raise UnsupportedError(f"a field of type {path!r} of variable length: netCDF's readers have none; give text as S with a length")


def _characters(datatype: Datatype) -> Datatype:
    """The same with characters as netCDF's library stores them."""
    if datatype.class_name == "string":
        return Datatype.string(datatype.size, utf8=datatype.utf8)
    if datatype.class_name == "array":
        return Datatype.array(_characters(datatype.base), datatype.shape)
    if datatype.class_name == "compound":
        return Datatype.compound(datatype.size, [(name, offset, _characters(member)) for name, offset, member in datatype.fields])
    return datatype


def _check_member(name: str, member: Datatype, path: str, known: Mapping[str, NetcdfType]) -> None:
    base = member.base if member.class_name == "array" else member
    if base.class_name in ("compound", "enum") and not any(one.datatype == base for one in known.values()):
        raise InvalidInputError(f"field {name!r} of type {path!r}: create the type of the field first, with create_compound_type")


def enumeration(path: str, dtype: DtypeLike, members: Mapping[str, int]) -> NetcdfType:
    """A type of named whole numbers."""
    base = np.dtype(dtype)
    if base.kind not in "iu" or not members:
        raise InvalidInputError(f"enumeration {path!r} of {base} with {len(members)} names: give an integer type and at least one name")
    values = {checked_name(name, "value of an enumeration"): int(value) for name, value in members.items()}
    if len(set(values.values())) != len(values):
        raise InvalidInputError(f"enumeration {path!r} with two names for one value")
    low, high = np.iinfo(base).min, np.iinfo(base).max
    for name, value in values.items():
        if not low <= value <= high:
            raise InvalidInputError(f"enumeration {path!r}: {name!r} is {value}, which {base} cannot hold")
    inner = dtype_encoding.of_dtype(base)
    return NetcdfType(path, np.dtype(base, metadata={"enum": values}), Datatype.enum(inner, list(values.items())))


def variable_length(path: str, dtype: DtypeLike | NetcdfType, known: Mapping[str, NetcdfType]) -> NetcdfType:
    """A type of one-dimensional arrays of any length."""
    if isinstance(dtype, NetcdfType):
        base, inner = dtype.dtype, dtype.datatype
    else:
        stored = stored_type(dtype, f"type {path!r}")
        if isinstance(stored, type):
            raise UnsupportedError(f"variable-length type {path!r} of text: give str as the type of the variable")
        base, inner = stored, _characters(dtype_encoding.of_dtype(stored))
    return NetcdfType(path, np.dtype(object, metadata={"vlen": base}), Datatype.sequence(inner))


def opaque(path: str, size: int) -> NetcdfType:
    """A type of `size` bytes without meaning."""
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise InvalidInputError(f"opaque type {path!r} of {size!r} bytes: give 1 or more")
    return NetcdfType(path, np.dtype(f"V{size}"), Datatype.opaque(int(size)))
