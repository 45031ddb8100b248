"""As `h5py._hl.files`: open files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from ... import _native, file
from ...errors import InvalidInputError, UnsupportedError
from .. import h5f
from .._missing import unsupported
from .._objects import ObjectID
from .base import HLObject
from .dataset import Dataset
from .datatype import Datatype
from .group import Group

#: Arguments of `hyperslab.open` for every file: links lead where they lead in h5py, and missing sources of virtual datasets are
#: the fill value, as in h5py.
open_options: dict[str, Any] = {"paths": "anywhere", "missing_sources": "fill"}

_DRIVERS = (None, "sec2", "stdio", "core", "direct", "split", "family")


class NotHdf5Error(InvalidInputError, OSError):
    """A file is not HDF5, which h5py reports as an `OSError`."""

    __str__ = InvalidInputError.__str__


class File(Group, file.File):
    """An open file, with h5py's names and values."""

    _id_class = h5f.FileID
    #: Opens a file in a mode other than `r`. `editing`, which is above this module, provides it.
    _in_other_mode: ClassVar[Callable[..., Any]]

    def __new__(cls, name: Any = None, mode: str = "r", *options: Any, **more: Any) -> Any:
        if mode != "r" and cls is File:
            return File._in_other_mode(name, mode, *options, **more)
        return super().__new__(cls)

    def __init__(
        self, name: Any, mode: str = "r", driver: str | None = None, libver: Any = None, userblock_size: int | None = None, swmr: bool = False, **_: Any
    ) -> None:
        if driver not in _DRIVERS:
            raise UnsupportedError(f"the file driver {driver!r}", str(name))
        self._swmr, self._driver = swmr, driver or "sec2"
        if isinstance(name, ObjectID):
            name = name._file
        file.File.__init__(self, name if isinstance(name, _native.File) else self._opened(name))

    @staticmethod
    def _opened(name: Any) -> _native.File:
        path = name if hasattr(name, "read") else [os.fspath(name)]
        try:
            return file.open(path, format="hdf5", **open_options).files[0]._file
        except InvalidInputError as error:
            if not isinstance(error, OSError):
                raise NotHdf5Error(error.message, error.file, error.object, error.offset) from None
            raise

    @classmethod
    def _of(cls, native: _native.File) -> File:
        return File(native)

    @classmethod
    def in_memory(cls, file_image: Any = None, **_: Any) -> Any:
        """Raises `UnsupportedError`."""
        raise UnsupportedError("files in memory")

    @property
    def driver(self) -> str:
        """The driver that was asked for; files are read without one."""
        return self._driver

    @property
    def libver(self) -> tuple[str, str]:
        """The versions of HDF5's format that are read."""
        return ("earliest", "v200")

    @property
    def meta_block_size(self) -> int:
        """HDF5's default; it concerns writing only."""
        return 2048

    @property
    def swmr_mode(self) -> bool:
        """Whether it was opened with `swmr=True`."""
        return self._swmr

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._file,)

    def __enter__(self) -> File:
        return self

    def __repr__(self) -> str:
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode})>' if self else "<Closed HDF5 file>"


HLObject._classes = {"dataset": Dataset, "datatype": Datatype, "group": Group, "file": File}

register_driver = unsupported("register_driver")
unregister_driver = unsupported("unregister_driver")


def registered_drivers() -> frozenset[str]:
    """Names of the file drivers that are accepted."""
    return frozenset(name for name in _DRIVERS if name)
