"""Files of VTKHDF as VTK's own reader sees them, and as its own writer writes them."""

from __future__ import annotations

import itertools
import pathlib
import sys
from typing import Any

import hyperslab as hs
import numpy as np
import pytest
from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkImageData, vtkUnstructuredGrid
from vtkmodules.vtkIOHDF import vtkHDFReader, vtkHDFWriter

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "lib"))
from vtkhdf_files import LEVELS, PARTS, SPACING, write_grid, write_image, write_mesh, write_steps

#: Flags of cells that VTK hides because finer cells are there.
REFINED = 8


def read(path: pathlib.Path, step: int = 0) -> Any:
    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.SetMaximumLevelsToReadByDefaultForAMR(0)
    reader.UpdateInformation()
    if reader.GetNumberOfSteps() > 1:
        reader.SetStep(step)
    reader.Update()
    return reader.GetOutputDataObject(0)


def columns(table: Any) -> dict[str, np.ndarray]:
    rows = table.to_arrow()
    return {name: rows[name].to_numpy() for name in rows.column_names}


def stacked(rows: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    return np.stack([rows[name] for name in names], axis=1)


def compare(mesh: Any, table: Any) -> int:
    """Compares each box with our rows; returns the number of covered cells."""
    covered, found = 0, columns(table)
    for level in range(mesh.GetNumberOfLevels()):
        for box in range(mesh.GetNumberOfBlocks(level)):
            image, mine = mesh.GetDataSetAsImageData(level, box), (found["level"] == level) & (found["box"] == box)
            rows = {name: values[mine] for name, values in found.items()}
            data = image.GetCellData()
            assert vtk_to_numpy(data.GetArray("rho")).tolist() == rows["rho"].tolist()
            assert np.array_equal(vtk_to_numpy(data.GetArray("v")), stacked(rows, ("v_0", "v_1", "v_2")))
            hidden = (vtk_to_numpy(data.GetArray("vtkGhostType")) & REFINED) > 0
            assert hidden.tolist() == rows["covered"].tolist()
            covered += int(hidden.sum())
            places = np.stack(np.unravel_index(np.arange(mine.sum()), [count - 1 for count in image.GetDimensions()[::-1]]), axis=1)[:, ::-1]
            centers = np.array(image.GetOrigin()) + (places + 0.5) * np.array(image.GetSpacing())
            np.testing.assert_allclose(centers, stacked(rows, ("x", "y", "z")), rtol=1e-14)
    return covered


def test_adaptive_meshes(tmp_path: pathlib.Path) -> None:
    path = write_mesh(tmp_path / "mesh.vtkhdf", LEVELS, SPACING)
    mesh, ours = read(path), hs.models.vtkhdf.open(path)
    assert mesh.GetNumberOfLevels() == len(ours.levels) and mesh.GetNumberOfCells() == ours.cells().count()
    assert [mesh.GetRefinementRatio(level) for level in range(2)] == [level["ratio"][0] for level in ours.levels[:2]]
    assert compare(mesh, ours.cells()) > 0


def test_steps_of_adaptive_meshes(tmp_path: pathlib.Path) -> None:
    steps = [LEVELS[:2], [LEVELS[0][:1], LEVELS[1][:1]], [LEVELS[0], LEVELS[1][1:]]]
    path = write_steps(tmp_path / "steps.vtkhdf", steps, SPACING, [0.0, 0.5, 2.0])
    ours = hs.models.vtkhdf.open(path)
    for step, boxes in enumerate(steps):
        mesh = read(path, step)
        assert [mesh.GetNumberOfBlocks(level) for level in range(2)] == [len(own) for own in boxes]
        compare(mesh, ours.cells(f"step = {step}"))


@pytest.mark.parametrize("extent", [(0, 4, 0, 3, 0, 2), (2, 6, -1, 3, 5, 7), (0, 4, 0, 3, 0, 0)])
def test_images(tmp_path: pathlib.Path, extent: Any) -> None:
    path = write_image(tmp_path / "image.vtkhdf", extent)
    image, ours = read(path), hs.models.vtkhdf.open(path)
    points, cells = columns(ours.points()), columns(ours.cells())
    assert (image.GetNumberOfPoints(), image.GetNumberOfCells()) == (len(points["i"]), len(cells["i"]))
    np.testing.assert_allclose([image.GetPoint(point) for point in range(len(points["i"]))], stacked(points, ("x", "y", "z")), rtol=1e-14)
    for data, rows in ((image.GetPointData(), points), (image.GetCellData(), cells)):
        assert vtk_to_numpy(data.GetArray("t")).tolist() == rows["t"].tolist()
        assert np.array_equal(vtk_to_numpy(data.GetArray("v")), stacked(rows, ("v_0", "v_1", "v_2")))


@pytest.mark.parametrize("extent", [(1, 5, 0, 3, -2, 0), (0, 4, 0, 3, 2, 2), (1, 4, 2, 2, 0, 3), (0, 3, 0, 0, 0, 0), (0, 1, 0, 1, 0, 1)])
def test_images_that_vtk_writes(tmp_path: pathlib.Path, extent: Any) -> None:
    image = vtkImageData()
    image.SetExtent(*extent)
    image.SetOrigin(0.5, 1.0, -1.0)
    image.SetSpacing(0.25, 0.5, 2.0)
    random = np.random.default_rng(2)
    for data, count in ((image.GetPointData(), image.GetNumberOfPoints()), (image.GetCellData(), image.GetNumberOfCells())):
        for name, values in (("t", random.normal(size=count)), ("v", random.normal(size=(count, 3)).astype("f4")), ("n", np.arange(count))):
            array = numpy_to_vtk(values, deep=True)
            array.SetName(name)
            data.AddArray(array)
    path = tmp_path / "written.vtkhdf"
    writer = vtkHDFWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(image)
    writer.Write()
    ours = hs.models.vtkhdf.open(path)
    assert ours.validate() == [] and ours.type == "ImageData"
    points, cells = columns(ours.points()), columns(ours.cells())
    np.testing.assert_allclose([image.GetPoint(point) for point in range(len(points["i"]))], stacked(points, ("x", "y", "z")), rtol=1e-14)
    for data, rows in ((image.GetPointData(), points), (image.GetCellData(), cells)):
        for name in ("t", "n"):
            assert vtk_to_numpy(data.GetArray(name)).tolist() == rows[name].tolist()
        assert np.array_equal(vtk_to_numpy(data.GetArray("v")), stacked(rows, ("v_0", "v_1", "v_2")))


@pytest.mark.parametrize("parts", [PARTS, PARTS[:1]])
def test_polygons(tmp_path: pathlib.Path, parts: Any) -> None:
    path = write_grid(tmp_path / "grid.vtkhdf", parts)
    mesh, ours = read(path), hs.models.vtkhdf.open(path)
    pieces = [mesh] if mesh.IsA("vtkPolyData") else [mesh.GetPartitionAsDataObject(number) for number in range(mesh.GetNumberOfPartitions())]
    points, cells = columns(ours.points()), ours.cells().to_arrow()
    assert sum(piece.GetNumberOfPoints() for piece in pieces) == len(points["x"])
    rows = iter(cells.to_pylist())
    for piece in pieces:
        for kind in ("Verts", "Lines", "Polys", "Strips"):
            array = getattr(piece, f"Get{kind}")()
            offsets, ids = vtk_to_numpy(array.GetOffsetsArray()), vtk_to_numpy(array.GetConnectivityArray())
            for first, last in itertools.pairwise(offsets):
                assert next(rows)["points"] == ids[first:last].tolist()
    assert next(rows, None) is None


def test_grids_that_vtk_writes(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    made = vtkUnstructuredGrid()
    points = vtkPoints()
    points.SetDataTypeToDouble()
    places = random.normal(size=(30, 3))
    for place in places:
        points.InsertNextPoint(place)
    made.SetPoints(points)
    cells = [random.choice(30, size, replace=False).tolist() for size in random.integers(1, 5, 40)]
    types = {1: 1, 2: 3, 3: 5, 4: 10}
    for cell in cells:
        made.InsertNextCell(types[len(cell)], len(cell), cell)
    for data, values, name in ((made.GetPointData(), random.normal(size=30), "t"), (made.GetCellData(), random.normal(size=(40, 3)), "v")):
        array = numpy_to_vtk(values, deep=True)
        array.SetName(name)
        data.AddArray(array)
    path = tmp_path / "written.vtkhdf"
    writer = vtkHDFWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(made)
    writer.Write()
    ours = hs.models.vtkhdf.open(path)
    assert ours.validate() == [] and ours.type == "UnstructuredGrid"
    rows = ours.cells().to_arrow()
    assert rows["points"].to_pylist() == cells and rows["type"].to_pylist() == [types[len(cell)] for cell in cells]
    assert np.array_equal(stacked(columns(ours.cells(columns=["v_0", "v_1", "v_2"])), ("v_0", "v_1", "v_2")), vtk_to_numpy(made.GetCellData().GetArray("v")))
    found = columns(ours.points())
    assert np.array_equal(stacked(found, ("x", "y", "z")), places) and found["t"].tolist() == vtk_to_numpy(made.GetPointData().GetArray("t")).tolist()
