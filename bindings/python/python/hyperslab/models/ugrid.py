"""UGRID 1.0: unstructured grids in netCDF, and data on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import CorruptError, Error, InvalidInputError, NotFoundError
from ..base.type_aliases import AttributeValue, FileOptions, Paths
from ..files.file import File
from ..files.file import open as open_files
from ..files.model_view import ModelView, Problem, required
from ..objects.decoding import decoding_of
from .grid_mesh import Mesh, Names
from .grid_topology import lists_of
from .ugrid_writing import Definition, define

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

__all__ = ["Definition", "Ugrid", "define", "open"]


class Ugrid(ModelView):
    """A file of unstructured grids. `hyperslab.models.ugrid.open` makes one."""

    @property
    def meshes(self) -> list[str]:
        """The names of the meshes: of the variables whose `cf_role` is `mesh_topology`."""
        return [name for name in self.file if self._is_mesh(name)]

    def _is_mesh(self, name: str) -> bool:
        try:
            member = self.file[name]
            return hasattr(member, "shape") and _text(member.attrs.get("cf_role")) == "mesh_topology"
        except Error:  # a damaged member does not hide the meshes: `validate` and `omitted` name it
            return False

    def mesh(self, name: str | None = None) -> Mesh:
        """One of the meshes.

        Args:
            name: Name of the mesh; may be left out if there is one.

        Returns:
            The mesh: coordinates, connectivity, polygons and selection.

        Raises:
            NotFoundError: There is no such mesh.
            InvalidInputError: There are several meshes, and no name.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().polygons()
        """
        meshes = self.meshes
        if name is None:
            if len(meshes) != 1:
                raise InvalidInputError(f"there are the meshes {', '.join(meshes)}: give the name of one")
            name = meshes[0]
        if name not in meshes:
            raise NotFoundError(f"there is no mesh {name!r}; there are: {', '.join(meshes)}", self.file.filename)
        suffix = f"_{name}" if len(meshes) > 1 else ""
        lists = {"face_nodes": "nodes", "face_edges": "edges", "face_faces": "neighbors", "edge_nodes": "nodes", "edge_faces": "faces"}
        return Mesh(self, name, Names({of: of + suffix for of in ("faces", "nodes", "edges")}, {"faces": "face", "nodes": "node", "edges": "edge"}, lists))

    def validate(self) -> list[Problem]:
        """Finds what contradicts UGRID. Reads the connectivity and the coordinates of nodes, not the data.

        Returns:
            Each problem with the path of its object: attributes and dimensions that contradict each other, indexes out of
            range or counted from another number than `start_index`, faces with fewer than three or with repeated nodes,
            nodes without coordinates.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").validate()
            []
        """
        problems = ModelView.validate(self)
        for mesh in self.meshes:
            about = self.file[mesh].attrs
            for attribute, names in [(key, _text(about[key])) for key in about]:
                if attribute.endswith("_connectivity") and not attribute.startswith(("volume", "boundary")):
                    problems += self._checked(names.strip())
        known = {problem.object for problem in problems}
        for of in [table for table in self.tables if table.startswith(("faces", "edges"))]:
            problems += [problem for problem in self._read(of) if problem.object not in known]
        return problems

    def _checked(self, name: str) -> list[Problem]:
        """Whether indexes count from another number than their attribute says."""
        variable = self.file.get(name)
        if variable is None or not hasattr(variable, "shape"):
            return []
        try:
            start = int(np.ravel(variable.attrs.get("start_index", 0))[0])
        except (TypeError, ValueError):
            return []
        values = np.asarray(variable[...]).ravel()
        decoding = decoding_of(variable)
        missing = [*(decoding.missing if decoding is not None else ()), *np.ravel(variable.attrs.get("flag_values", ())).tolist()]
        values = values[~np.isin(values, missing)] if missing else values
        if not values.size or values.dtype.kind not in "iuf":
            return []
        least = values.min()
        if start == 0 and least >= 1 and "start_index" not in variable.attrs:
            return [Problem(variable.name, f"its least index is {least}, and it has no attribute start_index: do its indexes count from 1?")]
        return [Problem(variable.name, f"its least index is {least}, but its start_index is {start}")] if least < start else []

    def _read(self, table: str) -> list[Problem]:
        """What reading the lists of a table finds."""
        problems = []
        try:
            schema = self.table(table, omitted="ignore").schema
            for name in [name for name in ("nodes", "edges", "neighbors", "faces") if name in schema.names]:
                read = self.table(table, columns=[name], omitted="ignore").to_arrow()
                if name == "nodes" and table.startswith("faces"):
                    problems += self._faces(table, lists_of(read[name]))
        except CorruptError as error:
            problems.append(Problem(error.object or table, error.message))
        except InvalidInputError as error:
            problems.append(Problem(error.object or table, error.message))
        return problems

    def _faces(self, table: str, nodes: pa.ListArray) -> list[Problem]:
        problems = []
        few = np.flatnonzero(nodes.lengths < 3)
        if len(few):
            problems.append(Problem(table, f"{len(few)} faces have fewer than three nodes, the first is {few[0]}"))
        order = np.lexsort((nodes.values, nodes.owners))
        owners, values = nodes.owners[order], nodes.values[order]
        twice = np.flatnonzero((np.diff(owners) == 0) & (np.diff(values) == 0))
        if len(twice):
            problems.append(Problem(table, f"{len(np.unique(owners[twice]))} faces have a node twice, the first is {owners[twice[0]]}"))
        return problems


def _text(value: AttributeValue) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)


def open(file: File | Paths, **options: Unpack[FileOptions]) -> Ugrid:
    """Opens a file of UGRID.

    Args:
        file: A path or an open file.
        options: Other arguments of `hyperslab.open`.

    Returns:
        The view of the file.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: It has no mesh.

    Example:
        >>> hs.models.ugrid.open("mesh.nc").mesh().table("faces").to_pandas()
    """
    opened = file if isinstance(file, File) else open_files(file, **options)
    view = required(opened, "ugrid")
    return Ugrid(opened, view.name, view.certainty, view.reason)
