"""MPAS as it is written, on a sphere and on a plane, judged by netCDF4 and shapely. `make test-grids` and `make test-vtk` have uxarray and VTK as judges."""

from __future__ import annotations

import pathlib
import pickle
import sys
from typing import Any

import hexagons
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import shapely
from hyperslab.base.errors import InvalidInputError

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import geodesic_grid


def lists(table: Any, name: str) -> list[list[int]]:
    return table[name].to_pylist()


def test_mpas_is_written_by_ranges_of_tasks(tmp_path: pathlib.Path) -> None:
    path, grid = tmp_path / "made.nc", geodesic_grid.Geodesic(3)
    plan = hs.NetcdfPlan(path)
    mesh = hs.models.mpas.define(plan, cells=grid.n_cells, vertices=grid.n_vertices, compression="zstd")
    mesh.create_data(plan, "area", dtype="f4")
    mesh.create_data(plan, "vorticity", "vertex")
    lon, lat, corners = grid.cells(0, grid.n_cells)
    lon_vertices, lat_vertices, cells = grid.vertices(0, grid.n_vertices)
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            own = slice(number * 40, 40 if not number else grid.n_cells)
            mesh.write(task, "cell", own, longitude=lon[own], latitude=lat[own], vertices=corners[own], area=np.arange(grid.n_cells)[own])
            own = slice(number * 100, 100 if not number else grid.n_vertices)
            mesh.write(task, "vertex", own, longitude=lon_vertices[own], latitude=lat_vertices[own], cells=cells[own], vorticity=lat_vertices[own])
            for wrong, message in [
                ({"vertices": corners[:1]}, "have the shape"),
                ({"vertices": corners[:2] + 500}, "but there are 180"),
                ({"vertices": corners[:2, ::-1] - [[0, 0, 0, 0, 0, 999]]}, "but there are|only the end"),
                ({"longitude": lon[:2]}, "longitude without latitude"),
            ]:
                with pytest.raises(hs.InvalidInputError, match=message):
                    mesh.write(task, "cell", slice(0, 2), **wrong)
            with pytest.raises(hs.InvalidInputError, match="has no 'edge'"):
                mesh.write(task, "edge", slice(0, 2))
            fragments.append(task.finish())
    plan.commit(fragments)
    with netCDF4.Dataset(path) as f:
        assert f.Conventions == "MPAS" and f.on_a_sphere == "YES" and f.sphere_radius == 6371229.0
        assert np.array_equal(f["verticesOnCell"][:].filled(), corners + 1) and np.array_equal(f["nEdgesOnCell"][:].filled(), (corners >= 0).sum(axis=1))
        assert np.array_equal(f["cellsOnVertex"][:].filled(), cells + 1) and f["area"][:].tolist() == list(range(grid.n_cells))
        assert np.allclose(np.degrees(f["latCell"][:]), lat) and np.allclose(f["xCell"][:] ** 2 + f["yCell"][:] ** 2 + f["zCell"][:] ** 2, 6371229.0**2)
    view = hs.models.mpas.open(path)
    assert view.validate() == [] and view.mesh().count() == grid.n_cells and pickle.loads(pickle.dumps(mesh)) == mesh
    assert lists(view.table("cells").to_arrow(), "vertices") == [[i for i in own if i >= 0] for own in corners.tolist()]
    with pytest.raises(hs.InvalidInputError, match="of degree 5"):
        hs.models.mpas.define(plan, cells=1, vertices=1, vertex_degree=5)


def cut(indices: np.ndarray) -> list[list[int]]:
    return [[index for index in row if index >= 0] for row in indices.tolist()]


