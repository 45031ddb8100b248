"""Dimension scales of plain HDF5: their names and coordinates, and the references that bind them."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        d = f.create_dataset("g/d", data=np.arange(12.0).reshape(3, 4))
        f["scales/height"] = np.array([10, 20, 30], "i4")
        f["scales/width"] = np.linspace(0, 1, 4)
        f["scales/also"] = np.array([5, 6, 7], "i2")
        for name in ("height", "width", "also"):
            f[f"scales/{name}"].make_scale(f"the {name}")
        d.dims[0].attach_scale(f["scales/height"])
        d.dims[0].attach_scale(f["scales/also"])
        d.dims[1].attach_scale(f["scales/width"])
        labelled = f.create_dataset("labelled", data=np.zeros((3, 4)))
        labelled.dims[0].label = "row"
        labelled.dims[1].attach_scale(f["scales/width"])
        partly = f.create_dataset("partly", data=np.zeros((2, 4)))
        partly.dims[1].attach_scale(f["scales/width"])
        shorter = f.create_dataset("shorter", data=np.zeros(2))
        shorter.dims[0].attach_scale(f["scales/height"])
    return tmp_path / "a.h5"


def test_the_scales_name_the_dimensions_and_give_coordinates(path: pathlib.Path) -> None:
    f = hs.open(path)
    with h5py.File(path) as theirs:
        assert f["g/d"].dims == tuple(d[0].attrs["NAME"].decode() for d in theirs["g/d"].dims) == ("the height", "the width")
    table = f.table("/g/d").to_arrow()
    assert table["the height"].to_pylist() == np.repeat([10, 20, 30], 4).tolist()
    assert table["the width"].to_pylist() == np.tile(np.linspace(0, 1, 4), 3).tolist()
    assert f["labelled"].dims == ("row", "the width")


def test_a_scale_of_another_length_names_but_gives_no_coordinates(path: pathlib.Path) -> None:
    f = hs.open(path)
    assert f["shorter"].dims == ("the height",)
    assert f.table("/shorter").to_arrow()["the height"].to_pylist() == [0, 1]


def test_the_lists_of_references_lead_to_scales_and_back(path: pathlib.Path) -> None:
    f = hs.open(path)
    with h5py.File(path) as theirs:
        for name in ("g/d", "labelled", "partly", "shorter"):
            expected = [[theirs[r].name for r in refs] for refs in theirs[name].attrs["DIMENSION_LIST"]]
            found = [[f[reference].path for reference in references] for references in f[name].attrs["DIMENSION_LIST"]]
            assert found == expected, name
        assert expected == [["/scales/height"]]
        for name in ("height", "width", "also"):
            expected = [(theirs[reference].name, axis) for reference, axis in theirs[f"scales/{name}"].attrs["REFERENCE_LIST"]]
            found = [(f[reference].path, axis) for reference, axis in f[f"scales/{name}"].attrs["REFERENCE_LIST"]]
            assert found == expected and len(expected) == {"height": 2, "width": 3, "also": 1}[name]
