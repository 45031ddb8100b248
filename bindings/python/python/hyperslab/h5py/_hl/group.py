"""As `h5py._hl.group`: groups."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from ... import _native
from ...backends.continuing import completed
from ...base.errors import InvalidInputError, InvalidTypeError, NotFoundError, UnsupportedError
from ...objects import group
from ...objects.definition import check_largest, check_required
from ...objects.links import ExternalLink, HardLink, SoftLink
from ...objects.node import Node
from ...objects.paths import path_text
from ...values import dtype_encoding
from ...values.described import DescribedType
from ...values.references import Reference
from .. import h5g, h5t, h5z
from ..h5 import get_config
from ..h5p import PropDAID
from ..h5py_warnings import H5pyDeprecationWarning
from ..names import quoted, shown
from ..new_values import objects_of_bytes
from . import dataset
from .base import HLObject, ItemsViewHDF5, KeysViewHDF5, ValuesViewHDF5
from .dataset import Dataset
from .datatype import Datatype
from .filters import FilterRefBase

__all__ = ["ExternalLink", "Group", "HardLink", "SoftLink"]


class ExistingNameError(InvalidInputError, KeyError, OSError):
    """There is an object of this name already, which h5py reports as a `ValueError`, `KeyError` or `OSError`, as the new one may be."""

    __str__ = InvalidInputError.__str__


class Group(HLObject, group.Group):
    """A group, with h5py's names and values."""

    _id_class = h5g.GroupID

    def keys(self) -> Any:
        """The names of members."""
        return KeysViewHDF5(self)

    def values(self) -> Any:
        """The members."""
        return ValuesViewHDF5(self)

    def items(self) -> Any:
        """Names and members."""
        return ItemsViewHDF5(self)

    def get(
        self,
        name: str | bytes | Reference,
        default: Any = None,
        getclass: bool = False,
        getlink: bool = False,
        *,
        elink_mode: str | None = None,
        elink_locking: bool | str | None = None,
        elink_swmr: bool | None = None,
    ) -> Any:
        """The member at a path, its class, or its link.

        Args:
            name: The path.
            default: What is returned if there is none.
            getclass: Return the class instead.
            getlink: Return the link instead.
            elink_mode: How other files are opened that links lead to: `r`.
            elink_locking: How those are locked.
            elink_swmr: Whether those are opened as with `swmr=True`.
        """
        is_written = self._backend.mode != "r"
        if is_written and self.file.swmr_mode and (elink_mode is not None or elink_swmr is not None):
            raise InvalidInputError("elink_mode and elink_swmr in a file whose swmr_mode is set")
        if elink_mode not in (None, "r"):
            if not is_written or elink_mode != "r+":
                raise InvalidInputError(f"elink_mode={elink_mode!r} of a file of mode {self._backend.mode!r}")
            raise UnsupportedError("elink_mode='r+': files that links lead to are read; open them to change them")
        found = self._completing(lambda: super(Group, self).get(name, default, getclass, getlink))
        if isinstance(found, HLObject) and found._backend is not self._backend and self._backend.settings is not None:
            found._backend.settings = self._backend.settings.linked(elink_swmr, elink_locking)
        return found

    def _completing(self, look: Callable[[], Any]) -> Any:
        """Looks once more in a complete file if it leads into another file, which a file that is being created does not follow."""
        try:
            return look()
        except UnsupportedError:
            if not completed(self._backend):
                raise
            return look()

    def __getitem__(self, name: Any) -> Any:
        try:
            return super().__getitem__(name)
        except UnsupportedError:
            if not completed(self._backend):
                raise
            return super().__getitem__(name)

    def __setitem__(self, name: Any, value: Any) -> None:
        if isinstance(value, Datatype) and not isinstance(value.id.owner, Node):
            self.commit_type(name, value.id.described)
            return
        parent = _parent(name)
        if parent and parent not in self and not isinstance(value, HLObject):
            # These follow the file, not the configuration.
            super().create_group(parent)
        with self._as_h5py(name):
            super().__setitem__(name, value)

    @contextlib.contextmanager
    def _as_h5py(self, name: Any) -> Iterator[None]:
        """An error because there is an object of a name already is of h5py's kinds."""
        try:
            yield
        except InvalidInputError as error:
            if name not in self or isinstance(error, (TypeError, OSError)):
                raise
            raise ExistingNameError(f"{error.message} (name already exists)", error.file, error.object) from None

    def commit_type(self, name: Any, described: _native.Datatype) -> None:
        """Gives a datatype a name in the file."""
        path = self._below(name)
        with self._as_h5py(name):
            self._changes.make(lambda editor: editor.create_datatype(path, described))

    def copy(
        self,
        source: Any,
        dest: Any,
        name: Any = None,
        shallow: bool = False,
        expand_soft: bool = False,
        expand_external: bool = False,
        expand_refs: bool = False,
        without_attrs: bool = False,
    ) -> None:
        """Copies an object of this or another file, with its attributes and all that is in it."""
        if expand_external:
            completed(self._backend)
        super().copy(source, dest, name, shallow, expand_soft, expand_external, expand_refs, without_attrs)

    def create_group(self, name: Any, track_order: bool | None = None) -> Any:
        """Creates a group, and the groups above it. Without `track_order`, the configuration says whether it tracks order."""
        return super().create_group(name, get_config().track_order if track_order is None else track_order)

    def create_dataset(self, name: Any, shape: Any = None, dtype: Any = None, data: Any = None, **options: Any) -> Any:
        """Creates a dataset."""
        access, options = _access_list(options)
        if dtype is None and data is None and shape is not None:
            warnings.warn("a dataset without dtype and data has dtype 'f4': give one of them", H5pyDeprecationWarning, stacklevel=2)
        if dtype is None:
            data = objects_of_bytes(data)
        options.update(_compression(options))
        options["track_order"] = bool(options.get("track_order", get_config().track_order))
        if parent := _parent(name):
            self.require_group(parent)
        _check_chunks(shape, data, options)
        _check_fill(dtype, options.get("fillvalue"))
        if isinstance(dtype, h5t.TypeID):
            dtype = DescribedType(_storable(dtype))
        elif isinstance(dtype, Datatype) and dtype.id.owner is None:
            dtype = DescribedType(_storable(dtype.id))
        made: Any = super().create_dataset(name, shape, dtype, data, **options)
        if access is not None:
            access.check(made)
            made.access = access
        return made

    def require_dataset(self, name: Any, shape: Any, dtype: Any, exact: bool = False, **options: Any) -> Any:
        """Returns the dataset of this name, or creates it."""
        access, others = _access_list(dict(options))
        if name not in self:
            return self.create_dataset(name, shape, dtype, **options)
        found: Any = (
            super().require_dataset(name, shape, dtype, exact, **others) if self._backend.mode != "r" else self._required(name, shape, dtype, exact, others)
        )
        if access is not None:
            access.check(found)
            found.access = access
        return found

    def _required(self, name: Any, shape: Any, dtype: Any, exact: bool, options: dict[str, Any]) -> Any:
        """The dataset of this name in a file that is read."""
        found = self[name]
        if not isinstance(found, Dataset):
            raise InvalidTypeError(f"{found.path} is not a dataset", self._backend.path, found.path)
        if options.get("maxshape") is None:
            check_required(found, shape, dtype, exact, self._backend.path)
        else:
            check_largest(found, options["maxshape"], self._backend.path)
            check_required(found, found.shape, dtype, exact, self._backend.path)
        return found

    def visit(self, func: Any) -> Any:
        """Calls a function with the path of each object."""
        return super().visit(lambda path: func(shown(path)))

    def visititems(self, func: Any) -> Any:
        """Calls a function with the path of each object, and the object."""
        return super().visititems(lambda path, member: func(shown(path), member))

    def visit_links(self, func: Any) -> Any:
        """Calls a function with the path of each link."""
        return super().visit_links(lambda path: func(shown(path)))

    def visititems_links(self, func: Any) -> Any:
        """Calls a function with the path of each link, and the link."""
        return super().visititems_links(lambda path, link: func(shown(path), link))

    def __iter__(self) -> Any:
        return map(shown, super().__iter__())

    def __reversed__(self) -> Any:
        return map(shown, super().__reversed__())

    def __contains__(self, name: object) -> bool:
        """Whether there is a link at a path, also a dangling one."""
        if not self:
            return False
        try:
            self._completing(lambda: self._link(path_text(name)))
        except NotFoundError:
            return False
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return sorted(name for name in self if isinstance(name, str))

    def setdefault(self, name: Any, default: Any = None) -> Any:
        """The member of a name; if there is none, `default` is stored, and returned as it is given."""
        if name in self:
            return self[name]
        if default is None:
            raise InvalidTypeError("None is no value of a dataset")
        self[name] = default
        return default

    def __repr__(self) -> str:
        return f"<HDF5 group {quoted(self, whole=True)} ({len(self)} members)>" if self else "<Closed HDF5 group>"


