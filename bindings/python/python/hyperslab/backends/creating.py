"""Creating: a new file, which appears when it is complete."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from .. import _native
from ..base.description import Description
from ..base.errors import InvalidInputError, InvalidTypeError, ObjectNotFoundError, UnsupportedError
from ..base.type_aliases import AnyArray, Key
from ..values import dtype_encoding, indexing_keys
from ..values.encoded import Encoded
from ..values.string_padding import pad
from . import unclosed
from .backend import Backend, Holder, Named, Notes
from .plan_writer import AnyWriter
from .written_objects import WrittenObjects

Result = TypeVar("Result")
#: File and path of each source of a virtual dataset, and what is selected there and in the dataset: start, stride, count and block of each dimension.
Mappings: TypeAlias = Sequence[tuple[str, str, list[list[int]] | None, list[list[int]] | None]]


class WrittenObject:
    """An object of a file that is being created, as it is after all changes so far."""

    def __init__(self, creating: Creating, number: int, path: str) -> None:
        self._creating, self._number, self._path = creating, number, path
        #: How often objects had been moved and removed when the path was looked up.
        self._moves = creating.moves

    @property
    def name(self) -> str:
        """The absolute path. It follows when the object is moved.

        Raises:
            ObjectNotFoundError: The object was removed.
        """
        self._follow()
        return self._path

    def _follow(self) -> None:
        creating = self._creating
        if self._moves != creating.moves and not creating.closed:
            with creating.lock:
                self._path, self._moves = creating.objects.object_path(self._number, self._path), creating.moves

    @property
    def file(self) -> WrittenObjects:
        """What has been written so far.

        Raises:
            ObjectNotFoundError: The object was removed.
        """
        self._follow()
        return self._creating.objects

    @property
    def about(self) -> Description:
        """The description of the object."""
        return self._creating.objects.describe(self._number, self.name)


class WrittenReader:
    """Reads what has been written so far of a dataset, with the methods of `_native.DatasetReader`."""

    def __init__(self, creating: Creating, node: Holder) -> None:
        self._creating, self._node = creating, node

    def get(self, key: Key) -> None:
        """No key is read into an array at once."""

    def get_text(self, key: Key) -> None:
        """No key is read as text at once."""

    def get_into(self, key: Key, shape: Sequence[int], address: int, length: int) -> bool:
        """No key is read into memory of others."""
        return False

    def get_decoded(self, *arguments: object) -> None:
        """No key is decoded while it is read."""

    def get_bytes(self, key: Key) -> tuple[AnyArray, tuple[int, ...], _native.Heap]:
        """The bytes of the selected elements, their shape, and what they point at."""
        about = self._node._about
        shape, size = tuple(about["shape"] or ()), int(about["datatype"].size)
        selected = indexing_keys.select(key or (Ellipsis,), shape)
        start, count, inside = ([0] * len(shape), list(shape), ()) if selected.mask is not None else indexing_keys.box_of(selected)
        raw = np.empty(math.prod(count) * size, np.uint8)
        heap = self._creating.file.writer.read_into(self._node.path, start, count, raw.ctypes.data, raw.nbytes)
        elements = raw.reshape([*count, size])
        if selected.mask is not None:
            elements = elements[selected.mask]
        else:
            for axis, along in enumerate(inside):
                elements = elements[(slice(None),) * axis + (along,)]
            elements = indexing_keys.apply(elements, selected)
        return np.ascontiguousarray(elements).reshape(-1), elements.shape[:-1], heap


class Definitions:
    """Defines objects of a new file by the methods of `_native.Editor`, for which objects have numbers."""

    def __init__(self, objects: WrittenObjects) -> None:
        self.objects, self.writer = objects, objects.writer

    def create_group(self, path: str, tracked: bool | None) -> None:
        """Creates a group, and those above it."""
        if self.objects.has_link(path) or path.strip("/") == "":
            raise InvalidInputError(f"there is an object of the name {path!r} already", self.objects.path, path)
        self.writer.create_group(path)
        self._track(path, tracked)

    def create_dataset(self, path: str, definition: _native.DatasetDefinition, tracked: bool | None, **options: Any) -> None:
        """Creates a dataset without values."""
        self.writer.create_dataset(path, definition, **options)
        self._track(path, tracked)

    def _track(self, path: str, tracked: bool | None) -> None:
        if tracked is not None:
            self.writer.set_tracked(path, tracked)

    def create_virtual(self, path: str, definition: _native.DatasetDefinition, mappings: Mappings) -> None:
        """Creates a virtual dataset."""
        self.writer.create_virtual(path, definition, mappings)

    def create_datatype(self, path: str, datatype: _native.Datatype) -> None:
        """Commits a datatype."""
        self.writer.create_datatype(path, datatype)

    def create_link(self, path: str, target: str, file: str | None = None) -> None:
        """Creates a link to a path of this file, or of another one."""
        self.writer.create_link(path, target, file)

    def create_hard_link(self, path: str, number: int) -> None:
        """Gives an object one more name."""
        self.writer.create_link(path, self.objects.object_path(number), None, True)

    def resize(self, number: int, shape: list[int]) -> None:
        """Changes the extent of a dataset."""
        self.objects.forget(number)
        self.writer.resize(self.objects.object_path(number), shape)

    def attach_scale(self, number: int, axis: int, scale: int) -> None:
        """Attaches a scale to a dimension of a dataset."""
        self.writer.attach_scale(self.objects.object_path(number), axis, self.objects.object_path(scale))

    def detach_scale(self, number: int, axis: int, scale: int) -> None:
        """Detaches a scale from a dimension of a dataset."""
        self.writer.detach_scale(self.objects.object_path(number), axis, self.objects.object_path(scale))

    def set_attribute(self, number: int, name: str, shape: list[int] | None, datatype: _native.Datatype, raw: bytes, heap: list[bytes]) -> None:
        """Sets an attribute."""
        path = self.objects.object_path(number)
        if datatype.class_name == "reference" and datatype.reference_kind == "object" and shape is not None:
            targets = [heap[place - 1].decode("utf-8", "surrogateescape") if place else None for place in np.frombuffer(raw, "<u8").tolist()]
            self.writer.set_references(path, name, shape, targets)
        else:
            self.writer.set_attribute(path, name, shape, datatype, raw, heap)

    def copy_attributes(self, number: int, to: int) -> None:
        """Copies all attributes of an object to another one."""
        self.writer.copy_attributes(self.objects.object_path(number), self.objects.object_path(to))

    def delete_attribute(self, number: int, name: str) -> None:
        """Removes an attribute."""
        self.writer.remove_attribute(self.objects.object_path(number), name)


class Creating(Backend):
    """A file that is being created. It appears, complete and on the disk, when it is closed."""

    mode = "r+"
    is_fixed = False
    is_complete = False

    def __init__(self, writer: AnyWriter, path: str, replace: bool, user_block_bytes: int = 0) -> None:
        #: What has been written so far.
        self.objects = WrittenObjects(writer, path, user_block_bytes)
        self._replace, self._closed = replace, False
        self._definitions = Definitions(self.objects)
        #: Held while a change is made, so that threads see whole changes.
        self.lock: contextlib.AbstractContextManager[object] = threading.RLock()
        #: Counts changes, and those by which objects have other paths.
        self.edits = self.moves = 0
        self.notes: dict[int, Notes] = {}
        #: The definitions of a netCDF file (`netcdf.variables.Contents`).
        self.netcdf: Any = None
        self._unclosed = self._watched()

    def _watched(self) -> unclosed.Watch:
        """What happens if the file is dropped before it was closed."""
        return unclosed.watch(self, self._left())

    def _left(self) -> str:
        """What is said if the file is dropped before it was closed."""
        return f"'{self.path}' was not closed, so nothing was written: call close(), or use it in a `with` block"

    @property
    def file(self) -> Any:
        return self.objects

    @property
    def native(self) -> NoReturn:
        raise UnsupportedError("tables and queries of a file that is being created: close it, and open it", self.path)

    @property
    def raw(self) -> Any:
        """What has been written so far."""
        return self.objects

    @property
    def writer(self) -> AnyWriter:
        """What writes the file, for definitions by paths."""
        return self.objects.writer

    @property
    def path(self) -> str:
        return self.objects.path

    @property
    def closed(self) -> bool:
        return self._closed

    def hold(self, node: Holder, name: str, about: Description | None) -> None:
        node._state = WrittenObject(self, node._number, name)

    def changes(self, node: Named) -> Creating:
        return self

    def refreshed(self, name: str) -> None:
        """Objects show each change at once."""

    def reader(self, node: Holder, make: Callable[[], _native.DatasetReader | None]) -> WrittenReader:
        return WrittenReader(self, node)

    def make(self, change: Callable[[Definitions], Result]) -> Result:
        """Makes one change.

        Args:
            change: What is done with the definitions.

        Returns:
            The result of `change`.

        Raises:
            InvalidInputError: The file is closed.
        """
        with self.lock:
            self.edits += 1
            return change(self._definitions)

    def put(self, node: Holder, encoded: Encoded) -> None:
        """Writes values.

        Args:
            node: The dataset.
            encoded: The values.
        """
        path, writer, heap, parts = self.stored_path(node.path), self.objects.writer, encoded.heap, encoded.parts
        data = _padded(encoded.fitted(), encoded.datatype)
        with self.lock:
            if None in (node._about.get("maxshape") or ()):
                # The shape of its chunks may follow from its values.
                self.objects.forget(node._number)
            if encoded.is_box:
                data = dtype_encoding.contiguous(data)
                start, count = [axis[0] for axis in encoded.selected.axes], list(encoded.selected.box)
                writer.write(path, start, count, data.ctypes.data, data.nbytes, heap, encoded.steps, parts)
                return
            rows = encoded.rows(data)
            for piece in indexing_keys.pieces(encoded.selected, int(encoded.datatype.size)):
                part = dtype_encoding.contiguous(rows[piece.values])
                writer.write(path, piece.start, piece.extent, part.ctypes.data, part.nbytes, heap, None, parts, piece.numbers.tolist())

    def remove(self, path: str) -> None:
        """Removes a link, and the object if it has no other name.

        Args:
            path: Absolute path of the link.
        """
        self._check_link(path)
        with self.lock:
            self.moves += 1
            self.objects.writer.remove(path)

    def create_hard_link(self, path: str, target: str) -> None:
        """Gives the object at a path one more name.

        Args:
            path: The new name.
            target: Path of the object.
        """
        with self.lock:
            self.edits += 1
            self.writer.create_link(path, target, None, True)

    def stored_path(self, name: str) -> str:
        """The path by which the values of a dataset are written."""
        return name

    def discard(self, path: str) -> None:
        """Removes an object whose creation has failed.

        Args:
            path: Absolute path of the object.
        """
        self.remove(path)

    def rename(self, path: str, to: str) -> None:
        """Gives a link another name.

        Args:
            path: Absolute path of the link.
            to: Its new path.
        """
        self._check_link(path)
        with self.lock:
            self.moves += 1
            self.objects.writer.rename(path, to)

    def _check_link(self, path: str) -> None:
        if not self.objects.has_link(path):
            raise ObjectNotFoundError(f"there is no {path!r} in the file that is written", self.path, path)

    def declare(self, number: int, names: tuple[str, ...]) -> None:
        """Makes a dataset show the names of its dimensions, whose scales are attached when the file is complete.

        Args:
            number: Number of the dataset.
            names: The names.
        """
        self.objects.declared[number] = names

    def flush(self) -> None:
        """Does nothing: the file is complete, and visible, when it is closed."""

    def commit(self) -> NoReturn:
        raise UnsupportedError("a commit of a file that is being created, which appears when it is closed: close it, and open it with mode r+", self.path)

    def roll_back(self) -> NoReturn:
        """Refused: nothing of the file was committed."""
        raise UnsupportedError("roll_back of a file that is being created: abort() leaves nothing of it", self.path)

    def close(self) -> None:
        self._unclosed.detach()
        if not self._closed:
            if self.netcdf is not None:
                self.netcdf.complete()
            self._closed = True
            self.objects.writer.finish(self._replace)

    def abandon(self) -> None:
        self._unclosed.detach()
        self._closed = True
        self.objects.writer.abort()

    def __reduce__(self) -> NoReturn:
        raise InvalidTypeError("a file that is being created belongs to this process: pickle what hyperslab.open(path) reads", self.path)


def _padded(data: AnyArray, datatype: _native.Datatype) -> AnyArray:
    """Elements whose fixed strings are padded as their datatype wants it."""
    if not datatype.has_padded_strings or not data.size:
        return data
    raw = np.frombuffer(data.tobytes(), np.uint8).copy()
    pad(raw, datatype.base if datatype.class_name == "array" else datatype)
    padded: AnyArray = raw.view(data.dtype).reshape(data.shape)
    return padded
