"""Dates in pictures: ticks of each calendar, judged by cftime and numpy."""

from __future__ import annotations

import pathlib
from typing import Any

import cftime
import hyperslab as hs
import matplotlib as mpl
import netCDF4
import numpy as np
import plot_files
import pytest
from hyperslab.objects.plot_dates import STANDARD, labels, ticks
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import dates as matplotlib_dates

CALENDARS = ["noleap", "all_leap", "360_day", "julian", "standard", "proleptic_gregorian"]


def labels_of(axis: Any) -> list[str]:
    axis.figure.draw_without_rendering()
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_ticks_are_at_their_dates(tmp_path: pathlib.Path, calendar: str) -> None:
    f = hs.open(plot_files.climate(tmp_path / "c.nc", calendar))
    axes = f["t"].plot(dims="time").axes[0]
    given = labels_of(axes.xaxis)
    assert 3 <= len(given) <= 8
    values = f["t"][:, 0, 0]
    for text, tick in zip(given, axes.xaxis.get_ticklocs(), strict=True):
        year, month, day = map(int, text.split("-"))
        number = cftime.date2num(cftime.datetime(year, month, day, calendar=calendar), "days since 2000-02-27", calendar)
        line = axes.lines[0]
        at = np.asarray(line.get_xdata(orig=False), float)
        assert line.get_ydata()[int(np.argmin(np.abs(at - tick)))] == values[int(number)] and np.abs(at - tick).min() < 1e-9


def test_a_calendar_without_leap_days_has_none(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.climate(tmp_path / "n.nc", "noleap"))
    axes = f["t"].plot(dims="time").axes[0]
    assert axes.get_xlabel() == "time [noleap]" and "2000-03-01" in labels_of(axes.xaxis)
    assert set(np.diff(axes.lines[0].get_xdata())) == {1.0}, "28 February is a day before 1 March"
    axes = f["t"].plot(dims=("time", "lat")).axes[0]
    edges = axes.collections[0].get_coordinates()[:, 0, 1]
    assert set(np.diff(edges)) == {1.0} and "2000-03-01" in labels_of(axes.yaxis)
    assert f["t"].plot(index=2).axes[0].get_title() == "/t (time = 2000-03-01)"


def test_february_of_360_days_has_30(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.climate(tmp_path / "n.nc", "360_day"))
    assert f["t"].plot(index=3).axes[0].get_title() == "/t (time = 2000-02-30)"


@pytest.mark.parametrize("calendar", CALENDARS)
def test_times_themselves_are_dates(tmp_path: pathlib.Path, calendar: str) -> None:
    f = hs.open(plot_files.climate(tmp_path / "c.nc", calendar))
    axes = f["time"].plot().axes[0]
    assert axes.get_xlabel() == "index of time" and axes.lines[0].get_xdata().tolist() == list(range(40))
    name = "time" if "gregorian" in calendar or calendar == "standard" else f"time [{calendar}]"
    assert axes.get_ylabel() == name and "2000-03-01" in labels_of(axes.yaxis)
    histogram = f["time"].plot(kind="histogram", bins=4).axes[0]
    assert "2000-03-01" in labels_of(histogram.xaxis) and histogram.patches[0].get_data().values.tolist() == [10] * 4


def test_an_image_of_times_has_dates_in_its_bar(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "i.nc", "w") as n:
        n.createDimension("y", 3)
        n.createDimension("x", 4)
        hours = np.ma.masked_equal(np.arange(12.0).reshape(3, 4) * 6, 6.0)
        plot_files.variable(n, "seen", "f8", ("y", "x"), hours, -1.0, units="hours since 2021-12-31")
    bar = hs.open(tmp_path / "i.nc")["seen"].plot().axes[0].collections[0].colorbar
    assert bar.ax.get_ylabel() == "seen" and "2022-01-01 00:00" in labels_of(bar.ax.yaxis)


def test_another_first_day_of_matplotlib(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.climate(tmp_path / "c.nc", "standard"))
    before = [labels_of(f[name].plot(**options).axes[0].xaxis) for name, options in (("t", {"dims": "time"}), ("time", {"kind": "histogram"}))]
    matplotlib_dates._reset_epoch_test_example()
    try:
        with mpl.rc_context({"date.epoch": "2000-01-01"}):
            after = [labels_of(f[name].plot(**options).axes[0].xaxis) for name, options in (("t", {"dims": "time"}), ("time", {"kind": "histogram"}))]
    finally:
        matplotlib_dates._reset_epoch_test_example()
    assert before == after and "2000-03-01" in before[0]


def test_without_cftime_counts_are_drawn(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = hs.open(plot_files.climate(tmp_path / "n.nc", "noleap"))
    monkeypatch.setattr("hyperslab.objects.plot_dates.importlib.util.find_spec", lambda name: None)
    axes = f["t"].plot(dims="time").axes[0]
    assert axes.get_xlabel() == "time [days since 2000-02-27, noleap]" and axes.lines[0].get_xdata().tolist() == list(range(40))


@given(st.floats(-3e6, 3e6), st.floats(-5, 6.5), st.sampled_from([STANDARD, "noleap", "360_day"]))
def test_ticks_are_few_in_order_and_tell_themselves_apart(low: float, power: float, calendar: str) -> None:
    if calendar != STANDARD and low < -700_000:
        low = -low  # cftime's years before the first one have rules of their own
    high = low + 10**power
    found = ticks(low, high, calendar)
    assert len(found) <= 9 and (np.diff(found) > 0).all()
    assert not len(found) or (low - 1e-4 <= found[0] and found[-1] <= high + 1e-4)
    assert len(set(labels(found, calendar))) == len(found)
    if power > -3:
        assert len(found) >= 1
