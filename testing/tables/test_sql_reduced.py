"""SQL whose aggregates are computed on arrays gives the rows of SQL over rows."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pathlib
import re
import weakref

import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest
from hyperslab.engines.reducing import selection
from lib.reductions import judge, make_field, make_query


@pytest.mark.parametrize("seed", range(40))
def test_random_queries_give_what_duckdb_gives_over_rows(tmp_path: pathlib.Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MIN_ROWS", 0)
    field = make_field(tmp_path, seed)
    where = {0: "x > 1", 1: "x < 5 or x is null"}.get(seed % 4)
    table = hs.open(field.files).table("/", where)
    with duckdb.connect() as memory:
        memory.register("fields", table.to_arrow())
        rng = np.random.default_rng(seed)
        for _ in range(20):
            judge(field, table, memory, make_query(field, rng))


@pytest.fixture
def field(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "field.nc"
    rng = np.random.default_rng(0)
    with netCDF4.Dataset(path, "w") as f:
        for name, extent in (("time", 40), ("lat", 60), ("lon", 90)):
            f.createDimension(name, extent)
        time = f.createVariable("time", "i4", ("time",))
        time.units = "days since 2001-01-01"
        time[:] = np.arange(40)
        f.createVariable("lat", "f8", ("lat",))[:] = np.linspace(-88.5, 88.5, 60)
        f.createVariable("lon", "f8", ("lon",))[:] = np.arange(90) * 4
        f.createVariable("t", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(3, 60, 90))[:] = rng.normal(280, 20, (40, 60, 90))
        f.createVariable("u", "f4", ("time", "lat", "lon"), contiguous=True)[:] = rng.normal(0, 5, (40, 60, 90))
    return path


QUERIES = [
    ("select lat, avg(t) from t group by lat", True),
    ("select month(time), lon > 180, max(t), min(t) from t group by all", True),
    ("select sum(t * cos(radians(lat))) / sum(cos(radians(lat))) from t where t > 250", True),
    ("with m as (select time, avg(t) as a from t group by time) select max(a) - min(a) from m", True),
    ("select * from (select lat, lon, count(*) as n, stddev(t) as s from t where t > 300 group by lat, lon having count(*) > 3) where s > 5", True),
    ("select avg(a.t) from t as a where a.lat > 0 and a.time < timestamp '2001-02-01'", True),
    ("select count(*) filter (where t > 280), avg(t::double) from t", True),
    ("select lat, avg(t), rank() over (order by avg(t)) from t group by lat order by 2 limit 3", True),
    # What is asked of coordinates follows from those that have rows.
    ("select max(time), min(lat), count(distinct lon > 90), avg(t) from t where t > 330", True),
    ("select lat, arg_max(time, t), max(t), count(*) from t group by lat order by lat", True),
    ("select arg_min(lat, t) filter (where t > 0) from t", False),
    ("select distinct month(time), lat > 0 from t where t > 330", True),
    ("select distinct lat, lon from t where t > 340 order by lat desc, lon limit 7", True),
    ("select lat from t group by lat having lat > 80", True),
    ("select max(time), stddev(t) from t", False),
    ("select count(distinct t) from t", False),
    ("select any_value(time) from t where t > 1000", True),
    ("select max(time), count(*), count(t), sum(t) from t where t > 1000", True),
    ("select median(t) from t", True),
    ("select lat, quantile_cont(t, 0.1), quantile_cont(t, 0.9), max(t) from t group by lat", True),
    ('select month(time), percentile_disc(0.95) within group (order by t + u) from "/" group by all', True),
    ('select lat, median(u) filter (where t > 280), quantile(abs(t), 0.3) from "/" where u > 1 group by all', True),
    # What cannot be said of the array goes the other way.
    ("select distinct t from t where t > 340", False),
    ("select lat + lon, avg(t) from t group by 1", False),
    ("select max(time), median(t) from t", False),
    ("select lat, lon, median(t) from t group by all", False),
    ("select lat, quantile_cont(t, [0.1, 0.9]) from t group by lat", False),
    ("select quantile_cont(t, 0.5 order by t desc) from t", False),
    ("select lat, avg(t), mode(lat) from t group by lat", False),
    ("select lat, avg(t), length(list(lat)) from t group by lat", False),
    ("select lat, avg(t), random() >= 0 from t group by lat", False),
    ("select lat, sum(distinct t) from t group by lat", False),
    ("select lat, avg(t) from t where lat > (select avg(lat) from lat) group by lat", False),
    ("select lat, count(*) from t group by rollup(lat)", False),
    ("select avg(t) from t where random() >= 0", False),
]


def _alike(one: object, other: object) -> bool:
    return one == other or (isinstance(one, float) and one == pytest.approx(other, rel=1e-9, nan_ok=True))


@pytest.mark.parametrize(("query", "is_reduced"), QUERIES)
def test_explain_says_how_aggregates_are_computed(field: pathlib.Path, query: str, is_reduced: bool) -> None:
    file = hs.open(field)
    found = hs.sql(query, file, **({"/": file.table("/")} if '"/"' in query else {}))
    with duckdb.connect() as memory:
        for name in ("t", "lat", "/"):
            memory.register(name, file.table(name, omitted="ignore").to_arrow())
        wanted = memory.sql(query)
        assert (found.columns, found.types) == (wanted.columns, wanted.types)
        for one, other in zip(sorted(found.fetchall(), key=str), sorted(wanted.fetchall(), key=str), strict=True):
            assert all(map(_alike, one, other)), (one, other)
    note = found.explain().splitlines()[-1]
    assert note.startswith("reduced in the array: keys" if is_reduced else "not reduced in the array: "), note


def test_a_query_leaves_nothing(field: pathlib.Path) -> None:
    relation = hs.sql("select lat, max(t) from t group by lat", field)
    assert relation.fetchall() and "reduced in the array" in relation.explain()
    left = weakref.ref(relation)
    del relation
    gc.collect()
    assert left() is None


def test_as_many_groups_as_rows_are_left_to_duckdb(field: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_GROUPS", 1000)
    found = hs.sql("select time, lat, lon, max(t) as most from t where t > 345 group by all", field)
    with netCDF4.Dataset(field) as f:
        t = f["t"][:].data
    assert sorted(row[-1] for row in found.fetchall()) == sorted(t[t > 345].tolist())
    assert found.explain().splitlines()[-1] == "not reduced in the array: nearly as many groups as rows"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, np.ndarray]:
    """A file of rising values with NaN in two rows, and the values. The file has an index, and one chunk is damaged."""
    path = tmp_path_factory.mktemp("indexed") / "rising.h5"
    values = np.arange(4_000_000, dtype="f8").reshape(4000, 1000)
    values[2000, 7] = values[3995, 3] = np.nan
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, chunks=(4, 1000), compression="gzip")
        f["row"] = np.arange(4000)
        f["x"].dims[0].label = "row"
        f["row"].make_scale("row")
        f["x"].dims[0].attach_scale(f["row"])
    hs.index(path, "/x")
    with h5py.File(path) as f:
        chunk = f["x"].id.get_chunk_info(50)
    content, times = bytearray(path.read_bytes()), path.stat()
    content[chunk.byte_offset : chunk.byte_offset + chunk.size] = bytes(chunk.size)
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return path, values


@pytest.mark.parametrize(
    ("query", "answered"),
    [
        ("select min(x), max(x), count(x), count(*) from x", "all"),
        ("select count(*) from x where x > 1000", "all"),
        ("select count(x), count(*) from x where x between 150000 and 2500000.5 or x > 3e6", "all"),
        ("select row // 500, max(x), min(x) from x group by 1", "some"),
        ("select row // 500, count(*) from x where x >= 2e6 group by 1", "some"),
        ("select avg(x) from x where x > 2000000", "some"),
        ("select row // 500, sum(x) from x where x > 2e6 and x < 2.9e6 group by 1", "some"),
    ],
)
def test_windows_that_an_index_answers_are_not_read(indexed: tuple[pathlib.Path, np.ndarray], query: str, answered: str) -> None:
    path, values = indexed
    found = hs.sql(query, path)
    with duckdb.connect() as memory:
        memory.register("x", pa.table({"row": np.repeat(np.arange(4000), 1000), "x": values.reshape(-1)}))
        wanted = memory.sql(query).fetchall()
    for one, other in zip(sorted(found.fetchall(), key=str), sorted(wanted, key=str), strict=True):
        assert all(map(_alike, one, other)), (one, other)
    shown = re.search(r"; an index answers ([\d,]+) of ([\d,]+) windows$", found.explain())
    assert shown is not None
    count, of = (int(number.replace(",", "")) for number in shown.groups())
    assert 0 < count < of if answered == "some" else 20 < count == of


def test_a_window_that_no_index_answers_is_read(indexed: tuple[pathlib.Path, np.ndarray]) -> None:
    with pytest.raises(hs.CorruptError):
        hs.sql("select avg(x) from x where x > 1000", indexed[0]).fetchall()


def test_few_rows_are_found_by_an_index(indexed: tuple[pathlib.Path, np.ndarray]) -> None:
    found = hs.sql("select count(*), min(x) from x where x > 3990000", indexed[0])
    kept = indexed[1][indexed[1] > 3_990_000]
    assert found.fetchall() == [(kept.size + 2, kept.min())]  # NaN is greater than every number in SQL
    assert found.explain().splitlines()[-1] == "not reduced in the array: an index finds few rows"


def test_variables_of_a_grid_are_reduced_together(field: pathlib.Path) -> None:
    file = hs.open(field)
    with netCDF4.Dataset(field) as f:
        t, u = f["t"][:].data, f["u"][:].data
    (found,) = hs.sql(
        'select avg(u * u + t * t), max(t - u), count(*) from "/" where u > 0 and t > 280', g=file.table("/"), **{"/": file.table("/")}
    ).fetchall()
    kept = (u > 0) & (t > 280)
    assert found == pytest.approx(((u * u + t * t)[kept].mean(dtype="f8"), (t - u)[kept].max(), kept.sum()), rel=1e-9)


def test_parameters_and_few_rows(field: pathlib.Path) -> None:
    file = hs.open(field)
    with netCDF4.Dataset(field) as f:
        t, lat = f["t"][:].data, f["lat"][:].data
    query = hs.sql("select count(*), max(t) from t where lat > ? and t < ?", file, parameters=[10, 300.5])
    kept = t[:, lat > 10]
    assert query.fetchall() == [(int((kept < 300.5).sum()), float(kept[kept < 300.5].max()))]
    assert query.explain().splitlines()[-1].startswith("reduced in the array")
    assert "few rows" in hs.sql("select max(lat) from lat", file).explain()


def test_aggregates_of_a_table(field: pathlib.Path) -> None:
    table = hs.open(field).table("t", "lat > 0")
    with netCDF4.Dataset(field) as f:
        t, lat = f["t"][:].data, f["lat"][:].data
    found = table.aggregate({"mean": "avg(t)", "n": "count(*)"}, by=["lat"]).sort_by("lat")
    assert found.column_names == ["lat", "mean", "n"]
    np.testing.assert_allclose(found["mean"], t[:, lat > 0].mean((0, 2), dtype="f8"), rtol=1e-12)
    assert table.aggregate({"n": "count(*)", "m": "max(t)"}).to_pylist() == [{"n": t[:, lat > 0].size, "m": float(t[:, lat > 0].max())}]
    empty = hs.open(field).table("t", "lat > 100")
    assert empty.aggregate({"n": "count(*)", "m": "max(t)"}).to_pylist() == [{"n": 0, "m": None}]
    assert empty.aggregate({"n": "count(*)"}, by="lat").num_rows == 0
    for refused in ({}, {"a": "nothing(t)"}, {"a": "avg("}):
        with pytest.raises(hs.InvalidInputError):
            table.aggregate(refused)


def test_the_result_does_not_depend_on_threads(field: pathlib.Path) -> None:
    query = "select month(time), sum(t), stddev(t), avg(t * u) from g where u > -4 group by 1 order by 1"
    results = [hs.sql(query, g=hs.open(field, threads=threads).table("/")).fetchall() for threads in (1, 2, 5)]
    assert results[0] == results[1] == results[2]


def test_queries_do_not_see_what_others_make(field: pathlib.Path) -> None:
    relation = hs.sql("select 1 as x", field)
    relation.create("made")
    for query in ("select * from made", "select * from memory.made"):
        with pytest.raises(hs.InvalidInputError, match="made"):
            hs.sql(query, field).fetchall()
    relation.create("other")
    hs.sql("select 1 as x", field).create("made")
    with pytest.raises(hs.InvalidInputError):
        hs.sql("select * from t", t=hs.open(field).table("lat")).query("lat", "select * from t limit 1").fetchall()
        hs.sql("select * from lat").fetchall()
    chained = hs.sql("select lat from lat", field).filter("lat > 0").limit(2)
    for _ in range(3):
        hs.sql("select count(*) from t where t > 300", field).fetchall()
    assert len(chained.fetchall()) == 2


def test_a_forked_process_makes_an_instance_of_its_own(field: pathlib.Path) -> None:
    query = "select lat, avg(t) from t group by lat order by lat"
    wanted = hs.sql(query, field).fetchall()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.starmap(_asked, [(query, str(field))] * 4):
            assert found == wanted


def _asked(query: str, path: str) -> list[tuple[object, ...]]:
    return hs.sql(query, path).fetchall()


#: Names, aliases, places, and parts of SQL that are near aggregates of a grid with the coordinates `a` and `b`.
NEAR = """
select A, avg(X) from t group by a
select b as a, sum(x) from t group by 1
select a * 2 as a, sum(x) from t group by a
select a, sum(x) as x from t group by a having x > 50
select a, sum(x) s from t group by a order by s desc limit 2 offset 1
select count(x), count(*), count(1), count(a) from t
select sum(b), max(a), min(a) from t where x > 3
select distinct avg(x) from t group by a
select a, avg(x) from t group by a union all select b, avg(x) from t group by b
select avg(x) from t where a in (select a from t where b = 3)
select 'k' k, avg(x) from t group by k
select avg(x) from t having avg(x) > 100
select avg(x) from t where false
select a, avg(x) from t where null group by a
select a is null, avg(x) from t group by 1
select avg(x) filter (where b > 3), avg(x) filter (where x > 3 or b < 2) from t
select sum(x) / count(*) r, -sum(x), sum(-x), sum(abs(x)) from t
select t1.a, avg(t1.x) from t t1 group by t1.a
select a, max(x), max(x) - min(x) as "q r" from t group by all order by all
select count(*) from t where x is null and b = 0
select count(*) from t where x in (1, null)
select count(*) from t where x between b and 8
select case when a > 1 then sum(x) else 0 end from t group by a
from t select avg(x)
select a, avg(x) from t group by cube(a)
select avg(x) from t qualify row_number() over () = 1
select avg(columns('x')) from t
select a, string_agg(b::text, '' order by b) from t group by a
""".strip().splitlines()


@pytest.mark.parametrize("rows", [6, 0])
def test_queries_near_aggregates_give_what_duckdb_gives(tmp_path: pathlib.Path, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MIN_ROWS", 0)
    with netCDF4.Dataset(tmp_path / "near.nc", "w") as f:
        f.createDimension("a", None)
        f.createDimension("b", 7)
        f.createVariable("b", "i4", ("b",))[:] = np.arange(7)
        a, x = f.createVariable("a", "f8", ("a",)), f.createVariable("x", "f4", ("a", "b"), fill_value=-9)
        if rows:
            a[:] = [1, 1, 2, 2, 3, 3]
            x[:] = np.ma.masked_equal(np.arange(rows * 7).reshape(rows, 7) % 11, 5)
    table = hs.open(tmp_path / "near.nc").table("x")
    with duckdb.connect() as memory:
        memory.register("t", table.to_arrow())
        for query in NEAR:
            found, wanted = hs.sql(query, t=table), memory.sql(query)
            assert (found.columns, found.types) == (wanted.columns, wanted.types), query
            ours, theirs = (sorted(relation.fetchall(), key=str) for relation in (found, wanted))
            assert len(ours) == len(theirs), query
            assert all(all(map(_alike, one, other)) for one, other in zip(ours, theirs, strict=True)), query


def test_virtual_datasets_and_members_of_compounds_are_reduced(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MIN_ROWS", 0)
    layout = h5py.VirtualLayout((20, 4), "f8")
    layout[:10] = h5py.VirtualSource("source.h5", "x", (10, 4))
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f["x"] = np.arange(40.0).reshape(10, 4)
        f["r"] = np.array([(1, 2.5), (2, np.nan), (3, 4.0)], dtype=[("i", "i4"), ("e", "f8")])
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        f.create_virtual_dataset("x", layout, fillvalue=-2)
    virtual = hs.sql("select dim_1, sum(x), min(x) from x group by dim_1 order by dim_1", tmp_path / "virtual.h5")
    assert virtual.fetchall() == [(column, sum(range(column, 40, 4)) - 20.0, -2.0) for column in range(4)]
    records = hs.sql("select count(e), sum(i), min(e) from r where not isnan(e)", tmp_path / "source.h5")
    assert records.fetchall() == [(2, 4, 2.5)]
    assert all(relation.explain().splitlines()[-1].startswith("reduced") for relation in (virtual, records))
