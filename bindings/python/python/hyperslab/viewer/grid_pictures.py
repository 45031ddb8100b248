"""Pictures of grids that are not rectangles: faces of unstructured grids, and cells with coordinates of two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..base.errors import Error
from ..base.type_aliases import AnyArray
from ..models.grid_mesh import Mesh
from ..objects.attributes import shown
from ..objects.dataset import Dataset
from ..objects.group import Group
from ..objects.plot_axes import label_of
from ..objects.plot_cells import decoded
from .watching import Watch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Faces of a picture; of more, each n-th one is drawn. Cells of a curvilinear grid along each dimension, likewise.
MAX_FACES, MAX_CELLS = 200_000, 500
_NO_DEGREES = 1e30


def face_dimension(dataset: Dataset, faces: int) -> int | None:
    """The dimension of a dataset that has a value for each face; `None` if none or several are as long."""
    found = [dimension for dimension, extent in enumerate(dataset.shape) if extent == faces]
    return found[0] if len(found) == 1 else None


def draw_mesh(mesh: Mesh, values: AnyArray, label: str, axes: Axes, watch: Watch) -> None:
    """Draws faces, colored by their values. Of more than `MAX_FACES`, each n-th one, and the axes say so."""
    from matplotlib.collections import PolyCollection

    step = -(-len(values) // MAX_FACES)
    drawn = slice(None) if step == 1 else slice(0, len(values), step)
    polygons = mesh.polygons(faces=drawn)
    watch.require_time("draw a smaller grid")
    rings = polygons.column("geometry").combine_chunks()
    outer = rings.flatten()
    ends = np.cumsum(np.asarray(outer.value_lengths()))[:-1]
    points = np.asarray(outer.flatten().flatten(), float).reshape(-1, 2)
    watch.require_time("draw a smaller grid")
    faces = PolyCollection(np.split(points, ends), array=np.ma.masked_invalid(values[drawn]), edgecolors="face", linewidths=0.2)
    axes.add_collection(faces)
    axes.autoscale_view()
    if mesh.is_spherical:
        axes.set_aspect("equal")
    axes.figure.colorbar(faces, ax=axes, label=label)
    unit = " [degrees]" if mesh.is_spherical else ""
    axes.set_xlabel(("longitude" if mesh.is_spherical else "x") + unit)
    axes.set_ylabel(("latitude" if mesh.is_spherical else "y") + unit)
    if step > 1:
        axes.text(0.01, 0.99, f"each {step}th of {len(values):,} faces", transform=axes.transAxes, va="top")


def horizontal_coordinates(dataset: Dataset) -> tuple[Dataset, Dataset] | None:
    """Longitude and latitude with the shape of the last two dimensions, which the attribute `coordinates` names (CF 5.2)."""
    if dataset.ndim < 2 or "coordinates" not in dataset.attrs:
        return None
    found: dict[str, Dataset] = {}
    for name in shown(dataset.attrs["coordinates"]).split():
        try:
            one = cast(Group, dataset.parent)[name]
        except (Error, KeyError):
            continue
        if isinstance(one, Dataset) and one.shape == dataset.shape[-2:]:
            unit = shown(one.attrs["units"]) if "units" in one.attrs else ""
            direction = next((way for way, word in (("x", "east"), ("y", "north")) if unit.startswith("degree") and word in unit.lower()), None)
            if direction:
                found[direction] = one
    return (found["x"], found["y"]) if len(found) == 2 else None


def draw_curvilinear(dataset: Dataset, coordinates: tuple[Dataset, Dataset], index: tuple[int, ...], axes: Axes, watch: Watch) -> bool:
    """Draws the last two dimensions over coordinates of two dimensions; returns whether there are any that are not missing. Of more than `MAX_CELLS`, each n-th cell, and the axes say so."""
    steps = [-(-extent // MAX_CELLS) for extent in dataset.shape[-2:]]
    part = tuple(slice(None, None, step) for step in steps)
    values = np.ma.masked_invalid(decoded(dataset, (*index, *part)))
    watch.require_time("draw a smaller dataset")
    x, y = (decoded(one, part) for one in coordinates)
    # Cells with missing coordinates have no place; netCDF fills them with 1e37 if the file names no other value.
    known = (np.abs(x) < _NO_DEGREES) & (np.abs(y) < _NO_DEGREES)
    if not known.any():
        return False
    values = np.ma.masked_where(~known, values)
    x, y = (np.where(known, ends, ends[known].mean()) for ends in (x, y))
    mesh = axes.pcolormesh(x, y, values, shading="nearest")
    axes.figure.colorbar(mesh, ax=axes, label=label_of(dataset, "value"))
    axes.set_xlabel(label_of(coordinates[0], "longitude"))
    axes.set_ylabel(label_of(coordinates[1], "latitude"))
    if max(steps) > 1:
        axes.text(0.01, 0.99, f"each {steps[0]}th row and {steps[1]}th column", transform=axes.transAxes, va="top")
    return True
