"""Machines and scenarios as text (TOML) to frozen dataclasses. Each error names the file and the key."""

from __future__ import annotations

import dataclasses
import difflib
import re
import sys
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.arguments import unknown_choice
from ..base.errors import InvalidInputError, MissingFileError
from ..base.extras import require

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ..base.type_aliases import JsonObject

T = TypeVar("T", bound="DataclassInstance")


def quantity(source: str, *, above: float | None = None, least: float | None = None, most: float | None = None, default: object = dataclasses.MISSING) -> Any:
    """A field of a dataclass: its meaning or source, and the range of its values."""
    return dataclasses.field(default=default, metadata={"about": source, "above": above, "least": least, "most": most})


def choice(about: str, *names: str, default: object = dataclasses.MISSING) -> Any:
    """A field that is one of a few names."""
    return dataclasses.field(default=default, metadata={"about": about, "names": names})


def parse(text: bytes, file: str) -> JsonObject:
    """The tables of a TOML document.

    Raises:
        InvalidInputError: It is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        require("simulating", "simulate", "tomli")
        import tomli as tomllib
    try:
        tables: JsonObject = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} is not TOML: {error}") from None
    return tables


def read(path: str) -> JsonObject:
    """The tables of a TOML file.

    Raises:
        MissingFileError: The file does not exist.
        InvalidInputError: It is not TOML.
    """
    try:
        with open(path, "rb") as file:
            return parse(file.read(), path)
    except (FileNotFoundError, IsADirectoryError):
        raise MissingFileError(f"{path}: no such file") from None


def build(kind: type[T], table: object, file: str, prefix: str = "") -> T:
    """Makes a dataclass of a table.

    Raises:
        InvalidInputError: A key is unknown or missing, or a value has the wrong type or is out of range.
    """
    if not isinstance(table, Mapping):
        raise InvalidInputError(f"{file}: '{prefix.rstrip('.')}' is not a table of keys")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    types = typing.get_type_hints(kind)
    for key in table:
        if key not in fields:
            near = difflib.get_close_matches(key, fields, 1)
            hint = f"; did you mean '{prefix}{near[0]}'?" if near else f"; known: {', '.join(fields)}"
            raise InvalidInputError(f"{file}: unknown key '{prefix}{key}'{hint}")
    values: dict[str, object] = {}
    for name, field in fields.items():
        if name in table:
            values[name] = _value(table[name], types[name], field, file, f"{prefix}{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InvalidInputError(f"{file}: key '{prefix}{name}' is missing: {field.metadata.get('about', 'a table')}")
    return kind(**values)


def _value(given: object, kind: type[Any], field: dataclasses.Field[Any], file: str, key: str) -> object:
    if dataclasses.is_dataclass(kind):
        return build(kind, given, file, f"{key}.")
    about = field.metadata
    if names := about.get("names"):
        if given not in names:
            raise InvalidInputError(f"{file}: {unknown_choice(key, given, names)}")
        return given
    if kind is str or kind is bool:
        if not isinstance(given, kind):
            raise InvalidInputError(f"{file}: '{key}' is {given!r}; give {'a text' if kind is str else 'true or false'}")
        return given
    if isinstance(given, str) and key.endswith("_bytes"):
        given = _bytes(given, file, key)
    wanted = "a whole number" if kind is int else "a number"
    if isinstance(given, bool) or not isinstance(given, (int, float)) or (kind is int and given != int(given)):
        raise InvalidInputError(f"{file}: '{key}' is {given!r}; give {wanted}")
    above, least, most = about["above"], about["least"], about["most"]
    if not (given == given and abs(given) < 1e300) or (above is not None and given <= above) or (least is not None and given < least):
        raise InvalidInputError(f"{file}: '{key}' is {given!r}; give {wanted} {f'above {above:g}' if above is not None else f'of at least {least or 0:g}'}")
    if most is not None and given > most:
        raise InvalidInputError(f"{file}: '{key}' is {given!r}; give {wanted} of at most {most:g}")
    return kind(given)


_UNITS: dict[str, int] = {"": 1, "b": 1} | {
    f"{letter}{end}": base**power for power, letter in enumerate("kmgtp", 1) for end, base in (("b", 1000), ("ib", 1024))
}


def _bytes(text: str, file: str, key: str) -> float:
    """`"2.2 TB"` and `"64 MiB"` as bytes."""
    found = re.fullmatch(r"\s*([0-9.eE+]+)\s*([a-zA-Z]*)\s*", text)
    try:
        if found is None:
            raise ValueError
        return float(found[1]) * _UNITS[found[2].lower()]
    except (ValueError, KeyError):
        raise InvalidInputError(f"{file}: '{key}' is {text!r}; give bytes, as in 64MiB or 2.2TB") from None
