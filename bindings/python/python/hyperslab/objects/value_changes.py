"""Value changes: what resizes a dataset and writes rows and arrays, in files that are edited and in files that are written."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError
from ..values import dtype_encoding


class ValueChanges:
    """What a dataset has that changes its extent and values. Each kind of dataset says how it is stored."""

    if TYPE_CHECKING:
        # Of the dataset that is changed.
        name: Any
        shape: Any

        def __getitem__(self, key: Any) -> Any: ...
        def __setitem__(self, key: Any, values: Any) -> None: ...

        def _filename(self) -> str | None:
            """The file that is written; `None` if it is not known yet."""

        def _exclusive(self) -> contextlib.AbstractContextManager[Any]:
            """Held while the shape and the values are changed together."""

        def _stored_datatype(self) -> _native.Datatype:
            """The datatype of an element."""

        def _check_resizable(self) -> None:
            """Raises `InvalidTypeError` if the dataset cannot be resized."""

        def _resize(self, shape: list[int]) -> None:
            """Gives the dataset another shape of as many dimensions."""

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
        with self._exclusive():
            self._check_resizable()
            shape = tuple(self.shape or ())
            if axis is not None:
                if not 0 <= axis < len(shape):
                    raise InvalidInputError(f"axis {axis} of a dataset of {len(shape)} dimensions", self._filename(), self.name)
                size = [size if number == axis else extent for number, extent in enumerate(shape)]
            new = dtype_encoding.extents("shape", size)
            if len(new) != len(shape):
                raise InvalidTypeError(f"shape {tuple(new)} for a dataset of {len(shape)} dimensions", self._filename(), self.name)
            self._resize(new)

    def append(self, values: Any, axis: int = 0) -> None:
        """Appends values along a dimension, which grows by their extent. If that fails, the shape is as before.

        Args:
            values: The values. Their other extents are those of the dataset.
            axis: The dimension.

        Raises:
            InvalidTypeError: The values have another shape, or the dataset is not chunked.
            InvalidInputError: The dataset cannot grow so far, or its dtype cannot hold the values.

        Example:
            >>> f["theta"].append(np.zeros((10, 3)))
        """
        with self._exclusive():
            before = tuple(self.shape or ())
            if not 0 <= axis < len(before):
                raise InvalidInputError(f"axis {axis} of a dataset of {len(before)} dimensions", self._filename(), self.name)
            count = self._extent_of(values, before, axis)
            self.resize(before[axis] + count, axis=axis)
            try:
                self[(slice(None),) * axis + (slice(before[axis], before[axis] + count),)] = values
            except BaseException:
                self.resize(before)
                raise

    def _extent_of(self, values: Any, shape: tuple[int, ...], axis: int) -> int:
        """The extent of values that are appended. A single row is not repeated along a dimension that it lacks."""
        datatype = self._stored_datatype()
        if not isinstance(values, np.ndarray) and datatype.class_name in ("compound", "sequence") and axis == 0:
            return len(values)  # numpy takes a tuple of fields for a dimension
        given = np.shape(values)
        given = given[: len(given) - (len(datatype.shape) if datatype.class_name == "array" else 0)]
        if len(given) != len(shape) or given[:axis] + given[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            hint = f"give rows of shape {shape[1:]}" if axis == 0 else "their other extents are those of the dataset"
            message = f"values of shape {given} appended to shape {shape} along axis {axis}: {hint}"
            raise InvalidTypeError(message, self._filename(), self.name)
        return int(given[axis])

    def write_direct(self, source: np.ndarray[Any, Any], source_sel: Any = None, dest_sel: Any = None) -> None:
        """Writes a selection of an array to a selection; by default all.

        Args:
            source: The array of the values.
            source_sel: What of it is written; everything by default.
            dest_sel: Where it goes; everywhere by default.

        Example:
            >>> d.write_direct(values, dest_sel=np.s_[0:10])
        """
        self[... if dest_sel is None else dest_sel] = source[... if source_sel is None else source_sel]
