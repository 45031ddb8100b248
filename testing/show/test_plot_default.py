"""What is drawn if little is said: defaults of files, points, complex numbers, and errors that name what can be drawn."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.objects.plot_points
import netCDF4
import numpy as np
import plot_files
import pytest
from hyperslab.objects import plot_choice
from matplotlib.figure import Figure


def test_signals_of_nexus_have_their_axes(tmp_path: pathlib.Path) -> None:
    """In each of the ways to draw them: by the model, by the dataset, and as the default of the file."""
    path = plot_files.nexus(tmp_path / "n.nxs")
    f = hs.open(path)
    for figure in (hs.models.nexus.open(path).plot(), f["/entry/data/counts"].plot(), hyperslab.objects.plot.plot(plot_choice.default(f))):
        axes = figure.axes[0]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("energy [keV]", "angle [deg]")
        mesh = axes.collections[0]
        assert mesh.colorbar.ax.get_ylabel() == "counts [counts]"
        np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], np.linspace(7, 9, 41))
        np.testing.assert_allclose(mesh.get_coordinates()[:, 0, 1], np.linspace(-15.5, 14.5, 31))
    line = f["/entry/data/counts"].plot(dims=1, index=10).axes[0].lines[0]
    np.testing.assert_allclose(line.get_xdata(), np.linspace(7, 9, 41)[:-1] + 0.025)


def test_a_broken_default_of_nexus_is_an_error(tmp_path: pathlib.Path) -> None:
    path = plot_files.nexus(tmp_path / "n.nxs")
    with h5py.File(path, "r+") as f:
        f["entry"].attrs["default"] = "nothing"
    with pytest.raises(hs.CorruptError, match="nothing"):
        plot_choice.default(hs.open(path))


def test_the_only_variable_is_the_default(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.climate(tmp_path / "c.nc", "standard"))
    assert plot_choice.default(f).name == "/t"
    with h5py.File(tmp_path / "one.h5", "w") as one:
        one["a/b/values"], one["name"], one["count"] = np.arange(6.0), "text", 6
    assert plot_choice.default(hs.open(tmp_path / "one.h5")).name == "/a/b/values"


def test_if_it_is_not_clear_the_error_lists_what_can_be_drawn(tmp_path: pathlib.Path) -> None:
    with pytest.raises(hs.InvalidInputError, match=r"several datasets can be drawn: choose one of /bt, /quality, /bits \("):
        plot_choice.default(hs.open(plot_files.swath(tmp_path / "s.nc")))
    with h5py.File(tmp_path / "many.h5", "w") as f:
        for number in range(12):
            f[f"g/d{number:02d}"] = [1, 2]
    with pytest.raises(hs.InvalidInputError) as raised:
        plot_choice.default(hs.open(tmp_path / "many.h5"))
    assert str(raised.value).count("/g/d") == 10 and " … (" in str(raised.value) and "/g/d09" in str(raised.value)
    with h5py.File(tmp_path / "none.h5", "w") as f:
        f["text"] = "text"
    with pytest.raises(hs.InvalidInputError, match="no dataset of this file can be drawn"):
        plot_choice.default(hs.open(tmp_path / "none.h5"))


@pytest.mark.parametrize(
    ("name", "says"), [("scalar", "is a single number"), ("text", "has other values than numbers"), ("records", "has the fields a"), ("empty", "is empty")]
)
def test_what_cannot_be_drawn_names_what_can(tmp_path: pathlib.Path, name: str, says: str) -> None:
    f = hs.open(plot_files.arrays(tmp_path / "a.h5"))
    with pytest.raises(hs.InvalidInputError, match=f"^/{name} {says}.*: choose one of /cube, /kinds, /psi, /umap") as raised:
        f[name].plot()
    assert "\n" not in str(raised.value)


def test_two_columns_are_points(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(plot_files.arrays(tmp_path / "a.h5"), "r+") as f:
        f["umap"][5] = np.nan
        points = f["umap"][...]
    f = hs.open(tmp_path / "a.h5")
    axes = f["umap"].plot().axes[0]
    known = np.delete(points, 5, axis=0)
    np.testing.assert_array_equal(np.stack(axes.lines[0].get_data(), axis=1), known)
    assert axes.lines[0].get_linestyle() == "None" and [text.get_text() for text in axes.texts] == ["1 of 600 points are missing"]
    assert f["umap"].plot(dims=(0, 1)).axes[0].collections, "dimensions that are named are the axes of an image"
    for options in ({"vmax": 3}, {"log": True}, {"cmap": "magma"}, {"coastlines": True}):
        with pytest.raises(hs.InvalidInputError):
            f["umap"].plot(**options)
    monkeypatch.setattr(hyperslab.objects.plot_points, "MAX_POINTS", 100)
    monkeypatch.setattr(hyperslab.objects.plot_cells, "BLOCK_VALUES", 64)
    mesh = f["umap"].plot().axes[0].collections[0]
    counts, *edges = np.histogram2d(*known.T, bins=300)
    np.testing.assert_array_equal(np.ma.filled(mesh.get_array(), 0), counts.T)
    np.testing.assert_allclose(mesh.get_coordinates()[0, :, 0], edges[0])
    np.testing.assert_allclose(mesh.get_coordinates()[:, 0, 1], edges[1])


def test_bounds_of_cells_and_dimensions_of_netcdf_are_no_points(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "b.nc", "w") as n:
        n.createDimension("time", 5)
        n.createDimension("bnds", 2)
        plot_files.variable(n, "time", "f8", ("time",), np.arange(5.0), units="days since 2000-01-01", bounds="time_bnds")
        plot_files.variable(n, "time_bnds", "f8", ("time", "bnds"), np.arange(5.0)[:, None] + [-0.5, 0.5])
        plot_files.variable(n, "pair", "f8", ("time", "bnds"), np.zeros((5, 2)))
    f = hs.open(tmp_path / "b.nc")
    assert all(f[name].plot().axes[0].collections for name in ("time_bnds", "pair"))
    assert plot_choice.default(f).name == "/pair"


def test_complex_numbers_have_two_panels(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.arrays(tmp_path / "a.h5"))
    values = f["psi"][...]
    figure = f["psi"].plot()
    modulus, phase = (axes.collections[0] for axes in figure.axes)
    np.testing.assert_allclose(modulus.get_array(), np.abs(values))
    np.testing.assert_allclose(phase.get_array(), np.angle(values))
    assert [mesh.colorbar.ax.get_ylabel() for mesh in (modulus, phase)] == ["modulus of psi [m**-1]", "phase of psi [rad]"]
    assert (phase.norm.vmin, phase.norm.vmax) == (-np.pi, np.pi) and figure.get_suptitle() == "/psi"
    line = f["psi"].plot(dims=1, index=7).axes[1].lines[0]
    np.testing.assert_allclose(line.get_ydata(), np.angle(values[7]))
    given = Figure().subplots()
    f["psi"].plot(ax=given, vmax=0.5)
    assert given.collections[0].norm.vmax == 0.5 and given.figure.axes[0] is given
    assert f["psi"].plot(kind="histogram", bins=5).axes[0].patches[0].get_data().values.sum() == values.size


def test_coordinates_are_drawn_by_their_index(tmp_path: pathlib.Path) -> None:
    axes = hs.open(plot_files.climate(tmp_path / "c.nc", "standard"))["lat"].plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("index of lat", "lat [degrees_north]")
    assert axes.lines[0].get_xdata().tolist() == list(range(12))


@pytest.mark.parametrize(("index", "title"), [((), "/cube (slice 0 of dimension 0)"), (3, "/cube (slice 3 of dimension 0)")])
def test_the_title_says_which_slice_is_drawn(tmp_path: pathlib.Path, index: Any, title: str) -> None:
    assert hs.open(plot_files.arrays(tmp_path / "a.h5"))["cube"].plot(index=index).axes[0].get_title() == title


def test_names_and_units_of_hdf_eos(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "e.h5", "w") as f:
        f["a"], f["b"] = np.arange(4.0), np.arange(4.0)
        f["a"].attrs.update({"LongName": "ozone", "Units": "DU"})
        f["b"].attrs.update({"Title": b"cloud fraction"})
    f = hs.open(tmp_path / "e.h5")
    assert [f[name].plot().axes[0].get_ylabel() for name in "ab"] == ["ozone [DU]", "cloud fraction"]


def test_neighbors_that_cannot_be_read_do_not_matter(tmp_path: pathlib.Path) -> None:
    """A number of 16 bytes that numpy lacks, and an attribute of it."""
    with h5py.File(tmp_path / "q.h5", "w") as f:
        f["x"], f["lat"] = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
        kind = h5py.h5t.IEEE_F64LE.copy()
        kind.set_size(16)
        kind.set_precision(128)
        kind.set_fields(127, 112, 15, 0, 112)
        kind.set_ebias(16383)
        space = h5py.h5s.create_simple((2, 3))
        h5py.h5d.create(f.id, b"quadruple", kind, space)
        h5py.h5a.create(f["lat"].id, b"units", kind, h5py.h5s.create(h5py.h5s.SCALAR))
    f = hs.open(tmp_path / "q.h5")
    with pytest.raises(hs.UnsupportedError):
        f["quadruple"].plot()
    assert f["x"].plot().axes[0].collections
    assert plot_choice.default(f).name == "/x"


def test_the_only_array_of_a_table_is_drawn(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "swath.nc", "w") as f:
        f.Conventions = "CF-1.8"
        f.createDimension("y", 3)
        f.createDimension("x", 4)
        for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
            f.createVariable(name, "f8", ("y", "x"))[:] = np.arange(12.0).reshape(3, 4)
            f[name].units = units
        f.createVariable("bt", "f4", ("y", "x"))[:] = np.arange(12.0).reshape(3, 4)
        f["bt"].coordinates = "lat lon"
    with hs.open(tmp_path / "swath.nc") as f:
        arrays = {array.path for array in f.models[0].arrays}
        assert plot_choice.of_table(f, "y_x", arrays).name == "/bt"
    with netCDF4.Dataset(tmp_path / "swath.nc", "a") as f:
        f.createVariable("wind", "f4", ("y", "x"))[:] = 1
    with hs.open(tmp_path / "swath.nc") as f, pytest.raises(hs.InvalidInputError, match="y_x is a table of 2 arrays: choose one of /bt, /wind"):
        plot_choice.of_table(f, "y_x", {array.path for array in f.models[0].arrays})
