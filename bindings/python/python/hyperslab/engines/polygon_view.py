"""Polygon view: the faces of an unstructured grid as geometries in SQL."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds

from ..models import grid_polygons
from ..models.grid_mesh import Mesh
from ..tables.arrow_dataset import Columns
from .views import View

_GEOMETRY = "geometry"


class PolygonView(View):
    """The index of each face and its polygon, which is computed when a query asks for it. DuckDB reads well-known binary that is marked
    as GeoArrow's as its type GEOMETRY, GeoPandas as polygons."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.table = mesh.table("faces", columns=[mesh.index_of("faces")], omitted="ignore")
        super().__init__(self.table)
        geometry = pa.field(_GEOMETRY, pa.large_binary(), nullable=False, metadata=grid_polygons.metadata("wkb"))
        self._shape = self.table.schema.append(geometry)
        self._own_names = {name: name for name in self._shape.names}

    @property
    def schema(self) -> pa.Schema:
        return self._shape

    def scanner(self, columns: Columns = None, filter: ds.Expression | None = None, **options: object) -> ds.Scanner:
        if columns is not None and _GEOMETRY not in columns and _GEOMETRY not in str(filter):
            return super().scanner(columns, filter, **options)
        table = self._mesh.polygons(encoding="wkb").cast(self._shape)
        return ds.dataset(table).scanner(columns=columns, filter=filter)
