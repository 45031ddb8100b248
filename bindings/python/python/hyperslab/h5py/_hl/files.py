"""As `h5py._hl.files`: open files."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO, Any

from ... import _native
from ...backends.backend import Backend
from ...backends.continuing import ContinuedEditing, Continuing, completed
from ...backends.editing import Editing
from ...base.arguments import wrong_mode
from ...base.errors import ConflictError, InvalidInputError, UnsupportedError
from ...base.type_aliases import OpenOptions, Option, Path
from ...files import file
from ...writing.new_file import creating_of
from ...writing.opening import editing_of, is_existing
from .. import h5f
from .._objects import ObjectID
from ..h5 import get_config
from ..h5p import FILE_ACCESS, VERSIONS, PropFAID, create
from ..places import ObjectPlace, TemporaryPlace, content_of
from ..settings import PageBufferError, Settings, checked_locking
from .base import HLObject
from .dataset import Dataset
from .datatype import Datatype
from .group import Group

#: Arguments of `hyperslab.open` for every file: links lead where they lead in h5py, and missing sources of virtual datasets are
#: the fill value, as in h5py.
open_options: OpenOptions = {"paths": "anywhere", "missing_sources": "fill"}

#: HDF5's drivers by the names that `File` takes: each sets an access list, as h5py's functions do.
_drivers: dict[str, Callable[..., Any]] = {
    "sec2": PropFAID.set_fapl_sec2,
    "stdio": PropFAID.set_fapl_stdio,
    "core": PropFAID.set_fapl_core,
    "direct": PropFAID.set_fapl_direct,
    "family": PropFAID.set_fapl_family,
    "split": PropFAID.set_fapl_split,
    "fileobj": PropFAID.set_fileobj_driver,
}
#: The drivers with which a file can be changed.
_DRIVERS_OF_CHANGES = ("sec2", "stdio", "core", "fileobj")

_in_memory_names = (f"h5py_in_memory_nonfile_{number}" for number in itertools.count())


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
        if isinstance(name, (_native.File, Backend)):
            file.File.__init__(self, name)
            return
        if isinstance(name, ObjectID):
            file.File.__init__(self, name.node._backend)
            return
        if mode not in ("r", "r+", "a", "w", "w-", "x"):
            raise wrong_mode(mode, ("r", "r+", "a", "w", "x"))
        if userblock_size is not None and (not isinstance(userblock_size, int) or isinstance(userblock_size, bool)):
            raise InvalidInputError(f"userblock_size={userblock_size!r}: give a number of bytes")
        if userblock_size and mode == "r":
            raise InvalidInputError("userblock_size is an option of a file that is created or changed")
        access = access_list(name, driver, more)
        if swmr and mode != "r":
            warnings.warn("swmr=True is for mode 'r': set swmr_mode in other modes", stacklevel=2)
            swmr = False
        settings, options = _settings(access, libver, swmr, more)
        backend = _begun(name, mode, access, libver, userblock_size or 0, options)
        backend.settings = settings
        file.File.__init__(self, backend)
        if userblock_size and self.userblock_size != userblock_size:
            self.close()
            raise InvalidInputError(f"userblock_size={userblock_size}: the file has a user block of another size")

    @classmethod
    def in_memory(cls, file_image: bytes | None = None, **options: Any) -> File:
        """A file without a path, which is gone when it is closed: `f.id.get_file_image()` has its bytes.

        Args:
            file_image: The bytes of an HDF5 file that it begins with.
            options: As of `File`; not the driver.
        """
        for option in ("driver", "locking", "backing_store"):
            if option in options:
                raise TypeError(f"File.in_memory() got an unexpected keyword argument {option!r}")
        name = next(_in_memory_names)
        if file_image is None:
            return cls(name, "x", driver="core", backing_store=False, **options)
        place = TemporaryPlace(name, bytes(file_image))
        made = cls(_editing(place.path, place))
        made._backend.settings = Settings(driver="core")
        return made

    @property
    def opened_with(self) -> Settings:
        """What it was opened with."""
        found: Settings = self._backend.settings or Settings()
        return found

    @property
    def stored_path(self) -> str:
        """Where the file lies: a temporary file for one in memory."""
        return self._backend.path

    @property
    def filename(self) -> str:
        """The path by which it was opened; of a file object what shows it."""
        place = self._backend.place if isinstance(self._backend, (Continuing, ContinuedEditing)) else None
        return self._backend.path if place is None else place.name

    @property
    def driver(self) -> str:
        """The driver that was asked for; local files are read and written without one."""
        return self.opened_with.driver

    @property
    def libver(self) -> tuple[str, str]:
        """The oldest and the newest version of HDF5's format that was asked for; all versions are read."""
        return self.opened_with.libver

    @property
    def meta_block_size(self) -> int:
        """What was asked for, by default HDF5's: nothing here depends on it."""
        return self.opened_with.meta_block_size

    @property
    def swmr_mode(self) -> bool:
        """Whether it is read while another program writes it, or written while others read it.

        Setting it in a file that is written makes the file appear: from then on others see each `flush()`, of the file or of a dataset, as
        a whole. Readers are those of Hyperslab, which see it after `refresh()`; the HDF5 library does not open the file before it is
        closed, because it is locked."""
        return self.opened_with.swmr

    @swmr_mode.setter
    def swmr_mode(self, value: bool) -> None:
        if not value or self.mode == "r":
            raise InvalidInputError("swmr_mode of a file that is read, or that has it, stays as it is: readers give swmr=True", self.filename)
        self.flush()
        self._backend.settings = replace(self.opened_with, swmr=True)

    def flush(self) -> None:
        """Makes changes visible to others."""
        if isinstance(self._backend, Continuing):
            completed(self._backend)
        super().flush()

    def __reduce__(self) -> tuple[type[File], tuple[Backend]]:
        return type(self), (self._backend,)

    def __repr__(self) -> str:
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode})>' if self else "<Closed HDF5 file>"


