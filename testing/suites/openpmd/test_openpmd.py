"""openPMD as `openpmd-api` reads and writes it, and as the examples of the standard's validator are."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import hyperslab as hs
import numpy as np
import openpmd_api as io
import pandas as pd
import pytest
from openpmd_viewer import OpenPMDTimeSeries

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))

from test_models_openpmd_writing import COUNTS, content, part, write_parts

ENCODINGS = {"group": io.Iteration_Encoding.group_based, "file": io.Iteration_Encoding.file_based}


def write(folder: pathlib.Path, encoding: str) -> tuple[str, list[pathlib.Path]]:
    """Two iterations written by openpmd-api: a staggered mesh, a scalar mesh, particles with constants and offsets."""
    name = "run_%T.h5" if encoding == "file" else "run.h5"
    series = io.Series(str(folder / name), io.Access.create)
    series.set_iteration_encoding(ENCODINGS[encoding])
    random = np.random.default_rng(3)
    for number in (0, 100):
        iteration = series.iterations[number]
        iteration.time, iteration.dt, iteration.time_unit_SI = number * 0.5, 0.5, 2.0
        field = iteration.meshes["E"]
        field.axis_labels, field.grid_spacing = ["z", "y", "x"], [1.0, 2.0, 3.0]
        field.grid_global_offset, field.grid_unit_SI = [10.0, 20.0, 30.0], 1e-6
        for index, component in enumerate("xyz"):
            record = field[component]
            record.reset_dataset(io.Dataset(np.dtype("f8"), [2, 3, 4]))
            record.position, record.unit_SI = [0.0, 0.5 * (index == 1), 0.25 * (index == 2)], 3.0
            if component == "z":
                record.make_constant(7.5)
            else:
                record[:, :, :] = random.normal(size=(2, 3, 4))
        density = iteration.meshes["rho"]
        density.axis_labels, density.grid_spacing = ["y", "x"], [1.0, 2.0]
        density.grid_global_offset, density.grid_unit_SI = [0.0, -1.0], 1.0
        record = density[io.Mesh_Record_Component.SCALAR]
        record.reset_dataset(io.Dataset(np.dtype("f4"), [3, 5]))
        record.position = [0.5, 0.5]
        record[:, :] = random.normal(size=(3, 5)).astype("f4")
        electrons = iteration.particles["electrons"]
        count = 7 + number // 10
        for component in "xyz":
            record = electrons["position"][component]
            record.reset_dataset(io.Dataset(np.dtype("f4"), [count]))
            record[:] = random.random(count).astype("f4")
            record.unit_SI = 1e-6
            record = electrons["positionOffset"][component]
            record.reset_dataset(io.Dataset(np.dtype("i8"), [count]))
            record.unit_SI = 2e-6
            if component == "z":
                record.make_constant(100)
            else:
                record[:] = random.integers(0, 50, count)
        for scalar, dtype, values in (("weighting", "f8", None), ("id", "u8", np.arange(count, dtype="u8") + 2**63)):
            record = electrons[scalar][io.Record_Component.SCALAR]
            record.reset_dataset(io.Dataset(np.dtype(dtype), [count]))
            record.make_constant(2.5) if values is None else record.__setitem__(slice(None), values)
        series.flush()
        iteration.close()
    series.close()
    return str(folder / name), sorted(folder.glob("run*.h5"))


@pytest.mark.parametrize("encoding", ["group", "file"])
def test_values_are_those_of_openpmd_api(tmp_path: pathlib.Path, encoding: str) -> None:
    name, files = write(tmp_path, encoding)
    view = hs.models.openpmd.open(files[0] if encoding == "group" else [str(file) for file in files])
    assert view.file.models[0].name == "openpmd" and view.file.models[0].certainty == "certain"
    assert view.tables == ["particles_electrons", "cells_E_x", "cells_E_y", "cells_E_z", "cells_rho"]
    if encoding == "group":
        assert view.validate() == [] and view.omitted == {} and view.iterations == [0, 100]
    series = io.Series(name, io.Access.read_only)
    for number in (0, 100):
        iteration = series.iterations[number]
        ours = view.particles("electrons", iterations=number).to_pandas()
        electrons = iteration.particles["electrons"]
        wanted = {}
        for component in "xyz":
            position, offset = electrons["position"][component], electrons["positionOffset"][component]
            stored, shifted = position[:], offset[:]
            series.flush()
            wanted[f"position_{component}"] = stored.astype("f8") * position.unit_SI + shifted.astype("f8") * offset.unit_SI
        for record in ("weighting", "id"):
            wanted[record] = electrons[record][io.Record_Component.SCALAR][:]
            series.flush()
        assert set(ours.columns) - {"run"} == {"iteration", "time", *wanted} and set(ours.iteration) == {number} and set(ours.time) == {number * 0.5 * 2.0}
        for column, values in wanted.items():
            np.testing.assert_allclose(ours[column], values, rtol=1e-15, atol=0)
        assert ours.id.dtype == "u8" and ours.id.tolist() == wanted["id"].tolist()
        for record, component, columns in [("E", "x", "zyx"), ("E", "y", "zyx"), ("E", "z", "zyx"), ("rho", io.Mesh_Record_Component.SCALAR, "yx")]:
            mesh = iteration.meshes[record]
            part = mesh[component]
            stored = part[:, :, :] if record == "E" else part[:, :]
            series.flush()
            scalar = record == "rho"
            cells = view.cells("rho" if scalar else f"E_{component}", iterations=number).to_pandas()
            assert np.array_equal(cells["rho" if scalar else f"E_{component}"], np.ravel(stored) * part.unit_SI)
            for axis, label in enumerate(columns):
                index = np.indices(stored.shape)[axis].ravel()
                assert np.array_equal(cells[f"i_{label}"], index)
                place = (mesh.grid_global_offset[axis] + (index + part.position[axis]) * mesh.grid_spacing[axis]) * mesh.grid_unit_SI
                np.testing.assert_allclose(cells[label], place, rtol=1e-14)
    series.close()


def test_the_validators_examples_are_read(tmp_path: pathlib.Path) -> None:
    program = pathlib.Path(sys.executable).with_name("openPMD_createExamples_h5")
    subprocess.run([program], cwd=tmp_path, check=True, capture_output=True)
    files = sorted(tmp_path.rglob("*.h5"))
    assert files
    for path in files:
        check = subprocess.run([program.with_name("openPMD_check_h5"), "-i", path], capture_output=True, text=True, check=False)
        view = hs.models.openpmd.open(path)
        problems = view.validate()
        assert ("Result: 0 Errors" in check.stdout) == (problems == []), (path, problems, check.stdout)
        for table in view.tables:
            rows = view.table(table).to_pandas()
            assert isinstance(rows, pd.DataFrame) and len(rows) == view.table(table).count() > 0, (path, table)


def test_files_of_a_variable_for_each_record_are_read_or_named(tmp_path: pathlib.Path) -> None:
    os.chdir(tmp_path)
    series = io.Series("variables.h5", io.Access.create)
    series.set_iteration_encoding(io.Iteration_Encoding.variable_based)
    iteration = series.iterations[5] if not hasattr(series, "snapshots") else series.snapshots()[5]
    record = iteration.particles["p"]["position"]["x"]
    record.reset_dataset(io.Dataset(np.dtype("f8"), [3]))
    record[:] = np.arange(3.0)
    offset = iteration.particles["p"]["positionOffset"]["x"]
    offset.reset_dataset(io.Dataset(np.dtype("f8"), [3]))
    offset.make_constant(1.0)
    iteration.close()
    series.close()
    view = hs.models.openpmd.open(tmp_path / "variables.h5")
    rows = view.particles("p").to_pandas()
    assert rows.position_x.tolist() == [1.0, 2.0, 3.0] and set(rows.iteration) == {5}


def test_particles_are_those_of_openpmd_viewer(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "group")
    viewed = OpenPMDTimeSeries(str(tmp_path), check_all_files=False)
    view = hs.models.openpmd.open(tmp_path / "run.h5")
    assert viewed.iterations.tolist() == view.iterations == [0, 100]
    for number in view.iterations:
        *position, weight = viewed.get_particle(["x", "y", "z", "w"], species="electrons", iteration=number)
        ours = view.particles("electrons", iterations=number).to_pandas()
        for label, values in zip("xyz", position, strict=True):
            # The viewer computes in the precision of the file.
            np.testing.assert_allclose(ours[f"position_{label}"], values, rtol=1e-6)
        assert ours.weighting.tolist() == weight.tolist()


@pytest.mark.parametrize("name", ["run.h5", "run_%T.h5"])
def test_what_is_written_is_valid_and_read_by_others(tmp_path: pathlib.Path, name: str) -> None:
    with hs.models.openpmd.create(tmp_path / name, attrs={"author": "a test"}) as series:
        for number in (0, 100):
            series.write_iteration(number, time=number * 0.5, dt=0.5, time_unit_si=1e-15, **content(number))
    for path in sorted(tmp_path.glob("*.h5")):
        program = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
        check = subprocess.run([program, "-i", path], capture_output=True, text=True, check=False)
        assert check.returncode == 0 and "Result: 0 Errors" in check.stdout, check.stdout
    read = io.Series(str(tmp_path / name), io.Access.read_only)
    assert list(read.iterations) == [0, 100] and read.author == "a test"
    for number in (0, 100):
        wanted, iteration = content(number), read.iterations[number]
        assert (iteration.time, iteration.dt, iteration.time_unit_SI) == (number * 0.5, 0.5, 1e-15)
        records, electrons = wanted["particles"]["electrons"], iteration.particles["electrons"]
        assert set(electrons) == {"position", "positionOffset", "charge", "id"}
        for component, values in records["position"].values.items():
            stored = electrons["position"][component][:]
            read.flush()
            assert stored.dtype == values.dtype and np.array_equal(stored, values)
            assert electrons["position"][component].unit_SI == records["position"].unit_si[component]
        charge = electrons["charge"][io.Record_Component.SCALAR]
        constant = charge[:]
        read.flush()
        assert charge.constant and set(constant) == {-1.0} and charge.unit_SI == 1.602e-19
        for mesh_name, mesh in wanted["meshes"].items():
            theirs = iteration.meshes[mesh_name]
            assert theirs.axis_labels == list(mesh.axes) and theirs.grid_spacing == list(mesh.spacing) and theirs.grid_global_offset == list(mesh.offset)
            assert theirs.grid_unit_SI == mesh.grid_unit_si
            components = mesh.values if isinstance(mesh.values, dict) else {io.Mesh_Record_Component.SCALAR: mesh.values}
            for component, values in components.items():
                part = theirs[component]
                stored = part.load_chunk()
                read.flush()
                assert np.array_equal(stored, np.broadcast_to(values, stored.shape)) and part.position == list(mesh.position)
    read.close()
    viewer = OpenPMDTimeSeries(str(tmp_path), check_all_files=False)
    assert viewer.iterations.tolist() == [0, 100]
    (x,) = viewer.get_particle(["x"], species="electrons", iteration=100)
    assert np.allclose(x, content(100)["particles"]["electrons"]["position"].values["x"] * 1e-6)
    rho, _ = viewer.get_field("rho", iteration=100)
    assert np.allclose(rho, content(100)["meshes"]["rho"].values)


def check_valid(path: pathlib.Path) -> None:
    program = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    check = subprocess.run([program, "-i", path], capture_output=True, text=True, check=False)
    assert check.returncode == 0 and "Result: 0 Errors" in check.stdout, check.stdout


def test_what_tasks_write_is_valid_and_read_by_others(tmp_path: pathlib.Path) -> None:
    write_parts(tmp_path / "run.h5")
    check_valid(tmp_path / "run.h5")
    read = io.Series(str(tmp_path / "run.h5"), io.Access.read_only)
    assert list(read.iterations) == [0, 3]
    for number in (0, 3):
        parts, species = [part(number, writer) for writer in range(3)], read.iterations[number].particles["e"]
        y, charge = species["position"]["y"][:], species["charge"][io.Record_Component.SCALAR][:]
        patches = {name: species.particle_patches[name][io.Record_Component.SCALAR].load() for name in ("numParticles", "numParticlesOffset")}
        offset, mesh = species.particle_patches["offset"]["y"].load(), read.iterations[number].meshes["E"]["x"][:, :]
        read.flush()
        assert np.array_equal(y, np.concatenate([one["particles"]["e"]["position"].values["y"] for one in parts])) and set(charge) == {-1.0}
        sizes = [count + number for count in COUNTS]
        assert patches["numParticles"].tolist() == sizes and patches["numParticlesOffset"].tolist() == [0, sizes[0], sizes[0] + sizes[1]]
        assert offset.tolist() == [0.0, 1.0, 2.0] and np.array_equal(mesh, np.concatenate([one["meshes"]["E"].values["x"] for one in parts]))
    read.close()
    (y,) = OpenPMDTimeSeries(str(tmp_path), check_all_files=False).get_particle(["y"], species="e", iteration=3)
    assert len(y) == sum(COUNTS) + 9


def test_an_iteration_by_variables_is_read_by_openpmd_api(tmp_path: pathlib.Path) -> None:
    with hs.models.openpmd.create(tmp_path / "run.h5", encoding="variable") as series:
        series.write_iteration(5, time=2.0, dt=1.0, **content(5))
    read = io.Series(str(tmp_path / "run.h5"), io.Access.read_only)
    seen = []
    for iteration in read.read_iterations():
        y = iteration.particles["electrons"]["position"]["y"][:]
        read.flush()
        seen.append((iteration.iteration_index, y.tolist()))
    assert seen == [(5, content(5)["particles"]["electrons"]["position"].values["y"].tolist())]
    read.close()


def test_openpmd_2_is_read_by_openpmd_api_and_read_from_it(tmp_path: pathlib.Path) -> None:
    # openpmd-api 0.17 wants the attribute, and as a number; the draft of openPMD 2.0 has none where there is no extension.
    with hs.models.openpmd.create(tmp_path / "ours.h5", version="2.0.0", attrs={"openPMDextension": np.uint32(0)}) as series:
        series.write_iteration(0, time=2.0, dt=1.0, particles=content(0)["particles"])
    read = io.Series(str(tmp_path / "ours.h5"), io.Access.read_only)
    y = read.iterations[0].particles["electrons"]["position"]["y"][:]
    read.flush()
    assert read.openPMD == "2.0.0" and np.array_equal(y, content(0)["particles"]["electrons"]["position"].values["y"])
    read.close()
    theirs = io.Series(str(tmp_path / "theirs.h5"), io.Access.create)
    theirs.set_openPMD("2.0.0")
    record = theirs.iterations[7].particles["p"]["position"]["x"]
    record.reset_dataset(io.Dataset(np.dtype("f8"), [3]))
    record[:] = np.arange(3.0)
    record.unit_SI = 2.0
    offset = theirs.iterations[7].particles["p"]["positionOffset"]["x"]
    offset.reset_dataset(io.Dataset(np.dtype("f8"), [3]))
    offset.make_constant(1.0)
    theirs.close()
    view = hs.models.openpmd.open(tmp_path / "theirs.h5")
    assert "openPMD 2.0.0" in view.reason and view.validate() == [] and view.particles("p").to_pandas().position_x.tolist() == [1.0, 3.0, 5.0]
