"""Maps of curvilinear grids and swaths: cells between corners that are computed from latitudes and longitudes with two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import plot_coastlines
from .plot_auxiliary import Auxiliary, Positions
from .plot_axes import label_of
from .plot_cells import Array, Dataset, Part, slabs
from .plot_images import draw_cells, set_map_scale
from .plot_look import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Above this latitude, neighbors whose longitudes differ by more degrees are around a pole: the middle between them is on the sphere, not on the map.
_POLAR, _FAR = 60.0, 30.0
#: Longitudes without a gap of this many degrees go around the globe.
_GLOBE_GAP = 10.0


class Corners(NamedTuple):
    """Longitudes and latitudes of the corners of cells, NaN where they are not known."""

    longitude: Array
    latitude: Array


class Places:
    """The places of the elements of a part of a dataset. `missing` is the number of values that had none."""

    def __init__(self, positions: Positions, part: Part) -> None:
        self._part, self.missing = part, 0
        self.latitude, self.longitude = positions

    def read(self, rows: Any, columns: Any) -> Corners:
        """Longitudes and latitudes; both NaN if one is missing or impossible."""
        keys = {**self._part.fixed, **dict(zip(self._part.dimensions, (rows, columns), strict=True))}
        longitude, latitude = (_upright(one, self._part.dimensions, one.read(keys)) for one in (self.longitude, self.latitude))
        is_known = np.isfinite(longitude) & np.isfinite(latitude) & (np.abs(latitude) <= 90.01) & (np.abs(longitude) <= 720)
        return Corners(np.where(is_known, longitude, np.nan), np.where(is_known, latitude, np.nan))

    def placed(self, block: tuple[slice, ...], values: Array) -> Array:
        """The values of a block that have a place, and NaN; counts the others."""
        is_known = np.isfinite(self.read(*block).latitude)
        self.missing += int(np.count_nonzero(~is_known & np.isfinite(values)))
        return np.where(is_known, values, np.nan)

    def corners(self, steps: list[int]) -> Corners:
        """The corners of cells of `steps` elements: those of the elements at the borders of the cells, so that thinned maps lie where whole ones do."""
        around = [_around_borders(extent, step) for extent, step in zip(self._part.shape, steps, strict=True)]
        kept = [np.unique(one[one >= 0]) for one in around]
        longitude, latitude = (np.full([len(one) for one in kept], np.nan) for _ in range(2))
        for rows, columns in slabs_of(self._part.shape):
            chosen = [one[(one >= part.start) & (one < part.stop)] for one, part in zip(kept, (rows, columns), strict=True)]
            if not all(map(len, chosen)):
                continue
            places = self.read(rows, columns)
            into = np.ix_(*(np.searchsorted(one, some) for one, some in zip(kept, chosen, strict=True)))
            of_block = np.ix_(chosen[0] - rows.start, chosen[1] - columns.start)
            longitude[into], latitude[into] = places.longitude[of_block], places.latitude[of_block]
        # Four elements along each dimension around each corner: (corners, corners, 4, 4).
        picked = [np.where(one >= 0, np.searchsorted(other, one), -1) for one, other in zip(around, kept, strict=True)]
        windows = []
        for values in (longitude, latitude):
            with_none = np.pad(values, [(0, 1), (0, 1)], constant_values=np.nan)  # -1 is nowhere
            windows.append(with_none[picked[0][:, None, :, None], picked[1][None, :, None, :]])
        return _middles(*windows)


def slabs_of(shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """Boxes that cover two dimensions."""
    found = []
    for key in slabs(shape):
        ends = [slice(one, one + 1) if isinstance(one, int) else one for one in key] + [slice(0, extent) for extent in shape[len(key) :]]
        found.append((ends[0], ends[1]))
    return found


def _upright(one: Auxiliary, dimensions: tuple[int, ...], values: Array) -> Array:
    """Values in the order of the picture's dimensions."""
    own = [dimension for dimension in one.dims if dimension in dimensions]
    return values if own == list(dimensions) else values.T


