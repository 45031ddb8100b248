"""Pictures that were looked at: those of today are nearly the same. `python testing/show/test_plot_golden.py` draws them again, after which each has to be
looked at: a picture shows what no test of its parts does."""

from __future__ import annotations

import io
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

sys.path.append(str(pathlib.Path(__file__).parents[1] / "lib"))
import hyperslab as hs
import plot_files

GOLDEN = pathlib.Path(__file__).parent / "golden"
SIZE = (200, 150)
#: The mean difference of a picture, and of the block of pixels that differs most, of 255. Other fonts make a smaller one, a shifted axis or another color
#: a larger one.
MAX_DIFFERENCE, MAX_BLOCK_DIFFERENCE, BLOCK = 1.5, 30.0, 10
#: Lines as thick as a small picture needs them, and letters that do not count.
STYLE = {"lines.linewidth": 6, "font.size": 5}


def of(make: Callable[..., pathlib.Path], name: str, *arguments: Any, **options: Any) -> Callable[[pathlib.Path], Any]:
    return lambda folder: hs.open(make(folder / f"file{name.rpartition('/')[2]}.bin", *arguments))[name].plot(**options)


PICTURES: dict[str, Callable[[pathlib.Path], Any]] = {
    "map": of(plot_files.climate, "t", "standard"),
    "series_noleap": of(plot_files.climate, "t", "noleap", dims="time", index={"lat": 3, "lon": 4}),
    "time_latitude_360_day": of(plot_files.climate, "t", "360_day", dims=("time", "lat")),
    "swath": of(plot_files.swath, "bt", 40, 30, 10.0, True),
    "swath_antimeridian": of(plot_files.swath, "bt", 40, 30, 170.0),
    "hdf_eos": of(plot_files.hdf_eos, "HDFEOS/SWATHS/Column/Data Fields/Ozone"),
    "flags": of(plot_files.swath, "quality"),
    "profiles": of(plot_files.argo, "TEMP", 5),
    "section": of(plot_files.argo, "TEMP", 60),
    "nexus": of(plot_files.nexus, "/entry/data/counts"),
    "points": of(plot_files.arrays, "umap"),
    "complex": of(plot_files.arrays, "psi"),
}


def figure_of(name: str, folder: pathlib.Path, **style: Any) -> Any:
    with mpl.rc_context({**STYLE, **style}):
        figure = PICTURES[name](folder)
        figure.draw_without_rendering()
    return figure


def drawn(figure: Any) -> np.ndarray:
    """The picture, as small as those that are kept."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return np.asarray(Image.open(out).convert("RGB").resize(SIZE, Image.Resampling.BOX))


def difference(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The mean difference of all pixels, and that of the block that differs most."""
    distance = np.abs(one.astype(float) - other).mean(axis=-1)
    rows, columns = (extent // BLOCK for extent in distance.shape)
    blocks = distance[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK).mean(axis=(1, 3))
    return float(distance.mean()), float(blocks.max())


def is_same(one: np.ndarray, other: np.ndarray) -> bool:
    mean, block = difference(one, other)
    return mean <= MAX_DIFFERENCE and block <= MAX_BLOCK_DIFFERENCE


def kept(name: str) -> np.ndarray:
    return np.asarray(Image.open(GOLDEN / f"{name}.png").convert("RGB"))


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_those_that_were_looked_at(tmp_path: pathlib.Path, name: str) -> None:
    assert {path.stem for path in GOLDEN.glob("*.png")} == set(PICTURES)
    found, wanted = drawn(figure_of(name, tmp_path)), kept(name)
    assert is_same(found, wanted), f"{difference(found, wanted)}: look at both, then python {__file__}"


@pytest.mark.parametrize("name", ["map", "section", "flags", "profiles"])
def test_letters_do_not_count(tmp_path: pathlib.Path, name: str) -> None:
    found = drawn(figure_of(name, tmp_path, **{"font.family": "DejaVu Serif"}))
    assert is_same(found, kept(name)) and difference(found, kept(name))[0] > 0


def shift_axis(axes: Any) -> None:
    low, high = axes.get_xlim()
    axes.set_xlim(low + 0.1 * (high - low), high + 0.1 * (high - low))


def turn_axis(axes: Any) -> None:
    axes.invert_yaxis()


def move_places(axes: Any) -> None:
    """The cells are a twentieth of the picture away from where they belong, and the axis is as it was."""
    limits, by = axes.get_xlim(), 0.05 * np.ptp(axes.get_xlim())
    for mesh in axes.collections:
        mesh._coordinates = mesh.get_coordinates() + np.array([by, 0])
        mesh.stale = True
    for line in axes.lines:
        line.set_xdata(np.asarray(line.get_xdata(orig=False), float) + by)
    axes.set_xlim(limits)


def change_colors(axes: Any) -> None:
    for mesh in axes.collections:
        mesh.set_cmap("magma")
    for line in axes.lines:
        line.set_color("red")


def lose_values(axes: Any) -> None:
    for mesh in axes.collections:
        values = np.ma.array(mesh.get_array(), copy=True)
        values[: len(values) // 4, : values.shape[1] // 4] = np.ma.masked
        mesh.set_array(values)
    for line in axes.lines:
        line.set_data(*(data[len(data) // 4 :] for data in line.get_data()))


@pytest.mark.parametrize("change", [shift_axis, turn_axis, move_places, change_colors, lose_values])
@pytest.mark.parametrize("name", ["map", "swath", "section", "series_noleap", "nexus", "flags"])
def test_a_wrong_picture_is_seen(tmp_path: pathlib.Path, name: str, change: Callable[[Any], None]) -> None:
    figure = figure_of(name, tmp_path)
    change(figure.axes[0])
    assert not is_same(drawn(figure), kept(name))


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name in PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            Image.fromarray(drawn(figure_of(name, pathlib.Path(folder)))).save(GOLDEN / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
