"""Run by test_spark_processes.py in separate processes, because a process can have only one Spark: `processes.py WHAT FOLDER`."""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import h5py
import hyperslab as hs
import numpy as np

ROWS = 200_000


def write(folder: pathlib.Path) -> tuple[str, int]:
    data = np.random.default_rng(1).integers(0, 1000, ROWS)
    with h5py.File(folder / "a.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(10_000,), compression="gzip")
    return str(folder / "a.h5"), int(data.sum())


def cluster(folder: pathlib.Path) -> None:
    """Two executor processes. A failed task and the tasks of a dead executor are retried."""
    from pyspark import TaskContext
    from pyspark.sql import SparkSession

    path, total = write(folder)
    os.environ.setdefault("SPARK_HOME", str(pathlib.Path(__import__("pyspark").__file__).parent))
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.executor.memory", "512m")
    )
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
    written_parts(spark, folder)
    spark.stop()


def written(spark: Any, folder: pathlib.Path) -> None:
    """A write whose tasks fail, or die with their executor, leaves each row once and no leftover subfiles."""
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
    replaced = folder / "replaced" / "out.h5"
    replaced.parent.mkdir()
    with h5py.File(replaced, "w") as f:
        f["x"], f["y"] = [1, 2, 3], [4, 5]
    frame.write.format("hdf5").option("dataset", "/x").option("replaceDataset", "true").mode("overwrite").save(str(replaced))
    with h5py.File(replaced) as f:
        assert f["x"][:].tolist() == list(range(rows)) and f["y"][:].tolist() == [4, 5]
    assert died.exists() and {p.name for p in replaced.parent.iterdir()} == {"out.h5"}
    died.unlink()
    frame.write.format("hdf5").option("dataset", "/x").option("compression", "gzip").save(str(out))
    with h5py.File(out) as f:
        assert f["x"][:].tolist() == list(range(rows))
    assert died.exists()
    assert len(list(out.parent.glob("out.h5.d/*/*-*.h5"))) == tasks
    assert {p.name for p in out.parent.iterdir()} == {"out.h5", "out.h5.d"}
    assert spark.read.format("hdf5").option("dataset", "/x").load(str(out)).groupBy().sum("x").collect()[0][0] == rows * (rows - 1) // 2


