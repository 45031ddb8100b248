"""Many files as one dataset of xarray: `hs.open_mfdataset` equals `xarray.open_mfdataset`, and files that do not fit are named. The
accessor and `hs.to_netcdf`."""

import asyncio
import pickle
import subprocess
import sys

import hyperslab as hs
import numpy as np
import pytest
import xarray as xr
from hyperslab.xarray import engine as xarray_engine
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sampling import examples

LENGTHS = (3, 1, 4, 0, 2)


def dataset(first, length, seed=0, **attrs):
    values = np.random.default_rng(seed).random((length, 4, 5), dtype="f4")
    variables = {
        "t2m": (("time", "y", "x"), values, {"units": "K"}),
        "late": (("y", "time"), values[:, :, 0].T.copy()),
        "names": ("time", np.array([f"step {first + i} é" for i in range(length)], dtype="U9")),
        "mask": (("y", "x"), np.arange(20).reshape(4, 5)),
        "packed": ("time", np.where(np.arange(length) == 1, np.nan, np.arange(first, first + length) * 0.5)),
    }
    made = xr.Dataset(variables, {"time": np.arange(first, first + length), "y": np.arange(4) * 1.5}, attrs={"title": "many", **attrs})
    made["time"].attrs["units"] = "hours since 2000-01-01"
    made["packed"].encoding.update(dtype="i2", scale_factor=0.5, _FillValue=-1)
    made["t2m"].encoding.update(zlib=True, chunksizes=(1, 4, 3) if length else None)
    return made


@pytest.fixture(scope="module", params=["NETCDF4", "NETCDF3_CLASSIC"])
def folder(request, tmp_path_factory):
    made, first = tmp_path_factory.mktemp("files"), 0
    for number, length in enumerate(LENGTHS):
        part = dataset(first, length, number)
        if request.param != "NETCDF4":
            part, part["t2m"].encoding = part.drop_vars(["names", "late"]), {}
        part.to_netcdf(made / f"run{number + 8}.nc", unlimited_dims=["time"], format=request.param)
        first += length
    return made


def theirs(folder):
    files = [folder / f"run{number + 8}.nc" for number in range(len(LENGTHS))]
    options = {"data_vars": "minimal", "coords": "minimal", "compat": "override", "join": "override"}
    return xr.open_mfdataset(files, engine="netcdf4", combine="nested", concat_dim="time", **options).load()


def test_equals_xarrays(folder):
    expected = theirs(folder)
    with hs.open_mfdataset(str(folder / "run*.nc")) as opened:  # run8 comes before run10
        assert opened.sizes["time"] == sum(LENGTHS)
        for copy in (pickle.loads(pickle.dumps(opened)), opened.chunk(time=2), opened):
            xr.testing.assert_identical(copy.load(), expected)
        assert opened.encoding["unlimited_dims"] == {"time"} and len(opened.encoding["sources"]) == len(LENGTHS)
    files = [folder / f"run{number + 8}.nc" for number in range(len(LENGTHS))]
    for options in ({"decode_cf": False}, {"mask_and_scale": False}):
        parts = [xr.open_dataset(file, engine="netcdf4", **options) for file in files]
        joined = xr.concat(parts, "time", data_vars="minimal", coords="minimal", compat="override", join="override")
        xr.testing.assert_identical(hs.open_mfdataset(files, **options).load(), joined.load())
    dropped = hs.open_mfdataset(files, drop_variables="packed", chunks={})
    assert "packed" not in dropped and type(dropped["t2m"].data).__module__.startswith("dask")
    assert asyncio.run(hs.open_mfdataset(files).load_async()).identical(expected)


along_time = st.one_of(st.slices(10), st.integers(-10, 9), st.lists(st.integers(-10, 9), max_size=12))
along_y = st.one_of(st.slices(4), st.integers(-4, 3), st.lists(st.integers(-4, 3), max_size=5))


