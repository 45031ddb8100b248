"""What Spark writes to Hadoop's file systems has the rows that were written, all of them or none; others are refused by name."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import KEYS, Store, aws, azure
from pyspark import TaskContext

DEAD = "0123456789abcdef" * 2


def table(spark: Any, first: int, last: int, parts: int = 3) -> Any:
    words = "concat('name ', id, repeat('x', cast(id % 7 as int)))"
    return spark.range(first, last, 1, parts).selectExpr("id", "cast(id as double) / 3 as value", f"{words} as word", "timestamp_seconds(id) as at")


def rows(frame: Any) -> list[str]:
    return [str(row) for row in frame.drop("_row").collect()]


def ids(store: Store, address: str, dataset: str = "/") -> list[int]:
    return [row.id for row in store.read(address, dataset=dataset).select("id").collect()]


def writes(store: Store, name: str) -> list[str]:
    """The folders of writes next to a file, and anything else there."""
    return sorted({member.split("/")[0] for member in store.all(f"{name}.d")})


def test_a_table_is_read_back(store: Store, tmp_path: pathlib.Path) -> None:
    frame = table(store.spark, 0, 50_000)
    address = store.write(frame, "a b%20c.h5", compression="gzip", chunkRows=1000)
    back = store.read(address).select("id", "value", "word", "at")
    assert rows(back) == rows(frame) and back.dtypes == frame.dtypes
    assert back.where("id between 31000 and 31010").count() == 11
    copy = store.get("a b%20c.h5", tmp_path)
    store.get("a b%20c.h5.d", tmp_path)
    with h5py.File(copy) as f:
        assert list(f) == ["at", "id", "value", "word"] or list(f) == ["id", "value", "word", "at"]
        np.testing.assert_array_equal(f["id"][:], np.arange(50_000))
        np.testing.assert_array_equal(f["value"][:], np.arange(50_000) / 3)
        assert f["word"].asstr()[[0, 49_999]].tolist() == ["name 0", "name 49999xxxxx"]
    # Three subfiles and the record: neither a master aside nor what tasks look for.
    members = [member.split("/")[1] for member in store.all("a b%20c.h5.d")]
    assert len(members) == 4 and members.count("commit.json") == 1, members


def test_a_folder_has_the_file_once(store: Store) -> None:
    store.write(table(store.spark, 0, 10), "folder/a.h5")
    assert sorted(ids(store, f"{store.root}/folder")) == list(range(10))
    assert store.read(f"{store.root}/folder", recursiveFileLookup=True).count() == 10


def test_modes(store: Store) -> None:
    address = store.write(table(store.spark, 0, 10), "a.h5")
    with pytest.raises(Exception, match="Conflict: the file exists already"):
        store.write(table(store.spark, 0, 20), "a.h5")
    store.write(table(store.spark, 0, 20), "a.h5", mode="ignore")
    assert ids(store, address) == list(range(10))
    store.write(table(store.spark, 5, 25), "a.h5", mode="overwrite")
    assert ids(store, address) == list(range(5, 25))
    # The rows of a query that reads the file that it replaces.
    store.write(store.read(address).selectExpr("id + 1 as id"), "a.h5", mode="overwrite")
    assert ids(store, address) == list(range(6, 26))
    store.write(table(store.spark, 0, 3), "b.h5", mode="ignore")
    assert ids(store, f"{store.root}/b.h5") == [0, 1, 2]


def test_groups_datasets_and_records(store: Store) -> None:
    address = store.write(table(store.spark, 0, 10), "a.h5", dataset="/deep/group")
    assert ids(store, address, "/deep/group") == list(range(10))
    with pytest.raises(Exception, match="Conflict: overwriting /x replaces the whole file, which would lose /deep"):
        store.write(store.spark.range(5), "a.h5", mode="overwrite", dataset="/x")
    assert ids(store, address, "/deep/group") == list(range(10))
    store.write(store.spark.range(5), "a.h5", mode="overwrite", dataset="/x", replaceFile=True)
    assert [row.x for row in store.read(address, dataset="/x").collect()] == list(range(5))
    address = store.write(table(store.spark, 0, 10).drop("at"), "r.h5", dataset="/points", layout="records")
    assert ids(store, address, "/points") == list(range(10))


def test_no_rows(store: Store) -> None:
    address = store.write(table(store.spark, 0, 0), "a.h5")
    assert ids(store, address) == [] and store.read(address).select("id", "value", "word", "at").dtypes == table(store.spark, 0, 0).dtypes
    store.write(table(store.spark, 0, 7), "a.h5", mode="append")
    assert ids(store, address) == list(range(7))


def test_append(store: Store, tmp_path: pathlib.Path) -> None:
    address = store.write(table(store.spark, 0, 10), "a.h5", mode="append", dataset="/t")
    for start in (10, 30, 50):
        store.write(table(store.spark, start, start + 20), "a.h5", mode="append", dataset="/t")
    store.write(store.spark.range(3), "a.h5", mode="append", dataset="/more/x")
    assert ids(store, address, "/t") == list(range(70))
    assert rows(store.read(address, dataset="/t").select("id", "value", "word", "at")) == rows(table(store.spark, 0, 70))
    assert store.read(address, dataset="/more/x").count() == 3
    with pytest.raises(Exception, match="Conflict: .*define it differently: datatypes int64 and float64"):
        store.write(store.spark.range(3).selectExpr("cast(id as double) id", "1d value", "'' word", "timestamp_seconds(id) at"), "a.h5", "append", dataset="/t")
    assert ids(store, address, "/t") == list(range(70))
    copy = store.get("a.h5", tmp_path)
    store.get("a.h5.d", tmp_path)
    with h5py.File(copy) as f:
        np.testing.assert_array_equal(f["t/id"][:], np.arange(70))
        np.testing.assert_array_equal(f["more/x"][:], np.arange(3))


def test_appending_to_what_others_wrote_is_refused(store: Store, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["id"] = np.arange(4)
    address = store.put(tmp_path / "f.h5", "f.h5")
    with pytest.raises(Exception, match="Unsupported: appending to a file that was not written by Spark or many writers"):
        store.write(store.spark.range(3), "f.h5", mode="append")
    assert ids(store, address) == list(range(4)) and store.all() == ["f.h5"]
    store.write(store.spark.range(3), "f.h5", mode="overwrite")
    assert ids(store, address) == [0, 1, 2]
    (tmp_path / "f.h5").write_text("no HDF5")
    address = store.put(tmp_path / "f.h5", "text.h5")
    with pytest.raises(Exception, match="Conflict: overwriting /x replaces the whole file, and its contents cannot be read"):
        store.write(store.spark.range(3), "text.h5", mode="overwrite", dataset="/x")
    store.write(store.spark.range(3), "text.h5", mode="overwrite")
    assert ids(store, address) == [0, 1, 2]


def test_what_is_not_done_is_named(store: Store) -> None:
    frame = table(store.spark, 0, 4)
    address = store.write(frame, "folder/a.h5", dataset="/t")
    with pytest.raises(Exception, match="Unsupported: option replaceDataset is not supported on a Hadoop file system"):
        store.write(frame, "folder/a.h5", mode="overwrite", dataset="/t", replaceDataset=True)
    with pytest.raises(Exception, match="Unsupported: partitionBy into a folder of a Hadoop file system is not supported"):
        frame.write.format("hdf5").options(**store.options).partitionBy("word").save(f"{store.root}/parts")
    with pytest.raises(Exception, match="InvalidInput: this is a folder, not a file"):
        store.write(frame, "folder", mode="overwrite")
    with pytest.raises(Exception, match="unknown option"):
        store.write(frame, "folder/b.h5", chunkRow=3)
    assert ids(store, address, "/t") == list(range(4)) and [name for name in store.all() if not name.startswith("folder/a.h5")] == []


def failing(after: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def rows_until(rows: Iterator[Any]) -> Iterator[Any]:
        for count, row in enumerate(rows):
            if TaskContext.get().partitionId() == 2 and count == after:
                time.sleep(1)
                raise ValueError("the sky is falling")
            yield row

    return rows_until


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failed_write_leaves_the_old_file(store: Store, mode: str) -> None:
    spark = store.spark
    broken = spark.createDataFrame(table(spark, 100, 400).rdd.mapPartitions(failing(50)), table(spark, 0, 1).schema)
    with pytest.raises(Exception, match="the sky is falling"):
        store.write(broken, "a.h5", mode=mode)
    assert store.all() == []
    address = store.write(table(spark, 0, 10), "a.h5")
    before = store.all()
    with pytest.raises(Exception, match="the sky is falling"):
        store.write(broken, "a.h5", mode=mode)
    assert ids(store, address) == list(range(10)) and store.all() == before


def test_a_retried_task_writes_its_rows_once(store: Store) -> None:
    def fails_at_first(rows: Iterator[Any]) -> Iterator[Any]:
        for count, row in enumerate(rows):
            if TaskContext.get().attemptNumber() == 0 and count == 60:
                raise ValueError("try again")
            yield row

    spark = store.spark
    frame = spark.createDataFrame(table(spark, 0, 300).rdd.mapPartitions(fails_at_first), table(spark, 0, 1).schema)
    assert ids(store, store.write(frame, "a.h5")) == list(range(300))


@pytest.mark.parametrize("mode", ["errorifexists", "overwrite", "append"])
def test_two_writers_at_once(store: Store, mode: str) -> None:
    address = f"{store.root}/a.h5"
    if mode != "errorifexists":
        store.write(table(store.spark, 0, 10), "a.h5")

    def slowly(rows: Iterator[Any]) -> Iterator[Any]:
        time.sleep(2)
        yield from rows

    errors: list[str] = []

    def write(first: int) -> None:
        frame = store.spark.createDataFrame(table(store.spark, first, first + 50, 1).rdd.mapPartitions(slowly), table(store.spark, 0, 1).schema)
        try:
            store.write(frame, "a.h5", mode=mode)
        except Exception as error:
            errors.append(str(error))

    threads = [threading.Thread(target=write, args=[first]) for first in (1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = ids(store, address)
    kept = list(range(10)) if mode == "append" else []
    if store.root.startswith("s3a") and store.spark.version < "4":
        # S3A of Hadoop 3.3 has no conditional put: both may succeed, and the file comes from one of them.
        assert len(errors) <= 1
    else:
        assert len(errors) == 1 and "Conflict" in errors[0], errors
    assert found in [kept + list(range(first, first + 50)) for first in (1000, 2000)]


@pytest.mark.parametrize("mode", ["errorifexists", "overwrite"])
def test_the_store_decides_who_was_first(store: Store, mode: str, tmp_path: pathlib.Path) -> None:
    if not store.root.startswith("s3a") or store.spark.version < "4":
        pytest.skip("S3A has conditional puts since Hadoop 3.4.2")
    if mode == "overwrite":
        store.write(table(store.spark, 0, 10), "raced.h5")
    # Another program puts the object after the state was compared.
    with pytest.raises(Exception, match="Conflict: the file has changed since this write began"):
        store.write(table(store.spark, 0, 20), "raced.h5", mode=mode, **{"fs.s3a.impl": "racing.RacingS3A"})
    assert store.get("raced.h5", tmp_path).read_text() == "another program was faster"


def test_the_claim_of_a_killed_writer_blocks_none(store: Store, tmp_path: pathlib.Path) -> None:
    if store.root.startswith("s3a"):
        pytest.skip("no claims in object stores")
    (tmp_path / "claim").write_text(DEAD)
    store.put(tmp_path / "claim", "a.h5.d/claim-absent-0")
    store.put(tmp_path / "claim", f"a.h5.d/{DEAD}/master")
    begin = time.monotonic()
    address = store.write(table(store.spark, 0, 10), "a.h5")
    assert ids(store, address) == list(range(10)) and 19 < time.monotonic() - begin < 60
    # Its master is gone, so that it cannot be renamed any more, and so are both claims.
    assert f"{DEAD}/master" not in store.all("a.h5.d") and not [name for name in store.all("a.h5.d") if "claim" in name]


def test_a_later_write_removes_what_killed_ones_left(store: Store, tmp_path: pathlib.Path) -> None:
    if store.root.startswith(("s3a", "abfs")):
        pytest.skip("S3A and ABFS set no times")
    store.write(table(store.spark, 0, 10), "a.h5")
    (kept,) = writes(store, "a.h5")
    (tmp_path / "file").write_bytes(b"x")
    old, young, visible = DEAD, "1" + DEAD[1:], "2" + DEAD[1:]
    for name in [f"{old}/begun", f"{old}/0000-1.h5", f"{young}/begun", f"{young}/0000-1.h5", f"{visible}/commit.json", "notes/begun"]:
        store.put(tmp_path / "file", f"a.h5.d/{name}")
        if not name.startswith(f"{young}/0"):
            store.age(f"a.h5.d/{name}", 2)
    store.write(table(store.spark, 10, 20), "a.h5", mode="append")
    left = writes(store, "a.h5")
    assert old not in left and {young, visible, kept, "notes"} < set(left) and len(left) == 5
    assert ids(store, f"{store.root}/a.h5") == list(range(20))


def test_what_overwrites_replaced_is_removed_later(store: Store, tmp_path: pathlib.Path) -> None:
    address = store.write(table(store.spark, 0, 10), "a.h5")
    (tmp_path / "notes.txt").write_text("no HDF5")
    store.put(tmp_path / "notes.txt", "notes.txt")
    seen = []
    for last in (20, 30, 40):
        seen.append(set(writes(store, "a.h5")))
        old = store.read(address).select("id")
        store.write(table(store.spark, 0, last), "a.h5", mode="overwrite")
        # What was planned before still has its subfiles, if it was opened before they were replaced.
        assert len(seen[-1] & set(writes(store, "a.h5"))) == 1 and ids(store, address) == list(range(last))
        del old
    assert len(writes(store, "a.h5")) == 2
    # A copy of the master keeps its subfiles through later writes.
    store.put(store.get("a.h5", tmp_path), "copy.h5")
    store.put(store.get("a.h5", tmp_path), "renamed.nc")
    for last in (50, 60, 70):
        store.write(table(store.spark, 0, last), "a.h5", mode="overwrite" if last != 60 else "append")
    assert ids(store, f"{store.root}/copy.h5") == ids(store, f"{store.root}/renamed.nc") == list(range(40))
    assert ids(store, address) == list(range(70))
    store.remove("copy.h5")
    store.remove("renamed.nc")
    store.write(table(store.spark, 0, 5), "a.h5", mode="overwrite")
    assert len(writes(store, "a.h5")) == 2 and ids(store, address) == list(range(5))


def test_the_last_step_fails(store: Store) -> None:
    if not store.root.startswith("slow"):
        pytest.skip("a class of the tests fails")
    with pytest.raises(Exception, match="Io: the file system failed: IOException: the name node refuses"):
        store.write(table(store.spark, 0, 10), "denied.h5")
    # The claim stays, so that nobody else finds its name free.
    assert store.all() == ["denied.h5.d/claim-absent-0"]
    # The answer is lost after the file has its name: the write is there.
    address = store.write(table(store.spark, 0, 10), "lost.h5")
    assert ids(store, address) == list(range(10)) and len(store.all("lost.h5.d")) == 4


def test_python_reads_it_from_the_store(store: Store, request: pytest.FixtureRequest) -> None:
    if not store.root.startswith("s3a"):
        pytest.skip("Python reads s3:// itself")
    import hyperslab as hs

    store.write(table(store.spark, 0, 1000), "a.h5", dataset="/t")
    address = store.write(table(store.spark, 1000, 1500), "a.h5", mode="append", dataset="/t")
    options = {"endpoint": request.getfixturevalue("s3"), "allow_http": True, "region": "us-east-1"}
    options |= {"access_key_id": KEYS["fs.s3a.access.key"], "secret_access_key": KEYS["fs.s3a.secret.key"]}
    address = address.replace("s3a://", "s3://")
    f = hs.open(address, storage_options=options)
    np.testing.assert_array_equal(f["t/id"][:], np.arange(1500))
    # What the master adds to is not a leftover.
    assert hs.vacuum(address, hours=0, orphans=True, storage_options=options).removed == []
    np.testing.assert_array_equal(hs.open(address, storage_options=options)["t/id"][:], np.arange(1500))


def test_sql_creates_and_inserts(store: Store) -> None:
    spark = store.spark
    name = f"write_{store.root.split(':')[0]}"
    spark.conf.set(f"spark.sql.catalog.{name}", "io.hyperslab.spark.Hdf5Catalog")
    for key, value in store.options.items():
        spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    table(spark, 0, 100).createOrReplaceTempView("source")
    address = f"{store.root}/sql.h5"
    spark.sql(f"create table {name}.`{address}`.g as select id, value from source where id < 10")
    spark.sql(f"insert into {name}.`{address}`.g select id, value from source where id between 10 and 19")
    assert [row.id for row in spark.sql(f"select id from {name}.`{address}`.g.id").collect()] == list(range(20))
    spark.sql(f"create table {name}.`{address}`.x as select id from source where id < 5")
    spark.sql(f"insert into {name}.`{address}`.x values (77L)")
    assert [row.x for row in spark.sql(f"select x from {name}.`{address}`.x").collect()] == [0, 1, 2, 3, 4, 77]
    assert ids(store, address, "/g") == list(range(20))


def test_tables_of_sparks_catalog(store: Store) -> None:
    spark = store.spark
    options = ", ".join(f"`{name}` '{value}'" for name, value in store.options.items())
    address = store.write(table(spark, 0, 10).select("id", "value"), "table/a.h5", dataset="/t")
    with_options = f"options ({options}{', ' if options else ''}dataset '/t', path '{address}')"
    spark.sql(f"create table written (id bigint, value double) using hdf5 {with_options}")
    try:
        spark.sql("insert into written values (10, 1.5)")
        assert [row.id for row in spark.table("written").collect()] == list(range(11))
        spark.sql("insert overwrite written select id + 1, value from written where id > 7")
        assert sorted(row.id for row in spark.table("written").collect()) == [9, 10, 11]
    finally:
        spark.sql("drop table written")


KILLED = """
import sys, time
import hyperslab as hs
from pyspark.sql import SparkSession

