"""Links, references and committed datatypes in plans: defined by the plan or by tasks, merged, read in the master, after
more commits and after `fuse`."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import dump_tools
import h5py
import hyperslab as hs
import numpy as np
import pytest


def written(path: pathlib.Path, mode: str = "x", rows: int = 2) -> None:
    """A container with links and references of the plan and of three tasks."""
    plan = hs.WritePlan(path, mode)
    plan.attrs["first"] = hs.NewReference("/data/x")
    plan.attrs["title"] = "of the plan"
    plan.root["latest"] = hs.SoftLink("/data/x")
    plan.root["elsewhere"] = hs.ExternalLink("other.h5", "/y")
    plan.root["again"] = hs.HardLink("/data/x")
    plan.root.create_group("empty").attrs["n"] = 1
    plan.root["pointers"] = [hs.NewReference("/data/x"), None, hs.NewReference("/empty")]
    plan = pickle.loads(pickle.dumps(plan))
    fragments = []
    for number in range(3):
        with plan.task(number) as task:
            x = task.create_dataset("data/x", (0, 2), "i4", rows=True)
            x.append(np.full((rows, 2), number))
            x.attrs["group"] = task["data"].ref
            task["same"] = hs.SoftLink("/data")
            task[f"own{number}"] = hs.HardLink("/data")
            task["table"] = [x.ref, task.ref]
            if number == 1:
                task["one/deep"] = task["data/x"]
            fragments.append(task.finish())
    plan.commit(fragments)


def check(path: pathlib.Path, count: int, outside: bool = True) -> None:
    with h5py.File(path) as f:
        x = f["data/x"]
        assert x.shape == (count, 2) and f["again"] == x and f["latest"] == x and f["one/deep"] == x and f["own2/x"] == x and f["same/x"] == x
        assert f[f.attrs["first"]] == x and f[x.attrs["group"]] == f["data"] and f["empty"].attrs["n"] == 1 and f.attrs["title"] == "of the plan"
        assert [f[r] if r else None for r in f["pointers"]] == [x, None, f["empty"]]
        assert [f[r] == o for r, o in zip(f["table"], (x, f))] == [True, True]
        assert f.get("elsewhere", getlink=True).filename == "other.h5" and f.get("elsewhere", getlink=True).path == "/y"
        assert f.get("latest", getlink=True).path == "/data/x"
        if outside:
            assert f["elsewhere"][:].tolist() == [1, 2, 3]
    with hs.open(path) as f:
        assert f["again"][:].shape == (count, 2) and f["latest"].shape == (count, 2) and [r.path for r in f["table"][:]][1] == "/"
    text = dump_tools.run("h5dump", path)
    assert text is None or 'EXTERNAL_LINK "elsewhere"' in text


def test_links_and_references_of_plans_and_tasks(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["y"] = [1, 2, 3]
    path = tmp_path / "x.h5"
    written(path)
    check(path, 6)
    assert hs.verify(path, values=True).problems == []
    written(path, "a", 1)
    check(path, 9)
    hs.fuse(path, tmp_path / "one.h5")
    check(tmp_path / "one.h5", 9)


def test_the_library_changes_a_fused_file_with_hard_links(tmp_path: pathlib.Path) -> None:
    """Objects know how many names they have: one is deleted, the object stays."""
    written(tmp_path / "x.h5")
    hs.fuse(tmp_path / "x.h5", tmp_path / "one.h5")
    with h5py.File(tmp_path / "one.h5", "r+") as f:
        del f["again"], f["one/deep"], f["own0"], f["own1"], f["data"]
        assert h5py.h5o.get_info(f["own2/x"].id).rc == 1
        f["new"] = f["own2/x"]
        del f["own2"]
    with h5py.File(tmp_path / "one.h5") as f:
        assert f["new"][:].tolist() == [[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [2, 2]]


@pytest.mark.parametrize(
    "define, words",
    [
        (lambda task, n: task.__setitem__("l", hs.SoftLink(f"/{n}")), "soft link to '/0' and a soft link to '/1'"),
        (lambda task, n: task.__setitem__("l", hs.SoftLink("/a") if n else hs.HardLink("/g")), "hard link to '/g' and a soft link"),
        (lambda task, n: task.__setitem__("l", hs.ExternalLink(f"{n}.h5", "/a")), "in '0.h5'"),
        (lambda task, n: task.__setitem__("l", [task.ref, None] if n else [None, task.ref]), "two objects that differ"),
        (lambda task, n: task.attrs.__setitem__("a", task.ref if n else hs.NewReference("/g")), 'attribute "a" to different values'),
        (lambda task, n: task.attrs.__setitem__("a", task.ref if n else 3), 'attribute "a" to different values'),
        (lambda task, n: task.__setitem__("l", hs.SoftLink("/a") if n else [1]), "a dataset, task 1 a link"),
    ],
)
def test_definitions_that_differ_are_conflicts(tmp_path: pathlib.Path, define: Any, words: str) -> None:
    plan = hs.WritePlan(tmp_path / "x.h5")
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            task.create_group("g")
            define(task, number)
            fragments.append(task.finish())
    with pytest.raises(hs.ConflictError, match=words):
        plan.commit(fragments)
    plan.abort()


@pytest.mark.parametrize(
    "define, words",
    [
        (lambda task: task.__setitem__("l", hs.HardLink("/nowhere")), "/nowhere"),
        (lambda task: task.attrs.__setitem__("a", hs.NewReference("/nowhere")), "/nowhere"),
    ],
)
def test_a_target_that_nobody_defines_is_an_error_and_nothing_is_visible(tmp_path: pathlib.Path, define: Any, words: str) -> None:
    plan = hs.WritePlan(tmp_path / "x.h5")
    with plan.task(0) as task:
        define(task)
        fragment = task.finish()
    with pytest.raises(hs.NotFoundError, match=words):
        plan.commit([fragment])
    assert not (tmp_path / "x.h5").exists()
    plan.abort()
