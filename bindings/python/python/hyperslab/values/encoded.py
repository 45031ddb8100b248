"""Encoded: values for a selection of a dataset, as its file stores them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _native
from ..base.errors import InvalidInputError, InvalidTypeError
from ..base.type_aliases import AnyArray, Key, Values
from . import compounds, dtype_encoding, indexing_keys


@dataclass
class Encoded:
    """Values for a selection. Elements of variable length and references point at values of `heap` by their numbers, from 1 on."""

    selected: indexing_keys.Selected
    datatype: _native.Datatype
    #: The elements; they may have fewer dimensions than the selection, or extents of 1.
    data: AnyArray
    heap: list[bytes]
    #: The parts of each element that are written; `None` is all of it.
    parts: compounds.Parts
    #: Extents of a datatype that is an array.
    inner: tuple[int, ...]
    #: The values as they were given, for the error.
    given: Values

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return 0 in self.selected.box or 0 in self.selected.shape

    @property
    def is_box(self) -> bool:
        """Whether the selection is a box, perhaps with steps."""
        return self.selected.mask is None and all(isinstance(axis, tuple) for axis in self.selected.axes)

    @property
    def steps(self) -> list[int] | None:
        """The steps of a box; `None` if they are all 1."""
        steps = [axis[2] for axis in self.selected.axes]
        return steps if any(step != 1 for step in steps) else None

    def fitted(self, data: AnyArray | None = None) -> AnyArray:
        """The elements, or `data` in their place, in the shape of the selection.

        Raises:
            InvalidTypeError: They do not fit.
        """
        found = self.data if data is None else data
        target = self.selected.shape + self.inner
        if found.shape == target:
            return found
        while found.ndim > len(target) and found.shape[0] == 1:
            found = found[0]
        try:
            return np.broadcast_to(found, target)
        except ValueError:
            raise InvalidTypeError(f"values of shape {np.asarray(self.given).shape} for a selection of shape {self.selected.shape}") from None

    def rows(self, fitted: AnyArray) -> AnyArray:
        """Fitted elements with one dimension for each of the dataset, also where the key has a single index."""
        if self.selected.mask is not None:
            return fitted
        pick = zip(self.selected.box, self.selected.pick, strict=True)
        return fitted.reshape([n if isinstance(picked, slice) or np.ndim(picked) == 0 else len(picked) for n, picked in pick] + list(self.inner))


def encode(key: Key, names: list[str], values: Values, shape: tuple[int, ...], datatype: _native.Datatype, heap: list[bytes]) -> Encoded:
    """Encodes values for a selection.

    Args:
        key: The selection, without names of fields.
        names: The fields that are written; all if there are none.
        values: The values.
        shape: The shape of the dataset.
        datatype: Its datatype.
        heap: An empty list for what elements point at.

    Raises:
        InvalidTypeError: The values have another shape.
        InvalidInputError: The datatype cannot hold them.
    """
    selected = indexing_keys.select(key, shape)
    parts: compounds.Parts = None
    if dtype_encoding.has_fields(datatype):
        data, parts = dtype_encoding.stored_fields(values, datatype, heap, names)
    elif names:
        raise InvalidInputError(f"field {names[0]!r} of a dataset that has no fields")
    else:
        data = dtype_encoding.stored(values, datatype, heap)
    inner = tuple(datatype.shape) if datatype.class_name == "array" else ()
    found = Encoded(selected, datatype, data, heap, parts, inner, values)
    # A wrong shape is found before anything is stored.
    found.fitted()
    return found