def created(name: str, mode: str, fcpl: Any, fapl: PropFAID | None) -> File:
    """Creates a file with property lists.

    Args:
        name: The path.
        mode: `w` or `x`.
        fcpl: How it is created.
        fapl: How it is opened.
    """
    options: dict[str, Any] = {}
    if fcpl is not None:
        options = {"track_order": bool(fcpl.get_link_creation_order()), "userblock_size": fcpl.get_userblock() or None}
        if fcpl.is_given("times") and fcpl.get_obj_track_times():
            raise UnsupportedError("set_obj_track_times(True): times of groups are not recorded", name)
        if fcpl.is_given("strategy"):
            strategy, persist, threshold = fcpl.get_file_space_strategy()
            options.update(fs_strategy=("fsm", "page", "aggregate", "none")[strategy], fs_persist=persist, fs_threshold=threshold)
        if fcpl.is_given("page"):
            options["fs_page_size"] = fcpl.get_file_space_page_size()
    return File(name, mode, **options, **_arguments(fapl))


def opened(name: str, mode: str, fapl: PropFAID | None, swmr: bool) -> File:
    """Opens a file with a property list.

    Args:
        name: The path.
        mode: `r` or `r+`.
        fapl: How it is opened.
        swmr: As in `File`.
    """
    if fapl is not None and fapl.image is not None:
        return File.in_memory(fapl.image)
    return File(name, mode, swmr=swmr, **_arguments(fapl))


