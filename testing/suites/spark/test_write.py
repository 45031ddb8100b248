"""Writing with Spark: a write is complete or has no effect, whatever tasks do, and h5py can read the file."""

from __future__ import annotations

import datetime
import pathlib
from decimal import Decimal
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest


def litter(path: pathlib.Path) -> list[str]:
    """Leftover entries next to a file, and files in its container that are not subfiles."""
    beside = [p.name for p in path.parent.iterdir() if p.name not in (path.name, path.name + ".d")]
    folder = path.with_name(path.name + ".d")
    inside = [p.name for p in folder.rglob("*") if p.is_file()] if folder.exists() else []
    return beside + [name for name in inside if name.endswith((".tmp", ".part"))]


def subfiles(path: pathlib.Path) -> int:
    return len(list(path.with_name(path.name + ".d").rglob("*-*.h5")))


def test_every_type_comes_back(spark: Any, tmp_path: pathlib.Path) -> None:
    moment = datetime.datetime(2001, 2, 3, 4, 5, 6, 7)
    rows = [
        (
            n % 3 == 0,
            n - 50,
            n * 100,
            n * 10**6,
            n * 10**15,
            n / 8,
            n / 3,
            f"täxt {n}" if n % 5 else "",
            bytes(range(n % 4)),
            list(range(n % 4)),
            [f"a{k}" for k in range(n % 3)],
            [[n, n + 1], [], [n]][: n % 4],
            (n, f"s{n}", [n / 2] * (n % 2)),
            moment + datetime.timedelta(seconds=n),
            moment + datetime.timedelta(days=n),
            (moment + datetime.timedelta(days=n)).date(),
            Decimal(2**64 - 1 - n),
        )
        for n in range(100)
    ]
    schema = (
        "flag boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f4 float, f8 double, text string, raw binary, list array<int>, "
        "texts array<string>, nested array<array<int>>, struct struct<a: int, b: string, c: array<double>>, "
        "ntz timestamp_ntz, utc timestamp, day date, u8 decimal(20,0)"
    )
    frame = spark.createDataFrame(rows, schema).repartition(3, "i8").sortWithinPartitions("i8")
    path = tmp_path / "out.h5"
    frame.write.format("hdf5").option("dataset", "/deep/table").option("compression", "gzip").option("shuffle", "true").save(str(path))
    with h5py.File(path) as f:
        table = f["deep/table"]
        order = np.argsort(table["i8"][:])
        column = {name: list(table[name][:][order]) for name in table}
        assert table["i1"].dtype == "i1" and table["f4"].dtype == "f4" and table["flag"].dtype == bool and table["u8"].dtype == "u8"
        assert table["i8"].is_virtual and table["ntz"].attrs["units"] == "microseconds since 1970-01-01 00:00:00"
        assert table["day"].attrs["units"].startswith("days since") and h5py.check_string_dtype(table["text"].dtype).encoding == "utf-8"
    for place, name in enumerate(("flag", "i1", "i2", "i4", "i8", "f4", "f8")):
        np.testing.assert_array_equal(column[name], np.array([row[place] for row in rows]).astype(column[name][0].dtype), name)
    assert [text.decode() for text in column["text"]] == [row[7] for row in rows]
    assert [bytes(raw) for raw in column["raw"]] == [row[8] for row in rows]
    assert [items.tolist() for items in column["list"]] == [row[9] for row in rows]
    assert [[text.decode() for text in texts] for texts in column["texts"]] == [row[10] for row in rows]
    assert [[inner.tolist() for inner in outer] for outer in column["nested"]] == [row[11] for row in rows]
    assert [(int(s["a"]), s["b"].decode(), s["c"].tolist()) for s in column["struct"]] == [(n, f"s{n}", [n / 2] * (n % 2)) for n in range(100)]
    assert [datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=int(n)) for n in column["ntz"]] == [row[13] for row in rows]
    assert [int(n) for n in column["day"]] == [(row[15] - datetime.date(1970, 1, 1)).days for row in rows]
    assert [int(n) for n in column["u8"]] == [int(row[16]) for row in rows]
    # Our own reader returns the written rows.
    back = spark.read.format("hdf5").option("dataset", "/deep/table").load(str(path)).orderBy("i8")
    ours = [name for name in frame.columns if name not in ("raw", "f4")]
    assert back.select(ours).dtypes == frame.select(ours).dtypes
    assert [row.asDict(True) for row in back.select(*ours).collect()] == [row.asDict(True) for row in frame.select(*ours).orderBy("i8").collect()]
    micros = [row[0] for row in frame.orderBy("i8").selectExpr("unix_micros(utc)").collect()]
    assert [int(n) for n in column["utc"]] == micros
    assert litter(path) == []


