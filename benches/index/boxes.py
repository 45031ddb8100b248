"""Boxes in x, y and z of points, most of them in no order: rows of one in 10,000 of 8 million points, by indexes of levels P and X of each array, and by a
composite index (C) of the three.

    python benches/index/boxes.py [--folder FOLDER] [--boxes 60] [--share 1e-4] [--points uniform clustered ordered]

Each box is another one, so that its first question finds nothing in caches. The indexes take turns. Prints medians and quartiles in ms: of the first count of a
box, of the same count again, of the row numbers, of the row numbers of a box that is asked for the first time, and of the row numbers for the three
conditions one by one; and how many times longer three conditions one by one, by level X, take than a box by level C. All must have the same counts.
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
LEVELS = "PXC"


def milliseconds(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return (time.perf_counter() - begin) * 1e3


def points(kind: str) -> np.ndarray:
    """Points in a cube of side 1: anywhere, or around 200 places, near which are most; or anywhere, those of each of 64 x 64 x 64 cells one after the other, and
    cells that are near each other mostly too (in Z-order)."""
    rng = np.random.default_rng(1)
    if kind != "clustered":
        anywhere = rng.random((COUNT, 3)).astype("f4")
        if kind == "uniform":
            return anywhere
        cells = (anywhere * 64).astype("i8")
        places = sum(((cells[:, axis] >> bit) & 1) << (3 * bit + axis) for bit in range(6) for axis in range(3))
        return anywhere[np.argsort(places, kind="stable")]
    places = rng.random((200, 3))
    return (places[rng.integers(0, len(places), COUNT)] + rng.standard_normal((COUNT, 3)) * rng.choice([0.005, 0.02, 0.08], (COUNT, 1))).astype("f4")


def boxes(kind: str, values: np.ndarray, count: int, share: float) -> list[list[tuple[float, float]]]:
    """Boxes with about this share of the points: by their volume, or around points of clusters, as large as that needs."""
    rng = np.random.default_rng(5)
    side = share ** (1 / 3)
    if kind != "clustered":
        return [[(float(low), float(low + side)) for low in lows] for lows in rng.random((count, 3)) * (1 - side)]
    some = values[::10]
    found = []
    for center in values[rng.integers(0, len(values), count)]:
        distances = np.abs(some - center).max(axis=1)
        half = float(np.partition(distances, int(len(some) * share))[int(len(some) * share)])
        found.append([(float(middle - half), float(middle + half)) for middle in center])
    return found


def described(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4)
    return f"{middle:.2f} ms ({low:.2f} to {high:.2f})"


def measure(kind: str, folder: pathlib.Path, count: int, share: float) -> None:
    values = points(kind)
    opened = {}
    for level in LEVELS:
        path = folder / f"{kind}-{level}.h5"
        if not path.exists():
            with h5py.File(path, "w") as f:
                for name, column in zip("xyz", values.T, strict=True):
                    f[name] = column
            begin = time.perf_counter()
            hs.index(path, [("/x", "/y", "/z")] if level == "C" else ["/x", "/y", "/z"], None if level == "C" else level)
            size = sum(part.stat().st_size for part in path.with_name(path.name + ".hsidx").iterdir())
            print(f"{kind}, level {level}: built in {time.perf_counter() - begin:.1f} s, {size / COUNT / 3:.2f} bytes a value")
        opened[level] = hs.open(path)
        hs.query(opened[level], "/", "x < -9 and y < -9 and z < -9").positions()
    times: dict[tuple[str, str], list[float]] = {}
    found: dict[str, list[int]] = {level: [] for level in LEVELS}
    for number, sides in enumerate(boxes(kind, values, 2 * count, share)):
        conditions = [f"{name} between {low!r} and {high!r}" for name, (low, high) in zip("xyz", sides, strict=True)]
        for level, file in opened.items():
            box = hs.query(file, "/", " and ".join(conditions))
            ask = (("first count", box.count), ("count again", box.count), ("row numbers", box.positions))
            for what, question in ask if number % 2 == 0 else (("first row numbers", box.positions),):
                times.setdefault((level, what), []).append(milliseconds(question))
            found[level].append(box.count())
            if level != "C" and number % 2:
                single = [hs.query(file, "/", condition) for condition in conditions]
                times.setdefault((level, "row numbers one by one"), []).append(sum(milliseconds(query.positions) for query in single))
    assert all(other == found["X"] for other in found.values()), "indexes count differently"
    for level in LEVELS:
        print(f"{kind}, level {level}: " + ", ".join(f"{what} {described(all_times)}" for (of, what), all_times in times.items() if of == level))
    one_by_one = times["X", "row numbers one by one"]
    for what in ("first count", "first row numbers"):
        ratios = [single / box for single, box in zip(one_by_one, times["C", what], strict=True)]
        print(f"{kind}: one by one by X / {what} by C: {described(ratios).replace(' ms', '')}; {statistics.median(found['C']):.0f} rows in a box")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path.home() / ".cache/hyperslab/bench/boxes")
    parser.add_argument("--boxes", type=int, default=60)
    parser.add_argument("--share", type=float, default=1e-4, help="of the points that are in a box")
    parser.add_argument("--points", nargs="*", default=["uniform", "clustered"], choices=["uniform", "clustered", "ordered"])
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for kind in arguments.points:
        measure(kind, arguments.folder, arguments.boxes, arguments.share)


if __name__ == "__main__":
    main()
