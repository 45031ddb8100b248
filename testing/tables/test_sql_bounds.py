"""Bounds of floats in SQL: what a scan leaves out is nothing that DuckDB would find, and it leaves out much."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from sampling import one_in

duckdb = pytest.importorskip("duckdb")

COUNT = 3_000
#: Doubles that are not floats, integers that are not doubles, and both ends.
CONSTANTS = ["0.1", "0.5", "-0.3", "1", "0", "-0.0", "1e-40", "3.4e38", "1e39", "-1e39", "1e308", "9007199254740993", "16777217", "0.30000001192092896", "0.3"]


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    found = {}
    for name, dtype in (("h", "f2"), ("s", "f4"), ("d", "f8")):
        values = rng.normal(size=COUNT)
        values[rng.integers(0, COUNT, COUNT // 3)] = rng.choice([0.1, 0.3, 0.5, 0, -0.0, 1, 3.4e38, 1e-40, 16777216, 16777218, 9007199254740992.0], COUNT // 3)
        for special in (np.nan, np.inf, -np.inf):
            values[rng.integers(0, COUNT, COUNT // 50)] = special
        with np.errstate(over="ignore"):
            found[name] = values.astype(dtype)
    found["n"] = np.arange(COUNT)
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("bounds") / "t.h5"
    with h5py.File(path, "w") as f:
        for name, values in columns().items():
            f.create_dataset(f"g/{name}", data=values, chunks=(500,), compression="gzip")
            if values.dtype.kind == "f":
                f[f"g/{name}"].attrs["_FillValue"] = values.dtype.type(0.5)
    return path


def oracle(file: pathlib.Path, query: str, parameters: Any = None) -> list[str]:
    """The rows of a table in memory that was read without a condition."""
    t = hs.open(file).table("/g").to_arrow()
    wide = pa.schema([pa.field(field.name, pa.float32() if pa.types.is_float16(field.type) else field.type) for field in t.schema])
    connection = duckdb.connect(config={"python_enable_replacements": False})
    connection.register("g", t.cast(wide))
    return sorted(map(repr, connection.execute(query, parameters).fetchall()))


def ours(file: pathlib.Path, query: str, parameters: Any = None) -> list[str]:
    return sorted(map(repr, hs.sql(query, file, parameters=parameters).fetchall()))


@one_in(5)
def test_random_conditions_find_the_rows_of_a_table_in_memory(file: pathlib.Path, step: int) -> None:
    draw = random.Random(3)

    def term() -> str:
        column, one, two = draw.choice(["h", "s", "d", "g.d", "G.S"]), draw.choice(CONSTANTS), draw.choice(CONSTANTS)
        operator = draw.choice([">", ">=", "<", "<="])
        simple = [f"{column} {operator} {one}", f"{one} {operator} {column}", f"{column} between {one} and {two}", f"({column} > {one} or {column} < {two})"]
        others = [f"not ({column} {operator} {one})", f"{column} {operator} {one}::double", f"{column} + 0 > {one}", f"abs({column}) >= {one}"]
        return draw.choice(simple + others)

    for _ in range(150 // step):
        where = " and ".join(term() for _ in range(draw.randrange(1, 4)))
        query = f"select n from g where {where}"
        assert ours(file, query) == oracle(file, query), query


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("select n from g where d > ? and s <= ?", [0.2, 1]),
        ("select n from g where d > $low and d < $high", {"low": 0.2, "high": np.float64(0.9)}),
        ("select n from g where d > $1", ["0.2"]),
        ("select n, -d as d from g where d > 0.2", None),
        ("select n, -d as s from g where s > 0.2", None),
        ("select n, -d as e from g where e > 0.2", None),
        ("with g as (select n, -d as d from g) select n from g where d > 0.2", None),
        ("with q as (select * from g where d > 1) select n from q where d < 2", None),
        ("select n from g where d > 1 union all select n from g where d < -1", None),
        ("select n from g where d > 1 and n in (select n from g where d < 3)", None),
        ("select n from g where d > 1 and n in (select n from query_table('g') where d < 3)", None),
        ("select n, (select count(*) from query_table('g')) from g where d > 1", None),
        ("select a.n from g a join g b on a.n = b.n where a.d > 1 and b.s < 0", None),
        ("select a.n, b.n from g a left join (select * from g where d > 1) b on a.n = b.n where a.d > 0.9", None),
        ("select e.n from g e where e.d > 1 and E.S >= 0.1", None),
        ("select x from g as t(x, y, z, w) where z > 1", None),
        ("select count(*), sum(n) from g where d >= 0.1 having sum(n) > 3", None),
        ("select n from g where d > 1 order by n limit 7", None),
        ("from g where 1 < d", None),
        ("select n from g where d > 'nan'::double", None),
        ("select n from g where d >= 'inf'::double", None),
        ("select n from g where d > 1 qualify row_number() over (order by n) < 5", None),
        ("select n, lag(n) over (order by n) from g where s > 0.3", None),
    ],
)
def test_what_is_around_a_condition(file: pathlib.Path, query: str, parameters: Any) -> None:
    assert ours(file, query, parameters) == oracle(file, query, parameters)


def test_names_that_differ_in_case_and_members_of_structs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c.h5"
    values = np.zeros(20, [("x", "f8"), ("X", "f8"), ("g", [("x", "f8")])])
    values["x"], values["X"], values["g"]["x"] = np.arange(20), -np.arange(20.0), np.arange(20) % 3
    with h5py.File(path, "w") as f:
        f["g"] = values
    for where, wanted in (("x_1 > 5", 14), ("x_2 >= -5", 6), ("g.x > 1", None)):
        try:
            found = hs.sql(f"select count(*) from g where {where}", path).fetchall()
        except hs.InvalidInputError:
            assert wanted is None
            continue
        # `g.x` is the column of the table or the member of its column: DuckDB says which.
        assert found == [(wanted,)] or wanted is None, where


def test_a_table_with_a_limit_or_an_expression_keeps_its_rows(file: pathlib.Path) -> None:
    import pyarrow.compute as pc

    data = columns()["d"]
    limited = hs.open(file).table("/g", limit=1000)
    known = (data[:1000] > 1) | np.isnan(data[:1000])
    assert hs.sql("select count(*) from t where d > 1", t=limited).fetchall() == [(int(known.sum()),)]
    chosen = hs.open(file).table("/g", where=pc.field("n") < 1000)
    assert hs.sql("select count(*) from t where d > 1", t=chosen).fetchall() == [(int(known.sum()),)]
    texts = hs.open(file).table("/g", where="n < 1000 or n > 2990")
    rows = np.r_[0:1000, 2991:COUNT]
    assert hs.sql("select count(*) from t where d > 1", t=texts).fetchall() == [(int(((data[rows] > 1) | np.isnan(data[rows])).sum()),)]


def test_another_description_of_queries_changes_no_row(file: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hyperslab.engines.reducing import tree

    query = "select n from g where d > 1"
    wanted = oracle(file, query)
    for text in ("{}", "[]", '{"statements": [{"node": {"type": "SELECT_NODE"}}]}', '{"error": true}'):
        monkeypatch.setattr(tree.json, "loads", lambda _, text=text: eval(text, {"true": True}))
        assert ours(file, query) == wanted


def test_chunks_are_left_out_by_an_index_and_by_coordinates(tmp_path: pathlib.Path) -> None:
    path, count = tmp_path / "i.h5", 16 << 16
    x = np.random.default_rng(1).random(count)
    with h5py.File(path, "w") as f:
        for name, values in (("x", x), ("n", np.arange(count))):
            f.create_dataset(name, data=values, chunks=(1 << 16,), compression="gzip", compression_opts=1)

    def asked(query: str) -> tuple[list[int], int]:
        before = hs.counters()
        found = [n for (n,) in hs.sql(query, f=hs.open(path).table("/")).fetchall()]
        return sorted(found), hs.counters().since(before).chunks_decoded

    high = float(np.sort(x)[-3])
    for query, wanted in (
        (f"select n from f where x > {high!r}", np.flatnonzero(x > high)),
        (f"select n from f where x between 0.5 and {0.5 + 2 / count!r}", np.flatnonzero((x >= 0.5) & (x <= 0.5 + 2 / count))),
    ):
        without, all_chunks = asked(query)
        hs.index(path, "/x", "X")
        found, decoded = asked(query)
        assert found == without == wanted.tolist()
        # An answer may compare the index with three chunks of the data.
        assert decoded <= 2 * len({n >> 16 for n in found}) + 3 < all_chunks, query
        (pathlib.Path(f"{path}.hsidx")).rename(tmp_path / f"kept{high}{len(query)}")
    field = tmp_path / "field.nc"
    with h5py.File(field, "w") as f:
        f["lat"] = np.linspace(-90, 90, 64)
        f["lat"].make_scale("lat")
        f.create_dataset("v", data=np.arange(64 * 1000.0).reshape(64, 1000), chunks=(4, 1000), compression="gzip")
        f["v"].dims[0].attach_scale(f["lat"])
    before = hs.counters()
    assert hs.sql("select count(*), sum(v) from v where lat > 80", field).fetchall() == [(4000, float(np.arange(60_000.0, 64_000).sum()))]
    assert hs.counters().since(before).chunks_decoded <= 2
