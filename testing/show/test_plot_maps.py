"""Maps of swaths and curvilinear grids: where cells lie, judged by xarray and by the places of single cells."""

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
import xarray as xr
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.path import Path


def mesh_of(figure: Any) -> QuadMesh:
    found = [one for one in figure.axes[0].collections if isinstance(one, QuadMesh)]
    assert len(found) == 1
    return found[0]


def cell_of(mesh: Any, row: int, column: int) -> Path:
    corners = mesh.get_coordinates()
    return Path([corners[row, column], corners[row, column + 1], corners[row + 1, column + 1], corners[row + 1, column]])


def test_a_swath_is_the_mesh_of_xarray(tmp_path: pathlib.Path) -> None:
    path = plot_files.swath(tmp_path / "swath.nc")
    figure = hs.open(path)["bt"].plot()
    axes = figure.axes[0]
    with xr.open_dataset(path) as dataset:
        judge = dataset["bt"].plot(x="lon", y="lat", ax=Figure().subplots())
    np.testing.assert_allclose(mesh_of(figure).get_coordinates(), judge.get_coordinates(), atol=1e-12)
    np.testing.assert_array_equal(mesh_of(figure).get_array(), judge.get_array())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("longitude [degrees_east]", "latitude [degrees_north]")
    assert axes.get_aspect() == 1 and axes.get_title() == "/bt" and not axes.texts
    assert mesh_of(figure).colorbar.ax.get_ylabel() == "brightness temperature [K]"


@pytest.mark.parametrize("west", [10.0, 170.0, -175.0])
def test_cells_are_where_their_elements_are(tmp_path: pathlib.Path, west: float) -> None:
    path = plot_files.swath(tmp_path / "swath.nc", west=west, missing=True)
    figure = hs.open(path)["bt"].plot()
    mesh, (latitude, longitude), values = mesh_of(figure), plot_files.places(40, 30, west), plot_files.waves(40, 30)
    shown = mesh.get_array()
    assert shown.mask[:5, :5].all() and shown.mask.sum() == 25
    assert [text.get_text() for text in figure.axes[0].texts] == ["25 values without coordinates"]
    for row in range(40):
        for column in range(30):
            if not shown.mask[row, column]:
                assert shown[row, column] == values[row, column]
                turns = [longitude[row, column] + turn for turn in (-360, 0, 360)]
                assert any(cell_of(mesh, row, column).contains_point((east, latitude[row, column])) for east in turns)
    low, high = figure.axes[0].get_xlim()
    assert high - low < 40, "a swath across the antimeridian is in one piece"


def test_thinned_cells_have_the_corners_of_whole_ones(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = hs.open(plot_files.swath(tmp_path / "swath.nc", 43, 31))
    whole = mesh_of(f["bt"].plot())
    monkeypatch.setattr(hyperslab.objects.plot, "MAX_IMAGE_CELLS", 9)
    thin = mesh_of(f["bt"].plot())
    assert thin.get_array().shape == (9, 8)
    rows, columns = np.minimum(np.arange(10) * 5, 43), np.minimum(np.arange(9) * 4, 31)
    np.testing.assert_allclose(thin.get_coordinates(), whole.get_coordinates()[np.ix_(rows, columns)], atol=1e-12)
    values = plot_files.waves(43, 31)
    for row, column in np.ndindex(9, 8):
        part = values[5 * row : 5 * row + 5, 4 * column : 4 * column + 4]
        assert thin.get_array()[row, column] in (part.min(), part.max())


def test_a_globe_is_closed_at_its_edge(tmp_path: pathlib.Path) -> None:
    """A global grid whose columns begin at 100 degrees east: the cells at 180 are drawn at both edges of the map."""
    latitude, longitude = np.meshgrid(np.arange(-85.0, 86, 10), (np.arange(100.0, 460, 5) + 180) % 360 - 180, indexing="ij")
    with h5py.File(tmp_path / "globe.h5", "w") as f:
        f["lat"], f["lon"], f["v"] = latitude, longitude, longitude
        f["v"].attrs["coordinates"] = "lat lon"
    figure = hs.open(tmp_path / "globe.h5")["v"].plot()
    axes, mesh = figure.axes[0], mesh_of(figure)
    assert axes.get_xlim() == (-180, 180)
    column = int(np.argmin(np.abs(np.abs(longitude[0]) - 180)))
    assert mesh.get_array().mask[:, column].all() and mesh.get_array().mask.sum() == 18
    cut = [one for one in axes.collections if isinstance(one, PolyCollection) and not isinstance(one, QuadMesh)]
    ends = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for one in cut for path in one.get_paths()]
    assert {end for end in ends if end[0] < 180 and end[1] > -180} == {(-182.5, -177.5), (177.5, 182.5)}
    assert all((one.get_array() == -180).all() and one.norm is mesh.norm for one in cut)


