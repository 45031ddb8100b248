"""Parallel HDF5: the clients are processes of MPI. Needs mpi4py, and an h5py that was built with MPI.

mpiexec -n CLIENTS python -m hyperslab.tuning.study.parallel_hdf5 PATH CASE BYTES"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import InvalidInputError
from ...base.type_aliases import Float32Array
from .cases import Case
from .libraries import forget, values

if TYPE_CHECKING:
    from mpi4py import MPI


def launch(path: str, case: Case, clients: int, size: int) -> tuple[float, float]:
    """Measures a case in `clients` processes."""
    command = ["mpiexec", "-n", str(clients), sys.executable, "-m", __name__, path, json.dumps(case.to_dict()), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidInputError(f"mpiexec failed: {' '.join(done.stderr.split())[-300:]}", path)
    written, read = json.loads(done.stdout.splitlines()[-1])
    return float(written), float(read)


def run(path: str, case: Case, data: Float32Array, comm: MPI.Comm, driver: dict[str, object]) -> tuple[float, float]:
    """Writes and reads the part of one process; collective transfers, as the study recommends where chunks are written."""
    import h5py

    rank, clients = comm.Get_rank(), comm.Get_size()
    aligned = {"alignment_threshold": case.threshold_bytes, "alignment_interval": case.alignment_bytes} if case.alignment_bytes else {}
    pieces = case.pieces(rank, clients, len(data))
    comm.Barrier()
    start = time.perf_counter()
    with h5py.File(path, "w", **driver, **aligned) as f:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunks := case.chunks(len(data)):
            made.set_chunk(chunks)
        made.set_fill_time(h5py.h5d.FILL_TIME_ALLOC if case.fill else h5py.h5d.FILL_TIME_NEVER)
        x = h5py.Dataset(h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(data.shape), made))
        for first, end in pieces:
            x.write_direct(data, np.s_[first:end], np.s_[first:end])
        f.flush()
    comm.Barrier()
    written = time.perf_counter() - start
    if rank == 0:
        forget(path)
    comm.Barrier()
    out = np.empty_like(data)
    start = time.perf_counter()
    with h5py.File(path, **driver) as f:
        for first, end in pieces:
            f["x"].read_direct(out, np.s_[first:end], np.s_[first:end])
    comm.Barrier()
    seconds = time.perf_counter() - start
    if not all(np.array_equal(out[first:end], data[first:end]) for first, end in pieces):
        raise InvalidInputError("parallel HDF5 read other values than it wrote", path)
    return written, seconds


def main() -> None:
    """One process of MPI."""
    from mpi4py import MPI

    path, case, size = sys.argv[1:]
    comm = MPI.COMM_WORLD
    found = run(path, Case.of(json.loads(case)), values(int(size)), comm, {"driver": "mpio", "comm": comm})
    if comm.Get_rank() == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
