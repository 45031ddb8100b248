"""A small file with a dataset of each kind, for tests of changes."""

from __future__ import annotations

import pathlib

import h5py
import numpy as np
import pytest


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=np.arange(12).reshape(4, 3), chunks=(2, 3), maxshape=(None, 3))
        f.create_dataset("g/y", data=np.arange(5.0))
        f["g/alias"] = f["g/y"]
        f["scalar"], f["text"] = 5, "old"
        f["empty"] = h5py.Empty("f4")
        f.attrs["ref"] = f["x"].ref
        f.attrs["one"] = np.array([1], "i4")
    return tmp_path / "x.h5"
