"""Plot: a quick look at a dataset, as a PNG or a matplotlib figure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .attributes import shown
from .errors import Error, InvalidInputError
from .objects import Dataset, make
from .table import Table

MOST_POINTS = 2000
"""Of a dimension, no more points are read and drawn than this."""


class Coordinate(NamedTuple):
    """What an axis of the picture shows; `known` when the file says where its points lie."""

    label: str
    values: Any
    known: bool


def plot(dataset: Dataset, out: str | None = None, index: tuple[int, ...] = ()) -> Any:
    """Draws 1-D as a line and N-D as an image of the last two dimensions, at `index` of the others
    (0 where left out). Coordinates and units are shown where the file has them; long dimensions are
    thinned. Gives `out` when that is a path, else the matplotlib figure."""
    from matplotlib.figure import Figure

    if dataset.ndim == 0 or dataset.dtype.kind not in "iufb" or dataset.size == 0:
        raise InvalidInputError(f"{dataset.name} is no array of numbers with something in it: choose another", "InvalidInput")
    leading = max(0, dataset.ndim - 2)
    if len(index) > leading:
        raise InvalidInputError(f"{len(index)} indexes, but {dataset.name} has {leading} dimensions beside the two that are drawn", "InvalidInput")
    fixed = tuple(index) + (0,) * (leading - len(index))
    steps = [max(1, -(-extent // MOST_POINTS)) for extent in dataset.shape[leading:]]
    values = _decoded(dataset, (*fixed, *(slice(None, None, step) for step in steps)))
    axes = [_coordinate(dataset, leading + i, step) for i, step in enumerate(steps)]

    figure = Figure(layout="constrained")
    picture = figure.subplots()
    if values.ndim == 1:
        picture.plot(axes[0].values, values)
        picture.set(xlabel=axes[0].label, ylabel=_label(dataset, "value"))
    else:
        image = picture.pcolormesh(axes[1].values, axes[0].values, values, shading="nearest")
        figure.colorbar(image, label=_label(dataset, "value"))
        picture.set(xlabel=axes[1].label, ylabel=axes[0].label)
        if not axes[0].known:
            picture.invert_yaxis()  # without coordinates the first row is at the top, as arrays are printed
    where = ", ".join(f"{name or f'dimension {i}'} {at}" for i, (name, at) in enumerate(zip(_names(dataset), fixed)))
    picture.set_title(dataset.name + (f" ({where})" if where else ""))
    if np.asarray(axes[-1].values).dtype.kind == "M":
        figure.autofmt_xdate()
    if out is None:
        return figure
    figure.savefig(out)
    return out


def _names(dataset: Dataset) -> tuple[str | None, ...]:
    return dataset.dims or (None,) * dataset.ndim


def _label(dataset: Dataset, otherwise: str) -> str:
    """`long_name [units]`."""
    attrs = dataset.attrs
    name = next((shown(attrs[key]) for key in ("long_name", "standard_name") if key in attrs), otherwise)
    return f"{name} [{shown(attrs['units'])}]" if "units" in attrs else name


def _decoded(dataset: Dataset, key: tuple[Any, ...]) -> np.ma.MaskedArray[Any, Any]:
    """The values as numbers: missing ones masked, packed ones unpacked (CF conventions 2.5.1 and 8.1)."""
    raw = np.asarray(dataset[key])
    attrs = dataset.attrs
    mask = ~np.isfinite(raw) if raw.dtype.kind == "f" else np.zeros(raw.shape, bool)
    for name in ("_FillValue", "missing_value"):
        if name in attrs:
            mask |= np.isin(raw, np.asarray(attrs[name]))
    scale, offset = (float(np.ravel(attrs[name])[0]) if name in attrs else neutral for name, neutral in (("scale_factor", 1.0), ("add_offset", 0.0)))
    return np.ma.MaskedArray(raw.astype(float) * scale + offset, mask)


def _coordinate(dataset: Dataset, dimension: int, step: int) -> Coordinate:
    """The coordinate of a dimension where it has a usable one, else its indexes."""
    extent = dataset.shape[dimension]
    name, number = dataset._about["dims"][dimension] if dataset._about["dims"] else (None, None)
    label = name or f"dimension {dimension}"
    unknown = Coordinate(label, np.arange(0, extent, step), False)
    if number is None:
        return unknown
    scale = make(dataset._file, number, dataset._file.describe(number)["path"])
    if not isinstance(scale, Dataset) or scale.shape != (extent,) or scale.dtype.kind not in "iuf":
        return unknown
    try:
        column = Table([scale._file], scale.name, {}).to_arrow().column(0)
    except Error:
        return unknown  # a coordinate that no column can hold leaves the picture with indexes
    values = column.to_numpy()[::step]
    # Only in order can the cells' borders be drawn between them.
    if column.null_count or not (np.all(values[1:] > values[:-1]) or np.all(values[1:] < values[:-1])):
        return unknown
    return Coordinate(label if values.dtype.kind == "M" else _label(scale, label), values, True)
