"""CF netCDF as a model: files made by netCDF4 after the conventions' own examples, judged by xarray, netCDF4 and numpy."""

from __future__ import annotations

import itertools
import json
import pathlib
import pickle
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray

ROOT = pathlib.Path(__file__).parents[2]


def dataset(path: pathlib.Path, fmt: str = "NETCDF4", **attrs: Any) -> netCDF4.Dataset:
    f = netCDF4.Dataset(path, "w", format=fmt)
    f.setncatts({"Conventions": "CF-1.11", **attrs})
    return f


def variable(f: Any, name: str, dimensions: tuple[str, ...], values: Any, dtype: Any = None, fill: Any = None, **attrs: Any) -> None:
    values = np.asarray(values)
    made = f.createVariable(name, dtype or values.dtype, dimensions, fill_value=fill)
    made.setncatts(attrs)
    if values.size:
        made[...] = values


def write_cmip(path: pathlib.Path, fmt: str = "NETCDF4") -> pathlib.Path:
    """A file as CMIP has them: bounds, a scalar height, a climatology of latitudes that decrease, and variables of other dimensions."""
    random = np.random.default_rng(5)
    with dataset(path, fmt) as f:
        for name, size in (("time", 4), ("lat", 3), ("lon", 5), ("bnds", 2), ("strlen", 6)):
            f.createDimension(name, size)
        variable(f, "time", ("time",), np.arange(4) + 0.5, units="days since 2001-01-01", calendar="standard", bounds="time_bnds")
        variable(f, "time_bnds", ("time", "bnds"), np.arange(4.0)[:, None] + [0, 1])
        variable(f, "lat", ("lat",), [60.0, 0, -60], units="degrees_north", bounds="lat_bnds")
        variable(f, "lat_bnds", ("lat", "bnds"), np.array([60.0, 0, -60])[:, None] + [30, -30])
        variable(f, "lon", ("lon",), np.arange(5) * 72.0, units="degrees_east")
        variable(f, "height", (), 2.0, units="m")
        variable(f, "crs", (), 0, "i4", grid_mapping_name="rotated_latitude_longitude", grid_north_pole_latitude=38.5, grid_north_pole_longitude=190.0)
        variable(f, "label", ("strlen",), np.array([b"near t"]).view("S1"), "S1")
        tas = random.normal(280, 5, (4, 3, 5)).astype("f4")
        tas[1, 1, 1] = 1e20
        about = {"coordinates": "height label", "cell_methods": "area: mean time: maximum (interval: 3 hr)", "grid_mapping": "crs", "units": "K"}
        variable(f, "tas", ("time", "lat", "lon"), tas, fill=np.float32(1e20), **about)
        variable(f, "pr", ("time", "lat", "lon"), random.integers(-100, 100, (4, 3, 5)).astype("i2"), fill=-100, scale_factor=0.5, units="mm")
        variable(f, "orog", ("lat", "lon"), random.normal(size=(3, 5)))
    return path


def frame(path: pathlib.Path, names: list[str]) -> pd.DataFrame:
    """Cells as xarray makes a data frame of them."""
    with xarray.open_dataset(path, decode_coords="all") as data:
        loaded = data[names].load()
    return loaded.to_dataframe().reset_index()


