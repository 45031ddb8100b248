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

ROOT = pathlib.Path(__file__).resolve().parents[2]
MESH = ROOT / "examples/data/mesh_C4_synthetic_float.nc"
PNG = b"\x89PNG\r\n\x1a\n"


def drawn(path: pathlib.Path, name: str | None = None, index: tuple[int, ...] = (), watch: Watch | None = None) -> Any:
    """The axes of a picture, whose bytes are a PNG of the requested size."""
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


def mesh_of(axes: Any) -> Any:
    """The values of a picture as an image, NaN where it has none."""
    (mesh,) = axes.collections
    return mesh.get_array().filled(np.nan)


def write_openpmd(path: pathlib.Path) -> dict[str, Any]:
    """Two iterations: a vector with one component at another place of the cell, a scalar of one dimension, and azimuthal modes."""
    Mesh, random = hs.models.openpmd.Mesh, np.random.default_rng(3)
    values = {name: random.normal(size=(6, 30, 40)) for name in "xy"} | {"line": random.random(50), "modes": random.random((3, 8, 9)).astype("f4")}
    common: dict[str, Any] = {"dimension": (0,) * 7, "grid_unit_si": 1e-3}
    field = Mesh(values={name: values[name] for name in "xy"}, axes=("z", "y", "x"), spacing=(1, 2, 3), offset=(10, 0, -1), position={"x": (0, 0.5, 0), "y": (0, 0, 0.5)}, unit_si=2.0, **common)  # fmt: skip
    line = Mesh(values=values["line"], axes=("z",), spacing=(0.5,), offset=(0,), position=(0,), **common)
    with hs.models.openpmd.create(path) as series:
        for number in (0, 100):
            series.write_iteration(number, time=0.0, dt=1.0, meshes={"E": field, "line": line} if number else {"line": line})
    with h5py.File(path, "a") as f:
        modes = f.create_dataset("data/100/meshes/B", data=values["modes"])
        modes.attrs.update(axisLabels=[b"r", b"z"], geometry=np.bytes_("thetaMode"), dataOrder=np.bytes_("C"), gridSpacing=[1.0, 1.0])
        modes.attrs.update(gridGlobalOffset=[0.0, 0.0], gridUnitSI=1.0, position=[0.5, 0.0], unitSI=1.0)
    return values


