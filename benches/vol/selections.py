"""Selections, small datasets and appends through native HDF5 and through the connector, in turns: `make bench-vol PROGRAM=selections`.

Each turn runs every row once natively, once through the connector into a folder and once into one file, each in a process of its own,
with the HDF5 library of h5py's wheel. The table gives the medians in seconds (in brackets the quartiles), native time divided by the
connector's, and the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import h5py
import numpy as np

RECORDS = 1_000_000
MEMBERS = ["x", "y", "z", "px", "py", "pz", "energy"]
PARTICLE = np.dtype([(name, "<f4") for name in MEMBERS] + [("id", "<i4")])
STRIDE = 8
SMALL = 10_000
APPENDS = 2_000
ROWS = 100

Row = Callable[[str], float]


def _particles(count: int) -> np.ndarray:
    values = np.zeros(count, PARTICLE)
    for index, name in enumerate(PARTICLE.names):
        values[name] = np.arange(count) % (1000 + index)
    return values


def _spaces(stride: int) -> tuple[h5py.h5s.SpaceID, h5py.h5s.SpaceID]:
    """A space of all records, and one in memory of which every `stride`-th is selected."""
    memory = h5py.h5s.create_simple((RECORDS * stride,))
    memory.select_hyperslab((0,), (RECORDS,), (stride,))
    return h5py.h5s.create_simple((RECORDS,)), memory


def ic_write(path: str) -> float:
    buffer = np.zeros(RECORDS * STRIDE, PARTICLE)
    buffer[::STRIDE] = _particles(RECORDS)
    start = time.perf_counter()
    with h5py.File(path, "w") as f:
        dataset = f.create_dataset("p", (RECORDS,), dtype=PARTICLE)
        file, memory = _spaces(STRIDE)
        dataset.id.write(memory, file, buffer)
    return time.perf_counter() - start


def ic_read(path: str) -> float:
    values = _particles(RECORDS)
    with h5py.File(path, "w") as f:
        f["p"] = values
    buffer = np.zeros(RECORDS * STRIDE, PARTICLE)
    start = time.perf_counter()
    with h5py.File(path) as f:
        file, memory = _spaces(STRIDE)
        f["p"].id.read(memory, file, buffer)
    seconds = time.perf_counter() - start
    assert np.array_equal(buffer[::STRIDE], values)
    return seconds


def second_read(path: str) -> float:
    values = _particles(RECORDS)
    with h5py.File(path, "w") as f:
        f["p"] = values
    start = time.perf_counter()
    with h5py.File(path) as f:
        found = f["p"][::2]
    seconds = time.perf_counter() - start
    assert np.array_equal(found, values[::2])
    return seconds


def second_write(path: str) -> float:
    values = _particles(RECORDS)
    with h5py.File(path, "w") as f:
        f["p"] = values
    start = time.perf_counter()
    with h5py.File(path, "r+") as f:
        f["p"][::2] = values[1::2]
    return time.perf_counter() - start


def cc_write(path: str) -> float:
    values = [_particles(RECORDS)[name].copy() for name in PARTICLE.names]
    start = time.perf_counter()
    with h5py.File(path, "w") as f:
        for name, column in zip(PARTICLE.names, values, strict=True):
            f.create_dataset(name, data=column)
    return time.perf_counter() - start


def cc_read(path: str) -> float:
    cc_write(path)
    start = time.perf_counter()
    with h5py.File(path) as f:
        for name in PARTICLE.names:
            f[name][()]
    return time.perf_counter() - start


def small_write(path: str) -> float:
    values = np.arange(10.0)
    start = time.perf_counter()
    with h5py.File(path, "w") as f:
        for index in range(SMALL):
            f.create_dataset(f"d{index}", data=values)
    return time.perf_counter() - start


def small_read(path: str) -> float:
    small_write(path)
    start = time.perf_counter()
    with h5py.File(path) as f:
        total = sum(float(f[f"d{index}"][3]) for index in range(SMALL))
    seconds = time.perf_counter() - start
    assert total == 3.0 * SMALL
    return seconds


def appends(path: str) -> float:
    values = _particles(ROWS)
    start = time.perf_counter()
    with h5py.File(path, "w") as f:
        dataset = f.create_dataset("p", (0,), maxshape=(None,), dtype=PARTICLE, chunks=(10_000,))
        for index in range(APPENDS):
            dataset.resize((ROWS * (index + 1),))
            dataset[-ROWS:] = values
    return time.perf_counter() - start


STEPS: dict[str, Row] = {
    "ic write": ic_write,
    "ic read": ic_read,
    "second read": second_read,
    "second write": second_write,
    "cc write": cc_write,
    "cc read": cc_read,
    "small write": small_write,
    "small read": small_read,
    "appends": appends,
}


# The connection strings of the two forms; none: native HDF5.
FORMS = {"native": None, "folder": "arrow", "file": "arrow form=file"}


def one(row: str, plugins: pathlib.Path, connector: str | None, place: pathlib.Path | None) -> float:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    if connector:
        environment |= {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": connector}
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    try:
        run = subprocess.run(
            [sys.executable, __file__, "--row", row, "--path", folder / "out.h5"], env=environment, capture_output=True, text=True, check=False
        )
    finally:
        shutil.rmtree(folder)
    if run.returncode:
        raise SystemExit(f"{row}: {run.stderr}")
    return float(run.stdout)


def shown(seconds: list[float]) -> str:
    low, middle, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    return f"{middle:.4f} ({low:.4f}, {high:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--rows", nargs="*", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--plugin", type=pathlib.Path, help="libhyperslab_vol.so")
    parser.add_argument("--forms", nargs="*", default=list(FORMS)[1:], choices=list(FORMS)[1:], help="which forms are measured next to native HDF5")
    parser.add_argument("--folder", type=pathlib.Path, help="where files are written; by default the folder for temporary files")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(STEPS[arguments.row](arguments.path))
        return
    plugins = pathlib.Path(tempfile.mkdtemp())
    (plugins / "libhyperslab_vol.so").symlink_to(arguments.plugin.resolve())
    forms = ["native", *arguments.forms]
    seconds: dict[tuple[str, str], list[float]] = {}
    loads = [os.getloadavg()[0]]
    for _ in range(arguments.repeats):
        for row in arguments.rows:
            for form in forms:
                seconds.setdefault((row, form), []).append(one(row, plugins, FORMS[form], arguments.folder))
        loads.append(os.getloadavg()[0])
    print("| row | native s |" + "".join(f" {form} s | ratio |" for form in arguments.forms))
    print("|---|--:|" + "--:|--:|" * len(arguments.forms))
    for row in arguments.rows:
        native = statistics.median(seconds[row, "native"])
        cells = [f"{shown(seconds[row, form])} | {native / statistics.median(seconds[row, form]):.2f}" for form in arguments.forms]
        print(f"| {row:12} | {shown(seconds[row, 'native'])} | " + " | ".join(cells) + " |")
    print(f"load {min(loads):.1f} to {max(loads):.1f}")
    shutil.rmtree(plugins)


if __name__ == "__main__":
    main()
