"""As `h5py.h5f`: identifiers of files."""

from __future__ import annotations

import os
import pathlib
import weakref
from dataclasses import replace
from typing import Any

from ..base.errors import UnsupportedError
from ..base.extras import late
from ..objects.native_objects import page_bytes_of
from ._missing import missing_from
from .h5a import node_of
from .h5g import GroupID
from .h5p import CacheConfig, PropFAID, access_of
from .names import text_of
from .settings import Settings

ACC_RDONLY, ACC_RDWR, ACC_TRUNC, ACC_EXCL, ACC_DEBUG = 0, 1, 2, 4, 8
ACC_SWMR_WRITE, ACC_SWMR_READ = 32, 64
SCOPE_LOCAL, SCOPE_GLOBAL = 0, 1
OBJ_FILE, OBJ_DATASET, OBJ_GROUP, OBJ_DATATYPE, OBJ_ATTR, OBJ_ALL, OBJ_LOCAL = 1, 2, 4, 8, 16, 31, 32
CLOSE_DEFAULT, CLOSE_WEAK, CLOSE_SEMI, CLOSE_STRONG = range(4)
UNLIMITED = 2**64 - 1
LIBVER_EARLIEST, LIBVER_V18, LIBVER_V110, LIBVER_V112, LIBVER_V114, LIBVER_V200 = range(6)
LIBVER_LATEST = LIBVER_V200
FSPACE_STRATEGY_FSM_AGGR, FSPACE_STRATEGY_PAGE, FSPACE_STRATEGY_AGGR, FSPACE_STRATEGY_NONE = range(4)
FILE_LOCKING_DEFAULT = -1


class FileID(GroupID):
    """Identifies an open file."""

    @property
    def name(self) -> bytes:
        """The path of the file."""
        return os.fsencode(self._node.filename)

    def get_intent(self) -> int:
        """`ACC_RDONLY`, or `ACC_RDWR` of a file that is changed."""
        return ACC_RDONLY if self._node.mode == "r" else ACC_RDWR

    def get_access_plist(self) -> PropFAID:
        """How the file was opened."""
        asked: Settings = self._node.opened_with
        if not asked.page_buffer[0]:
            return access_of(asked)
        # Whole pages, at least one; a file without pages has no such buffer.
        page = page_bytes_of(self.complete())
        found = 0 if page is None else max(asked.page_buffer[0] // page, 1) * page
        return access_of(replace(asked, page_buffer=(found, *asked.page_buffer[1:])))

    def get_filesize(self) -> int:
        """Bytes of the file."""
        return os.path.getsize(self._stored())

    def get_file_image(self) -> bytes:
        """The bytes of the file, with all changes so far."""
        return pathlib.Path(self._stored()).read_bytes()

    def get_vfd_handle(self, fapl: object = None) -> int:
        """A descriptor of the file, which is closed with its `File`."""
        descriptor = os.open(self._stored(), os.O_RDONLY)
        weakref.finalize(self._node, os.close, descriptor)
        return descriptor

    def _stored(self) -> str:
        """The path of a file that has all changes so far."""
        self._node.flush()
        return str(self._node.stored_path)

    # There is no cache of metadata, so none of it is found there.

    def get_mdc_hit_rate(self) -> float:
        """How much of the metadata was found in a cache: nothing, there is none."""
        return 0.0

    def get_mdc_size(self) -> tuple[int, int, int, int]:
        """The sizes of the cache of metadata: there is none."""
        return 0, 0, 0, 0

    def reset_mdc_hit_rate_stats(self) -> None:
        """Counts again from 0."""

    def get_mdc_config(self) -> CacheConfig:
        """The settings of the cache of metadata."""
        return self.get_access_plist().get_mdc_config()

    def set_mdc_config(self, config: CacheConfig) -> None:
        """Accepts settings of a cache of metadata, which is not there."""

    def start_swmr_write(self) -> None:
        """As setting `File.swmr_mode`."""
        self._node.swmr_mode = True

    def _close_open_objects(self, types: int) -> None:
        """Closes the file, and with it all of its objects."""
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._node.close()


def _high() -> Any:
    """The module of `File`, which imports this one."""
    return late("h5py._hl.files")


def _identifier(file: Any) -> FileID:
    """The identifier of a file. The file is closed when nothing refers to it."""
    found: FileID = file.id
    return found


def create(name: bytes | str, flags: int = ACC_TRUNC, fcpl: Any = None, fapl: PropFAID | None = None) -> FileID:
    """Creates a file.

    Args:
        name: The path.
        flags: `ACC_TRUNC` or `ACC_EXCL`.
        fcpl: How it is created.
        fapl: How it is opened.
    """
    return _identifier(_high().created(text_of(name), "x" if flags & ACC_EXCL else "w", fcpl, fapl))


def open(name: bytes | str, flags: int = ACC_RDWR, fapl: PropFAID | None = None) -> FileID:
    """Opens a file.

    Args:
        name: The path.
        flags: `ACC_RDONLY` or `ACC_RDWR`, and `ACC_SWMR_READ`.
        fapl: How it is opened.
    """
    if flags & ACC_SWMR_WRITE:
        raise UnsupportedError("ACC_SWMR_WRITE: others see each flush() as a whole, and open the file again", text_of(name))
    return _identifier(_high().opened(text_of(name), "r+" if flags & ACC_RDWR else "r", fapl, bool(flags & ACC_SWMR_READ)))


def open_file_image(image: bytes, flags: int = 0) -> FileID:
    """Opens the bytes of a file."""
    return _identifier(_high().File.in_memory(image))


def is_hdf5(fname: bytes | str) -> bool:
    """Whether a path is an HDF5 file."""
    found: bool = late("h5py._hl.base").is_hdf5(text_of(fname))
    return found


def flush(obj: Any, scope: int = SCOPE_LOCAL) -> None:
    """Makes the changes of the file of an object visible to others."""
    obj.node.file.flush()


def get_name(obj: Any) -> bytes:
    """The path of the file of an object."""
    return os.fsencode(node_of(obj).file.filename)


__getattr__ = missing_from("h5py.h5f")
