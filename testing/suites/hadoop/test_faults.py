"""What goes wrong: credentials, schemes, files that are replaced in the middle of a read, slow servers, other processes."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import Store

PASSWORD = {"fs.slow.password": "open sesame"}


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.random.default_rng(1).integers(0, 1 << 40, 600_000), chunks=(10_000,), compression="gzip")
    return tmp_path / "a.h5"


@pytest.fixture
def session_settings(spark: Any) -> Iterator[Any]:
    """Sets settings of the session, which end with the test."""
    names = []

    def put(**settings: Any) -> None:
        for name, value in settings.items():
            name = name.replace("_", ".")
            spark.conf.set(name, str(value))
            names.append(name)

    yield put
    for name in names:
        spark.conf.unset(name)


def read(spark: Any, path: pathlib.Path, **options: Any) -> Any:
    return spark.read.format("hdf5").options(dataset="/x", **options).load(f"slow://{path}")


def test_settings_of_the_session_are_used_and_no_message_has_a_secret(spark: Any, path: pathlib.Path, session_settings: Any) -> None:
    session_settings(fs_slow_password="guess-of-a-stranger")
    with pytest.raises(Exception) as caught:
        read(spark, path)
    text = str(caught.value)
    assert "access was denied" in text and "slow://" in text
    assert "guess-of-a-stranger" not in text and "abcdef" not in text and "***" in text
    session_settings(fs_slow_password="open sesame")
    frame = read(spark, path)
    assert frame.count() == 600_000 and frame.where("x < 0").count() == 0
    plan = frame._jdf.queryExecution().toString()
    assert "sesame" not in plan and "sesame" not in str(
        frame._jdf.queryExecution().explainString(spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted"))
    )


def test_options_are_settings_of_hadoop(spark: Any, path: pathlib.Path) -> None:
    with pytest.raises(Exception, match="access was denied"):
        read(spark, path)
    assert read(spark, path, **{"fs.slow.unused": "1", "hadoop.slow": "2"}, **PASSWORD).count() == 600_000


def test_unknown_schemes_and_passwords_in_addresses(spark: Any, path: pathlib.Path) -> None:
    for address, why in [
        ("nothing://host/a.h5", "Unsupported: Hadoop has no file system"),
        ("https://host/a.h5?sig=abcdef", "Unsupported: addresses of web servers"),
        ("s3a://key:abcdef@bucket/a.h5", "InvalidInput: an address has a password"),
        ("slow:a.h5", "InvalidInput: this is not a path"),
    ]:
        with pytest.raises(Exception, match=why) as caught:
            spark.read.format("hdf5").load(address)
        assert "abcdef" not in str(caught.value)
    with pytest.raises(Exception, match="Unsupported: option indexFolder"):
        read(spark, path, indexFolder="slow:///i", **PASSWORD)


def test_a_file_that_is_replaced_while_it_is_read(spark: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """After each number of reads, the rows come from one version, or there is a conflict."""
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f.create_dataset("x", data=np.zeros(600_000, int), chunks=(10_000,), compression="gzip")
    jvm = spark._jvm.slow.SlowFileSystem
    content = path.read_bytes()
    first = read(spark, path, **PASSWORD).groupBy().sum("x").first()[0]
    before = jvm.reads()
    read(spark, path, **PASSWORD).groupBy().sum("x").collect()
    reads = jvm.reads() - before
    assert reads >= 4
    conflicts = 0
    try:
        for moment in range(1, reads + 1):
            path.write_bytes(content)
            jvm.replaceAfter(moment, str(tmp_path / "b.h5"))
            try:
                assert read(spark, path, **PASSWORD).groupBy().sum("x").first()[0] in {0, first}, moment
            except Exception as error:
                assert "Conflict" in str(error), (moment, error)
                conflicts += 1
    finally:
        jvm.replaceAfter(2**31 - 1, None)
    assert conflicts >= reads - 1


def test_a_cancelled_task_ends_at_once(spark: Any, path: pathlib.Path) -> None:
    """A task that waits for reads of 4 s ends within one, and closes its files once they have returned."""
    frame = read(spark, path, **PASSWORD, **{"fs.slow.milliseconds": "4000"})
    outcome: list[str] = []

    def run() -> None:
        spark.sparkContext.setJobGroup("cancelled", "cancelled", True)
        try:
            frame.collect()
            outcome.append("done")
        except Exception as error:
            outcome.append(str(error))

    from pyspark import InheritableThread

    thread = InheritableThread(target=run)
    thread.start()
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while not any((info := tracker.getJobInfo(job)) and info.status == "RUNNING" for job in tracker.getJobIdsForGroup("cancelled")):
        assert time.monotonic() < deadline and thread.is_alive(), outcome
        time.sleep(0.05)
    time.sleep(1)
    begun = time.monotonic()
    spark.sparkContext.cancelJobGroup("cancelled")
    thread.join(30)
    assert outcome and outcome[0] != "done"
    jvm = spark._jvm.io.hyperslab
    while jvm.NativeReader.live() > 0:
        assert time.monotonic() - begun < 10
        time.sleep(0.02)
    assert time.monotonic() - begun < 2, "less than one read of the slow file system"
    while spark._jvm.slow.SlowFileSystem.openStreams() > 0:
        assert time.monotonic() - begun < 20
        time.sleep(0.05)


def test_files_are_planned_side_by_side(spark: Any, tmp_path: pathlib.Path) -> None:
    for number in range(16):
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f["x"] = np.arange(10)
    options = {**PASSWORD, "fs.slow.milliseconds": "700"}
    read(spark, tmp_path / "0.h5", **options).count()
    begun = time.monotonic()
    assert spark.read.format("hdf5").options(dataset="/x", **options).load(f"slow://{tmp_path}/*.h5").schema["x"]
    assert time.monotonic() - begun < 16 * 0.7 / 2, "two cores, each one file after the other"


def test_wrong_keys_of_s3(spark: Any, path: pathlib.Path, s3: str) -> None:
    """moto takes any key. Without one, S3A finds none, and says so without waiting long."""
    options = {"fs.s3a.endpoint": s3, "fs.s3a.path.style.access": "true", "fs.s3a.connection.ssl.enabled": "false", "fs.s3a.endpoint.region": "us-east-1"}
    options |= {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider", "fs.s3a.attempts.maximum": "1"}
    begun = time.monotonic()
    with pytest.raises(Exception, match="(?i)IoException|Io: .*credential") as caught:
        spark.read.format("hdf5").options(dataset="/x", **options).load("s3a://bucket/a.h5")
    assert "redential" in str(caught.value) and time.monotonic() - begun < 60


EXECUTORS = """
import os, pathlib, sys
import hyperslab as hs
import pyspark
from pyspark.sql import SparkSession

