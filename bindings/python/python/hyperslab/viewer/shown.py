"""Shown: the files that a viewer was told to show, and no others."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice

from .. import h5py
from ..base.errors import Error, ErrorKind, InvalidInputError, IoError, MissingFileError
from ..base.inside import path_inside
from ..base.stamps import Stamp, stamp_of
from ..files import file as files
from ..files.file import File
from ..objects.native_objects import native_of
from ..sources.addresses import has_magic, is_address, matching
from ..sources.folders import files_below, is_container, is_hdf5
from ..sources.sessions import session
from .requests import Refused

#: Files that are kept open.
_OPEN = 32
#: Files of a folder that are listed; more are counted, not named.
MAX_NAMES = 10_000


class Shown:
    """Files by the names that requests have for them.

    Args:
        places: Files, folders, and addresses of files (`s3://`, `http://` and others; addresses of object stores may be globs). Of a folder,
            all files of HDF5 and netCDF below it are shown, also ones that come later.

    Raises:
        MissingFileError: One of them does not exist.
        InvalidInputError: Two of them have the same name.
    """

    def __init__(self, places: Sequence[str | os.PathLike[str]]) -> None:
        self._given: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        for place in places:
            path = os.fspath(place)
            if is_address(path):
                found = matching(session(), path) if has_magic(path) else [path]
                if not found:
                    raise MissingFileError("no object matches", path)
                for address in found:
                    self._add(self._files, _last_part(address), address)
                continue
            if not os.path.exists(path):
                raise MissingFileError("No such file or directory", path)
            real = os.path.realpath(path)
            self._add(self._folders if os.path.isdir(real) and not is_container(real) else self._files, os.path.basename(os.path.abspath(path)), real)
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._lock = threading.Lock()

    def _add(self, kind: dict[str, str], name: str, path: str) -> None:
        if self._given.get(name, path) != path:
            raise InvalidInputError(f"two of the files are called '{name}': show the folder above them", path)
        kind[name] = self._given[name] = path

    def names(self) -> list[str]:
        """The names of the files in the order in which they were given, those of a folder sorted; at most `MAX_NAMES`."""
        found: list[str] = []
        for name in self._given:
            found += [name] if name in self._files else sorted(islice(self._names_below(name), MAX_NAMES - len(found)))
        return found[:MAX_NAMES]

    def _names_below(self, name: str) -> Iterator[str]:
        # The name of the only folder says nothing.
        folder, prefix = self._folders[name], "" if len(self._folders) == 1 and not self._files else f"{name}/"
        for path in files_below(folder):
            yield prefix + os.path.relpath(path, folder).replace(os.sep, "/")

    def problems(self) -> list[str]:
        """Opens the files that were named, at most `_OPEN` of them.

        Returns:
            Why files cannot be read, one message each. If all is well it is empty.

        Raises:
            Error: None of the files that were named can be read, and there is no folder.
        """
        found: list[Error] = []
        tried = list(self._files.values())[:_OPEN]
        for path in tried:
            try:
                files.open([path], missing_sources="fill")
            except Error as error:
                found.append(error)
        if found and len(found) == len(tried) and not self._folders:
            raise found[0]
        if not self._files and not any(True for folder in self._folders.values() for _ in files_below(folder)):
            return ["there is no file of HDF5 or netCDF yet; the page shows those that come later"]
        return [str(error) for error in found]

    def _path(self, name: str) -> str:
        """Where the file of a name lies.

        Raises:
            Refused: No such file is shown, whether it exists or not.
        """
        if name in self._files:
            return self._files[name]
        refused = Refused(404, f"no file '{name}' is shown here")
        if any(part.startswith(".") for part in name.split("/")):
            raise refused  # hidden files are not listed either
        only = len(self._folders) == 1 and not self._files
        for folder_name, folder in self._folders.items():
            if not only and not name.startswith(f"{folder_name}/"):
                continue
            found = path_inside(folder, name if only else name[len(folder_name) + 1 :])
            if found is not None:
                return found
        raise refused

    def open(self, name: str) -> h5py.File:
        """The file of a name with h5py's interface, plain HDF5 if it is that; opened again if it has changed. Nothing outside of its folder
        is opened for its links.

        Raises:
            Refused: It is not shown, or cannot be read.
        """
        return self._found(name).plain()

    def file(self, name: str) -> File:
        """The same file as `hyperslab.open` opens it, with the conventions of netCDF.

        Raises:
            Refused: It is not shown, or cannot be read.
        """
        return self._found(name).decoded()

    def forget(self, name: str) -> None:
        """Opens the file of a name again with the next request: it has changed."""
        with self._lock:
            self._opened.pop(self._path(name), None)

    def _found(self, name: str) -> _Opened:
        path = self._path(name)
        stamp = None
        if not is_address(path):
            try:
                stamp = stamp_of(path)
            except OSError as error:
                raise Refused(404, f"'{name}' cannot be read: {error.strerror}") from None
        with self._lock:
            known = self._opened.get(path)
            if known is None or known.stamp != stamp:
                known = self._opened[path] = _Opened(path, stamp)
            self._opened.move_to_end(path)
            while len(self._opened) > _OPEN:
                self._opened.popitem(last=False)
        return known


class _Opened:
    """A file that is opened when it is asked for. A file at an address has no stamp: reading it says that it has changed."""

    def __init__(self, path: str, stamp: Stamp | None) -> None:
        self.path, self.stamp = path, stamp
        self._lock = threading.Lock()
        self._plain: h5py.File | None = None
        self._decoded: File | None = None

    def plain(self) -> h5py.File:
        with self._lock:
            if self._plain is None:
                self._plain = h5py.File(native_of(self._open("hdf5").files[0])[0])
            return self._plain

    def decoded(self) -> File:
        with self._lock:
            if self._decoded is None:
                self._decoded = self._open(None)
            return self._decoded

    def _open(self, form: str | None) -> File:
        is_other = form is not None and not is_address(self.path) and not is_hdf5(self.path)
        try:
            return files.open([self.path], format=None if is_other else form, missing_sources="fill")
        except Error as error:
            if form is not None and is_address(self.path) and not isinstance(error, (MissingFileError, IoError)):
                return self._open(None)  # netCDF classic, perhaps: only reading tells what is at an address
            raise Refused(status_of(error), str(error)) from None


def _last_part(address: str) -> str:
    """The name of a file at an address; what follows `?` may be secret."""
    return address.partition("?")[0].rstrip("/").rpartition("/")[2] or address


def status_of(error: Error) -> int:
    """The status of HTTP for an error of ours."""
    return _STATUS.get(error.kind, 500)


_STATUS = {
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.INVALID_INPUT: 422,
    ErrorKind.UNSUPPORTED: 501,
    ErrorKind.LIMIT_EXCEEDED: 413,
    ErrorKind.CONFLICT: 409,
}
