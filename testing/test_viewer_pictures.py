"""The default plots of data models in the viewer: what is offered, and what the pictures have in them."""

from __future__ import annotations

import io
import pathlib
from typing import Any

import h5py
import hexagons
import hyperslab as hs
import netCDF4
import numpy as np
import pytest

image = pytest.importorskip("matplotlib.image")
starlette_testclient = pytest.importorskip("starlette.testclient")

from hyperslab.viewer import Shown, application, pictures  # noqa: E402
from hyperslab.viewer.requests import Refused  # noqa: E402
from hyperslab.viewer.watching import Gone, Watch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESH = ROOT / "examples/data/mesh_C4_synthetic_float.nc"
PNG = b"\x89PNG\r\n\x1a\n"


def drawn(path: pathlib.Path, name: str | None = None, index: tuple[int, ...] = (), watch: Watch | None = None) -> Any:
    """The axes of a picture, whose bytes are those of a PNG of the size that was asked for."""
    kept: list[Any] = []
    with hs.open(path) as file, pytest.MonkeyPatch.context() as patch:
        make = pictures.plot.picture
        patch.setattr(pictures.plot, "picture", lambda **options: kept.append(make(**options)) or kept[0])
        content = pictures.drawn(file, name, index, (640, 480), watch or Watch(30))
    assert content.startswith(PNG) and (int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")) == (640, 480)
    return kept[0].axes[0]


def corner(png: bytes) -> tuple[int, ...]:
    """The color of the first pixel."""
    return tuple(round(255 * float(value)) for value in image.imread(io.BytesIO(png))[0, 0, :3])


def names(path: pathlib.Path) -> list[tuple[str, list[int]]]:
    with hs.open(path) as file:
        return [(choice.name, choice.steps) for choice in pictures.choices(file)]


@pytest.fixture
def particles(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "run.h5part"
    with h5py.File(path, "w") as f:
        for step in range(3):
            group = f.create_group(f"Step#{step}")
            random = np.random.default_rng(step)
            count = 1000 if step < 2 else 30_000
            group["x"], group["y"], group["id"] = random.normal(size=count), random.normal(size=count) + step, np.arange(count)
    return path


def test_particles_of_a_step_are_points_and_many_are_counted(particles: pathlib.Path) -> None:
    assert names(particles) == [("h5part:particles", [3])]
    axes = drawn(particles, index=(1,))
    (line,) = axes.lines
    expected = np.random.default_rng(1)
    np.testing.assert_array_equal(line.get_xdata(), expected.normal(size=1000))
    np.testing.assert_array_equal(line.get_ydata(), expected.normal(size=1000) + 1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y") and axes.get_title() == "particles, step = 1: 1,000 particles"
    many = drawn(particles, "h5part:particles", (2,))
    assert many.collections[0].get_array().sum() == 30_000 and not many.lines


def test_particles_of_openpmd(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    x, y = np.arange(5.0), np.arange(5.0) ** 2
    with h5py.File(path, "w") as f:
        given = {
            "openPMD": "1.1.0",
            "openPMDextension": np.uint32(0),
            "basePath": "/data/%T/",
            "particlesPath": "particles/",
            "iterationEncoding": "groupBased",
        }
        f.attrs.update({**given, "iterationFormat": "/data/%T/"})
        for number in (10, 20):
            step = f.create_group(f"data/{number}")
            step.attrs.update(time=1.0, dt=1.0, timeUnitSI=1.0)
            for record in ("position", "positionOffset"):
                group = step.create_group(f"particles/electrons/{record}")
                group.attrs.update(unitDimension=np.array([1.0, 0, 0, 0, 0, 0, 0]), timeOffset=0.0, macroWeighted=np.uint32(0), weightingPower=1.0)
                for name, values in (("x", x + number), ("y", y)):
                    group[name] = values if record == "position" else np.zeros(5)
                    group[name].attrs["unitSI"] = 1.0
    assert names(path) == [("openpmd:particles_electrons", [2])]
    axes = drawn(path, index=(1,))
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), x + 20)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), y)


def test_faces_of_ugrid_have_the_colors_of_their_values() -> None:
    assert names(MESH) == [("ugrid:synthetic", [])]
    axes = drawn(MESH)
    with netCDF4.Dataset(MESH) as f:
        np.testing.assert_array_equal(axes.collections[0].get_array(), f["synthetic"][:])
    paths = axes.collections[0].get_paths()
    assert len(paths) == 96 and axes.get_xlabel() == "longitude [degrees]"
    with hs.open(MESH) as file:
        rings = hs.models.ugrid.open(file).mesh().polygons()["geometry"].to_pylist()
    for drawn_one, ring in zip(paths, rings, strict=True):
        np.testing.assert_array_equal(drawn_one.vertices[: len(ring[0])], ring[0])


