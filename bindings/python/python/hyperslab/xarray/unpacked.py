"""Unpacked arrays for xarray: variables that the core decodes while it reads them, with the values that xarray itself decodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from xarray import Variable
from xarray.conventions import decode_cf_variable
from xarray.core import indexing

from .. import _native
from ..base.type_aliases import AnyArray, AnyDtype
from ..objects.decoding import dates_of
from ..objects.native_objects import reader_of
from .array import Along, HyperslabArray, Key, Store, forward_key
from .decoding_options import DecodingOptions

#: Attributes of dates.
_OF_DATES = ("units", "calendar")


class Stored(NamedTuple):
    """A variable with stored values, and where they are."""

    store: Store
    path: str
    datatype: _native.Datatype
    variable: Variable
    #: Finds what the values mean.
    find_decoding: Callable[[], _native.Decoding | None]


class UnpackedArray(HyperslabArray):
    """A lazy array of decoded values."""

    __slots__ = ("_attributes", "_decoding")

    def __init__(self, stored: Stored, decoding: _native.Decoding, dtype: AnyDtype, attributes: Mapping[Any, Any]) -> None:
        super().__init__(stored.store, stored.path, stored.datatype, dtype, stored.variable.shape)
        self._decoding, self._attributes = decoding, dict(attributes)

    def _selected(self, key: Key) -> AnyArray:
        forward, turn = forward_key(key, self.shape)
        reader = reader_of(self._store.opened().dataset(self._path))
        shape = _shape_of(forward, self.shape)
        if reader is not None and shape and self.dtype != object:
            values = np.empty(shape, self.dtype)
            if reader.get_decoded(tuple(forward), shape, self._decoding, values.ctypes.data, values.nbytes):
                turned: AnyArray = values[turn]
                return turned
        return super()._selected(key)

    def _converted(self, values: AnyArray) -> AnyArray:
        native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        found = None if self.dtype == object else self._decoding.decode(native.tobytes())
        if found is not None:
            decoded: AnyArray = np.frombuffer(bytearray(found), self.dtype).reshape(values.shape)
            return decoded
        if not self._attributes:
            return np.asarray(dates_of(self._decoding, native.tobytes()).reshape(values.shape))
        # Dates that `datetime64[ns]` lacks, between a first and a last one that it has.
        dims = [f"dim_{axis}" for axis in range(values.ndim)]
        return np.asarray(decode_cf_variable("dates", Variable(dims, native, self._attributes)).values)

    # An array of xarray goes to other processes, but what the core made of attributes stays.
    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._store, self._path, self._datatype, self.shape, self.dtype, self._attributes)


def _again(store: Store, path: str, datatype: _native.Datatype, shape: tuple[int, ...], dtype: AnyDtype, attributes: Mapping[Any, Any]) -> UnpackedArray:
    file, number = store.opened().file.find(path)
    decoding = file.decoding(number)
    assert decoding is not None  # it was there, and the file is the same
    dims = [f"dim_{axis}" for axis in range(len(shape))]
    variable = Variable(dims, indexing.LazilyIndexedArray(HyperslabArray(store, path, datatype, dtype, shape)))
    return UnpackedArray(Stored(store, path, datatype, variable, lambda: decoding), decoding, dtype, attributes)


def _shape_of(key: Sequence[Along], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what slices, indexes and lists of indexes select."""
    kept = [(along, extent) for along, extent in zip(key, shape, strict=True) if isinstance(along, slice) or np.ndim(along)]
    return tuple(len(range(*along.indices(extent))) if isinstance(along, slice) else np.size(along) for along, extent in kept)


def unpacked(variables: Mapping[str, Stored], options: DecodingOptions) -> dict[str, Variable]:
    """Variables as xarray decodes them, but decoded while they are read. Those that xarray is to decode are as they are: dates of cftime,
    floats of dates, and numbers that get another dtype from xarray.

    Args:
        variables: Variables with stored values, by name.
        options: How xarray is asked to decode.

    Returns:
        The variables by name.
    """
    if not options.fused and not any(is_odd(stored.variable.attrs.get("units")) for stored in variables.values()):
        return {name: stored.variable for name, stored in variables.items()}
    bounds = {one.variable.attrs.get("bounds"): one.variable.attrs for one in variables.values() if "bounds" in one.variable.attrs}
    return {name: _unpacked(name, stored, options.of(name), bounds.get(name, {})) for name, stored in variables.items()}


