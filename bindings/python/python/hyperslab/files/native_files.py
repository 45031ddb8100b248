"""Native files: what stands behind open files, for rooms that pass them to the core."""

from __future__ import annotations

from .. import _native
from .file import File


def natives_of(file: File) -> _native.Files:
    """The files of the core behind a file or a set of files, for rooms that pass all of them to the core.

    Args:
        file: The file, or the set.

    Returns:
        The files, in order.

    Raises:
        UnsupportedError: The file is being created.
    """
    return file._natives


def pattern_of(file: File) -> str | None:
    """The glob by which files were opened, whose wildcards are columns of tables and variables of queries.

    Args:
        file: The file, or the set.

    Returns:
        The glob; `None` if there is none, or if `**` is in it.
    """
    return file._columns_pattern
