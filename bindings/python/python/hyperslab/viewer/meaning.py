"""Meaning: a dataset with decoded values, as answers describe and send it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _native, h5py
from ..base.errors import Error, InvalidInputError
from ..base.type_aliases import AnyArray, AnyDtype, Elements, Key
from ..files.file import File
from ..objects.dataset import Dataset
from ..objects.decoded_view import DecodedView
from ..objects.decoding import Decoder, decoding_of
from ..objects.inherited import OF_TIMES
from ..objects.native_objects import native_of
from ..values.scalar_text import MISSING, scalar_text

#: HDF5 has no dates: they are text.
_TEXT = h5py.string_dtype()
#: Columns of a table.
_MAX_COLUMNS = 100


class Meaning:
    """The decoded values of a dataset. Dates are texts, missing ones empty; durations stay numbers of their unit; of records, each element of an
    array is a field.

    Args:
        dataset: The dataset with h5py's interface.
        variable: The variable of netCDF that it is, if it is one.

    Attributes:
        dataset: The dataset.
        decoding: What the core says; `None` of values that are not numbers.
        is_changed: Whether decoding changes values, or names them.
        shape: Extent of each dimension; texts of characters lack their last one. `None` of a null dataspace.
        dtype: numpy's dtype of what `read` returns.

    Raises:
        InvalidInputError: The attributes contradict themselves; the message names them.
    """

    def __init__(self, dataset: h5py.Dataset, variable: Dataset | None = None) -> None:
        self.dataset: Any = dataset
        self._decoder: Decoder | DecodedView | None = None
        self.decoding: _native.Decoding | None = None
        self.shape: tuple[int, ...] | None = dataset.shape
        self.dtype, self.is_changed = dataset.dtype, False
        if self.shape is None:
            return
        self.dataset = variable or dataset
        numbers = Decoder(self.dataset, as_numbers=True)  # does not warn of units that stay numbers
        if numbers.decoding is not None:
            self.decoding = decoding_of(self.dataset)
        if self.decoding is not None and self.decoding.time is None and (self.decoding.problems or self.decoding.kind == "duration"):
            self._decoder, self.decoding = numbers, numbers.decoding
        if self.decoding is not None and self.decoding.is_plain:
            self._decoder, self.is_changed = None, bool(self.categories)  # at most the order of bytes differs
            return
        if self._decoder is None:
            self._decoder = DecodedView(self.dataset)
            self.shape = self._decoder.shape
        dtype = _with_columns(self._decoder.dtype)
        self.dtype = np.dtype(_TEXT) if dtype.kind in "OM" and dtype != dataset.dtype else dtype
        self.is_changed = self.decoding is not None or self.dtype != dataset.dtype

    @property
    def categories(self) -> dict[str, int]:
        """Values by their names, of an enumeration, and of flags that exclude each other."""
        if self.decoding is None:
            members: dict[str, int] = h5py.check_enum_dtype(self.dataset.dtype) or {}
            return members
        flags = self.decoding.flags
        if not flags or any(flag.mask is not None or flag.value is None for flag in flags):
            return {}
        found = {flag.meaning: flag.value for flag in flags if flag.value is not None}
        return found if len(found) == len(flags) else {}

    @property
    def applied(self) -> list[str]:
        """The attributes that decoded values do not have: those that said how to decode them. Names of flags stay."""
        if self.decoding is None or self.decoding.is_plain:
            return []
        is_date, attributes = self.decoding.time is not None, self.dataset.attrs
        return [name for name in _native.DECODING_ATTRIBUTES if name in attributes and (is_date or name not in OF_TIMES) and not name.startswith("flag_")]

    def read(self, key: Key) -> Elements:
        """Decoded values of a selection."""
        if self._decoder is None:
            return self.dataset[key]
        values = self._decoder[key] if isinstance(self._decoder, DecodedView) else self._decoder.decoded(self.dataset[key])
        if self.is_changed and self.dtype == _TEXT:
            return texts(np.asarray(values))
        return np.asarray(values).view(self.dtype)[()] if self.is_changed and self.dtype.fields else values


def _with_columns(dtype: AnyDtype) -> AnyDtype:
    """A dtype of records with a field for each element of fields that are short arrays, which the browser has no columns for."""
    fields = [(name, *member[:2]) for name, member in (dtype.fields or {}).items()]
    if dtype.hasobject or not any(kind.subdtype for _, kind, _ in fields) or sum(math.prod(kind.shape) for _, kind, _ in fields) > _MAX_COLUMNS:
        return dtype
    columns = [
        (name if kind.subdtype is None else f"{name}{list(index)}", kind.base, offset + place * kind.base.itemsize)
        for name, kind, offset in fields
        for place, index in enumerate(np.ndindex(kind.shape))
    ]
    names, formats, offsets = zip(*columns, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


def variable_of(file: File, dataset: h5py.Dataset) -> Dataset | None:
    """The variable of netCDF that a dataset is, which knows its coordinates and texts of characters.

    Args:
        file: The file with the conventions of netCDF.
        dataset: A dataset of the same file, with h5py's interface.

    Returns:
        The variable; `None` if there is none. Names of netCDF may be those of other objects of HDF5.
    """
    try:
        found = file.get(dataset.name)
    except Error:
        return None
    return found if isinstance(found, Dataset) and native_of(found)[1] == native_of(dataset)[1] else None


def meaning_of(dataset: Any, variable: Dataset | None = None) -> Meaning | None:
    """The meaning of a dataset; `None` if its attributes contradict themselves: reading its values says how."""
    try:
        return Meaning(dataset, variable)
    except InvalidInputError:
        return None


def texts(values: AnyArray) -> AnyArray:
    """Dates as people read them; missing ones are empty. Texts stay."""
    found = np.empty(values.shape, object)
    flat = values.reshape(-1)
    # Python's lists turn times of numpy into numbers.
    found.reshape(-1)[:] = ["" if text == MISSING else one if text is None else text for one in flat for text in [scalar_text(one, is_exact=True)]]
    return found
