"""`make bench-spark`: reading with Spark compared with alternatives, as ratios within one session.

Every way is run in turn, round after round, so that a slow minute of the machine hits all of them; the
figure is the median over rounds. Data are made once, in the folder given (default: a temporary one). `--only` takes
some of the tables, so that a run can be cut into pieces; each replaces its tables in the file of `--json`.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hyperslab.spark import mllib

CHUNK = 1 << 18
WIDTH = 1000
Way = Callable[[], Any]


def make(folder: pathlib.Path, elements: int) -> None:
    """The same random walk four times: contiguous, gzip and shuffle, Parquet plain and with snappy."""
    if (folder / "snappy.parquet").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    data = np.round(np.cumsum(rng.standard_normal(elements)), 2)
    with h5py.File(folder / "plain.h5", "w") as f:
        f["x"] = data
        f["rows"] = data[: elements // WIDTH * WIDTH].reshape(-1, WIDTH)
    with h5py.File(folder / "gzip.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(CHUNK,), compression="gzip", compression_opts=4, shuffle=True)
    table = pa.table({"x": data})
    pq.write_table(table, folder / "plain.parquet", compression="none", use_dictionary=False, row_group_size=1 << 22)
    pq.write_table(table, folder / "snappy.parquet", compression="snappy", row_group_size=1 << 22)


def total(frame: Any) -> float:
    return float(frame.selectExpr("sum(x)").collect()[0][0])


def ours(spark: Any, folder: pathlib.Path, name: str, partitions: int) -> Way:
    return lambda: total(spark.read.format("hdf5").option("dataset", "/x").option("partitions", partitions).load(str(folder / name)))


def scans(spark: Any, folder: pathlib.Path, elements: int, partitions: int) -> dict[str, Way]:
    def native(name: str) -> Way:
        # A plain read of the same bytes: the core in one process, without Spark, summing each batch once.
        return lambda: sum(pc.sum(batch["x"]).as_py() for batch in hs.open(folder / name).table("/x", columns=["x"]).batches())

    def python_source() -> float:
        path, edges = str(folder / "plain.h5"), np.linspace(0, elements, partitions + 1).astype(int)

        def read(numbers: Any) -> Any:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    with h5py.File(path) as f:
                        data = f["x"][edges[number] : edges[number + 1]]
                    for start in range(0, len(data), 65536):
                        yield pa.RecordBatch.from_arrays([pa.array(data[start : start + 65536])], ["x"])

        return total(spark.range(0, partitions, 1, partitions).mapInArrow(read, "x double"))

    return {
        "hyperslab, contiguous": ours(spark, folder, "plain.h5", partitions),
        "hyperslab, gzip and shuffle": ours(spark, folder, "gzip.h5", partitions),
        "Parquet, uncompressed": lambda: total(spark.read.parquet(str(folder / "plain.parquet"))),
        "Parquet, snappy": lambda: total(spark.read.parquet(str(folder / "snappy.parquet"))),
        "native read, contiguous": native("plain.h5"),
        "native read, gzip and shuffle": native("gzip.h5"),
        "Spark's own loop over as many doubles, nothing read": lambda: total(spark.range(0, elements, 1, partitions).selectExpr("cast(id as double) as x")),
        "h5py and Arrow in a Python source": python_source,
    }


def structures(spark: Any, folder: pathlib.Path, elements: int, partitions: int) -> dict[str, Way]:
    path = str(folder / "plain.h5")

    def h5spark_elements() -> float:
        # H5Spark's way in Python: h5py in flatMap, with one record per element.
        edges = np.linspace(0, elements, partitions + 1).astype(int)

        def read(number: int) -> Any:
            with h5py.File(path) as f:
                return list(f["x"][edges[number] : edges[number + 1]])

        return float(spark.sparkContext.parallelize(range(partitions), partitions).flatMap(read).sum())

    def h5spark_rows() -> float:
        from pyspark.mllib.linalg import Vectors
        from pyspark.mllib.linalg.distributed import RowMatrix

        edges = np.linspace(0, elements // WIDTH, partitions + 1).astype(int)

        def read(number: int) -> Any:
            with h5py.File(path) as f:
                return [Vectors.dense(row) for row in f["rows"][edges[number] : edges[number + 1]]]

        matrix = RowMatrix(spark.sparkContext.parallelize(range(partitions), partitions).flatMap(read))
        return float(matrix.computeColumnSummaryStatistics().mean().sum())

    def jvm_rows() -> Any:
        read = spark._jvm.io.hyperslab.spark.mllib.H5Read
        return read.h5read_rowmat(spark._jsparkSession, path, "/rows", partitions).computeColumnSummaryStatistics().mean().size()

    def jvm_sum() -> float:
        frame = spark.read.format("hdf5").option("dataset", "/x").option("partitions", partitions).load(path).selectExpr("sum(x)")
        return float(frame._jdf.collectAsList().get(0).get(0))

    return {
        "elements, hyperslab": ours(spark, folder, "plain.h5", partitions),
        "elements, h5py in flatMap (H5Spark)": h5spark_elements,
        "rows as vectors, hyperslab": lambda: float(mllib.h5read_rowmat(spark, path, "/rows", partitions).computeColumnSummaryStatistics().mean().sum()),
        "rows as vectors, h5py in flatMap (H5Spark)": h5spark_rows,
        "rows as vectors, hyperslab, from the JVM": jvm_rows,
        "elements, hyperslab, from the JVM": jvm_sum,
    }


def sums(spark: Any, folder: pathlib.Path, partitions: int) -> dict[str, Way]:
    """The sum of a column that is pushed down, and of one that Spark scans."""

    def pushed(name: str) -> Way:
        reader = spark.read.format("hdf5").option("dataset", "/x").option("partitions", partitions).option("sumFloats", "true")
        return lambda: total(reader.load(str(folder / name)))

    return {
        "scanned, contiguous": ours(spark, folder, "plain.h5", partitions),
        "pushed down, contiguous": pushed("plain.h5"),
        "scanned, gzip and shuffle": ours(spark, folder, "gzip.h5", partitions),
        "pushed down, gzip and shuffle": pushed("gzip.h5"),
        "no rows": lambda: float(spark.range(0, partitions, 1, partitions).selectExpr("sum(id)").collect()[0][0]),
    }


#: The files of `first`.
FIRST = {
    "hyperslab, contiguous": "plain.h5",
    "hyperslab, gzip and shuffle": "gzip.h5",
    "Parquet, uncompressed": "plain.parquet",
    "Parquet, snappy": "snappy.parquet",
}


def first(folder: pathlib.Path, name: str) -> tuple[float, float]:
    """Seconds of the first and of the second query of a session in this process."""
    spark = session(2)
    way = ours(spark, folder, name, 8) if name.endswith(".h5") else lambda: total(spark.read.parquet(str(folder / name)))
    seconds = [start := time.perf_counter()]
    for _ in range(2):
        way()
        seconds.append(time.perf_counter())
    spark.stop()
    return seconds[1] - start, seconds[2] - seconds[1]


def first_queries(folder: pathlib.Path, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Each in a process and a session of its own, in turns."""
    found: dict[str, dict[str, list[float]]] = {"first": {name: [] for name in FIRST}, "second": {name: [] for name in FIRST}}
    for _ in range(rounds):
        for name, file in FIRST.items():
            run = subprocess.run([sys.executable, __file__, "--folder", folder, "--first", file], capture_output=True, text=True, check=True)
            for which, took in zip(("first", "second"), json.loads(run.stdout.splitlines()[-1])):
                found[which][name].append(took)
    return found


