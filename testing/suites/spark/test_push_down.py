"""What Spark pushes down to the reader, as shown by plans and metrics; results do not depend on it."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

SHAPE = (200, 300)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("push") / "grid.h5"
    data = np.random.default_rng(1).standard_normal(SHAPE).astype("f4")
    data[7, 3:9] = np.nan
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", data=data, chunks=(10, 300), compression="gzip")
        lat = f.create_dataset("lat", data=np.linspace(-90, 90, SHAPE[0]))
        lat.make_scale("lat")
        x.dims[0].attach_scale(lat)
        x.dims[0].label = "lat"
    return path


@pytest.fixture(scope="module")
def same_rows(path: pathlib.Path) -> str:
    """The same rows as Parquet, which Spark reads itself."""
    import pyarrow as pa
    import pyarrow.parquet

    with h5py.File(path) as f:
        lat, x = f["lat"][:], f["x"][...]
    table = pa.table({"lat": np.repeat(lat, SHAPE[1]), "dim_1": np.tile(np.arange(SHAPE[1]), SHAPE[0]), "x": x.reshape(-1)})
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
    return str(path.with_suffix(".parquet"))


@pytest.fixture
def frame(spark: Any, path: pathlib.Path) -> Any:
    return spark.read.format("hdf5").option("dataset", "/x").load(str(path))


def plan(frame: Any) -> str:
    return frame._jdf.queryExecution().executedPlan().toString()


def metrics(frame: Any) -> dict[str, int]:
    """Runs the frame, returns the metrics of its scan. The counters of a plan accumulate over runs."""
    frame = frame.select("*")
    frame._jdf.queryExecution().executedPlan().executeCollect()
    node = frame._jdf.queryExecution().executedPlan()
    while True:
        if node.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
            node = node.executedPlan()
        elif node.getClass().getSimpleName().endswith("QueryStageExec"):
            node = node.plan()
        elif node.children().isEmpty():
            break
        else:
            node = node.children().head()
    found = node.metrics()
    keys = found.keys().toSeq()
    return {keys.apply(n): found.apply(keys.apply(n)).value() for n in range(keys.size())}


def as_array(frame: Any) -> np.ndarray:
    rows = np.array(frame.select("lat", "dim_1", "x").toPandas(), "f8").reshape(-1, 3)
    return rows[np.lexsort((rows[:, 1], rows[:, 0]))]


def test_a_coordinate_becomes_a_hyperslab(frame: Any, path: pathlib.Path) -> None:
    some = frame.where("lat > 85").select("x")
    assert "PushedPredicates" in plan(some) and '\\"lat\\" > 85' in plan(some)
    assert "Filter (" not in plan(some), "Spark does not test pushed predicates again"
    with h5py.File(path) as f:
        wanted = f["x"][f["lat"][:] > 85, :]
    np.testing.assert_array_equal(np.array([row.x for row in some.collect()]).astype("f4"), wanted.reshape(-1))
    assert metrics(some)["chunksDecoded"] == 1
    assert (metrics(some)["chunksSkipped"], metrics(frame.select("x"))["chunksSkipped"]) == (19, 0)
    assert metrics(frame.select("x"))["chunksDecoded"] == 20
    assert metrics(some)["bytesRead"] < metrics(frame.select("x"))["bytesRead"] / 15


def test_what_restart_points_save_is_counted(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "field.h5", "w") as f:
        field = np.random.default_rng(0).normal(size=(2, 700, 1000)).round(1).astype("f4")
        f.create_dataset("x", data=field, chunks=(1, 700, 1000), compression="gzip", shuffle=True)
    read = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "field.h5"))
    some = read.where("dim_1 = 500 and dim_2 < 3").select("x")
    before = metrics(some)
    assert before["partsInflated"] == before["inflatingSkippedBytes"] == 0 and before["chunksDecoded"] == 2
    made = hs.indexes.chunk_index(str(tmp_path / "field.h5"), restart_points=256 << 10)
    try:
        assert [row.x for row in some.collect()] == field[:, 500, :3].ravel().tolist()
        after = metrics(read.where("dim_1 = 500 and dim_2 < 3").select("x", "dim_0"))
        assert after["partsInflated"] == 2 and after["inflatingSkippedBytes"] > field.nbytes / 2
    finally:
        os.remove(made.path)


def test_only_selected_columns_are_read(frame: Any) -> None:
    assert metrics(frame.select("lat"))["bytesRead"] == SHAPE[0] * 8
    assert metrics(frame.select("dim_1"))["bytesRead"] == 0


def test_a_limit_reads_no_more_than_it_needs(frame: Any) -> None:
    some = frame.limit(5)
    assert "PushedLimit: 5" in plan(some)
    assert metrics(some)["batches"] <= 2 and len(some.collect()) == 5


def test_a_count_runs_no_job(spark: Any, frame: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("counting", "counting")
    try:
        assert frame.count() == SHAPE[0] * SHAPE[1]
        assert frame.where("lat > 85").groupBy().count().collect()[0][0] > 0
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert "LocalTableScan" in plan(frame.groupBy().count())
    assert len(tracker.getJobIdsForGroup("counting")) <= 2


@pytest.mark.parametrize(
    "where",
    [
        "x > 1",
        "x >= 1",
        "x < 1",
        "x <= 1",
        "x = 1",
        "x <> 1",
        "not x > 1",
        "not x < 1",
        "x > 1 or lat < 0",
        "x between -0.1 and 0.1",
        "isnan(x)",
        "x = double('nan')",
        "x > double('nan')",
        "x < double('nan')",
        "x in (0.5, 1.5)",
        "lat in (-90.0, 90.0)",
        "x is null",
        "x is not null",
        "dim_1 % 2 = 0 and x > 0",
        "dim_1 = 3",
        "dim_1 in (1, 2, 299)",
        "not (dim_1 > 5 and x > 0)",
        "x > lat",
        "abs(x) > 2",
        "x > 3.0e38",
        "dim_1 > 3.5",
        "x > 0.1",
        "lat >= 0 and lat < 10 and x <=> 1",
    ],
)
def test_the_rows_are_those_that_spark_would_keep(spark: Any, frame: Any, same_rows: str, where: str) -> None:
    # Parquet's statistics ignore NaN, so its push-down loses rows.
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    ours, theirs = frame.where(where), spark.read.parquet(same_rows).where(where)
    assert ours.groupBy().count().collect()[0][0] == theirs.groupBy().count().collect()[0][0]
    assert as_array(ours).tobytes() == as_array(theirs).tobytes()


def test_predicates_on_texts_times_and_numbers_that_must_not_be_rounded(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["big"] = np.array([2**63 - 1, 2**63 - 2, 0, -(2**63)], "i8")
        f["huge"] = np.array([2**64 - 1, 2**64 - 2, 0, 1], "u8")
        f.create_dataset("name", data=["it's", 'a "quote"', "", "ä"], dtype=h5py.string_dtype())
    frame = spark.read.format("hdf5").load(str(tmp_path / "a.h5"))
    for where, rows in {
        f"big = {2**63 - 1}": 1,
        f"big > {2**63 - 2}": 1,
        f"huge = {2**64 - 1}": 1,
        f"huge >= {2**64 - 2}": 2,
        'name = "it\'s"': 1,
        "name = 'a \"quote\"'": 1,
        "name = ''": 1,
        "name < 'b'": 2,
        "name like 'it%'": 1,
        "name in ('ä', 'nothing')": 1,
    }.items():
        assert frame.where(where).select("name").collect().__len__() == rows, where


def test_row_and_file_columns(frame: Any, path: pathlib.Path) -> None:
    rows = frame.where("x > 2.5").select("_row", "_file", "x").collect()
    with h5py.File(path) as f:
        flat = f["x"][...].reshape(-1)
    assert {row._file for row in rows} == {str(path)}
    wanted = [n for n in range(flat.size) if flat[n] > 2.5]
    assert sorted(row._row for row in rows) == sorted(wanted + [n for n in range(flat.size) if np.isnan(flat[n])])
    assert [row.x for row in frame.where("_row = 12345").collect()] == [flat[12345]]
    assert "_row" not in frame.columns


def test_statistics_report_the_size(spark: Any, frame: Any) -> None:
    spark.conf.set("spark.sql.cbo.enabled", "true")
    frame = frame.select("*")
    statistics = frame._jdf.queryExecution().optimizedPlan().collectLeaves().head().stats()
    assert int(str(statistics.sizeInBytes())) >= SHAPE[0] * SHAPE[1] * 4
    assert int(str(statistics.rowCount().get())) == SHAPE[0] * SHAPE[1]


def test_a_join_reads_only_the_chunks_of_the_values_it_found(spark: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.sql.functions import broadcast, col

    data = np.random.default_rng(3).standard_normal((200, 50))
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=data, chunks=(10, 50), compression="gzip")
    spark.range(200).write.parquet(str(tmp_path / "numbers"))
    few = spark.read.parquet(str(tmp_path / "numbers")).where("id % 100 = 42")
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "a.h5"))
    joined = frame.join(broadcast(few), col("dim_0") == col("id")).select("x")
    assert "dynamicpruning" in plan(joined)
    assert metrics(joined)["chunksDecoded"] == 2, "rows 42 and 142, of chunks of ten rows"
    np.testing.assert_array_equal([row.x for row in joined.collect()], data[[42, 142]].reshape(-1))


def test_a_join_prunes_the_scan_while_it_runs(spark: Any, path: pathlib.Path, frame: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.sql.functions import broadcast, col

    spark.range(SHAPE[0]).write.parquet(str(tmp_path / "numbers"))
    few = spark.read.parquet(str(tmp_path / "numbers")).where("id % 100 = 7")
    with h5py.File(path) as f:
        data = f["x"][...]
    wanted = np.nansum(data[:, [7, 107]].astype("f8"))
    joined = frame.join(broadcast(few), col("dim_1") == col("id")).where("not isnan(x)").selectExpr("sum(x)")
    text = plan(joined)
    assert "dynamicpruning" in text, text
    np.testing.assert_allclose(joined.collect()[0][0], wanted, rtol=1e-9)


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 1000])
def test_results_do_not_depend_on_partitions(spark: Any, path: pathlib.Path, partitions: int) -> None:
    frame = spark.read.format("hdf5").option("dataset", "/x").option("partitions", partitions).load(str(path))
    assert frame.rdd.getNumPartitions() <= partitions
    with h5py.File(path) as f:
        flat = f["x"][...].reshape(-1)
    rows = frame.select("_row", "x").collect()
    assert [row._row for row in rows] == list(range(flat.size)), "partitions come in the order of the rows"
    assert metrics(frame.select("x"))["chunksDecoded"] == 20, "no chunk is read by two tasks"
    np.testing.assert_array_equal(np.array([row.x for row in rows], "f4"), flat)


def test_chunks_that_a_test_of_another_column_rules_out_are_skipped(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        for name in ("key", "value"):
            # A window is at least a chunk, so each of these chunks is a window.
            f.create_dataset(name, data=np.repeat(np.arange(4), 1 << 20), chunks=(1 << 20,), compression="gzip", compression_opts=1, shuffle=True)
    frame = spark.read.format("hdf5").option("partitions", 2).load(str(tmp_path / "a.h5"))
    some = frame.where("key = 2").select("value")
    counted = metrics(some)
    assert (counted["chunksDecoded"], counted["chunksSkipped"]) == (5, 3)
    assert some.where("value = 2").count() == 1 << 20


def test_a_value_index_skips_chunks_and_keeps_the_rows(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    path = tmp_path / "a.h5"
    random = np.random.default_rng(5)
    with h5py.File(path, "w") as f:
        # Every chunk has small and large values, so only an index can exclude chunks.
        values = 2 * random.integers(0, 1000, 8 << 16)
        values[3 * (1 << 16) + 5] = 7
        f.create_dataset("charge", data=values, chunks=(1 << 16,), compression="gzip", compression_opts=1)
        f.create_dataset("number", data=np.arange(8 << 16), chunks=(1 << 16,), compression="gzip", compression_opts=1)
        energy = random.random(8 << 16)
        energy[2 * (1 << 16) + 9], energy[6 * (1 << 16) + 1] = 7, np.nan
        f.create_dataset("energy", data=energy, chunks=(1 << 16,), compression="gzip", compression_opts=1)

    def some() -> Any:
        return spark.read.format("hdf5").option("partitions", 1).load(str(path)).where("charge = 7").select("number")

    def high(test: str = "> 6.5") -> Any:
        return spark.read.format("hdf5").option("partitions", 1).load(str(path)).where(f"energy {test}").select("number")

    before = metrics(some())
    floats = metrics(high())
    hs.index(path, ["/charge", "/energy"], "X")
    after = metrics(some())
    assert [row.number for row in some().collect()] == [3 * (1 << 16) + 5]
    # A task may compare the index with three chunks of the column: one for its claims, two for its decisions.
    assert 1 <= after["chunksDecoded"] <= 1 + 3 < before["chunksDecoded"]
    # Spark treats NaN as greater than every number.
    assert [row.number for row in high().collect()] == [2 * (1 << 16) + 9, 6 * (1 << 16) + 1]
    assert 2 <= metrics(high())["chunksDecoded"] <= 2 + 3 < floats["chunksDecoded"]
    assert [row.number for row in high("> 6.5 and energy < 100").collect()] == [2 * (1 << 16) + 9]
    assert high("<= 6.5").count() == (8 << 16) - 2
    # The index of a changed file is stale and not used.
    with h5py.File(path, "r+") as f:
        f["charge"][6 * (1 << 16)] = 7
    assert [row.number for row in some().orderBy("number").collect()] == [3 * (1 << 16) + 5, 6 * (1 << 16)]


def test_a_value_index_may_lie_in_another_folder(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    path = tmp_path / "a.h5"
    values = 2 * np.random.default_rng(5).integers(0, 1000, 8 << 16)
    values[3 * (1 << 16) + 5] = 7
    with h5py.File(path, "w") as f:
        f.create_dataset("charge", data=values, chunks=(1 << 16,), compression="gzip", compression_opts=1)
    hs.index(path, "/charge", "X", index_folder=tmp_path / "indexes")

    def some(**options: Any) -> Any:
        return spark.read.format("hdf5").options(dataset="/charge", partitions=1, **options).load(str(path)).where("charge = 7")

    assert metrics(some())["chunksDecoded"] == 8
    assert metrics(some(indexFolder=str(tmp_path / "indexes")))["chunksDecoded"] <= 1 + 3
    assert some(indexFolder=str(tmp_path / "indexes")).count() == 1


def test_tasks_build_and_ask_a_composite_index(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    path, count = tmp_path / "a.h5", 8 << 16
    random = np.random.default_rng(9)
    with h5py.File(path, "w") as f:
        for name in "xyz":
            f.create_dataset(name, data=random.random(count), chunks=(1 << 16,), compression="gzip", compression_opts=1)
        f.create_dataset("number", data=np.arange(count), chunks=(1 << 16,), compression="gzip", compression_opts=1)
        x, y, z = (f[name][:] for name in "xyz")
    # Each chunk has rows in each of the three ranges, and few or none in the box.
    inside = (x >= 0.4) & (x < 0.41) & (y > 0.6) & (y < 0.61) & (z <= 0.02)
    box = "0.4 <= x and x < 0.41 and y > 0.6 and y < 0.61 and z <= 0.02"

    def some() -> Any:
        return spark.read.format("hdf5").option("partitions", 2).load(str(path)).where(box).select("number")

    before = metrics(some())
    built = hs.spark.index(spark, path, [("/x", "/y", "/z")], tasks=4)
    assert built.built_blocks == 8 and hs.indexes.status(str(path)) == []
    assert sorted(row.number for row in some().collect()) == np.flatnonzero(inside).tolist()
    touched = len(np.unique(np.flatnonzero(inside) >> 16))
    # Two tasks may each compare the index with a chunk of each column, for its claims and its decisions.
    assert metrics(some())["chunksDecoded"] <= touched + 2 * 3 * 3 < before["chunksDecoded"]


def test_tasks_build_a_value_index(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    path = tmp_path / "a.h5"
    values = np.random.default_rng(6).integers(0, 1 << 30, 8 << 16)
    with h5py.File(path, "w") as f:
        f.create_dataset("charge", data=values, chunks=(1 << 16,), compression="gzip", compression_opts=1)
    spark.sparkContext.setJobGroup("indexing", "indexing")
    try:
        built = hs.spark.index(spark, path, "/charge", "X", tasks=4)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert built.datasets == 1 and built.built_blocks >= 8
    tracker = spark.sparkContext.statusTracker()
    [job] = tracker.getJobIdsForGroup("indexing")
    [stage] = tracker.getJobInfo(job).stageIds
    assert tracker.getStageInfo(stage).numTasks == 4
    assert hs.indexes.status(str(path)) == []
    wanted = int(values[5 * (1 << 16) + 3])
    frame = spark.read.format("hdf5").load(str(path)).where(f"charge = {wanted}").select("_row")
    assert [row._row for row in frame.collect()] == np.flatnonzero(values == wanted).tolist()
    assert "index X on charge" in hs.open(path).table("/", where=f"charge = {wanted}").explain()
    assert hs.spark.index(spark, [path], ["/charge"], "X").built_blocks == 0, "existing blocks are reused"


def test_batches_are_bounded_in_bytes(spark: Any, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.zeros((512, 1 << 15)), chunks=(16, 1 << 15))
    frame = spark.read.format("hdf5").options(dataset="/x", layout="rows", partitions=1).load(str(tmp_path / "a.h5"))
    # 128 MiB in 512 rows, although a batch can have 65,536 rows.
    assert metrics(frame.select("x"))["batches"] >= 4


def test_a_table_used_twice_in_a_query_is_read_once(spark: Any, frame: Any, path: pathlib.Path) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:

        def most(where: str) -> Any:
            again = spark.read.format("hdf5").option("dataset", "/x").load(str(path))
            return again.where(where).groupBy("dim_1").agg({"lat": "max"})

        same, other = most("lat > 0").union(most("lat > 0")), most("lat > 0").union(most("lat > 10"))
        joined = most("lat > 0").alias("a").join(most("lat > 0").hint("merge").alias("b"), "dim_1")
        assert "ReusedExchange" in plan(same) and "ReusedExchange" in plan(joined)
        assert "ReusedExchange" not in plan(other)
        assert same.count() == 2 * SHAPE[1] and joined.count() == SHAPE[1]
        assert {row[1] for row in other.select("dim_1", "max(lat)").collect()} == {90.0}
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")


@pytest.mark.once
def test_more_rows_than_31_bits_count(spark: Any, tmp_path: pathlib.Path) -> None:
    rows = 3 << 30
    with h5py.File(tmp_path / "a.h5", "w") as f:
        x = f.create_dataset("x", shape=(rows,), dtype="u1", chunks=(1 << 20,), fillvalue=7)
        x[rows - 3 :] = [1, 2, 3]
        f.create_dataset("wide", shape=(1 << 20, 1 << 14), dtype="u1", chunks=(1 << 10, 1 << 14))
    frame = spark.read.format("hdf5").option("dataset", "/x").load(str(tmp_path / "a.h5"))
    assert frame.count() == rows and frame.where("dim_0 >= 5").count() == rows - 5
    last = [tuple(row) for row in frame.where(f"dim_0 >= {rows - 4}").select("_row", "dim_0", "x").collect()]
    assert last == [(rows - 4 + n, rows - 4 + n, value) for n, value in enumerate([7, 1, 2, 3])]
    assert [row.x for row in frame.where(f"_row > {rows - 3}").select("x").collect()] == [2, 3]
    assert frame.where(f"_row > {1 << 31}").count() == rows - (1 << 31) - 1
    wide = spark.read.format("hdf5").option("dataset", "/wide").load(str(tmp_path / "a.h5"))
    assert wide.count() == 1 << 34
    corner = wide.where(f"dim_0 = {(1 << 20) - 1} and dim_1 = {(1 << 14) - 1}").select("_row").collect()
    assert [row._row for row in corner] == [(1 << 34) - 1]


def test_the_order_of_the_rows_is_reported(spark: Any, frame: Any, path: pathlib.Path) -> None:
    by_row = frame.select("_row", "x").sortWithinPartitions("_row")
    assert "Sort [" not in plan(by_row) and len(by_row.collect()) == SHAPE[0] * SHAPE[1]
    assert "Sort [" in plan(frame.select("_row", "x").sortWithinPartitions("x"))
    twice = spark.read.format("hdf5").option("dataset", "/x").load([str(path), str(path.parent / "grid.h5")])
    assert "Sort [" in plan(twice.select("_row").sortWithinPartitions("_row")), "a file that is named twice is read twice"


def test_the_order_of_many_files_is_reported_if_names_are_ascending(spark: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.sql.functions import col

    for number in (1, 2, 10):
        with h5py.File(tmp_path / f"run_{number}.h5", "w") as f:
            f["x"] = np.arange(5) + 10 * number
            f["g1/y"], f["g2/y"] = np.arange(5), np.arange(5)

    def read(*names: str, dataset: str = "/x") -> Any:
        frame = spark.read.format("hdf5").option("dataset", dataset).option("partitions", 1).load([str(tmp_path / name) for name in names])
        return frame.select(col("_file").alias("f"), col("_row").alias("r"), "*").sortWithinPartitions("_file", "_row")

    rising, falling = read("run_1.h5", "run_2.h5"), read("run_2.h5", "run_10.h5")
    assert "Sort [" not in plan(rising) and "Sort [" in plan(falling), "run_10 is before run_2 as a text, not as a number"
    for frame in (rising, falling):
        keys = [(row.f, row.r) for row in frame.collect()]
        assert keys == sorted(keys) and len(keys) == 10
    # The row positions of two arrays in one file both begin with 0.
    several = read("run_1.h5", "run_2.h5", dataset="/g*/y")
    assert "Sort [" in plan(several)
    (tmp_path / "list.csv").write_text("run_1.h5,/g*/y\n")
    listed = spark.read.format("hdf5").option("partitions", 1).load(str(tmp_path / "list.csv")).select("_row", "y").sortWithinPartitions("_row")
    assert "Sort [" in plan(listed) and [row._row for row in listed.collect()] == [n // 2 for n in range(10)]


def test_partitions_are_as_large_as_asked(spark: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.sql.functions import count, max, spark_partition_id

    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4 << 20, dtype="f8"), chunks=(1 << 16,))

    def bytes_of_partitions(target: int) -> list[int]:
        frame = spark.read.format("hdf5").option("dataset", "/x").option("targetPartitionBytes", target).load(str(tmp_path / "a.h5"))
        return [8 * row["count"] for row in frame.groupBy(spark_partition_id()).agg(max("x"), count("*").alias("count")).collect()]

    for target in (4 << 20, 16 << 20):
        found = sorted(bytes_of_partitions(target))
        assert sum(found) == 32 << 20 and found[-1] <= target * 9 / 8 and len(found) <= 1.5 * (32 << 20) / target