def test_edges_are_written_and_read_on_a_sphere(tmp_path: pathlib.Path) -> None:
    path, grid = tmp_path / "made.nc", geodesic_grid.Geodesic(3)
    lon, lat, corners = grid.cells(0, grid.n_cells)
    lon_vertices, lat_vertices, cells = grid.vertices(0, grid.n_vertices)
    edges = hexagons.edges_of(corners, grid.n_vertices, 3)
    count = len(edges.vertices)
    assert count == 30 * 9
    places = np.arange(count) / count * 360, np.linspace(-80, 80, count)
    plan = hs.NetcdfPlan(path)
    mesh = hs.models.mpas.define(plan, cells=grid.n_cells, vertices=grid.n_vertices, edges=count)
    mesh.create_data(plan, "u", "edge", dims=["Time"])
    mesh.create_data(plan, "flux", "edge", "f4")
    fragments = []
    for number, own in enumerate((slice(0, 100), slice(100, count))):
        with plan.task(number) as task:
            given = {"longitude": places[0][own], "latitude": places[1][own], "vertices": edges.vertices[own], "cells": edges.cells[own]}
            mesh.write(task, "edge", own, **given, flux=np.arange(count)[own])
            if number == 0:
                mesh.write(task, "cell", slice(None), longitude=lon, latitude=lat, vertices=corners, edges=edges.of_cells)
                mesh.write(task, "vertex", slice(None), longitude=lon_vertices, latitude=lat_vertices, cells=cells, edges=edges.of_vertices)
            fragments.append(task.finish())
    plan.commit(fragments)
    with netCDF4.Dataset(path) as f:
        f.set_auto_mask(False)
        for name, wanted in (
            ("verticesOnEdge", edges.vertices),
            ("cellsOnEdge", edges.cells),
            ("edgesOnCell", edges.of_cells),
            ("edgesOnVertex", edges.of_vertices),
        ):
            assert np.array_equal(f[name][:], wanted + 1), name
        assert f["u"].dimensions == ("Time", "nEdges") and np.allclose(np.degrees(f["latEdge"][:]), places[1])
        assert np.allclose(f["xEdge"][:] ** 2 + f["yEdge"][:] ** 2 + f["zEdge"][:] ** 2, 6371229.0**2)
    view = hs.models.mpas.open(path)
    assert view.validate() == [] and view.omitted == {}
    table = view.table("edges").to_arrow()
    assert table["vertices"].to_pylist() == edges.vertices.tolist() and table["cells"].to_pylist() == edges.cells.tolist()
    assert table["flux"].to_pylist() == list(range(count)) and np.allclose(table["lon"], places[0])
    assert view.table("cells").to_arrow()["edges"].to_pylist() == cut(edges.of_cells)
    assert view.mesh().connectivity("face_edges").to_pylist() == cut(edges.of_cells)
    assert view.mesh().connectivity("edge_nodes").to_pylist() == edges.vertices.tolist()


def around(number: int, edges: hexagons.Edges) -> list[int]:
    """The other edges of the cells at an edge, by a walk around each cell."""
    found: list[int] = []
    for cell in edges.cells[number].tolist():
        own = [edge for edge in edges.of_cells[cell].tolist() if edge >= 0] if cell >= 0 else []
        place = own.index(number) if own else 0
        found += (own[place:] + own[:place])[1:]
    return found