@settings(max_examples=examples(60), deadline=None)
@given(time=along_time, y=along_y, name=st.sampled_from(["t2m", "late"]))
def test_selections_are_numpys(folder, time, y, name):
    opened, expected = hs.open_mfdataset(str(folder / "run*.nc")), theirs_kept(folder)
    name = name if name in expected else "t2m"  # netCDF-3 cannot have an unlimited dimension as the second one
    found, wanted = opened[name].isel(time=time, y=y), expected[name].isel(time=time, y=y)
    xr.testing.assert_identical(found.load(), wanted)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data(), count=st.integers(0, 20), name=st.sampled_from(["t2m", "late"]))
def test_points_are_numpys(folder, data, count, name):
    opened, expected = hs.open_mfdataset(str(folder / "run*.nc")), theirs_kept(folder)
    name = name if name in expected else "t2m"
    keys = {
        dim: xr.DataArray(data.draw(hnp.arrays(np.int64, count, elements=st.integers(-extent, extent - 1))), dims="point")
        for dim, extent in {"time": 10, "y": 4}.items()
    }
    xr.testing.assert_identical(opened[name].isel(keys).load(), expected[name].isel(keys))


KEPT: dict = {}


def theirs_kept(folder):
    if folder not in KEPT:
        KEPT[folder] = theirs(folder)
    return KEPT[folder]


def test_times_that_count_from_another_date_in_each_file(tmp_path):
    for month in range(1, 4):
        times = np.datetime64(f"2001-{month:02d}-01", "ns") + np.arange(3) * np.timedelta64(1, "D")
        part = xr.Dataset({"x": ("time", np.arange(3.0) + month)}, {"time": times})
        part["time"].encoding["units"] = f"days since 2001-{month:02d}-01"
        part.to_netcdf(tmp_path / f"{month}.nc", unlimited_dims=["time"])
    opened = hs.open_mfdataset(str(tmp_path / "*.nc"))
    expected = xr.open_mfdataset(str(tmp_path / "*.nc"), engine="netcdf4").load()
    xr.testing.assert_identical(opened.load(), expected)


