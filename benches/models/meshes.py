"""The cells of adaptive meshes (Chombo, VTKHDF, FLASH) by conditions, next to h5py with numpy over the boxes of each level.

Each round runs both contestants of a case in turn, from a warm page cache, in one process. The table has the medians and the fastest
and slowest round. Results are compared before they count.

    python benches/models/meshes.py [--rounds 9] [--side 256] [--formats chombo vtkhdf flash] [--folder FOLDER]
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

WIDTH, BLOCK, RATIO, COMPONENTS = 32, 16, 2, ("density", "u", "v", "w")
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
    """Files of Chombo: for each level its boxes, and the values of a component by h5py."""

    def __init__(self, path: pathlib.Path) -> None:
        self.file = h5py.File(path)
        self.groups = [self.file[name] for name in self.names()]
        self.boxes = [self.corners(group) for group in self.groups]
        self.dx = [self.extent(group) for group in self.groups]

    def names(self) -> list[str]:
        return [f"level_{level}" for level in range(3)]

    def corners(self, group: h5py.Group) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest cells of all boxes: along i, j and k."""
        boxes = group["boxes"][:]
        low, high = (np.stack([boxes[f"{corner}_{axis}"] for axis in "ijk"], axis=1).astype(int) for corner in ("lo", "hi"))
        return low, high

    def extent(self, group: h5py.Group) -> float:
        return float(group.attrs["dx"])

    def values(self, group: h5py.Group, box: int) -> np.ndarray:
        start = int(group["data:offsets=0"][box])
        return group["data:datatype=0"][start : start + WIDTH**3].reshape(WIDTH, WIDTH, WIDTH)

    def each(self, wanted: Callable[[int, np.ndarray], bool] = lambda level, low: True) -> Any:
        """Level, lowest cell of the box, the values of a component, and which cells a finer box covers."""
        for number, group in enumerate(self.groups):
            finer = [corner // RATIO for corner in self.boxes[number + 1]] if number < 2 else [np.zeros((0, 3), int)] * 2
            for box, (low, high) in enumerate(zip(*self.boxes[number], strict=True)):
                if not wanted(number, low):
                    continue
                values = self.values(group, box)
                covered = np.zeros(values.shape, bool)
                for other in np.flatnonzero(((finer[0] <= high) & (finer[1] >= low)).all(axis=1)):
                    begin, end = np.maximum(finer[0][other] - low, 0), finer[1][other] - low + 1
                    covered[begin[2] : end[2], begin[1] : end[1], begin[0] : end[0]] = True
                yield number, low, values, covered

    def count(self, threshold: float) -> int:
        return sum(int(((values > threshold) & ~covered).sum()) for *_, values, covered in self.each())

    def rows(self, threshold: float) -> np.ndarray:
        found = []
        for level, low, values, covered in self.each():
            k, j, i = np.nonzero((values > threshold) & ~covered)
            found.append(np.stack([*((index + first + 0.5) * self.dx[level] for index, first in zip((i, j, k), low, strict=True)), values[k, j, i]], axis=1))
        return np.concatenate(found)

    def total(self, most: float) -> float:
        total, dx = 0.0, self.dx[2]
        for _, low, values, _ in self.each(lambda level, low: level == 2 and (low[0] + 0.5) * dx < most):
            x = (np.arange(low[0], low[0] + values.shape[2]) + 0.5) * dx
            total += float(values[:, :, x < most].sum())
        return total


class PlainVtk(Plain):
    """Files of VTKHDF."""

    def names(self) -> list[str]:
        return [f"VTKHDF/Level{level}" for level in range(3)]

    def corners(self, group: h5py.Group) -> tuple[np.ndarray, np.ndarray]:
        boxes = group["AMRBox"][:].astype(int)
        return boxes[:, ::2], boxes[:, 1::2]

    def extent(self, group: h5py.Group) -> float:
        return float(group.attrs["Spacing"][0])

    def values(self, group: h5py.Group, box: int) -> np.ndarray:
        return group["CellData/density"][box * WIDTH**3 : (box + 1) * WIDTH**3].reshape(WIDTH, WIDTH, WIDTH)


class PlainFlash(Plain):
    """Files of FLASH: leaves are not covered."""

    def __init__(self, path: pathlib.Path) -> None:
        self.file = h5py.File(path)
        levels, bounds = self.file["refine level"][:], self.file["bounding box"][:]
        self.numbers = [np.flatnonzero(levels == level + 1) for level in range(3)]
        self.dx = [float(bounds[numbers[0], 0, 1] - bounds[numbers[0], 0, 0]) / BLOCK for numbers in self.numbers]
        self.low = [np.rint(bounds[numbers, :, 0] / dx).astype(int) for numbers, dx in zip(self.numbers, self.dx, strict=True)]

    def each(self, wanted: Callable[[int, np.ndarray], bool] = lambda level, low: True) -> Any:
        data, leaf = self.file["dens"], self.file["node type"][:] == 1
        for number in range(3):
            chosen = np.array([wanted(number, low) for low in self.low[number]])
            numbers, lows = self.numbers[number][chosen], self.low[number][chosen]
            # Adjacent blocks at once: one read for each would take h5py longer.
            for part in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
                if len(part) == 0:
                    continue
                read = data[numbers[part[0]] : numbers[part[-1]] + 1]
                for values, place in zip(read, part, strict=True):
                    yield number, lows[place], values, np.full(values.shape, not leaf[numbers[place]])


def make_vtkhdf(path: pathlib.Path, side: int) -> None:
    """The boxes and values of the file of Chombo."""
    if path.exists():
        return
    chombo = path.with_name(f"chombo{side}")
    make(chombo, side)
    with h5py.File(chombo) as source, h5py.File(path, "w") as f:
        group = f.create_group("VTKHDF")
        group.attrs["Version"], group.attrs["Type"], group.attrs["Origin"] = [2, 4], np.bytes_("OverlappingAMR"), np.zeros(3)
        for number in range(3):
            level, old = group.create_group(f"Level{number}"), source[f"level_{number}"]
            level.attrs["Spacing"] = np.full(3, old.attrs["dx"])
            boxes = old["boxes"][:]
            level["AMRBox"] = np.stack([boxes[name] for axis in "ijk" for name in (f"lo_{axis}", f"hi_{axis}")], axis=1)
            for place, name in enumerate(COMPONENTS):
                data = level.create_dataset(f"CellData/{name}", (len(boxes) * WIDTH**3,), "f8")
                for box, start in enumerate(old["data:offsets=0"][:-1]):
                    first = int(start) + place * WIDTH**3
                    data[box * WIDTH**3 : (box + 1) * WIDTH**3] = old["data:datatype=0"][first : first + WIDTH**3]


def make_flash(path: pathlib.Path, side: int) -> None:
    """Blocks of 16 cells in each direction: three levels with as many blocks each, the finer ones in the middle."""
    if path.exists():
        return
    random, roots = np.random.default_rng(6), np.array([side, side, side // 2]) // BLOCK
    blocks: list[tuple[int, np.ndarray, bool]] = []

    def walk(level: int, place: np.ndarray) -> None:
        # The middle half of the blocks of the coarsest level, and the middle half of those.
        first = roots * 2 ** (level - 1) * (2**level - 1) // 2 ** (level + 1)
        is_leaf = level == 3 or bool((place < first).any() or (place >= first + roots // 2).any())
        blocks.append((level, place, is_leaf))
        if not is_leaf:
            for corner in itertools.product((0, 1), repeat=3):
                walk(level + 1, 2 * place + corner[::-1])

    for k, j, i in itertools.product(*(range(int(count)) for count in roots[::-1])):
        walk(1, np.array([i, j, k]))
    with h5py.File(path, "w") as f:
        widths = np.array([BLOCK / side / 2 ** (level - 1) for level, _, _ in blocks])[:, None]
        places = np.stack([place for _, place, _ in blocks])
        f["bounding box"] = np.stack([places * widths, (places + 1) * widths], axis=2)
        f["refine level"], f["node type"] = [level for level, _, _ in blocks], [1 if is_leaf else 2 for _, _, is_leaf in blocks]
        f["unknown names"], f["gid"] = np.array([[b"dens"], [b"velx"]]), np.zeros((len(blocks), 15), "i4")
        for name in ("dens", "velx"):
            f[name] = random.normal(size=(len(blocks), BLOCK, BLOCK, BLOCK))


#: For each format what makes a file, what reads it by h5py, the name of the component, and the number of the finest level.
FORMATS: dict[str, tuple[Callable[[pathlib.Path, int], None], type[Plain], str, int]] = {
    "chombo": (make, Plain, "density", 2),
    "vtkhdf": (make_vtkhdf, PlainVtk, "density", 2),
    "flash": (make_flash, PlainFlash, "dens", 3),
}


def cases(name: str, path: pathlib.Path) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """For each case ours and h5py's."""
    _, kind, density, finest = FORMATS[name]
    plain, mesh = kind(path), getattr(hs.models, name).open(path)
    most = float(mesh.cells(f"level = {finest}", ["x"], limit=1).to_arrow()["x"][0].as_py()) + 0.01

    def rows() -> np.ndarray:
        found = mesh.cells(f"not covered and {density} > 3", ["x", "y", "z", density]).to_arrow()
        return np.stack([found[column].to_numpy() for column in ("x", "y", "z", density)], axis=1)

    def total() -> float:
        return float(np.asarray(mesh.cells(f"level = {finest} and x < {most!r}", [density]).to_arrow()[density]).sum())

    return {
        f"{name}: count of `not covered and {density} > 1`": (lambda: mesh.cells(f"not covered and {density} > 1").count(), lambda: plain.count(1)),
        f"{name}: rows of `not covered and {density} > 3` with `x`, `y`, `z`": (rows, lambda: plain.rows(3)),
        f"{name}: sum of `{density}` where `level = {finest} and x < …`, 1/12 of the level": (total, lambda: plain.total(most)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--side", type=int, default=256, help="cells of the coarsest level along x; there are 1.5 times its cube in all")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print("| case | hyperslab | h5py with numpy |\n|---|--:|--:|")
    all_cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    for name in options.formats:
        path = folder / f"{name}{options.side}"
        FORMATS[name][0](path, options.side)
        all_cases |= cases(name, path)
    for name, contestants in all_cases.items():
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
