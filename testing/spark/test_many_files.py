"""Many files as one table: paths, order, packing, and files that do not conform."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest


def write(path: pathlib.Path, data: Any, name: str = "x") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as f:
        f[name] = data
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("many")
    for n in range(120):
        write(folder / f"run_{n}.h5", np.arange(5) + 10 * n)
    write(folder / "below" / "more.h5", np.arange(3) - 100)
    write(folder / "_hidden.h5", "not data")
    (folder / "notes.txt").write_text("no HDF5")
    return folder


def rows(frame: Any) -> list[int]:
    return [row.x for row in frame.select("x").collect()]


def test_a_glob_is_read_in_natural_order_in_few_tasks(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").load(f"{folder}/run_*.h5")
    assert rows(frame) == [n * 10 + k for n in range(120) for k in range(5)]
    assert frame.rdd.getNumPartitions() < 12


def test_folders_lists_and_uris(spark: Any, folder: pathlib.Path) -> None:
    read = spark.read.format("hdf5").option("dataset", "/x")
    every = [n * 10 + k for n in range(120) for k in range(5)]
    below = [-100, -99, -98]
    assert rows(read.option("pathGlobFilter", "*.h5").load(str(folder))) == every
    assert sorted(rows(read.option("pathGlobFilter", "*.h5").option("recursiveFileLookup", "true").load(str(folder)))) == sorted(every + below)
    both = spark.read.format("hdf5").option("dataset", "/x").load([f"{folder}/run_7.h5", f"file://{folder}/below/more.h5"])
    assert rows(both) == every[35:40] + below
    assert {pathlib.Path(row._file).name for row in both.select("_file").distinct().collect()} == {"run_7.h5", "more.h5"}


def test_predicates_leave_files_out(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").load(f"{folder}/run_*.h5")
    assert rows(frame.where(f"_file = '{folder}/run_11.h5'")) == [110, 111, 112, 113, 114]


def test_objects_by_wildcard(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "steps.h5", "w") as f:
        for step in (1, 2, 10):
            f[f"Step#{step}/x"] = np.arange(2) + step
    frame = spark.read.format("hdf5").option("dataset", "/Step#*/x").load(str(tmp_path / "steps.h5"))
    assert [(row.Step, row.x) for row in frame.collect()] == [(1, 1), (1, 2), (2, 2), (2, 3), (10, 10), (10, 11)]
    assert rows(frame.where("Step > 2")) == [10, 11]


def test_wildcards_that_match_numbers_and_words_make_texts(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name in ("s1", "s10", "s2", "sb"):
            f[f"{name}/x"] = [len(name)]
    frame = spark.read.format("hdf5").option("dataset", "/s*/x").load(str(tmp_path / "a.h5"))
    assert dict(frame.dtypes)["s"] == "string"
    assert [(row.s, row.x) for row in frame.collect()] == [("1", 2), ("2", 2), ("10", 3), ("b", 2)]
    assert rows(frame.where("s = 'b' or s = '10'")) == [3, 2]
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f["s7/x"] = [7]
    # Each file alone would have another type of column.
    both = spark.read.format("hdf5").option("dataset", "/s*/x").load([str(tmp_path / "a.h5"), str(tmp_path / "b.h5")])
    assert [row.s for row in both.where("x = 7").collect()] == ["7"]


def test_files_that_do_not_conform_are_named_or_have_nulls(spark: Any, tmp_path: pathlib.Path) -> None:
    a, b, c = tmp_path / "a.h5", tmp_path / "b.h5", tmp_path / "c.h5"
    for path, names in ((a, "xy"), (b, "xz"), (c, "x")):
        with h5py.File(path, "w") as f:
            for name in names:
                f[name] = np.arange(3, dtype="f4" if path == c else "i4")
    read = spark.read.format("hdf5")
    with pytest.raises(Exception, match=r"b\.h5 and .*a\.h5 do not make one table: the first has a column z"):
        read.load([str(a), str(b)])
    frame = spark.read.format("hdf5").option("nonconforming", "null").load([str(a), str(b)])
    assert [tuple(row) for row in frame.select("x", "y", "z").collect()] == [(n, n, None) for n in range(3)] + [(n, None, n) for n in range(3)]
    assert [tuple(row) for row in frame.where("y is null").select("x", "z").collect()] == [(0, 0), (1, 1), (2, 2)]
    assert frame.where("y is null").count() == 3 and frame.count() == 6 and frame.select("y").groupBy().count().collect()[0][0] == 6
    with pytest.raises(Exception, match=r"a\.h5 and .*c\.h5.*column x is Int32.*Float32"):
        spark.read.format("hdf5").option("nonconforming", "null").load([str(a), str(c)])


def test_create_table_keeps_its_options(spark: Any, folder: pathlib.Path) -> None:
    options = f"path '{folder}/run_3.h5', dataset '/x', where 'x > 31'"
    spark.sql(f"create or replace temporary view v using hdf5 options ({options})")
    assert rows(spark.table("v")) == [32, 33, 34]
    spark.sql(f"create table t using hdf5 options ({options})")
    spark.sql("create table ours using parquet as select 1 as x")
    try:
        assert rows(spark.table("t")) == [32, 33, 34]
        narrowed = spark.sql("select x from t where x < 34")
        assert rows(narrowed) == [32, 33]
        assert "PushedPredicates" in narrowed._jdf.queryExecution().executedPlan().toString()
        assert {row.col_name for row in spark.sql("describe t").collect()} >= {"x", "dim_0"}
        assert rows(spark.table("ours")) == [1], "tables of Spark's own kinds are read as before"
    finally:
        spark.sql("drop table t")
        spark.sql("drop table ours")


@pytest.mark.parametrize("name", ["list.csv", "list.txt"])
def test_a_list_names_files_and_datasets(spark: Any, tmp_path: pathlib.Path, name: str) -> None:
    for n in range(3):
        write(tmp_path / f"{n}, part.h5", np.arange(2) + 10 * n, "x")
    write(tmp_path / "deep" / "a.h5", np.arange(2) + 100, "other/x")
    (tmp_path / name).write_text(f'file,dataset\n# the last first\n"2, part.h5",/x\n\n"{tmp_path}/0, part.h5",/x\n'
                                 f"file://{tmp_path}/deep/a.h5, /other/x\n")
    read = spark.read.format("hdf5")
    assert rows(read.load(str(tmp_path / name))) == [20, 21, 0, 1, 100, 101]
    (tmp_path / name).write_text('"*, part.h5"\n')
    assert rows(spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / name))) == [0, 1, 10, 11, 20, 21]
    (tmp_path / name).write_text("nothing.h5,/x\n")
    with pytest.raises(Exception, match="NotFound.*nothing.h5"):
        read.load(str(tmp_path / name))
    (tmp_path / name).write_text("a.h5,/x,/y\n")
    with pytest.raises(Exception, match='line 1 of the list .* is no "file,dataset"'):
        read.load(str(tmp_path / name))


def test_what_a_glob_stands_for_becomes_columns(spark: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    read = spark.read.format("hdf5").option("dataset", "/x")
    frame = read.load(f"{folder}/run_*.h5")
    assert frame.dtypes[0] == ("run", "bigint")
    assert [(row.run, row.x) for row in frame.where("run >= 119").collect()] == [(119, 1190 + k) for k in range(5)]
    assert frame.where("run in (3, 5)").count() == 10
    assert frame.where("run in (3, 5)").rdd.getNumPartitions() == 1, "files are left out by their names"
    for name, number in (("t_1.h5", 1), ("t_b.h5", 2)):
        write(tmp_path / "text" / name, [number])
        write(tmp_path / "clash" / name.replace("t_", "x_"), [number])
    assert [(row.t, row.x) for row in read.load(f"{tmp_path}/text/t_*.h5").collect()] == [("1", 1), ("b", 2)]
    assert [(row.x_part, row.x) for row in read.load(f"{tmp_path}/clash/x_*.h5").collect()] == [("1", 1), ("b", 2)]
    assert "t" not in spark.read.format("hdf5").option("dataset", "/x").option("fileColumns", "false").load(f"{tmp_path}/text/t_*.h5").columns
    assert "text" not in read.load([f"{tmp_path}/text/t_*.h5", f"{tmp_path}/clash/x_*.h5"]).columns, "several globs have no common columns"


def test_a_given_schema_is_checked(spark: Any, folder: pathlib.Path) -> None:
    read = spark.read.format("hdf5").option("dataset", "/x")
    assert rows(read.schema("x bigint").load(f"{folder}/run_3.h5")) == [30, 31, 32, 33, 34]
    with pytest.raises(Exception, match="column x is string in the table and bigint in the files"):
        read.schema("x string").load(f"{folder}/run_3.h5").collect()
    with pytest.raises(Exception, match="there is no column .nothing"):
        read.schema("nothing int").load(f"{folder}/run_3.h5").collect()