def _around_borders(extent: int, step: int) -> Array:
    """For each border between cells of `step` elements the two elements in front of it and the two after it; -1 beyond the ends."""
    borders = np.minimum(np.arange(-(-extent // step) + 1) * step, extent)
    around = borders[:, None] + np.arange(-2, 2)
    return np.where((around >= 0) & (around < extent), around, -1)


def _middles(longitude: Array, latitude: Array) -> Corners:
    """The middles of windows of four by four places: means of the inner four; a missing one is extrapolated from the two next to it."""
    inner = longitude[..., 1:3, 1:3].reshape(*longitude.shape[:2], 4)
    is_known = np.isfinite(inner)
    reference = np.take_along_axis(inner, is_known.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    # Around the antimeridian, neighbors differ by nearly 360 degrees on the map only.
    near = (longitude - reference[..., None, None] + 180) % 360 - 180
    east = _continued(near)[..., 1:3, 1:3].reshape(*near.shape[:2], 4)
    north = _continued(latitude)[..., 1:3, 1:3].reshape(*near.shape[:2], 4)
    middle = Corners(reference + east.mean(axis=-1), np.clip(north.mean(axis=-1), -90, 90))
    is_far = np.isfinite(middle.longitude) & (np.ptp(east, axis=-1) > _FAR) & (np.abs(north).max(axis=-1) > _POLAR)
    if is_far.any():
        on_sphere = _sphere_middles(reference[is_far][:, None] + east[is_far], np.clip(north[is_far], -90, 90))
        middle.longitude[is_far], middle.latitude[is_far] = on_sphere
    return middle


def _continued(windows: Array) -> Array:
    """Windows whose missing inner elements continue the two next to them: first along rows, then along columns."""
    for axis in (-1, -2):
        one, two, three, four = np.moveaxis(windows, axis, 0).copy()
        second = np.where(np.isfinite(two), two, 2 * three - four)
        third = np.where(np.isfinite(three), three, 2 * two - one)
        windows = np.moveaxis(np.stack([one, second, third, four]), 0, axis)
    return windows


def _sphere_middles(longitude: Array, latitude: Array) -> tuple[Array, Array]:
    east, north = np.radians(longitude), np.radians(latitude)
    x, y, z = (part.mean(axis=-1) for part in (np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)))
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def contiguous(longitude: Array) -> tuple[Array, float | None]:
    """Longitudes of corners without a jump inside of a cell, as the file has them if these have none. Else the map begins in the widest gap between them, or
    at -180 or 0 of those that go around the globe: that is returned, too, and jumps are left there only."""
    if np.nanmax(_widths(longitude)) <= 180 and np.nanmax(longitude) - np.nanmin(longitude) <= 360.01:
        return longitude, None
    known = np.sort(longitude[np.isfinite(longitude)] % 360)
    gaps = np.diff(np.append(known, known[0] + 360))
    widest = int(gaps.argmax())
    if gaps[widest] < _GLOBE_GAP:
        begin = 0.0 if np.nanmax(longitude) > 180 + gaps[widest] else -180.0
    else:
        begin = float((known[widest] + gaps[widest] / 2) % 360)
        # Most longitudes stay as the file has them.
        begin += float(np.rint(np.nanmedian(longitude - begin - (longitude - begin) % 360) / 360)) * 360
    found: Array = begin + (longitude - begin) % 360
    return found, begin


def _quads(corners: Array) -> Array:
    """The four corners of each cell, in the order of its outline."""
    return np.stack([corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]], axis=-1)


def _widths(longitude: Array) -> Array:
    """The extent of each cell; NaN without all corners."""
    widths: Array = np.ptp(_quads(longitude), axis=-1)
    return widths


def draw_map(dataset: Dataset, axes: Axes, positions: Positions, corners: Corners, values: Array, look: Look) -> None:
    """Draws cells between corners on a map of longitude and latitude."""
    (east, begin), north = contiguous(corners.longitude), corners.latitude
    longitudes, latitudes = _quads(east), _quads(north)
    has_corners = np.isfinite(longitudes).all(axis=-1)
    filled = [np.where(np.isfinite(one), one, np.nanmean(one)) for one in (east, north)]
    values = np.where(has_corners, values, np.nan)
    mesh = draw_cells(dataset, axes, filled[0], filled[1], values, look)
    is_drawn = np.isfinite(values) if np.isfinite(values).any() else has_corners
    limits = np.array([[one[is_drawn].min(), one[is_drawn].max()] for one in (longitudes, latitudes)])
    is_cut = _widths(east) > 180
    if begin is not None and is_cut.any():
        limits[0] = begin, begin + 360
        _draw_cut(axes, mesh, longitudes[is_cut], latitudes[is_cut], is_cut)
    axes.set(xlabel=label_of(positions.longitude.dataset, "longitude"), ylabel=label_of(positions.latitude.dataset, "latitude"), xlim=limits[0], ylim=limits[1])
    if look.coastlines:
        plot_coastlines.draw(axes, *limits)
    set_map_scale(axes, *limits)


def _draw_cut(axes: Axes, mesh: Any, longitudes: Array, latitudes: Array, is_cut: Array) -> None:
    """Draws the cells that the edge of a map of the globe cuts, on both of its sides."""
    from matplotlib.collections import PolyCollection

    array = np.ma.masked_invalid(mesh.get_array())
    values = array[is_cut]
    cut = np.ma.array(array, copy=True)
    cut[is_cut] = np.ma.masked
    mesh.set_array(cut)
    near = longitudes[:, :1] + (longitudes - longitudes[:, :1] + 180) % 360 - 180
    for turn in (-360, 0, 360):
        shapes = np.stack([near + turn, latitudes], axis=-1)
        axes.add_collection(PolyCollection(list(shapes), array=values, cmap=mesh.get_cmap(), norm=mesh.norm, edgecolors="none"), autolim=False)
