"""Sources: what `files` may be in queries and indexes - paths, patterns, open files, or arrays of other libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from .. import _native
from ..base.errors import InvalidInputError, MissingFileError
from ..base.extras import LateModule
from ..base.natural_order import natural_key
from ..base.type_aliases import Path, Paths
from ..files.file import File, FileSet
from ..files.file import open as open_files
from ..files.native_files import natives_of, pattern_of
from ..objects.native_objects import native_of
from ..sources.sessions import session
from ..values.arrays import from_arrays

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = LateModule("pyarrow")

#: A path, a glob, a list of paths, a regular expression, an open file, arrays by name, or an Arrow table.
Files: TypeAlias = Paths | re.Pattern[str] | File | Mapping[str, object] | pa.Table | pa.RecordBatch


class Sources(NamedTuple):
    """Opened files, the glob that named them, and what the groups of a regular expression matched: a name, and its text in each
    file."""

    files: _native.Files | list[_native.File]
    pattern: str | None = None
    captures: Sequence[tuple[str, Sequence[str]]] = ()


def opened(files: Files, threads: int | None = None, index_folder: Path | None = None, indexes: str | None = None) -> Sources:
    """Opens `files`; arrays become a file of the core."""
    folder = None if index_folder is None else os.path.abspath(os.fsdecode(index_folder))
    if isinstance(files, File):
        if folder is None and indexes is None:
            return Sources(natives_of(files), pattern_of(files))
        paths, options = [native.origin()[0] for native in natives_of(files)], tuple(native_of(files)[0].origin()[1][8])
        return Sources(session(threads, index_folder=folder, indexes=indexes, storage_options=options).open(paths), pattern_of(files))
    if holds_arrays(files):
        return Sources([from_arrays(session(threads, index_folder=folder, indexes=indexes), files)])
    if isinstance(files, str) and files.startswith("re:"):
        pattern = files[3:]
        try:
            files = re.compile(pattern)
        except re.error as error:
            raise InvalidInputError(f"{short(pattern)!r} is not a regular expression: {error.msg}") from None
    if isinstance(files, re.Pattern):
        return _matching(files, threads, folder, indexes)
    found = open_files(cast(Paths, files), threads=threads, index_folder=folder, indexes=indexes)
    return Sources(natives_of(found), pattern_of(found) if isinstance(found, FileSet) else None)


def holds_arrays(files: Files) -> bool:
    """Whether they are arrays, and not paths of files with arrays."""
    if isinstance(files, File):  # a mapping of its members, too
        return False
    return isinstance(files, (Mapping, pa.Table, pa.RecordBatch)) or (isinstance(files, (str, os.PathLike)) and os.fsdecode(files).endswith(".parquet"))


def _matching(pattern: re.Pattern[str], threads: int | None, index_folder: str | None = None, indexes: str | None = None) -> Sources:
    """The files whose whole path matches. The folder is what stands before the first special character."""
    plain = re.match(r"[^\\.^$*+?{}\[\]|()]*(?=/)", pattern.pattern)
    folder = plain.group() if plain else "."
    names = sorted((path for path in _below(folder or "/") if pattern.fullmatch(path)), key=natural_key)
    if not names:
        raise MissingFileError(f"no file matches {pattern.pattern}")
    found = [pattern.fullmatch(name) for name in names]
    named = {number: name for name, number in pattern.groupindex.items()}
    captures = [
        (named.get(n, "part" if n == 1 else f"part_{n}"), [match.group(n) or "" if match else "" for match in found]) for n in range(1, pattern.groups + 1)
    ]
    return Sources(natives_of(open_files(names, threads=threads, index_folder=index_folder, indexes=indexes)), None, captures)


def _below(folder: str) -> Iterator[str]:
    for here, _, names in os.walk(folder):
        yield from (os.path.normpath(os.path.join(here, name)) if folder == "." else os.path.join(here, name) for name in names)


def short(text: str) -> str:
    """What a message quotes of a text."""
    return text if len(text) <= 200 else text[:199] + "…"
