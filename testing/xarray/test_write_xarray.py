"""hs.to_netcdf compared with `to_netcdf(engine="netcdf4")`: xarray and netCDF4 read the same, and the same is stored."""

from __future__ import annotations

import pathlib
from typing import Any

import cftime
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray

RNG = np.random.default_rng(8)


def example() -> xarray.Dataset:
    data = RNG.normal(size=(4, 3, 5)).astype("f4")
    data[1, 1] = np.nan
    return xarray.Dataset(
        {
            "t2m": (("time", "y", "x"), data, {"units": "K", "long_name": "temperature"}),
            "count": (("y",), np.array([1, 2, 3], "i2")),
            "ok": (("time",), [True, False, True, True]),
            "name": (("y",), ["a", "bä", "c"]),
            "code": (("y",), np.array([b"ab", b"c", b""], "S2")),
            "scalar": ((), 2.5),
            "empty": (("none",), np.empty(0)),
            "took": (("time",), pd.to_timedelta([1, 2, 3, 4], "h")),
            "when": (("time", "y"), pd.date_range("2000", periods=12, freq="h").values.reshape(4, 3)),
        },
        coords={
            "time": pd.date_range("2001-02-03", periods=4, freq="6h"),
            "y": [10.0, 20.0, 30.0],
            "lat": (("y", "x"), np.arange(15.0).reshape(3, 5)),
            "height": 2.0,
        },
        attrs={"title": "stations", "list": [1, 2, 3]},
    )


def stored(path: pathlib.Path, group: str = "/") -> Any:
    with netCDF4.Dataset(path) as f:
        g = f if group == "/" else f[group]
        variables = {}
        for name, v in g.variables.items():
            filters, chunks = v.filters() or {}, v.chunking()
            variables[name] = (
                str(v.dtype),
                v.dimensions,
                v.shape,
                {n: repr(np.asarray(v.getncattr(n)).tolist()) for n in v.ncattrs()},
                {key: filters.get(key) for key in ("zlib", "zstd", "shuffle", "fletcher32", "complevel")},
                chunks,
            )
        return {n: (len(d), d.isunlimited()) for n, d in g.dimensions.items()}, variables, {n: np.asarray(g.getncattr(n)).tolist() for n in g.ncattrs()}


ENCODINGS: dict[str, dict[str, dict[str, Any]]] = {
    "none": {},
    "packed": {"t2m": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 1.5, "_FillValue": -999}},
    "floats": {"t2m": {"dtype": "f8", "_FillValue": -1e30}, "y": {"_FillValue": None}, "count": {"dtype": "i8", "_FillValue": 0}},
    "zlib": {"t2m": {"zlib": True, "complevel": 2}, "count": {"zlib": True, "shuffle": False}, "when": {"compression": "zlib", "fletcher32": True}},
    "chunks": {"t2m": {"chunksizes": (2, 3, 2)}, "lat": {"contiguous": True}, "when": {"chunksizes": (1, 3), "zlib": True}},
    "times": {
        "time": {"units": "hours since 1900-01-01", "dtype": "i4", "calendar": "standard"},
        "when": {"units": "days since 2000-01-01", "dtype": "f8"},
        "took": {"units": "minutes"},
    },
    "characters": {"name": {"dtype": "S1"}, "code": {"char_dim_name": "letters"}},
    "missing": {"t2m": {"missing_value": -5.0, "_FillValue": -5.0}},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("unlimited", [[], ["time"], ["time", "y"]])
@pytest.mark.parametrize("where", ["argument", "variables"])
@pytest.mark.parametrize("case", ENCODINGS)
def test_the_same_is_stored_as_by_xarray(tmp_path: pathlib.Path, case: str, where: str, unlimited: list[str]) -> None:
    dataset, encoding = example(), ENCODINGS[case]
    if unlimited:
        encoding = {name: {key: value for key, value in given.items() if key != "contiguous"} for name, given in encoding.items()}
    if where == "variables":
        for name, given in encoding.items():
            dataset[name].encoding = dict(given)
        encoding = {}
    dataset.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", encoding=encoding, unlimited_dims=unlimited)
    hs.to_netcdf(dataset, tmp_path / "ours.nc", encoding=encoding, unlimited_dims=unlimited)
    ours, theirs = stored(tmp_path / "ours.nc"), stored(tmp_path / "theirs.nc")
    # xarray makes a dimension without elements one without limit, as netCDF-C reads both.
    assert ours[0] == theirs[0] and ours[2] == theirs[2] and list(ours[1]) == list(theirs[1])
    for name, want in theirs[1].items():
        found = ours[1][name]
        assert found[:4] == want[:4], name
        if name == "empty":
            continue
        if (not unlimited and want[5] == "contiguous") or (case in ("zlib", "chunks") and not unlimited):
            assert found[4] == want[4] and (found[5] == want[5] or case != "chunks"), name
        elif want[4] and want[4]["zlib"]:
            assert found[4] == want[4], name
    for options in ({}, {"mask_and_scale": False, "decode_times": False}):
        with (
            xarray.open_dataset(tmp_path / "ours.nc", engine="netcdf4", **options) as f,
            xarray.open_dataset(tmp_path / "theirs.nc", engine="netcdf4", **options) as g,
        ):
            xarray.testing.assert_identical(f.load(), g.load())
    with hs.open(tmp_path / "ours.nc") as f, hs.open(tmp_path / "theirs.nc") as g:
        for name in dataset.variables:
            if name != "empty":
                np.testing.assert_array_equal(f[name][...], g[name][...], name)


