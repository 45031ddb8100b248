"""Tables of data models as DataFrames: rows of all steps, categories, ragged rows; against what h5py reads."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("models") / "run.h5part"
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        for step in (0, 2, 10):
            group = f.create_group(f"Step#{step}")
            group.attrs["TIME"] = np.array([step / 3])
            group["x"], group["id"] = random.normal(size=400 + step), random.permutation(400 + step)
    return path


def test_particles_of_all_steps(spark: Any, run: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("model", "h5part").option("table", "particles").option("targetPartitionBytes", "2k").load(str(run))
    assert frame.columns == ["step", "time", "id", "x"] and frame.rdd.getNumPartitions() > 1
    with h5py.File(run) as f:
        wanted = [(step, step / 3, int(i), float(x)) for step in (0, 2, 10) for i, x in zip(f[f"Step#{step}/id"][:], f[f"Step#{step}/x"][:], strict=True)]
    assert [tuple(row) for row in frame.collect()] == wanted
    chosen = frame.where("step >= 2 and x > 0.5")
    assert [tuple(row) for row in chosen.collect()] == [row for row in wanted if row[0] >= 2 and row[3] > 0.5]
    assert frame.where("step = 2").count() == 402 and frame.where("time > 100").count() == 0
    assert {row["step"]: row["count"] for row in frame.groupBy("step").count().collect()} == {0: 400, 2: 402, 10: 410}
    # `_row` counts within a step, so that Spark sorts by it.
    assert [row[0] for row in frame.select("id", "_row").orderBy("_row", "id").limit(3).collect()] == sorted(
        row[2] for row in (wanted[0], wanted[400], wanted[802])
    )
    steps = spark.read.format("hdf5").option("model", "h5part").option("table", "steps").load(str(run))
    assert [tuple(row) for row in steps.select("step", "particles").collect()] == [(0, 400), (2, 402), (10, 410)]


def test_data_frames_and_sparse_rows(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as f:
        f.attrs["encoding-type"] = "anndata"
        for name in ("obs", "var"):
            group = f.create_group(name)
            group.attrs["encoding-type"], group.attrs["_index"] = "dataframe", "_index"
            group.attrs["column-order"] = np.array(["kind", "maybe"] if name == "obs" else [], dtype=object if name == "obs" else float)
            group["_index"] = np.array([f"{name}{i}" for i in range(3)], dtype=object)
        f["obs/kind/codes"], f["obs/kind/categories"] = np.array([1, -1, 0], "i1"), np.array(["a", "b"], dtype=object)
        f["obs/maybe/values"], f["obs/maybe/mask"] = np.array([5, 6, 7]), np.array([False, True, False])
        f["obs/kind"].attrs["encoding-type"], f["obs/maybe"].attrs["encoding-type"] = "categorical", "nullable-integer"
        x = f.create_group("X")
        x.attrs["encoding-type"], x.attrs["shape"] = "csr_matrix", (3, 3)
        x["data"], x["indices"], x["indptr"] = np.array([1.5, 2.5, 3.5]), np.array([0, 2, 1]), np.array([0, 2, 2, 3])
    read = spark.read.format("hdf5").option("model", "anndata")
    assert [tuple(row) for row in read.option("table", "obs").load(str(path)).collect()] == [("obs0", "b", 5), ("obs1", None, None), ("obs2", "a", 7)]
    assert [tuple(row) for row in read.option("table", "X").load(str(path)).collect()] == [
        ("obs0", [0, 2], [1.5, 2.5]),
        ("obs1", [], []),
        ("obs2", [1], [3.5]),
    ]


def test_what_the_options_need(spark: Any, run: pathlib.Path) -> None:
    for options, message in [
        ({"model": "h5part"}, "needs option table"),
        ({"table": "particles"}, "needs option model"),
        ({"model": "h5prat", "table": "particles"}, "there is no data model"),
        ({"model": "h5part", "table": "particle"}, "there is no table"),
        ({"model": "anndata", "table": "obs"}, "is not recognized as anndata"),
    ]:
        with pytest.raises(Exception, match=message):
            spark.read.format("hdf5").options(**options).load(str(run)).count()


def test_meshes(spark: Any, tmp_path: pathlib.Path) -> None:
    path, faces = tmp_path / "mesh.nc", [[0, 1, 2, 3], [2, 3, 4]]
    wave = np.arange(6.0).reshape(3, 2)
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", 3)
        mesh = hs.models.ugrid.define(f, nodes=5, faces=2, max_face_nodes=4, start_index=1, face_coordinates=True)
        mesh.create_data(f, "wave", "face", dims=["time"])[:] = wave
        mesh.write(f, "node", slice(None), x=np.arange(5.0), y=np.zeros(5))
        mesh.write(f, "face", slice(None), nodes=[[0, 1, 2, 3], [2, 3, 4, -1]], x=[1.5, 3], y=[0, 0])
    read = spark.read.format("hdf5").option("model", "ugrid")
    table = read.option("table", "faces").load(str(path))
    assert [tuple(row) for row in table.select("face", "nodes").collect()] == list(enumerate(faces))
    assert [row["node"] for row in table.where("x > 2").selectExpr("explode(nodes) as node").collect()] == faces[1]
    times = read.option("table", "faces_time").load(str(path))
    assert [tuple(row) for row in times.where("x < 2").select("time", "wave").collect()] == [(time, wave[time, 0]) for time in range(3)]


def of_nexus(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        for name, kind in (("entry", "NXentry"), ("entry/data", "NXdata")):
            f.create_group(name).attrs["NX_class"] = kind
        f["entry/data"].attrs["signal"], f["entry/data"].attrs["axes"] = "counts", "angle"
        f["entry/data/counts"], f["entry/data/angle"] = np.arange(5), np.linspace(0, 1, 5)


def of_nwb(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["nwb_version"], f.attrs["neurodata_type"] = "2.8.0", "NWBFile"
        series = f.create_group("acquisition/volts")
        series.attrs["neurodata_type"], series.attrs["namespace"] = "TimeSeries", "core"
        series["data"], series["timestamps"] = np.array([1, 2, 3], "i2"), np.array([0.0, 0.5, 1.0])
        series["data"].attrs["conversion"], series["data"].attrs["unit"] = 0.25, "V"


def of_keras(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["keras_version"], f.attrs["model_config"] = "2.15.0", '{"class_name": "Sequential"}'
        layers = f.create_group("model_weights")
        layers.attrs["layer_names"] = [b"dense"]
        layers.create_group("dense").attrs["weight_names"] = [b"dense/kernel:0"]
        layers["dense/dense/kernel:0"] = np.ones((3, 4), "f4")


def of_photon(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["format_name"], f.attrs["format_version"] = "Photon-HDF5", "0.5"
        f["photon_data/timestamps"], f["photon_data/detectors"] = [100, 250, 300], [0, 1, 0]
        f["photon_data/timestamps_specs/timestamps_unit"] = 1e-8


def of_cf(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        f.attrs["Conventions"] = "CF-1.11"
        for name, size, units in (("lat", 2, "degrees_north"), ("lon", 3, "degrees_east")):
            f.create_dimension(name, size)
            f.create_variable(name, [name], data=np.arange(float(size)), attrs={"units": units, "standard_name": f"{name}itude"})
        f.create_variable("t", ["lat", "lon"], data=np.arange(6.0).reshape(2, 3), attrs={"units": "K", "standard_name": "air_temperature"})


def of_openpmd(path: pathlib.Path) -> None:
    record = hs.models.openpmd.Record
    with hs.models.openpmd.create(path) as series:
        for number in (0, 10):
            position = record(values={"x": np.arange(4.0) + number}, unit_si=0.5, dimension=(1, 0, 0, 0, 0, 0, 0))
            series.write_iteration(number, time=number, dt=1, particles={"e": {"position": position}})


def of_h5block(path: pathlib.Path) -> None:
    with hs.models.h5block.create(path, (2, 3, 4), origin=(0, 0, 1), spacing=(0.5, 1, 2)) as run:
        for step in range(2):
            run.write_step({"phi": np.arange(24.0).reshape(2, 3, 4) + step, "E": [np.full((2, 3, 4), c + step) for c in range(3)]}, time=step / 2)


def of_chombo(path: pathlib.Path) -> None:
    corners = np.dtype([("lo_i", "i4"), ("lo_j", "i4"), ("hi_i", "i4"), ("hi_j", "i4")])
    with h5py.File(path, "w") as f:
        f.create_group("Chombo_global").attrs["SpaceDim"] = 2
        f.attrs["num_components"], f.attrs["component_0"], f.attrs["num_levels"] = 1, "density", 2
        for number, boxes in enumerate([[(0, 0, 3, 1), (0, 2, 3, 3)], [(2, 2, 5, 3)]]):
            level = f.create_group(f"level_{number}")
            level.attrs["dx"], level.attrs["ref_ratio"] = 1.0 / 2**number, 2
            level["boxes"], level["data:datatype=0"] = np.array(boxes, corners), np.arange(8.0 * len(boxes)) + 100 * number
            level["data:offsets=0"] = np.arange(len(boxes) + 1) * 8


def of_vtkhdf(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        group = f.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Type"], group.attrs["Origin"] = [2, 2], np.bytes_("OverlappingAMR"), np.zeros(3)
        for number, box in enumerate([(0, 3, 0, 3, 0, 1), (2, 5, 2, 5, 0, 1)]):
            level = group.create_group(f"Level{number}")
            level.attrs["Spacing"], level["AMRBox"] = np.full(3, 0.5**number), np.array([box])
            level["CellData/rho"] = np.arange(32.0) + 100 * number


def of_flash(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f["bounding box"] = np.array([[[0.0, 2.0]], [[0.0, 1.0]], [[1.0, 2.0]]])
        f["refine level"], f["node type"], f["gid"] = [1, 2, 2], [2, 1, 1], np.zeros((3, 5), "i4")
        f["unknown names"], f["dens"] = np.array([[b"dens"]]), np.arange(12.0).reshape(3, 1, 1, 4)


def of_loom(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f["attrs/LOOM_SPEC_VERSION"] = "3.0.0"
        f["matrix"] = np.arange(12.0).reshape(4, 3)
        f["col_attrs/CellID"], f["col_attrs/depth"] = np.array(["a", "b", "c"], dtype=object), [10, 20, 30]
        f["row_attrs/Gene"] = np.array(["g", "h", "i", "j"], dtype=object)
        for group in ("layers", "row_graphs", "col_graphs"):
            f.create_group(group)


def of_matlab(path: pathlib.Path) -> None:
    hs.models.matlab.write(path, {"trial": {"time": np.array([0.0, 0.5, 1.0]), "count": np.array([3, 1, 2], "i4")}, "name": "a run"})


def of_pytables(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.attrs["PYTABLES_FORMAT_VERSION"] = np.bytes_("2.1")
        rows = np.array([(1, 0.5, b"ab"), (2, 1.5, b"c"), (3, 2.5, b"")], [("n", "i4"), ("x", "f8"), ("s", "S3")])
        table = f.create_dataset("run/hits", data=rows, chunks=(2,), maxshape=(None,))
        table.attrs["CLASS"], table.attrs["VERSION"], table.attrs["NROWS"] = np.bytes_("TABLE"), np.bytes_("2.7"), np.int64(3)


def of_mpas(path: pathlib.Path) -> None:
    with hs.create_netcdf(path) as f:
        plane = hs.models.mpas.define(f, cells=2, vertices=6, max_edges=4, vertex_degree=4, radius=None)
        plane.create_data(f, "area")
        plane.write(f, "cell", slice(None), x=[0.5, 1.5], y=[0.5, 0.5], vertices=[[0, 1, 4, 3], [1, 2, 5, 4]], area=np.array([1.0, 2.0]))
        cells = [[0, -1, -1, -1], [0, 1, -1, -1], [1, -1, -1, -1]] * 2
        plane.write(f, "vertex", slice(None), x=[0.0, 1.0, 2.0] * 2, y=[0.0] * 3 + [1.0] * 3, cells=cells)


#: A file of each model whose tables no other test reads.
FILES = [
    ("h5block", of_h5block, "phi > 20"),
    ("chombo", of_chombo, "density > 5"),
    ("flash", of_flash, "dens > 5 and not covered"),
    ("vtkhdf", of_vtkhdf, "rho > 5 and not covered"),
    ("loom", of_loom, "depth > 10"),
    ("matlab", of_matlab, "count > 1"),
    ("pytables", of_pytables, "x > 1"),
    ("mpas", of_mpas, "area > 1"),
    ("nexus", of_nexus, "counts > 1"),
    ("nwb", of_nwb, "time > 0.1"),
    ("keras", of_keras, "parameters = 12"),
    ("photon_hdf5", of_photon, "timestamp > 100"),
    ("cf", of_cf, "t > 2"),
    ("openpmd", of_openpmd, "iteration = 10 and position_x > 5"),
]


def test_every_model_has_a_file() -> None:
    # pandas reads files of PyTables, and has no tables of its own, as JLD2; loom is read by the module of AnnData.
    modules = {name for name in hs.models.__all__ if name.islower()} - {"pandas", "jld2"} | {"loom"}
    assert {"h5part", "anndata", "ugrid"} | {model for model, _, _ in FILES} == modules


@pytest.mark.parametrize(("model", "make", "where"), FILES, ids=[model for model, _, _ in FILES])
def test_a_table_of_each_model(spark: Any, tmp_path: pathlib.Path, model: str, make: Any, where: str) -> None:
    path = tmp_path / "file.h5"
    make(path)
    with hs.open(path) as f:
        (view,) = [found for found in f.models if found.name == model]
        table = next(name for name in view.tables if where.split()[0] in view.table(name, omitted="ignore").schema.names)
        whole, chosen = (view.table(table, condition, omitted="ignore").to_arrow().to_pylist() for condition in (None, where))
    assert 0 < len(chosen) <= len(whole) and (model == "keras" or len(chosen) < len(whole))
    frame = spark.read.format("hdf5").option("model", model).option("table", table).load(str(path))
    assert [row.asDict() for row in frame.collect()] == whole
    assert [row.asDict() for row in frame.where(where).collect()] == chosen
