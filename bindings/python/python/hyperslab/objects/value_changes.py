"""Value changes: what resizes a dataset and writes rows and arrays, in files that are edited and in files that are created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.backend import Notes
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyArray, ArrayKey, Elements, Key
from ..values import dtype_encoding
from .stored_properties import StoredProperties


class ValueChanges(StoredProperties):
    """What changes the extent of a dataset and its values. If the file is open for reading, each of these methods is a `ReadOnlyError`."""

    if TYPE_CHECKING:
        # Defined by the dataset class.
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def _notes(self) -> Notes | None: ...
        def __getitem__(self, key: Key) -> Elements: ...

    def resize(self, size: Any, axis: int | None = None) -> None:
        """Changes the shape, or the extent of one `axis`. Elements outside of the new shape are lost: if the dataset grows again,
        they have the fill value.

        Args:
            size: The new shape, or with `axis` the new extent of that dimension.
            axis: The dimension.

        Raises:
            InvalidTypeError: The dataset is not chunked.
            InvalidInputError: The dataset cannot grow so far.

        Example:
            >>> d.resize(2000, axis=0)
        """
        with self._changes.lock:
            if self._about["chunks"] is None and not self._backend.is_shared:
                hint = "only datasets in chunks can be resized, create it with maxshape= or chunks="
                raise InvalidTypeError(f"{self.path} cannot grow or shrink: {hint}", self._changes.path, self.path)
            shape = self.shape
            if axis is not None:
                if not 0 <= axis < len(shape):
                    raise InvalidInputError(f"axis {axis} of a dataset of {len(shape)} dimensions", self._changes.path, self.path)
                size = [size if number == axis else extent for number, extent in enumerate(shape)]
            new = dtype_encoding.extents("shape", size)
            if len(new) != len(shape):
                raise InvalidTypeError(f"shape {tuple(new)} for a dataset of {len(shape)} dimensions", self._changes.path, self.path)
            number = self._own_number()
            self._changes.make(lambda editor: editor.resize(number, new))

    def append(self, values: object, axis: int = 0) -> None:
        """Appends values along a dimension, which grows by their extent. If that fails, the shape is as before.

        Args:
            values: The values. Their other extents equal the dataset's.
            axis: The dimension.

        Raises:
            InvalidTypeError: The values have another shape, or the dataset is not chunked.
            InvalidInputError: The dataset cannot grow so far, or its dtype cannot hold the values.

        Example:
            >>> f["theta"].append(np.zeros((10, 3)))
        """
        with self._changes.lock:
            before = self.shape
            if not 0 <= axis < len(before):
                raise InvalidInputError(f"axis {axis} of a dataset of {len(before)} dimensions", self._changes.path, self.path)
            values = values if self._notes is None else self._notes.prepared(values)
            count = self._extent_of(values, before, axis)
            self.resize(before[axis] + count, axis=axis)
            try:
                self[(slice(None),) * axis + (slice(before[axis], before[axis] + count),)] = values
            except BaseException:
                self.resize(before)
                raise

    def _extent_of(self, values: Elements, shape: tuple[int, ...], axis: int) -> int:
        """The extent of values that are appended. A single row is not repeated along a dimension that it lacks."""
        datatype = self._about["datatype"]
        if not isinstance(values, np.ndarray) and datatype.class_name in ("compound", "sequence") and axis == 0:
            return len(values)  # numpy takes a tuple of fields for a dimension
        given = np.shape(values)
        given = given[: len(given) - (len(datatype.shape) if datatype.class_name == "array" else 0)]
        if len(given) != len(shape) or given[:axis] + given[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            hint = f"give rows of shape {shape[1:]}" if axis == 0 else "their other extents are those of the dataset"
            message = f"values of shape {given} appended to shape {shape} along axis {axis}: {hint}"
            raise InvalidTypeError(message, self._changes.path, self.path)
        return int(given[axis])

    def write_direct(self, source: AnyArray, source_sel: ArrayKey | None = None, dest_sel: Key | None = None) -> None:
        """Writes a selection of an array to a selection; by default all.

        Args:
            source: The array of the values.
            source_sel: What of it is written; everything by default.
            dest_sel: Where it goes; everywhere by default.

        Example:
            >>> d.write_direct(values, dest_sel=np.s_[0:10])
        """
        self[... if dest_sel is None else dest_sel] = source[... if source_sel is None else source_sel]
