"""Polygons as tables: which a file of unstructured grids has, by the names that SQL gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..files.file import File
from ..files.model_view import ModelView
from .grid_mesh import Mesh
from .mpas import Mpas
from .ugrid import Ugrid

#: Name of the table of the polygons of the only mesh; the name of one of several meshes follows it.
POLYGONS = "polygons"


def polygon_tables(file: File, models: Sequence[ModelView]) -> dict[str, Callable[[], Mesh]]:
    """The tables of polygons of an open file, each with a function that makes its mesh.

    Args:
        file: An open file.
        models: The models that recognize it, `file.models`.

    Returns:
        Meshes by the names of the tables; none for a file without meshes of faces, and for several files.

    Example:
        >>> polygon_tables(f, f.models)["polygons"]().polygons()
    """
    found: dict[str, Callable[[], Mesh]] = {}
    if len(file.files) > 1:
        return found
    for model in models:
        if model.name == "mpas" and {"cells", "vertices"} <= set(model.tables):
            found[POLYGONS] = Mpas(file, model.name, model.certainty, model.reason).mesh
        if model.name == "ugrid":
            view = Ugrid(file, model.name, model.certainty, model.reason)
            tables, meshes = view.tables, view.meshes
            for mesh in meshes:
                suffix = f"_{mesh}" if len(meshes) > 1 else ""
                if f"faces{suffix}" in tables:
                    found[POLYGONS + suffix] = partial(view.mesh, mesh)
    return found
