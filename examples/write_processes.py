"""Four processes write one file: `python write_processes.py out.h5`."""

from __future__ import annotations

import multiprocessing
import sys

import hyperslab as hs
import numpy as np

WRITERS, ROWS = 4, 1000


def write(plan: hs.WritePlan, number: int) -> bytes:
    """One process: its rows of what all write together, and a table of its own size."""
    with plan.task(number) as task:
        task.write("temperature", 273.15 + np.arange(ROWS) / ROWS + number)
        task.dataset("temperature").attrs["units"] = "K"
        task.create_dataset("events", data=[f"process {number}"] * number, dtype=str, rows=True)
        return task.finish()


def main(path: str) -> None:
    plan = hs.WritePlan(path, "w", writers=WRITERS)
    plan.create_dataset("temperature", (WRITERS * ROWS,), "f8", chunks=(ROWS // 4,), compression="zstd", shuffle=True)
    with multiprocessing.get_context("spawn").Pool(WRITERS) as pool:
        plan.commit(pool.starmap(write, [(plan, number) for number in range(WRITERS)]))
    f = hs.open(path)
    print(f["temperature"].shape, f["temperature"][-1], f["events"].shape)


if __name__ == "__main__":
    main(sys.argv[1])
