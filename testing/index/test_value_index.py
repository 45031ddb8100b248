"""Value indexes compared with numpy: every answer with an index is the answer without one."""

from __future__ import annotations

import operator
import os
import pathlib
import random
import re
import subprocess
import sys
import time
from typing import Any

import duckdb
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from hyperslab import _native
from hyperslab.base.counters import Counters

LEVELS = ["Z", "K", "P", "X", "B"]
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
SPECIAL = {"f": [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 100.0256, 5e-324], "i": [], "u": []}


def column(path: Any, name: str = "x") -> _native.ColumnIndex:
    """The valid index of a dataset."""
    native = hs.open(path)._file
    file, number = native.find("/" + name)
    found = _native.ColumnIndex.find(file, number)
    assert found is not None, hs.indexes.status(path)
    return found


def numbers(capsules: tuple[object, object]) -> Any:
    return np.asarray(pa.Array._import_from_c_capsule(*capsules))


def values_of(dtype: str, count: int, seed: int) -> Any:
    """Values with the type's extremes and odd ones among them, in no order."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "f":
        values = (rng.standard_normal(count) * 50 + 100).astype(dtype)
        odd = np.array(SPECIAL["f"] + [np.finfo(dtype).max, np.finfo(dtype).min, np.finfo(dtype).tiny]).astype(dtype)
    else:
        info = np.iinfo(dtype)
        values = rng.integers(max(info.min, -5000), min(info.max, 5000), count, endpoint=True).astype(dtype)
        odd = np.array([info.min, info.max, info.max - 1, info.min + 1, 0], dtype)
    places = rng.choice(count, min(count, 4 * len(odd)), replace=False)
    values[places] = np.resize(odd, len(places))
    return values


def literals(values: Any, rng: random.Random) -> list[str]:
    """Constants at, between and beyond the values."""
    if values.dtype.kind == "f":
        some = [repr(float(v)) for v in values[:3] if np.isfinite(v)]
        return [*some, "100.0256", "0", "-0.0", "1e300", "-1e300", "99.5", str(rng.uniform(0, 200))]
    some = [str(int(v)) for v in values[:3]]
    return [*some, "0", "0.5", "-0.5", "18446744073709551615", "18446744073709551616", "9223372036854775807", "-9223372036854775808", "17"]


def holds(values: Any, comparison: str, literal: str) -> Any:
    """The oracle: exact comparison with numbers that are not rounded to the column's type."""
    if values.dtype.kind == "f":
        return COMPARE[comparison](values.astype(np.float64), float(literal))
    exact = int(literal) if "." not in literal and "e" not in literal else float(literal)
    different, places = np.unique(values, return_inverse=True)
    return np.array([COMPARE[comparison](int(v), exact) for v in different])[places]


def make(path: pathlib.Path, values: Any, **layout: Any) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, **layout)
        f["row"] = np.arange(len(values))
    return path


