"""As `h5py.h5t`: datatypes, and dtypes whose metadata says what numpy has no dtype for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _native, dtypes
from ..base import nonstandard_numbers
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyDtype, DtypeLike
from ..objects.node import Node
from ..values import dtype_encoding, tagged_dtypes
from ..values.references import Reference, RegionReference
from ._missing import missing_from
from .h5 import COMPLEX_NAMES
from .names import path_of, stored

NO_CLASS, INTEGER, FLOAT, TIME, STRING, BITFIELD, OPAQUE, COMPOUND, REFERENCE, ENUM, VLEN, ARRAY, COMPLEX = range(-1, 12)
ORDER_LE, ORDER_BE, ORDER_VAX, ORDER_MIXED, ORDER_NONE = range(5)
SGN_NONE, SGN_2 = 0, 1
CSET_ASCII, CSET_UTF8 = 0, 1
STR_NULLTERM, STR_NULLPAD, STR_SPACEPAD = 0, 1, 2
VARIABLE = 2**64 - 1

NORM_IMPLIED, NORM_MSBSET, NORM_NONE = range(3)
DIR_DEFAULT, DIR_ASCEND, DIR_DESCEND = range(3)

_PADDINGS = {"null_terminated": STR_NULLTERM, "null_padded": STR_NULLPAD, "space_padded": STR_SPACEPAD}
_ORDERS = {"<": ORDER_LE, ">": ORDER_BE}
_NORMS = {"implied": NORM_IMPLIED, "always_set": NORM_MSBSET, "as_stored": NORM_NONE}


def _name_of(names: Mapping[str, int], number: int, what: str) -> str:
    """The name of a constant."""
    for name, known in names.items():
        if known == number:
            return name
    raise InvalidInputError(f"{what}={number}: give one of {', '.join(map(str, names.values()))}")


class TypeID:
    """A datatype. A copy of one of the constants can be changed until `lock`."""

    code = NO_CLASS

    def __init__(self, described: _native.Datatype, owner: Node | None = None) -> None:
        self._described, self._owner, self._is_locked = described, owner, False

    @property
    def described(self) -> _native.Datatype:
        """How one element is stored."""
        return self._described

    @property
    def owner(self) -> Node | None:
        """The object of a file that it is, if it is committed."""
        return self._owner

    @property
    def name(self) -> bytes | None:
        """The path of a committed datatype."""
        return None if self._owner is None else path_of(self._owner)

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

    def set_size(self, size: int) -> None:
        """Sets the bytes of an element."""
        self._change(self._resized(size))

    def _resized(self, size: int) -> _native.Datatype:
        raise InvalidTypeError(f"the size of a {self._described.class_name} cannot be set")

    def get_order(self) -> int:
        """The byte order."""
        return _ORDERS[self._order()]

    def _order(self) -> str:
        return getattr(self._described, "order", "<")

    def get_super(self) -> TypeID:
        """The base type."""
        return of_description(self._described.base)

    def copy(self) -> TypeID:
        """A datatype that can be changed."""
        return type(self)(self._described)

    def lock(self) -> None:
        """Makes it constant."""
        self._is_locked = True

    def _change(self, described: _native.Datatype) -> None:
        if self._is_locked or self._owner is not None:
            raise InvalidTypeError("this datatype is constant: change a copy of it")
        self._described = described

    def commit(self, space: Any, name: bytes | str, lcpl: object = None) -> None:
        """Gives it a name in a file, which it is from then on.

        Args:
            space: The identifier of a group.
            name: The path.
            lcpl: How the link is created.
        """
        committed = space.commit_datatype(name, self._described, lcpl)
        self._owner = committed

    def committed(self) -> bool:
        """Whether it is an object of the file."""
        return self._owner is not None

    def equal(self, other: TypeID) -> bool:
        """Whether both are the same datatype."""
        return self == other

    def detect_class(self, tclass: int) -> bool:
        """Whether it is of a class, or has parts of it."""
        parts = [base] if isinstance(base := getattr(self._described, "base", None), _native.Datatype) else []
        if self.code == COMPOUND:
            parts = [member for _, _, member in self._described.fields]
        return self.code == tclass or any(of_description(part).detect_class(tclass) for part in parts)

    def is_variable_str(self) -> bool:
        """Whether it is text of variable length."""
        return self._described.class_name == "variable string"

    def close(self) -> None:
        """Does nothing."""

    @property
    def valid(self) -> bool:
        """Whether the file of a committed datatype is open."""
        return self._owner is None or bool(self._owner)

    def __bool__(self) -> bool:
        return self.valid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeID) and self.code == other.code and self._described == other._described

    def __hash__(self) -> int:
        return hash(self._described)


class TypeAtomicID(TypeID):
    """A datatype without parts."""

    def set_order(self, order: int) -> None:
        """Sets the byte order."""
        self._change(self._made(order=_name_of(_ORDERS, order, "order")))

    def get_precision(self) -> int:
        """Number of significant bits."""
        return 8 * self._described.size

    def get_offset(self) -> int:
        """Number of the lowest significant bit."""
        return 0

    def _resized(self, size: int) -> _native.Datatype:
        return self._made(size=size)

    def _made(self, **changed: Any) -> _native.Datatype:
        raise InvalidTypeError(f"a {self._described.class_name} cannot be changed")


class TypeIntegerID(TypeAtomicID):
    """An integer."""

    code = INTEGER

    def get_sign(self) -> int:
        """`SGN_2` with a sign, else `SGN_NONE`."""
        return SGN_2 if self._described.signed else SGN_NONE

    def set_sign(self, sign: int) -> None:
        """Sets whether it has a sign."""
        self._change(self._made(signed=_name_of({"": SGN_NONE, "signed": SGN_2}, sign, "sign") == "signed"))

    def get_precision(self) -> int:
        """Number of significant bits."""
        return self._described.bit_precision

    def set_precision(self, precision: int) -> None:
        """Sets the number of significant bits."""
        self._change(self._made(bit_precision=precision))

    def get_offset(self) -> int:
        """Number of the lowest significant bit."""
        return self._described.bit_offset

    def set_offset(self, offset: int) -> None:
        """Sets the number of the lowest significant bit."""
        self._change(self._made(bit_offset=offset))

    def _made(self, **changed: Any) -> _native.Datatype:
        was = self._described
        given = {"size": was.size, "signed": was.signed, "order": was.order, "bit_offset": was.bit_offset, "bit_precision": was.bit_precision}
        if "size" in changed:
            given["bit_offset"], given["bit_precision"] = 0, 8 * changed["size"]
        return _native.Datatype.integer(**{**given, **changed})


class TypeFloatID(TypeAtomicID):
    """A floating-point number."""

    code = FLOAT

    def get_precision(self) -> int:
        """Number of significant bits."""
        return self._described.layout.bit_precision

    def get_fields(self) -> tuple[int, int, int, int, int]:
        """Places and sizes: of the sign, of the exponent (two numbers) and of the mantissa (two numbers)."""
        found = self._described.layout
        return found.sign_location, found.exponent_location, found.exponent_size, found.mantissa_location, found.mantissa_size

    def set_fields(self, spos: int, epos: int, esize: int, mpos: int, msize: int) -> None:
        """Sets what `get_fields` returns."""
        self._change_layout(sign_location=spos, exponent_location=epos, exponent_size=esize, mantissa_location=mpos, mantissa_size=msize)

    def get_ebias(self) -> int:
        """What is added to exponents."""
        return self._described.layout.exponent_bias

    def set_ebias(self, ebias: int) -> None:
        """Sets what is added to exponents."""
        self._change_layout(exponent_bias=ebias)

    def get_norm(self) -> int:
        """How mantissas are normalized."""
        return _NORMS[self._described.layout.mantissa]

    def set_norm(self, norm: int) -> None:
        """Sets how mantissas are normalized."""
        self._change_layout(mantissa=_name_of(_NORMS, norm, "norm"))

    def _change_layout(self, **changed: Any) -> None:
        was = self._described.layout
        given = {name: getattr(was, name) for name in _LAYOUT}
        self._change(self._made(layout=_native.FloatLayout(**{**given, **changed})))

    def _made(self, **changed: Any) -> _native.Datatype:
        was = self._described
        return _native.Datatype.float(**{"size": was.size, "order": was.order, "layout": was.layout, **changed})


#: The parts of the layout of a float.
_LAYOUT = (
    *("bit_offset", "bit_precision", "sign_location", "exponent_location", "exponent_size"),
    *("mantissa_location", "mantissa_size", "exponent_bias", "mantissa"),
)


class TypeComplexID(TypeID):
    """A complex number of HDF5's own class, which is described as the compound of its parts."""

    code = COMPLEX

    def _order(self) -> str:
        return self._described.fields[0][2].order

    def get_super(self) -> TypeID:
        """The datatype of a part."""
        return of_description(self._described.fields[0][2])


