"""`hyperslab diff` and `hyperslab repack` beside h5diff and h5repack, on generated files.

`make bench-tools` prints the tables of docs/diff.md and docs/repack.md. Each command is a process of its own, so that its start counts; rounds are interleaved,
and the first, for the page cache, is not counted. The programs are those of the PATH, else those that `make dump-tools` has unpacked.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from typing import Any

import h5py
import hdf5plugin
import hyperslab as hs
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing" / "lib"))
from dump_tools import program

SHAPE, CHUNK, OTHER_CHUNK = (200, 400, 400), (20, 100, 100), (200, 50, 50)
GZIP = {"chunks": CHUNK, "compression": "gzip", "shuffle": True}


def make_files(folder: pathlib.Path, scale: int) -> None:
    """Pairs of files: plain and compressed, equal, with some changed values, and with other chunks."""
    shape = (SHAPE[0] * scale, *SHAPE[1:])
    marker = folder / f"made.{scale}"
    if marker.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chance = np.random.default_rng(0)
    values = np.round(chance.normal(size=shape).cumsum(axis=1) * 16).astype("f4")
    changed = values.copy()
    changed[::40, 5, 7] += 1

    def write(name: str, data: np.ndarray[Any, Any], **options: Any) -> None:
        with h5py.File(folder / name, "w") as f:
            f.create_dataset("x", data=data, **options)

    write("plain.h5", values)
    write("plain changed.h5", changed)
    write("gzip.h5", values, **GZIP)
    write("gzip changed.h5", changed, **GZIP)
    write("gzip other chunks.h5", values, **{**GZIP, "chunks": OTHER_CHUNK})
    for name in ("plain", "gzip"):
        shutil.copy(folder / f"{name}.h5", folder / f"{name} equal.h5")
    marker.touch()


def seconds(command: list[str], environment: dict[str, str], status: int, folder: pathlib.Path) -> float:
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begin
    if done.returncode != status:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
    return taken


def spread(times: list[float]) -> str:
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def race(folder: pathlib.Path, name: str, ours: list[str], theirs: list[str], status: int, rounds: int, made: tuple[str, str] | None = None) -> None:
    """A row of the table: seconds of both, and the median of the ratios."""
    found = program(theirs[0])
    if found is None:
        raise SystemExit(f"there is no {theirs[0]}: `make dump-tools` unpacks it")
    command, environment = found
    # The filter of h5repack for zstd.
    environment = {**environment, "HDF5_PLUGIN_PATH": hdf5plugin.PLUGINS_PATH}
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        for out in made or ():
            (folder / out).unlink(missing_ok=True)
        taken = (
            seconds([sys.executable, "-m", "hyperslab", *ours], dict(os.environ), status, folder),
            seconds([*command, *theirs[1:]], environment, status, folder),
        )
        if made is not None and number == 0 and not hs.diff(folder / made[0], folder / made[1]).equal:
            raise SystemExit(f"{name}: the two copies differ")
        if number:
            times[0].append(taken[0])
            times[1].append(taken[1])
    ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
    print(f"| {name} | {spread(times[0])} | {spread(times[1])} | {ratio:.1f} |", flush=True)
    for out in made or ():
        (folder / out).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--scale", type=int, default=4, help="128 MB of values for each unit")
    given = parser.parse_args()
    make_files(given.folder, given.scale)
    start = [seconds([sys.executable, "-m", "hyperslab", "--version"], dict(os.environ), 0, given.folder) for _ in range(given.rounds)]
    print(f"{given.scale * 128} MB of values (float32), load {os.getloadavg()[0]:.1f}; the start of our command alone: {statistics.median(start):.2f} s\n")
    print("| seconds | ours | HDF5's | ratio |\n|---|--:|--:|--:|")
    for name, one, other, status in (
        ("equal, contiguous", "plain.h5", "plain equal.h5", 0),
        ("some values differ, contiguous", "plain.h5", "plain changed.h5", 1),
        ("equal, gzip", "gzip.h5", "gzip equal.h5", 0),
        ("some values differ, gzip", "gzip.h5", "gzip changed.h5", 1),
        ("equal values, gzip, other chunks", "gzip.h5", "gzip other chunks.h5", 0),
        ("equal values, contiguous and gzip", "plain.h5", "gzip.h5", 0),
    ):
        if given.only not in f"diff: {name}":
            continue
        race(given.folder, f"diff: {name}", ["diff", one, other, "-q"], ["h5diff", "-q", one, other], status, given.rounds)
    chunk = ",".join(map(str, OTHER_CHUNK))
    made = ("ours.h5", "theirs.h5")
    for name, source, ours, theirs in (
        ("as it is; ours verified", "gzip.h5", [], []),
        ("gzip 4 to gzip 6", "gzip.h5", ["--compression", "gzip", "--level", "6", "--no-verify"], ["-f", "GZIP=6"]),
        ("gzip 4 to zstd 3", "gzip.h5", ["--compression", "zstd", "--level", "3", "--no-verify"], ["-f", "SHUF", "-f", "UD=32015,0,1,3"]),
        ("contiguous to gzip 4 and shuffle", "plain.h5", ["--compression", "gzip", "--level", "4", "--shuffle", "--chunks", "20,100,100", "--no-verify"],
         ["-l", "x:CHUNK=20x100x100", "-f", "x:SHUF", "-f", "x:GZIP=4"]),
        ("other chunks, gzip", "gzip.h5", ["--chunks", chunk, "--no-verify"], ["-l", f"x:CHUNK={chunk.replace(',', 'x')}"]),
        ("other chunks, gzip; ours verified", "gzip.h5", ["--chunks", chunk], ["-l", f"x:CHUNK={chunk.replace(',', 'x')}"]),
        ("gzip to none", "gzip.h5", ["--compression", "none", "--no-shuffle", "--no-verify"], ["-f", "NONE"]),
    ):  # fmt: skip
        if given.only not in f"repack: {name}":
            continue
        race(given.folder, f"repack: {name}", ["repack", source, made[0], *ours], ["h5repack", *theirs, source, made[1]], 0, given.rounds, made)


if __name__ == "__main__":
    main()