LAYOUTS = [{}, {"chunks": (1000,)}, {"chunks": (30_000,), "compression": "gzip", "shuffle": True}, {"chunks": (131_072,)}]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "f8", "i1", "u1", "i2", "u2", "i4", ">u4", "i8", "u8"])
def test_an_index_knows_the_rows_that_numpy_finds(tmp_path: pathlib.Path, dtype: str) -> None:
    rng = random.Random(dtype)
    values = values_of(dtype, 140_001, 1)
    for number, level in enumerate(LEVELS):
        layout = LAYOUTS[(number + len(dtype)) % len(LAYOUTS)]
        path = make(tmp_path / f"{level}.h5", values, **({**layout, "chunks": (131_072,)} if layout.get("chunks") == (131_072,) else layout))
        hs.index(path, "/x", level)
        index = column(path)
        assert index.level == level
        for literal in literals(values, rng):
            for comparison in COMPARE:
                expected = holds(values, comparison, literal)
                wanted = np.flatnonzero(expected)
                text = f"x {comparison} {literal}"
                hits, candidates = map(numbers, index.rows(text))
                assert np.isin(hits, wanted).all(), (level, text)
                assert np.isin(wanted, np.concatenate([hits, candidates])).all(), (level, text)
                assert not np.isin(hits, candidates).any()
                if level in "PXB":
                    assert len(candidates) == 0, (level, text)
                least, most = index.count(text)
                assert least <= len(wanted) <= most, (level, text)
                if level in "XB":
                    assert least == most, (level, text)
        if values.dtype.kind == "f":
            sane = np.sort(values[~np.isnan(values)].astype(np.float64))
            counts = index.counts()
            assert counts is not None and (counts.values, counts.nans, counts.nulls) == (len(sane), len(values) - len(sane), 0)
        else:
            sane = np.sort(values)
        edges = [-1e9, -0.5, 0.0, 99.0, 150.25]
        found = index.below([float(e) for e in edges])
        assert found is not None
        for edge, (least, most) in zip(edges, found):
            assert least <= int((sane < edge).sum()) <= most
            if level in "XB":
                assert least == most
        if level in "XB" and dtype not in ("i8", "u8"):
            for k in (0, 1, len(sane) // 2, len(sane) - 1):
                assert index.ranked(k) == float(sane[k])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("chunks", [None, (7, 100), (64, 512), (300, 700)])
def test_a_part_of_an_array_has_the_rows_that_numpy_finds(tmp_path: pathlib.Path, level: str, chunks: Any) -> None:
    rng = np.random.default_rng(3)
    values = (rng.standard_normal((310, 700)) * 50).astype("f4")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, chunks=chunks)
    hs.index(path, "/x", level)
    index = column(path)
    for axes, key in [
        ([(0, 310, 1), (0, 700, 1)], np.s_[:, :]),
        ([(10, 200, 1), (0, 700, 1)], np.s_[10:210, :]),
        ([(5, 30, 7), (3, 100, 5)], np.s_[5:215:7, 3:503:5]),
        ([[1, 2, 99, 300], (100, 600, 1)], np.s_[[1, 2, 99, 300], 100:]),
        ([(309, 1, 1), (699, 1, 1)], np.s_[309:, 699:]),
        ([(0, 0, 1), (0, 700, 1)], np.s_[0:0, :]),
    ]:
        part = values[key].ravel()
        for text, mask in [("x > 60", part > 60), ("x < -170 or x > 170", (part < -170) | (part > 170)), ("x != 0", part != 0), ("x > 1e9", part > 1e9)]:
            hits, candidates = map(numbers, index.rows(text, axes))
            wanted = np.flatnonzero(mask)
            assert np.isin(hits, wanted).all() and np.isin(wanted, np.concatenate([hits, candidates])).all()
            if level in "PXB":
                assert len(candidates) == 0
            least, most = index.count(text, axes)
            assert least <= len(wanted) <= most
        if level == "X":
            for text, mask in [("x > 60", part > 60), ("x > -20", part > -20), ("x != 0", part != 0), ("x > 170", part > 170)]:
                capsules = index.values(text, axes)
                assert capsules is not None
                assert np.array_equal(numbers(capsules), part[mask])


def rows(path: Any, where: str, **options: Any) -> pa.Table:
    return hs.open(path).table("/", where=where, **options).to_arrow()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("level", [None, *LEVELS])
def test_a_table_is_the_same_with_an_index_and_without(tmp_path: pathlib.Path, layout: Any, level: str | None) -> None:
    rng = np.random.default_rng(5)
    count = 200_000
    energy = rng.exponential(size=count).astype("f4")
    energy[::1001] = np.nan
    kinds = rng.integers(0, 5, count).astype("i4")
    path = tmp_path / "p.h5"
    with h5py.File(path, "w") as f:
        for name, values in [("energy", energy), ("kind", kinds), ("id", np.arange(count)), ("order", np.sort(energy))]:
            f.create_dataset(name, data=values, **layout)
    questions = [
        "energy > 9",
        "energy > 2 and kind == 3",
        "energy < 0.0001 or energy > 11",
        "kind in (1, 4) and energy > 8",
        "not (energy < 9)",
        "order > 9",
        "order > 3 and order < 3.0001",
        "energy > 100",
        "energy > 0.01",
        "energy != 0 and id < 10",
        "kind == 7",
        "energy > order",
    ]
    before = {where: rows(path, where) for where in questions}
    few = {where: rows(path, where, columns=["id"]) for where in questions}
    hs.index(path, ["/energy", "/kind", "/order"], level)
    assert re.search("index [A-Z] on energy", hs.open(path).table("/", where="energy > 9").explain())
    for where in questions:
        table = hs.open(path).table("/", where=where)
        # Arrow's equality has NaN differ from itself.
        assert table.to_arrow().to_pandas().equals(before[where].to_pandas()), where
        assert rows(path, where, columns=["id"]).equals(few[where]), where
        assert table.count() == before[where].num_rows, where
        split = pa.concat_tables([part.read() for part in table.splits(7)])
        assert split.to_pandas().equals(before[where].to_pandas()), where
        assert rows(path, where, limit=10).to_pandas().equals(before[where].slice(0, 10).to_pandas()), where
    particles = hs.open(path).table("/").dataset()
    assert duckdb.sql("select count(*) from particles where energy > 9 and energy < 1e30").fetchall()[0][0] == before["energy > 9"].num_rows
    assert particles.schema.names[0] == "energy"


