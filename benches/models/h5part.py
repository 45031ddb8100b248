"""One column of all steps of an H5Part file, next to plain reads of the same bytes and to h5py.

    make bench-models PROGRAM=h5part ARGUMENTS="--steps 100 --particles 1000000 --rounds 7"

Each round runs every contestant once, in turn; the table has the medians. The file stays in the page cache, so that the limit is
memory and not the disk: plain reads copy the column's bytes from their places in the file into one array."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import statistics
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np


def make(path: pathlib.Path, steps: int, particles: int) -> None:
    """A file of steps with three columns, unless it is there."""
    if path.exists():
        return
    random = np.random.default_rng(1)
    x, ids = random.normal(size=particles), random.permutation(particles)
    with hs.models.h5part.create(path, durable=False) as run:
        for step in range(steps):
            run.write_step({"x": x + step, "y": (x * step).astype("f4"), "id": ids}, time=step * 0.1)


def places(path: pathlib.Path, steps: int) -> list[tuple[int, int]]:
    """Where the column is in the file: offset and length of each step."""
    with h5py.File(path) as file:
        arrays = [file[f"Step#{step}/x"] for step in range(steps)]
        return [(array.id.get_offset(), array.size * array.dtype.itemsize) for array in arrays]


def plain(path: pathlib.Path, places: list[tuple[int, int]], threads: int) -> np.ndarray:
    """Reads the bytes with `pread` into one array."""
    out = np.empty(sum(length for _, length in places), "u1")
    starts = np.cumsum([0, *(length for _, length in places)]).tolist()
    with path.open("rb", buffering=0) as file:

        def one(index: int) -> None:
            offset, length = places[index]
            view = memoryview(out)[starts[index] : starts[index] + length]
            done = 0
            while done < length:
                done += os.preadv(file.fileno(), [view[done:]], offset + done)

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, range(len(places))))
    return out.view("f8")


def by_h5py(path: pathlib.Path, steps: int, particles: int) -> np.ndarray:
    """The column by h5py, into one array."""
    out = np.empty(steps * particles)
    with h5py.File(path) as file:
        for step in range(steps):
            file[f"Step#{step}/x"].read_direct(out, dest_sel=np.s_[step * particles : (step + 1) * particles])
    return out


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--particles", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    steps, particles = arguments.steps, arguments.particles
    path = arguments.folder / f"{steps}x{particles}.h5part"
    make(path, steps, particles)
    where, cores = places(path, steps), os.cpu_count() or 1
    opened = hs.models.h5part.open(path)

    def ours() -> object:
        return hs.models.h5part.open(path).particles(columns=["x"]).to_arrow()

    contestants: dict[str, Callable[[], object]] = {
        "plain read, one thread": lambda: plain(path, where, 1),
        f"plain read, {cores} threads": lambda: plain(path, where, cores),
        "hyperslab, file opened each time": ours,
        "hyperslab, file open": lambda: opened.particles(columns=["x"]).to_arrow(),
        "h5py": lambda: by_h5py(path, steps, particles),
    }
    expected = plain(path, where, cores)
    assert np.array_equal(opened.particles(columns=["x"]).to_arrow()["x"].to_numpy(), expected) and np.array_equal(by_h5py(path, steps, particles), expected)
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(arguments.rounds):
        for name, contestant in contestants.items():
            start = time.perf_counter()
            contestant()
            seconds[name].append(time.perf_counter() - start)
    limit = min(statistics.median(times) for name, times in seconds.items() if name.startswith("plain"))
    print(f"{steps} steps x {particles} particles, one column of doubles ({expected.nbytes / 2**20:.0f} MiB), {cores} cores, {arguments.rounds} rounds\n")
    print("| | median | lowest to highest | of the faster plain read |\n|---|---|---|---|")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"| {name} | {median * 1e3:.0f} ms | {min(times) * 1e3:.0f} to {max(times) * 1e3:.0f} ms | {median / limit:.2f} |")


if __name__ == "__main__":
    main()
