"""Tables in other engines: Polars, DuckDB's own connections, Dask. What is pushed down changes no row."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import dask.dataframe
import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hyperslab.engines.polars_predicate import pushed
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

ROWS = 400


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> hs.Table:
    """A column of each kind, with NaN, missing values, and integers that no double has."""
    path = tmp_path_factory.mktemp("engines") / "mixed.nc"
    random = np.random.default_rng(7)
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("row", ROWS)
        single, double = random.normal(0, 1, ROWS).astype("f4"), random.normal(0, 1, ROWS)
        single[::7], double[::5], single[3], double[4] = np.nan, np.nan, np.inf, -np.inf
        single[10:20] = 0.1
        f.createVariable("single", "f4", "row")[:] = single
        f.createVariable("double", "f8", "row")[:] = double
        f.createVariable("big", "i8", "row")[:] = 2**53 + random.integers(-3, 4, ROWS)
        small = f.createVariable("small", "i2", "row", fill_value=-1)
        small[:] = random.integers(-1, 9, ROWS)
        f.createVariable("unsigned", "u8", "row")[:] = random.integers(0, 5, ROWS).astype("u8") + 2**63
        text = f.createVariable("text", str, "row")
        for row in range(ROWS):
            text[row] = ("", "a", "it's", "ä", "b" * 9)[row % 5]
        time = f.createVariable("time", "f8", "row")
        time.units = "hours since 2020-01-01"
        time[:] = np.arange(ROWS)
        model_time = f.createVariable("model_time", "f8", "row")
        model_time.units, model_time.calendar = "days since 2000-02-01", "360_day"
        model_time[:] = np.arange(ROWS)
    with h5py.File(path, "a") as h5:
        flag = h5.create_dataset("flag", data=random.integers(0, 2, ROWS).astype(bool))
        flag.dims[0].attach_scale(h5["row"])
        kind = h5.create_dataset("kind", data=random.integers(0, 2, ROWS).astype("i1"), dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1}, "i1"))
        kind.dims[0].attach_scale(h5["row"])
    return hs.open(path).table("/", omitted="error")


COMPARED: dict[str, list[Any]] = {
    "single": [0.1, -0.5, 0.0, float("inf"), float("nan"), np.float32(0.1), 1],
    "double": [0.25, -0.5, 0, float("nan"), float("-inf")],
    "big": [2**53, 2**53 + 1, 2**53 - 2, float(2**53), 0.5, 2**62],
    "small": [0, 3, 3.5, -1, 8.0],
    "unsigned": [2**63 + 2, 0, 2**63],
    "text": ["a", "", "it's", "ä", "zz"],
    "time": [datetime.datetime(2020, 1, 3, 4), datetime.datetime(2020, 1, 1, 0, 0, 0, 1), datetime.date(2020, 1, 5), datetime.datetime(1066, 10, 14)],
    "model_time": ["2000-02-30", "2000-02-30T00:00:00", "2001"],
}
OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")


@st.composite
def predicates(draw: st.DrawFn, depth: int = 3) -> pl.Expr:
    what = draw(
        st.sampled_from(["compare", "turned", "between", "null", "flag", "columns", "in", "and", "or", "not"] if depth else ["compare", "between", "null"])
    )
    name = draw(st.sampled_from(list(COMPARED)))
    column, value = pl.col(name), draw(st.sampled_from(COMPARED[name]))
    if what == "compare":
        return getattr(column, draw(st.sampled_from(OPERATORS)))(value)
    if what == "turned":
        return getattr(pl.lit(value), draw(st.sampled_from(OPERATORS)))(column)
    if what == "between":
        return column.is_between(value, draw(st.sampled_from(COMPARED[name])), draw(st.sampled_from(["both", "left", "right", "none"])))
    if what == "null":
        return draw(st.sampled_from([pl.col("small").is_null(), pl.col("small").is_not_null(), pl.col("single").is_nan()]))
    if what == "flag":
        return draw(st.sampled_from([pl.col("flag"), ~pl.col("flag"), pl.col("flag") == True, pl.col("kind").cast(pl.String) == "RED"]))  # noqa: E712
    if what == "columns":
        return pl.col("single") > pl.col("double")
    if what == "in":
        return pl.col("small").is_in([1, 3, 5])
    left, right = draw(predicates(depth - 1)), draw(predicates(depth - 1))
    return ~left if what == "not" else left & right if what == "and" else left | right


@settings(max_examples=examples(150), deadline=None)
@given(predicate=predicates(), engine=st.sampled_from(["in-memory", "streaming"]), few=st.booleans())
def test_polars_gets_the_rows_that_it_would_filter_itself(mixed: hs.Table, predicate: pl.Expr, engine: Any, few: bool) -> None:
    whole = pl.from_arrow(mixed.to_arrow())
    assert isinstance(whole, pl.DataFrame)
    columns = ["small", "text"] if few else whole.columns
    try:
        expected = whole.lazy().filter(predicate).select(columns).collect()
    except pl.exceptions.PolarsError as error:
        with pytest.raises(type(error)):
            hs.scan_polars(mixed).filter(predicate).select(columns).collect(engine=engine)
        return
    found = hs.scan_polars(mixed).filter(predicate).select(columns).collect(engine=engine)
    assert found.equals(expected, null_equal=True), predicate


PUSHED = [
    (pl.col("single") > 0.5, '"single" > 0.5 or "single" is nan'),
    (pl.col("single") <= 0.1, '"single" <= 0.10000000149011612'),
    (pl.col("big") == 2**53 + 1, '"big" = 9007199254740993'),
    (pl.col("small") < 3.5, '"small" < 3.5'),
    (pl.lit(3) > pl.col("small"), '"small" < 3'),
    (pl.col("text") == "it's", "\"text\" = 'it''s'"),
    (pl.col("time") >= datetime.datetime(2020, 1, 3, 4), "\"time\" >= '2020-01-03T04:00:00'"),
    (~pl.col("flag"), '"flag" = false'),
    (pl.col("small").is_null(), '"small" is null'),
    (pl.col("small").is_between(1, 4, "left"), '("small" >= 1) and ("small" < 4)'),
    ((pl.col("small") == 1) & pl.col("text").str.contains("x"), '("small" = 1)'),
    ((pl.col("small") == 1) | (pl.col("small") == 2), '("small" = 1) or ("small" = 2)'),
    ((pl.col("small") == 1) | pl.col("text").str.contains("x"), None),
    (pl.col("model_time") == "2000-02-30", None),
    (pl.col("single") > float("nan"), None),
    (pl.col("small").is_in([1, 2]), None),
]


@pytest.mark.parametrize(("predicate", "condition"), PUSHED, ids=[str(predicate) for predicate, _ in PUSHED])
def test_what_polars_pushes_down(mixed: hs.Table, predicate: pl.Expr, condition: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def noted(predicate: pl.Expr, schema: pa.Schema) -> str | None:
        seen.append(pushed(predicate, schema))
        return seen[-1]

    monkeypatch.setattr("hyperslab.engines.polars_scan.pushed", noted)
    hs.scan_polars(mixed).filter(predicate).collect()
    assert seen == [condition]
    assert condition is None or mixed._request.narrowed(condition).plan().count() >= 0, "the core takes it"


def bytes_of(read: Any) -> int:
    before = hs.counters()
    read()
    return hs.counters().since(before).bytes_read


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("engines") / "wide.h5"
    with h5py.File(path, "w") as f:
        for name in "abcd":
            f[f"g/{name}"] = np.arange(1 << 18, dtype="f8")
    return path


def test_what_each_engine_leaves_unread(wide: pathlib.Path) -> None:
    """The table of docs/engines.md."""
    table = hs.open(wide).table("/g")
    column, whole = 8 << 18, 4 * (8 << 18)
    assert bytes_of(table.to_arrow) >= whole
    frame = hs.scan_polars(table)
    con = duckdb.connect()
    hs.attach(con, wide, "x")
    for name, read in {
        "Polars": lambda: frame.select("b").sum().collect(),
        "DuckDB": lambda: con.sql("select sum(b) from x.g").fetchall(),
        "hs.sql": lambda: hs.sql("select sum(b) from g", wide).fetchall(),
        "Dask": lambda: hs.open(wide).table("/g", columns=["b"]).to_dask(4)["b"].sum().compute(),
    }.items():
        assert column <= bytes_of(read) < 1.5 * column, name
    for name, read in {
        "Polars": lambda: frame.head(5).collect(),
        "Polars, streaming": lambda: frame.head(5).collect(engine="streaming"),
    }.items():
        assert bytes_of(read) < column, name
    # DuckDB stops to ask; what was read ahead is read.
    assert bytes_of(lambda: con.sql("select * from x.g limit 5").fetchall()) <= whole


def test_conditions_on_dimensions_become_hyperslabs_in_polars_and_in_duckdb(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "cube.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("v", data=np.arange(2_000_000.0).reshape(200, 10_000), chunks=(1, 10_000))
    frame = hs.scan_polars(path, "/v")
    con = duckdb.connect()
    hs.attach(con, path, "x")
    for read in (lambda: frame.filter(pl.col("dim_0") == 7).collect().height, lambda: len(con.sql("select * from x.v where dim_0 = 7").fetchall())):
        rows: list[int] = []
        assert bytes_of(lambda read=read, rows=rows: rows.append(read())) < 1_000_000  # type: ignore[misc]
        assert rows == [10_000]


def test_a_lazy_frame_of_a_table_with_conditions_and_limits(wide: pathlib.Path) -> None:
    f = hs.open(wide)
    few = hs.scan_polars(f, "/g", where="a < 10", columns=["_row", "b"])
    assert few.collect()["_row"].to_list() == list(range(10))
    assert few.filter(pl.col("b") > 7).collect()["b"].to_list() == [8.0, 9.0]
    assert few.head(3).filter(pl.col("b") > 1).collect()["b"].to_list() == [2.0]
    limited = hs.scan_polars(f.table("/g", limit=100))
    assert limited.filter(pl.col("a") > 95).collect()["a"].to_list() == [96.0, 97.0, 98.0, 99.0]
    assert limited.head(200).collect().height == 100
    expression = hs.scan_polars(f.table("/g", where=pa.compute.field("a") < 10))
    assert expression.select("b").filter(pl.col("b") > 7).collect()["b"].to_list() == [8.0, 9.0]
    assert few.select(pl.len()).collect().item() == 10
    with pytest.raises(hs.InvalidInputError, match="takes no path"):
        hs.scan_polars(f.table("/g"), "/g")
    with pytest.raises(hs.NotFoundError):
        hs.scan_polars(f, "/nothing")


def test_errors_of_a_scan_reach_polars_and_duckdb(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=np.arange(4000.0), chunks=(1000,), compression="gzip")
        place = f["x"].id.get_chunk_info(2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"\xff" * place.size)
    with pytest.raises(hs.CorruptError, match="/x"):
        hs.scan_polars(tmp_path / "a.h5", "/x").collect()
    con = duckdb.connect()
    hs.attach(con, tmp_path / "a.h5", "x")
    with pytest.raises(duckdb.Error, match="object /x"):
        con.sql("select sum(x) from x.x").fetchall()
    with pytest.raises(hs.CorruptError, match="/x"):
        hs.open(tmp_path / "a.h5").table("/x").to_dask(2).compute()


def test_two_files_are_joined_under_their_names(tmp_path: pathlib.Path) -> None:
    for day, shift in (("monday", 0), ("tuesday", 10)):
        with h5py.File(tmp_path / f"{day}.h5", "w") as f:
            f["x"], f["deep/y"] = np.arange(5) + shift, [shift]
    a, b = hs.open(tmp_path / "monday.h5"), tmp_path / "tuesday.h5"
    assert hs.sql("select b.x.x - a.x.x as change from a.x join b.x using (dim_0)", a=a, b=b).fetchall() == [(10,)] * 5
    assert hs.sql('select a."deep/y".y, b.y.y from a."deep/y", b.y', a=a, b=b).fetchall() == [(0, 10)]
    assert hs.sql("select p.x, q.x from x as p join b.x as q using (dim_0) where p.x > ?", a, b=b, parameters=[3]).fetchall() == [(4, 14)]
    assert hs.sql("select count(*) from x where x > $least", a, parameters={"least": 2}).fetchall() == [(2,)]
    assert hs.sql("select count(*) + 0 from days.x", days=[tmp_path / "monday.h5", b]).fetchall() == [(10,)]
    names = pd.DataFrame({"dim_0": [1, 3], "name": ["one", "three"]})
    assert hs.sql("select name, x from x join names using (dim_0)", a, names=names).fetchall() == [("one", 1), ("three", 3)]
    assert hs.sql("select max(x) from few", few=a.table("/x", "x < 3")).fetchall() == [(2,)]
    assert hs.sql("select count(*) from t", t=pl.DataFrame({"a": [1, 2]})).fetchall() == [(2,)]
    listed = {(row[0], row[2]) for row in hs.sql("show all tables", a=a, b=b).fetchall()}
    assert listed == {(file, view) for file in "ab" for view in ("x", "deep", "deep/y")}
    assert hs.sql("select 40 + 2").fetchall() == [(42,)]
    for says, query, named in (
        ("there is no view 'z'; nearest|there is no view 'z'$", "select * from z", {"a": a, "b": b}),
        ("there is no view 'xx'; nearest: a.x, b.x", "select * from a.xx", {"a": a, "b": b}),
        ("names=int: give a file", "select * from names", {"names": 3}),
        ("the name 'memory' cannot be used", "select 1", {"memory": a}),
    ):
        with pytest.raises(hs.InvalidInputError, match=says):
            hs.sql(query, **named)
    with pytest.raises(hs.NotFoundError):
        hs.sql("select * from a.x", a=tmp_path / "none.h5")


def test_a_view_with_wildcards(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "steps.h5", "w") as f:
        for step in (1, 2, 10):
            f[f"Step#{step}/x"], f[f"Step#{step}/Y"] = np.arange(2) + step, [0, 1]
    assert hs.sql('select Step, sum(x) from "Step#*" group by Step order by Step', tmp_path / "steps.h5").fetchall() == [(1, 3), (2, 5), (10, 21)]
    assert hs.sql('select max(x) from "/Step#?/x"', tmp_path / "steps.h5").fetchall() == [(3,)]
    assert hs.sql('select sum("Y") from "Step#*/Y"', tmp_path / "steps.h5").fetchall() == [(3,)]
    con = duckdb.connect()
    assert hs.attach(con, tmp_path / "steps.h5", "s", objects=["/Step#*", "Step#1/x"]).views == ("/Step#*".lstrip("/"), "Step#1/x")
    assert con.sql('select count(*) from s."Step#*"').fetchall() == [(6,)]
    with pytest.raises(hs.InvalidInputError, match="there is no view 'Wrong#"):
        hs.sql('select * from "Wrong#*"', tmp_path / "steps.h5")


def test_views_in_a_connection_of_its_user(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f['odd "name"'], f["deep/x"] = np.arange(5), [1], [7]
        f["null"] = h5py.Empty("i4")
    database = tmp_path / "own.duckdb"
    with duckdb.connect(str(database)) as con:
        con.execute("create schema s; use s; create table mine as select 3 as three")
        attached = hs.attach(con, tmp_path / "a.h5", "file")
        assert set(attached.views) == {"x", 'odd "name"', "deep", "deep/x"} and list(attached.refused) == ["null"]
        assert con.sql("select current_schema()").fetchall() == [("s",)], "the user's schema is in use again"
        assert con.sql("select sum(x) from file.x, mine where x >= three").fetchall() == [(7,)]
        assert con.sql('select * from file."odd ""name"""').fetchall() == [(0, 1)]
        assert con.cursor().sql("select count(*) from file.x").fetchall() == [(5,)]
        assert con.sql("show tables").fetchall() == [("mine",)]
        assert ("file", "deep/x") in {(row[0], row[2]) for row in con.sql("show all tables").fetchall()}
        con.execute("create table copied as select * from file.x")
        for says, error, arguments in (
            ("'file' cannot be used", hs.InvalidInputError, {"name": "file"}),
            ("no view '/none'", hs.NotFoundError, {"name": "g", "objects": ["/none"]}),
            ("no view 'null': its dataspace is null", hs.NotFoundError, {"name": "g", "objects": ["null"]}),
        ):
            with pytest.raises(error, match=says):
                hs.attach(con, tmp_path / "a.h5", **arguments)
        con.execute("detach file")
        with pytest.raises(duckdb.Error):
            con.sql("select * from file.x")
        hs.attach(con, tmp_path / "a.h5", "file")
    with duckdb.connect(str(database)) as con:
        assert [row[2] for row in con.sql("show all tables").fetchall()] == ["copied", "mine"], "nothing of the file is in the database"


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask_has_the_rows_of_the_table(mixed: hs.Table, scheduler: str, tmp_path: pathlib.Path) -> None:
    paths = []
    for number, missing in enumerate((-1, 99)):  # in the second partition nothing is missing
        paths.append(tmp_path / f"{number}.nc")
        with netCDF4.Dataset(paths[-1], "w") as f:
            f.createDimension("row", 4)
            f.createVariable("small", "i2", "row", fill_value=missing)[:] = [1, -1, 3, 4]
            f.createVariable("big", "u8", "row", fill_value=0)[:] = np.array([2**63 + 1, 5, 7, 9], "u8")
            f.createVariable("flag", "i1", "row")[:] = number
            text = f.createVariable("text", str, "row")
            for row in range(4):
                text[row] = "ab"[row % 2]
    frame = hs.open(paths).table("/", columns=["small", "big", "flag", "text"]).to_dask()
    assert isinstance(frame, dask.dataframe.DataFrame) and frame.npartitions == 2
    found = frame.compute(scheduler=scheduler)
    assert dict(found.dtypes) == dict(frame.dtypes)
    assert found["small"].dtype == "Int16" and found["big"].dtype == "UInt64" and found["flag"].dtype == np.dtype("i1")
    assert found["small"].tolist() == [1, pd.NA, 3, 4, 1, -1, 3, 4]
    assert found["big"].tolist() == [2**63 + 1, 5, 7, 9] * 2
    assert frame.groupby("text")["flag"].sum().compute(scheduler=scheduler).to_dict() == {"a": 2, "b": 2}
    whole = mixed.to_dask().compute(scheduler=scheduler)
    expected = mixed.to_arrow()
    for name in whole:
        have = whole[name].astype(object).where(whole[name].notna(), None).tolist()
        assert have == [None if value != value else value for value in expected[name].to_pylist()], name


@pytest.mark.slow
def test_dask_arrays_have_whole_chunks(tmp_path: pathlib.Path) -> None:
    values = np.arange(120_000, dtype="i4").reshape(300, 400)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(32, 100), compression="gzip")
        f["scalar"], f["empty"] = 3.5, np.zeros((0, 3))
        f["null"] = h5py.Empty("i4")
    f = hs.open(tmp_path / "a.h5")
    whole = f["x"].to_dask()
    assert whole.shape == (300, 400) and whole.dtype == np.dtype("i4")
    small = f["x"].to_dask(chunks=(64, 100))
    assert small.numblocks == (5, 4)
    for scheduler in ("threads", "processes"):
        np.testing.assert_array_equal((small[5:200:3, ::-1] + 1).compute(scheduler=scheduler), values[5:200:3, ::-1] + 1)
    assert f["scalar"].to_dask().compute() == 3.5
    assert f["empty"].to_dask().compute().shape == (0, 3)
    with pytest.raises(hs.UnsupportedError, match="dataspace is null"):
        f["null"].to_dask()
    assert f["x"].to_dask(chunks=(64, 100)).name == small.name, "the same dataset has the same tasks"
