"""The axes of pictures of datasets: coordinates, the edges of cells, labels, and which way an axis goes."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from .. import _native
from ..base.errors import Error
from ..values.batch_reader import BatchReader
from .attributes import shown
from .decoding import decoding_of
from .plot_cells import Array, Dataset, as_drawn
from .plot_dates import calendar_of, date_text
from .value_text import value_text

#: Maximum length of a cell, as a multiple of the distance between the coordinates around it.
MAX_GAPS = 2.0
_LATITUDE = frozenset({"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"})
_LONGITUDE = frozenset({"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"})
_PRESSURE = frozenset({"Pa", "hPa", "mbar", "millibar", "bar", "decibar", "dbar"})
_DOWN = frozenset({"depth", "air_pressure", "sea_water_pressure"})
_FIRST_TIME, _LAST_TIME = np.datetime64("0001-01-01"), np.datetime64("9999-01-01")
#: Names by which coordinates without CF's attributes are known.
_BY_NAME = {"lat": "latitude", "latitude": "latitude", "lon": "longitude", "longitude": "longitude"}
#: Attributes that describe values and their units: CF, and HDF-EOS.
NAMES, UNITS = ("long_name", "standard_name", "LongName", "Title"), ("units", "Units")


class Coordinate(NamedTuple):
    """The coordinate along an axis; `known` if the file has it. `bounds` are the two ends of each cell, if the file has them; `role`
    is latitude, longitude, up or down (a vertical coordinate), or empty. `calendar` is that of dates which numpy lacks: their `values`
    are days since 1970."""

    label: str
    values: Array
    known: bool
    bounds: Array | None = None
    role: str = ""
    calendar: str | None = None


def place(dataset: Dataset, dimension: int, at: int) -> str:
    """The place of the picture along a dimension that it does not show: the coordinate, or else the index."""
    coordinate = coordinate_of(dataset, dimension, 1)
    if not coordinate.known:
        name = dataset.dims[dimension] if dataset.dims else None
        return f"{name} {at}" if name else f"slice {at} of dimension {dimension}"
    value = coordinate.values[at]
    text = value_text(value) if coordinate.calendar is None else date_text(value, coordinate.calendar)
    return f"{(dataset.dims[dimension] if dataset.dims else None) or coordinate.label} = {text}"


def label_of(dataset: Dataset, otherwise: str) -> str:
    """`long_name [units]`."""
    units = text_of(dataset, *UNITS)
    name = text_of(dataset, *NAMES) or otherwise
    return f"{name} [{units}]" if units else name


def text_of(dataset: Dataset, *names: str) -> str:
    """The first of the attributes that there is, as text; empty without one, and for one that cannot be read: a picture does without it."""
    attrs = dataset.attrs
    try:
        return next((shown(attrs[name]) for name in names if name in attrs), "")
    except Error:
        return ""


def base_name(dataset: Dataset) -> str:
    """The name of a dataset without its group."""
    return dataset.name.rsplit("/", 1)[-1]


def coordinate_of(dataset: Dataset, dimension: int, step: int) -> Coordinate:
    """The coordinate of the cells of a dimension if it has a usable one, else their indexes."""
    extent = dataset.shape[dimension]
    label = (dataset.dims[dimension] if dataset.dims else None) or f"dimension {dimension}"
    middle = np.minimum(np.arange(0, extent, step) + step // 2, extent - 1)
    unknown = Coordinate(label, middle, False)
    scale = dataset._scale(dimension)
    if scale is not None and scale._number == dataset._number:
        return unknown._replace(label=f"index of {label}")  # a coordinate against itself is a diagonal
    if scale is None or scale.shape not in ((extent,), (extent + 1,)) or scale.dtype.kind not in "iuf":
        return unknown
    try:
        if scale.shape == (extent + 1,):
            return _between(scale, label, extent, step) or unknown
        if _own_calendar(scale) is not None:
            return _in_own_calendar(scale, label, extent, step) or unknown
        plan = _native.Plan([scale._file], scale.name, model="none")
        # The last column: in front of it is an index, unless the scale is a coordinate of itself.
        column = BatchReader(plan.read()).read_all().columns[-1]
    except Error:
        return unknown  # a coordinate that no column can hold leaves the picture with indexes
    values = column.to_numpy()
    # Only in order can the cells' borders be drawn between them.
    if column.null_count or values.dtype.kind not in "iufM" or not (np.all(values[1:] > values[:-1]) or np.all(values[1:] < values[:-1])):
        return unknown
    if values.dtype.kind == "M":
        # Matplotlib has no times outside of these years, and draws a little more than the values: half a cell, or a margin.
        ends = values.min(), values.max()
        margin = (ends[1] - ends[0]) // 10 + (np.abs(np.diff(values)).max() if extent > 1 else np.timedelta64(1, "D"))
        is_drawable = ends[0] - margin >= _FIRST_TIME and ends[1] + margin < _LAST_TIME
        return Coordinate(label, values[middle], True) if is_drawable else unknown
    return Coordinate(label_of(scale, label), values[middle], True, _bounds(scale, extent, step), role_of(scale, label))


def _between(scale: Dataset, label: str, extent: int, step: int) -> Coordinate | None:
    """The coordinate of bins whose edges are in the file."""
    edges = as_drawn(scale, (slice(None),))
    if calendar_of(scale) is not None or not np.isfinite(edges).all() or not (np.all(edges[1:] > edges[:-1]) or np.all(edges[1:] < edges[:-1])):
        return None
    first = np.arange(0, extent, step)
    ends = np.stack([edges[first], edges[np.minimum(first + step, extent)]], axis=1)
    return Coordinate(label_of(scale, label), ends.mean(axis=1), True, ends, role_of(scale, label))


def _own_calendar(scale: Dataset) -> str | None:
    """The calendar of dates, if it is not the one that everybody uses."""
    decoding = decoding_of(cast(Any, scale))
    calendar = None if decoding is None or decoding.time is None else decoding.time.calendar
    return None if calendar in ("standard", "proleptic_gregorian") else calendar


def _in_own_calendar(scale: Dataset, label: str, extent: int, step: int) -> Coordinate | None:
    """Dates that numpy lacks, as days: as its dates they would have days that the calendar lacks. As counts, if cftime is not installed."""
    calendar = calendar_of(scale)
    values = as_drawn(scale, (slice(None),))
    if not np.isfinite(values).all() or not (np.all(values[1:] > values[:-1]) or np.all(values[1:] < values[:-1])):
        return None
    middle = values[np.minimum(np.arange(0, extent, step) + step // 2, extent - 1)]
    units = f"days since 1970-01-01, {calendar}" if calendar else f"{text_of(scale, *UNITS)}, {_own_calendar(scale)}"
    return Coordinate(f"{text_of(scale, *NAMES) or label} [{units}]", middle, True, _bounds(scale, extent, step), calendar=calendar)


def role_of(scale: Dataset, name: str) -> str:
    """What a coordinate is, by CF's attributes or a usual name."""
    given = {key: text_of(scale, key) for key in ("units", "positive", "axis", "standard_name")}
    if given["units"] in _LATITUDE or given["standard_name"] == "latitude":
        return "latitude"
    if given["units"] in _LONGITUDE or given["standard_name"] == "longitude":
        return "longitude"
    if given["positive"].lower() in ("up", "down"):
        return given["positive"].lower()
    if given["units"] in _PRESSURE or given["standard_name"] in _DOWN:
        return "down"
    if given["axis"] == "Z" or given["standard_name"] in ("altitude", "height"):
        return "up"
    return _BY_NAME.get(name.lower(), "")


