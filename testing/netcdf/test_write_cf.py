"""CF written: bounds, coordinates, cell methods, grid mappings and discrete sampling geometries; read by xarray, netCDF4 and the model."""

from __future__ import annotations

import pathlib
from typing import Any

import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest
import xarray as xr

cf = hs.models.cf


def test_bounds_are_a_variable_without_attributes_in_the_units_of_theirs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bounds.nc"
    days = np.array(["2001-01-01", "2001-01-02", "2001-01-03"], "M8[D]")
    with cf.create(path) as f:
        f.create_dimension("time")
        f.create_dimension("lat", 2)
        f.create_dimension("cell", 3)
        f.create_variable("time", ["time"], data=days[:2] + np.timedelta64(12, "h"), bounds=np.stack([days[:-1], days[1:]], 1))
        f.create_variable("lat", ["lat"], data=np.array([-45, 45], "f4"), units="degrees_north", bounds=[[-90, 0], [0, 90]])
        f.create_variable("corner", ["cell"], data=[1.0, 2.0, 3.0], bounds=np.arange(12.0).reshape(3, 4))
    with netCDF4.Dataset(path) as made:
        assert made.Conventions == "CF-1.11"
        assert [made[name].bounds for name in ("time", "lat", "corner")] == ["time_bnds", "lat_bnds", "corner_vertices"]
        assert [made[name].dimensions for name in ("time_bnds", "lat_bnds", "corner_vertices")] == [("time", "bnds"), ("lat", "bnds"), ("cell", "vertices")]
        assert made["time_bnds"].ncattrs() == made["lat_bnds"].ncattrs() == []
        assert made["corner_vertices"][:].tolist() == np.arange(12.0).reshape(3, 4).tolist()
    with xr.open_dataset(path, decode_timedelta=False) as decoded:
        assert decoded["time_bnds"].values.tolist() == np.stack([days[:-1], days[1:]], 1).astype("M8[ns]").tolist()
    view = cf.open(path)
    assert view.validate() == []
    assert view.table("lat").to_arrow().to_pydict() == {"lat": [-45, 45], "lat_low": [-90, 0], "lat_high": [0, 90]}


def test_a_dimension_of_another_size_is_left_alone(tmp_path: pathlib.Path) -> None:
    with hs.create_netcdf(tmp_path / "b.nc") as f:
        f.create_dimension("bnds", 7)
        f.create_dimension("g/x", 2)
        f.create_variable("g/x", ["x"], data=[1, 2], bounds=[[0, 1], [1, 2]])
    with netCDF4.Dataset(tmp_path / "b.nc") as made:
        assert made["g/x"].bounds == "x_bnds" and made["g/x_bnds"].dimensions == ("x", "bnds2") and made["g"].dimensions["bnds2"].size == 2


METHODS = [
    "time: mean",
    "area: mean where land time: maximum within days time: mean over days",
    "time: lat: standard_deviation (interval: 0.1 degree interval: 3 hr comment: sampled instantaneously)",
    "lat: lon: mean (area-weighted)",
]


@pytest.mark.parametrize("text", METHODS)
def test_cell_methods_are_what_was_read(text: str) -> None:
    assert " ".join(map(str, cf.cell_methods(text))) == text


def test_names_are_those_of_variables_that_exist(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "names.nc"
    with cf.create(path) as f:
        f.create_dimension("x", 2)
        f.create_variable("height", (), data=2.0, units="m")
        f.create_variable("lat", ["x"], data=[1.0, 2.0], units="degrees_north")
        f.create_grid_mapping("crs", "rotated_latitude_longitude", grid_north_pole_latitude=39.25, towgs84=[1.0, 2.0, 3.0])
        f.create_variable("run/tas", ["x"], data=[1.0, 2.0], coordinates=["lat", "height"], cell_methods=cf.cell_methods("area: mean"), grid_mapping="crs")
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"coordinates": "lat nowhere"}, "'nowhere'"),
            ({"coordinates": ["x"]}, "'x'"),
            ({"cell_methods": "time mean"}, "mean"),
            ({"grid_mapping": "lat"}, "create_grid_mapping"),
            ({"bounds": [1.0, 2.0]}, r"shape \(2,\)"),
            ({"bounds": [[1.0], [2.0]]}, "2 or more vertices"),
        ]
        for number, (options, message) in enumerate(wrong):
            with pytest.raises(hs.InvalidInputError, match=message):
                f.create_variable(f"wrong{number}", ["x"], data=[1.0, 2.0], **options)
    with netCDF4.Dataset(path) as made:
        tas = made["run/tas"]
        assert (tas.coordinates, tas.cell_methods, tas.grid_mapping) == ("lat height", "area: mean", "crs")
        assert made["crs"].towgs84.tolist() == [1, 2, 3]
    assert cf.open(path).validate() == []


