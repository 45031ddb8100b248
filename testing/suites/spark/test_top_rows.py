"""The first rows of a sort order, limits and offsets: the answers of Spark without push-down, with fewer values read."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest
from test_push_down import metrics, plan

ROWS = 40_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """One group of columns with ties, NaN, nulls, both zeros and infinities."""
    path = tmp_path_factory.mktemp("top") / "a.h5"
    random = np.random.default_rng(7)
    x = random.standard_normal(ROWS)
    x[random.choice(ROWS, 60, replace=False)] = np.nan
    x[random.choice(ROWS, 20, replace=False)] = [np.inf, -np.inf] * 10
    few = np.array([0.0, -0.0, 1.0, np.nan, -1.0], "f4")[random.integers(0, 5, ROWS)]
    with h5py.File(path, "w") as f:
        for name, data in {
            "x": x,
            "few": few,
            "number": random.integers(0, 50, ROWS),
            "huge": random.integers(2**63, 2**64, ROWS, "u8"),
            "flag": random.random(ROWS) < 0.5,
            "day": random.integers(0, 3000, ROWS),
            "other": np.arange(ROWS, dtype="f8"),
        }.items():
            f.create_dataset(name, data=data, chunks=(1000,), compression="gzip", compression_opts=1)
        # With a fill value, decoded values can be null.
        packed = f.create_dataset("packed", data=random.integers(-3, 300, ROWS).astype("i2"), chunks=(1000,))
        packed.attrs.update(_FillValue=np.int16(-1), scale_factor=0.5)
        f["day"].attrs["units"] = "days since 2020-01-01"
        f.create_dataset("name", data=[f"n{n}" for n in random.integers(0, 9000, ROWS)], dtype=h5py.string_dtype(), chunks=(1000,))
    return path


@pytest.fixture
def frame(spark: Any, path: pathlib.Path) -> Any:
    return spark.read.format("hdf5").option("partitions", 3).load(str(path))


@pytest.fixture(scope="module")
def in_memory(spark: Any, path: pathlib.Path) -> Any:
    """The same rows, which Spark sorts without this reader."""
    cached = spark.read.format("hdf5").load(str(path)).select("*", "_row").cache()
    assert cached.count() == ROWS
    yield cached
    cached.unpersist()


def same(value: Any) -> Any:
    """Values that are equal in Spark's order: NaN equals NaN, and the zeros are equal."""
    return "NaN" if isinstance(value, float) and value != value else value


@pytest.mark.parametrize(
    ("order", "where"),
    [
        ("x", ""),
        ("x desc", ""),
        ("x desc nulls first", "number < 7"),
        ("few desc, x", ""),
        ("few, number desc, other desc", ""),
        ("packed", ""),
        ("packed desc nulls first, x desc", ""),
        ("packed nulls last, name", "flag"),
        ("name desc, number", "x > 0.5"),
        ("huge desc", ""),
        ("flag, x", "few = 0"),
        ("day desc, name", ""),
        ("other desc", "x > 3 or x < -3"),
        ("_row desc", "number = 3"),
        ("x", "x > 2 and x < 2.05"),
        ("x", "number = 1000"),
        ("number", ""),
    ],
)
@pytest.mark.parametrize("rows", [3, 700])
def test_the_first_rows_are_those_of_a_sort(frame: Any, in_memory: Any, order: str, where: str, rows: int) -> None:
    from pyspark.sql.functions import expr

    def first(table: Any) -> Any:
        columns = ["x", "few", "number", "huge", "flag", "day", "other", "packed", "name", "_row"]
        table = table.where(where) if where else table
        keys = [part.strip() for part in order.split(",")]
        terms = []
        for key in keys:
            words = key.split()
            term = expr(words[0])
            ending = f"{'desc' if 'desc' in words else 'asc'}{'_nulls_first' if 'first' in words else '_nulls_last' if 'last' in words else ''}"
            terms.append(getattr(term, ending)())
        return table.orderBy(*terms).limit(rows).select(*columns)

    ours = first(frame)
    assert "PushedTopN: [" in plan(ours), plan(ours)
    ours, theirs = ours.collect(), first(in_memory).collect()
    names = [part.split()[0] for part in order.split(",")]
    assert [[same(row[name]) for name in names] for row in ours] == [[same(row[name]) for name in names] for row in theirs]
    # Spark may choose other rows among equal ones, but each is a row of the table.
    numbers = [row._row for row in ours]
    assert len(set(numbers)) == len(numbers)
    genuine = (
        {row._row: tuple(map(same, row)) for row in in_memory.where(in_memory["_row"].isin(numbers)).select(*ours[0].__fields__).collect()} if ours else {}
    )
    assert all(genuine[row._row] == tuple(map(same, row)) for row in ours)


