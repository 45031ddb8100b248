"""Stamps: which version of a file a catalog has read."""

from __future__ import annotations

from typing import NamedTuple

from .. import _native


class Stamp(NamedTuple):
    """What tells one version of a file from another.

    Attributes:
        file_bytes: Its length.
        modified: Time of its last change, in nanoseconds since 1970; `None` if a store does not say.
        version: Entity tag of an object in a store; `None` for local files, and for web servers that give none.
    """

    file_bytes: int
    modified: int | None
    version: str | None

    def is_of(self, other: Stamp) -> bool:
        """Whether both are certainly of one version."""
        if self.version is not None and other.version is not None:
            # Listings of some stores have no quotes.
            return self.file_bytes == other.file_bytes and self.version.strip('"') == other.version.strip('"')
        return self.modified is not None and (self.file_bytes, self.modified) == (other.file_bytes, other.modified)


def of_path(path: str) -> Stamp | None:
    """The stamp of a local file; `None` if there is none."""
    found = _native.path_stamp(path)
    return None if found is None else Stamp(*found, None)


def of_opened(file: _native.File) -> Stamp:
    """The stamp of the version that was opened, at an address."""
    _, _, file_bytes, modified, version = file.origin()
    return Stamp(file_bytes, modified, version)


class Listings:
    """Stamps of objects, from listings of the folders that they lie in: one for each folder."""

    def __init__(self, opener: _native.Session) -> None:
        self._opener = opener
        self._folders: dict[str, dict[str, Stamp]] = {}

    def stamp(self, address: str) -> Stamp | None:
        """The stamp of an object; `None` if it is not there, or if its server does not list files."""
        if address.lower().startswith("http"):
            return None
        folder = address.rpartition("/")[0] + "/"
        if folder not in self._folders:
            self._folders[folder] = {name: Stamp(size, None, tag) for name, size, tag in self._opener.list_objects(folder)}
        return self._folders[folder].get(address)