def test_layouts_and_units(spark: Any, tmp_path: pathlib.Path) -> None:
    frame = spark.range(1000).selectExpr("id", "id / 4 as x").coalesce(1)
    frame.write.format("hdf5").option("dataset", "/t").option("layout", "records").option("chunkRows", 100).save(str(tmp_path / "records.h5"))
    with h5py.File(tmp_path / "records.h5") as f:
        assert f["t"].dtype.names == ("id", "x") and f["t"][999].tolist() == (999, 249.75)
    one = frame.select(frame.x.alias("x", metadata={"units": "K", "long_name": "temperature"}))
    one.write.format("hdf5").option("dataset", "/deep/t2m").save(str(tmp_path / "one.h5"))
    with h5py.File(tmp_path / "one.h5") as f:
        np.testing.assert_array_equal(f["deep/t2m"][:], np.arange(1000) / 4)
        assert dict(f["deep/t2m"].attrs) == {"units": "K", "long_name": "temperature"}
    read = spark.read.format("hdf5").option("dataset", "/deep/t2m").load(str(tmp_path / "one.h5"))
    read.select("t2m").write.format("hdf5").option("dataset", "/t2m").save(str(tmp_path / "again.h5"))
    with h5py.File(tmp_path / "again.h5") as f:
        assert dict(f["t2m"].attrs) == {"units": "K", "long_name": "temperature"}


def test_save_modes(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"

    def save(values: range, mode: str | None) -> None:
        writer = spark.range(values.start, values.stop, 1, 3).write.format("hdf5").option("dataset", "/x")
        (writer.mode(mode) if mode else writer).save(str(path))

    def found() -> list[int]:
        with h5py.File(path) as f:
            return f["x"][:].tolist()

    save(range(10), None)
    assert found() == list(range(10)), "rows are in the order of the partitions"
    with pytest.raises(Exception, match="the file exists already"):
        save(range(5), "errorifexists")
    save(range(5), "ignore")
    assert found() == list(range(10))
    save(range(10, 15), "append")
    assert found() == list(range(15))
    save(range(3), "overwrite")
    assert found() == [0, 1, 2] and litter(path) == []
    assert subfiles(path) == 9, "readers may still have the replaced master open, so its subfiles stay until the next commit"
    save(range(0), "overwrite")
    assert found() == [] and litter(path) == [] and subfiles(path) == 4, "the last replaced subfiles, and a new one"
    path.unlink()
    save(range(4), "append")
    assert found() == [0, 1, 2, 3]
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(path))
    assert frame.count() == 4 and frame.agg({"x": "sum"}).collect()[0][0] == 6


