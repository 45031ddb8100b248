"""Writing UGRID 1.0: the definition of a mesh, for one file or a plan of many writers, and its values by ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InvalidInputError
from ..base.type_aliases import AnyArray, AttributeValue, Elements, Option
from ..objects.dataset import Dataset
from ..objects.group import Group
from .element_ranges import Target, checked_range, task_regions, write_range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

#: Stands for no node in a face with fewer nodes than others.
_NONE = -1


@dataclass(frozen=True)
class Definition:
    """A mesh that is being written. `define` makes one; it can be pickled, and is the same for all writers of a plan.

    Attributes:
        name: Name of the mesh.
        counts: The number of nodes, faces and edges, by `node`, `face` and `edge`.
        max_face_nodes: The largest number of nodes of a face.
        start_index: The number of the first node in the file.
    """

    name: str
    counts: Mapping[str, int]
    max_face_nodes: int
    start_index: int

    def dimension(self, location: str) -> str:
        """Name of the dimension of the nodes, faces or edges.

        Args:
            location: `node`, `face` or `edge`.

        Returns:
            The name.

        Raises:
            InvalidInputError: The mesh has no such elements.

        Example:
            >>> mesh.dimension("face")
            'mesh_nfaces'
        """
        if location not in self.counts:
            raise InvalidInputError(f"the mesh {self.name} has no {location!r}; it has: {', '.join(self.counts)}")
        return f"{self.name}_n{location}s"

    def create_data(self, target: Group, name: str, location: str, dtype: DTypeLike = "f8", dims: Sequence[str] = (), **options: Option) -> Dataset:
        """Defines a variable with data on the nodes, faces or edges.

        Args:
            target: The file or plan that the mesh was defined in.
            name: Name of the variable.
            location: `node`, `face` or `edge`.
            dtype: Type of its values.
            dims: Names of dimensions before the dimension of the elements, such as time.
            options: Other arguments of `create_variable`.

        Returns:
            The variable.

        Raises:
            InvalidInputError: The mesh has no such elements.

        Example:
            >>> mesh.create_data(plan, "wave", "face", "f4", compression="zstd")
        """
        all_dims = [*dims, self.dimension(location)]
        like = f"{self.name}_{location}_{'x' if location == 'node' else 'nodes'}"
        options |= task_regions(target, all_dims, all_dims[-1], like, options)
        made = target.create_variable(name, all_dims, dtype, **options)
        made.attrs["mesh"], made.attrs["location"] = self.name, location
        if f"{self.name}_{location}_x" in target.variables:
            made.attrs["coordinates"] = f"{self.name}_{location}_x {self.name}_{location}_y"
        return made

    def write(
        self,
        target: Target,
        location: str,
        part: slice,
        *,
        at: Mapping[str, int | slice] | None = None,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        **data: Elements,
    ) -> None:
        """Writes a range of the nodes, faces or edges. Ranges of different tasks must not overlap.

        Args:
            target: A task of the plan, or the file.
            location: `node`, `face` or `edge`.
            part: The range, a slice without a step.
            at: Where along the other dimensions the data are, by name of the dimension: `{"time": 3}`, or slices without a step.
            x, y: Their coordinates.
            nodes: The nodes of faces or edges, from 0: an array (faces, max_face_nodes), with -1 for none at the end.
            data: Values of variables by name, over all of their dimensions except those with an index in `at`.

        Raises:
            InvalidInputError: The mesh has no such elements, a variable is not over them, values have another shape, or the nodes are out of range.
            UnsupportedError: `target` is a task, and a dimension of the variable is unlimited.

        Example:
            >>> mesh.write(task, "face", slice(0, 1000), nodes=corners, wave=field)
            >>> mesh.write(task, "face", slice(0, 1000), at={"time": 3}, height=heights)
        """
        elements = self.dimension(location)
        start, stop = checked_range(part, self.counts[location])
        given = {f"{self.name}_{location}_x": x, f"{self.name}_{location}_y": y}
        if nodes is not None:
            given[f"{self.name}_{location}_nodes"] = self._indexes(location, np.asarray(nodes), stop - start)
        for values_by_name, selected in ((given, {}), (data, at or {})):
            for name, values in values_by_name.items():
                if values is not None:
                    write_range(target, name, elements, (start, stop), values, selected)

    def _indexes(self, location: str, nodes: AnyArray, count: int) -> AnyArray:
        width = self.max_face_nodes if location == "face" else 2
        if nodes.shape != (count, width):
            raise InvalidInputError(f"nodes have the shape {nodes.shape}, not {(count, width)}")
        if nodes.size and (nodes.min() < _NONE or nodes.max() >= self.counts["node"]):
            raise InvalidInputError(f"nodes are {nodes.min()} to {nodes.max()}, but there are {self.counts['node']} nodes, from 0")
        if (nodes[:, 1:] >= 0)[nodes[:, :-1] < 0].any() or (location == "edge" and (nodes < 0).any()):
            raise InvalidInputError("nodes are -1 before others: only the end of a face's list may be empty")
        return np.where(nodes < 0, _NONE, nodes + self.start_index)


def define(
    target: Group,
    name: str = "mesh",
    *,
    nodes: int,
    faces: int = 0,
    edges: int = 0,
    max_face_nodes: int = 4,
    start_index: int = 0,
    degrees: bool = True,
    face_coordinates: bool = False,
    edge_coordinates: bool = False,
    **options: Option,
) -> Definition:
    """Defines a mesh of UGRID 1.0 in a new netCDF file or a plan of one. Its values are written by `Definition.write`.

    Args:
        target: A file of `hyperslab.create_netcdf`, or a `hyperslab.NetcdfPlan`, whose tasks write ranges in parallel.
        name: Name of the mesh, with which the names of its dimensions and variables begin.
        nodes, faces, edges: Their numbers. A mesh without faces is a network of edges.
        max_face_nodes: The largest number of nodes of a face.
        start_index: The number of the first node in the file: 0 or 1.
        degrees: Whether x and y are longitudes and latitudes in degrees; else metres.
        face_coordinates, edge_coordinates: Whether faces and edges have coordinates of their own.
        options: Storage of all variables: `compression`, `chunks`, … of `create_variable`.

    Returns:
        The definition, for `create_data` and `write`.

    Raises:
        InvalidInputError: There are neither faces nor edges, or numbers are out of range.

    Example:
        >>> mesh = hs.models.ugrid.define(plan, nodes=98, faces=96, max_face_nodes=4)
    """
    if nodes < 1 or (faces < 1 and edges < 1) or start_index not in (0, 1) or (faces and max_face_nodes < 3):
        raise InvalidInputError(f"a mesh of {nodes} nodes, {faces} faces of up to {max_face_nodes} nodes and {edges} edges that counts from {start_index}")
    counts = {location: count for location, count in (("node", nodes), ("face", faces), ("edge", edges)) if count}
    made = Definition(name, counts, max_face_nodes, start_index)
    for location, count in counts.items():
        target.create_dimension(made.dimension(location), count)
    x, y = ({"standard_name": "longitude", "units": "degrees_east"}, {"standard_name": "latitude", "units": "degrees_north"}) if degrees else (
        {"standard_name": "projection_x_coordinate", "units": "m"}, {"standard_name": "projection_y_coordinate", "units": "m"}
    )  # fmt: skip
    about: dict[str, AttributeValue] = {
        "cf_role": "mesh_topology",
        "topology_dimension": np.int32(2 if faces else 1),
        "node_coordinates": f"{name}_node_x {name}_node_y",
    }
    for location, has in (("node", True), ("face", bool(faces) and face_coordinates), ("edge", bool(edges) and edge_coordinates)):
        if has:
            about[f"{location}_coordinates"] = f"{name}_{location}_x {name}_{location}_y"
            target.create_variable(f"{name}_{location}_x", [made.dimension(location)], "f8", attrs=x, **options)
            target.create_variable(f"{name}_{location}_y", [made.dimension(location)], "f8", attrs=y, **options)
    dtype = "i4" if nodes < 2**31 - 1 else "i8"
    for location, width in (("face", max_face_nodes), ("edge", 2)):
        if location in counts:
            own = f"{name}_{location}_nodes"
            target.create_dimension(f"{name}_max_{location}_nodes", width)
            about[f"{location}_node_connectivity"], about[f"{location}_dimension"] = own, made.dimension(location)
            target.create_variable(
                own,
                [made.dimension(location), f"{name}_max_{location}_nodes"],
                dtype,
                fill_value=_NONE,
                attrs={"cf_role": f"{location}_node_connectivity", "start_index": np.dtype(dtype).type(start_index)},
                **options,
            )
    target.create_variable(name, [], "i4", data=np.int32(0), attrs=about)
    target.attrs["Conventions"] = "CF-1.11 UGRID-1.0"
    return made
