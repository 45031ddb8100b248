"""Profiles: values against pressures that each profile has its own of."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.objects.plot_profiles
import netCDF4
import numpy as np
import plot_files
import pytest


def known(f: Any, profile: int) -> tuple[Any, Any]:
    pressure, temperature = (np.where(f[name][profile] == 99999, np.nan, f[name][profile]) for name in ("PRES", "TEMP"))
    return pressure[np.isfinite(pressure)], temperature[np.isfinite(pressure)]


def test_a_few_profiles_are_lines_that_go_down(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.argo(tmp_path / "a.nc", 5))
    axes = f["TEMP"].plot().axes[0]
    assert axes.yaxis_inverted() and (axes.get_xlabel(), axes.get_ylabel()) == ("temperature [degree_Celsius]", "pressure [decibar]")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [f"2018-{day}" for day in ("06-13", "06-23", "07-03", "07-13", "07-23")]
    for profile, line in enumerate(axes.lines):
        pressure, temperature = known(f, profile)
        np.testing.assert_array_equal(line.get_ydata(), pressure)
        np.testing.assert_array_equal(line.get_xdata(), temperature)


@pytest.mark.parametrize("max_levels", [350, 7])
def test_more_are_a_section_over_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, max_levels: int) -> None:
    monkeypatch.setattr(hyperslab.objects.plot_profiles, "MAX_LEVELS", max_levels)
    f = hs.open(plot_files.argo(tmp_path / "a.nc", 60))
    figure = f["TEMP"].plot()
    axes = figure.axes[0]
    figure.draw_without_rendering()
    assert axes.yaxis_inverted() and axes.get_xlabel() == "time" and axes.get_xticklabels()[0].get_text() == "2018-07"
    mesh = axes.collections[0]
    corners, values = mesh.get_coordinates(), mesh.get_array()
    start = np.datetime64("1950-01-01").astype("datetime64[D]").astype(int)
    for profile in range(60):
        pressure, temperature = known(f, profile)
        left, right = corners[0, 2 * profile, 0], corners[0, 2 * profile + 1, 0]
        assert left < start + 25000 + 10 * profile < right and right - left == pytest.approx(10)
        edges, shown = corners[:, 2 * profile, 1], values[:, 2 * profile]
        np.testing.assert_array_equal(edges, corners[:, 2 * profile + 1, 1])
        assert np.ma.count(shown) == -(-len(pressure) // -(-len(pressure) // max_levels))
        for cell in range(np.ma.count(shown)):
            inside = temperature[(pressure > edges[cell]) & (pressure < edges[cell + 1])]
            assert len(inside) and shown[cell] in (inside.min(), inside.max())
    between = np.ma.getmaskarray(values)[:, 1::2]
    assert between.all() and (corners[:, 1:-1:2, 0] == corners[:, 2::2, 0]).all(), "nothing is drawn between profiles"


def test_of_very_many_profiles_each_nth(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hyperslab.objects.plot_profiles, "MAX_PROFILES", 20)
    f = hs.open(plot_files.argo(tmp_path / "a.nc", 50))
    axes = f["TEMP"].plot().axes[0]
    assert [text.get_text() for text in axes.texts] == ["each 3th of 50 profiles"]
    _, temperature = known(f, 3)
    assert axes.collections[0].get_array()[: len(temperature), 2].tolist() == temperature.tolist()


def test_one_profile_of_several(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.argo(tmp_path / "a.nc", 12))
    axes = f["TEMP"].plot(dims="N_LEVELS", index=4).axes[0]
    assert axes.lines[0].get_ydata().tolist() == known(f, 4)[0].tolist() and axes.yaxis_inverted()
    assert axes.get_title() == "/TEMP (N_PROF 4)"
    across = f["TEMP"].plot(dims="N_PROF", index=2).axes[0]
    assert across.get_xlabel() == "N_PROF" and across.lines[0].get_ydata().tolist() == f["TEMP"][:, 2].tolist()
    plain = f["TEMP"].plot(dims=("N_PROF", "N_LEVELS")).axes[0]
    assert (plain.get_xlabel(), plain.get_ylabel()) == ("N_LEVELS", "N_PROF"), "dimensions that are named are the axes"


def test_a_height_goes_up_and_a_pressure_of_the_air_is_no_coordinate(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "s.nc", "w") as n:
        n.createDimension("station", 3)
        n.createDimension("level", 9)
        heights = np.arange(9) * 100.0 + np.arange(3)[:, None]
        plot_files.variable(n, "z", "f8", ("station", "level"), heights, units="m", positive="up")
        plot_files.variable(n, "t", "f8", ("station", "level"), 20 - heights / 100, units="K")
        n.createDimension("hour", 9)
        plot_files.variable(n, "pressure", "f8", ("station", "hour"), 1000 + heights, units="hPa", standard_name="air_pressure")
        plot_files.variable(n, "wind", "f8", ("station", "hour"), heights, units="m s-1")
    f = hs.open(tmp_path / "s.nc")
    axes = f["t"].plot().axes[0]
    assert not axes.yaxis_inverted() and axes.get_ylabel() == "z [m]" and axes.lines[1].get_ydata()[0] == 1
    assert f["wind"].plot().axes[0].get_xlabel() == "hour"


def test_depth_is_upright_by_default(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "d.nc", "w") as n:
        n.createDimension("lat", 4)
        n.createDimension("depth", 5)
        plot_files.variable(n, "depth", "f8", ("depth",), [0, 10, 30, 200, 1000], units="m", axis="Z", positive="down")
        plot_files.variable(n, "t", "f8", ("lat", "depth"), np.arange(20.0).reshape(4, 5))
        plot_files.variable(n, "n", "f8", ("lat", "depth"), np.arange(20.0).reshape(4, 5))
    f = hs.open(tmp_path / "d.nc")
    axes = f["t"].plot().axes[0]
    assert axes.yaxis_inverted() and axes.get_ylabel() == "depth [m]"
    np.testing.assert_array_equal(axes.collections[0].get_array(), f["t"][...].T)
    assert not np.ma.getmaskarray(axes.collections[0].get_array()).any(), "levels that are far from each other have no gap between them"
    assert f["t"].plot(dims=("lat", "depth")).axes[0].get_xlabel() == "depth [m]"


def test_the_depth_of_the_ground_is_not_where_values_are(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "b.nc", "w") as n:
        for name in ("y", "x"):
            n.createDimension(name, 6)
            plot_files.variable(n, name, "f8", (name,), np.arange(6.0), units="km")
        plot_files.variable(n, "bottom", "f8", ("y", "x"), np.arange(36.0).reshape(6, 6), units="m", standard_name="depth")
        plot_files.variable(n, "t", "f8", ("y", "x"), np.zeros((6, 6)))
    axes = hs.open(tmp_path / "b.nc")["t"].plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [km]", "y [km]")


def test_profiles_of_plain_hdf5(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "p.h5", "w") as f:
        f["z"], f["v"] = np.arange(20.0) * 5 + [[0], [1]], np.arange(40.0).reshape(2, 20)
        f["v"].attrs["coordinates"], f["z"].attrs["positive"] = "z", "down"
    axes = hs.open(tmp_path / "p.h5")["v"].plot().axes[0]
    assert axes.yaxis_inverted() and [text.get_text() for text in axes.get_legend().get_texts()] == ["dimension 0 0", "dimension 0 1"]


def test_options_of_profiles(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "p.h5", "w") as f:
        levels = np.arange(20.0) * 5 + np.arange(12)[:, None]
        f["z"], f["v"], f["none"] = levels, levels - 10, np.full((12, 20), np.nan)
        f["v"][0, 0] = 5000
        for name in ("v", "none"):
            f[name].attrs["coordinates"] = "z"
        f["z"].attrs["positive"] = "down"
    f = hs.open(tmp_path / "p.h5")
    values = f["v"][...]
    mesh = f["v"].plot(robust=True).axes[0].collections[0]
    np.testing.assert_allclose((mesh.norm.vmin, mesh.norm.vmax), np.percentile(values, [2, 98]))
    axes = f["v"].plot(dims=1, robust=True).axes[0]
    np.testing.assert_allclose(axes.get_xlim(), np.percentile(values[0], [2, 98]))
    assert f["v"].plot(dims=1, log=True).axes[0].get_xscale() == "log"
    assert [text.get_text() for text in f["none"].plot().axes[0].texts] == ["all values are missing"]
    with pytest.raises(hs.InvalidInputError, match="no value above 0"):
        f["none"].plot(log=True)


def test_times_along_a_profile_are_dates(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as n:
        n.createDimension("cast", 2)
        n.createDimension("level", 9)
        plot_files.variable(n, "z", "f8", ("cast", "level"), np.arange(9.0) + np.array([[0], [0.5]]), units="m", positive="down")
        plot_files.variable(n, "seen", "f8", ("cast", "level"), np.arange(18.0).reshape(2, 9), units="days since 2001-02-25")
    figure = hs.open(tmp_path / "t.nc")["seen"].plot()
    figure.draw_without_rendering()
    assert "2001-03-01" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
