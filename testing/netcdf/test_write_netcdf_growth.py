"""Variables that grow as they are assigned to, compared with netCDF4-python doing the same."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray


def made(f: Any) -> dict[str, Any]:
    f.createDimension("t", None)
    f.createDimension("z", None)
    f.createDimension("x", 3)
    variables = {"t": ("t",), "tx": ("t", "x"), "xt": ("x", "t"), "tz": ("t", "z"), "txz": ("t", "x", "z")}
    return {name: f.createVariable(name, "i4", dims) for name, dims in variables.items()}


#: Assignments of the same meaning in numpy, netCDF4 and here, in this order.
CASES: list[list[tuple[str, Any, Any]]] = [
    [("t", np.s_[:], np.arange(5)), ("tx", np.s_[:], 7), ("tx", np.s_[-1], [1, 2, 3])],
    [("tx", np.s_[0:2], np.arange(6).reshape(2, 3)), ("tx", np.s_[4], [7, 8, 9]), ("t", np.s_[:], 1)],
    [("tx", np.s_[0, :], [1, 2, 3]), ("tx", np.s_[1, 1], 5), ("tx", np.s_[3, ...], [4, 5, 6])],
    [("xt", np.s_[:, 0:4], np.arange(12).reshape(3, 4)), ("xt", np.s_[1, 4], 9), ("xt", np.s_[2, 5:], [1, 2])],
    [("tz", np.s_[:], np.arange(6).reshape(2, 3)), ("tz", np.s_[2, 0:5], np.arange(5)), ("tz", np.s_[:, 5], [1, 2, 3])],
    [("txz", np.s_[0], np.arange(6).reshape(3, 2)), ("txz", np.s_[1, :, 0:2], np.ones((3, 2), int)), ("txz", np.s_[..., 2], 4)],
    [("t", np.s_[0:6:2], [1, 2, 3]), ("t", np.s_[7], 4), ("t", np.s_[8:], [5, 6]), ("t", np.s_[2:4], [8, 9])],
    [("tx", np.s_[:], np.zeros((0, 3), int)), ("t", np.s_[:3], 1)],
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_is_assigned_grows_as_by_netcdf4(tmp_path: pathlib.Path, case: int) -> None:
    paths = tmp_path / "ours.nc", tmp_path / "theirs.nc"
    with hs.create_netcdf(paths[0]) as ours, netCDF4.Dataset(paths[1], "w") as theirs:
        for variables in (made(ours), made(theirs)):
            for name, key, values in CASES[case]:
                variables[name][key] = values
    with netCDF4.Dataset(paths[0]) as a, netCDF4.Dataset(paths[1]) as b:
        assert {name: len(dim) for name, dim in a.dimensions.items()} == {name: len(dim) for name, dim in b.dimensions.items()}
        for name in b.variables:
            np.testing.assert_array_equal(np.ma.filled(a[name][...], -1), np.ma.filled(b[name][...], -1), name)
    xarray.testing.assert_identical(xarray.load_dataset(paths[0]), xarray.load_dataset(paths[1]))


def test_random_assignments(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(3)
    for seed in range(25):
        paths = tmp_path / f"{seed}.nc", tmp_path / f"{seed}-theirs.nc"
        with hs.create_netcdf(paths[0], durable=False) as ours, netCDF4.Dataset(paths[1], "w") as theirs:
            both = made(ours), made(theirs)
            for _ in range(12):
                name = str(rng.choice(list(both[0])))
                key, extents = [], []
                for dim in both[1][name].dimensions:
                    length = 3 if dim == "x" else 6
                    start = int(rng.integers(0, length))
                    stop = int(rng.integers(start + 1, length + 1))
                    kind = rng.integers(0, 3)
                    key.append(start if kind == 0 else slice(start, stop, int(rng.integers(1, 3))) if kind == 1 else slice(start, stop))
                    if kind:
                        extents.append(len(range(length)[key[-1]]))
                values = rng.integers(0, 1000, extents)
                for variables in both:
                    variables[name][tuple(key)] = values
        # By h5py: netCDF4 shows uninitialized memory of a variable that is shorter than two dimensions without limit.
        with h5py.File(paths[0]) as a, h5py.File(paths[1]) as b:
            for name in both[0]:
                np.testing.assert_array_equal(a[name][...], b[name][...], f"{seed} {name}")


def test_values_that_do_not_fit_are_refused_and_nothing_grows(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "a.nc") as f:
        variables = made(f)
        variables["tx"][0:2] = 1
        for key, values in ((np.s_[0:2, 0:5], np.ones((2, 5))), (np.s_[2:4], np.ones((3, 3))), (np.s_[5, 5], 1), (np.s_[0:4], [1, 2])):
            with pytest.raises((ValueError, IndexError)):
                variables["tx"][key] = values
    with netCDF4.Dataset(tmp_path / "a.nc") as g:
        assert g["tx"].shape == (2, 3)
