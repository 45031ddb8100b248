"""Processes of MPI write one file: `mpiexec -n 4 python write_mpi.py out.h5`. Needs mpi4py."""

from __future__ import annotations

import sys

import hyperslab as hs
import hyperslab.mpi
import numpy as np
from mpi4py import MPI

PARTICLES = 10_000
comm = MPI.COMM_WORLD


def define(plan: hs.WritePlan) -> None:
    """On one process: what all write together."""
    for name in ("x", "y", "z"):
        plan.create_dataset(f"Step#0/{name}", (PARTICLES * comm.size,), "f4")


with hyperslab.mpi.write(comm, sys.argv[1], "w", define=define) as task:
    for name in ("x", "y", "z"):
        task.write(f"Step#0/{name}", np.full(PARTICLES, comm.rank))

if comm.rank == 0:
    x = hs.open(sys.argv[1])["Step#0/x"]
    print(x.shape, x[-1] == comm.size - 1)