class TypeStringID(TypeID):
    """Text."""

    code = STRING

    def get_cset(self) -> int:
        """The character set."""
        return CSET_UTF8 if self._described.utf8 else CSET_ASCII

    def set_cset(self, cset: int) -> None:
        """Sets the character set."""
        self._change(self._made(utf8=_name_of({"": CSET_ASCII, "utf8": CSET_UTF8}, cset, "cset") == "utf8"))

    def get_strpad(self) -> int:
        """The padding."""
        return _PADDINGS[self._described.padding]

    def set_strpad(self, pad: int) -> None:
        """Sets the padding."""
        self._change(self._made(padding=_name_of(_PADDINGS, pad, "pad")))

    def _resized(self, size: int) -> _native.Datatype:
        return self._made(size=size)

    def _made(self, **changed: Any) -> _native.Datatype:
        was = self._described
        given = {"padding": was.padding, "utf8": was.utf8, **changed}
        size = given.pop("size", VARIABLE if self.is_variable_str() else was.size)
        return _native.Datatype.variable_string(**given) if size == VARIABLE else _native.Datatype.string(size, **given)


class TypeBitfieldID(TypeAtomicID):
    """Bits."""

    code = BITFIELD

    def _made(self, **changed: Any) -> _native.Datatype:
        return _native.Datatype.bitfield(**{"size": self._described.size, "order": self._described.order, **changed})


