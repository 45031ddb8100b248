"""Addresses: files in object stores and on HTTP servers, by `s3://`, `gs://`, `az://`, `abfs://`, `http://` and `https://`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeAlias

from .. import _native
from ..base.errors import InvalidInputError
from ..base.natural_order import natural_key

#: Options of a store as a session takes them.
Options: TypeAlias = tuple[tuple[str, str], ...]

is_address = _native.is_address
shown_address = _native.shown_address

_NESTED = ("config", "client_options")


def absolute(path: str) -> str:
    """The absolute path of a local file; an address as it is."""
    return path if is_address(path) else os.path.abspath(path)


def options_of(given: Mapping[str, object] | None) -> Options:
    """The options of a store by name, as texts: `True` is `true`, and `None` is left out.

    Raises:
        InvalidInputError: A value is neither text, a number nor a truth value.
    """
    options: dict[str, str] = {}
    for name, value in (given or {}).items():
        if name in _NESTED and isinstance(value, Mapping):  # as obstore has them
            options.update(options_of(value))
        elif isinstance(value, bool):
            options[name.lower()] = "true" if value else "false"
        elif isinstance(value, (str, int, float)):
            options[name.lower()] = str(value)
        elif value is not None:
            raise InvalidInputError(f"storage option {name!r} is a {type(value).__name__}: give a text, a number, or True or False")
    return tuple(sorted(options.items()))


def has_magic(address: str) -> bool:
    """Whether an address is a pattern. Those of HTTP servers are none: they have queries, and servers do not list files."""
    return not address.lower().startswith("http") and re.search(r"[*?\[]", address) is not None


def matching(opener: _native.Session, pattern: str) -> list[str]:
    """The addresses of the objects that a pattern matches, in natural order: `*` and `?` stay within a folder, `**/` goes below."""
    folder = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0] + "/"
    matches = re.compile(_expression(pattern)).fullmatch
    return sorted((address for address, _, _ in opener.list_objects(folder) if matches(address)), key=natural_key)


def _expression(pattern: str) -> str:
    parts = []
    for part in re.findall(r"\*\*/|\*+|\?|\[!?\]?[^\]]*\]|.", pattern, re.S):
        if part == "**/":
            parts.append("(?:.*/)?")
        elif part.startswith("*"):
            parts.append("[^/]*")
        elif part == "?":
            parts.append("[^/]")
        elif part.startswith("[") and len(part) > 1:
            inside = part[1:-1].replace("\\", "\\\\")
            parts.append(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
        else:
            parts.append(re.escape(part))
    return "".join(parts)
