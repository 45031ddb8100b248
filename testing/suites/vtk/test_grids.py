"""Meshes as VTK's own readers of UGRID and MPAS see them."""

from __future__ import annotations

import itertools
import pathlib
import sys
from typing import Any

import hyperslab as hs
import numpy as np
import pytest
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIONetCDF import vtkMPASReader, vtkNetCDFUGRIDReader

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "examples"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "lib"))
import geodesic_grid  # noqa: E402
import hexagons  # noqa: E402


def cells_of(output: Any) -> list[list[int]]:
    """The points of each cell."""
    offsets, points = vtk_to_numpy(output.GetCells().GetOffsetsArray()), vtk_to_numpy(output.GetCells().GetConnectivityArray())
    return [points[start:stop].tolist() for start, stop in itertools.pairwise(offsets)]


def made(path: pathlib.Path) -> pathlib.Path:
    """Squares cut in two here and there. VTK 9.7 shows faces of more than four nodes as if they had four."""
    n, random = 9, np.random.default_rng(1)
    j, i = (grid.ravel() for grid in np.mgrid[:n, :n])
    squares = [[row * n + column, row * n + column + 1, (row + 1) * n + column + 1, (row + 1) * n + column] for row in range(n - 1) for column in range(n - 1)]
    corners = []
    for square, is_cut in zip(squares, random.random(len(squares)) < 0.4, strict=True):
        corners += [[*square[:3], -1], [square[0], *square[2:], -1]] if is_cut else [square]
    with hs.create_netcdf(path) as f:
        mesh = hs.models.ugrid.define(f, nodes=n * n, faces=len(corners), start_index=1, degrees=False)
        mesh.create_data(f, "height", "node")
        mesh.create_data(f, "area", "face")
        mesh.write(f, "node", slice(None), x=i + random.random(n * n) / 3, y=j + random.random(n * n) / 3, height=random.normal(size=n * n))
        mesh.write(f, "face", slice(None), nodes=np.array(corners), area=random.normal(size=len(corners)))
    return path


def test_ugrid(tmp_path: pathlib.Path) -> None:
    path = made(tmp_path / "made.nc")
    reader = vtkNetCDFUGRIDReader()
    reader.SetFileName(str(path))
    reader.Update()
    output, mesh = reader.GetOutput(), hs.models.ugrid.open(path).mesh()
    assert output.GetNumberOfCells() == mesh.count("faces")
    points = vtk_to_numpy(output.GetPoints().GetData())
    assert np.array_equal(points[:, 0], mesh.coordinates().x) and np.array_equal(points[:, 1], mesh.coordinates().y)
    assert cells_of(output) == mesh.connectivity("face_nodes").to_pylist()
    for data, of, name in ((output.GetCellData(), "faces", "area"), (output.GetPointData(), "nodes", "height")):
        assert np.array_equal(vtk_to_numpy(data.GetArray(name)), mesh.table(of).to_arrow()[name])


@pytest.mark.parametrize("level", [0, 1])
def test_mpas(tmp_path: pathlib.Path, level: int) -> None:
    path = tmp_path / "mpas.nc"
    geodesic_grid.write_mpas(str(path), 4)
    reader = vtkMPASReader()
    reader.SetFileName(str(path))
    reader.SetUseDimensionedArrayNames(False)
    reader.UpdateInformation()
    reader.EnableAllCellArrays()
    reader.EnableAllPointArrays()
    reader.SetVerticalLevel(level)
    reader.Update()
    output, view = reader.GetOutput(), hs.models.mpas.open(path)
    # VTK shows the dual mesh: its points are the cells, its triangles the vertices.
    assert output.GetNumberOfCells() == view.table("vertices").count() == 320
    cells = view.table("cells", columns=["x", "y", "z"]).to_arrow()
    points = vtk_to_numpy(output.GetPoints().GetData())
    shift = len(points) - len(cells)  # VTK puts a point before the others
    assert shift in (0, 1) and np.allclose(points[shift:], np.stack([cells[axis] for axis in "xyz"], axis=1), atol=1e-6)
    ours = view.table("vertices").to_arrow()["cells"].to_pylist()
    assert [[point - shift for point in own] for own in cells_of(output)] == ours
    wave = vtk_to_numpy(output.GetPointData().GetArray("wave"))[shift:]
    rows = view.table("cells_Time_nVertLevels", f"Time = 0 and nVertLevels = {level}").to_arrow()
    assert np.array_equal(wave, rows["wave"])


def test_mpas_on_a_plane(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plane.nc"
    made, _ = hexagons.write(str(path), 6, 5)
    reader = vtkMPASReader()
    reader.SetFileName(str(path))
    reader.SetUseDimensionedArrayNames(False)
    reader.UpdateInformation()
    reader.EnableAllCellArrays()
    reader.EnableAllPointArrays()
    reader.Update()
    output = reader.GetOutput()
    points = vtk_to_numpy(output.GetPoints().GetData())
    shift = len(points) - len(made.x)
    assert shift in (0, 1) and np.allclose(points[shift:, :2], np.stack([made.x, made.y], axis=1), atol=1e-6)
    # Only the inner triangles of the dual mesh: vertices at the border have fewer than three cells.
    inside = (made.cells >= 0).all(axis=1)
    shown = {tuple(point - shift for point in own) for own in cells_of(output)}
    assert {tuple(own) for own in made.cells[inside].tolist()} <= shown
    assert np.array_equal(vtk_to_numpy(output.GetPointData().GetArray("wave"))[shift:], made.x)
