"""As `h5py._hl.files`: open files."""

from __future__ import annotations

import os
from typing import IO, Any, NoReturn

from ... import _native
from ...backends.backend import Backend
from ...base.arguments import wrong_mode
from ...base.errors import ConflictError, InvalidInputError, UnsupportedError
from ...base.type_aliases import OpenOptions, Option, Path
from ...files import file
from ...writing.new_file import creating_of
from ...writing.opening import editing_of, is_existing
from .. import h5f
from .._missing import unsupported
from .._objects import ObjectID
from .base import HLObject
from .dataset import Dataset
from .datatype import Datatype
from .group import Group

#: Arguments of `hyperslab.open` for every file: links lead where they lead in h5py, and missing sources of virtual datasets are
#: the fill value, as in h5py.
open_options: OpenOptions = {"paths": "anywhere", "missing_sources": "fill"}

#: The drivers with which a file can be changed.
_DRIVERS_OF_CHANGES = (None, "sec2", "stdio")
_DRIVERS = (None, "sec2", "stdio", "core", "direct", "split", "family")


def _version(name: str) -> str:
    return "v200" if name == "latest" else name


class NotHdf5Error(InvalidInputError, OSError):
    """A file is not HDF5, which h5py reports as an `OSError`."""

    __str__ = InvalidInputError.__str__


class ExistingFileError(ConflictError, FileExistsError):
    """There is a file of this name already, which h5py reports as a `FileExistsError`."""

    __str__ = ConflictError.__str__


class File(Group, file.File):
    """An open file, with h5py's names and values."""

    _id_class = h5f.FileID

    def __init__(
        self,
        name: Any,
        mode: str = "r",
        driver: str | None = None,
        libver: str | tuple[str, str] | None = None,
        userblock_size: int | None = None,
        swmr: bool = False,
        **more: Option,
    ) -> None:
        if mode not in ("r", "r+", "a", "w", "w-", "x"):
            raise wrong_mode(mode, ("r", "r+", "a", "w", "x"))
        self._libver, self._meta_block_size = libver, int(str(more.pop("meta_block_size", None) or 2048))
        if userblock_size is not None and (not isinstance(userblock_size, int) or isinstance(userblock_size, bool)):
            raise InvalidInputError(f"userblock_size={userblock_size!r}: give a number of bytes")
        if userblock_size and mode == "r":
            raise InvalidInputError("userblock_size is an option of a file that is created or changed")
        if mode not in ("r", "r+") and not (mode == "a" and is_existing(name)):
            self._swmr, self._driver = swmr, driver or "sec2"
            given = {"driver": driver, "swmr": swmr, **more}
            options = {option: given.pop(option) for option in ("alignment", "threads", "track_order", "durable", "storage_options") if option in given}
            strategy = given.pop("fs_strategy", None), given.pop("fs_page_size", None)
            try:
                created = creating_of(name, "x" if mode == "a" else mode, *strategy, libver, given, userblock_size=userblock_size or 0, **options)
            except ConflictError as error:
                raise ExistingFileError(error.message, error.file) from None
            file.File.__init__(self, created)
            return
        if driver not in (_DRIVERS if mode == "r" else _DRIVERS_OF_CHANGES):
            raise UnsupportedError(f"the file driver {driver!r}{'' if mode == 'r' else ' of a file that is changed'}", str(name))
        self._swmr, self._driver = swmr, driver or "sec2"
        if isinstance(name, ObjectID):
            name = name._node._backend
        file.File.__init__(self, name if isinstance(name, (_native.File, Backend)) else _opened(name, mode))
        if userblock_size and self.userblock_size != userblock_size:
            self.close()
            raise InvalidInputError(f"userblock_size={userblock_size}: the file has a user block of another size")

    @classmethod
    def in_memory(cls, file_image: object = None, **_: object) -> NoReturn:
        """Raises `UnsupportedError`."""
        raise UnsupportedError("files in memory")

    @property
    def driver(self) -> str:
        """The driver that was asked for; files are read without one."""
        return self._driver

    @property
    def libver(self) -> tuple[str, str]:
        """The oldest and the newest version of HDF5's format that was asked for; all versions are read."""
        low, high = self._libver if isinstance(self._libver, tuple) else (self._libver or "earliest", "latest")
        return _version(low), _version(high)

    @property
    def meta_block_size(self) -> int:
        """What was asked for, by default HDF5's: nothing here depends on it."""
        return self._meta_block_size

    @property
    def swmr_mode(self) -> bool:
        """Whether it was opened with `swmr=True`."""
        return self._swmr

    def __reduce__(self) -> tuple[type[File], tuple[Backend]]:
        return type(self), (self._backend,)

    def __repr__(self) -> str:
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode})>' if self else "<Closed HDF5 file>"


def _opened(name: Path | IO[bytes], mode: str) -> _native.File | Backend:
    """A file as h5py opens it: HDF5, whatever netCDF would make of it."""
    try:
        options: OpenOptions = {**open_options, "format": "hdf5"}
        if mode != "r":
            return editing_of(name, {**options})
        path = name if hasattr(name, "read") else [os.fspath(name)]
        return file.open(path, **options).files[0]._file
    except InvalidInputError as error:
        if not isinstance(error, OSError):
            raise NotHdf5Error(error.message, error.file, error.object, error.offset) from None
        raise


HLObject._classes = {"dataset": Dataset, "datatype": Datatype, "group": Group, "file": File}

register_driver = unsupported("register_driver")
unregister_driver = unsupported("unregister_driver")


def registered_drivers() -> frozenset[str]:
    """Names of the file drivers that are accepted."""
    return frozenset(name for name in _DRIVERS if name)