def _arguments(access: PropFAID | None) -> dict[str, Any]:
    """The arguments of `File` that an access list asks for."""
    if access is None:
        return {}
    _, slots, size, weight = access.get_cache()
    threshold, interval = access.get_alignment()
    low, high = access.get_libver_bounds()
    page_bytes, meta, raw = access.get_page_buffer_size()
    found: dict[str, Any] = {
        "driver": access.driver,
        "libver": (VERSIONS[low], VERSIONS[high]),
        "rdcc_nslots": slots,
        "rdcc_nbytes": size,
        "rdcc_w0": weight,
        "alignment_threshold": threshold,
        "alignment_interval": interval,
        "meta_block_size": access.get_meta_block_size(),
        "page_buf_size": page_bytes,
        "min_meta_keep": meta,
        "min_raw_keep": raw,
    }
    if access.driver == "core":
        found["backing_store"] = access.backing_store
    if access.is_given("locking"):
        use, ignore = access.get_file_locking()
        found["locking"] = "best-effort" if use and ignore else use
    return found


def access_list(name: Any, driver: str | None, more: dict[str, Any]) -> PropFAID:
    """The access list of a driver, whose arguments it takes out of those of `File`."""
    access: PropFAID = create(FILE_ACCESS)
    if hasattr(name, "read") and hasattr(name, "seek"):
        if driver not in (None, "fileobj"):
            raise InvalidInputError("Driver must be 'fileobj' for file-like object if specified.")
        access.set_fileobj_driver(fileobj=name)
        return access
    if driver is None:
        return access
    if driver not in _drivers:
        raise InvalidInputError(f"Unknown driver type {driver!r}")
    arguments = {option: more.pop(option) for option in list(more) if option not in _OPTIONS}
    _drivers[driver](access, **arguments)
    return access


