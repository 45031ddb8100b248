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
from ..base.errors import DecodingWarning
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


class Times(NamedTuple):
    """What xarray is asked for times: the attributes of numbers, and how to decode them."""

    attributes: dict[Any, Any]
    options: dict[str, Any]

    def of(self, numbers: AnyArray) -> AnyArray:
        """The times."""
        dims = [f"dim_{axis}" for axis in range(numbers.ndim)]
        return np.asarray(decode_cf_variable("times", Variable(dims, numbers, self.attributes), **self.options).values)


class UnpackedArray(HyperslabArray):
    """A lazy array of decoded values."""

    __slots__ = ("_as_numbers", "_decoding", "_times")

    def __init__(self, stored: Stored, decoding: _native.Decoding, dtype: AnyDtype, times: Times | None = None, as_numbers: bool = False) -> None:
        """An array of what `decoding` says.

        Args:
            stored: The variable.
            decoding: What its numbers mean.
            dtype: The dtype of the decoded values.
            times: How xarray decodes numbers to the same times; `None` if it does not, or the values are no times.
            as_numbers: The core makes numbers, and xarray times of them.
        """
        super().__init__(stored.store, stored.path, stored.datatype, dtype, stored.variable.shape)
        self._times, self._as_numbers = times, as_numbers
        if as_numbers:
            self._decoding = decoding.as_numbers()
        else:
            self._decoding = decoding.cutting_floats() if times is not None else decoding

    @property
    def _has_dates_of_core(self) -> bool:
        """Whether the core alone makes objects of cftime."""
        return self.dtype == object and not self._as_numbers

    def _selected(self, key: Key) -> AnyArray:
        forward, turn = forward_key(key, self.shape)
        reader = reader_of(self._store.opened().dataset(self._path))
        shape = _shape_of(forward, self.shape)
        if reader is not None and shape and not self._has_dates_of_core:
            values = np.empty(shape, self._decoding.dtype)
            if reader.get_decoded(tuple(forward), shape, self._decoding, values.ctypes.data, values.nbytes):
                return self._finished(values[turn])
        return super()._selected(key)

    def _converted(self, values: AnyArray) -> AnyArray:
        native = np.ascontiguousarray(values, values.dtype.newbyteorder("=")).reshape(values.shape)
        if self._has_dates_of_core:
            return np.asarray(dates_of(self._decoding, native.tobytes()).reshape(values.shape))
        found = self._decoding.decode(native.tobytes())
        if found is not None:
            return self._finished(np.frombuffer(bytearray(found), self._decoding.dtype).reshape(values.shape))
        # Dates that `datetime64[ns]` lacks, between a first and a last one that it has.
        assert self._times is not None  # only dates are not found
        return self._times.of(native)

    def _finished(self, decoded: AnyArray) -> AnyArray:
        return self._times.of(decoded) if self._as_numbers and self._times is not None else decoded

    # An array of xarray goes to other processes, but what the core made of attributes stays.
    def __reduce__(self) -> tuple[object, ...]:
        return _again, (self._store, self._path, self._datatype, self.shape, self.dtype, self._times, self._as_numbers)


def _again(
    store: Store, path: str, datatype: _native.Datatype, shape: tuple[int, ...], dtype: AnyDtype, times: Times | None, as_numbers: bool
) -> UnpackedArray:
    file, number = store.opened().file.find(path)
    decoding = file.decoding(number)
    assert decoding is not None  # it was there, and the file is the same
    dims = [f"dim_{axis}" for axis in range(len(shape))]
    variable = Variable(dims, indexing.LazilyIndexedArray(HyperslabArray(store, path, datatype, dtype, shape)))
    return UnpackedArray(Stored(store, path, datatype, variable, lambda: decoding), decoding, dtype, times, as_numbers)


