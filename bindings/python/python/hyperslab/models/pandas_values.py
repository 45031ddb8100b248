"""pandas' values: attributes, arrays, texts, times and indexes of an HDFStore in pandas' types."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import CorruptError, UnsupportedError
from ..base.type_aliases import AnyArray
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.node import Node
from .pandas_scalars import known, zone_of
from .pickled_lists import Parsed, Unpicklable, object_array
from .pytables import PyTables, attribute, text

if TYPE_CHECKING:
    import pandas

#: The text of a missing value, unless a table has another one. That of an index is always this one.
MISSING = "nan"


def about(node: Node, name: str, default: object = None) -> Parsed:
    """An attribute, with pandas' scalars where it is pickled."""
    return known(attribute(node.attrs[name])) if name in node.attrs else default


def encoding_of(group: Group) -> str:
    """The encoding of the texts of an object."""
    return str(about(group, "encoding", "UTF-8") or "UTF-8")


def plain(value: Parsed, what: str) -> Parsed:
    """The value; `UnsupportedError` if it has a pickled object of an unknown class in it."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, (list, tuple)):
            plain(item, what)
        if isinstance(item, Unpicklable):
            raise UnsupportedError(f"{what} that is a {item!r}")
    return value


def elements(store: PyTables, dataset: Node) -> AnyArray:
    """The elements of an array of the fixed format."""
    if not isinstance(dataset, Dataset):
        raise CorruptError("an array of an object of pandas is a group", dataset.file.filename, dataset.name)
    if "PSEUDOATOM" in dataset.attrs and text(dataset.attrs["PSEUDOATOM"]) == "object":
        pickles = store._pickles(dataset)
        if len(pickles) != 1:
            raise CorruptError(f"{len(pickles)} pickled arrays in the place of one", dataset.file.filename, dataset.name)
        try:
            return object_array(pickles[0], known)
        except (CorruptError, UnsupportedError) as error:
            message = f"{error.message}; write these values in the table format (format='table')" if isinstance(error, UnsupportedError) else error.message
            raise type(error)(message, dataset.file.filename, dataset.name) from None
    # Arrays without elements are stored as one element, with their shape.
    if "shape" in dataset.attrs:
        shape = tuple(int(extent) for extent in np.ravel(about(dataset, "shape")))
        dtype = text(about(dataset, "value_type", "f8"))
        return np.empty(shape, _time_dtype(dtype) if dtype.startswith(("datetime64", "timedelta64")) else np.dtype(dtype))
    return np.asarray(store._elements(dataset))


def _time_dtype(kind: str) -> str:
    unit = kind.partition("[")[2].partition("]")[0].partition(",")[0] or "ns"
    return f"{'M8' if kind.startswith('datetime64') else 'm8'}[{unit}]"


def times(values: AnyArray, kind: str, zone: Parsed) -> AnyArray | pandas.DatetimeIndex:
    """Counts as times or durations: `kind` is `datetime64`, `timedelta64`, perhaps with a unit."""
    import pandas

    found = np.asarray(values, "i8").view(_time_dtype(kind))
    if zone is None or found.dtype.kind == "m":
        return found
    try:
        return pandas.DatetimeIndex(found.ravel()).tz_localize("UTC").tz_convert(zone_of(zone))
    except (KeyError, ValueError) as error:
        raise CorruptError(f"the time zone {zone!r}, which is not known: {error}") from None


def texts(values: AnyArray, encoding: str, missing: str) -> AnyArray:
    """Texts of fixed length as `str`, and as NaN where they are the text of a missing value."""
    found: AnyArray = np.array([item.decode(encoding, "surrogatepass") if isinstance(item, bytes) else item for item in values.ravel().tolist()], object)
    found[found == missing] = np.nan
    return np.asarray(found.reshape(values.shape))


def dates(values: AnyArray) -> AnyArray:
    """Days, counted from the first of the year 1, as dates."""
    found: AnyArray = np.fromiter((datetime.date.fromordinal(int(value)) for value in values.ravel()), object, values.size)
    return np.asarray(found.reshape(values.shape))


def of_kind(values: AnyArray, kind: str, encoding: str, zone: Parsed, place: str) -> AnyArray | pandas.DatetimeIndex:
    """Values of an index of a kind of pandas."""
    if kind.startswith(("datetime64", "timedelta64")):
        return times(values, kind, zone)
    if kind == "date" and values.dtype.kind in "iu":
        return dates(values)
    if kind in ("string", "object", "mixed") and values.dtype.kind == "O":
        return values
    if kind in ("string", "object") and values.dtype.kind == "S":
        return texts(values, encoding, MISSING)
    if kind in ("integer", "float", "bool", "boolean", "complex") or (values.dtype.kind in "iufcb" and kind == values.dtype.name):
        return values
    raise UnsupportedError(f"values of the kind {kind} of pandas", object=place)


def index_of(values: AnyArray, kind: str, encoding: str, zone: Parsed, frequency: Parsed, name: Parsed, place: str, is_periods: bool) -> pandas.Index:
    """An index of stored values. A frequency that is not known, or that the values do not have, is left out, except for periods."""
    import pandas

    name = plain(name, "the name of an index")
    if is_periods:
        if frequency is None or isinstance(frequency, Unpicklable):
            raise UnsupportedError(f"an index of periods of the frequency {frequency!r}", object=place)
        return pandas.PeriodIndex.from_ordinals(np.asarray(values, "i8"), freq=frequency, name=name)
    found = pandas.Index(of_kind(values, kind, encoding, zone, place), name=name)
    if isinstance(found, (pandas.DatetimeIndex, pandas.TimedeltaIndex)) and isinstance(frequency, pandas.offsets.BaseOffset):
        try:
            found.freq = frequency
        except ValueError:
            # Rows were deleted or added since.
            return found
    return found
