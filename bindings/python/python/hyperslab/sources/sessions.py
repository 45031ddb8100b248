"""Sessions: threads, memory, limits and options that open files share."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import TypeAlias

from .. import _native

#: Arguments of `session`, in its order.
Arguments: TypeAlias = tuple[Hashable, ...]


@functools.lru_cache(maxsize=16)
def session(
    threads: int | None = None,
    format: str | None = None,
    paths: str | None = None,
    missing_sources: str | None = None,
    limits: tuple[tuple[str, int], ...] = (),
    index_folder: str | None = None,
    chunk_cache_bytes: int | None = None,
    indexes: str | None = None,
    storage_options: tuple[tuple[str, str], ...] = (),
) -> _native.Session:
    """The session with these options. A process keeps the 16 used last, so that equal options share threads."""
    return _native.Session(threads, format, paths, missing_sources, limits, index_folder, chunk_cache_bytes, indexes, storage_options)
