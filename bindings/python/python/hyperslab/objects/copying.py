"""Copying: objects of any file into one that is being created, with their attributes and all that is in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .. import _native
from ..backends.backend import Backend, Changes, Notes
from ..base.errors import InvalidInputError, UnsupportedError
from ..values import dtype_encoding
from .attributes import value_of
from .dataset import Dataset
from .links import ExternalLink, HardLink, SoftLink
from .node import Node

#: Bytes of values that are copied at a time.
_SLAB_BYTES = 64 << 20


@dataclass(frozen=True)
class CopyOptions:
    """What of an object is copied.

    Attributes:
        shallow: The members of a group, but not what is in them.
        expand_soft, expand_external: What such links lead to, in their place.
        attributes: Whether attributes are copied.
    """

    shallow: bool = False
    expand_soft: bool = False
    expand_external: bool = False
    attributes: bool = True


def copy_object(source: Node, target: Target, path: str, options: CopyOptions) -> None:
    """Copies a group, a dataset or a committed datatype.

    Args:
        source: The object.
        target: A group of the file that is being created.
        path: Absolute path of the copy.
        options: What of it is copied.

    Raises:
        InvalidInputError: There is an object of this name, or a group would be copied into itself.
        UnsupportedError: What the source has cannot be copied; the message names it.
    """
    if target._file.has_link(path):
        raise InvalidInputError(f"there is an object of the name {path!r} already", target._backend.path, path)
    is_own = source._backend is target._backend
    if is_own and source.kind == "group" and f"{path.rstrip('/')}/".startswith(f"{source.path.rstrip('/')}/"):
        raise InvalidInputError(f"{source.path} cannot be copied into itself", target._backend.path, path)
    if source._file.format in ("netcdf4", "netcdf_container"):
        # Its dimension scales are not shown as attributes.
        raise UnsupportedError('copying from a netCDF file into one that is being created: open it with format="hdf5"', source._backend.path, source.path)
    try:
        _Copy(target, options, is_own).put(source, path, 0)
    except BaseException:
        if target._file.has_link(path):
            target._changes.discard(path)
        raise


class Target(Protocol):
    """A group of a file that is being created, into which objects are copied."""

    @property
    def _backend(self) -> Backend: ...

    @property
    def _changes(self) -> Changes: ...

    @property
    def _file(self) -> Any: ...

    def create_group(self, name: str) -> object: ...

    def __getitem__(self, path: str) -> Any: ...

    def __setitem__(self, name: str, value: object) -> None: ...


class _Copy:
    """A copy that is being made."""

    def __init__(self, target: Target, options: CopyOptions, is_own: bool) -> None:
        self._target, self._options, self._is_own = target, options, is_own
        #: The copies of objects by file and number: an object with several names is copied once.
        self._made: dict[tuple[_native.File, int], Node] = {}

    def put(self, source: Node, path: str, depth: int) -> None:
        """Copies an object that lies `depth` groups below the first one."""
        known = self._made.get((source._file, source._number))
        if known is not None:
            self._target[path] = known
            return
        if source.kind == "group":
            self._target.create_group(path)
        elif isinstance(source, Dataset):
            self._dataset(source, path)
        else:
            definition = source._about["datatype"]
            self._target._changes.make(lambda definitions: definitions.create_datatype(path, definition))
        made = self._made[source._file, source._number] = self._target[path]
        if self._options.attributes:
            self._attributes(source, made)
        if source.kind == "group" and not (self._options.shallow and depth):
            group: Any = source
            for name in group:
                self._member(group, name, f"{path.rstrip('/')}/{name}", depth + 1)

    def _member(self, source: Any, name: str, path: str, depth: int) -> None:
        link = source.get(name, getlink=True)
        is_expanded = (isinstance(link, SoftLink) and self._options.expand_soft) or (isinstance(link, ExternalLink) and self._options.expand_external)
        if isinstance(link, HardLink) or is_expanded:
            self.put(source[name], path, depth)
        else:
            self._target[path] = link

    def _dataset(self, source: Dataset, path: str) -> None:
        about = source._about
        datatype = about["datatype"]
        if about["storage"] == "virtual":
            raise UnsupportedError("copying a virtual dataset into a file that is being created", source._backend.path, source.path)
        if not self._is_own and datatype.has_references:
            raise UnsupportedError("copying references of another file into one that is being created", source._backend.path, source.path)
        fill: tuple[bytes, list[bytes]] | None = (about["fill"], []) if about["fill"] else None
        if fill and (datatype.uses_heap or datatype.has_references):
            fill = dtype_encoding.fill_of(source.fillvalue, datatype)
        made_of = _native.DatasetDefinition(
            datatype,
            about["shape"],
            maxshape=about.get("maxshape"),
            chunks=about["chunks"],
            filters=[(number, None, True, parameters) for number, _, parameters in about["filters"]],
            fill=fill,
            committed=about.get("committed") if self._is_own else None,
            fill_time=about.get("fill_time"),
        )
        changes = self._target._changes
        changes.make(lambda definitions: definitions.create_dataset(path, made_of, None))
        made = self._target[path]
        if type(source._notes) is Notes:
            changes.notes[made._number] = source._notes
        if about["shape"] is not None and source.size:
            _copy_values(source, made, int(datatype.size))

    def _attributes(self, source: Node, made: Node) -> None:
        changes, number = self._target._changes, made._number
        if self._is_own:
            changes.make(lambda definitions: definitions.copy_attributes(source._number, number))
            return
        for name in source.attrs:
            found = source._file.attribute(source._number, name)
            assert found is not None  # its name was listed
            if found.datatype.has_references:
                raise UnsupportedError(
                    f"copying attribute {name!r}, which has references, into a file that is being created", source._backend.path, source.path
                )
            heap: list[bytes] = []
            data = found.data
            if found.datatype.uses_heap and found.shape is not None:
                data = dtype_encoding.stored_elements(value_of(found, source._file), found.shape, found.datatype, heap).tobytes()
            changes.make(_setting(number, name, found.shape, found.datatype, data, heap))


def _setting(number: int, *attribute: object) -> Callable[[Any], None]:
    """A change that sets an attribute."""
    return lambda definitions: definitions.set_attribute(number, *attribute)


def _copy_values(source: Dataset, made: Dataset, size: int) -> None:
    shape = source.shape
    if not shape:
        made[()] = source[()]
        return
    rows = max(_SLAB_BYTES // max(math.prod(shape[1:]) * size, 1), 1)
    for first in range(0, shape[0], rows):
        made[first : first + rows] = source[first : first + rows]
