"""As `h5py.h5t`: datatypes, and dtypes whose metadata says what numpy has no dtype for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native, dtypes
from ..base.type_aliases import AnyDtype, DtypeLike
from ..objects.node import Node
from ..values import dtype_encoding, tagged_dtypes
from ..values.references import Reference, RegionReference
from ._missing import missing_from, unsupported
from .names import stored

NO_CLASS, INTEGER, FLOAT, TIME, STRING, BITFIELD, OPAQUE, COMPOUND, REFERENCE, ENUM, VLEN, ARRAY = range(-1, 11)
ORDER_LE, ORDER_BE, ORDER_VAX, ORDER_MIXED, ORDER_NONE = range(5)
SGN_NONE, SGN_2 = 0, 1
CSET_ASCII, CSET_UTF8 = 0, 1
STR_NULLTERM, STR_NULLPAD, STR_SPACEPAD = 0, 1, 2
VARIABLE = 2**32 - 1

_PADDINGS = {"null_terminated": STR_NULLTERM, "null_padded": STR_NULLPAD, "space_padded": STR_SPACEPAD}


class TypeID:
    """A datatype."""

    code = NO_CLASS

    def __init__(self, described: _native.Datatype, owner: Node | None = None) -> None:
        self._described, self._owner = described, owner

    @property
    def dtype(self) -> AnyDtype:
        """The numpy dtype."""
        return tagged_dtypes.of_datatype(self._described)

    def py_dtype(self) -> AnyDtype:
        """The numpy dtype."""
        return self.dtype

    def get_class(self) -> int:
        """The class: one of the constants `INTEGER`, `FLOAT`, ..."""
        return self.code

    def get_size(self) -> int:
        """Bytes of an element; of values of variable length, those in the HDF5 library's memory."""
        return dtypes.memory_size(self._described)

    def get_order(self) -> int:
        """The byte order."""
        return ORDER_BE if getattr(self._described, "order", "<") == ">" else ORDER_LE

    def get_super(self) -> TypeID:
        """The base type."""
        return of_description(self._described.base)

    def committed(self) -> bool:
        """Whether it is an object of the file."""
        return self._owner is not None

    def equal(self, other: TypeID) -> bool:
        """Whether both are the same datatype."""
        return self == other

    def is_variable_str(self) -> bool:
        """Whether it is text of variable length."""
        return self._described.class_name == "variable string"

    @property
    def valid(self) -> bool:
        """Whether the file of a committed datatype is open."""
        return self._owner is None or bool(self._owner)

    def __bool__(self) -> bool:
        return self.valid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeID) and self._described == other._described

    def __hash__(self) -> int:
        return hash(self._described)


class TypeIntegerID(TypeID):
    """An integer."""

    code = INTEGER

    def get_sign(self) -> int:
        """`SGN_2` with a sign, else `SGN_NONE`."""
        return SGN_2 if self._described.signed else SGN_NONE

    def get_precision(self) -> int:
        """Number of bits."""
        return self._described.bit_precision

    def get_offset(self) -> int:
        """Number of the lowest bit."""
        return self._described.bit_offset


class TypeFloatID(TypeID):
    """A floating-point number."""

    code = FLOAT


class TypeStringID(TypeID):
    """Text."""

    code = STRING

    def get_cset(self) -> int:
        """The character set."""
        return CSET_UTF8 if self._described.utf8 else CSET_ASCII

    def get_strpad(self) -> int:
        """The padding."""
        return _PADDINGS[self._described.padding]


class TypeBitfieldID(TypeID):
    """Bits."""

    code = BITFIELD


class TypeOpaqueID(TypeID):
    """Bytes without a meaning."""

    code = OPAQUE

    def get_tag(self) -> bytes:
        """The tag."""
        return stored(self._described.tag)


class TypeReferenceID(TypeID):
    """References."""

    code = REFERENCE


