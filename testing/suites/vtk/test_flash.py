"""Files of FLASH as VTK's own reader sees them."""

from __future__ import annotations

import pathlib
import sys

import hyperslab as hs
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOAMR import vtkAMRFlashReader

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "lib"))
from flash_files import BLOCKS, CELLS, ROOTS, write

#: Flags of cells that VTK hides because finer cells are there.
REFINED = 8


def test_blocks(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "run_hdf5_chk_0001", BLOCKS, CELLS, roots=ROOTS)
    reader = vtkAMRFlashReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    reader.SetMaxLevel(9)
    for number in range(reader.GetNumberOfCellArrays()):
        reader.SetCellArrayStatus(reader.GetCellArrayName(number), 1)
    reader.Update()
    mesh, ours = reader.GetOutputDataObject(0), hs.models.flash.open(path)
    rows = ours.cells().to_arrow()
    found = {name: rows[name].to_numpy() for name in rows.column_names}
    assert mesh.GetNumberOfLevels() == len(ours.levels)
    covered = 0
    for level in range(mesh.GetNumberOfLevels()):
        own = np.flatnonzero(found["level"] == level + 1)
        assert mesh.GetNumberOfBlocks(level) == len(np.unique(found["box"][own]))
        for place, box in enumerate(np.unique(found["box"][own])):
            image, mine = mesh.GetDataSetAsImageData(level, place), own[found["box"][own] == box]
            data = image.GetCellData()
            assert vtk_to_numpy(data.GetArray("dens")).tolist() == found["dens"][mine].tolist()
            assert vtk_to_numpy(data.GetArray("h1  ")).tolist() == found["h1"][mine].tolist()
            hidden = (vtk_to_numpy(data.GetArray("vtkGhostType")) & REFINED) > 0
            assert hidden.tolist() == found["covered"][mine].tolist()
            covered += int(hidden.sum())
            places = np.stack(np.unravel_index(np.arange(len(mine)), CELLS[::-1]), axis=1)[:, ::-1]
            centers = np.array(image.GetOrigin()) + (places + 0.5) * np.array(image.GetSpacing())
            np.testing.assert_allclose(centers, np.stack([found[axis][mine] for axis in "xyz"], axis=1), rtol=1e-12, atol=1e-12)
    assert covered > 0