address, classes, folder, *settings = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.extraClassPath", classes)
builder = builder.config("spark.local.dir", folder).config("spark.hadoop.fs.slow.impl", "slow.SlowFileSystem")
spark = hs.spark.configure(builder).getOrCreate()

def slowly(rows):
    yield from rows
    time.sleep(600)

frame = spark.createDataFrame(spark.range(0, 1000, 1, 2).rdd.mapPartitions(slowly), "id long")
frame.write.format("hdf5").options(**dict(setting.split("=", 1) for setting in settings)).mode("overwrite").save(address)
"""


def test_a_killed_driver_leaves_the_old_file(store: Store, slow_classes: pathlib.Path, tmp_path: pathlib.Path) -> None:
    address = store.write(table(store.spark, 0, 10), "a.h5")
    classes = ":".join([str(slow_classes), *map(str, [*aws().glob("*.jar"), *azure().glob("*.jar")])])
    settings = [f"{name}={value}" for name, value in store.options.items()]
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, address, classes, str(tmp_path), *settings], start_new_session=True, stderr=subprocess.DEVNULL
    ) as driver:
        try:
            deadline = time.monotonic() + 120
            while not any(name.endswith("/begun") for name in store.all("a.h5.d")):
                assert driver.poll() is None and time.monotonic() < deadline
                time.sleep(0.2)
            time.sleep(2)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
    assert ids(store, address) == list(range(10))
    store.write(table(store.spark, 10, 30), "a.h5", mode="append")
    assert ids(store, address) == list(range(30))


def test_no_error_has_a_secret(store: Store) -> None:
    if not store.root.startswith("s3a"):
        pytest.skip("needs no secret")
    with pytest.raises(Exception, match="the file system failed") as failure:
        store.spark.range(3).write.format("hdf5").options(**store.options).save("s3a://no-such-bucket/a.h5")
    assert not any(secret in str(failure.value) for secret in KEYS.values())
