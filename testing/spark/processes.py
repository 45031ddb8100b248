"""Run by test_spark_processes.py in processes of their own, because a process has one Spark: `processes.py WHAT FOLDER`."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from typing import Any

import h5py
import numpy as np

import hyperslab as hs

ROWS = 200_000


def write(folder: pathlib.Path) -> tuple[str, int]:
    data = np.random.default_rng(1).integers(0, 1000, ROWS)
    with h5py.File(folder / "a.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(10_000,), compression="gzip")
    return str(folder / "a.h5"), int(data.sum())


def cluster(folder: pathlib.Path) -> None:
    """Two executor processes; a task that fails and an executor that dies are tried again."""
    from pyspark import TaskContext
    from pyspark.sql import SparkSession

    path, total = write(folder)
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(__import__("pyspark").__file__).parent))
    builder = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
               .config("spark.scheduler.minRegisteredResourcesRatio", "1.0").config("spark.executor.memory", "512m"))
    spark = hs.spark.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.read.format("hdf5").option("dataset", "/x").option("partitions", 8).load(path)
    assert frame.groupBy().sum("x").collect()[0][0] == total
    processes = frame.rdd.mapPartitions(lambda rows: [(os.getppid(), sum(row.x for row in rows))]).collect()
    assert sum(part for _, part in processes) == total
    assert len({process for process, _ in processes}) == 2, "both executors read"

    marker = folder / "died"

    def first_fails(rows):  # type: ignore[no-untyped-def]
        context = TaskContext.get()
        taken = [next(rows).x]
        if context.partitionId() == 3 and context.attemptNumber() == 0:
            raise RuntimeError("a failure in the middle of a partition")
        if context.partitionId() == 5 and not marker.exists():
            marker.touch()
            daemon = os.getppid()
            executor = int(pathlib.Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
            os.kill(executor, signal.SIGKILL)
        return [sum(taken) + sum(row.x for row in rows)]

    assert sum(frame.rdd.mapPartitions(first_fails).collect()) == total
    assert marker.exists()
    written(spark, folder)
    spark.stop()


def written(spark: Any, folder: pathlib.Path) -> None:
    """A write whose tasks fail, or die with their executor, leaves each row once, and no subfile too many."""
    rows, tasks = 60_000, 6
    died = folder / "writer died"

    def troubled(batches: Any) -> Any:
        from pyspark import TaskContext

        context = TaskContext.get()
        first = context.attemptNumber() == 0
        for batch in batches:
            yield batch
            if context.partitionId() == 1 and first:
                raise RuntimeError("a failure after some rows")
            if context.partitionId() == 2 and not died.exists():
                died.touch()
                executor = int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)

    out = folder / "written" / "out.h5"
    out.parent.mkdir()
    frame = spark.range(0, rows, 1, tasks).mapInArrow(troubled, "id long")
    frame.write.format("hdf5").option("dataset", "/x").option("compression", "gzip").save(str(out))
    with h5py.File(out) as f:
        assert f["x"][:].tolist() == list(range(rows))
    assert died.exists()
    assert len(list(out.parent.glob("out.h5.d/*/*-*.h5"))) == tasks
    assert {p.name for p in out.parent.iterdir()} == {"out.h5", "out.h5.d"}
    assert spark.read.format("hdf5").option("dataset", "/x").load(str(out)).groupBy().sum("x").collect()[0][0] == rows * (rows - 1) // 2


def connect(folder: pathlib.Path) -> None:
    """A client without a JVM of its own."""
    from pyspark.sql import SparkSession

    path, total = write(folder)
    os.chdir(folder)
    spark = (SparkSession.builder.remote("local[2]").config("spark.jars", str(hs.spark.jar()))
             .config("spark.ui.enabled", "false").getOrCreate())
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    frame = spark.read.format("hdf5").option("dataset", "/x").load(path)
    assert frame.groupBy().sum("x").collect()[0][0] == total
    assert frame.where("x = 5").count() == sum(row.x == 5 for row in frame.collect())
    spark.stop()


if __name__ == "__main__":
    {"cluster": cluster, "connect": connect}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    print("as it should be")
