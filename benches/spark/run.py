"""`make bench-spark`: reading with Spark compared with alternatives, as ratios within one session.

Every way is run in turn, round after round, so that a slow minute of the machine hits all of them; the
figure is the median over rounds. Data are made once, in the folder given (default: a temporary one). `--only` takes
some of the tables, so that a run can be cut into pieces; each adds its figures to `--json`, and `--page` makes
docs/benchmarks-spark.md of them.
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
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "benchmarks-spark.md"
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
    """The requested tables: for each name, the measured seconds of each round."""
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
        tables["first"] = first_queries(folder, rounds)
    return {"elements": elements, "slow elements": slow_elements, "rounds": rounds, "date": time.strftime("%Y-%m-%d"), "tables": tables}


def ratio(tables: dict[str, Any], table: str, name: str, base: str) -> float:
    """The median of the ratios within a round."""
    return statistics.median(a / b for a, b in zip(tables[table][name], tables[table][base]))


def lines(title: str, times: dict[str, list[float]], base: str, note: str = "") -> list[str]:
    out = [f"## {title}", "", *([note, ""] if note else []), "| way | seconds | quartiles | ratio |", "|---|--:|--:|--:|"]
    for name, took in times.items():
        low, _, high = statistics.quantiles(took, n=4) if len(took) > 1 else (took[0],) * 3
        ratios = statistics.median(t / b for t, b in zip(took, times[base]))
        out.append(f"| {name} | {statistics.median(took):.3f} | {low:.3f} to {high:.3f} | {ratios:.2f} |")
    return [*out, ""]


def page(given: dict[str, Any]) -> str:
    import pyspark

    tables = given["tables"]
    gigabytes = given["elements"] * 8 / 1e9
    out = [
        "# Benchmarks of Spark",
        "",
        "`make bench-spark` makes the data, runs these races and writes this page.",
        "",
        f"One column of {given['elements']:,} doubles ({gigabytes:.2f} GB), `local[2]`, 8 partitions, everything in the page cache. "
        f"Ways run in turn, {given['rounds']} rounds after one that warms up; seconds are medians with quartiles, a ratio is the "
        "median of the ratios within a round.",
        "",
        f"Machine: {given['date']}, 2 cores, {platform.machine()}, Spark {pyspark.__version__}, Java 17, pyarrow {pa.__version__}, h5py {h5py.__version__}.",
        "",
    ]
    if "scans" in tables:
        found = tables["scans"]
        loop = "Spark's own loop over as many doubles, nothing read"
        for stored in ("contiguous", "gzip and shuffle"):
            both = statistics.median(a / (b + c) for a, b, c in zip(found[f"hyperslab, {stored}"], found[f"native read, {stored}"], found[loop]))
            out.append(f"- Of a plain native read plus Spark's own loop, {stored}: {both:.2f} (aim: 1.3).")
        out += [
            f"- Uncompressed Parquet takes {ratio(tables, 'scans', 'Parquet, uncompressed', 'hyperslab, contiguous'):.2f} times as long "
            "as contiguous HDF5 (aim: 1 or more).",
            "",
        ]
        out += lines("Full scans: the sum of a column", found, "hyperslab, contiguous")
    if "structures" in tables:
        scaled = f"H5Spark's ways run on {given['slow elements']:,} doubles; their times are scaled up."
        out += [
            f"- H5Spark's way takes {ratio(tables, 'structures', 'elements, h5py in flatMap (H5Spark)', 'elements, hyperslab'):.0f} times as long on "
            f"elements (aim: 20), {ratio(tables, 'structures', 'rows as vectors, h5py in flatMap (H5Spark)', 'rows as vectors, hyperslab'):.1f} on rows (aim: 5).",
            f"- From the JVM instead of Python (the H5Spark paper's Table III: 1.8 times faster): "
            f"{ratio(tables, 'structures', 'elements, hyperslab, from the JVM', 'elements, hyperslab'):.2f} of the time on elements, "
            f"{ratio(tables, 'structures', 'rows as vectors, hyperslab, from the JVM', 'rows as vectors, hyperslab'):.2f} on rows.",
            "",
        ]
        out += lines("Elements and rows, from Python and from the JVM", tables["structures"], "elements, hyperslab", scaled)
    if "sums" in tables:
        note = "With the option `sumFloats`. *No rows* is what a query costs that reads nothing."
        out += lines("Sums that are pushed down", tables["sums"], "scanned, contiguous", note)
    if "first" in tables:
        note = "Each in a process and a session of its own; the time to start the session is not in it."
        out += lines("The first query of a session", tables["first"]["first"], "Parquet, uncompressed", note)
        out += lines("The second query of a session", tables["first"]["second"], "Parquet, uncompressed")
    for name, stored in (("plain.h5", "contiguous"), ("gzip.h5", "gzip and shuffle")):
        if f"partitions {name}" in tables:
            out += lines(f"Partitions, {stored} (the H5Spark paper's Fig. 4)", tables[f"partitions {name}"], "8")
        if f"cores {name}" in tables:
            out += lines(f"Cores, {stored}", tables[f"cores {name}"], "1")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=50_000_000, help="doubles in the dataset")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slow-elements", type=int, default=5_000_000, help="for H5Spark's ways, scaled up")
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--only", nargs="*", default=["scans", "structures", "sums", "first", "partitions", "cores"])
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path, help="figures so far; those of this run are added")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks-spark.md")
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
    result = measured(given.only, folder, given.elements, given.slow_elements, given.rounds, given.partitions)
    if given.json:
        before = json.loads(given.json.read_text()) if given.json.exists() else {"tables": {}}
        result["tables"] = before["tables"] | result["tables"]
        given.json.write_text(json.dumps(result))
    text = page(result)
    if given.page:
        PAGE.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
