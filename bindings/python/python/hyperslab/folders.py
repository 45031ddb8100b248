"""Folders: the files of HDF5 and netCDF below a folder, by their relative names."""

from __future__ import annotations

import os
from collections.abc import Iterator

#: Where a file of HDF5 may have its signature: at the beginning, or behind a user block (MATLAB's has 512 bytes).
_SIGNATURE, _PLACES = b"\x89HDF\r\n\x1a\n", (0, 512, 1024, 2048)
_NETCDF_VERSIONS = (b"\x01", b"\x02", b"\x05")


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
