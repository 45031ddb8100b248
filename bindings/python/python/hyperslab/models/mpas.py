"""MPAS: Voronoi meshes of the Model for Prediction Across Scales, and data on them. Meshes are written by `define`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import NotFoundError
from ..base.type_aliases import FileOptions, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, required
from .grid_mesh import Mesh, Names
from .mpas_writing import Definition, define, neighbors_of_edges

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Definition", "Mpas", "define", "neighbors_of_edges", "open"]


class Mpas(ModelView):
    """A file of MPAS. `hyperslab.models.mpas.open` makes one."""

    def mesh(self) -> Mesh:
        """The mesh: its faces are the cells, its nodes the vertices.

        Returns:
            Coordinates, connectivity, polygons and selection. Longitudes and latitudes are degrees, if the mesh is on a
            sphere (attribute `on_a_sphere`), else x and y of the plane.

        Raises:
            NotFoundError: The file has data, but no mesh.

        Example:
            >>> hs.models.mpas.open("mpas.nc").mesh().polygons(columns=["area"])
        """
        if not {"cells", "vertices"} <= set(self.tables) or "vertices" not in self.table("cells", omitted="ignore").schema.names:
            raise NotFoundError("the file has no mesh: it is in another file of the same run", self.file.filename)
        lists = {"face_nodes": "vertices", "face_edges": "edges", "face_faces": "neighbors", "edge_nodes": "vertices", "edge_faces": "cells"}
        on_a_sphere = self.file.attrs.get("on_a_sphere", "YES")
        text = on_a_sphere.decode(errors="replace") if isinstance(on_a_sphere, bytes) else str(on_a_sphere)
        x, y = ("lon", "lat") if text.strip().upper() == "YES" else ("x", "y")
        tables, indexes = {"faces": "cells", "nodes": "vertices", "edges": "edges"}, {"faces": "cell", "nodes": "vertex", "edges": "edge"}
        return Mesh(self, "mpas", Names(tables, indexes, lists, x, y))


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Mpas:
    """Opens a file of MPAS.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It is not a file of MPAS.

    Example:
        >>> hs.models.mpas.open("mpas.nc").table("cells_Time", "cell < 10").to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "mpas")
    return Mpas(opened, view.name, view.certainty, view.reason)