def _bounds(scale: Dataset, extent: int, step: int) -> Array | None:
    """The ends of the cells, from the variable of bounds that the coordinate names (CF 7.1)."""
    if "bounds" not in scale.attrs:
        return None
    try:
        found = scale.parent[shown(scale.attrs["bounds"])]
        if found.kind != "dataset" or found.shape != (extent, 2) or found.dtype.kind not in "iuf":
            return None
        ends = as_drawn(found, (slice(None), slice(None)))
    except Error:
        return None  # bounds that cannot be read leave the picture with the middles between coordinates
    first = np.arange(0, extent, step)
    return np.stack([ends[first, 0], ends[np.minimum(first + step, extent) - 1, 1]], axis=1)


def edges_of(coordinate: Coordinate) -> tuple[Array, Array]:
    """The cells along an axis, as positions in its values (-1: a gap between cells), and their edges: by the file's bounds, if it has
    some that fit, else halfway between coordinates."""
    if coordinate.bounds is not None and (found := _edges_of_bounds(coordinate.values.astype(float), coordinate.bounds)) is not None:
        return found
    # Levels are further from each other the higher or deeper they are: that is no gap.
    return edges_between(coordinate.values, np.inf if coordinate.role in ("up", "down") else MAX_GAPS)


def _edges_of_bounds(values: Array, bounds: Array) -> tuple[Array, Array] | None:
    """The same for cells with two ends each; `None` if they overlap, have no length, or do not contain their coordinate."""
    sign = 1.0 if len(values) < 2 or values[1] > values[0] else -1.0
    begin, end = np.sort(bounds, axis=1)[:, :: int(sign)].T
    if not np.isfinite(bounds).all() or (begin == end).any() or (sign * begin > sign * values).any() or (sign * values > sign * end).any():
        return None
    tolerance = 1e-6 * np.abs(end - begin)
    if (sign * (begin[1:] - end[:-1]) < -tolerance[1:]).any():
        return None
    cells, borders = [0], [begin[0]]
    for i in range(1, len(values)):
        borders.append(end[i - 1])
        if abs(begin[i] - end[i - 1]) > tolerance[i]:
            cells.append(-1)
            borders.append(begin[i])
        cells.append(i)
    return np.array(cells), np.array([*borders, end[-1]])


def edges_between(values: Array, max_gaps: float = MAX_GAPS) -> tuple[Array, Array]:
    """The cells along an axis, as positions in `values` (-1: a gap between cells), and their edges. Edges are halfway
    between coordinates, but a cell does not reach far into a gap: there the file has no values."""
    if values.dtype.kind == "M":
        cells, edges = edges_between(values.astype("datetime64[us]").astype(np.int64), max_gaps)
        return cells, np.rint(edges).astype(np.int64).astype("datetime64[us]")
    places = values.astype(float)
    if len(places) == 1:
        return np.array([0]), np.array([places[0] - 0.5, places[0] + 0.5])
    gaps = np.abs(np.diff(places))
    around = [np.sort(gaps[max(0, i - 2) : i + 2]) for i in range(len(places))]
    limit = max_gaps * np.array([near[(len(near) - 1) // 2] for near in around])
    sign = np.sign(places[1] - places[0])
    before = np.minimum(np.append(gaps[0], gaps), limit) / 2
    after = np.minimum(np.append(gaps, gaps[-1]), limit) / 2
    found, borders = [0], [places[0] - sign * before[0]]
    for i in range(1, len(places)):
        end, begin = places[i - 1] + sign * after[i - 1], places[i] - sign * before[i]
        borders.append(end)
        if abs(begin - end) > 1e-6 * gaps[i - 1]:
            found.append(-1)
            borders.append(begin)
        found.append(i)
    return np.array(found), np.array([*borders, places[-1] + sign * after[-1]])
