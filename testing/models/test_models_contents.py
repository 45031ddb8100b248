"""What a view says that a file, or a set of files, contains: as a table, as text, as HTML and in `hyperslab info`."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import h5py
import hyperslab as hs
import numpy as np
import pytest
import test_models_openpmd_writing as openpmd
import test_models_steps as steps

PBMC = pathlib.Path(__file__).parents[2] / "examples/data/10x_pbmc68k_reduced.h5ad"


def info(*arguments: object) -> str:
    command = [sys.executable, "-m", "hyperslab", "info", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_contents_are_tables_and_arrays_with_sizes_and_units(tmp_path: pathlib.Path) -> None:
    path = steps.write_particles(tmp_path / "run.h5part")
    with h5py.File(path, "r+") as f:
        f["Step#0/weights"] = np.ones(500)
    with hs.open(path) as f:
        (view,) = f.models
        rows = {(row["kind"], row["name"]): row for row in view.contents().to_pylist()}
        # Every row is what the view itself answers.
        assert [name for kind, name in rows if kind == "table"] == view.tables
        for name in view.tables:
            table, row = view.table(name, omitted="ignore"), rows["table", name]
            assert (row["rows"], row["columns"]) == (table.count(), table.schema.names) and row["problem"] is None
            assert len(row["units"]) == len(row["columns"])
        particles = rows["table", "particles"]
        assert dict(zip(particles["columns"], particles["units"], strict=True)) == {
            "step": None,
            "time": None,
            "id": None,
            "weights": None,
            "x": "m",
            "y": None,
        }
        assert rows["array", "x"] == {
            "kind": "array", "name": "x", "path": "Step#*/x", "rows": None, "shape": [None], "steps": 3, "columns": None, "units": ["m"], "problem": None,
        }  # fmt: skip
        assert rows["array", "weights"]["shape"] == [500] and rows["array", "weights"]["steps"] == 1
        text, html = str(view), view._repr_html_()
    assert text.startswith("h5part (likely: ") and "particles                  1,512 rows: step, time, id, weights, x [m], y" in text
    assert "varying, 3 steps [m]" in text and "particles_with_attributes" in html and "1,512 rows" in html
    assert str(view) == repr(view) and view._repr_html_() == "&lt;h5part, likely: 3 steps, 4 1-D arrays in /Step#0&gt;"  # closed


def test_a_table_that_contradicts_the_model_is_listed_with_its_problem(tmp_path: pathlib.Path) -> None:
    path = steps.write_particles(tmp_path / "run.h5part")
    with h5py.File(path, "r+") as f:
        del f["Step#2/x"]
        f["Step#2/x"] = np.ones(3)
    with hs.open(path) as f:
        rows = {row["name"]: row for row in f.models[0].contents().to_pylist() if row["kind"] == "table"}
        assert rows["particles"]["rows"] is None and "/Step#2" in rows["particles"]["problem"]
        assert "/Step#2" in str(f.models[0])
    assert "/Step#2" in info(path).replace("\n", "")


def test_text_is_bounded_and_nothing_of_a_file_is_markup(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "many.h5part", "w") as f:
        for number in range(50):
            f[f"Step#0/a{number:02d}<b>"] = np.arange(2)
        f["Step#0/a00<b>"].attrs["units"] = "<script>\x1b[2J"
    with hs.open(tmp_path / "many.h5part") as f:
        (view,) = f.models
        assert view.contents().num_rows == 53
        text, html = str(view), view._repr_html_()
    assert "and 33 more" in text and "and 41 more" in text and "\x1b" not in text + html and "<script>" not in html and len(html) < 20_000


def test_info_shows_what_a_view_says(tmp_path: pathlib.Path) -> None:
    shown = info(PBMC)
    assert "table obs = 700 rows: index, bulk_labels" in shown and "array X = 700 × 765" in shown
    found = json.loads(info(PBMC, "--json"))
    with hs.open(PBMC) as f:
        assert found["contents"] == {"anndata": f.models[0].contents().to_pylist()}
    with h5py.File(tmp_path / "plain.h5", "w") as f:
        f["x"] = [1]
    assert "models" not in info(tmp_path / "plain.h5")


def test_a_set_is_judged_by_all_of_its_files(tmp_path: pathlib.Path) -> None:
    for number in (1, 2):
        steps.write_particles(tmp_path / f"run_{number}.h5")
    pattern = str(tmp_path / "run_*.h5")
    with hs.open(pattern) as f:
        (view,) = f.models
        rows = {row["name"]: row for row in view.contents().to_pylist()}
        assert rows["particles"]["rows"] == view.table("particles").count() == 2 * len(steps.expected())
        assert len(view.arrays) == 18 and view.validate() == [] and view.omitted == {}
    assert "3,024 rows" in info(pattern)
    with h5py.File(tmp_path / "run_2.h5", "r+") as f:
        del f["Step#2/x"]
        f["Step#2/x"] = np.ones(3)
        f["notes"] = [1]
    with hs.open(pattern) as f:
        (problem,) = f.models[0].validate()
        assert problem.object.startswith("/Step#2") and problem.message.endswith(f"(in {tmp_path / 'run_2.h5'})")
        assert list(f.models[0].omitted) == ["/notes"]
    # A file of another kind anywhere in the set: the set is not of the model, and the error names the file.
    with h5py.File(tmp_path / "run_3.h5", "w") as f:
        f["x"] = [1]
    with hs.open(pattern) as f:
        assert f.models == [] and [len(one.models) for one in f.files] == [1, 1, 0]
        with pytest.raises(hs.InvalidInputError, match="not recognized as h5part; no data model") as caught:
            hs.models.h5part.open(f)
        assert caught.value.file == str(tmp_path / "run_3.h5")
    assert "models" not in info(pattern)
    with hs.open([tmp_path / "run_3.h5", tmp_path / "run_1.h5"]) as f:
        assert f.models == []


def test_tables_that_only_some_files_have_are_named(tmp_path: pathlib.Path) -> None:
    for number in (0, 2):
        with openpmd.openpmd.create(tmp_path / f"run_{number}.h5", "w") as series:
            given = openpmd.content(number)
            if number == 2:
                given["meshes"] = {}
            series.write_iteration(number, time=0.0, dt=0.5, **given)
    with hs.open(str(tmp_path / "run_*.h5")) as f:
        view = next(view for view in f.models if view.name == "openpmd")
        first, second = ({name for one in file.models if one.name == "openpmd" for name in one.tables} for file in f.files)
        assert second < first and set(view.tables) == second
        for name in first - second:
            assert view.omitted[name] == f"is a table of 1 of 2 files, such as {tmp_path / 'run_0.h5'}"
