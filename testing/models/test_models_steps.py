"""H5Part and H5Block as models: files built by h5py after H5hut's documented layout, judged by h5py and numpy."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pytest

STEPS = (0, 2, 10)


def particles_of(step: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(step)
    count = 500 + step
    return {
        "x": rng.normal(size=count),
        "y": rng.normal(size=count).astype("f4"),
        "id": rng.permutation(count).astype("i8"),
    }


def write_particles(path: pathlib.Path, name: str = "Step#{}", **attributes: Any) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.attrs["author"] = "a simulation"
        for attribute, value in attributes.items():
            f.attrs[attribute] = value
        for step in STEPS:
            group = f.create_group(name.format(step))
            group.attrs["TIME"] = np.array([step * 0.25])  # H5hut writes arrays of one element
            group.attrs["SPOS"] = np.array([1.0, 2.0, float(step)])
            group.attrs["label"] = f"step {step}"
            for key, values in particles_of(step).items():
                group.create_dataset(key, data=values, chunks=(128,) if key == "x" else None)
            group["x"].attrs["unit"] = "m"
    return path


def expected() -> pd.DataFrame:
    """What h5py reads, step after step."""
    parts = [pd.DataFrame({"step": step, "time": step * 0.25, **particles_of(step)}) for step in STEPS]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    return write_particles(tmp_path / "run.h5part")


def test_all_steps_are_one_table(run: pathlib.Path) -> None:
    with hs.open(run) as f:
        (view,) = f.models
        assert (view.name, view.certainty) == ("h5part", "likely") and "3 steps" in view.reason
        assert view.tables == ["particles", "steps", "particles_with_attributes"] and view.validate() == [] and view.omitted == {}
        got = f.table("particles", model="h5part").to_pandas()
    wanted = expected()
    assert set(got.columns) == set(wanted.columns) and list(got.columns[:2]) == ["step", "time"]
    pd.testing.assert_frame_equal(got[wanted.columns], wanted)


def test_step_names_are_sorted_by_number_padded_and_renamed(tmp_path: pathlib.Path) -> None:
    padded = write_particles(tmp_path / "padded.h5", "Step#{:06d}")
    renamed = write_particles(tmp_path / "renamed.h5", "Turn#{:03d}", __stepname__="Turn", __stepnumwidth__=3)
    for path in (padded, renamed):
        got = hs.models.h5part.open(path).particles().to_pandas()
        pd.testing.assert_frame_equal(got[expected().columns], expected())


def test_steps_have_their_attributes_and_those_of_file_and_arrays(run: pathlib.Path) -> None:
    steps = hs.models.h5part.open(run).steps.to_pylist()
    assert [step["step"] for step in steps] == list(STEPS)
    assert [step["time"] for step in steps] == [0.0, 0.5, 2.5]
    assert [step["particles"] for step in steps] == [500, 502, 510]
    assert [step["SPOS"] for step in steps] == [[1.0, 2.0, float(step)] for step in STEPS]
    assert [step["label"] for step in steps] == [f"step {step}" for step in STEPS]
    assert {step["x_unit"] for step in steps} == {"m"} and {step["file_author"] for step in steps} == {"a simulation"}


def test_attributes_are_columns_of_particles_when_asked(run: pathlib.Path) -> None:
    with h5py.File(run, "r+") as f:
        f["Step#2"].attrs["x"] = 7  # the name of an array
        f["Step#10"].attrs["label"] = 3  # another type than elsewhere
    part = hs.models.h5part.open(run)
    with pytest.warns(hs.OmittedColumnsWarning, match="label"):
        got = part.particles(attributes=True).to_pandas()
    wanted = expected()
    pd.testing.assert_frame_equal(got[wanted.columns], wanted)
    assert set(got.columns) == {*wanted.columns, "TIME", "SPOS", "x_unit", "file_author", "x_attribute"}
    for step, rows in got.groupby("step"):
        assert set(rows.TIME) == {step * 0.25} and set(rows.x_unit) == {"m"} and set(rows.file_author) == {"a simulation"}
        assert {tuple(values) for values in rows.SPOS} == {(1.0, 2.0, float(step))}
        assert rows.x_attribute.isna().all() if step != 2 else set(rows.x_attribute) == {7}
    chosen = part.particles("TIME > 0.3 and file_author = 'a simulation'", ["id", "TIME"], attributes=True, omitted="ignore")
    assert chosen.to_pandas().id.tolist() == wanted[wanted.time > 0.3].id.tolist()
    split = pickle.loads(pickle.dumps(chosen.splits(3)))
    assert sum(one.read().num_rows for one in split) == chosen.count()
    total = hs.sql("select count(*) from particles_with_attributes where x_unit = 'm'", run).fetchall()
    assert total == [(len(wanted),)]


def test_views_conditions_and_trajectories(run: pathlib.Path) -> None:
    wanted = expected()
    with hs.models.h5part.open(run).file as f:
        part = hs.models.h5part.open(f)
        row = wanted.groupby("step").cumcount()
        for given, mask in [
            ({"steps": 2}, wanted.step == 2),
            ({"steps": range(1, 11)}, wanted.step >= 2),
            ({"steps": [0, 10], "rows": (100, 200)}, wanted.step.isin([0, 10]) & (row >= 100) & (row < 200)),
            ({"where": "x > 1 and time > 0.3"}, (wanted.x > 1) & (wanted.time > 0.3)),
            ({"where": "step = 1"}, wanted.step == 1),
        ]:
            got = part.particles(**given).to_pandas()[wanted.columns]
            pd.testing.assert_frame_equal(got, wanted[mask].reset_index(drop=True), check_dtype=False)
            assert part.particles(**given).count() == mask.sum()
        paths = part.trajectories([7, 3, 505], ["x"]).to_pandas()
    chosen = wanted[wanted.id.isin([3, 7, 505])].sort_values(["id", "step"]).reset_index(drop=True)
    assert list(paths.columns) == ["id", "step", "time", "x"] and len(paths) == 7
    pd.testing.assert_frame_equal(paths, chosen[["id", "step", "time", "x"]])


def test_splits_read_in_another_process_and_give_the_same_rows(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    wanted = expected()
    table = hs.open(run).table("particles", "y > 0", model="h5part")
    splits = table.splits(5)
    assert len(splits) >= 3
    (tmp_path / "splits").write_bytes(pickle.dumps(splits))
    code = (
        "import pickle, sys, pyarrow as pa; s = pickle.load(open(sys.argv[1], 'rb')); pa.concat_tables(x.read() for x in s).to_pandas().to_pickle(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "splits", tmp_path / "rows"], check=True)
    got = pd.read_pickle(tmp_path / "rows")
    pd.testing.assert_frame_equal(got[wanted.columns], wanted[wanted.y > 0].reset_index(drop=True))
    assert pickle.loads(pickle.dumps(table)).count() == (wanted.y > 0).sum()
    with h5py.File(run, "r+") as f:
        f["Step#2/x"][0] = 5.0
    with pytest.raises(hs.ConflictError):
        splits[0].read()


def test_value_indexes_answer_over_steps(run: pathlib.Path) -> None:
    wanted = expected()
    where = "id = 17"
    before = hs.models.h5part.open(run).particles(where).to_pandas()
    hs.index(run, ["/Step#*/id"])
    part = hs.models.h5part.open(run)
    assert "on id" in part.particles(where).explain() and "no index answers" not in part.particles(where).explain()
    pd.testing.assert_frame_equal(part.particles(where).to_pandas(), before)
    assert len(before) == (wanted.id == 17).sum() == 3


def test_sql_the_command_line_and_files_in_order(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    wanted = expected()
    ((total, count),) = hs.sql("select sum(id), count(*) from particles where step >= 2 and x > 0", run).fetchall()
    chosen = wanted[(wanted.step >= 2) & (wanted.x > 0)]
    assert (int(total), count) == (chosen.id.sum(), len(chosen))
    joined = hs.sql("select s.label, count(*) as n from particles p join steps s using (step) group by 1 order by 1", run).fetchall()
    assert joined == [("step 0", 500), ("step 10", 510), ("step 2", 502)]
    done = subprocess.run(
        [sys.executable, "-c", "from hyperslab.cli import main; main()", "info", str(run), "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["models"] == {"h5part": "likely: 3 steps, 3 1-D arrays in /Step#0"}
    write_particles(tmp_path / "b_1.h5")
    write_particles(tmp_path / "b_2.h5")
    both = hs.models.h5part.open(str(tmp_path / "b_*.h5")).particles()
    assert both.count() == 2 * len(wanted) and "b" in both.schema.names
    assert both.to_pandas().b.value_counts().to_dict() == {1: len(wanted), 2: len(wanted)}


def test_missing_arrays_are_null_and_other_members_are_named(tmp_path: pathlib.Path) -> None:
    path = write_particles(tmp_path / "a.h5")
    with h5py.File(path, "r+") as f:
        del f["Step#2/y"], f["Step#0"].attrs["TIME"]
        f["Step#2/time"] = np.arange(502)
        f["Step#2/scalar"] = 3.0
        f["Step#2/grid"] = np.zeros((2, 3))
        f["Step#10/dangling"] = h5py.SoftLink("/nowhere")
        f["Step#10/loop"] = h5py.SoftLink("/Step#10/loop")
        f["notes"] = "text"
    view = hs.open(path).models[0]
    with pytest.warns(hs.OmittedColumnsWarning, match="grid"):
        got = view.table("particles").to_pandas()
    wanted = expected()
    wanted.loc[wanted.step == 2, "y"] = np.nan
    wanted.loc[wanted.step == 0, "time"] = np.nan
    pd.testing.assert_frame_equal(got[wanted.columns], wanted)
    # An array that has the name of a column of the model gets another one.
    assert got.loc[got.step == 2, "time_array"].tolist() == list(range(502)) and got.loc[got.step == 0, "time_array"].isna().all()
    assert set(view.omitted) == {"/Step#2/scalar", "/Step#2/grid", "/Step#10/dangling", "/Step#10/loop", "/notes"}
    assert "[2, 3]" in view.omitted["/Step#2/grid"]
    assert {problem.object for problem in view.validate()} == {"/Step#10/dangling", "/Step#10/loop"}


def test_what_contradicts_the_model_is_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    short = write_particles(tmp_path / "short.h5")
    with h5py.File(short, "r+") as f:
        del f["Step#2/y"]
        f["Step#2/y"] = np.zeros(501, "f4")
    with pytest.raises(hs.CorruptError, match="different lengths: id has 502, y has 501") as caught:
        hs.models.h5part.open(short).particles()
    assert caught.value.object == "/Step#2/y"
    assert [problem.object for problem in hs.models.h5part.open(short).validate()] == ["/Step#2/y"]
    assert hs.sql('select count(*) from "Step#2/y"', short).fetchall() == [(501,)]

    twice = write_particles(tmp_path / "twice.h5")
    with h5py.File(twice, "r+") as f:
        f.create_group("Step#02")
    with pytest.raises(hs.CorruptError, match="both step 2"):
        hs.models.h5part.open(twice).particles()

    types = write_particles(tmp_path / "types.h5")
    with h5py.File(types, "r+") as f:
        del f["Step#10/id"]
        f["Step#10/id"] = np.zeros(510)
    with pytest.raises(hs.InvalidInputError, match="id is Int64 in the first and id is Float64 in the second"):
        hs.models.h5part.open(types).particles()
    assert [problem.object for problem in hs.models.h5part.open(types).validate()] == ["/Step#10/id"]

    loops = tmp_path / "loops.h5"
    with h5py.File(loops, "w") as f:
        f["obs"], f["var"], f["Step#0"] = h5py.SoftLink("/var"), h5py.SoftLink("/obs"), h5py.SoftLink("/Step#0")
    assert [found.certainty for found in hs.open(loops).models] == ["possible"]
    with pytest.raises(hs.LimitExceededError, match="circle"):
        hs.models.h5part.open(loops).particles()

    plain = tmp_path / "plain.h5"
    with h5py.File(plain, "w") as f:
        f["x"] = np.arange(3)
    assert hs.open(plain).models == []
    with pytest.raises(hs.InvalidInputError, match="this file is not recognized as h5part; no data model is recognized in it"):
        hs.models.h5part.open(plain)
    with pytest.raises(hs.InvalidInputError, match="no data model is recognized"):
        hs.open(plain).table("particles", model="h5part")
    with pytest.raises(hs.InvalidInputError, match="not recognized as anndata; it is recognized as h5part"):
        hs.open(types).table("obs", model="anndata")
    with pytest.raises(hs.InvalidInputError, match='there is no data model "h5prat"; nearest: h5part'):
        hs.open(plain).table("particles", model="h5prat")
    with pytest.raises(hs.NotFoundError, match='there is no table "particle".*nearest: particles'):
        hs.open(types).table("particle", model="h5part")


SHAPE = (4, 3, 5)  # k, j, i
ORIGIN, SPACING = np.array([-1.0, 0.5, 10.0]), np.array([0.5, 0.25, 2.0])


def field_of(name: str, component: int, step: int) -> np.ndarray:
    return np.random.default_rng([len(name), component, step]).normal(size=SHAPE)


def write_fields(path: pathlib.Path) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        for step in (0, 1):
            group = f.create_group(f"Step#{step}")
            group.attrs["TIME"] = np.array([step / 3])
            for name, count in (("E", 3), ("phi", 1)):
                field = group.create_group(f"Block/{name}")
                field.attrs["__Origin__"], field.attrs["__Spacing__"] = ORIGIN, SPACING
                for component in range(count):
                    field.create_dataset(str(component), data=field_of(name, component, step), chunks=(2, 3, 2))
    return path


def cells() -> pd.DataFrame:
    """The cells by nested loops."""
    rows = []
    for step in (0, 1):
        arrays = {"E_0": field_of("E", 0, step), "E_1": field_of("E", 1, step), "E_2": field_of("E", 2, step), "phi": field_of("phi", 0, step)}
        for k in range(SHAPE[0]):
            for j in range(SHAPE[1]):
                for i in range(SHAPE[2]):
                    x, y, z = ORIGIN + np.array([i, j, k]) * SPACING
                    rows.append({"step": step, "time": step / 3, "k": k, "j": j, "i": i, "x": x, "y": y, "z": z} | {n: a[k, j, i] for n, a in arrays.items()})
    return pd.DataFrame(rows)


def test_cells_have_indexes_coordinates_and_every_component(tmp_path: pathlib.Path) -> None:
    path = write_fields(tmp_path / "fields.h5")
    view = hs.models.h5block.open(path)
    assert [found.name for found in view.file.models] == ["h5block"] and view.tables == ["cells"]
    assert view.fields == {"E": 3, "phi": 1} and view.validate() == [] and view.omitted == {}
    pd.testing.assert_frame_equal(view.cells().to_pandas(), cells())
    assert np.array_equal(view.block("E", 1, i=slice(1, 3)), np.stack([field_of("E", c, 1)[:, :, 1:3] for c in range(3)]))
    assert np.array_equal(view.block("phi", 0), field_of("phi", 0, 0))
    with pytest.raises(hs.NotFoundError, match="no field 'B'"):
        view.components("B", 0)


def test_blocks_by_index_and_coordinate_are_hyperslabs(tmp_path: pathlib.Path) -> None:
    path = write_fields(tmp_path / "fields.h5")
    view, wanted = hs.models.h5block.open(path), cells()
    for given, mask in [
        ({"i": (1, 3), "k": (2, 4)}, wanted.i.between(1, 2) & wanted.k.between(2, 3)),
        ({"x": (-0.6, 0.6), "steps": 1}, wanted.x.between(-0.6, 0.6) & (wanted.step == 1)),
        ({"z": (11, 13), "y": (0.5, 0.5)}, wanted.z.between(11, 13) & (wanted.y == 0.5)),
        ({"where": "phi > 0", "j": (0, 2)}, (wanted.phi > 0) & (wanted.j < 2)),
    ]:
        table = view.cells(**given)
        pd.testing.assert_frame_equal(table.to_pandas(), wanted[mask].reset_index(drop=True))
        read = [hs.Split.read(split) for split in table.splits(4)]
        assert sum(part.num_rows for part in read) == mask.sum()
    assert "24 of 60 rows by dimensions" in view.cells(x=(-0.6, 0.1)).explain()
    assert hs.sql("select max(x) from cells where phi > 0", path).fetchall() == [(wanted[wanted.phi > 0].x.max(),)]


def test_fields_on_several_grids_have_a_table_each(tmp_path: pathlib.Path) -> None:
    path = write_fields(tmp_path / "fields.h5")
    with h5py.File(path, "r+") as f:
        for step in (0, 1):
            f[f"Step#{step}/Block/phi"].attrs["__Origin__"] = ORIGIN + SPACING / 2
        f["Step#1/Block"].create_group("empty")
        f["Step#1/Block/E/note"] = "text"
        f["Step#1/n"] = np.arange(4)
    view = hs.models.h5block.open(path)
    assert view.tables == ["cells_E", "cells_phi"]
    moved = view.cells(name="cells_phi").to_pandas()
    assert moved.columns.tolist() == ["step", "time", "k", "j", "i", "x", "y", "z", "phi"] and moved.x.min() == -0.75
    pd.testing.assert_series_equal(moved.phi, cells().phi)
    with pytest.raises(hs.NotFoundError, match="nearest: cells_E, cells_phi"):
        view.cells()
    assert set(view.omitted) == {"/Step#1/Block/empty", "/Step#1/Block/E/note", "/Step#1/n"}
    # Particles and fields in one file: both models see it.
    with h5py.File(path, "r+") as f:
        f["Step#0/n"] = np.arange(7)
    assert {found.name for found in hs.open(path).models} == {"h5part", "h5block"}
    assert hs.sql("select count(*), sum(n) from particles", path).fetchall() == [(11, 27)]


def test_a_grid_that_moves_from_step_to_step(tmp_path: pathlib.Path) -> None:
    path = write_fields(tmp_path / "fields.h5")
    with h5py.File(path, "r+") as f:
        for name in ("E", "phi"):
            f[f"Step#1/Block/{name}"].attrs["__Origin__"] = ORIGIN + 100
    wanted = cells()
    wanted.loc[wanted.step == 1, ["x", "y", "z"]] += 100
    view = hs.models.h5block.open(path)
    pd.testing.assert_frame_equal(view.cells().to_pandas(), wanted)
    assert view.cells("x > 99.2").count() == (wanted.x > 99.2).sum()


def test_listed_coordinates_and_fields_without_any(tmp_path: pathlib.Path) -> None:
    path = write_fields(tmp_path / "fields.h5")
    x, y, z = np.geomspace(1, 9, 5), np.arange(3.0), np.arange(4.0)
    with h5py.File(path, "r+") as f:
        for field in (f[f"Step#{step}/Block/{name}"] for step in (0, 1) for name in ("E", "phi")):
            del field.attrs["__Spacing__"]
    assert "x" not in hs.models.h5block.open(path).cells().schema.names
    with h5py.File(path, "r+") as f:
        for field in (f[f"Step#0/Block/{name}"] for name in ("E", "phi")):
            field.attrs["__X_Coordinates__"], field.attrs["__Y_Coordinates__"], field.attrs["__Z_Coordinates__"] = x, y, z
    got = hs.models.h5block.open(path).cells().to_pandas()
    assert got.x[:5].tolist() == x.tolist() and got.x[60:].isna().all()
    assert hs.models.h5block.open(path).cells("x > 2 and x < 6").to_pandas().x.nunique() == ((x > 2) & (x < 6)).sum()


def test_what_contradicts_a_field_is_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    def broken(name: str, change: Any) -> pathlib.Path:
        path = write_fields(tmp_path / name)
        with h5py.File(path, "r+") as f:
            change(f)
        return path

    def shorter(f: h5py.File) -> None:
        del f["Step#1/Block/E/2"]
        f["Step#1/Block/E/2"] = np.zeros((4, 3, 6))

    def origin(f: h5py.File) -> None:
        f["Step#1/Block/E"].attrs["__Origin__"] = [1.0, 2.0]

    def coordinates(f: h5py.File) -> None:
        for name in "XYZ":
            f["Step#1/Block/E"].attrs[f"__{name}_Coordinates__"] = np.arange(4.0)

    def group(f: h5py.File) -> None:
        del f["Step#1/Block"]
        f["Step#1/Block"] = 3

    for name, change, message, place in [
        ("a.h5", shorter, r"component 2 of the field E has shape \[4, 3, 6\]", "/Step#1/Block/E/2"),
        ("b.h5", origin, "does not have three numbers", "/Step#1/Block/E"),
        ("c.h5", coordinates, "__X_Coordinates__ has 4 values for 5 cells", "/Step#1/Block/E"),
        ("d.h5", group, "are in a group", "/Step#1/Block"),
    ]:
        path = broken(name, change)
        with pytest.raises(hs.CorruptError, match=message) as caught:
            hs.models.h5block.open(path).cells()
        assert caught.value.object == place
        assert place in [problem.object for problem in hs.models.h5block.open(path).validate()]
        # Other objects of the file are still views; this one says why it is none.
        assert hs.sql('select count(*) from "Step#0/Block/phi/0"', path).fetchall() == [(60,)]
        with pytest.raises(hs.InvalidInputError, match=message):
            hs.sql("select count(*) from cells", path)


def test_a_time_that_no_double_has_is_refused(tmp_path: pathlib.Path) -> None:
    for number, exact in ((2**60, True), (2**60 + 1, False), (-(2**53) - 1, False), (2**63, True), (2**64 - 1, False)):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as f:
            f["Step#0/x"] = np.arange(3.0)
            f["Step#0"].attrs["TIME"] = np.array([number], "u8" if number >= 2**63 else "i8")
        if exact:
            assert hs.open(path).table("particles", model="h5part").to_arrow()["time"].to_pylist() == [float(number)] * 3
        else:
            with pytest.raises(hs.UnsupportedError, match="the attribute TIME holds an integer that no double has"):
                hs.open(path).table("particles", model="h5part").to_arrow()
