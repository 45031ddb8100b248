"""Forks under load: `python forks_under_load.py FOLDER FORKS [SECONDS]`.

16 threads open, read, query, index and close the same and different files; meanwhile children are forked, which read or query and end.
Exits with 1 if a thread or child was wrong, or a child did not end in 60 s: then the stacks of its threads are in a file of FOLDER.
With SECONDS the threads work on for that long in all. With COLD=1 nothing was imported before the threads start.
"""

from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np

THREADS = 16
CHILDREN = 12
MAX_SECONDS = 60.0
VALUES = np.arange(200_000).reshape(200, 1000)


def make(path: pathlib.Path) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=VALUES, chunks=(7, 130), compression="gzip")
        f.create_dataset("e", data=np.random.default_rng(1).random(20_000), chunks=(1000,), compression="gzip")
        f["n"] = np.array([f"name {i}" for i in range(1000)], h5py.string_dtype())
        for i in range(50):
            f[f"group/value{i}"] = float(i)
            f[f"group/value{i}"].attrs["number"] = i
    return path


def small(f: hs.File) -> bool:
    return f["x"][17, 33] == 17033 and f["group/value7"].attrs["number"] == 7 and f["n"][40] == b"name 40"


def whole(f: hs.File) -> bool:
    return int(f["x"][...].sum()) == VALUES.sum() and bool((f["x"][10:40, ::7] == VALUES[10:40, ::7]).all())


def scan(f: hs.File) -> bool:
    return f.table("/x", where="x > 170000").count() == 29_999


def query(f: hs.File) -> bool:
    return hs.query(f, "/", "x > 199000").count() == 999


def sql(f: hs.File) -> bool:
    return bool(hs.sql("select count(*) from x where x > 199000", f).fetchall() == [(999,)])


def batches(f: hs.File) -> bool:
    return sum(len(batch["e"]) for batch in hs.batches({"e": f["e"]}, 1000, threads=2)) == 20_000


JOBS: list[Callable[[hs.File], bool]] = [small, whole, scan, query, sql, batches]


class Load:
    """The threads. `wrong` has what was not right."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.paths = [make(folder / f"shared{i}.h5") for i in range(4)]
        self.own = [make(folder / f"own{i}.h5") for i in range(THREADS)]
        self.shared = hs.open(self.paths[0], threads=2)
        self.stop = threading.Event()
        self.wrong: list[str] = []
        self.jobs = [0] * THREADS
        self.threads = [threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(THREADS)]

    def _work(self, number: int) -> None:
        chosen = random.Random(number)
        while not self.stop.is_set():
            job = chosen.choice(JOBS)
            try:
                if chosen.random() < 0.15:
                    hs.index(self.own[number], "/e", "X", rebuild=True)
                    right = hs.query(self.own[number], "/", "e < 2").count() == 20_000
                elif chosen.random() < 0.5:
                    right = job(self.shared)
                else:
                    # Threads that start and end, too: other options are another session.
                    with hs.open(chosen.choice(self.paths), threads=chosen.randrange(1, 6), chunk_cache_bytes=chosen.randrange(1 << 20, 1 << 24)) as f:
                        right = job(f)
            except BaseException as error:
                right = False
                self.wrong.append(f"{job.__name__}: {error!r}")
            if not right:
                self.wrong.append(f"{job.__name__} in a thread")
            self.jobs[number] += 1


def stacks(child: int, out: pathlib.Path) -> None:
    """Where each thread of a process waits."""
    with open(out, "w") as file:
        for task in sorted(os.listdir(f"/proc/{child}/task")):
            for name in ("comm", "wchan", "syscall"):
                print(task, name, pathlib.Path(f"/proc/{child}/task/{task}/{name}").read_text().strip(), file=file, flush=True)
        if shutil.which("gdb"):
            subprocess.run(["gdb", "-p", str(child), "-batch", "-ex", "thread apply all bt 40"], stdout=file, stderr=file, timeout=300)
        if shutil.which("py-spy"):
            subprocess.run(["py-spy", "dump", "--pid", str(child)], stdout=file, stderr=file, timeout=100)


def run(folder: pathlib.Path, forks: int, seconds: float = 0.0) -> list[str]:
    """What was wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    load = Load(folder)
    if not os.environ.get("COLD"):
        assert all(job(load.shared) for job in JOBS)
    for thread in load.threads:
        thread.start()
    begun, forked = time.monotonic(), 0
    running: dict[int, tuple[float, str]] = {}
    while (forked < forks or running or time.monotonic() - begun < seconds) and len(load.wrong) < 20:
        while forked < forks and len(running) < CHILDREN:
            # What the parent has opened, or a file that the child opens.
            job, is_shared = JOBS[forked % len(JOBS)], forked // len(JOBS) % 2 == 0
            kind = f"{job.__name__} of a {'shared' if is_shared else 'new'} file"
            forked += 1
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 0 if job(load.shared if is_shared else hs.open(load.paths[1], threads=2)) else 2
                except BaseException as error:
                    os.write(2, f"a child, {kind}: {error!r}\n".encode())
                finally:
                    os._exit(code)
            running[child] = time.monotonic(), kind
        for child, (start, kind) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() - start > MAX_SECONDS:
                stacks(child, folder / f"stacks-{child}.txt")
                os.kill(child, signal.SIGKILL)
                ended, status = os.waitpid(child, 0)
                load.wrong.append(f"a child did not end, {kind}: {folder}/stacks-{child}.txt")
            elif ended and status:
                load.wrong.append(f"a child ended with {status}, {kind}")
            if ended:
                del running[child]
        time.sleep(0.002)
    load.stop.set()
    for thread in load.threads:
        thread.join(MAX_SECONDS)
    if any(thread.is_alive() for thread in load.threads):
        load.wrong.append("a thread did not end")
    print(f"{forked} forks and {sum(load.jobs)} jobs of {THREADS} threads in {time.monotonic() - begun:.0f} s, {len(load.wrong)} wrong", flush=True)
    return load.wrong


if __name__ == "__main__":
    found = run(pathlib.Path(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:]))
    print(*found, sep="\n")
    os._exit(bool(found))
