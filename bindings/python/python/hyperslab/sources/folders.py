"""Folders: the files of HDF5 and netCDF below a folder, by their relative names, and what may be meant by a path that leads to no file."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
from collections.abc import Iterator

from ..base.errors import Error, IoError, MissingFileError

#: Where a file of HDF5 may have its signature: at the beginning, or after a user block (MATLAB's has 512 bytes).
_SIGNATURE, _PLACES = b"\x89HDF\r\n\x1a\n", (0, 512, 1024, 2048)
_NETCDF_VERSIONS = (b"\x01", b"\x02", b"\x05")
#: Names of a folder that are compared with a missing one.
_MAX_NAMES = 10_000


def is_hdf5(path: str) -> bool:
    """Whether a file has the signature of HDF5."""
    try:
        with open(path, "rb") as raw:
            head = raw.read(_PLACES[-1] + len(_SIGNATURE))
    except OSError:
        return False
    return any(head[place : place + len(_SIGNATURE)] == _SIGNATURE for place in _PLACES)


def is_netcdf3(path: str) -> bool:
    """Whether a file has the signature of netCDF classic."""
    try:
        with open(path, "rb") as raw:
            head = raw.read(4)
    except OSError:
        return False
    return head[:3] == b"CDF" and head[3:] in _NETCDF_VERSIONS


def is_shown(path: str) -> bool:
    """Whether a file is one of HDF5 or netCDF. Pipes and devices are not opened."""
    return os.path.isfile(path) and (is_hdf5(path) or is_netcdf3(path))


def is_container(folder: str) -> bool:
    """Whether a folder is a container of the VOL connector."""
    return os.path.isfile(os.path.join(folder, "catalog.arrow"))


def files_below(folder: str) -> Iterator[str]:
    """Files of HDF5 and netCDF below a folder, in the order of names. Links are not followed, and hidden ones are left out."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(here, name)
            if not name.startswith(".") and not os.path.islink(path) and is_shown(path):
                yield path


def missing(error: IoError | MissingFileError, name: str) -> Error:
    """The error of opening a local path, with what to do if that is known: the path of an object does not belong to the path of its
    file, or a file in the same folder has nearly that name."""
    if not isinstance(error, MissingFileError) and error.errno != errno.ENOTDIR:
        return error
    file, inner = _split(name)
    if inner:
        said = f"{os.path.basename(file)} is a file: give the path of an object apart from it, as hs.open({file!r})[{inner!r}] or hyperslab info {file} {inner}"
        return MissingFileError(said, name)
    near = _nearest(name)
    return MissingFileError(f"{error.message}; nearest: {near}", name) if near else error


def _split(name: str) -> tuple[str, str]:
    """The file that a path goes on from, and the rest: of `run.h5/x` and `run.h5:/x`."""
    end = len(name)
    while (end := max(name.rfind("/", 0, end), name.rfind(":", 0, end))) > 0:
        if os.path.isfile(name[:end]):
            return name[:end], "/" + name[end + 1 :].strip("/")
    return name, ""


def _nearest(name: str) -> str:
    folder, base = os.path.split(name)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in itertools.islice(entries, _MAX_NAMES)]
    except OSError:
        return ""
    return next((os.path.join(folder, near) for near in difflib.get_close_matches(base, names, 1, 0.75)), "")
