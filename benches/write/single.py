"""One process compared with h5py: large files, durable and not, small appends, growing datasets, and many small subfiles.

Parts of `run.py`. The files of a contestant are removed before its next turn. In its turn it writes `--inner` times, and the fastest
run counts."""

from __future__ import annotations

import os
import pathlib
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import h5py
import hyperslab as hs
import netCDF4
import numpy as np

if TYPE_CHECKING:
    from run import Bench

MIB = 1 << 20


def timed(bench: Bench, work: Callable[[pathlib.Path], None]) -> float:
    """Seconds of `work`, which writes into an empty folder, after all earlier writes have reached the disk."""
    folder = bench.folder / "single"
    best = float("inf")
    for _ in range(bench.given.inner):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        os.sync()
        begun = time.perf_counter()
        work(folder / "a.h5")
        best = min(best, time.perf_counter() - begun)
    shutil.rmtree(folder)
    return best


def synced(path: pathlib.Path) -> None:
    """What a program does to have its file on the disk."""
    for place in (path, path.parent):
        descriptor = os.open(place, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def race(bench: Bench, title: str, contestants: dict[str, Callable[[pathlib.Path], None]], against: list[str], repeats: int | None = None) -> None:
    bench.race(title, {name: (lambda work=work: timed(bench, work)) for name, work in contestants.items()}, against, repeats or bench.given.repeats)


def whole(values: np.ndarray[Any, Any], library: str, sync: bool, **options: Any) -> Callable[[pathlib.Path], None]:
    def ours(path: pathlib.Path) -> None:
        with hs.create(path, durable=sync) as f:
            f.create_dataset("x", data=values, **options)

    def theirs(path: pathlib.Path) -> None:
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=values, **options)
        if sync:
            synced(path)

    return ours if library == "hyperslab" else theirs


