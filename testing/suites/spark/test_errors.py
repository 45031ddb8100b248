"""Bad input: errors name the kind, file, object and byte offset, and there are no partial results."""

from __future__ import annotations

import os
import pathlib
import threading
import time
import zlib
from typing import Any

import h5py
import numpy as np
import pytest


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(100_000), chunks=(10_000,), compression="gzip")
    return tmp_path / "a.h5"


def read(spark: Any, *paths: pathlib.Path, **options: Any) -> Any:
    return spark.read.format("hdf5").option("dataset", "/x").options(**options).load([str(p) for p in paths])


def damage(path: pathlib.Path, number: int = 5) -> int:
    """Overwrites a chunk and returns its offset."""
    with h5py.File(path) as f:
        place = f["x"].id.get_chunk_info(number).byte_offset
    with open(path, "r+b") as f:
        f.seek(place)
        f.write(b"\xff" * 64)
    return place


def test_a_corrupt_chunk_fails_its_task_with_its_location(spark: Any, path: pathlib.Path) -> None:
    place = damage(path)
    with pytest.raises(Exception) as caught:
        read(spark, path).collect()
    text = str(caught.value)
    assert "io.hyperslab.CorruptException" in text and f"file {path}, object /x, offset {place}" in text


def test_corrupt_and_missing_files_can_be_ignored(spark: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    good = tmp_path / "good.h5"
    with h5py.File(good, "w") as f:
        f["x"] = np.arange(10)
    no_hdf5 = tmp_path / "no.h5"
    no_hdf5.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 500)
    missing = tmp_path / "missing.h5"
    with pytest.raises(Exception, match=str(no_hdf5)):
        read(spark, no_hdf5, good)
    with pytest.raises(Exception, match=f"NotFound.*{missing}"):
        read(spark, missing, good)
    frame = read(spark, no_hdf5, missing, good, ignoreCorruptFiles=True, ignoreMissingFiles=True)
    assert [row.x for row in frame.collect()] == list(range(10))
    damage(path)
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        kept = [row.x for row in read(spark, path, good).collect()]
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert kept == list(range(10))


def test_files_of_other_formats_can_be_ignored(spark: Any, tmp_path: pathlib.Path) -> None:
    """Files from broken transfers are skipped with ignoreCorruptFiles, as by Spark's Parquet reader."""
    with h5py.File(tmp_path / "good.h5", "w") as f:
        f["x"] = np.arange(10)
    wrong = {
        "empty.h5": b"",
        "text.h5": b"no data today\n",
        "page.h5": b"<html><body>404 Not Found</body></html>",
        "zeros.h5": bytes(4096),
        "short.h5": (tmp_path / "good.h5").read_bytes()[:700],
        "packed.h5": b"\x1f\x8b\x08\x00" + bytes(100),
    }
    for name, content in wrong.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Exception, match=name):
            read(spark, tmp_path / name, tmp_path / "good.h5")
    for frame in (read(spark, tmp_path, ignoreCorruptFiles=True), read(spark, *sorted(tmp_path.iterdir()), ignoreCorruptFiles=True)):
        assert [row.x for row in frame.collect()] == list(range(10)) and frame.count() == 10
    with pytest.raises(Exception, match="InvalidInput: unknown layout"):
        read(spark, tmp_path, ignoreCorruptFiles=True, layout="wide")
    with pytest.raises(Exception, match="NotFound.*every file was skipped, .*empty.h5"):
        read(spark, tmp_path / "empty.h5", ignoreCorruptFiles=True)