#: Access properties among the arguments of `create_dataset`.
_ACCESS = ("rdcc_nslots", "rdcc_nbytes", "rdcc_w0", "efile_prefix", "virtual_prefix", "dapl")


def _parent(name: object) -> str:
    """The path of the group that a new member is in, or an empty text if it is this group."""
    return os.path.dirname(path_text(name)).rstrip("/") if isinstance(name, (str, bytes)) and name else ""


def _access_list(options: dict[str, Any]) -> tuple[PropDAID | None, dict[str, Any]]:
    """The access list that arguments of `create_dataset` ask for, if they do, and the other arguments."""
    given = {name: options[name] for name in _ACCESS if options.get(name) is not None}
    if not given:
        return None, {name: value for name, value in options.items() if name not in _ACCESS}
    made: PropDAID = given["dapl"].copy() if "dapl" in given else PropDAID()
    cache = made.get_chunk_cache()
    made.set_chunk_cache(given.get("rdcc_nslots", cache[0]), given.get("rdcc_nbytes", cache[1]), given.get("rdcc_w0", cache[2]))
    for name in ("efile_prefix", "virtual_prefix"):
        if name in given:
            getattr(made, f"set_{name}")(os.fsencode(given[name]))
    return made, {name: value for name, value in options.items() if name not in _ACCESS}


