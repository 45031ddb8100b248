"""Tables of objects and files that have different columns, with `nonconforming="null"`."""

import pickle

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest


@pytest.fixture
def files(tmp_path):
    """Three files: all columns, one column less, another column more; `b` comes first in one of them."""
    groups = {
        "run_1.h5": {"a": np.arange(4, dtype="i4"), "b": np.arange(4) * 0.5},
        "run_2.h5": {"a": np.arange(10, 13, dtype="i4")},
        "run_3.h5": {"b": np.array([7.5, 8.5]), "name": np.array([b"x", b"yy"])},
    }
    for name, datasets in groups.items():
        with h5py.File(tmp_path / name, "w") as f:
            for dataset, values in datasets.items():
                f[f"g/{dataset}"] = values
            f["run"] = np.arange(2)
    return str(tmp_path / "run_*.h5")


def expected() -> dict[str, list]:
    return {
        "run": [1] * 4 + [2] * 3 + [3] * 2,
        "a": [0, 1, 2, 3, 10, 11, 12, None, None],
        "b": [0.0, 0.5, 1.0, 1.5, None, None, None, 7.5, 8.5],
        "name": [None] * 7 + ["x", "yy"],
    }


def test_columns_that_a_file_lacks_are_null(files):
    table = hs.open(files).table("/g", nonconforming="null")
    assert table.to_arrow().to_pydict() == expected()
    assert all(field.nullable for field in table.schema if field.name != "run")
    assert table.count() == 9


@pytest.mark.parametrize(
    "condition", ["b > 0.6", "a >= 2", "not (b > 0.6)", "a > 1 or b > 1", "run >= 2", "run = 3 and b > 8", "name = 'x'", "a in (1, 11)", "a + b > 1"]
)
def test_conditions_are_those_of_sql_with_nulls(files, condition):
    """DuckDB decides over the rows with nulls, which have no value in a condition."""
    duckdb = pytest.importorskip("duckdb")
    rows = pa.table(expected())  # noqa: F841, the query names it
    of_sql = duckdb.sql(f"select * from rows where {condition}").fetchall()
    found = hs.open(files).table("/g", condition, nonconforming="null")
    assert [tuple(row.values()) for row in found.to_arrow().to_pylist()] == of_sql
    assert found.count() == len(of_sql)


def test_splits_carry_the_null_columns(files):
    table = hs.open(files).table("/g", "b > 0 or a > 10", nonconforming="null", columns=["name", "_file", "b", "_row"])
    splits = pickle.loads(pickle.dumps(table.splits(5)))
    whole = table.to_arrow()
    assert whole.num_rows == 7
    assert pa.concat_tables(split.read() for split in splits) == whole
    assert pickle.loads(pickle.dumps(table)).to_arrow() == whole


def test_aggregates_and_sql(files):
    table = hs.open(files).table("/g", nonconforming="null")
    assert table.minmax("b") == (0.0, 8.5)
    assert table.sum("a") == 39
    assert hs.sql("select count(*), count(a), count(name) from t", t=table).fetchall() == [(9, 7, 2)]


def test_a_file_without_the_object_has_no_rows(files, tmp_path):
    with h5py.File(tmp_path / "run_4.h5", "w") as f:
        f["other"] = 1
    assert hs.open(files).table("/g", nonconforming="null").to_arrow().to_pydict() == expected()
    with pytest.raises(hs.NotFoundError, match="run_4"):
        hs.open(files).table("/g")
    with pytest.raises(hs.NotFoundError, match="/nowhere"):
        hs.open(files).table("/nowhere", nonconforming="null")


def test_compound_members(tmp_path):
    first = np.array([(1, 2.0), (3, 4.0)], dtype=[("id", "i8"), ("x", "f8")])
    second = np.array([(5, b"late")], dtype=[("id", "i8"), ("note", "S4")])
    for name, records in (("p1.h5", first), ("p2.h5", second)):
        with h5py.File(tmp_path / name, "w") as f:
            f["particles"] = records
    table = hs.open([str(tmp_path / "p1.h5"), str(tmp_path / "p2.h5")]).table("/particles", nonconforming="null")
    assert table.to_arrow().to_pydict() == {"id": [1, 3, 5], "x": [2.0, 4.0, None], "note": [None, None, "late"]}
    assert pa.concat_tables(split.read() for split in table.splits(2)) == table.to_arrow()


def test_by_default_the_error_names_files_and_columns(files):
    with pytest.raises(hs.InvalidInputError, match=r"run_1\.h5 and /g in .*run_2\.h5 do not make one table: only the first has 'b'; nonconforming='null'"):
        hs.open(files).table("/g")


def test_other_types_stay_an_error(tmp_path):
    for name, kind in (("p1.h5", "i4"), ("p2.h5", "f8")):
        with h5py.File(tmp_path / name, "w") as f:
            f["g/x"] = np.arange(3, dtype=kind)
    with pytest.raises(hs.InvalidInputError, match=r"p1\.h5 and .*p2\.h5 .*'x' is Int32 in the first and Float64 in the second"):
        hs.open(str(tmp_path / "p*.h5")).table("/g", nonconforming="null")
    with pytest.raises(hs.InvalidInputError, match='expected "error" or "null"'):
        hs.open(str(tmp_path / "p1.h5")).table("/g", nonconforming="skip")


def test_lists_of_rows_cannot_get_columns(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["Step#1/x"] = np.zeros((3, 2))
        f["Step#2/y"] = np.zeros((3, 2))
    with pytest.raises((hs.InvalidInputError, hs.NotFoundError)):
        hs.open(str(tmp_path / "a.h5")).table("/Step#*/?", layout="rows", nonconforming="null")