def _shape_of(key: Sequence[Along], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what slices, indexes and lists of indexes select."""
    kept = [(along, extent) for along, extent in zip(key, shape, strict=True) if isinstance(along, slice) or np.ndim(along)]
    return tuple(len(range(*along.indices(extent))) if isinstance(along, slice) else np.size(along) for along, extent in kept)


def unpacked(variables: Mapping[str, Stored], options: DecodingOptions) -> dict[str, Variable]:
    """Variables as xarray decodes them, but decoded while they are read. Those that xarray is to decode are as they are: whole numbers of
    times with missing ones that are not of `datetime64[ns]`, and numbers that get another dtype from xarray.

    Args:
        variables: Variables with stored values, by name.
        options: How xarray is asked to decode.

    Returns:
        The variables by name.
    """
    if not options.fused and not any(is_odd(stored.variable.attrs.get("units")) for stored in variables.values()):
        return {name: stored.variable for name, stored in variables.items()}
    attributes = attributes_with_inherited({name: stored.variable for name, stored in variables.items()})
    return {name: _unpacked(name, stored, options.of(name), attributes[name]) for name, stored in variables.items()}


def times_to_decode(variables: Mapping[str, Stored], options: DecodingOptions, source: str) -> tuple[Any, frozenset[str]]:
    """Which times xarray is to decode. Variables of dates that neither xarray nor the core decodes stay numbers, with a warning.

    Args:
        variables, options: As of `unpacked`.
        source: The file, for the warning.

    Returns:
        `decode_times` for xarray, and the names of those that stay numbers.
    """
    left = _left_as_numbers(variables, options)
    for name, message in left.items():
        warnings.warn(f"{name} stays as numbers: {message} ({source})", DecodingWarning, stacklevel=5)
    if not left:
        return options.decode_times, frozenset()
    return {name: name not in left and options.of(name).decode_times for name in variables}, frozenset(left)


def _left_as_numbers(variables: Mapping[str, Stored], options: DecodingOptions) -> dict[str, str]:
    found = dict[str, str]()
    for name, attributes in attributes_with_inherited({name: stored.variable for name, stored in variables.items()}).items():
        stored, wanted = variables[name], options.of(name)
        if not wanted.decode_times or not _are_of_dates(attributes.get("units")):
            continue
        decoding = stored.find_decoding()
        problems = [] if decoding is None else [message for attribute, message in decoding.problems if attribute in _OF_DATES]
        if not wanted.mask_and_scale and is_odd(attributes["units"]):
            problems.append(f"xarray does not decode its units {attributes['units']!r}: ask for mask_and_scale")
        if problems and is_unknown(name, stored.variable, attributes):
            found[name] = problems[0]
    return found


def attributes_with_inherited(variables: Mapping[str, Variable]) -> dict[str, dict[Any, Any]]:
    """The attributes of variables; bounds have those of dates of their coordinate, too."""
    inherited = dict[str, dict[Any, Any]]()
    for one in variables.values():
        bounds = one.attrs.get("bounds")
        if isinstance(bounds, str) and _are_of_dates(one.attrs.get("units")):
            inherited[bounds] = {key: value for key, value in one.attrs.items() if key in _OF_DATES}
    return {name: {**inherited.get(name, {}), **one.attrs} for name, one in variables.items()}


def _unpacked(name: str, stored: Stored, wanted: DecodingOptions, attributes: dict[Any, Any]) -> Variable:
    """One of them; `attributes` are its own and those that it inherits."""
    variable: Variable = stored.variable.copy(deep=False)
    decoding = stored.find_decoding()
    if wanted.decode_times:
        # xarray does not look for them at a coordinate that is decoded.
        variable.attrs = dict(attributes)
    if decoding is None or decoding.kind == "text" or decoding.problems or not wanted.mask_and_scale:
        return variable
    is_date = decoding.kind == "time"
    is_odd_date = bool(is_date and wanted.decode_times and is_odd(attributes.get("units")))
    if not wanted.fused and not is_odd_date:
        return variable
    given = variable.copy(deep=False)
    given.attrs, given.encoding = dict(attributes if is_date else variable.attrs), dict(variable.encoding)
    # xarray says what the result is: its dtype, what is left of the attributes, and the encoding.
    options = wanted.of_times()
    decoded, warned = _decoded(name, given, **options)
    if decoded is None:
        return _dates_of_core(name, stored, decoding, wanted, given) if is_odd_date else variable
    data = _array(stored, decoding, decoded.dtype, Times(given.attrs, options)) if wanted.fused else None
    if data is None:
        return variable
    for one in warned:
        warnings.warn(one, stacklevel=2)
    return Variable(variable.dims, indexing.LazilyIndexedArray(data), decoded.attrs, decoded.encoding)


def _array(stored: Stored, decoding: _native.Decoding, dtype: AnyDtype, times: Times) -> UnpackedArray | None:
    """Values of this dtype, decoded by the core, or as numbers that xarray makes times of; `None` if neither gives this dtype."""
    is_whole, numbers = stored.variable.dtype.kind in "iu" and not decoding.is_packed, decoding.as_numbers()
    # Floats in coarser units than nanoseconds are rounded as all values of a selection need it.
    is_in_nanoseconds = getattr(times.options["decode_times"], "time_unit", "ns") == "ns"
    is_of_core = {"time": _is_gregorian(decoding) and (is_whole or is_in_nanoseconds), "duration": is_whole}.get(decoding.kind, True)
    if is_of_core and dtype == np.dtype(decoding.dtype):
        return None if decoding.is_plain else UnpackedArray(stored, decoding, dtype, times if decoding.kind == "time" else None)
    if decoding.kind in ("time", "duration") and dtype.kind in "mMO":
        # xarray takes missing whole numbers for NaT, which no number is.
        of_numbers = {key: value for key, value in times.attributes.items() if key in _OF_DATES}
        return None if is_whole and numbers.missing else UnpackedArray(stored, decoding, dtype, Times(of_numbers, times.options), as_numbers=True)
    if dtype == np.dtype(numbers.dtype) and not numbers.is_plain:
        return UnpackedArray(stored, decoding, dtype, as_numbers=True)
    return None


def _decoded(name: str, variable: Variable, **options: Any) -> tuple[Variable | None, list[Warning]]:
    """What xarray decodes, and its warnings; `None` if it fails: its error is its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            decoded: Variable = decode_cf_variable(name, variable, **options)
        except (TypeError, ValueError, OverflowError):
            return None, []
    return decoded, [one.message for one in caught if isinstance(one.message, Warning)]


def _is_gregorian(decoding: _native.Decoding) -> bool:
    return decoding.time is not None and decoding.time.calendar in ("standard", "proleptic_gregorian")


def _dates_of_core(name: str, stored: Stored, decoding: _native.Decoding, wanted: DecodingOptions, given: Variable) -> Variable:
    """Dates in units that xarray does not know. The encoding lacks the units: xarray would not write them either."""
    numbers, _ = _decoded(name, given, decode_times=False, decode_timedelta=False)
    if numbers is None or decoding.time is None:
        return stored.variable
    ends = [np.ravel(given[(end,) * given.ndim].values) for end in (0, -1)] if given.size else [np.empty(0, given.dtype)]
    raw = np.concatenate(ends).astype(given.dtype.newbyteorder("=")).tobytes()
    has_numpy = not wanted.use_cftime and _is_gregorian(decoding) and decoding.decode(raw) is not None
    data = UnpackedArray(stored, decoding, np.dtype(decoding.dtype if has_numpy else "O"))
    return Variable(given.dims, indexing.LazilyIndexedArray(data), without_units(numbers.attrs), {**numbers.encoding, "calendar": decoding.time.calendar})


def is_unknown(name: str, variable: Variable, attributes: Mapping[Any, Any]) -> bool:
    """Whether xarray fails to decode dates with these attributes."""
    if not _are_of_dates(attributes.get("units")):
        return False
    given = variable.copy(deep=False)
    given.attrs = dict(attributes)
    return _decoded(name, given, decode_timedelta=False)[0] is None


def without_units(attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Attributes but those that say how dates count."""
    return {key: value for key, value in attributes.items() if key not in _OF_DATES}


def _are_of_dates(units: object) -> bool:
    return isinstance(units, str) and " since " in units


def is_odd(units: object) -> bool:
    """Whether these are units of dates that xarray may not know: others than a word, and a date that begins with year, month and day."""
    if not isinstance(units, str) or not _are_of_dates(units):
        return False
    word, _, date = units.partition(" since ")
    parts = date.strip().replace("T", " ").partition(" ")[0].split("-")
    return word not in _WORDS or len(parts) != 3 or not all(part.isdigit() for part in parts) or len(parts[0]) != 4


#: Units that xarray knows.
_WORDS = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds")