@pytest.mark.parametrize("dataset", ["/g", "/"])
def test_columns_keep_their_order(spark: Any, tmp_path: pathlib.Path, dataset: str) -> None:
    """A union by position would swap the values of columns that are read in another order."""
    names = ["z", "a", "é", "M", "b10", "b9", *[f"c{n}" for n in range(30, 0, -1)]]
    path = tmp_path / "out.h5"

    def frame(first: int) -> Any:
        return spark.range(first, first + 9, 1, 3).selectExpr(*[f"id * 100 + {n} as `{name}`" for n, name in enumerate(names)])

    def read(path: pathlib.Path) -> Any:
        return spark.read.format("hdf5").option("dataset", dataset).load(str(path))

    def found(path: pathlib.Path) -> list[str]:
        back = read(path)
        with h5py.File(path) as f:
            assert list(f[dataset]) == names
        return [name for name in back.columns if name in names]

    frame(0).write.format("hdf5").option("dataset", dataset).save(str(path))
    assert found(path) == names
    both = frame(9).union(read(path).select(found(path)))
    assert sorted(both.collect()) == sorted([*frame(0).collect(), *frame(9).collect()])
    frame(9).write.format("hdf5").option("dataset", dataset).mode("append").save(str(path))
    assert found(path) == names and sorted(read(path).select(names).collect()) == sorted([*frame(0).collect(), *frame(9).collect()])
    hs.fuse(path, tmp_path / "single.h5")
    assert found(tmp_path / "single.h5") == names
    names.reverse()
    frame(0).write.format("hdf5").option("dataset", dataset).mode("overwrite").save(str(path))
    assert found(path) == names
    frame(0).write.format("hdf5").option("dataset", "/t").option("layout", "records").save(str(tmp_path / "records.h5"))
    assert spark.read.format("hdf5").option("dataset", "/t").load(str(tmp_path / "records.h5")).columns == names


