"""As `h5py._hl.selections`: what keys select of a dataset, as dataspaces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.errors import InvalidTypeError
from ...base.type_aliases import AnyArray
from ...values.references import RegionReference
from .. import h5r, h5s
from .._selector import Selector


class Selection:
    """What is selected of a dataset.

    Args:
        shape: The shape of the dataset.
        spaceid: A dataspace with the selection; by default all is selected.
        selected: The shape of what is selected, by default in one dimension.
    """

    def __init__(self, shape: tuple[int, ...], spaceid: h5s.SpaceID | None = None, selected: tuple[int, ...] | None = None) -> None:
        self._id = h5s.create_simple(shape) if spaceid is None else spaceid
        self._shape, self._selected = tuple(shape), selected

    @property
    def id(self) -> h5s.SpaceID:
        """The dataspace."""
        return self._id

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dataset."""
        return self._shape

    @property
    def nselect(self) -> int:
        """Number of selected elements."""
        return self._id.get_select_npoints()

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of the selected elements."""
        return (self.nselect,) if self._selected is None else self._selected

    @property
    def mshape(self) -> tuple[int, ...]:
        """The shape of the selected elements."""
        return self.array_shape

    def expand_shape(self, source_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Checks that elements of a shape can be written here."""
        if math.prod(source_shape) != self.nselect:
            raise InvalidTypeError(f"elements of shape {source_shape} for {self.nselect} selected ones")
        return source_shape

    def broadcast(self, source_shape: tuple[int, ...]) -> Iterator[h5s.SpaceID]:
        """The dataspaces into which elements of a shape are written one after the other."""
        self.expand_shape(source_shape)
        yield self._id


class PointSelection(Selection):
    """Single elements."""

    @classmethod
    def from_mask(cls, array: AnyArray, spaceid: h5s.SpaceID | None = None) -> PointSelection:
        """The elements for which an array of booleans is true."""
        made = cls(array.shape, spaceid)
        made._id.select_elements(np.argwhere(array)) if array.any() else made._id.select_none()
        return made


class SimpleSelection(Selection):
    """Integers and slices."""


class FancySelection(Selection):
    """Lists of indexes."""


def select(shape: tuple[int, ...], args: Any, dataset: Any = None) -> Selection:
    """What a key selects.

    Args:
        shape: The shape of the dataset.
        args: The key: integers, slices, lists, a mask, a region reference or a selection.
        dataset: The dataset of a region reference.

    Raises:
        InvalidTypeError: The key does not fit.
    """
    keys = args if isinstance(args, tuple) else (args,)
    only = keys[0] if len(keys) == 1 else None
    if isinstance(only, (Selection, RegionReference)):
        found = only if isinstance(only, Selection) else _of_reference(only, dataset)
        if found.shape != tuple(shape):
            raise InvalidTypeError(f"a selection of a dataset of shape {found.shape} for one of shape {tuple(shape)}")
        return found
    if any(isinstance(key, (str, bytes)) for key in keys):
        raise InvalidTypeError("names of fields select no elements")
    if isinstance(only, np.ndarray) and only.dtype == bool and only.shape == tuple(shape):
        return PointSelection.from_mask(only)
    space = h5s.create_simple(shape)
    selected = Selector(space).make_selection(keys)
    kind = FancySelection if any(np.ndim(key) for key in keys if not isinstance(key, slice) and key is not Ellipsis) else SimpleSelection
    return kind(tuple(shape), space, selected)


def _of_reference(reference: RegionReference, dataset: Any) -> Selection:
    if dataset is None:
        raise InvalidTypeError("a region reference needs the dataset that it points at")
    space = h5r.get_region(reference, dataset.id)
    if space is None or space.shape is None:
        raise InvalidTypeError("this reference points at nothing")
    return Selection(space.shape, space)
