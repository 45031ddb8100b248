"""Writing MPAS: the definition of a Voronoi mesh on a sphere, for one file or a plan of many writers, and its values by ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInputError
from ..type_aliases import AnyArray

#: Names of elements as they are in names of dimensions and of variables.
_NAMES = {"cell": ("nCells", "Cell"), "vertex": ("nVertices", "Vertex")}


@dataclass(frozen=True)
class Definition:
    """A mesh that is being written. `define` makes one; it can be pickled, and is the same for all writers of a plan.

    Attributes:
        counts: The number of cells and vertices, by `cell` and `vertex`.
        max_edges: The largest number of vertices of a cell.
        vertex_degree: The number of cells at a vertex.
        radius: Radius of the sphere in meters.
    """

    counts: Mapping[str, int]
    max_edges: int
    vertex_degree: int
    radius: float

    def create_data(self, target: Any, name: str, location: str = "cell", dtype: Any = "f8", dims: Sequence[str] = (), levels: str = "", **options: Any) -> Any:
        """Defines a variable with data on the cells or vertices.

        Args:
            target: The file or plan that the mesh was defined in.
            name: Name of the variable.
            location: `cell` or `vertex`.
            dtype: Type of its values.
            dims: Names of dimensions before that of the elements: `Time`.
            levels: Name of a dimension after it: `nVertLevels`.
            options: Other arguments of `create_variable`.

        Returns:
            The variable.

        Raises:
            InvalidInputError: The mesh has no such elements.

        Example:
            >>> mesh.create_data(file, "theta", dims=["Time"], levels="nVertLevels")
        """
        return target.create_variable(name, [*dims, _of(location)[0], *([levels] if levels else [])], dtype, **options)

    def write(self, target: Any, location: str, part: slice, *, longitude: Any = None, latitude: Any = None, neighbors: Any = None, **data: Any) -> None:
        """Writes a range of the cells or vertices. Ranges of different tasks must not overlap.

        Args:
            target: A task of the plan, or the file.
            location: `cell` or `vertex`.
            part: The range, a slice without a step.
            longitude, latitude: Their places in degrees.
            neighbors: Of cells their vertices in order, of vertices their cells, from 0: an array (cells, max_edges) or
                (vertices, vertex_degree), with -1 for none; for a cell only at the end.
            data: Values of variables over the elements alone, by name.

        Raises:
            InvalidInputError: The mesh has no such elements, only one coordinate is given, or the neighbors are out of range.

        Example:
            >>> mesh.write(task, "cell", slice(0, 1000), longitude=lon, latitude=lat, neighbors=corners, area=area)
        """
        name = _of(location)[1]
        start, stop, step = part.indices(self.counts[location])
        if step != 1:
            raise InvalidInputError(f"a range with a step of {step}")
        given: dict[str, Any] = dict(data)
        if (longitude is None) != (latitude is None):
            raise InvalidInputError("longitude without latitude, or latitude without longitude")
        if longitude is not None:
            x, y = np.radians(np.asarray(longitude, "f8")), np.radians(np.asarray(latitude, "f8"))
            given |= {f"lon{name}": x % (2 * np.pi), f"lat{name}": y}
            for axis, values in (("x", np.cos(y) * np.cos(x)), ("y", np.cos(y) * np.sin(x)), ("z", np.sin(y))):
                given[f"{axis}{name}"] = self.radius * values
        if neighbors is not None:
            given |= self._neighbors(location, np.asarray(neighbors), stop - start)
        for variable, values in given.items():
            (target.variable(variable) if hasattr(target, "variable") else target.variables[variable])[start:stop] = values

    def _neighbors(self, location: str, indices: AnyArray, count: int) -> dict[str, AnyArray]:
        width, others = (self.max_edges, "vertex") if location == "cell" else (self.vertex_degree, "cell")
        if indices.shape != (count, width):
            raise InvalidInputError(f"neighbors have the shape {indices.shape}, not {(count, width)}")
        if indices.size and (indices.min() < -1 or indices.max() >= self.counts[others]):
            raise InvalidInputError(f"neighbors are {indices.min()} to {indices.max()}, but there are {self.counts[others]}, from 0")
        if location == "vertex":
            return {"cellsOnVertex": indices + 1}
        if (indices[:, 1:] >= 0)[indices[:, :-1] < 0].any():
            raise InvalidInputError("neighbors are -1 before others: only the end of a cell's list may be empty")
        # MPAS counts from 1.
        return {"nEdgesOnCell": (indices >= 0).sum(axis=1), "verticesOnCell": indices + 1}


def _of(location: str) -> tuple[str, str]:
    if location not in _NAMES:
        raise InvalidInputError(f"the mesh has no {location!r}; it has: {', '.join(_NAMES)}")
    return _NAMES[location]


def define(
    target: Any, *, cells: int, vertices: int, max_edges: int = 6, vertex_degree: int = 3, radius: float = 6_371_229.0, times: bool = True, **options: Any
) -> Definition:
    """Defines a mesh of MPAS on a sphere in a new netCDF file or a plan of one. Its values are written by `Definition.write`.

    Args:
        target: A file of `hyperslab.create_netcdf`, or a `hyperslab.NetcdfPlan`, whose tasks write ranges in parallel.
        cells, vertices: Their numbers.
        max_edges: The largest number of vertices of a cell.
        vertex_degree: The number of cells at a vertex: 3, or 4 for meshes of quadrilaterals.
        radius: Radius of the sphere in meters.
        times: Define the unlimited dimension `Time`, unless the target has it.
        options: Storage of all variables: `compression`, `chunks`, … of `create_variable`.

    Returns:
        The definition, for `create_data` and `write`.

    Raises:
        InvalidInputError: Numbers are out of range.

    Example:
        >>> mesh = hs.models.mpas.define(plan, cells=2562, vertices=5120)
    """
    if cells < 1 or vertices < 1 or max_edges < 3 or vertex_degree not in (3, 4) or not radius > 0:
        raise InvalidInputError(f"a mesh of {cells} cells of up to {max_edges} edges and {vertices} vertices of degree {vertex_degree} with radius {radius}")
    dimensions: dict[str, int | None] = {"nCells": cells, "nVertices": vertices, "maxEdges": max_edges, "vertexDegree": vertex_degree}
    for name, size in (({"Time": None} if times else {}) | dimensions).items():
        target.create_dimension(name, size)
    index = "i4" if max(cells, vertices) < 2**31 - 1 else "i8"
    target.create_variable("nEdgesOnCell", ["nCells"], "i4", **options)
    target.create_variable("verticesOnCell", ["nCells", "maxEdges"], index, **options)
    target.create_variable("cellsOnVertex", ["nVertices", "vertexDegree"], index, **options)
    for dimension, name in _NAMES.values():
        for axis in ("lon", "lat"):
            target.create_variable(f"{axis}{name}", [dimension], "f8", attrs={"units": "rad"}, **options)
        for axis in ("x", "y", "z"):
            target.create_variable(f"{axis}{name}", [dimension], "f8", attrs={"units": "m"}, **options)
    for attribute, value in (("Conventions", "MPAS"), ("on_a_sphere", "YES"), ("is_periodic", "NO"), ("sphere_radius", float(radius))):
        target.attrs[attribute] = value
    return Definition({"cell": cells, "vertex": vertices}, max_edges, vertex_degree, float(radius))