def test_neighbors_around_a_pole_meet_on_the_sphere(tmp_path: pathlib.Path) -> None:
    x, y = np.meshgrid(np.linspace(-1, 1, 20), np.linspace(-1, 1, 20))
    latitude, longitude = 90 - np.hypot(x, y) * 10, np.degrees(np.arctan2(y, x))
    with h5py.File(tmp_path / "pole.h5", "w") as f:
        f["latitude"], f["longitude"], f["v"] = latitude, longitude, x
    mesh = mesh_of(hs.open(tmp_path / "pole.h5")["v"].plot())
    corners = mesh.get_coordinates()[8:13, 8:13]
    middles = np.linspace(-1, 1, 20)[7:12] + 1 / 19
    wanted = np.degrees(np.arctan2(middles[:, None], middles[None, :]))
    off_pole = np.hypot(*np.meshgrid(middles, middles)) > 0.01
    difference = (corners[..., 0] - wanted + 180) % 360 - 180
    assert np.abs(difference[off_pole]).max() < 1
    assert corners[..., 1].max() <= 90


def test_swaths_of_hdf_eos_have_their_names_and_units(tmp_path: pathlib.Path) -> None:
    f = hs.open(plot_files.hdf_eos(tmp_path / "swath.he5"))
    fields = f["HDFEOS/SWATHS/Column/Data Fields"]
    figure = fields["Ozone"].plot()
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("longitude [deg]", "latitude [deg]")
    mesh = mesh_of(figure)
    assert mesh.colorbar.ax.get_ylabel() == "Ozone column [DU]" and np.ptp(mesh.get_coordinates()[..., 0]) > 10
    layers = mesh_of(fields["Layers"].plot(index=3))
    np.testing.assert_array_equal(layers.get_array(), plot_files.waves(30, 20) + 3)
    np.testing.assert_array_equal(layers.get_coordinates(), mesh.get_coordinates())


def test_places_that_change_with_a_leading_dimension(tmp_path: pathlib.Path) -> None:
    latitude, longitude = plot_files.places(12, 10)
    with netCDF4.Dataset(tmp_path / "w.nc", "w") as n:
        for name, extent in (("time", 3), ("y", 12), ("x", 10)):
            n.createDimension(name, extent)
        shift = np.arange(3)[:, None, None]
        plot_files.variable(n, "XLAT", "f8", ("time", "y", "x"), latitude + shift, units="degree_north")
        plot_files.variable(n, "XLONG", "f8", ("time", "y", "x"), longitude + shift, units="degree_east")
        plot_files.variable(n, "t", "f8", ("time", "y", "x"), np.zeros((3, 12, 10)))
    f = hs.open(tmp_path / "w.nc")
    first, last = (mesh_of(f["t"].plot(index=time)).get_coordinates() for time in (0, 2))
    np.testing.assert_allclose(last, first + 2)


def test_dimensions_that_are_named_are_the_axes(tmp_path: pathlib.Path) -> None:
    axes = hs.open(plot_files.swath(tmp_path / "swath.nc"))["bt"].plot(dims=("y", "x")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")


def test_it_is_not_guessed_which_places_are_meant(tmp_path: pathlib.Path) -> None:
    """Two latitudes with the same dimensions and no attribute that names one."""
    latitude, longitude = plot_files.places(12, 10)
    with h5py.File(tmp_path / "two.h5", "w") as f:
        for name, values in (("lat_u", latitude), ("lon_u", longitude), ("lat_v", latitude), ("lon_v", longitude)):
            f[name] = values
            f[name].attrs["units"] = "degrees_north" if "lat" in name else "degrees_east"
        f["v"] = latitude
        f["named"] = latitude
        f["named"].attrs["coordinates"] = "lat_v lon_v"
    with hs.open(tmp_path / "two.h5") as f:
        assert f["v"].plot().axes[0].get_xlabel() == "dimension 1"
        assert f["named"].plot().axes[0].get_xlabel() == "longitude [degrees_east]"


def test_a_swath_without_any_place_is_drawn_by_row_and_column(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "none.h5", "w") as f:
        f["lat"], f["lon"], f["v"] = np.full((5, 6), np.nan), np.full((5, 6), np.nan), np.ones((5, 6))
    assert hs.open(tmp_path / "none.h5")["v"].plot().axes[0].get_xlabel() == "dimension 1"


@pytest.mark.parametrize("layout", ["constrained", None])
def test_a_color_bar_is_as_tall_as_its_map(tmp_path: pathlib.Path, layout: Any) -> None:
    f = hs.open(plot_files.climate(tmp_path / "c.nc", "standard"))
    figure = Figure(figsize=(9, 7), layout=layout)
    axes = figure.subplots()
    f["t"].plot(ax=axes)
    figure.draw_without_rendering()
    bar = mesh_of(figure).colorbar.ax.get_window_extent()
    assert axes.get_aspect() == 1 and bar.height == pytest.approx(axes.get_window_extent().height, rel=0.01)
    assert bar.x0 > axes.get_window_extent().x1
