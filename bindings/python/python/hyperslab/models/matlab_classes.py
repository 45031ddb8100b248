"""MATLAB classes: Python values for the properties of `string`, `datetime`, `duration`, `categorical`, `table` and their kin.

Classes that are not here stay objects with their properties by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray
from .matlab_tables import items, numbers_of, table, timetable, truth
from .matlab_values import MatlabObject, MatlabValue, Named

#: Length of a missing string.
_MISSING = 2**64 - 1
_NANOSECONDS = 1_000_000
#: Milliseconds beyond which 64-bit nanoseconds do not reach.
_MAX_MILLISECONDS = 9.2e12


def known(class_name: str) -> bool:
    """Whether objects of a class have a counterpart in Python."""
    return class_name in _CLASSES


def value_of(class_name: str, properties: Named, squeeze: bool) -> MatlabValue:
    """The Python value of an object of a class that is `known`.

    Args:
        class_name: The name of the class.
        properties: Its properties, as Python values.
        squeeze: Whether vectors and scalars lose the extents of 1 that make them matrices.

    Raises:
        CorruptError: The properties contradict each other, or one is missing.
        UnsupportedError: What the properties mean is not known.
    """
    try:
        return _CLASSES[class_name](properties, squeeze)
    except KeyError as error:
        raise CorruptError(f"a {class_name} without its property {error}") from None
    except (TypeError, ValueError, OverflowError, AttributeError, IndexError) as error:
        raise CorruptError(f"the properties of a {class_name} contradict each other: {error}") from None


def _string(properties: Named, squeeze: bool) -> MatlabValue:
    words = np.ravel(np.asarray(properties.get("any", [])))
    if not len(words):
        return [] if squeeze else np.empty((0, 0), object)
    if words.dtype != np.uint64 or int(words[0]) != 1 or len(words) < 2:
        raise UnsupportedError(f"text in a string of another version than 1: {words[:2].tolist()}")
    ndim = int(words[1])
    shape = tuple(words[2 : 2 + ndim].tolist())
    count = int(np.prod(shape, dtype=object))
    if len(shape) != ndim or count > len(words):
        raise CorruptError(f"an array of strings of shape {shape} in {len(words)} numbers")
    lengths = words[2 + ndim : 2 + ndim + count].tolist()
    units = words[2 + ndim + count :].tobytes()
    if len(lengths) != count or 2 * sum(length for length in lengths if length != _MISSING) > len(units):
        raise CorruptError(f"{count} strings of together more than {len(units) // 2} characters")
    found: list[str | None] = []
    place = 0
    for length in lengths:
        if length == _MISSING:
            found.append(None)
            continue
        found.append(units[place : place + 2 * length].decode("utf-16-le", "surrogatepass"))
        place += 2 * length
    return _shaped(found, shape, squeeze)


def _shaped(found: Sequence[MatlabValue], shape: tuple[int, ...], squeeze: bool) -> MatlabValue:
    """Elements in the order of MATLAB: one by itself, a list for a vector, else an array of objects."""
    if squeeze and shape == (1, 1):
        return found[0]
    if squeeze and len(shape) == 2 and (1 in shape or not found):
        return found
    array = np.empty(len(found), object)
    array[:] = found
    return array.reshape(shape, order="F")


def _nanoseconds(milliseconds: AnyArray, dtype: str) -> AnyArray:
    """Times from milliseconds with a fraction; the imaginary part is what a double could not hold."""
    whole_part, rest = (milliseconds.real, milliseconds.imag) if milliseconds.dtype.kind == "c" else (milliseconds.astype(np.float64), 0.0)
    if np.isinf(whole_part).any():
        raise UnsupportedError("an infinite time")
    is_missing = np.isnan(whole_part)
    whole_part = np.where(is_missing, 0.0, whole_part)
    largest = np.abs(whole_part).max(initial=0)
    per_millisecond, unit = (_NANOSECONDS, "ns") if largest < _MAX_MILLISECONDS else (1000, "us")
    if largest >= _MAX_MILLISECONDS * 1000:
        raise UnsupportedError("a time that 64-bit microseconds do not reach")
    floor = np.floor(whole_part)
    fraction = np.round(((whole_part - floor) + np.where(is_missing, 0.0, rest)) * per_millisecond)
    found = (floor.astype(np.int64) * per_millisecond + fraction.astype(np.int64)).view(f"{dtype}[{unit}]")
    found[is_missing] = "NaT"
    return found


def _datetime(properties: Named, squeeze: bool) -> MatlabValue:
    zone = properties.get("tz", "")
    data = np.asarray(properties["data"])
    found = _nanoseconds(np.atleast_1d(data), "M8").reshape(data.shape)
    if not isinstance(zone, str):
        raise CorruptError(f"a datetime with the time zone {zone!r}")
    if zone == "UTCLeapSeconds":
        raise UnsupportedError("a datetime that counts leap seconds (UTCLeapSeconds)")
    # The values are wall clock times, or in UTC if there is a zone, which the dtype then names.
    # A scalar of numpy cannot carry it: then the array of no dimensions stays one.
    return found.view(np.dtype(found.dtype, metadata={"tz": zone})) if zone else found[()]


def _duration(properties: Named, squeeze: bool) -> MatlabValue:
    data = np.asarray(properties["millis"])
    return _nanoseconds(np.atleast_1d(data), "m8").reshape(data.shape)[()]


def _calendar_duration(properties: Named, squeeze: bool) -> MatlabValue:
    parts = properties["components"]
    months, days = (np.asarray(parts[name], np.float64) for name in ("months", "days"))
    time = np.asarray(_duration({"millis": parts["millis"]}, squeeze))
    # A part that is 0 everywhere is stored once. If a part is empty, there are no values.
    shape = np.broadcast_shapes(months.shape, days.shape, time.shape)
    found = np.empty(shape, [("months", "f8"), ("days", "f8"), ("time", time.dtype)])
    found["months"], found["days"], found["time"] = months, days, time
    return found


def _categorical(properties: Named, squeeze: bool) -> MatlabValue:
    codes = np.asarray(properties["codes"]).astype(np.int64) - 1
    categories = [str(name) for name in items(properties["categoryNames"])]
    ordered = truth(properties.get("isOrdinal", False))
    if codes.size and (codes.min() < -1 or codes.max() >= len(categories)):
        raise CorruptError(f"a code of a categorical is beyond its {len(categories)} categories")
    # pandas has categorical vectors only.
    if sum(extent != 1 for extent in codes.shape) > 1 and codes.size:
        return MatlabObject("categorical", {"codes": codes, "categories": categories, "ordered": ordered})
    import_pandas()
    import pandas

    return pandas.Categorical.from_codes(codes.ravel(), categories, ordered=ordered)


def _map(properties: Named, squeeze: bool) -> MatlabValue:
    parts = properties["serialization"]
    keys, values = items(parts["keys"]), items(parts["values"])
    if len(keys) != len(values):
        raise CorruptError(f"a containers.Map of {len(keys)} keys and {len(values)} values")
    is_text = parts.get("keyType") == "char"
    return {str(key) if is_text else np.asarray(key).item(): value for key, value in zip(keys, values, strict=True)}


def _dictionary(properties: Named, squeeze: bool) -> MatlabValue:
    parts = properties["data"]
    if "Unconfigured" in parts:
        return {}
    if "Version" in parts and numbers_of(parts["Version"]) != [1]:
        raise UnsupportedError(f"a dictionary of version {parts['Version']!r}")
    keys, values = _elements(parts["Key"]), _elements(parts["Value"])
    if keys is None or values is None or len(keys) != len(values) or not all(isinstance(key, (str, int, float, bool, np.generic)) for key in keys):
        return MatlabObject("dictionary", {"keys": parts["Key"], "values": parts["Value"]})
    return dict(zip(keys, values, strict=True))


def _elements(values: MatlabValue) -> list[MatlabValue] | None:
    """The elements of the keys or values of a dictionary; `None` if what they are is one value for all."""
    if isinstance(values, (str, int, float, np.generic)) or values is None:
        return [values]
    if isinstance(values, list):
        return values
    return values.ravel(order="F").tolist() if isinstance(values, np.ndarray) else None


def import_pandas() -> None:
    """Checks that pandas is installed."""
    from ..base.extras import require

    require("MATLAB's tables and categorical arrays", "pandas", "pandas")


_CLASSES: dict[str, Callable[[Named, bool], MatlabValue]] = {
    "string": _string,
    "datetime": _datetime,
    "duration": _duration,
    "calendarDuration": _calendar_duration,
    "categorical": _categorical,
    "containers.Map": _map,
    "dictionary": _dictionary,
    "table": table,
    "timetable": timetable,
}