def fewest_chunks(frame: Any) -> int:
    """Chunks that three runs decode, the fewest: now and then a task compares its indexes with some chunks of the data."""
    return min(metrics(frame)["chunksDecoded"] for _ in range(3))


def test_other_columns_are_read_at_the_first_rows_only(spark: Any, path: pathlib.Path) -> None:
    one = spark.read.format("hdf5").option("partitions", 1).load(str(path))
    everything = metrics(one.select("x", "other"))["chunksDecoded"]
    top = metrics(one.select("x", "other").orderBy("x").limit(3))["chunksDecoded"]
    assert everything == 80 and 40 <= top <= 43, "all of x, and the other column's chunks of at most three rows"


def test_an_index_tells_where_the_first_rows_are(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    path = tmp_path / "a.h5"
    random = np.random.default_rng(5)
    values = random.random(6 << 16)
    values[5 * (1 << 16) + 77] = 9
    values[2 * (1 << 16) + 5] = -9
    values[9] = np.nan
    with h5py.File(path, "w") as f:
        for name, data in (("energy", values), ("number", np.arange(values.size))):
            f.create_dataset(name, data=data, chunks=(1 << 16,), compression="gzip", compression_opts=1)

    def first(order: str, rows: int = 2, where: str = "number >= 0") -> Any:
        table = spark.read.format("hdf5").option("partitions", 1).load(str(path)).where(where)
        return table.selectExpr("number", "energy").orderBy(getattr(table["energy"], order)()).limit(rows)

    before = {order: [row.number for row in first(order).collect()] for order in ("asc", "desc")}
    assert before["asc"][0] == 2 * (1 << 16) + 5 and before["desc"] == [9, 5 * (1 << 16) + 77]
    scanned = metrics(first("asc", where="energy < 100"))["chunksDecoded"]
    hs.index(path, "/energy", "X")
    for order, found in before.items():
        assert [row.number for row in first(order).collect()] == found
        # The other column's chunks of the two rows, and a chunk with which the index may be compared.
        plain = first(order, where="energy < 100" if order == "asc" else "energy > -100")
        assert fewest_chunks(plain) <= 2 + 1 < scanned, order
    # Zones rule out chunks for a sort of rows that another column's condition leaves.
    ordered = tmp_path / "b.h5"
    with h5py.File(ordered, "w") as f:
        f.create_dataset("t", data=np.arange(20 << 16) / 7, chunks=(1 << 16,), compression="gzip", compression_opts=1)
        f.create_dataset("key", data=np.arange(20 << 16) % 3, chunks=(1 << 16,), compression="gzip", compression_opts=1)
    hs.index(ordered, "/t", "Z")
    table = spark.read.format("hdf5").option("partitions", 1).load(str(ordered)).where("key = 1")
    last = table.orderBy(table["t"].desc()).limit(4).select("t", "key", "_row")
    wanted = [n for n in range(20 << 16) if n % 3 == 1][-4:][::-1]
    assert [row._row for row in last.collect()] == wanted
    assert fewest_chunks(last) <= 2 * 2 + 1, "the last window, of 20 chunks in each column"


def test_a_dimension_tells_where_the_first_rows_are(spark: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "grid.h5"
    data = np.random.default_rng(2).standard_normal((60, 500)).astype("f4")
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", data=data, chunks=(5, 500), compression="gzip")
        level = np.random.default_rng(3).permutation(60).astype("f8")
        level[11] = np.nan
        f["level"] = level
        f["level"].make_scale("level")
        x.dims[0].attach_scale(f["level"])
    table = spark.read.format("hdf5").option("dataset", "/x").load(str(path))
    lowest = table.orderBy("level").limit(5)
    assert metrics(lowest)["chunksDecoded"] == 1 and {row.level for row in lowest.collect()} == {np.nanmin(level)}
    highest = table.orderBy(table["level"].desc(), table["x"]).limit(502)
    rows = highest.collect()
    best = int(np.nanargmax(level))
    np.testing.assert_array_equal(np.array([row.x for row in rows], "f4"), np.concatenate([np.sort(data[11]), np.sort(data[best])[:2]]))
    last = table.orderBy(table["dim_1"].desc(), table["level"]).limit(3).collect()
    assert [row.dim_1 for row in last] == [499] * 3 and [row.level for row in last] == sorted(level)[:3]


def test_the_first_rows_of_many_files(spark: Any, tmp_path: pathlib.Path) -> None:
    import hyperslab as hs

    random = np.random.default_rng(4)
    every = []
    for number in range(6):
        values = random.integers(0, 1 << 40, 1 << 16) + (number == 4) * (1 << 41)
        every.append(values)
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f.create_dataset("v", data=values, chunks=(1 << 14,), compression="gzip")
        hs.index(tmp_path / f"{number}.h5", "/v")
    table = spark.read.format("hdf5").load(str(tmp_path))
    top = table.orderBy(table["v"].desc()).limit(9).select("v", "_file")
    assert [row.v for row in top.collect()] == sorted(np.concatenate(every).tolist(), reverse=True)[:9]
    assert {row._file[-4] for row in top.collect()} == {"4"}
    assert fewest_chunks(top) <= 4 + 1, "no more than one of six files"
    assert table.orderBy("v").limit(3).collect() == sorted(table.collect())[:3]


def test_what_cannot_be_sorted_by_the_reader_is_sorted_by_spark(spark: Any, frame: Any, tmp_path: pathlib.Path) -> None:
    from pyspark.sql.functions import expr

    for order in ("abs(x)", "cast(number as string)", "x + number"):
        top = frame.orderBy(expr(order)).limit(4).selectExpr(order)
        assert "PushedTopN" not in plan(top) and len(top.collect()) == 4
    with h5py.File(tmp_path / "own.h5", "w") as f:
        f["_row"] = np.arange(100)[::-1]
        f["y"] = np.arange(100)
    own = spark.read.format("hdf5").load(str(tmp_path / "own.h5"))
    assert [row.y for row in own.orderBy("_row").limit(2).collect()] == [99, 98]
    assert "PushedTopN" not in plan(frame.where("x + number > 3").orderBy("x").limit(2)), "a condition that Spark tests"


@pytest.mark.parametrize(("offset", "limit"), [(0, 5), (3, 5), (14_000, 20), (39_998, 10), (50_000, 10), (13_333, None), (39_999, None), (40_000, None)])
def test_offsets_and_limits_read_only_their_rows(frame: Any, offset: int, limit: int | None) -> None:
    some = frame.select("other", "_row").offset(offset)
    some = some.limit(limit) if limit is not None else some
    wanted = list(range(ROWS))[offset:][:limit]
    assert [row._row for row in some.collect()] == wanted
    text = plan(some)
    if offset:
        assert f"PushedOffset: {offset}" in text and "GlobalLimit" not in text and "Limit (" not in text, text
    decoded = metrics(frame.offset(14_500).limit(20).select("other"))["chunksDecoded"]
    assert decoded == 1


def test_an_offset_of_rows_that_must_be_tested_stays_with_spark(frame: Any, in_memory: Any) -> None:
    some = frame.where("number = 3").select("_row").offset(10).limit(4)
    assert "PushedOffset" not in plan(some) and "PushedLimit: 14" in plan(some)
    assert [row._row for row in some.collect()] == [row._row for row in in_memory.where("number = 3").orderBy("_row").select("_row").collect()][10:14]
    cut = frame.where("other >= 100 and other < 900").select("_row").offset(10)
    assert len(cut.collect()) == 790


def test_offsets_count_through_several_files(spark: Any, tmp_path: pathlib.Path) -> None:
    for number in range(4):
        with h5py.File(tmp_path / f"{number}.h5", "w") as f:
            f["v"] = np.arange(10) + 10 * number
    table = spark.read.format("hdf5").load(str(tmp_path)).select("v")
    for offset, limit in ((8, 5), (0, 25), (19, 2), (35, 99)):
        some = table.offset(offset).limit(limit)
        assert [row.v for row in some.collect()] == list(range(40))[offset : offset + limit]
    assert table.limit(15).offset(12).count() == 3 and table.offset(12).count() == 28
