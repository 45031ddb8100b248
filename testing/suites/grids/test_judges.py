"""Meshes as xugrid and uxarray read them, and polygons as GeoPandas reads them."""

from __future__ import annotations

import itertools
import pathlib
import sys

import geopandas
import hyperslab as hs
import numpy as np
import pytest
import shapely
import uxarray
import xarray
import xugrid

ROOT = pathlib.Path(__file__).parents[3]
REAL = ROOT / "examples/data/mesh_C4_synthetic_float.nc"
sys.path += [str(ROOT / "examples"), str(ROOT / "testing" / "lib")]
import geodesic_grid  # noqa: E402
import hexagons  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("grids")
    geodesic_grid.write_ugrid(str(folder / "ugrid.nc"), 6, writers=3)
    geodesic_grid.write_mpas(str(folder / "mpas.nc"), 6)
    return folder


def lists(values: np.ndarray, fill: int) -> list[list[int]]:
    return [[int(value) for value in row if value != fill] for row in values]


@pytest.mark.parametrize("name", ["ugrid.nc", "real"])
def test_xugrid_has_the_same_mesh(folder: pathlib.Path, name: str) -> None:
    path = REAL if name == "real" else folder / name
    mesh, theirs = hs.models.ugrid.open(path).mesh(), xugrid.Ugrid2d.from_dataset(xarray.open_dataset(path))
    assert lists(theirs.face_node_connectivity, theirs.fill_value) == mesh.connectivity("face_nodes").to_pylist()
    assert np.array_equal(theirs.node_x, mesh.coordinates().x) and np.array_equal(theirs.node_y, mesh.coordinates().y)
    assert theirs.n_edge == len(mesh.connectivity("edge_nodes"))
    # The neighbors of each face, as sets: the numbers of edges are another matter.
    matrix = theirs.face_face_connectivity.tocsr()
    wanted = [sorted(matrix.indices[start:stop].tolist()) for start, stop in itertools.pairwise(matrix.indptr)]
    assert [sorted(own) for own in mesh.connectivity("face_faces").to_pylist()] == wanted


@pytest.mark.parametrize("name", ["ugrid.nc", "mpas.nc", "real"])
def test_uxarray_has_the_same_mesh(folder: pathlib.Path, name: str) -> None:
    path = REAL if name == "real" else folder / name
    theirs = uxarray.open_grid(path)
    mesh = (hs.models.mpas if name == "mpas.nc" else hs.models.ugrid).open(path).mesh()
    fill = int(uxarray.constants.INT_FILL_VALUE)
    assert lists(theirs.face_node_connectivity.values, fill) == mesh.connectivity("face_nodes").to_pylist()
    assert np.allclose(theirs.node_lon % 360, mesh.coordinates().x % 360, rtol=0, atol=1e-12) and np.allclose(theirs.node_lat, mesh.coordinates().y)
    if name != "real":  # uxarray leaves the edges of this file under the name of their dimension
        assert theirs.n_edge == len(mesh.connectivity("edge_nodes"))


def test_uxarray_reads_data_of_our_file(folder: pathlib.Path) -> None:
    theirs = uxarray.open_dataset(folder / "ugrid.nc", folder / "ugrid.nc")
    ours = hs.models.ugrid.open(folder / "ugrid.nc").mesh().table("faces").to_arrow()
    assert np.array_equal(theirs["wave"].values, ours["wave"])


@pytest.mark.parametrize("encoding", ["geoarrow", "wkb"])
def test_geopandas_reads_the_polygons(folder: pathlib.Path, encoding: str) -> None:
    mesh = hs.models.ugrid.open(folder / "ugrid.nc").mesh()
    frame = geopandas.GeoDataFrame.from_arrow(mesh.polygons(columns=["wave"], encoding=encoding))
    assert frame.columns.tolist() == ["face", "wave", "geometry"] and len(frame) == 362
    assert frame.geometry.is_valid.all() and frame.geometry.area.sum() == pytest.approx(64800)
    region = shapely.box(-30, -20, 40, 35)
    assert frame.index[frame.geometry.intersects(region)].difference(mesh.select((-30, -20, 40, 35), rule="intersects")).empty
    # Ours also finds faces whose longitudes are moved by 360.
    moved = set(mesh.select((-30, -20, 40, 35), rule="intersects")) - set(frame.index[frame.geometry.intersects(region)])
    assert all(frame.geometry[face].bounds[0] > 180 or frame.geometry[face].bounds[2] < -180 for face in moved)


def test_uxarray_has_the_edges_that_were_written(tmp_path: pathlib.Path) -> None:
    path, grid = tmp_path / "edges.nc", geodesic_grid.Geodesic(4)
    lon, lat, corners = grid.cells(0, grid.n_cells)
    lon_vertices, lat_vertices, cells = grid.vertices(0, grid.n_vertices)
    edges = hexagons.edges_of(corners, grid.n_vertices, 3)
    count = len(edges.vertices)
    with hs.create_netcdf(path) as f:
        mesh = hs.models.mpas.define(f, cells=grid.n_cells, vertices=grid.n_vertices, edges=count, times=False)
        mesh.create_data(f, "flux", "edge")
        mesh.write(f, "cell", slice(None), longitude=lon, latitude=lat, vertices=corners, edges=edges.of_cells)
        mesh.write(f, "vertex", slice(None), longitude=lon_vertices, latitude=lat_vertices, cells=cells, edges=edges.of_vertices)
        places = np.linspace(-170, 170, count), np.linspace(-80, 80, count)
        mesh.write(f, "edge", slice(None), longitude=places[0], latitude=places[1], vertices=edges.vertices, cells=edges.cells, flux=np.arange(count))
    theirs = uxarray.open_grid(path)
    assert theirs.n_edge == count and theirs.edge_node_connectivity.values.tolist() == edges.vertices.tolist()
    assert lists(theirs.edge_face_connectivity.values, int(uxarray.constants.INT_FILL_VALUE)) == edges.cells.tolist()
    assert np.allclose(theirs.edge_lon.values % 360, places[0] % 360)
    data = uxarray.open_dataset(path, path)
    assert data["flux"].dims == ("n_edge",) and data["flux"].values.tolist() == list(range(count))
    ours = hs.models.mpas.open(path).mesh()
    assert ours.connectivity("edge_nodes").to_pylist() == edges.vertices.tolist()
