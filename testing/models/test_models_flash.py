"""FLASH as a model: files by h5py, judged by a plain oracle. VTK's own reader judges in testing/suites/vtk."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
from flash_files import BLOCKS, CELLS, ROOTS, expected, tree, write

TWO = tree((3, 2), lambda level, place: (level == 1 and place[0] == 1) or (level == 2 and place == (2, 1)))
ONE = tree((2,), lambda level, place: place == (0,) and level < 4)
CASES: dict[str, tuple[Any, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "3-D": (BLOCKS, CELLS, {"roots": ROOTS}, {}),
    "3-D, compressed": (BLOCKS, CELLS, {"chunks": (3, 3, 2, 4), "compression": 4}, {"variables": ("dens", "h1  ", "velx")}),
    "2-D": (TWO, (4, 3), {}, {}),
    "2-D, bounds of two directions": (TWO, (4, 3), {"old": True}, {}),
    "1-D": (ONE, (6,), {}, {}),
    "one level": (tree((2, 2, 1), lambda level, place: False), (2, 2, 2), {}, {}),
}


def good(path: pathlib.Path) -> pathlib.Path:
    return write(path, BLOCKS, CELLS, roots=ROOTS)


def made(tmp_path: pathlib.Path, case: str) -> tuple[pathlib.Path, pd.DataFrame]:
    blocks, cells, only, both = CASES[case]
    return write(tmp_path / "run_hdf5_chk_0001", blocks, cells, **only, **both), expected(blocks, cells, **both)


@pytest.mark.parametrize("case", CASES)
def test_cells_are_those_of_a_plain_oracle(tmp_path: pathlib.Path, case: str) -> None:
    path, wanted = made(tmp_path, case)
    with hs.open(path) as f:
        view = f.models[0]
        assert (view.name, view.certainty) == ("flash", "certain")
        assert view.tables == ["cells", "boxes"] and view.validate() == [] and "/gid" in view.omitted
        pd.testing.assert_frame_equal(view.table("cells").to_pandas(), wanted, check_exact=True)
        for rows in (1, 7, 100):
            parts = [batch.to_pandas() for batch in view.table("cells", batch_rows=rows).batches()]
            pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), wanted, check_exact=True)
    mesh = hs.models.flash.open(path)
    axes = [axis for axis in "ijk" if axis in wanted]
    middle = float(wanted.dens.median())
    for condition, mask in {
        "not covered": ~wanted.covered,
        "covered and dens > 3": wanted.covered & (wanted.dens > 3),
        "level = 2 and i in (1, 3, 4, 9)": (wanted.level == 2) & wanted.i.isin([1, 3, 4, 9]),
        "box in (0, 3, 5)": wanted.box.isin([0, 3, 5]),
        f"x < -0.6 and {axes[-1]} >= 1 and h1 > 100000": (wanted.x < -0.6) & (wanted[axes[-1]] >= 1) & (wanted.h1 > 100000),
        f"(x < -0.7 or box = 1) and dens <= {middle!r}": ((wanted.x < -0.7) | (wanted.box == 1)) & (wanted.dens <= middle),
        f"{axes[-1]} = 1": wanted[axes[-1]] == 1,
        "level = 9": wanted.level == 9,
    }.items():
        table = mesh.cells(condition)
        rows = wanted[mask].reset_index(drop=True)
        assert table.count() == len(rows), condition
        if len(rows):
            pd.testing.assert_frame_equal(table.to_pandas(), rows, check_exact=True)
        found = [value for split in mesh.cells(condition, ["dens"]).splits(3) for value in split.read()["dens"].to_pylist()]
        assert sorted(found) == sorted(rows.dens), condition


def test_boxes_facts_and_sql(tmp_path: pathlib.Path) -> None:
    path, wanted = made(tmp_path, "3-D")
    mesh = hs.models.flash.open(path)
    assert mesh.variables == ["dens", "h1"] and mesh.scalars["time"] == 1.5 and mesh.scalars["nstep"] == 7
    assert [level["level"] for level in mesh.levels] == [1, 2, 3] and mesh.levels[1]["dx"] == [0.0625, 0.25, 0.25 / 6]
    boxes = mesh.boxes.to_pandas()
    for _, box in boxes.iterrows():
        rows = wanted[wanted.box == box.box]
        assert [rows[axis].min() for axis in "ijk"] == [box.lo_i, box.lo_j, box.lo_k]
        assert [rows[axis].max() for axis in "ijk"] == [box.hi_i, box.hi_j, box.hi_k] and box.cells == len(rows) == 24
        assert (rows.level == box.level).all() and (rows.covered == (box.node_type != 1)).all()
    assert sorted(boxes.box) == list(range(len(BLOCKS)))
    found = hs.sql("select level, count(*), sum(dens) from cells where not covered group by level order by level", path).fetchall()
    by_level = wanted[~wanted.covered].groupby("level").dens
    assert [(level, count, total) for level, count, total in found] == [(level, len(own), own.sum()) for level, own in by_level]
    assert mesh.cells("not covered", level=2).count() == ((wanted.level == 2) & ~wanted.covered).sum()


def test_bounds_of_single_precision_lead_to_the_same_cells(tmp_path: pathlib.Path) -> None:
    deep = tree((1, 1), lambda level, place: level < 12 and place == (2 ** (level - 1) - 1, 0))
    low, width = (0.1, -1e3, 0.0), (0.3, 7e3, 1.0)
    path = write(tmp_path / "run_hdf5_plt_cnt_0001", deep, (8, 8), single=True, low=low, width=width)
    wanted, mesh = expected(deep, (8, 8), low=low, width=width), hs.models.flash.open(path)
    got = mesh.cells().to_pandas()
    assert mesh.validate() == [] and got.level.max() == 12
    for name in ("level", "box", "i", "j", "dens", "covered"):
        assert got[name].tolist() == wanted[name].tolist()
    np.testing.assert_allclose(got[["x", "y"]], wanted[["x", "y"]], rtol=3e-7)


def test_conditions_read_only_the_blocks_that_they_touch(tmp_path: pathlib.Path) -> None:
    blocks = tree((4, 4, 4), lambda level, place: False)
    path = write(tmp_path / "large", blocks, (16, 16, 16), low=(0.0, 0.0, 0.0), width=(1.0, 1.0, 1.0), variables=("dens",))
    mesh, data = hs.models.flash.open(path), np.arange(64 * 4096.0) * 0.5
    for condition, boxes, rows in [("x < 1 and y < 1", 4, None), ("box in (3, 40)", 2, [3, 40]), ("i = 5 and j = 6 and k = 7", 1, None)]:
        before = hs.counters()
        table = mesh.cells(condition, ["dens"])
        got = table.to_arrow()["dens"].to_pylist()
        assert f"{boxes} of 64 boxes" in table.explain()
        assert hs.counters().since(before).bytes_read <= boxes * 4096 * 8 + 65536, condition
        if rows:
            assert got == [value for block in rows for value in data[block * 4096 : (block + 1) * 4096]]


def test_large_blocks_are_read_in_parts(tmp_path: pathlib.Path) -> None:
    blocks = tree((2, 1, 1), lambda level, place: False)
    path = write(tmp_path / "large", blocks, (200, 150, 100), variables=("dens",))
    mesh = hs.models.flash.open(path)
    data = np.arange(2 * 3_000_000.0) * 0.5
    got = mesh.cells(None, ["dens"]).to_arrow()["dens"].to_numpy()
    assert np.array_equal(got, data)
    k, j, i = np.indices((100, 150, 200))
    mask = (i % 100 == 7).ravel() & (j > 140).ravel()
    chosen = mesh.cells("i in (7, 107) and j > 140", ["dens"]).to_arrow()["dens"].to_numpy()
    assert np.array_equal(chosen, data[:3_000_000][mask])


def test_splits_are_read_by_other_processes(tmp_path: pathlib.Path) -> None:
    path, wanted = made(tmp_path, "3-D")
    splits = hs.models.flash.open(path).cells("not covered and dens > 30 and x < -0.3").splits(4)
    (tmp_path / "splits").write_bytes(pickle.dumps(splits))
    code = (
        "import pickle, sys, pyarrow as pa; s = pickle.load(open(sys.argv[1], 'rb'));pa.concat_tables(x.read() for x in s).to_pandas().to_pickle(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "splits", tmp_path / "rows"], check=True)
    got = pd.read_pickle(tmp_path / "rows").sort_values(["level", "box", "k", "j", "i"]).reset_index(drop=True)
    mask = ~wanted.covered & (wanted.dens > 30) & (wanted.x < -0.3)
    pd.testing.assert_frame_equal(got, wanted[mask].reset_index(drop=True), check_exact=True)


def changed(path: str, change: Callable[[np.ndarray], np.ndarray] | None) -> Callable[[h5py.File], None]:
    def apply(f: h5py.File) -> None:
        values = f[path][:]
        del f[path]
        if change is not None:
            f[path] = change(values)

    return apply


def element(path: str, place: Any, value: Any) -> Callable[[h5py.File], None]:
    def change(values: np.ndarray) -> np.ndarray:
        values[place] = value
        return values

    return changed(path, change)


BOUNDS, LEVELS = "bounding box", "refine level"
ERRORS: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "a level of 0": (element(LEVELS, 3, 0), "levels from 0"),
    "a level beyond all": (element(LEVELS, 3, 2**31 - 1), "levels from 1 to 2147483647"),
    "levels that are floats": (changed(LEVELS, lambda values: values.astype("f8")), "refine level"),
    "levels of two dimensions": (changed(LEVELS, lambda values: values.reshape(-1, 1)), "shape"),
    "fewer levels": (changed(LEVELS, lambda values: values[:-1]), "blocks"),
    "fewer types": (changed("node type", lambda values: values[:-1]), "node type"),
    "fewer bounds": (changed(BOUNDS, lambda values: values[:-1]), "bounding box"),
    "a block off the grid": (element(BOUNDS, (4, 0), (-0.93, -0.68)), "not a block of width"),
    "a block of another size": (element(BOUNDS, (4, 1, 1), 3.0), "not a block of width"),
    "a block that is NaN": (element(BOUNDS, (4, 1, 0), np.nan), "NaN"),
    "a block without extent": (element(BOUNDS, (0, 0, 1), -1.0), "no extent"),
    "a block far away": (element(BOUNDS, (4, 0), (1e300, 1e300)), "not a block of width"),
    "a variable of fewer blocks": (changed("dens", lambda values: values[:-1]), "dens"),
    "a variable of other cells": (changed("h1  ", lambda values: values[:, :, :, :2]), "h1"),
    "a variable of three dimensions": (changed("dens", lambda values: values[:, 0]), "dens"),
    "a variable that is missing": (changed("dens", None), "dens"),
    "no names": (changed("unknown names", lambda values: values[:0]), "unknown names"),
    "a name twice": (changed("unknown names", lambda values: values[[0, 0]]), "twice"),
    "a name of another array": (changed("unknown names", lambda values: np.array([[b"gid"]])), "gid"),
    "relatives of no dimension": (changed("gid", lambda values: values[:, :7]), "gid"),
    "cells in more directions than the mesh has": (changed("gid", lambda values: values[:, :9]), "2 dimensions"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_contradictions_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path = good(tmp_path / "run_hdf5_chk_0001")
    change, message = ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.flash.open(path)
    assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.cells().to_arrow()


def test_types_that_contradict_the_blocks_are_problems(tmp_path: pathlib.Path) -> None:
    path = good(tmp_path / "run_hdf5_chk_0001")
    leaf = next(number for number, block in enumerate(BLOCKS) if block.is_leaf)
    with h5py.File(path, "r+") as f:
        f["node type"][leaf] = 2
    (problem,) = hs.models.flash.open(path).validate()
    assert problem.object == "/node type" and f"block {leaf} has the type 2, but finer blocks cover none of it" in problem.message
    with h5py.File(path, "r+") as f:
        f["node type"][leaf] = 1
        f["bounding box"][1] = f["bounding box"][2]
    messages = [problem.message for problem in hs.models.flash.open(path).validate()]
    assert any("cells of another block" in message for message in messages) and any("only part of it" in message for message in messages)


def test_limits_hold_for_blocks(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "many", tree((3000,), lambda level, place: False), (2,))
    assert hs.models.flash.open(path).cells().count() == 6000
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        hs.models.flash.open(path, limits={"metadata_bytes": 200_000}).cells()
