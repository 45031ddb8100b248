"""Tables that SQL creates with PARTITIONED BY, and clauses of CREATE TABLE that this source cannot store."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def warehouse(spark: Any) -> Iterator[pathlib.Path]:
    spark.sql("create or replace temporary view numbers as select id, cast(id % 3 as int) as k, id / 4.0D as x from range(12)")
    before = {row.tableName for row in spark.sql("show tables").collect()}
    yield pathlib.Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    for row in spark.sql("show tables").collect():
        if row.tableName not in before:
            spark.sql(f"drop table {row.tableName}")


def rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=str)


def folders(table: pathlib.Path) -> list[str]:
    """The folders that hold files, and any file that is not one of a partition."""
    files = [path.relative_to(table) for path in table.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return sorted({str(path.parent) if path.name.startswith("part-") else str(path) for path in files})


def test_a_partitioned_table_stays_partitioned(spark: Any, warehouse: pathlib.Path) -> None:
    spark.sql("create table parted using hdf5 options (compression 'gzip') partitioned by (k) as select * from numbers")
    expected = rows(spark, "select * from numbers")
    assert folders(warehouse / "parted") == ["k=0", "k=1", "k=2"]
    assert rows(spark, "select * from parted") == expected
    assert "PushedPredicates" in spark.sql("select * from parted where k = 1")._jdf.queryExecution().executedPlan().toString()
    assert rows(spark, "select id from parted where k = 1") == [(1,), (10,), (4,), (7,)]
    # Columns go by position, also the partition column in the middle.
    spark.sql("insert into parted select id + 100, 7, x from numbers where id < 2")
    spark.sql("insert into parted partition (k = 1) values (200, 0.5)")
    expected = sorted([*expected, (100, 7, 0.0), (101, 7, 0.25), (200, 1, 0.5)], key=str)
    assert rows(spark, "select * from parted") == expected and folders(warehouse / "parted") == ["k=0", "k=1", "k=2", "k=7"]
    spark.sql("insert overwrite parted partition (k = 1) values (300, 1.5)")
    expected = sorted([row for row in expected if row[1] != 1] + [(300, 1, 1.5)], key=str)
    assert rows(spark, "select * from parted") == expected
    with pytest.raises(Exception, match="broken row"):
        spark.sql("insert overwrite parted select if(id = 11, raise_error('broken row'), id), k, x from numbers")
    assert rows(spark, "select * from parted") == expected
    spark.sql("insert overwrite parted select * from numbers where k = 2")
    assert rows(spark, "select * from parted") == rows(spark, "select * from numbers where k = 2") and folders(warehouse / "parted") == ["k=2"]
    spark.sql("insert overwrite parted select * from numbers where id < 0")
    assert rows(spark, "select * from parted") == [] and rows(spark, "select count(*), sum(x) from parted where k = 2") == [(0, None)]
    assert not [path for path in (warehouse / "parted").rglob("*") if path.is_file()]
    assert "PARTITIONED BY (k)" in spark.sql("show create table parted").collect()[0][0]


def test_partition_columns_of_any_order_and_type(spark: Any, warehouse: pathlib.Path, tmp_path: pathlib.Path) -> None:
    values = (
        "cast(id as bigint) as l, cast(id as tinyint) as b, cast(id as smallint) as s, id = 1 as flag, id / 3 as double, cast(id / 3 as float) as f, "
        "cast(id * 1.5 as decimal(10,2)) as dec, if(id = 1, null, concat('a/b= ', id)) as t, date_add(date'2024-02-28', cast(id as int)) as day, "
        "timestamp'2024-03-01 12:00:00.25' + make_interval(0, 0, 0, cast(id as int)) as at"
    )
    names = ["l", "b", "s", "flag", "double", "f", "dec", "t", "day", "at"]
    spark.sql(f"create or replace temporary view typed as select {values}, id as v from range(3)")
    spark.sql(f"create table typed_parts using hdf5 partitioned by ({', '.join(names)}) location '{tmp_path}/t' as select * from typed")
    assert spark.table("typed_parts").dtypes == spark.table("typed").dtypes
    expected = rows(spark, "select * from typed")
    assert rows(spark, "select * from typed_parts") == expected
    # Predicates on partition columns are evaluated for each folder.
    for condition in (
        "l = 1 and b = 1 and s = 1 and flag and double > 0.3 and f < 0.4 and dec = 1.5 and t is null and day = date'2024-02-29'",
        "at = timestamp'2024-03-02 12:00:00.25' or t = 'a/b= 2'",
        "not flag and double in (0, 2/3.0D)",
    ):
        assert rows(spark, f"select v from typed_parts where {condition}") == rows(spark, f"select v from typed where {condition}") != []
    spark.sql("insert overwrite typed_parts partition (t = null, l = 1, flag = true) select b, s, double, f, dec, day, at, v + 10 from typed where l = 1")
    assert rows(spark, "select v, t from typed_parts") == [(0, "a/b= 0"), (11, None), (2, "a/b= 2")]
    # Files whose folders are not values of the column's type are an error, as are folders of other names.
    (tmp_path / "odd" / "k=300").mkdir(parents=True)
    (tmp_path / "odd" / "k=300" / "a.h5").write_bytes(next((tmp_path / "t").rglob("*.h5")).read_bytes())
    spark.sql(f"create table odd (v bigint, k tinyint) using hdf5 partitioned by (k) location '{tmp_path}/odd'")
    with pytest.raises(Exception, match='column "k" is tinyint in the table, but the partition folder of .*k=300/a.h5 is named "300"'):
        spark.sql("select * from odd").collect()
    spark.sql(f"create table other (v bigint, j int) using hdf5 partitioned by (j) location '{tmp_path}/odd'")
    with pytest.raises(Exception, match=r"partitioned by \[j\], but the folders in .*odd are named \[k\]"):
        spark.sql("insert into other values (1, 2)")


def test_tables_of_folders_that_exist(spark: Any, warehouse: pathlib.Path, tmp_path: pathlib.Path) -> None:
    spark.table("numbers").write.partitionBy("k").format("hdf5").save(str(tmp_path / "parts"))
    spark.sql(f"create table found using hdf5 options (path '{tmp_path}/parts')")
    spark.sql("insert into found (id, x, k) values (100, 0.5, 9)")
    assert rows(spark, "select id, x, k from found where k = 9") == [(100, 0.5, 9)] and folders(tmp_path / "parts") == ["k=0", "k=1", "k=2", "k=9"]
    spark.sql("insert overwrite found partition (k = 9) values (200, 0.5)")
    assert rows(spark, "select id from found where k = 9") == [(200,)] and spark.table("found").count() == 13


def test_writers_of_dataframes_partition_tables(spark: Any, warehouse: pathlib.Path) -> None:
    from pyspark.sql import functions

    frame = spark.table("numbers")
    frame.write.format("hdf5").partitionBy("k").saveAsTable("saved")
    frame.write.format("hdf5").partitionBy("k").mode("append").saveAsTable("saved")
    frame.write.insertInto("saved")
    assert spark.table("saved").count() == 36 and folders(warehouse / "saved") == ["k=0", "k=1", "k=2"]
    frame.writeTo("created").using("hdf5").partitionedBy(functions.col("k")).create()
    frame.where("k = 1").limit(1).writeTo("created").overwrite(functions.col("k") == 1)
    assert rows(spark, "select k, count(*) from created group by k") == [(0, 4), (1, 1), (2, 4)]
    before = rows(spark, "select * from created")
    with pytest.raises(Exception, match="does not support overwrite by expression"):
        frame.writeTo("created").overwrite(functions.col("x") > 1)
    with pytest.raises(Exception, match="does not support dynamic overwrite"):
        frame.writeTo("created").overwritePartitions()
    assert rows(spark, "select * from created") == before
    frame.write.format("hdf5").mode("overwrite").saveAsTable("saved")
    assert spark.table("saved").count() == 12 and folders(warehouse / "saved")[0] == "data.h5"


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("clustered by (k) into 2 buckets", r"bucket\(2, k\) is not supported"),
        ("clustered by (k) sorted by (id) into 2 buckets", r"sorted_bucket\(.*\) is not supported"),
        ("partitioned by (bucket(2, k))", r"bucket\(2, k\) is not supported"),
        ("cluster by (k)", r"cluster_by\(k\) is not supported|Syntax error"),
        ("partitioned by (id, k, x)", "cannot name all columns"),
        ("partitioned by (nothing)", "nothing"),
        ("options (compresion 'gzip')", 'unknown option "compresion"'),
    ],
)
def test_what_a_table_cannot_have(spark: Any, warehouse: pathlib.Path, clause: str, words: str) -> None:
    before = sorted(path.name for path in warehouse.iterdir())
    with pytest.raises(Exception, match=words):
        spark.sql(f"create table refused using hdf5 {clause} as select * from numbers")
    if "clustered" in clause:
        with pytest.raises(Exception, match="bucket"):
            spark.table("numbers").write.format("hdf5").bucketBy(2, "k").saveAsTable("refused")
        with pytest.raises(Exception, match="bucket"):
            spark.sql(f"create table refused (id bigint, k int) using hdf5 {clause}")
    assert sorted(path.name for path in warehouse.iterdir()) == before and not spark.catalog.tableExists("refused")


def test_a_partition_column_that_cannot_name_folders(spark: Any, warehouse: pathlib.Path) -> None:
    with pytest.raises(Exception, match='PARTITIONED BY "b" is not supported: values of type binary'):
        spark.sql("create table refused using hdf5 partitioned by (b) as select id, cast('a' as binary) as b from numbers")


def test_properties_of_a_table(spark: Any, warehouse: pathlib.Path) -> None:
    spark.sql("create table owned using hdf5 comment 'rows' tblproperties ('team' = 'a', 'layout.note' = 'b', 'dataset' = '/run') as select * from numbers")
    spark.sql("alter table owned set tblproperties ('team' = 'c')")
    spark.sql("insert into owned select * from numbers")
    assert spark.table("owned").count() == 24
    assert rows(spark, "show tblproperties owned ('team')") == [("team", "c")]


def test_folders_and_schemas_of_the_user(spark: Any, warehouse: pathlib.Path, tmp_path: pathlib.Path) -> None:
    spark.table("numbers").write.partitionBy("k").format("hdf5").save(str(tmp_path / "parts"))
    assert rows(spark, f"select k, count(*) from hdf5.`{tmp_path}/parts` group by k") == [(0, 4), (1, 4), (2, 4)]
    (tmp_path / "empty").mkdir()
    for schema, count in (("k int", 12), ("x double", 12), ("k string, id bigint", 12)):
        assert spark.read.schema(schema).format("hdf5").load(str(tmp_path / "parts")).count() == count
        assert spark.read.schema(schema).format("hdf5").load(str(tmp_path / "empty")).collect() == []
    with pytest.raises(Exception, match="the folder has no files"):
        spark.read.format("hdf5").load(str(tmp_path / "empty"))
    # The files have a column of the folders' name, so that writes cannot know which is meant.
    (tmp_path / "twice" / "x=1").mkdir(parents=True)
    (tmp_path / "twice" / "x=1" / "a.h5").write_bytes(next((tmp_path / "parts").rglob("*.h5")).read_bytes())
    spark.sql(f"create table twice using hdf5 options (path '{tmp_path}/twice')")
    assert spark.table("twice").columns == ["id", "x", "x_part"]
    with pytest.raises(Exception, match="has folders of partitions"):
        spark.sql("insert into twice values (1, 2, 3)")
