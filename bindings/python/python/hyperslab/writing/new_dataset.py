"""New dataset: a dataset of a file that is being written, written to and read back as h5py's."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _native, dtypes
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import Elements
from ..objects import filters, reading
from ..objects.attributes import Attributes
from ..objects.dataset_changes import broadcast
from ..objects.text_view import TextView
from ..objects.value_changes import ValueChanges
from ..values import compounds, dtype_encoding, indexing_keys, new_references, tagged_dtypes, times
from ..values.empty import Empty
from ..values.new_references import NewReference
from .new_attributes import new_attributes


class NewDataset(ValueChanges):
    """A dataset that is being written: `dataset[10:20] = values` writes, `dataset[10:20]` reads them back."""

    _attributes: Callable[[Any, str], Attributes] = staticmethod(new_attributes)

    def __init__(
        self, writer: Any, path: str, shape: tuple[int, ...] | None, datatype: _native.Datatype, chunks: tuple[int, ...] | None, fill: Any = None
    ) -> None:
        self._writer, self._path, self._datatype = writer, path, datatype
        #: Whether a chunk shape was given or chosen, what masked values become, and the dtype of times that are stored as counts.
        self._chunks, self._fill = chunks, fill
        self._times: np.dtype[Any] | None = None
        self._known: _native.Datatype | None = None

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = self._writer.describe(self._path)
        return about

    @property
    def _described(self) -> _native.Datatype:
        """The stored datatype, which never changes."""
        if self._known is None:
            self._known = self._about()["datatype"]
        return self._known

    @property
    def name(self) -> str:
        """The absolute path."""
        return "/" + self._path.strip("/")

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each dimension."""
        return tuple(self._writer.shape(self._path) or ())

    @property
    def maxshape(self) -> tuple[int | None, ...]:
        """The maximum extent of each dimension; `None` for unlimited ones."""
        about = self._about()
        return tuple(about.get("maxshape") or about["shape"] or ())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values, the same as in h5py."""
        return tagged_dtypes.of_datatype(self._described)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """Number of elements; `None` for a null dataspace, as in h5py."""
        shape = self._writer.shape(self._path)
        return None if shape is None else math.prod(shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all values in memory, without variable-length data."""
        return (self.size or 0) * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk; `None` if the dataset is not chunked. For a growing dataset without `chunks=`, it is chosen when
        2 MiB of values have been written or when the file is closed; until then it is the shape for an empty dataset."""
        return None if self._chunks is None else tuple(self._about()["chunks"])

    @property
    def compression(self) -> str | None:
        """The name of the compression, as `create_dataset` takes it."""
        return filters.compression_of(self._about()["filters"])[0]

    @property
    def compression_opts(self) -> int | str | tuple[str, int] | None:
        """The level or the parameters of the compression, as `create_dataset` takes them."""
        return filters.compression_of(self._about()["filters"])[1]

    @property
    def shuffle(self) -> bool:
        """Whether chunks are shuffled."""
        return any(number == 2 for number, _ in self._about()["filters"])

    @property
    def fletcher32(self) -> bool:
        """Whether chunks have checksums."""
        return any(number == 3 for number, _ in self._about()["filters"])

    @property
    def scaleoffset(self) -> int | None:
        """The parameter of the scale-offset filter: bits of integers (0 if chosen per chunk), decimal places of floats."""
        return next((parameters[1] for number, parameters in self._about()["filters"] if number == 6), None)

    @property
    def fillvalue(self) -> Elements:
        """The value of unwritten elements: a scalar of the dataset's dtype."""
        about = self._about()
        raw = np.frombuffer(about["fill"] or bytes(about["datatype"].size), np.uint8).copy()
        return reading.convert(raw, about["datatype"], (), about["fill_heap"], self._writer)[()]

    @property
    def attrs(self) -> Attributes:
        """The attributes."""
        return self._attributes(self._writer, self._path)

    @property
    def ref(self) -> NewReference:
        """A reference to this dataset."""
        return NewReference(self.name)

    @property
    def regionref(self) -> new_references.Regions:
        """References to elements: `dataset.regionref[2:5]`."""
        return new_references.Regions(self.name, self.shape)

    def _filename(self) -> str | None:
        return None

    def _exclusive(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def _stored_datatype(self) -> _native.Datatype:
        return self._datatype

    def _check_resizable(self) -> None:
        if self.chunks is None and self.maxshape == self.shape and self._writer.definition(self._path).region is None:
            raise InvalidTypeError(
                f"{self.name} cannot grow or shrink: only datasets in chunks can be resized, create it with maxshape= or chunks=", object=self.name
            )

    def _resize(self, shape: list[int]) -> None:
        self._writer.resize(self._path, shape)

    def __setitem__(self, key: Any, values: Any) -> None:
        """Writes a selection: slices, lists of indexes and masks, as in numpy. Field names in the key (`d["a", 0:3]`) restrict it
        to these fields; other fields keep their values."""
        key, names = compounds.selected(key)
        if self._times is not None:
            values = times.counts(values, self._times)
        selected = indexing_keys.select(key, self.shape)
        inner = tuple(self._datatype.shape) if self._datatype.class_name == "array" else ()
        heap: list[bytes] = []
        if self._fill is not None and np.ma.is_masked(values):
            values = dtype_encoding.filled(values, self._fill, self._datatype)
        parts: compounds.Parts = None
        if dtype_encoding.has_fields(self._datatype):
            data, parts = dtype_encoding.stored_fields(values, self._datatype, heap, names)
        elif names:
            raise InvalidInputError(f"field {names[0]!r} of a dataset that has no fields")
        else:
            data = dtype_encoding.stored(values, self._datatype, heap)
        data = broadcast(data, selected.shape, inner, values)
        if 0 in selected.box or 0 in selected.shape:
            return
        if selected.mask is None and all(isinstance(axis, tuple) for axis in selected.axes):
            data = dtype_encoding.contiguous(data)
            start, count = [axis[0] for axis in selected.axes], list(selected.box)
            steps = [axis[2] for axis in selected.axes]
            self._writer.write(self._path, start, count, data.ctypes.data, data.nbytes, heap, steps if any(step != 1 for step in steps) else None, parts)
            return
        if selected.mask is None:
            # One dimension for each of the dataset, also where the key has a single index.
            data = data.reshape(
                [n if isinstance(picked, slice) or np.ndim(picked) == 0 else len(picked) for n, picked in zip(selected.box, selected.pick, strict=True)]
                + list(inner)
            )
        for piece in indexing_keys.pieces(selected, self._datatype.size):
            part = dtype_encoding.contiguous(data[piece.values])
            self._writer.write(self._path, piece.start, piece.extent, part.ctypes.data, part.nbytes, heap, None, parts, piece.numbers.tolist())

    def __getitem__(self, key: Any) -> Elements:
        """Reads the values written so far; unwritten elements have the fill value."""
        shape = self._writer.shape(self._path)
        if shape is None:
            return Empty(self.dtype)
        key, names = compounds.selected(key)
        selected = indexing_keys.select(key, tuple(shape))
        if selected.mask is not None:
            values = self._read([0] * len(shape), list(shape))[selected.mask]
        else:
            start, count, inside = indexing_keys.box_of(selected)
            values = self._read(start, count)
            for axis, along in enumerate(inside):
                values = values[(slice(None),) * axis + (along,)]
            values = indexing_keys.apply(values, selected)
        if names:
            if values.dtype.names is None:
                raise InvalidInputError(f"field {names[0]!r} of a dataset that has no fields")
            values = values[names[0] if len(names) == 1 else names]
        is_all = key is Ellipsis or (isinstance(key, tuple) and len(key) == 1 and key[0] is Ellipsis)
        return values[()] if values.ndim == 0 and not is_all else values

    def _read(self, start: list[int], count: list[int]) -> np.ndarray[Any, Any]:
        datatype = self._described
        raw = np.empty(math.prod(count) * datatype.size, np.uint8)
        heap = self._writer.read_into(self._path, start, count, raw.ctypes.data, raw.nbytes)
        return reading.convert(raw, datatype, tuple(count), heap, self._writer)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("values are read from a file, which is a copy")
        return np.asarray(self[...], dtype=dtype)

    def asstr(self, encoding: str = "utf-8", errors: str = "strict") -> TextView:
        """A view of a string dataset with values of type `str`: `d.asstr()[3:5]`.

        Args:
            encoding: The encoding; by default that of the datatype.
            errors: What to do with bytes that are not text, as in `bytes.decode`.

        Returns:
            A view whose elements are `str`.

        Raises:
            InvalidTypeError: The dataset is not text.

        Example:
            >>> d.asstr()[0]
        """
        if self._described.class_name not in ("string", "variable string"):
            raise InvalidTypeError(f"{self.name} holds {dtypes.describe(self._described)}, not strings")
        return TextView(self, encoding, errors)

    def read_direct(self, dest: np.ndarray[Any, Any], source_sel: Any = None, dest_sel: Any = None) -> None:
        """Reads a selection into a selection of an array; by default all.

        Args:
            dest: The array that takes the values.
            source_sel: What is read; everything by default.
            dest_sel: Where it goes; everywhere by default.

        Example:
            >>> d.read_direct(buffer, np.s_[0:10])
        """
        dest[... if dest_sel is None else dest_sel] = self[... if source_sel is None else source_sel]

    def flush(self) -> None:
        """Does nothing: the file is complete when it is closed.

        Example:
            >>> d.flush()
        """

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise InvalidTypeError("a scalar dataset has no length")
        return operator.index(shape[0])

    def __iter__(self) -> Iterator[Elements]:
        return (self[row] for row in range(len(self)))

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NewDataset):
            return NotImplemented
        return self._writer is other._writer and self._writer.look_up(self._path) == other._writer.look_up(other._path)

    def __hash__(self) -> int:
        return hash(id(self._writer))

    def __repr__(self) -> str:
        return f"<new dataset {self.name} {self.shape}>"