def test_meshes_of_openpmd_are_planes_with_coordinates_and_units(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    values = write_openpmd(path)
    with hs.open(path) as file:
        found = {choice.name: choice for choice in pictures.choices(file)}
    assert set(found) == {"openpmd:cells_E_x/E_x", "openpmd:cells_E_y/E_y", "openpmd:cells_line/line", "openpmd:cells_B/B"}
    # The first picture lies in the middle of the first iteration that has the mesh, and is the first mode.
    assert found["openpmd:cells_E_x/E_x"] == ("openpmd:cells_E_x/E_x", "E_x: y over x", [2, 6], (1, 3))
    assert found["openpmd:cells_B/B"][1:] == ("B: r over z", [2, 3], (1, 0)) and found["openpmd:cells_line/line"][1:] == ("line: z", [2], (0,))
    axes = drawn(path, "openpmd:cells_E_x/E_x")
    np.testing.assert_array_equal(mesh_of(axes), values["x"][3] * 2)
    assert axes.get_title() == "E_x (iteration = 100, i_z = 3, z = 0.013 m)" and (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "y [m]")
    # Cells reach half of the spacing to both sides; the position in the cell is half a spacing.
    assert axes.get_xlim() == pytest.approx((-0.0025, 0.1175)) and axes.get_ylim() == pytest.approx((0, 0.06))
    np.testing.assert_array_equal(mesh_of(drawn(path, "openpmd:cells_E_y/E_y", (1, 5))), values["y"][5] * 2)
    np.testing.assert_array_equal(mesh_of(drawn(path, "openpmd:cells_B/B", (1, 2))), values["modes"][2])
    (line,) = drawn(path, "openpmd:cells_line/line").lines
    np.testing.assert_allclose(line.get_xdata(), np.arange(50) * 0.5e-3)
    np.testing.assert_array_equal(line.get_ydata(), values["line"])
    for index, status, words in (((0, 0), 404, "iteration 0 has no cells of E_x"), ((1, 6), 422, "outside")):
        with pytest.raises(Refused, match=words) as caught:
            drawn(path, "openpmd:cells_E_x/E_x", index)
        assert caught.value.status == status


def test_arrays_of_fortran_have_their_axes_reversed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fortran.h5"
    values = np.arange(12.0).reshape(3, 4)
    with h5py.File(path, "w") as f:
        f.attrs.update({"openPMD": "2.0.0", "openPMDextension": np.uint32(0), "basePath": "/data/%T/", "meshesPath": "meshes/"})
        f.attrs.update({"iterationEncoding": "groupBased", "iterationFormat": "/data/%T/"})
        step = f.create_group("data/7")
        step.attrs.update(time=0.0, dt=1.0, timeUnitSI=1.0)
        mesh = step.create_dataset("meshes/rho", data=values)
        mesh.attrs.update(axisLabels=[b"x", b"y"], dataOrder=np.bytes_("F"), gridSpacing=[0.5, 2.0], gridGlobalOffset=[0.0, 100.0], gridUnitSI=1.0)
        mesh.attrs.update(position=[0.0, 0.0], unitSI=1.0, geometry=np.bytes_("cartesian"))
    axes = drawn(path)
    np.testing.assert_array_equal(mesh_of(axes), values)
    # openPMD 2.0 has grids that are not lengths: no unit is made up.
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y") and axes.get_ylim() == (99, 105)


def test_fields_of_h5block_at_a_step_and_a_plane(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "fields.h5"
    random = np.random.default_rng(4)
    values = {(step, name): random.normal(size=(4, 5, 6 + step)).astype("f4") for step in range(2) for name in ("E/0", "E/1", "phi/0", "other/0")}
    with h5py.File(path, "w") as f:
        for (step, name), array in values.items():
            array = array[:, :2] if name == "other/0" else array
            field = f.require_group(f"Step#{step}/Block/{name.split('/')[0]}")
            if name != "other/0":
                field.attrs["__Origin__"], field.attrs["__Spacing__"] = [0.0, 0.0, -1.0], [0.5, 1.0, 2.0]
            field[name[-1]] = array
    assert names(path) == [(f"h5block:{name}", [2, 4]) for name in ("cells_E/E_0", "cells_E/E_1", "cells_E/phi", "cells_other/other")]
    axes = drawn(path)
    np.testing.assert_array_equal(mesh_of(axes), values[0, "E/0"][2])
    assert axes.get_title() == "E_0 (step = 0, k = 2, z = 3)" and (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    np.testing.assert_array_equal(mesh_of(drawn(path, "h5block:cells_E/phi", (1, 3))), values[1, "phi/0"][3])
    plain = drawn(path, "h5block:cells_other/other", (1, 0))
    np.testing.assert_array_equal(mesh_of(plain), values[1, "other/0"][0, :2])
    assert (plain.get_xlabel(), plain.get_ylabel()) == ("i", "j") and plain.get_title() == "other (step = 1, k = 0)"


@pytest.mark.parametrize("shape", [(3, 1300, 1211), (2, 7, 3001), (1, 1, 700_001)])
def test_a_field_with_more_cells_than_pixels_keeps_its_extremes(tmp_path: pathlib.Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "large.h5"
    values = np.random.default_rng(5).normal(size=shape).astype("f4")
    values[-1, -1, 333], values[-1, 0, :2] = 1000, np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("Step#0/Block/rho/0", data=values, chunks=(1, min(shape[1], 100), min(shape[2], 1000)))
    axes = drawn(path, None, (0, shape[0] - 1))
    steps = [-(-extent // 500) for extent in shape[1:]]
    padded = np.pad(values[-1].astype(float), [(0, -extent % step) for extent, step in zip(shape[1:], steps, strict=True)], constant_values=np.nan)
    cells = padded.reshape(padded.shape[0] // steps[0], steps[0], padded.shape[1] // steps[1], steps[1])
    low, high = (reduce.reduce(reduce.reduce(cells, axis=3), axis=1) for reduce in (np.fmin, np.fmax))
    found = mesh_of(axes)
    assert found.max() == 1000 and ((found == low) | (found == high) | np.isnan(low)).all() and not ((found == low).all() or (found == high).all())
    assert f"{steps[0]} × {steps[1]} values share a pixel" in axes.texts[0].get_text()


def test_a_model_that_cannot_be_listed_says_why(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "damaged.h5"
    write_openpmd(path)
    with h5py.File(path, "a") as f:
        del f["data/100/meshes/E"].attrs["gridSpacing"]
    # One damaged mesh does not take the others away.
    assert names(path) == [("openpmd:cells_line/line", [2]), ("openpmd:cells_B/B", [2, 3])]
    with h5py.File(path, "a") as f:
        f.attrs["basePath"] = np.arange(3)
    with pytest.raises(hs.CorruptError, match="basePath"):
        names(path)
    app = application(Shown([path]), "token", hosts=("testserver",))
    answer = starlette_testclient.TestClient(app, base_url="http://testserver").get("/token/pictures", params={"file": "damaged.h5"})
    assert answer.status_code == 500 and "basePath" in answer.json()["message"]


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
    assert listed == [{"name": "h5part:particles", "title": "particles: y over x", "steps": [3], "first": []}]
    answer = browser.get("/token/picture", params={"file": "run.h5part", "index": "1", "width": 300, "height": 200})
    assert answer.headers["content-type"] == "image/png" and answer.content.startswith(PNG)
    dark = browser.get("/token/picture", params={"file": "run.h5part", "index": "1", "width": 300, "height": 200, "dark": True}).content
    assert dark.startswith(PNG) and corner(dark) == (0x14, 0x17, 0x1A) and corner(answer.content) == (255, 255, 255)
    for query in ({"index": "x"}, {"index": "1,1"}, {"width": 10**6}, {"name": "h5part:none"}):
        assert browser.get("/token/picture", params={"file": "run.h5part", **query}).status_code in (404, 422)
