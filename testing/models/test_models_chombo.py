"""Adaptive meshes of Chombo as a model: files built by h5py after Chombo's layout, judged by a plain oracle in numpy."""

from __future__ import annotations

import itertools
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import polars as pl
import pytest

DIRECTIONS = "ijk"
Corner = tuple[int, ...]
Box = tuple[Corner, Corner]


def box_type(dimensions: int, integer: str = "i4") -> np.dtype[Any]:
    return np.dtype([(f"{corner}_{DIRECTIONS[axis]}", integer) for corner in ("lo", "hi") for axis in range(dimensions)])


def intvect(values: Corner) -> np.ndarray:
    return np.array(tuple(values), [(f"intvect{DIRECTIONS[axis]}", "i4") for axis in range(len(values))])


def value_of(level: int, component: int, cell: Corner) -> float:
    """A different number for each cell."""
    return level * 1e6 + component * 1e5 + sum((index + 40) * 97**axis for axis, index in enumerate(cell)) * 0.5


def write(
    path: pathlib.Path,
    levels: list[list[Box]],
    *,
    ratios: list[Any],
    components: tuple[str, ...] = ("density",),
    ghosts: Corner | None = None,
    dx: Any = 0.5,
    origin: list[float] | None = None,
    dtype: str = "f8",
    integer: str = "i4",
    domain: Box | None = None,
    **storage: Any,
) -> pathlib.Path:
    """Writes boxes of levels with data that `value_of` gives; ghost cells hold NaN."""
    dimensions = len(levels[0][0][0])
    around = ghosts or (0,) * dimensions
    with h5py.File(path, "w") as f:
        f.create_group("Chombo_global").attrs["SpaceDim"] = np.int32(dimensions)
        f.attrs["num_components"], f.attrs["num_levels"] = np.int32(len(components)), np.int32(len(levels))
        f.attrs["time"], f.attrs["iteration"], f.attrs["max_level"] = 1.25, np.int32(7), np.int32(len(levels) - 1)
        for number, name in enumerate(components):
            f.attrs[f"component_{number}"] = np.bytes_(name)
        for number, boxes in enumerate(levels):
            group = f.create_group(f"level_{number}")
            scale = np.prod([np.array(ratio) for ratio in ratios[:number]], axis=0) if number else 1
            group.attrs["dx" if np.ndim(dx) == 0 and np.ndim(scale) == 0 else "vec_dx"] = np.asarray(dx) / scale
            group.attrs["dt"], group.attrs["time"] = 0.1 / 2**number, 1.25
            if origin is not None:
                group.attrs["prob_lo"] = origin
            if number < len(ratios):
                ratio = ratios[number]
                group.attrs["ref_ratio"] = np.int32(ratio) if np.ndim(ratio) == 0 else intvect(ratio)
            if domain is not None:
                group.attrs["prob_domain"] = np.array((*domain[0], *domain[1]), box_type(dimensions))
            group["boxes"] = np.array([(*low, *high) for low, high in boxes], box_type(dimensions, integer))
            data, offsets = [], [0]
            for low, high in boxes:
                for component in range(len(components)):
                    axes = [range(low[axis] - around[axis], high[axis] + around[axis] + 1) for axis in reversed(range(dimensions))]
                    for place in itertools.product(*axes):
                        cell = place[::-1]
                        inside = all(low[axis] <= cell[axis] <= high[axis] for axis in range(dimensions))
                        data.append(value_of(number, component, cell) if inside else np.nan)
                offsets.append(len(data))
            group.create_dataset("data:datatype=0", data=np.array(data, dtype), **storage)
            group["data:offsets=0"] = np.array(offsets, "i8")
            attributes = group.create_group("data_attributes").attrs
            attributes["comps"], attributes["objectType"] = np.int32(len(components)), np.bytes_("FArrayBox")
            if ghosts is not None:
                attributes["ghost"], attributes["outputGhost"] = intvect((3,) * dimensions), intvect(ghosts)
    return path


