"""JLD2 values: what the datasets of a file mean, by the committed datatypes that name the types of Julia."""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import CorruptError, LimitExceededError, UnsupportedError
from ..base.type_aliases import AnyArray
from ..objects.dataset import Dataset
from ..objects.native_objects import committed_type_of, description_of, native_of, referred
from ..objects.node import Node
from ..values.empty import Empty
from ..values.references import Reference
from .jld2_types import JuliaStruct, JuliaType, JuliaValue, Symbol, missing, undef

#: The digits of `BigInt`, which are stored in base 62.
_DIGITS = {digit: value for value, digit in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")}
#: Elements of an array of values without content, whose extents a damaged file may state as any number.
_MAX_EMPTY = 1 << 20
_DICTIONARIES = ("Dict", "IdDict", "ImmutableDict", "OrderedDict", "SerializedDict")
_TUPLES, _NAMED_TUPLE, _UNION_ELEMENT = ("Tuple", "NTuple"), "NamedTuple", "InlineUnionEl"


class _Stored(NamedTuple):
    """A committed datatype.

    Attributes:
        type: The type of Julia that it stands for.
        written: The type as which values are stored, if that is another.
        fields: The names of fields with the datatypes of those that have one.
        is_empty: Values have no content.
        booleans: The names of fields that are stored as bits, which are booleans in Julia; the empty name is the value itself.
    """

    type: JuliaType
    written: JuliaType | None
    fields: dict[str, _Stored | None]
    is_empty: bool
    booleans: frozenset[str]


class Reader:
    """Reads values of one file. An object is read once: what two references lead to is one value."""

    def __init__(self, file: Node) -> None:
        self._file = file
        self._types: dict[int, _Stored] = {}
        self._values: dict[int, JuliaValue] = {}
        #: Objects that are being read and cannot contain themselves.
        self._open: set[int] = set()

    def read(self, dataset: Node) -> JuliaValue:
        """The value that a dataset holds.

        Args:
            dataset: The dataset, or another object.

        Returns:
            The value.

        Raises:
            CorruptError: The dataset contradicts its type.
            LimitExceededError: Values contain each other more deeply than Python's calls reach.
        """
        try:
            return self._value(dataset)
        except RecursionError:
            raise LimitExceededError("values are nested too deeply: raise sys.setrecursionlimit", self._path, dataset.path) from None
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise CorruptError(f"a value that contradicts its type: {type(error).__name__}: {error}", self._path, dataset.path) from error

    @property
    def _path(self) -> str:
        return str(native_of(self._file)[0].path)

    def _value(self, node: Node) -> JuliaValue:
        number = native_of(node)[1]
        if number in self._values:
            return self._values[number]
        if node.kind == "datatype":
            # A type with a committed datatype of its own is referred to by that.
            return self._stored(node).type
        if not isinstance(node, Dataset):
            raise CorruptError(f"a {node.kind} in the place of a value", self._path, node.path)
        if number in self._open:
            raise UnsupportedError("a value that contains itself in a tuple, a set or the key of a dictionary", self._path, node.path)
        self._open.add(number)
        committed = committed_type_of(node)
        stored = None if committed is None else self._stored(committed)
        if node.shape is None:
            value = self._without_content(node, stored)
        elif node.shape == ():
            value = self._element(node[()], stored, lambda made: self._values.setdefault(number, made))
            if stored is None and "" in _booleans(node):
                value = bool(value)
        else:
            value = self._array(node, stored, number)
        self._open.discard(number)
        return self._values.setdefault(number, value)

    def _without_content(self, dataset: Dataset, stored: _Stored | None) -> JuliaValue:
        """The value of a null dataspace: one without content, or an array of such or of no elements."""
        if "dimensions" not in dataset.attrs:
            return self._empty(stored)
        extents: Any = dataset.attrs["dimensions"]
        shape = tuple(int(extent) for extent in reversed(np.atleast_1d(extents)))
        count = int(np.prod(shape, dtype=object))
        if count > _MAX_EMPTY:
            raise LimitExceededError(f"an array of {count} values without content", self._path, dataset.path)
        return _shaped([self._empty(stored)] * count, shape)

    def _array(self, dataset: Dataset, stored: _Stored | None, number: int) -> JuliaValue:
        """An array, with its dimensions in the order of Julia."""
        values = np.asarray(dataset[()])
        if "" in _booleans(dataset):
            return values.astype(bool).transpose()
        if stored is None and values.dtype.kind in "iufbc":
            return values.transpose()
        if stored is not None:
            quick = _numbers(values, stored)
            if quick is not None:
                return quick.transpose()
        shape = values.shape[::-1]
        items: list[JuliaValue] = [None] * values.size
        made = _shaped(items, shape)
        self._values[number] = made
        read = [self._element(element, stored, None) for element in values.transpose().reshape(-1)]
        if isinstance(made, list):
            made[:] = read
        else:
            made.reshape(-1)[:] = _objects(read)
        return made

    def _element(self, element: Any, stored: _Stored | None, keep: Callable[[JuliaValue], JuliaValue] | None) -> JuliaValue:
        """One value; `keep` takes it before its parts are read, if it may contain itself."""
        if stored is None:
            return self._plain(element)
        if stored.is_empty:
            return self._empty(stored)
        base = (stored.written or stored.type).base
        if isinstance(element, Reference):
            value = self._referred(element)
            return self._written(value, stored) if stored.written is not None else value
        if isinstance(element, np.void) and element.dtype.names is not None:
            return self._compound(element, stored, base, keep)
        if stored.type.base == "Symbol":
            return Symbol(_text(element))
        if stored.type.base == "Char":
            return _character(element)
        if stored.written is not None:
            return self._written(self._plain(element), stored)
        if isinstance(element, np.ndarray) and element.dtype == object:
            return [self._plain(part) for part in element]
        return self._plain(element)

    def _plain(self, element: Any) -> JuliaValue:
        if isinstance(element, Reference):
            return self._referred(element)
        if isinstance(element, Empty):
            return []
        if isinstance(element, bytes):
            return element.decode("utf-8", "surrogateescape")
        if isinstance(element, np.void) and element.dtype.names is not None:
            return JuliaStruct(JuliaType("Any"), {name: self._plain(element[name]) for name in element.dtype.names})
        return element

    def _referred(self, reference: Reference) -> JuliaValue:
        if not reference:
            return undef
        found = referred(self._file, reference)
        return undef if found is None else self._value(found)

    def _compound(self, element: np.void, stored: _Stored, base: str, keep: Callable[[JuliaValue], JuliaValue] | None) -> JuliaValue:
        if base in ("DataType", "Union", "UnionAll"):
            return self._type(element)
        made = JuliaStruct(stored.written or stored.type, {})
        is_container = stored.written is not None or base in (*_TUPLES, _NAMED_TUPLE, "Pair", "Complex", "Rational", "Set", "SubString", _UNION_ELEMENT)
        if keep is not None and not is_container:
            keep(made)
        names = element.dtype.names or ()
        for name, type_of_field in (stored.fields or dict.fromkeys(names)).items():
            # Fields without content have no place in the compound.
            made.fields[name] = self._element(element[name], type_of_field, None) if name in names else self._empty(type_of_field)
            if name in stored.booleans and type_of_field is None:
                made.fields[name] = bool(made.fields[name])
        for name in names:
            if name not in made.fields:
                made.fields[name] = self._element(element[name], None, None)
        value = self._meaning(made, base, stored.type)
        return self._written(value, stored) if stored.written is not None else value

    def _meaning(self, made: JuliaStruct, base: str, type: JuliaType) -> JuliaValue:
        """What a struct of Julia's own types is in Python; other structs as they are."""
        fields = made.fields
        if base in (*_TUPLES, "Pair"):
            return tuple(fields.values())
        if base == _NAMED_TUPLE:
            return dict(fields)
        if base == "Complex" and set(fields) == {"re", "im"}:
            return complex(fields["re"], fields["im"])
        if base == "Rational" and set(fields) == {"num", "den"} and fields["den"] != 0:
            return fractions.Fraction(int(fields["num"]), int(fields["den"]))
        if base == "Set" and isinstance(fields.get("dict"), dict):
            return set(fields["dict"])
        if base == "SubString" and set(fields) == {"string", "offset", "ncodeunits"}:
            start = int(fields["offset"])
            part = fields["string"].encode("utf-8", "surrogateescape")[start : start + int(fields["ncodeunits"])]
            return part.decode("utf-8", "surrogateescape")
        if base == _UNION_ELEMENT:
            number = 0 if fields["mask"] == 0 else 1
            chosen = ("t1", "t2")[number]
            # A part without content is not stored.
            return fields[chosen] if chosen in fields else _singleton(type.parameters[number])
        return made

    def _written(self, value: JuliaValue, stored: _Stored) -> JuliaValue:
        """The value of a type that is stored as another one."""
        base = stored.type.base
        if base in _DICTIONARIES:
            pairs = value["kvvec"] if isinstance(value, JuliaStruct) else value
            try:
                return dict(pairs)
            except TypeError:  # keys that Python cannot hash
                return JuliaStruct(stored.type, {"pairs": pairs})
        if base == "BigInt":
            return _big_integer(value)
        if base == "BigFloat":
            return decimal.Decimal(value)
        if base in _TUPLES:
            return tuple(value)
        if base in ("SimpleVector", "Module"):
            return value
        return JuliaStruct(stored.type, value.fields if isinstance(value, JuliaStruct) else {"value": value})

    def _empty(self, stored: _Stored | None) -> JuliaValue:
        """The value of a type without content."""
        if stored is None:
            return undef
        return _singleton(stored.type)

    def _stored(self, node: Node) -> _Stored:
        """What a committed datatype says."""
        number = native_of(node)[1]
        if number in self._types:
            return self._types[number]
        attributes: Any = node.attrs
        named = next((name for name in ("julia_type", "julia type") if name in attributes), None)
        # The datatype of types describes itself.
        self._types[number] = _Stored(JuliaType("Core.DataType"), None, {}, False, frozenset())
        type = JuliaType("Any") if named is None else self._type(attributes[named])
        written = self._type(attributes["written_type"]) if "written_type" in attributes else None
        names = [str(name) for name in np.atleast_1d(attributes["field_names"])] if "field_names" in attributes else None
        listed = next((name for name in ("field_types", "field_datatypes") if name in attributes), None)
        references: list[Any] = [] if listed is None else list(np.atleast_1d(attributes[listed]))
        if names is None:
            dtype: Any = getattr(node, "dtype", None)
            names = list(getattr(dtype, "names", None) or ())
        types = [self._field(reference) for reference in references] or [None] * len(names)
        if len(types) != len(names):
            raise CorruptError(f"{len(names)} names of fields and {len(types)} types", self._path, node.path)
        self._types[number] = _Stored(type, written, dict(zip(names, types, strict=True)), "empty" in attributes, _booleans(node))
        return self._types[number]

    def _field(self, reference: Any) -> _Stored | None:
        found = referred(self._file, reference) if reference else None
        return None if found is None else self._stored(found)

    def _type(self, value: Any) -> JuliaType:
        """A type of Julia, from the compound that describes it."""
        if not isinstance(value, np.void) or value.dtype.names is None:
            return JuliaType(str(value))
        names = value.dtype.names
        if "name" in names:
            parameters = value["parameters"] if "parameters" in names else ()
            return JuliaType(_text(value["name"]), tuple(self._parts(parameters)))
        if "unionalls" in names:
            return JuliaType("Core.Union", (*self._parts(value["datatypes"]), *self._parts(value["unionalls"])))
        return JuliaType("Core.UnionAll", tuple(self._plain(value[name]) for name in names))

    def _parts(self, parts: Any) -> list[JuliaValue]:
        if isinstance(parts, (Empty, type(None))):
            return []
        return [self._plain(part) for part in np.atleast_1d(parts)]


def _booleans(node: Node) -> frozenset[str]:
    """The names of fields that are stored as bits; the empty name if the values are."""
    datatype: Any = description_of(node)["datatype"]
    if datatype.class_name == "bitfield":
        return frozenset({""})
    if datatype.class_name != "compound":
        return frozenset()
    return frozenset(name for name, _, field in datatype.fields if field.class_name == "bitfield")


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _objects(values: list[JuliaValue]) -> AnyArray:
    made: AnyArray = np.empty(len(values), object)
    for index, value in enumerate(values):
        made[index] = value
    return made


def _shaped(values: list[JuliaValue], shape: tuple[int, ...]) -> JuliaValue:
    """Values in a list, or in an array of objects of several dimensions."""
    return values if len(shape) == 1 else _objects(values).reshape(shape)


def _numbers(values: AnyArray, stored: _Stored) -> AnyArray | None:
    """Arrays whose elements are numbers in Python, too; `None` for others."""
    names = values.dtype.names
    if stored.type.base == "Complex" and stored.written is None and names == ("re", "im") and values.dtype["re"].kind == "f":
        made: AnyArray = np.empty(values.shape, np.result_type(values.dtype["re"], np.complex64))
        made.real, made.imag = values["re"], values["im"]
        return made
    if stored.type.base == _UNION_ELEMENT and names is not None and len(stored.type.parameters) == 2:
        kinds = [parameter.base if isinstance(parameter, JuliaType) else "" for parameter in stored.type.parameters]
        if "Missing" in kinds:
            part = "t2" if kinds[0] == "Missing" else "t1"
            if part in names and values.dtype[part].kind in "iufb":
                is_first = values["mask"] == 0
                masked: AnyArray = np.ma.masked_array(values[part], mask=is_first if kinds[0] == "Missing" else ~is_first)
                return masked
    return None


def _character(element: Any) -> JuliaValue:
    """A `Char`: the bytes of its UTF-8 in the upper end of 32 bits."""
    code = int.from_bytes(element.tobytes() if hasattr(element, "tobytes") else bytes(element), "little")
    return code.to_bytes(4, "big").rstrip(b"\0").decode("utf-8", "surrogateescape") or "\0"


def _big_integer(text: str) -> int:
    digits = text.removeprefix("-")
    number = 0
    for digit in digits:
        number = number * 62 + _DIGITS[digit]
    return -number if text.startswith("-") else number


def _singleton(type: Any) -> JuliaValue:
    base = type.base if isinstance(type, JuliaType) else ""
    known: dict[str, JuliaValue] = {"Nothing": None, "Missing": missing, "Void": None}
    if base in known:
        return known[base]
    if base in _TUPLES:
        return ()
    return JuliaStruct(type if isinstance(type, JuliaType) else JuliaType(str(type)), {})
