"""100,000 small files, opened and read: by Hyperslab in one process and by h5py in one process and in a pool; then a catalog of them.

Each file has an array of 512 integers and an attribute, as a detector's run has. The files are made when the benchmark begins and removed when it
ends. Each measurement is a process of its own, and says seconds, processor seconds of it and its children, peak memory of the largest process,
and the most descriptors that it had open. Rounds alternate between the readers; the least time is shown, with its other figures.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

VALUES = 512
#: One file in this many is broken, in the part about broken files.
BROKEN_EVERY = 1000


def make(folder: pathlib.Path, count: int) -> None:
    """Files that differ in their values only, in folders of 10,000 as archives have."""
    content = io.BytesIO()
    with h5py.File(content, "w") as f:
        f["x"] = np.arange(VALUES)
        f["x"].attrs["units"] = "adc"
        offset = f["x"].id.get_offset()
    raw, values = bytearray(content.getvalue()), np.arange(VALUES)
    for number in range(count):
        if number % 10_000 == 0:
            part = folder / f"part{number // 10_000:02}"
            part.mkdir(parents=True)
        raw[offset : offset + values.nbytes] = (values + number).tobytes()
        (part / f"run{number:06}.h5").write_bytes(raw)


def paths_in(folder: str) -> list[str]:
    return [f"{folder}/{part}/{name}" for part in sorted(os.listdir(folder)) for name in sorted(os.listdir(f"{folder}/{part}"))]


def one_by_h5py(path: str) -> int:
    with h5py.File(path) as f:
        return int(f["x"][:].sum())


def some_by_h5py(paths: list[str]) -> int:
    return sum(map(one_by_h5py, paths))


def some_by_ours(paths: list[str]) -> int:
    import hyperslab as hs

    return sum(int(values.sum()) for _, values in hs.read_each(paths, "x", threads=1))


def in_pool(work: Callable[[list[str]], int], folder: str) -> int:
    paths, processes = paths_in(folder), len(os.sched_getaffinity(0))
    pieces = [paths[first : first + 1000] for first in range(0, len(paths), 1000)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return sum(pool.imap(work, pieces))


def read_each(folder: str) -> int:
    import hyperslab as hs

    return sum(int(values.sum()) for _, values in hs.read_each(paths_in(folder), "x"))


def read_each_one_thread(folder: str) -> int:
    import hyperslab as hs

    return sum(int(values.sum()) for _, values in hs.read_each(paths_in(folder), "x", threads=1))


def read_table(folder: str) -> int:
    import hyperslab as hs

    table = hs.open(paths_in(folder)).table("/x", columns=["x"])
    return sum(int(batch["x"].to_numpy().sum()) for batch in table.batches())


def open_all(folder: str) -> int:
    import hyperslab as hs

    return len(hs.open(paths_in(folder)).filenames)


def catalog_is_built(folder: str) -> int:
    import hyperslab as hs

    return hs.write_catalog(paths_in(folder), f"{folder}.parquet", "w").files


def catalog_is_refreshed(folder: str) -> int:
    import hyperslab as hs

    made = hs.write_catalog(paths_in(folder), f"{folder}.parquet", "a")
    if made.read:
        raise SystemExit(f"{made.read} files were read again")
    return made.files


def plan_of_catalog(folder: str) -> int:
    """The files of one part, chosen by the catalog, planned as a table."""
    import hyperslab as hs

    files = hs.open_catalog(f"{folder}.parquet", "dataset = '/x' and path like '%/part00/run0000%'")
    return len(files.table("/x", columns=["x"]).splits(4)) and len(files.filenames)


def broken_are_reported(folder: str) -> int:
    """Reads all files after one in a thousand was cut off."""
    import hyperslab as hs

    found = hs.read_each(paths_in(folder), "x", errors="leave_out")
    read = sum(1 for _ in found)
    if read + len(found.left_out) != len(found.paths):
        raise SystemExit("files are missing from the report")
    return len(found.left_out)


READERS: dict[str, Callable[[str], int]] = {
    "read_each": read_each,
    "read_each, one thread": read_each_one_thread,
    "read_each in a pool of processes": lambda folder: in_pool(some_by_ours, folder),
    "open and table": read_table,
    "open": open_all,
    "h5py": lambda folder: some_by_h5py(paths_in(folder)),
    "h5py in a pool of processes": lambda folder: in_pool(some_by_h5py, folder),
}
CATALOG: dict[str, Callable[[str], int]] = {
    "catalog: build": catalog_is_built,
    "catalog: refresh, nothing changed": catalog_is_refreshed,
    "catalog: plan of 100 files": plan_of_catalog,
    "broken files": broken_are_reported,
}


def watch(most: list[int], ended: threading.Event) -> None:
    """Notes how many descriptors are open."""
    while not ended.wait(0.02):
        most[0] = max(most[0], len(os.listdir("/proc/self/fd")))


def measured(name: str, folder: str) -> dict[str, Any]:
    """Runs one reader in this process."""
    most, ended = [0], threading.Event()
    threading.Thread(target=watch, args=(most, ended), daemon=True).start()
    work = (READERS | CATALOG)[name]
    if "h5py" not in name:
        import hyperslab as hs

        hs.counters()
    start = time.perf_counter()
    result = work(folder)
    seconds = time.perf_counter() - start
    ended.set()
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "result": result,
        "seconds": seconds,
        "processor": sum(usage.ru_utime + usage.ru_stime for usage in both),
        "mib": max(usage.ru_maxrss for usage in both) / 1024,
        "descriptors": most[0],
    }


def best_of(name: str, folder: pathlib.Path, best: dict[str, dict[str, Any]]) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", __file__, "--one", name, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    best[name] = min(best.get(name, found), found, key=lambda one: one["seconds"])
    return found


def show(names: list[str], best: dict[str, dict[str, Any]], count: int) -> None:
    print("\n| what | seconds | processor seconds | files/s | times h5py | peak MiB | most descriptors |\n|---|--:|--:|--:|--:|--:|--:|")
    for name in names:
        one = best[name]
        peer = best["h5py in a pool of processes" if "pool" in name else "h5py"]["seconds"] if name in READERS else None
        times = "" if peer is None else f"{peer / one['seconds']:.1f}"
        rate = f"{count / one['seconds']:,.0f}" if name != "catalog: plan of 100 files" else ""
        print(f"| {name} | {one['seconds']:.2f} | {one['processor']:.2f} | {rate} | {times} | {one['mib']:,.0f} | {one['descriptors']} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()), help="files are made in a new folder in it")
    parser.add_argument("--only", default=None, help="names of readers, separated by semicolons")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(json.dumps(measured(arguments.one, str(arguments.folder))))
        return
    whole = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-many-", dir=arguments.folder))
    try:
        start = time.perf_counter()
        folder = whole / "files"
        make(folder, arguments.files)
        print(f"{arguments.files:,} files of {VALUES} numbers in {time.perf_counter() - start:.1f} s; load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
        names = list(READERS) if arguments.only is None else arguments.only.split(";")
        best: dict[str, dict[str, Any]] = {}
        expected = None
        for number in range(arguments.rounds):
            for name in names:
                found = best_of(name, folder, best)
                if name != "open":
                    expected = found["result"] if expected is None else expected
                    if found["result"] != expected:
                        raise SystemExit(f"{name} read other values: {found['result']}, not {expected}")
                print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}: {name} {found['seconds']:.2f} s", flush=True)
        if arguments.only is None:
            for name in CATALOG:
                if name == "broken files":
                    broken = paths_in(str(folder))[::BROKEN_EVERY]
                    for path in broken:
                        os.truncate(path, 100)
                found = best_of(name, folder, best)
                print(f"{name} {found['seconds']:.2f} s: {found['result']:,}", flush=True)
            if best["broken files"]["result"] != len(broken):
                raise SystemExit(f"{best['broken files']['result']} broken files were reported, not {len(broken)}")
        show([name for name in [*names, *CATALOG] if name in best], best, arguments.files)
    finally:
        shutil.rmtree(whole)


if __name__ == "__main__":
    main()