def test_what_xarray_read_is_written_again(tmp_path: pathlib.Path) -> None:
    """Encodings of files that were read: chunks of other shapes, filters, sources, enumerations."""
    example().to_netcdf(
        tmp_path / "a.nc", engine="netcdf4", encoding={**ENCODINGS["packed"], "when": {"zlib": True, "chunksizes": (2, 2)}}, unlimited_dims=["time"]
    )
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as f:
        kind = f.createEnumType("u1", "kind_t", {"dry": 0, "wet": 1})
        f.createVariable("kind", kind, ("y",))[:] = [0, 1, 1]
    with xarray.open_dataset(tmp_path / "a.nc", engine="netcdf4") as f:
        read = f.load()
    for number, dataset in enumerate((read, read.isel(time=slice(0, 1), y=[0, 2]))):
        hs.to_netcdf(dataset, tmp_path / f"ours{number}.nc")
        dataset.to_netcdf(tmp_path / f"theirs{number}.nc", engine="netcdf4")
        ours, theirs = stored(tmp_path / f"ours{number}.nc"), stored(tmp_path / f"theirs{number}.nc")
        assert ours[0] == theirs[0] and {name: v[:4] for name, v in ours[1].items()} == {name: v[:4] for name, v in theirs[1].items()}
        with (
            xarray.open_dataset(tmp_path / f"ours{number}.nc", engine="netcdf4") as f,
            xarray.open_dataset(tmp_path / f"theirs{number}.nc", engine="netcdf4") as g,
        ):
            xarray.testing.assert_identical(f.load(), g.load())


def test_calendars_of_cftime(tmp_path: pathlib.Path) -> None:
    dates = [cftime.DatetimeNoLeap(2000, 2, day) for day in (1, 28)]
    dataset = xarray.Dataset({"a": (("t",), [1.0, 2.0])}, coords={"t": dates})
    hs.to_netcdf(dataset, tmp_path / "x.nc")
    with xarray.open_dataset(tmp_path / "x.nc", engine="netcdf4", decode_times=xarray.coders.CFDatetimeCoder(use_cftime=True)) as f:
        assert f["t"].values.tolist() == dates


def test_trees_and_groups(tmp_path: pathlib.Path) -> None:
    top = example()
    tree = xarray.DataTree.from_dict(
        {
            "/": top,
            "/a": xarray.Dataset({"v": (("x", "k"), np.ones((5, 2)))}, attrs={"of": "a"}),
            "/a/b": xarray.Dataset({"w": (("time",), [1, 2, 3, 4])}),
            "/c": xarray.Dataset(),
        }
    )
    hs.to_netcdf(tree, tmp_path / "ours.nc", encoding={"/a": {"v": {"zlib": True}}})
    tree.to_netcdf(tmp_path / "theirs.nc", engine="netcdf4", encoding={"/a": {"v": {"zlib": True}}})
    with xarray.open_datatree(tmp_path / "ours.nc", engine="netcdf4") as f, xarray.open_datatree(tmp_path / "theirs.nc", engine="netcdf4") as g:
        assert f.load().identical(g.load())
    assert stored(tmp_path / "ours.nc", "a")[1]["v"][4]["zlib"] and stored(tmp_path / "ours.nc", "a")[0] == stored(tmp_path / "theirs.nc", "a")[0]
    hs.to_netcdf(top["t2m"], tmp_path / "group.nc", group="/deep/er")
    with xarray.open_dataset(tmp_path / "group.nc", group="deep/er", engine="netcdf4") as f:
        xarray.testing.assert_identical(f["t2m"].load(), top["t2m"])


@pytest.mark.parametrize(
    "encoding, words",
    [
        ({"nowhere": {}}, "'nowhere', which is not a variable"),
        ({"t2m": {"chunksizes": (9, 9, 9)}}, "chunksizes"),
        ({"t2m": {"least_significant_digit": 3}}, "loses digits"),
        ({"t2m": {"szip": True}}, "give zlib or zstd"),
        ({"t2m": {"nonsense": 1}}, "nonsense"),
        ({"t2m": {"compression": "blosc_lz"}}, "blosc_lz"),
    ],
)
def test_encodings_that_are_not_kept_are_refused(tmp_path: pathlib.Path, encoding: dict[str, Any], words: str) -> None:
    with pytest.raises(hs.Error, match=words):
        hs.to_netcdf(example(), tmp_path / "x.nc", encoding=encoding)
    assert list(tmp_path.iterdir()) == []
