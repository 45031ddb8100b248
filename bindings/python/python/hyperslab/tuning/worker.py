"""Worker: measures points in a process of its own, whose profile has their settings.

Reads lines of JSON from standard input, and answers each with a line: the seconds, or an error."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import hyperslab as hs
from hyperslab.tuning.machine import forget

from ..base.type_aliases import Float32Array
from . import checks
from .points import Request, Storage


def values(size: int) -> Float32Array:
    """Values that compress about as well as measured ones do: a walk in two dimensions, rounded."""
    chance = np.random.default_rng(1)
    columns = 1024
    rows = max(size // (4 * columns), 1)
    walk = np.cumsum(chance.normal(scale=0.1, size=(rows, columns)), axis=1)
    rounded: Float32Array = np.round(walk + chance.normal(scale=0.05, size=(rows, 1)), 2).astype("f4")
    return rounded


def options(about: Request) -> Storage:
    """Arguments of `create_dataset` for a filter; one without filters has chunks, too."""
    rows = max(int(about["chunk_bytes"]) // 4096, 1)
    found: Storage = {"chunks": (rows, 1024)}
    if about["filter"] != "none":
        found |= {"compression": about["filter"], "shuffle": True}
    return found


def write(path: str, about: Request, data: Float32Array) -> float:
    """Seconds of writing a file."""
    start = time.perf_counter()
    with hs.create(path, alignment=about["alignment_bytes"], threads=about["threads"], durable=about["durable"]) as f:
        f.create_dataset("x", data=data, **options(about))
    return time.perf_counter() - start


def write_parallel(path: str, about: Request, data: Float32Array) -> float:
    """Seconds of writing with four tasks in threads."""
    writers = 4
    rows = len(data) // writers
    start = time.perf_counter()
    plan = hs.WritePlan(path, "w", writers=writers, factor=about["factor"], alignment=about["alignment_bytes"], durable=about["durable"])
    plan.create_dataset("x", (rows * writers, data.shape[1]), "f4", **options(about))

    def work(number: int) -> bytes:
        with plan.task(number, threads=1) as task:
            task.write("x", data[task.region("x")])
            return task.finish()

    with ThreadPoolExecutor(writers) as pool:
        plan.commit(list(pool.map(work, range(writers))))
    return time.perf_counter() - start


def read(path: str, about: Request, data: Float32Array) -> float:
    """Seconds of reading a file whose bytes were dropped from the page cache."""
    write(path, about | {"durable": True, "threads": None}, data)
    forget(path)
    return read_again(path, about)


def read_warm(path: str, about: Request, data: Float32Array) -> float:
    """Seconds of reading a file that is in the page cache: the fastest of five times."""
    write(path, about | {"durable": True, "threads": None}, data)
    return min(read_again(path, about) for _ in range(5))


def read_again(path: str, about: Request) -> float:
    """Seconds of reading a file."""
    start = time.perf_counter()
    with hs.open(path, threads=about["threads"], chunk_cache_bytes=0) as f:
        found = f["x"]
        if not isinstance(found, hs.Dataset):
            raise TypeError("the dataset that was written is not there")
        found[...]
    return time.perf_counter() - start


def answered(about: Request, data: Float32Array) -> float:
    """Seconds of what a line asks for."""
    if about["kind"] == "make":
        checks.make(about["folder"], data)
        return 0.0
    if about["kind"] == "check":
        return checks.seconds(about["name"], about["folder"], data)
    return KINDS[about["kind"]](about["path"], about, data)


KINDS = {"read": read, "warm read": read_warm, "write": write, "parallel write": write_parallel}


def main() -> None:
    """Measures until standard input ends."""
    made: dict[int, Float32Array] = {}
    for line in sys.stdin:
        about: Request = json.loads(line)
        data = made.setdefault(about["bytes"], values(about["bytes"]))
        try:
            answer: dict[str, float | str] = {"seconds": answered(about, data)}
        except (hs.Error, OSError) as error:
            answer = {"error": " ".join(str(error).split())}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
