"""UGRID and MPAS as models: files made by netCDF4, judged by numpy, shapely, and formulas of geometry."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import pickle
import random
import subprocess
import sys
from typing import Any

import duckdb
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import shapely
from hyperslab.models import grid_polygons, grid_topology

ROOT = pathlib.Path(__file__).parents[2]
REAL = ROOT / "examples/data/mesh_C4_synthetic_float.nc"

spec = importlib.util.spec_from_file_location("geodesic_grid", ROOT / "examples/geodesic_grid.py")
assert spec is not None and spec.loader is not None
geodesic_grid = sys.modules["geodesic_grid"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(geodesic_grid)

#: Two squares, a triangle and a pentagon on a plane.
X = np.array([0.0, 1, 2, 0, 1, 2, 3, 1.5])
Y = np.array([0.0, 0, 0, 1, 1, 1, 0.5, 2])
FACES = [[0, 1, 4, 3], [1, 2, 5, 4], [2, 6, 5], [3, 4, 5, 7]]
TIMES = 3
LAYERS = 2


def padded(lists: list[list[int]], width: int, start: int, fill: Any, dtype: str = "i4") -> np.ndarray:
    rows = [[index + start for index in own] + [fill] * (width - len(own)) for own in lists]
    return np.array(rows, dtype)


def data_of(name: str, *shape: int) -> np.ndarray:
    return np.random.default_rng([len(name), *shape]).normal(size=shape)


def write_mesh(
    path: pathlib.Path, name: str = "mesh", start: Any = 0, fill: Any = -1, dtype: str = "i4", transposed: bool = False, mode: str = "w", fmt: str = "NETCDF4"
) -> pathlib.Path:
    with netCDF4.Dataset(path, mode, format=fmt) as f:
        f.Conventions = "CF-1.8 UGRID-1.0"
        for dimension, size in (("nodes", 8), ("faces", 4), ("corners", 4)):
            f.createDimension(f"{name}_{dimension}", size)
        if "time" not in f.dimensions:
            f.createDimension("time", None)
            f.createDimension("layer", LAYERS)
            f.createVariable("time", "f8", ("time",))[:] = np.arange(TIMES) * 6
            f["time"].units = "hours since 2020-01-01"
        mesh = f.createVariable(name, "i4")
        mesh.cf_role, mesh.topology_dimension = "mesh_topology", 2
        mesh.node_coordinates = f"{name}_y {name}_x"  # the order does not tell which is which
        mesh.face_node_connectivity = f"{name}_face_nodes"
        for axis, values, standard in (("x", X, "projection_x_coordinate"), ("y", Y, "projection_y_coordinate")):
            variable = f.createVariable(f"{name}_{axis}", "f8", (f"{name}_nodes",))
            variable.standard_name = standard
            variable[:] = values
        dims = (f"{name}_faces", f"{name}_corners")
        if transposed:
            mesh.face_dimension, dims = f"{name}_faces", dims[::-1]
        indexes = f.createVariable(f"{name}_face_nodes", dtype, dims, fill_value=fill)
        indexes.set_auto_maskandscale(False)
        if start is not None:
            indexes.start_index = start
        values = padded(FACES, 4, int(start or 0), fill, dtype)
        indexes[:] = values.T if transposed else values
        for key, location, dimensions in [
            ("area", "face", (f"{name}_faces",)),
            ("depth", "node", (f"{name}_nodes",)),
            ("speed", "face", ("time", f"{name}_faces", "layer")),
            ("level", "node", ("time", f"{name}_nodes")),
        ]:
            variable = f.createVariable(key if name == "mesh" else f"{key}_{name}", "f8", dimensions)
            variable.mesh, variable.location = name, location
            shape = tuple(TIMES if d == "time" else f.dimensions[d].size for d in dimensions)
            variable[:] = data_of(key, *shape)
    return path


@pytest.fixture
def mesh(tmp_path: pathlib.Path) -> pathlib.Path:
    return write_mesh(tmp_path / "mesh.nc")


def lists(table: pa.Table, name: str) -> list[list[int | None]]:
    return table[name].to_pylist()


def test_faces_and_nodes_have_coordinates_lists_and_data(mesh: pathlib.Path) -> None:
    with hs.open(mesh) as f:
        view, general = f.models
        assert general.name == "cf", "a mesh is what a file means more precisely"
        assert (view.name, view.certainty, view.reason) == ("ugrid", "certain", "mesh is a mesh_topology")
        assert view.tables == ["faces", "faces_time_layer", "nodes", "nodes_time"]
        assert view.validate() == [] and view.omitted == {}
        assert [array.name for array in view.arrays] == ["area", "speed", "depth", "level"]
        faces, nodes = view.table("faces").to_arrow(), view.table("nodes").to_pandas()
    assert faces.column_names[:3] == ["face", "nodes", "area"] and lists(faces, "nodes") == FACES
    assert np.array_equal(faces["area"], data_of("area", 4))
    pd.testing.assert_frame_equal(nodes[["node", "x", "y", "depth"]], pd.DataFrame({"node": np.arange(8), "x": X, "y": Y, "depth": data_of("depth", 8)}))


def test_times_and_layers_are_rows(mesh: pathlib.Path) -> None:
    wanted = data_of("speed", TIMES, 4, LAYERS)
    with netCDF4.Dataset(mesh) as f:
        assert np.array_equal(f["speed"][:], wanted)
    rows = [
        {"time": pd.Timestamp("2020-01-01") + pd.Timedelta(hours=6 * time), "face": face, "layer": layer, "speed": wanted[time, face, layer]}
        for time in range(TIMES)
        for face in range(4)
        for layer in range(LAYERS)
    ]
    wanted_frame = pd.DataFrame(rows)
    table = hs.models.ugrid.open(mesh).table("faces_time_layer")
    got = table.to_pandas()
    got["time"] = got["time"].dt.tz_localize(None)
    pd.testing.assert_frame_equal(got[wanted_frame.columns], wanted_frame, check_dtype=False)
    levels = hs.models.ugrid.open(mesh).table("nodes_time", "x >= 2 and time >= '2020-01-01T06:00'").to_pandas()
    assert np.array_equal(levels["level"], data_of("level", TIMES, 8)[1:, X >= 2].ravel()) and np.array_equal(levels["x"], np.tile(X[X >= 2], 2))


@pytest.mark.parametrize(
    ("start", "fill", "dtype", "transposed"),
    [
        (1, -999, "i4", False),
        (np.uint8(1), 2**32 - 1, "u4", False),
        (1.0, -1, "i8", True),
        ("1", 0, "i2", False),
        (None, 2**64 - 2, "u8", True),
        (0, 9.96921e36, "f4", False),
        (np.int64(1), np.nan, "f8", True),
    ],
)
def test_start_indexes_fill_values_and_orders_of_every_kind(tmp_path: pathlib.Path, start: Any, fill: Any, dtype: str, transposed: bool) -> None:
    path = write_mesh(tmp_path / "mesh.nc", start=start, fill=fill, dtype=dtype, transposed=transposed)
    view = hs.models.ugrid.open(path)
    assert lists(view.table("faces").to_arrow(), "nodes") == FACES
    assert lists(view.table("faces", "face = 2 or face = 0").to_arrow(), "nodes") == [FACES[0], FACES[2]]
    split = pickle.loads(pickle.dumps(view.table("faces").splits(1)))[0]
    assert lists(split.read(), "nodes") == FACES
    wanted = ["its attribute start_index is text, not a number"] if start == "1" else []
    assert [problem.message for problem in view.validate()] == wanted


@pytest.mark.parametrize("fmt", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC"])
def test_other_formats_of_netcdf(tmp_path: pathlib.Path, fmt: str) -> None:
    path = write_mesh(tmp_path / "mesh.nc", start=1, fmt=fmt)
    view = hs.models.ugrid.open(path)
    assert lists(view.table("faces").to_arrow(), "nodes") == FACES and view.table("faces_time_layer").count() == TIMES * 4 * LAYERS
    assert np.array_equal(view.table("faces_time_layer").to_pandas()["speed"], data_of("speed", TIMES, 4, LAYERS).ravel())


def test_several_meshes_and_a_network(tmp_path: pathlib.Path) -> None:
    path = write_mesh(tmp_path / "mesh.nc", "one")
    write_mesh(path, "Two", start=1, mode="a")
    with netCDF4.Dataset(path, "a") as f:
        f.createDimension("net_nodes", 3)
        f.createDimension("net_edges", 2)
        f.createDimension("pair", 2)
        f.createDimension("length", 5)
        net = f.createVariable("net", "i4")
        net.cf_role, net.topology_dimension, net.node_coordinates, net.edge_node_connectivity = "mesh_topology", 1, "net_x net_y", "net_edge_nodes"
        for axis in "xy":
            f.createVariable(f"net_{axis}", "f8", ("net_nodes",))[:] = [1, 2, 4]
        f.createVariable("net_edge_nodes", "i4", ("net_edges", "pair"))[:] = [[0, 1], [1, 2]]
        names = f.createVariable("names", "S1", ("net_nodes", "length"))
        names.mesh, names.location = "net", "node"
        names[:] = netCDF4.stringtochar(np.array([b"a    ", b"bcd", b""], "S5"))
    view = hs.models.ugrid.open(path)
    assert view.meshes == ["one", "Two", "net"] and view.reason == "3 meshes: one, Two, net"
    assert [name for name in view.tables if "_time" not in name] == ["faces_one", "nodes_one", "faces_Two", "nodes_Two", "nodes_net", "edges_net"]
    assert lists(view.table("faces_Two").to_arrow(), "nodes") == FACES and view.table("faces_Two_time_layer").count() == 24
    assert view.table("nodes_net").to_pandas()[["x", "names"]].to_dict("list") == {"x": [1, 2, 4], "names": ["a", "bcd", ""]}
    assert lists(view.table("edges_net").to_arrow(), "nodes") == [[0, 1], [1, 2]]
    shown = hs.sql("select one.geometry = two.geometry from polygons_one one join polygons_Two two using (face)", path)
    assert shown.fetchall() == [(True,)] * 4
    with pytest.raises(hs.InvalidInputError, match="no view 'polygons_net'"):
        hs.sql("select * from polygons_net", path)
    net = view.mesh("net")
    assert net.count("faces") == 0 and net.coordinates("edges").x.tolist() == [1.5, 3]
    with pytest.raises(hs.NotFoundError, match="has no faces"):
        net.connectivity("face_nodes")
    with pytest.raises(hs.InvalidInputError, match="one, Two, net: give the name"):
        view.mesh()
    with pytest.raises(hs.NotFoundError, match="no mesh 'three'"):
        view.mesh("three")
    assert view.validate() == [] and view.omitted == {}


def test_meshes_of_groups_are_named(mesh: pathlib.Path) -> None:
    with netCDF4.Dataset(mesh, "a") as f:
        inner = f.createGroup("run").createGroup("1")
        inner.createVariable("inner_mesh", "i4").cf_role = "mesh_topology"
    omitted = hs.models.ugrid.open(mesh).omitted
    assert omitted["/run/1/inner_mesh"] == "is a mesh of a group, which this model does not read" and omitted["/run"] == "is a group"


def test_sql_the_command_line_and_other_processes(mesh: pathlib.Path, tmp_path: pathlib.Path) -> None:
    area, depth = data_of("area", 4), data_of("depth", 8)
    sums = hs.sql("select face, sum(depth) as s from (select face, unnest(nodes) as node from faces) join nodes using (node) group by face order by face", mesh)
    assert [row[0] for row in sums.fetchall()] == [0, 1, 2, 3]
    assert np.allclose(sums.df()["s"], [depth[nodes].sum() for nodes in FACES])
    assert hs.sql("select sum(area) from faces where len(nodes) = 4", mesh).fetchall()[0][0] == pytest.approx(area[[0, 1, 3]].sum())
    done = subprocess.run(
        [sys.executable, "-c", "from hyperslab.cli import main; main()", "info", str(mesh), "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["models"] == {"ugrid": "certain: mesh is a mesh_topology", "cf": 'certain: Conventions is "CF-1.8 UGRID-1.0"'}
    table = hs.open(mesh).table("faces_time_layer", "speed > 0", model="ugrid")
    (tmp_path / "splits").write_bytes(pickle.dumps(table.splits(3)))
    code = "import pickle, sys, pyarrow as pa; s = pickle.load(open(sys.argv[1], 'rb')); print(pa.concat_tables(x.read() for x in s)['speed'].to_pylist())"
    out = subprocess.run([sys.executable, "-c", code, tmp_path / "splits"], check=True, capture_output=True, text=True).stdout
    speed = data_of("speed", TIMES, 4, LAYERS).ravel()
    assert json.loads(out) == speed[speed > 0].tolist()


def test_what_is_in_no_table_is_named(mesh: pathlib.Path) -> None:
    with netCDF4.Dataset(mesh, "a") as f:
        f.createVariable("crs", "i4").grid_mapping_name = "latitude_longitude"
        f.createVariable("other", "f8", ("mesh_faces",))
        f.createVariable("bounds", "f8", ("mesh_faces", "mesh_corners"))
        f["mesh_x"].bounds = "bounds"
        wrong = f.createVariable("wrong", "f8", ("mesh_nodes",))
        wrong.mesh, wrong.location = "mesh", "face"
        solid = f.createVariable("solid", "f8", ("mesh_faces",))
        solid.mesh, solid.location = "mesh", "volume"
        f.createVariable("set", "i4", ("mesh_faces",)).cf_role = "location_index_set"
        f["mesh"].boundary_node_connectivity = "edge"
        f.createVariable("edge", "i4", ("mesh_faces",))
        f.createGroup("notes")
    view = hs.models.ugrid.open(mesh)
    assert view.omitted == {
        "/notes": "is a group",
        "/wrong": "is on the faces of mesh, but does not have their dimension mesh_faces",
        "/edge": "is the boundary_node_connectivity of a mesh, which this model does not read",
        "/crs": "describes a projection",
        "/other": "has no attributes mesh and location, so it is not data of a mesh",
        "/bounds": "has the bounds of mesh_x",
        "/solid": "is on the volumes of mesh, which this model does not read",
        "/set": "has the role location_index_set, which this model does not read",
    }
    assert [problem.object for problem in view.validate()] == ["/wrong"]
    assert view.table("faces").to_arrow().column_names[:3] == ["face", "nodes", "area"]


def test_what_contradicts_the_model_is_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    def broken(name: str, change: Any, **given: Any) -> hs.models.ugrid.Ugrid:
        path = write_mesh(tmp_path / name, **given)
        with netCDF4.Dataset(path, "a") as f:
            f.set_auto_maskandscale(False)
            change(f)
        return hs.models.ugrid.open(path)

    def indexes(place: tuple[int, int], value: int) -> Any:
        return lambda f: f["mesh_face_nodes"].__setitem__(place, value)

    def renamed(attribute: str, value: Any) -> Any:
        return lambda f: f["mesh"].setncattr(attribute, value)

    for name, change, message, place in [
        ("a.nc", indexes((1, 0), 8), "the index 8 is not within 0 to 7 in row 1", "/mesh_face_nodes"),
        ("b.nc", indexes((3, 0), -7), "the index -7 is not within 0 to 7 in row 3", "/mesh_face_nodes"),
        ("c.nc", indexes((0, 1), -1), "the index 4 follows a missing one in row 0", "/mesh_face_nodes"),
        ("d.nc", renamed("face_node_connectivity", "nothing"), "names 'nothing'|names \"nothing\"", "/mesh"),
        ("e.nc", renamed("face_node_connectivity", "area"), "not two with mesh_faces", "/area"),
        ("f.nc", lambda f: f["mesh"].delncattr("node_coordinates"), "has no attribute node_coordinates", "/mesh"),
        ("g.nc", lambda f: f["mesh_face_nodes"].setncattr("start_index", "first"), "start_index is not one whole number", "/mesh_face_nodes"),
        ("h.nc", renamed("face_face_connectivity", "mesh_x"), "face_face_connectivity of a mesh, but has the dimensions", "/mesh_x"),
    ]:
        view = broken(name, change)
        with pytest.raises(hs.CorruptError, match=message) as caught:
            view.table("faces").to_arrow()
        assert caught.value.object == place
        assert place in [problem.object for problem in view.validate()], name
        assert hs.sql("select count(*) from area", view.file).fetchall() == [(4,)]
        with pytest.raises((hs.InvalidInputError, duckdb.Error), match=message):
            hs.sql("select * from faces", view.file).fetchall()

    view = broken("coordinates.nc", renamed("face_coordinates", "mesh_x mesh_y"))
    with pytest.raises(hs.CorruptError, match="one of the face_coordinates of a mesh"):
        view.table("faces")
    assert view.table("nodes").count() == 8

    view = broken("start.nc", lambda f: f["mesh_face_nodes"].delncattr("start_index"), start=1)
    assert "do its indexes count from 1?" in view.validate()[0].message
    view = broken("zero.nc", lambda f: f["mesh_face_nodes"].setncattr("start_index", 1))
    assert view.validate()[0].message == "its least index is 0, but its start_index is 1"
    with pytest.raises(hs.CorruptError, match="the index 0 is not within 1 to 8 in row 0"):
        view.table("faces").to_arrow()

    def twice(f: Any) -> None:
        f["mesh_face_nodes"][0] = [0, 1, 1, 3]
        f["mesh_face_nodes"][1] = [1, 2, -1, -1]

    messages = [problem.message for problem in broken("twice.nc", twice).validate()]
    assert messages == ["1 faces have fewer than three nodes, the first is 1", "1 faces have a node twice, the first is 0"]

    plain = tmp_path / "plain.nc"
    with netCDF4.Dataset(plain, "w") as f:
        f.createVariable("x", "i4")
        for number in range(1100):
            f.createVariable(f"v{number}", "i1")
        f["x"].cf_role = "mesh_topology"
    assert hs.open(plain).models == []
    with netCDF4.Dataset(plain, "a") as f:
        f.Conventions = "ugrid-1.0"
    assert [view.certainty for view in hs.open(plain).models] == ["certain"]


def test_a_real_file() -> None:
    with netCDF4.Dataset(REAL) as f:
        f.set_auto_mask(False)
        read = {name: f[f"example_C4_{name}"][:] for name in ("face_nodes", "edge_nodes", "face_edges", "face_links", "node_x", "node_y", "face_x")}
        synthetic = f["synthetic"][:]
    view = hs.models.ugrid.open(REAL)
    assert view.tables == ["faces", "nodes", "edges"] and view.omitted == {} and view.validate() == []
    faces, mesh = view.table("faces").to_arrow(), view.mesh()
    for column, name in (("nodes", "face_nodes"), ("edges", "face_edges"), ("neighbors", "face_links")):
        assert lists(faces, column) == (read[name] - 1).tolist()
    assert np.array_equal(faces["synthetic"], synthetic) and np.array_equal(faces["x"], read["face_x"])
    assert np.array_equal(mesh.coordinates().x, read["node_x"])
    # Computed from the nodes of faces alone, with the edges of the file.
    nodes, edges = grid_topology.lists_of(faces["nodes"]), read["edge_nodes"] - 1
    computed = grid_topology.face_edges(nodes, edges)
    assert np.array_equal(np.sort(computed.values.reshape(96, 4)), np.sort(read["face_edges"] - 1))
    both = grid_topology.edge_faces(computed, len(edges))
    ours = grid_topology.neighbors(computed, both).values.reshape(96, 4)
    assert np.array_equal(np.sort(ours), np.sort(read["face_links"] - 1))
    assert mesh.connectivity("edge_faces").to_pylist() == both.tolist()
    assert len(grid_topology.edge_nodes(nodes)) == len(edges)
    # Every point of the map is in one face.
    shapes = shapely.from_wkb(mesh.polygons(encoding="wkb")["geometry"].to_numpy())
    assert shapely.is_valid(shapes).all() and shapely.area(shapes).sum() == pytest.approx(64800, rel=1e-12)


def test_polygons_are_those_of_shapely(mesh: pathlib.Path) -> None:
    wanted = [shapely.Polygon([(X[node], Y[node]) for node in nodes]) for nodes in FACES]
    grid = hs.models.ugrid.open(mesh).mesh()
    assert not grid.is_spherical and repr(grid) == "<mesh mesh, plane: 4 faces, 8 nodes>"
    table = grid.polygons(encoding="wkb", columns=["area"])
    assert table.column_names == ["face", "area", "geometry"]
    assert [shapely.normalize(shape) for shape in shapely.from_wkb(table["geometry"].to_numpy())] == [shapely.normalize(shape) for shape in wanted]
    arrow = grid.polygons()
    metadata = arrow.schema.field("geometry").metadata
    assert metadata == {b"ARROW:extension:name": b"geoarrow.polygon", b"ARROW:extension:metadata": b"{}"}
    rings = [[[list(point) for point in shape.exterior.coords]] for shape in wanted]
    assert arrow["geometry"].to_pylist() == rings
    for given, faces in [
        ({"where": "area > 0"}, np.flatnonzero(data_of("area", 4) > 0)),
        ({"faces": [3, 1]}, [1, 3]),
        ({"faces": slice(1, 3)}, [1, 2]),
        ({"faces": slice(None, None, 2)}, [0, 2]),
        ({"faces": np.array([True, False, False, True])}, [0, 3]),
        ({"faces": []}, []),
        ({"faces": [0, 1], "where": "face > 0"}, [1]),
    ]:
        some = grid.polygons(**given)
        assert some["face"].to_pylist() == list(faces) and some["geometry"].to_pylist() == [rings[face] for face in faces]
        assert len(grid.polygons(**given, encoding="wkb")) == len(faces)
    with pytest.raises(hs.InvalidInputError, match="geoarrow and wkb"):
        grid.polygons(encoding="wkt")  # type: ignore[arg-type]


def test_polygons_are_geometries_in_sql(mesh: pathlib.Path, mpas: pathlib.Path) -> None:
    wanted = [shapely.normalize(shapely.Polygon([(X[node], Y[node]) for node in nodes])) for nodes in FACES]
    found = hs.sql("select face, geometry, st_astext(geometry) as text, area from polygons join faces using (face) order by face", mesh)
    assert str(found.types[1]) == "GEOMETRY"
    rows = found.fetchall()
    assert [row[0] for row in rows] == [0, 1, 2, 3] and [row[3] for row in rows] == data_of("area", 4).tolist()
    for shapes in (shapely.from_wkb([bytes(row[1]) for row in rows]), shapely.from_wkt([row[2] for row in rows])):
        assert [shapely.normalize(shape) for shape in shapes] == wanted
    box = "POLYGON ((2.1 -9, 9 -9, 9 9, 2.1 9, 2.1 -9))"
    near = hs.sql(f"select face from polygons where st_intersects_extent(geometry, '{box}'::geometry)", mesh).fetchall()
    bounds = [shape.bounds for shape in wanted]
    assert sorted(face for (face,) in near) == [face for face, (_, _, right, _) in enumerate(bounds) if right >= 2.1]
    assert hs.sql("select count(*) from polygons", mesh).fetchall() == [(4,)]
    assert hs.sql("select face from polygons where face > 2", mesh).fetchall() == [(3,)]
    connection = duckdb.connect()
    assert "polygons" in hs.attach(connection, mpas, "ocean").views
    cells = hs.models.mpas.open(mpas).mesh().polygons(encoding="wkb")
    assert connection.sql("select cell, st_aswkb(geometry) from ocean.polygons order by cell").fetchall() == list(
        zip(cells["cell"].to_pylist(), cells["geometry"].to_pylist(), strict=True)
    )
    with netCDF4.Dataset(mesh, "a") as f:
        f.createVariable("polygons", "i4")[...] = 17
    assert hs.sql("select * from polygons", mesh).fetchall() == [(17,)]  # what the file calls so
    # Several files are rows of all, and have no polygons.
    with pytest.raises(hs.InvalidInputError, match="no view 'polygons'"):
        hs.sql("select * from polygons", [mpas, mpas])


def test_topology_is_computed_if_the_file_lacks_it(mesh: pathlib.Path) -> None:
    grid = hs.models.ugrid.open(mesh).mesh()
    pairs = sorted({tuple(sorted((a, b))) for nodes in FACES for a, b in zip(nodes, nodes[1:] + nodes[:1], strict=True)})
    assert [tuple(pair) for pair in grid.connectivity("edge_nodes").to_pylist()] == pairs
    edges = [[pairs.index(tuple(sorted(pair))) for pair in zip(nodes, nodes[1:] + nodes[:1], strict=True)] for nodes in FACES]
    assert grid.connectivity("face_edges").to_pylist() == edges
    at = [[face for face, own in enumerate(edges) if edge in own] for edge in range(len(pairs))]
    assert grid.connectivity("edge_faces").to_pylist() == [own + [None] * (2 - len(own)) for own in at]
    neighbors = [sorted({face for edge in own for face in at[edge]} - {number}) for number, own in enumerate(edges)]
    assert [sorted(own) for own in grid.connectivity("face_faces").to_pylist()] == neighbors
    three = grid_topology.Lists(np.array([0, 3, 6, 9]), np.array([0, 1, 2, 0, 1, 3, 0, 1, 4]))
    with pytest.raises(hs.CorruptError, match="belongs to 3 faces"):
        grid_topology.edge_faces(grid_topology.face_edges(three, grid_topology.edge_nodes(three)), 7)
    with pytest.raises(hs.CorruptError, match="between the nodes 1 and 2"):
        grid_topology.face_edges(three, np.array([[0, 1], [0, 2]]))
    with pytest.raises(hs.InvalidInputError, match="no connectivity 'nodes'"):
        grid.connectivity("nodes")


def test_boxes_and_polygons_select_faces_and_nodes(mesh: pathlib.Path) -> None:
    grid = hs.models.ugrid.open(mesh).mesh()
    assert grid.select((0, 0, 1, 1), of="nodes").tolist() == [0, 1, 3, 4]
    assert grid.select((0, 0, 1, 1)).tolist() == [0] and grid.select((0, 0, 0.9, 0.9), rule="intersects").tolist() == [0]
    triangle = shapely.Polygon([(1.2, 0.1), (3, 0.1), (3, 0.9)])
    assert grid.select(polygon=triangle, rule="intersects").tolist() == [1, 2] and grid.select(polygon=triangle).tolist() == [2]
    for wrong in (
        {},
        {"box": (0, 0, 1, 1), "polygon": triangle},
        {"box": (0, 0, 1, 1), "of": "edges"},
        {"box": (0, 0, 1, 1), "of": "nodes", "rule": "intersects"},
    ):
        with pytest.raises(hs.InvalidInputError):
            grid.select(**wrong)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_geodesic_grids_tile_the_sphere(tmp_path: pathlib.Path, n: int) -> None:
    grid = geodesic_grid.Geodesic(n)
    geodesic_grid.write_ugrid(str(tmp_path / "geodesic.nc"), n, writers=3)
    geodesic_grid.write_mpas(str(tmp_path / "mpas.nc"), n)
    ugrid, mpas = hs.models.ugrid.open(tmp_path / "geodesic.nc"), hs.models.mpas.open(tmp_path / "mpas.nc")
    assert ugrid.validate() == mpas.validate() == [] and ugrid.omitted == mpas.omitted == {}
    assert grid.n_cells == 10 * n * n + 2 == ugrid.mesh().count("faces") == mpas.mesh().count("faces")
    _, _, corners = grid.cells(0, grid.n_cells)
    _, _, around = grid.vertices(0, grid.n_vertices)
    assert {(cell, v) for cell, own in enumerate(corners) for v in own if v >= 0} == {(cell, v) for v, own in enumerate(around) for cell in own}
    for mesh in (ugrid.mesh(), mpas.mesh()):
        shapes = shapely.from_wkb(mesh.polygons(encoding="wkb")["geometry"].to_numpy())
        assert shapely.is_valid(shapes).all() and shapely.area(shapes).sum() == pytest.approx(64800, rel=1e-12)
        lengths = np.diff(mesh.connectivity("face_faces").offsets)
        assert len(mesh.connectivity("edge_nodes")) == 30 * n * n and sorted(set(lengths)) in ([5], [5, 6]) and (lengths == 5).sum() == 12
        lon, lat = mesh.coordinates("faces")
        box = np.flatnonzero((abs(lon % 360 - 180) <= 10) & (abs(lat) <= 45))
        assert mesh.select((170, -45, -170, 45)).tolist() == box.tolist()
        by_shape = mesh.select(polygon=shapely.box(170, -45, 190, 45))
        assert by_shape.tolist() == box.tolist()


def test_faces_at_a_pole_and_across_the_date_line() -> None:
    def area(points: list[tuple[float, float]]) -> float:
        x, y = (np.array(column, float) for column in zip(*points, strict=True))
        lists = grid_topology.Lists(np.array([0, len(points)]), np.arange(len(points)))
        (ring,) = shapely.from_wkb(grid_polygons.wkb(grid_polygons.rings(lists, x, y, spherical=True)).to_pylist())
        assert ring.is_valid
        return float(ring.area)

    assert area([(170, 0), (-170, 0), (-170, 10), (170, 10)]) == 200
    assert area([(0, 80), (90, 80), (180, 80), (270, 80)]) == 3600
    assert area([(0, -80), (270, -80), (180, -80), (90, -80)]) == 3600
    assert area([(30, 80), (60, 80), (-123, 90)]) == 300
    assert area([(5, 90), (350, 80), (10, 80)]) == 200


@pytest.fixture
def mpas(tmp_path: pathlib.Path) -> pathlib.Path:
    geodesic_grid.write_mpas(str(tmp_path / "mpas.nc"), 3)
    return tmp_path / "mpas.nc"


def test_mpas_cells_have_degrees_lists_times_and_levels(mpas: pathlib.Path) -> None:
    with netCDF4.Dataset(mpas) as f:
        f.set_auto_mask(False)
        read = {name: f[name][:] for name in ("lonCell", "latCell", "xCell", "verticesOnCell", "nEdgesOnCell", "cellsOnVertex", "wave", "area")}
    view = hs.models.mpas.open(mpas)
    assert view.tables == ["cells", "cells_Time_nVertLevels", "vertices"] and view.certainty == "certain"
    cells = view.table("cells").to_arrow()
    assert np.array_equal(cells["lon"], read["lonCell"] * (180 / np.pi)) and np.array_equal(cells["lat"], read["latCell"] * (180 / np.pi))
    assert cells.schema.field("lon").metadata[b"units"] == b"degrees_east" and np.array_equal(cells["x"], read["xCell"])
    wanted = [(row[:count] - 1).tolist() for row, count in zip(read["verticesOnCell"], read["nEdgesOnCell"], strict=True)]
    assert lists(cells, "vertices") == wanted and np.array_equal(cells["area"], read["area"])
    assert lists(view.table("vertices").to_arrow(), "cells") == (read["cellsOnVertex"] - 1).tolist()
    times = view.table("cells_Time_nVertLevels", "lat > 30 and nVertLevels = 1").to_pandas()
    north = read["latCell"] * (180 / np.pi) > 30
    assert np.array_equal(times["wave"], read["wave"][:, north, 1].ravel())
    assert times["xtime"].unique().tolist() == [f"2000-01-01_{hour:02}:00:00" for hour in range(3)]
    part = view.table("cells_Time_nVertLevels", "xtime = '2000-01-01_01:00:00' and cell < 5").splits(2)
    assert np.array_equal(np.concatenate([split.read()["wave"] for split in pickle.loads(pickle.dumps(part))]), read["wave"][1, :5].ravel())
    lon = pickle.loads(pickle.dumps(view.table("cells", columns=["lon"]).splits(1)))[0].read()["lon"]
    assert np.array_equal(lon, cells["lon"])
    assert hs.sql("select count(*) from cells where lon > 180", mpas).fetchall() == [(int((np.asarray(cells["lon"]) > 180).sum()),)]


def test_mpas_on_a_plane_without_a_mesh_and_with_errors(mpas: pathlib.Path) -> None:
    with netCDF4.Dataset(mpas, "a") as f:
        f.on_a_sphere = "NO"
        f.createDimension("nEdges", 5)
        f.createDimension("TWO", 2)
        f.createVariable("cellsOnEdge", "i4", ("nEdges", "TWO"))[:] = [[1, 2], [0, 3], [4, 0], [5, 6], [7, 8]]
        f.createVariable("weights", "f8", ("nCells", "maxEdges"))
        f.createVariable("odd", "f8", ("nCells", "nVertices"))
        f.createVariable("levels", "f8", ("nVertLevels",))
    view = hs.models.mpas.open(mpas)
    assert lists(view.table("edges").to_arrow(), "cells") == [[0, 1], [None, 2], [3, None], [4, 5], [6, 7]]
    assert not view.mesh().is_spherical and view.mesh().count("edges") == 5
    assert view.omitted == {
        "/weights": "has lists of different lengths along maxEdges: read it as an array",
        "/odd": "has the dimensions nCells and nVertices",
        "/levels": "is not on cells, edges or vertices",
    }
    with netCDF4.Dataset(mpas, "a") as f:
        f["verticesOnCell"][3, 2] = 0
    with pytest.raises(hs.CorruptError, match="the index 0 is not within 1 to 180 in row 3") as caught:
        hs.models.mpas.open(mpas).table("cells").to_arrow()
    assert caught.value.object == "/verticesOnCell"
    with netCDF4.Dataset(mpas, "a") as f:
        f["nEdgesOnCell"][2] = 7
    with pytest.raises(hs.CorruptError, match="a count of 7 for 6 indexes in row 2"):
        hs.models.mpas.open(mpas).table("cells", "cell = 2").to_arrow()
    with netCDF4.Dataset(mpas, "a") as f:
        f.renameVariable("nEdgesOnCell", "number")
    view = hs.models.mpas.open(mpas)
    with pytest.raises(hs.CorruptError, match="there is no variable nEdgesOnCell"):
        view.table("cells")
    assert [problem.object for problem in view.validate()] == ["/verticesOnCell"] and view.table("vertices").count() == 180
    data = mpas.with_name("data.nc")
    with netCDF4.Dataset(data, "w") as f:
        f.model_name = "mpas"
        f.createDimension("nCells", 4)
        f.createVariable("t", "f8", ("nCells",))[:] = np.arange(4)
    view = hs.models.mpas.open(data)
    assert view.table("cells", columns=["cell", "t"]).to_arrow().to_pydict() == {"cell": [0, 1, 2, 3], "t": [0, 1, 2, 3]}
    with pytest.raises(hs.NotFoundError, match="no mesh"):
        view.mesh()


def test_writing_by_ranges_is_read_by_netcdf4(tmp_path: pathlib.Path) -> None:
    path, corners = tmp_path / "made.nc", np.array([own + [-1] * (4 - len(own)) for own in FACES])
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None)
        mesh = hs.models.ugrid.define(f, "plane", nodes=8, faces=4, edges=2, max_face_nodes=4, start_index=1, degrees=False, compression="zstd")
        mesh.create_data(f, "area", "face", "f4")
        mesh.create_data(f, "level", "node", "f8", ["time"])
        mesh.write(f, "node", slice(0, 8), x=X, y=Y)
        mesh.write(f, "face", slice(2, 4), nodes=corners[2:], area=[3, 4])
        mesh.write(f, "face", slice(0, 2), nodes=corners[:2], area=[1, 2])
        mesh.write(f, "edge", slice(None), nodes=[[0, 1], [1, 4]])
        for wrong, message in [
            ({"nodes": corners[:1]}, "have the shape"),
            ({"nodes": corners[:2] + 7}, "but there are 8 nodes"),
            ({"nodes": [[0, -1, 1, 2], [0, 1, 2, 3]]}, "only the end"),
        ]:
            with pytest.raises(hs.InvalidInputError, match=message):
                mesh.write(f, "face", slice(0, 2), **wrong)
        with pytest.raises(hs.InvalidInputError, match="has no 'volume'"):
            mesh.write(f, "volume", slice(0, 2))
        with pytest.raises(hs.InvalidInputError, match="counts from 2"):
            hs.models.ugrid.define(f, "wrong", nodes=3, faces=1, start_index=2)
    with netCDF4.Dataset(path) as f:
        assert f["plane"].cf_role == "mesh_topology" and f["plane"].topology_dimension == 2 and f.Conventions == "CF-1.11 UGRID-1.0"
        assert f["plane_face_nodes"].start_index == 1 and f["plane_face_nodes"][:].mask.sum() == 1
        assert f["plane_face_nodes"][:].filled(-1).tolist() == padded(FACES, 4, 1, -1).tolist() and f["area"][:].tolist() == [1, 2, 3, 4]
        assert f["area"].mesh == "plane" and f["area"].location == "face" and f["plane_node_x"][:].tolist() == X.tolist()
    view = hs.models.ugrid.open(path)
    assert lists(view.table("faces").to_arrow(), "nodes") == FACES and view.validate() == []
    assert lists(view.table("edges").to_arrow(), "nodes") == [[0, 1], [1, 4]] and pickle.loads(pickle.dumps(mesh)) == mesh


def test_damaged_files_are_errors_or_read(tmp_path: pathlib.Path) -> None:
    """Bytes of headers and values are changed: every door gives values or an error of ours."""
    geodesic_grid.write_mpas(str(tmp_path / "mpas.nc"), 1)
    files = [write_mesh(tmp_path / "a.nc", fmt="NETCDF3_CLASSIC"), write_mesh(tmp_path / "b.nc", start=1, transposed=True), tmp_path / "mpas.nc", REAL]
    sources, chosen = [file.read_bytes() for file in files], random.Random(5)
    read = refused = 0
    for _ in range(60):
        damaged = bytearray(chosen.choice(sources))
        for _ in range(chosen.choice((1, 1, 2, 5))):
            place = chosen.randrange(len(damaged))
            damaged[place] = chosen.choice((0, 1, 127, 128, 255, damaged[place] ^ 1 << chosen.randrange(8)))
        (tmp_path / "damaged.nc").write_bytes(damaged)
        try:
            with hs.open(tmp_path / "damaged.nc") as file:
                for found in file.models:
                    view = (hs.models.ugrid if found.name == "ugrid" else hs.models.mpas).open(file)
                    assert isinstance(view.validate(), list) and isinstance(view.omitted, dict)
                    for name in view.tables:
                        read += view.table(name, omitted="ignore").count() > 0
                    mesh = view.mesh()
                    assert mesh.polygons().num_rows == mesh.polygons(encoding="wkb").num_rows and len(mesh.connectivity("face_faces")) >= 0
        except hs.Error:
            refused += 1
    assert read > 100 and refused > 5
