"""Legend: what the values of a dataset are, and the coordinates of its dimensions, for pictures that the browser draws."""

from __future__ import annotations

import numpy as np

from .. import h5py
from ..base.errors import Error
from ..base.type_aliases import AnyArray, JsonObject
from ..files.file import File
from ..objects.attributes import shown
from ..objects.dataset import Dataset
from ..objects.native_objects import scale_of
from ..objects.plot_axes import Coordinate, coordinate_of, label_of
from .entities import find
from .grid_pictures import horizontal_coordinates
from .meaning import Meaning, meaning_of, texts, variable_of

#: Values of a coordinate that are sent; longer axes are numbered.
_MAX_COORDINATE_VALUES = 1 << 17
#: Coordinates whose distances differ by more than this part of a step are irregular.
_MAX_SKEW = 0.1
#: Characters of an attribute that is shown.
_MAX_TEXT = 80


def legend(plain: h5py.File, file: File, path: str) -> JsonObject | None:
    """What pictures say about a dataset.

    Args:
        plain: The file with h5py's interface, whose objects are shown.
        file: The same file with the conventions of netCDF, whose coordinates are used.
        path: The path of the dataset.

    Returns:
        `is_changed`: whether decoded values differ from stored ones; `how`: the attributes that say how, as text; `problems`: those that are not
        understood; `label` and `stored_label`: the name of decoded and of stored values with their unit; `categories`: the names of values;
        `picture`: the name of a picture with coordinates of two dimensions; `axes`: the coordinate of each dimension. `None` of what is no dataset.
    """
    dataset = find(plain, path, "only_valid")
    if not isinstance(dataset, h5py.Dataset):
        return None
    variable, name = variable_of(file, dataset), path.rsplit("/", 1)[-1]
    meaning = meaning_of(dataset, variable)
    decoding = None if meaning is None else meaning.decoding
    is_date = decoding is not None and decoding.time is not None
    stored = label_of(dataset, name)
    return {
        "is_changed": meaning is not None and meaning.is_changed,
        "how": _how(meaning),
        "problems": [] if decoding is None else [message for _, message in decoding.problems],
        "label": stored.partition(" [")[0] if is_date else stored,
        "stored_label": name if decoding is not None and decoding.is_packed else stored,
        "categories": [] if meaning is None else [{"value": value, "name": word} for word, value in sorted(meaning.categories.items(), key=lambda one: one[1])],
        **_coordinates(file, dataset, variable),
    }


def _how(meaning: Meaning | None) -> str:
    if meaning is None or not meaning.is_changed:
        return ""
    values = [(name, shown(meaning.dataset.attrs[name])) for name in meaning.applied]
    kind = meaning.dataset.dtype.kind
    stored = "characters" if kind == "S" else "records" if kind == "V" else meaning.dataset.dtype.name
    return ", ".join([f"stored as {stored}", *(_applied(name, value) for name, value in values)])


def _applied(name: str, value: str) -> str:
    # As for xarray, values out of the valid range stay.
    return f"{name} {value[:_MAX_TEXT]}" + (" (not applied)" if name.startswith("valid_") else "")


def _coordinates(file: File, dataset: h5py.Dataset, variable: Dataset | None) -> JsonObject:
    """The axes and the picture, of the variable of netCDF that the dataset is."""
    if variable is None:
        return {"picture": None, "axes": [_axis(Coordinate("", np.empty(0), False)) for _ in range(dataset.ndim)]}
    axes = [_axis(coordinate(variable, dimension)) for dimension in range(variable.ndim)]
    return {"picture": _picture(file, variable), "axes": axes}


def _picture(file: File, variable: Dataset) -> str | None:
    """The picture of a variable with coordinates of two dimensions."""
    if horizontal_coordinates(variable) is None:
        return None
    models = [model for model in file.models if model.name == "cf" and model.certainty != "possible"]
    return next((f"cf:{array.name}" for model in models for array in model.arrays if array.path == variable.name), None)


def coordinate(dataset: Dataset, dimension: int) -> Coordinate:
    """The coordinate of a dimension; dates of calendars that numpy lacks are texts. Of a coordinate itself there is none."""
    label = (dataset.dims[dimension] if dataset.dims else None) or ""
    unknown = Coordinate(label, np.empty(0), False)
    # A coordinate is drawn by its position, not over itself.
    if not 0 < dataset.shape[dimension] <= _MAX_COORDINATE_VALUES or dataset.name.rsplit("/", 1)[-1] == label:
        return unknown
    try:
        found = coordinate_of(dataset, dimension, 1)
    except Error:
        return unknown  # a coordinate that cannot be read leaves the axis numbered
    if not found.known:
        return unknown
    dates = dates_of(dataset, dimension) if found.values.dtype.kind != "M" else None
    return found if dates is None else Coordinate(label, dates, True)


def dates_of(dataset: Dataset, dimension: int) -> AnyArray | None:
    """The dates of a coordinate in another calendar than everybody's, as text."""
    scale = scale_of(dataset, dimension)
    meaning = None if scale is None else meaning_of(scale)
    if meaning is None or meaning.decoding is None or meaning.decoding.time is None:
        return None
    return texts(np.asarray(meaning.read(())))


def _axis(along: Coordinate) -> JsonObject:
    """An axis: of numbers, of times in seconds since 1970, of texts, or none."""
    values = along.values
    kind = "none" if not along.known else {"M": "times", "O": "texts"}.get(values.dtype.kind, "numbers")
    found: JsonObject = {"label": along.label or None, "kind": kind, "role": along.role, "values": [], "is_regular": False}
    if kind == "none":
        return found
    if kind == "times":
        values = values.astype("datetime64[us]").astype(np.int64) / 1e6
    return {**found, "values": values if kind == "texts" else values.astype(float), "is_regular": kind != "texts" and _is_regular(values.astype(float))}


def _is_regular(values: AnyArray) -> bool:
    if len(values) < 2:
        return False
    step = (values[-1] - values[0]) / (len(values) - 1)
    return bool(np.all(np.abs(values - values[0] - step * np.arange(len(values))) <= _MAX_SKEW * abs(step)))
