"""A particle code: electrons in a trap, written as H5Part by every process.

    mpiexec -n 4 python examples/particle_code.py particles.h5part [--particles 20000] [--steps 40]

Each process moves its own particles; nobody gathers them. A step is in the file as soon as `write_step` returns. Without MPI the
program runs as a single process. The physics is a toy: a magnetic field along z lets particles circle, an electric quadrupole drives
them outwards along x and y and holds them along z (a Penning trap), in units in which charge and mass are 1."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import hyperslab as hs
import numpy as np

#: Strength of the magnetic field, and of the quadrupole.
FIELD, QUADRUPOLE = 8.0, 6.0
#: Time between steps that are written, and moves within it.
INTERVAL, MOVES = 0.05, 20


def communicator() -> Any:
    """All processes of MPI; `None` without mpi4py."""
    try:
        from mpi4py import MPI
    except ImportError:
        return None
    return MPI.COMM_WORLD


def move(position: np.ndarray, velocity: np.ndarray, interval: float) -> None:
    """Moves particles by Boris' method: half of the electric push, a rotation by the magnetic field, the other half."""
    half = interval / 2
    push = np.array([QUADRUPOLE / 2, QUADRUPOLE / 2, -QUADRUPOLE]) * half
    velocity += position * push
    angle = 2 * np.arctan(FIELD * half)
    vx, vy = velocity[:, 0].copy(), velocity[:, 1].copy()
    velocity[:, 0], velocity[:, 1] = vx * np.cos(angle) + vy * np.sin(angle), vy * np.cos(angle) - vx * np.sin(angle)
    velocity += position * push
    position += velocity * interval


def run(path: pathlib.Path, particles: int, steps: int, comm: Any = None) -> None:
    """Simulates, and writes every step."""
    rank, size = (0, 1) if comm is None else (comm.Get_rank(), comm.Get_size())
    ids = np.arange(particles * rank // size, particles * (rank + 1) // size)
    random = np.random.default_rng([2026, rank])
    position, velocity = random.normal(scale=0.3, size=(len(ids), 3)), random.normal(scale=0.5, size=(len(ids), 3))
    units = {name: {"unit": "length of the trap"} for name in "xyz"}
    with hs.models.h5part.create(path, "w", comm=comm, commit="step", attrs={"code": "particle_code.py", "processes": size}) as output:
        for step in range(steps):
            energy = 0.5 * (velocity**2).sum(axis=1)
            arrays = {name: position[:, axis] for axis, name in enumerate("xyz")} | {f"v{name}": velocity[:, axis] for axis, name in enumerate("xyz")}
            output.write_step(arrays | {"energy": energy, "id": ids}, time=step * INTERVAL, array_attrs=units)
            for _ in range(MOVES):
                move(position, velocity, INTERVAL / MOVES)


def main() -> None:
    """Runs the code on all processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--particles", type=int, default=20_000, help="of all processes")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    comm = communicator()
    run(arguments.path, arguments.particles, arguments.steps, comm)
    if comm is None or comm.Get_rank() == 0:
        table = hs.models.h5part.open(arguments.path).steps
        print(f"{arguments.path}: {table.num_rows} steps, {table['particles'][-1]} particles in the last")


if __name__ == "__main__":
    main()
