"""Plot: a quick look at a dataset, as a picture file or a matplotlib figure."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from .. import _native
from ..batch_reader import BatchReader
from ..errors import Error, InvalidInputError
from ..extras import require
from .attributes import Attributes, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Maximum number of cells of a line, and of an image along each dimension (half of its pixels). In longer dimensions,
#: several values share a cell.
MAX_LINE_CELLS, MAX_IMAGE_CELLS = 1000, 350
#: Maximum number of values read at a time.
BLOCK_VALUES = 1 << 21
#: Maximum length of a cell, as a multiple of the distance between the coordinates around it.
MAX_GAPS = 2.0

Array = np.ndarray[Any, Any]


class Dataset(Protocol):
    """The part of a dataset's interface that plots use."""

    name: str
    _file: _native.File
    _about: dict[str, Any]

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def dims(self) -> tuple[str | None, ...]: ...

    @property
    def attrs(self) -> Attributes: ...

    def _scale(self, dimension: int) -> Dataset | None: ...

    def __getitem__(self, key: Any) -> Any: ...


def picture(**options: Any) -> Figure:
    """Makes a matplotlib figure that a notebook shows without `%matplotlib`.

    Args:
        options: Those of `matplotlib.figure.Figure`.

    Returns:
        The figure.
    """
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png")
            return out.getvalue()

    return Picture(**options)


class Coordinate(NamedTuple):
    """The coordinate along an axis; `known` if the file has it."""

    label: str
    values: Array
    known: bool


class Extremes(NamedTuple):
    """The minimum and maximum of each cell (NaN if it has no value), and the mean of all values."""

    low: Array
    high: Array
    mean: float


