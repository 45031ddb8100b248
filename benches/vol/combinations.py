"""Every kind of selection in the file with every kind in memory, through native HDF5 and through the connector, in turns:
`make bench-vol PROGRAM=combinations`.

Each turn is a process with native HDF5 and one with the connector, with the HDF5 library of h5py's wheel. Each moves a quarter of a million of
two million doubles, in each combination, and compares them with numpy. The table gives the medians, their spread, and native time divided
by the connector's.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

COUNT = 2_000_000
WANTED = 250_000
PARTS = 1_000


def _all() -> tuple[h5py.h5s.SpaceID, np.ndarray]:
    space = h5py.h5s.create_simple((COUNT,))
    space.select_hyperslab((1000,), (WANTED,))
    return space, np.arange(1000, 1000 + WANTED)


def _stride() -> tuple[h5py.h5s.SpaceID, np.ndarray]:
    space = h5py.h5s.create_simple((COUNT,))
    space.select_hyperslab((3,), (WANTED,), (8,))
    return space, np.arange(3, 3 + 8 * WANTED, 8)


def _blocks() -> tuple[h5py.h5s.SpaceID, np.ndarray]:
    space = h5py.h5s.create_simple((COUNT,))
    space.select_hyperslab((5,), (WANTED // 10,), (80,), (10,))
    return space, (np.arange(5, 5 + 8 * WANTED, 80)[: WANTED // 10, np.newaxis] + np.arange(10)).ravel()


def _union() -> tuple[h5py.h5s.SpaceID, np.ndarray]:
    """A thousand pieces at irregular distances."""
    long = WANTED // PARTS
    starts = np.arange(PARTS) * (COUNT // PARTS) + np.random.default_rng(1).integers(0, COUNT // PARTS - long, PARTS)
    space = h5py.h5s.create_simple((COUNT,))
    space.select_none()
    for start in starts.tolist():
        space.select_hyperslab((start,), (long,), op=h5py.h5s.SELECT_OR)
    return space, (starts[:, np.newaxis] + np.arange(long)).ravel()


def _points() -> tuple[h5py.h5s.SpaceID, np.ndarray]:
    """Points in no order."""
    places = np.random.default_rng(2).permutation(COUNT)[:WANTED]
    space = h5py.h5s.create_simple((COUNT,))
    space.select_elements(places[:, np.newaxis])
    return space, places


SELECTIONS = {"range": _all, "stride": _stride, "blocks": _blocks, "union": _union, "points": _points}


def measure(folder: pathlib.Path) -> dict[str, float]:
    """Seconds of each combination: the selection in the file, the one in memory, and `read` or `write`."""
    made = {name: make() for name, make in SELECTIONS.items()}
    found = {}
    values = np.arange(COUNT, dtype="f8")
    for in_file, (file_space, file_places) in made.items():
        for in_memory, (memory_space, memory_places) in made.items():
            path = folder / f"{in_file}-{in_memory}.h5"
            with h5py.File(path, "w") as f:
                f["x"] = values
            buffer, expected = np.full(COUNT, -1.0), np.full(COUNT, -1.0)
            start = time.perf_counter()
            with h5py.File(path) as f:
                f["x"].id.read(memory_space, file_space, buffer)
            found[f"{in_file} {in_memory} read"] = time.perf_counter() - start
            expected[memory_places] = values[file_places]
            assert np.array_equal(buffer, expected), (in_file, in_memory)
            start = time.perf_counter()
            with h5py.File(path, "r+") as f:
                f["x"].id.write(memory_space, file_space, -values)
            found[f"{in_file} {in_memory} write"] = time.perf_counter() - start
            expected = values.copy()
            expected[file_places] = -values[memory_places]
            with h5py.File(path) as f:
                assert np.array_equal(f["x"][()], expected), (in_file, in_memory)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return found


def turn(plugins: pathlib.Path | None, connector: str) -> dict[str, float]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    if plugins:
        environment |= {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": connector}
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, __file__, "--folder", folder], env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    seconds: dict[str, float] = json.loads(run.stdout)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--plugin", type=pathlib.Path, help="libhyperslab_vol.so")
    parser.add_argument("--connector", default="arrow", help="'arrow' or 'arrow form=file'")
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        print(json.dumps(measure(arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as plugins:
        pathlib.Path(plugins, "libhyperslab_vol.so").symlink_to(arguments.plugin.resolve())
        turns = [(turn(None, ""), turn(pathlib.Path(plugins), arguments.connector)) for _ in range(arguments.repeats)]
    print("| in the file | in memory | read: native ms | connector ms | ratio | write: native ms | connector ms | ratio |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for in_file in SELECTIONS:
        for in_memory in SELECTIONS:
            cells = []
            for what in ("read", "write"):
                native, ours = ([1e3 * one[side][f"{in_file} {in_memory} {what}"] for one in turns] for side in (0, 1))
                shown = [f"{statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f})" for times in (native, ours)]
                cells += [*shown, f"{statistics.median(native) / statistics.median(ours):.2f}"]
            print(f"| {in_file} | {in_memory} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
