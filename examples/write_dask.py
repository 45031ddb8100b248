"""The blocks of a Dask array become one file, written by Dask's workers: `python write_dask.py out.h5`."""

from __future__ import annotations

import sys
from typing import Any

import dask
import hyperslab as hs
import numpy as np


@dask.delayed
def write(plan: hs.WritePlan, number: int, part: Any) -> bytes:
    """One block. Dask may call this again elsewhere: the commit takes one of the attempts."""
    with plan.task(number) as task:
        task.write("x", part)
        return task.finish()


@dask.delayed
def part(number: int) -> Any:
    """What a block holds; any delayed value or `dask.array` block (`array.to_delayed()`) will do."""
    return np.random.default_rng(number).normal(size=(500, 8))


def main(path: str) -> None:
    parts = [part(number) for number in range(6)]
    plan = hs.WritePlan(path, "w", writers=len(parts))
    plan.create_dataset("x", (500 * len(parts), 8), "f8")
    fragments = dask.compute(*[write(plan, number, block) for number, block in enumerate(parts)])
    done = plan.commit(fragments)
    print(hs.open(path)["x"].shape, len(done.subfiles))


if __name__ == "__main__":
    main(sys.argv[1])
