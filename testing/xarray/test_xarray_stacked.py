"""Files stacked along a new dimension: `hs.open_mfdataset(new_dim=...)` equals `xarray.open_mfdataset` with a new `concat_dim`."""

import pickle

import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

COUNT = 5


def member(number, **changes):
    random = np.random.default_rng(number)
    variables = {
        "t2m": (("time", "y"), random.random((3, 4), dtype="f4"), {"units": "K"}),
        "total": ((), float(number)),
        "names": ("y", np.array([f"{number} é{i}" for i in range(4)], dtype="U4")),
        "packed": ("y", np.where(random.random(4) < 0.3, np.nan, random.integers(0, 9, 4) * 0.5)),
        "bounds_of_y": (("y", "two"), np.arange(8.0).reshape(4, 2)),
    }
    coordinates = {"time": pd.date_range("2001-01-01", periods=3), "y": ("y", np.arange(4) * 1.5, {"bounds": "bounds_of_y"}), "label": ("y", list("abcd"))}
    made = xr.Dataset(variables, coordinates, attrs={"title": "ensemble"}).assign(changes)
    made["packed"].encoding.update(dtype="i2", scale_factor=0.5, _FillValue=-1)
    made["t2m"].encoding.update(zlib=True, chunksizes=(1, 4))
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("members")
    for number in range(COUNT):
        member(number).to_netcdf(made / f"run{number}.nc")
    return made


@pytest.fixture(scope="module")
def expected(folder):
    options = {"data_vars": "all", "coords": "minimal", "compat": "override", "join": "override"}
    together = xr.open_mfdataset(sorted(folder.glob("*.nc")), engine="netcdf4", combine="nested", concat_dim="run", **options).load()
    # xarray stacks the bounds as well, which are equal in all files.
    return together.assign(bounds_of_y=together["bounds_of_y"].isel(run=0))


def test_equals_xarrays(folder, expected):
    with hs.open_mfdataset(str(folder / "*.nc"), new_dim="run") as opened:
        assert opened["t2m"].dims == ("run", "time", "y") and opened["t2m"].encoding["chunksizes"] == (1, 1, 4)
        for copy in (pickle.loads(pickle.dumps(opened)), opened.chunk(run=2), opened):
            xr.testing.assert_identical(copy.load(), expected)
    chunked = hs.open_mfdataset(str(folder / "*.nc"), new_dim="run", chunks={})
    assert chunked["t2m"].chunks == ((1,) * COUNT, (1, 1, 1), (4,)) and chunked["total"].mean().compute() == 2


def test_coordinates_of_the_new_dimension(folder, expected):
    runs = [f"r{number}" for number in range(COUNT)]
    opened = hs.open_mfdataset(str(folder / "*.nc"), new_dim={"run": runs})
    xr.testing.assert_identical(opened.load(), expected.assign_coords(run=runs))
    assert float(opened["total"].sel(run="r3")) == 3
    with pytest.raises(hs.InvalidInputError, match="2 coordinates for 5 files"):
        hs.open_mfdataset(str(folder / "*.nc"), new_dim={"run": runs[:2]})


@settings(max_examples=examples(150), deadline=None)
@given(
    run=st.one_of(st.integers(-COUNT, COUNT - 1), st.slices(COUNT), st.lists(st.integers(-COUNT, COUNT - 1), max_size=7)),
    y=st.one_of(st.integers(-4, 3), st.slices(4), st.lists(st.integers(-4, 3), max_size=5)),
    name=st.sampled_from(["t2m", "total", "names", "packed"]),
)
def test_selections_are_numpys(folder, expected, run, y, name):
    opened = hs.open_mfdataset(str(folder / "*.nc"), new_dim="run")
    key = {"run": run, "y": y} if "y" in expected[name].dims else {"run": run}
    xr.testing.assert_identical(opened[name].isel(key).load(), expected[name].isel(key))


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data(), count=st.integers(0, 6), name=st.sampled_from(["t2m", "total", "packed"]))
def test_points_are_numpys(folder, expected, data, count, name):
    opened = hs.open_mfdataset(str(folder / "*.nc"), new_dim="run")

    def place(extent):
        return xr.DataArray(data.draw(st.lists(st.integers(-extent, extent - 1), min_size=count, max_size=count)), dims="point").astype(int)

    key = {str(dim): place(extent) for dim, extent in expected[name].sizes.items()}
    xr.testing.assert_identical(opened[name].isel(key).load(), expected[name].isel(key))


def test_times_that_count_from_another_date_in_each_file(tmp_path):
    for number in range(3):
        made = xr.Dataset({"when": ("x", pd.date_range(f"200{number}-01-01", periods=2)), "v": ("x", [number, number])})
        made["when"].encoding["units"] = f"days since 200{number}-01-01"
        made.to_netcdf(tmp_path / f"{number}.nc")
    opened = hs.open_mfdataset(str(tmp_path / "*.nc"), new_dim="run").load()
    assert opened["when"].dims == ("run", "x") and opened["when"].dt.year.values.tolist() == [[2000, 2000], [2001, 2001], [2002, 2002]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"new_dim": "y"}, "'y' is an object of the files already"),
        ({"new_dim": "t2m"}, "'t2m' is an object of the files already"),
        ({"new_dim": "run", "concat_dim": "y"}, "give one of them"),
        ({"new_dim": {}}, "0 names"),
        ({"concat_dim": "run"}, "new_dim= makes a new one"),
    ],
)
def test_wrong_dimensions(folder, options, message):
    with pytest.raises(hs.InvalidInputError, match=message):
        hs.open_mfdataset(str(folder / "*.nc"), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made.isel(y=slice(3)), r"has other values|has the shape"),
        (lambda made: made.assign_coords(y=made["y"] + 1), "/y has other values"),
        (lambda made: made.drop_vars("total"), "there is no /total"),
        (lambda made: made.assign(total=3), "another datatype"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, change, message):
    member(0).to_netcdf(tmp_path / "0.nc")
    change(member(1)).to_netcdf(tmp_path / "1.nc")
    with pytest.raises(hs.ConflictError, match=message) as error:
        hs.open_mfdataset(str(tmp_path / "*.nc"), new_dim="run")
    assert "1.nc" in str(error.value)
