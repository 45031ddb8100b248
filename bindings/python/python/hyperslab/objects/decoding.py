"""Decoding: what the stored numbers of a dataset mean, as the core says, and numpy's arrays of what they mean."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np

from .. import _native
from ..base.errors import CorruptError, DecodingWarning, InvalidInputError, UnsupportedError
from ..base.extras import require
from ..base.type_aliases import AnyArray, AnyDtype, Elements
from ..values import dates
from ..values.timevals import has_timevals, in_seconds
from .inherited import OF_TIMES, coordinate_of
from .node import Node
from .value_views import Viewed

#: What numpy has for a time that is missing, `NaT`, as a number.
_NAT = np.iinfo("i8").min
#: Attributes without which numbers are not what they seem.
_FACTORS = ("scale_factor", "add_offset")


def decoding_of(dataset: Viewed) -> _native.Decoding | None:
    """What the stored numbers of a dataset mean, by its attributes and those of the coordinate whose cells it bounds.

    Args:
        dataset: The dataset.

    Returns:
        The decoding; `None` of values that are not numbers.
    """
    node = cast(Node, dataset)
    if node._backend.is_complete:
        return node._file.decoding(node._number)
    # The writer of a new file knows no conventions.
    attributes = _decoding_attributes(node)
    coordinate = coordinate_of(node)
    if coordinate is not None:
        attributes = {**{name: value for name, value in _decoding_attributes(coordinate).items() if name in OF_TIMES}, **attributes}
    return _native.Decoding.of(node._about["datatype"], list(attributes.items()))


def _decoding_attributes(node: Node) -> dict[str, _native.AttributeValue]:
    return {name: value for name in _native.DECODING_ATTRIBUTES if (value := node._file.attribute(node._number, name)) is not None}


def _timevals(node: Node) -> _native.Datatype | None:
    """The datatype, if it has times as PyTables writes them. No other library writes this class of HDF5."""
    datatype = node._about["datatype"]
    return datatype if has_timevals(datatype) and "PYTABLES_FORMAT_VERSION" in node.file.attrs else None


class Decoder:
    """The decoded values of a dataset, by the rules of xarray's `decode_cf`.

    Attributes:
        decoding: What the core says; `None` of values that are not numbers.
        dtype: numpy's dtype of decoded values; times of a calendar that numpy lacks are objects of cftime.
        is_text: Whether the values are texts along the last dimension.
    """

    def __init__(self, dataset: Viewed, as_numbers: bool = False, stacklevel: int = 1) -> None:
        self._name, self._file = dataset.name, dataset.file.filename
        is_number = dataset.dtype.kind in "iuf" and cast(Node, dataset)._about["datatype"].class_name != "time" and "enum" not in (dataset.dtype.metadata or ())
        is_character = dataset.dtype.kind == "S" and not as_numbers
        self.decoding = decoding_of(dataset) if is_number or is_character else None
        self.dtype: AnyDtype = dataset.dtype
        self._timevals = None if self.decoding is not None else _timevals(cast(Node, dataset))
        if self._timevals is not None:
            self.dtype = in_seconds(np.empty(0, dataset.dtype), self._timevals).dtype
        self.is_text = self.decoding is not None and self.decoding.kind == "text"
        if self.decoding is None or self.is_text:
            self.dtype = np.dtype(object) if self.is_text else self.dtype
            return
        if as_numbers:
            self.decoding = self.decoding.as_numbers()
        self._stored = np.dtype(dataset.dtype).newbyteorder("=")
        time = self.decoding.time
        self.dtype = np.dtype("O" if time is not None and time.calendar not in ("standard", "proleptic_gregorian") else self.decoding.dtype)
        for attribute, message in self.decoding.problems:
            if attribute in _FACTORS:
                raise InvalidInputError(message, self._file, self._name)
            if not as_numbers:
                warnings.warn(f"{self._name} stays as numbers: {message} ({self._file})", DecodingWarning, stacklevel + 1)

    def decoded(self, values: Elements) -> Elements:
        """Stored values as decoded ones."""
        if self._timevals is not None:
            seconds = in_seconds(np.asarray(values), self._timevals)
            return seconds if isinstance(values, np.ndarray) else seconds[()]
        if self.decoding is not None and self.is_text:
            return self._texts(self.decoding, np.asarray(values))
        if self.decoding is None or (self.decoding.is_plain and self.dtype == np.asarray(values).dtype):
            return values
        stored = np.ascontiguousarray(values, self._stored)
        found = self._decoded(stored.tobytes()).reshape(np.shape(values))
        return found if isinstance(values, np.ndarray) else found[()]

    def encoded(self, values: object) -> AnyArray:
        """Decoded values as stored ones: numbers to the nearest, times exactly, missing and masked ones as the number that means them.

        Raises:
            InvalidInputError: A value cannot be stored.
            UnsupportedError: Times as PyTables has them.
        """
        if self.is_text:
            raise UnsupportedError("texts of characters are written as characters: `d[...] = `", self._file, self._name)
        if self._timevals is not None:
            raise UnsupportedError("times of PyTables are written as stored numbers", self._file, self._name)
        is_number = self.decoding is not None and self.decoding.kind not in ("time", "duration")
        if is_number and isinstance(values, np.ma.MaskedArray) and values.mask.any():
            whole, is_missing = np.empty(values.shape, self._stored), np.ma.getmaskarray(values)
            whole[~is_missing], whole[is_missing] = self.encoded(values.data[~is_missing]), self.encoded([None])
            return whole
        if self.decoding is None or (self.decoding.is_plain and np.asarray(values).dtype.kind in "biuf"):
            return np.asarray(values)
        if self.decoding.kind in ("time", "duration"):
            if not dates.is_time(values):
                raise InvalidInputError(f"numbers for {self.decoding.kind}s: give dates or durations", self._file, self._name)
            time = self.decoding.time
            calendar, epoch = (None, None) if time is None else (time.calendar, time.epoch)
            given, encoded = dates.encoded(self.decoding, values, calendar, epoch, str(self._name))
        else:
            given = _numbers(values)
            encoded = self.decoding.encode("?" if given.dtype.kind == "b" else given.dtype.str[1:], given.tobytes())
        stored, _, problem = encoded
        if problem is not None:
            raise InvalidInputError(f"the value {given.reshape(-1)[problem[0]]} {problem[2]}", self._file, self._name)
        return np.asarray(np.frombuffer(stored, self._stored).reshape(given.shape))

    def _texts(self, decoding: _native.Decoding, characters: AnyArray) -> Elements:
        """Texts along the last dimension; one text of a row of characters."""
        texts = np.empty(characters.shape[:-1], object)
        try:
            texts.reshape(-1)[:] = decoding.decode_texts(characters.tobytes())
        except CorruptError as error:
            raise CorruptError(error.message, self._file, self._name) from None
        return texts if texts.ndim else texts[()]

    def _decoded(self, stored: bytes) -> AnyArray:
        assert self.decoding is not None
        try:
            found = None if self.dtype == object else self.decoding.decode(stored)
            return dates_of(self.decoding, stored) if found is None else np.frombuffer(bytearray(found), self.decoding.dtype)
        except InvalidInputError as error:
            raise InvalidInputError(error.message, self._file, self._name) from None


def _numbers(values: object) -> AnyArray:
    """Numbers in the byte order of this machine; NaN for None."""
    given: AnyArray = np.asarray(values)
    if given.dtype.kind == "O":
        flat = given.reshape(-1).tolist()
        given = np.array([np.nan if one is None else one for one in flat], "f8" if None in flat else None).reshape(given.shape)
    if given.dtype.kind not in "biuf":
        raise InvalidInputError(f"values of {given.dtype} for numbers")
    is_known = given.dtype.itemsize <= 8
    return np.asarray(given, given.dtype.newbyteorder("=") if is_known else "f8")


def dates_of(decoding: _native.Decoding, stored: bytes) -> AnyArray:
    """Makes dates of cftime of stored numbers.

    Args:
        decoding: What they mean: dates.
        stored: The numbers.

    Returns:
        The dates; `None` for missing ones.

    Raises:
        InvalidInputError: cftime lacks one of the dates.
        MissingExtraError: cftime is not installed.
    """
    assert decoding.time is not None
    require("decoded", "times", "cftime")
    import cftime

    microseconds = np.frombuffer(decoding.microseconds(stored), "i8")
    time, is_missing = decoding.time, microseconds == _NAT
    dates = np.full(microseconds.shape, None, dtype=object)
    if not is_missing.all():
        try:
            made = cftime.num2date(microseconds[~is_missing], f"microseconds since {time.epoch}", time.calendar, only_use_cftime_datetimes=True)
        except (ValueError, OverflowError) as error:
            raise InvalidInputError(f"dates in the calendar {time.calendar!r} that cftime lacks: {error}") from None
        dates[~is_missing] = made
    return dates
