"""VTKHDF as a model: adaptive meshes and images by h5py, judged by a plain oracle. VTK's own reader judges in testing/suites/vtk."""

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
from vtkhdf_files import LEVELS, PARTS, SPACING, expected, expected_cells, group_of, write_grid, write_image, write_mesh, write_steps


def good(path: pathlib.Path) -> pathlib.Path:
    return write_mesh(path, LEVELS, SPACING)


def of_steps(path: pathlib.Path) -> pathlib.Path:
    return write_steps(path, [LEVELS[:2], LEVELS[:2]], SPACING, [0.0, 1.0])


def image(path: pathlib.Path) -> pathlib.Path:
    return write_image(path, (2, 6, -1, 3, 0, 2), 2)


@pytest.mark.parametrize("storage", [{}, {"chunks": (7,), "compression": 4}])
def test_cells_are_those_of_a_plain_oracle(tmp_path: pathlib.Path, storage: dict[str, Any]) -> None:
    path, wanted = write_mesh(tmp_path / "mesh.vtkhdf", LEVELS, SPACING, **storage), expected(LEVELS, SPACING)
    with hs.open(path) as f:
        view = f.models[0]
        assert (view.name, view.certainty) == ("vtkhdf", "certain")
        assert view.tables == ["cells", "boxes"] and view.validate() == []
        assert "PointData/p" in " ".join(view.omitted)
        pd.testing.assert_frame_equal(view.table("cells").to_pandas(), wanted, check_exact=True)
    mesh = hs.models.vtkhdf.open(path)
    assert 0 < wanted.covered.sum() < len(wanted)
    for condition, mask in {
        "not covered": ~wanted.covered,
        "level = 1 and x < 2.6": (wanted.level == 1) & (wanted.x < 2.6),
        "i in (2, 4, 5) and not covered and v_1 < -3": wanted.i.isin([2, 4, 5]) & ~wanted.covered & (wanted.v_1 < -3),
        "(box = 1 or k = 1) and rho > 10": ((wanted.box == 1) | (wanted.k == 1)) & (wanted.rho > 10),
    }.items():
        table = mesh.cells(condition)
        assert table.count() == mask.sum() > 0, condition
        pd.testing.assert_frame_equal(table.to_pandas(), wanted[mask].reset_index(drop=True), check_exact=True)
        rows = [value for split in mesh.cells(condition, ["rho"]).splits(3) for value in split.read()["rho"].to_pylist()]
        assert sorted(rows) == sorted(wanted.rho[mask])
    assert mesh.cells("covered", level=0).count() == (wanted.covered & (wanted.level == 0)).sum()
    assert mesh.type == "OverlappingAMR" and mesh.times is None
    assert [(level["boxes"], level["ratio"], level["dx"]) for level in mesh.levels] == [
        (2, [2, 2, 2], list(SPACING[0])),
        (2, [2, 2, 2], list(SPACING[1])),
        (1, None, list(SPACING[2])),
    ]
    boxes = [
        [level, number, *box[::2], *box[1::2], int(np.prod([box[1] - box[0] + 1, box[3] - box[2] + 1, box[5] - box[4] + 1]))]
        for level, own in enumerate(LEVELS)
        for number, box in enumerate(own)
    ]
    assert [list(row.values()) for row in mesh.boxes.to_arrow().to_pylist()] == boxes
    found = hs.sql("select level, count(*), sum(rho) from cells where not covered group by level order by level", path).fetchall()
    by_level = wanted[~wanted.covered].groupby("level").rho
    assert [(level, count) for level, count, _ in found] == list(by_level.count().items())


def test_a_condition_reads_only_the_boxes_that_it_touches(tmp_path: pathlib.Path) -> None:
    boxes = [(32 * n, 32 * n + 31, 0, 31, 0, 31) for n in range(16)]
    path = write_mesh(tmp_path / "large.vtkhdf", [boxes], [(1.0, 1.0, 1.0)], origin=(0.0, 0.0, 0.0))
    mesh = hs.models.vtkhdf.open(path)
    before = hs.counters()
    table = mesh.cells("x > 32 and x < 64", ["rho"])
    assert "1 of 16 boxes" in table.explain()
    assert table.to_arrow()["rho"].to_pylist() == (np.arange(32768, 65536) * 0.5).tolist()
    assert hs.counters().since(before).bytes_read < 32768 * 8 + 65536