def same(got: Any, wanted: Any, what: str = "") -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if wanted.dtype.kind == "M":
        assert (got.astype("M8[ns]") == wanted).all(), what
    elif wanted.dtype.kind == "O" or got.dtype.kind == "O":
        assert [str(one) for one in got] == [str(one) for one in wanted], what
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_the_root_of_a_file_as_cmip_has_them(tmp_path: pathlib.Path, fmt: str) -> None:
    path = write_cmip(tmp_path / "tas.nc", fmt)
    f = hs.open(path)
    (view,) = f.models
    assert (view.name, view.certainty, view.tables, view.validate()) == ("cf", "certain", ["time_lat_lon", "lat_lon"], [])
    assert view.omitted == {"/crs": "is the grid mapping of tas"}
    with pytest.warns(hs.OmittedColumnsWarning, match="orog"):
        table = f.table("/", model="cf")
    assert table.omitted["orog"] == "has the dimensions (lat=3, lon=5): it is in the table lat_lon"
    assert table.schema.names == ["time", "time_low", "time_high", "lat", "lat_low", "lat_high", "lon", "height", "label", "tas", "pr"]
    got, wanted = table.to_pandas(), frame(path, ["tas", "pr", "height"])
    assert len(got) == len(wanted) == 60
    for name in ("time", "lat", "lon", "height", "tas", "pr"):
        same(got[name], wanted[name], name)
    assert set(got["label"]) == {"near t"}
    # Bounds have the units of what they bound, and the lower one first.
    assert (got["time_low"] + pd.Timedelta(hours=12) == got["time"]).all() and (got["time_high"] - pd.Timedelta(hours=12) == got["time"]).all()
    assert (got["lat_low"] == got["lat"] - 30).all() and (got["lat_high"] == got["lat"] + 30).all()
    assert json.loads(table.schema.field("tas").metadata[b"hyperslab:cell_methods"]) == [
        {"names": ["area"], "method": "mean"},
        {"names": ["time"], "method": "maximum", "intervals": [{"value": 3.0, "units": "hr"}]},
    ]
    mapping = json.loads(table.schema.field("tas").metadata[b"hyperslab:grid_mapping"])
    assert mapping == hs.models.cf.open(f).grid_mapping("tas") and mapping["grid_north_pole_latitude"] == 38.5 and mapping["variable"] == "crs"
    for name in ("time_lat_lon", "tas", "pr", "/tas"):
        assert f.table(name, model="cf").schema.names == table.schema.names
    with pytest.raises(hs.NotFoundError, match="it is in the table lat_lon"):
        f.table("/", model="cf", columns=["orog"], omitted="ignore")
    with pytest.raises(hs.NotFoundError, match="no table"):
        f.table("nothing", model="cf")


def test_conditions_splits_and_sql(tmp_path: pathlib.Path) -> None:
    path = write_cmip(tmp_path / "tas.nc")
    f = hs.open(path)
    everything = f.table("time_lat_lon", model="cf").to_pandas()
    for where, mask in (
        ("lat > 0 and time_low >= '2001-01-03'", (everything.lat > 0) & (everything.time_low >= "2001-01-03")),
        ("height = 2 and label = 'near t' and tas > 280", everything.tas > 280),
        ("lat_high < 31", everything.lat_high < 31),
    ):
        got = f.table("tas", where, model="cf").to_pandas()
        pd.testing.assert_frame_equal(got, everything[mask].reset_index(drop=True))
    table = f.table("tas", "tas > 280", model="cf")
    parts = pickle.loads(pickle.dumps(table.splits(7)))
    import pyarrow as pa

    assert pa.concat_tables([part.read() for part in parts]).equals(table.to_arrow().combine_chunks())
    assert parts[0].read().schema.field("tas").metadata.keys() >= {b"hyperslab:cell_methods", b"units"}
    rows = hs.sql("select count(*), max(time_high) from time_lat_lon where height = 2", f).fetchall()
    assert rows[0][0] == 60 and str(rows[0][1]) == "2001-01-05 00:00:00"


