"""SQL: the names of views, what errors say, and what DuckDB must not be asked."""

from __future__ import annotations

import pathlib
import time

import h5py
import hyperslab as hs
import hyperslab.engines.views
import netCDF4
import numpy as np
import pyarrow as pa
import pytest


@pytest.fixture
def named(tmp_path: pathlib.Path) -> pathlib.Path:
    """Names that SQL has its difficulties with."""
    path = tmp_path / "named.h5"
    with h5py.File(path, "w") as f:
        f['a"b'] = [1, 2]
        f["#refs#/f"], f["#refs#/F"], f["#refs#/g"] = [10], [20, 21], [30]
        f["two/x"], f["three/x"] = [1], [2]
        f["select"] = [7]
        f["null"] = h5py.Empty("i4")
        f["deep/Name with spaces"] = [3]
    return path


def test_every_view_that_is_listed_can_be_asked(named: pathlib.Path) -> None:
    listed = [name for (name,) in hs.sql("show tables", named).fetchall()]
    assert sorted(listed) == sorted(
        ['a"b', "#refs#/f_2", "#refs#/F_1", "#refs#/g", "two", "two/x", "three", "three/x", "select", "deep", "deep/Name with spaces", "#refs#"]
    )
    for name in listed:
        quoted = '"' + name.replace('"', '""') + '"'
        assert hs.sql(f"select count(*) + 0 from {quoted}", named).fetchall()[0][0] >= 1, name


def test_names_that_differ_in_case_only_have_a_number(named: pathlib.Path) -> None:
    values = {name: [row[-1] for row in hs.sql(f'select * from "{name}"', named).fetchall()] for name in ("#refs#/F_1", "#refs#/f_2", "F_1", "f_2")}
    assert values == {"#refs#/F_1": [20, 21], "#refs#/f_2": [10], "F_1": [20, 21], "f_2": [10]}
    with pytest.raises(hs.InvalidInputError, match=r"""^'#refs#/f' may be "#refs#/F_1", "#refs#/f_2"$"""):
        hs.sql('select * from "#refs#/f"', named)


def test_columns_that_differ_in_case_only_have_a_number(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "columns.h5"
    with h5py.File(path, "w", track_order=False) as f:
        f["g/x"], f["g/X"], f["g/y"] = np.arange(3), np.arange(3) * 10, np.arange(3, dtype="f2")
    own = {name: f"{name}_{number}" for number, name in enumerate([name for name in hs.open(path)["g"] if name != "y"], 1)}
    assert hs.sql(f"select {own['x']}, {own['X']}, y from g", path).fetchall() == [(0, 0, 0), (1, 10, 1), (2, 20, 2)]
    assert hs.sql(f"select y from g where {own['X']} > 5 and {own['x']} < 2", path).fetchall() == [(1,)]
    assert hs.sql("select count(*) as n, sum(y) from g", path).fetchall() == [(3, 3)]
    assert sorted(hs.sql("select * from g", path).columns) == sorted([own["x"], own["X"], "y"])
    for name in ("x", "X"):
        with pytest.raises(hs.InvalidInputError, match=f"^'{name}' may be {'.*'.join(sorted(own.values(), key=lambda shown: shown[-1]))}"):
            hs.sql(f"select {name} from g", path)
    assert hyperslab.engines.views.distinct(["a", "A", "a_1", "b"]) == {"a_2": "a", "A_3": "A", "a_1": "a_1", "b": "b"}


def test_last_parts_and_odd_names(named: pathlib.Path) -> None:
    assert hs.sql('select sum("a""b") from "a""b"', named).fetchall() == [(3,)]
    assert hs.sql('select "select" from "select"', named).fetchall() == [(7,)]
    assert hs.sql('select * from "name with spaces"', named).fetchall() == [(0, 3)]
    with pytest.raises(hs.InvalidInputError, match='^\'x\' may be "two/x", "three/x"$|^\'x\' may be "three/x", "two/x"$'):
        hs.sql("select * from x", named)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ('select * from "null"', r"^there is no view 'null': its dataspace is null"),
        ("select * from twoo", r"^there is no view 'twoo'; nearest: two"),
        ("select nothing from two", r"Referenced column \"nothing\" not found"),
        ("selec 1", "syntax error"),
        ('select "' + "very_long_" * 1000 + '" from two', "…$"),
    ],
    ids=["refused", "misspelt", "column", "syntax", "long"],
)
def test_an_error_gives_the_reason_first_and_is_short(named: pathlib.Path, query: str, says: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=says) as caught:
        hs.sql(query, named)
    assert len(str(caught.value)) < 400 and "duckdb_" not in str(caught.value) and "sqlite" not in str(caught.value)


