"""Compound values go in by the names of their fields, checked as other values are: what h5py writes is the measure."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from compare import same

PAIR = np.dtype([("a", "u1"), ("b", "f4")])
TEXT = h5py.string_dtype()
DEEP = np.dtype([("id", "i2"), ("at", [("x", "f8"), ("y", ">i4")]), ("v", "u2", (3,)), ("m", "f4", (2, 2)), ("z", "c8"), ("name", "S4"), ("flag", "?")])
HEAP = np.dtype([("id", "i4"), ("text", TEXT), ("list", h5py.vlen_dtype("i2")), ("inner", [("t", TEXT), ("n", "u1")]), ("two", TEXT, (2,))])


def row(i: int) -> tuple[Any, ...]:
    return (i, (i / 2, -i), [i, i + 1, i + 2], [[i, 1], [2, 3]], complex(i, 1), f"n{i}".encode(), i % 2 == 0)


def shuffled(data: np.ndarray) -> np.ndarray:
    """The same values with the fields in another order, also in compounds inside."""
    names = data.dtype.names
    assert names is not None
    parts = {name: shuffled(data[name]) if data[name].dtype.names else data[name] for name in reversed(names)}
    out = np.empty(data.shape, dtype=[(name, part.dtype, part.shape[data.ndim :]) for name, part in parts.items()])
    for name, part in parts.items():
        out[name] = part
    return out


def test_fields_in_another_order_are_matched_by_name(tmp_path: pathlib.Path) -> None:
    pairs = np.array([(1.5, 7), (2.5, 8)], dtype=[("b", "f4"), ("a", "u1")])
    deep = np.array([row(i) for i in range(20)], dtype=DEEP)
    with hs.create(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5", "w") as g:
        for file in (f, g):
            for name, options in {"plain": {}, "packed": {"chunks": (1,), "compression": "gzip"}}.items():
                file.create_dataset(name, (2,), PAIR, **options)[:] = pairs
            file.create_dataset("deep", (20,), DEEP)[...] = shuffled(deep)
            file.create_dataset("given", data=deep)
        f.attrs.create("deep", shuffled(deep[:3]), dtype=DEEP)
        f.create_dataset("converted", data=shuffled(deep), dtype=DEEP)
        f.create_dataset("filled", (3,), DEEP, fillvalue=shuffled(deep)[4])
    with h5py.File(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5") as g:
        for name in g:
            assert same(f[name][()], g[name][()])
        assert f["plain"][0].tolist() == (7, 1.5)
        assert same(f["deep"][()], deep)
        assert same(f["converted"][()], deep)
        assert same(f.attrs["deep"], deep[:3])
        assert same(f["filled"][()], np.repeat(deep[4:5], 3))


def test_rows_of_tuples_are_written_as_in_h5py(tmp_path: pathlib.Path) -> None:
    pair, rows = (3, 4.5), [(1, 2.5), (2, 3.5)]
    with hs.create(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5", "w") as g:
        for file in (f, g):
            x = file.create_dataset("x", (6,), PAIR)
            x[0], x[1:3], x[3:5], x[5] = pair, rows, np.array(rows, dtype=PAIR), np.void((9, 1.0), dtype=PAIR)
            file.create_dataset("made", data=rows, dtype=PAIR)
            file.create_dataset("one", data=pair, dtype=PAIR)
            deep = file.create_dataset("deep", (2, 3), DEEP)
            deep[...] = [[row(i + 3 * j) for i in range(3)] for j in range(2)]
            deep[1, 1] = row(77)
            file.create_dataset("zero", (4,), PAIR)[...] = 0
            file.attrs.create("pair", pair, dtype=PAIR)
            file.attrs.create("rows", rows, dtype=PAIR)
            heap = file.create_dataset("heap", (3,), HEAP)
            heap[0] = (1, "ä", np.array([1, 2, 3], "i2"), ("in", 4), ["p", "q"])
    with h5py.File(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5") as g:
        for name in g:
            assert same(f[name][()], g[name][()])
        for name in g.attrs:
            assert same(f.attrs[name], g.attrs[name])
        assert f["heap"][0]["text"] == "ä".encode() and f["heap"][0]["list"].tolist() == [1, 2, 3] and f["heap"][0]["two"].tolist() == [b"p", b"q"]


@pytest.mark.parametrize("options", [{}, {"chunks": (4,)}, {"chunks": (3,), "compression": "gzip", "shuffle": True}, {"maxshape": (None,)}], ids=str)
def test_single_fields_and_subsets_leave_the_others(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    deep = np.array([row(i) for i in range(10)], dtype=DEEP)
    with hs.create(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5", "w") as g:
        for file in (f, g):
            # In a contiguous dataset, the library forgets the fill value of fields that the first write of all rows omits.
            x = file.create_dataset("x", (10,), PAIR, fillvalue=np.array((5, 0.5 if options else 0), PAIR)[()], **options)
            x["a"] = np.arange(10)
            x["b", 2:5] = [1.5, 2.5, 3.5]
            x["a", 0:3] = 9
            x[7, "b"] = 6.25
            x[::3, "a"] = 11
            y = file.create_dataset("y", (10,), DEEP, **options)
            y[...] = deep
            y["v"] = np.arange(30).reshape(10, 3)
            y["id", 4] = -4
            y["id", "name", 5:7] = np.array([(55, b"x"), (66, b"y")], dtype=[("id", "i8"), ("name", "S2")])
            y[8:10] = np.array([(b"s",), (b"t",)], dtype=[("name", "S1")])
        f["never"] = np.zeros(2, PAIR)
        z = f.create_dataset("z", (10,), PAIR, **options)
        z[["b", "a"]] = [(0.5, 3)] * 10
        heap = f.create_dataset("heap", (3,), HEAP, **({} if "chunks" not in options else {"chunks": (2,)}))
        heap[:] = [(i, f"t{i}", [i], ("in", i), ["p", "q"]) for i in range(3)]
        heap["text", 1:] = ["ä", "longer text"]
        heap["id"] = [7, 8, 9]
        heap["two", 0] = ["r", "s"]
    with h5py.File(tmp_path / "ours.h5") as f, h5py.File(tmp_path / "theirs.h5") as g:
        for name in g:
            assert same(f[name][()], g[name][()])
        assert f["z"][()].tolist() == [(3, 0.5)] * 10
        assert f["heap"]["text"].tolist() == [b"t0", "ä".encode(), b"longer text"] and f["heap"]["id"].tolist() == [7, 8, 9]
        assert f["heap"]["two"].tolist() == [[b"r", b"s"], [b"p", b"q"], [b"p", b"q"]] and [one.tolist() for one in f["heap"]["list"]] == [[0], [1], [2]]


@pytest.mark.parametrize(
    "write, words",
    [
        (lambda d: d.__setitem__(0, (300, 1.0)), "300"),
        (lambda d: d.__setitem__(0, (-1, 1.0)), "-1"),
        (lambda d: d.__setitem__(0, (1.5, 1.0)), "fraction"),
        (lambda d: d.__setitem__(slice(0, 2), [(1, 1.0), (256, 1.0)]), "256"),
        (lambda d: d.__setitem__(slice(None), np.array([(1.0, 300)] * 4, dtype=[("b", "f4"), ("a", "i8")])), "300"),
        (lambda d: d.__setitem__(slice(None), np.array([(1.0, -1.5)] * 4, dtype=[("b", "f4"), ("a", "f8")])), "fraction"),
        (lambda d: d.__setitem__("a", [1, 2, 3, 2**70]), "does not fit"),
        (lambda d: d.__setitem__("a", [1, 2, 3, 4, 5]), "shape"),
        (lambda d: d.__setitem__("c", 1), "no field 'c'"),
        (lambda d: d.__setitem__(slice(None), np.zeros(4, [("a", "u1"), ("c", "f4")])), "no field 'c'"),
        (lambda d: d.__setitem__(("a", "b"), np.zeros(4, [("a", "u1")])), "no field 'b'"),
        (lambda d: d.__setitem__(0, (1, 2.0, 3)), "rows of the fields a, b"),
        (lambda d: d.__setitem__(("a", "a"), 1), "give each once"),
        (lambda d: d.attrs.create("x", np.zeros(2, [("a", "u1")]), dtype=PAIR), "no field 'b'"),
        (lambda d: d.attrs.create("x", [(300, 1.0)], dtype=PAIR), "300"),
    ],
)
def test_what_a_compound_cannot_hold_is_refused(tmp_path: pathlib.Path, write: Any, words: str) -> None:
    with pytest.raises(hs.InvalidInputError, match=words), hs.create(tmp_path / "x.h5") as f:
        write(f.create_dataset("x", (4,), PAIR))
    assert list(tmp_path.iterdir()) == []


def test_members_inside_are_checked_too(tmp_path: pathlib.Path) -> None:
    good = row(1)
    for place, bad in {1: (0.5, 2**40), 2: [1, 2, 70_000], 5: b"too long", 6: None}.items():
        values = tuple(bad if i == place else value for i, value in enumerate(good))
        with pytest.raises(hs.Error), hs.create(tmp_path / "x.h5") as f:
            f.create_dataset("x", (1,), DEEP)[0] = values
    with pytest.raises(hs.InvalidInputError, match="no fields"), hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", (2,), "f4")["a"] = 1
    with pytest.raises(hs.UnsupportedError, match="unit"), hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("x", (1,), "i8")[0] = np.datetime64("2000-01-01")


@pytest.mark.parametrize("shared", [False, True])
def test_tasks_write_compounds_by_name(tmp_path: pathlib.Path, shared: bool) -> None:
    given = np.array([(i / 2, i) for i in range(12)], dtype=[("b", "f4"), ("a", "i8")])
    plan = hs.WritePlan(tmp_path / "out.h5", **({"writers": 3, "factor": 3} if shared else {}))
    fill = np.array((5, 0.5), PAIR)[()]
    if shared:
        plan.create_dataset("x", (12,), PAIR, fillvalue=fill)
        plan.create_dataset("part", (12,), PAIR, fillvalue=fill, chunks=(2,))
    fragments = []
    for number in range(3):
        mine = slice(number * 4, number * 4 + 4)
        with plan.task(number) as task:
            x = task.dataset("x") if shared else task.create_dataset("x", (12,), PAIR, region=np.s_[mine], fillvalue=fill)
            part = task.dataset("part") if shared else task.create_dataset("part", (12,), PAIR, region=np.s_[mine], fillvalue=fill)
            x[mine] = given[mine]
            part["a", mine] = np.arange(4)
            part["b", number * 4 : number * 4 + 2] = [2.5, 3.5]
            fragments.append(task.finish())
    plan.commit(fragments)
    with h5py.File(tmp_path / "out.h5") as f:
        assert f["x"][()].tolist() == [(i, i / 2) for i in range(12)]
        assert f["part"]["a"].tolist() == [0, 1, 2, 3] * 3 and f["part"]["b"].tolist() == [2.5, 3.5, 0.5, 0.5] * 3
    with pytest.raises(hs.InvalidInputError, match="300"), hs.WritePlan(tmp_path / "bad.h5").task(0) as task:
        task.create_dataset("x", (1,), PAIR)[0] = (300, 0)
