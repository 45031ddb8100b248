"""openPMD as it is written, read by h5py and by the model. `make test-openpmd` has openPMD's own libraries as judges."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.models import step_targets
from hyperslab.models.openpmd import Mesh, Record

openpmd = hs.models.openpmd
LENGTH = (1, 0, 0, 0, 0, 0, 0)


def content(number: int) -> dict[str, Any]:
    random = np.random.default_rng(number)
    count = 5 + number
    electrons = {
        "position": Record(values={"x": random.random(count).astype("f4"), "y": random.random(count)}, unit_si={"x": 1e-6, "y": 1.0}, dimension=LENGTH),
        "charge": Record(values=-1.0, unit_si=1.602e-19, dimension=(0, 0, 1, 1, 0, 0, 0), attrs={"note": "constant"}),
        "id": Record(values=np.arange(count, dtype="u8") + 2**63, dimension=(0,) * 7),
    }
    field = Mesh(
        values={"x": random.normal(size=(2, 3, 4)), "y": random.normal(size=(2, 3, 4)), "z": 7.5},
        dimension=(1, 1, -3, -1, 0, 0, 0),
        unit_si=2.0,
        axes=("z", "y", "x"),
        spacing=(1.0, 2.0, 3.0),
        offset=(10.0, 0.0, -1.0),
        grid_unit_si=1e-3,
        position=(0.0, 0.5, 0.0),
    )
    density = Mesh(
        values=random.normal(size=(3, 5)).astype("f4"),
        dimension=(-3, 0, 1, 1, 0, 0, 0),
        axes=("y", "x"),
        spacing=(1.0, 0.5),
        offset=(0.0, 0.0),
        grid_unit_si=1.0,
        position=(0.5, 0.5),
    )
    return {"particles": {"electrons": electrons}, "meshes": {"E": field, "rho": density}}


@pytest.mark.parametrize("name", ["run.h5", "run_%T.h5", "run_%06T.h5"])
def test_what_is_written_is_read(tmp_path: pathlib.Path, name: str) -> None:
    with openpmd.create(tmp_path / name, attrs={"author": "me"}, compression="gzip") as series:
        for number in (0, 100):
            series.write_iteration(number, time=number * 0.5, dt=0.5, time_unit_si=1e-15, attrs={"cycle": number}, **content(number))
        assert series.iterations == [0, 100]
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == {
        "run.h5": ["run.h5"],
        "run_%T.h5": ["run_0.h5", "run_100.h5"],
        "run_%06T.h5": ["run_000000.h5", "run_000100.h5"],
    }[name]
    view = openpmd.open([str(path) for path in files])
    assert view.tables == ["particles_electrons", "cells_E", "cells_rho"] and view.validate() == [] and view.omitted == {}
    for number in (0, 100):
        wanted = content(number)
        records, field = wanted["particles"]["electrons"], wanted["meshes"]["E"]
        rows = view.particles("electrons", iterations=number).to_pandas()
        assert set(rows.time) == {number * 0.5 * 1e-15} and rows.id.tolist() == records["id"].values.tolist()
        assert rows.position_x.tolist() == (records["position"].values["x"].astype("f8") * 1e-6).tolist()
        assert rows.position_y.tolist() == records["position"].values["y"].tolist() and set(rows.charge) == {-1.602e-19}
        cells = view.cells("E", iterations=number).to_pandas()
        assert cells.E_x.tolist() == (field.values["x"].ravel() * 2).tolist() and set(cells.E_z) == {15.0}
        assert cells.y.tolist() == pytest.approx(((np.indices((2, 3, 4))[1].ravel() + 0.5) * 2.0 * 1e-3).tolist())
    with h5py.File(files[-1]) as f:
        assert (
            f.attrs["openPMD"] == b"1.1.0"
            and f.attrs["author"] == b"me"
            and f.attrs["iterationFormat"] == (b"/data/%T/" if name == "run.h5" else name.encode())
        )
        step = f["data/100"]
        assert step.attrs["timeUnitSI"] == 1e-15 and step.attrs["cycle"] == 100
        assert step["particles/electrons/position/x"].compression == "gzip" and step["particles/electrons/position/x"].dtype == "f4"
        assert step["particles/electrons/positionOffset/y"].attrs["value"] == 0 and step["particles/electrons/positionOffset/y"].attrs["shape"].tolist() == [
            105
        ]
        assert step["particles/electrons/charge"].attrs["note"] == b"constant" and step["meshes/E"].attrs["axisLabels"].tolist() == [b"z", b"y", b"x"]
        assert step["meshes/rho"].attrs["unitDimension"].tolist() == [-3, 0, 1, 1, 0, 0, 0] and step["meshes/rho"].attrs["position"].tolist() == [0.5, 0.5]


def test_what_contradicts_itself_is_refused_before_it_is_written(tmp_path: pathlib.Path) -> None:
    good = content(0)
    electrons, field = good["particles"]["electrons"], good["meshes"]["E"]

    def species(**records: Any) -> dict[str, Any]:
        return {"particles": {"electrons": electrons | records}}

    def mesh(**changes: Any) -> dict[str, Any]:
        return {"meshes": {"E": Mesh(**({name: getattr(field, name) for name in field.__dataclass_fields__} | changes))}}

    base = "/data/0"
    cases = [
        (species(id=Record(values=np.arange(3), dimension=(0,) * 7)), "shape (3,)", f"{base}/particles/electrons/id"),
        ({"particles": {"electrons": {"id": electrons["id"]}}}, "without the record position", f"{base}/particles/electrons"),
        ({"particles": {"a b": electrons}}, "letters, digits", base),
        (species(q=Record(values=np.zeros(5), dimension=(1, 0))), "7 finite numbers", f"{base}/particles/electrons/q"),
        (species(q=Record(values=np.array(["a"] * 5), dimension=LENGTH)), "integers or floats", f"{base}/particles/electrons/q"),
        (species(q=Record(values={"x": np.zeros(5)}, unit_si={"y": 1.0}, dimension=LENGTH)), "unit_si has nothing", f"{base}/particles/electrons/q"),
        (species(q=np.zeros(5)), "give a Record", f"{base}/particles/electrons/q"),
        ({"particles": {"e": {"position": Record(values={"x": 1.0}, dimension=LENGTH)}}}, "at least one", f"{base}/particles/e"),
        (mesh(axes=("y", "x")), "3 different names", f"{base}/meshes/E"),
        (mesh(spacing=(1.0, np.nan, 1.0)), "3 finite numbers", f"{base}/meshes/E"),
        (mesh(position={"x": (0.0, 0.0, 0.0)}), "position is given for", f"{base}/meshes/E"),
        (mesh(values={"x": np.zeros((2, 3)), "y": np.zeros((3, 2))}), "shape (3, 2)", f"{base}/meshes/E/y"),
        (mesh(values=1.0), "all constant", f"{base}/meshes/E"),
        ({"meshes": {"E": electrons["id"]}}, "give a Mesh", f"{base}/meshes/E"),
    ]
    with openpmd.create(tmp_path / "run.h5") as series:
        for given, message, place in cases:
            with pytest.raises(hs.InvalidInputError) as caught:
                series.write_iteration(0, time=0.0, dt=1.0, **given)
            assert message in str(caught.value) and caught.value.object == place, message
        series.write_iteration(0, time=0.0, dt=1.0, **good)
        with pytest.raises(hs.InvalidInputError, match="written already"):
            series.write_iteration(0, time=0.0, dt=1.0)
    assert openpmd.open(tmp_path / "run.h5").validate() == []
    with pytest.raises(hs.ConflictError):
        openpmd.create(tmp_path / "run.h5")
    with pytest.raises(ZeroDivisionError), openpmd.create(tmp_path / "other.h5") as series:
        series.write_iteration(0, time=0.0, dt=1.0, **good)
        raise ZeroDivisionError
    assert not (tmp_path / "other.h5").exists()
    with pytest.raises(hs.InvalidInputError, match="closed"):
        series.write_iteration(1, time=0.0, dt=1.0)


COUNTS = (4, 0, 7)


def part(number: int, writer: int) -> dict[str, Any]:
    """What one of three writers has: particles from 0 on, a box that they are in, and a row of blocks of a mesh."""
    random = np.random.default_rng(100 * number + writer)
    count = COUNTS[writer] + number
    position = Record(values={"x": random.random(count), "y": writer + random.random(count)}, unit_si=2.0, dimension=LENGTH)
    mesh = Mesh(
        values={"x": random.random((2, 4)).astype("f4"), "y": 1.5},
        dimension=LENGTH,
        axes=("y", "x"),
        spacing=(1, 1),
        offset=(0, 0),
        grid_unit_si=1.0,
        position=(0, 0),
        shape=(6, 4),
        partition=np.s_[2 * writer : 2 * writer + 2],
    )
    patch = openpmd.Patch(particles=count, offset={"x": 0, "y": writer}, extent={"x": 1, "y": 1})
    return {
        "particles": {"e": {"position": position, "charge": Record(values=-1.0, dimension=LENGTH)}},
        "meshes": {"E": mesh},
        "patches": {"e": [patch]},
    }


def check_parts(path: pathlib.Path, numbers: tuple[int, ...] = (0, 3)) -> None:
    """The file as h5py has it, and as the model shows it."""
    base = openpmd.open(path)
    assert base.validate() == [] and base.omitted == {} and base.tables == ["particles_e", "cells_E", "patches_e"] and base.iterations == list(numbers)
    for number in numbers:
        parts = [part(number, writer) for writer in range(3)]
        wanted = np.concatenate([one["particles"]["e"]["position"].values["y"] for one in parts])
        sizes = [count + number for count in COUNTS]
        with h5py.File(path) as f:
            e = f[f"data/{number}/particles/e"]
            assert np.array_equal(e["position/y"][:], wanted) and e["charge"].attrs["shape"].tolist() == [len(wanted)]
            assert e["positionOffset/x"].attrs["shape"].tolist() == [len(wanted)]
            assert e["particlePatches/numParticles"][:].tolist() == sizes
            assert e["particlePatches/numParticlesOffset"][:].tolist() == [0, sizes[0], sizes[0] + sizes[1]]
            assert e["particlePatches/offset/y"][:].tolist() == [0, 1, 2] and e["particlePatches/extent"].attrs["unitDimension"].tolist() == list(LENGTH)
            assert np.array_equal(f[f"data/{number}/meshes/E/x"][:], np.concatenate([one["meshes"]["E"].values["x"] for one in parts]))
            assert f[f"data/{number}/meshes/E/y"].attrs["shape"].tolist() == [6, 4]
        rows = base.particles("e", iterations=number).to_pandas()
        assert rows.position_y.tolist() == (2 * wanted).tolist() and set(rows.charge) == {-1.0}
        patches = base.table("patches_e", f"iteration = {number}").to_pandas()
        assert patches.numParticles.tolist() == sizes and patches.offset_y.tolist() == [0, 2, 4] and patches.extent_x.tolist() == [2, 2, 2]


def write_parts(path: pathlib.Path, writers: tuple[int, ...] = (2, 0, 1), **options: Any) -> None:
    plan = openpmd.plan(path, attrs={"author": "me"}, **options)
    fragments = []
    for writer in writers:
        with plan.task(writer) as task:
            run = openpmd.writer(task)
            for number in (0, 3):
                sizes = [count + number for count in COUNTS]
                run.write_iteration(number, time=number, dt=1.0, rows={"e": (sum(sizes[:writer]), sum(sizes))}, **part(number, writer))
            fragments.append(task.finish())
    plan.commit(fragments)


@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "chunks": True}])
def test_tasks_write_parts_of_iterations(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    write_parts(tmp_path / "run.h5", **options)
    check_parts(tmp_path / "run.h5")


def test_parts_that_contradict_each_other_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match="16 of the 24 elements"):
        write_parts(tmp_path / "run.h5", writers=(0, 1))
    assert not (tmp_path / "run.h5").exists()
    plan = openpmd.plan(tmp_path / "run.h5")
    with plan.task(0) as task:
        run, good = openpmd.writer(task), part(0, 0)
        two = openpmd.Patch(particles=2, offset={"x": 0, "y": 0}, extent={"x": 1, "y": 1})
        for changes, message in [
            ({}, "rows has no place of e"),
            ({"rows": {"e": (0, 3)}}, "4 particles from the 0th of 3"),
            ({"rows": {"e": (0, 11)}, "patches": {"e": [two]}}, r"patches of \[2\] particles for 4 particles"),
            ({"rows": {"e": (0, 11)}, "patches": {"q": [two]}}, "none of the species"),
        ]:
            with pytest.raises(hs.InvalidInputError, match=message):
                run.write_iteration(0, time=0.0, dt=1.0, **good | changes)
        whole = {name: getattr(good["meshes"]["E"], name) for name in Mesh.__dataclass_fields__}
        for changes, message in [({"shape": None}, "gives the shape of the whole"), ({"partition": np.s_[0:3]}, r"for a partition of shape \(3, 4\)")]:
            with pytest.raises(hs.InvalidInputError, match=message):
                run.write_iteration(0, time=0.0, dt=1.0, meshes={"E": Mesh(**(whole | changes))})
        task.abort()
    with openpmd.create(tmp_path / "run.h5") as series:
        with pytest.raises(hs.InvalidInputError, match="several writers"):
            series.write_iteration(0, time=0.0, dt=1.0, meshes=good["meshes"])
        with pytest.raises(hs.InvalidInputError, match="rows are for tasks"):
            series.write_iteration(0, time=0.0, dt=1.0, particles=good["particles"], rows={"e": (0, 4)})
        with pytest.raises(hs.InvalidInputError, match="version='2.0.0'"):
            series.write_iteration(0, time=0.0, dt=1.0, meshes={"E": Mesh(**(whole | {"shape": None, "partition": None, "grid_unit_si": (1.0, 2.0)}))})
    for wrong in ({"version": "3.0.0"}, {"encoding": "group"}, {"mode": "append"}):
        with pytest.raises(hs.InvalidInputError):
            openpmd.create(tmp_path / "other.h5", **wrong)
    with pytest.raises(hs.UnsupportedError, match="comm= or a plan"):
        openpmd.create(tmp_path / "other.h5", "a")
    with pytest.raises(hs.InvalidInputError, match="plan each"):
        openpmd.plan(tmp_path / "run_%T.h5")


@pytest.mark.parametrize("name", ["run.h5", "run_%T.h5"])
def test_one_process_writes_as_a_communicator_does(tmp_path: pathlib.Path, name: str) -> None:
    given = content(3)
    with openpmd.create(tmp_path / name, comm=step_targets.Alone()) as series:
        for number in (3, 5):
            meshes = {"rho": dataclasses.replace(given["meshes"]["rho"], shape=(3, 5))}
            series.write_iteration(number, time=0.0, dt=1.0, particles=given["particles"], meshes=meshes)
            # Readers see it at once.
            path = tmp_path / name.replace("%T", str(number))
            assert openpmd.open(path).particles("electrons", iterations=number).count() == 8
    with openpmd.create(tmp_path / name.replace("%T", "3"), "a", comm=step_targets.Alone()) as series:
        with pytest.raises(hs.InvalidInputError, match="iteration 3 is written already"):
            series.write_iteration(3, time=0.0, dt=1.0, particles=given["particles"])
        series.write_iteration(7, time=0.0, dt=1.0, particles=given["particles"])
    assert openpmd.open(tmp_path / name.replace("%T", "3")).iterations == ([3, 5, 7] if name == "run.h5" else [3, 7])


def test_an_iteration_by_variables(tmp_path: pathlib.Path) -> None:
    with openpmd.create(tmp_path / "run.h5", encoding="variable") as series:
        series.write_iteration(5, time=2.0, dt=1.0, **content(5))
        with pytest.raises(hs.InvalidInputError, match="one iteration"):
            series.write_iteration(6, time=2.0, dt=1.0, **content(6))
    with h5py.File(tmp_path / "run.h5") as f:
        assert f.attrs["iterationEncoding"] == b"variableBased" and f["data"].attrs["snapshot"] == 5 and "particles" in f["data"]
    view = openpmd.open(tmp_path / "run.h5")
    assert view.iterations == [5] and view.validate() == [] and view.particles("electrons").count() == 10
    with openpmd.create(tmp_path / "run_%T.h5", encoding="variable") as series:
        for number in (0, 100):
            series.write_iteration(number, time=2.0, dt=1.0, **content(number))
    view = openpmd.open(str(tmp_path / "run_*.h5"))
    assert view.particles("electrons", iterations=100).count() == 105


def test_openpmd_2_has_units_of_each_axis_and_may_have_none(tmp_path: pathlib.Path) -> None:
    given = content(0)
    phase_space = dataclasses.replace(given["meshes"]["rho"], grid_unit_si=(1e-3, 1e-20), grid_dimension=(LENGTH, (1, 1, -1, 0, 0, 0, 0)))
    with openpmd.create(tmp_path / "run.h5", version="2.0.0") as series:
        series.write_iteration(0, time=3.0, dt=1.0, time_unit_si=0.5, particles=given["particles"], meshes=given["meshes"] | {"rho": phase_space})
        with pytest.raises(hs.InvalidInputError, match="1 entries for 2 axes"):
            series.write_iteration(1, time=0.0, dt=1.0, meshes={"rho": dataclasses.replace(phase_space, grid_dimension=(LENGTH,))})
    with h5py.File(tmp_path / "run.h5", "r+") as f:
        assert f.attrs["openPMD"] == b"2.0.0" and "openPMDextension" not in f.attrs
        rho = f["data/0/meshes/rho"]
        assert "dataOrder" not in rho.attrs and rho.attrs["gridUnitSI"].tolist() == [1e-3, 1e-20]
        assert rho.attrs["gridUnitDimension"].tolist() == [*LENGTH, 1, 1, -1, 0, 0, 0, 0]
    cells = openpmd.open(tmp_path / "run.h5").cells("rho").to_pandas()
    assert cells.y.tolist()[-1] == pytest.approx(2.5 * 1e-3) and cells.x.tolist()[1] == pytest.approx(0.75 * 1e-20) and set(cells.time) == {1.5}
    with h5py.File(tmp_path / "run.h5", "r+") as f:
        del f["data/0"].attrs["timeUnitSI"], f["data/0/meshes/rho"].attrs["gridUnitSI"], f["data/0/particles/electrons/position/x"].attrs["unitSI"]
    view = openpmd.open(tmp_path / "run.h5")
    cells, rows = view.cells("rho").to_pandas(), view.particles("electrons").to_pandas()
    assert view.validate() == [] and cells.y.tolist()[-1] == 2.5 and set(cells.time) == {3.0}
    assert rows.position_x.tolist() == given["particles"]["electrons"]["position"].values["x"].astype("f8").tolist()
    with h5py.File(tmp_path / "run.h5", "r+") as f:
        f.attrs["openPMD"] = "1.1.0"
    old = openpmd.open(tmp_path / "run.h5")
    assert len(old.validate()) == 3
    with pytest.raises(hs.CorruptError, match="unitSI"):
        old.particles("electrons")
