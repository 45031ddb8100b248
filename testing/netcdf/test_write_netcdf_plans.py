"""Many writers of one netCDF-4 file: the master, after more commits, and fused, compared with what netCDF4-python writes alone."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import pathlib
import pickle
import threading
import time
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray
from hyperslab.netcdf.planning import PlannedContents

X, Y = 6, 4
FIELD = np.random.default_rng(2).normal(size=(12, Y, X)).astype("f4")


def define(plan: hs.NetcdfPlan) -> None:
    plan.create_dimension("time", None)
    plan.create_dimension("y", Y)
    plan.create_dimension("x", X)
    plan.create_dimension("step", None)
    plan.attrs["title"] = "a model"
    plan.attrs["history"] = "çelik"
    plan.create_variable("x", ["x"], data=np.arange(X) * 0.5, attrs={"units": "m"})
    plan.create_variable("time", ["time"], "M8[h]", attrs={"long_name": "time"})
    plan.create_variable("t2m", ["time", "y", "x"], "f4", fill_value=-999, attrs={"units": "K"}, compression="gzip", shuffle=True)
    plan.create_variable("mask", ["y", "x"], "i2", attrs={"long_name": "land"})
    plan.create_variable("name", ["y"], str, data=["a", "bç", "c", "d"])
    plan.create_variable("run", (), "i4", data=7)
    g = plan.create_group("diag")
    g.attrs["of"] = "the model"
    g.create_dimension("k", 2)
    kind = g.create_enum_type("kind_t", "u1", {"dry": 0, "wet": 1})
    g.create_variable("kind", ["step", "k"], kind)
    g.create_variable("text", ["step"], str)
    g.create_variable("pair", ["k"], g.create_compound_type("pair_t", [("a", "i4"), ("b", "f8")]), data=[(1, 0.5), (2, 1.5)])


def write(task: hs.NetcdfTask, number: int, first: int = 0) -> None:
    rows = slice(first + 2 * number, first + 2 * number + 2)
    hours = np.arange(rows.start, rows.stop)
    task.write("time", np.datetime64("2000-01-01", "h") + hours.astype("m8[h]"))
    values = np.ma.masked_less(FIELD[rows], -1)
    task.variable("t2m").append(values)
    if first == 0:
        mask = task.variable("mask", np.s_[number : number + 1])
        mask[number] = np.arange(X) + 10 * number
    task.variable("diag/kind").append(np.array([[number % 2, 1]], "u1"))
    task.write("diag/text", [f"task {number}"])


def alone(path: pathlib.Path, count: int, more: int) -> None:
    """The same by netCDF4-python."""
    with netCDF4.Dataset(path, "w") as f:
        for name, size in (("time", None), ("y", Y), ("x", X), ("step", None)):
            f.createDimension(name, size)
        f.title, f.history = "a model", "çelik"
        x = f.createVariable("x", "f8", ("x",))
        x[:] = np.arange(X) * 0.5
        x.units = "m"
        time = f.createVariable("time", "i8", ("time",))
        time.units, time.calendar, time.long_name = "hours since 1970-01-01 00:00:00", "proleptic_gregorian", "time"
        t2m = f.createVariable("t2m", "f4", ("time", "y", "x"), fill_value=-999, zlib=True)
        t2m.units = "K"
        mask = f.createVariable("mask", "i2", ("y", "x"))
        mask.long_name = "land"
        name = f.createVariable("name", str, ("y",))
        name[:] = np.array(["a", "bç", "c", "d"], object)
        f.createVariable("run", "i4", ())[...] = 7
        g = f.createGroup("diag")
        g.setncattr("of", "the model")
        g.createDimension("k", 2)
        kind = g.createVariable("kind", g.createEnumType("u1", "kind_t", {"dry": 0, "wet": 1}), ("step", "k"))
        text = g.createVariable("text", str, ("step",))
        pair_t = g.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair_t")
        g.createVariable("pair", pair_t, ("k",))[:] = np.array([(1, 0.5), (2, 1.5)], pair_t.dtype)
        place = 0
        for first, tasks in ((0, count), (2 * count, more)):
            for number in range(tasks):
                rows = slice(first + 2 * number, first + 2 * number + 2)
                time[rows] = np.arange(rows.start, rows.stop) + int(np.datetime64("2000-01-01", "h").astype("i8"))
                t2m[rows] = np.ma.masked_less(FIELD[rows], -1)
                if first == 0:
                    mask[number] = np.arange(X) + 10 * number
                kind[place], text[place] = [number % 2, 1], f"task {number}"
                place += 1


def same(ours: pathlib.Path, theirs: pathlib.Path, is_master: bool) -> None:
    def compare(f: Any, g: Any) -> None:
        names = [name for name in f.ncattrs() if not is_master or name != "_hyperslab_commit"]
        assert names == g.ncattrs() and list(f.groups) == list(g.groups) and list(f.variables) == list(g.variables), (names, g.ncattrs(), list(f.variables))
        assert {n: (len(d), d.isunlimited()) for n, d in f.dimensions.items()} == {n: (len(d), d.isunlimited()) for n, d in g.dimensions.items()}
        assert (
            [f.getncattr(n) for n in names] == [g.getncattr(n) for n in g.ncattrs()]
            and list(f.enumtypes) == list(g.enumtypes)
            and list(f.cmptypes) == list(g.cmptypes)
        )
        for name, v in g.variables.items():
            u = f.variables[name]
            assert u.dimensions == v.dimensions and u.shape == v.shape and u.dtype == v.dtype and sorted(u.ncattrs()) == sorted(v.ncattrs()), name
            assert all(u.getncattr(n) == v.getncattr(n) for n in v.ncattrs()), name
            a, b = u[...], v[...]
            np.testing.assert_array_equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b), name)
            np.testing.assert_array_equal(np.ma.filled(a), np.ma.filled(b), name)
        for name in g.groups:
            compare(f.groups[name], g.groups[name])

    with netCDF4.Dataset(ours) as f, netCDF4.Dataset(theirs) as g:
        compare(f, g)
    for group in ("/", "diag"):
        with xarray.open_dataset(ours, group=group, engine="netcdf4") as f, xarray.open_dataset(theirs, group=group, engine="netcdf4") as g:
            f.load().attrs.pop("_hyperslab_commit", None)
            xarray.testing.assert_identical(f, g.load())
    with hs.open(ours) as f, hs.open(theirs) as g:
        for path in ("x", "time", "t2m", "mask", "run", "diag/kind", "diag/pair"):
            assert f[path].dims == g[path].dims
            np.testing.assert_array_equal(f[path][...], g[path][...], path)
    with h5py.File(ours) as f:
        assert (
            f["t2m"].dims[0][0] == f["time"]
            and f["t2m"].dims[2][0] == f["x"]
            and f["diag/kind"].dims[0][0] == f["step"]
            and f["diag/kind"].dims[1][0] == f["diag/k"]
        )
        assert f["t2m"].is_virtual == is_master and f["t2m"].maxshape == (None, Y, X) and f["diag/pair"].id.get_type().committed()
    a, b = (dump_tools.run("ncdump", path) for path in (ours, theirs))
    if a is not None and b is not None:
        assert [line for line in a.splitlines()[1:] if "_hyperslab_commit" not in line] == b.splitlines()[1:]


def by_process(plan: bytes, number: int, first: int) -> bytes:
    with pickle.loads(plan).task(number) as task:
        write(task, number, first)
        return task.finish()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["here", "threads", "processes"])
def test_many_writers_of_one_netcdf_file(tmp_path: pathlib.Path, how: str) -> None:
    path = tmp_path / "x.nc"
    for mode, first, count in (("x", 0, 4), ("a", 8, 2)):
        plan = hs.NetcdfPlan(path, mode)
        define(plan)
        packed = pickle.dumps(plan)
        if how == "here":
            fragments = [by_process(packed, number, first) for number in range(count)]
        else:
            pool = (
                concurrent.futures.ThreadPoolExecutor(3)
                if how == "threads"
                else concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
            )
            with pool:
                fragments = list(pool.map(by_process, [packed] * count, range(count), [first] * count))
        plan.commit(fragments[::-1])
        theirs = tmp_path / f"theirs{first}.nc"
        alone(theirs, 4, 0 if mode == "x" else 2)
        same(path, theirs, True)
        assert hs.verify(path, values=True).problems == []
    hs.fuse(path, tmp_path / "one.nc")
    same(tmp_path / "one.nc", theirs, False)
    for file in (tmp_path / "one.nc", theirs):
        for mode in ("a", "r+"):
            with netCDF4.Dataset(file, mode) as f:
                n = len(f.dimensions["time"])
                f["time"][n] = 5
                f["t2m"][n] = n
                f["diag/text"][1] = "new"
                f["diag/kind"][0] = [1, 0]
                f.history = "a longer one"
                f.createVariable(f"v{mode[0]}", "f4", ("time", "x"))[0] = 1
    same(tmp_path / "one.nc", theirs, False)


def test_shared_subfiles(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.nc"
    plan = hs.NetcdfPlan(path, writers=4, factor=2)
    plan.create_dimension("time", None)
    plan.create_dimension("y", 8)
    plan.create_dimension("x", 100)
    plan.create_variable("field", ["y", "x"], "f8", attrs={"units": "1"})
    plan.create_variable("series", ["time", "x"], "i4", shape=(12, 100), chunks=(3, 100), compression="zstd")
    plan.create_variable("tiles", ["y", "x"], "f4", regions=[np.s_[:, n * 25 : n * 25 + 25] for n in range(4)])
    plan.create_variable("time", ["time"], data=np.arange(12))
    plan = pickle.loads(pickle.dumps(plan))
    fragments = []
    for number in range(4):
        with plan.task(number) as task:
            for name in ("field", "series", "tiles"):
                task.write(name, number)
            fragments.append(task.finish())
    done = plan.commit(fragments)
    assert len(done.subfiles) == 2
    hs.fuse(path, tmp_path / "one.nc")
    for file in (path, tmp_path / "one.nc"):
        with netCDF4.Dataset(file) as f:
            assert (
                f["field"][:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
                and f["series"][:, 5].tolist() == sorted([0, 1, 2, 3] * 3)
                and f["tiles"][3, ::25].tolist() == [0, 1, 2, 3]
            )
            assert f.dimensions["time"].isunlimited() and f["time"][:].tolist() == list(range(12)) and f["field"].units == "1"
    with netCDF4.Dataset(tmp_path / "one.nc", "a") as f:
        f["series"][12] = 9
    with netCDF4.Dataset(tmp_path / "one.nc") as f:
        assert f["series"][11:].tolist() == [[3] * 100, [9] * 100]


def test_an_append_may_say_less_and_more(tmp_path: pathlib.Path) -> None:
    """A plan that appends defines what it writes, and new dimensions and variables."""
    path = tmp_path / "x.nc"
    plan = hs.NetcdfPlan(path)
    plan.create_dimension("z", 2)
    plan.create_dimension("step", None)
    plan.create_dimension("x", 3)
    plan.create_variable("x", ["x"], data=[1, 2, 3])
    plan.create_variable("a", ["step", "x"], "i4")
    with plan.task(0) as task:
        task.variable("a").append([[1, 2, 3]])
        plan.commit([task.finish()])
    more = hs.NetcdfPlan(path, "a")
    more.create_dimension("x", 3)
    more.create_dimension("step", None)
    more.create_dimension("new", 2)
    more.create_variable("a", ["step", "x"], "i4")
    more.create_variable("b", ["new", "step"], "i4", shape=(2, 2))
    more.attrs["note"] = "second"
    with more.task(0) as task:
        task.variable("a").append([[4, 5, 6]])
        task.variable("b")[:] = [[1, 2], [3, 4]]
        more.commit([task.finish()])
    hs.fuse(path, tmp_path / "one.nc")
    for file in (path, tmp_path / "one.nc"):
        with netCDF4.Dataset(file) as f:
            assert {n: (len(d), d.isunlimited()) for n, d in f.dimensions.items()} == {"z": (2, False), "step": (2, True), "x": (3, False), "new": (2, False)}
            assert (
                f["a"][:].tolist() == [[1, 2, 3], [4, 5, 6]]
                and f["b"][:].tolist() == [[1, 2], [3, 4]]
                and f["b"].dimensions == ("new", "step")
                and f.note == "second"
            )


@pytest.mark.parametrize(
    "how, words",
    [
        (lambda p: p.create_variable("v", ["x", "time"], "i4"), "give shape="),
        (lambda p: p.create_variable("v", ["x"], "i4", regions=[np.s_[0:1]]), "give the plan writers="),
        (lambda p: p.create_variable("v", ["time", "x"], "i4", shape=(3, 5)), r"shape=\(3, 5\)"),
        (lambda p: p.create_dataset("v", data=[1]), "create variables"),
        (lambda p: (p.task(0).abort(), p.create_dimension("late", 3), p.commit([])), None),
        (lambda p: p.task(0).variable("nowhere"), "there is no variable 'nowhere' in the plan: there are time, x"),
        (lambda p: p.task(0).variable("x")[:], "'NetcdfVariable' object is not subscriptable|the plan has the values"),
        (lambda p: p.task(0).create_dataset("v", data=[1]), "let the plan create the variable"),
        (lambda p: p.task(0).variable("time").append(np.array(["2000-01-01T01"], "M8[h]")), "not a whole number of days"),
        (lambda p: pickle.loads(pickle.dumps(p)).create_dimension("z", 2), "defines no more"),
    ],
)
def test_what_a_plan_refuses(tmp_path: pathlib.Path, how: Any, words: str | None) -> None:
    plan = hs.NetcdfPlan(tmp_path / "x.nc")
    plan.create_dimension("time", None)
    plan.create_dimension("x", 4)
    plan.create_variable("time", ["time"], "i4", units="days since 2000-01-01", calendar="standard")
    plan.create_variable("x", ["x"], data=[1, 2, 3, 4])
    with pytest.raises((hs.Error, TypeError), match=words):
        how(plan)
    plan.abort()


def test_tasks_that_contradict_the_plan(tmp_path: pathlib.Path) -> None:
    plan = hs.NetcdfPlan(tmp_path / "x.nc")
    plan.create_dimension("x", 4)
    plan.create_variable("v", ["x"], "i4", attrs={"units": "m"})
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            task.variable("v").attrs["units"] = "m" if number else "km"
            fragments.append(task.finish())
    with pytest.raises(hs.ConflictError, match='the plan and task 0 set attribute "units" to different values'):
        plan.commit(fragments)
    assert not (tmp_path / "x.nc").exists()
    plan.abort()


def test_threads_may_begin_the_first_tasks_at_the_same_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = PlannedContents.seal
    barrier = threading.Barrier(4)

    def slowly(self: PlannedContents) -> None:
        time.sleep(0.1)
        seal(self)

    monkeypatch.setattr(PlannedContents, "seal", slowly)
    plan = hs.NetcdfPlan(tmp_path / "x.nc", writers=4)
    plan.create_dimension("x", 4)
    plan.create_variable("v", ("x",), "f8")

    def write(number: int) -> bytes:
        barrier.wait()
        with plan.task(number) as task:
            task.variable("v")[number : number + 1] = [number]
            return task.finish()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        plan.commit(pool.map(write, range(4)))
    with netCDF4.Dataset(tmp_path / "x.nc") as f:
        assert f["v"][:].tolist() == [0, 1, 2, 3]