def test_dimensions_and_an_index_narrow_together(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(8)
    values = rng.standard_normal((400, 50, 20)).astype("f4")
    path = tmp_path / "x.h5"
    for chunks in (None, (20, 50, 20), (50, 10, 10)):
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=values, chunks=chunks)
        before = hs.open(path).table("/x", where="x > 3.2 and dim_1 > 3 and dim_0 < 333").to_arrow()
        hs.index(path, "/x", "X")
        assert hs.open(path).table("/x", where="x > 3.2 and dim_1 > 3 and dim_0 < 333").to_arrow().equals(before)
        assert before.num_rows == (values[:333, 4:] > np.float32(3.2)).sum()


def test_text_enumerations_and_booleans_have_bitmaps(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    count = 70_000
    kind = h5py.enum_dtype({"ELECTRON": 0, "PROTON": 1, "ION": 7}, basetype="i1")
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("word", data=rng.choice([b"alpha", b"beta", b"gamma"], count))
        f.create_dataset("text", data=rng.choice(["ä", "b", ""], count).astype(object), dtype=h5py.string_dtype())
        f.create_dataset("kind", data=rng.choice([0, 1, 7], count).astype("i1"), dtype=kind)
        f.create_dataset("flag", data=rng.random(count) < 0.01)
        f.create_dataset("row", data=np.arange(count))
    questions = [
        "word == 'beta'",
        "text == 'ä' and flag",
        "kind == 'ION'",
        "kind in ('ION', 'PROTON') and word > 'alpha'",
        "flag = true",
        "not flag",
        "text == ''",
        "word == 'nothing'",
    ]
    questions[1] = "text == 'ä' and flag == true"
    questions[5] = "flag != true"
    before = {where: rows(path, where) for where in questions}
    plan = hs.index(path, "/")
    assert {p.path: p.level for p in plan.datasets} == {"/word": "W", "/text": "W", "/kind": "B", "/flag": "B", "/row": "P"}
    for where in questions:
        assert rows(path, where).equals(before[where]), where
        assert hs.open(path).table("/", where=where).count() == before[where].num_rows


def test_decoded_values_and_stored_ones_have_indexes_of_their_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c.h5"
    values = np.arange(-30_000, 30_000).astype("i2")
    with h5py.File(path, "w") as f:
        f["x"] = values
        f["x"].attrs["scale_factor"] = 0.01
        f["x"].attrs["_FillValue"] = np.int16(5)
    wanted = {True: rows(path, "x > 299.5"), False: rows(path, "x > 299", raw=True)}
    nulls = rows(path, "x is null")
    assert nulls.num_rows == 1
    hs.index(path, "/x", "X")
    assert rows(path, "x > 299.5").equals(wanted[True]) and rows(path, "x is null").equals(nulls)
    assert "index X on" not in hs.open(path).table("/", where="x > 299", raw=True).explain()
    hs.index(path, "/x", "X", raw=True)
    assert "index X on" in hs.open(path).table("/", where="x > 299", raw=True).explain()
    assert rows(path, "x > 299", raw=True).equals(wanted[False]) and rows(path, "x > 299.5").equals(wanted[True])


def test_counters_say_what_was_read_and_what_an_index_has_saved(tmp_path: pathlib.Path) -> None:
    values = np.arange(400_000, dtype="f4")
    path = make(tmp_path / "x.h5", values, chunks=(65_536,), compression="gzip")

    def cost(work: Any) -> Counters:
        before = hs.counters()
        work()
        return hs.counters().since(before)

    whole = cost(hs.open(path).table("/", where="x >= 300000", columns=["x"]).to_arrow)
    assert (whole.chunks_decoded, whole.index_blocks) == (7, 0)
    assert whole.bytes_read == sum(f.id.get_chunk_info(n).size for f in [h5py.File(path)["x"]] for n in range(7))
    assert whole.decode_seconds > 0
    hs.index(path, "/x", "X")
    # Blocks 0 to 3 end before 262,144.
    q, table = hs.query(path, "/", "x >= 300000"), hs.open(path).table("/", where="x >= 300000", columns=["x"])
    for ask in (q.count, q.positions, lambda: q.values("x"), lambda: q.histogram("x", 9, range=(0, 1e6)), table.count, table.to_arrow):
        told = cost(ask)
        # Some ask the index twice: how many there are, and which.
        assert told.index_blocks in (7, 14) and told.index_blocks_pruned * 7 == told.index_blocks * 4
        # An audit compares the index with at most three blocks each time that it is asked.
        assert told.chunks_decoded <= told.index_blocks // 7 * 3
    # Also what another session reads.
    assert cost(lambda: hs.open(path, threads=1).table("/", columns=["x"]).to_arrow()).chunks_decoded == 7


def test_a_changed_file_has_no_index_until_it_is_refreshed(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(2).random(400_000).astype("f4")
    path = make(tmp_path / "x.h5", values, chunks=(65_536,))
    hs.index(path, "/x", "X")
    with h5py.File(path, "r+") as f:
        f["x"][70_000] = 5.0  # the chunk stays where it is
    values[70_000] = 5.0
    assert rows(path, "x > 4")["row"].to_pylist() == [70_000]
    assert any("stale" in remark for remark in hs.indexes.status(path))
    assert "stale" in hs.open(path).table("/", where="x > 4").explain()
    plan = hs.indexes.plan(path, "/x")
    assert plan.datasets[0].level == "X" and plan.datasets[0].needed
    done = hs.indexes.commit([hs.indexes.build(task) for task in plan.tasks(1)])
    assert done == (1, 1, 6)
    assert rows(path, "x > 4")["row"].to_pylist() == [70_000] and column(path).count("x > 4") == (1, 1)
    assert hs.indexes.status(path) == []
    assert not hs.indexes.plan(path, "/x").datasets[0].needed


def test_an_open_file_does_not_take_the_index_of_its_successor(tmp_path: pathlib.Path) -> None:
    values = np.zeros(100_000, "f4")
    path = make(tmp_path / "x.h5", values)
    old = hs.open(path)
    later = values.copy()
    later[5] = 1
    make(tmp_path / "y.h5", later)
    time.sleep(0.02)
    os.replace(tmp_path / "y.h5", path)
    hs.index(path, "/x", "X")
    assert rows(path, "x > 0")["row"].to_pylist() == [5]
    assert old.table("/", where="x > 0").count() == 0 and old.table("/", where="x > 0").to_arrow().num_rows == 0


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_appended_rows_add_blocks_and_rebuild_few(tmp_path: pathlib.Path, compression: str | None) -> None:
    rng = np.random.default_rng(4)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=rng.random(200_000).astype("f4"), chunks=(16_384,), maxshape=(None,), compression=compression)
    hs.index(path, "/x", "X")
    with h5py.File(path, "r+") as f:
        f["x"].resize((300_000,))
        f["x"][200_000:] = rng.random(100_000).astype("f4")
        f["y"] = np.arange(5)
    done = hs.indexes.commit([hs.indexes.build(task) for task in hs.indexes.plan(path, "/x").tasks(1)])
    assert (done.built_blocks, done.kept_blocks) == (2, 3)
    with h5py.File(path) as f:
        values = f["x"][:]
    assert np.array_equal(numbers(column(path).rows("x > 0.9999")[0]), np.flatnonzero(values > 0.9999))


def damaged(folder: pathlib.Path, rng: random.Random) -> str:
    """Changes a byte of a file of the sidecar, or cuts it short."""
    name = rng.choice(sorted(folder.glob("[!.]*")))
    data = bytearray(name.read_bytes())
    if rng.random() < 0.2:
        data = data[: rng.randrange(len(data))]
    else:
        for _ in range(rng.choice([1, 50])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    name.write_bytes(data)
    return name.name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", LEVELS)
def test_a_damaged_index_never_changes_an_answer(tmp_path: pathlib.Path, level: str) -> None:
    rng = random.Random(level)
    values = np.random.default_rng(6).random(150_000).astype("f4")
    if level == "B":
        values = np.round(values * 40)
    path = make(tmp_path / "x.h5", values, chunks=(40_000,))
    wanted = {
        where: np.flatnonzero(mask)
        for where, mask in [("x > 0.9", values > 0.9), ("x == 0.5 or x < 0.001", (values == 0.5) | (values < 0.001)), ("x > 2", values > 2)]
    }
    hs.index(path, "/x", level)
    folder = tmp_path / "x.h5.hsidx"
    whole = {name.name: name.read_bytes() for name in folder.iterdir()}
    for _ in range(60):
        what = damaged(folder, rng)
        session = _native.Session(2, None, None, None, ())  # nothing remembered
        native = session.open([str(path)])
        for where, expected in wanted.items():
            reader = _native.Plan(native, "/", columns=["row"], where_text=where).read()
            found = []
            while (capsules := reader.next_batch()) is not None:
                found += pa.RecordBatch._import_from_c_capsule(*capsules)["row"].to_pylist()
            assert np.array_equal(found, expected), (what, where)
            assert _native.Plan(native, "/", columns=["row"], where_text=where).count() == len(expected), (what, where)
        for name, data in whole.items():
            (folder / name).write_bytes(data)


@pytest.mark.slow
def test_tasks_run_in_other_processes_and_are_committed_together(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(7).random(500_000).astype("f4")
    path = make(tmp_path / "x.h5", values, chunks=(50_000,))
    tasks = hs.indexes.plan(path, ["/x", "/row"]).tasks(5)
    assert len(tasks) >= 5
    code = "import sys, hyperslab as hs; sys.stdout.buffer.write(hs.indexes.build(sys.stdin.buffer.read(), threads=1))"
    fragments = [subprocess.run([sys.executable, "-c", code], input=task, capture_output=True, check=True).stdout for task in tasks]
    assert "no index" in hs.open(path).table("/", where="x > 1").explain()  # nothing is seen before the commit
    with pytest.raises(hs.InvalidInputError, match="parts"):
        hs.indexes.commit(fragments[:1])
    assert hs.indexes.commit(fragments).datasets == 2
    assert hs.indexes.commit(fragments).datasets == 2  # again, by a call that was repeated
    assert np.array_equal(numbers(column(path).rows("x > 0.9999")[0]), np.flatnonzero(values > 0.9999))
    with pytest.raises(hs.InvalidInputError, match="fragment"):
        hs.indexes.commit([b"{}"])


def test_many_files_may_share_one_index(tmp_path: pathlib.Path) -> None:
    for n in range(3):
        with h5py.File(tmp_path / f"run{n}.h5", "w") as f:
            for step in range(4):
                f[f"Step#{step}/x"] = np.arange(1000) * (step + 1) + n
    hs.index(tmp_path / "run*.h5", "/Step#*/x", together=True)
    assert (tmp_path / "hyperslab.hsidx").is_dir() and not (tmp_path / "run0.h5.hsidx").exists()
    table = hs.open(tmp_path / "run*.h5").table("/Step#*", where="x > 3990")
    assert len(re.findall("index [A-Z] on x", table.explain())) == 12
    assert table.count() == sum(int((np.arange(1000) * (s + 1) + n > 3990).sum()) for n in range(3) for s in range(4))
    with h5py.File(tmp_path / "run1.h5", "r+") as f:
        f["Step#4/x"] = np.arange(1000) * 5 + 1
    assert hs.index(tmp_path / "run*.h5", "/Step#*/x", together=True).datasets[0].needed is False
    assert sum(planned.needed for planned in hs.indexes.plan(tmp_path / "run*.h5", "/Step#*/x", together=True).datasets) == 0


def test_what_cannot_be_indexed_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["one"] = 1
        f["pair"] = np.zeros(3, dtype=[("a", "f4"), ("b", "i4")])
        f["words"] = np.array([b"a", b"b"])
        f["lists"] = np.zeros(3, dtype=[("a", "f4", (2,)), ("b", "i4")])
    for name, what in [("/one", "single value"), ("/lists/a", "elements that are arrays")]:
        with pytest.raises(hs.UnsupportedError, match=what):
            hs.index(path, name)
    with pytest.raises(hs.UnsupportedError, match="bitmaps"):
        hs.index(path, "/words", "X")
    with pytest.raises(hs.InvalidInputError, match="level"):
        hs.index(path, "/words", "Q")
    with pytest.raises(hs.NotFoundError):
        hs.index(path, "/nothing")
    plan = hs.index(path, "/")
    assert {p.path for p in plan.datasets if "left out" in p.reason} == {"/one", "/lists/a"}


def test_progress_hears_all_bytes_and_the_command_says_what_it_does(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "x.h5", np.arange(200_000).astype("f4"))
    heard: list[tuple[int, int]] = []
    hs.index(path, "/x", progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (800_000, 800_000)
    command = [sys.executable, "-m", "hyperslab.cli", "index", str(path), "/x", "/row"]
    run = subprocess.run([sys.executable, "-c", "from hyperslab.cli import main; main()", *command[3:], "--plan"], capture_output=True, text=True, check=True)
    assert "already built" in run.stdout and "level P" in run.stdout
