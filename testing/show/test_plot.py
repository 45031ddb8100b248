"""Plots: what a picture must show, looked for in the figure and in its pixels."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.objects.plot_cells
import netCDF4
import numpy as np
import pytest
from hyperslab.objects.plot_axes import Coordinate, edges_between, edges_of
from matplotlib import colormaps, image
from matplotlib.figure import Figure

KINDS = h5py.enum_dtype({"CLEAR": 0, "CLOUDY": 1, "RAIN": 2}, "i1")


def figure_of(tmp_path: pathlib.Path, values: Any, dtype: Any = None, **options: Any) -> Any:
    path = tmp_path / "p.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, dtype=dtype)
    return hs.open(path)["x"].plot(**options)


def pixels(figure: Figure) -> np.ndarray:
    out = io.BytesIO()
    figure.savefig(out, format="png")
    out.seek(0)
    return image.imread(out)[..., :3]


def has_color(figure: Figure, color: tuple[float, ...]) -> bool:
    """Whether a pixel left of the color bar has the color."""
    shown = pixels(figure)[:, :740]
    return bool((np.abs(shown - np.array(color[:3])).max(axis=-1) < 0.02).any())


@pytest.mark.parametrize("size", [10, 1000, 1001, 100_000, 3_000_017])
def test_a_line_shows_a_single_spike(tmp_path: pathlib.Path, size: int) -> None:
    values = np.zeros(size, "f4")
    values[size // 3], values[size - 1] = 100, -7
    line = figure_of(tmp_path, values).axes[0].lines[0]
    assert (line.get_ydata().max(), line.get_ydata().min()) == (100, -7)
    assert len(line.get_ydata()) <= 2000
    assert abs(line.get_xdata()[np.argmax(line.get_ydata())] - size // 3) <= size / 1000 + 1


def test_the_envelope_of_a_line_is_that_of_numpy(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).normal(size=10_003)
    values[::7] = np.nan
    values[2200:2300] = np.nan
    shown = figure_of(tmp_path, values).axes[0].lines[0].get_ydata().reshape(-1, 2)
    step = -(-10_003 // 1000)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="All-NaN"):
        for number, (low, high) in enumerate(shown):
            part = values[number * step : (number + 1) * step]
            np.testing.assert_array_equal([low, high], [np.nanmin(part), np.nanmax(part)])


@pytest.mark.parametrize("shape", [(30, 40), (900, 70), (70, 900), (3000, 2000), (2, 100_000)])
def test_an_image_shows_both_extremes(tmp_path: pathlib.Path, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hyperslab.objects.plot_cells, "BLOCK_VALUES", 50_000)  # several blocks along both dimensions
    values = np.zeros(shape, "f4")
    values[shape[0] // 3, shape[1] // 2], values[-1, 7] = 50, -50
    values[0, 0] = np.nan
    figure = figure_of(tmp_path, values)
    mesh = figure.axes[0].collections[0]
    assert (mesh.get_array().max(), mesh.get_array().min()) == (50, -50)
    colors = colormaps["viridis"]
    assert has_color(figure, colors(1.0)) and has_color(figure, colors(0.0)), "an extreme has no pixel"


def test_single_values_are_points(tmp_path: pathlib.Path) -> None:
    for values, alone in (([3.0], [3.0]), ([1, np.nan, 2, 3, np.nan, 4], [1, 4])):
        line, points = figure_of(tmp_path, np.array(values)).axes[0].lines
        assert points.get_marker() == "o" and points.get_ydata().tolist() == alone
    for shape in ((1, 50), (50, 1), (1, 1)):
        axes = figure_of(tmp_path, np.arange(float(np.prod(shape))).reshape(shape)).axes[0]
        assert axes.get_xlim()[0] != axes.get_xlim()[1] and axes.collections[0].get_array().count() == np.prod(shape)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (5000,)])
def test_a_picture_of_nothing_says_so(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    axes = figure_of(tmp_path, np.full(shape, np.nan)).axes
    assert [text.get_text() for text in axes[0].texts] == ["all values are missing"] and len(axes) == 1
    with pytest.raises(hs.InvalidInputError, match="not an array of numbers with something in it"):
        figure_of(tmp_path, np.zeros((0, *shape[1:])))


def test_names_of_values_are_shown(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(2).integers(0, 3, 60)
    axes = figure_of(tmp_path, values, KINDS).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["CLEAR", "CLOUDY", "RAIN"]
    assert axes.lines[0].get_drawstyle() == "steps-mid" and axes.lines[0].get_ydata().tolist() == values.tolist()
    assert [label.get_text() for label in figure_of(tmp_path, values > 0).axes[0].get_yticklabels()] == ["FALSE", "TRUE"]
    bar = figure_of(tmp_path, values.reshape(6, 10), KINDS).axes[0].collections[0].colorbar.ax
    assert [label.get_text() for label in bar.get_yticklabels()] == ["CLEAR", "CLOUDY", "RAIN"]


def test_colored_pixels_are_an_image(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(3).integers(0, 256, (2, 20, 30, 3)).astype("u1")
    axes = figure_of(tmp_path, values, index=1).axes
    assert len(axes) == 1, "a colored image has no color bar"
    np.testing.assert_array_equal(axes[0].images[0].get_array(), values[1])


def test_cells_do_not_reach_into_gaps(tmp_path: pathlib.Path) -> None:
    data = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
    figure = hs.open(data / "atlantic_profiles.nc")["theta"].plot()
    low, high = figure.axes[0].get_xlim()
    assert low > -10 and high < 365, "a cell reaches into the gap between longitudes 0.5 and 325.5"
    # Spacing that grows from level to level has no gaps; what lies alone has a cell as the others.
    levels = np.cumsum(np.geomspace(1, 1000, 30))
    for values, gaps in ((levels, 0), (-levels, 0), (np.array([0.0, 1, 2, 3, 100, 200, 201, 202]), 2), (np.array([5.0, 6]), 0), (np.arange(9.0), 0)):
        cells, edges = edges_between(values)
        assert (cells < 0).sum() == gaps and cells[cells >= 0].tolist() == list(range(len(values)))
        for cell, left, right in zip(cells, edges, edges[1:]):
            assert cell < 0 or min(left, right) <= values[cell] <= max(left, right)
    cells, edges = edges_between(np.array([0.0, 1, 2, 3, 100, 200, 201, 202]))
    alone = cells.tolist().index(4)
    assert edges[alone + 1] - edges[alone] <= 4


def test_coordinates_and_missing_values_of_netcdf(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", 4000)
        f.createDimension("y", 3)
        time = f.createVariable("time", "f8", ("time",))
        time.units = "days since 2001-01-01"
        time[:] = np.arange(4000)
        packed = f.createVariable("v", "i2", ("y", "time"), fill_value=-1)
        packed.scale_factor = 0.5
        packed.set_auto_maskandscale(False)
        packed[:] = 10
        packed[1, 1234], packed[2, :] = 4000, -1
        f.createVariable("line", "f4", ("time",))[:] = np.arange(4000)
    f = hs.open(path)
    figure = f["v"].plot()
    shown = figure.axes[0].collections[0].get_array()
    assert shown.max() == 2000 and shown.min() == 5 and shown.mask[2].all() and not shown.mask[:2].any()
    theta = hs.open(pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "atlantic_profiles.nc")["theta"]
    assert theta.plot(index=3).axes[0].get_title() == "/theta (depth = 35)"
    figure.canvas.draw()
    assert figure.axes[0].get_xticklabels()[0].get_text() == "2002"
    line = f["line"].plot().axes[0].lines[0]
    assert str(np.asarray(line.get_xdata(orig=True))[-1]).startswith("2011-12")


def test_a_colormap_without_values_to_map_is_refused(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.arange(12.0).reshape(3, 4)
        f["rgb"] = np.zeros((3, 4, 3), "u1")
    f = hs.open(tmp_path / "x.h5")
    for options in ({"dims": 1}, {"kind": "histogram"}):
        with pytest.raises(hs.InvalidInputError, match="leave out cmap"):
            f["x"].plot(cmap="magma", **options)
    with pytest.raises(hs.InvalidInputError, match="colors of its own"):
        f["rgb"].plot(cmap="magma")


def test_options_of_a_plot(tmp_path: pathlib.Path) -> None:
    values = np.exp(np.random.default_rng(4).normal(size=(20, 30)) * 3)
    mesh = figure_of(tmp_path, values, cmap="magma", vmin=0.5, vmax=2).axes[0].collections[0]
    assert mesh.get_cmap().name == "magma" and (mesh.norm.vmin, mesh.norm.vmax) == (0.5, 2)
    mesh = figure_of(tmp_path, values, log=True, vmin=1).axes[0].collections[0]
    assert type(mesh.norm).__name__ == "LogNorm" and mesh.norm.vmin == 1
    axes = figure_of(tmp_path, values[0], log=True, vmax=10).axes[0]
    assert axes.get_yscale() == "log" and axes.get_ylim()[1] == 10
    with pytest.raises(hs.InvalidInputError, match="no value above 0"):
        figure_of(tmp_path, -values, log=True)
    given = Figure().subplots(1, 2)
    assert figure_of(tmp_path, values, ax=given[1]) is given[1].figure and given[1].collections and not given[0].collections
    with pytest.raises(hs.InvalidInputError, match="index is 2, but /x has 0 dimensions"):
        figure_of(tmp_path, values, index=2)


def test_a_notebook_shows_the_figure_once(tmp_path: pathlib.Path) -> None:
    from matplotlib import pyplot

    figure = figure_of(tmp_path, np.arange(5.0))
    assert isinstance(figure, Figure) and figure._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"
    assert pyplot.get_fignums() == [], "pyplot would show it a second time"


@pytest.fixture(scope="module")
def climate(tmp_path_factory: pytest.TempPathFactory) -> hs.File:
    """Latitude, longitude, depth and time with CF's attributes and bounds of different lengths."""
    path = tmp_path_factory.mktemp("plot") / "climate.nc"
    with netCDF4.Dataset(path, "w") as f:
        for name, size in (("time", 30), ("depth", 4), ("lat", 6), ("lon", 9), ("bnds", 2)):
            f.createDimension(name, size)
        given = {
            "time": (np.arange(30.0), {"units": "days since 1970-01-15"}),
            "depth": (np.array([5.0, 15, 40, 200]), {"units": "m", "positive": "down", "bounds": "depth_bnds"}),
            "lat": (np.linspace(-50, 50, 6), {"units": "degrees_north"}),
            "lon": (np.linspace(0, 160, 9), {"units": "degrees_east"}),
        }
        for name, (values, attributes) in given.items():
            made = f.createVariable(name, "f8", (name,))
            made.setncatts(attributes)
            made[:] = values
        f.createVariable("depth_bnds", "f8", ("depth", "bnds"))[:] = [[0, 10], [10, 20], [20, 60], [100, 300]]
        t = f.createVariable("t", "f4", ("time", "depth", "lat", "lon"), fill_value=-99)
        t.long_name, t.units = "temperature", "K"
        t[:] = np.random.default_rng(5).normal(280, 5, (30, 4, 6, 9))
        t[3, 1, 2, :] = np.ma.masked
        t[0, 0, 0, 0] = 5000
    return hs.open(path)


