"""New group: a group of a file that is being written, a mapping of names as h5py's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, ObjectNotFoundError, UnsupportedError
from ..objects import definition
from ..objects.attributes import Attributes
from ..objects.creation import Creation
from ..objects.links import ExternalLink, HardLink, SoftLink, as_ours
from ..objects.virtual_layouts import VirtualLayout
from ..values import dtype_encoding, new_references, times
from ..values.new_references import NewReference
from . import copying
from .new_attributes import new_attributes
from .new_dataset import NewDataset
from .new_datatype import NewDatatype
from .new_members import NewMembers, normal


class NewGroup(Creation, NewMembers):
    """A group that is being written: a mapping of names to groups and datasets."""

    _attributes: Callable[[Any, str], Attributes] = staticmethod(new_attributes)
    #: Whether this writer writes the whole file, so that objects can be moved and removed.
    _is_whole = True

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return self._attributes(self._writer, self._path)

    @property
    def ref(self) -> NewReference:
        """A reference to this group."""
        return NewReference(self._path)

    def __getitem__(self, name: str | bytes | NewReference) -> NewMember:
        found: NewMember = super().__getitem__(name)
        return found

    def _register(self, made: Any) -> None:
        """Remembers an object."""
        found = self._writer.look_up(made._path)
        if found is not None:
            self._objects[found.id] = made

    def _new_group(self, path: str) -> NewGroup:
        kind = self._member_type()
        made = kind.__new__(kind)
        NewGroup.__init__(made, self._writer, path, self._objects)
        return made

    def _member_type(self) -> type[NewGroup]:
        """What groups in this one are."""
        return type(self)

    def create_group(self, name: str, track_order: bool | None = None) -> NewGroup:
        """Creates a group, and the groups above it.

        Args:
            name: Path of the group.
            track_order: Record the order in which members and attributes of this group are created; by default as the file
                does.

        Returns:
            The group.

        Raises:
            InvalidInputError: There is an object of this name.

        Example:
            >>> f.create_group("run/1")
        """
        path = self._below(name)
        if self._is_whole and name in self:
            raise InvalidInputError(f"there is an object of the name {name!r} already", object=normal(path))
        return self._make_group(path, track_order)

    def _make_group(self, path: str, track_order: bool | None = None) -> NewGroup:
        """The group at a path, made if there is none."""
        self._writer.create_group(path)
        self._track(path, track_order)
        made = self._new_group(path)
        self._register(made)
        return made

    def _exclusive(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def _has(self, name: Any) -> bool:
        return name in self

    def _is_group(self, member: Any) -> bool:
        return isinstance(member, NewGroup)

    def _is_dataset(self, member: Any) -> bool:
        return isinstance(member, NewDataset)

    def _make_dataset(self, path: str, asked: definition.Asked, track_order: bool | None, options: dict[str, Any]) -> NewDataset:
        if not self._is_whole and asked.data is not None and (kind := new_references.kind_of(asked.data, asked.dtype)) is not None:
            return self._given_references(path, kind, asked.data, asked.shape, track_order)
        stated = asked.stated(as_times=type(self)._dataset is NewDataset)
        chosen = asked.storage(stated)
        fillvalue, fill = definition.fill(stated, asked.fillvalue)
        if options.get("rows"):
            chosen.maxshape = chosen.maxshape or [None, *(stated.shape or (0,))[1:]]
        committed = asked.dtype.name if isinstance(asked.dtype, NewDatatype) else None
        found = self._writer.create_dataset(path, definition.native(stated, chosen, fill, committed, asked.fill_time), **options)
        self._track(path, track_order)
        made = self._dataset(self._writer, path, stated.shape, stated.datatype, None if found is None else tuple(found), fillvalue)
        made._times = stated.times
        self._register(made)
        for key, value in (times.attributes(stated.times) if stated.times is not None else {}).items():
            made.attrs[key] = value
        if stated.data is not None:
            made[()] = stated.data
        return made

    def _make_virtual(self, path: str, made_of: _native.DatasetDefinition, sources: list[Any], layout: VirtualLayout, fillvalue: Any) -> NewDataset:
        """It can be read when the file is complete."""
        self._writer.create_virtual(path, made_of, sources)
        made = self._dataset(self._writer, path, layout.shape, dtype_encoding.of_dtype(layout.dtype), None, fillvalue)
        self._register(made)
        return made

    def _given_references(self, where: str, kind: str, data: Any, shape: Any, track_order: bool | None) -> NewDataset:
        """A dataset of references in a parallel write, which has its values from the beginning."""
        if kind != "object":
            raise UnsupportedError("references to regions in a parallel write", object=where)
        datatype = new_references.datatype_of(kind)
        heap: list[bytes] = []
        given = dtype_encoding.stored(data, datatype, heap)
        numbers = given.reshape(-1).view("<u8").tolist()
        found = list(given.shape) if shape is None else dtype_encoding.extents("shape", shape)
        self._writer.set_references(where, None, found, [heap[number - 1].decode() if number else None for number in numbers])
        self._track(where, track_order)
        return NewDataset(self._writer, where, tuple(found), datatype, None)

    def _filename(self) -> str:
        """The file that is written; of a part of a parallel write nothing."""
        return str(getattr(self._objects.get(0), "filename", ""))

    def _track(self, path: str, track_order: bool | None) -> None:
        if track_order is not None:
            self._writer.set_tracked(path, track_order)

    def __setitem__(self, name: str, value: Any) -> None:
        """A dataset of these values, a link, one more name for an object of this file, or a committed datatype."""
        value, path = as_ours(value), self._below(name)
        if isinstance(value, SoftLink):
            self._writer.create_link(path, value.path)
        elif isinstance(value, ExternalLink):
            self._writer.create_link(path, value.path, value.file)
        elif isinstance(value, HardLink):
            if value.path is None:
                raise InvalidInputError(f"a hard link needs the path of an object: f[{name!r}] = hs.HardLink('/path')")
            self._writer.create_link(path, value.path, None, True)
        elif isinstance(value, (NewGroup, NewDataset, NewDatatype)):
            if value._writer is not self._writer:
                raise InvalidInputError(f"{value.name} is in another file: a file has links to its own objects")
            self._writer.create_link(path, value.name if not self._is_whole else self._writer.look_up(value._path).path, None, True)
        elif isinstance(value, np.dtype):
            self._writer.create_datatype(path, dtype_encoding.of_dtype(value))
            self._register(NewDatatype(self._writer, path, value))
        else:
            self.create_dataset(name, data=value)

    def __delitem__(self, name: str) -> None:
        """Removes a name, and the object if it has no other name. Values already in the file keep their space, unused."""
        path = normal(self._below(name))
        if self._link(path, None) is None:
            raise ObjectNotFoundError(f"there is no {name!r} in {self.name} of the file that is written", object=path)
        affected = self._known_below(path)
        self._writer.remove(path)
        self._relocate(affected)

    def move(self, source: str, dest: str) -> None:
        """Renames an object, and creates the groups above the new name.

        Args:
            source: Path of the object.
            dest: Its new path.

        Raises:
            ObjectNotFoundError: There is no such object.

        Example:
            >>> f.move("x", "old/x")
        """
        path = normal(self._below(source))
        if self._link(path, None) is None:
            raise ObjectNotFoundError(f"there is no {source!r} in {self.name} of the file that is written", object=path)
        affected = self._known_below(path)
        self._writer.rename(path, self._below(dest))
        self._relocate(affected)

    def copy(self, source: Any, dest: Any, name: str | None = None, **options: Any) -> None:
        """Copies an object of this file with its attributes and members.

        Args:
            source: The object, or its path.
            dest: A path, or a group of this file.
            name: Name in `dest`, if that is a group; by default the name of the source.
            options: Those of h5py; only `expand_refs` is accepted, and makes no difference.

        Raises:
            UnsupportedError: The object is in another file.

        Example:
            >>> f.copy("x", "copy of x")
        """
        for option, value in options.items():
            if value and option != "expand_refs":
                raise UnsupportedError(f"copy with {option}: leave it out")
        found = self[source] if isinstance(source, (str, bytes)) else source
        if not isinstance(found, (NewGroup, NewDataset, NewDatatype)) or found._writer is not self._writer:
            raise UnsupportedError("copying from another file: create a dataset of the values that were read, `f[path] = other[path][...]`")
        target, path = (dest, name or found.name.rpartition("/")[2]) if isinstance(dest, NewGroup) else (self, dest)
        if path in target:
            raise InvalidInputError(f"there is an object of the name {path!r} already")
        if isinstance(found, NewGroup) and f"{target._below(path).rstrip('/')}/".startswith(f"{found.name.rstrip('/')}/"):
            raise InvalidInputError(f"{found.name} cannot be copied into itself")
        copying.copy_object(found, target, path)

    def __repr__(self) -> str:
        return f"<new group {self.name} ({len(self)} members)>"


#: What a group of a file that is being written contains.
NewMember = NewGroup | NewDataset | NewDatatype
