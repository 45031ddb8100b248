"""Flags, enumerations and booleans in pictures: a color and a name for each value."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.objects.plot
import netCDF4
import numpy as np
import plot_files
import pytest

NAMES = ["good", "probably_good", "bad", "missing"]


def bar_of(figure: Any) -> Any:
    return figure.axes[0].collections[0].colorbar


def bar_names(figure: Any) -> list[str]:
    return [label.get_text() for label in bar_of(figure).ax.get_yticklabels()]


def flags(tmp_path: pathlib.Path, values: Any, **attributes: Any) -> Any:
    with netCDF4.Dataset(tmp_path / "flags.nc", "w") as n:
        for number, extent in enumerate(np.shape(values)):
            n.createDimension(f"d{number}", extent)
        dims = tuple(f"d{number}" for number in range(np.ndim(values)))
        plot_files.variable(n, "q", np.asarray(values).dtype.str[1:], dims, values, **attributes)
    return hs.open(tmp_path / "flags.nc")["q"]


def test_flags_have_names_and_colors_of_their_own(tmp_path: pathlib.Path) -> None:
    with hs.open(plot_files.swath(tmp_path / "swath.nc")) as f:
        figure, stored = f["quality"].plot(), f["quality"][...]
    assert bar_names(figure) == NAMES and bar_of(figure).ax.get_ylabel() == "quality"
    mesh = figure.axes[0].collections[0]
    np.testing.assert_array_equal(mesh.get_array(), stored)
    colors = {tuple(mesh.cmap(mesh.norm(value))) for value in range(4)}
    assert len(colors) == 4 and mesh.cmap.N == 4


def test_all_names_stay_and_values_without_one_are_seen(tmp_path: pathlib.Path) -> None:
    """A slice that lacks a category has the same colors as others, and a value that has no name is none of those that have."""
    figure = flags(tmp_path, np.array([[0, 1], [1, 7]], "i1"), **plot_files.FLAGS).plot()
    assert bar_names(figure) == [*NAMES, "7 (no name)"]
    assert figure.axes[0].collections[0].get_array().tolist() == [[0, 1], [1, 4]]


def test_bits_are_named_by_their_combinations(tmp_path: pathlib.Path) -> None:
    values = np.array([[0, 1], [2, 3]], "u1")
    figure = flags(tmp_path, values, flag_masks=np.array([1, 2], "u1"), flag_meanings="cloud ice").plot()
    assert bar_names(figure) == ["none", "cloud", "ice", "cloud + ice"]
    both = {"flag_masks": np.array([1, 12, 12], "u1"), "flag_values": np.array([1, 4, 8], "u1"), "flag_meanings": "cloud low high"}
    figure = flags(tmp_path, np.array([[1, 5], [8, 9]], "u1"), **both).plot()
    assert bar_names(figure) == ["cloud", "cloud + low", "high", "cloud + high"]


def test_missing_flags_are_gaps(tmp_path: pathlib.Path) -> None:
    figure = flags(tmp_path, np.ma.masked_equal(np.array([[0, 1], [2, -1]], "i1"), -1), fill=-1, **plot_files.FLAGS).plot()
    assert figure.axes[0].collections[0].get_array().mask.tolist() == [[False, False], [False, True]]
    assert bar_names(figure) == NAMES


def test_a_line_of_flags_has_their_names(tmp_path: pathlib.Path) -> None:
    values = np.array([0, 3, 1, 1, 2], "i1")
    axes = flags(tmp_path, values * 10, **{**plot_files.FLAGS, "flag_values": np.array([0, 10, 20, 30], "i1")}).plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES
    assert axes.lines[0].get_ydata().tolist() == values.tolist() and axes.lines[0].get_drawstyle() == "steps-mid"


def test_a_thinned_picture_shows_values_of_the_file(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An extreme of a category means nothing: each cell shows the value in its middle."""
    monkeypatch.setattr(hyperslab.objects.plot, "MAX_IMAGE_CELLS", 10)
    values = np.random.default_rng(1).integers(0, 4, (31, 41)).astype("i1")
    figure = flags(tmp_path, values, **plot_files.FLAGS).plot()
    shown = figure.axes[0].collections[0].get_array()
    assert shown.shape == (8, 9)
    np.testing.assert_array_equal(shown[:7, :8], values[2::4, 2::5][:7, :8])


def test_what_only_numbers_have_draws_numbers(tmp_path: pathlib.Path) -> None:
    mesh = flags(tmp_path, np.array([[0, 1], [2, 3]], "i1"), **plot_files.FLAGS).plot(vmax=2).axes[0].collections[0]
    assert mesh.norm.vmax == 2 and mesh.colorbar.extend == "max"


def test_a_colormap_may_be_chosen(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "k.h5", "w") as f:
        f["b"] = np.array([[True, False], [False, False]])
    figure = hs.open(tmp_path / "k.h5")["b"].plot(cmap="magma")
    assert bar_names(figure) == ["FALSE", "TRUE"] and figure.axes[0].collections[0].cmap(0)[:3] != figure.axes[0].collections[0].cmap(1)[:3]
    assert tuple(figure.axes[0].collections[0].cmap(0)) == pytest.approx((0.001462, 0.000466, 0.013866, 1.0))


def test_too_many_values_for_colors_are_numbers(tmp_path: pathlib.Path) -> None:
    values = np.arange(100, dtype="i2").reshape(10, 10)
    names = " ".join(f"kind{number}" for number in range(100))
    mesh = flags(tmp_path, values, flag_values=np.arange(100, dtype="i2"), flag_meanings=names).plot().axes[0].collections[0]
    np.testing.assert_array_equal(mesh.get_array(), values)
    assert mesh.cmap.name == "viridis"


def test_flags_that_no_float_holds_have_no_names(tmp_path: pathlib.Path) -> None:
    values = np.array([[1, 2**60 + 1], [2, 3]], "i8")
    mesh = flags(tmp_path, values, flag_masks=np.array([1, 2], "i8"), flag_meanings="a b").plot().axes[0].collections[0]
    assert mesh.cmap.name == "viridis"
