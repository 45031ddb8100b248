"""A field code: a wave on a grid, written as H5Block by every process.

    mpiexec -n 4 python examples/field_code.py fields.h5 [--cells 48] [--steps 30]

Each process has a slab of the grid with one layer of ghost cells on each side, which it gets from its neighbors. It hands whole arrays
to `write_step`; the ghost cells are dropped. Without MPI the program runs as a single process."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import hyperslab as hs
import numpy as np
from particle_code import communicator

#: Width of the box, speed of the wave, and moves between steps that are written.
WIDTH, SPEED, MOVES = 2.0, 1.0, 4


def exchange(field: np.ndarray, comm: Any) -> None:
    """Fills the ghost layers: from the neighbors inside of the grid, zero outside."""
    field[[0, -1]] = 0
    field[:, [0, -1]] = 0
    field[:, :, [0, -1]] = 0
    if comm is None:
        return
    rank, size = comm.Get_rank(), comm.Get_size()
    below, above = rank - 1 if rank > 0 else -1, rank + 1 if rank < size - 1 else -1
    upper, lower = np.ascontiguousarray(field[-2]), np.ascontiguousarray(field[1])
    for there, send, back, layer in ((above, upper, below, 0), (below, lower, above, -1)):
        request = comm.isend(send, there, tag=layer + 1) if there >= 0 else None
        if back >= 0:
            field[layer] = comm.recv(source=back, tag=layer + 1)
        if request is not None:
            request.wait()


def run(path: pathlib.Path, cells: int, steps: int, comm: Any = None) -> None:
    """Simulates, and writes every step: the wave `phi`, and its gradient `E` with three components."""
    rank, size = (0, 1) if comm is None else (comm.Get_rank(), comm.Get_size())
    first, last = cells * rank // size, cells * (rank + 1) // size
    spacing = WIDTH / cells
    place = [(np.arange(start, stop) + 0.5) * spacing - WIDTH / 2 for start, stop in ((first - 1, last + 1), (-1, cells + 1), (-1, cells + 1))]
    z, y, x = np.meshgrid(*place, indexing="ij")
    now = np.exp(-((x + 0.3) ** 2 + y**2 + (z - 0.2) ** 2) / 0.02)
    exchange(now, comm)
    before = now.copy()
    interval = 0.5 * spacing / SPEED
    factor = (SPEED * interval / spacing) ** 2
    origin = [(0.5 * spacing) - WIDTH / 2] * 3
    with hs.models.h5block.create(path, (cells,) * 3, "w", origin=origin, spacing=[spacing] * 3, comm=comm, commit="step") as output:
        for step in range(steps):
            gradient = np.gradient(-now, spacing)
            output.write_step(
                {"phi": now, "E": [gradient[2], gradient[1], gradient[0]]},
                time=step * MOVES * interval,
                partition=np.s_[first:last, :, :],
                ghosts=1,
                field_attrs={"phi": {"unit": "V"}},
            )
            for _ in range(MOVES):
                around = sum(np.roll(now, shift, axis) for axis in range(3) for shift in (1, -1))
                now, before = 2 * now - before + factor * (around - 6 * now), now
                exchange(now, comm)


def main() -> None:
    """Runs the code on all processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--cells", type=int, default=48, help="along each direction")
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    comm = communicator()
    run(arguments.path, arguments.cells, arguments.steps, comm)
    if comm is None or comm.Get_rank() == 0:
        view = hs.models.h5block.open(arguments.path)
        print(f"{arguments.path}: {view.reason}, fields {view.fields}")


if __name__ == "__main__":
    main()
