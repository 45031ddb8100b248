"""Parallel writing, sentence by sentence of what it promises and no other test shows: sizes beyond 2 GiB, descriptors,
readers next to writers, fill values in every subfile, references, many datasets of many kinds in one container."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading

import dump_tools
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from compare import compare
from test_write_parallel import equal


def test_a_region_beyond_2_gib_is_written_where_it_belongs(tmp_path: pathlib.Path) -> None:
    """Two tasks with 3 GiB each of one dataset, in a subfile of their own or in one together; holes cost no disk."""
    rows, width = 6 << 20, 1024
    for factor in (1, 2):
        path = tmp_path / f"{factor}.h5"
        plan = hs.WritePlan(path, writers=2, factor=factor, durable=False)
        plan.create_dataset("x", (rows, width), "u1")
        fragments = []
        for number in range(2):
            with plan.task(number) as task:
                region = task.region("x")[0]
                assert (region.stop - region.start) * width == 3 << 30
                dataset = task.dataset("x")
                for at in (region.start, region.start + (2 << 20), region.stop - 4):
                    dataset[at : at + 4] = number + 1 + np.arange(4 * width, dtype="u1").reshape(4, width) % 100
                fragments.append(task.finish())
        plan.commit(fragments)
        assert max(p.stat().st_size for p in tmp_path.rglob("*.h5") if p.parent != tmp_path) >= (3 << 30) * factor
        block = np.arange(4 * width, dtype="u1").reshape(4, width) % 100
        ours, zeros = hs.open(path)["x"], np.zeros((4, width), "u1")
        with h5py.File(path) as f:
            assert f["x"].shape == ours.shape == (rows, width)
            for number in range(2):
                start = number * (rows // 2)
                for at in (start, start + (2 << 20), start + rows // 2 - 4):
                    assert (ours[at : at + 4] == block + (number + 1)).all() and (f["x"][at : at + 4] == block + (number + 1)).all(), (factor, number, at)
                assert (ours[start + 1000 : start + 1004] == zeros).all() and (f["x"][start + 1000 : start + 1004] == zeros).all()
        assert hs.verify(path).problems == []


@pytest.mark.slow
def test_one_write_of_more_than_2_gib_is_whole(tmp_path: pathlib.Path) -> None:
    """The operating system takes at most 2 GiB in one call."""
    values = np.zeros((1 << 31) + 4099, "u1")
    marks = [0, (1 << 31) - 4097, (1 << 31) - 1, 1 << 31, len(values) - 1]
    values[marks] = [1, 2, 3, 4, 5]
    plan = hs.WritePlan(tmp_path / "out.h5", durable=False)
    with plan.task(0) as task:
        task.create_dataset("x", values.shape, "u1", region=np.s_[:], data=values)
        plan.commit([task.finish()])
    del values
    found = hs.open(tmp_path / "out.h5")["x"]
    with h5py.File(tmp_path / "out.h5") as f:
        assert [int(found[mark]) for mark in marks] == [int(f["x"][mark]) for mark in marks] == [1, 2, 3, 4, 5]
    assert int(np.count_nonzero(found[(1 << 31) - 5000 : (1 << 31) + 5])) == 3


FEW_DESCRIPTORS = """
import resource, sys, numpy as np, hyperslab as hs
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
path = sys.argv[1]
plan = hs.WritePlan(path, writers=600, factor=1, durable=False)
plan.create_dataset("x", (600 * 3000,), "f4")
def work(number):
    with plan.task(number, threads=1) as task:
        task.write("x", number)
        return task.finish()
plan.commit([work(number) for number in range(600)])
opened = hs.open(path)
for _ in range(2):
    assert (opened["x"][:].reshape(600, 3000) == np.arange(600)[:, None]).all()
    assert (opened["x"][::1500] == np.repeat(np.arange(600), 2)).all()