def test_the_dimension(tmp_path):
    for number in range(3):
        xr.Dataset({"v": (("y", "x"), np.full((2, 3), number))}, {"x": np.arange(3) + 3 * number, "y": [1, 2]}).to_netcdf(tmp_path / f"{number}.nc")
    opened = hs.open_mfdataset(str(tmp_path / "*.nc"))  # without an unlimited dimension, the one whose coordinates differ
    xr.testing.assert_identical(opened.load(), xr.open_mfdataset(str(tmp_path / "*.nc"), engine="netcdf4").load())
    with pytest.raises(hs.InvalidInputError, match="concat_dim='z' is not a dimension of the files; they have /x, /y;"):
        hs.open_mfdataset(str(tmp_path / "*.nc"), concat_dim="z")
    with pytest.raises(hs.InvalidInputError, match="not clear; they have /x, /y: concat_dim= names one of them"):
        hs.open_mfdataset([tmp_path / "0.nc", tmp_path / "0.nc"])
    assert hs.open_mfdataset([tmp_path / "0.nc", tmp_path / "0.nc"], concat_dim="x").sizes == {"y": 2, "x": 6}
    with pytest.raises(hs.InvalidInputError, match="unknown compat 'no_conflicts'"):
        hs.open_mfdataset(str(tmp_path / "*.nc"), compat="no_conflicts")
    with pytest.raises(FileNotFoundError):
        hs.open_mfdataset(str(tmp_path / "nothing*.nc"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.drop_vars("t2m"), "there is no /t2m, which .*0.nc has"),
        (lambda part: part.assign(t2m=part["t2m"].astype("f8")), "/t2m has another datatype"),
        (lambda part: part.isel(x=slice(3)), "has the shape|has other values"),
        (lambda part: part.assign(mask=part["mask"] + 1), "/mask has other values.*compat='override'"),
        (lambda part: part.assign_coords(y=part["y"] + 1), "/y has other values"),
        (lambda part: part.assign(t2m=part["t2m"].assign_attrs(units="degC")), "/t2m has another attribute units"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, change, message):
    dataset(0, 2).to_netcdf(tmp_path / "0.nc", unlimited_dims=["time"])
    change(dataset(2, 2)).to_netcdf(tmp_path / "1.nc", unlimited_dims=["time"])
    with pytest.raises(hs.ConflictError, match=message) as caught:
        hs.open_mfdataset(str(tmp_path / "*.nc"))
    assert caught.value.file.endswith("1.nc")


def test_another_packing_is_refused(tmp_path):
    for number in range(2):
        part = dataset(2 * number, 2)
        part["packed"].encoding["scale_factor"] = 0.5 + number
        part.to_netcdf(tmp_path / f"{number}.nc", unlimited_dims=["time"])
    with pytest.raises(hs.ConflictError, match="/packed has another attribute scale_factor"):
        hs.open_mfdataset(str(tmp_path / "*.nc"))
    assert hs.open_mfdataset(str(tmp_path / "*.nc"), drop_variables=["packed"]).sizes["time"] == 4


def test_units_of_static_variables_are_the_first_files(tmp_path):
    for number, units in enumerate(["degrees_north", "degree_north"]):
        part = dataset(2 * number, 2)
        part["y"].attrs["units"] = units
        part.to_netcdf(tmp_path / f"{number}.nc", unlimited_dims=["time"])
    assert hs.open_mfdataset(str(tmp_path / "*.nc"))["y"].attrs["units"] == "degrees_north"


def test_static_variables_of_the_first_file_on_request(tmp_path):
    dataset(0, 2).to_netcdf(tmp_path / "0.nc", unlimited_dims=["time"])
    other = dataset(2, 2)
    other.assign(mask=other["mask"] + 1).to_netcdf(tmp_path / "1.nc", unlimited_dims=["time"])
    opened = hs.open_mfdataset(str(tmp_path / "*.nc"), compat="override")
    np.testing.assert_array_equal(opened["mask"], dataset(0, 2)["mask"])


def test_order_and_files_that_are_left_out(tmp_path):
    for number, first in enumerate([0, 2, 1]):
        dataset(first, 2, number).to_netcdf(tmp_path / f"{number}.nc", unlimited_dims=["time"])
    (tmp_path / "3.nc").write_bytes(b"no file")
    dataset(4, 2, 4).to_netcdf(tmp_path / "4.nc", unlimited_dims=["time"])
    files = [tmp_path / f"{number}.nc" for number in range(5)]
    with pytest.raises(hs.ConflictError, match="/time goes from 2 to 3 in .*1.nc, and from 1 to 2 in the next file"):
        hs.open_mfdataset(files[:3])
    assert hs.open_mfdataset(files[:3], concat_dim="time")["time"].dt.hour.values.tolist() == [0, 1, 2, 3, 1, 2]
    with pytest.raises(hs.Error, match=r"3\.nc"):
        hs.open_mfdataset(files[2:])
    opened = hs.open_mfdataset(files, misfits="leave_out")
    assert [left.path for left in opened.encoding["left_out"]] == [str(files[2]), str(files[3])]
    assert opened.hyperslab.sources == [str(files[number]) for number in (0, 1, 4)]
    xr.testing.assert_identical(pickle.loads(pickle.dumps(opened)).load(), hs.open_mfdataset([files[0], files[1], files[4]]).load())
    stacked = hs.open_mfdataset(files, new_dim={"run": list("abcde")}, compat="override", misfits="leave_out")
    assert stacked["run"].values.tolist() == ["a", "b", "c", "e"]


def test_netcdf_classic_and_netcdf4_together(tmp_path):
    files = [tmp_path / f"{number}.nc" for number in range(3)]
    for number, (path, form) in enumerate(zip(files, ("NETCDF4", "NETCDF3_CLASSIC", "NETCDF4"), strict=True)):
        part = dataset(2 * number, 2, number)[["t2m", "packed", "mask"]]
        part["t2m"].encoding = {}
        part["mask"].encoding["dtype"] = part["time"].encoding["dtype"] = "i4"
        part.to_netcdf(path, unlimited_dims=["time"], format=form)
    for order in (files, files[1:]):
        expected = xr.open_mfdataset(order, engine="netcdf4", data_vars="minimal", coords="minimal", compat="equals", join="exact")
        xr.testing.assert_identical(hs.open_mfdataset(order).load(), expected.load())


def test_groups_closing_and_files_that_change(tmp_path):
    for number in range(2):
        dataset(2 * number, 2, number).to_netcdf(tmp_path / f"{number}.nc", group="a/b", unlimited_dims=["time"])
    opened = hs.open_mfdataset(str(tmp_path / "*.nc"), group="a/b")
    assert opened["t2m"].shape == (4, 4, 5)
    content = (tmp_path / "1.nc").read_bytes()
    (tmp_path / "1.nc").write_bytes(content + b"\0")
    with pytest.raises(hs.ConflictError, match="changed since it was opened") as caught:
        opened["t2m"].load()
    assert caught.value.file.endswith("1.nc")
    np.testing.assert_array_equal(opened["t2m"][:2], dataset(0, 2, 0)["t2m"])  # the other file has not changed
    opened.close()
    with pytest.raises(hs.ConflictError, match="changed since it was opened"):
        opened["late"].load()
    np.testing.assert_array_equal(opened["t2m"][:2], dataset(0, 2, 0)["t2m"])
    with pytest.raises(OSError, match="group not found"):
        hs.open_mfdataset(str(tmp_path / "*.nc"), group="a/c")


def test_many_files(tmp_path):
    for number in range(300):
        with hs.create_netcdf(tmp_path / f"f{number}.nc", durable=False) as file:
            file.create_dimension("t", None)
            file.create_variable("x", ("t",), "f8", data=[number, number + 0.5])
    opened = hs.open_mfdataset(str(tmp_path / "f*.nc"))
    np.testing.assert_array_equal(opened["x"], np.arange(600) / 2)
    np.testing.assert_array_equal(opened["x"][::-7].values, (np.arange(600) / 2)[::-7])


def test_more_files_than_may_be_open(tmp_path):
    for number in range(80):
        part = xr.Dataset({"x": (("t", "y"), np.full((2, 4000), number * 1.5))}, {"t": [2 * number, 2 * number + 1]})
        part.to_netcdf(tmp_path / f"f{number}.nc", unlimited_dims="t")
    program = """if True:
        import pickle, resource, sys
        import hyperslab as hs
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
        opened = hs.open_mfdataset(sys.argv[1])
        assert opened.sizes["t"] == 160
        for dataset in (pickle.loads(pickle.dumps(opened)), opened):
            print(float(dataset["x"].mean()), float(dataset["x"][::-1, 7][3]))
    """
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "f*.nc"], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["59.25", "117.0"] * 2, done.stderr


