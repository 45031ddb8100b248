"""Rows appended to tables of PyTables and pandas, judged by PyTables, pandas and the same rows appended by PyTables."""

from __future__ import annotations

import pathlib
import shutil
import warnings
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tables

append = hs.models.pytables.append


class Row(tables.IsDescription):  # type: ignore[misc]
    """A column of each type."""

    n, ok, t, s = tables.Int32Col(pos=0), tables.BoolCol(pos=1), tables.Time64Col(pos=2), tables.Time32Col(pos=3)
    name, kind = tables.StringCol(5, pos=4), tables.EnumCol(["x", "y"], "x", "uint8", pos=5)
    v, z, small = tables.Float32Col(shape=(2,), pos=6), tables.ComplexCol(16, pos=7), tables.UInt8Col(pos=8)

    class inner(tables.IsDescription):  # type: ignore[misc]
        on, q, pair = tables.BoolCol(pos=0), tables.Int8Col(pos=1), tables.Time64Col(shape=(2,), pos=2)


def rows(first: int, count: int) -> dict[str, Any]:
    number = np.arange(first, first + count)
    seconds = np.where(number % 2 == 0, number * 1234.5678915, -number * 0.000001 - 1.75)
    return {
        "n": number, "ok": number % 3 == 0, "t": seconds, "s": number - 3, "name": [f"r{one % 1000}" for one in number], "kind": number % 2,
        "v": np.stack([number, -number / 3], axis=1), "z": number * (1 - 2j), "small": number % 256,
        "inner": {"on": number % 2 == 1, "q": number % 100 - 50, "pair": np.stack([seconds, -seconds], axis=1)},
    }  # fmt: skip


def appended_by_pytables(table: Any, given: dict[str, Any]) -> None:
    row = table.row
    for place in range(len(given["n"])):
        for name, values in given.items():
            for inner, inner_values in values.items() if isinstance(values, dict) else [("", values)]:
                row[f"{name}/{inner}" if inner else name] = inner_values[place]
        row.append()
    table.flush()


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("filters", [None, tables.Filters(5, "zlib", shuffle=True, fletcher32=True)])
def test_rows_are_those_that_pytables_appends(tmp_path: pathlib.Path, order: str, filters: Any) -> None:
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    with tables.open_file(ours, "w") as f:
        table = f.create_table(f.create_group("/", "g"), "t", Row, byteorder=order, filters=filters, chunkshape=(64,))
        appended_by_pytables(table, rows(0, 10))
    shutil.copy(ours, theirs)
    with tables.open_file(theirs, "a") as f:
        appended_by_pytables(f.root.g.t, rows(10, 300))
        appended_by_pytables(f.root.g.t, rows(310, 7))
    assert append(ours, "g/t", rows(10, 300)) == 310 and append(str(ours), "/g/t/", rows(310, 7)) == 317
    assert append(ours, "g/t", rows(0, 0)) == 317
    with tables.open_file(ours) as mine, tables.open_file(theirs) as f:
        assert mine.root.g.t.nrows == 317 and mine.root.g.t.read().tobytes() == f.root.g.t.read().tobytes()
        assert int(mine.root.g.t.attrs.NROWS) == 317
    # The bytes of the file, not only what is made of them.
    raw = []
    for path in (ours, theirs):
        with hs.open(path) as f:
            raw.append(hs.models.pytables.open(f).table("g/t", raw=True).to_arrow())
    assert raw[0].equals(raw[1])
    # PyTables goes on.
    with tables.open_file(ours, "a") as f:
        appended_by_pytables(f.root.g.t, rows(317, 3))
        assert f.root.g.t.nrows == 320 and f.root.g.t.cols.n[:].tolist() == list(range(320))


def test_indexes_are_marked_and_queries_stay_right(tmp_path: pathlib.Path) -> None:
    path, made = tmp_path / "indexed.h5", tmp_path / "made.h5"
    with tables.open_file(made, "w") as f:
        table = f.create_table("/", "t", Row)
        appended_by_pytables(table, rows(0, 2000))
        table.cols.n.create_csindex()
        table.cols.inner.q.create_index()
        other = f.create_table("/", "other", Row)
        appended_by_pytables(other, rows(0, 50))
        other.cols.n.create_index()
    # PyTables keeps a file with indexes open, and locked, in its process.
    shutil.copy(made, path)
    append(path, "t", rows(2000, 500))
    dirty = {(index.table, index.column): index.is_dirty for index in hs.models.pytables.open(path).indexes}
    assert dirty == {("t", "n"): True, ("t", "inner/q"): True, ("other", "n"): False}
    with tables.open_file(path, "a") as f:
        table = f.root.t
        assert table.cols.n.index.dirty and not f.root.other.cols.n.index.dirty
        assert [row["n"] for row in table.where("n >= 1995")] == list(range(1995, 2500)) and not table.will_query_use_indexing("n >= 1995")
        table.reindex_dirty()
        assert table.will_query_use_indexing("n >= 1995")
        assert sorted(row["n"] for row in table.where("n >= 1995")) == list(range(1995, 2500))


