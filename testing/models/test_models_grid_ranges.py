"""Data on meshes are written along the dimension of their elements, wherever that dimension is, by files and by tasks. Judges: numpy and netCDF4."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pytest

COUNT = 6
TIMES, LEVELS = 3, 2


def define(target: Any, model: str, **options: Any) -> tuple[Any, str]:
    """A mesh of 6 faces or cells, and what they are called."""
    if model == "ugrid":
        return hs.models.ugrid.define(target, nodes=8, faces=COUNT, **options), "face"
    return hs.models.mpas.define(target, cells=COUNT, vertices=8, times=False, **options), "cell"


def create(mesh: Any, target: Any, location: str, model: str, dims: list[str], levels: bool) -> list[str]:
    """A variable `t` with other dimensions before the elements, and in MPAS one after them. Returns its dimensions."""
    if model == "ugrid":
        before = [*dims, *(["levels"] if levels else [])]
        mesh.create_data(target, "t", location, dims=before)
        return [*before, "mesh_nfaces"]
    mesh.create_data(target, "t", location, dims=dims, levels="levels" if levels else "")
    return [*dims, "nCells", *(["levels"] if levels else [])]


def read(path: pathlib.Path) -> np.ndarray:
    with netCDF4.Dataset(path) as f:
        return np.ma.filled(f["t"][:], -1.0)


SELECTIONS: list[dict[str, Any]] = [{}, {"time": 0}, {"time": 2}, {"time": -1}, {"time": slice(1, 3)}, {"levels": 1}, {"time": 1, "levels": 0}]
PARTS = [slice(None), slice(0, 3), slice(2, 6), slice(4, 5), slice(3, 3)]


def test_values_go_along_the_elements(tmp_path: pathlib.Path) -> None:
    path, count = tmp_path / "made.nc", 0
    for model, unlimited, levels, at, part in itertools.product(("ugrid", "mpas"), (False, True), (False, True), SELECTIONS, PARTS):
        if ("levels" in at and not levels) or (unlimited and at.get("time") == -1):
            continue
        with hs.create_netcdf(path) as f:
            f.create_dimension("time", None if unlimited else TIMES)
            f.create_dimension("levels", LEVELS)
            mesh, location = define(f, model)
            dims = create(mesh, f, location, model, ["time"], levels)
            sizes = {"time": TIMES, "levels": LEVELS}
            want = np.full([sizes.get(dim, COUNT) for dim in dims], -1.0)
            key = tuple(at.get(dim, slice(None)) if dim in sizes else part for dim in dims)
            values = np.random.default_rng(count).normal(size=want[key].shape)
            want[key] = values
            mesh.write(f, location, part, at=at, t=values)
        got = read(path)
        # An unlimited dimension is as long as what was written.
        assert got.shape[1:] == want.shape[1:] and np.array_equal(got, want[: len(got)]) and (want[len(got) :] == -1).all(), (
            model,
            unlimited,
            levels,
            at,
            part,
        )
        count += 1
    print(f"{count} ranges")
    assert count > 150


@pytest.mark.parametrize("unlimited", [False, True])
def test_what_is_ambiguous_is_refused_and_changes_nothing(tmp_path: pathlib.Path, unlimited: bool) -> None:
    path = tmp_path / "made.nc"
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None if unlimited else TIMES)
        mesh, _ = define(f, "ugrid")
        mesh.create_data(f, "t", "face", dims=["time"])
        mesh.create_data(f, "on_nodes", "node")
        f.create_variable("twice", ["mesh_nfaces", "mesh_nfaces"], "f8")
        for given, message in [
            ({"t": np.arange(6.0)}, r"the shape \(6,\), and it is written over \(time, mesh_nfaces\)"),
            ({"t": np.zeros((3, 5))}, r"of \(3, 6\)"),
            ({"t": np.zeros((6, 3))}, "the shape"),
            ({"t": np.zeros((1, 6)), "at": {"time": 0}}, r"over \(mesh_nfaces\)"),
            ({"t": np.zeros(6), "at": {"hour": 0}}, "no other dimension 'hour'"),
            ({"t": np.zeros(3), "at": {"mesh_nfaces": 0}}, "no other dimension 'mesh_nfaces'"),
            ({"t": np.zeros(6), "at": {"time": -4}}, "index -4"),
            ({"t": np.zeros((2, 6)), "at": {"time": slice(0, 4, 2)}}, "without a step"),
            ({"on_nodes": np.zeros(6)}, "does not have the dimension 'mesh_nfaces'"),
            ({"twice": np.zeros((6, 6))}, "more than once"),
            ({"t": [[1.0], [1.0, 2.0]]}, "different lengths"),
        ]:
            with pytest.raises(hs.InvalidInputError, match=message):
                mesh.write(f, "face", slice(0, 6), **given)
        assert f["t"].shape == (0 if unlimited else TIMES, 6)
        if unlimited:
            with pytest.raises(hs.InvalidInputError, match="'time' is unlimited"):
                mesh.write(f, "face", slice(0, 6), t=1.0)
        mesh.write(f, "face", slice(0, 6), at={"time": 1}, t=2.5)
    assert read(path)[1].tolist() == [2.5] * 6 and (read(path)[0] != 2.5).all()


@pytest.mark.parametrize("model", ["ugrid", "mpas"])
@pytest.mark.parametrize("writers", [None, 2, 3])
def test_tasks_write_their_elements_of_all_times(tmp_path: pathlib.Path, model: str, writers: int | None) -> None:
    """A plan that knows its writers divides the elements among them, not the times."""
    path, tasks = tmp_path / "made.nc", writers or 2
    plan = hs.NetcdfPlan(path, writers=writers)
    plan.create_dimension("time", TIMES)
    plan.create_dimension("levels", LEVELS)
    mesh, location = define(plan, model)
    dims = create(mesh, plan, location, model, ["time"], True)
    want = np.random.default_rng(1).normal(size=[{"time": TIMES, "levels": LEVELS}.get(dim, COUNT) for dim in dims])
    axis, fragments = next(i for i, dim in enumerate(dims) if dim not in ("time", "levels")), []
    for number in range(tasks):
        with plan.task(number) as task:
            part = slice(COUNT * number // tasks, COUNT * (number + 1) // tasks)
            if writers is not None:
                part = task.region("/t")[axis]
                assert task.region("/t")[:axis] == tuple(slice(0, want.shape[i]) for i in range(axis))
            for time in range(TIMES):
                key = tuple({"time": time, "levels": slice(None)}.get(dim, part) for dim in dims)
                mesh.write(task, location, part, at={"time": time}, t=want[key])
            fragments.append(task.finish())
    plan.commit(fragments)
    assert np.array_equal(hs.open(path)["t"][:], want)
    with netCDF4.Dataset(path) as f:
        assert f["t"].dimensions == tuple(dims) and np.array_equal(f["t"][:], want)


def test_tasks_do_not_write_elements_along_an_unlimited_dimension(tmp_path: pathlib.Path) -> None:
    plan = hs.NetcdfPlan(tmp_path / "made.nc")
    mesh = hs.models.mpas.define(plan, cells=COUNT, vertices=8)
    mesh.create_data(plan, "t", dims=["Time"])
    mesh.create_data(plan, "whole", dims=["Time"], shape=(2, COUNT))
    with plan.task(0) as task:
        with pytest.raises(hs.UnsupportedError, match="define 'Time' with its size"):
            mesh.write(task, "cell", slice(0, 6), at={"Time": 0}, t=np.arange(6.0))
        mesh.write(task, "cell", slice(0, 6), at={"Time": 1}, whole=np.arange(6.0))
        fragment = task.finish()
    plan.commit([fragment])
    assert hs.open(tmp_path / "made.nc")["whole"][1].tolist() == list(range(6))


def test_an_edited_file_takes_ranges_of_elements(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.nc"
    with hs.create_netcdf(path) as f:
        f.create_dimension("time", None)
        mesh, _ = define(f, "ugrid")
        mesh.create_data(f, "t", "face", dims=["time"])
        mesh.write(f, "face", slice(0, 6), t=np.zeros((2, 6)))
    with hs.open(path, "r+") as f:
        mesh.write(f, "face", slice(2, 4), at={"time": 1}, t=[7.0, 8.0])
    assert read(path).tolist() == [[0.0] * 6, [0.0, 0.0, 7.0, 8.0, 0.0, 0.0]]
