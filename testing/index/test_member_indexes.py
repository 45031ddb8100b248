"""Value indexes of members of compound datasets, as PyTables, pandas and h5py write them: numpy finds the same rows."""

from __future__ import annotations

import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
import tables

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne}
#: Members of all kinds, with gaps between them.
RECORD = np.dtype(
    {
        "names": ["id", "energy", "big", "half", "count", "flag", "word", "far"],
        "formats": ["<i8", "<f4", ">f8", "<f2", "<u2", "i1", "S5", "<f8"],
        "offsets": [1, 12, 20, 29, 31, 40, 43, 60],
        "itemsize": 73,
    }
)
LAYOUTS: list[dict[str, Any]] = [{}, {"chunks": (1_000,)}, {"chunks": (7_001,), "compression": "gzip", "shuffle": True}, {"chunks": (70_000,)}]


def records(count: int, seed: int = 1) -> Any:
    """Records in random order, with NaN, infinities and zeros of both signs."""
    random = np.random.default_rng(seed)
    made = np.zeros(count, RECORD)
    made["id"] = random.permutation(count) - count // 2
    for name in ("energy", "big", "half", "far"):
        made[name] = random.exponential(size=count)
        made[name][random.choice(count, count // 50, replace=False)] = np.nan
        made[name][random.choice(count, 12, replace=False)] = np.resize([np.inf, -np.inf, 0.0, -0.0], 12)
    made["count"] = random.integers(0, 40_000, count)
    made["flag"] = random.integers(-3, 3, count)
    made["word"] = np.array([b"alpha", b"beta", b"", b"gamm"])[random.integers(0, 4, count)]
    return made


def make(path: pathlib.Path, made: Any, **layout: Any) -> pathlib.Path:
    with h5py.File(path, "w") as f:
        f.create_dataset("run/particles", data=made, **layout)
    return path


@pytest.mark.sampled(5)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("level", [None, "Z", "K", "P", "X", "B"])
def test_conditions_leave_the_rows_of_numpy(tmp_path: pathlib.Path, layout: dict[str, Any], level: str | None) -> None:
    made = records(70_003)
    path = make(tmp_path / "x.h5", made, **layout)
    names = [name for name in RECORD.names or () if name != "word"]
    hs.index(path, [f"/run/particles/{name}" for name in names], level)
    f = hs.open(path)
    for number, name in enumerate(names):
        values = made[name].astype("f8")
        literals = [2.5, 0.0, float(values[number]) if np.isfinite(values[number]) else 1.0]
        for literal in literals:
            for text, compare in COMPARE.items():
                table = f.table("/run/particles", f"{name} {text} {literal!r}", list(dict.fromkeys(["id", name])))
                assert re.search(rf"index [ZKPXB] on {name}", table.explain()), table.explain()
                wanted = made[compare(values, literal)]
                found = table.to_arrow()
                assert np.array_equal(np.asarray(found["id"]), wanted["id"]), (name, text, literal)
                np.testing.assert_array_equal(np.asarray(found[name]), wanted[name].astype(wanted[name].dtype.newbyteorder("=")))
                assert table.count() == len(wanted)
    finite = made["energy"].astype("f8")
    for where, mask in [
        ("energy > 2 and count < 900", (finite > 2) & (made["count"] < 900)),
        ("energy > 6 or id = 7", (finite > 6) | (made["id"] == 7)),
        ("energy is nan and flag = -3", np.isnan(finite) & (made["flag"] == -3)),
        ("abs(energy) > 5 and word = 'beta'", (abs(finite) > 5) & (made["word"] == b"beta")),
        ("energy between 1 and 1.01", (finite >= 1) & (finite <= 1.01)),
        ("id in (3, 8, 12345)", np.isin(made["id"], [3, 8, 12345])),
    ]:
        assert np.array_equal(np.asarray(f.table("/run/particles", where).to_arrow()["id"]), made["id"][mask]), where


def test_text_has_bitmaps_and_all_members_are_one_path(tmp_path: pathlib.Path) -> None:
    made = records(20_000)
    path = make(tmp_path / "x.h5", made, **LAYOUTS[2])
    plan = hs.index(path, "/run/particles")
    assert {entry.path: entry.level for entry in plan.datasets} == {
        f"/run/particles/{name}": {"flag": "B", "word": "W"}.get(name, "X") for name in RECORD.names or ()
    }
    table = hs.open(path).table("/run/particles", "word = 'gamm'")
    assert "index W on word" in table.explain()
    assert np.array_equal(np.asarray(table.to_arrow()["id"]), made["id"][made["word"] == b"gamm"])
    assert not any(entry.needed for entry in hs.index(path, "/run").datasets)
    # Both members have their values in their indexes.
    found = hs.open(path).table("/run/particles", "energy > 7", ["energy", "count"]).to_arrow()
    assert np.array_equal(np.asarray(found["count"]), made["count"][made["energy"] > 7]) and len(found) > 0


@pytest.mark.parametrize("pattern", ["/run/particles/e*", "/r*/particles/energy", "/run/*/energy", "/*/particles/?nergy"])
def test_wildcards_match_members(tmp_path: pathlib.Path, pattern: str) -> None:
    path = make(tmp_path / "x.h5", records(1_000))
    assert [entry.path for entry in hs.index(path, pattern).datasets if entry.needed] == ["/run/particles/energy"]
    assert "on energy" in hs.open(path).table("/run/particles", "energy > 1").explain()


def test_what_cannot_be_indexed_is_named(tmp_path: pathlib.Path) -> None:
    record = [("x", "f4"), ("pos", "f4", (3,)), ("inner", [("a", "i4")]), ("odd/name", "i4")]
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["t"] = np.zeros(10, record)
        f["plain"] = np.zeros(10)
    path = tmp_path / "x.h5"
    for name, what in [("/t/pos", "elements that are arrays"), ("/t/inner", "indexes are of their members")]:
        with pytest.raises(hs.UnsupportedError, match=what) as failed:
            hs.index(path, name)
        assert name in str(failed.value)
    with pytest.raises(hs.NotFoundError, match="no member.*nearest: x"):
        hs.index(path, "/t/xx")
    for name in ("/t/inner/a", "/plain/x", "/nothing/x"):
        with pytest.raises(hs.NotFoundError):
            hs.index(path, name)
    plan = hs.index(path, "/t")
    assert [entry.path for entry in plan.datasets if "left out" in entry.reason] == ["/t/pos", "/t/inner"]
    hs.index(path, "/t/odd/name", rebuild=True)
    assert "on odd/name" in hs.open(path).table("/t", '"odd/name" = 0').explain()


@pytest.mark.parametrize("embedded", [False, True])
def test_an_index_is_stale_when_records_change(tmp_path: pathlib.Path, embedded: bool) -> None:
    made = records(50_000)
    path = make(tmp_path / "x.h5", made, chunks=(5_000,))
    hs.index(path, "/run/particles/energy", embedded=embedded)
    assert os.path.exists(f"{path}.hsidx") != embedded
    assert hs.indexes.verify(path) == []
    shutil.copy(path, tmp_path / "copy.h5")
    if not embedded:
        shutil.copytree(f"{path}.hsidx", tmp_path / "copy.h5.hsidx")
    assert "on energy" in hs.open(tmp_path / "copy.h5").table("/run/particles", "energy > 8").explain()
    with h5py.File(path, "r+") as f:
        f["run/particles"][7] = made[9]
    made[7] = made[9]
    f = hs.open(path)
    assert "index P on energy" not in f.table("/run/particles", "energy > 1").explain()
    if not embedded:
        assert "/run/particles/energy is stale" in hs.indexes.status(path)[0]
    assert f.table("/run/particles", "energy > 1").count() == (made["energy"] > 1).sum()
    hs.index(path, "/run/particles/energy", embedded=embedded)
    found = hs.open(path).table("/run/particles", "energy > 1")
    assert "on energy" in found.explain() and found.count() == (made["energy"] > 1).sum()


def test_a_member_that_has_moved_has_no_index(tmp_path: pathlib.Path) -> None:
    """The stored bytes are equal, and so is the length of the file: only the names of two members have changed places."""
    made = np.zeros(5_000, [("x", "<f4"), ("y", "<f4")])
    made["x"], made["y"] = np.arange(5_000), -np.arange(5_000.0)
    for name, members in (("a.h5", ["x", "y"]), ("b.h5", ["y", "x"])):
        with h5py.File(tmp_path / name, "w", libver="latest") as f:
            f.create_dataset("t", data=made.view([(member, "<f4") for member in members]), chunks=(1_000,), compression="gzip", track_times=False)
    assert os.path.getsize(tmp_path / "a.h5") == os.path.getsize(tmp_path / "b.h5")
    hs.index(tmp_path / "a.h5", "/t")
    shutil.copytree(tmp_path / "a.h5.hsidx", tmp_path / "b.h5.hsidx")
    table = hs.open(tmp_path / "b.h5").table("/t", "x < -4000")
    assert "on x:" not in table.explain()
    assert table.count() == 999


def test_tasks_of_members_run_in_other_processes(tmp_path: pathlib.Path) -> None:
    made = records(300_000)
    path = make(tmp_path / "x.h5", made, **LAYOUTS[3])
    tasks = hs.indexes.plan(path, ["/run/particles/energy", "/run/particles/far"]).tasks(6)
    code = "import sys, hyperslab as hs; sys.stdout.buffer.write(hs.indexes.build(sys.stdin.buffer.read(), threads=1))"
    run = lambda task: subprocess.run([sys.executable, "-c", code], input=task, capture_output=True, check=True).stdout  # noqa: E731
    fragments = [run(tasks[0]), *map(hs.indexes.build, tasks[1:])]
    assert hs.indexes.commit(fragments).datasets == 2
    for name in ("energy", "far"):
        table = hs.open(path).table("/run/particles", f"{name} > 9")
        assert f"index P on {name}" in table.explain()
        assert np.array_equal(np.asarray(table.to_arrow()["id"]), made["id"][made[name] > 9])


def test_queries_and_sql_ask_the_indexes_of_members(tmp_path: pathlib.Path) -> None:
    made = records(140_000)
    path = make(tmp_path / "x.h5", made, **LAYOUTS[2])
    hs.index(path, ["/run/particles/energy", "/run/particles/far"])
    wanted = np.flatnonzero(made["energy"] > 9)
    q = hs.query(path, "/run", "particles.energy > 9")
    assert "index X on particles.energy" in q.explain()
    assert np.array_equal(q.positions(), wanted) and q.count() == len(wanted)
    assert hs.query(path, "/run", "particles.energy > 9 and particles.count > 100").positions().tolist() == [
        row for row in wanted.tolist() if made["count"][row] > 100
    ]
    q = hs.query(path, "/run/particles", "energy > 9")
    assert np.array_equal(q.positions(), wanted) and np.array_equal(q.values("count"), made["count"][wanted])
    before = hs.counters()
    # DuckDB does not push down `>` of floats: NaN is greater than any number there.
    found = hs.sql('select id from "run/particles" where far < 0.0003', path).fetchnumpy()["id"]
    assert np.array_equal(np.sort(found), np.sort(made["id"][made["far"] < 0.0003]))
    assert hs.counters().since(before).index_blocks > 0


def test_tables_of_pytables_and_pandas(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(3)
    made = np.zeros(60_000, [("energy", "f8"), ("channel", "i4"), ("ok", "?"), ("name", "S3"), ("place", "f4", (2,))])
    made["energy"], made["channel"], made["ok"] = random.exponential(10, len(made)), random.integers(0, 999, len(made)), random.random(len(made)) < 0.5
    made["name"] = np.array([b"abc", b"d", b""])[random.integers(0, 3, len(made))]
    for complib in (None, "zlib", "blosc"):
        path = tmp_path / f"{complib}.h5"
        with tables.open_file(path, "w") as f:
            filters = tables.Filters(complevel=1, complib=complib, shuffle=True) if complib else None
            f.create_table("/", "hits", made, filters=filters)
        plan = hs.index(path, "/hits")
        assert [entry.path for entry in plan.datasets if "left out" in entry.reason] == ["/hits/place"]
        with tables.open_file(path) as f:
            for where in ("energy > 60", "(energy > 30) & (channel < 100)", 'name == b"d"'):
                theirs = f.root.hits.read_where(where)
                ours = hs.open(path).table("/hits", where.replace('b"d"', "'d'").replace("&", "and"))
                assert re.search("index [A-Z] on ", ours.explain()), ours.explain()
                assert np.array_equal(np.asarray(ours.to_arrow()["energy"]), theirs["energy"]), where
        model = hs.models.pytables.open(path).table("hits", "energy > 60")
        assert "on energy" in model.explain() and model.count() == (made["energy"] > 60).sum()
    frame = pd.DataFrame({"energy": made["energy"], "channel": made["channel"]})
    frame.to_hdf(tmp_path / "frame.h5", key="runs", format="table", data_columns=True)
    hs.index(tmp_path / "frame.h5", "/runs/table")
    table = hs.open(tmp_path / "frame.h5").table("/runs/table", "energy > 60 and channel > 500")
    assert "on energy" in table.explain() and "on channel" in table.explain()
    wanted = frame[(frame.energy > 60) & (frame.channel > 500)]
    assert np.array_equal(np.asarray(table.to_arrow()["energy"]), wanted.energy) and np.array_equal(np.asarray(table.to_arrow()["index"]), wanted.index)


def test_two_dimensions_of_records(tmp_path: pathlib.Path) -> None:
    made = records(90_000).reshape(300, 300)
    path = make(tmp_path / "x.h5", made, chunks=(70, 40), compression="gzip")
    hs.index(path, "/run/particles/energy")
    table = hs.open(path).table("/run/particles", "energy > 7 and dim_1 < 100")
    assert "on energy" in table.explain()
    assert np.array_equal(np.asarray(table.to_arrow()["id"]), made["id"][:, :100][made["energy"][:, :100] > 7])


def test_the_command_indexes_members(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "x.h5", records(2_000))
    command = [sys.executable, "-m", "hyperslab", "index", str(path), "/run/particles/energy"]
    assert "/run/particles/energy: level P" in subprocess.run([*command, "--plan"], capture_output=True, text=True, check=True).stdout
    subprocess.run(command, capture_output=True, check=True)
    assert "already built" in subprocess.run([*command, "--plan"], capture_output=True, text=True, check=True).stdout
    wrong = subprocess.run([*command[:-1], "/run/particles/energ"], capture_output=True, text=True)
    assert wrong.returncode != 0 and "nearest: energy" in wrong.stderr


def test_records_longer_than_a_part_are_read(tmp_path: pathlib.Path) -> None:
    made = np.zeros(3_000, [("junk", "S20000"), ("x", "f8")])
    made["x"] = np.random.default_rng(2).normal(size=len(made))
    for number, layout in enumerate([{}, {"chunks": (7,)}, {"chunks": (700,), "compression": "gzip"}]):
        path = make(tmp_path / f"{number}.h5", made, **layout)
        hs.index(path, "/run/particles/x")
        table = hs.open(path).table("/run/particles", "x > 2", ["x"])
        assert "on x" in table.explain()
        assert np.array_equal(np.asarray(table.to_arrow()["x"]), made["x"][made["x"] > 2])
        path.unlink()


@pytest.mark.parametrize("members", [None, ["id"]])
def test_the_same_question_again_decodes_nothing(tmp_path: pathlib.Path, members: list[str] | None) -> None:
    """A session keeps the chunks of a few rows, and never those of an older version of the file."""
    random = np.random.default_rng(4)
    made = np.zeros(6 * 70_000, [("id", "i4"), ("energy", "f4")])
    made["id"], made["energy"] = random.permutation(len(made)), random.random(len(made))
    high = np.arange(6) * 70_000 + random.integers(0, 70_000, 6)
    made["energy"][high] = 9
    path = make(tmp_path / "x.h5", made, chunks=(70_000,), compression="gzip")
    os.utime(path, (1e9, 1e9))  # chunks of a file that has just been written are not kept
    hs.index(path, "/run/particles/energy")

    def ask(f: hs.File) -> Any:
        return np.asarray(f.table("/run/particles", "energy > 8", members).to_arrow()["id"])

    f = hs.open(path)
    assert np.array_equal(ask(f), made["id"][high])
    before = hs.counters()
    assert np.array_equal(ask(f), made["id"][high])
    assert hs.counters().since(before).chunks_decoded <= 4  # those of the 4 rows of an audit; the rows themselves lie in 6
    with h5py.File(path, "r+") as changed:
        made["id"][high[0]] = 999_999
        changed["run/particles"][high[0]] = made[high[0]]
    assert np.array_equal(ask(hs.open(path)), made["id"][high])
