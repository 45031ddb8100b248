"""An append is checked as a table, before a byte is written: other columns, capitals, lengths, types and meanings."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest

FIRST = ["id as a", "id * 10 as b", "id * 100 as c"]


def save(spark: Any, path: pathlib.Path, rows: range, columns: list[str], mode: str = "append", **options: Any) -> None:
    frame = spark.range(rows.start, rows.stop).selectExpr(*columns)
    frame.write.format("hdf5").options(**{"dataset": "/g", **options}).mode(mode).save(str(path))


def rows(spark: Any, path: pathlib.Path, **options: Any) -> list[tuple[Any, ...]]:
    found = spark.read.format("hdf5").options(**{"dataset": "/g", **options}).load(str(path))
    return sorted(tuple(row) for row in found.select("a", "b", "c").collect())


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("layout", [{}, {"layout": "records"}])
@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ([*FIRST, "id as d"], ['column "d" is missing in the file']),
        (FIRST[:2], ['column "c" of the file .*is missing in the rows']),
        ([*FIRST[:2], "id as z"], ['"c".*missing in the rows', '"z" is missing in the file']),
        (["id as x"], []),
        ([*FIRST[:2], "double(id) as c"], ["datatypes int64 and float64"]),
    ],
)
def test_other_columns_are_refused(spark: Any, tmp_path: pathlib.Path, columns: list[str], named: list[str], layout: dict[str, str]) -> None:
    path = tmp_path / "a.h5"
    save(spark, path, range(3), FIRST, "overwrite", **layout)
    before = files(tmp_path)
    with pytest.raises(Exception, match="Conflict: .*cannot be appended") as error:
        save(spark, path, range(3, 5), columns, **layout)
    import re

    assert all(re.search(text, str(error.value)) for text in named)
    assert files(tmp_path) == before and len(rows(spark, path, **layout)) == 3


@pytest.mark.parametrize("layout", [{}, {"layout": "records"}])
def test_other_capitals_are_the_same_columns(spark: Any, tmp_path: pathlib.Path, layout: dict[str, str]) -> None:
    path, capitals = tmp_path / "a.h5", ["id as A", "id * 10 as B", "id * 100 as C"]
    save(spark, path, range(3), FIRST, "overwrite", **layout)
    save(spark, path, range(3, 5), capitals, **layout)
    assert rows(spark, path, **layout) == [(n, 10 * n, 100 * n) for n in range(5)]
    if not layout:
        with h5py.File(path) as f:
            assert {name: f["g"][name].shape for name in f["g"]} == {"a": (5,), "b": (5,), "c": (5,)}
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(Exception, match='"A" is missing in the file'):
            save(spark, path, range(3, 5), capitals, **layout)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_another_order_is_the_same_table(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    save(spark, path, range(3), FIRST, "overwrite")
    save(spark, path, range(3, 5), FIRST[::-1])
    assert rows(spark, path) == [(n, 10 * n, 100 * n) for n in range(5)]


def test_columns_that_differ_in_case_only_are_not_written(spark: Any, tmp_path: pathlib.Path) -> None:
    with pytest.raises(Exception, match=r'[dD]uplicate column "B"|COLUMN_ALREADY_EXISTS'):
        save(spark, tmp_path / "a.h5", range(3), ["id as a", "id as b", "id as B"], "overwrite")


def test_columns_of_other_lengths_are_named(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    save(spark, path, range(3), FIRST, "overwrite")
    save(spark, path, range(3, 5), ["id as c"], dataset="/g/c")
    with pytest.raises(Exception, match='column "c" of the file has 5 rows, not 3'):
        save(spark, path, range(3, 5), FIRST)


def test_times_and_numbers_are_not_mixed(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    save(spark, path, range(3), ["id as a", "date_from_unix_date(int(id)) as d"], "overwrite")
    with pytest.raises(Exception, match='column "d": .*date and plain numbers'):
        save(spark, path, range(3), ["id as a", "int(id) as d"])
    save(spark, path, range(3), ["id as a", "date_from_unix_date(int(id)) as d"])
    with h5py.File(path) as f:
        assert f["g/d"][()].tolist() == [0, 1, 2, 0, 1, 2]


def test_folders_of_partitions(spark: Any, tmp_path: pathlib.Path) -> None:
    def add(columns: list[str], *by: str, mode: str = "append") -> None:
        spark.range(6).selectExpr(*columns).write.format("hdf5").partitionBy(*by).mode(mode).save(str(tmp_path / "p"))

    add(["id as a", "id as b", "id % 2 as k"], "k", mode="overwrite")
    before = files(tmp_path)
    for columns, by, named in (
        (["id as a", "id % 2 as k"], ["k"], '"b".*missing in the rows'),
        (["id as a", "id as b", "id as d", "id % 2 as k"], ["k"], '"d" is missing in the file'),
        (["id as a", "double(id) as b", "id % 2 as k"], ["k"], "datatypes int64 and float64"),
        (["id as a", "id as b", "id % 2 as j"], ["j"], "partitioned by"),
    ):
        with pytest.raises(Exception, match=named):
            add(columns, *by)
        assert files(tmp_path) == before
    add(["id as A", "id as b", "id % 2 as K"], "K")
    found = spark.read.format("hdf5").load(str(tmp_path / "p"))
    assert found.columns == ["a", "b", "k"] and found.count() == 12


def test_hidden_partitions_are_replaced_and_unreadable_ones_refused(spark: Any, tmp_path: pathlib.Path) -> None:
    for count in (9, 6):
        spark.range(count).selectExpr("id", "id % 3 as `_k`", "id % 2 as j").write.format("hdf5").partitionBy("_k", "j").mode("overwrite").save(
            str(tmp_path / "p")
        )
        assert spark.read.format("hdf5").load(str(tmp_path / "p")).count() == count
    spark.sql("create table skipped (id bigint, `.k` bigint) using hdf5 partitioned by (`.k`)")
    try:
        with pytest.raises(Exception, match="readers skip"):
            spark.sql("insert into skipped values (1, 2)")
    finally:
        spark.sql("drop table skipped")


def test_tables_in_the_catalog(spark: Any, tmp_path: pathlib.Path) -> None:
    spark.sql("create table added using hdf5 as select 1 as a, 2 as b")
    try:
        for change in (
            "add column z int",
            "add columns (z int, y string)",
            "drop column b",
            "rename column b to c",
            "alter column b type bigint",
            "alter column b first",
        ):
            with pytest.raises(Exception, match=r"ALTER TABLE.* is not supported"):
                spark.sql(f"alter table added {change}")
        spark.sql("alter table added set tblproperties ('note' = 'kept')")
        spark.sql("alter table added alter column b comment 'second'")
        spark.sql("insert into added values (3, 4)")
        spark.sql("insert into added (B, A) values (6, 5)")
        assert sorted(tuple(row) for row in spark.table("added").collect()) == [(1, 2), (3, 4), (5, 6)]
    finally:
        spark.sql("drop table added")


@pytest.mark.parametrize("columns", ["(a int)", "(a int, k int)"])
def test_one_column_has_its_name(spark: Any, columns: str) -> None:
    by = " partitioned by (k)" if "k" in columns else ""
    spark.sql(f"create table one {columns} using hdf5 options (dataset '/q'){by}")
    try:
        more = ", 5" if by else ""
        spark.sql(f"insert into one values (1{more}), (2{more})")
        spark.sql(f"insert into one values (3{more})")
        assert [row.a for row in spark.sql("select a from one where a > 0 order by a").collect()] == [1, 2, 3]
    finally:
        spark.sql("drop table one")
    spark.sql("create table one using hdf5 options (dataset '/q') as select 7 as a")
    try:
        assert [tuple(row) for row in spark.sql("select * from one").collect()] == [(7,)]
    finally:
        spark.sql("drop table one")


@pytest.mark.parametrize("layout", ["columns", "records"])
def test_tables_of_python(tmp_path: pathlib.Path, layout: str) -> None:
    """`hs.write_table` has the same rule."""
    path = tmp_path / "a.h5"
    hs.write_table(pa.table({"a": [1], "b": [2]}), path, group="/g", layout=layout)
    before = path.read_bytes()
    for other in ({"a": [1]}, {"a": [1], "b": [2], "c": [3]}, {"a": [1], "B": [2]}, {"a": [1], "b": [2.0]}):
        with pytest.raises(hs.InvalidInputError):
            hs.write_table(pa.table(other), path, group="/g", layout=layout, mode="a")
        assert path.read_bytes() == before
    hs.write_table(pa.table({"b": [4], "a": [3]}), path, group="/g", layout=layout, mode="a")
    assert hs.open(path).table("/g").to_arrow().select(["a", "b"]).to_pylist() == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    if layout == "columns":
        with h5py.File(path, "r+") as f:
            f["g/more"] = np.arange(5)
        with pytest.raises(hs.InvalidInputError, match="more"):
            hs.write_table(pa.table({"a": [1], "b": [2]}), path, group="/g", mode="a")
