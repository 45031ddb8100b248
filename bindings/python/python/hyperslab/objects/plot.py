"""Plot: a quick look at a dataset, as a picture file or a matplotlib figure."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast

import numpy as np

from ..base.errors import InvalidInputError
from ..base.extras import require
from . import plot_coastlines
from .plot_axes import Coordinate, coordinate_of, edges_of, label_of, place, value_names
from .plot_cells import Dataset, Extremes, Part, extremes, histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

#: Maximum number of cells of a line, and of an image along each dimension (half of its pixels). In longer dimensions,
#: several values share a cell.
MAX_LINE_CELLS, MAX_IMAGE_CELLS = 1000, 350
#: Maps that are longer than this many times their width keep the shape of the picture: they would be stripes.
MAX_ASPECT = 4.0
#: Percentiles of what is shown between which colors and lines range with `robust`, as in xarray.
ROBUST = 2.0, 98.0

#: Indexes of the dimensions that are not drawn, in order or by name or number.
Index: TypeAlias = int | tuple[int, ...] | Mapping[str | int, int]
#: Names or numbers of the dimensions that are drawn.
Dims: TypeAlias = str | int | Sequence[str | int] | None


class Colors(TypedDict):
    """Options of a picture that say which values have which colors."""

    cmap: str | Colormap | None
    vmin: float | None
    vmax: float | None


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


def plot(
    dataset: Dataset,
    out: str | None = None,
    index: int | tuple[int, ...] | Mapping[str | int, int] = (),
    *,
    dims: str | int | Sequence[str | int] | None = None,
    kind: str = "auto",
    bins: int = 100,
    cmap: str | Colormap | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    robust: bool = False,
    log: bool = False,
    coastlines: bool = False,
    ax: Axes | None = None,
) -> Figure | str:
    """Draws one dimension as a line, and more as an image of the last two.

    Bytes of shape (..., height, width, 3 or 4) are drawn as a colored image. Coordinates and units are shown if the file has
    them; cells reach as far as the file's bounds, or halfway to their neighbors, and not into gaps. Maps of latitude and longitude
    have the same scale in both directions, unless they would be narrow stripes. A line along a vertical coordinate is a profile: the coordinate is on the upright axis,
    depth and pressure downwards.

    All values are read. In a line of more than 1,000 values, and along a dimension of an image of more than 350, several
    values share a cell: a line shows their minimum and maximum, an image the one of the two that is further from the mean of
    the whole image, so that no extreme is lost. A colored image shows every n-th pixel.

    Args:
        dataset: The dataset.
        out: Path of the picture.
        index: Indexes of the dimensions that are not drawn, in their order or by name; 0 by default.
        dims: The dimensions that are drawn, by name or number: one for a line, two for an image (upright, then across). By
            default the last two.
        kind: `auto`, or `histogram` for the numbers of values in bins, over all dimensions.
        bins: Number of bins of a histogram.
        cmap: A colormap of matplotlib, for an image of values.
        vmin, vmax: The smallest and largest value shown.
        robust: Show the values between the 2nd and the 98th percentile of what is drawn, where `vmin` and `vmax` are not given.
        log: Scale values logarithmically; of a histogram the bins.
        coastlines: Draw coastlines on a map of latitude and longitude. Cartopy has them, and downloads them the first time
            (100 kB to 10 MB); maps of rotated grids have no latitudes and longitudes on their axes.
        ax: The axes to draw into.

    Returns:
        `out` if it is a path, else the matplotlib figure.

    Raises:
        InvalidInputError: The dataset has no numbers to draw, there is no such dimension or index, `cmap` is given for something
            else than an image of values, or `coastlines` are asked of something else than a map.
        MissingExtraError: Matplotlib is not installed: it comes with `pip install 'hyperslab[plot]'`, cartopy with
            `hyperslab[maps]`.
        NotFoundError: The coastlines are not on this machine and cannot be downloaded.

    Example:
        >>> hyperslab.objects.plot.plot(f["theta"], "theta.png", vmin=250)
        >>> hyperslab.objects.plot.plot(f["theta"], dims="depth", index={"lat": 3, "lon": 4})
    """
    require("plotting", "plot", "matplotlib")
    if dataset.dtype.kind not in "iufb" or not dataset.size or dataset.ndim == 0:
        raise InvalidInputError(f"{dataset.name} is not an array of numbers with something in it: choose another")
    if kind not in ("auto", "histogram"):
        raise InvalidInputError(f"kind is {kind!r}: give auto or histogram")
    figure = _figure(ax, upright=kind == "histogram" or (dataset.ndim == 1 and dims is None) or isinstance(dims, (str, int)))
    axes = figure.subplots() if ax is None else ax
    if kind == "histogram":
        if dims is not None or index != ():
            raise InvalidInputError("a histogram has the values of all dimensions: leave out dims and index")
        if coastlines:
            plot_coastlines.check(dataset.name, None)
        _refuse_colormap(cmap, "a histogram")
        _histogram(dataset, axes, bins, vmin, vmax, log)
        title = dataset.name
    else:
        title = _values(dataset, axes, index, dims, {"cmap": cmap, "vmin": vmin, "vmax": vmax}, robust, log, coastlines)
    axes.set_title(title)
    if out is None:
        return figure
    figure.savefig(out)
    return out


def _figure(ax: Axes | None, upright: bool) -> Figure:
    # An image has two pixels for each cell, so that the frame hides none.
    return picture(layout="constrained", figsize=(6.4, 4.8) if upright else (9, 7)) if ax is None else cast("Figure", ax.figure)


def _values(dataset: Dataset, axes: Axes, index: Index, dims: Dims, options: Colors, robust: bool, log: bool, coastlines: bool) -> str:
    """Draws values along one dimension or two, and returns the title."""
    colored = dims is None and dataset.ndim > 2 and dataset.shape[-1] in (3, 4) and dataset.dtype == np.uint8
    if dims is None:
        drawn = tuple(range(dataset.ndim))[-3 if colored else -2 :]
    else:
        drawn = tuple(_dimension(dataset, given) for given in ([dims] if isinstance(dims, (str, int)) else dims))
        if not 1 <= len(drawn) <= 2 or len(set(drawn)) != len(drawn):
            raise InvalidInputError(f"dims are {dims!r}: give one or two different dimensions")
    part = Part(dataset, drawn, _fixed(dataset, drawn, index))
    max_cells = MAX_LINE_CELLS if len(drawn) == 1 else MAX_IMAGE_CELLS
    steps = [-(-extent // max_cells) for extent in part.shape[:2]]
    if colored or len(drawn) == 1:
        _refuse_colormap(options["cmap"], "an image that has colors of its own" if colored else "a line")
    if coastlines and (colored or len(drawn) != 2):
        plot_coastlines.check(dataset.name, None)
    if colored:
        key = tuple(part.fixed.values()) + tuple(slice(None, None, step) for step in steps)
        axes.imshow(np.asarray(dataset[key]), extent=(-0.5, dataset.shape[-2] - 0.5, dataset.shape[-3] - 0.5, -0.5))
    else:
        cells = extremes(part, steps)
        coordinates = [coordinate_of(dataset, dimension, step) for dimension, step in zip(drawn, steps, strict=True)]
        if coastlines:
            plot_coastlines.check(dataset.name, coordinates)
        if log and not np.nanmax(cells.high, initial=0) > 0:
            raise InvalidInputError(f"{dataset.name} has no value above 0 to show with log")
        if np.isnan(cells.high).all():
            axes.text(0.5, 0.5, "all values are missing", transform=axes.transAxes, ha="center", va="center")
            axes.set(xticks=[], yticks=[])
        else:
            if robust:
                options = _robust(cells, options)
            if len(drawn) == 1:
                _line(dataset, axes, coordinates[0], cells, options["vmin"], options["vmax"], log)
            else:
                _image(dataset, axes, coordinates, cells, log, coastlines, options)
    where = ", ".join(place(dataset, dimension, at) for dimension, at in part.fixed.items())
    return dataset.name + (f" ({where})" if where else "")


def _refuse_colormap(cmap: str | Colormap | None, what: str) -> None:
    if cmap is not None:
        raise InvalidInputError(f"a colormap is for images of values, and this is {what}: leave out cmap")


def _dimension(dataset: Dataset, given: str | int) -> int:
    """The number of a dimension."""
    if isinstance(given, str):
        if given not in dataset.dims:
            named = ", ".join(name for name in dataset.dims if name) or "none has a name: give numbers"
            raise InvalidInputError(f"{dataset.name} has no dimension {given!r}: {named}")
        return dataset.dims.index(given)
    if not -dataset.ndim <= given < dataset.ndim:
        raise InvalidInputError(f"{dataset.name} has {dataset.ndim} dimensions, not one with number {given}")
    return given % dataset.ndim


def _fixed(dataset: Dataset, drawn: tuple[int, ...], index: Index) -> dict[int, int]:
    """The indexes of the dimensions that are not drawn."""
    others = [dimension for dimension in range(dataset.ndim) if dimension not in drawn]
    fixed = dict.fromkeys(others, 0)
    if isinstance(index, Mapping):
        for name, at in index.items():
            dimension = _dimension(dataset, name)
            if dimension not in fixed:
                raise InvalidInputError(f"the dimension {name!r} of {dataset.name} is drawn, so it has no index")
            fixed[dimension] = int(at)
        return fixed
    given = index if isinstance(index, tuple) else (index,)
    if len(given) > len(others):
        raise InvalidInputError(
            f"index is {index!r}, but {dataset.name} has {len(others)} dimension{'' if len(others) == 1 else 's'} that {'is' if len(others) == 1 else 'are'} not drawn"
        )
    return {**fixed, **dict(zip(others, given, strict=False))}


def _robust(cells: Extremes, options: Colors) -> Colors:
    """The options, with limits that are not given."""
    single = np.array_equal(cells.low, cells.high, equal_nan=True)  # one value a cell
    low, high = np.nanpercentile(cells.low if single else np.stack([cells.low, cells.high]), ROBUST)
    vmin, vmax = options["vmin"], options["vmax"]
    return {"cmap": options["cmap"], "vmin": float(low) if vmin is None else vmin, "vmax": float(high) if vmax is None else vmax}


def _line(dataset: Dataset, axes: Axes, coordinate: Coordinate, cells: Extremes, vmin: float | None, vmax: float | None, log: bool) -> None:
    names = value_names(dataset)
    if len(coordinate.values) == len(cells.low) and np.array_equal(cells.low, cells.high, equal_nan=True):  # one value or equal ones
        where, values = coordinate.values, cells.low
    else:
        where, values = np.repeat(coordinate.values, 2), np.stack([cells.low, cells.high], axis=1).reshape(-1)
    # A line needs two values: one without neighbors is a point.
    empty = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    alone = ~empty[1:-1] & empty[:-2] & empty[2:]
    label = label_of(dataset, "value")
    if coordinate.role in ("up", "down"):
        (line,) = axes.plot(values, where)
        axes.plot(values[alone], where[alone], "o", color=line.get_color())
        axes.set(xlabel=label, ylabel=coordinate.label, xlim=(vmin, vmax))
        _upright(axes, coordinate)
        value_axis, set_scale = axes.set_xticks, axes.set_xscale
    else:
        (line,) = axes.plot(where, values, drawstyle="steps-mid" if names else "default")
        axes.plot(where[alone], values[alone], "o", color=line.get_color())
        axes.set(xlabel=coordinate.label, ylabel=label, ylim=(vmin, vmax))
        value_axis, set_scale = axes.set_yticks, axes.set_yscale
        if coordinate.values.dtype.kind == "M":
            axes.tick_params(axis="x", rotation=30)
    if log:
        set_scale("log")
    if names:
        value_axis(list(names), list(names.values()))


def _upright(axes: Axes, coordinate: Coordinate) -> None:
    """Depth and pressure grow downwards."""
    if (coordinate.role == "down") != axes.yaxis_inverted():
        axes.invert_yaxis()


def _image(dataset: Dataset, axes: Axes, coordinates: list[Coordinate], cells: Extremes, log: bool, coastlines: bool, options: Colors) -> None:
    from matplotlib.colors import LogNorm

    values = np.where(cells.high - cells.mean >= cells.mean - cells.low, cells.high, cells.low)
    rows, row_edges = edges_of(coordinates[0])
    columns, column_edges = edges_of(coordinates[1])
    # -1 is a gap between cells.
    with_gaps = np.ma.masked_invalid(np.where((rows[:, None] < 0) | (columns[None, :] < 0), np.nan, values[np.ix_(rows, columns)]))
    cmap, vmin, vmax = options["cmap"], options["vmin"], options["vmax"]
    limits: dict[str, Any] = {"norm": LogNorm(vmin, vmax)} if log else {"vmin": vmin, "vmax": vmax}
    mesh = axes.pcolormesh(column_edges, row_edges, with_gaps, cmap=cmap, **limits)
    beyond = (vmin is not None and with_gaps.min() < vmin and not log, vmax is not None and with_gaps.max() > vmax)
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
    bar = axes.figure.colorbar(mesh, ax=axes, label=label_of(dataset, "value"), extend=extend)
    if names := value_names(dataset):
        bar.set_ticks(list(names), labels=list(names.values()))
    axes.set(xlabel=coordinates[1].label, ylabel=coordinates[0].label)
    if coordinates[1].values.dtype.kind == "M":
        axes.tick_params(axis="x", rotation=30)
    if coastlines:
        plot_coastlines.draw(axes, coordinates, row_edges, column_edges)
    tall, wide = np.ptp(row_edges), np.ptp(column_edges)
    if {coordinate.role for coordinate in coordinates} == {"latitude", "longitude"} and 1 / MAX_ASPECT < tall / wide < MAX_ASPECT:
        axes.set_aspect("equal")
    if not coordinates[0].known:
        axes.invert_yaxis()  # without coordinates the first row is at the top, as arrays are printed
    elif coordinates[0].role == "down":
        _upright(axes, coordinates[0])


def _histogram(dataset: Dataset, axes: Axes, bins: int, vmin: float | None, vmax: float | None, log: bool) -> None:
    """The numbers of values in bins; a note says how many are in none."""
    if bins < 1:
        raise InvalidInputError(f"bins is {bins}: give 1 or more")
    counts, edges, left_out = histogram(dataset, bins, log)
    if not counts.size:
        why = "no value is above 0" if log else "all values are missing"
        axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center")
        axes.set(xticks=[], yticks=[])
        return
    if log:
        axes.set_xscale("log")
    axes.stairs(counts, edges, fill=True)
    axes.set(xlabel=label_of(dataset, "value"), ylabel="values", xlim=(edges[0] if vmin is None else vmin, edges[-1] if vmax is None else vmax))
    axes.locator_params(axis="y", integer=True)
    if left_out:
        axes.text(
            0.99,
            0.98,
            f"{left_out:,} of {dataset.size:,} {'missing, infinite or not above 0' if log else 'missing or infinite'}",
            transform=axes.transAxes,
            ha="right",
            va="top",
        )
