"""Coastlines on maps: which lines are drawn where, and what is said when there are none. The shapes are two made ones, so that nothing is downloaded."""

from __future__ import annotations

import pathlib

import cartopy
import hyperslab as hs
import numpy as np
import pytest
import shapefile
from cartopy.io import shapereader

# An island around Greenwich, and one that ends at the date line.
GREENWICH = [[-5.0, 0.0], [5.0, 0.0], [5.0, 10.0], [-5.0, 10.0], [-5.0, 0.0]]
PACIFIC = [[170.0, -10.0], [180.0, -10.0], [180.0, 0.0], [170.0, -10.0]]


@pytest.fixture
def coastlines(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "cartopy" / "shapefiles" / "natural_earth" / "physical"
    folder.mkdir(parents=True)
    for scale in ("110m", "10m"):
        with shapefile.Writer(str(folder / f"ne_{scale}_coastline"), shapeType=shapefile.POLYLINE) as out:
            out.field("name", "C")
            for line in (GREENWICH, PACIFIC):
                out.line([line])
                out.record(scale)
    monkeypatch.setitem(cartopy.config, "pre_existing_data_dir", str(tmp_path / "cartopy"))
    return folder


def field(folder: pathlib.Path, latitudes: object, longitudes: object, dims: tuple[str, str] = ("lat", "lon")) -> hs.Dataset:
    """A netCDF variable on a map."""
    values = {"lat": np.asarray(latitudes, float), "lon": np.asarray(longitudes, float)}
    with hs.create_netcdf(folder / "map.nc") as f:
        for name in dims:
            f.create_dimension(name, len(values[name]))
            f.create_variable(name, (name,), "f8", values[name], units={"lat": "degrees_north", "lon": "degrees_east"}[name])
        f.create_variable("t", dims, "f4", np.zeros([len(values[name]) for name in dims]))
    return hs.open(folder / "map.nc")["t"]


def lines_of(dataset: hs.Dataset) -> list[list[list[float]]]:
    axes = dataset.plot(coastlines=True).axes[0]
    plain = dataset.plot().axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == (plain.get_xlim(), plain.get_ylim())
    return [np.asarray(line).tolist() for line in axes.collections[1].get_segments()]


def test_longitudes_may_be_of_either_range(tmp_path: pathlib.Path, coastlines: pathlib.Path) -> None:
    west_and_east = lines_of(field(tmp_path, np.arange(-80, 81, 20), np.arange(-170, 171, 20)))
    assert GREENWICH in west_and_east and PACIFIC in west_and_east
    # From 0 to 360 the first island is at both ends.
    east = lines_of(field(tmp_path, np.arange(-80, 81, 20), np.arange(10, 351, 20)))
    assert GREENWICH in east and [[x + 360, y] for x, y in GREENWICH] in east and PACIFIC in east and len(east) == 3


def test_longitudes_may_be_upright(tmp_path: pathlib.Path, coastlines: pathlib.Path) -> None:
    assert [[y, x] for x, y in GREENWICH] in lines_of(field(tmp_path, np.arange(-80, 81, 20), np.arange(-170, 171, 20), ("lon", "lat")))


def test_a_small_map_has_finer_lines(tmp_path: pathlib.Path, coastlines: pathlib.Path) -> None:
    for part in coastlines.glob("ne_110m*"):
        part.unlink()
    assert lines_of(field(tmp_path, np.arange(0, 5), np.arange(0, 5))) == [GREENWICH]


def test_without_the_files_it_says_where_they_go(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> str:
        raise OSError("no network")

    monkeypatch.setattr(shapereader, "natural_earth", no_network)
    with pytest.raises(hs.NotFoundError, match=r"cannot be downloaded \(no network\); put ne_110m_coastline.shp, .shx and .dbf into"):
        field(tmp_path, np.arange(-80, 81, 20), np.arange(-170, 171, 20)).plot(coastlines=True)
