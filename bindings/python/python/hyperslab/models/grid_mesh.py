"""Mesh: the nodes, edges and faces of an unstructured grid, their coordinates, how they are connected, and polygons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from ..base.errors import CorruptError, InvalidInputError, NotFoundError
from ..base.extras import require
from ..base.type_aliases import AnyArray, Condition, ScanOptions
from ..files.model_view import ModelView
from ..tables.table import Table
from . import grid_polygons, grid_topology
from .grid_topology import lists_of

if TYPE_CHECKING:
    import shapely
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

#: The least and the greatest x, and the least and the greatest y, as shapely orders them: x, y, x, y.
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Names:
    """What a model calls the tables, indexes, lists and coordinates of a mesh."""

    tables: dict[str, str]
    indexes: dict[str, str]
    lists: dict[str, str]
    x: str = "x"
    y: str = "y"


class Coordinates(NamedTuple):
    """The coordinates of nodes, edges or faces."""

    x: AnyArray
    y: AnyArray


class Mesh:
    """A mesh of a file, from `mesh()` of a file of UGRID or MPAS. Nodes, edges and faces count from 0.

    Attributes:
        name: Name of the mesh.
        is_spherical: Whether x and y are longitudes and latitudes in degrees.
    """

    def __init__(self, view: ModelView, name: str, names: Names) -> None:
        self._view, self.name, self._names = view, name, names
        nodes = view.table(names.tables["nodes"], omitted="ignore").schema
        if names.x not in nodes.names or names.y not in nodes.names:
            raise NotFoundError(f"the nodes of {name} have no coordinates {names.x} and {names.y}", view.file.filename)
        about = nodes.field(names.x).metadata or {}
        self.is_spherical = b"degree" in about.get(b"units", b"") or about.get(b"standard_name") == b"longitude"
        self._kept: dict[str, Coordinates | pa.ListArray] = {}

    def __repr__(self) -> str:
        return f"<mesh {self.name}, {'degrees' if self.is_spherical else 'plane'}: {self.count('faces')} faces, {self.count('nodes')} nodes>"

    def count(self, of: str = "faces") -> int:
        """The number of faces, nodes or edges.

        Args:
            of: `faces`, `nodes` or `edges`.

        Returns:
            Their number; 0 if the file has no table of them.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().count("nodes")
            98
        """
        table = self._name(of)
        return self._view.table(table, omitted="ignore").count() if table in self._view.tables else 0

    def table(self, of: str = "faces", where: Condition | None = None, columns: Sequence[str] | None = None, **options: Unpack[ScanOptions]) -> Table:
        """Plans a scan of the faces, nodes or edges: indexes, coordinates, lists of connected elements, and data.

        Args:
            of: `faces`, `nodes` or `edges`.
            where: A condition on the columns.
            columns: Names of the columns; by default all.
            options: Other arguments of `File.table`.

        Returns:
            A planned scan; nothing but metadata has been read.

        Raises:
            NotFoundError: The file has no such table or column.
            CorruptError: The file contradicts the model.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().table("faces", "x > 100").to_pandas()
        """
        return self._view.table(self._name(of), where, columns=columns, **options)

    def index_of(self, of: str = "faces") -> str:
        """The column with the index of faces, nodes or edges: `face` in UGRID, `cell` in MPAS.

        Args:
            of: `faces`, `nodes` or `edges`.

        Returns:
            The name of the column.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().index_of("faces")
            'face'
        """
        self._name(of)
        return self._names.indexes[of]

    def _name(self, of: str) -> str:
        if of not in self._names.tables:
            raise InvalidInputError(f"of={of!r}: there are faces, nodes and edges")
        return self._names.tables[of]

    def _column(self, of: str, *names: str) -> pa.Table:
        return self.table(of, columns=list(names), omitted="ignore").to_arrow()

    def coordinates(self, of: str = "nodes") -> Coordinates:
        """Reads the coordinates of nodes, edges or faces. Faces and edges without coordinates get the coordinates of their middle.

        Args:
            of: `faces`, `nodes` or `edges`.

        Returns:
            Two arrays: x and y, degrees on a sphere.

        Example:
            >>> x, y = hs.models.ugrid.open("mesh.nc").mesh().coordinates("faces")
        """
        if of not in self._kept:
            self._kept[of] = self._coordinates(of)
        found: Coordinates = self._kept[of]
        return found

    def _coordinates(self, of: str) -> Coordinates:
        x, y, table = self._names.x, self._names.y, self._name(of)
        has_table = table in self._view.tables
        if has_table and {x, y} <= set(self._view.table(table, omitted="ignore").schema.names):
            read = self._column(of, x, y)
            for name in (x, y):
                kind = read[name].type
                if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                    raise CorruptError(f"the coordinate {name} of the {of} is {kind}, not numbers", self._view.file.filename, f"/{self.name}")
            return Coordinates(*(read[name].to_numpy() for name in (x, y)))
        if of == "nodes":
            raise NotFoundError(f"the nodes of {self.name} have no coordinates", self._view.file.filename)
        nodes = lists_of(self.connectivity("face_nodes" if of == "faces" else "edge_nodes"))
        node_x, node_y = self.coordinates("nodes")
        lengths, owners = np.maximum(nodes.lengths, 1), nodes.owners

        def mean(values: AnyArray) -> AnyArray:
            return np.bincount(owners, values[nodes.values], minlength=len(lengths)) / lengths

        if not self.is_spherical:
            return Coordinates(mean(node_x), mean(node_y))
        longitude, latitude = np.radians(node_x), np.radians(node_y)
        east, north, up = (mean(part) for part in (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)))
        return Coordinates(np.degrees(np.arctan2(north, east)), np.degrees(np.arctan2(up, np.hypot(east, north))))

    def connectivity(self, name: str) -> pa.ListArray:
        """Lists of connected elements: read from the file, or computed from the nodes of the faces if the file lacks them.

        Args:
            name: `face_nodes`, `face_edges`, `face_faces` (neighbors), `edge_nodes` or `edge_faces`.

        Returns:
            A list of indexes for each face or edge. If the file has no edges, they are numbered in the order of their nodes.

        Raises:
            CorruptError: An index is out of range, or an edge has more than two faces.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().connectivity("face_faces")[0]
        """
        if name not in self._names.lists:
            raise InvalidInputError(f"there is no connectivity {name!r}; there are: {', '.join(self._names.lists)}")
        key = "list:" + name
        if key not in self._kept:
            of, column = ("faces" if name.startswith("face") else "edges"), self._names.lists[name]
            table = self._name(of)
            if table in self._view.tables and column in self._view.table(table, omitted="ignore").schema.names:
                self._kept[key] = self._column(of, column)[column].combine_chunks()
            else:
                self._kept[key] = self._computed(name)
        found: pa.ListArray = self._kept[key]
        return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found

    def _computed(self, name: str) -> pa.ListArray:
        if name == "face_nodes":
            raise NotFoundError(f"the mesh {self.name} has no faces", self._view.file.filename)
        faces = lists_of(self.connectivity("face_nodes"))
        if name == "edge_nodes":
            return _pairs(grid_topology.edge_nodes(faces))
        if name == "face_edges":
            return grid_topology.face_edges(faces, self._edges()).to_arrow()
        at_edges = lists_of(self.connectivity("face_edges"))
        both = grid_topology.edge_faces(at_edges, len(self.connectivity("edge_nodes")))
        return _pairs(both) if name == "edge_faces" else grid_topology.neighbors(at_edges, both).to_arrow()

    def _edges(self) -> AnyArray:
        found: AnyArray = np.asarray(self.connectivity("edge_nodes").flatten()).reshape(-1, 2)
        return found

    def polygons(
        self,
        where: str | None = None,
        columns: Sequence[str] = (),
        *,
        faces: slice | ArrayLike | None = None,
        encoding: Literal["geoarrow", "wkb"] = "geoarrow",
        **options: Unpack[ScanOptions],
    ) -> pa.Table:
        """Reads faces as polygons, closed rings in the order of their nodes. Edges are straight lines between x and y.

        On a sphere, a face that crosses the meridian where longitudes jump stays in one piece: some of its longitudes are
        moved by 360. A face around a pole, or with a pole as a node, gets corners along the pole.

        Args:
            where: A condition on the columns of the faces.
            columns: Names of other columns of the faces.
            faces: Indexes of faces, or a slice; by default all.
            encoding: `geoarrow` (`geoarrow.polygon`) or `wkb` (`geoarrow.wkb`), for DuckDB's `st_geomfromwkb` and GeoPandas.
            options: Other arguments of `File.table`.

        Returns:
            A table with the index of each face, the columns, and `geometry`, whose field has the metadata of GeoArrow:
            `geopandas.GeoDataFrame.from_arrow` takes it.

        Raises:
            CorruptError: An index of a node is out of range.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().polygons("synthetic > 50", ["synthetic"]).schema.names
            ['face', 'synthetic', 'geometry']
        """
        if encoding not in grid_polygons.EXTENSIONS:
            raise InvalidInputError(f"encoding={encoding!r}: there are {' and '.join(grid_polygons.EXTENSIONS)}")
        index, nodes = self._names.indexes["faces"], self._names.lists["face_nodes"]
        wanted = [index, *(name for name in columns if name not in (index, nodes)), nodes]
        read = self._rows(where, wanted, faces, options)
        found = grid_polygons.rings(lists_of(read[nodes]), *self.coordinates("nodes"), spherical=self.is_spherical)
        field, geometry = grid_polygons.column(found, encoding)
        return (read if nodes in columns else read.drop_columns([nodes])).append_column(field, geometry)

    def _rows(self, where: str | None, columns: list[str], faces: slice | ArrayLike | None, options: ScanOptions) -> pa.Table:
        index, conditions, given = self._names.indexes["faces"], [] if where is None else [f"({where})"], {}
        options.setdefault("omitted", "ignore")
        if isinstance(faces, slice):
            start, stop, step = faces.indices(self.count("faces"))
            if step == 1:
                conditions.append(f"{index} >= {start} and {index} < {stop}")
            else:
                faces = range(start, stop, step)
        if faces is not None and not isinstance(faces, slice):
            chosen = np.asarray(faces)
            chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
            if not chosen.size:
                conditions.append(f"{index} < 0")
            else:
                conditions.append(f"{index} in chosen_faces")
                given["chosen_faces"] = np.unique(chosen)
        if given:
            options["variables"] = {**(options.get("variables") or {}), **given}
        return self.table("faces", " and ".join(conditions) or None, columns, **options).to_arrow()

    def select(
        self, box: Box | None = None, polygon: shapely.Geometry | None = None, *, of: str = "faces", rule: Literal["center", "intersects"] = "center"
    ) -> AnyArray:
        """Finds the faces or nodes in a box or polygon.

        Args:
            box: The least x and y, and the greatest x and y: `(x0, y0, x1, y1)`, borders included. On a sphere, longitudes
                are compared modulo 360, and a box with x0 > x1 crosses the meridian where they jump.
            polygon: A geometry of shapely, instead of a box. Needs shapely: `pip install 'hyperslab[grids]'`.
            of: `faces` or `nodes`.
            rule: Faces of which the `center` is inside (their coordinates in the file, else the middle of their nodes), or those
                that `intersects` the region with their polygon, which needs shapely.

        Returns:
            Their indexes in increasing order, for `polygons(faces=...)` or as an index of arrays.

        Raises:
            InvalidInputError: There is neither a box nor a polygon, or both.
            MissingExtraError: shapely is not installed.

        Example:
            >>> hs.models.ugrid.open("mesh.nc").mesh().select((350, -10, 10, 10))
        """
        if (box is None) == (polygon is None):
            raise InvalidInputError("give a box or a polygon, one of them")
        if of not in ("faces", "nodes") or rule not in ("center", "intersects") or (of == "nodes" and rule != "center"):
            raise InvalidInputError(f"of={of!r}, rule={rule!r}: there are faces by 'center' or 'intersects', and nodes")
        if box is not None and rule == "center":
            return np.flatnonzero(self._in_box(box, *self.coordinates(of)))
        require("selection by polygons", "grids", "shapely")
        import shapely

        regions = [shapely.box(*part) for part in self._parts(box)] if box is not None else [polygon]
        if self.is_spherical:
            regions = [
                shapely.transform(region, lambda points, turn=turn: points + np.array([turn, 0.0])) for region in regions for turn in (-360.0, 0.0, 360.0)
            ]
        region = shapely.union_all(regions)
        shapely.prepare(region)
        if rule == "center":
            return np.flatnonzero(shapely.intersects_xy(region, *self.coordinates(of)))
        shapes = shapely.from_wkb(self.polygons(encoding="wkb")["geometry"].to_numpy())
        return np.flatnonzero(shapely.intersects(region, shapes))

    def _parts(self, box: Box) -> list[Box]:
        x0, y0, x1, y1 = box
        return [(x0, y0, x1 + 360, y1)] if self.is_spherical and x0 > x1 else [box]

    def _in_box(self, box: Box, x: AnyArray, y: AnyArray) -> AnyArray:
        x0, y0, x1, y1 = box
        inside: AnyArray = (y >= y0) & (y <= y1)
        if not self.is_spherical:
            return inside & (x >= x0) & (x <= x1)
        width = x1 - x0 if x1 >= x0 else x1 - x0 + 360
        return inside if width >= 360 else inside & ((x - x0) % 360 <= width)


def _pairs(values: AnyArray) -> pa.ListArray:
    """An array (n, 2) as lists; -1 is null."""
    flat = values.reshape(-1)
    return pa.ListArray.from_arrays(pa.array(np.arange(len(values) + 1) * 2, pa.int32()), pa.array(flat, pa.int64(), mask=flat < 0))