class TypeTimeID(TypeAtomicID):
    """A time."""

    code = TIME

    def _made(self, **changed: Any) -> _native.Datatype:
        return _native.Datatype.time(**{"size": self._described.size, "order": self._described.order, **changed})


class TypeOpaqueID(TypeID):
    """Bytes without a meaning."""

    code = OPAQUE

    def get_tag(self) -> bytes:
        """The tag."""
        return stored(self._described.tag)

    def set_tag(self, tag: bytes) -> None:
        """Sets the tag."""
        self._change(_native.Datatype.opaque(self._described.size, tag.decode("utf-8", "surrogateescape")))

    def _resized(self, size: int) -> _native.Datatype:
        return _native.Datatype.opaque(size, self._described.tag)


class TypeReferenceID(TypeID):
    """References."""

    code = REFERENCE


class TypeCompositeID(TypeID):
    """A datatype with members."""

    def _names(self) -> list[bytes]:
        """The names of the members."""
        raise NotImplementedError

    def get_nmembers(self) -> int:
        """Number of members."""
        return len(self._names())

    def get_member_name(self, member: int) -> bytes:
        """Name of a member."""
        return self._names()[member]

    def get_member_index(self, name: bytes) -> int:
        """Number of the member of this name."""
        return self._names().index(name)


class TypeCompoundID(TypeCompositeID):
    """A compound."""

    code = COMPOUND

    def _names(self) -> list[bytes]:
        return [stored(name) for name, _, _ in self._described.fields]

    def get_member_offset(self, member: int) -> int:
        """Offset of a member in bytes."""
        return self._described.fields[member][1]

    def get_member_type(self, member: int) -> TypeID:
        """Datatype of a member."""
        return of_description(self._described.fields[member][2])

    def get_member_class(self, member: int) -> int:
        """Class of a member's datatype."""
        return self.get_member_type(member).get_class()

    def insert(self, name: bytes, offset: int, field: TypeID) -> None:
        """Adds a member."""
        member = (name.decode("utf-8", "surrogateescape"), offset, field.described)
        self._change(_native.Datatype.compound(self._described.size, [*self._described.fields, member]))

    def pack(self) -> None:
        """Removes the bytes between members."""
        packed, size = [], 0
        for name, _, member in sorted(self._described.fields, key=lambda field: field[1]):
            packed.append((name, size, member))
            size += member.size
        self._change(_native.Datatype.compound(size, packed))

    def _resized(self, size: int) -> _native.Datatype:
        return _native.Datatype.compound(size, self._described.fields)


