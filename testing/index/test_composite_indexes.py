"""Composite indexes: boxes in several datasets, against numpy."""

from __future__ import annotations

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import warnings
import zlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.sources.sessions
import numpy as np
import pyarrow as pa
import pytest
from hyperslab import _native
from test_value_index import damaged

COUNT = 150_000  # three blocks, the last one cut short
XYZ = [("/x", "/y", "/z")]
LAYOUTS: dict[str, dict[str, Any]] = {
    "contiguous": {},
    "chunks": {"chunks": (50_000,)},
    "gzip": {"chunks": (30_000,), "compression": "gzip", "compression_opts": 1},
}


def points(count: int = COUNT, seed: int = 1) -> dict[str, Any]:
    """Coordinates in no order: floats, some of them special, and integers with duplicates."""
    rng = np.random.default_rng(seed)
    x, y = rng.random(count).astype("f4"), rng.normal(size=count)
    for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
        if count:
            x[rng.integers(0, count, count // 60)] = special
            y[rng.integers(0, count, count // 90)] = special
    return {"x": x, "y": y, "z": rng.integers(-300, 300, count).astype("i2"), "u": rng.integers(0, 2**63, count, dtype="u8") * 2}


def write(path: pathlib.Path, values: dict[str, Any], **layout: Any) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        for name, column in values.items():
            f.create_dataset(name, data=column, **(layout if len(column) else {}))
    return path


def boxes(values: dict[str, Any], names: str = "xyz") -> dict[str, Any]:
    """Conditions and the mask of numpy for each: with closed and open ends, in some of the columns, through duplicates, of nothing and of all."""
    x, y, z, u = (values[name] for name in "xyzu")
    x8 = x.astype("f8")
    end = float(x[len(x) // 2]) if len(x) and np.isfinite(x[len(x) // 2]) else 0.5
    return {
        "x between 0.2 and 0.3 and y between -0.1 and 0.1 and z between 0 and 60": (x8 >= 0.2) & (x8 <= 0.3) & (y >= -0.1) & (y <= 0.1) & (z >= 0) & (z <= 60),
        "x > 0.2 and x < 0.9 and y >= -2 and z < 200": (x8 > 0.2) & (x8 < 0.9) & (y >= -2) & (z < 200),
        f"x >= {end!r} and x <= {end!r} and y > -9": (x8 == end) & (y > -9),
        f"x > {end!r} and y < 0 and z = 7": (x8 > end) & (y < 0) & (z == 7),
        "x = 0 and z > 0": (x8 == 0) & (z > 0),
        "x < 0 and y < 0": (x8 < 0) & (y < 0),
        "y = 0 and x > 0.5": (y == 0) & (x8 > 0.5),
        "x between -1 and 2 and z in (1, 5, 250, 999)": (x8 >= -1) & (x8 <= 2) & np.isin(z, [1, 5, 250, 999]),
        "z != 3 and y > 1.5": (z != 3) & (y > 1.5),
        "abs(y) > 2.5 and x < 0.5": (np.abs(y) > 2.5) & (x8 < 0.5),
        "x > 5 and y < 0": (x8 > 5) & (y < 0),
        "z > 400 and y < 0": np.zeros(len(x), bool),
        "z >= -300 and z <= 300 and y >= -1e308 and y <= 1e308": (z >= -300) & np.isfinite(y),
        "x < 0.3 and y < 0.3 and (z < -290 or z > 290)": (x8 < 0.3) & (y < 0.3) & ((z < -290) | (z > 290)),
        "x < 0.3 and y < 0.3 and u > 9223372036854775808": (x8 < 0.3) & (y < 0.3) & (u > 2**63),
        "z > 290 and (x < 0.1 or y < -2)": (z > 290) & ((x8 < 0.1) | (y < -2)),
    }


def check(path: Any, wanted: dict[str, Any], **options: Any) -> None:
    """Tables, queries and splits leave the rows of numpy."""
    opened = hs.open(path, **options)
    for where, mask in wanted.items():
        expected = np.flatnonzero(mask)
        table = opened.table("/", where=where, columns=["row"])
        query = hs.query(opened, "/", where)
        for _ in range(2):
            assert table.count() == query.count() == len(expected), where
        assert query.positions().tolist() == expected.tolist(), where
        assert table.to_arrow()["row"].to_pylist() == expected.tolist(), where
        assert query.values("row").tolist() == expected.tolist(), where
        least, most = query.bounds()
        assert least <= len(expected) <= most, where
        if len(mask):
            spread = [row for part in table.splits(3) for row in part.read()["row"].to_pylist()]
            assert spread == expected.tolist(), where
            inside = expected[(expected >= 1000) & (expected < 70_000)]
            assert opened.table("/", where=f"row >= 1000 and row < 70000 and {where}").count() == len(inside), where


def used(path: Any, where: str = "x < 0.1 and y < 0 and z > 9", **options: Any) -> bool:
    return "index C on " in hs.query(path, "/", where, **options).explain()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_boxes_leave_the_rows_of_numpy(tmp_path: pathlib.Path, layout: str) -> None:
    values = points()
    path = write(tmp_path / "p.h5", {**values, "row": np.arange(COUNT)}, **LAYOUTS[layout])
    wanted = boxes(values)
    plan = hs.index(path, XYZ)
    assert [(entry.path, entry.level, entry.needed) for entry in plan.datasets] == [("/x, /y, /z", "C", True)]
    assert hs.indexes.status(path) == [] and hs.indexes.verify(path) == []
    check(path, wanted)
    text = hs.query(path, "/", next(iter(wanted))).explain()
    assert "index C on x, y, z: 3 of 3 blocks left" in text and "counts: count in the index" in text
    # In addition to an index of each column.
    hs.index(path, ["/x", "/u", "/row"])
    check(path, wanted)
    text = hs.query(path, "/", "x < 0.3 and y < 0.3 and u > 9223372036854775808").explain()
    assert "index C on x, y:" in text and " on u:" in text
    assert "index C" not in hs.query(path, "/", "x < 0.3").explain()
    assert "index C on y:" in hs.query(path, "/", "y < -2").explain()


@pytest.mark.parametrize("count", [0, 1, 2, 63, 65, 65_536, 65_537])
def test_few_rows_and_whole_blocks(tmp_path: pathlib.Path, count: int) -> None:
    values = points(count)
    path = write(tmp_path / "p.h5", {**values, "row": np.arange(count)})
    hs.index(path, [("/x", "/y", "/z"), ("/z", "/u")])
    check(path, boxes(values))


TYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">i8"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_types_and_boxes(tmp_path: pathlib.Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.choice([500, 70_000]))
    names = "abcd"[: rng.integers(2, 5)]
    values: dict[str, Any] = {}
    for name in names:
        dtype = np.dtype(rng.choice(TYPES))
        if dtype.kind == "f":
            column = (rng.normal(size=count) * 10).astype(dtype)
            column[rng.integers(0, count, count // 30)] = rng.choice([np.nan, np.inf, -0.0])
        else:
            ends = np.iinfo(dtype)
            span = (ends.min, ends.max) if rng.random() < 0.5 else (max(ends.min, -40), min(ends.max, 40))
            column = rng.integers(*span, count, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)
            column[:2] = ends.min, ends.max
        if rng.random() < 0.2:
            column = np.sort(column)
        values[name] = column
    path = write(tmp_path / "r.h5", values, **LAYOUTS[rng.choice(list(LAYOUTS))] if count > 1000 else {})
    hs.index(path, [tuple(f"/{name}" for name in names)])
    opened = hs.open(path)
    for _ in range(40):
        parts, mask = [], np.ones(count, bool)
        for name in rng.permutation(list(names))[: rng.integers(2, len(names) + 1)]:
            column = values[name]
            low, high = sorted((column[rng.integers(0, count)].item(), column[rng.integers(0, count)].item()), key=lambda end: (end != end, end))
            if low != low or high != high or abs(low) == np.inf or abs(high) == np.inf:
                continue
            exact = column.astype("f8") if column.dtype.kind == "f" else column.astype(object)
            if rng.random() < 0.5:
                parts.append(f"{name} >= {low!r} and {name} <= {high!r}")
                mask &= np.array((exact >= low) & (exact <= high), bool)
            else:
                parts.append(f"{name} > {low!r} and {name} < {high!r}")
                mask &= np.array((exact > low) & (exact < high), bool)
        if len(parts) < 2:
            continue
        query = hs.query(opened, "/", " and ".join(parts))
        assert "index C on " in query.explain(), parts
        assert query.count() == mask.sum(), parts
        assert query.positions().tolist() == np.flatnonzero(mask).tolist(), parts


def test_nan_passes_where_a_condition_says_so(tmp_path: pathlib.Path) -> None:
    """Rows without numbers are in no box; conditions that they pass are answered by the data, or by other indexes."""
    x, y = np.arange(100_000.0), np.arange(100_000.0)
    x[::3], y[::5] = np.nan, np.nan
    path = write(tmp_path / "n.h5", {"x": x, "y": y})
    hs.index(path, [("/x", "/y")])
    for where, mask in {
        "x < 500 and y < 700": (x < 500) & (y < 700),
        "not (x > 500) and y < 700": ~(x > 500) & (y < 700),
        "isnan(x) and y < 700": np.isnan(x) & (y < 700),
        "y > 99000": y > 99_000,
    }.items():
        assert hs.query(path, "/", where).positions().tolist() == np.flatnonzero(mask).tolist(), where


def test_fill_values_are_null(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 1000, (2, 100_000)).astype("i4")
    path = tmp_path / "f.nc"
    with h5py.File(path, "w") as f:
        for name, column in zip("xy", values, strict=True):
            f[name] = column
            f[name].attrs["_FillValue"] = np.int32(7)
            f[name].attrs["scale_factor"] = np.float64(0.5)
    plan = hs.index(path, [("/x", "/y")])
    assert plan.datasets[0].level == "C"
    x, y = np.where(values == 7, np.nan, values * 0.5)
    for where, mask in {"x < 30 and y between 2 and 50": (x < 30) & (y >= 2) & (y <= 50), "x = 3.5 and y >= 0": np.zeros(len(x), bool)}.items():
        assert hs.query(path, "/", where).positions().tolist() == np.flatnonzero(mask).tolist(), where
        assert "index C" in hs.query(path, "/", where).explain()
    assert "index C" not in hs.query(path, "/", "x < 30 and y < 9", raw=True).explain()
    hs.index(path, [("/x", "/y")], raw=True)
    assert "index C" in hs.query(path, "/", "x < 30 and y < 9", raw=True).explain()
    assert hs.query(path, "/", "x < 30 and y < 9", raw=True).count() == ((values[0] < 30) & (values[1] < 9)).sum()


@pytest.mark.parametrize("layout", ["contiguous", "gzip"])
def test_members_of_compounds(tmp_path: pathlib.Path, layout: str) -> None:
    hits = np.zeros(COUNT, [("id", "i8"), ("x", "f4"), ("y", "f8"), ("z", "i2")])
    for name, column in points().items():
        if name in "xyz":
            hits[name] = column
    hits["id"] = np.arange(COUNT)
    path = tmp_path / "c.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("run/hits", data=hits, **LAYOUTS[layout])
    plan = hs.index(path, [("/run/hits/x", "/run/hits/y", "/run/hits/z")])
    assert [entry.path for entry in plan.datasets] == ["/run/hits/x, /run/hits/y, /run/hits/z"]
    mask = (hits["x"] < 0.1) & (hits["y"] < 0) & (hits["z"] > 9)
    table = hs.open(path).table("/run/hits", "x < 0.1 and y < 0 and z > 9", ["id"])
    assert "index C on x, y, z" in table.explain() and table.count() == mask.sum()
    assert table.to_arrow()["id"].to_pylist() == np.flatnonzero(mask).tolist()
    query = hs.query(path, "/run", "hits.x < 0.1 and hits.y < 0 and hits.z > 9")
    assert "index C on hits.x, hits.y, hits.z" in query.explain()
    assert query.positions().tolist() == np.flatnonzero(mask).tolist() and query.count() == mask.sum()


def test_wildcards_make_one_index_a_group(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "s.h5"
    steps = [points(5000 + step, step) for step in range(3)]
    with h5py.File(path, "w") as f:
        for number, values in enumerate(steps):
            for name in "xyz":
                f[f"Step#{number}/{name}"] = values[name]
        f["Step#3/x"], f["Step#3/y"] = np.arange(3.0), np.arange(3.0)
        f["Step#4/x"], f["Step#4/y"], f["Step#4/z"] = np.arange(3.0), np.arange(3.0), np.arange(4.0)
        f.create_dataset("Step#5/t", data=np.zeros(9, [("x", "f4"), ("y", "f4")]))
    plan = hs.index(path, [("/Step#*/x", "/Step#*/y", "/Step#*/z"), ("/Step#*/t/x", "/Step#*/t/y")])
    assert {entry.path: entry.needed for entry in plan.datasets} == {
        **{f"/Step#{number}/x, /Step#{number}/y, /Step#{number}/z": number < 3 for number in (0, 1, 2, 4)},
        "/Step#3/x": False,
        "/Step#5/t/x, /Step#5/t/y": True,
    }
    assert "shape" in plan.explain() and "not all of" in plan.explain()
    where = "x < 0.3 and y < 0 and z > 9"
    query = hs.query(path, re.compile("/Step#(?P<step>[012])"), where)
    masks = [(values["x"].astype("f8") < 0.3) & (values["y"] < 0) & (values["z"] > 9) for values in steps]
    assert query.count() == sum(mask.sum() for mask in masks)
    assert query.explain().count("index C on x, y, z") == 3


def test_what_does_not_fit_together_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    path, other = tmp_path / "a.h5", tmp_path / "b.h5"
    with h5py.File(other, "w") as f:
        f["far"] = np.arange(10.0)
    with h5py.File(path, "w") as f:
        f["x"], f["y"], f["short"], f["grid"], f["one"] = np.arange(10.0), np.arange(10.0), np.arange(9.0), np.zeros((2, 5)), 1.0
        f["text"] = np.array([b"a"] * 10)
        f["group/x"] = np.arange(10.0)
        f.create_dataset("chunked", data=np.arange(10.0), chunks=(3,))
        f["record"] = np.zeros(10, [("a", "f4"), ("b", "f4"), ("list", "f4", (2,))])
        f["far"] = h5py.ExternalLink("b.h5", "/far")
    for paths, error, words in [
        (("/x", "/short"), hs.UnsupportedError, "/short .*shape"),
        (("/x", "/grid"), hs.UnsupportedError, "/grid .*dimensions"),
        (("/x", "/text"), hs.UnsupportedError, "/text .*text"),
        (("/x", "/one"), hs.UnsupportedError, "single value"),
        (("/x", "/chunked"), hs.UnsupportedError, "/chunked .*chunks"),
        (("/x", "/far"), hs.UnsupportedError, "/far .*another file"),
        (("/x", "/x"), hs.UnsupportedError, "/x .*twice"),
        (("/x", "/record"), hs.UnsupportedError, "/record .*members"),
        (("/record/a", "/record/list"), hs.UnsupportedError, "arrays"),
        (("/x", "/group"), hs.UnsupportedError, "/group .*not a dataset"),
        (("/x", "/none"), hs.NotFoundError, "none"),
        (("/x",), hs.InvalidInputError, "2 to 4 datasets, not of 1"),
        (("/x", "/y", "/x", "/y", "/x"), hs.InvalidInputError, "2 to 4 datasets, not of 5"),
        (("/x", "/g*/x"), hs.InvalidInputError, "same wildcards"),
    ]:
        with pytest.raises(error, match=words):
            hs.index(path, [paths])
    with pytest.raises(hs.InvalidInputError, match="level C"):
        hs.index(path, "/x", "C")
    with pytest.raises(hs.InvalidInputError, match="level X"):
        hs.index(path, [("/x", "/y")], "X")
    assert not os.path.exists(f"{path}.hsidx")
    plan = hs.index(path, ["/x", ("/x", "/y")], "X")
    assert [(entry.path, entry.level) for entry in plan.datasets] == [("/x", "X"), ("/x, /y", "C")]


@pytest.mark.parametrize("name", ["x", "z"])
@pytest.mark.parametrize("layout", ["contiguous", "gzip"])
def test_a_change_of_any_dataset_makes_it_stale(tmp_path: pathlib.Path, layout: str, name: str) -> None:
    values = points()
    path = write(tmp_path / "p.h5", values, **LAYOUTS[layout])
    hs.index(path, XYZ)
    assert used(path)
    with h5py.File(path, "r+") as f:
        values[name][77] = f[name][77] = -1000 if name == "z" else 0.05
    assert not used(path) and "/x, /y, /z is stale" in hs.indexes.status(path)[0]
    plan = hs.indexes.plan(path, XYZ)
    done = hs.indexes.commit([hs.indexes.build(task) for task in plan.tasks(1)])
    assert (done.datasets, done.built_blocks) == (1, 1) and done.kept_blocks > 0
    check_plain(path, values)


def check_plain(path: Any, values: dict[str, Any], **options: Any) -> None:
    mask = (values["x"].astype("f8") < 0.1) & (values["y"] < 0) & (values["z"] > 9)
    assert used(path, **options)
    assert hs.query(path, "/", "x < 0.1 and y < 0 and z > 9", **options).positions().tolist() == np.flatnonzero(mask).tolist()


def test_a_copy_is_compared(tmp_path: pathlib.Path) -> None:
    values = points()
    path, copy = write(tmp_path / "p.h5", values), tmp_path / "q.h5"
    hs.index(path, XYZ)
    shutil.copy(path, copy)
    os.utime(copy, ns=(10**18, 10**18))
    shutil.copytree(f"{path}.hsidx", f"{copy}.hsidx")
    check_plain(copy, values, indexes="any")
    with h5py.File(copy, "r+") as f:
        f["y"][5] = -7
    assert not used(copy, indexes="any")


def test_appended_rows_add_blocks_and_rebuild_none(tmp_path: pathlib.Path) -> None:
    values, more = points(4 * 50_000), points(70_000, 2)
    path = tmp_path / "p.h5"
    with h5py.File(path, "w") as f:
        for name in "xyz":
            f.create_dataset(name, data=values[name], chunks=(50_000,), maxshape=(None,))
    hs.index(path, XYZ)
    with h5py.File(path, "r+") as f:
        for name in "xyz":
            f[name].resize(270_000, axis=0)
            f[name][200_000:] = more[name]
    plan = hs.indexes.plan(path, XYZ)
    done = hs.indexes.commit([hs.indexes.build(task) for task in plan.tasks(3)])
    assert (done.built_blocks, done.kept_blocks) == (2, 4)
    check_plain(path, {name: np.concatenate([values[name], more[name]]) for name in "xyz"})
    assert not hs.index(path, XYZ).datasets[0].needed and hs.index(path, XYZ, rebuild=True).datasets[0].needed
    check_plain(path, {name: np.concatenate([values[name], more[name]]) for name in "xyz"})


@pytest.mark.parametrize("place", ["embedded", "folder", "together"])
def test_other_places(tmp_path: pathlib.Path, place: str) -> None:
    values = points()
    path = write(tmp_path / "p.h5", values)
    write(tmp_path / "q.h5", values)
    options: dict[str, Any] = {"embedded": {"embedded": True}, "folder": {"index_folder": tmp_path / "i"}, "together": {"together": True}}[place]
    hs.index(path, ["/u", *XYZ], **options)
    asked = {"index_folder": tmp_path / "i"} if place == "folder" else {}
    check_plain(path, values, **asked)
    assert used(path, **asked) and hs.indexes.verify(path, **asked) == [] and hs.indexes.status(path, **asked) == []
    assert (tmp_path / "p.h5.hsidx").exists() == (place == "none")
    # A second index in addition, and a refresh of both.
    hs.index(path, [("/y", "/u")], **options)
    check_plain(path, values, **asked)
    assert "index C on y, u" in hs.query(path, "/", "y < 0 and u < 5", **asked).explain()
    hs.vacuum(path)
    check_plain(path, values, **asked)


def test_verify_finds_what_the_stamp_does_not_show(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "p.h5", points())
    hs.index(path, XYZ)
    times = os.stat(path)
    with h5py.File(path, "r+") as f:
        f["y"][140_000] = 3.25
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    (problem,) = hs.indexes.verify(path)
    assert "/x, /y, /z: 1 of 3 blocks" in problem


def test_arrays_of_others_in_one_file(tmp_path: pathlib.Path) -> None:
    values = points(70_000)
    path = write(tmp_path / "p.h5", values)
    with h5py.File(path) as f:
        arrays = {"a": f["x"], "b": f["y"], "c": f["u"]}
        hs.index(arrays, [("/a", "/b")])
        query = hs.query(arrays, "/", "a < 0.2 and b < -1 and c > 5")
        assert "index C on a, b" in query.explain()
        assert query.count() == ((values["x"].astype("f8") < 0.2) & (values["y"] < -1) & (values["u"] > 5)).sum()


def test_boxes_that_single_indexes_answer_better(tmp_path: pathlib.Path) -> None:
    """Wide boxes, and slabs with a side of hardly any rows: an estimate, never another answer."""
    x, y = np.random.default_rng(3).random((2, 200_000))
    path = write(tmp_path / "p.h5", {"x": x, "y": y})
    hs.index(path, [("/x", "/y")])
    slab = float(np.sort(x)[62_345])
    questions = {
        "x < 0.9 and y < 0.9": (x < 0.9) & (y < 0.9),
        f"x between {slab!r} and {slab + 1e-9!r} and y < 0.9": (x >= slab) & (x <= slab + 1e-9) & (y < 0.9),
    }
    for levels, letter in (([], "C"), (["/x"], "C"), (["/y"], "X")):
        hs.index(path, [*levels, ("/x", "/y")], "X" if levels else None)
        for where, mask in questions.items():
            query = hs.query(path, "/", where)
            assert f"index {letter} on x" in query.explain(), (levels, where)
            assert query.count() == mask.sum() and query.positions().tolist() == np.flatnonzero(mask).tolist()
    assert "index C on x, y" in hs.query(path, "/", "x < 0.1 and y < 0.1").explain()


@pytest.mark.slow
def test_tasks_run_in_other_processes(tmp_path: pathlib.Path) -> None:
    values = points(400_000)
    path = write(tmp_path / "p.h5", values, chunks=(30_000,))
    plan = hs.indexes.plan(path, [*XYZ, "/u"])
    tasks = plan.tasks(4)
    assert len(tasks) > 2
    fragments = []
    for number, task in enumerate(tasks):
        place = tmp_path / f"{number}.task"
        place.write_bytes(task)
        code = "import sys, pathlib, hyperslab as hs\np = pathlib.Path(sys.argv[1])\np.write_bytes(hs.indexes.build(p.read_bytes()))"
        subprocess.run([sys.executable, "-c", code, str(place)], check=True, timeout=60)
        fragments.append(place.read_bytes())
    with pytest.raises(hs.InvalidInputError, match="parts"):
        hs.indexes.commit(fragments[:1])
    assert hs.indexes.commit(fragments).datasets == 2
    check_plain(path, values)


def test_seals_and_audits(tmp_path: pathlib.Path) -> None:
    values = points()
    honest, other = write(tmp_path / "p.h5", {name: values[name] for name in "xyz"}), tmp_path / "other" / "p.h5"
    other.parent.mkdir()
    write(other, {name: values[name][::-1] for name in "xyz"})
    times = os.stat(honest)
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    hs.index(other, XYZ)
    shutil.copytree(f"{other}.hsidx", f"{honest}.hsidx")
    mask = (values["x"].astype("f8") < 0.1) & (values["y"] < 0) & (values["z"] > 9)
    where = "x < 0.1 and y < 0 and z > 9"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert hs.query(honest, "/", where, indexes="any").positions().tolist() == np.flatnonzero(mask).tolist()
    assert any(warning.category is hs.IndexWarning and "/x, /y, /z" in str(warning.message) for warning in caught)
    assert not used(honest, indexes="none")
    # A stranger's index is used if that is asked for, and not otherwise.
    environment = {**os.environ, "HYPERSLAB_INDEX_KEY": str(tmp_path / "key")}
    hs.index(honest, XYZ, rebuild=True)
    code = f"import hyperslab as hs\nfor own in ('own', 'any'): print('index C' in hs.query({str(honest)!r}, '/', {where!r}, indexes=own).explain())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_an_honest_index_passes_every_audit(tmp_path: pathlib.Path) -> None:
    values = points(80_000)
    path = write(tmp_path / "p.h5", values, chunks=(30_000,))
    hs.index(path, XYZ)
    code = f"""
import warnings, hyperslab as hs, hyperslab.sources.sessions
warnings.simplefilter("error")
for _ in range(150):
    hs.sources.sessions.session.cache_clear()
    f = hs.open({str(path)!r})
    for text in ("x > 0.1 and y < 0", "x <= 0 and z = 3", "x > -1 and y > -1e300 and z != 4", "y < 9"):
        hs.query(f, "/", text).count()
print(hs.indexes.status({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def asked_anew(path: pathlib.Path, where: str) -> tuple[list[int], int]:
    """Rows and count by a session that remembers nothing."""
    session = _native.Session(2, None, None, None, ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        native = session.open([str(path)])
        plan = _native.Plan(native, "/", columns=["row"], where_text=where)
        reader, found = plan.read(), []
        while (capsules := reader.next_batch()) is not None:
            found += pa.RecordBatch._import_from_c_capsule(*capsules)["row"].to_pylist()
        return found, plan.count()


def test_a_damaged_index_never_changes_an_answer(tmp_path: pathlib.Path) -> None:
    rng = random.Random(4)
    values = points()
    path = write(tmp_path / "p.h5", {**values, "row": np.arange(COUNT)}, chunks=(40_000,))
    hs.index(path, XYZ)
    folder = tmp_path / "p.h5.hsidx"
    whole = {name.name: name.read_bytes() for name in folder.iterdir()}
    wanted = {where: np.flatnonzero(mask).tolist() for where, mask in list(boxes(values).items())[:3]}
    for _ in range(50):
        what = damaged(folder, rng)
        for where, expected in wanted.items():
            assert asked_anew(path, where) == (expected, len(expected)), (what, where)
        for name, data in whole.items():
            (folder / name).write_bytes(data)


def forged(place: pathlib.Path, change: Any) -> None:
    """Changes the manifest, and gives it the right checksum: anybody can."""
    manifest = json.loads(place.read_bytes())["manifest"]
    change(sorted(manifest["files"][0]["columns"], key=lambda column: "others" not in column))
    text = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    place.write_bytes(json.dumps({"checksum": zlib.crc32(text.encode()), "manifest": manifest}).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns[0].update(level="Exact"),
        lambda columns: columns[0].update(others=[]),
        lambda columns: columns[0].update(others=columns[0]["others"][::-1]),
        lambda columns: columns[0].update(others=[{"path": "/gone"}]),
        lambda columns: columns[0].update(others=[{"path": f"/{name}"} for name in "yzuxyzu"]),
        lambda columns: columns[0].update(shape=[7]),
        lambda columns: columns[1].update(level="Composite"),
        lambda columns: columns[1].update(index_files=columns[0]["index_files"]),
        lambda columns: columns[0].update(index_files=columns[1]["index_files"]),
        lambda columns: columns[0].update(grid={"outer": [10], "inner": [10]}),
        lambda columns: columns[0].update(level="Unknown"),
    ],
)
def test_a_forged_manifest_gives_right_rows(tmp_path: pathlib.Path, change: Any) -> None:
    values = points()
    path = write(tmp_path / "p.h5", values)
    hs.index(path, [*XYZ, "/u"])
    forged(tmp_path / "p.h5.hsidx" / "manifest.json", change)
    for where, mask in {**boxes(values), "u > 9223372036854775808": values["u"] > 2**63}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert hs.query(path, "/", where, indexes="any").positions().tolist() == np.flatnonzero(mask).tolist(), where


def test_the_command_makes_one(tmp_path: pathlib.Path) -> None:
    values = points(5000)
    path = write(tmp_path / "p.h5", values)
    program = [sys.executable, "-m", "hyperslab", "index", str(path)]
    shown = subprocess.run([*program, "--box", "/x,/y,/z", "/u", "--plan"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "/x, /y, /z: level C" in shown and "/u: level" in shown
    subprocess.run([*program, "--box", "/x,/y,/z"], capture_output=True, timeout=60, check=True)
    check_plain(path, values)
    refused = subprocess.run([*program, "--box", "/x"], capture_output=True, text=True, timeout=60)
    assert refused.returncode and "2 to 4" in refused.stderr


def test_sql_and_virtual_datasets(tmp_path: pathlib.Path) -> None:
    values = points(70_000)
    path, virtual = write(tmp_path / "p.h5", values), tmp_path / "v.h5"
    with h5py.File(virtual, "w") as f:
        for name in "xyz":
            layout = h5py.VirtualLayout((70_000,), values[name].dtype)
            layout[:] = h5py.VirtualSource("p.h5", name, (70_000,))
            f.create_virtual_dataset(name, layout)
    hs.index(virtual, XYZ)
    check_plain(virtual, values)
    with h5py.File(path, "r+") as f:
        f["z"][3] = 10
        f["x"][3], f["y"][3] = 0.01, -1
    assert not used(virtual)
    hs.index(path, [("/y", "/z")])
    with h5py.File(path) as f:
        count = ((f["y"][:] < -2) & (f["z"][:] > 290)).sum()
    assert hs.sql("select count(*) from f where y < -2 and z > 290", f=hs.open(path).table("/")).fetchall() == [(count,)]


def test_sql_asks_the_index(tmp_path: pathlib.Path) -> None:
    path, count = tmp_path / "s.h5", 16 << 16
    random = np.random.default_rng(3)
    x, y = random.random(count), random.random(count)
    with h5py.File(path, "w") as f:
        for name, values in (("x", x), ("y", y), ("n", np.arange(count))):
            f.create_dataset(name, data=values, chunks=(1 << 16,), compression="gzip", compression_opts=1)
    inside = (x > 0.5) & (x < 0.502) & (y <= 0.002)
    question = "select n from f where x > 0.5 and x < 0.502 and y <= 0.002 order by n"

    # A process of its own: threads that earlier tests left behind may still decode chunks in this one.
    script = (
        "import json, hyperslab as hs\n"
        "before = hs.counters()\n"
        f"found = [n for (n,) in hs.sql({question!r}, f=hs.open({str(path)!r}).table('/')).fetchall()]\n"
        "print(json.dumps([found, hs.counters().since(before).chunks_decoded]))"
    )

    def asked() -> tuple[list[int], int]:
        found, decoded = json.loads(subprocess.check_output([sys.executable, "-c", script]))
        return found, decoded

    wanted = np.flatnonzero(inside).tolist()
    found, decoded = asked()
    assert wanted and found == wanted and decoded > 2 * 16
    hs.index(path, [("/x", "/y")])
    found, decoded = asked()
    # Three columns at the rows that match; an answer may compare the index with three chunks of each of its columns.
    assert found == wanted and decoded <= 3 * len({n >> 16 for n in wanted}) + 2 * 3 < 3 * 16
