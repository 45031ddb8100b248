"""Lists of paths: what generators, sets, and arrays or columns of paths name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Set
from typing import Any

from .natural_order import natural_key
from .range_readers import is_file


def listed(paths: Any) -> Any:
    """A list of the paths that an iterable has, a set's in natural order; a path, a file (also one that is open), a list and a mapping as they are.

    Args:
        paths: What a function that opens files takes.
    """
    is_one = isinstance(paths, (str, bytes, os.PathLike, Mapping)) or is_file(paths) or hasattr(paths, "filename")
    if is_one or isinstance(paths, (list, tuple)) or not isinstance(paths, Iterable):
        return paths
    return sorted(paths, key=lambda path: natural_key(os.fsdecode(path))) if isinstance(paths, Set) else list(paths)