class TypeEnumID(TypeCompositeID):
    """An enumeration."""

    code = ENUM

    def _order(self) -> str:
        return self._described.base.order

    def _names(self) -> list[bytes]:
        return [stored(name) for name, _ in self._described.values]

    def get_member_value(self, member: int) -> int:
        """The value of a name."""
        return self._described.values[member][1]

    def enum_insert(self, name: bytes, value: int) -> None:
        """Adds a name."""
        named = (name.decode("utf-8", "surrogateescape"), int(value))
        self._change(_native.Datatype.enum(self._described.base, [*self._described.values, named]))

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
    "time": TypeTimeID,
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
    """The datatype that stores a dtype.

    Args:
        dtype: The dtype.
        logical: Whether it is for a file, not for memory.
        aligned: Whether members lie where a compiler aligns them.

    Raises:
        InvalidTypeError: It is for a file, and members of variable length do not lie there as in numpy's memory.
    """
    if logical and _is_aligned_with_pointers(np.dtype(dtype)):
        raise InvalidTypeError(f"{dtype} is aligned for numpy's memory, and its members of variable length take other room in a file")
    if not logical and np.dtype(dtype).kind in "iu":
        # In memory, the values of an enumeration are integers.
        dtype = np.dtype(dtype).str
    made = of_description(dtype_encoding.of_dtype(dtype))
    return _aligned(made, np.dtype(dtype)) if np.dtype(dtype).isalignedstruct else made


def _is_aligned_with_pointers(dtype: AnyDtype) -> bool:
    """Whether it is a structure with a layout of its own that has sequences, whose pointers are larger in HDF5's memory."""
    return dtype.isalignedstruct and any(dtype[name].hasobject and check_vlen_dtype(dtype[name]) not in (None, str, bytes) for name in dtype.names or ())


def _aligned(made: TypeID, dtype: AnyDtype) -> TypeID:
    """A compound whose members lie where they lie in numpy's memory."""
    assert dtype.fields is not None
    fields = [(name, int(dtype.fields[name][1]), member) for name, _, member in made.described.fields]
    return of_description(_native.Datatype.compound(dtype.itemsize, fields))


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


def check_complex_dtype(dt: Any) -> AnyDtype | None:
    """The dtype of complex numbers, also of those that are a compound of two floats; `None` for other dtypes."""
    if dt.kind == "c":
        return dt  # type: ignore[no-any-return]
    names, parts = dt.names, {} if dt.fields is None else dt.fields
    if names != COMPLEX_NAMES or parts["r"][0] != parts["i"][0] or parts["r"][0].kind != "f":
        return None
    part = parts["r"][0]
    made: AnyDtype = np.dtype(f"{part.byteorder}c{2 * part.itemsize}")
    return made


def complex_compat_dtype(dt: DtypeLike) -> AnyDtype:
    """The compound of two floats as which a complex number is stored."""
    given = np.dtype(dt)
    if given.kind != "c":
        raise InvalidTypeError(f"{given} is not a complex number")
    part = np.dtype(f"{given.byteorder}f{given.itemsize // 2}")
    made: AnyDtype = np.dtype([(name, part) for name in COMPLEX_NAMES])
    return made


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


def create(classtype: int, size: int) -> TypeID:
    """A new compound, opaque datatype, text or enumeration of some bytes."""
    if classtype == COMPOUND:
        return TypeCompoundID(_native.Datatype.compound(size, []))
    if classtype == OPAQUE:
        return TypeOpaqueID(_native.Datatype.opaque(size))
    if classtype == STRING:
        made = C_S1.copy()
        made.set_size(size)
        return made
    raise InvalidInputError(f"classtype={classtype}: give COMPOUND, OPAQUE or STRING; other datatypes are copies of the constants")


