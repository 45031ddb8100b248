"""A real terminal of 60 and of 100 columns: typed commands, and what its screen shows."""

from __future__ import annotations

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator

import anndata
import h5py
import netCDF4
import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: nothing here makes a real terminal")
COMMANDS = pathlib.Path(sys.executable).parent
SECONDS = 60


class Terminal:
    """A shell in a window of tmux, with a server of its own."""

    def __init__(self, folder: pathlib.Path, columns: int) -> None:
        self.columns, self._name, self._count, self.status = columns, f"hyperslab-{uuid.uuid4().hex[:8]}", 0, 0
        environment = ["-e", "PS1=$ ", "-e", "HISTFILE=", "-e", "LC_ALL=C.UTF-8"]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", "100", "-c", str(folder), *environment, "bash --norc --noprofile")
        self.type(f"export PATH={shlex.quote(str(COMMANDS))}:$PATH")

    def _tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-u", "-L", self._name, *words], capture_output=True, text=True, check=True).stdout

    def type(self, command: str) -> list[str]:
        """Types a command, and returns the lines that it prints as they were written: those that the terminal broke are one."""
        self._count += 1
        # Each command has its own marks: the screen may still show those of the last one.
        begin, done = f"begin {self._count}", f"done {self._count} "
        self._tmux("send-keys", "-l", f'clear; echo {begin}; {command}; echo "{done}$?"')
        self._tmux("send-keys", "Enter")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            lines = [line.rstrip() for line in self._tmux("capture-pane", "-p", "-J", "-S", "-").splitlines()]
            ends = [i for i, line in enumerate(lines) if re.fullmatch(f"{done}[0-9]+", line)]
            if begin in lines and ends:
                self.status = int(lines[ends[0]].split()[-1])
                return [line for line in lines[lines.index(begin) + 1 : ends[0]] if line]
            time.sleep(0.05)
        raise AssertionError(f"{command} did not end: {self._tmux('capture-pane', '-p')}")

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("terminal")
    with netCDF4.Dataset(folder / "packed.nc", "w") as f:
        f.Conventions = "CF-1.8"
        for name, extent, units in (("time", 3, "days since 2000-02-28"), ("lat", 4, "degrees_north"), ("lon", 5, "degrees_east")):
            f.createDimension(name, extent)
            f.createVariable(name, "f4", (name,))[:] = np.arange(extent)
            f[name].units = units
        temperature = f.createVariable("t", "i2", ("time", "lat", "lon"), fill_value=-9, zlib=True, chunksizes=(1, 2, 3))
        temperature.scale_factor, temperature.add_offset, temperature.units, temperature.long_name = 0.002, 250.0, "K", "air temperature"
        temperature[:] = np.ma.masked_less(250 + np.arange(60.0).reshape(3, 4, 5) / 2, 250.4)
    obs = pd.DataFrame(
        {"kind": pd.Categorical(["B", "T", "B"]), "n": [1, 2, 3], "score": np.array([0.5, 1, 2], "f4"), "note": ["x" * 90, "y", "z"]}, index=list("abc")
    )
    for number in range(12):
        obs[f"measured_{number}"] = 1.5
    anndata.AnnData(np.ones((3, 1), "f4"), obs=obs).write_h5ad(folder / "cells.h5ad")
    with h5py.File(folder / "wide.h5", "w") as f:
        f["text"] = ["a long text " * 20, "日本語" * 40]
        f.create_dataset("a_name_of_some_length", (10, 10, 10, 10), chunks=(5, 5, 5, 5), compression="gzip")
        f["a_name_of_some_length"].attrs["units"] = "K"
    return folder


@pytest.fixture(scope="module", params=[60, 100])
def terminal(request: pytest.FixtureRequest, folder: pathlib.Path) -> Iterator[Terminal]:
    terminal = Terminal(folder, request.param)
    yield terminal
    terminal.close()


