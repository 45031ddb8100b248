"""Shown: the files that a viewer was told to show, and no others."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from .. import file as files
from .. import h5py
from ..errors import Error, ErrorKind, InvalidInputError, MissingFileError
from ..folders import files_below, is_hdf5
from ..serving.inside import path_inside
from ..serving.stamps import Stamp, stamp_of
from .requests import Refused

#: Files that are kept open.
_OPEN = 32
#: Files of a folder that are listed; more are counted, not named.
MAX_NAMES = 10_000


class Shown:
    """Files by the names that requests have for them.

    Args:
        places: Files and folders. Of a folder, all files of HDF5 and netCDF below it are shown, also ones that come later.

    Raises:
        MissingFileError: One of them does not exist.
        InvalidInputError: Two of them have the same name.
    """

    def __init__(self, places: Sequence[str | os.PathLike[str]]) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        for place in places:
            path = os.fspath(place)
            if not os.path.exists(path):
                raise MissingFileError("No such file or directory", path)
            real = os.path.realpath(path)
            kind = self._folders if os.path.isdir(real) else self._files
            name = os.path.basename(os.path.abspath(path))
            if kind.get(name, real) != real or (self._files | self._folders).get(name, real) != real:
                raise InvalidInputError(f"two of the files are called '{name}': show the folder above them", path)
            kind[name] = real
        self._opened: OrderedDict[str, tuple[Stamp, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """The names of the files, sorted; at most `MAX_NAMES`."""
        found = list(self._files)
        for name, folder in self._folders.items():
            # The name of the only folder says nothing.
            prefix = "" if len(self._folders) == 1 and not self._files else f"{name}/"
            for path in files_below(folder):
                found.append(prefix + os.path.relpath(path, folder).replace(os.sep, "/"))
                if len(found) >= MAX_NAMES:
                    break
        return sorted(found)

    def _path(self, name: str) -> str:
        """Where the file of a name lies.

        Raises:
            Refused: No such file is shown, whether it exists or not.
        """
        if name in self._files:
            return self._files[name]
        refused = Refused(404, f"no file '{name}' is shown here")
        only = len(self._folders) == 1 and not self._files
        for folder_name, folder in self._folders.items():
            if not only and not name.startswith(f"{folder_name}/"):
                continue
            found = path_inside(folder, name if only else name[len(folder_name) + 1 :])
            if found is not None:
                return found
        raise refused

    def open(self, name: str) -> Any:
        """The file of a name; opened again if it has changed. Nothing outside of its folder is opened for its links.

        Raises:
            Refused: It is not shown, or cannot be read.
        """
        path = self._path(name)
        try:
            stamp = stamp_of(path)
        except OSError as error:
            raise Refused(404, f"'{name}' cannot be read: {error.strerror}") from None
        with self._lock:
            if path in self._opened and self._opened[path][0] == stamp:
                self._opened.move_to_end(path)
                return self._opened[path][1]
        try:
            native = files.open([path], format="hdf5" if is_hdf5(path) else None, missing_sources="fill").files[0]._file
            opened = h5py.File(native)
        except Error as error:
            raise Refused(status_of(error), str(error)) from None
        with self._lock:
            self._opened[path] = (stamp, opened)
            while len(self._opened) > _OPEN:
                self._opened.popitem(last=False)
        return opened


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