class MissingLevelError(InvalidInputError, IndexError):
    """gzip by its number without a level, which h5py reports as an `IndexError`."""

    __str__ = InvalidInputError.__str__


def _compression(options: dict[str, Any]) -> dict[str, Any]:
    """Compression and its options as `hyperslab.create` takes them: h5py's classes of filters, and the numbers of HDF5's own filters."""
    given: Any = options.get("compression")
    level: Any = options.get("compression_opts")
    if isinstance(given, FilterRefBase):
        given, level = given.filter_id, given.filter_options
    elif not isinstance(given, int) or isinstance(given, bool) or given in dataset._LEGACY_GZIP_COMPRESSION_VALS:
        return {}
    if given == h5z.FILTER_DEFLATE:
        levels = level if isinstance(level, (tuple, list)) else () if level is None else (level,)
        if not levels:
            raise MissingLevelError("compression=1 as a filter's number: give the level of gzip as compression_opts")
        return {"compression": "gzip", "compression_opts": levels[0]}
    return {"compression": given, "compression_opts": level}


def _check_fill(dtype: Any, fillvalue: Any) -> None:
    """Checks that the fill value of a compound is no single number."""
    if isinstance(fillvalue, (int, float)) and isinstance(dtype, (list, np.dtype)) and np.dtype(dtype).names is not None:
        raise InvalidInputError(f"fillvalue={fillvalue!r} of a compound: give a value for each field")


def _check_chunks(shape: Any, data: Any, options: dict[str, Any]) -> None:
    """Checks that no chunk is larger than a dataset that cannot grow."""
    chunks, largest = options.get("chunks"), options.get("maxshape")
    if not isinstance(chunks, tuple) or largest is not None or (shape is None and data is None):
        return
    found = np.shape(data) if shape is None else shape
    extents = dtype_encoding.extents("shape", found)
    if len(chunks) == len(extents) and any(chunk > max(extent, 1) for chunk, extent in zip(chunks, extents, strict=True)):
        raise InvalidInputError(f"chunks of shape {chunks} are larger than the dataset of shape {tuple(extents)}")


def _storable(identifier: h5t.TypeID) -> _native.Datatype:
    """The description of a datatype that new datasets can have."""
    if isinstance(identifier, h5t.TypeComplexID):
        raise UnsupportedError("complex numbers of HDF5's own class: give a dtype of numpy, which is stored as a compound of two floats")
    return identifier.described


MutableMapping.register(Group)
