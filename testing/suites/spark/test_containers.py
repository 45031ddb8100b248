"""Containers of Arrow files: Spark reads them like HDF5 files, one by one and all of a folder."""

from __future__ import annotations

import pathlib
from typing import Any

import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    place = tmp_path_factory.mktemp("containers")
    native = place / "native"
    native.mkdir()
    found = place / "found"
    found.mkdir()
    particle = np.dtype([("x", "<f8"), ("id", "<i4")])
    for run in range(2):
        values = np.zeros(5000, particle)
        values["x"], values["id"] = np.arange(5000) / 4, np.arange(5000) + 10_000 * run
        with hs.create(native / f"run{run}.h5") as f:
            f.create_dataset("p", data=values)
        hs.convert(native / f"run{run}.h5", found / f"run{run}.h5", "folder" if run else "file")
    return place


@pytest.mark.parametrize("name", ["run0.h5", "run1.h5", "", "*.h5"])
def test_rows_are_those_of_the_hdf5_files(spark: Any, folder: pathlib.Path, name: str) -> None:
    ours, theirs = (
        spark.read.format("hdf5").option("dataset", "/p").load(str(folder / which / name)).where("x > 3 and x < 1000").orderBy("id").collect()
        for which in ("found", "native")
    )
    assert ours == theirs
    assert len(ours) == 3987 * (1 if name.startswith("run") else 2)
