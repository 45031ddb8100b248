"""Group changes: objects of a group are created, removed, renamed and copied as in h5py, if the file can be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..base.type_aliases import Elements, Name
from ..values import dtype_encoding
from .copying import CopyOptions, copy_object
from .creation import Creation
from .dataset import Dataset
from .datatype import Datatype
from .links import ExternalLink, HardLink, SoftLink, as_ours
from .netcdf_definitions import NetcdfDefinitions
from .node import Node
from .paths import normal, path_text

_MISSING = object()


class GroupChanges(Creation, NetcdfDefinitions):
    """What changes a group. If the file is open for reading, each of these methods is a `ReadOnlyError`."""

    if TYPE_CHECKING:
        # Defined by the group class.
        def __getitem__(self, path: Name) -> Any: ...
        def __contains__(self, path: object) -> bool: ...
        def _absolute(self, path: str) -> str: ...
        def _names(self) -> list[str]: ...

    def __setitem__(self, name: Name, value: object) -> None:
        """A dataset of these values, a link, one more name for an object of this file, or a committed datatype."""
        value, path = as_ours(value), self._below(name)
        make = self._changes.make
        if isinstance(value, SoftLink):
            make(lambda editor: editor.create_link(path, value.path))
        elif isinstance(value, ExternalLink):
            make(lambda editor: editor.create_link(path, value.path, value.file))
        elif isinstance(value, HardLink):
            if value.path is None:
                raise InvalidInputError(f"a hard link needs the path of an object: f[{name!r}] = hs.HardLink('/path')", self._changes.path)
            self._changes.create_hard_link(path, self._absolute(path_text(value.path)))
        elif isinstance(value, Node):
            if value._backend is not self._backend:
                raise InvalidInputError(f"{value.path} is in another file: copy it, f.copy(source, {name!r})", self._changes.path)
            number = value._own_number()
            make(lambda editor: editor.create_hard_link(path, number))
        elif isinstance(value, np.dtype):
            datatype = dtype_encoding.of_dtype(value)
            make(lambda editor: editor.create_datatype(path, datatype))
        else:
            self.create_dataset(name, data=value)

    def __delitem__(self, name: Name) -> None:
        """Removes a name. An object without another name is removed, and its space is used again after the next commit."""
        self._changes.remove(self._below(name))

    def move(self, source: Name, dest: Name) -> None:
        """Renames an object, and creates the groups above the new name.

        Args:
            source: Path of the object.
            dest: Its new path.

        Raises:
            ObjectNotFoundError: There is no such object.
            InvalidInputError: There is an object of the new name.

        Example:
            >>> f.move("x", "old/x")
        """
        before, after = normal(self._below(source)), normal(self._below(dest))
        if before != after or source not in self:
            self._changes.rename(before, after)

    def copy(
        self,
        source: Node | Name,
        dest: Node | Name,
        name: Name | None = None,
        shallow: bool = False,
        expand_soft: bool = False,
        expand_external: bool = False,
        expand_refs: bool = False,
        without_attrs: bool = False,
    ) -> None:
        """Copies an object of this or another file, with its attributes and all that is in it. Chunks are copied as they are stored.

        Args:
            source: The object, or its path in this group.
            dest: A path in this group, or a group of a file that is edited or created.
            name: Name in `dest`, if that is a group; by default the name of the source.
            shallow: Copy the members of a group, but not what is in them.
            expand_soft: Copy what soft links lead to in their place.
            expand_external: Copy what external links lead to in their place.
            expand_refs: Must be false.
            without_attrs: Leave the attributes out.

        Raises:
            InvalidInputError: There is an object of the new name.
            UnsupportedError: What the source has cannot be copied; the message names it.

        Example:
            >>> f.copy("x", "copy of x")
            >>> f.copy(hs.open("other.h5")["run"], "other run")
        """
        if expand_refs:
            raise UnsupportedError("copy with expand_refs: leave it out", self._changes.path)
        found = source if isinstance(source, Node) else self[source]
        if not isinstance(found, (GroupChanges, Dataset, Datatype)):
            raise InvalidTypeError(f"only objects of HDF5 files can be copied, not {source!r}", self._changes.path)
        target = dest if isinstance(dest, GroupChanges) else self
        if isinstance(dest, Node) and not isinstance(dest, GroupChanges):
            raise InvalidTypeError("the destination is not a group of a file that is edited", self._changes.path)
        path = target._below((name if name is not None else found.path.rpartition("/")[2]) if isinstance(dest, GroupChanges) else dest)
        with target._changes.lock:
            if not target._backend.is_complete:
                copy_object(found, target, path, CopyOptions(shallow, expand_soft, expand_external, not without_attrs))
                return
            file, number = found._backend.native, found._number
            target._changes.make(lambda editor: editor.copy(file, number, path, shallow, expand_soft, expand_external, not without_attrs))

    def clear(self) -> None:
        """Removes all members.

        Example:
            >>> f["run"].clear()
        """
        with self._changes.lock:
            for name in list(self._names()):
                del self[name]

    def pop(self, name: Name, default: object = _MISSING) -> Elements:
        """Removes a name and returns the values of its dataset, because the object itself is gone.

        Args:
            name: The name.
            default: What is returned if there is none.

        Returns:
            The values of the dataset; `None` of another object.

        Raises:
            ObjectNotFoundError: There is no such member, and no `default`.

        Example:
            >>> values = f.pop("x")
        """
        with self._changes.lock:
            if not self._file.exists(self._below(name)):
                if default is _MISSING:
                    raise ObjectNotFoundError(f"there is no {name!r}", self._changes.path, self.path)
                return default
            found = self[name]
            value = found[()] if isinstance(found, Dataset) else None
            del self[name]
            return value

    def popitem(self) -> tuple[str, Elements]:
        """Removes the first name; returns it and the values of its dataset.

        Returns:
            The name, and the values; `None` of another object.

        Raises:
            ObjectNotFoundError: The group is empty.

        Example:
            >>> name, values = f.popitem()
        """
        with self._changes.lock:
            for name in self._names():
                return name, self.pop(name)
        raise ObjectNotFoundError("the group is empty", self._changes.path, self.path)

    def setdefault(self, name: Name, default: object = None) -> Any:
        """The member of this name; if there is none, it becomes `default`.

        Args:
            name: The name.
            default: Values of a dataset, or what else `f[name] = ...` takes.

        Returns:
            The member.

        Example:
            >>> f.setdefault("x", np.zeros(3))
        """
        with self._changes.lock:
            if name not in self:
                self[name] = default
            return self[name]

    def update(self, other: Mapping[str, object] | Iterable[tuple[str, object]] = (), **more: object) -> None:
        """Creates members from the items of a mapping or of pairs.

        Args:
            other: Names and values.
            more: Names and values.

        Example:
            >>> f.update({"x": np.zeros(3), "y": np.ones(3)})
        """
        with self._changes.lock:
            for name, value in [*dict(other).items(), *more.items()]:
                self[name] = value

    def _below(self, name: Name) -> str:
        """The absolute path of a member that is changed."""
        with self._changes.lock:
            self._own_number()
        return self._absolute(path_text(name))
