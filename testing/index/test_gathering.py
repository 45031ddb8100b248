"""Rows that indexes tell, of one column or several, and their values taken one by one: as numpy has it, and bit for bit as
without an index."""

from __future__ import annotations

import pathlib
import random
from collections.abc import Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from test_value_index import LEVELS, damaged

COUNT = 600_000
SPAN = (-2.0, 2.0)


def columns(count: int = COUNT) -> dict[str, Any]:
    rng = np.random.default_rng(31)
    found = {
        "x": rng.normal(size=count).astype("f4"),
        "y": rng.normal(size=count),
        "id": rng.integers(-100, 100, count).astype("i4"),
        "w": rng.lognormal(sigma=4, size=count),
        "smooth": np.sin(np.linspace(0, 40, count)).astype("f4"),
        "plain": rng.normal(size=count),
    }
    found["x"][::1000] = np.nan
    found["x"][::777] = 1.5
    found["y"][5::1000] = [np.inf, -np.inf] * (count // 2000)
    return found


DATA = columns()


@pytest.fixture(scope="module", params=["contiguous", "chunks", "rows of chunks"])
def run(tmp_path_factory: pytest.TempPathFactory, request: Any) -> Iterator[pathlib.Path]:
    """Arrays without filters, of which `plain` will have no index."""
    path = tmp_path_factory.mktemp("gathering") / "run.h5"
    with h5py.File(path, "w") as f:
        for name, values in DATA.items():
            if request.param == "contiguous":
                f[name] = values
            elif request.param == "chunks":
                f.create_dataset(name, data=values, chunks=(50_001,))
            else:
                f.create_dataset(name, data=values.reshape(600, 1000), chunks=(7, 1000))
    yield path


def conditions() -> list[tuple[str, Any]]:
    x, y, number, smooth, plain = (DATA[name] for name in ("x", "y", "id", "smooth", "plain"))
    return [
        ("x > 0 && y > 0", (x > 0) & (y > 0)),
        ("x > 4 && y > -1", (x > 4) & (y > -1)),
        ("x > 3 && y > -1 && id != 7", (x > 3) & (y > -1) & (number != 7)),
        ("0.5 < x <= 1.5 && smooth > 0", (x > 0.5) & (x <= 1.5) & (smooth > 0)),
        ("0.5 < smooth && smooth < 0.50001", (smooth > 0.5) & (smooth < 0.50001)),
        ("(x > 3 || y > 3) && smooth < 0.9 && id in (3, 4, 5)", ((x > 3) | (y > 3)) & (smooth < 0.9) & np.isin(number, [3, 4, 5])),
        ("x > 3 && plain > 0", (x > 3) & (plain > 0)),
        ("x > 1.6 && sqrt(plain*plain + y*y) > 2", (x > 1.6) & (np.sqrt(plain * plain + y * y) > 2)),
        ("x > -1 && plain > 0", (x > -1) & (plain > 0)),
        ("x > 100 && y > 0", x > 100),
        ("x = 1.5 && y < inf && plain < 0", (x == 1.5) & (y < np.inf) & (plain < 0)),
        ("id = 17 && x < 0 && y < 0", (number == 17) & (x < 0) & (y < 0)),
        ("smooth >= -1 && y != 0", y != 0),
    ]


def answers(path: pathlib.Path, text: str, threads: int) -> dict[str, Any]:
    """Everything that a query can be asked, as bytes where floats are added."""
    q = hs.query(path, "/", text, threads=threads)
    edges = np.concatenate([np.linspace(-3, 1, 40), [1.5, 7]])
    return {
        "count": q.count(),
        "positions": q.positions(),
        "x": q.values("x").tobytes(),
        "w": q.values("w", "id")[0].tobytes(),
        "1d": q.histogram("y", 64, range=SPAN).values,
        "edges": q.histogram("x", edges).values,
        "id": q.histogram("id", 20, range=(-100, 100)).values,
        "2d": q.histogram2d("x", "id", (32, 25), [SPAN, (-100, 100)]).values,
        "3d": q.histogram3d("x", "y", "smooth", 40, [SPAN] * 3).values,
        "twice": q.histogram2d("y", "y", 16, [SPAN, SPAN]).values,
        "weights": q.histogram("x", 64, range=SPAN, weights="w").values.tobytes(),
        "own weights": q.histogram("w", 8, range=(0, 8), weights="w").values.tobytes(),
        "weights 3d": q.histogram3d("x", "y", "smooth", 40, [SPAN] * 3, weights="w").values.tobytes(),
    }


def same(found: dict[str, Any], wanted: dict[str, Any], what: Any) -> None:
    for name in wanted:
        assert np.array_equal(found[name], wanted[name]), (name, what)


@pytest.mark.sampled(3)
def test_rows_of_several_conditions_are_those_of_a_scan_and_of_numpy(run: pathlib.Path) -> None:
    wanted = {text: answers(run, text, 2) for text, _ in conditions()}
    names = [name for name in DATA if name != "plain"]
    for text, mask in conditions():
        found = wanted[text]
        x, y, w = DATA["x"][mask], DATA["y"][mask], DATA["w"][mask]
        assert found["count"] == mask.sum() and np.array_equal(found["positions"], np.flatnonzero(mask)), text
        assert found["x"] == x.tobytes() and found["w"] == w.tobytes(), text
        assert np.array_equal(found["1d"], np.histogram(y, 64, SPAN)[0]), text
        numbers = ~np.isnan(x)
        counted = np.histogram2d(x[numbers], DATA["id"][mask][numbers], (32, 25), [SPAN, (-100, 100)])[0]
        assert np.array_equal(found["2d"], counted), text
        weighed = np.histogram(x[numbers], 64, SPAN, weights=w[numbers])[0]
        assert np.allclose(np.frombuffer(found["weights"]), weighed, rtol=1e-9), text
    try:
        for levels, threads in [("P", 3), (("X", "P"), 1), (("K", "P"), 2)]:
            for number, name in enumerate(names):
                hs.index(run, f"/{name}", levels[number % len(levels)])
            for text, _ in conditions():
                same(answers(run, text, threads), wanted[text], (text, levels, threads))
    finally:
        for left in sorted(run.with_name("run.h5.hsidx").glob("*")):
            left.unlink()


def test_values_are_taken_one_by_one_where_indexes_leave_few_rows(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as f:
        for name, values in DATA.items():
            f[name] = values
    assert hs.query(path, "/", "x > 3 && plain > 0")._native.values(["y"]) is None
    hs.index(path, ["/x", "/y"], "P")
    for text, alone in [
        ("x > 0 && y > 0", True),
        ("1 < x && x < 1.01", True),
        ("x > 3 && plain > 0", True),
        ("x > 0 && plain > 0", False),
        ("plain > 0", False),
    ]:
        q = hs.query(path, "/", text)
        assert (q._native.values(["y"]) is not None) is alone, text
    assert hs.query(path, "/", "1 < x && x < 1.01").explain().count("index P on x") == 1


@pytest.mark.parametrize("level", LEVELS)
def test_a_damaged_index_of_one_of_several_columns_never_changes_an_answer(tmp_path: pathlib.Path, level: str) -> None:
    rng = random.Random(level)
    few = {"a": np.random.default_rng(5).integers(0, 50, 200_000).astype("f4"), "b": np.random.default_rng(6).integers(0, 50, 200_000).astype("f8")}
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        for name, values in few.items():
            f[name] = values
    hs.index(path, ["/a", "/b"], level)
    folder = tmp_path / "x.h5.hsidx"
    whole = {name.name: name.read_bytes() for name in folder.iterdir()}
    mask = (few["a"] > 40) & (few["b"] < 3)
    for _ in range(10):
        what = damaged(folder, rng)
        q = hs.query(path, "/", "a > 40 && b < 3")
        assert q.count() == mask.sum() and np.array_equal(q.positions(), np.flatnonzero(mask)), what
        assert np.array_equal(q.values("b"), few["b"][mask]), what
        assert np.array_equal(q.histogram2d("a", "b", 10, [(0, 50)] * 2).values, np.histogram2d(few["a"][mask], few["b"][mask], 10, [(0, 50)] * 2)[0]), what
        for name, data in whole.items():
            (folder / name).write_bytes(data)
