"""hs.to_netcdf(subfiles=) compared with `to_netcdf(engine="netcdf4")`: xarray, netCDF4 and h5py read the same, and each part has its own file."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import dask.array
import h5py
import hyperslab as hs
import hyperslab.xarray.engine
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray

RNG = np.random.default_rng(24)


def example(is_lazy: bool) -> xarray.Dataset:
    """Variables of each kind that tasks write, and small ones, which the master has itself."""
    field = RNG.normal(size=(40, 30, 50)).astype("f4")
    field[3] = np.nan
    data: dict[str, Any] = {
        "t2m": (("time", "y", "x"), field, {"units": "K"}),
        "packed": (("time", "y", "x"), np.round(RNG.random((40, 30, 50)), 2)),
        "one_row": (("one", "z"), RNG.integers(0, 100, (1, 30_000), dtype="i4")),
        "mask": (("w",), RNG.random(70_000) < 0.5),
        "text": (("z",), np.array([f"é{number}" for number in range(30_000)], dtype=object)),
        "code": (("z",), np.array([b"%d" % number for number in range(30_000)], "S5")),
        "when": (("z",), pd.date_range("2000", periods=30_000, freq="h")),
        "small": (("y",), np.arange(30.0)),
        "empty": (("none", "z"), np.empty((0, 30_000))),
        "scalar": ((), 7),
    }
    made = xarray.Dataset(data, {"time": pd.date_range("2001", periods=40), "y": np.arange(30.0)}, {"title": "parts"})
    return made.chunk({"time": 7, "z": 9000}) if is_lazy else made


ENCODING: dict[str, dict[str, Any]] = {
    "t2m": {"zlib": True, "complevel": 1, "chunksizes": (6, 30, 50)},
    "packed": {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -1, "zlib": True},
    "when": {"units": "hours since 1900-01-01", "dtype": "i8"},
    "time": {"units": "hours since 1900-01-01"},
}


def sources(path: pathlib.Path, name: str) -> set[str]:
    with h5py.File(path) as f:
        return {source.file_name for source in f[name].virtual_sources()} if f[name].is_virtual else set()


def stored(path: pathlib.Path, name: str) -> Any:
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        v = f[name]
        return v.dtype, v.dimensions, {key: repr(np.asarray(v.getncattr(key)).tolist()) for key in v.ncattrs()}, v[...]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("is_lazy", [False, True], ids=["numpy", "dask"])
@pytest.mark.parametrize(("subfiles", "unlimited"), [(1, None), (3, None), (4, "time"), (20, ["time", "z"])])
def test_the_same_as_xarray_writes(tmp_path: pathlib.Path, subfiles: int, unlimited: Any, is_lazy: bool) -> None:
    dataset, ours, theirs = example(is_lazy), tmp_path / "ours.nc", tmp_path / "theirs.nc"
    dims = [unlimited] if isinstance(unlimited, str) else unlimited
    dataset.to_netcdf(theirs, engine="netcdf4", encoding=ENCODING, unlimited_dims=dims)
    dataset.hyperslab.to_netcdf(ours, subfiles=subfiles, encoding=ENCODING, unlimited_dims=unlimited, durable=False)
    for options in ({}, {"mask_and_scale": False, "decode_times": False}):
        for engine in ("netcdf4", "h5netcdf", "hyperslab"):
            with xarray.open_dataset(ours, engine=engine, **options) as f, xarray.open_dataset(theirs, engine="netcdf4", **options) as g:
                del f.attrs["_hyperslab_commit"]
                xarray.testing.assert_identical(f.load(), g.load())
                # netCDF-C shows the dimension without elements that xarray made as one without limit.
                assert f.encoding["unlimited_dims"] - {"none"} == g.encoding["unlimited_dims"] - {"none"} == set(dims or ())
    for name in dataset.variables:
        ours_stored, theirs_stored = stored(ours, name), stored(theirs, name)
        assert ours_stored[:3] == theirs_stored[:3], name
        np.testing.assert_array_equal(ours_stored[3], theirs_stored[3], name)
    # More than 16 small subfiles are gathered in one.
    assert len(sources(ours, "mask")) == len(sources(ours, "one_row")) == (subfiles if subfiles <= 16 else 1)
    assert all(sources(ours, name) == set() for name in ("small", "time", "scalar"))


def test_a_part_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    def part(block: Any, block_info: Any = None) -> Any:
        if block_info and block_info[0]["chunk-location"][0] == 2:
            raise RuntimeError("the third block")
        return block

    lazy = dask.array.ones((40, 5000), chunks=(10, 5000)).map_blocks(part, meta=np.empty((0, 0)))
    dataset = xarray.Dataset({"x": (("t", "y"), lazy)})
    with pytest.raises(RuntimeError, match="the third block"):
        hs.to_netcdf(dataset, tmp_path / "x.nc", subfiles=4, durable=False)
    assert list(tmp_path.iterdir()) == []


def test_modes_groups_and_trees(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.nc"
    dataset = example(False)[["t2m", "mask"]]
    hs.to_netcdf(dataset, path, group="a/b", subfiles=2, encoding={"t2m": {"zlib": True}})
    with xarray.open_dataset(path, engine="netcdf4", group="a/b") as f:
        xarray.testing.assert_identical(f.load(), dataset)
    with pytest.raises(hs.ConflictError):
        hs.to_netcdf(dataset, path, "x", subfiles=2)
    tree = xarray.DataTree.from_dict({"/": dataset[["t2m"]], "/below": dataset[["mask"]], "/below/deep": dataset[["t2m"]] + 1})
    hs.to_netcdf(tree, path, subfiles=3, encoding={"/below/deep": {"t2m": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}}})
    with xarray.open_datatree(path, engine="netcdf4") as f:
        del f.attrs["_hyperslab_commit"]
        xarray.testing.assert_identical(f["below"].to_dataset(inherit=False).load(), tree["below"].to_dataset(inherit=False))
        xarray.testing.assert_identical(f.to_dataset(), tree.to_dataset())
        assert f["below/deep"]["t2m"].encoding["scale_factor"] == 0.5 and len(sources(path, "below/deep/t2m")) == 3
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(hs.InvalidInputError, match="subfiles="):
            hs.to_netcdf(dataset, path, subfiles=wrong)
    with pytest.raises(hs.UnsupportedError, match="mode 'a'"):
        hs.to_netcdf(dataset, path, "a", subfiles=2)


def test_parts_of_dask_are_computed_some_chunks_at_a_time(tmp_path: pathlib.Path) -> None:
    """Written in more blocks than one, and equal."""
    values = dask.array.arange(10 << 20, chunks=1 << 20, dtype="f8")
    hs.to_netcdf(xarray.Dataset({"x": ("n", values)}), tmp_path / "x.nc", subfiles=1, durable=False)
    read = hs.open(tmp_path / "x.nc")["x"][...]
    assert (np.diff(read) == 1).all() and read[0] == 0 and read.nbytes == 80 << 20


@pytest.mark.slow
def test_control_c_ends_all_parts(tmp_path: pathlib.Path) -> None:
    script = """if True:
        import sys, dask.array, xarray
        import hyperslab as hs
        lazy = dask.array.random.random((400_000, 500), chunks=(1000, 500))
        print("ready", flush=True)
        hs.to_netcdf(xarray.Dataset({"x": (("t", "y"), lazy)}), sys.argv[1], subfiles=4, compression="gzip", durable=False)
    """
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "x.nc")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert list(tmp_path.iterdir()) == []