def test_a_file_that_changes_or_vanishes_after_planning(spark: Any, path: pathlib.Path) -> None:
    frame = read(spark, path)
    jvm_plan = frame._jdf.queryExecution().executedPlan()
    assert jvm_plan.execute().getNumPartitions() >= 1
    time.sleep(0.02)  # file systems have a coarse clock
    path.write_bytes(path.read_bytes())
    with pytest.raises(Exception, match="Conflict.*another modification time.*plan again"):
        jvm_plan.executeCollect()
    with open(path, "ab") as f:
        f.write(b"more")
    with pytest.raises(Exception, match="Conflict.*bytes when.*plan again"):
        jvm_plan.executeCollect()
    os.remove(path)
    with pytest.raises(Exception, match="NotFound"):
        jvm_plan.executeCollect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "/y"}, 'NotFound: there is no "y"'),
        ({"where": "x >< 1"}, "InvalidInput: predicate"),
        ({"layout": "wide"}, "InvalidInput: unknown layout"),
        ({"layuot": "cells"}, 'unknown option "layuot"; nearest: layout'),
        ({"recursiveFileLokup": "true"}, 'unknown option "recursivefilelokup"; nearest: recursiveFileLookup'),
        ({"limit.objects": "1"}, 'unknown option "limit.objects"'),
        ({"mergeSchema": "true", "nonconforming": "error"}, "options mergeSchema and nonconforming"),
        ({"partitions": "0"}, 'option partitions must be an integer of at least 1, not "0"'),
        ({"limits": '{"objects": 1}'}, "LimitExceeded"),
        ({"limits.objects": "1"}, "LimitExceeded"),
        ({"limits.chunk_bytes": "1000"}, "LimitExceeded"),
        ({"limits.wishes": "3"}, "there is no limit .wishes."),
        ({"limits.objects": "-3"}, 'option limits.objects must be .*, not "-3"'),
    ],
)
def test_invalid_options_are_named(spark: Any, path: pathlib.Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        spark.read.format("hdf5").option("dataset", "/x").options(**options).load(str(path)).collect()


def test_file_systems_without_a_class_are_named(spark: Any) -> None:
    """`make test-hadoop` reads those that have one."""
    for address in ("nowhere://somewhere/a.h5", "s3a://bucket/a.h5"):
        with pytest.raises(Exception, match=f"Unsupported: Hadoop has no file system for this address .* put its jars .*file {address}"):
            read(spark, address)
    with pytest.raises(Exception, match="Io: .*nobody.invalid.*file hdfs://nobody.invalid/a.h5"):
        read(spark, "hdfs://nobody.invalid/a.h5")


def many_chunks(path: pathlib.Path) -> None:
    """A small file that takes seconds to decode: every chunk of 8 MiB has the same bytes."""
    chunk = np.random.default_rng(1).integers(0, 4, 1 << 20).astype("f8")
    stored = zlib.compress(chunk.tobytes(), 1)
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", shape=(160 << 20,), dtype="f8", chunks=(1 << 20,), compression="gzip", compression_opts=1)
        for number in range(160):
            x.id.write_direct_chunk((number << 20,), stored)


def test_cancelling_stops_a_native_read(spark: Any, tmp_path: pathlib.Path) -> None:
    """The native call ends soon after the cancellation, which Spark and the check every 50 ms delay."""
    from pyspark import InheritableThread

    many_chunks(tmp_path / "long.h5")
    frame = read(spark, tmp_path / "long.h5", partitions=2).where("x > 100").select("x")
    jvm = spark._jvm.io.hyperslab

    def cancelled() -> tuple[float, float]:
        failure: list[BaseException] = []

        def run() -> None:
            spark.sparkContext.setJobGroup("long", "long", interruptOnCancel=False)
            try:
                frame.collect()
            except BaseException as error:
                failure.append(error)

        thread = InheritableThread(target=run)
        thread.start()
        deadline = time.monotonic() + 60
        while jvm.NativeReader.live() == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert spark.sparkContext.statusTracker().getActiveJobsIds(), "the job is running"
        time.sleep(0.2)
        jvm.SplitReader.longestStop()
        start = time.monotonic()
        spark.sparkContext.cancelJobGroup("long")
        while jvm.NativeReader.live() and time.monotonic() < start + 30:
            time.sleep(0.005)
        took = time.monotonic() - start
        thread.join(30)
        assert failure and "cancel" in str(failure[0]).lower()
        return jvm.SplitReader.longestStop() / 1e9, took

    rounds = [cancelled() for _ in range(5)]
    print("native call, and all until the reader is closed, in s:", [f"{native:.3f}, {all_:.3f}" for native, all_ in rounds])
    native = sorted(native for native, _ in rounds)
    assert 0 < native[2] < 0.15, f"{native} s of the native call, including up to 0.05 s until the check"
    assert min(all_ for _, all_ in rounds) < 0.2 and max(all_ for _, all_ in rounds) < 5, rounds


@pytest.mark.once
def test_interrupting_stops_a_planning(spark: Any, path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "many").mkdir()
    names = [f"many/{n}.h5" for n in range(30_000)]
    for name in names:
        os.symlink(path, tmp_path / name)
    (tmp_path / "list.csv").write_text("\n".join(names))
    jvm = spark._jvm

    def planner() -> Any:
        for thread in jvm.java.lang.Thread.getAllStackTraces().keySet():
            if any(frame.getClassName() == "io.hyperslab.NativePlan" for frame in thread.getStackTrace()):
                return thread
        return None

    def interrupted() -> tuple[str, float]:
        """The result of planning, and the time from the interruption to its end."""
        failure = []

        def plan() -> None:
            try:
                read(spark, tmp_path / "list.csv").count()
            except Exception as error:
                failure.append(str(error))

        begun = threading.Thread(target=plan)
        begun.start()
        while (thread := planner()) is None and begun.is_alive():
            time.sleep(0.001)
        start = time.monotonic()
        if thread is not None:
            thread.interrupt()
        begun.join(60)
        return "".join(failure), time.monotonic() - start

    # Finding the thread takes about as long as planning, so the interruption may come after it and hit Spark instead.
    rounds = []
    while len(rounds) < 10 and not any("Cancelled" in said for said, _ in rounds):
        rounds.append(interrupted())
    said, took = rounds[-1]
    assert "Cancelled" in said, rounds
    assert took < 2, f"{took:.3f} s"


def test_members_that_are_not_columns_are_named(spark: Any, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["obs/score"] = [1.5, 2.5]
        f["obs/cell_type/codes"] = [0, 1]
        f["obs/short"] = [1]
    path = str(tmp_path / "a.h5")

    def group(**options: Any) -> Any:
        return spark.read.format("hdf5").option("dataset", "/obs").options(**options).load(path)

    frame = group()
    assert frame.columns == ["score"] and [row.score for row in frame.collect()] == [1.5, 2.5]
    frame.explain()
    shown = capfd.readouterr().out
    plan = shown if "NotColumns" in shown else frame._jdf.queryExecution().toString()
    assert "NotColumns" in plan and "cell_type is a group" in plan and "short" in plan
    with pytest.raises(Exception, match="not columns: cell_type is a group; short"):
        group(omitted="error")
    assert group(omitted="ignore").count() == 2
    with pytest.raises(Exception, match="option omitted must be warn, error or ignore"):
        group(omitted="no")