class TypeCompoundID(TypeID):
    """A compound."""

    code = COMPOUND

    def get_nmembers(self) -> int:
        """Number of members."""
        return len(self._described.fields)

    def get_member_name(self, member: int) -> bytes:
        """Name of a member."""
        return stored(self._described.fields[member][0])

    def get_member_offset(self, member: int) -> int:
        """Offset of a member in bytes."""
        return self._described.fields[member][1]

    def get_member_type(self, member: int) -> TypeID:
        """Datatype of a member."""
        return of_description(self._described.fields[member][2])

    def get_member_class(self, member: int) -> int:
        """Class of a member's datatype."""
        return self.get_member_type(member).get_class()

    def get_member_index(self, name: bytes) -> int:
        """Number of the member of this name."""
        return [self.get_member_name(member) for member in range(self.get_nmembers())].index(name)


class TypeEnumID(TypeID):
    """An enumeration."""

    code = ENUM

    def get_nmembers(self) -> int:
        """Number of names."""
        return len(self._described.values)

    def get_member_name(self, member: int) -> bytes:
        """A name."""
        return stored(self._described.values[member][0])

    def get_member_value(self, member: int) -> int:
        """The value of a name."""
        return self._described.values[member][1]

    def enum_valueof(self, name: bytes) -> int:
        """The value of a name."""
        return {stored(known): value for known, value in self._described.values}[name]

    def enum_nameof(self, value: int) -> bytes:
        """The name of a value."""
        return {known: stored(name) for name, known in self._described.values}[value]


class TypeVlenID(TypeID):
    """A sequence of variable length."""

    code = VLEN


