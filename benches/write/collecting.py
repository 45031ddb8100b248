"""Small interleaved pieces of rows: each writer for itself, and handed to one writer of the node; values are compared with h5py.

    collecting.py [--mpi FOLDER] [--writers 4] [--rounds 5] [--json FILE]

FOLDER is the environment with mpi4py and mpich; without it only threads are measured."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import h5py
import hyperslab as hs
import numpy as np

HEAD = ["writers", "rows of a piece", "filter", "written apart, s", "collected, s", "then read, apart, s", "collected, s"]
COLUMNS, ROWS = 256, 65536
#: Rows of a piece, and filter. A chunk has 512 rows, 512 KiB.
CASES = [(1, "none"), (8, "none"), (64, "none"), (1, "gzip"), (8, "gzip"), (64, "gzip")]


def values() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1000, (ROWS, COLUMNS)).astype("f4")


def options(filter: str) -> dict[str, object]:
    return {"chunks": (512, COLUMNS), **({} if filter == "none" else {"compression": filter, "compression_opts": 1})}


def threads(path: str, data: np.ndarray, piece: int, filter: str, writers: int, collected: bool) -> float:
    start = time.perf_counter()
    with hs.create(path, durable=False) as f:
        x = f.create_dataset("x", data.shape, "f4", **options(filter))

        def work(client: int, put) -> None:
            for first in range(client * piece, ROWS, writers * piece):
                put(first, data[first : first + piece])

        def apart(first: int, rows: np.ndarray) -> None:
            x[first : first + len(rows)] = rows

        with ThreadPoolExecutor(writers) as pool:
            if collected:
                with hs.Collector(x) as rows:
                    list(pool.map(lambda client: work(client, rows.write), range(writers)))
            else:
                list(pool.map(lambda client: work(client, apart), range(writers)))
    return time.perf_counter() - start


def process(path: str, piece: int, filter: str, collected: bool) -> None:
    """One process of MPI; the first prints the seconds."""
    import hyperslab.mpi
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, size, data = comm.Get_rank(), comm.Get_size(), values()

    def create(task: hs.Task) -> None:
        task.create_dataset("x", data.shape, "f4", **options(filter))

    comm.Barrier()
    start = time.perf_counter()
    if collected:
        with hyperslab.mpi.collect(comm, path, "w", create=create, datasets=["x"], durable=False) as rows:
            for first in range(rank * piece, ROWS, size * piece):
                rows.write("x", first, data[first : first + piece])
    else:
        # Each process has a subfile of its own, and the commit maps the rows of all of them.
        with hyperslab.mpi.write(comm, path, "w", durable=False) as task:
            create(task)
            x = task.dataset("x")
            for first in range(rank * piece, ROWS, size * piece):
                x[first : first + piece] = data[first : first + piece]
    if rank == 0:
        print(json.dumps(time.perf_counter() - start))


def check(path: str, data: np.ndarray) -> float:
    """Compares the values by h5py; returns the seconds in which Hyperslab reads them."""
    with h5py.File(path) as f:
        if not np.array_equal(f["x"][...], data):
            raise SystemExit(f"{path} has other values than were written")
    start = time.perf_counter()
    with hs.open(path) as f:
        f["x"][...]
    return time.perf_counter() - start


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--mpi", type=pathlib.Path)
    arguments.add_argument("--writers", type=int, default=4)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", type=pathlib.Path)
    arguments.add_argument("--process", nargs=4)
    given = arguments.parse_args()
    if given.process:
        path, piece, filter, collected = given.process
        process(path, int(piece), filter, collected == "collected")
        return
    data, rows = values(), []
    print(*HEAD, sep="; ")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.h5")

        def by_processes(piece: int, filter: str, collected: bool) -> float:
            command = [given.mpi / "bin" / "mpiexec", "-n", str(given.writers), given.mpi / "bin" / "python", __file__]
            command += ["--process", path, str(piece), filter, "collected" if collected else "apart"]
            library = {"LD_LIBRARY_PATH": str(given.mpi / "lib"), "PYTHONPATH": str(pathlib.Path(hs.__file__).parent.parent)}
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **library})
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
            return float(json.loads(done.stdout))

        ways = {"threads": lambda *case: threads(path, data, *case[:2], given.writers, case[2])}
        if given.mpi:
            ways["processes"] = by_processes
        for name, way in ways.items():
            for piece, filter in CASES:
                written: dict[bool, list[float]] = {False: [], True: []}
                read: dict[bool, list[float]] = {False: [], True: []}
                for _ in range(given.rounds):
                    for collected in written:
                        written[collected].append(way(piece, filter, collected))
                        read[collected].append(check(path, data))
                shown = [f"{statistics.median(found):.2f}" for found in (*written.values(), *read.values())]
                rows.append([f"{given.writers} {name}", str(piece), filter, *shown])
                print(*rows[-1], sep="; ", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"tables": [["small pieces", HEAD, rows]]}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
