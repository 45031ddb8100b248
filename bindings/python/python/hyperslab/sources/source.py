"""Source: what a path, an address, a pattern, a folder, a file object or content is. Every function that opens files asks here."""

from __future__ import annotations

import abc
import glob as globbing
import os
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import IO, TypeAlias

from .. import _native
from ..base.errors import InvalidInputError, IoError, MissingFileError
from ..base.natural_order import matching_paths, natural_key
from ..base.type_aliases import Path, Paths
from .addresses import has_magic, is_address, matching
from .file_objects import CONTENT_NAME, listed, path_or_content
from .folders import files_below, is_container, missing
from .local_path import local_path
from .range_readers import is_file
from .reference_folders import document, is_folder_of_references

#: The files, and the glob that names them.
Opened: TypeAlias = "tuple[_native.Files, str | None]"


class Source(abc.ABC):
    """What a function that opens files was given."""

    @abc.abstractmethod
    def open(self, opener: _native.Session) -> Opened:
        """Opens the files.

        Raises:
            MissingFileError: A file does not exist, or nothing matches.
        """

    @abc.abstractmethod
    def paths(self, opener: _native.Session) -> list[str]:
        """The paths and addresses of the files, which are not opened.

        Raises:
            MissingFileError: Nothing matches.
            InvalidInputError: They have no paths.
        """


@dataclass(frozen=True)
class Content(Source):
    """A file object, a file of fsspec, or the bytes of a file."""

    value: object

    def open(self, opener: _native.Session) -> Opened:
        return _native.Files([self.open_one(opener)]), None

    def open_one(self, opener: _native.Session) -> _native.File:
        """Opens the file."""
        found = path_or_content(self.value)
        if isinstance(found, str):
            return opener.open([found])[0]
        return opener.open_content(CONTENT_NAME, found) if isinstance(found, bytes) else opener.open_reader(*found)

    def paths(self, _: _native.Session) -> list[str]:
        raise InvalidInputError(f"files to join are a glob, a list of paths, or open files, not {type(self.value).__name__}")


@dataclass(frozen=True)
class Location(Source):
    """One file: a local path, or an address of an object store or a server."""

    name: str

    @property
    def is_remote(self) -> bool:
        """Whether it is an address."""
        return is_address(self.name)

    def open(self, opener: _native.Session) -> Opened:
        try:
            return opener.open([self.name]), None
        except (IoError, MissingFileError) as error:
            if self.is_remote:
                raise
            raise missing(error, self.name) from None

    def open_one(self, opener: _native.Session) -> _native.File:
        """Opens the file."""
        return opener.open([self.name])[0]

    def paths(self, _: _native.Session) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class References(Source):
    """A folder of references in kerchunk's Parquet."""

    folder: str

    def open(self, opener: _native.Session) -> Opened:
        # Names are relative to the folder's parent, as they are for a JSON document.
        return _native.Files([opener.open_content(self.folder, document(self.folder))]), None

    def paths(self, _: _native.Session) -> list[str]:
        return [self.folder]


@dataclass(frozen=True)
class Folder(Source):
    """The files of a folder and of those below it."""

    path: str

    def open(self, opener: _native.Session) -> Opened:
        return opener.open(self.paths(opener)), os.path.join(self.path, "**")

    def paths(self, _: _native.Session) -> list[str]:
        found = sorted(files_below(self.path), key=natural_key)
        if not found:
            raise MissingFileError("no file of this folder, or of those below it, is HDF5 or netCDF", self.path)
        return found


@dataclass(frozen=True)
class LocalPattern(Source):
    """A glob of local files."""

    pattern: str

    def open(self, opener: _native.Session) -> Opened:
        folder, name = self._usual()
        natives = None if name is None else opener.open_matching(folder, name)
        natives = opener.open(matching_paths(self.pattern)) if natives is None else natives
        self._check(natives)
        return natives, self.pattern

    def paths(self, _: _native.Session) -> list[str]:
        folder, name = self._usual()
        names = None if name is None else _native.Session.matching(folder, name)
        names = matching_paths(self.pattern) if names is None else names
        self._check(names)
        return names

    def _usual(self) -> tuple[str, str | None]:
        """The folder and the pattern of files of one folder, which the core lists; `None` for other patterns."""
        folder, slash, name = self.pattern.rpartition("/")
        is_usual = not globbing.has_magic(folder) and "[" not in name and "**" not in name and not (slash and not folder)
        return folder, name if is_usual else None

    def _check(self, files: Sized) -> None:
        if not len(files):
            raise MissingFileError(f"no file matches {self.pattern}")


@dataclass(frozen=True)
class RemotePattern(Source):
    """A glob of objects of a store."""

    pattern: str

    def open(self, opener: _native.Session) -> Opened:
        return opener.open(self.paths(opener)), self.pattern

    def paths(self, opener: _native.Session) -> list[str]:
        found = matching(opener, self.pattern)
        if not found:
            raise MissingFileError(f"no object matches {self.pattern}")
        return found


@dataclass(frozen=True)
class Several(Source):
    """A list: its files in order."""

    items: Sequence[Path | IO[bytes]]

    def open(self, opener: _native.Session) -> Opened:
        if not self.items:
            raise MissingFileError("the list of files is empty")
        if any(is_file(item) for item in self.items):
            ones = [Content(item) if is_file(item) else Location(local_path(item)) for item in self.items]
            return _native.Files([one.open_one(opener) for one in ones]), None
        return opener.open([local_path(item) for item in self.items]), None

    def paths(self, opener: _native.Session) -> list[str]:
        return [path for item in self.items for path in classify(item).paths(opener)]


def classify(path: Paths | IO[bytes]) -> Source:
    """What a path, a list, a pattern, an address, a folder, a file object or content is.

    Args:
        path: What `hyperslab.open` takes.

    Returns:
        The source. Nothing has been opened; whether local files exist was asked.

    Raises:
        TypeError: It is none of these.
        UnsupportedError: A `file://` URL names another machine.

    Example:
        >>> classify("run*.h5").paths(session())
    """
    found = listed(path)
    if is_file(found):
        return Content(found)
    if isinstance(found, (list, tuple)):
        return Several(found)
    name = local_path(found)
    if is_address(name):
        return RemotePattern(name) if has_magic(name) else Location(name)
    if globbing.has_magic(name) and not os.path.exists(name):
        return LocalPattern(name)
    if is_folder_of_references(name):
        return References(name)
    return Folder(name) if os.path.isdir(name) and not is_container(name) else Location(name)
