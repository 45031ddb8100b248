"""Plot: a quick look at a dataset, as a picture file or a matplotlib figure."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from ..base.errors import InvalidInputError
from ..base.extras import require
from . import plot_choice, plot_coastlines
from .plot_auxiliary import Positions, positions_of, vertical_of
from .plot_axes import Coordinate, coordinate_of, place
from .plot_categories import has_categories
from .plot_cells import Dataset, Part, extremes, middles
from .plot_images import draw_image, shown_values
from .plot_lines import draw_histogram, draw_line
from .plot_look import Look, is_drawn, note
from .plot_map import Places, draw_map
from .plot_points import are_points, draw_points
from .plot_profiles import draw_profile, draw_profiles, level_of
from .plot_signal import modulus, phase, with_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

#: Maximum number of cells of a line, and of an image along each dimension (half of its pixels). In longer dimensions,
#: several values share a cell.
MAX_LINE_CELLS, MAX_IMAGE_CELLS = 1000, 350

#: Indexes of the dimensions that are not drawn, in order or by name or number.
Index: TypeAlias = int | tuple[int, ...] | Mapping[str | int, int]
#: Names or numbers of the dimensions that are drawn.
Dims: TypeAlias = str | int | Sequence[str | int] | None


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

    Bytes of shape (..., height, width, 3 or 4) are drawn as a colored image, arrays of two columns as points, and complex numbers as
    modulus and phase. Enumerations, booleans and flags have a color and a name for each value; times are dates of their calendar. Coordinates and units are
    shown if the file has them, also those that NXdata names; cells reach as far as the file's bounds, or halfway to their neighbors, and not into gaps.

    Without `dims`, values that have latitudes and longitudes of two dimensions are drawn as a map of these, and values with depths or pressures of
    two dimensions as profiles: up to 8 as lines, more as a section. Maps of latitude and longitude have the same scale in both directions, unless they
    would be narrow stripes. A vertical coordinate is on the upright axis, depth and pressure downwards.

    All values are read. In a line of more than 1,000 values, and along a dimension of an image of more than 350, several
    values share a cell: a line shows their minimum and maximum, an image the one of the two that is further from the mean of
    the whole image, so that no extreme is lost. A colored image shows every n-th pixel, and an image of categories the value in the middle of each cell.

    Args:
        dataset: The dataset.
        out: Path of the picture.
        index: Indexes of the dimensions that are not drawn, in their order or by name; 0 by default.
        dims: The dimensions that are drawn, by name or number: one for a line, two for an image (upright, then across). By
            default the last two, or those of the map.
        kind: `auto`, or `histogram` for the numbers of values in bins, over all dimensions.
        bins: Number of bins of a histogram.
        cmap: A colormap of matplotlib, for an image of values.
        vmin, vmax: The smallest and largest value shown.
        robust: Show the values between the 2nd and the 98th percentile of what is drawn, where `vmin` and `vmax` are not given.
        log: Scale values logarithmically; of a histogram the bins.
        coastlines: Draw coastlines on a map of latitude and longitude. Cartopy has them, and downloads them the first time
            (100 kB to 10 MB).
        ax: The axes to draw into; of complex numbers the modulus.

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
    plot_choice.check(dataset)
    if kind not in ("auto", "histogram"):
        raise InvalidInputError(f"kind is {kind!r}: give auto or histogram")
    dataset = with_axes(dataset)
    look = Look(cmap, vmin, vmax, robust, log, coastlines)
    is_complex = dataset.dtype.kind == "c"
    first = modulus(dataset) if is_complex else dataset
    has_two = is_complex and kind != "histogram" and ax is None
    is_line = dataset.ndim == 1 if dims is None else isinstance(dims, (str, int)) or len(dims) == 1
    figure = _figure(ax, kind == "histogram" or is_line, has_two)
    panels = [ax] if ax is not None else [figure.add_subplot(1, 1 + has_two, 1 + number) for number in range(1 + has_two)]
    if kind == "histogram":
        if dims is not None or index != ():
            raise InvalidInputError("a histogram has the values of all dimensions: leave out dims and index")
        if coastlines:
            plot_coastlines.check(dataset.name, False)
        _refuse_colormap(cmap, "a histogram")
        draw_histogram(first, panels[0], bins, look)
        title = dataset.name
    else:
        title = _values(first, panels[0], index, dims, look)
    if has_two:
        panels[0].set_title("modulus")
        _values(phase(dataset), panels[1], index, dims, Look() if is_line else Look("twilight", -np.pi, np.pi, coastlines=coastlines))
        panels[1].set_title("phase")
        figure.suptitle(title)
    else:
        panels[0].set_title(title)
    if out is None:
        return figure
    figure.savefig(out)
    return out


def _figure(ax: Axes | None, upright: bool, has_two: bool) -> Figure:
    # An image has two pixels for each cell, so that the frame hides none.
    if ax is not None:
        return cast("Figure", ax.figure)
    width, height = (6.4, 4.8) if upright else (9, 7)
    return picture(layout="constrained", figsize=(1.8 * width if has_two else width, height))


def _values(dataset: Dataset, axes: Axes, index: Index, dims: Dims, look: Look) -> str:
    """Draws values along one dimension or two, and returns the title."""
    colored = dims is None and dataset.ndim > 2 and dataset.shape[-1] in (3, 4) and dataset.dtype == np.uint8
    if dims is None and not colored and are_points(dataset):
        if look.coastlines:
            plot_coastlines.check(dataset.name, False)
        _refuse_colormap(look.cmap, "points")
        if look.is_numeric:
            raise InvalidInputError(f"{dataset.name} is drawn as points, which have no scale of values: give dims=(0, 1) for an image")
        draw_points(dataset, axes)
        return dataset.name
    positions = None if colored or dims is not None or _has_map_axes(dataset) else positions_of(dataset)
    drawn = tuple(range(dataset.ndim))[-3:] if colored else _drawn(dataset, dims, positions)
    part = Part(dataset, drawn, _fixed(dataset, drawn, index))
    if colored or len(drawn) == 1:
        _refuse_colormap(look.cmap, "an image that has colors of its own" if colored else "a line")
        if look.coastlines:
            plot_coastlines.check(dataset.name, False)
    if colored:
        steps = [-(-extent // MAX_IMAGE_CELLS) for extent in part.shape[:2]]
        key = tuple(part.fixed.values()) + tuple(slice(None, None, step) for step in steps)
        axes.imshow(np.asarray(dataset[key]), extent=(-0.5, dataset.shape[-2] - 0.5, dataset.shape[-3] - 0.5, -0.5))
    elif not (positions is not None and _map(part, axes, positions, look)) and not _profiles(part, axes, dims is None, look):
        _plain(part, axes, look)
    where = ", ".join(place(dataset, dimension, at) for dimension, at in part.fixed.items())
    return dataset.name + (f" ({where})" if where else "")


def _drawn(dataset: Dataset, dims: Dims, positions: Positions | None) -> tuple[int, ...]:
    """The dimensions of a picture: upright, then across."""
    if dims is not None:
        drawn = tuple(_dimension(dataset, given) for given in ([dims] if isinstance(dims, (str, int)) else dims))
        if not 1 <= len(drawn) <= 2 or len(set(drawn)) != len(drawn):
            raise InvalidInputError(f"dims are {dims!r}: give one or two different dimensions")
        return drawn
    if positions is not None:
        return positions.drawn
    drawn = tuple(range(dataset.ndim))[-2:]
    if len(drawn) == 2:
        roles = [coordinate_of(dataset, dimension, 1).role for dimension in drawn]
        if roles[1] in ("up", "down") and roles[0] not in ("up", "down"):
            return drawn[::-1]  # depth goes down, and not to the right
    return drawn


def _has_map_axes(dataset: Dataset) -> bool:
    """Whether the last two dimensions have latitude and longitude of their own."""
    return {coordinate_of(dataset, dimension, 1).role for dimension in range(dataset.ndim)[-2:]} == {"latitude", "longitude"}


def _map(part: Part, axes: Axes, positions: Positions, look: Look) -> bool:
    """Draws a map of places with two dimensions; returns whether there are any."""
    steps = [-(-extent // MAX_IMAGE_CELLS) for extent in part.shape]
    places = Places(positions, part)
    corners = places.corners(steps)
    if not np.isfinite(corners.longitude[:-1, :-1] + corners.longitude[1:, 1:]).any():
        return False
    if look.coastlines:
        plot_coastlines.check(part.dataset.name, True)
    if has_categories(part.dataset) and not look.is_numeric:
        values = middles(part, steps, places.placed)
    else:
        cells = extremes(part, steps, places.placed)
        look, values = look.fitted(cells), shown_values(cells)
    if is_drawn(part.dataset, axes, values, look):
        draw_map(part.dataset, axes, positions, corners, values, look)
        if places.missing:
            note(axes, f"{places.missing:,} values without coordinates")
    return True


def _profiles(part: Part, axes: Axes, is_free: bool, look: Look) -> bool:
    """Draws profiles that have a depth, pressure or height of their own; returns whether they have. Dimensions that the caller chose are drawn as such."""
    vertical = vertical_of(part.dataset)
    if vertical is None:
        return False
    level = level_of(part.dataset, vertical, part.fixed)
    is_drawn = level == part.dimensions[0] or (is_free and level in part.dimensions)
    # A depth of the ground along latitudes is not where values are.
    if not is_drawn or coordinate_of(part.dataset, level, 1).known:
        return False
    if look.coastlines:
        plot_coastlines.check(part.dataset.name, False)
    if len(part.dimensions) == 1:
        draw_profile(part, axes, vertical, look)
    else:
        draw_profiles(part, axes, vertical, level, look)
    return True


def _plain(part: Part, axes: Axes, look: Look) -> None:
    """Draws values over the coordinates of the drawn dimensions."""
    dataset, is_line = part.dataset, len(part.dimensions) == 1
    steps = [-(-extent // (MAX_LINE_CELLS if is_line else MAX_IMAGE_CELLS)) for extent in part.shape]
    coordinates: list[Coordinate] = [coordinate_of(dataset, dimension, step) for dimension, step in zip(part.dimensions, steps, strict=True)]
    if look.coastlines:
        plot_coastlines.check(dataset.name, {coordinate.role for coordinate in coordinates} == {"latitude", "longitude"})
    if not is_line and has_categories(dataset) and not look.is_numeric:
        values = middles(part, steps)
        if is_drawn(dataset, axes, values, look):
            draw_image(dataset, axes, coordinates, values, look)
        return
    cells = extremes(part, steps)
    if not is_drawn(dataset, axes, cells.high, look):
        return
    look = look.fitted(cells)
    if is_line:
        draw_line(dataset, axes, coordinates[0], cells, look)
    else:
        draw_image(dataset, axes, coordinates, shown_values(cells), look)


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