def test_a_time_series_at_a_point(climate: hs.File) -> None:
    axes = climate["t"].plot(dims="time", index={"lat": 2, "lon": 4, "depth": 1}).axes[0]
    line = axes.lines[0]
    wanted = climate["t"][:, 1, 2, 4]
    wanted[3] = np.nan
    np.testing.assert_array_equal(line.get_ydata(), wanted.astype(float))
    assert str(np.asarray(line.get_xdata(orig=True))[0]).startswith("1970-01-15")
    assert axes.get_title() == "/t (depth = 15, lat = -10, lon = 80)" and axes.get_ylabel() == "temperature [K]"


def test_a_profile_goes_down(climate: hs.File) -> None:
    axes = climate["t"].plot(dims=("depth",), index=(7, 1, 2)).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), climate["t"][7, :, 1, 2].astype(float))
    assert axes.lines[0].get_ydata().tolist() == [5, 15, 40, 200]
    assert axes.yaxis_inverted() and axes.get_ylabel() == "depth [m]" and axes.get_xlabel() == "temperature [K]"


def test_any_two_dimensions_in_any_order(climate: hs.File) -> None:
    values = climate["t"][:, 2, 4, :]
    for dims, wanted in ((("time", "lon"), values), (("lon", "time"), values.T), ((0, -1), values), ((3, 0), values.T)):
        mesh = climate["t"].plot(dims=dims, index={"depth": 2, "lat": 4}).axes[0].collections[0]
        np.testing.assert_array_equal(mesh.get_array(), wanted.astype(float))


