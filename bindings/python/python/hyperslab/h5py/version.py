"""As `h5py.version`: the version of h5py whose interface this is."""

from __future__ import annotations

from typing import NamedTuple

from .._native import __version__ as hyperslab_version
from .h5 import get_libversion


class _Version(NamedTuple):
    major: int
    minor: int
    bugfix: int
    pre: str | None
    post: str | None
    dev: str | None


version_tuple = _Version(3, 16, 0, None, None, None)
version = "3.16.0"
hdf5_version_tuple = hdf5_built_version_tuple = get_libversion()
hdf5_version = ".".join(map(str, hdf5_version_tuple))
api_version_tuple = (1, 8)
api_version = "1.8"
info = f"h5py {version} as Hyperslab {hyperslab_version} reads it, without the HDF5 library"