def session(cores: int) -> Any:
    spark = hs.spark.session(f"local[{cores}]", spark_driver_memory="4g", spark_ui_enabled="false", spark_ui_showConsoleProgress="false")
    spark.sparkContext.setLogLevel("OFF")
    return spark


def race(ways: dict[str, Way], rounds: int, scale: dict[str, float] | None = None) -> dict[str, list[float]]:
    """Seconds of each way per round, without the first round, which warms up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            took = (time.perf_counter() - start) * (scale or {}).get(name, 1)
            if number:
                times[name].append(took)
    return times


def measured(only: list[str], folder: pathlib.Path, elements: int, slow_elements: int, rounds: int, counts: list[int]) -> dict[str, Any]:
    """For each name of `TITLES` that was requested, the measured seconds of each round."""
    small = folder / "small"
    make(folder, elements)
    make(small, slow_elements)
    tables: dict[str, Any] = {}
    spark = session(2)
    if "scans" in only:
        tables["scans"] = race(scans(spark, folder, elements, 8), rounds)
    if "structures" in only:
        large, reduced = structures(spark, folder, elements, 8), structures(spark, small, slow_elements, 8)
        slow = {name: elements / slow_elements for name in large if "flatMap" in name}
        tables["structures"] = race({name: (reduced if name in slow else large)[name] for name in large}, rounds, slow)
    if "sums" in only:
        tables["sums"] = race(sums(spark, folder, 8), rounds)
    for name in ("plain.h5", "gzip.h5"):
        if "partitions" in only:
            tables[f"partitions {name}"] = race({str(count): ours(spark, folder, name, count) for count in counts}, rounds)
        if "cores" in only:
            tables[f"cores {name}"] = {"2": race({"2": ours(spark, folder, name, 8)}, rounds)["2"]}
    spark.stop()
    if "cores" in only:
        spark = session(1)
        for name in ("plain.h5", "gzip.h5"):
            tables[f"cores {name}"]["1"] = race({"1": ours(spark, folder, name, 8)}, rounds)["1"]
        spark.stop()
    if "first" in only:
        tables |= first_queries(folder, rounds)
    return tables


HEAD = ["way", "seconds", "quartiles", "ratio"]
#: For each race its title, and the way whose times the others are divided by.
TITLES = {
    "scans": ("Full scans: the sum of a column", "hyperslab, contiguous"),
    "structures": ("Elements and rows, from Python and from the JVM", "elements, hyperslab"),
    "sums": ("Sums that are pushed down", "scanned, contiguous"),
    "first": ("The first query of a session", "Parquet, uncompressed"),
    "second": ("The second query of a session", "Parquet, uncompressed"),
    "partitions plain.h5": ("Partitions, contiguous (the H5Spark paper's Fig. 4)", "8"),
    "partitions gzip.h5": ("Partitions, gzip and shuffle (the H5Spark paper's Fig. 4)", "8"),
    "cores plain.h5": ("Cores, contiguous", "1"),
    "cores gzip.h5": ("Cores, gzip and shuffle", "1"),
}


def rows(times: dict[str, list[float]], base: str) -> list[list[Any]]:
    """Medians, quartiles, and the median of the ratios within a round."""
    out: list[list[Any]] = []
    for name, took in times.items():
        low, _, high = statistics.quantiles(took, n=4) if len(took) > 1 else (took[0],) * 3
        ratio = statistics.median(t / b for t, b in zip(took, times[base]))
        out.append([name, round(statistics.median(took), 3), f"{low:.3f} to {high:.3f}", round(ratio, 2)])
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=50_000_000, help="doubles in the dataset")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slow-elements", type=int, default=5_000_000, help="for H5Spark's ways, scaled up")
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--only", nargs="*", default=["scans", "structures", "sums", "first", "partitions", "cores"])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="where the tables go as data, with those of earlier runs")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help="make the data and stop")
    given = parser.parse_args()
    folder = given.folder or pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-bench-"))
    if given.make:
        make(folder, given.elements)
        make(folder / "small", given.slow_elements)
        return
    if given.first:
        print(json.dumps(first(folder, given.first)))
        return
    import pyspark

    measurements = measured(given.only, folder, given.elements, given.slow_elements, given.rounds, given.partitions)
    about = (
        f"{given.elements:,} doubles ({given.elements * 8 / 1e9:.2f} GB; H5Spark's ways {given.slow_elements:,}, scaled up), local[2], 8 partitions, page cache, "
        f"{given.rounds} rounds; {time.strftime('%Y-%m-%d')}; {platform.machine()}, Spark {pyspark.__version__}, pyarrow {pa.__version__}, h5py {h5py.__version__}"
    )
    tables = [[TITLES[name][0], HEAD, rows(times, TITLES[name][1])] for name, times in measurements.items()]
    print(about)
    for title, _, found in tables:
        print(f"\n{title}", *(f"{name}: {seconds} s ({quartiles}), {ratio}" for name, seconds, quartiles, ratio in found), sep="\n")
    if given.json:
        before = json.loads(given.json.read_text())["tables"] if given.json.exists() else []
        titles = [title for title, *_ in tables]
        given.json.write_text(json.dumps({"about": about, "tables": [one for one in before if one[0] not in titles] + tables}, indent=1))


if __name__ == "__main__":
    main()