@pytest.mark.parametrize("on_a_sphere", [True, False])
def test_the_edges_around_edges_are_derived_and_written(tmp_path: pathlib.Path, on_a_sphere: bool) -> None:
    path = tmp_path / "made.nc"
    if on_a_sphere:
        grid = geodesic_grid.Geodesic(3)
        corners, n_cells, n_vertices = grid.cells(0, grid.n_cells)[2], grid.n_cells, grid.n_vertices
    else:
        patch = hexagons.patch(5, 4)
        corners, n_cells, n_vertices = patch.corners, len(patch.x), len(patch.vertex_x)
    edges = hexagons.edges_of(corners, n_vertices, 3)
    count = len(edges.vertices)
    derive = hs.models.mpas.neighbors_of_edges
    whole = derive(edges.of_cells, edges.cells)
    assert cut(whole) == [around(number, edges) for number in range(count)] and whole.shape == (count, 12)
    assert {len(row) for row in cut(whole)} == ({9, 10} if on_a_sphere else {5, 10})
    assert np.array_equal(derive(edges.of_cells, edges.cells, slice(3, 9)), whole[3:9]) and derive(edges.of_cells, edges.cells, slice(5, 5)).shape == (0, 12)
    plan = hs.NetcdfPlan(path)
    mesh = hs.models.mpas.define(plan, cells=n_cells, vertices=n_vertices, edges=count, edge_neighbors=True, radius=1.0 if on_a_sphere else None)
    places = {name: np.zeros(count) for name in (("longitude", "latitude") if on_a_sphere else ("x", "y"))}
    fragments = []
    for number, own in enumerate((slice(0, count // 2), slice(count // 2, count))):
        with plan.task(number) as task:
            mesh.write(task, "edge", own, cells=edges.cells[own], vertices=edges.vertices[own], edges=derive(edges.of_cells, edges.cells, own))
            if number == 0:
                mesh.write(task, "edge", slice(None), **places)
                mesh.write(task, "cell", slice(None), vertices=corners, edges=edges.of_cells, **{name: np.zeros(n_cells) for name in places})
                mesh.write(task, "vertex", slice(None), **{name: np.zeros(n_vertices) for name in places})
                with pytest.raises(hs.InvalidInputError, match="have the shape"):
                    mesh.write(task, "edge", own, edges=whole[own, :6])
                with pytest.raises(hs.InvalidInputError, match="only the end of a list"):
                    mesh.write(task, "edge", slice(0, 1), edges=[[-1, *range(11)]])
            fragments.append(task.finish())
    plan.commit(fragments)
    with netCDF4.Dataset(path) as f:
        f.set_auto_mask(False)
        assert f["edgesOnEdge"].dimensions == ("nEdges", "maxEdges2") and np.array_equal(f["edgesOnEdge"][:], whole + 1)
        assert f["nEdgesOnEdge"][:].tolist() == [len(row) for row in cut(whole)]
    view = hs.models.mpas.open(path)
    assert view.validate() == [] and view.omitted == {} and view.table("edges").to_arrow()["neighbors"].to_pylist() == cut(whole)
    with pytest.raises(hs.InvalidInputError, match="cell 3 of edge 0 does not have this edge"):
        derive(edges.of_cells, np.where(edges.cells == edges.cells[0, 0], 3, edges.cells) if edges.cells[0, 0] != 3 else edges.cells[::-1])
    with pytest.raises(hs.InvalidInputError, match="but there are 1, from 0"):
        derive(edges.of_cells[:1], edges.cells)
    with pytest.raises(hs.InvalidInputError, match="without edges"):
        hs.models.mpas.define(plan, cells=1, vertices=3, edge_neighbors=True)


def test_a_plane_is_written_and_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plane.nc"
    made, edges = hexagons.write(str(path), 5, 4)
    with netCDF4.Dataset(path) as f:
        f.set_auto_mask(False)
        about = {"on_a_sphere": "NO", "is_periodic": "NO", "sphere_radius": 0.0, "x_period": 0.0, "y_period": 0.0, "Conventions": "MPAS"}
        assert {name: f.getncattr(name) for name in f.ncattrs() if name in about} == about
        assert np.array_equal(f["xCell"][:], made.x) and not f["zVertex"][:].any() and not f["lonEdge"][:].any()
        assert (f["cellsOnEdge"][:] == 0).any() and np.array_equal(f["cellsOnVertex"][:], made.cells + 1)
    view = hs.models.mpas.open(path)
    assert view.validate() == [] and view.omitted == {} and view.tables == ["cells", "cells_Time_nVertLevels", "edges", "vertices"]
    shapes = shapely.from_wkb(view.mesh().polygons(columns=["of_cell"], encoding="wkb")["geometry"].to_numpy())
    assert len(shapes) == 20 and shapely.is_valid(shapes).all() and np.allclose(shapely.area(shapes), np.sqrt(0.75))
    assert np.allclose([shape.centroid.x for shape in shapes], made.x) and np.allclose([shape.centroid.y for shape in shapes], made.y)
    for table, column, wanted in (("cells", "of_cell", made.x), ("vertices", "of_vertex", made.vertex_y)):
        assert np.array_equal(view.table(table).to_arrow()[column], wanted)
    found = view.table("edges").to_arrow()
    assert found["cells"].to_pylist() == [[cell if cell >= 0 else None for cell in row] for row in edges.cells.tolist()]
    middle = made.vertex_x[edges.vertices].mean(axis=1)
    assert np.array_equal(found["of_edge"], middle) and np.array_equal(found["x"], middle)
    around = [{cell for edge in own for cell in edges.cells[edge] if cell not in (-1, number)} for number, own in enumerate(edges.of_cells)]
    assert [set(own) for own in view.table("cells").to_arrow()["neighbors"].to_pylist()] == around


def test_what_does_not_fit_the_mesh_is_refused(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "wrong.nc") as f:
        plane = hs.models.mpas.define(f, cells=2, vertices=6, edges=7, max_edges=4, vertex_degree=3, radius=None, periods=(2.0, 0.0))
        for location, given, message in [
            ("cell", {"longitude": [0, 0], "latitude": [0, 0]}, "on a plane: give x and y"),
            ("cell", {"x": [0, 0]}, "x without y"),
            ("edge", {"vertices": [[0, -1]] * 7}, "an edge has two"),
            ("edge", {"cells": [[0, 2]] * 7}, "there are 2, from 0"),
            ("edge", {"edges": [[0, 2]] * 7}, "edges= is no list of a edge|no list of"),
            ("cell", {"edges": [[0, -1, 1, 2]] * 2}, "only the end"),
            ("face", {}, "has no 'face'"),
        ]:
            with pytest.raises(InvalidInputError, match=message):
                plane.write(f, location, slice(None), **given)
        with pytest.raises(InvalidInputError, match="a sphere has none"):
            hs.models.mpas.define(f, cells=2, vertices=6, periods=(1.0, 1.0))
        with pytest.raises(InvalidInputError, match="are negative"):
            hs.models.mpas.define(f, cells=2, vertices=6, radius=None, periods=(-1.0, 1.0))
    with hs.create_netcdf(tmp_path / "bare.nc") as f:
        sphere = hs.models.mpas.define(f, cells=2, vertices=6)
        for given, message in ({"x": [0, 1], "y": [0, 1]}, "on a sphere"), ({"edges": [[0] * 6] * 2}, "no list"):
            with pytest.raises(InvalidInputError, match=message):
                sphere.write(f, "cell", slice(None), **given)
