"""Thumbnails in notebooks: what the pixels and lines show, which way is up, and what is read for them."""

from __future__ import annotations

import base64
import io
import pathlib
import re

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
import xarray as xr
from hyperslab.objects import thumbnail
from PIL import Image
from range_server import serving


def pixels(path: pathlib.Path, name: str) -> np.ndarray:
    """Red, green, blue and opacity of the picture of a dataset."""
    (encoded,) = re.findall("data:image/png;base64,([^']+)'", hs.open(path)[name]._repr_html_())
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA"))


def shades(drawn: np.ndarray) -> np.ndarray:
    """The values of pixels between 0 and 1, as far as colors tell; NaN where they are transparent."""
    at = np.linspace(0, 8, 64)
    table = np.stack([np.interp(at, range(9), channel) for channel in zip(*thumbnail._COLORS, strict=True)], axis=1)
    nearest = np.abs(drawn[..., None, :3].astype(float) - table).sum(-1).argmin(-1) / 63
    return np.where(drawn[..., 3] == 0, np.nan, nearest)


def grid(path: pathlib.Path, latitudes: list[float], values: np.ndarray, dims: tuple[str, str] = ("lat", "lon")) -> None:
    with netCDF4.Dataset(path, "w") as f:
        extents = dict(zip(dims, values.shape, strict=True))
        for name, units in (("lat", "degrees_north"), ("lon", "degrees_east")):
            f.createDimension(name, extents[name])
            f.createVariable(name, "f4", (name,))[:] = latitudes if name == "lat" else np.arange(extents[name])
            f[name].units = units
        packed = f.createVariable("t", "i2", dims, fill_value=-32767)
        packed.scale_factor, packed.add_offset = 0.01, 250.0
        packed[:] = np.ma.masked_invalid(values)


def expected(values: np.ndarray) -> np.ndarray:
    return (values - np.nanmin(values)) / (np.nanmax(values) - np.nanmin(values))


def test_north_is_up_and_missing_values_are_transparent(tmp_path: pathlib.Path) -> None:
    values = 250 + np.arange(12.0).reshape(3, 4)
    values[0, 1] = np.nan
    for number, (latitudes, dims) in enumerate(([[10, 20, 30], ("lat", "lon")], [[30, 20, 10], ("lat", "lon")], [[10, 20, 30, 40], ("lon", "lat")])):
        path = tmp_path / f"{number}.nc"
        grid(path, latitudes, values, dims)
        with xr.open_dataset(path) as judge:
            north_up = judge["t"].sortby("lat", ascending=False).transpose("lat", "lon").values
        drawn = shades(pixels(path, "t"))
        assert drawn.shape == north_up.shape and np.array_equal(np.isnan(drawn), np.isnan(north_up))
        np.testing.assert_allclose(drawn, expected(north_up), atol=0.01)


