"""Speed of decoding each filter on one thread, compared with h5py and hdf5plugin.

A dataset of 2 MiB chunks is read completely into an existing array, from a warm page cache. Each round runs all
readers in turn. The table has the medians in GB/s of decoded data, and the spread of the middle half of the
rounds. `alone` decodes the stored chunks without reading a file and without Python.

    python benches/filters/run.py DECODE_CHUNKS [--before DECODE_CHUNKS] [--mebibytes 32] [--rounds 9] [--only TEXT]
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cases import make


class Alone:
    """The program decode_chunks: a dataset's name in, nanoseconds out."""

    def __init__(self, program: str, path: pathlib.Path) -> None:
        self.process = subprocess.Popen([program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, name: str) -> float:
        assert self.process.stdin and self.process.stdout
        print(name, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline()) / 1e9

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def spread(seconds: list[float]) -> float:
    """Half of the distance between the quartiles, as a fraction of the median."""
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / 2 / middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("decode_chunks")
    parser.add_argument("--before", help="decode_chunks of another build, to be compared in the same rounds")
    parser.add_argument("--mebibytes", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="datasets whose name has this text")
    options = parser.parse_args()
    total = options.mebibytes << 20
    with tempfile.TemporaryDirectory(prefix="hyperslab-bench-") as folder:
        path = pathlib.Path(folder, "filters.h5")
        names = make(path, total, lambda name: options.only in name)
        ours = hs.open(path, threads=1)
        programs = {"alone": Alone(options.decode_chunks, path)}
        if options.before:
            programs["before"] = Alone(options.before, path)
        print(f"{'GB/s':22}{'h5py':>8}{'hyperslab':>11}{'ratio':>7}" + "".join(f"{name:>8}" for name in programs) + "   spread")
        with h5py.File(path) as theirs:
            for name in names:
                line(name, theirs[name], ours[name], list(programs.values()), options.rounds)
        for program in programs.values():
            program.close()


def line(name: str, theirs: h5py.Dataset, ours: hs.Dataset, programs: list[Alone], rounds: int) -> None:
    first, second = np.empty(theirs.shape, theirs.dtype), np.empty(theirs.shape, theirs.dtype)
    readers: list[Callable[[], float]] = [
        lambda: timed(lambda: theirs.read_direct(first)),
        lambda: timed(lambda: ours.read_direct(second)),
        *(lambda program=program: program.seconds(name) for program in programs),
    ]
    seconds: list[list[float]] = [[reader() for reader in readers] for _ in range(rounds + 1)][1:]
    assert first.tobytes() == second.tobytes(), f"{name}: another value"
    columns = [list(column) for column in zip(*seconds)]
    speeds = [first.nbytes / statistics.median(column) / 1e9 for column in columns]
    ratio = statistics.median(h / o for h, o in zip(columns[0], columns[1]))
    apart = ", ".join(f"{spread(column):.0%}" for column in columns)
    print(f"{name:22}{speeds[0]:8.2f}{speeds[1]:11.2f}{ratio:7.2f}" + "".join(f"{speed:8.2f}" for speed in speeds[2:]) + f"   {apart}", flush=True)


if __name__ == "__main__":
    main()