def test_info_and_the_tree_fit(terminal: Terminal) -> None:
    lines = fitting(terminal, "hyperslab info packed.nc")
    assert any("time_lat_lon = 60 rows" in line for line in lines) and any("t = 3 × 4 × 5 [K]" in line for line in lines)
    lines = fitting(terminal, "hyperslab ls wide.h5")
    (line,) = (line for line in lines if "a_name_of_some_length" in line)
    assert "(10, 10, 10, 10)" in line and line.endswith("…") == (terminal.columns == 60)
    assert any("chunks" in line for line in fitting(terminal, "hyperslab info wide.h5 a_name_of_some_length"))


def fitting(terminal: Terminal, command: str, status: int = 0) -> list[str]:
    """What a command prints; checks that no line is wider than the terminal."""
    lines = terminal.type(command)
    assert terminal.status == status, lines
    assert lines and max(map(cell_len, lines)) <= terminal.columns, lines
    return lines


def test_rows_have_types_and_no_line_is_broken(terminal: Terminal) -> None:
    lines = fitting(terminal, "hyperslab head packed.nc t -n 3")
    assert lines[0].split() == ["time", "lat", "lon", "t"] and lines[1].split() == ["time", "float32", "float32", "float64"]
    # The first value is missing.
    assert [line.split()[1:] for line in lines[2:5]] == [["0.0", "0.0", "—"], ["0.0", "1.0", "250.5"], ["0.0", "2.0", "251.0"]]
    assert lines[5] == "hyperslab: the first 3 of 60 rows"


def test_long_text_is_cut_and_columns_are_counted(terminal: Terminal) -> None:
    lines = fitting(terminal, "hyperslab head cells.h5ad obs")
    shown = lines[0].split()
    names = ["_index", "kind", "n", "score", "note", *(f"measured_{number}" for number in range(12))]
    assert shown == names[: len(shown)] and 4 < len(shown) < len(names)
    assert lines[1].split() == ["text", "category", "int64", "float32", "text", *["float64"] * 12][: len(shown)]
    assert re.search("x{11,39}…", lines[2])
    notes = " ".join(lines[5:])
    assert f"hyperslab: {len(shown)} of 17 columns fit the terminal; not shown: {names[len(shown)]}, " in notes
    assert "--json prints all" in notes and "--raw shows the object /obs as stored" in notes
    assert any("…" in line and "日本" in line for line in fitting(terminal, "hyperslab head wide.h5 text"))


def test_sql_plot_and_export(terminal: Terminal, folder: pathlib.Path) -> None:
    lines = fitting(terminal, "hyperslab sql packed.nc 'select lat, max(t) as highest from t group by lat order by lat'")
    assert [line.split() for line in lines[:3]] == [["lat", "highest"], ["float32", "float64"], ["0.0", "272.0"]]
    line = fitting(terminal, f"hyperslab plot packed.nc t{terminal.columns}.png")[-1]
    assert line.startswith(f"wrote t{terminal.columns}.png: ") and (folder / f"t{terminal.columns}.png").stat().st_size > 5000
    (line,) = fitting(terminal, f"hyperslab export packed.nc t t{terminal.columns}.parquet")
    assert line.startswith(f"wrote t{terminal.columns}.parquet: 60 rows, ")


def test_errors_end_between_words(terminal: Terminal) -> None:
    lines = fitting(terminal, "hyperslab head packed.nc temperature_of_air", 1)
    assert lines[0].startswith('hyperslab: there is no "temperature_of_air"') and "nearest:" in " ".join(lines)
    lines = fitting(terminal, """hyperslab sql cells.h5ad 'from obs where kind = "B"'""", 1)
    assert 'Referenced column "B" not found' in " ".join(lines) and " ".join(lines).endswith("If it is text, write 'B'")


@pytest.mark.parametrize("command", ["", "info ", "head ", "sql ", "plot ", "export "])
def test_help_fits(terminal: Terminal, command: str) -> None:
    lines = terminal.type(f"hyperslab {command}--help")
    # Examples are copied, so they are not broken.
    usual = [line for line in lines if not line.startswith("    hyperslab ")]
    assert lines[0].startswith("Usage: hyperslab") and max(map(len, usual)) <= terminal.columns and "<" not in "".join(lines[1:]).replace("<str>", "")
