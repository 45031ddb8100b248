"""`hyperslab plot`: which argument is which, and what is drawn if one is left out."""

from __future__ import annotations

import os
import pathlib
import subprocess

import h5py
import numpy as np
import plot_files
import pytest
from command_server import CommandServer

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    plot_files.nexus(tmp_path / "scan.nxs")
    plot_files.swath(tmp_path / "swath.nc")
    plot_files.climate(tmp_path / "climate.nc", "noleap")
    with h5py.File(tmp_path / "named.h5", "w") as f:
        f["map.png"], f["other"] = np.arange(12.0).reshape(3, 4), np.arange(5.0)
    return tmp_path


@pytest.fixture
def command(command_server: CommandServer) -> pathlib.Path:
    return command_server.folder / "hyperslab"


def run(command: pathlib.Path, folder: pathlib.Path, *words: str, status: int = 0) -> str:
    done = subprocess.run([command, "plot", *words], capture_output=True, text=True, cwd=folder, env={**os.environ, "COLUMNS": "80"})
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["scan.nxs"], "scan_counts.png"),
        (["scan.nxs", "scan.pdf"], "scan.pdf"),
        (["scan.nxs", "/entry/data"], "scan_counts.png"),
        (["scan.nxs", "/entry/data/angle", "a.svg"], "a.svg"),
        (["climate.nc", "OUT.PNG"], "OUT.PNG"),
        (["swath.nc", "bt"], "swath_bt.png"),
        (["named.h5", "map.png"], "named_map.png.png"),  # there is such a dataset
        (["named.h5", "/map.png", "x.png", "--vmin", "3"], "x.png"),
    ],
    ids=" ".join,
)
def test_arguments(command: pathlib.Path, folder: pathlib.Path, words: list[str], out: str) -> None:
    assert run(command, folder, *words) == f"wrote {out}: {(folder / out).stat().st_size:,} bytes\n"
    begin = {".png": PNG, ".pdf": b"%PDF", ".svg": b"<?xml"}[pathlib.Path(out).suffix.lower()]
    assert (folder / out).read_bytes().startswith(begin)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["swath.nc"], "several datasets can be drawn: choose one of /bt, /quality, /bits (file swath.nc)"),
        (["swath.nc", "x.png"], "choose one of /bt, /quality, /bits"),
        (["swath.nc", "bt", "out.txt"], "out.txt: name the picture .png, .pdf or .svg"),
        (["swath.nc", "out.txt"], 'there is no "out.txt"'),
        (["scan.nxs", "/entry"], "/entry is not a dataset"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line(command: pathlib.Path, folder: pathlib.Path, words: list[str], says: str) -> None:
    before = sorted(folder.iterdir())
    error = run(command, folder, *words, status=1)
    assert says in error and error.count("\n") == 1 and error.startswith("hyperslab: ") and "avif" not in error
    assert sorted(folder.iterdir()) == before


def test_a_name_that_nobody_gave_replaces_nothing(command: pathlib.Path, folder: pathlib.Path) -> None:
    (folder / "scan_counts.png").write_text("a user's")
    assert "scan_counts.png exists: name the picture to replace it" in run(command, folder, "scan.nxs", status=1)
    assert (folder / "scan_counts.png").read_text() == "a user's"
    run(command, folder, "scan.nxs", "scan_counts.png")
    assert (folder / "scan_counts.png").read_bytes().startswith(PNG)
