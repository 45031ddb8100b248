"""Coastlines of Natural Earth on maps of latitude and longitude. Cartopy finds the files, and downloads them the first time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError, MissingFileError
from ..base.extras import require
from .plot_cells import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Scales of Natural Earth, and the extent of a map in degrees above which each is used.
_SCALES = (("110m", 60.0), ("50m", 15.0), ("10m", 0.0))


def check(name: str, is_map: bool) -> None:
    """Checks that a picture is a map.

    Raises:
        InvalidInputError: Its axes are not latitude and longitude.
    """
    if not is_map:
        raise InvalidInputError(f"coastlines need a map with axes of latitude and longitude, by their units or standard names; {name} is drawn along others")
    require("drawing coastlines", "maps", "cartopy")


def draw(axes: Axes, longitudes: Array, latitudes: Array, is_upright: bool = True) -> None:
    """Adds the coastlines to a map of these edges, whose latitude is upright or not; its limits stay as they are.

    Raises:
        NotFoundError: The coastlines are not on this machine and cannot be downloaded.
    """
    from matplotlib.collections import LineCollection

    west, east = float(longitudes.min()), float(longitudes.max())
    extent = max(east - west, float(np.ptp(latitudes)))
    scale = next(name for name, above in _SCALES if extent > above)
    lines = [line if is_upright else line[:, ::-1] for line in shifted(_natural_earth(scale), west, east)]
    axes.add_collection(LineCollection(lines, colors="black", linewidths=0.7), autolim=False)


def shifted(lines: list[Array], west: float, east: float) -> Iterator[Array]:
    """The lines (longitude and latitude of each point) that are in a range of longitudes, which may be from 0 to 360."""
    for line in lines:
        low, high = line[:, 0].min(), line[:, 0].max()
        for turns in range(int(np.ceil((west - high) / 360)), int(np.floor((east - low) / 360)) + 1):
            yield line + np.array([360.0 * turns, 0.0])


def _natural_earth(scale: str) -> list[Array]:
    from cartopy import config
    from cartopy.io import shapereader

    try:
        path = shapereader.natural_earth(scale, "physical", "coastline")
    except OSError as error:
        folder = f"{config['data_dir']}/shapefiles/natural_earth/physical"
        raise MissingFileError(f"the coastlines cannot be downloaded ({error}); put ne_{scale}_coastline.shp, .shx and .dbf into {folder}") from None
    reader = shapereader.BasicReader(path)
    try:
        shapes = list(reader.geometries())
    finally:
        reader.close()
    parts = [part for shape in shapes for part in getattr(shape, "geoms", [shape])]
    return [np.asarray(part.coords)[:, :2] for part in parts]
