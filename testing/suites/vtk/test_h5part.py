"""Particles as ParaView's own H5Part reader (in the wheel `vtk`) sees them."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
from vtkmodules.vtkIOH5part import vtkH5PartReader

STEPS = range(3)


def values(array: Any) -> np.ndarray:
    return np.array([array.GetTuple(i) for i in range(array.GetNumberOfTuples())]).squeeze()


def random_particles(random: np.random.Generator, step: int) -> dict[str, np.ndarray]:
    made = {name: random.normal(size=200 + step) for name in ("x", "y", "z", "energy")}
    return made | {"id": random.permutation(200 + step), "charge": random.normal(size=200 + step).astype("f4")}


@pytest.fixture(params=["h5py", "one process", "a commit for each step", "one commit"])
def run(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    path = tmp_path / "run.h5part"
    random = np.random.default_rng(4)
    if request.param == "one commit":
        plan = hs.models.h5part.plan(path)
        parts = [random_particles(random, step) for step in STEPS]
        fragments = []
        for number in range(2):
            with plan.task(number) as task:
                writer = hs.models.h5part.writer(task)
                for step, arrays in zip(STEPS, parts, strict=True):
                    writer.write_step({name: values[number * 90 : 90 if number == 0 else None] for name, values in arrays.items()}, time=step * 0.5)
                fragments.append(task.finish())
        plan.commit(fragments)
        return path
    if request.param != "h5py":
        with hs.models.h5part.create(path, commit="close" if request.param == "one process" else "step") as writer:
            for step in STEPS:
                writer.write_step(random_particles(random, step), time=step * 0.5)
        return path
    with h5py.File(path, "w") as f:
        for step in STEPS:
            group = f.create_group(f"Step#{step}")
            group.attrs["TimeValue"] = np.array([step * 0.5])
            for name in ("x", "y", "z", "energy"):
                group[name] = random.normal(size=200 + step)
            group["id"] = random.permutation(200 + step)
            group["charge"] = random.normal(size=200 + step).astype("f4")
    return path


def test_every_step_has_the_arrays_and_points_of_vtk(run: pathlib.Path) -> None:
    reader = vtkH5PartReader()
    reader.SetFileName(str(run))
    for axis in "xyz":
        getattr(reader, f"Set{axis.upper()}array")(axis)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS())
    part = hs.models.h5part.open(run)
    # VTK 9.7 numbers the steps of this file: it does not take the attribute TimeValue for a time.
    assert part.steps["step"].to_pylist() == list(times)
    for step, time in zip(STEPS, times, strict=True):
        for name in range(reader.GetNumberOfPointArrays()):
            reader.SetPointArrayStatus(reader.GetPointArrayName(name), 1)
        reader.UpdateTimeStep(time)
        output = reader.GetOutput()
        ours = part.particles(steps=step).to_arrow()
        assert output.GetNumberOfPoints() == ours.num_rows == 200 + step
        points = values(output.GetPoints().GetData())
        wanted = np.stack([ours[axis].to_numpy() for axis in "xyz"], axis=1)
        # VTK keeps points in the precision that it chooses.
        assert np.array_equal(points.astype("f4"), wanted.astype("f4"))
        data = output.GetPointData()
        names = {data.GetArrayName(i) for i in range(data.GetNumberOfArrays())}
        assert {"energy", "id", "charge"} <= names
        for name in ("energy", "id", "charge"):
            assert np.array_equal(values(data.GetArray(name)), ours[name].to_numpy()), name