def casts(count: int, seed: int) -> pa.Table:
    """Observations in any order of casts with text, missing numbers and times."""
    random = np.random.default_rng(seed)
    owner = random.integers(0, max(count // 5, 1), count)
    temperature = random.normal(10, 5, count).astype("f4")
    temperature[random.random(count) < 0.1] = np.nan
    return pa.table(
        {
            "cast": pa.array([f"cast {number * 7 % 11}" for number in owner], pa.string()),
            "lat": (owner * 7 % 11) * 1.5,
            "begin": (np.datetime64("2020-01-01", "s") + (owner * 7 % 11) * np.timedelta64(1, "h")),
            "depth": random.integers(0, 100, count),
            "temp": temperature,
            "count": pa.array([None if n == 3 else int(n) for n in random.integers(0, 9, count)], pa.int32()),
        }
    )


@pytest.mark.parametrize("representation", ["contiguous", "indexed"])
@pytest.mark.parametrize("feature_type", ["profile", "timeSeries", "trajectory"])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_observations_are_read_as_they_were_written(tmp_path: pathlib.Path, representation: str, feature_type: str, count: int) -> None:
    path, table = tmp_path / "casts.nc", casts(count, count)
    about = {"temp": {"units": "degC"}, "lat": {"units": "degrees_north"}, "depth": {"units": "m", "positive": "down"}}
    cf.write_observations(
        path,
        table,
        feature_type,
        instance="cast",
        instance_columns=["lat", "begin"],
        coordinates=["depth"],
        attrs=about,
        representation=representation,
        compression="gzip",
    )
    view = cf.open(path)
    assert view.feature_type == feature_type and view.validate() == []
    found = view.table("observations").to_pandas()
    expected = table.to_pandas()
    if representation == "contiguous":
        first = {name: number for number, name in enumerate(dict.fromkeys(expected["cast"]))}
        expected = expected.iloc[np.argsort([first[name] for name in expected["cast"]], kind="stable")]
    assert len(found) == count
    for name in table.column_names:
        ours, theirs = found[name].astype(object).tolist(), expected[name].astype(object).tolist()
        same = [a == b or (a != a and b != b) or (a is None and b != b) for a, b in zip(ours, theirs, strict=True)]
        assert all(same), name
    with netCDF4.Dataset(path) as made:
        dimension = {"profile": "profile", "timeSeries": "station", "trajectory": "trajectory"}[feature_type]
        assert made["cast"].cf_role.endswith("_id") and made["lat"].dimensions == (dimension,)
        assert made["temp"].coordinates == "lat begin depth" and "coordinates" not in made["depth"].ncattrs()
        if representation == "contiguous":
            assert made["row_size"].sample_dimension == "obs" and int(made["row_size"][:].sum()) == count
        else:
            assert made[f"{dimension}_index"].instance_dimension == dimension


def test_points_and_groups(tmp_path: pathlib.Path) -> None:
    table = pa.table({"time": np.array([1, 2], "M8[s]"), "lat": [1.0, 2.0], "hail": [True, False]})
    with cf.create(tmp_path / "points.nc") as f:
        cf.write_observations(f, table, "point", coordinates=["time", "lat"])
    view = cf.open(tmp_path / "points.nc")
    assert view.feature_type == "point"
    assert view.table("observations").to_arrow().to_pydict()["lat"] == [1, 2]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"feature_type": "section"}, "unknown feature_type 'section'; expected 'point', 'profile', 'timeSeries', 'trajectory'"),
    ({"representation": "ragged"}, "unknown representation 'ragged'; expected 'contiguous' or 'indexed'"),
    ({"instance": None}, "instance="),
    ({"feature_type": "point"}, "leave out"),
    ({"instance_columns": ["nowhere"]}, "0 columns 'nowhere'"),
    ({"instance_columns": ["depth"]}, "'depth' has several values in one cast"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_cannot_be_written_is_named_and_no_file_is_left(tmp_path: pathlib.Path, options: dict[str, Any], message: str) -> None:
    given = {"feature_type": "profile", "instance": "cast", **options}
    with pytest.raises(hs.InvalidInputError, match=message):
        cf.write_observations(tmp_path / "wrong.nc", casts(50, 1), given.pop("feature_type"), **given)
    assert list(tmp_path.iterdir()) == []


def test_missing_texts_and_instances_are_refused(tmp_path: pathlib.Path) -> None:
    for column, message in ((pa.array(["a", None]), "missing texts"), (pa.array([1.0, float("nan")]), "missing values"), (pa.array([[1], [2]]), "list<")):
        with pytest.raises(hs.InvalidInputError, match=message):
            cf.write_observations(tmp_path / "wrong.nc", pa.table({"cast": column}), "profile", instance="cast")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["PASS/FAIL", "", "trailing "])
