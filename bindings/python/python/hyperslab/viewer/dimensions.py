"""Dimensions: the names and coordinates of a dataset's dimensions, as netCDF and HDF5's dimension scales have them."""

from __future__ import annotations

from ..base.errors import Error
from ..base.type_aliases import JsonObject
from ..objects.dataset import Dataset
from ..objects.plot_axes import coordinate_of
from ..objects.value_text import value_text
from .downsampling import MAX_COORDINATE_VALUES
from .legend import dates_of


def dimensions(dataset: Dataset) -> list[JsonObject]:
    """What the file says about each dimension.

    Returns:
        For each dimension its `size`, its `name` (null if it has none), the `label` of its coordinate with units, and the `first` and `last`
        value of the coordinate as text (null if it has none of numbers or times in order).
    """
    return [_dimension(dataset, number) for number in range(dataset.ndim)]


def _dimension(dataset: Dataset, number: int) -> JsonObject:
    size = dataset.shape[number]
    name = (dataset.dims[number] if dataset.dims else None) or None
    found = {"size": size, "name": name, "label": name, "first": None, "last": None}
    if name is None or not 0 < size <= MAX_COORDINATE_VALUES:
        return found
    try:
        coordinate = coordinate_of(dataset, number, 1)
    except Error:
        return found  # a coordinate that cannot be read leaves the name
    if not coordinate.known:
        return found
    dates = dates_of(dataset, number) if coordinate.values.dtype.kind != "M" else None
    first, last = (value_text(coordinate.values[at]) if dates is None else dates[at] for at in (0, -1))
    return {**found, "label": coordinate.label if dates is None else name, "first": first, "last": last}