def test_cells_reach_as_far_as_the_bounds(climate: hs.File) -> None:
    figure = climate["t"].plot(dims=("depth", "lon"), index={"time": 1})
    mesh = figure.axes[0].collections[0]
    assert mesh.get_coordinates()[:, 0, 1].tolist() == [0, 10, 20, 60, 100, 300]
    assert mesh.get_array().mask[:, 0].tolist() == [False, False, False, True, False], "between 60 and 100 the file has no values"
    assert figure.axes[0].yaxis_inverted()


@pytest.mark.parametrize(
    ("values", "bounds", "edges"),
    [
        ([1.0, 2], [[0.5, 1.5], [1.5, 2.5]], [0.5, 1.5, 2.5]),
        ([2.0, 1], [[1.5, 2.5], [0.5, 1.5]], [2.5, 1.5, 0.5]),
        ([2.0, 1], [[2.5, 1.5], [1.5, 0.5]], [2.5, 1.5, 0.5]),
        ([1.0], [[0.0, 9]], [0, 9]),
        ([1.0, 2], [[0.0, 3], [1.5, 2.5]], [0.5, 1.5, 2.5]),  # they overlap
        ([1.0, 2], [[5.0, 6], [6, 7]], [0.5, 1.5, 2.5]),  # they do not contain their coordinate
        ([1.0, 2], [[1.0, 1], [2, 2]], [0.5, 1.5, 2.5]),  # they have no length
        ([1.0, 2], [[0.5, np.nan], [1.5, 2.5]], [0.5, 1.5, 2.5]),
    ],
)
def test_only_bounds_that_fit_are_used(values: list[float], bounds: list[list[float]], edges: list[float]) -> None:
    found = edges_of(Coordinate("x", np.array(values), True, np.array(bounds)))
    assert found[1].tolist() == edges and found[0].tolist() == list(range(len(values)))