def test_only_names_make_views_not_parts_of_words(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "words.h5"
    with h5py.File(path, "w") as f:
        f["e"], f["theta"] = [1], [2]
    opened = hs.open(path)
    planned: list[str] = []
    table = opened.table

    def noted(path: str, **options: object) -> hs.Table:
        planned.append(path)
        return table(path, **options)

    opened.table = noted  # type: ignore[method-assign]
    assert hs.sql("select theta, 'e' as \"other name\" from theta", opened).fetchall() == [(2, "e")]
    assert planned == ["theta"]


def test_floats_of_two_bytes_are_wider_in_sql(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "half.h5"
    values = np.array([1.5, -2, 65504, 6e-8], "f2")
    with h5py.File(path, "w") as f:
        f["h"] = values
        f["c"] = np.array([(1, 0.5), (2, 1.5)], dtype=[("i", "i4"), ("h", "f2")])
        f["m"] = np.zeros(2, dtype=[("inner", [("h", "f2", (3,))]), ("x", "f8")])
        f["plain"] = np.arange(3.0)
    assert hs.sql("select h from h order by dim_0", path).fetchall() == [(float(value),) for value in values]
    assert hs.sql("select count(*) from h where h > 1", path).fetchall() == [(2,)]
    assert hs.sql("select sum(h) from c where i = 2", path).fetchall() == [(1.5,)]
    assert hs.sql("select \"inner\"['h'] from m limit 1", path).fetchall() == [((0.0, 0.0, 0.0),)]
    assert str(hs.open(path).table("/h").schema.field("h").type) == "halffloat"


def test_the_number_of_rows_comes_from_metadata(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("huge", (4_000_000_000,), "i4", chunks=(1 << 20,))
        f.create_dataset("a b", (3_000_000_000,), "i1", chunks=(1 << 20,))
        f["small"] = np.arange(5)
    before = time.process_time()
    for query, name, count in (
        ("select count(*) from huge", "count_star()", 4_000_000_000),
        ("SELECT COUNT( * ) AS n\nFROM huge ;", "n", 4_000_000_000),
        ('select count(1) from "a b"', "count_star()", 3_000_000_000),
    ):
        answer = hs.sql(query, path)
        assert answer.columns == [name] and answer.fetchall() == [(count,)]
    assert time.process_time() - before < 5, "rows were gone through"
    assert hs.sql("select count(*) from small where small > 2", path).fetchall() == [(2,)]
    assert hs.sql("select count(*) as n, max(small) from small", path).fetchall() == [(5, 4)]
    assert hs.sql("select count(*) from (select 1)", path).fetchall() == [(1,)]


def test_views_of_several_files_are_those_of_the_first(tmp_path: pathlib.Path) -> None:
    for number in (1, 2):
        with netCDF4.Dataset(tmp_path / f"s_{number}.nc", "w") as f:
            f.createDimension("x", 3)
            f.createVariable("v", "f8", ("x",))[:] = number
    assert hs.sql("select sum(v), count(*) as n from v", str(tmp_path / "s_*.nc")).fetchall() == [(9, 6)]
    assert hs.sql("select count(*) from v", str(tmp_path / "s_*.nc")).fetchall() == [(6,)]


def test_a_mapping_names_files_and_tables_too(tmp_path: pathlib.Path) -> None:
    for year in (2024, 2025):
        with h5py.File(tmp_path / f"{year}.h5", "w") as f:
            f["x"] = np.arange(3) * year
    files = {str(year): tmp_path / f"{year}.h5" for year in (2024, 2025)}
    query = 'select b.x - a.x from "2024".x a join "2025".x b using (dim_0) order by 1'
    assert hs.sql(query, files).fetchall() == [(0,), (1,), (2,)]
    assert hs.sql("select sum(wanted.n) + count(more.x) from wanted, more.x", {"wanted": pa.table({"n": [5]})}, more=files["2025"]).fetchall() == [(18,)]