def test_overwriting_a_dataset_fails_if_other_objects_would_be_lost(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "keep.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(5)
        f["group/y"] = np.arange(3)
        f["new/deep"] = [1]
        f["soft"] = h5py.SoftLink("/x")
        f.attrs["title"] = "measured once"
    before = path.read_bytes()

    def save(dataset: str, target: pathlib.Path = path, **options: str) -> None:
        spark.range(4).write.format("hdf5").option("dataset", dataset).options(**options).mode("overwrite").save(str(target))

    with pytest.raises(
        Exception,
        match='Conflict: overwriting /new replaces the whole file, which would lose attribute "title" of /, /group, /soft '
        'and 2 more: .*mode."append".*replaceFile=true .file .*keep.h5',
    ):
        save("/new")
    with pytest.raises(Exception, match="would lose .*/group"):
        save("/new/deep")
    with pytest.raises(Exception, match='option replacefile must be true or false, not "yes"'):
        save("/new", replaceFile="yes")
    assert path.read_bytes() == before and litter(path) == [] and not path.with_name("keep.h5.d").exists()
    save("/new", replaceFile="true")
    with h5py.File(path) as f:
        assert list(f) == ["new"] and f["new"][:].tolist() == [0, 1, 2, 3]
    save("/new")
    # This also holds for files that Spark wrote.
    spark.range(3).write.format("hdf5").option("dataset", "/second").mode("append").save(str(path))
    with pytest.raises(Exception, match="would lose /second: "):
        save("/new")
    with h5py.File(path) as f:
        assert sorted(f) == ["new", "second"] and f["second"][:].tolist() == [0, 1, 2]
    spark.range(2).write.format("hdf5").mode("overwrite").save(str(path))
    with h5py.File(path) as f:
        assert list(f) == ["id"], "without a dataset, the whole file is overwritten"
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(Exception, match="its contents cannot be read .*: save to another file"):
        save("/new", tmp_path / "text.h5")
    assert (tmp_path / "text.h5").read_text() == "no HDF5"


def test_save_modes_apply_to_the_file_not_to_a_dataset(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(5)
    before = path.read_bytes()
    frame = spark.range(3).write.format("hdf5").option("dataset", "/new")
    with pytest.raises(Exception, match="the file exists already"):
        frame.mode("errorifexists").save(str(path))
    with pytest.raises(Exception, match="appending to a file that no plan has written"):
        frame.mode("append").save(str(path))
    frame.mode("ignore").save(str(path))
    assert path.read_bytes() == before


def test_dates_and_instants_come_back_as_they_were(spark: Any, tmp_path: pathlib.Path) -> None:
    """The session's time zone is New York's: without a zone, an instant would become another hour of another day."""
    frame = (
        spark.range(5)
        .coalesce(1)
        .selectExpr(
            "id",
            "date_add(date'2024-02-27', cast(id as int)) as day",
            "timestamp'2024-03-10 01:30:00' + id * interval 1 hour as moment",
            "timestamp_ntz'1969-12-31 23:59:59.999999' + id * interval 1 microsecond as local",
            "date'1900-03-01' as early",
        )
    )
    frame.write.format("hdf5").option("dataset", "/t").save(str(tmp_path / "a.h5"))
    back = spark.read.format("hdf5").option("dataset", "/t").load(str(tmp_path / "a.h5")).select(frame.columns)
    assert [kind for _, kind in back.dtypes] == ["bigint", "date", "timestamp", "timestamp_ntz", "date"] and back.collect() == frame.collect()
    for test in (
        "day > date'2024-02-28'",
        "day in (date'2024-02-29', date'1999-01-01')",
        "moment >= timestamp'2024-03-10 03:30:00'",
        "early < date'1900-03-01'",
        "local < timestamp_ntz'1970-01-01 00:00:00'",
        "day is null",
        "moment = timestamp'2024-03-10 01:30:00' or id = 4",
    ):
        assert back.where(test).collect() == frame.where(test).collect(), test
        assert back.where(test).agg({"day": "max", "moment": "min"}).collect() == frame.where(test).agg({"day": "max", "moment": "min"}).collect()
    assert "day" in str(
        back.where("day > date'2024-02-28'")._jdf.queryExecution().executedPlan().toString().split("PushedPredicates")[1].split("PushedLimit")[0]
    )
    # Another file has times with hours: dates and times together become times.
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f["day"] = np.array([0.5])
        f["day"].attrs["units"] = "days since 2024-01-01 00:00:00"
    with h5py.File(tmp_path / "c.h5", "w") as f:
        f["day"] = np.array([10], "i4")
        f["day"].attrs.update(units="days since 1970-01-01 00:00:00", spark_type="date")
    both = spark.read.format("hdf5").option("dataset", "/day").load([str(tmp_path / "c.h5"), str(tmp_path / "b.h5")]).select("day")
    assert both.dtypes == [("day", "timestamp_ntz")]
    assert [row.day for row in both.collect()] == [datetime.datetime(1970, 1, 11), datetime.datetime(2024, 1, 1, 12)]


def test_a_file_can_be_overwritten_by_a_query_that_reads_it(spark: Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "out.h5")
    spark.range(100).write.format("hdf5").option("dataset", "/x").save(path)
    frame = spark.read.format("hdf5").option("dataset", "/x").load(path)
    frame.selectExpr("x + 1 as x").write.format("hdf5").option("dataset", "/x").mode("overwrite").save(path)
    with h5py.File(path) as f:
        assert sorted(f["x"][:]) == list(range(1, 101))


def test_a_failed_write_keeps_the_old_file_and_leaves_no_litter(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    fails = spark.range(0, 1000, 1, 4).selectExpr("if(id = 900, raise_error('broken row'), id) as x")
    for mode in ("overwrite", "append", "errorifexists"):
        with pytest.raises(Exception, match="broken row"):
            fails.write.format("hdf5").option("dataset", "/x").mode(mode).save(str(path))
        assert list(tmp_path.iterdir()) == []
    spark.range(5).write.format("hdf5").option("dataset", "/x").save(str(path))
    before = sorted((str(p), p.stat().st_size) for p in tmp_path.rglob("*"))
    for mode in ("overwrite", "append"):
        with pytest.raises(Exception, match="broken row"):
            fails.write.format("hdf5").option("dataset", "/x").mode(mode).save(str(path))
        assert sorted((str(p), p.stat().st_size) for p in tmp_path.rglob("*")) == before
    with pytest.raises(Exception, match="Conflict"):
        spark.range(5).selectExpr("cast(id as int) as x").write.format("hdf5").option("dataset", "/x").mode("append").save(str(path))
    assert sorted((str(p), p.stat().st_size) for p in tmp_path.rglob("*")) == before


def test_an_abort_while_tasks_write_leaves_nothing_and_tasks_that_begin_later_fail(spark: Any, tmp_path: pathlib.Path) -> None:
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    request = '{"dataset": "/x", "schema": {"fields": [{"name": "x", "type": "long"}]}}'
    write = jvm.io.hyperslab.FileWrite(str(tmp_path / "out.h5"), "create")
    write.begin()
    data = np.arange(1000, dtype="<i8").tobytes()

    def append(writer: Any) -> None:
        writer.append(0, data, len(data), b"", gateway.new_array(jvm.int, 0), 0)

    early = [jvm.io.hyperslab.TaskWriter(write.plan(), number, request) for number in range(3)]
    append(early[0])
    append(early[1])
    early[1].finish()
    write.abort()
    assert list(tmp_path.iterdir()) == []
    append(early[0])
    # Their subfiles are open but unlinked, so what they still write is lost.
    for writer in (early[0], early[2]):
        writer.finish()
    for writer in early:
        writer.close()
    with pytest.raises(Exception, match="Cancelled: .*aborted"):
        jvm.io.hyperslab.TaskWriter(write.plan(), 3, request)
    write.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("expression", "options", "words"),
    [
        ("if(id = 3, null, id)", {}, 'column "x" contains nulls'),
        ("decode(unhex('410042'), 'utf-8')", {}, "string with a NUL"),
        ("cast(id as decimal(10,2))", {}, "decimal.10,2."),
        ("cast(-1 as decimal(20,0))", {}, "out of range for unsigned 64-bit integers"),
        ("map(1, id)", {}, "map"),
        ("array(current_date())", {}, "date within an array"),
        ("id", {"compression": "brotli"}, "compression .brotli."),
        ("id", {"compresion": "gzip"}, 'unknown option "compresion"'),
        ("id", {"compression": "gzip", "level": "99"}, "level 99 of deflate: give 0 to 9"),
        ("id", {"shuffle": "yes"}, 'option shuffle must be true or false, not "yes"'),
        ("id", {"nulls": "zero"}, 'option nulls must be error or nan, not "zero"'),
        ("id", {"layout": "cells"}, "columns.*records"),
    ],
)
def test_values_and_options_without_equivalent_are_errors(spark: Any, tmp_path: pathlib.Path, expression: str, options: dict[str, str], words: str) -> None:
    frame = spark.range(5).selectExpr(f"{expression} as x")
    with pytest.raises(Exception, match=words):
        frame.write.format("hdf5").option("dataset", "/x").options(**options).save(str(tmp_path / "out.h5"))
    assert list(tmp_path.iterdir()) == []


def test_missing_floats_may_be_nan(spark: Any, tmp_path: pathlib.Path) -> None:
    frame = spark.range(4).coalesce(1).selectExpr("if(id = 2, null, id / 2) as x", "array(cast(null as float), cast(id as float)) as y")
    frame.write.format("hdf5").option("nulls", "nan").save(str(tmp_path / "out.h5"))
    with h5py.File(tmp_path / "out.h5") as f:
        np.testing.assert_array_equal(f["x"][:], [0, 0.5, np.nan, 1.5])
        np.testing.assert_array_equal(f["y"][3], [np.nan, 3])


def test_many_rows_and_large_texts(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = 400_000
    frame = spark.range(0, rows, 1, 2).selectExpr("id", "id / 2 as half", "repeat(cast(id % 10 as string), if(id % 100000 = 7, 3000000, 3)) as text")
    frame.write.format("hdf5").option("compression", "gzip").option("level", 1).save(str(tmp_path / "out.h5"))
    back = spark.read.format("hdf5").load(str(tmp_path / "out.h5"))
    assert back.selectExpr("count(1)", "sum(id)", "sum(length(text))").collect()[0][:] == (rows, rows * (rows - 1) // 2, 3 * (rows - 4) + 4 * 3000000)
    with h5py.File(tmp_path / "out.h5") as f:
        np.testing.assert_array_equal(f["half"][:], np.arange(rows) / 2)


def test_what_sql_cannot_write_is_an_error(spark: Any, tmp_path: pathlib.Path) -> None:
    """Each leaves the file as it was."""
    from pyspark.sql.functions import lit

    path = tmp_path / "out.h5"
    spark.range(5).write.format("hdf5").option("dataset", "/x").save(str(path))
    before = path.read_bytes()
    spark.conf.set("spark.sql.catalog.written", "io.hyperslab.spark.Hdf5Catalog")
    spark.conf.set("spark.sql.catalog.written.root", str(tmp_path))
    frame = spark.range(3).selectExpr("id as dim_0", "id as x")
    spark.sql(f"create table to_write using hdf5 options (path '{path}', dataset '/x')")
    try:
        for write in (
            lambda: spark.sql("insert into written.`out.h5`.x values (5, 5)"),
            lambda: spark.sql("insert into to_write values (5, 5)"),
            lambda: spark.sql("delete from written.`out.h5`.x where x = 1"),
            lambda: frame.writeTo("written.`out.h5`.x").append(),
            lambda: frame.writeTo("written.`out.h5`.x").overwrite(lit(True)),
        ):
            with pytest.raises(Exception, match="does not support|not support|takes one column|it is a dataset in the file"):
                write()
        for create in (
            lambda: spark.sql("create table written.`out.h5`.y (x int)"),
            lambda: spark.sql("create or replace table written.`out.h5`.x as select 1 as x"),
            lambda: spark.sql("create table written.`out.h5`.y partitioned by (k) as select 1 as x, 2 as k"),
            lambda: spark.sql("alter table written.`out.h5`.x add column y int"),
        ):
            with pytest.raises(Exception, match="not supported"):
                create()
    finally:
        spark.sql("drop table to_write")
    assert path.read_bytes() == before and litter(path) == []


def test_two_attempts_at_a_task_leave_one_copy(spark: Any, tmp_path: pathlib.Path) -> None:
    """Covers two commits of one task, which Spark's coordinator normally prevents; `processes.py` tests the coordinator."""
    jvm, gateway, path = spark._jvm, spark.sparkContext._gateway, tmp_path / "out.h5"
    request = '{"dataset": "/x", "schema": {"fields": [{"name": "x", "type": "long"}]}}'
    write = jvm.io.hyperslab.FileWrite(str(path), "create")
    none = gateway.new_array(jvm.int, 0)

    def attempt(number: int, values: list[int], ends: bool) -> Any:
        writer = jvm.io.hyperslab.TaskWriter(write.plan(), number, request)
        data = np.array(values, "<i8").tobytes()
        writer.append(0, data, len(data), b"", none, 0)
        fragment = writer.finish() if ends else None
        writer.close()
        return fragment

    fragments = [attempt(0, [1, 2], True), attempt(1, [3], True), attempt(1, [3], True)]
    attempt(0, [1], False)
    assert subfiles(path) == 3 and not path.exists()
    both = gateway.new_array(jvm.byte, 3, 0)
    for number, fragment in enumerate(fragments):
        both[number] = fragment
    write.commit(both)
    write.commit(both)  # a driver can repeat a commit
    with h5py.File(path) as f:
        assert f["x"][:].tolist() == [1, 2, 3]
    assert subfiles(path) == 2 and litter(path) == []
    with pytest.raises(Exception, match="was committed"):
        write.abort()


def test_file_systems_that_hadoop_does_not_know_are_refused(spark: Any) -> None:
    with pytest.raises(Exception, match="Unsupported: Hadoop has no file system for this address.*nowhere://somewhere/a.h5"):
        spark.range(3).write.format("hdf5").save("nowhere://somewhere/a.h5")