@pytest.mark.parametrize("index", "ZKPBX")
@pytest.mark.parametrize("storage", [{}, {"chunks": (10000,), "compression": 1}], ids=["contiguous", "compressed"])
def test_value_indexes_answer_conditions_on_arrays(tmp_path: pathlib.Path, storage: dict[str, Any], index: str) -> None:
    boxes = [(32 * n, 32 * n + 31, 0, 31, 0, 31) for n in range(8)]
    path = write_mesh(tmp_path / "indexed.vtkhdf", [boxes], [(1.0, 1.0, 1.0)], **storage)
    with h5py.File(path, "r+") as f:
        f["VTKHDF/Level0/CellData/rho"][:] = np.random.default_rng(1).normal(size=8 * 32768)
    columns = ["i", "j", "k", "rho"]
    # Conditions on what is computed leave a range of rows, runs of them, or single rows.
    conditions = [
        "rho > 3.5",
        "rho between 0.1 and 0.2 and box in (2, 5)",
        "rho > 2 and k in (3, 7)",
        "rho < -1 and x > 10 and x < 60 and y < 5",
        "rho > 3 and i in (1, 5, 33, 40)",
        "(rho > 3 or i = 5) and k = 2",
    ]
    wanted = [hs.models.vtkhdf.open(path).cells(condition, columns).to_arrow() for condition in conditions]
    hs.index(path, "/VTKHDF/Level0/CellData/rho", index)
    mesh = hs.models.vtkhdf.open(path)
    for condition, rows in zip(conditions, wanted, strict=True):
        table = mesh.cells(condition, columns)
        # An index does not answer a disjunction with what is computed.
        assert (f"index {index} on rho" in table.explain()) == (" or " not in condition), condition
        assert table.count() == rows.num_rows > 0, condition
        assert table.to_arrow() == rows, condition
        assert sum(split.read().num_rows for split in mesh.cells(condition, ["rho"]).splits(4)) == rows.num_rows
        assert mesh.cells(condition, columns, limit=7).to_arrow() == rows.slice(0, 7)


@pytest.mark.parametrize("with_offsets", [True, False])
def test_steps_follow_each_other(tmp_path: pathlib.Path, with_offsets: bool) -> None:
    steps = [LEVELS[:2], [LEVELS[0][:1], LEVELS[1][1:]], [LEVELS[0], []]]
    path = write_steps(tmp_path / "steps.vtkhdf", steps, SPACING, [0.0, 0.5, 2.0], with_offsets)
    frames = []
    for step, levels in enumerate(steps):
        frame = expected(levels, SPACING, step=step)
        frame.insert(0, "time", [0.0, 0.5, 2.0][step])
        frame.insert(0, "step", step)
        frames.append(frame)
    wanted = pd.concat(frames, ignore_index=True)
    mesh = hs.models.vtkhdf.open(path)
    assert mesh.validate() == [] and mesh.times == [0.0, 0.5, 2.0]
    pd.testing.assert_frame_equal(mesh.cells().to_pandas(), wanted, check_exact=True)
    some = mesh.cells("time > 0.2 and not covered and v_0 > 3").to_pandas()
    mask = (wanted.time > 0.2) & ~wanted.covered & (wanted.v_0 > 3)
    pd.testing.assert_frame_equal(some, wanted[mask].reset_index(drop=True), check_exact=True)
    assert mesh.boxes.count() == sum(len(boxes) for levels in steps for boxes in levels)


def test_an_array_that_a_level_lacks_is_null(tmp_path: pathlib.Path) -> None:
    path = good(tmp_path / "lacks.vtkhdf")
    with h5py.File(path, "r+") as f:
        del f["VTKHDF/Level1/CellData/v"], f["VTKHDF/Level2/CellData"]
        f["VTKHDF/Level1/CellData/level"] = np.arange(80, dtype="i8")
    found = hs.models.vtkhdf.open(path).cells().to_pandas()
    assert found.v_1[found.level == 0].notna().all() and found.v_1[found.level > 0].isna().all()
    assert found.level_array[found.level == 1].tolist() == list(range(80)) and found.rho[found.level == 2].isna().all()


