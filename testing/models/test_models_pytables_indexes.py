"""PyTables' own indexes of columns: scans that use them, against PyTables and NumPy; indexes that are out of date or damaged."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
import tables

ROWS = 5000
#: Small slices, so that a table of few rows has many: superblock, block, slice and chunk.
SIZES = (2048, 1024, 512, 64)
NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8", ">i4", ">f8")


def values(dtype: str, random: np.random.Generator) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        made = random.normal(0, 20, ROWS).astype(kind)
        for special in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            made[random.integers(0, ROWS, 40)] = special
        return made
    about = np.iinfo(kind)
    made = random.integers(max(about.min, -60), min(about.max, 60), ROWS).astype(kind)
    made[random.integers(0, ROWS, 20)] = about.max
    made[random.integers(0, ROWS, 20)] = about.min
    return made


def write(path: pathlib.Path, dtype: str = "f8", kind: str = "full", optlevel: int = 6, rows: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
    data = np.zeros(ROWS if rows is None else len(rows), [("pad", "S40"), ("x", dtype), ("n", f"{dtype[:1] if dtype[0] == '>' else ''}i4")])
    data["x"] = values(dtype, np.random.default_rng(3)) if rows is None else rows
    data["n"] = np.arange(len(data))
    with tables.open_file(path, "w") as f:
        table = f.create_table("/", "t", data, chunkshape=128)
        table.cols.x.create_index(kind=kind, optlevel=optlevel, _blocksizes=SIZES)
    return data


def found(view: Any, where: str) -> list[int]:
    rows: list[int] = view.table("t", where, columns=["n"]).to_arrow()["n"].to_pylist()
    return rows


def pruned(view: Any, where: str) -> bool:
    """Whether the index left some of the table's chunks out."""
    before = hs.counters()
    found(view, where)
    return hs.counters().index_blocks_pruned > before.index_blocks_pruned


def conditions(dtype: str, random: np.random.Generator) -> list[tuple[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]]:
    made: list[tuple[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]]] = []
    for _ in range(25):
        a, b = sorted(random.integers(-70, 70, 2).tolist())
        half = a + 0.5
        made += [
            (f"x > {b} ", lambda x, b=b: x > b),
            (f"x < {a}", lambda x, a=a: x < a),
            (f"x >= {a} and x <= {b}", lambda x, a=a, b=b: (x >= a) & (x <= b)),
            (f"x = {a}", lambda x, a=a: x == a),
            (f"x in ({a}, {b}, 0)", lambda x, a=a, b=b: (x == a) | (x == b) | (x == 0)),
            (f"x > {half} and x < {half + 1}", lambda x, half=half: (x > half) & (x < half + 1)),
            (f"(x < {a} or x > {b}) and n < 900", lambda x, a=a, b=b: ((x < a) | (x > b)) & (np.arange(len(x)) < 900)),
            (f"x = {a} and n > 3000", lambda x, a=a: (x == a) & (np.arange(len(x)) > 3000)),
            (f"not (x > {a})", lambda x, a=a: ~(x > a)),
        ]
    if np.dtype(dtype).kind == "f":
        made += [("x = nan", lambda x: np.zeros(len(x), bool)), ("x > 1e30", lambda x: x > 1e30), ("x < -1e30", lambda x: x < -1e30)]
        made += [("x = 0", lambda x: x == 0), ("x < 0", lambda x: x < 0), ("x > 0 and x < 0.5", lambda x: (x > 0) & (x < 0.5)), ("x != x", lambda x: x != x)]
    else:
        high, low = np.iinfo(dtype).max, np.iinfo(dtype).min
        made += [(f"x = {high}", lambda x: x == high), (f"x = {low}", lambda x: x == low), (f"x > {high}", lambda x: np.zeros(len(x), bool))]
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_conditions_give_the_rows_of_numpy_and_of_pytables(tmp_path: pathlib.Path, dtype: str) -> None:
    path = tmp_path / "indexed.h5"
    data = write(path, dtype, optlevel=9 if dtype.endswith("4") else 3)
    view, plain = hs.models.pytables.open(path), hs.models.pytables.open(path, indexes="none")
    assert [(one.column, one.problem) for one in view.check_indexes()] == [("x", None)]
    random = np.random.default_rng(5)
    used = 0
    with np.errstate(invalid="ignore", over="ignore"), tables.open_file(path) as f:
        for where, holds in conditions(dtype, random):
            wanted = np.flatnonzero(holds(data["x"])).tolist()
            used += pruned(view, where)
            assert found(view, where) == wanted == found(plain, where), where
            assert view.table("t", where).count() == len(wanted), where
        # PyTables does not compare unsigned columns with negative numbers.
        low = 0 if np.dtype(dtype).kind == "u" else -60
        for a, b in random.integers(low, 60, (20, 2)).tolist():
            wanted = sorted(int(n) for n in f.root.t.read_where(f"(x > {a}) & (x <= {b})", field="n"))
            assert found(view, f"x > {a} and x <= {b}") == wanted
    assert used > 30, used


