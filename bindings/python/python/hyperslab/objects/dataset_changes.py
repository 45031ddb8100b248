"""Dataset changes: values of a dataset are written, with h5py's selections, if the file can be changed."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from .. import _native
from ..base.errors import Error, InvalidInputError, InvalidTypeError
from ..values import compounds, dtype_encoding, indexing_keys
from . import scales, stored_references
from .stored_properties import StoredProperties
from .string_padding import pad
from .value_changes import ValueChanges


class DatasetChanges(ValueChanges, StoredProperties):
    """What changes a dataset. If the file is open for reading, each of these methods is a `ReadOnlyError`."""

    _shape: Any

    def __setitem__(self, key: Any, values: Any) -> None:
        """Writes a selection: slices, indexes, lists of indexes and masks, as in h5py. Names of fields in the key (`d["a", 0:3]`)
        restrict it to these fields; other fields keep their values."""
        with self._changes.lock:
            self._write(key, values)

    def _filename(self) -> str | None:
        return self._changes.path

    def _exclusive(self) -> contextlib.AbstractContextManager[Any]:
        return self._changes.lock

    def _stored_datatype(self) -> _native.Datatype:
        found: _native.Datatype = self._about["datatype"]
        return found

    def _check_resizable(self) -> None:
        if self._about["chunks"] is None:
            raise InvalidTypeError("only chunked datasets can be resized", self._changes.path, self.name)

    def _resize(self, shape: list[int]) -> None:
        number = self._own_number()
        self._changes.make(lambda editor: editor.resize(number, shape))

    def make_scale(self, name: str = "") -> None:
        """Makes the dataset a dimension scale.

        Args:
            name: The name of the scale.

        Raises:
            InvalidInputError: The dataset has scales of its own.

        Example:
            >>> f["time"].make_scale("time")
        """
        with self._changes.lock:
            scales.make(self, name)

    def attach_scale(self, axis: int, scale: Any) -> None:
        """Attaches a scale to a dimension. A dataset that is not a scale becomes one.

        Args:
            axis: The dimension.
            scale: A dataset of this file.

        Raises:
            InvalidInputError: There is no such dimension, or the scale has scales itself.

        Example:
            >>> f["wind"].attach_scale(0, f["time"])
        """
        with self._changes.lock:
            scales.attach(self, axis, scale)

    def detach_scale(self, axis: int, scale: Any) -> None:
        """Detaches a scale from a dimension.

        Args:
            axis: The dimension.
            scale: The scale.

        Raises:
            ObjectNotFoundError: It is not attached there.

        Example:
            >>> f["wind"].detach_scale(0, f["time"])
        """
        with self._changes.lock:
            scales.detach(self, axis, scale)

    def set_label(self, axis: int, label: str) -> None:
        """Sets the label of a dimension.

        Args:
            axis: The dimension.
            label: The label.

        Raises:
            InvalidInputError: There is no such dimension.

        Example:
            >>> f["wind"].set_label(0, "time")
        """
        with self._changes.lock:
            scales.set_label(self, axis, label)

    def _write(self, key: Any, values: Any) -> None:
        about = self._about
        if about["shape"] is None:
            raise InvalidInputError("a dataset with a null dataspace has no elements", self._changes.path, self.name)
        key, names = compounds.selected(key)
        datatype = _writable(about["datatype"])
        selected = indexing_keys.select(key, tuple(about["shape"]))
        inner = tuple(datatype.shape) if datatype.class_name == "array" else ()
        heap = stored_references.values_of(self)
        parts: compounds.Parts = None
        try:
            if dtype_encoding.has_fields(datatype):
                data, parts = dtype_encoding.stored_fields(values, datatype, heap, names)
            elif names:
                raise InvalidInputError(f"field {names[0]!r} of a dataset that has no fields")
            else:
                data = dtype_encoding.stored(values, datatype, heap)
        except Error as error:
            if error.file is None:
                error.file, error.object = self._changes.path, self.name
            raise
        size = datatype.size
        # A wrong shape is found before anything is stored.
        fitted = broadcast(data, selected.shape, inner, values)
        if 0 in selected.box or 0 in selected.shape:
            return
        if None in (about.get("maxshape") or ()):
            self._lengthen(tuple(about["shape"]))
        is_box = selected.mask is None and all(isinstance(axis, tuple) and axis[2] == 1 for axis in selected.axes)
        if is_box and datatype.class_name in _PLAIN:
            number = self._own_number()
            box = [int(axis[0]) for axis in selected.axes], [int(n) for n in selected.box], fitted.tobytes()
            self._changes.make(lambda editor: editor.write(number, *box))
            return
        stored = data.tobytes()
        if dtype_encoding.uses_heap(datatype) or dtype_encoding.has_references(datatype):
            stored = self._changes.make(lambda editor: editor.store_values(datatype, stored, heap))
            data = np.frombuffer(stored, data.dtype).reshape(data.shape)
        # One row of bytes for each element.
        raw = np.frombuffer(broadcast(data, selected.shape, inner, values).tobytes(), np.uint8).copy().reshape(-1, size)
        pad(raw.reshape(-1), datatype)
        if is_box:
            start, count = [int(axis[0]) for axis in selected.axes], [int(n) for n in selected.box]
            self._put(start, count, raw if parts is None else self._merged(start, count, None, raw, parts))
            return
        extents = [n if isinstance(picked, slice) or np.ndim(picked) == 0 else len(picked) for n, picked in zip(selected.box, selected.pick, strict=True)]
        rows = raw if selected.mask is not None else raw.reshape([*extents, size])
        for piece in indexing_keys.pieces(selected, size):
            start, count = [int(at) for at in piece.start], [int(n) for n in piece.extent]
            self._put(start, count, self._merged(start, count, piece.numbers, rows[piece.values].reshape(-1, size), parts))

    def _lengthen(self, shape: tuple[int, ...]) -> None:
        """Gives the dataset the shape that it shows. A netCDF variable shows its dimensions without limit as long as they are in the file, and may be
        stored with fewer rows."""
        if self._file.format != "netcdf4":
            return
        stored = self._changes.raw.describe(self._number, self.name)["shape"]
        if tuple(stored) != shape:
            number = self._own_number()
            self._changes.make(lambda editor: editor.resize(number, list(shape)))

    def _merged(
        self, start: list[int], count: list[int], numbers: np.ndarray[Any, Any] | None, raw: np.ndarray[Any, Any], parts: compounds.Parts
    ) -> np.ndarray[Any, Any]:
        """The elements of a box as they are, with some of them, or parts of them, replaced."""
        size = raw.shape[1]
        box = np.empty((math.prod(count), size), np.uint8)
        self._file.read_into(self._number, [(at, n, 1) for at, n in zip(start, count, strict=True)], box.ctypes.data, box.nbytes)
        chosen: Any = slice(None) if numbers is None else numbers
        for offset, length in [(0, size)] if parts is None else parts:
            box[chosen, offset : offset + length] = raw[:, offset : offset + length]
        return box

    def _put(self, start: list[int], count: list[int], raw: np.ndarray[Any, Any]) -> None:
        data = raw.tobytes()
        number = self._own_number()
        self._changes.make(lambda editor: editor.write(number, start, count, data))


#: Classes of datatypes whose elements are stored as numpy has them.
_PLAIN = ("integer", "float", "enum")


def _writable(datatype: _native.Datatype) -> _native.Datatype:
    """The datatype as values are encoded for it."""
    if datatype.class_name == "bitfield":
        return _native.Datatype.integer(datatype.size, signed=False, order=datatype.order)
    return datatype


def broadcast(data: np.ndarray[Any, Any], shape: tuple[int, ...], inner: tuple[int, ...], values: Any) -> np.ndarray[Any, Any]:
    """Values for a selection of `shape`: as in numpy, they may have more dimensions of extent 1."""
    target = shape + inner
    while data.ndim > len(target) and data.shape[0] == 1:
        data = data[0]
    try:
        return np.broadcast_to(data, target)
    except ValueError:
        raise InvalidTypeError(f"values of shape {np.shape(values)} for a selection of shape {shape}") from None