def test_splits_are_read_by_other_processes(tmp_path: pathlib.Path) -> None:
    path, wanted = good(tmp_path / "mesh.vtkhdf"), expected(LEVELS, SPACING)
    splits = hs.models.vtkhdf.open(path).cells("not covered and rho > 3").splits(4)
    (tmp_path / "splits").write_bytes(pickle.dumps(splits))
    code = (
        "import pickle, sys, pyarrow as pa; s = pickle.load(open(sys.argv[1], 'rb'));pa.concat_tables(x.read() for x in s).to_pandas().to_pickle(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "splits", tmp_path / "rows"], check=True)
    got = pd.read_pickle(tmp_path / "rows").sort_values(["level", "box", "k", "j", "i"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(got, wanted[~wanted.covered & (wanted.rho > 3)].reset_index(drop=True), check_exact=True)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("extent", "steps"), [((0, 4, 0, 3, 0, 2), None), ((2, 6, -1, 3, 5, 5), None), ((0, 3, 0, 0, 0, 0), 2), ((-2, 1, 0, 3, 1, 2), 3)])
def test_images_are_points_and_cells(tmp_path: pathlib.Path, extent: Any, steps: int | None, flat: bool) -> None:
    path = write_image(tmp_path / "image.vtkhdf", extent, steps, flat=flat)
    view = hs.models.vtkhdf.open(path)
    assert view.tables == ["points", "cells"] and view.validate() == [] and view.omitted == {} and view.type == "ImageData"
    for table, name, half in ((view.points(), "PointData", 0.0), (view.cells(), "CellData", 0.5)):
        got = table.to_pandas()
        with h5py.File(path) as f:
            t, v = f[f"VTKHDF/{name}/t"][:], f[f"VTKHDF/{name}/v"][:]
        assert got.t.tolist() == t.ravel().tolist()
        assert np.array_equal(got[["v_0", "v_1", "v_2"]].to_numpy(), v.reshape(-1, 3))
        shape = [extent[5] - extent[4] + 1, extent[3] - extent[2] + 1, extent[1] - extent[0] + 1]
        k, j, i = np.indices([max(count - 1, 1) for count in shape] if half else shape)
        repeat = steps or 1
        for column, index, low in (("i", i, extent[0]), ("j", j, extent[2]), ("k", k, extent[4])):
            assert got[column].tolist() == (index.ravel() + low).tolist() * repeat
        for column, index, origin, spacing in (("x", "i", 1.0, 0.5), ("y", "j", 2.0, 0.25), ("z", "k", -3.0, 2.0)):
            np.testing.assert_allclose(got[column], origin + (got[index] + half) * spacing, rtol=1e-15)
        if steps is not None:
            assert got.step.tolist() == [step for step in range(steps) for _ in range(i.size)] and (got.time == got.step * 0.5).all()
    where = f"i = {extent[0] + 1} and t > 1"
    got, chosen = view.points().to_pandas(), view.points(where).to_pandas()
    pd.testing.assert_frame_equal(chosen, got[(got.i == extent[0] + 1) & (got.t > 1)].reset_index(drop=True))


def test_an_image_that_is_turned_has_no_coordinates(tmp_path: pathlib.Path) -> None:
    path = write_image(tmp_path / "turned.vtkhdf", (0, 2, 0, 2, 0, 2), direction=np.array([0.0, 1, 0, 1, 0, 0, 0, 0, 1]))
    view = hs.models.vtkhdf.open(path)
    assert view.points().schema.names == ["i", "j", "k", "t", "v_0", "v_1", "v_2", "_row", "_file"][:7] and "Direction" in view.omitted["x, y, z"]


def test_offsets_may_repeat_what_does_not_change(tmp_path: pathlib.Path) -> None:
    path = write_image(tmp_path / "static.vtkhdf", (0, 2, 0, 2, 0, 0), 3)
    with h5py.File(path, "r+") as f:
        f["VTKHDF/Steps/PointDataOffsets/t"] = [0, 0, 1]
        t = f["VTKHDF/PointData/t"][:]
    assert hs.models.vtkhdf.open(path).points().to_arrow()["t"].to_pylist() == t[[0, 0, 1]].ravel().tolist()


def grid(path: pathlib.Path) -> pathlib.Path:
    return write_grid(path, PARTS)


@pytest.mark.parametrize("flat", [None, "Polygons"])
@pytest.mark.parametrize("parts", [PARTS, PARTS[:1]], ids=["three parts", "one part"])
def test_grids_are_points_and_cells(tmp_path: pathlib.Path, parts: Any, flat: str | None) -> None:
    path = write_grid(tmp_path / "grid.vtkhdf", parts, flat=flat)
    view = hs.models.vtkhdf.open(path)
    assert view.tables == ["points", "cells"] and view.validate() == [] and view.omitted == {}
    points, wanted = view.points().to_pandas(), expected_cells(parts, flat)
    with h5py.File(path) as f:
        assert np.array_equal(points[["x", "y", "z"]], f["VTKHDF/Points"][:]) and points.t.tolist() == f["VTKHDF/PointData/t"][:].tolist()
    assert points.part.tolist() == [number for number, (count, _) in enumerate(parts) for _ in range(count)]
    assert view.cells().to_arrow().to_pylist() == wanted
    for rows in (1, 2):
        assert [row for batch in view.cells(batch_rows=rows).batches() for row in batch.to_pylist()] == wanted
    assert view.cells("n >= 1 and v_0 < 9", ["points"]).to_arrow()["points"].to_pylist() == [
        row["points"] for row in wanted if row["n"] >= 1 and row["v_0"] < 9
    ]
    found = [row for split in view.cells("part = 0", ["n", "points"]).splits(3) for row in split.read().to_pylist()]
    assert sorted(row["n"] for row in found) == [row["n"] for row in wanted if row["part"] == 0]
    assert view.points("x > 3 and part = 0", ["t"]).to_arrow()["t"].to_pylist() == points.t[(points.x > 3) & (points.part == 0)].tolist()
    if flat is None:
        assert hs.sql("select kind, count(*) from cells group by kind order by kind", path).fetchall() == sorted(
            (kind, sum(row["kind"] == kind for row in wanted)) for kind in {row["kind"] for row in wanted}
        )


def test_other_types_are_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "grid.vtkhdf"
    with h5py.File(path, "w") as f:
        group_of(f, "HyperTreeGrid")
    view = hs.models.vtkhdf.open(path)
    assert view.tables == [] and view.type == "HyperTreeGrid" and "HyperTreeGrid" in view.omitted["/VTKHDF"]
    with pytest.raises(hs.UnsupportedError, match="HyperTreeGrid"):
        view.cells()
    with h5py.File(path, "w") as f:
        group_of(f, "ImageData", (3, 0))
    with pytest.raises(hs.UnsupportedError, match="version 3"):
        hs.models.vtkhdf.open(path).points()
    with h5py.File(write_grid(path, PARTS), "r+") as f:
        f.create_group("VTKHDF/Steps")
    with pytest.raises(hs.UnsupportedError, match="PolyData with steps"):
        hs.models.vtkhdf.open(path).points()


def attribute(path: str, name: str, value: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        if value is None:
            del f[path].attrs[name]
        else:
            f[path].attrs[name] = value

    return change


def replaced(path: str, value: Any) -> Callable[[h5py.File], None]:
    def change(f: h5py.File) -> None:
        if path in f:
            del f[path]
        if value is not None:
            f[path] = value

    return change


LEVEL1, STEPS1 = "VTKHDF/Level1", "VTKHDF/Steps/Level1"
ERRORS: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "a box without cells": (replaced(f"{LEVEL1}/AMRBox", np.array([[0, -1, 0, 0, 0, 0]])), "ends before"),
    "a box of more than 63 bits": (replaced(f"{LEVEL1}/AMRBox", np.array([[-(2**62), 2**62, 0, 2**62, 0, 0]])), "63 bits"),
    "boxes beyond their array": (replaced(f"{LEVEL1}/AMRBox", np.array([[0, 99, 0, 99, 0, 99]])), "elements"),
    "boxes of four numbers": (replaced(f"{LEVEL1}/AMRBox", np.zeros((2, 4), "i4")), "shape"),
    "boxes that are floats": (replaced(f"{LEVEL1}/AMRBox", np.zeros((2, 6))), "integers"),
    "no boxes": (replaced(f"{LEVEL1}/AMRBox", None), "AMRBox.*missing|missing.*AMRBox"),
    "no spacing": (attribute(LEVEL1, "Spacing", None), "Spacing"),
    "spacing that is not a number": (attribute(LEVEL1, "Spacing", [np.nan, 1.0, 1.0]), "Spacing"),
    "spacing below 0": (attribute(LEVEL1, "Spacing", [-0.5, 0.25, 1.0]), "Spacing"),
    "spacing of no whole ratio": (attribute(LEVEL1, "Spacing", [0.3, 0.25, 1.0]), "whole multiple"),
    "no origin": (attribute("VTKHDF", "Origin", None), "Origin"),
    "no level": (replaced("VTKHDF/Level0", None), "Level0"),
    "a level that is a dataset": (replaced(LEVEL1, np.zeros(3)), "group"),
    "too few values": (replaced(f"{LEVEL1}/CellData/rho", np.zeros(79)), "79"),
    "values of three dimensions": (replaced(f"{LEVEL1}/CellData/rho", np.zeros((80, 2, 2))), "shape"),
    "a type that is a number": (attribute("VTKHDF", "Type", 3), "Type"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_contradictions_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path = good(tmp_path / "mesh.vtkhdf")
    change, message = ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.vtkhdf.open(path)
    assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.cells().to_arrow()


STEP_ERRORS: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "offsets of other steps": (replaced(f"{STEPS1}/AMRBoxOffsets", [0, 1, 2, 3]), "steps"),
    "an offset below 0": (replaced(f"{STEPS1}/AMRBoxOffsets", [0, -1]), "below 0"),
    "an offset beyond the boxes": (replaced(f"{STEPS1}/AMRBoxOffsets", [0, 2**62]), "are needed"),
    "more boxes than there are": (replaced(f"{STEPS1}/NumberOfAMRBoxes", [2, 2**62]), "are needed"),
    "no number of boxes": (replaced(f"{STEPS1}/NumberOfAMRBoxes", None), "NumberOfAMRBoxes"),
    "values beyond their array": (replaced(f"{STEPS1}/CellDataOffsets/rho", [0, 2**62]), "needed|64 bits"),
    "another number of steps": (attribute("VTKHDF/Steps", "NSteps", 3), "NSteps"),
    "no times": (replaced("VTKHDF/Steps/Values", None), "Values"),
}


@pytest.mark.parametrize("case", STEP_ERRORS)
def test_steps_that_contradict_the_boxes_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path = of_steps(tmp_path / "steps.vtkhdf")
    change, message = STEP_ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.vtkhdf.open(path)
    assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.cells().to_arrow()


POLYGONS = "VTKHDF/Polygons"
GRID_ERRORS: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "more cells than there are": (replaced(f"{POLYGONS}/NumberOfCells", [3, 0, 2**40]), "needed"),
    "cells beyond 63 bits": (replaced(f"{POLYGONS}/NumberOfCells", [2**62, 0, 2**62]), "63 bits"),
    "a number of cells below 0": (replaced(f"{POLYGONS}/NumberOfCells", [3, 0, -1]), "below 0"),
    "other parts": (replaced(f"{POLYGONS}/NumberOfCells", [3, 1]), "parts"),
    "no number of points": (replaced("VTKHDF/NumberOfPoints", None), "NumberOfPoints"),
    "offsets that decrease": (replaced(f"{POLYGONS}/Offsets", [0, 3, 2, 10, 0, 0, 4]), "decrease"),
    "offsets beyond the list": (replaced(f"{POLYGONS}/Offsets", [0, 3, 7, 2**40, 0, 0, 4]), "offset"),
    "a point that its part lacks": (replaced(f"{POLYGONS}/Connectivity", [0, 1, 2, 1, 2, 3, 7, 0, 3, 4, 0, 1, 2, 3]), "7"),
    "points of two coordinates": (replaced("VTKHDF/Points", np.zeros((9, 2))), "Points"),
    "fewer points": (replaced("VTKHDF/Points", np.zeros((8, 3))), "9 elements are needed"),
    "no offsets": (replaced(f"{POLYGONS}/Offsets", None), "Offsets"),
    "too few values of cells": (replaced("VTKHDF/CellData/n", np.arange(5)), "CellData/n"),
}


@pytest.mark.parametrize("case", GRID_ERRORS)
def test_grids_that_contradict_themselves_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path = grid(tmp_path / "grid.vtkhdf")
    change, message = GRID_ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.vtkhdf.open(path)
    if case not in ("offsets that decrease", "a point that its part lacks"):
        assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.cells().to_arrow()


def test_offsets_that_lead_into_another_part_are_a_problem(tmp_path: pathlib.Path) -> None:
    path = grid(tmp_path / "grid.vtkhdf")
    with h5py.File(path, "r+") as f:
        f[f"{POLYGONS}/Offsets"][3] = 11
    (problem,) = hs.models.vtkhdf.open(path).validate()
    assert problem.object == "/VTKHDF/Polygons/Offsets" and "the last offset of part 0 is 11, but NumberOfConnectivityIds is 10" in problem.message


IMAGE_ERRORS: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "an extent of other points": (attribute("VTKHDF", "WholeExtent", [0, 9, 0, 9, 0, 9]), "WholeExtent"),
    "an extent beyond 63 bits": (attribute("VTKHDF", "WholeExtent", [0, 2**32 - 1] * 3), "WholeExtent"),
    "an extent of five numbers": (attribute("VTKHDF", "WholeExtent", [0, 1, 0, 1, 0]), "WholeExtent"),
    "no spacing": (attribute("VTKHDF", "Spacing", None), "Spacing"),
    "values of two dimensions": (replaced("VTKHDF/PointData/t", np.zeros((3, 3))), "shape"),
    "a step beyond the values": (replaced("VTKHDF/Steps/PointDataOffsets/t", [0, 2]), "elements"),
}


@pytest.mark.parametrize("case", IMAGE_ERRORS)
def test_images_that_contradict_themselves_are_errors_by_name(tmp_path: pathlib.Path, case: str) -> None:
    path = image(tmp_path / "image.vtkhdf")
    change, message = IMAGE_ERRORS[case]
    with h5py.File(path, "r+") as f:
        change(f)
    view = hs.models.vtkhdf.open(path)
    assert view.validate(), case
    with pytest.raises(hs.CorruptError, match=message):
        view.points().to_arrow()


def test_overlapping_boxes_and_longer_arrays_are_problems(tmp_path: pathlib.Path) -> None:
    path = write_mesh(tmp_path / "overlap.vtkhdf", [[(0, 3, 0, 3, 0, 0), (3, 5, 3, 5, 0, 0)]], [(1.0, 1.0, 1.0)])
    with h5py.File(path, "r+") as f:
        del f["VTKHDF/Level0/CellData/rho"]
        f["VTKHDF/Level0/CellData/rho"] = np.arange(30.0)
    view = hs.models.vtkhdf.open(path)
    messages = [problem.message for problem in view.validate()]
    assert len(messages) == 2 and "cells of another box" in messages[0] and "30 elements for 25 cells" in messages[1]
    assert view.cells(columns=["rho"]).to_arrow()["rho"].to_pylist() == list(range(25))


def test_limits_hold_for_boxes_and_steps(tmp_path: pathlib.Path) -> None:
    path = write_mesh(tmp_path / "many.vtkhdf", [[(4 * n, 4 * n, 0, 0, 0, 0) for n in range(2000)]], [(1.0, 1.0, 1.0)])
    assert hs.models.vtkhdf.open(path).cells().count() == 2000
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        hs.models.vtkhdf.open(path, limits={"metadata_bytes": 100_000}).cells()
    with h5py.File(path, "w") as f:
        group = group_of(f, "ImageData")
        group.attrs["WholeExtent"], group.attrs["Origin"], group.attrs["Spacing"] = [0, 1, 0, 1, 0, 1], np.zeros(3), np.ones(3)
        group["Steps/Values"] = np.zeros(100_000)
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        hs.models.vtkhdf.open(path, limits={"metadata_bytes": 1_000_000}).points()
    with h5py.File(path, "r+") as f:
        del f["VTKHDF/Steps"]
        f["VTKHDF"].attrs["WholeExtent"] = [1, 2**32 - 2, 0, 0, 0, 0]
    with pytest.raises(hs.LimitExceededError, match="metadata_bytes"):
        hs.models.vtkhdf.open(path).points()


def test_a_file_that_changed_is_a_conflict_for_its_splits(tmp_path: pathlib.Path) -> None:
    path = good(tmp_path / "mesh.vtkhdf")
    splits = hs.models.vtkhdf.open(path).cells().splits(2)
    path.unlink()
    write_mesh(path, LEVELS[:1], SPACING)
    with pytest.raises(hs.ConflictError):
        for split in splits:
            split.read()