def test_pandas_reads_what_was_appended(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "store.h5"
    frame = pd.DataFrame({"x": np.arange(20) / 4, "y": np.arange(20) * 0.5, "k": np.arange(20)}, index=pd.RangeIndex(20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame.iloc[:12].to_hdf(path, key="runs", format="table", data_columns=["k"])
        (name,) = hs.models.pandas.open(path).tables
        columns = {"index": np.arange(12, 20), "values_block_0": frame[["x", "y"]].to_numpy()[12:], "k": frame.k.to_numpy()[12:]}
        assert append(path, name, columns) == 20
        pd.testing.assert_frame_equal(pd.read_hdf(path, "runs"), frame)
        pd.testing.assert_frame_equal(pd.read_hdf(path, "runs", where="index >= 10 and k < 18"), frame.iloc[10:18])
    pd.testing.assert_frame_equal(hs.models.pandas.open(path)["runs"], frame)


def test_forms_of_rows(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plain.h5"
    dtype = np.dtype([("n", "i4"), ("ok", "?"), ("name", "S3")])
    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", np.array([(0, False, b"a")], dtype))
    append(path, "t", np.array([(1, True, b"b")], dtype))
    append(path, "t", pa.table({"name": ["ä"], "ok": [False], "n": pa.array([2], pa.int64())}))
    append(path, "t", pd.DataFrame({"n": [3], "ok": [True], "name": ["abc"]}))
    with tables.open_file(path) as f:
        assert f.root.t.read().tolist() == [(0, False, b"a"), (1, True, b"b"), (2, False, "ä".encode()), (3, True, b"abc")]


def test_what_a_table_cannot_store_changes_nothing(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    with tables.open_file(path, "w") as f:
        appended_by_pytables(f.create_table("/", "t", Row), rows(0, 3))
        f.create_array("/", "array", np.arange(4))
        f.create_group("/", "group")
    before = path.read_bytes()
    good = rows(3, 2)
    inner = good["inner"]
    for change, message in [
        ({"n": [2**31, 0]}, "column 'n' stores int32, and has values from 0 to 2147483648"),
        ({"n": [0.5, 1]}, "column 'n' stores int32, not float64"),
        ({"n": [1, 2, 3]}, "n has 3"),
        ({"small": [-1, 0]}, "'small' stores uint8, and has"),
        ({"ok": [0, 2]}, "'ok' has booleans"),
        ({"t": [np.nan, 0]}, "'t' stores seconds of 32 bits"),
        ({"name": ["abcdef", ""]}, "text of 5 bytes, and has one of 6"),
        ({"name": [1, 2]}, "stores text of 5 bytes"),
        ({"kind": [0, 2]}, "not of its enumeration: give 0, 1"),
        ({"v": [1, 2]}, r"the shape \(2,\), and the table \(2, 2\)"),
        ({"more": [1, 2]}, "'more' are not in the table"),
        ({"inner": {"on": inner["on"], "q": inner["q"]}}, "'inner/pair' are missing"),
        ({"inner": {**inner, "q": [200, 0]}}, "'inner/q' stores int8"),
        ({"inner": 7}, "of type int|has no len|rows of type"),
    ]:
        with pytest.raises((hs.InvalidInputError, TypeError), match=message):
            append(path, "t", {**good, **change})
    for name in ("array", "nothing", "group"):
        with pytest.raises(hs.NotFoundError):
            append(path, name, good)
    with pytest.raises(hs.InvalidInputError, match="rows of type list"):
        append(path, "t", [1, 2])
    with pytest.raises(hs.InvalidInputError, match="has 1 missing values"):
        append(path, "t", pa.table({"n": [None]}))
    with h5py.File(tmp_path / "plain.h5", "w") as f:
        f["x"] = np.zeros(2, [("n", "i4")])
    with pytest.raises(hs.InvalidInputError, match="not recognized as pytables"):
        append(tmp_path / "plain.h5", "x", {"n": [1]})
    with pytest.raises(hs.NotFoundError):
        append(tmp_path / "nowhere.h5", "t", good)
    assert path.read_bytes() == before


def test_a_table_that_contradicts_itself_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", np.array([(1,)], [("n", "i4")]))
    for wrong, said in ((np.int64(7), "7"), ("many", "many"), (np.array([1, 1]), r"\[1 1\]"), (h5py.Empty("i8"), "")):
        with h5py.File(path, "r+") as f:
            f["t"].attrs["NROWS"] = wrong
        with pytest.raises(hs.CorruptError, match=f"NROWS says {said}.* rows, and it has 1") as caught:
            append(path, "t", {"n": [1]})
        assert caught.value.object == "/t"