def plot(
    dataset: Dataset,
    out: str | None = None,
    index: int | tuple[int, ...] = (),
    *,
    cmap: Any = None,
    vmin: float | None = None,
    vmax: float | None = None,
    log: bool = False,
    ax: Axes | None = None,
) -> Figure | str:
    """Draws one dimension as a line, and more as an image of the last two.

    Bytes of shape (..., height, width, 3 or 4) are drawn as a colored image. Coordinates and units are shown if the file has
    them. All values are read. In a line of more than 1,000 values, and along a dimension of an image of more than 350, several
    values share a cell: a line shows their minimum and maximum, an image the one of the two that is further from the mean of
    the whole image, so that no extreme is lost. A colored image shows every n-th pixel.

    Args:
        dataset: The dataset.
        out: Path of the picture.
        index: Index of the leading dimensions that are not drawn; 0 by default.
        cmap: A colormap of matplotlib.
        vmin, vmax: The smallest and largest value shown.
        log: Scale values logarithmically.
        ax: The axes to draw into.

    Returns:
        `out` if it is a path, else the matplotlib figure.

    Raises:
        InvalidInputError: The dataset has no numbers to draw.
        MissingExtraError: Matplotlib is not installed: it comes with `pip install 'hyperslab[plot]'`.

    Example:
        >>> hyperslab.objects.plot.plot(f["theta"], "theta.png", vmin=250)
    """
    require("plotting", "plot", "matplotlib")
    if dataset.dtype.kind not in "iufb" or dataset.size == 0 or dataset.ndim == 0:
        raise InvalidInputError(f"{dataset.name} is not an array of numbers with something in it: choose another")
    colored = dataset.ndim > 2 and dataset.shape[-1] in (3, 4) and dataset.dtype == np.uint8
    drawn = 3 if colored else min(2, dataset.ndim)
    leading = dataset.ndim - drawn
    given = index if isinstance(index, tuple) else (index,)
    if len(given) > leading:
        raise InvalidInputError(f"{len(given)} indexes, but {dataset.name} has {leading} dimensions that are not drawn")
    fixed = given + (0,) * (leading - len(given))

    # An image has two pixels for each cell, so that the frame hides none.
    figure = picture(layout="constrained", figsize=(6.4, 4.8) if drawn == 1 else (9, 7)) if ax is None else cast("Figure", ax.figure)
    axes = figure.subplots() if ax is None else ax
    max_cells = MAX_LINE_CELLS if drawn == 1 else MAX_IMAGE_CELLS
    steps = [-(-extent // max_cells) for extent in dataset.shape[leading : leading + min(2, drawn)]]
    if colored:
        key = fixed + tuple(slice(None, None, step) for step in steps)
        axes.imshow(np.asarray(dataset[key]), extent=(-0.5, dataset.shape[-2] - 0.5, dataset.shape[-3] - 0.5, -0.5))
    else:
        cells = _extremes(dataset, fixed, steps)
        coordinates = [_coordinate(dataset, leading + i, step) for i, step in enumerate(steps)]
        if log and not np.nanmax(cells.high, initial=0) > 0:
            raise InvalidInputError(f"{dataset.name} has no value above 0 to show with log")
        if np.isnan(cells.high).all():
            axes.text(0.5, 0.5, "all values are missing", transform=axes.transAxes, ha="center", va="center")
            axes.set(xticks=[], yticks=[])
        elif drawn == 1:
            _line(dataset, axes, coordinates[0], cells, vmin, vmax, log)
        else:
            from matplotlib.colors import LogNorm

            norm = LogNorm(vmin, vmax) if log else None
            _image(dataset, axes, coordinates, cells, cmap=cmap, norm=norm, **({} if log else {"vmin": vmin, "vmax": vmax}))
    where = ", ".join(_place(dataset, dimension, at) for dimension, at in enumerate(fixed))
    axes.set_title(dataset.name + (f" ({where})" if where else ""))
    if out is None:
        return figure
    figure.savefig(out)
    return out


def _line(dataset: Dataset, axes: Any, coordinate: Coordinate, cells: Extremes, vmin: float | None, vmax: float | None, log: bool) -> None:
    names = _value_names(dataset)
    if len(cells.low) == dataset.shape[-1]:  # a value a cell
        where, values = coordinate.values, cells.low
    else:
        where, values = np.repeat(coordinate.values, 2), np.stack([cells.low, cells.high], axis=1).reshape(-1)
    (line,) = axes.plot(where, values, drawstyle="steps-mid" if names else "default")
    # A line needs two values: one without neighbors is a point.
    empty = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    alone = ~empty[1:-1] & empty[:-2] & empty[2:]
    axes.plot(where[alone], values[alone], "o", color=line.get_color())
    axes.set(xlabel=coordinate.label, ylabel=_label(dataset, "value"), ylim=(vmin, vmax))
    if log:
        axes.set_yscale("log")
    if names:
        axes.set_yticks(list(names), list(names.values()))
    if coordinate.values.dtype.kind == "M":
        axes.tick_params(axis="x", rotation=30)


def _image(dataset: Dataset, axes: Any, coordinates: list[Coordinate], cells: Extremes, **options: Any) -> None:
    values = np.where(cells.high - cells.mean >= cells.mean - cells.low, cells.high, cells.low)
    rows, row_edges = _edges(coordinates[0].values)
    columns, column_edges = _edges(coordinates[1].values)
    # -1 is a gap between cells.
    with_gaps = np.where((rows[:, None] < 0) | (columns[None, :] < 0), np.nan, values[np.ix_(rows, columns)])
    mesh = axes.pcolormesh(column_edges, row_edges, np.ma.masked_invalid(with_gaps), **options)
    bar = axes.figure.colorbar(mesh, ax=axes, label=_label(dataset, "value"))
    if names := _value_names(dataset):
        bar.set_ticks(list(names), labels=list(names.values()))
    axes.set(xlabel=coordinates[1].label, ylabel=coordinates[0].label)
    if coordinates[1].values.dtype.kind == "M":
        axes.tick_params(axis="x", rotation=30)
    if not coordinates[0].known:
        axes.invert_yaxis()  # without coordinates the first row is at the top, as arrays are printed


def _edges(values: Array) -> tuple[Array, Array]:
    """The cells along an axis, as positions in `values` (-1: a gap between cells), and their edges. Edges are halfway
    between coordinates, but a cell does not reach far into a gap: there the file has no values."""
    if values.dtype.kind == "M":
        cells, edges = _edges(values.astype("datetime64[us]").astype(np.int64))
        return cells, np.rint(edges).astype(np.int64).astype("datetime64[us]")
    places = values.astype(float)
    if len(places) == 1:
        return np.array([0]), np.array([places[0] - 0.5, places[0] + 0.5])
    gaps = np.abs(np.diff(places))
    around = [np.sort(gaps[max(0, i - 2) : i + 2]) for i in range(len(places))]
    limit = MAX_GAPS * np.array([near[(len(near) - 1) // 2] for near in around])
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


def _extremes(dataset: Dataset, fixed: tuple[int, ...], steps: list[int]) -> Extremes:
    """The minimum and maximum of the cells of the picture, each of `steps` values, read a block at a time."""
    shape = dataset.shape[len(fixed) :]
    counts = [-(-extent // step) for extent, step in zip(shape, steps, strict=True)]
    low, high = np.full(counts, np.nan), np.full(counts, np.nan)
    total, number = 0.0, 0
    for block in _blocks(shape, steps):
        values = _decoded(dataset, (*fixed, *block))
        # Whole cells: values beyond the end are missing.
        values = np.pad(values, [(0, -extent % step) for extent, step in zip(values.shape, steps, strict=True)], constant_values=np.nan)
        split = values.reshape([n for extent, step in zip(values.shape, steps, strict=True) for n in (extent // step, step)])
        cells = tuple(slice(part.start // step, -(-part.stop // step)) for part, step in zip(block, steps, strict=True))
        for cell_values, reduce in ((low, np.fmin.reduce), (high, np.fmax.reduce)):
            reduced = split
            for axis in range(1, len(shape) + 1):  # the slow dimension first: there are fewer values for the fast one then
                reduced = reduce(reduced, axis=axis)
            cell_values[cells] = reduced
        total, number = total + float(np.nansum(values)), number + int(np.count_nonzero(~np.isnan(values)))
    return Extremes(low, high, total / number if number else 0.0)


def _blocks(shape: tuple[int, ...], steps: list[int]) -> Iterator[tuple[slice, ...]]:
    """Boxes of whole cells, of about `BLOCK_VALUES` values each."""
    if len(shape) == 1:
        yield from ((part,) for part in _parts(shape[0], steps[0], BLOCK_VALUES))
        return
    columns = _parts(shape[1], steps[1], max(1, BLOCK_VALUES // steps[0]))
    for part in columns:
        for rows in _parts(shape[0], steps[0], max(1, BLOCK_VALUES // (part.stop - part.start))):
            yield rows, part


def _parts(extent: int, step: int, aim: int) -> list[slice]:
    """Ranges of whole steps, `aim` long or a step."""
    length = max(step, aim // step * step)
    return [slice(start, min(start + length, extent)) for start in range(0, extent, length)]


def _place(dataset: Dataset, dimension: int, at: int) -> str:
    """The place of the picture along a dimension that it does not show: the coordinate, or else the index."""
    name = (dataset.dims[dimension] if dataset.dims else None) or f"dimension {dimension}"
    coordinate = _coordinate(dataset, dimension, 1)
    if not coordinate.known:
        return f"{name} {at}"
    value = coordinate.values[at]
    return f"{name} = {np.datetime_as_string(value, 's') if coordinate.values.dtype.kind == 'M' else f'{value:g}'}"


def _value_names(dataset: Dataset) -> dict[int, str]:
    """Names of the values of an enumeration."""
    datatype = dataset._about["datatype"]
    if datatype["class"] != "enum":
        return {}
    return {int(value): str(name) for name, value in datatype["members"]}


def _label(dataset: Dataset, otherwise: str) -> str:
    """`long_name [units]`."""
    attrs = dataset.attrs
    name = next((shown(attrs[key]) for key in ("long_name", "standard_name") if key in attrs), otherwise)
    return f"{name} [{shown(attrs['units'])}]" if "units" in attrs else name


def _decoded(dataset: Dataset, key: tuple[Any, ...]) -> Array:
    """The values as floats: missing and infinite ones NaN, packed ones unpacked (CF conventions 2.5.1 and 8.1)."""
    raw = np.asarray(dataset[key])
    attrs = dataset.attrs
    missing = ~np.isfinite(raw) if raw.dtype.kind == "f" else np.zeros(raw.shape, bool)
    for name in ("_FillValue", "missing_value"):
        if name in attrs:
            missing |= np.isin(raw, np.asarray(attrs[name]))
    scale, offset = (float(np.ravel(attrs[name])[0]) if name in attrs else neutral for name, neutral in (("scale_factor", 1.0), ("add_offset", 0.0)))
    return np.where(missing, np.nan, raw.astype(float) * scale + offset)


def _coordinate(dataset: Dataset, dimension: int, step: int) -> Coordinate:
    """The coordinate of the cells of a dimension if it has a usable one, else their indexes."""
    extent = dataset.shape[dimension]
    label = (dataset.dims[dimension] if dataset.dims else None) or f"dimension {dimension}"
    middle = np.minimum(np.arange(0, extent, step) + step // 2, extent - 1)
    unknown = Coordinate(label, middle, False)
    scale = dataset._scale(dimension)
    if scale is None or scale.shape != (extent,) or scale.dtype.kind not in "iuf":
        return unknown
    try:
        plan = _native.Plan([scale._file], scale.name)
        # The last column: in front of it is an index, unless the scale is a coordinate of itself.
        column = BatchReader(plan.read()).read_all().columns[-1]
    except Error:
        return unknown  # a coordinate that no column can hold leaves the picture with indexes
    values = column.to_numpy()
    # Only in order can the cells' borders be drawn between them.
    if column.null_count or values.dtype.kind not in "iufM" or not (np.all(values[1:] > values[:-1]) or np.all(values[1:] < values[:-1])):
        return unknown
    return Coordinate(label if values.dtype.kind == "M" else _label(scale, label), values[middle], True)