def test_a_map_has_one_scale(climate: hs.File) -> None:
    assert climate["t"].plot().axes[0].get_aspect() == 1
    assert climate["t"].plot(dims=("time", "lon")).axes[0].get_aspect() == "auto"
    profiles = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "atlantic_profiles.nc"
    assert hs.open(profiles)["theta"].plot().axes[0].get_aspect() == "auto", "10 degrees by 360 would be a stripe"


def test_robust_limits_leave_outliers_out(climate: hs.File) -> None:
    values = climate["t"][0, 0].astype(float)
    figure = climate["t"].plot(robust=True)
    mesh = figure.axes[0].collections[0]
    np.testing.assert_allclose((mesh.norm.vmin, mesh.norm.vmax), np.percentile(values, [2, 98]))
    assert mesh.colorbar.extend == "both", "the bar says that there is more"
    assert climate["t"].plot(robust=True, vmax=9000).axes[0].collections[0].norm.vmax == 9000
    assert climate["t"].plot().axes[0].collections[0].norm.vmax == 5000


def test_a_histogram_counts_all_values(climate: hs.File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hyperslab.objects.plot_cells, "BLOCK_VALUES", 50)
    values = climate["t"][...].astype(float)
    values[3, 1, 2, :] = np.nan
    axes = climate["t"].plot(kind="histogram", bins=20, vmin=250).axes[0]
    patch = axes.patches[0].get_data()
    counts, edges = np.histogram(values[~np.isnan(values)], 20)
    assert patch.values.tolist() == counts.tolist()
    np.testing.assert_allclose(patch.edges, edges)
    assert [text.get_text() for text in axes.texts] == [f"9 of {values.size:,} missing or infinite"] and axes.get_xlim()[0] == 250
    axes = climate["t"].plot(kind="histogram", bins=20, log=True).axes[0]
    patch = axes.patches[0].get_data()
    assert axes.get_xlim() == (patch.edges[0], patch.edges[-1]) and axes.get_xscale() == "log"
    assert patch.values.sum() == counts.sum() and np.allclose(np.diff(np.log(patch.edges)), np.log(patch.edges[1] / patch.edges[0]))


