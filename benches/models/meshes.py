"""The cells of an adaptive mesh (Chombo) by conditions, next to h5py with numpy over the boxes of each level.

Each round runs both contestants of a case in turn, from a warm page cache, in one process. The table has the medians and the fastest
and slowest round. Results are compared before they count.

    python benches/models/meshes.py [--rounds 9] [--side 256] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np

WIDTH, RATIO, COMPONENTS = 32, 2, ("density", "u", "v", "w")
CORNERS = [f"{corner}_{axis}" for corner in ("lo", "hi") for axis in "ijk"]


def make(path: pathlib.Path, side: int) -> None:
    """Three levels with boxes of 32 cells in each direction; each level refines the middle of the one below, with the same number of cells."""
    if path.exists():
        return
    random = np.random.default_rng(5)
    extents = np.array([side, side, side // 2])
    low = np.zeros(3, int)
    with h5py.File(path, "w") as f:
        f.create_group("Chombo_global").attrs["SpaceDim"] = 3
        f.attrs["num_components"], f.attrs["num_levels"], f.attrs["time"] = len(COMPONENTS), 3, 0.0
        for number, name in enumerate(COMPONENTS):
            f.attrs[f"component_{number}"] = name
        for level in range(3):
            group = f.create_group(f"level_{level}")
            group.attrs["dx"], group.attrs["ref_ratio"] = 1.0 / side / RATIO**level, RATIO
            starts = [range(int(low[axis]), int(low[axis] + extents[axis]), WIDTH) for axis in (2, 1, 0)]
            boxes = [(i, j, k, i + WIDTH - 1, j + WIDTH - 1, k + WIDTH - 1) for k, j, i in itertools.product(*starts)]
            group["boxes"] = np.array(boxes, [(name, "i4") for name in CORNERS])
            cells = len(COMPONENTS) * WIDTH**3
            data = group.create_dataset("data:datatype=0", (len(boxes) * cells,), "f8")
            for box in range(len(boxes)):
                data[box * cells : (box + 1) * cells] = random.normal(size=cells)
            group["data:offsets=0"] = np.arange(len(boxes) + 1) * cells
            group.create_group("data_attributes").attrs["comps"] = len(COMPONENTS)
            low = (low + extents // 4 + WIDTH // 4) * RATIO


class Plain:
    """A file with the boxes of each level by h5py."""

    def __init__(self, path: pathlib.Path) -> None:
        self.file = h5py.File(path)
        self.levels = [self.file[f"level_{level}"] for level in range(3)]

    def each(self, wanted: Callable[[int, np.void], bool] = lambda level, box: True) -> Any:
        """Level, box, the values of a component, and which cells a finer box covers."""
        for number, level in enumerate(self.levels):
            finer = self.levels[number + 1]["boxes"][:] if number < 2 else []
            low = {axis: np.array([box[f"lo_{axis}"] // RATIO for box in finer], int) for axis in "ijk"}
            high = {axis: np.array([box[f"hi_{axis}"] // RATIO for box in finer], int) for axis in "ijk"}
            offsets, data = level["data:offsets=0"][:], level["data:datatype=0"]
            for box, start in zip(level["boxes"][:], offsets, strict=False):
                if not wanted(number, box):
                    continue
                values = data[start : start + WIDTH**3].reshape(WIDTH, WIDTH, WIDTH)
                covered = np.zeros(values.shape, bool)
                meets = np.ones(len(finer), bool)
                for axis in "ijk":
                    meets &= (low[axis] <= box[f"hi_{axis}"]) & (high[axis] >= box[f"lo_{axis}"])
                for other in np.flatnonzero(meets):
                    sides = (slice(max(0, low[axis][other] - box[f"lo_{axis}"]), high[axis][other] - box[f"lo_{axis}"] + 1) for axis in "kji")
                    covered[tuple(sides)] = True
                yield number, box, values, covered

    def count(self, threshold: float) -> int:
        return sum(int(((values > threshold) & ~covered).sum()) for *_, values, covered in self.each())

    def rows(self, threshold: float) -> np.ndarray:
        found = []
        for level, box, values, covered in self.each():
            k, j, i = np.nonzero((values > threshold) & ~covered)
            dx = self.levels[level].attrs["dx"]
            places = [(index + box[f"lo_{axis}"] + 0.5) * dx for axis, index in (("i", i), ("j", j), ("k", k))]
            found.append(np.stack([*places, values[k, j, i]], axis=1))
        return np.concatenate(found)

    def total(self, most: float) -> float:
        total = 0.0
        dx = self.levels[2].attrs["dx"]
        for _, box, values, _ in self.each(lambda level, box: level == 2 and (box["lo_i"] + 0.5) * dx < most):
            x = (np.arange(box["lo_i"], box["hi_i"] + 1) + 0.5) * dx
            total += float(values[:, :, x < most].sum())
        return total


def cases(path: pathlib.Path, side: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """For each case ours and h5py's."""
    plain, mesh = Plain(path), hs.models.chombo.open(path)
    with h5py.File(path) as f:
        least = f["level_2/boxes"]["lo_i"].min() * f["level_2"].attrs["dx"]
    most = float(least + 0.01)

    def rows() -> np.ndarray:
        found = mesh.cells("not covered and density > 3", ["x", "y", "z", "density"]).to_arrow()
        return np.stack([found[name].to_numpy() for name in ("x", "y", "z", "density")], axis=1)

    def total() -> float:
        return float(np.asarray(mesh.cells(f"level = 2 and x < {most!r}", ["density"]).to_arrow()["density"]).sum())

    return {
        "count of `not covered and density > 1`": (lambda: mesh.cells("not covered and density > 1").count(), lambda: plain.count(1)),
        "rows of `not covered and density > 3` with x, y, z": (rows, lambda: plain.rows(3)),
        "sum in `level = 2 and x < …`, 1/12 of the level": (total, lambda: plain.total(most)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--side", type=int, default=256, help="cells of the coarsest level along x; there are 1.5 times its cube in all")
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"mesh{options.side}.hdf5"
    make(path, options.side)
    print("| case | hyperslab | h5py with numpy |\n|---|--:|--:|")
    for name, contestants in cases(path, options.side).items():
        results = [run() for run in contestants]
        np.testing.assert_allclose(results[0], results[1])
        times: list[list[float]] = [[], []]
        for _ in range(options.rounds):
            for run, own in zip(contestants, times, strict=True):
                begin = time.perf_counter()
                run()
                own.append(time.perf_counter() - begin)
        shown = [f"{statistics.median(own) * 1000:.0f} ms ({min(own) * 1000:.0f} to {max(own) * 1000:.0f})" for own in times]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