def test_names_of_columns_that_netcdf_does_not_have_are_refused(tmp_path: pathlib.Path, name: str) -> None:
    with pytest.raises(hs.InvalidInputError, match="as the name of a variable"):
        cf.write_observations(tmp_path / "wrong.nc", pa.table({"x": [1.0], name: [1.0]}), "point")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("feature_type", "instance"), [("timeSeriesProfile", "station"), ("trajectoryProfile", "track")])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_profiles_of_instances_are_ragged_in_both_ways(tmp_path: pathlib.Path, feature_type: str, instance: str, count: int) -> None:
    random, path = np.random.default_rng(count), tmp_path / "both.nc"
    profile = random.integers(0, 23, count)
    owner = profile * 5 % 4
    table = pa.table(
        {
            instance: pa.array([f"s{number}" for number in owner], pa.string()),
            "lat": owner * 1.5,
            "cast": profile,
            "begin": np.datetime64("2020-01-01", "s") + profile * np.timedelta64(1, "h"),
            "depth": random.integers(0, 100, count),
            "temp": random.normal(size=count),
        }
    )
    given = {"instance": instance, "instance_columns": ["lat"], "profile": "cast", "profile_columns": ["begin"], "coordinates": ["depth"]}
    cf.write_observations(path, table, feature_type, **given, attrs={"temp": {"units": "degC"}, "depth": {"units": "m", "positive": "down"}})
    view = cf.open(path)
    assert view.feature_type == feature_type and view.validate() == []
    first = {number: place for place, number in enumerate(dict.fromkeys(profile.tolist()))}
    wanted = table.to_pandas().iloc[np.argsort([first[number] for number in profile.tolist()], kind="stable")]
    found = view.table("observations").to_pandas()
    for name in table.column_names:
        assert found[name].tolist() == wanted[name].tolist(), name
    with netCDF4.Dataset(path) as f:
        # The name of a column is not the name of a dimension.
        dimension = {"station": "station_instance", "track": "trajectory"}[instance]
        assert f[f"{dimension}_index"].dimensions == ("profile",) and f[f"{dimension}_index"].instance_dimension == dimension
        assert f["row_size"].sample_dimension == "obs" and f["cast"].cf_role == "profile_id"
        assert len(f.dimensions["profile"]) == len(first) and len(f.dimensions[dimension]) == len(set(owner.tolist()))
        assert f["temp"].coordinates.split() == ["lat", "begin", "depth"]
    if count > 1:
        wrong = table.set_column(table.column_names.index("cast"), "cast", pa.array(np.zeros(count, "i8")))
        with pytest.raises(hs.InvalidInputError, match="several values in one cast"):
            cf.write_observations(tmp_path / "wrong.nc", wrong, feature_type, **{**given, "profile_columns": []})
    for change, message in [
        ({"profile": None, "profile_columns": []}, "profile= names the column"),
        ({"representation": "indexed"}, "ragged in both ways only"),
        ({"profile_columns": ["lat"]}, "is not one of profiles, too"),
        ({"profile": "nothing"}, "0 columns 'nothing'"),
    ]:
        with pytest.raises(hs.InvalidInputError, match=message):
            cf.write_observations(tmp_path / "wrong.nc", table, feature_type, **{**given, **change})
    with pytest.raises(hs.InvalidInputError, match="not for timeSeries"):
        cf.write_observations(tmp_path / "wrong.nc", table, "timeSeries", instance=instance, profile="cast")
