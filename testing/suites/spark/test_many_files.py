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


def test_predicates_skip_files(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").load(f"{folder}/run_*.h5")
    assert rows(frame.where(f"_file = '{folder}/run_11.h5'")) == [110, 111, 112, 113, 114]


def test_objects_by_wildcard(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "steps.h5", "w") as f:
        for step in (1, 2, 10):
            f[f"Step#{step}/x"] = np.arange(2) + step
    frame = spark.read.format("hdf5").option("dataset", "/Step#*/x").load(str(tmp_path / "steps.h5"))
    assert [(row.Step, row.x) for row in frame.collect()] == [(1, 1), (1, 2), (2, 2), (2, 3), (10, 10), (10, 11)]
    assert rows(frame.where("Step > 2")) == [10, 11]


def test_wildcards_that_match_integers_and_words_become_text(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name in ("s1", "s10", "s2", "sb"):
            f[f"{name}/x"] = [len(name)]
    frame = spark.read.format("hdf5").option("dataset", "/s*/x").load(str(tmp_path / "a.h5"))
    assert dict(frame.dtypes)["s"] == "string"
    assert [(row.s, row.x) for row in frame.collect()] == [("1", 2), ("2", 2), ("10", 3), ("b", 2)]
    assert rows(frame.where("s = 'b' or s = '10'")) == [3, 2]
    with h5py.File(tmp_path / "b.h5", "w") as f:
        f["s7/x"] = [7]
    # Each file on its own would have a column of another type.
    both = spark.read.format("hdf5").option("dataset", "/s*/x").load([str(tmp_path / "a.h5"), str(tmp_path / "b.h5")])
    assert [row.s for row in both.where("x = 7").collect()] == ["7"]


def test_files_that_do_not_conform_are_named_or_have_nulls(spark: Any, tmp_path: pathlib.Path) -> None:
    a, b, c = tmp_path / "a.h5", tmp_path / "b.h5", tmp_path / "c.h5"
    for path, names in ((a, "xy"), (b, "xz"), (c, "x")):
        with h5py.File(path, "w") as f:
            for name in names:
                f[name] = np.arange(3, dtype="f4" if path == c else "i4")
    read = spark.read.format("hdf5")
    with pytest.raises(Exception, match=r'b\.h5 and .*a\.h5 do not form one table: only the first has column "z"'):
        read.load([str(a), str(b)])
    frame = spark.read.format("hdf5").option("nonconforming", "null").load([str(a), str(b)])
    assert [tuple(row) for row in frame.select("x", "y", "z").collect()] == [(n, n, None) for n in range(3)] + [(n, None, n) for n in range(3)]
    assert [tuple(row) for row in frame.where("y is null").select("x", "z").collect()] == [(0, 0), (1, 1), (2, 2)]
    assert frame.where("y is null").count() == 3 and frame.count() == 6 and frame.select("y").groupBy().count().collect()[0][0] == 6
    with pytest.raises(Exception, match=r'a\.h5 and .*c\.h5.*column "x" is Int32.*Float32.*set option nonconforming=null'):
        spark.read.format("hdf5").option("dataset", "/x").load([str(a), str(c)])


def frames(spark: Any, tmp_path: pathlib.Path, types: list[str]) -> Any:
    for number, dtype in enumerate(types):
        values = [f"t{k}" for k in range(3)] if dtype == "text" else np.arange(3).astype(dtype) + (0.1 if dtype.startswith("f") else 10 * number)
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f["x"] = values
            f["list"] = np.repeat(np.asarray(values)[:, None], 2, axis=1) if dtype != "text" else np.zeros((3, 2))
    return spark.read.format("hdf5").option("nonconforming", "null")


@pytest.mark.parametrize(
    ("types", "wide"),
    [
        (["f4", "f8"], "double"),
        (["i4", "i8"], "bigint"),
        (["u1", "i1"], "smallint"),
        (["i8", "u8"], "decimal(20,0)"),
        (["u4", "i2"], "bigint"),
        (["i2", "f4"], "float"),
        (["f4", "i4"], "double"),
        (["f8", "i4", "f4", "u1"], "double"),
    ],
)
def test_types_are_widened_to_one_that_holds_all_values(spark: Any, tmp_path: pathlib.Path, types: list[str], wide: str) -> None:
    read = frames(spark, tmp_path, types)
    files = [str(tmp_path / f"{number}.h5") for number in range(len(types))]
    wanted: list[Any] = []
    for file in files:
        with h5py.File(file) as f:
            wanted += f["x"][:].tolist()
    for order in (files, files[::-1]):
        frame = read.option("dataset", "/x").load(order)
        values = wanted if order is files else [value for n in range(len(files))[::-1] for value in wanted[3 * n : 3 * n + 3]]
        assert dict(frame.dtypes)["x"] == wide
        assert rows(frame) == values, "numpy's values, bit by bit"
        assert frame.agg({"x": "max"}).collect()[0][0] == max(wanted) and frame.where(f"x = {wanted[1]!r}D").count() == wanted.count(wanted[1])
    lists = read.option("dataset", "/list").option("layout", "rows").load(files)
    assert dict(lists.dtypes)["list"] == f"array<{wide}>" and [row.list for row in lists.select("list").collect()] == [[value, value] for value in wanted]


@pytest.mark.parametrize("types", [["i8", "f8"], ["u4", "f4"], ["text", "i4"]])
def test_types_without_a_common_one_are_refused(spark: Any, tmp_path: pathlib.Path, types: list[str]) -> None:
    read = frames(spark, tmp_path, types)
    with pytest.raises(Exception, match=r'0\.h5 and .*1\.h5 do not form one table: column "x" is .*no type holds the values of both'):
        read.option("dataset", "/x").load([str(tmp_path / "0.h5"), str(tmp_path / "1.h5")])


def test_a_file_without_the_dataset_has_no_rows(spark: Any, tmp_path: pathlib.Path) -> None:
    a, b = write(tmp_path / "a.h5", np.arange(3)), write(tmp_path / "b.h5", np.arange(3), "y")
    with pytest.raises(Exception, match=r'NotFound: there is no "x".*b\.h5'):
        spark.read.format("hdf5").option("dataset", "/x").load([a, b])
    read = spark.read.format("hdf5").option("nonconforming", "null")
    for dataset in ("/x", "/x*"):
        frame = read.option("dataset", dataset).load([b, a, b])
        assert rows(frame) == [0, 1, 2] and frame.count() == 3 and rows(frame.where("x > 0")) == [1, 2]
    with pytest.raises(Exception, match="NotFound.*no such dataset.*/z"):
        read.option("dataset", "/z").load([a, b])


def test_partition_folders_make_columns(spark: Any, tmp_path: pathlib.Path) -> None:
    """Compared with the same folders as Parquet, read by Spark itself."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    cells = [
        ("2024", "a b", "1.5", "1e3", "2024-03-01", "2024-03-01 00:00:00"),
        ("2023", "x/y=z%", "2", "99999999999999999999", "2023-12-31", "2024-03-10"),
        ("12", None, "-2.25", "-5", "2024-02-29", "2023-12-31 23:59:59.5"),
    ]
    names = ["year", "name", "ratio", "big", "day", "moment"]
    frame = spark.createDataFrame([(n, *cell) for n, cell in enumerate(cells)], "x bigint, " + ", ".join(f"{name} string" for name in names))
    frame.write.partitionBy(*names).parquet(str(theirs))
    for file in theirs.rglob("*.parquet"):
        value = spark.read.parquet(str(file)).collect()[0].x
        write(ours / file.parent.relative_to(theirs) / "part.h5", [value])
    read = spark.read.format("hdf5").option("dataset", "/x")
    mine, judge = read.load(str(ours)).select("x", *names), spark.read.parquet(str(theirs))
    assert mine.dtypes == judge.select("x", *names).dtypes
    assert [kind for _, kind in mine.dtypes] == ["bigint", "int", "string", "double", "decimal(20,0)", "date", "timestamp"]
    assert sorted(map(tuple, mine.collect()), key=str) == sorted(map(tuple, judge.select(*mine.columns).collect()), key=str)
    for test in (
        "year = 2024",
        "year > 12",
        "year <> 12 and ratio < 2",
        "name is null",
        "name = 'a b' or day = date'2023-12-31'",
        "not (year in (12, 13))",
        "day >= date'2024-01-01'",
        "name <> 'a b'",
        "year = 2024 and x = 0",
        "year = 2024 or x = 1",
        "year = 7",
        "big > 1000",
        "ratio <= 1.5D",
        "moment < timestamp'2024-03-01 00:00:00'",
        "name like 'a%'",
        "year + 1 = 13",
    ):
        assert sorted(row.x for row in mine.where(test).collect()) == sorted(row.x for row in judge.where(test).collect()), test
        assert mine.where(test).count() == judge.where(test).count(), test
    assert mine.where("year = 2024").rdd.getNumPartitions() == 1 and "1 of 3 files" in mine.where("year = 2024")._jdf.queryExecution().executedPlan().toString()
    assert mine.groupBy("year").count().orderBy("year").collect() == judge.groupBy("year").count().orderBy("year").collect()
    assert mine.agg({"year": "max", "x": "min"}).collect() == judge.agg({"year": "max", "x": "min"}).collect()
    assert sorted(row.year for row in mine.select("year").collect()) == [12, 2023, 2024], "no column of the files at all"
    assert [row.year for row in spark.read.format("hdf5").option("dataset", "/x").schema("x bigint, year string").load(str(ours)).where("x = 1").collect()] == [
        "2023"
    ]
    assert "year" not in read.option("recursiveFileLookup", "true").load(str(ours)).columns
    join = mine.join(spark.createDataFrame([(2023,)], "year int").hint("broadcast"), "year").select("x").collect()
    assert [row.x for row in join] == [1]


def test_partition_folders_of_mixed_types_and_names(spark: Any, tmp_path: pathlib.Path) -> None:
    for number, value in enumerate(("1", "3000000000")):
        write(tmp_path / "wide" / f"x={value}" / "a.h5", [number])
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "wide"))
    assert ("x_part", "bigint") in frame.dtypes, "the files have a column of the name"
    assert [(row.x, row.x_part) for row in frame.where("x_part > 0").collect()] == [(0, 1), (1, 3000000000)] and rows(frame.where("x = 1")) == [1]
    for number, value in enumerate(("1", "b")):
        write(tmp_path / "text" / f"c={value}" / "deep" / "a.h5", [number])
    (tmp_path / "text" / "_temporary").mkdir()
    write(tmp_path / "text" / "_temporary" / "a.h5", [99])
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "text"))
    assert [(row.c, row.x) for row in frame.collect()] == [("1", 0), ("b", 1)]
    write(tmp_path / "text" / "loose.h5", [2])
    with pytest.raises(Exception, match=r"the partition columns of .*loose\.h5.* differ"):
        spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "text"))


def test_folders_without_files_say_what_to_do(spark: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "deep" / "below" / "a.h5", [1])
    (tmp_path / "empty").mkdir()
    read = spark.read.format("hdf5").option("dataset", "/x")
    with pytest.raises(
        Exception, match='NotFound: the folder has no files, only folders such as "below": set option recursiveFileLookup=true, or use a glob .*/deep'
    ):
        read.load(str(tmp_path / "deep"))
    with pytest.raises(Exception, match="NotFound: the folder has no files .*/empty"):
        read.load(str(tmp_path / "empty"))
    with pytest.raises(Exception, match='no file matches pathGlobFilter "..nc"'):
        read.option("pathGlobFilter", "*.nc").load(str(tmp_path / "deep" / "below"))
    with pytest.raises(Exception, match="no file matches .*recursiveFileLookup"):
        spark.read.format("hdf5").option("dataset", "/x").load(f"{tmp_path}/**/b.h5")
    with pytest.raises(Exception, match="the path is empty"):
        spark.read.format("hdf5").option("dataset", "/x").load("")
    with pytest.raises(Exception, match='names a host, "elsewhere"'):
        spark.read.format("hdf5").load("file://elsewhere/a.h5")
    assert rows(spark.read.format("hdf5").option("dataset", "/x").load(f"file://localhost{tmp_path}/deep/below/a.h5")) == [1]


def test_a_path_named_twice_is_read_twice(spark: Any, tmp_path: pathlib.Path) -> None:
    path = write(tmp_path / "a.h5", np.arange(3))
    (tmp_path / "list.csv").write_text("a.h5,/x\na.h5,/x\n")
    for files in ([path, path], str(tmp_path / "list.csv")):
        frame = spark.read.format("hdf5").option("dataset", "/x").load(files)
        assert rows(frame) == [0, 1, 2, 0, 1, 2] and frame.count() == 6
        assert frame.where("x = 1").orderBy("_file", "_row").select("x").collect() == [(1,), (1,)]


def test_a_recursive_read_skips_subfiles_of_containers(spark: Any, tmp_path: pathlib.Path) -> None:
    spark.range(0, 10, 1, 3).write.format("hdf5").option("dataset", "/x").save(str(tmp_path / "out.h5"))
    frame = spark.read.format("hdf5").option("dataset", "/x").option("recursiveFileLookup", "true").option("pathGlobFilter", "*.h5").load(str(tmp_path))
    assert sorted(rows(frame)) == list(range(10))


def test_small_files_share_tasks(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").load([f"{folder}/run_*.h5"] * 5)
    assert frame.rdd.getNumPartitions() <= 3 and frame.count() == 3000
    assert spark.read.format("hdf5").option("dataset", "/x").option("targetPartitionBytes", "1m").load(f"{folder}/run_*.h5").rdd.getNumPartitions() > 20
    with pytest.raises(Exception, match='option targetpartitionbytes must be a positive size in bytes .*, not "1x"'):
        spark.read.format("hdf5").option("dataset", "/x").option("targetPartitionBytes", "1x").load(f"{folder}/run_1.h5").collect()


def test_input_file_name_returns_the_file(spark: Any, folder: pathlib.Path) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").load(f"{folder}/run_1*.h5").selectExpr("input_file_name() as name", "_file as file")
    assert all(row.name == f"file://{row.file}" for row in frame.collect())


def test_a_column_of_the_files_takes_precedence_over_a_metadata_column(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["t"] = np.array([(7, 1), (5, 2), (6, 3)], [("_row", "i8"), ("x", "i8")])
    frame = spark.read.format("hdf5").option("dataset", "/t").load(str(tmp_path / "a.h5"))
    assert frame.columns == ["_row", "x"] and [tuple(row) for row in frame.orderBy("_row").collect()] == [(5, 2), (6, 3), (7, 1)]
    assert rows(frame.where("_row = 5")) == [2]


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
    (tmp_path / name).write_text(f'file,dataset\n# the last first\n"2, part.h5",/x\n\n"{tmp_path}/0, part.h5",/x\nfile://{tmp_path}/deep/a.h5, /other/x\n')
    read = spark.read.format("hdf5")
    assert rows(read.load(str(tmp_path / name))) == [20, 21, 0, 1, 100, 101]
    (tmp_path / name).write_text('"*, part.h5"\n')
    assert rows(spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / name))) == [0, 1, 10, 11, 20, 21]
    (tmp_path / name).write_text("nothing.h5,/x\n")
    with pytest.raises(Exception, match="NotFound.*nothing.h5"):
        read.load(str(tmp_path / name))
    (tmp_path / name).write_text("a.h5,/x,/y\n")
    with pytest.raises(Exception, match="line 1 of the list .* must be file,dataset or file"):
        read.load(str(tmp_path / name))


def test_text_matched_by_wildcards_becomes_columns(spark: Any, folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    read = spark.read.format("hdf5").option("dataset", "/x")
    frame = read.load(f"{folder}/run_*.h5")
    assert frame.dtypes[0] == ("run", "bigint")
    assert [(row.run, row.x) for row in frame.where("run >= 119").collect()] == [(119, 1190 + k) for k in range(5)]
    assert frame.where("run in (3, 5)").count() == 10
    assert frame.where("run in (3, 5)").rdd.getNumPartitions() == 1, "files are skipped by their names"
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
    with pytest.raises(Exception, match='column "x" is string in the table and bigint in the files'):
        read.schema("x string").load(f"{folder}/run_3.h5").collect()
    with pytest.raises(Exception, match="there is no column .nothing"):
        read.schema("nothing int").load(f"{folder}/run_3.h5").collect()
