"""New group: a group of a file that is being written, a mapping of names as h5py's."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, ItemsView, Iterator, MutableMapping, ValuesView
from typing import Any, TypeVar

import numpy as np

from . import attributes, copying, creating, dtype_encoding, new_references, times
from .errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError, UnsupportedError
from .links import ExternalLink, HardLink, SoftLink, as_ours
from .new_attributes import NewAttributes
from .new_dataset import NewDataset
from .new_datatype import NewDatatype
from .new_references import NewReference
from .virtual_layouts import VirtualLayout


Result = TypeVar("Result")


class _Gone:
    """The writer of an object that was removed."""

    def __init__(self, path: str) -> None:
        self._gone = path

    def __getattr__(self, name: str) -> Any:
        raise ObjectNotFoundError(f"'{self._gone}' was removed", object=self._gone)


class _Members(ValuesView[Any]):
    """The members of a group; `None` for a dangling link."""

    _mapping: NewGroup

    def __iter__(self) -> Iterator[Any]:
        return (self._mapping.get(name) for name in self._mapping)


class _NamedMembers(ItemsView[str, Any]):
    """Names and members of a group; `None` for a dangling link."""

    _mapping: NewGroup

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, self._mapping.get(name)) for name in self._mapping)


def _normal(path: str) -> str:
    return "/" + "/".join(part for part in path.split("/") if part)


class NewGroup(MutableMapping[str, Any]):
    """A group that is being written: a mapping of names to groups and datasets."""

    _attributes: type[NewAttributes] = NewAttributes
    _dataset: type[NewDataset] = NewDataset
    #: Whether the file is this writer's alone, so that what is in it can be moved and removed.
    _is_whole = True

    def __init__(self, writer: Any, path: str, objects: dict[int, Any] | None = None) -> None:
        self._writer, self._path = writer, path
        #: Groups, datasets and datatypes of the file by the number that the writer gives each.
        self._objects: dict[int, Any] = {0: self} if objects is None else objects

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    @property
    def attrs(self) -> NewAttributes:
        """The attributes."""
        return self._attributes(self._writer, self._path)

    @property
    def ref(self) -> NewReference:
        """A reference to this group."""
        return NewReference(self._path)

    def _below(self, path: Any) -> str:
        if isinstance(path, bytes):
            path = path.decode("utf-8", "surrogateescape")
        if not isinstance(path, str):
            raise InvalidTypeError(f"a group is indexed by the path of a member, not by {path!r}")
        return path if path.startswith("/") else f"{self._path.rstrip('/')}/{path}"

    def __getitem__(self, name: Any) -> Any:
        """The group, dataset or datatype at a path, or that a reference points at; links are followed."""
        path = _normal(name.path if isinstance(name, NewReference) else self._below(name))
        found = self._writer.look_up(path)
        if found is None:
            shown = name.path if isinstance(name, NewReference) else name
            raise ObjectNotFoundError(f"there is no {shown!r} in {self.name} of the file that is written", object=path)
        kind, number, _ = found
        known = self._objects.get(number)
        if known is None:
            known = self._objects[number] = self._new_group(path) if kind == "group" else self._known_dataset(path)
        if _normal(known._path) != path:
            # Another name of the same object.
            known = copy.copy(known)
            known._path = path
        return known

    def _known_dataset(self, path: str) -> NewDataset:
        about = self._writer.describe(path)
        return self._dataset(self._writer, path, None, about["datatype"], about["chunks"])

    def __contains__(self, name: object) -> bool:
        """Whether there is such a name; a link may lead nowhere."""
        if not isinstance(name, (str, bytes)):
            return False
        path = _normal(self._below(name))
        try:
            return self._writer.look_up(path) is not None or self._link(path, None) is not None
        except UnsupportedError:
            return True  # a link to another file

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._writer.members(self._path)])

    def __len__(self) -> int:
        return len(self._writer.members(self._path))

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NewGroup):
            return NotImplemented
        return self._writer is other._writer and self._writer.look_up(self._path) == other._writer.look_up(other._path)

    def __hash__(self) -> int:
        return hash(id(self._writer))

    def values(self) -> _Members:
        """The members; `None` for a dangling link."""
        return _Members(self)

    def items(self) -> _NamedMembers:
        """Names and members; the member is `None` for a dangling link."""
        return _NamedMembers(self)

    def get(self, name: Any, default: Any = None, getclass: bool = False, getlink: bool = False) -> Any:
        """The member at a path, or `default` if there is none; with `getclass` its class, with `getlink` the link."""
        if getlink:
            found = self._link(_normal(self._below(name)), default)
            return type(found) if getclass and found is not default else found
        try:
            found = self[name]
        except (KeyError, UnsupportedError):
            return default
        return type(found) if getclass else found

    def _link(self, path: str, default: Any) -> Any:
        above, _, name = path.rpartition("/")
        group = self._writer.look_up(above or "/")
        if group is None or group[0] != "group":
            return default
        for member, link in self._writer.members(above or "/"):
            if member == name:
                if link is None or link[0] == "hard":
                    return HardLink(path if link is None else link[1])
                return SoftLink(link[1]) if link[0] == "soft" else ExternalLink(link[2], link[1])
        return default

    def visit(self, function: Callable[[str], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group, until it returns something other than `None`.

        Returns:
            The last result of `function`.
        """
        return self.visititems(lambda name, _: function(name))

    def visititems(self, function: Callable[[str, Any], Result | None]) -> Result | None:
        """Calls `function` with the path of each object below this group and the object, until it returns something other
        than `None`. Visits each object once, and does not follow soft and external links.

        Returns:
            The last result of `function`.
        """
        return self._visit("", function, {self._writer.look_up(self._path)[1]})

    def _visit(self, above: str, function: Callable[[str, Any], Result | None], seen: set[int]) -> Result | None:
        for name, link in self._writer.members(self._path):
            if link is not None and link[0] != "hard":
                continue
            number = self._writer.look_up(self._below(name))[1]
            if number in seen:
                continue
            seen.add(number)
            member = self[name]
            found = function(above + name, member)
            if found is None and isinstance(member, NewGroup):
                found = member._visit(f"{above}{name}/", function, seen)
            if found is not None:
                return found
        return None

    def _register(self, made: Any) -> None:
        """Remembers an object."""
        found = self._writer.look_up(made._path)
        if found is not None:
            self._objects[found[1]] = made

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

        Raises:
            InvalidInputError: There is an object of this name.
        """
        path = self._below(name)
        if self._is_whole and name in self:
            raise InvalidInputError(f"there is an object of the name {name!r} already", object=_normal(path))
        return self._make_group(path, track_order)

    def _make_group(self, path: str, track_order: bool | None = None) -> NewGroup:
        """The group at a path, made if there is none."""
        self._writer.create_group(path)
        self._track(path, track_order)
        made = self._new_group(path)
        self._register(made)
        return made

    def require_group(self, name: str) -> NewGroup:
        """Returns the group of this name, or creates it."""
        if name not in self:
            return self.create_group(name)
        found = self[name]
        if not isinstance(found, NewGroup):
            raise InvalidTypeError(f"{found.name} is not a group")
        return found

    def create_dataset(self, name: str, shape: Any = None, dtype: Any = None, data: Any = None, *, chunks: Any = None,
                       maxshape: Any = None, fillvalue: Any = None, compression: Any = None, compression_opts: Any = None,
                       shuffle: bool = False, fletcher32: bool = False, scaleoffset: Any = None, track_order: bool | None = None,
                       fill_time: str | None = None, **more: Any) -> NewDataset:
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

        Raises:
            InvalidInputError: There is an object of this name, or `data` does not fit `shape`.
            UnsupportedError: HDF5 has no such type, or an option of h5py is not supported.

        Example:
            >>> f.create_dataset("x", data=np.zeros((1000, 1000)), chunks=(100, 100), compression="zstd")
        """
        where = self._below(name)
        options = self._more(creating.checked(more), shape)
        data = attributes.as_ours(data)
        if not self._is_whole and data is not None and (kind := new_references.kind_of(data, dtype)) is not None:
            return self._given_references(where, kind, data, shape, track_order)
        stated = creating.stated(shape, dtype, data, as_times=type(self)._dataset is NewDataset)
        if fillvalue is None and stated.times is not None:
            fillvalue = np.int64(times.MISSING)
        chosen = creating.storage(stated, chunks, maxshape, compression, compression_opts, shuffle, fletcher32, scaleoffset)
        fill = dtype_encoding.fill_of(times.counts(fillvalue, stated.times) if stated.times is not None else fillvalue, stated.datatype)
        extent = None if stated.shape is None else list(stated.shape)
        if options.get("rows"):
            chosen.maxshape = chosen.maxshape or [None, *(extent or [0])[1:]]
        committed = dtype.name if isinstance(dtype, NewDatatype) else None
        found = self._writer.create_dataset(where, stated.datatype, extent, chosen.maxshape, chosen.chunks, chosen.filters, fill, committed=committed, fill_time=fill_time, **options)
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
        if kind != "Object":
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
        It can be read when the file is complete."""
        datatype, where = dtype_encoding.of_dtype(layout.dtype), self._below(name)
        sources = [("." if os.path.abspath(path) == os.path.abspath(self._filename()) else path, source, part, place) for path, source, part, place in layout.sources]
        self._writer.create_virtual(where, datatype, list(layout.shape), layout.maxshape, dtype_encoding.fill_of(fillvalue, datatype), sources)
        made = self._dataset(self._writer, where, layout.shape, datatype, None, fillvalue)
        self._register(made)
        return made

    def _filename(self) -> str:
        """The file that is written; of a part of a parallel write nothing."""
        return str(getattr(self._objects.get(0), "filename", ""))

    def require_dataset(self, name: str, shape: Any, dtype: Any, exact: bool = False, **options: Any) -> NewDataset:
        """Returns the dataset of this name, or creates it. An existing one must have this shape, and a dtype to which `dtype`
        can be cast safely, or with `exact` the same dtype; otherwise raises `InvalidTypeError`."""
        if name not in self:
            return self.create_dataset(name, shape, dtype, **options)
        found = self[name]
        if not isinstance(found, NewDataset):
            raise InvalidTypeError(f"{found.name} is not a dataset")
        wanted = tuple(dtype_encoding.extents("shape", shape))
        if found.shape != wanted:
            raise InvalidTypeError(f"{found.name} has shape {found.shape}, not {wanted}")
        if not (found.dtype == dtype if exact else np.can_cast(dtype, found.dtype)):
            raise InvalidTypeError(f"{found.name} has dtype {found.dtype}, not {np.dtype(dtype)}")
        return found

    def create_dataset_like(self, name: str, other: Any, **options: Any) -> NewDataset:
        """Creates a dataset with the shape, dtype and storage of another; `options` override them."""
        return self.create_dataset(name, **creating.like(other, options))

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
            self._writer.create_link(path, value.path, None, True)
        elif isinstance(value, (NewGroup, NewDataset, NewDatatype)):
            if value._writer is not self._writer:
                raise InvalidInputError(f"{value.name} is in another file: a file has links to its own objects")
            self._writer.create_link(path, value.name if not self._is_whole else self._writer.look_up(value._path)[2], None, True)
        elif isinstance(value, np.dtype):
            self._writer.create_datatype(path, dtype_encoding.of_dtype(value))
            self._register(NewDatatype(self._writer, path, value))
        else:
            self.create_dataset(name, data=value)

    def __delitem__(self, name: str) -> None:
        """Removes a name, and the object if it has no other name. Values already in the file keep their space, unused."""
        path = _normal(self._below(name))
        if self._link(path, None) is None:
            raise ObjectNotFoundError(f"there is no {name!r} in {self.name} of the file that is written", object=path)
        affected = self._known_below(path)
        self._writer.remove(path)
        self._relocate(affected)

    def move(self, source: str, dest: str) -> None:
        """Renames an object, and creates the groups above the new name."""
        path = _normal(self._below(source))
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

        Raises:
            UnsupportedError: The object is in another file.
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

    def _known_below(self, path: str) -> list[tuple[int, Any]]:
        """The objects whose paths a change of this name may change, with their numbers."""
        return [(number, known) for number, known in self._objects.items() if _normal(known._path) == path or _normal(known._path).startswith(f"{path}/")]

    def _relocate(self, affected: list[tuple[int, Any]]) -> None:
        for number, known in affected:
            path = self._writer.path_of(number)
            if path is None:
                known._writer = _Gone(_normal(known._path))
                del self._objects[number]
            else:
                known._path = path

    def __repr__(self) -> str:
        return f"<new group {self.name} ({len(self)} members)>"