@pytest.mark.parametrize("rows", [0, 1, 63, 511, 512, 513, 1024, 4096, 4097])
@pytest.mark.parametrize("optlevel", [0, 9])
def test_tables_of_any_length(tmp_path: pathlib.Path, rows: int, optlevel: int) -> None:
    path = tmp_path / "indexed.h5"
    data = write(path, optlevel=optlevel, rows=np.random.default_rng(rows).normal(size=rows))
    view = hs.models.pytables.open(path, indexes="any")
    for a in (-9.0, -1.0, 0.0, 0.1, 2.0, 9.0):
        assert found(view, f"x > {a} and x < {a + 0.3}") == np.flatnonzero((data["x"] > a) & (data["x"] < a + 0.3)).tolist()
    if rows:
        only = float(data["x"][rows // 2])
        assert found(view, f"x = {only!r}") == [rows // 2]
    assert [one.problem for one in view.check_indexes()] == [None]


def test_an_index_is_used_when_all_are_believed_or_after_it_was_compared(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "indexed.h5"
    data = write(path, "i4")
    assert pruned(hs.models.pytables.open(path, indexes="any"), "x > 60")
    assert not pruned(hs.models.pytables.open(path, indexes="none"), "x > 60")
    view = hs.models.pytables.open(path)
    assert not pruned(view, "x > 60")
    assert "check_indexes" in view.table("t", "x > 60").explain()
    assert view.check_indexes() == [hs.models.pytables.CheckedIndex("t", "x", None)]
    assert pruned(view, "x > 60")
    shown = view.table("t", "x > 60").explain()
    assert re.search(r"index K on x: \d+ of 40 blocks left", shown) and "check_indexes" not in shown
    # So does SQL over this open file. DuckDB pushes down comparisons of integers, and evaluates comparisons of floats itself.
    before = hs.counters().index_blocks_pruned
    assert hs.sql('select count(*) from "t" where x > 60', view.file).fetchall()[0][0] == int((data["x"] > 60).sum())
    assert hs.counters().index_blocks_pruned > before
    with pytest.raises(hs.InvalidInputError, match="not recognized as pytables"):
        other = tmp_path / "other.h5"
        with h5py.File(other, "w") as f:
            f["x"] = [1]
        hs._native.check_pytables_indexes(hs.open(other)._file)


@pytest.mark.parametrize("kind", ["ultralight", "light", "medium"])
def test_kinds_without_rows_are_named(tmp_path: pathlib.Path, kind: str) -> None:
    path = tmp_path / "indexed.h5"
    data = write(path, kind=kind)
    view = hs.models.pytables.open(path, indexes="any")
    (checked,) = view.check_indexes()
    assert checked.problem is not None and "not of the kind full" in checked.problem
    assert not pruned(view, "x > 60") and found(view, "x > 60") == np.flatnonzero(data["x"] > 60).tolist()
    assert "not of the kind full" in view.table("t", "x > 60").explain()


def test_columns_that_are_not_plain_numbers_are_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "indexed.h5"
    with tables.open_file(path, "w") as f:
        about = {"b": tables.BoolCol(), "s": tables.StringCol(4), "when": tables.Time64Col(), "x": tables.Float64Col()}
        table = f.create_table("/", "t", about)
        table.append([(True, b"ab", 5.5, 1.0), (False, b"cd", 6.5, 2.0)])
        for column in about:
            table.cols._f_col(column).create_csindex()
    problems = {one.column: one.problem for one in hs.models.pytables.open(path).check_indexes()}
    assert (
        problems.pop("x") is None
        and set(problems) == {"s", "b", "when"}
        and all("integers and floats of 4 or 8 bytes" in str(problem) for problem in problems.values())
    )


def test_floats_of_two_bytes_are_named_because_pytables_does_not_sort_them(tmp_path: pathlib.Path) -> None:
    path, values = tmp_path / "half.h5", np.random.default_rng(0).normal(0, 20, 4000).astype("f2")
    with tables.open_file(path, "w") as f:
        f.create_table("/", "t", np.rec.fromarrays([values], names="x")).cols.x.create_index(kind="full", _blocksizes=SIZES)
    view = hs.models.pytables.open(path, indexes="any")
    assert [(one.column, "floats of 4 or 8 bytes" in str(one.problem)) for one in view.check_indexes()] == [("x", True)]
    assert view.table("t", "x > 30").count() == int((values > 30).sum()) > 100


def change(path: pathlib.Path, how: str) -> None:
    """Leaves an index behind that does not belong to its table."""
    if how == "marked dirty":
        with tables.open_file(path, "r+") as f:
            f.root.t.autoindex = False
            f.root.t.modify_column(0, 1, column=np.array([70.0]), colname="x")
    elif how == "rows appended":
        hs.models.pytables.append(path, "t", {"pad": np.array([b""]), "x": np.array([70.0]), "n": np.array([ROWS], "i4")})
        with h5py.File(path, "r+") as f:
            del f["_i_t/x"].attrs["DIRTY"]
    elif how == "rows appended by h5py":
        with h5py.File(path, "r+") as f:
            f["t"].resize((ROWS + 1,))
            f["t"][ROWS] = (b"", 70.0, ROWS)
    elif how == "a value changed by h5py":
        with h5py.File(path, "r+") as f:
            row = f["t"][77]
            row["x"] = 70.0
            f["t"][77] = row
    elif how == "two rows exchanged by h5py":
        with h5py.File(path, "r+") as f:
            rows = f["t"][10:12]
            rows["x"] = rows["x"][::-1]
            f["t"][10:12] = rows


CHANGES = {
    "marked dirty": "is dirty",
    "rows appended": "has 5000 rows, and the table has 5001",
    "rows appended by h5py": "has 5000 rows, and the table has 5001",
    "a value changed by h5py": "another value than the table in row 77",
    "two rows exchanged by h5py": "another value than the table in row 1",
}


@pytest.mark.parametrize("how", CHANGES)
def test_an_index_that_is_out_of_date_is_not_used(tmp_path: pathlib.Path, how: str) -> None:
    path = tmp_path / "indexed.h5"
    write(path)
    change(path, how)
    with h5py.File(path) as f:
        now = f["t"]["x"]
    view = hs.models.pytables.open(path)
    for checked in (False, True):
        if checked:
            (one,) = view.check_indexes()
            assert one.problem is not None and CHANGES[how] in one.problem, one
        for where, wanted in (("x > 60", now > 60), ("x = 70", now == 70), ("x > -1 and x < -0.9", (now > -1) & (now < -0.9))):
            assert found(view, where) == np.flatnonzero(wanted).tolist(), where
        assert "is not used" in view.table("t", "x > 60").explain()
    if "changed" not in how and "exchanged" not in how:  # PyTables' own rule finds these
        believing = hs.models.pytables.open(path, indexes="any")
        assert not pruned(believing, "x > 60") and believing.table("t", "x = 70").count() == int((now == 70).sum())
    else:  # the values are always tested, so what PyTables' rule does not find adds no rows
        believing = hs.models.pytables.open(path, indexes="any")
        assert set(found(believing, "x > 60")) <= set(np.flatnonzero(now > 60).tolist())


def damage(f: h5py.File, how: str) -> None:
    index = f["_i_t/x"]
    if how == "a row out of range":
        index["indices"][:, :] = ROWS + 5
        index["indicesLR"][:] = ROWS + 5
    elif how == "a row twice":
        index["indices"][:, :] = 7
    elif how == "values that are not sorted":
        index["sorted"][:, :] = index["sorted"][:, :][:, ::-1]
    elif how == "bounds of other values":
        index["bounds"][:, :] = 1e9
    elif how == "another shape":
        data = index["sorted"][:, :-1]
        del index["sorted"]
        index["sorted"] = data
    elif how == "another type":
        data = index["sorted"][:, :].astype("f4")
        del index["sorted"]
        index["sorted"] = data
    elif how == "no last slice":
        del index["sortedLR"]
    elif how == "a link to itself":
        del index["indices"]
        index["indices"] = h5py.SoftLink("/_i_t/x/indices")
    elif how == "sizes of nothing":
        index.attrs["slicesize"] = np.int64(0)
    elif how == "huge sizes":
        index.attrs["chunksize"] = np.uint64(2**62)
        index.attrs["slicesize"] = np.uint64(2**63)
    elif how == "a huge last slice":
        for name in ("sortedLR", "indicesLR"):
            index[name].attrs["nelements"] = np.uint64(2**52)
    elif how == "a dataset for a group":
        del f["_i_t/x"]
        f["_i_t/x"] = [1.0]


DAMAGES = (
    "a row out of range",
    "a row twice",
    "values that are not sorted",
    "bounds of other values",
    "another shape",
    "another type",
    "no last slice",
    "a link to itself",
    "sizes of nothing",
    "huge sizes",
    "a huge last slice",
    "a dataset for a group",
)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_index_is_found_and_adds_no_rows(tmp_path: pathlib.Path, how: str) -> None:
    path = tmp_path / "indexed.h5"
    data = write(path)
    with h5py.File(path, "r+") as f:
        damage(f, how)
    wanted = set(np.flatnonzero((data["x"] > 40) & (data["x"] < 45)).tolist())
    believing = hs.models.pytables.open(path, indexes="any")
    assert set(found(believing, "x > 40 and x < 45")) <= wanted
    view = hs.models.pytables.open(path)
    checked = view.check_indexes()
    assert all(one.problem for one in checked) and (checked or how == "a dataset for a group")
    assert set(found(view, "x > 40 and x < 45")) == wanted and not pruned(view, "x > 40 and x < 45")


def test_many_tables_and_columns(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "many.h5"
    random = np.random.default_rng(1)
    with tables.open_file(path, "w") as f:
        for name in ("a", "b"):
            rows = np.zeros(2000, [("x", "f8"), ("y", "i4"), ("z", "f4"), ("n", "i4")])
            rows["n"] = np.arange(2000)
            rows["x"], rows["y"], rows["z"] = random.normal(size=2000), random.integers(0, 50, 2000), random.normal(size=2000)
            table = f.create_table(f"/g/{name}", "t", rows, createparents=True, chunkshape=64)
            table.cols.x.create_csindex(_blocksizes=SIZES)
            table.cols.y.create_csindex(_blocksizes=SIZES)
    view = hs.models.pytables.open(path)
    assert {(one.table, one.column, one.problem) for one in view.check_indexes()} == {(f"g/{t}/t", c, None) for t in "ab" for c in "xy"}
    with h5py.File(path) as f:
        for name in ("g/a/t", "g/b/t"):
            rows = f[name][:]
            for where, holds in (
                ("x > 1.5 and y = 7", (rows["x"] > 1.5) & (rows["y"] == 7)),
                ("x > 2.2 or y = 7", (rows["x"] > 2.2) | (rows["y"] == 7)),
                ("x > 1.5 and z > 1", (rows["x"] > 1.5) & (rows["z"] > 1)),
                ("x + y > 49", rows["x"] + rows["y"] > 49),
            ):
                assert view.table(name, where, columns=["n"]).to_arrow()["n"].to_pylist() == np.flatnonzero(holds).tolist(), where
