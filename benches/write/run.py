"""VPIC-IO and BD-CATS-IO: Hyperslab compared with parallel HDF5, its subfiling driver, one file per process, and
h5py; and one process compared with h5py (`single.py`).

    run.py --vpic PROGRAM --mpi FOLDER [--particles 1048576] [--repeats 10] [--json OUT]

Contestants take turns in every round, each writes new files, and medians and ratios are printed as tables. Seconds are
measured between two barriers of all processes: they include making the plan and the commit, but not starting processes. In its
turn, each contestant writes several times, always new files after the previous ones were removed, and the fastest run counts:
a virtual machine returns memory that is free for half a second to its host, and the first write to it then takes ten times as
long for any contestant."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import single

PARTICLES_PY = pathlib.Path(__file__).with_name("particles.py")


class Bench:
    """Paths of programs and of files."""

    def __init__(self, given: argparse.Namespace, folder: pathlib.Path) -> None:
        self.given, self.folder = given, folder
        self.tables: list[tuple[str, list[str], list[list[Any]]]] = []
        #: Seconds of rounds by title and contestant, with those of earlier runs if this run adds to them.
        self.earlier: dict[str, dict[str, list[float]]] = {}
        self.rounds: dict[str, dict[str, list[float]]] = {}

    def mpi(self, count: int, *command: Any) -> float:
        mpi = self.given.mpi
        environment = {
            "BENCH_REPEATS": str(self.given.inner),
            **os.environ,
            "LD_LIBRARY_PATH": str(mpi / "lib"),
            "PYTHONPATH": str(pathlib.Path(hs.__file__).parent.parent),
        }
        run = subprocess.run([mpi / "bin/mpiexec", "-n", str(count), *map(str, command)], capture_output=True, text=True, env=environment, timeout=120)
        if run.returncode != 0:
            raise RuntimeError(f"{command}: {run.stdout}{run.stderr}")
        return float(run.stdout.strip().splitlines()[-1])

    def python(self, count: int, *arguments: Any) -> float:
        return self.mpi(count, self.given.mpi / "bin/python", PARTICLES_PY, *arguments)

    def write(self, way: str, count: int, sync: bool, factor: int = 0, alignment: int = 0, particles: int = 0) -> float:
        """Seconds of one way to write, into new files."""
        path = self.folder / "write" / "out.h5"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        # Unwritten data of earlier files does not count.
        os.sync()
        n = particles or self.given.particles
        if way == "hyperslab":
            # One task per subfile is the default on a local disk; the sweep has other factors.
            return self.python(count, "write", "hyperslab", path, n, int(sync), factor, alignment)
        if way == "h5py, one process":
            return self.python(count, "write", "h5py", path, n, int(sync))
        if way == "own, by h5py":
            return self.python(count, "write", "h5py-own", path, n, int(sync))
        return self.mpi(count, self.given.vpic, "write", way, path, n, int(sync), alignment)

    def race(self, title: str, contestants: dict[str, Callable[[], float]], against: list[str], repeats: int) -> None:
        """Runs each contestant once per round. Medians, quartiles, and ratios to `against`."""
        if self.given.ours:
            contestants = {name: work for name, work in contestants.items() if name.startswith("hyperslab")}
            against = [name for name in against if name in contestants]
        earlier = self.earlier.get(title, {})
        times: dict[str, list[float]] = {name: list(earlier.get(name, [])) for name in contestants}
        for _ in range(repeats):
            for name, work in contestants.items():
                times[name].append(work())
        self.rounds[title] = times
        rows = []
        for name, seconds in times.items():
            middle = statistics.median(seconds)
            quartiles = statistics.quantiles(seconds, n=4) if len(seconds) > 1 else [middle] * 3
            # Ratios within a round: other load on the machine affects both.
            ratios = [statistics.median(a / b for a, b in zip(seconds, times[other])) for other in against]
            rows.append([name, round(middle, 4), f"{quartiles[0]:.4f} to {quartiles[2]:.4f}", *(round(ratio, 2) for ratio in ratios)])
        head = ["", "seconds", "quartiles", *(f"times {other}" for other in against)]
        self.show(title, head, rows)

    def show(self, title: str, head: list[str], rows: list[list[Any]]) -> None:
        self.tables.append((title, head, rows))
        rounds = f", {len(next(iter(self.rounds[title].values())))} rounds" if title in self.rounds else ""
        print(f"\n{title}{rounds}\n\n{table(head, rows)}", flush=True)


def table(head: list[str], rows: list[list[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def particles(bench: Bench, ways: list[str], n: int) -> None:
    count = bench.given.processes
    for sync in bench.given.sync:
        bench.race(
            f"VPIC-IO: {count} processes write {8 * 4 * n * count >> 20} MiB, " + ("on the disk (fsync)" if sync else "in the page cache"),
            {way: (lambda way=way: bench.write(way, count, bool(sync), particles=n)) for way in ways},
            [way for way in ("own", "own, by h5py", "independent") if way in ways],
            bench.given.repeats,
        )


def vpic(bench: Bench) -> None:
    """All contestants."""
    particles(
        bench, bench.given.ways or ["hyperslab", "own", "own, by h5py", "independent", "collective", "subfiling", "h5py, one process"], bench.given.particles
    )


def paper(bench: Bench) -> None:
    """As many particles per process as in the paper, for the contestants of the target."""
    particles(bench, bench.given.ways or ["hyperslab", "own", "own, by h5py", "independent"], 8 << 20)


def sweep(bench: Bench) -> None:
    """Subfiling factors and alignments, as in the subfiling study's Figures 10 to 15."""
    count = 2 * bench.given.processes
    cases = {
        f"{factor} to a subfile, alignment {alignment >> 10 or 4} KiB": (factor, alignment)
        for factor in (1, 2, 4, 8)
        if factor <= count
        for alignment in (0, 1 << 20, 8 << 20)
    }
    for sync in bench.given.sync:
        contestants = {
            "own": lambda: bench.write("own", count, bool(sync), particles=1 << 20),
            **{name: (lambda case=case: bench.write("hyperslab", count, bool(sync), *case, particles=1 << 20)) for name, case in cases.items()},
        }
        bench.race(
            f"Subfiling factor and alignment: {count} processes, 1 Mi particles each, " + ("on the disk (fsync)" if sync else "in the page cache"),
            contestants,
            ["own"],
            max(3, bench.given.repeats // 2),
        )


def bdcats(bench: Bench) -> None:
    n, writers = bench.given.particles, bench.given.processes
    master, shared, single = (bench.folder / name for name in ("master.h5", "shared.h5", "single.h5"))
    bench.python(writers, "write", "hyperslab", master, n, 0, 1, 0)
    bench.mpi(writers, bench.given.vpic, "write", "independent", shared, n, 0, 0)
    hs.fuse(master, single)
    for readers in bench.given.readers or sorted({1, writers - 1, 2 * writers}):
        for part in ("whole", "random"):
            contestants = {
                "hyperslab, one file": lambda: bench.python(readers, "read", "hyperslab", single, n, writers, part),
                "hyperslab, master": lambda: bench.python(readers, "read", "hyperslab", master, n, writers, part),
                "h5py, one file": lambda: bench.python(readers, "read", "h5py", single, n, writers, part),
                "h5py, master": lambda: bench.python(readers, "read", "h5py", master, n, writers, part),
                "parallel HDF5, one file": lambda: bench.mpi(readers, bench.given.vpic, "read", "independent", shared, n, writers, part),
            }
            what = "all" if part == "whole" else "a tenth, at random places"
            bench.race(
                f"BD-CATS-IO: {readers} processes read {what} of what {writers} wrote",
                contestants,
                ["hyperslab, one file", "h5py, one file"],
                bench.given.repeats,
            )


def many(bench: Bench) -> None:
    """A master of 1,024 subfiles, read completely by a process that opens it for each run."""
    # More than 1 MiB each, or the commit would merge them into one.
    writers, n = 1024, 5 << 16
    master, single = bench.folder / "many.h5", bench.folder / "many-single.h5"
    plan = hs.WritePlan(master, writers=writers, factor=1, durable=False)
    plan.create_dataset("x", (writers * n,), "f4")
    fragments = []
    for number in range(writers):
        with plan.task(number, threads=1) as task:
            task.write("x", np.full(n, number, "f4"))
            fragments.append(task.finish())
    assert len(plan.commit(fragments).subfiles) == writers
    hs.fuse(master, single)
    out = np.empty(writers * n, "f4")

    def ours(path: pathlib.Path) -> float:
        begun = time.perf_counter()
        hs.open(path)["x"].read_direct(out)
        seconds = time.perf_counter() - begun
        assert (out[::n] == np.arange(writers)).all()
        return seconds

    def theirs(path: pathlib.Path) -> float:
        begun = time.perf_counter()
        with h5py.File(path) as f:
            f["x"].read_direct(out)
        seconds = time.perf_counter() - begun
        assert (out[::n] == np.arange(writers)).all()
        return seconds

    contestants = {
        "hyperslab, one file": lambda: ours(single),
        "hyperslab, master": lambda: ours(master),
        "h5py, one file": lambda: theirs(single),
        "h5py, master": lambda: theirs(master),
    }
    bench.race(
        f"Reading {writers} subfiles through the master: {writers * n * 4 >> 20} MiB, two threads",
        contestants,
        ["hyperslab, one file", "h5py, one file"],
        bench.given.repeats,
    )


PARTS = {"vpic": vpic, "paper": paper, "sweep": sweep, "bdcats": bdcats, "many": many, **single.PARTS}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    arguments.add_argument("--vpic", required=True)
    arguments.add_argument("--mpi", type=pathlib.Path, required=True)
    arguments.add_argument("--particles", type=int, default=1 << 20, help="of each process")
    arguments.add_argument("--processes", type=int, default=4)
    arguments.add_argument("--repeats", type=int, default=10)
    arguments.add_argument("--inner", type=int, default=5, help="writes or reads in one turn, of which the quickest counts")
    arguments.add_argument("--sync", nargs="*", type=int, choices=[0, 1], default=[0, 1], help="in the page cache, on the disk")
    arguments.add_argument("--readers", nargs="*", type=int, help="processes of bdcats; one, one fewer than writers, twice as many by default")
    arguments.add_argument("--ways", nargs="*", help="contestants of vpic, all by default")
    arguments.add_argument("--ours", action="store_true", help="leave out the peers")
    arguments.add_argument("--json", type=pathlib.Path)
    arguments.add_argument("--add", action="store_true", help="count the rounds of earlier runs in --json too")
    given = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-write-", dir=os.environ.get("HYPERSLAB_BENCH_FOLDER")))
    bench = Bench(given, folder)
    old = json.loads(given.json.read_text()) if given.json and given.json.exists() else None
    # Earlier releases kept tables only.
    old = old if isinstance(old, dict) else {"tables": [], "rounds": {}}
    if given.add:
        bench.earlier = old["rounds"]
    begun = time.time()
    try:
        for name in given.parts or list(PARTS):
            PARTS[name](bench)
            if given.json:
                keep(bench, old, given.json)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{time.time() - begun:.0f} seconds in all", file=sys.stderr)


def keep(bench: Bench, old: dict[str, Any], path: pathlib.Path) -> None:
    """Saves the results so far, together with those of other parts from earlier runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    titles = [title for title, _, _ in bench.tables]
    kept = [one for one in old["tables"] if one[0] not in titles]
    path.write_text(json.dumps({**old, "tables": kept + bench.tables, "rounds": {**old["rounds"], **bench.rounds}}, indent=1))


if __name__ == "__main__":
    main()