def test_depth_goes_down_and_height_up(tmp_path: pathlib.Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    for positive, rows in (("up", values[::-1]), ("down", values)):
        with netCDF4.Dataset(tmp_path / f"{positive}.nc", "w") as f:
            f.createDimension("z", 3)
            f.createDimension("x", 4)
            f.createVariable("z", "f4", ("z",))[:] = [0, 1, 2]
            f["z"].positive = positive
            f.createVariable("v", "f4", ("z", "x"))[:] = values
            f.createVariable("w", "f4", ("x", "z"))[:] = values.T
        for name in ("v", "w"):
            np.testing.assert_allclose(shades(pixels(tmp_path / f"{positive}.nc", name)), expected(rows), atol=0.01)


def test_a_swath_that_goes_north_is_turned(tmp_path: pathlib.Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    with netCDF4.Dataset(tmp_path / "swath.nc", "w") as f:
        f.createDimension("y", 3)
        f.createDimension("x", 4)
        for name, units, places in (
            ("lat", "degrees_north", np.broadcast_to([[5], [6], [7]], (3, 4))),
            ("lon", "degrees_east", np.broadcast_to([-179, 179, 178, 177], (3, 4))),
        ):
            f.createVariable(name, "f4", ("y", "x"))[:] = places
            f[name].units = units
        f.createVariable("bt", "f4", ("y", "x"))[:] = values
        f["bt"].coordinates = "lat lon"
        f.createVariable("no_place", "f4", ("y", "x"))[:] = values
    np.testing.assert_allclose(shades(pixels(tmp_path / "swath.nc", "bt")), expected(values[::-1, ::-1]), atol=0.01)


def test_profiles_go_down_however_they_are_stored(tmp_path: pathlib.Path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    for number, order in enumerate((1, -1)):
        with netCDF4.Dataset(tmp_path / f"{number}.nc", "w") as f:
            f.createDimension("N_PROF", 3)
            f.createDimension("N_LEVELS", 4)
            for name, standard, stored in (("PRES", "sea_water_pressure", np.array([[5, 10, 20, 40]] * 3)), ("TEMP", "sea_water_temperature", values)):
                f.createVariable(name, "f4", ("N_PROF", "N_LEVELS"))[:] = stored[:, ::order]
                f[name].standard_name = standard
        np.testing.assert_allclose(shades(pixels(tmp_path / f"{number}.nc", "TEMP")), expected(values.T), atol=0.01)


def test_large_arrays_are_thinned_and_small(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["noise"] = rng.normal(size=(2, 300, 1000))
        f["line"] = np.sin(np.linspace(0, 6, 5000))
        f["rgb"] = rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)
        f["points"] = rng.normal(size=(5000, 2))
        f["flat"] = np.full((3, 3), 7.0)
        f["huge"] = np.array([[-1.7e308, 1.7e308]] * 2)
    drawn = pixels(tmp_path / "x.h5", "noise")
    with h5py.File(tmp_path / "x.h5") as f:
        np.testing.assert_allclose(shades(drawn), expected(f["noise"][0, 2::4, 3::7]), atol=0.01)
        assert np.array_equal(pixels(tmp_path / "x.h5", "rgb")[..., :3], f["rgb"][...])
    assert drawn.shape[0] <= thumbnail.MAX_ROWS and drawn.shape[1] <= thumbnail.MAX_COLUMNS
    opened = hs.open(tmp_path / "x.h5")
    assert "1 of 4 × 7 values" in opened["noise"]._repr_html_() and "1 of 32 values" in opened["line"]._repr_html_()
    assert all(0 < len(thumbnail.thumbnail(opened[name])) < 24_000 for name in opened)
    assert np.unique(shades(pixels(tmp_path / "x.h5", "flat"))).tolist() == [pytest.approx(0.5, abs=0.01)]
    assert opened["points"]._repr_html_().count("h0") == 385 and shades(pixels(tmp_path / "x.h5", "huge")).tolist() == [[0, 1], [0, 1]]


def test_a_line_has_gaps(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = [0.0, 1, np.nan, 1, np.nan, 0, 0.5]
    (path,) = re.findall("<path d='([^']+)'", hs.open(tmp_path / "x.h5")["x"]._repr_html_())
    parts = [part.split("h0") for part in path.split("M")[1:]]
    assert [1 + part[1].count("L") for part in parts] == [2, 1, 2]
    heights = [float(y) for y in re.findall(r"[ML][0-9.]+ ([0-9.]+)", path)]
    assert heights == [46, 2, 2, 46, 24]  # from the bottom to the top, which is 0 in SVG


def test_no_picture_of_what_has_no_numbers(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["text"], f["scalar"], f["nan"], f["one"], f["complex"] = ["a", "b"], 3.0, np.full(5, np.nan), [1.0], np.ones(3, complex)
        f["records"] = np.zeros(3, [("a", "f4")])
        f.create_dataset("none", (0, 4), "f4")
        f["empty"] = h5py.Empty("f4")
    opened = hs.open(tmp_path / "x.h5")
    for name in opened:
        assert "<svg" not in opened[name]._repr_html_() and "<img" not in opened[name]._repr_html_(), name


def test_what_is_read_is_bounded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("rows", data=np.ones((400, 1000)))
        f.create_dataset("far", data=np.ones((400, 5000)))
        f.create_dataset("chunks", data=np.ones((400, 1000)), chunks=(100, 100), compression="gzip")
        f.create_dataset("tiny", data=np.ones((400, 400)), chunks=(1, 1))
        layout = h5py.VirtualLayout((400, 1000), "f8")
        layout[:] = h5py.VirtualSource("x.h5", "rows", (400, 1000))
        f.create_virtual_dataset("virtual", layout)
    opened = hs.open(tmp_path / "x.h5")
    # Every fifth row, with the ones between if they are short; all chunks.
    for name, bytes_read in (("rows", 80 * 5 * 8000), ("far", 80 * (40_000 + 32_768)), ("chunks", 400 * 8000)):
        before = hs.counters()
        assert "<img" in thumbnail.thumbnail(opened[name])
        read = hs.counters().since(before)
        assert max(read.bytes_read, read.decoded_bytes) <= bytes_read
        monkeypatch.setattr(thumbnail, "MAX_BYTES", bytes_read - 1)
        before = hs.counters()
        assert thumbnail.thumbnail(opened[name]) == "" and hs.counters().since(before).bytes_read == 0
        monkeypatch.undo()
    assert thumbnail.thumbnail(opened["tiny"]) == ""  # 32,000 chunks
    assert thumbnail.thumbnail(opened["virtual"]) == "" and "<img" not in opened["virtual"]._repr_html_()


def test_no_picture_of_remote_files_and_of_files_being_written(tmp_path: pathlib.Path) -> None:
    with hs.create(tmp_path / "x.h5") as f:
        dataset = f.create_dataset("x", data=np.arange(6.0).reshape(2, 3))
        assert "<img" not in dataset._repr_html_()
    with serving() as server:
        remote = hs.open(server.put("x.h5", tmp_path / "x.h5"), storage_options={"allow_http": "true"})
        assert "<img" not in remote["x"]._repr_html_() and ">5<" in remote["x"]._repr_html_()
    assert "<img" in hs.open(tmp_path / "x.h5")["x"]._repr_html_()