classes, address = sys.argv[1:]
os.environ.setdefault("SPARK_HOME", str(pathlib.Path(pyspark.__file__).parent))
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").config("spark.executor.memory", "512m")
for who in ("driver", "executor"):
    builder = builder.config(f"spark.{who}.extraClassPath", classes)
builder = builder.config("spark.hadoop.fs.slow.impl", "slow.SlowFileSystem").config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
spark = hs.spark.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.conf.set("fs.slow.password", "open sesame")
frame = spark.read.format("hdf5").options(dataset="/x", partitions=6).load(address)
total = frame.groupBy().sum("x").first()[0]
processes = frame.rdd.mapPartitions(lambda rows: [(os.getppid(), sum(row.x for row in rows))]).collect()
assert sum(part for _, part in processes) == total and len({process for process, _ in processes}) == 2, processes
print("total", total)
"""


def test_executors_get_the_settings_of_the_session(path: pathlib.Path, slow_classes: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(path) as f:
        total = int(f["x"][:].sum())
    run = subprocess.run([sys.executable, "-c", EXECUTORS, str(slow_classes), f"slow://{path}"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert run.returncode == 0 and run.stdout.rstrip().endswith(f"total {total}"), run.stdout + run.stderr


def test_preferred_locations_of_hdfs(spark: Any, hdfs: str, path: pathlib.Path) -> None:
    store = Store(spark, f"{hdfs}/{path.parent.name}", {})
    rdd = store.read(store.put(path, "a.h5"), dataset="/x", partitions=3)._jdf.queryExecution().toRdd()
    found = spark.sparkContext._jsc.sc().getPreferredLocs(rdd, 0).mkString(" ")
    assert found and set(found.split()) <= {"node-a.example", "node-b.example"}
