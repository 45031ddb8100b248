"""VPIC-IO and BD-CATS-IO by Hyperslab and by h5py, run by mpiexec; prints the seconds between two barriers: the fastest of
BENCH_REPEATS (default 1) runs after one that does not count, each into new files.

    particles.py write hyperslab|h5py|h5py-own PATH N SYNC FACTOR ALIGNMENT
        h5py: process 0 writes for all; h5py-own: each process a file
    particles.py read hyperslab|h5py PATH N WRITERS whole|random        each process its part, through the master
"""

from __future__ import annotations

import glob
import os
import shutil
import sys

import numpy as np
from mpi4py import MPI

NAMES = ("x", "y", "z", "px", "py", "pz", "id1", "id2")
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def values(n: int, first: int) -> np.ndarray:
    return np.arange(first, first + n).astype("f4")


def write_hyperslab(path: str, n: int, sync: bool, factor: int, alignment: int) -> None:
    import hyperslab.mpi

    def define(plan: hyperslab.WritePlan) -> None:
        for name in NAMES:
            plan.create_dataset(f"Step#0/{name}", (n * size,), "f4")

    options = {"factor": factor or None, "alignment": alignment or None, "durable": sync}
    with hyperslab.mpi.write(comm, path, "w", define=define, threads=1, **options) as task:
        for name in NAMES:
            task.write(f"Step#0/{name}", DATA)


def write_h5py(path: str, n: int, sync: bool) -> None:
    import h5py

    if library == "h5py-own":
        path = f"{path}.{rank}"
        with h5py.File(path, "w") as f:
            group = f.create_group("Step#0")
            for name in NAMES:
                group.create_dataset(name, data=DATA)
        if sync:
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.close(file)
    elif rank == 0:
        with h5py.File(path, "w") as f:
            group = f.create_group("Step#0")
            for name in NAMES:
                dataset = group.create_dataset(name, (n * size,), "f4")
                for writer in range(size):
                    dataset[writer * n : writer * n + n] = DATA
        if sync:
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.close(file)


def read(library: str, path: str, n: int, writers: int, random: bool) -> None:
    mine = n * writers // size
    first = mine * rank
    if library == "hyperslab":
        import hyperslab

        opened = hyperslab.open(path, threads=1)
    else:
        import h5py

        opened = h5py.File(path)
    places = np.random.default_rng(rank)
    out = OUT[: mine // 160 if random else mine]
    for name in NAMES:
        dataset = opened[f"Step#0/{name}"]
        count = mine // 160 if random else mine
        for at in first + places.integers(0, mine - count, 16) if random else [first]:
            dataset.read_direct(out, np.s_[int(at) : int(at) + count])
            part = out
            assert part[0] == np.float32(at) and part[-1] == np.float32(at + count - 1)


command, library, path, n = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
__import__("hyperslab.mpi" if library == "hyperslab" else "h5py")
DATA = values(n, rank * n) if command == "write" else None


def work(path: str, sync: bool) -> None:
    if command == "read":
        read(library, path, n, int(sys.argv[5]), sys.argv[6] == "random")
    elif library == "hyperslab":
        write_hyperslab(path, n, sync, int(sys.argv[6]), int(sys.argv[7]))
    else:
        write_h5py(path, n, sync)


repeats = int(os.environ.get("BENCH_REPEATS", "1"))
OUT = np.ones(n * int(sys.argv[5]) // size, "f4") if command == "read" else None
times = []
for turn in range(repeats + 1):
    # The files of all repeats but the last are removed, so that each starts with the same memory and disk.
    target = f"{path}.before" if turn < repeats and command == "write" else path
    comm.Barrier()
    begun = MPI.Wtime()
    work(target, sys.argv[5] == "1")
    comm.Barrier()
    times.append(comm.reduce(MPI.Wtime() - begun, MPI.MAX, 0))
    if rank == 0 and target != path:
        for place in glob.glob(f"{glob.escape(target)}*"):
            shutil.rmtree(place) if os.path.isdir(place) else os.unlink(place)
if rank == 0:
    print(f"{min(times[1:]):.6f}")
