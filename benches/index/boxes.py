"""Boxes in x, y and z of points that are in no order: rows of one in 10,000 of 8 million points, by indexes of levels P and X.

    python benches/index/boxes.py [--folder FOLDER] [--boxes 60]

Each box is another one, so that its first question finds nothing in caches. Prints medians in ms: of the first count of a box, of the same count again, of the
row numbers, and of the row numbers for the three conditions one by one.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np

COUNT = 8_000_000
SIDE = 1e-4 ** (1 / 3)


def milliseconds(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return (time.perf_counter() - begin) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.home() / ".cache/hyperslab/bench/boxes")
    parser.add_argument("--boxes", type=int, default=60)
    arguments = parser.parse_args()
    folder: pathlib.Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    points = {name: rng.random(COUNT).astype("f4") for name in "xyz"}
    for level in "PX":
        path = folder / f"{level}.h5"
        if not path.exists():
            with h5py.File(path, "w") as f:
                for name, values in points.items():
                    f[name] = values
            hs.index(path, [f"/{name}" for name in points], level)
        opened = hs.open(path)
        times: dict[str, list[float]] = {}
        lows = np.random.default_rng(5).random((arguments.boxes, 3)) * (1 - SIDE)
        boxes = [[f"{name} between {float(edge)} and {float(edge + SIDE)}" for name, edge in zip("xyz", low, strict=True)] for low in lows]
        for conditions in boxes:
            box = hs.query(opened, "/", " and ".join(conditions))
            times.setdefault("count", []).append(milliseconds(box.count))
            times.setdefault("count again", []).append(milliseconds(box.count))
            times.setdefault("row numbers", []).append(milliseconds(box.positions))
        for conditions in boxes:
            single = [hs.query(opened, "/", condition) for condition in conditions]
            times.setdefault("row numbers one by one", []).append(sum(milliseconds(query.positions) for query in single))
        print(f"level {level}: " + ", ".join(f"{what} {statistics.median(all_times):.2f} ms" for what, all_times in times.items()))


if __name__ == "__main__":
    main()
