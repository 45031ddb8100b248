"""openPMD as a model: files built by h5py after the standard, judged by numpy. `make test-openpmd` has openpmd-api as judge."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

COUNTS = {0: 5, 20: 3}


def root(f: h5py.File, version: str = "1.1.0", **attributes: Any) -> None:
    given = {"openPMD": version, "basePath": "/data/%T/", "meshesPath": "meshes/", "particlesPath": "particles/", "iterationEncoding": "groupBased"}
    for name, value in (given | attributes).items():
        f.attrs[name] = np.bytes_(value) if isinstance(value, str) else value


def iteration(f: h5py.File, number: int, path: str | None = None) -> h5py.Group:
    group = f.require_group(path or f"data/{number}")
    group.attrs["time"], group.attrs["dt"], group.attrs["timeUnitSI"] = number * 0.25, 0.25, 4.0
    return group


def constant(group: h5py.Group, name: str, value: float, shape: list[int], **attributes: Any) -> h5py.Group:
    made = group.create_group(name)
    made.attrs["value"], made.attrs["shape"] = value, np.array(shape, "u8")
    for attribute, given in ({"unitSI": 1.0} | attributes).items():
        made.attrs[attribute] = given
    return made


def array(group: h5py.Group, name: str, values: Any, **attributes: Any) -> h5py.Dataset:
    made = group.create_dataset(name, data=values)
    for attribute, given in ({"unitSI": 1.0} | attributes).items():
        made.attrs[attribute] = given
    return made


def stored(number: int) -> dict[str, np.ndarray]:
    random, count = np.random.default_rng(number), COUNTS[number]
    return {
        "x": random.random(count).astype("f4"),
        "y": random.random(count),
        "shift": random.integers(0, 100, count),
        "id": np.arange(count, dtype="u8") + 2**63,
    }


def particles(group: h5py.Group, number: int) -> None:
    values = stored(number)
    species = group.require_group("particles/e-")
    array(species, "position/x", values["x"], unitSI=1e-6)
    array(species, "position/y", values["y"])
    array(species, "positionOffset/x", values["shift"], unitSI=2e-6)
    constant(species, "positionOffset/y", 10.0, [COUNTS[number]], unitSI=0.5)
    array(species, "id", values["id"])
    constant(species, "mass", 9.1, [COUNTS[number]], unitSI=1e-31)
    array(species, "momentum/x", values["y"] * 2, unitSI=3.0)
    patches = species.create_group("particlePatches")
    patches["numParticles"], patches["numParticlesOffset"] = np.array([2, COUNTS[number] - 2], "u8"), np.array([0, 2], "u8")
    array(patches, "offset/x", np.array([0.0, 4.0]), unitSI=1e-3)
    constant(patches, "extent/x", 4.0, [2], unitSI=1e-3)


def mesh(group: h5py.Group, name: str, labels: str, **attributes: Any) -> h5py.Group:
    record = group.require_group(f"meshes/{name}")
    count = len(labels)
    given = {
        "axisLabels": np.array(list(labels), dtype="S1"),
        "gridSpacing": np.arange(1.0, count + 1) / 2,
        "gridGlobalOffset": np.arange(count) * 10.0,
        "gridUnitSI": 1e-3,
        "geometry": np.bytes_("cartesian"),
        "dataOrder": np.bytes_("C"),
    }
    for attribute, value in (given | attributes).items():
        if value is not None:
            record.attrs[attribute] = value
    return record


@pytest.fixture
def run(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as f:
        root(f)
        f["notes"] = "text"
        for number in COUNTS:
            group = iteration(f, number)
            particles(group, number)
            record = mesh(group, "B", "zyx")
            array(record, "x", np.arange(24.0).reshape(2, 3, 4) + number, position=[0.0, 0.5, 0.0], unitSI=2.0)
            constant(record, "y", 7.0, [2, 3, 4], position=[0.0, 0.5, 0.0])
    return path


def test_particles_are_in_si_units_with_offsets_added(run: pathlib.Path) -> None:
    view = hs.models.openpmd.open(run)
    assert [(model.name, model.certainty, model.reason) for model in view.file.models] == [("openpmd", "certain", "openPMD 1.1.0, 2 iterations")]
    assert view.tables == ["particles_e-", "cells_B", "patches_e-"] and view.iterations == [0, 20]
    assert view.validate() == [] and view.omitted == {"/notes": "is in no iteration"}
    got = view.particles("e-").to_pandas()
    assert got.columns.tolist() == ["iteration", "time", "id", "mass", "momentum_x", "position_x", "position_y"]
    for number, count in COUNTS.items():
        rows, values = got[got.iteration == number], stored(number)
        assert len(rows) == count and set(rows.time) == {float(number)}
        assert rows.id.dtype == "u8" and rows.id.tolist() == values["id"].tolist()
        assert rows.position_x.tolist() == (values["x"].astype("f8") * 1e-6 + values["shift"] * 2e-6).tolist()
        assert rows.position_y.tolist() == (values["y"] + 5.0).tolist()
        assert set(rows.mass) == {9.1 * 1e-31} and rows.momentum_x.tolist() == (values["y"] * 2 * 3.0).tolist()
    some = view.particles("e-", "position_y > 5.5", ["id", "position_y"], iterations=[0, 20])
    assert some.to_pandas().id.tolist() == got[got.position_y > 5.5].id.tolist() and some.count() == (got.position_y > 5.5).sum()
    assert sum(split.read().num_rows for split in some.splits(3)) == some.count()
    assert hs.sql('select sum(momentum_x) from "particles_e-" where iteration = 20', run).fetchall()[0][0] == pytest.approx(stored(20)["y"].sum() * 6)
    patches = view.table("patches_e-").to_pandas()
    assert patches[patches.iteration == 0].drop(columns=["iteration", "time"]).to_dict("list") == {
        "extent_x": [4e-3, 4e-3],
        "numParticles": [2, 3],
        "numParticlesOffset": [0, 2],
        "offset_x": [0.0, 4e-3],
    }


def test_cells_have_indexes_and_coordinates(run: pathlib.Path) -> None:
    got = hs.models.openpmd.open(run).cells("B").to_pandas()
    assert got.columns.tolist() == ["iteration", "time", "i_z", "i_y", "i_x", "z", "y", "x", "B_x", "B_y"] and len(got) == 48
    index = np.indices((2, 3, 4)).reshape(3, -1)
    for number in COUNTS:
        rows = got[got.iteration == number]
        assert np.array_equal(rows[["i_z", "i_y", "i_x"]].to_numpy().T, index)
        np.testing.assert_allclose(rows.y, (10 + (index[1] + 0.5) * 1.0) * 1e-3, rtol=1e-14)
        np.testing.assert_allclose(rows.x, (20 + index[2] * 1.5) * 1e-3, rtol=1e-14)
        assert rows.B_x.tolist() == ((np.arange(24) + number) * 2.0).tolist() and set(rows.B_y) == {7.0}
    block = hs.models.openpmd.open(run).cells("B", "x > 0.0214 and x < 0.0231 and i_z = 1", iterations=0)
    assert len(block.to_pandas()) == 6 and "3 of 24" not in block.explain() and "6 of 24 rows by dimensions" in block.explain()


def test_orders_of_fortran_modes_and_staggered_components(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    values = np.random.default_rng(1).random((2, 3))
    with h5py.File(path, "w") as f:
        root(f, "2.0.0")
        group = iteration(f, 7)
        # Fortran lists x first; in the file y is the first dimension.
        fortran = mesh(group, "F", "xy", dataOrder=np.bytes_("F"))
        array(fortran, "a", values, position=[0.25, 0.0])
        array(fortran, "b", values, position=[0.0, 0.0])
        array(mesh(group, "J", "rz", geometry=np.bytes_("thetaMode"), dataOrder=None), "r", np.stack([values] * 3), position=[0.5, 0.0])
        # A scalar record is a dataset, with long doubles as C++ writes them.
        rho = array(group["meshes"], "rho", values.astype("f4"), position=np.array([0.5, 0.1], np.longdouble))
        for name, value in mesh(group, "template", "yx").attrs.items():
            rho.attrs[name] = value
        del group["meshes/template"]
        rho.attrs["gridUnitSI"] = np.array([1.0, 2.0])
    view = hs.models.openpmd.open(path)
    assert view.tables == ["cells_F_a", "cells_F_b", "cells_J", "cells_rho"] and view.validate() == []
    a = view.cells("F_a").to_pandas()
    assert a.F_a.tolist() == values.ravel().tolist() and a.i_y.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(a.x, (0 + (a.i_x + 0.25) * 0.5) * 1e-3, rtol=1e-14)
    np.testing.assert_allclose(a.y, (10 + a.i_y * 1.0) * 1e-3, rtol=1e-14)
    assert view.cells("F_b").to_pandas().x.tolist() == [0.0, 0.0005, 0.001] * 2
    modes = view.cells("J").to_pandas()
    assert modes.columns.tolist() == ["iteration", "time", "i_mode", "i_r", "i_z", "r", "z", "J_r"] and modes.i_mode.tolist() == np.repeat(range(3), 6).tolist()
    rho = view.cells("rho").to_pandas()
    assert rho.rho.dtype == "f4" and rho.rho.tolist() == values.astype("f4").ravel().tolist()
    np.testing.assert_allclose(rho.x, (10 + (rho.i_x + 0.1) * 1.0) * 2, rtol=1e-14)


def test_series_of_files_and_of_variables(tmp_path: pathlib.Path) -> None:
    for number in COUNTS:
        with h5py.File(tmp_path / f"run_{number}.h5", "w") as f:
            root(f, iterationEncoding="fileBased", iterationFormat="run_%T.h5")
            particles(iteration(f, number), number)
    both = hs.models.openpmd.open(str(tmp_path / "run_*.h5")).particles("e-", columns=["iteration", "id"]).to_pandas()
    assert both.groupby("iteration").size().to_dict() == COUNTS
    with h5py.File(tmp_path / "variables.h5", "w") as f:
        root(f, iterationEncoding="variableBased", iterationFormat="/data")
        group = iteration(f, 20, "data")
        particles(group, 20)
        group.attrs["snapshot"] = np.uint64(20)
    view = hs.models.openpmd.open(tmp_path / "variables.h5")
    assert set(view.particles("e-").to_pandas().iteration) == {20} and view.omitted == {}
    with h5py.File(tmp_path / "variables.h5", "r+") as f:
        f["data"].attrs["snapshot"] = [20, 40]
    with pytest.raises(hs.UnsupportedError, match="several snapshots"):
        hs.models.openpmd.open(tmp_path / "variables.h5").particles("e-")


def test_what_contradicts_the_standard_is_an_error_with_the_object(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    species, field = "data/20/particles/e-", "data/20/meshes/B"

    def replaced(f: h5py.File, path: str, values: Any) -> None:
        attributes = dict(f[path].attrs)
        del f[path]
        f[path] = values
        f[path].attrs.update(attributes)

    cases = [
        (lambda f: replaced(f, f"{species}/id", np.arange(4, dtype="u8")), f"/{species}/", "has 3 values|has 4 values", "particles_e-"),
        (lambda f: replaced(f, f"{species}/id", np.zeros((3, 2), "u8")), f"/{species}/id", r"has shape \[3, 2\]", "particles_e-"),
        (lambda f: f[f"{species}/momentum/x"].attrs.__delitem__("unitSI"), f"/{species}/momentum/x", "no attribute unitSI", "particles_e-"),
        (lambda f: f[f"{species}/mass"].attrs.__setitem__("shape", [-3]), f"/{species}/mass", "the attribute shape has -3", "particles_e-"),
        (lambda f: f[f"{species}/momentum"].create_group("y"), f"/{species}/momentum/y", "neither a dataset nor a constant", "particles_e-"),
        (lambda f: f[field].attrs.__delitem__("gridSpacing"), f"/{field}", "no attribute gridSpacing", "cells_B"),
        (lambda f: f[field].attrs.__setitem__("gridSpacing", [1.0, 2.0]), f"/{field}", "gridSpacing has 2 numbers for 3 axes", "cells_B"),
        (lambda f: f[field].attrs.__setitem__("axisLabels", np.array([b"x"])), f"/{field}", "axisLabels has 1 names", "cells_B"),
        (lambda f: f[field].attrs.__setitem__("dataOrder", np.bytes_("Z")), f"/{field}", "neither C nor F", "cells_B"),
        (lambda f: f[f"{field}/x"].attrs.__delitem__("position"), f"/{field}/x", "no attribute position", "cells_B"),
        (lambda f: f[f"{field}/y"].attrs.__setitem__("shape", [2, 3]), f"/{field}/y", r"has shape \[2, 3\]", "cells_B"),
        (
            lambda f: replaced(f, f"{species}/particlePatches/numParticles", np.arange(3)),
            f"/{species}/particlePatches/",
            "has 2 values, .* has 3|has 3",
            "patches_e-",
        ),
        (lambda f: f.move("data/0", "data/020"), "/data/20", "both iteration 20", "particles_e-"),
    ]
    for number, (change, place, match, table) in enumerate(cases):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(run.read_bytes())
        with h5py.File(path, "r+") as f:
            change(f)
        view = hs.models.openpmd.open(path)
        with pytest.raises(hs.CorruptError, match=match) as caught:
            view.table(table)
        assert (caught.value.object or "").startswith(place), (number, caught.value.object)
        assert any(problem.object.startswith(place) for problem in view.validate()), (number, view.validate())
    with h5py.File(run, "r+") as f:
        replaced(f, f"{species}/momentum/x", np.array([b"a", b"b", b"c"]))
    with pytest.raises(hs.InvalidInputError, match="not numbers as its table needs"):
        hs.models.openpmd.open(run).particles("e-")


def beamphysics(path: pathlib.Path, base: str, particles_path: str, place: str, **more: Any) -> dict[str, np.ndarray]:
    """Particles as openPMD-beamphysics writes them: a group with the records themselves, without the name of a species."""
    random = np.random.default_rng(3)
    values = {name: random.normal(size=4) for name in ("position_x", "position_y", "momentum_z", "weight")}
    with h5py.File(path, "w") as f:
        root(f, "2.0.0", basePath=np.bytes_(base), particlesPath=np.bytes_(particles_path), openPMDextension=np.bytes_("BeamPhysics;SpeciesType"))
        for name in ("meshesPath", "iterationEncoding"):
            f.attrs.pop(name)
        f.attrs.update(more)
        group = f.require_group(place)
        group.attrs.update({"speciesType": "electron", "numParticles": 4, "totalCharge": 1e-12})
        for name, stored_values in values.items():
            array(group, name.replace("_", "/"), stored_values, unitSI=2.0)
        constant(group, "momentum/x", 5.0, [4], unitSI=2.0)
        constant(group, "particleStatus", 1, [4], unitSI=1.0)
    return values


@pytest.mark.parametrize(
    "base, particles_path, place, table",
    [
        ("/data/%T/", "./", "data/3", "particles"),
        ("/data/%T/", "particles/", "data/3/particles", "particles"),
        ("/data/%T/", "particles/", "data/3/particles/electron", "particles_electron"),
        ("/data/%T/", "./", "data/3/electron", "particles_electron"),
        ("/screen/%T/", "./", "screen/3", "particles"),
        ("/screen/%T/", "", "screen/3", "particles"),
        ("/run/it%T/", "particles/", "run/it3/particles", "particles"),
        ("/run/%T/out", "./", "run/3/out", "particles"),
        ("/data/", "particles/", "data/particles", "particles"),
        ("/", "./", "beam", "particles_beam"),
    ],
)
def test_particles_of_openpmd_beamphysics(tmp_path: pathlib.Path, base: str, particles_path: str, place: str, table: str) -> None:
    path = tmp_path / "beam.h5"
    values = beamphysics(path, base, particles_path, place)
    view = hs.models.openpmd.open(path)
    # The iteration has no time, which such files need not have.
    assert view.tables == [table] and [problem.object for problem in view.validate() if "has no time" not in problem.message] == []
    got = view.particles(table.partition("_")[2]).to_pandas()
    assert got.iteration.tolist() == [3 if "%T" in base else 0] * 4
    for name, wanted in values.items():
        assert np.array_equal(got[name], wanted * 2.0), name
    assert set(got.momentum_x) == {10.0} and set(got.particleStatus) == {1.0}
    assert sorted(array.name for array in view.arrays) == sorted((table.partition("_")[2] + "/" + name.replace("_", "/")).lstrip("/") for name in values)
    assert not any(view.contents()["problem"].to_pylist())


def test_files_of_external_fields_have_no_iterations(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rfgun.h5"
    with h5py.File(path, "w") as f:
        f.attrs.update({"openPMD": "2.0.0", "openPMDextension": "BeamPhysics", "externalFieldPath": "/ExternalFieldPath/%T/"})
        array(f, "ExternalFieldPath/1/electricField/z", np.zeros((2, 3, 4)), unitSI=1.0)
    view = hs.models.openpmd.open(path)
    assert view.tables == [] and view.arrays == [] and view.validate() == [] and view.omitted == {"/ExternalFieldPath": "is in no iteration"}
    assert view.contents().num_rows == 0
    with h5py.File(path, "r+") as f:
        del f.attrs["externalFieldPath"]
    view = hs.models.openpmd.open(path)
    assert view.tables == [] and view.arrays == [] and [problem.object for problem in view.validate()] == ["/"]


def test_one_object_that_is_wrong_leaves_the_others(run: pathlib.Path) -> None:
    """Arrays and tables of the others are there, and the object is named."""
    with hs.open(run) as f:
        before = {view.name: sorted(array.name for array in view.arrays) for view in f.models}["openpmd"]
    with h5py.File(run, "r+") as f:
        f["data/0/particles/e-"].create_group("nothing")
        f["data/0/particles/stray"] = [1.0]
        f["data/0/particles"].create_group("wrong").create_dataset("id", data=np.zeros((2, 2))).attrs["unitSI"] = 1.0
        f["data/0/meshes"].create_group("bad").create_dataset("x", data=[1.0])
    view = hs.models.openpmd.open(run)
    assert sorted(array.name for array in view.arrays) == before
    assert view.omitted["/data/0/particles/e-/nothing"] == "is a record without components" and "not a species" in view.omitted["/data/0/particles/stray"]
    assert "has shape [2, 2]" in view.omitted["/data/0/particles/wrong/id"] and "no attribute unitSI" in view.omitted["/data/0/meshes/bad/x"]
    assert view.particles("e-").count() > 0 and view.cells("B").count() > 0
    problems = {row["name"]: row["problem"] for row in view.contents().to_pylist() if row["problem"]}
    assert set(problems) == {"particles_wrong", "cells_bad"}
    for table in problems:
        with pytest.raises(hs.CorruptError):
            view.table(table)


def test_iterations_that_are_wrong_leave_the_others(run: pathlib.Path) -> None:
    """Their arrays and tables are listed; a table that would lack the rows of an iteration is an error."""
    with hs.open(run) as f:
        before = {view.name: [array.name for array in view.arrays if array.step == 20] for view in f.models}["openpmd"]
    with h5py.File(run, "r+") as f:
        del f["data/0/particles"]
        f["data/0/particles"] = [1.0]
        f["data/30"], f["data/40"] = h5py.SoftLink("/gone"), [1.0]
    view = hs.models.openpmd.open(run)
    assert [array.name for array in view.arrays] == before and set(view.tables) >= {"particles_e-", "cells_B"}
    assert set(view.omitted) >= {"/data/0/particles", "/data/30"} and {problem.object for problem in view.validate()} >= {"/data/0/particles", "/data/30"}
    assert view.contents().num_rows > 0
    with pytest.raises(hs.Error, match="meshes and particles are in groups"):
        view.particles("e-")


def test_groups_next_to_particles_are_no_species(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "beam.h5"
    values = beamphysics(path, "/", "./", "beam")
    with h5py.File(path, "r+") as f:
        f["meta/text"], f["stray"] = "x", [1.0]
    view = hs.models.openpmd.open(path)
    assert view.tables == ["particles_beam"] and np.array_equal(view.particles("beam").to_pandas().weight, values["weight"] * 2)
    assert "not a species" in view.omitted["/meta"] and "not a species" in view.omitted["/stray"] and len(view.arrays) == len(values)


def test_patches_that_do_not_have_each_particle_once_are_problems(run: pathlib.Path, tmp_path: pathlib.Path) -> None:
    patches = "data/0/particles/e-/particlePatches"

    def numbers(f: h5py.File, counts: Any, firsts: Any) -> None:
        for name, values in (("numParticles", counts), ("numParticlesOffset", firsts)):
            del f[f"{patches}/{name}"]
            f[f"{patches}/{name}"] = np.array(values)

    def constants(f: h5py.File, count: float, first: float) -> None:
        for name, value in (("numParticles", count), ("numParticlesOffset", first)):
            del f[f"{patches}/{name}"]
            constant(f, f"{patches}/{name}", value, [2])

    def inside(f: h5py.File) -> None:
        del f[f"{patches}/numParticlesOffset"]
        f[f"{patches}/numParticlesOffset/x"] = np.array([0, 2], "u8")

    u8 = np.uint64
    cases = [
        (lambda f: numbers(f, [2, 3], [3, 0]), "", ""),  # in another order
        (lambda f: numbers(f, [5, 0], [0, 0]), "", ""),
        (lambda f: numbers(f, [5, 0], [0, 5]), "", ""),
        (lambda f: numbers(f, [2, 4], [0, 2]), "numParticlesOffset", "patch 1 has 4 particles from 2 on, but there are 5 particles"),
        (lambda f: numbers(f, [0, 5], [6, 0]), "numParticlesOffset", "patch 0 has 0 particles from 6 on, but there are 5 particles"),
        (lambda f: numbers(f, u8([1, 4]), u8([2**64 - 1, 0])), "numParticlesOffset", "patch 0 has 1 particles from 18446744073709551615 on"),
        (lambda f: numbers(f, [2, 4], [0, 1]), "numParticlesOffset", "patch 1 begins at particle 1, which another patch has, too"),
        (lambda f: numbers(f, [1, 2], [0, 3]), "numParticlesOffset", "the particles from 1 to 2 are in no patch"),
        (lambda f: numbers(f, [1, 4], [1, 1]), "numParticlesOffset", "the particles from 0 to 0 are in no patch"),
        (lambda f: numbers(f, [1, 1], [0, 1]), "numParticles", "the patches have 2 particles, but there are 5"),
        (lambda f: numbers(f, [-1, 6], [0, 0]), "numParticles", "not a number of particles"),
        (lambda f: numbers(f, [2.0, 3.0], [0, 2]), "numParticles", "holds Float64, not whole numbers"),
        (lambda f: constants(f, 1.5, 0.0), "numParticles", "not a number of particles"),
        (lambda f: constants(f, 2.0, 0.0), "numParticlesOffset", "begins at particle 0, which another patch has, too"),
        (lambda f: f[patches].__delitem__("numParticles"), "", "no record numParticles"),
        (inside, "", "no record numParticlesOffset"),
    ]
    for number, (change, place, message) in enumerate(cases):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(run.read_bytes())
        with h5py.File(path, "r+") as f:
            change(f)
        problems = [(problem.object, problem.message) for problem in hs.models.openpmd.open(path).validate()]
        if not message:
            assert problems == [], number
            continue
        assert len(problems) == 1 and problems[0][0] == f"/{patches}/{place}".rstrip("/"), (number, problems)
        assert re.search(message, problems[0][1]), (number, problems)


def test_a_record_that_an_iteration_lacks_is_null(run: pathlib.Path) -> None:
    with h5py.File(run, "r+") as f:
        del f["data/0/particles/e-/id"], f["data/0/particles/e-/momentum"], f["data/20/meshes/B/y"], f["data/0"].attrs["timeUnitSI"]
    view = hs.models.openpmd.open(run)
    got = view.particles("e-").to_pandas()
    first = got[got.iteration == 0]
    assert first.id.isna().all() and first.momentum_x.isna().all() and first.time.isna().all()
    assert got[got.iteration == 20].momentum_x.tolist() == (stored(20)["y"] * 6).tolist()
    cells = view.cells("B").to_pandas()
    assert cells[cells.iteration == 20].B_y.isna().all() and set(cells[cells.iteration == 0].B_y) == {7.0}
    assert [problem.object for problem in view.validate()] == ["/data/0"]
    with pytest.raises(hs.NotFoundError, match="nearest: particles_e-"):
        view.particles("e")