def enum_create(base: TypeID) -> TypeEnumID:
    """A new enumeration without names."""
    return TypeEnumID(_native.Datatype.enum(base.described, []))


def array_create(base: TypeID, dims_tpl: Sequence[int]) -> TypeArrayID:
    """A datatype of arrays."""
    return TypeArrayID(_native.Datatype.array(base.described, list(dims_tpl)))


def vlen_create(base: TypeID) -> TypeVlenID:
    """A datatype of sequences of variable length."""
    return TypeVlenID(_native.Datatype.sequence(base.described))


def open(group: Any, name: bytes, tapl: object = None) -> TypeID:
    """The committed datatype at a path."""
    found = group.node_at(name).id
    if not isinstance(found, TypeID):
        raise InvalidTypeError(f"{name!r} is not a committed datatype")
    return found


def _constants() -> dict[str, TypeID]:
    """The datatypes that h5py names."""
    native = "<" if sys.byteorder == "little" else ">"
    found: dict[str, TypeID] = {}
    for order, letters in (("<", "LE"), (">", "BE")):
        for size in (1, 2, 4, 8):
            found[f"STD_I{8 * size}{letters}"] = TypeIntegerID(_native.Datatype.integer(size, True, order))
            found[f"STD_U{8 * size}{letters}"] = TypeIntegerID(_native.Datatype.integer(size, False, order))
            found[f"STD_B{8 * size}{letters}"] = TypeBitfieldID(_native.Datatype.bitfield(size, order))
        for size in (2, 4, 8):
            part = _native.Datatype.float(size, order)
            found[f"IEEE_F{8 * size}{letters}"] = TypeFloatID(part)
            found[f"COMPLEX_IEEE_F{8 * size}{letters}"] = _complex_of(part)
        for size in (4, 8):
            found[f"UNIX_D{8 * size}{letters}"] = TypeTimeID(_native.Datatype.time(size, order))
    letters = "LE" if native == "<" else "BE"
    for size in (1, 2, 4, 8):
        found[f"NATIVE_INT{8 * size}"], found[f"NATIVE_UINT{8 * size}"] = found[f"STD_I{8 * size}{letters}"], found[f"STD_U{8 * size}{letters}"]
        found[f"NATIVE_B{8 * size}"] = found[f"STD_B{8 * size}{letters}"]
    for name, size in (("FLOAT16", 2), ("FLOAT", 4), ("DOUBLE", 8)):
        found[f"NATIVE_{name}"] = found[f"IEEE_F{8 * size}{letters}"]
    found["NATIVE_FLOAT_COMPLEX"], found["NATIVE_DOUBLE_COMPLEX"] = found[f"COMPLEX_IEEE_F32{letters}"], found[f"COMPLEX_IEEE_F64{letters}"]
    extended = nonstandard_numbers.extended()
    if extended is not None:
        found["NATIVE_LDOUBLE"] = found["LDOUBLE_LE"] = TypeFloatID(extended)
        found["NATIVE_LDOUBLE_COMPLEX"] = _complex_of(extended)
    found["C_S1"] = TypeStringID(_native.Datatype.string(1))
    found["FORTRAN_S1"] = TypeStringID(_native.Datatype.string(1, "space_padded"))
    found["STD_REF_OBJ"] = TypeReferenceID(_native.Datatype.reference("object", 8))
    found["STD_REF_DSETREG"] = TypeReferenceID(_native.Datatype.reference("region", 12))
    for constant in found.values():
        constant.lock()
    return found


def _complex_of(part: _native.Datatype) -> TypeComplexID:
    return TypeComplexID(_native.Datatype.compound(2 * part.size, [("r", 0, part), ("i", part.size, part)]))


ORDER_NATIVE = ORDER_LE if sys.byteorder == "little" else ORDER_BE
_CONSTANTS = _constants()
C_S1 = _CONSTANTS["C_S1"]
globals().update(_CONSTANTS)

__getattr__ = missing_from("h5py.h5t")