class TypeArrayID(TypeID):
    """An array."""

    code = ARRAY

    def get_array_ndims(self) -> int:
        """Number of dimensions."""
        return len(self._described.shape)

    def get_array_dims(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return self._described.shape


_CLASSES: dict[str, type[TypeID]] = {
    "integer": TypeIntegerID,
    "float": TypeFloatID,
    "string": TypeStringID,
    "variable string": TypeStringID,
    "bitfield": TypeBitfieldID,
    "opaque": TypeOpaqueID,
    "reference": TypeReferenceID,
    "compound": TypeCompoundID,
    "enum": TypeEnumID,
    "sequence": TypeVlenID,
    "array": TypeArrayID,
}


def of_description(described: _native.Datatype, owner: Node | None = None) -> TypeID:
    """The datatype of a description, and the object of the file that it is, if it is committed."""
    return _CLASSES.get(described.class_name, TypeID)(described, owner)


def py_create(dtype: DtypeLike, logical: bool = False, aligned: bool = False) -> TypeID:
    """The datatype that stores a dtype."""
    return of_description(dtype_encoding.of_dtype(dtype))


class string_info(NamedTuple):
    """Encoding and bytes of text; a length of `None` is variable."""

    encoding: str
    length: int | None


def string_dtype(encoding: str = "utf-8", length: int | None = None) -> AnyDtype:
    """The dtype of text: of variable length, or of `length` bytes."""
    encoding = {"ascii": "ascii", "utf-8": "utf-8", "utf8": "utf-8"}.get(encoding.lower(), "")
    if not encoding:
        raise ValueError("the encoding of text in HDF5 is 'utf-8' or 'ascii'")
    if length is None:
        return np.dtype(object, metadata={"vlen": str if encoding == "utf-8" else bytes})
    if not isinstance(length, int):
        raise TypeError(f"the length of text is a number of bytes or None, not {length!r}")
    return np.dtype(f"|S{length}", metadata={"h5py_encoding": encoding})


def vlen_dtype(basetype: DtypeLike) -> AnyDtype:
    """The dtype of sequences of variable length."""
    tagged: AnyDtype = np.dtype(object, metadata={"vlen": basetype if basetype in (str, bytes) else np.dtype(basetype)})
    return tagged


def enum_dtype(values_dict: dict[str, int], basetype: DtypeLike = np.uint8) -> AnyDtype:
    """The dtype of an enumeration."""
    base = np.dtype(basetype)
    if base.kind not in "iu":
        raise TypeError("only integers can be the base of an enumeration")
    tagged: AnyDtype = np.dtype(base, metadata={"enum": values_dict})
    return tagged


def opaque_dtype(np_dtype: DtypeLike) -> AnyDtype:
    """The dtype of bytes that h5py stores as they are, under numpy's name of the dtype."""
    plain = np.dtype(np_dtype)
    if plain.kind == "O" or plain.names is not None or plain.subdtype is not None:
        raise TypeError("objects, compounds and arrays cannot be stored as opaque bytes")
    tagged: AnyDtype = np.dtype(plain, metadata={"h5py_opaque": True})
    return tagged


ref_dtype = np.dtype(object, metadata={"ref": Reference})
regionref_dtype = np.dtype(object, metadata={"ref": RegionReference})


def special_dtype(**kind: Any) -> AnyDtype:
    """A tagged dtype: `vlen=` a base type, `enum=` base and names, or `ref=` a class of references."""
    if len(kind) != 1:
        raise TypeError("give one of vlen, enum and ref")
    ((name, value),) = kind.items()
    if name == "vlen":
        return vlen_dtype(value)
    if name == "enum":
        base, names = value
        return enum_dtype(names, base)
    if name == "ref":
        if value not in (Reference, RegionReference):
            raise ValueError("ref is Reference or RegionReference")
        return ref_dtype if value is Reference else regionref_dtype
    raise TypeError(f'Unknown special type "{name}"')


def _tag(dtype: object, name: str) -> Any:
    return (getattr(dtype, "metadata", None) or {}).get(name)


def check_vlen_dtype(dt: object) -> type[str] | type[bytes] | AnyDtype | None:
    """The base type of sequences or text of variable length; `None` for other dtypes."""
    base: type[str] | type[bytes] | AnyDtype | None = _tag(dt, "vlen")
    return base


def check_enum_dtype(dt: object) -> dict[str, int] | None:
    """Names and values of an enumeration; `None` for other dtypes."""
    names: dict[str, int] | None = _tag(dt, "enum")
    return names


def check_ref_dtype(dt: object) -> type[Reference] | None:
    """The class of references; `None` for other dtypes."""
    kind: type[Reference] | None = _tag(dt, "ref")
    return kind


def check_opaque_dtype(dt: object) -> bool:
    """Whether it is stored as opaque bytes."""
    return bool(_tag(dt, "h5py_opaque"))


def check_complex_dtype(dt: object) -> bool:
    """Whether it is a complex number of HDF5's own class; h5py's compounds are not."""
    return False


def complex_compat_dtype(dt: DtypeLike) -> AnyDtype:
    """The dtype of a complex number that is stored as a compound."""
    tagged: AnyDtype = np.dtype(dt)
    return tagged


def check_string_dtype(dt: AnyDtype) -> string_info | None:
    """Encoding and length of text; `None` for other dtypes."""
    base = _tag(dt, "vlen")
    if base in (str, bytes):
        return string_info("utf-8" if base is str else "ascii", None)
    if getattr(dt, "kind", None) == "S":
        return string_info(_tag(dt, "h5py_encoding") or "ascii", dt.itemsize)
    return None


def check_dtype(**kind: object) -> object:
    """What the tag of a dtype says: `vlen=`, `enum=` or `ref=` a dtype."""
    if len(kind) != 1:
        raise TypeError("give one of vlen, enum and ref")
    ((name, dtype),) = kind.items()
    if name not in ("vlen", "enum", "ref"):
        raise TypeError(f'Unknown special type "{name}"')
    return _tag(dtype, name)


create = unsupported("h5t.create")
enum_create = unsupported("h5t.enum_create")
array_create = unsupported("h5t.array_create")
vlen_create = unsupported("h5t.vlen_create")
open = unsupported("h5t.open")

__getattr__ = missing_from("h5py.h5t")