def large(bench: Bench) -> None:
    """One dataset, contiguous and compressed."""
    plain = np.arange(256 * MIB, dtype="f4")
    race(
        bench,
        "One process writes 1 GiB, contiguous",
        {
            "hyperslab, on the disk": whole(plain, "hyperslab", True),
            "h5py and fsync": whole(plain, "h5py", True),
            "hyperslab, durable=False": whole(plain, "hyperslab", False),
            "h5py": whole(plain, "h5py", False),
        },
        ["h5py and fsync", "h5py"],
    )
    measured = np.cumsum(np.random.default_rng(1).normal(size=32 * MIB)).astype("f4")
    options = {"chunks": (1 << 18,), "compression": "gzip", "compression_opts": 4, "shuffle": True}
    race(
        bench,
        "One process writes 128 MiB, gzip of level 4 and shuffle, two threads",
        {"hyperslab, durable=False": whole(measured, "hyperslab", False, **options), "h5py": whole(measured, "h5py", False, **options)},
        ["h5py"],
        max(3, bench.given.repeats // 2),
    )


def appends(bench: Bench) -> None:
    """A dataset that grows in small steps, in one session and in many."""
    for size, options, what in (
        (1 << 10, {}, "1 KiB"),
        (1 << 16, {}, "64 KiB"),
        (1 << 10, {"compression": "gzip"}, "1 KiB, gzip"),
        (1 << 16, {"compression": "gzip"}, "64 KiB, gzip"),
    ):
        step = np.cumsum(np.random.default_rng(2).integers(-9, 9, size // 4)).astype("i4")
        made: dict[str, Any] = {"shape": (0,), "maxshape": (None,), "dtype": "i4", "chunks": (1 << 14,), **options}
        race(
            bench,
            f"1,000 appends of {what}, in one session",
            {
                "hyperslab, on the disk": lambda path, step=step, made=made: session(path, step, made, True),
                "hyperslab, durable=False": lambda path, step=step, made=made: session(path, step, made, False),
                "h5py": lambda path, step=step, made=made: theirs(path, step, made, False),
            },
            ["h5py"],
        )
    step = np.arange(256, dtype="i4")
    made = {"shape": (0,), "maxshape": (None,), "dtype": "i4", "chunks": (1 << 14,)}
    for count in (100, 1000):
        race(
            bench,
            f"{count} times: open, append 1 KiB, close",
            {
                "hyperslab, on the disk": lambda path, count=count: steps(path, step, count, True),
                "hyperslab, durable=False": lambda path, count=count: steps(path, step, count, False),
                "h5py and fsync": lambda path, count=count: reopened(path, step, made, count, True),
                "h5py": lambda path, count=count: reopened(path, step, made, count, False),
            },
            ["h5py and fsync", "h5py"],
            max(3, bench.given.repeats // 3),
        )


def session(path: pathlib.Path, step: np.ndarray[Any, Any], made: dict[str, Any], durable: bool) -> None:
    with hs.create(path, durable=durable) as f:
        x = f.create_dataset("x", **made)
        for _ in range(1000):
            x.append(step)


def theirs(path: pathlib.Path, step: np.ndarray[Any, Any], made: dict[str, Any], sync: bool) -> None:
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", **made)
        for _ in range(1000):
            x.resize(len(x) + len(step), axis=0)
            x[-len(step) :] = step
    if sync:
        synced(path)


def steps(path: pathlib.Path, step: np.ndarray[Any, Any], count: int, durable: bool) -> None:
    for number in range(count):
        plan = hs.WritePlan(path, "a" if number else "x", durable=durable)
        with plan.task(0, threads=1) as task:
            task.create_dataset("x", data=step, rows=True)
            plan.commit([task.finish()])


def reopened(path: pathlib.Path, step: np.ndarray[Any, Any], made: dict[str, Any], count: int, sync: bool) -> None:
    for number in range(count):
        with h5py.File(path, "a") as f:
            x = f["x"] if number else f.create_dataset("x", **made)
            x.resize(len(x) + len(step), axis=0)
            x[-len(step) :] = step
        if sync:
            synced(path)


def growing(bench: Bench) -> None:
    """Many small datasets that can grow."""

    def ours(path: pathlib.Path) -> None:
        with hs.create(path, durable=False) as f:
            for number in range(200):
                f.create_dataset(f"x{number}", data=np.arange(10.0), maxshape=(None,))

    def h5py_own(path: pathlib.Path) -> None:
        with h5py.File(path, "w") as f:
            for number in range(200):
                f.create_dataset(f"x{number}", data=np.arange(10.0), maxshape=(None,))

    def ours_netcdf(path: pathlib.Path) -> None:
        with hs.create_netcdf(path, durable=False) as f:
            f.create_dimension("t", None)
            for number in range(50):
                f.create_variable(f"v{number}", ["t"], data=np.arange(5.0))

    def theirs_netcdf(path: pathlib.Path) -> None:
        with netCDF4.Dataset(path, "w") as f:
            f.createDimension("t", None)
            for number in range(50):
                f.createVariable(f"v{number}", "f8", ("t",))[:] = np.arange(5.0)

    race(bench, "200 datasets of 10 values that can grow", {"hyperslab, durable=False": ours, "h5py": h5py_own}, ["h5py"])
    race(bench, "50 netCDF variables of 5 values, unlimited", {"hyperslab, durable=False": ours_netcdf, "netCDF4": theirs_netcdf}, ["netCDF4"])
    sizes = []
    for what, mine, peer in (
        ("200 datasets of 10 values that can grow", ours, h5py_own),
        ("50 netCDF variables of 5 values, unlimited", ours_netcdf, theirs_netcdf),
    ):
        bytes_of = []
        for work in (mine, peer):
            work(bench.folder / "size.h5")
            bytes_of.append((bench.folder / "size.h5").stat().st_size)
            (bench.folder / "size.h5").unlink()
        sizes.append([what, *bytes_of, round(bytes_of[0] / bytes_of[1], 2)])
    bench.show("Bytes of small datasets that can grow", ["", "hyperslab", "h5py or netCDF4", "ratio"], sizes)


def subfiles(bench: Bench) -> None:
    """1,200 tasks that write 8 KiB each: the time to read the master."""
    tasks, n = 1200, 1024
    master, single = bench.folder / "small.h5", bench.folder / "small-single.h5"
    plan = hs.WritePlan(master, durable=False)
    fragments = []
    for number in range(tasks):
        with plan.task(number, threads=1) as task:
            task.create_dataset("x", (tasks * n,), "f8", region=np.s_[number * n : number * n + n])[number * n : number * n + n] = np.full(n, number, "f8")
            fragments.append(task.finish())
    begun = time.perf_counter()
    done = plan.commit(fragments)
    print(f"\n{tasks} tasks, {len(done.subfiles)} subfiles, commit {time.perf_counter() - begun:.3f} s", flush=True)
    hs.fuse(master, single)

    def read(open: Callable[..., Any], path: pathlib.Path, last: int) -> float:
        best = float("inf")
        for _ in range(bench.given.inner):
            begun = time.perf_counter()
            with open(path) as f:
                values = f["x"][:last]
            best = min(best, time.perf_counter() - begun)
            assert (values[::n] == np.arange(-(-last // n))).all()
        return best

    for last, what in ((1, "the first value"), (tasks * n, "all values")):
        bench.race(
            f"Reading {what} of what {tasks} tasks wrote, 8 KiB each",
            {
                "hyperslab, one file": lambda last=last: read(hs.open, single, last),
                "hyperslab, master": lambda last=last: read(hs.open, master, last),
                "h5py, one file": lambda last=last: read(h5py.File, single, last),
                "h5py, master": lambda last=last: read(h5py.File, master, last),
            },
            ["hyperslab, one file", "h5py, one file"],
            bench.given.repeats,
        )


PARTS = {"large": large, "appends": appends, "growing": growing, "subfiles": subfiles}