def expected(
    levels: list[list[Box]], *, ratios: list[Any], components: tuple[str, ...] = ("density",), dx: Any = 0.5, origin: list[float] | None = None
) -> pd.DataFrame:
    """All cells, one by one."""
    dimensions = len(levels[0][0][0])
    rows = []
    for number, boxes in enumerate(levels):
        scale = np.broadcast_to(np.prod([np.array(ratio) for ratio in ratios[:number]], axis=0) if number else 1, (dimensions,))
        spacing = np.broadcast_to(dx, (dimensions,)) / scale
        start = [0.0] * dimensions if origin is None else origin
        below: set[Corner] = set()
        if number + 1 < len(levels):
            ratio = np.broadcast_to(ratios[number], (dimensions,))
            for low, high in levels[number + 1]:
                below.update(itertools.product(*(range(low[axis] // ratio[axis], high[axis] // ratio[axis] + 1) for axis in range(dimensions))))
        for place, (low, high) in enumerate(boxes):
            for cell in (cell[::-1] for cell in itertools.product(*(range(low[axis], high[axis] + 1) for axis in reversed(range(dimensions))))):
                row: dict[str, Any] = {"level": number, "box": place}
                row.update({DIRECTIONS[axis]: cell[axis] for axis in range(dimensions)})
                row.update({"xyz"[axis]: start[axis] + (cell[axis] + 0.5) * spacing[axis] for axis in range(dimensions)})
                row.update({name: value_of(number, component, cell) for component, name in enumerate(components)})
                row["covered"] = cell in below
                rows.append(row)
    return pd.DataFrame(rows)


TWO = [
    [((-8, -4), (-1, 3)), ((0, -4), (4, 3)), ((5, 0), (7, 3))],
    [((-6, -5), (-1, 2)), ((0, -5), (3, 0)), ((8, 2), (9, 2))],
    [((-12, -3), (-5, 3)), ((0, 0), (3, 1))],
]
THREE = [
    [((0, 0, 0), (3, 2, 4)), ((4, -2, 0), (6, 2, 1))],
    [((0, 0, 2), (5, 1, 5)), ((6, -3, 0), (9, 4, 3))],
]
CASES: dict[str, tuple[list[list[Box]], dict[str, Any], dict[str, Any]]] = {
    "2-D": (TWO, {"ratios": [2, 4]}, {}),
    "2-D, a ratio for each direction": (TWO, {"ratios": [(4, 2), (2, 2)], "dx": [0.5, 0.25], "origin": [1.0, -3.0]}, {"ghosts": (1, 2)}),
    "2-D, compressed": (
        TWO,
        {"ratios": [2, 2], "components": ("density", "velocity x", "box", "level")},
        {"chunks": (50,), "compression": 4, "ghosts": (2, 0)},
    ),
    "3-D": (THREE, {"ratios": [2], "components": ("density", "p")}, {}),
    "3-D with ghosts": (THREE, {"ratios": [4], "components": ("density", "p", "u"), "dx": 0.125}, {"ghosts": (1, 0, 2), "dtype": "f4", "integer": "i8"}),
    "1-D": ([[((-3,), (4,)), ((5,), (5,))], [((0,), (3,))]], {"ratios": [2]}, {"ghosts": (1,)}),
    "one level": (TWO[:1], {"ratios": []}, {"ghosts": (2, 2)}),
    "an empty level": ([*TWO[:1], []], {"ratios": [2]}, {}),
}


def good(path: pathlib.Path) -> pathlib.Path:
    levels, both, only = CASES["2-D, a ratio for each direction"]
    return write(path, levels, **both, **only)


def names_of(components: tuple[str, ...]) -> dict[str, str]:
    return {name: f"{name}_component" if name in ("box", "level") else name for name in components}


def made(tmp_path: pathlib.Path, case: str) -> tuple[pathlib.Path, pd.DataFrame]:
    levels, both, only = CASES[case]
    path = write(tmp_path / "plot.hdf5", levels, **both, **only)
    # A frame has one column of a name: components get other names, as the model gives them.
    components = both.get("components", ("density",))
    wanted = expected(levels, **{**both, "components": tuple(names_of(components).values())})
    if only.get("dtype") == "f4":
        for name in names_of(components).values():
            wanted[name] = wanted[name].astype("f4")
    return path, wanted


@pytest.mark.parametrize("case", CASES)
def test_cells_are_those_of_a_plain_oracle(tmp_path: pathlib.Path, case: str) -> None:
    path, wanted = made(tmp_path, case)
    with hs.open(path) as f:
        view = f.models[0]
        assert (view.name, view.certainty) == ("chombo", "certain")
        assert view.tables == ["cells", "boxes"] and view.validate() == [] and view.omitted == {}
        table = view.table("cells")
        got = table.to_pandas()
        assert table.count() == len(wanted)
        pd.testing.assert_frame_equal(got, wanted, check_exact=True)
        for rows in (1, 7, 100):
            parts = [batch.to_pandas() for batch in view.table("cells", batch_rows=rows).batches()]
            assert all(len(part) <= rows for part in parts)
            pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), wanted, check_exact=True)
        for limit in (1, 11, len(wanted) // 2):
            pd.testing.assert_frame_equal(view.table("cells", limit=limit).to_pandas(), wanted[:limit], check_exact=True)
        number = wanted.groupby("level").cumcount()
        for start in range(0, len(wanted), max(1, len(wanted) // 5)):
            some = view.table("cells", f"_row >= {start} and _row < {start + 11}").to_pandas()
            rows = wanted[(number >= start) & (number < start + 11)].reset_index(drop=True)
            if len(rows):
                pd.testing.assert_frame_equal(some, rows, check_exact=True)


@pytest.mark.parametrize("case", [name for name in CASES if name[0] != "1"])
def test_conditions_find_the_rows_that_the_oracle_finds(tmp_path: pathlib.Path, case: str) -> None:
    path, wanted = made(tmp_path, case)
    view = hs.models.chombo.open(path)
    middle = float(wanted.density.median())
    for condition, mask in {
        "level = 1": wanted.level == 1,
        "not covered": ~wanted.covered,
        "covered and level = 0": wanted.covered & (wanted.level == 0),
        "box = 1 and i >= 2": (wanted.box == 1) & (wanted.i >= 2),
        f"density > {middle!r}": wanted.density > middle,
        f"density <= {middle!r} and x < 0.6 and j in (0, 2, 3)": (wanted.density <= middle) & (wanted.x < 0.6) & wanted.j.isin([0, 2, 3]),
        "i = -8 or y > 1.3": (wanted.i == -8) | (wanted.y > 1.3),
        "level = 9": wanted.level == 9,
    }.items():
        table = view.cells(condition)
        rows = wanted[mask].reset_index(drop=True)
        assert table.count() == len(rows), condition
        if len(rows):
            pd.testing.assert_frame_equal(table.to_pandas(), rows, check_exact=True)
        few = view.cells(condition, ["covered", "density", "k" if "k" in wanted else "j"]).to_pandas()
        assert few.density.tolist() == rows.density.tolist() and few.covered.tolist() == rows.covered.tolist()
    assert view.cells("not covered", level=0).count() == ((wanted.level == 0) & ~wanted.covered).sum()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_conditions_on_boxes_indexes_and_centers_are_those_of_the_oracle(tmp_path: pathlib.Path, case: str) -> None:
    path, wanted = made(tmp_path, case)
    view = hs.models.chombo.open(path)
    random = np.random.default_rng(11)
    axes = [axis for axis in "ijk" if axis in wanted]
    middle = float(wanted.density.median())

    def one() -> tuple[str, pd.Series]:
        column = str(random.choice(["box", "level", *axes, *("xyz"[: len(axes)])]))
        values = np.sort(wanted[column].unique())
        low, high = sorted(float(values[int(at)]) for at in random.integers(0, len(values), 2))
        if column not in "xyz":
            low, high = int(low), int(high)
        ours = wanted[column]
        return [
            (f"{column} >= {low!r}", ours >= low),
            (f"{column} < {high!r}", ours < high),
            (f"{column} between {low!r} and {high!r}", (ours >= low) & (ours <= high)),
            (f"{column} in ({low!r}, {high!r})", ours.isin([low, high])),
            (f"not {column} = {low!r}", ours != low),
            (f"({column} < {low!r} or {column} > {high!r})", (ours < low) | (ours > high)),
        ][int(random.integers(6))]

    others = [("covered", wanted.covered), ("not covered", ~wanted.covered), (f"density > {middle!r}", wanted.density > middle), ("1 = 1", wanted.level >= 0)]
    for _ in range(60):
        (first, passes), (second, other), (third, last) = one(), one(), one()
        (test, tested) = others[int(random.integers(3))]
        for condition, mask in {
            first: passes,
            f"{first} and {second}": passes & other,
            f"{first} and {test} and {second}": passes & tested & other,
            f"({first} or {second}) and {third}": (passes | other) & last,
            f"({first} or {test}) and {third}": (passes | tested) & last,
            f"({first} and {second} or {third} and {test})": (passes & other) | (last & tested),
        }.items():
            rows = wanted[mask]
            assert view.cells(condition).count() == len(rows), condition
            got = view.cells(condition, ["level", "box", *axes, "x", "density", "covered"]).to_pandas()
            assert got.density.tolist() == rows.density.tolist() and got.i.tolist() == rows.i.tolist() and got.x.tolist() == rows.x.tolist(), condition
            assert got.covered.tolist() == rows.covered.tolist() and got.box.tolist() == rows.box.tolist(), condition
            few = view.cells(condition, ["density"], limit=3, batch_rows=2).to_pandas()
            assert few.density.tolist() == rows.density.tolist()[:3], condition
            joined = [value for split in view.cells(condition, ["density"]).splits(3) for value in split.read()["density"].to_pylist()]
            assert sorted(joined) == sorted(rows.density), condition


def large(path: pathlib.Path, **storage: Any) -> pathlib.Path:
    """Boxes of 16 cells in each direction, 64 on the coarse level and 8 in its middle on the fine one; a component is the number of its element."""
    write(path, [[((0, 0, 0), (0, 0, 0))], [((0, 0, 0), (0, 0, 0))]], ratios=[2], components=("density", "p"), dx=1.0)
    with h5py.File(path, "r+") as f:
        for number, places in enumerate([range(4), range(3, 5)]):
            group = f[f"level_{number}"]
            for name in ("boxes", "data:datatype=0", "data:offsets=0"):
                del group[name]
            low = [(16 * i, 16 * j, 16 * k) for k, j, i in itertools.product(places, repeat=3)]
            group["boxes"] = np.array([(*corner, *(index + 15 for index in corner)) for corner in low], box_type(3))
            group.create_dataset("data:datatype=0", data=np.arange(len(low) * 8192.0) + number * 1e6, **storage)
            group["data:offsets=0"] = np.arange(len(low) + 1) * 8192
    return path


@pytest.mark.parametrize("storage", [{}, {"chunks": (4096,), "compression": 1}])
def test_conditions_read_only_the_boxes_that_they_touch(tmp_path: pathlib.Path, storage: dict[str, Any]) -> None:
    view = hs.models.chombo.open(large(tmp_path / "large.hdf5", **storage))
    everything = view.cells(None, ["level", "box", "i", "j", "k", "x", "y", "p", "covered"]).to_pandas()
    for condition, mask, rows, boxes in [
        ("level = 0 and box in (7, 40)", (everything.level == 0) & everything.box.isin([7, 40]), 8192, 2),
        ("x < 16 and y < 16 and level = 0", (everything.x < 16) & (everything.y < 16) & (everything.level == 0), 16384, 4),
        ("level = 0 and k = 20", (everything.level == 0) & (everything.k == 20), 4096, 16),
        ("level = 1 and i >= 64 and j >= 64", (everything.level == 1) & (everything.i >= 64) & (everything.j >= 64), 8192, 2),
        ("level = 0 and (box = 3 or i = 17 and j = 2 and k = 60)", None, 8192, 2),
        ("covered", everything.covered, 8 * 4096, 8),
        ("not covered and level = 0", ~everything.covered & (everything.level == 0), 64 * 4096, 64),
    ]:
        if mask is None:
            point = (everything.i == 17) & (everything.j == 2) & (everything.k == 60)
            mask = (everything.level == 0) & ((everything.box == 3) | point)
        before = hs.counters()
        table = view.cells(condition, ["p"])
        got = table.to_arrow()["p"].to_pylist()
        read = hs.counters().since(before)
        assert got == everything.p[mask].tolist(), condition
        # Compressed components are read in whole chunks: here the chunks of the boxes.
        assert f"{boxes} of {64 if 'level = 1' not in condition else 8} boxes" in table.explain(), table.explain()
        metadata = 64 * 1024
        if storage:
            assert read.chunks_decoded <= boxes, condition
        else:
            # The other component between two boxes may be read along.
            assert read.bytes_read <= rows * 16 + metadata, (condition, read.bytes_read)
    # Nothing is read of levels without rows, and no data for what boxes answer.
    view.cells("x < -5").count()
    before = hs.counters()
    assert view.cells("x < 16 and y < 16 and k >= 3").count() == ((everything.x < 16) & (everything.y < 16) & (everything.k >= 3)).sum()
    assert hs.counters().since(before).bytes_read < 64 * 1024


def test_boxes_that_are_covered_whole_are_left_out_of_conditions(tmp_path: pathlib.Path) -> None:
    # A box below one finer box, one below two, one below none, and one that is partly covered: only then cells are tested.
    coarse: list[Box] = [((0, 0), (1, 1)), ((2, 0), (3, 1)), ((4, 0), (5, 1)), ((6, 0), (7, 1))]
    finer: list[Box] = [((0, 0), (3, 3)), ((4, 0), (7, 1)), ((4, 2), (7, 3)), ((12, 0), (13, 3))]
    path, wanted = write(tmp_path / "covered.hdf5", [coarse, finer], ratios=[2]), expected([coarse, finer], ratios=[2])
    view = hs.models.chombo.open(path)
    for condition, mask, boxes in (("covered", wanted.covered, 3), ("not covered and level = 0", ~wanted.covered & (wanted.level == 0), 2)):
        table = view.cells(condition)
        assert f"{boxes} of 4 boxes, tested row by row on covered" in table.explain()
        pd.testing.assert_frame_equal(table.to_pandas(), wanted[mask].reset_index(drop=True), check_exact=True)


def test_boxes_that_are_covered_whole_or_not_at_all_need_no_test(tmp_path: pathlib.Path) -> None:
    coarse: list[Box] = [((0, 0), (1, 1)), ((2, 0), (3, 1)), ((4, 0), (5, 1))]
    finer: list[Box] = [((0, 0), (3, 3)), ((4, 0), (7, 1)), ((4, 2), (7, 3))]
    path, wanted = write(tmp_path / "whole.hdf5", [coarse, finer], ratios=[2]), expected([coarse, finer], ratios=[2])
    view = hs.models.chombo.open(path)
    for condition, mask, boxes in (("covered", wanted.covered, 2), ("not covered and level = 0", ~wanted.covered & (wanted.level == 0), 1)):
        table = view.cells(condition)
        assert f"{boxes} of 3 boxes, no test row by row" in table.explain()
        pd.testing.assert_frame_equal(table.to_pandas(), wanted[mask].reset_index(drop=True), check_exact=True)
    assert "tested row by row" in view.cells("not covered or density > 0").explain()


def test_splits_are_read_by_other_processes(tmp_path: pathlib.Path) -> None:
    path, wanted = made(tmp_path, "3-D with ghosts")
    for condition, mask in (
        (None, wanted.level >= 0),
        ("not covered and density > 3", ~wanted.covered & (wanted.density > 3)),
        ("i in (0, 2, 4) and x < 0.3 and k >= 0", wanted.i.isin([0, 2, 4]) & (wanted.x < 0.3) & (wanted.k >= 0)),
    ):
        splits = hs.models.chombo.open(path).cells(condition).splits(4)
        (tmp_path / "splits").write_bytes(pickle.dumps(splits))
        code = (
            "import pickle, sys, pyarrow as pa; s = pickle.load(open(sys.argv[1], 'rb'));"
            "pa.concat_tables(x.read() for x in s).to_pandas().to_pickle(sys.argv[2])"
        )
        subprocess.run([sys.executable, "-c", code, tmp_path / "splits", tmp_path / "rows"], check=True)
        got = pd.read_pickle(tmp_path / "rows").sort_values(["level", "box", "k", "j", "i"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(got, wanted[mask].reset_index(drop=True), check_exact=True)


def test_sql_polars_boxes_facts_and_dense_levels(tmp_path: pathlib.Path) -> None:
    path, wanted = made(tmp_path, "2-D, a ratio for each direction")
    found = hs.sql("select level, count(*), sum(density) from cells where not covered group by level order by level", path).fetchall()
    by_level = wanted[~wanted.covered].groupby("level").density
    assert [(level, count) for level, count, _ in found] == list(by_level.count().items())
    np.testing.assert_allclose([total for *_, total in found], by_level.sum())
    view = hs.models.chombo.open(path)
    lazy = hs.scan_polars(path, "cells", model="chombo").filter(pl.col("covered")).select("i", "j").collect()
    assert lazy.rows() == list(wanted[wanted.covered][["i", "j"]].itertuples(index=False, name=None))
    boxes = [
        {
            "level": level,
            "box": place,
            "lo_i": low[0],
            "lo_j": low[1],
            "hi_i": high[0],
            "hi_j": high[1],
            "cells": (high[0] - low[0] + 1) * (high[1] - low[1] + 1),
        }
        for level, list_of in enumerate(TWO)
        for place, (low, high) in enumerate(list_of)
    ]
    assert view.boxes.to_arrow().to_pylist() == boxes and view.table("boxes", "cells > 40").count() == sum(box["cells"] > 40 for box in boxes)
    assert view.facts["time"] == 1.25 and view.facts["iteration"] == 7 and view.components == ["density"]
    assert [level["ratio"] for level in view.levels] == [[4, 2], [2, 2], None] and view.levels[1]["dx"] == [0.125, 0.125]
    assert view.levels[0]["ghosts"] == [1, 2] and view.levels[0]["origin"] == [1.0, -3.0]
    for number in range(3):
        dense = view.level(number, "density")
        own = wanted[wanted.level == number]
        assert dense.count() == len(own) and dense.shape == (own.j.max() - own.j.min() + 1, own.i.max() - own.i.min() + 1)
        assert [dense[j - own.j.min(), i - own.i.min()] for i, j in zip(own.i, own.j, strict=True)] == own.density.tolist()
    with pytest.raises(hs.NotFoundError, match="no level 3"):
        view.level(3, "density")
    with pytest.raises(hs.NotFoundError, match="no table"):
        view.table("nodes")


def test_many_random_boxes(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    places = list(itertools.product(range(-10, 10), range(-6, 6)))
    levels: list[list[Box]] = []
    for kept in (120, 90, 60):
        chosen = sorted(random.choice(len(places), kept, replace=False))
        corners = [(places[one][0] * 4, places[one][1] * 3) for one in chosen]
        levels.append([((i, j), (i + int(random.integers(0, 4)), j + int(random.integers(0, 3)))) for i, j in corners])
    settings: dict[str, Any] = {"ratios": [(2, 2), (4, 2)], "components": ("density", "p")}
    path, wanted = write(tmp_path / "many.hdf5", levels, ghosts=(1, 1), **settings), expected(levels, **settings)
    view = hs.models.chombo.open(path)
    assert view.validate() == [] and 0 < wanted.covered.sum() < len(wanted)
    pd.testing.assert_frame_equal(view.cells().to_pandas(), wanted, check_exact=True)
    picked = view.cells("i in (-9, 0, 3, 6, 12) and not covered").to_pandas()
    pd.testing.assert_frame_equal(picked, wanted[wanted.i.isin([-9, 0, 3, 6, 12]) & ~wanted.covered].reset_index(drop=True), check_exact=True)


def test_only_the_elements_of_the_rows_are_read(tmp_path: pathlib.Path) -> None:
    levels = [[((64 * n, 0, 0), (64 * n + 63, 15, 15)) for n in range(20)]]
    path = tmp_path / "large.hdf5"
    write(path, [[((0, 0, 0), (0, 0, 0))]], ratios=[], components=("density", "p"))
    with h5py.File(path, "r+") as f:
        group = f["level_0"]
        for name in ("boxes", "data:datatype=0", "data:offsets=0"):
            del group[name]
        cells = 64 * 16 * 16
        group["boxes"] = np.array([(*low, *high) for low, high in levels[0]], box_type(3))
        group["data:datatype=0"], group["data:offsets=0"] = np.arange(20.0 * 2 * cells), np.arange(21) * 2 * cells
    with hs.open(path) as f:
        got = f.table("cells", model="chombo", columns=["p"], where=f"_row >= {5 * cells + 100} and _row < {5 * cells + 110}").to_arrow()["p"].to_pylist()
        assert got == [float(5 * 2 * cells + cells + 100 + n) for n in range(10)]
        assert f.table("cells", "box = 7", model="chombo", columns=["p"]).count() == cells


def test_ghosts_are_known_by_the_length_of_the_data(tmp_path: pathlib.Path) -> None:
    path, wanted = made(tmp_path, "2-D, a ratio for each direction")
    with h5py.File(path, "r+") as f:
        for number in range(3):
            attributes = f[f"level_{number}/data_attributes"].attrs
            del attributes["outputGhost"]
            attributes["ghost"] = intvect((1, 2))
    pd.testing.assert_frame_equal(hs.models.chombo.open(path).cells().to_pandas(), wanted, check_exact=True)
    path, wanted = made(tmp_path, "2-D")
    with h5py.File(path, "r+") as f:
        for number in range(3):
            f[f"level_{number}/data_attributes"].attrs["ghost"] = intvect((1, 1))
            del f[f"level_{number}/data:offsets=0"]
    pd.testing.assert_frame_equal(hs.models.chombo.open(path).cells().to_pandas(), wanted, check_exact=True)


def test_pluto_has_stretches_and_begins(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "pluto.hdf5", TWO[:1], ratios=[])
    with h5py.File(path, "r+") as f:
        attributes = f["level_0"].attrs
        attributes["domBeg1"], attributes["domBeg2"], attributes["g_x2stretch"], attributes["logr"] = 1.0, -2.0, 4.0, 0.0
    wanted = expected(TWO[:1], ratios=[])
    view = hs.models.chombo.open(path)
    got = view.cells(columns=["x", "y"]).to_pandas()
    assert got.x.tolist() == (1.0 + (wanted.i + 0.5) * 0.5).tolist() and got.y.tolist() == (-2.0 + (wanted.j + 0.5) * 2.0).tolist()
    with h5py.File(path, "r+") as f:
        f["level_0"].attrs["logr"] = 1.0
    view = hs.models.chombo.open(path)
    assert "x" not in view.cells().schema.names and "logr" in view.omitted["x"]


def replaced(name: str, change: Any) -> Any:
    def apply(f: h5py.File) -> None:
        values = f[name][:]
        values = change(values)
        del f[name]
        f[name] = values

    return apply


def corner(member: str, number: int) -> Any:
    def change(boxes: np.ndarray) -> np.ndarray:
        boxes[member][0] = number
        return boxes

    return replaced("level_0/boxes", change)


def attribute(path: str, name: str, value: Any) -> Any:
    def apply(f: h5py.File) -> None:
        if value is None:
            del f[path].attrs[name]
        else:
            f[path].attrs[name] = value

    return apply


def without(path: str) -> Any:
    return lambda f: f.__delitem__(path)


ERRORS: dict[str, tuple[Any, str]] = {
    "data that is too short": (replaced("level_1/data:datatype=0", lambda data: data[:-1]), r"elements, but the boxes need.*level_1/data"),
    "offsets beyond the data": (replaced("level_0/data:offsets=0", lambda offsets: offsets + 10**6), "offset 0 is 1000000"),
    "other offsets": (replaced("level_0/data:offsets=0", lambda offsets: offsets + (np.arange(len(offsets)) == 1)), "offset 1 is"),
    "negative offsets": (replaced("level_0/data:offsets=0", lambda offsets: -1 - offsets), "offset 0 is -1"),
    "too few offsets": (replaced("level_0/data:offsets=0", lambda offsets: offsets[:-1]), "3 offsets for 3 boxes"),
    "offsets that are not integers": (replaced("level_0/data:offsets=0", lambda offsets: offsets + 0.5), "not integers"),
    "a box that ends before it begins": (corner("lo_i", 9), "box 0 begins"),
    "a box near the limits": (corner("hi_i", 2**31 - 1), "the boxes need"),
    "a box from limit to limit": (
        lambda f: [corner(m, n)(f) for m, n in (("lo_i", -(2**31)), ("hi_i", 2**31 - 1), ("lo_j", -(2**31)), ("hi_j", 2**31 - 1))],
        "63 bits|the boxes need",
    ),
    "boxes without a member": (replaced("level_0/boxes", lambda boxes: np.zeros(3, [("lo_i", "i4")])), "no member hi_i"),
    "boxes that are numbers": (replaced("level_0/boxes", lambda boxes: np.zeros((3, 4))), "not a list of compounds"),
    "corners that are not integers": (replaced("level_0/boxes", lambda boxes: boxes.astype([(name, "f8") for name in boxes.dtype.names])), "lo_i of the boxes"),
    "boxes of more dimensions": (attribute("Chombo_global", "SpaceDim", np.int32(3)), "no member lo_k"),
    "four dimensions": (attribute("Chombo_global", "SpaceDim", np.int32(4)), "SpaceDim"),
    "no dimensions": (attribute("Chombo_global", "SpaceDim", None), "SpaceDim"),
    "a missing level": (without("level_1"), "level_1.*missing|missing.*level_1"),
    "no boxes": (without("level_1/boxes"), "level_1/boxes.*missing|missing.*level_1/boxes"),
    "no data": (without("level_2/data:datatype=0"), "missing"),
    "fewer components than named": (attribute("level_0/data_attributes", "comps", np.int32(2)), "comps is 2, but num_components is 1"),
    "a component without a name": (attribute("/", "num_components", np.int32(2)), "component_1"),
    "no number of components": (attribute("/", "num_components", None), "num_components"),
    "no levels": (attribute("/", "num_levels", np.int32(0)), "no level"),
    "levels that are no count": (attribute("/", "num_levels", -1.5), "num_levels"),
    "more levels": (attribute("/", "num_levels", np.int32(2**31 - 1)), "level_3"),
    "no ratio": (attribute("level_0", "ref_ratio", None), "ref_ratio"),
    "a ratio of 0": (attribute("level_0", "ref_ratio", np.int32(0)), "ref_ratio"),
    "no spacing": (attribute("level_0", "dx", None), "dx"),
    "a spacing that is NaN": (attribute("level_0", "dx", np.nan), "dx"),
    "ghosts that are negative": (attribute("level_0/data_attributes", "outputGhost", np.int32(-1)), "outputGhost"),
    "ghosts that the data lacks": (attribute("level_0/data_attributes", "outputGhost", intvect((1, 1))), "the boxes need"),
    "ghosts beyond all": (attribute("level_0/data_attributes", "outputGhost", np.int32(2**31 - 1)), "the boxes need"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_contradictions_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path, _ = made(tmp_path, "2-D")
    change, message = ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.chombo.open(path)
    assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.cells().to_arrow()


def test_overlapping_boxes_and_boxes_beyond_the_domain_are_problems(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "overlap.hdf5", [[((0, 0), (3, 3)), ((3, 3), (5, 5))]], ratios=[], domain=((0, 0), (4, 5)))
    view = hs.models.chombo.open(path)
    messages = [problem.message for problem in view.validate()]
    assert len(messages) == 2 and "cells of another box" in messages[0] and "box 1 is not within prob_domain" in messages[1]
    assert view.cells().count() == 25
    with pytest.raises(hs.InvalidInputError, match="not within"):
        view.level(0, "density")
    path = write(tmp_path / "domain.hdf5", [[((0, 0), (3, 3))]], ratios=[], domain=((-1, 0), (4, 5)))
    dense = hs.models.chombo.open(path).level(0, "density")
    assert dense.shape == (6, 6) and dense.count() == 16 and dense[0, 1] == value_of(0, 0, (0, 0)) and dense.mask[0, 0]


def test_a_file_that_changed_is_a_conflict_for_its_splits(tmp_path: pathlib.Path) -> None:
    path, _ = made(tmp_path, "2-D")
    splits = hs.models.chombo.open(path).cells().splits(2)
    path.unlink()
    write(path, TWO[:1], ratios=[])
    with pytest.raises(hs.ConflictError):
        for split in splits:
            split.read()


def test_limits_hold_for_boxes(tmp_path: pathlib.Path) -> None:
    levels = [[((4 * n, 0), (4 * n, 0)) for n in range(2000)]]
    path = write(tmp_path / "many.hdf5", levels, ratios=[])
    assert hs.models.chombo.open(path).cells().count() == 2000
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        hs.models.chombo.open(path, limits={"metadata_bytes": 100_000}).cells()
