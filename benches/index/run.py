"""Benchmarks of value indexes: build, size, and answers compared with a scan in memory, a scan of the file, h5py, FastBit, and in Spark.

    python benches/index/run.py [FOLDER] [--particles 64] [--parts build,fastbit,…] [--json FILE]

Data is written to FOLDER once (about 1.3 GB for 64 million particles). Results are saved part by part to
FILE (FOLDER/results.json if it is not given); benches/document.py makes tables of benches/results/index.json.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import fastbit
import h5py
import hyperslab as hs
import numpy as np
from hyperslab import _native

SELECTIVITIES = [1e-6, 1e-4, 1e-2, 0.1, 0.5]
BUILDS = [("shuffled", "Z"), ("shuffled", "K"), ("shuffled", "P"), ("shuffled", "X"), ("ordered", "P"), ("ordered", "X"), ("gzip", "X")]
OTHER = {"shuffled": "ordered", "ordered": "shuffled"}


def make(folder: pathlib.Path, millions: int) -> pathlib.Path:
    """Particles in a file of plain float32 columns: energies that are smooth along the file, and the same in random order."""
    path = folder / f"particles{millions}.h5"
    if path.exists():
        return path
    rng = np.random.default_rng(42)
    count = millions * 1_000_000
    place = np.linspace(0, 60, count, dtype="f4")
    energy = (np.exp(np.sin(place) + 0.3 * np.sin(17 * place)) * (1 + 0.05 * rng.standard_normal(count, dtype="f4"))).astype("f4")
    part = path.with_suffix(".part")
    with h5py.File(part, "w") as f:
        f["ordered"] = energy
        shuffled = energy.copy()
        rng.shuffle(shuffled)
        f["shuffled"] = shuffled
        f.create_dataset("gzip", data=shuffled, chunks=(262_144,), compression="gzip", compression_opts=4, shuffle=True)
    os.replace(part, path)
    return path


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def best(work: Callable[[], Any], least: int = 5, seconds: float = 0.6) -> float:
    """Median milliseconds of repeated runs, after one that is not counted."""
    work()
    times: list[float] = []
    since = time.perf_counter()
    while len(times) < least or (time.perf_counter() - since < seconds and len(times) < 200):
        times.append(timed(work))
    return statistics.median(times)


def alternating(first: Callable[[], Any], second: Callable[[], Any], rounds: int = 7) -> tuple[float, float]:
    """Median milliseconds of both, in turns."""
    first(), second()
    pairs = [(timed(first), timed(second)) for _ in range(rounds)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


def sidecar(path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(f"{path}.hsidx")


def with_and_without(path: pathlib.Path, work: Callable[[], Any], rounds: int = 9) -> list[float]:
    """Median milliseconds with the index and by a scan, in turns, so that other load on the machine affects both."""
    there, away = sidecar(path), pathlib.Path(f"{path}.away")
    times: list[list[float]] = [[], []]
    work()
    for _ in range(rounds):
        times[0].append(timed(work))
        there.rename(away)
        try:
            times[1].append(timed(work))
        finally:
            away.rename(there)
    return [statistics.median(mine) for mine in times]


def build(path: pathlib.Path, dataset: str, level: str, threads: int) -> tuple[float, int]:
    """Seconds and bytes of a build in a separate process."""
    folder = sidecar(path)
    shutil.rmtree(folder, ignore_errors=True)
    code = (
        "import sys, time, hyperslab as hs\n"
        "plan = hs.indexes.plan(hs.open(sys.argv[1], threads=int(sys.argv[4])), sys.argv[2], sys.argv[3])\n"
        "start = time.perf_counter(); plan.run(); print(time.perf_counter() - start)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path), dataset, level, str(threads)], capture_output=True, text=True, check=True)
    return float(out.stdout), sum(f.stat().st_size for f in folder.iterdir())


def index_of(path: pathlib.Path, dataset: str, threads: int) -> _native.ColumnIndex:
    file, number = hs.open(path, threads=threads)._file.find(dataset)
    found = _native.ColumnIndex.find(file, number)
    assert found is not None
    return found


def write_steps(path: pathlib.Path, steps: range, rng: np.random.Generator) -> None:
    """Adds time steps to a file, which is created for the first ones."""
    if steps.start == 0:
        path.unlink(missing_ok=True)
        shutil.rmtree(sidecar(path), ignore_errors=True)
    with h5py.File(path, "a") as f:
        for n in steps:
            f[f"Step#{n}/energy"] = rng.exponential(size=262_144).astype("f4")


class Bench:
    """One set of data and its results."""

    def __init__(self, folder: pathlib.Path, millions: int) -> None:
        self.folder, self.path, self.millions = folder, make(folder, millions), millions
        with h5py.File(self.path) as f:
            self.columns = {name: f[name][:] for name in ("ordered", "shuffled")}
        values = self.columns["shuffled"]
        self.bytes = values.nbytes
        places = {s: len(values) - 1 - round(len(values) * s) for s in SELECTIVITIES}
        sorted_at = np.partition(values, sorted(places.values()))
        self.thresholds = {s: float(sorted_at[place]) for s, place in places.items()}
        self.wanted = {s: int((values > np.float32(v)).sum()) for s, v in self.thresholds.items()}

    def index(self, dataset: str, level: str) -> None:
        shutil.rmtree(sidecar(self.path), ignore_errors=True)
        hs.index(self.path, dataset, level)

    def build(self) -> Any:
        """Every level with one thread and two: GB/s, and its share of the column."""
        found = []
        for dataset, level in BUILDS:
            for threads in (1, 2):
                seconds, made = min(build(self.path, dataset, level, threads) for _ in range(3))
                found.append([f"{dataset} {level}", threads, self.bytes / seconds / 1e9, made / self.bytes])
        return found

    def fastbit(self) -> Any:
        """FastBit's build and bitmaps by its bins; nothing if it is not available."""
        program = fastbit.program()
        if program is None:
            return None
        part = fastbit.partition(self.folder, self.columns)
        found = {}
        for dataset, other in OTHER.items():
            for name, spec in ((f"{dataset}, 256 bins", fastbit.FEW_BINS), (dataset, fastbit.INDEX)):
                found[name] = fastbit.ask(program, part, dataset, other, self.thresholds, spec)
                for s, wanted in self.wanted.items():
                    hits = found[name]["answers"][f"{s:g}"]["hits"]
                    assert hits == wanted, f"FastBit finds {hits} rows of {name} at {s:g}, numpy {wanted}"
        return found

    def beside(self) -> Any:
        """Answers of FastBit and of Hyperslab in turns, selectivity by selectivity, so that other load on the machine affects both."""
        program = fastbit.program()
        if program is None:
            return None
        part = fastbit.partition(self.folder, self.columns)
        found: dict[str, Any] = {}
        for dataset, other in OTHER.items():
            fastbit.ask(program, part, dataset, other, {1e-6: self.thresholds[1e-6]})
            for level in "PX":
                self.index(dataset, level)
                index = index_of(self.path, dataset, 2)
                for s, v in self.thresholds.items():
                    text = f"{dataset} > {v!r}"
                    q = hs.query(self.path, "/", text, threads=2)
                    ours: dict[str, Callable[[], Any]] = {
                        "bitmap": lambda: index.bitmap(text),
                        "positions": q.positions,
                        "values": lambda: q.values(dataset),
                        "histogram": lambda: q.histogram(other, 64, range=(0.0, 6.0)),
                    }
                    theirs = fastbit.ask(program, part, dataset, other, {s: v}, rebuild=False)["answers"][f"{s:g}"]
                    assert theirs["hits"] == self.wanted[s] == q.count()
                    found[f"{dataset} {level} {s:g}"] = {what: [theirs[what], best(work)] for what, work in ours.items()}
        return found

    def answers(self) -> Any:
        """The index itself: bitmaps, positions, values, counts."""
        found: dict[str, Any] = {}
        out = [np.empty(len(half), bool) for half in np.array_split(self.columns["shuffled"], 2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for dataset in OTHER:
                halves = np.array_split(self.columns[dataset], 2)

                def scan(v: float) -> None:
                    list(pool.map(lambda pair: np.greater(pair[0], np.float32(v), out=pair[1]), zip(halves, out)))

                for level in "PX":
                    self.index(dataset, level)
                    two, one = index_of(self.path, dataset, 2), index_of(self.path, dataset, 1)
                    for s, v in self.thresholds.items():
                        text = f"{dataset} > {v!r}"
                        assert two.bitmap(text) == (self.wanted[s], 0)
                        near = np.float32(v)
                        firsts = []
                        for _ in range(7):
                            # A new edge: the next number.
                            near = np.nextafter(near, np.float32(np.inf))
                            firsts.append(timed(lambda: two.bitmap(f"{dataset} > {float(near)!r}")))
                        found[f"{dataset} {level} {s:g}"] = {
                            "bitmap first": statistics.median(firsts),
                            "scan": best(lambda: scan(v)),
                            "bitmap": best(lambda: two.bitmap(text)),
                            "bitmap 1": best(lambda: one.bitmap(text)),
                            "positions": best(lambda: two.rows(text)),
                            "values": best(lambda: two.values(text)) if level == "X" else None,
                            "count": best(lambda: two.count(text)),
                        }
                    if level == "X":
                        edges = np.linspace(0, 5, 65).tolist()
                        found[f"{dataset} quantile, histogram"] = [best(lambda: two.ranked(self.columns[dataset].size // 2)), best(lambda: two.below(edges))]
        return found

    def queries(self) -> Any:
        """Queries with an index and without: count, positions, values, histograms of the column and of another one."""
        found: dict[str, Any] = {}
        for dataset, other in OTHER.items():
            for level in "PX":
                self.index(dataset, level)
                for s, v in self.thresholds.items():
                    q = hs.query(self.path, "/", f"{dataset} > {v!r}", threads=2)
                    ask: dict[str, Callable[[], Any]] = {
                        "count": q.count,
                        "positions": q.positions,
                        "values": lambda: q.values(dataset),
                        "histogram": lambda: q.histogram(other, 64, range=(0.0, 6.0)),
                        "own histogram": lambda: q.histogram(dataset, 64, range=(0.0, 6.0)),
                    }
                    assert q.count() == self.wanted[s] == len(q.values(dataset))
                    found[f"{dataset} {level} {s:g}"] = {what: with_and_without(self.path, work) for what, work in ask.items()}
        return found

    def steps(self) -> Any:
        """One hundred time steps under a wildcard, and ten that are appended."""
        path, rng = self.folder / "steps.h5", np.random.default_rng(7)
        write_steps(path, range(100), rng)
        found: dict[str, float] = {"index": timed(lambda: hs.index(path, "/Step#*/energy", "P"))}
        q = hs.query(path, "/Step#*", "energy > 9.2", threads=2)
        found["count"], found["count by a scan"] = with_and_without(path, q.count)
        found["positions"], found["positions by a scan"] = with_and_without(path, q.positions)
        write_steps(path, range(100, 110), rng)
        start = time.perf_counter()
        plan = hs.indexes.plan(path, "/Step#*/energy", "P")
        done = hs.indexes.commit([hs.indexes.build(task) for task in plan.tasks(1)])
        found["refresh"] = (time.perf_counter() - start) * 1e3
        found["built"], found["kept"] = done.built_blocks, done.kept_blocks
        path.unlink()
        shutil.rmtree(sidecar(path), ignore_errors=True)
        return found

    def gzip(self) -> Any:
        """Compressed data: h5py with numpy, compared with the index."""
        self.index("gzip", "X")
        v = self.thresholds[1e-4]

        def read() -> None:
            with h5py.File(self.path) as f:
                np.flatnonzero(f["gzip"][:] > v)

        index = index_of(self.path, "gzip", 2)
        q = hs.query(self.path, "/", f"gzip > {v!r}", threads=2)
        return {
            "h5py": min(timed(read) for _ in range(2)),
            "index": best(lambda: index.rows(f"gzip > {v!r}")),
            "query": best(q.positions),
            "values": best(lambda: q.values("gzip")),
        }

    def lists(self) -> Any:
        """Constants in a list compared with numpy, in random and in ascending order, without an index and with one."""
        path, found, rng = self.folder / "ids.h5", {}, np.random.default_rng(11)
        count = self.millions * 1_000_000
        for order in ("shuffled", "rising"):
            ids = rng.permutation(count) if order == "shuffled" else np.arange(count)
            with h5py.File(path, "w") as f:
                f["id"] = ids
            time.sleep(0.2)  # the same tick of the file system's clock is waited for
            for constants in (10, 1_000, 100_000):
                chosen = rng.choice(count, constants, replace=False)
                q = hs.query(path, "/", "id in chosen", variables={"chosen": chosen})
                numpy, scan = alternating(lambda: np.flatnonzero(np.isin(ids, chosen)), q.positions)
                hs.index(path, "/id", "P")
                q = hs.query(path, "/", "id in chosen", variables={"chosen": chosen})
                found[f"{order} {constants}"] = {"numpy": numpy, "scan": scan, "index P": best(q.positions)}
                shutil.rmtree(sidecar(path))
        path.unlink()
        return found

    def small(self) -> Any:
        """Many datasets of 100 values in one file: seconds to index and to plan again, milliseconds to query all of them."""
        path, found = self.folder / "small.h5", {}
        for count in (250, 1_000, 4_000, 10_000):
            values = np.random.default_rng(count).random((count, 100), dtype="f4")
            with h5py.File(path, "w") as f:
                for number, row in enumerate(values):
                    f[f"Step#{number}/e"] = row
            time.sleep(0.2)
            built, planned = timed(lambda: hs.index(path, "/Step#*/e")), timed(lambda: hs.indexes.plan(path, "/Step#*/e"))
            asked = best(lambda: hs.query(path, "/Step#*", "e > 0.999").count())
            found[str(count)] = {"build": built / 1e3, "plan": planned / 1e3, "ask": asked}
            shutil.rmtree(sidecar(path))
        path.unlink()
        return found

    def several(self) -> Any:
        """A rare condition, alone and with two conditions that match half of the rows."""
        path, found, rng = self.folder / "several.h5", {}, np.random.default_rng(12)
        with h5py.File(path, "w") as f:
            for name in "xyz":
                f[name] = rng.random(self.millions * 1_000_000, dtype="f4")
        time.sleep(0.2)
        for level in "PX":
            hs.index(path, "/", level)
            for share in (1e-6, 1e-4, 1e-2):
                alone, three = (hs.query(path, "/", f"x < {share}{more}") for more in ("", " and y < 0.5 and z < 0.5"))
                one, all_three = alternating(alone.positions, three.positions)
                found[f"{level} {share:g}"] = {"alone": one, "three": all_three}
        path.unlink()
        shutil.rmtree(sidecar(path))
        return found

    def spark(self) -> Any:
        """Builds and answers in Spark; nothing if it is not available."""
        python, jar = os.environ.get("HYPERSLAB_SPARK_PYTHON", ""), os.environ.get("HYPERSLAB_SPARK_JAR", "")
        for what, path in (("a Python with pyspark (HYPERSLAB_SPARK_PYTHON)", python), ("the jar (HYPERSLAB_SPARK_JAR)", jar)):
            if not os.path.isfile(path):
                print(f"*** NOT MEASURED: Spark. {what} is not there; `make test-spark-4` makes both. ***")
                return None
        shutil.rmtree(sidecar(self.path), ignore_errors=True)
        path = self.folder / "spark steps.h5"
        write_steps(path, range(100), np.random.default_rng(7))
        # The values of steps are exponential.
        thresholds = {f"{s:g}": {"particles": self.thresholds[s], "steps": -float(np.log(s))} for s in (1e-4, 1e-2, 0.1)}
        package = str(pathlib.Path(hs.__file__).parent.parent)
        command = [python, str(pathlib.Path(__file__).with_name("with_spark.py")), str(self.path), str(path), json.dumps(thresholds), "3"]
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, "PYTHONPATH": package})
        path.unlink()
        return json.loads(out.stdout.splitlines()[-1])


def machine() -> str:
    """The processor and the date."""
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'an unknown processor'}, {os.cpu_count()} cores, on {time.strftime('%Y-%m-%d')}"


PARTS = ["build", "fastbit", "beside", "answers", "queries", "steps", "gzip", "lists", "small", "several", "spark"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="/tmp/hyperslab-bench-index")
    parser.add_argument("--particles", type=int, default=64, help="millions")
    parser.add_argument("--parts", help=f"of {', '.join(PARTS)}; all of them where this is not given")
    parser.add_argument("--json", type=pathlib.Path, help="where the results go, added to those of other parts")
    given = parser.parse_args()
    folder = pathlib.Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = given.json or folder / "results.json"
    kept: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    parts = given.parts.split(",") if given.parts else PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    bench = Bench(folder, given.particles)
    for part in parts:
        start = time.perf_counter()
        found = getattr(bench, part)()
        if found is not None:
            kept[part] = found
        kept["particles"], kept["machine"] = given.particles, machine()
        results.write_text(json.dumps(kept, indent=1))
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
    shutil.rmtree(sidecar(bench.path), ignore_errors=True)


if __name__ == "__main__":
    main()