def test_cells_of_mpas_at_a_time(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mpas.nc"
    hexagons.write(str(path), 4, 3)
    with netCDF4.Dataset(path, "a") as f:
        count = f.dimensions["nCells"].size
        if "Time" not in f.dimensions:
            f.createDimension("Time", 2)
        f.createVariable("tracer", "f8", ("Time", "nCells"))[:] = np.arange(2 * count).reshape(2, count)
    found = dict(names(path))
    assert found["mpas:tracer"] == [2] and not [name for name in found if name.startswith("cf:")]
    axes = drawn(path, "mpas:tracer", (1,))
    np.testing.assert_array_equal(axes.collections[0].get_array(), np.arange(count) + count)


def test_maps_with_coordinates_of_one_and_two_dimensions(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "map.nc"
    values = np.random.default_rng(0).random((2, 6, 8))
    with netCDF4.Dataset(path, "w") as f:
        f.Conventions = "CF-1.8"
        for name, count in (("time", 2), ("y", 6), ("x", 8)):
            f.createDimension(name, count)
        for name, unit, base in (("lat", "degrees_north", np.linspace(-50, 50, 6)[:, None]), ("lon", "degrees_east", np.linspace(0, 70, 8)[None, :])):
            f.createVariable(name, "f8", ("y", "x"))[:] = base + np.zeros((6, 8))
            f[name].units = unit
        f.createVariable("t2m", "f8", ("time", "y", "x"))[:] = values
        f["t2m"].coordinates, f["t2m"].units = "lat lon", "K"
    assert names(path)[0] == ("cf:t2m", [2])
    axes = drawn(path, "cf:t2m", (1,))
    np.testing.assert_array_equal(np.asarray(axes.collections[0].get_array()).reshape(6, 8), values[1])
    assert axes.get_xlabel() == "longitude [degrees_east]" and axes.get_xlim() == pytest.approx((-5, 75)) and axes.get_title() == "/t2m (time 1)"
    plain = drawn(ROOT / "examples/data/atlantic_profiles.nc", "cf:theta", (3,))
    with netCDF4.Dataset(ROOT / "examples/data/atlantic_profiles.nc") as f:
        np.testing.assert_allclose(np.sort(np.ma.compressed(plain.collections[0].get_array())), np.sort(np.ma.compressed(f["theta"][3])), rtol=1e-6)


def test_signals_of_nexus(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "scan.nxs"
    with h5py.File(path, "w") as f:
        entry = f.create_group("entry")
        entry.attrs["NX_class"], f.attrs["default"], entry.attrs["default"] = "NXentry", "entry", "data"
        data = entry.create_group("data")
        data.attrs["NX_class"], data.attrs["signal"], data.attrs["axes"] = "NXdata", "counts", ["angle"]
        data["counts"], data["angle"] = np.arange(50.0), np.linspace(0, 20, 50)
    (choice,) = [name for name, _ in names(path) if name.startswith("nexus:")]
    axes = drawn(path, choice)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.linspace(0, 20, 50))


def test_what_cannot_be_drawn_is_refused(particles: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "plain.h5", "w") as f:
        f["x"] = [1]
    for path, name, index, status in (
        (tmp_path / "plain.h5", None, (), 404),
        (particles, "h5part:nothing", (), 404),
        (particles, None, (3,), 422),
        (particles, None, (0, 0), 422),
    ):
        with pytest.raises(Refused) as caught:
            drawn(path, name, index)
        assert caught.value.status == status
    with pytest.raises(Refused, match="longer than 0 seconds"):
        drawn(particles, watch=Watch(0))
    left = Watch(30)
    left.leave()
    with pytest.raises(Gone):
        drawn(particles, watch=left)


def test_pictures_over_the_interface(particles: pathlib.Path) -> None:
    app = application(Shown([particles]), "token", hosts=("testserver",))
    browser = starlette_testclient.TestClient(app, base_url="http://testserver", raise_server_exceptions=False)
    listed = browser.get("/token/pictures", params={"file": "run.h5part"}).json()
    assert listed == [{"name": "h5part:particles", "title": "particles: y over x", "steps": [3]}]
    answer = browser.get("/token/picture", params={"file": "run.h5part", "index": "1", "width": 300, "height": 200})
    assert answer.headers["content-type"] == "image/png" and answer.content.startswith(PNG)
    dark = browser.get("/token/picture", params={"file": "run.h5part", "index": "1", "width": 300, "height": 200, "dark": True}).content
    assert dark.startswith(PNG) and corner(dark) == (0x14, 0x17, 0x1A) and corner(answer.content) == (255, 255, 255)
    for query in ({"index": "x"}, {"index": "1,1"}, {"width": 10**6}, {"name": "h5part:none"}):
        assert browser.get("/token/picture", params={"file": "run.h5part", **query}).status_code in (404, 422)
