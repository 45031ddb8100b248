"""Files that the model `cf` writes, against the IOOS compliance checker and cf-xarray."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import cf_xarray  # noqa: F401
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
import xarray

cf = hs.models.cf
TITLES = {"title": "a test", "history": "written by a test", "institution": "none", "source": "numbers", "references": "none", "comment": "none"}
LAT = {"units": "degrees_north", "standard_name": "latitude", "axis": "Y"}
LON = {"units": "degrees_east", "standard_name": "longitude", "axis": "X"}
#: What the checker says of correct files of ours: https://cfconventions.org allows each.
ALLOWED = ("units_metadata",)


def findings(path: pathlib.Path) -> list[str]:
    checker = pathlib.Path(sys.executable).with_name("compliance-checker")
    report = path.with_suffix(".json")
    done = subprocess.run([checker, "--test=cf:1.11", "--criteria=strict", "--format=json", f"--output={report}", path], capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    checked: dict[str, Any] = json.loads(report.read_text())["cf:1.11"]
    assert checked["possible_points"] > 20
    found = [message for level in ("high", "medium", "low") for finding in checked[f"{level}_priorities"] for message in finding["msgs"]]
    return [message for message in found if not any(allowed in message for allowed in ALLOWED)]


def gridded(path: pathlib.Path, **wrong: Any) -> None:
    with cf.create(path) as f:
        f.attrs.update(TITLES)
        for name, size in (("time", None), ("lat", 2), ("lon", 3)):
            f.create_dimension(name, size)
        days = np.arange("2001-01-01", "2001-01-04", dtype="M8[D]")
        about = {"standard_name": "time", "axis": "T"}
        f.create_variable("time", ["time"], data=days[:2] + np.timedelta64(12, "h"), bounds=np.stack([days[:-1], days[1:]], 1), attrs=about)
        f.create_variable("lat", ["lat"], data=[-45.0, 45.0], bounds=[[-90.0, 0.0], [0.0, 90.0]], attrs=LAT)
        f.create_variable("lon", ["lon"], data=[60.0, 180.0, 300.0], bounds=[[0.0, 120.0], [120.0, 240.0], [240.0, 360.0]], attrs=LON)
        f.create_variable("height", (), data=2.0, attrs={"units": "m", "standard_name": "height", "axis": "Z", "positive": "up"})
        f.create_grid_mapping("crs", "latitude_longitude", earth_radius=6371229.0)
        f.create_variable(
            "tas",
            ["time", "lat", "lon"],
            "f4",
            np.full((2, 2, 3), 280.0),
            **{
                "attrs": {"units": "K", "standard_name": "air_temperature"},
                "coordinates": ["height"],
                "cell_methods": [cf.CellMethod(("area",), "mean"), cf.CellMethod(("time",), "maximum", intervals=(cf.Interval(3.0, "hr"),))],
                "grid_mapping": "crs",
                **wrong,
            },
        )


def test_a_field_passes_the_checker(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "field.nc"
    gridded(path)
    assert findings(path) == []
    with xarray.open_dataset(path) as opened:
        assert opened.cf.bounds == {
            "time": ["time_bnds"],
            "lat": ["lat_bnds"],
            "lon": ["lon_bnds"],
            "T": ["time_bnds"],
            "Y": ["lat_bnds"],
            "X": ["lon_bnds"],
            "latitude": ["lat_bnds"],
            "longitude": ["lon_bnds"],
        }
        assert opened.cf.grid_mapping_names == {"latitude_longitude": ["crs"]}
        assert opened.cf["tas"].cf.coordinates["vertical"] == ["height"]


def test_the_checker_finds_what_is_wrong(tmp_path: pathlib.Path) -> None:
    """The judge can fail."""
    path = tmp_path / "wrong.nc"
    gridded(path, attrs={"units": "parsec per hour", "standard_name": "air_temperature"})
    assert findings(path)


@pytest.mark.parametrize("representation", ["contiguous", "indexed"])
@pytest.mark.parametrize("feature_type", ["profile", "timeSeries", "trajectory"])
def test_observations_pass_the_checker(tmp_path: pathlib.Path, feature_type: str, representation: str) -> None:
    path, count = tmp_path / "observations.nc", 12
    owner = np.arange(count) % 3
    of_instance = {"profile": ["lat", "lon", "time"], "timeSeries": ["lat", "lon"], "trajectory": []}[feature_type]
    column = {name: (lambda name: owner if name in of_instance else np.arange(count))(name) for name in ("lat", "lon", "time")}
    table = pa.table(
        {
            "name": [f"n{number}" for number in owner],
            "lat": column["lat"] * 1.5,
            "lon": column["lon"] * 2.5,
            "time": np.datetime64("2020-01-01", "s") + column["time"] * np.timedelta64(60, "s"),
            "depth": np.arange(count) / 2,
            "temp": np.linspace(1, 9, count),
        }
    )
    if feature_type != "profile":
        table = table.drop_columns("depth")
    with cf.create(path) as f:
        f.attrs.update(TITLES)
        cf.write_observations(
            f,
            table,
            feature_type,
            instance="name",
            instance_columns=of_instance,
            coordinates=[name for name in ("time", "lat", "lon", "depth") if name not in of_instance and name in table.column_names],
            attrs={
                "name": {"long_name": "identifier"},
                "lat": LAT,
                "lon": LON,
                "time": {"standard_name": "time", "axis": "T"},
                **({"depth": {"units": "m", "standard_name": "depth", "positive": "down", "axis": "Z"}} if feature_type == "profile" else {}),
                "temp": {"units": "degC", "standard_name": "sea_water_temperature"},
            },
            representation=representation,
        )
    assert findings(path) == []


@pytest.mark.parametrize("feature_type", ["timeSeriesProfile", "trajectoryProfile"])
def test_profiles_of_instances_pass_the_checker(tmp_path: pathlib.Path, feature_type: str) -> None:
    path, count = tmp_path / "observations.nc", 12
    profile = np.arange(count) // 2
    owner = profile % 3
    of_place = owner if feature_type == "timeSeriesProfile" else profile
    table = pa.table(
        {
            "name": [f"n{number}" for number in owner],
            "cast": profile,
            "lat": of_place * 1.5,
            "lon": of_place * 2.5,
            "time": np.datetime64("2020-01-01", "s") + profile * np.timedelta64(60, "s"),
            "depth": np.arange(count) % 2 / 2,
            "temp": np.linspace(1, 9, count),
        }
    )
    with cf.create(path) as f:
        f.attrs.update(TITLES)
        cf.write_observations(
            f,
            table,
            feature_type,
            instance="name",
            instance_columns=["lat", "lon"] if feature_type == "timeSeriesProfile" else [],
            profile="cast",
            profile_columns=["time"] if feature_type == "timeSeriesProfile" else ["time", "lat", "lon"],
            coordinates=["depth"],
            attrs={
                "name": {"long_name": "identifier"},
                "cast": {"long_name": "number of the cast"},
                "lat": LAT,
                "lon": LON,
                "time": {"standard_name": "time", "axis": "T"},
                "depth": {"units": "m", "standard_name": "depth", "positive": "down", "axis": "Z"},
                "temp": {"units": "degC", "standard_name": "sea_water_temperature"},
            },
        )
    # CF 1.11 (chapter 9.5) allows these two types two variables with cf_role, one for each level, and so does the checker's own test of ragged
    # arrays (`is_dataset_valid_ragged_array_repr_featureType`). Its newer check of CF 1.11 counts one in a file of any type.
    counted = "There may only be one variable containing the cf_role attribute. Currently the following variables have cf_role attributes: ['name', 'cast']"
    assert findings(path) == [counted]
    with xarray.open_dataset(path) as opened:
        roles = opened.cf.cf_roles
        assert roles["profile_id"] == ["cast"] and opened.attrs["featureType"] == feature_type
        sizes = opened["row_size"].values
        assert np.array_equal(np.repeat(opened["cast"].values, sizes), cf.open(path).table("observations").to_arrow()["cast"])
