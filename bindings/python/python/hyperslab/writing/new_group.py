"""New group: a group of a file that is being written, a mapping of names as h5py's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..objects import definition
from ..objects.links import ExternalLink, HardLink, SoftLink, as_ours
from ..objects.virtual_layouts import VirtualLayout
from ..values import dtype_encoding, empty, new_references, times
from ..values.new_references import NewReference
from . import copying
from .new_attributes import NewAttributes
from .new_dataset import NewDataset
from .new_datatype import NewDatatype
from .new_members import NewMembers, normal


class NewGroup(NewMembers):
    """A group that is being written: a mapping of names to groups and datasets."""

    _attributes: type[NewAttributes] = NewAttributes
    #: Whether this writer writes the whole file, so that objects can be moved and removed.
    _is_whole = True

    @property
    def attrs(self) -> NewAttributes:
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

    def require_group(self, name: str) -> NewGroup:
        """Returns the group of this name, or creates it.

        Args:
            name: Path of the group.

        Returns:
            The group.

        Raises:
            InvalidTypeError: There is an object of this name that is not a group.

        Example:
            >>> f.require_group("run/1")
        """
        if name not in self:
            return self.create_group(name)
        found = self[name]
        if not isinstance(found, NewGroup):
            raise InvalidTypeError(f"{found.name} is not a group")
        return found

    def create_dataset(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        data: Any = None,
        *,
        chunks: Any = None,
        maxshape: Any = None,
        fillvalue: Any = None,
        compression: Any = None,
        compression_opts: Any = None,
        shuffle: bool = False,
        fletcher32: bool = False,
        scaleoffset: Any = None,
        track_order: bool | None = None,
        fill_time: str | None = None,
        **more: Any,
    ) -> NewDataset:
        """Creates a dataset, with the arguments of h5py.

        Args:
            name: Path of the dataset; groups above it are created.
            shape: The shape; by default that of `data`.
            dtype: The dtype; by default that of `data`, or 4-byte floats.
            data: The values.
            chunks: Shape of the chunks; chosen if needed and not given, or if `True`.
            maxshape: How far each dimension may grow; `None` for no limit.
            fillvalue: The value of unwritten elements.
            compression: gzip (deflate), zstd, lz4, bitshuffle, or a number of a filter.
            compression_opts: The level of the compression, or parameters of the filter.
            shuffle: Use the shuffle filter.
            fletcher32: Store checksums of chunks.
            scaleoffset: Store integers in as few bits as a chunk needs (`True`, or at least this many), floats with this many
                decimal places.
            track_order: Record the order in which attributes are created; by default as the file does.
            fill_time: `ifset`, `alloc` or `never`: stored for programs that change the file later.
            more: Other options of h5py. Those that do not change a written file are accepted.

        Returns:
            The dataset.

        Raises:
            InvalidInputError: There is an object of this name, or `data` does not fit `shape`.
            UnsupportedError: HDF5 has no such type, or an option of h5py is not supported.

        Example:
            >>> f.create_dataset("x", data=np.zeros((1000, 1000)), chunks=(100, 100), compression="zstd")
        """
        where = self._below(name)
        options = self._more(definition.checked(more), shape)
        data = empty.as_ours(data)
        if not self._is_whole and data is not None and (kind := new_references.kind_of(data, dtype)) is not None:
            return self._given_references(where, kind, data, shape, track_order)
        stated = definition.stated(shape, dtype, data, as_times=type(self)._dataset is NewDataset)
        chosen = definition.storage(stated, chunks, maxshape, compression, compression_opts, shuffle, fletcher32, scaleoffset)
        fillvalue, fill = definition.fill(stated, fillvalue)
        extent = None if stated.shape is None else list(stated.shape)
        if options.get("rows"):
            chosen.maxshape = chosen.maxshape or [None, *(extent or [0])[1:]]
        committed = dtype.name if isinstance(dtype, NewDatatype) else None
        found = self._writer.create_dataset(where, definition.native(stated, chosen, fill, committed, fill_time), **options)
        self._track(where, track_order)
        made = self._dataset(self._writer, where, stated.shape, stated.datatype, None if found is None else tuple(found), fillvalue)
        made._times = stated.times
        self._register(made)
        for key, value in (times.attributes(stated.times) if stated.times is not None else {}).items():
            made.attrs[key] = value
        if stated.data is not None:
            made[()] = stated.data
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

    def create_virtual_dataset(self, name: str, layout: VirtualLayout, fillvalue: Any = None) -> NewDataset:
        """Creates a dataset whose values are in other datasets, as `layout` says; elements without a source have `fillvalue`.
        It can be read when the file is complete.

        Args:
            name: Path of the dataset.
            layout: Shape, dtype and sources.
            fillvalue: The value of elements without a source.

        Returns:
            The dataset.

        Example:
            >>> layout = hs.VirtualLayout((2, 100), "f8")
            >>> layout[0] = hs.VirtualSource("a.h5", "x", (100,))
            >>> f.create_virtual_dataset("all", layout)
        """
        datatype, where = dtype_encoding.of_dtype(layout.dtype), self._below(name)
        sources = [
            ("." if os.path.abspath(path) == os.path.abspath(self._filename()) else path, source, part, place) for path, source, part, place in layout.sources
        ]
        fill = dtype_encoding.fill_of(fillvalue, datatype)
        self._writer.create_virtual(where, _native.DatasetDefinition(datatype, list(layout.shape), maxshape=layout.maxshape, fill=fill), sources)
        made = self._dataset(self._writer, where, layout.shape, datatype, None, fillvalue)
        self._register(made)
        return made

    def _filename(self) -> str:
        """The file that is written; of a part of a parallel write nothing."""
        return str(getattr(self._objects.get(0), "filename", ""))

    def require_dataset(self, name: str, shape: Any, dtype: Any, exact: bool = False, **options: Any) -> NewDataset:
        """Returns the dataset of this name, or creates it. An existing one must have this shape, and a dtype to which `dtype`
        can be cast safely, or with `exact` the same dtype; otherwise raises `InvalidTypeError`.

        Args:
            name: Path of the dataset.
            shape, dtype: What it must have, or gets.
            exact: Whether the dtype must be the same.
            options: As in `create_dataset`.

        Returns:
            The dataset.

        Raises:
            InvalidTypeError: There is an object of this name that does not fit.

        Example:
            >>> f.require_dataset("x", (100,), "f8")
        """
        if name not in self:
            return self.create_dataset(name, shape, dtype, **options)
        found = self[name]
        if not isinstance(found, NewDataset):
            raise InvalidTypeError(f"{found.name} is not a dataset")
        definition.check_required(found, shape, dtype, exact)
        return found

    def create_dataset_like(self, name: str, other: Any, **options: Any) -> NewDataset:
        """Creates a dataset with the shape, dtype and storage of another; `options` override them.

        Args:
            name: Path of the dataset.
            other: A dataset of this or of another file.
            options: As in `create_dataset`.

        Returns:
            The dataset, without values.

        Example:
            >>> out.create_dataset_like("x", f["x"], compression="zstd")
        """
        return self.create_dataset(name, **definition.like(other, options))

    def _track(self, path: str, track_order: bool | None) -> None:
        if track_order is not None:
            self._writer.set_tracked(path, track_order)

    def _more(self, given: dict[str, Any], shape: list[int] | None) -> dict[str, Any]:
        """Options of parallel writes, which a file of its own has none of."""
        if given:
            raise TypeError(f"create_dataset() got an unexpected keyword argument {next(iter(given))!r}")
        return {}

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