def test_the_accessor(tmp_path):
    path = tmp_path / "x.nc"
    dataset(0, 4).drop_vars(["names"]).to_netcdf(path, engine="netcdf4")
    opened = xr.open_dataset(path, engine=xarray_engine.HyperslabBackendEntrypoint)
    assert opened.hyperslab.sources == [str(path)] and opened.hyperslab.file.filename == str(path)
    assert opened.hyperslab.to_table("/t2m", where="y > 2").count() == 4 * 2 * 5
    assert opened.hyperslab.sql("select count(*) from t2m").fetchall() == [(80,)]
    opened.hyperslab.to_netcdf(tmp_path / "y.nc", compression="zstd")
    again = xr.open_dataset(tmp_path / "y.nc", engine=xarray_engine.HyperslabBackendEntrypoint)
    loaded = opened.hyperslab.load()
    assert loaded is opened and all(variable._in_memory for variable in opened.variables.values())
    xr.testing.assert_identical(again.load(), opened)
    with pytest.raises(hs.InvalidInputError, match="not opened from files"):
        _ = xr.Dataset().hyperslab.file
    hs.to_netcdf(opened, tmp_path / "z.nc", unlimited_dims="time", encoding={"t2m": {"zlib": True, "complevel": 2}}, group="g")
    written = xr.open_dataset(tmp_path / "z.nc", engine="netcdf4", group="g")
    xr.testing.assert_identical(written.load(), opened)
    assert written.encoding["unlimited_dims"] == {"time"} and written["t2m"].encoding["complevel"] == 2
    for part in (0, 1):
        dataset(4 * part, 4).drop_vars(["names"]).to_netcdf(tmp_path / f"part{part}.nc", unlimited_dims=["time"])
    many = hs.open_mfdataset(str(tmp_path / "part*.nc"))
    assert many.hyperslab.to_table("/t2m").count() == 160
