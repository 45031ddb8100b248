"""JLD2 types: what values of Julia without a counterpart in Python become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

#: A value of Julia: numbers and arrays of numpy, text, lists, dictionaries, tuples, sets, and the classes below.
JuliaValue: TypeAlias = Any


class JuliaType(NamedTuple):
    """A type of Julia.

    Attributes:
        name: The name with its module, such as `Core.Array`.
        parameters: The parameters: types, numbers, symbols.
    """

    name: str
    parameters: tuple[JuliaValue, ...] = ()

    @property
    def base(self) -> str:
        """The name without its module."""
        return self.name.rpartition(".")[2]

    def __str__(self) -> str:
        return self.base + (f"{{{', '.join(map(str, self.parameters))}}}" if self.parameters else "")


class Symbol(str):
    """A symbol of Julia, which is text in Python."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f":{self}" if self.isidentifier() else f"Symbol({str.__repr__(self)})"


class JuliaStruct(Mapping[str, JuliaValue]):
    """A value of a struct, by the names of its fields: `s["x"]` or `s.fields["x"]`.

    Attributes:
        type: The type of Julia.
        fields: The values of the fields.
    """

    __slots__ = ("fields", "type")

    def __init__(self, type: JuliaType, fields: dict[str, JuliaValue]) -> None:
        self.type, self.fields = type, fields

    def __getitem__(self, name: str) -> JuliaValue:
        return self.fields[name]

    def __iter__(self) -> Any:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<JuliaStruct {self.type}: {', '.join(self.fields) or 'no fields'}>"


class _Singleton:
    """A value with a single instance, compared by identity."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return self._name


#: Julia's `missing`: a value that is not known. Julia's `nothing` is `None`.
missing = _Singleton("missing")

#: A field or an element that was never assigned.
undef = _Singleton("undef")