assert hs.verify(path, values=True).problems == []
hs.fuse(path, path + ".single")
assert (hs.open(path + ".single")["x"][::3000] == np.arange(600)).all()
print("done")
"""


def test_more_subfiles_than_files_can_be_open_are_read_verified_and_fused(tmp_path: pathlib.Path) -> None:
    run = subprocess.run([sys.executable, "-c", FEW_DESCRIPTORS, str(tmp_path / "out.h5")], capture_output=True, text=True, timeout=300)
    assert run.stdout == "done\n", run.stderr


def test_few_values_across_subfiles_are_read_by_the_thread_that_asks(tmp_path: pathlib.Path) -> None:
    """Waking another process costs more, and takes milliseconds next to processes that spin while they wait, as MPI's do."""
    plan = hs.WritePlan(tmp_path / "out.h5", writers=8, factor=1, durable=False)
    plan.create_dataset("x", (8 << 20,), "f4")
    fragments = []
    for number in range(8):
        with plan.task(number, threads=1) as task:
            task.write("x", np.arange(number << 20, (number + 1) << 20, dtype="f4"))
            fragments.append(task.finish())
    plan.commit(fragments)
    code = """
import os, sys
import numpy as np
import hyperslab as hs
threads = lambda: {open(f"/proc/self/task/{n}/comm").read().strip() for n in os.listdir("/proc/self/task")}
decoders = lambda: any(name.startswith("hyperslab-") and name[10:].isdigit() for name in threads())
x = hs.open(sys.argv[1], threads=2)["x"]
border = 3 << 20
assert (x[border - 500:border + 500] == np.arange(border - 500, border + 500)).all()
print(decoders())
assert (x[:] == np.arange(8 << 20)).all()
print(decoders())
"""
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "out.h5"], capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["False", "True"], run.stdout + run.stderr