def test_two_dimensional_coordinates_and_vertices(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(1)
    with dataset(tmp_path / "curvilinear.nc") as f:
        for name, size in (("time", 3), ("y", 4), ("x", 5), ("vertices", 4)):
            f.createDimension(name, size)
        variable(f, "lat", ("y", "x"), random.normal(size=(4, 5)), bounds="lat_vertices")
        variable(f, "lon", ("x", "y"), random.normal(size=(5, 4)))
        variable(f, "lat_vertices", ("y", "x", "vertices"), random.normal(size=(4, 5, 4)).astype("f4"))
        variable(f, "tos", ("time", "y", "x"), random.normal(size=(3, 4, 5)), coordinates="lat lon")
        variable(f, "region", ("y",), np.array(["north", "", "b", "süd"], object), str)
        variable(f, "depth", ("time", "y"), random.normal(size=(3, 4)), coordinates="region")
    view = hs.models.cf.open(tmp_path / "curvilinear.nc")
    assert view.tables == ["time_y_x", "y_x", "time_y"] or set(view.tables) == {"time_y_x", "time_y"}
    got = view.table("tos").to_pandas()
    with xarray.open_dataset(tmp_path / "curvilinear.nc", decode_coords="all") as data:
        lat, lon = (data[name].transpose("y", "x").values for name in ("lat", "lon"))
        vertices, region = data["lat_vertices"].values, data["region"].values
    for name, values in (("lat", lat), ("lon", lon)):
        same(got[name], np.broadcast_to(values, (3, 4, 5)).ravel(), name)
    same(np.array(got["lat_bounds"].tolist()), np.broadcast_to(vertices, (3, 4, 5, 4)).reshape(-1, 4))
    some = view.table("tos", "time in (0, 2) and x = 3 and lon > 0", columns=["y", "lat", "lat_bounds", "tos"]).to_pandas()
    wanted = got[got.time.isin((0, 2)) & (got.x == 3) & (got.lon > 0)]
    same(some["lat"], wanted["lat"])
    same(np.array(some["lat_bounds"].tolist()), np.array(wanted["lat_bounds"].tolist()))
    same(view.table("depth").to_pandas()["region"], np.tile(region, 3))


PROFILES = [3, 0, 5, 2]
STATIONS = np.array(["Oslo", "", "Lisbon", "Rīga"], object)


def observations(random: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    return {"z": np.round(random.uniform(0, 100, count), 2), "temp": random.normal(size=count).astype("f4")}


def contiguous(path: pathlib.Path, fmt: str = "NETCDF4", counts: Any = PROFILES) -> pd.DataFrame:
    random = np.random.default_rng(2)
    count = sum(PROFILES)
    about = {"time": np.arange(4) * 6.0, "lat": random.uniform(-90, 90, 4), "lon": random.uniform(0, 360, 4)}
    data = observations(random, count)
    with dataset(path, fmt, featureType="profile") as f:
        for name, size in (("obs", count), ("profile", 4), ("strlen", 6)):
            f.createDimension(name, size)
        variable(f, "profile", ("profile",), np.arange(10, 14, dtype="i4"), cf_role="profile_id")
        variable(f, "rowSize", ("profile",), np.array(counts, "i4"), sample_dimension="obs")
        for name, values in about.items():
            variable(f, name, ("profile",), values, **({"units": "hours since 2020-01-01"} if name == "time" else {}))
        names = np.array([name.encode() for name in STATIONS], "S6")
        variable(f, "station_name", ("profile", "strlen"), names.view("S1").reshape(4, 6), "S1")
        variable(f, "z", ("obs",), data["z"])
        variable(f, "temp", ("obs",), data["temp"], coordinates="time lat lon z")
    owners = np.repeat(np.arange(4), PROFILES)
    times = pd.Timestamp("2020-01-01") + pd.to_timedelta(about["time"], "h")
    return pd.DataFrame({"profile": owners + 10, "time": times[owners], "lat": about["lat"][owners], "station_name": STATIONS[owners], **data})


@pytest.mark.parametrize("fmt", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_contiguous_ragged_arrays(tmp_path: pathlib.Path, fmt: str) -> None:
    wanted = contiguous(tmp_path / "profiles.nc", fmt)
    view = hs.models.cf.open(tmp_path / "profiles.nc")
    assert (view.tables, view.feature_type, view.validate(), view.omitted) == (["observations", "profile"], "profile", [], {})
    table = view.table("/")
    assert table.schema.names == ["obs", "profile_index", "profile", "time", "lat", "lon", "station_name", "z", "temp"] or table.omitted == {}
    got = table.to_pandas()
    for name in wanted:
        same(got[name], wanted[name], name)
    assert got["obs"].tolist() == list(range(10)) and got["profile_index"].tolist() == np.repeat(np.arange(4), PROFILES).tolist()
    assert str(table.schema.field("station_name").type).startswith("dictionary")
    some = view.table("observations", "profile = 12 and z > 20", columns=["profile_index", "lat", "z"]).to_pandas()
    assert some["z"].tolist() == wanted[(wanted.profile == 12) & (wanted.z > 20)]["z"].tolist() and set(some["profile_index"]) <= {2}
    assert view.table("observations", "obs in (0, 4, 9)", columns=["profile"]).to_arrow()["profile"].to_pylist() == [10, 12, 13]
    assert view.table("profile", columns=["profile", "rowSize", "station_name"]).to_arrow()["rowSize"].to_pylist() == PROFILES
    parts = pickle.loads(pickle.dumps(view.table("observations", "lat > -100").splits(3)))
    assert sum(part.read().num_rows for part in parts) == 10


def test_indexed_ragged_arrays(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    index = random.integers(0, 4, 30)
    with dataset(tmp_path / "stations.nc", featureType="timeSeries") as f:
        f.createDimension("obs", None)
        f.createDimension("station", 4)
        variable(f, "station_name", ("station",), STATIONS, str, cf_role="timeseries_id")
        variable(f, "lon", ("station",), np.arange(4) * 10.0)
        variable(f, "alt", ("station",), np.array([1.0, 2, -99, 4]), fill=-99.0)
        variable(f, "stationIndex", ("obs",), index.astype("i1"), instance_dimension="station")
        variable(f, "time", ("obs",), np.arange(30.0), units="days since 1990-01-01")
        variable(f, "humidity", ("obs",), random.normal(size=30), coordinates="time lon alt")
    view = hs.models.cf.open(tmp_path / "stations.nc")
    assert (view.tables, view.validate()) == (["observations", "station"], [])
    got = view.table("observations").to_pandas()
    same(got["station"], index)
    same(got["station_name"], STATIONS[index])
    same(got["lon"], index * 10.0)
    same(got["alt"], np.array([1.0, 2, np.nan, 4])[index])
    assert len(view.table("observations", "station_name = 'Lisbon'").to_arrow()) == (index == 2).sum()


@pytest.mark.parametrize(
    ("feature", "instance", "role"), [("timeSeriesProfile", "station", "timeseries_id"), ("trajectoryProfile", "trajectory", "trajectory_id")]
)
def test_ragged_in_both_ways(tmp_path: pathlib.Path, feature: str, instance: str, role: str) -> None:
    """CF H.5.3 and H.6.3: profiles have counts of observations, and indexes of their stations or trajectories."""
    random = np.random.default_rng(4)
    counts, owner = random.integers(0, 6, 20), random.integers(0, 3, 20)
    names = np.array(["a", "b", "c"])
    with dataset(tmp_path / "both.nc", featureType=feature) as f:
        for name, size in (("obs", int(counts.sum())), ("profile", 20), (instance, 3)):
            f.createDimension(name, size)
        # A station has one place, a profile of a trajectory its own.
        of_place = instance if instance == "station" else "profile"
        places = random.normal(size=3 if instance == "station" else 20)
        variable(f, "lat", (of_place,), places)
        variable(f, f"{instance}_id", (instance,), names.astype(object), str, cf_role=role)
        variable(f, "time", ("profile",), np.arange(20.0), units="days since 2000-01-01")
        variable(f, f"{instance}_index", ("profile",), owner.astype("i4"), instance_dimension=instance)
        variable(f, "row_size", ("profile",), counts.astype("i4"), sample_dimension="obs")
        variable(f, "z", ("obs",), np.arange(counts.sum()) * 1.0, axis="Z")
        variable(f, "temp", ("obs",), random.normal(size=counts.sum()), coordinates="time lat z")
    view = hs.models.cf.open(tmp_path / "both.nc")
    assert (view.tables, view.validate(), view.omitted) == (["observations", "profile", instance], [], {})
    got = view.table("observations").to_pandas()
    with xarray.open_dataset(tmp_path / "both.nc", engine="netcdf4") as data:
        profile = np.repeat(np.arange(20), data["row_size"].values)
        of_instance = data[f"{instance}_index"].values[profile]
        same(got["profile"], profile)
        same(got[instance], of_instance)
        same(got["lat"], data["lat"].values[of_instance if instance == "station" else profile])
        same(got[f"{instance}_id"], data[f"{instance}_id"].values[of_instance])
        same(got["time"], data["time"].values[profile].astype(got["time"].dtype))
        same(got["z"], data["z"].values)
        same(got["temp"], data["temp"].values)
    same(view.table("profile").to_pandas()[f"{instance}_id"], names[owner])
    chosen = view.table("observations", f"{instance}_id = 'b'", columns=["profile", "temp"]).to_pandas()
    same(chosen["temp"], got["temp"][of_instance == 1].reset_index(drop=True))


def test_multidimensional_arrays(tmp_path: pathlib.Path) -> None:
    """Orthogonal, and incomplete: where coordinates are missing, there is no observation."""
    random = np.random.default_rng(6)
    with dataset(tmp_path / "orthogonal.nc", featureType="timeSeries") as f:
        f.createDimension("station", 3)
        f.createDimension("time", 4)
        variable(f, "time", ("time",), np.arange(4.0), units="days since 2000-01-01")
        variable(f, "lat", ("station",), np.array([1.0, 2, 3]))
        variable(f, "station_name", ("station",), np.array(["a", "b", "c"], object), str, cf_role="timeseries_id")
        variable(f, "humidity", ("station", "time"), random.normal(size=(3, 4)), coordinates="lat station_name")
    got = hs.models.cf.open(tmp_path / "orthogonal.nc").table("observations").to_pandas()
    same(got["lat"], np.repeat([1.0, 2, 3], 4))
    same(got["station_name"], np.repeat(["a", "b", "c"], 4))
    counts = [2, 0, 5]
    time, humidity = np.full((3, 5), -9.0), np.full((3, 5), -9.0)
    for station, count in enumerate(counts):
        time[station, :count], humidity[station, :count] = np.arange(count) + station, random.normal(size=count)
    humidity[2, 1] = -9
    with dataset(tmp_path / "incomplete.nc", featureType="timeSeries") as f:
        f.createDimension("station", 3)
        f.createDimension("obs", 5)
        variable(f, "time", ("station", "obs"), time, fill=-9.0, units="days since 2000-01-01")
        variable(f, "lat", ("station",), np.array([1.0, 2, 3]))
        variable(f, "humidity", ("station", "obs"), humidity, fill=-9.0, coordinates="time lat")
    view = hs.models.cf.open(tmp_path / "incomplete.nc")
    table = view.table("observations")
    got = table.to_pandas()
    assert len(got) == table.count() == sum(counts) and got["humidity"].isna().sum() == 1
    same(got["lat"], np.repeat([1.0, 2, 3], counts))
    same(got["obs"], list(itertools.chain(*map(range, counts))))
    assert view.table("observations", columns=["humidity"]).to_arrow().num_rows == sum(counts)
    parts = pickle.loads(pickle.dumps(view.table("observations", "station > 0", columns=["humidity"]).splits(2)))
    assert sum(part.read().num_rows for part in parts) == 5
    assert hs.sql("select count(*) from observations", view.file).fetchall() == [(7,)]
    # A profile alone: its scalar coordinates are columns.
    with dataset(tmp_path / "single.nc", featureType="profile") as f:
        f.createDimension("z", 4)
        variable(f, "z", ("z",), np.arange(4.0))
        variable(f, "lat", (), 51.5)
        variable(f, "temp", ("z",), np.arange(4.0), coordinates="lat")
    assert hs.models.cf.open(tmp_path / "single.nc").table("observations").to_arrow()["lat"].to_pylist() == [51.5] * 4


def test_groups_have_their_own_tables(tmp_path: pathlib.Path) -> None:
    with dataset(tmp_path / "groups.nc") as f:
        f.createDimension("time", 3)
        variable(f, "time", ("time",), np.arange(3.0), units="days since 2000-01-01")
        run = f.createGroup("run/1")
        run.createDimension("x", 2)
        variable(run, "x", ("x",), [5.0, 6])
        variable(run, "height", (), 10.0)
        variable(run, "tas", ("time", "x"), np.arange(6.0).reshape(3, 2), coordinates="height")
    f = hs.open(tmp_path / "groups.nc")
    (view,) = f.models
    assert view.tables == ["time", "run/1/time_x"] and view.omitted == {} and view.validate() == []
    got = f.table("run/1", model="cf").to_pandas()
    assert got.columns.tolist() == ["time", "x", "height", "tas"] and got["tas"].tolist() == list(range(6)) and str(got["time"][5]) == "2000-01-03 00:00:00"
    assert f.table("run/1/tas", model="cf").count() == f.table("run/1/time_x", model="cf").count() == 6


def bad(path: pathlib.Path, change: Any) -> hs.models.cf.Cf:
    write_cmip(path)
    with netCDF4.Dataset(path, "a") as f:
        change(f)
    return hs.models.cf.open(path)


def test_bad_input_is_one_error_with_the_object(tmp_path: pathlib.Path) -> None:
    def wrong_bounds(f: Any) -> None:
        f["lon"].bounds = "lat_bnds"

    view = bad(tmp_path / "bounds.nc", wrong_bounds)
    with pytest.raises(hs.CorruptError, match="bounds of lon, but the dimensions") as error:
        view.table("tas")
    assert error.value.object == "/lat_bnds" and [problem.object for problem in view.validate()] == ["/lat_bnds"]

    def wrong_methods(f: Any) -> None:
        f["tas"].cell_methods, f["pr"].cell_methods = "time: mean (interval: one day)", "level: sum"
        f["orog"].coordinates, f["crs"].grid_north_pole_latitude = "nowhere", "38.5"

    view = bad(tmp_path / "methods.nc", wrong_methods)
    with pytest.raises(hs.CorruptError, match='the interval "one" is not a number') as error:
        view.cell_methods("tas")
    assert error.value.object == "/tas"
    with pytest.raises(hs.CorruptError, match="grid_north_pole_latitude is .*, not a number") as error:
        view.grid_mapping("tas")
    assert error.value.object == "/crs"
    messages = {problem.object: problem.message for problem in view.validate()}
    assert messages.keys() == {"/tas", "/pr", "/orog", "/crs"} and "level" in messages["/pr"] and "nowhere" in messages["/orog"]
    assert view.table("tas").count() == 60, "a table does not depend on what is metadata"
    for counts, message in (([3, 0, 5, 1], "add up to 9, but there are 10 elements"), ([3, -1, 6, 2], "count of element 1 is -1")):
        contiguous(tmp_path / "counts.nc", counts=counts)
        view = hs.models.cf.open(tmp_path / "counts.nc")
        with pytest.raises(hs.CorruptError, match=message) as error:
            view.table("observations").to_arrow()
        assert error.value.object == "/rowSize" and view.validate() == [hs.models.Problem("/rowSize", error.value.message)]
        assert view.table("observations", columns=["z", "temp"]).count() == 10
    for index in (-1, 2):
        with dataset(tmp_path / "index.nc", featureType="timeSeries") as f:
            f.createDimension("obs", 3)
            f.createDimension("station", 2)
            variable(f, "index", ("obs",), np.array([0, index, 1], "i4"), instance_dimension="station")
            variable(f, "lat", ("station",), [1.0, 2])
            variable(f, "temp", ("obs",), [1.0, 2, 3], coordinates="lat")
        view = hs.models.cf.open(tmp_path / "index.nc")
        with pytest.raises(hs.CorruptError, match=f"index of element 1 is {index}, not within 0 to 1") as error:
            view.table("observations").to_arrow()
        assert error.value.object == "/index" and [problem.object for problem in view.validate()] == ["/index"]
    with dataset(tmp_path / "dangling.nc") as f:
        f.createDimension("obs", 3)
        variable(f, "index", ("obs",), np.arange(3), instance_dimension="station")
        variable(f, "temp", ("obs",), [1.0, 2, 3])
    with pytest.raises(hs.CorruptError, match="instance_dimension names .station.") as error:
        hs.models.cf.open(tmp_path / "dangling.nc").table("/")
    assert error.value.object == "/index"


def test_cell_methods_and_flags(tmp_path: pathlib.Path) -> None:
    (first, second) = hs.models.cf.cell_methods("lat: lon: mean where land over all_area_types (interval: 0.5 degree comment: weighted) time: sum within years")
    assert (first.names, first.method, first.where, first.over, first.comment) == (("lat", "lon"), "mean", "land", "all_area_types", "weighted")
    assert first.intervals == ((0.5, "degree"),) and second == hs.models.cf.CellMethod(("time",), "sum", within="years")
    with pytest.raises(hs.InvalidInputError, match="is not followed by a colon"):
        hs.models.cf.cell_methods("mean")
    values = np.arange(16, dtype="u1")
    with dataset(tmp_path / "flags.nc") as f:
        f.createDimension("x", 16)
        about = {"flag_meanings": "low battery wet both_dry", "flag_masks": np.array([1, 2, 12, 12], "u1"), "flag_values": np.array([1, 2, 4, 0], "u1")}
        variable(f, "sensor", ("x",), values, **about)
        variable(f, "plain", ("x",), values, flag_meanings="good bad", flag_values=np.array([0, 7], "u1"))
        variable(f, "broken", ("x",), values, flag_meanings="good bad", flag_values=np.array([0], "u1"))
    view = hs.models.cf.open(tmp_path / "flags.nc")
    flags = view.flags("sensor")
    assert [np.flatnonzero(flag.of(values)).tolist() for flag in flags.values()] == [
        [1, 3, 5, 7, 9, 11, 13, 15], [2, 3, 6, 7, 10, 11, 14, 15], [4, 5, 6, 7], [0, 1, 2, 3],
    ]  # fmt: skip
    assert np.flatnonzero(view.flags("plain")["bad"].of(values)).tolist() == [7]
    with pytest.raises(hs.CorruptError, match="flag_values"):
        view.flags("broken")