def written_parts(spark: Any, folder: pathlib.Path) -> None:
    """An executor dies while it writes partitions; other partitions have a row that always fails."""
    rows, tasks, values = 1_600, 4, 20
    out = folder / "parts"

    def pids(_: Any) -> Any:
        return [int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])]

    executor = spark.range(0, 8, 1, 8).rdd.mapPartitions(pids).collect()[0]

    def kill() -> None:
        while not any(out.glob("_writing-*/attempt-*/k=*/part-*.h5")):
            time.sleep(0.002)
        os.kill(executor, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    frame = spark.range(0, rows, 1, tasks).selectExpr("id as v", f"id % {values} as k")
    frame.write.partitionBy("k").format("hdf5").save(str(out))
    killer.join(30)
    assert not killer.is_alive()

    def check() -> None:
        assert sorted(row.v for row in spark.read.format("hdf5").load(str(out)).collect()) == list(range(rows))
        assert sorted(p.name for p in out.iterdir()) == sorted(f"k={value}" for value in range(values))
        assert len(list(out.rglob("part-*.h5"))) == len([p for p in out.rglob("*") if p.is_file()]) == tasks * values

    check()
    with_null = frame.selectExpr(f"if(v = {rows - 1}, null, v) as v", "k")
    try:
        with_null.write.partitionBy("k").format("hdf5").mode("overwrite").save(str(out))
    except Exception as error:
        assert "contains nulls" in str(error), error
    else:
        raise AssertionError("a null was written")
    check()


def speculation(folder: pathlib.Path) -> None:
    """A task that hangs while writing is run speculatively a second time, which requires executors on two hosts."""
    with standalone(folder, ["127.0.0.2", "127.0.0.3"]) as master:
        from pyspark.sql import SparkSession

        builder = (
            SparkSession.builder.master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.executor.memory", "512m")
            .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
            .config("spark.speculation", "true")
            .config("spark.speculation.interval", "50ms")
            .config("spark.speculation.quantile", "0.5")
            .config("spark.speculation.multiplier", "1.1")
            .config("spark.speculation.minTaskRuntime", "1s")
        )
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        spark = hs.spark.configure(builder).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        begun, rows, tasks = folder / "begun", 60_000, 6
        begun.mkdir()

        def hangs(batches: Any) -> Any:
            from pyspark import TaskContext

            context = TaskContext.get()
            for batch in batches:
                yield batch
                (begun / f"{context.partitionId()} {context.attemptNumber()}").touch()
                if context.partitionId() == 2 and context.attemptNumber() == 0:
                    time.sleep(100)

        out = folder / "written" / "out.h5"
        out.parent.mkdir()
        start = time.monotonic()
        spark.range(0, rows, 1, tasks).mapInArrow(hangs, "id long").write.format("hdf5").option("dataset", "/x").save(str(out))
        assert time.monotonic() - start < 90, "the write did not wait for the hanging task"
        assert {p.name for p in begun.iterdir()} >= {"2 0", "2 1"}, "both attempts have written rows"
        with h5py.File(out) as f:
            assert f["x"][:].tolist() == list(range(rows))
        deadline = time.monotonic() + 30
        while len(left := [p.name for p in out.parent.glob("out.h5.d/*/*") if p.name != "commit.json"]) > tasks and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(left) == tasks and {p.name for p in out.parent.iterdir()} == {"out.h5", "out.h5.d"}, left
        spark.stop()


def targets(folder: pathlib.Path) -> None:
    """Partitions in the order of the rows and of storage targets. Run where `statfs` and `getxattr` say that the file is striped over four targets."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import max, min, spark_partition_id, sum

    values = np.arange(64 * 16384, dtype="f4").reshape(64, 16384)
    path = str(folder / "striped.h5")
    with hs.create(path) as f:
        f.create_dataset("x", data=values, chunks=(1, 16384))
    found = hs.storage_layout(path)
    assert found.file_system == "lustre" and found.stripe_bytes == 1 << 20, found
    spark = hs.spark.configure(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = {}
    for order in ("rows", "TARGETS"):
        # A partition has 8 rows of 64 KiB, half of a stripe.
        frame = spark.read.format("hdf5").option("dataset", "/x").option("partitions", 8).option("order", order).load(path)
        each = frame.groupBy(spark_partition_id().alias("partition")).agg(min("dim_0"), max("dim_0"), sum("x")).orderBy("partition").collect()
        rows[order] = [(first, last) for _, first, last, _ in each]
        for _, first, last, total in each:
            assert total == values[first : last + 1].sum(dtype="f8"), (order, first, last)
    assert rows["rows"] == [(first, first + 7) for first in range(0, 64, 8)], rows
    assert sorted(rows["TARGETS"]) == rows["rows"] != rows["TARGETS"], rows
    # The order that Python's splits have; their first rows are read from what they contain.
    splits = hs.open(path).table("/x").splits(8, order="targets")
    assert [first for first, _ in rows["TARGETS"]] == [split.read()["dim_0"][0].as_py() for split in splits], rows
    assert all(set(one.targets) != set(other.targets) for one, other in itertools.pairwise(splits)), rows
    try:
        spark.read.format("hdf5").option("dataset", "/x").option("order", "stripes").load(path).count()
    except Exception as error:
        assert "`stripes`, expected `rows` or `targets`" in str(error), error
    else:
        raise AssertionError("an order that does not exist")
    spark.stop()


@contextlib.contextmanager
def standalone(folder: pathlib.Path, hosts: list[str]) -> Iterator[str]:
    """Starts a cluster with a one-core worker on each of these addresses of this machine; yields the master's address."""
    home = pathlib.Path(__import__("pyspark").__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1"}

    def start(role: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", host, "--webui-port", "0", *arguments]
        with open(folder / f"{role.rsplit('.', 1)[1]} {host}.log", "wb") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    processes = [start("master.Master", "127.0.0.1", "--port", str(port))]
    try:
        for host in hosts:
            processes.append(start("worker.Worker", host, "-c", "1", "-m", "1g", "-d", str(folder / host), master))
        yield master
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)


def connect(folder: pathlib.Path) -> None:
    """A client without its own JVM."""
    from pyspark.sql import SparkSession

    path, total = write(folder)
    os.chdir(folder)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.remote("local[2]").config("spark.jars", str(hs.spark.jar())).config("spark.ui.enabled", "false").getOrCreate()
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    frame = spark.read.format("hdf5").option("dataset", "/x").load(path)
    assert frame.groupBy().sum("x").collect()[0][0] == total
    assert frame.where("x = 5").count() == sum(row.x == 5 for row in frame.collect())
    asked = hs.spark.query(spark, path, "/", "x > 990", columns=["_row", "x"], tasks=5)
    assert [tuple(row) for row in asked.collect()] == [tuple(row.values()) for row in hs.query(path, "/", "x > 990").table(["_row", "x"]).to_pylist()]
    spark.stop()


if __name__ == "__main__":
    {"cluster": cluster, "connect": connect, "speculation": speculation, "targets": targets}[sys.argv[1]](pathlib.Path(sys.argv[2]))
    print("as it should be")
