"""Writing MPAS: the definition of a Voronoi mesh on a sphere or a plane, for one file or a plan of many writers, and its values by ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, Elements, Option
from ..objects.dataset import Dataset
from ..objects.group import Group
from .element_ranges import Target, checked_range, task_regions, write_range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

#: Names of elements as they are in names of dimensions and of variables.
_NAMES = {"cell": ("nCells", "Cell"), "vertex": ("nVertices", "Vertex"), "edge": ("nEdges", "Edge")}
#: The lists of each kind of elements: the argument of `write`, the variable, and the elements that it leads to.
_LISTS = {
    "cell": (("vertices", "verticesOnCell", "vertex"), ("edges", "edgesOnCell", "edge"), ("cells", "cellsOnCell", "cell")),
    "vertex": (("cells", "cellsOnVertex", "cell"), ("edges", "edgesOnVertex", "edge")),
    "edge": (("vertices", "verticesOnEdge", "vertex"), ("cells", "cellsOnEdge", "cell"), ("edges", "edgesOnEdge", "edge")),
}


@dataclass(frozen=True)
class Definition:
    """A mesh that is being written. `define` makes one; it can be pickled, and is the same for all writers of a plan.

    Attributes:
        counts: The number of cells, vertices and, if they are written, edges, by `cell`, `vertex` and `edge`.
        max_edges: The largest number of vertices of a cell.
        vertex_degree: The number of cells at a vertex.
        radius: Radius of the sphere in meters; `None` for a plane.
        edge_neighbors: Whether the edges around each edge are written.
    """

    counts: Mapping[str, int]
    max_edges: int
    vertex_degree: int
    radius: float | None
    edge_neighbors: bool = False

    def create_data(
        self, target: Group, name: str, location: str = "cell", dtype: DTypeLike = "f8", dims: Sequence[str] = (), levels: str = "", **options: Option
    ) -> Dataset:
        """Defines a variable with data on the cells, vertices or edges.

        Args:
            target: The file or plan that the mesh was defined in.
            name: Name of the variable.
            location: `cell`, `vertex` or `edge`.
            dtype: Type of its values.
            dims: Names of dimensions before the dimension of the elements: `Time`.
            levels: Name of a dimension after it: `nVertLevels`.
            options: Other arguments of `create_variable`.

        Returns:
            The variable.

        Raises:
            InvalidInputError: The mesh has no such elements.

        Example:
            >>> mesh.create_data(file, "theta", dims=["Time"], levels="nVertLevels")
        """
        self._check(location)
        elements, suffix = _NAMES[location]
        all_dims = [*dims, elements, *([levels] if levels else [])]
        options |= task_regions(target, all_dims, elements, f"lon{suffix}", options)
        return target.create_variable(name, all_dims, dtype, **options)

    def write(
        self,
        target: Target,
        location: str,
        part: slice,
        *,
        at: Mapping[str, int | slice] | None = None,
        longitude: ArrayLike | None = None,
        latitude: ArrayLike | None = None,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        vertices: ArrayLike | None = None,
        edges: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        **data: Elements,
    ) -> None:
        """Writes a range of the cells, vertices or edges. Ranges of different tasks must not overlap.

        Args:
            target: A task of the plan, or the file.
            location: `cell`, `vertex` or `edge`.
            part: The range, a slice without a step.
            at: Where along the other dimensions the data are, by name of the dimension: `{"Time": 3}`, or slices without a step.
            longitude, latitude: Their places on a sphere in degrees.
            x, y: Their places on a plane in meters.
            vertices, edges, cells: The elements that they are connected with, counted from 0 and with -1 for none: of cells their vertices, edges and
                neighbors, arrays (elements, max_edges), with -1 for vertices and edges only at the end; of vertices their cells and edges, arrays
                (elements, vertex_degree); of edges their two vertices and two cells, and the other edges of these cells, arrays
                (elements, 2 * max_edges), as `neighbors_of_edges` gives them.
            data: Values of variables by name, over all of their dimensions except those with an index in `at`.

        Raises:
            InvalidInputError: The mesh has no such elements, coordinates are missing or belong to the other kind of mesh, indexes are out of range, a variable
                is not over the elements, or values have another shape.
            UnsupportedError: `target` is a task, and a dimension of the variable is unlimited.

        Example:
            >>> mesh.write(task, "cell", slice(0, 1000), longitude=lon, latitude=lat, vertices=corners, area=area)
            >>> mesh.write(task, "cell", slice(0, 1000), at={"Time": 3}, theta=theta)
        """
        self._check(location)
        start, stop = checked_range(part, self.counts[location])
        given: dict[str, AnyArray] = self._places(_NAMES[location][1], longitude, latitude, x, y)
        for argument, values in (("vertices", vertices), ("edges", edges), ("cells", cells)):
            if values is not None:
                given |= self._lists(location, argument, np.asarray(values), stop - start)
        for values_by_name, selected in ((given, {}), (data, at or {})):
            for variable, values in values_by_name.items():
                write_range(target, variable, _NAMES[location][0], (start, stop), values, selected)

    def _check(self, location: str) -> None:
        if location not in self.counts:
            raise InvalidInputError(f"the mesh has no {location!r}; it has: {', '.join(self.counts)}")

    def _places(self, name: str, longitude: ArrayLike | None, latitude: ArrayLike | None, x: ArrayLike | None, y: ArrayLike | None) -> dict[str, AnyArray]:
        wanted, other = ((longitude, latitude), (x, y)) if self.radius is not None else ((x, y), (longitude, latitude))
        names = ("longitude", "latitude") if self.radius is not None else ("x", "y")
        if any(values is not None for values in other):
            raise InvalidInputError(f"the mesh is on a {'sphere' if self.radius is not None else 'plane'}: give {names[0]} and {names[1]}")
        if all(values is None for values in wanted):
            return {}
        for missing, present, values in ((names[0], names[1], wanted[0]), (names[1], names[0], wanted[1])):
            if values is None:
                raise InvalidInputError(f"{present} without {missing}")
        first, second = (np.asarray(values, "f8") for values in wanted)
        if self.radius is None:
            # MPAS has longitudes and latitudes on planes, too; its own tools write zeros.
            none = np.zeros(len(first))
            return {f"x{name}": first, f"y{name}": second, f"z{name}": none, f"lon{name}": none, f"lat{name}": none}
        lon, lat = np.radians(first), np.radians(second)
        found = {f"lon{name}": lon % (2 * np.pi), f"lat{name}": lat}
        for axis, values in (("x", np.cos(lat) * np.cos(lon)), ("y", np.cos(lat) * np.sin(lon)), ("z", np.sin(lat))):
            found[f"{axis}{name}"] = self.radius * values
        return found

    def _lists(self, location: str, argument: str, indices: AnyArray, count: int) -> dict[str, AnyArray]:
        known = {own: (variable, to) for own, variable, to in _LISTS[location] if to in self.counts and (self.edge_neighbors or variable != "edgesOnEdge")}
        if argument not in known:
            raise InvalidInputError(f"{argument}= is no list of a {location} of this mesh; it has: {', '.join(known)}")
        variable, to = known[argument]
        width = {"cell": self.max_edges, "vertex": self.vertex_degree, "edge": 2 if to != "edge" else 2 * self.max_edges}[location]
        if indices.shape != (count, width):
            raise InvalidInputError(f"{argument} have the shape {indices.shape}, not {(count, width)}")
        if indices.size and (indices.min() < -1 or indices.max() >= self.counts[to]):
            raise InvalidInputError(f"{argument} are {indices.min()} to {indices.max()}, but there are {self.counts[to]}, from 0")
        # MPAS counts from 1.
        found = {variable: indices + 1}
        if (location, to) in (("cell", "vertex"), ("cell", "edge"), ("edge", "edge")) and (indices[:, 1:] >= 0)[indices[:, :-1] < 0].any():
            raise InvalidInputError(f"{argument} are -1 before others: only the end of a list may be empty")
        if location == "edge" and argument == "vertices" and (indices < 0).any():
            raise InvalidInputError("vertices are -1: an edge has two")
        counts = {"verticesOnCell": "nEdgesOnCell", "edgesOnEdge": "nEdgesOnEdge"}.get(variable)
        return found | ({} if counts is None else {counts: (indices >= 0).sum(axis=1)})


def define(
    target: Group,
    *,
    cells: int,
    vertices: int,
    edges: int | None = None,
    neighbors: bool = False,
    edge_neighbors: bool = False,
    max_edges: int = 6,
    vertex_degree: int = 3,
    radius: float | None = 6_371_229.0,
    periods: tuple[float, float] = (0.0, 0.0),
    times: bool = True,
    **options: Option,
) -> Definition:
    """Defines a mesh of MPAS on a sphere or a plane in a new netCDF file or a plan of one. Its values are written by `Definition.write`.

    Args:
        target: A file of `hyperslab.create_netcdf`, or a `hyperslab.NetcdfPlan`, whose tasks write ranges in parallel.
        cells, vertices, edges: Their numbers; without `edges` the file has none.
        neighbors: Define the cells around each cell (`cellsOnCell`), too.
        edge_neighbors: Define the other edges of the two cells of each edge (`edgesOnEdge`), too. The weights of MPAS's dynamics over these
            edges (`weightsOnEdge`) belong to its numerical scheme, not to the mesh: a code that has them writes them with `create_variable` along
            `nEdges` and `maxEdges2`.
        max_edges: The largest number of vertices of a cell.
        vertex_degree: The number of cells at a vertex: 3, or 4 for meshes of quadrilaterals.
        radius: Radius of the sphere in meters; `None` for a plane.
        periods: Of a plane after which distance in meters it repeats along x and y; 0 for a border.
        times: Define the unlimited dimension `Time`, unless the target has it.
        options: Storage of all variables: `compression`, `chunks`, … of `create_variable`.

    Returns:
        The definition, for `create_data` and `write`.

    Raises:
        InvalidInputError: Numbers are out of range, or a sphere has periods.

    Example:
        >>> mesh = hs.models.mpas.define(plan, cells=2562, vertices=5120, edges=7680)
    """
    is_sphere = radius is not None
    if (
        cells < 1
        or vertices < 1
        or (edges is not None and edges < 1)
        or max_edges < 3
        or vertex_degree not in (3, 4)
        or (radius is not None and not radius > 0)
    ):
        numbers = f"{cells} cells of up to {max_edges} edges, {vertices} vertices of degree {vertex_degree} and {edges} edges"
        raise InvalidInputError(f"a mesh of {numbers} with radius {radius}")
    if edge_neighbors and edges is None:
        raise InvalidInputError("edge_neighbors= of a mesh without edges: give edges=")
    if min(periods) < 0 or (is_sphere and any(periods)):
        raise InvalidInputError(f"periods={periods}: a sphere has none" if is_sphere else f"periods={periods} are negative")
    counts = {"cell": cells, "vertex": vertices} | ({} if edges is None else {"edge": edges})
    if times:
        target.create_dimension("Time", None)
    dimensions = {_NAMES[location][0]: count for location, count in counts.items()}
    dimensions |= {"maxEdges": max_edges, "vertexDegree": vertex_degree} | ({} if edges is None else {"TWO": 2})
    if edge_neighbors:
        dimensions["maxEdges2"] = 2 * max_edges
    for name, size in dimensions.items():
        target.create_dimension(name, size)
    index = "i4" if max(counts.values()) < 2**31 - 1 else "i8"
    target.create_variable("nEdgesOnCell", ["nCells"], "i4", **options)
    if edge_neighbors:
        target.create_variable("nEdgesOnEdge", ["nEdges"], "i4", **options)
    wanted = {"cellsOnCell": neighbors, "edgesOnEdge": edge_neighbors}
    for location, width in (("cell", "maxEdges"), ("vertex", "vertexDegree"), ("edge", "TWO")):
        for _, variable, to in _LISTS[location] if location in counts else ():
            if to in counts and wanted.get(variable, True):
                target.create_variable(variable, [_NAMES[location][0], "maxEdges2" if variable == "edgesOnEdge" else width], index, **options)
    for location in counts:
        dimension, name = _NAMES[location]
        for axis in ("lon", "lat"):
            target.create_variable(f"{axis}{name}", [dimension], "f8", attrs={"units": "rad"}, **options)
        for axis in ("x", "y", "z"):
            target.create_variable(f"{axis}{name}", [dimension], "f8", attrs={"units": "m"}, **options)
    yes = {True: "YES", False: "NO"}
    for attribute, value in (
        ("Conventions", "MPAS"),
        ("on_a_sphere", yes[is_sphere]),
        ("is_periodic", yes[any(periods)]),
        ("sphere_radius", float(radius or 0)),
    ):
        target.attrs[attribute] = value
    if not is_sphere:
        target.attrs["x_period"], target.attrs["y_period"] = map(float, periods)
    return Definition(counts, max_edges, vertex_degree, None if radius is None else float(radius), edge_neighbors)


def neighbors_of_edges(edges_of_cells: ArrayLike, cells_of_edges: ArrayLike, part: slice = slice(None)) -> AnyArray:
    """The other edges of the two cells at each edge: MPAS's `edgesOnEdge`.

    Those of the first cell come first. They follow each other counterclockwise around the cell as `edges_of_cells` do, and begin after the edge itself.

    Args:
        edges_of_cells: The edges of each cell counterclockwise, an array (cells, max_edges), counted from 0 and with -1 at the end.
        cells_of_edges: The two cells of each edge, an array (edges, 2), with -1 for none.
        part: A range of the edges, a slice without a step; by default all.

    Returns:
        An array (edges of the range, 2 * max_edges) of edges, with -1 at the end, for `Definition.write`.

    Raises:
        InvalidInputError: A cell of an edge does not have this edge, or a cell is out of range.

    Example:
        >>> mesh.write(task, "edge", part, edges=hs.models.mpas.neighbors_of_edges(edges_of_cells, cells_of_edges, part))
    """
    around, owners = np.asarray(edges_of_cells, "i8"), np.asarray(cells_of_edges, "i8")
    if around.ndim != 2 or owners.ndim != 2 or owners.shape[1] != 2:
        raise InvalidInputError(f"edges of cells of shape {around.shape}, cells of edges of shape {owners.shape}: give (cells, max_edges) and (edges, 2)")
    numbers = np.arange(*checked_range(part, len(owners)))
    sides = [_after(around, owners[numbers, side], numbers) for side in (0, 1)]
    both = np.concatenate(sides, axis=1)
    # The edges of both cells without the gap between them.
    return np.take_along_axis(both, np.argsort(both < 0, axis=1, kind="stable"), axis=1)


def _after(around: AnyArray, cells: AnyArray, edges: AnyArray) -> AnyArray:
    """The edges of each cell that come after the edge, around the cell, with -1 at the end and for no cell."""
    width, has_cell = around.shape[1], cells >= 0
    if len(cells) and (cells.min() < -1 or cells.max() >= len(around)):
        raise InvalidInputError(f"cells are {cells.min()} to {cells.max()}, but there are {len(around)}, from 0")
    own = around[cells]
    is_here = own == edges[:, None]
    if not (is_here.any(axis=1) | ~has_cell).all():
        wrong = int(np.flatnonzero(has_cell & ~is_here.any(axis=1))[0])
        raise InvalidInputError(f"cell {cells[wrong]} of edge {edges[wrong]} does not have this edge")
    count, step = (own >= 0).sum(axis=1), np.arange(width)
    place = (is_here.argmax(axis=1)[:, None] + 1 + step) % np.maximum(count, 1)[:, None]
    found: AnyArray = np.where((step < count[:, None] - 1) & has_cell[:, None], np.take_along_axis(own, place, axis=1), -1)
    return found
