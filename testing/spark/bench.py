"""`make bench-spark`: reading with Spark against what else there is, as ratios within one session.

Every way is run in turn, round after round, so that a slow minute of the machine hits all of them; the
figure is the median over rounds. Data are made on the spot, in the folder given (default: a temporary one).
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hyperslab as hs

CHUNK = 1 << 18


def make(folder: pathlib.Path, elements: int) -> None:
    """The same random walk four times: contiguous, gzip and shuffle, Parquet plain and with snappy."""
    rng = np.random.default_rng(1)
    data = np.round(np.cumsum(rng.standard_normal(elements)), 2)
    with h5py.File(folder / "plain.h5", "w") as f:
        f["x"] = data
        f["rows"] = data[: elements // 1000 * 1000].reshape(-1, 1000)
    with h5py.File(folder / "gzip.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(CHUNK,), compression="gzip", compression_opts=4, shuffle=True)
    table = pa.table({"x": data})
    pq.write_table(table, folder / "plain.parquet", compression="none", use_dictionary=False, row_group_size=1 << 22)
    pq.write_table(table, folder / "snappy.parquet", compression="snappy", row_group_size=1 << 22)


def ways(spark: Any, folder: pathlib.Path, elements: int, partitions: int) -> dict[str, Callable[[], float]]:
    def total(frame: Any) -> float:
        return float(frame.selectExpr("sum(x)").collect()[0][0])

    def ours(name: str) -> Callable[[], float]:
        return lambda: total(spark.read.format("hdf5").option("dataset", "/x").option("partitions", partitions).load(str(folder / name)))

    def native(name: str) -> Callable[[], float]:
        # The plain read of the same bytes: our core from one process, summed by Arrow.
        import pyarrow.compute as pc

        return lambda: sum(pc.sum(batch["x"]).as_py() for batch in hs.open(folder / name).table("/x", columns=["x"]).batches())

    def h5spark() -> float:
        # H5Spark's way in Python: h5py in flatMap, an element a record.
        path, edges = str(folder / "plain.h5"), np.linspace(0, elements, partitions + 1).astype(int)

        def read(number: int) -> Any:
            with h5py.File(path) as f:
                return list(f["x"][edges[number]:edges[number + 1]])

        return float(spark.sparkContext.parallelize(range(partitions), partitions).flatMap(read).sum())

    def python_source() -> float:
        path, edges = str(folder / "plain.h5"), np.linspace(0, elements, partitions + 1).astype(int)

        def read(numbers: Any) -> Any:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    with h5py.File(path) as f:
                        data = f["x"][edges[number]:edges[number + 1]]
                    for start in range(0, len(data), 65536):
                        yield pa.RecordBatch.from_arrays([pa.array(data[start:start + 65536])], ["x"])

        return total(spark.range(0, partitions, 1, partitions).mapInArrow(read, "x double"))

    def vectors() -> float:
        from hyperslab import mllib

        return float(mllib.h5read_rowmat(spark, str(folder / "plain.h5"), "/rows", partitions).computeColumnSummaryStatistics().mean().sum())

    def h5spark_vectors() -> float:
        from pyspark.mllib.linalg import Vectors
        from pyspark.mllib.linalg.distributed import RowMatrix

        path, rows = str(folder / "plain.h5"), elements // 1000
        edges = np.linspace(0, rows, partitions + 1).astype(int)

        def read(number: int) -> Any:
            with h5py.File(path) as f:
                return [Vectors.dense(row) for row in f["rows"][edges[number]:edges[number + 1]]]

        matrix = RowMatrix(spark.sparkContext.parallelize(range(partitions), partitions).flatMap(read))
        return float(matrix.computeColumnSummaryStatistics().mean().sum())

    return {
        "hyperslab, contiguous": ours("plain.h5"),
        "hyperslab, gzip and shuffle": ours("gzip.h5"),
        "Parquet, uncompressed": lambda: total(spark.read.parquet(str(folder / "plain.parquet"))),
        "Parquet, snappy": lambda: total(spark.read.parquet(str(folder / "snappy.parquet"))),
        "native read, contiguous": native("plain.h5"),
        "native read, gzip and shuffle": native("gzip.h5"),
        "h5py in mapInArrow": python_source,
        "h5py in flatMap (H5Spark)": h5spark,
        "rows as vectors, hyperslab": vectors,
        "rows as vectors, h5py in flatMap (H5Spark)": h5spark_vectors,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--elements", type=int, default=50_000_000, help="doubles in the dataset")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-elements", type=int, default=5_000_000, help="for H5Spark's way, scaled up")
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 2, 4, 8, 16, 64])
    parser.add_argument("--folder", type=pathlib.Path)
    given = parser.parse_args()
    folder = given.folder or pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-bench-"))
    small = folder / "small"
    small.mkdir(parents=True, exist_ok=True)
    make(folder, given.elements)
    make(small, given.slow_elements)
    spark = hs.spark.session("local[2]", **{"spark_driver_memory": "6g", "spark_ui_enabled": "false", "spark_ui_showConsoleProgress": "false"})
    spark.sparkContext.setLogLevel("OFF")
    scale = given.elements / given.slow_elements
    large, reduced = ways(spark, folder, given.elements, 8), ways(spark, small, given.slow_elements, 8)
    slow = {name for name in large if "flatMap" in name}
    times: dict[str, list[float]] = {name: [] for name in large}
    for round_number in range(given.rounds + 1):
        for name in large:
            start = time.perf_counter()
            (reduced if name in slow else large)[name]()
            took = (time.perf_counter() - start) * (scale if name in slow else 1)
            if round_number:  # the first round warms everything up
                times[name].append(took)
    base = statistics.median(times["hyperslab, contiguous"])
    print(f"\n{given.elements:,} doubles ({given.elements * 8 / 1e9:.2f} GB), sum, local[2], median of {given.rounds} (least, most)\n")
    print(f"| way | seconds | ratio to hyperslab, contiguous |\n|---|---|---|")
    for name, took in times.items():
        note = " (scaled)" if name in slow else ""
        print(f"| {name}{note} | {statistics.median(took):.3f} ({min(took):.3f}, {max(took):.3f}) | {statistics.median(took) / base:.2f} |")
    print("\n| partitions | seconds |\n|---|---|")
    for partitions in given.partitions:
        way = ways(spark, folder, given.elements, partitions)["hyperslab, gzip and shuffle"]
        took = []
        for _ in range(given.rounds):
            start = time.perf_counter()
            way()
            took.append(time.perf_counter() - start)
        print(f"| {partitions} | {statistics.median(took):.3f} |")
    spark.stop()


if __name__ == "__main__":
    main()