def test_an_axis_that_counts_has_whole_numbers(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "few.h5", "w") as f:
        f["t"] = np.array([1.0, 2.0, 2.0, 3.0])
    for figure in (hs.open(tmp_path / "few.h5")["t"].plot(kind="histogram", bins=3), hs.query(tmp_path / "few.h5", "/", "t > 0").plot(names="t", bins=3)):
        ticks = figure.axes[0].get_yticks()
        assert (ticks == np.round(ticks)).all(), ticks


def test_histograms_of_one_value_and_of_none(tmp_path: pathlib.Path) -> None:
    patch = figure_of(tmp_path, np.full((3, 4), 7.0), kind="histogram", bins=4).axes[0].patches[0].get_data()
    assert patch.values.sum() == 12 and patch.edges[0] < 7 < patch.edges[-1]
    axes = figure_of(tmp_path, np.full(5, np.nan), kind="histogram").axes[0]
    assert [text.get_text() for text in axes.texts] == ["all values are missing"]
    assert "no value is above 0" in figure_of(tmp_path, np.zeros(5), kind="histogram", log=True).axes[0].texts[0].get_text()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"dims": "no"}, "no dimension 'no': time, depth, lat, lon"),
        ({"dims": ("time", "lat", "lon")}, "one or two different"),
        ({"dims": ("lat", "lat")}, "one or two different"),
        ({"dims": 7}, "4 dimensions"),
        ({"dims": "lat", "index": {"lat": 3}}, "is drawn"),
        ({"kind": "pie"}, "auto or histogram"),
        ({"kind": "histogram", "bins": 0}, "1 or more"),
        ({"kind": "histogram", "dims": "lat"}, "leave out dims"),
        ({"index": (1, 2, 3)}, r"index is \(1, 2, 3\), but /t has 2 dimensions"),
        ({"coastlines": True, "dims": "depth"}, "a map with axes of latitude and longitude"),
        ({"coastlines": True, "dims": ("depth", "lat")}, "a map with axes of latitude and longitude"),
        ({"coastlines": True, "kind": "histogram"}, "a map with axes of latitude and longitude"),
    ],
)
def test_wrong_options_of_a_plot(climate: hs.File, options: dict[str, Any], says: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=says):
        climate["t"].plot(**options)


def test_a_query_draws_one_variable_or_two() -> None:
    q = hs.query(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "atlantic_profiles.nc"), "/", "theta > 280")
    axes = q.plot(names="theta", bins=20).axes[0]
    assert axes.patches[0].get_data().values.sum() == q.count() and axes.get_xlabel() == "theta"
    mesh = q.plot(names=["depth", "theta"], bins=10).axes[0].collections[0]
    assert mesh.get_array().sum() == q.count()
