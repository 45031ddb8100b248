"""Local path: the path of a local file, as people write it."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from ..base.errors import UnsupportedError
from . import range_readers


def local_path(path: Any) -> str:
    """The local path of a path or `file://` URL; the address of something remote as it is.

    Args:
        path: A path or an address.
    """
    if range_readers.is_file(path):
        name = getattr(path, "name", None)
        hint = repr(name) if isinstance(name, str) else "the path of a file"
        raise TypeError(f"this takes a path, not an open file ({type(path).__name__}): use {hint}")
    if not isinstance(path, (str, bytes, os.PathLike)):
        hint = ": is a variable empty that should have it?" if path is None else ""
        raise TypeError(f"this takes a path, an address or a list of them, not {type(path).__name__}{hint}")
    name = os.fsdecode(path)
    scheme, separator, _ = name.partition("://")
    if separator and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme) and not os.path.exists(name):
        if scheme.lower() != "file":
            return name
        url = urlsplit(name)
        if url.netloc not in ("", "localhost"):
            raise UnsupportedError(f"'{name}': a file of another machine; give a path, or an address such as https://")
        return unquote(url.path)
    return os.path.expanduser(name) if name.startswith("~") and not os.path.exists(name) else name