def _unpacked(name: str, stored: Stored, wanted: DecodingOptions, coordinate: Mapping[Any, Any]) -> Variable:
    """One of them; `coordinate` are the attributes of the one whose cells it bounds."""
    variable, decoding = stored.variable, stored.find_decoding()
    if decoding is None or decoding.problems or not wanted.mask_and_scale:
        return variable
    if decoding.kind == "time":
        inherited = {key: value for key, value in coordinate.items() if key in _OF_DATES}
        return _dates(name, stored, decoding, wanted, {**inherited, **variable.attrs})
    if not wanted.fused or decoding.is_plain or (decoding.kind == "duration" and (wanted.decode_timedelta is not True or variable.dtype.kind == "f")):
        return variable
    # xarray says what the result is: its dtype, what is left of the attributes, and the encoding.
    empty = Variable(variable.dims, np.zeros((0,) * variable.ndim, variable.dtype), dict(variable.attrs), dict(variable.encoding))
    decoded = _decoded(name, empty, decode_times=False, decode_timedelta=decoding.kind == "duration")
    if decoded is None or decoded.dtype != np.dtype(decoding.dtype):
        return variable
    data = UnpackedArray(stored, decoding, decoded.dtype, {})
    return Variable(variable.dims, indexing.LazilyIndexedArray(data), decoded.attrs, decoded.encoding)


def _decoded(name: str, variable: Variable, **options: Any) -> Variable | None:
    """What xarray decodes; `None` if it fails: its error is its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of several fill values; `scale_factor` of several elements
        try:
            decoded: Variable = decode_cf_variable(name, variable, **options)
        except (TypeError, ValueError, OverflowError):
            return None
    return decoded


def _dates(name: str, stored: Stored, decoding: _native.Decoding, wanted: DecodingOptions, attributes: Mapping[Any, Any]) -> Variable:
    """Dates: whole numbers of a `datetime64[ns]` are decoded while they are read, and those in units that xarray does not know by the core
    alone."""
    variable, has_odd_units = stored.variable, is_odd(attributes.get("units"))
    is_fused = wanted.fused and not wanted.use_cftime and variable.dtype.kind in "iu" and not decoding.is_packed and _is_gregorian(decoding)
    if wanted.decode_times is not True or not (has_odd_units or is_fused):
        return variable
    given = variable.copy(deep=False)
    given.attrs, given.encoding = dict(attributes), dict(variable.encoding)
    decoded = _decoded(name, given, use_cftime=wanted.use_cftime, decode_timedelta=False)
    if decoded is None and has_odd_units:
        return _dates_of_core(name, stored, decoding, wanted, given)
    if decoded is None or not is_fused or decoded.dtype != np.dtype(decoding.dtype):
        return variable
    data = UnpackedArray(stored, decoding, decoded.dtype, attributes)
    return Variable(variable.dims, indexing.LazilyIndexedArray(data), decoded.attrs, decoded.encoding)


def _is_gregorian(decoding: _native.Decoding) -> bool:
    return decoding.time is not None and decoding.time.calendar in ("standard", "proleptic_gregorian")


def _dates_of_core(name: str, stored: Stored, decoding: _native.Decoding, wanted: DecodingOptions, given: Variable) -> Variable:
    """Dates in units that xarray does not know. The encoding lacks the units: xarray would not write them either."""
    numbers = _decoded(name, given, decode_times=False, decode_timedelta=False)
    if numbers is None or decoding.time is None:
        return stored.variable
    ends = [np.ravel(given[(end,) * given.ndim].values) for end in (0, -1)] if given.size else [np.empty(0, given.dtype)]
    raw = np.concatenate(ends).astype(given.dtype.newbyteorder("=")).tobytes()
    has_numpy = not wanted.use_cftime and _is_gregorian(decoding) and decoding.decode(raw) is not None
    data = UnpackedArray(stored, decoding, np.dtype(decoding.dtype if has_numpy else "O"), {})
    return Variable(given.dims, indexing.LazilyIndexedArray(data), without_units(numbers.attrs), {**numbers.encoding, "calendar": decoding.time.calendar})


def is_unknown(name: str, variable: Variable, attributes: Mapping[Any, Any]) -> bool:
    """Whether xarray fails to decode dates with these attributes."""
    if not is_odd(attributes.get("units")):
        return False
    given = variable.copy(deep=False)
    given.attrs = dict(attributes)
    return _decoded(name, given, decode_timedelta=False) is None


def without_units(attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Attributes but those that say how dates count."""
    return {key: value for key, value in attributes.items() if key not in _OF_DATES}


def is_odd(units: object) -> bool:
    """Whether these are units of dates that xarray may not know: others than a word, and a date that begins with year, month and day."""
    if not isinstance(units, str) or " since " not in units:
        return False
    word, _, date = units.partition(" since ")
    parts = date.strip().replace("T", " ").partition(" ")[0].split("-")
    return word not in _WORDS or len(parts) != 3 or not all(part.isdigit() for part in parts) or len(parts[0]) != 4


#: Units that xarray knows.
_WORDS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