#: Options of `hyperslab.create`.
_OURS = ("alignment", "threads", "track_order", "durable", "storage_options")
#: Options of h5py.File, and of `hyperslab.create`, that do not belong to a driver.
_OPTIONS = {
    *("rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "track_order", "track_times", "fs_strategy", "fs_persist", "fs_threshold", "fs_page_size"),
    *("page_buf_size", "min_meta_keep", "min_raw_keep", "locking", "alignment_threshold", "alignment_interval", "meta_block_size"),
    *_OURS,
}


def _settings(access: PropFAID, libver: str | tuple[str, str] | None, swmr: bool, more: dict[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """What a file is opened with, and the options that remain."""
    unknown = [option for option in more if option not in _OPTIONS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is an invalid keyword argument for this function")
    options = dict(more)
    slots, size, weight = (options.pop(f"rdcc_{name}", None) for name in ("nslots", "nbytes", "w0"))
    cache = access.get_cache()[1:]
    page_bytes, meta, raw = (int(options.pop(name, 0) or 0) for name in ("page_buf_size", "min_meta_keep", "min_raw_keep"))
    if page_bytes:
        access.set_page_buffer_size(page_bytes, meta, raw)
    low, high = libver if isinstance(libver, tuple) else (libver or "earliest", "latest")
    settings = Settings(
        driver=access.driver,
        libver=(_version(low), _version(high)),
        swmr=swmr,
        locking=checked_locking(options.pop("locking", None)),
        meta_block_size=int(options.pop("meta_block_size", None) or 2048),
        chunk_cache=(cache[0] if slots is None else slots, cache[1] if size is None else size, cache[2] if weight is None else weight),
        page_buffer=(page_bytes, meta, raw),
    )
    return settings, options


def _begun(name: Any, mode: str, access: PropFAID, libver: str | tuple[str, str] | None, userblock_size: int, options: dict[str, Any]) -> Any:
    """The backend of a file that is opened or created."""
    is_object = access.driver == "fileobj"
    if mode != "r" and access.driver not in _DRIVERS_OF_CHANGES:
        raise UnsupportedError(f"the file driver {access.driver!r} of a file that is written", str(name))
    if is_object:
        name = access.fileobj
        exists = mode in ("r", "r+") or (mode == "a" and bool(content_of(name)))
    else:
        exists = mode in ("r", "r+") or (mode == "a" and is_existing(name))
    if not exists:
        return _created(name, "x" if mode == "a" else mode, access, libver, userblock_size, options)
    if options.pop("fs_strategy", None) is not None:
        raise InvalidInputError("fs_strategy of a file that exists: it is chosen when a file is created")
    if mode == "r":
        return _opened(name, access, options)
    return _edited(name, access, options)


def _created(name: Any, mode: str, access: PropFAID, libver: str | tuple[str, str] | None, userblock_size: int, options: dict[str, Any]) -> Backend:
    """The backend of a file that is created."""
    if access.get_page_buffer_size()[0] and options.get("fs_strategy") != "page":
        raise PageBufferError("page_buf_size of a file without pages: give fs_strategy='page'")
    given = {option: value for option, value in options.items() if option not in _OURS}
    strategy = given.pop("fs_strategy", None), given.pop("fs_page_size", None)
    if given.pop("track_times", None):
        raise UnsupportedError("track_times of a file that is created: leave it out, or give False")
    ours = {option: options[option] for option in _OURS if option in options}
    if ours.get("track_order") is None:
        ours["track_order"] = get_config().track_order
    place = _place_of(name, access)
    path = name if place is None else place.path
    reopen = functools.partial(_editing, path, place)
    kind = functools.partial(Continuing, reopen=reopen, place=place)
    try:
        return creating_of(path, mode, *strategy, libver, given, userblock_size=userblock_size, kind=kind, **ours)
    except ConflictError as error:
        raise ExistingFileError(error.message, error.file) from None


def _place_of(name: Any, access: PropFAID, content: bytes | None = None) -> TemporaryPlace | None:
    """Where a file lies while it is written; `None` for a file that lies where it belongs."""
    if access.driver == "fileobj":
        return ObjectPlace(name, content)
    if access.driver == "core" and not access.backing_store:
        return TemporaryPlace(os.fsdecode(name), content)
    return None


def _editing(path: Path, place: TemporaryPlace | None) -> Editing:
    return editing_of(path, {**open_options, "format": "hdf5"}, functools.partial(ContinuedEditing, place=place))


def _edited(name: Any, access: PropFAID, options: dict[str, Any]) -> Editing:
    """The backend of a file that is changed."""
    if access.driver == "fileobj":
        place = _place_of(name, access, content_of(name))
    elif access.driver == "core" and not access.backing_store:
        with open(name, "rb") as file:
            place = _place_of(name, access, file.read())
    else:
        place = None
    with _as_h5py():
        return _editing(name if place is None else place.path, place)


def _opened(name: Path | IO[bytes], access: PropFAID, options: dict[str, Any]) -> Backend:
    """The backend of a file that is read."""
    given: OpenOptions = {**open_options, "format": "hdf5"}
    for option in ("threads", "storage_options"):
        if option in options:
            given[option] = options[option]
    path: Any = name if hasattr(name, "read") else f"{os.fsdecode(name)}-m.h5" if access.driver == "split" else [os.fspath(name)]
    with _as_h5py():
        return file.open(path, **given).files[0]._backend


@contextlib.contextmanager
def _as_h5py() -> Iterator[None]:
    """What is not HDF5 is an `OSError`, whatever netCDF would make of it."""
    try:
        yield
    except InvalidInputError as error:
        if not isinstance(error, OSError):
            raise NotHdf5Error(error.message, error.file, error.object, error.offset) from None
        raise


HLObject._classes = {"dataset": Dataset, "datatype": Datatype, "group": Group, "file": File}


def register_driver(name: str, set_fapl: Callable[..., Any]) -> None:
    """Makes a name known as a driver of `File`.

    Args:
        name: The name.
        set_fapl: Sets a driver in an access list; it is called with the list and the other arguments of `File`.
    """
    _drivers[name] = set_fapl


def unregister_driver(name: str) -> None:
    """Forgets a driver.

    Args:
        name: Its name.
    """
    del _drivers[name]


def registered_drivers() -> frozenset[str]:
    """Names of the file drivers that are accepted."""
    return frozenset(_drivers)