def test_readers_see_whole_commits_while_writers_append(tmp_path: pathlib.Path) -> None:
    """Readers that open the file again and again, by us and by h5py, while ten commits add to it."""
    path, stop, seen, failures = tmp_path / "out.h5", threading.Event(), set(), []

    def append(number: int) -> None:
        plan = hs.WritePlan(path, "x" if number == 0 else "a", durable=False)
        fragments = []
        for part in range(3):
            with plan.task(part) as task:
                task.create_dataset("x", data=np.full(100, number, "i4"), rows=True)
                task.create_dataset("y", data=np.full((100, 2), number, "f8"), rows=True, compression="gzip")
                fragments.append(task.finish())
        plan.commit(fragments)

    def read() -> None:
        while not stop.is_set():
            try:
                ours = hs.open(path)
                x, y = ours["x"][:], ours["y"][:]
                with h5py.File(path) as f:
                    theirs = f["x"][:]
                for values in (x, y[:, 1], theirs):
                    commits = len(values) // 300
                    assert len(values) == 300 * commits and (values == np.repeat(np.arange(commits), 300)).all()
                seen.add(len(x) // 300)
            except Exception as error:
                failures.append(error)
                return

    append(0)
    held = hs.open(path)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for number in range(1, 11):
        append(number)
    stop.set()
    for thread in readers:
        thread.join()
    assert failures == [] and len(seen) > 1, (failures, seen)
    # Who had opened it before sees what was there then.
    assert held["x"].shape == (300,) and (held["x"][:] == 0).all()
    equal(path, {"x": np.repeat(np.arange(11, dtype="i4"), 300)})


@pytest.mark.parametrize("factor", [1, 3])
def test_every_subfile_holds_the_fill_value_where_nobody_wrote(tmp_path: pathlib.Path, factor: int) -> None:
    """Not only the master: whoever looks into a subfile sees no zeros that nobody wrote."""
    path, shape = tmp_path / "out.h5", (12, 10)
    boxes = [np.s_[4 * n : 4 * n + 4, :] for n in range(3)]
    expected = np.full(shape, -7, "i4")
    plan = hs.WritePlan(path, writers=3, factor=factor)
    for name, options in {"run": {}, "chunks": {"chunks": (3, 4)}, "packed": {"chunks": (4, 5), "compression": "gzip"}}.items():
        plan.create_dataset(name, shape, "i4", fillvalue=-7, regions=boxes, **options)
    fragments = []
    for number in range(3):
        with plan.task(number) as task:
            for name in ("run", "chunks", "packed"):
                task.dataset(name)[4 * number + 1 : 4 * number + 3, 2:7:2] = number
                task.dataset(name)[4 * number, 9] = 50
            expected[4 * number + 1 : 4 * number + 3, 2:7:2] = number
            expected[4 * number, 9] = 50
            fragments.append(task.finish())
    done = plan.commit(fragments)
    equal(path, dict.fromkeys(("run", "chunks", "packed"), expected))
    for number, subfile in enumerate(sorted(done.subfiles, key=lambda subfile: subfile.task)):
        part = expected if factor == 3 else expected[4 * number : 4 * number + 4]
        with h5py.File(next(tmp_path.rglob(subfile.name))) as f:
            for name in ("run", "chunks", "packed"):
                np.testing.assert_array_equal(f[name][:], part, err_msg=f"{name} of {subfile.name}")


def test_references_to_objects_lead_there(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path) as f:
        group = f.create_group("g/inner")
        x = f.create_dataset("g/x", data=np.arange(5))
        f["refs"] = [x.ref, group.ref, None, f.ref]
        f.create_dataset("square", data=[[x.ref, None], [None, group.ref]], dtype=h5py.ref_dtype)
        f.create_dataset("none", data=[None, None], dtype=h5py.ref_dtype)
        f["one"] = x.ref
        f.attrs["first"] = x.ref
        x.attrs["both"] = [group.ref, x.ref]
        f["refs of refs"] = [hs.NewReference("/refs")]
    with h5py.File(path) as f:
        assert [bool(r) for r in f["refs"][:]] == [True, True, False, True]
        assert [f[r].name for r in f["refs"][[0, 1, 3]]] == ["/g/x", "/g/inner", "/"]
        assert f[f["square"][0, 0]].name == "/g/x" and not f["square"][0, 1] and f[f["square"][1, 1]].name == "/g/inner"
        assert f[f["one"][()]][:].tolist() == list(range(5)) and f[f.attrs["first"]].name == "/g/x"
        assert [f[r].name for r in f["g/x"].attrs["both"]] == ["/g/inner", "/g/x"] and not any(map(bool, f["none"][:]))
        assert f[f[f["refs of refs"][0]][0]].name == "/g/x"
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    ours = hs.open(path)
    assert [reference.path for reference in ours["refs"][:]] == ["/g/x", "/g/inner", None, "/"]
    assert dump_tools.run("h5dump", path) != ""
    for write, error, words in (
        (lambda f: f.create_dataset("r", data=[hs.NewReference("/nowhere")]), hs.NotFoundError, "nowhere"),
        (lambda f: f.attrs.create("r", hs.NewReference("/nowhere")), hs.NotFoundError, "nowhere"),
        (lambda f: f.create_dataset("r", data=[f.ref], compression="gzip"), hs.UnsupportedError, "references in chunks"),
        (lambda f: f.create_dataset("r", data=[f.ref, 3]), hs.UnsupportedError, "references mixed"),
        (lambda f: f.create_dataset("r", (3,), data=[f.ref]), hs.InvalidInputError, "data of shape"),
    ):
        with pytest.raises(error, match=words), hs.create(tmp_path / "bad.h5") as f:
            write(f)


def test_a_container_holds_many_datasets_of_every_kind_for_every_reader(tmp_path: pathlib.Path) -> None:
    """N-D, chunked, filtered, text, growing, several to a subfile: h5py, netCDF4, h5dump and we find the same."""
    path, writers = tmp_path / "out.h5", 4
    cube = np.random.default_rng(3).normal(size=(8, 5, 6, 7)).astype(">f4")
    plan = hs.WritePlan(path, writers=writers, factor=2)
    plan.create_dataset("a/cube", cube.shape, ">f4")
    plan.create_dataset("a/chunked", cube.shape, ">f4", chunks=(2, 5, 3, 7))
    plan.create_dataset("b/zipped", cube.shape, ">f4", chunks=(1, 5, 6, 7), compression="gzip", shuffle=True, fletcher32=True)
    fragments = []
    for number in range(writers):
        with plan.task(number) as task:
            for name in ("a/cube", "a/chunked", "b/zipped"):
                task.write(name, cube[task.region(name)])
            task.create_dataset("names", data=[f"task {number}"] * (number + 1), dtype=str, rows=True)
            task.create_dataset("growing", data=np.full((number + 1, 2), number, "i2"), rows=True, compression="zstd")
            task.create_dataset("fixed", data=np.array([b"abc"] * 2, "S5"), rows=True)
            task.attrs["title"] = "many"
            fragments.append(task.finish())
    assert len(plan.commit(fragments).subfiles) == 2 + writers
    growing = np.concatenate([np.full((number + 1, 2), number, "i2") for number in range(writers)])
    equal(path, {"a/cube": cube, "a/chunked": cube, "b/zipped": cube, "growing": growing, "fixed": np.array([b"abc"] * 8, "S5")})
    names = [f"task {number}" for number in range(writers) for _ in range(number + 1)]
    assert [n.decode() for n in hs.open(path)["names"][:]] == names
    with h5py.File(path) as f:
        assert f["names"].asstr()[:].tolist() == names
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        assert (f["a/cube"][:] == cube).all() and (f["b/zipped"][:] == cube).all() and (f["growing"][:] == growing).all() and f.title == "many"
    for name in ("a/cube", "a/chunked", "b/zipped"):
        said = dump_tools.run("h5dump", "-d", f"/{name}", "-b", "FILE", "-o", tmp_path / "values", path)
        assert said is None or (tmp_path / "values").read_bytes() == cube.tobytes(), name
