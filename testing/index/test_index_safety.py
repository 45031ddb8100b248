"""Indexes that are damaged, forged or at the ends of their types: an answer may be vague, never wrong."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import zlib
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab import _native

LEVELS = ["Z", "K", "P", "X", "B"]
TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "?"]


def ends_of(dtype: str) -> Any:
    """Values at both ends of a type, and next to them."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False, True, True])
    if kind.kind == "f":
        info = np.finfo(kind)
        return np.array([np.inf, -np.inf, info.max, info.min, info.tiny, -0.0, 0.0, np.nan, -np.nan, 1.5, np.inf], kind)
    whole = np.iinfo(kind)
    return np.array([whole.max, whole.min, whole.max - 1, whole.min + 1, 0, 5, whole.max, whole.max], kind)


def same(found: Any, wanted: Any) -> bool:
    return bool(np.array_equal(np.asarray(found, np.float64), np.asarray(wanted, np.float64), equal_nan=True)) and str(found) == str(wanted)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", ["ends", "only the greatest", "only the least"])
def test_the_ends_of_a_type_are_in_every_answer(tmp_path: pathlib.Path, dtype: str, level: str, shape: str) -> None:
    values = ends_of(dtype)
    plain = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if shape != "ends":
        values = np.full(3, plain.max() if shape == "only the greatest" else plain.min(), values.dtype)
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["a"] = values
    hs.index(path, "/a", level)
    exact = [v.item() for v in values]
    literals = {"-inf": -np.inf, "inf": np.inf, "0": 0, "-0.0": -0.0} if values.dtype.kind == "f" else {str(int(v)): int(v) for v in values}
    compare = {
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
    }
    conditions: list[tuple[str | None, list[bool]]] = [(None, [True] * len(values))]
    if dtype == "?":
        conditions += [("a", exact), ("not a", [not v for v in exact])]
    else:
        conditions += [
            (f"a {sign} {text}", [bool(test(v, bound)) for v in exact])
            for text, bound in literals.items()
            if "inf" not in text
            for sign, test in compare.items()
        ]
        greatest, least = (
            (repr(float(plain.max() if np.isfinite(plain.max()) else np.finfo(dtype).max)), "0")
            if values.dtype.kind == "f"
            else (str(int(plain.max())), str(int(plain.min())))
        )
        conditions += [
            (f"a >= {greatest} or a == {least}", [v >= (float(greatest) if values.dtype.kind == "f" else int(greatest)) or v == int(least) for v in exact])
        ]
    for text, mask in conditions:
        q = hs.query(path, "/", text, rows="a")
        rows = np.flatnonzero(mask)
        left = values[rows]
        numbers = left[~np.isnan(left)] if values.dtype.kind == "f" else left
        assert q.count() == len(rows), (text, level)
        assert q.positions().tolist() == rows.tolist(), (text, level)
        least_rows, most_rows = q.bounds()
        assert least_rows <= len(rows) <= most_rows
        assert np.array_equal(np.asarray(q.values("a")), left, equal_nan=values.dtype.kind == "f"), (text, level)
        found = q.minmax("a")
        wanted = (numbers.min().item(), numbers.max().item()) if len(numbers) else None
        assert found == wanted, (text, level, found, wanted)
        if dtype != "?":
            for place in (0.0, 0.5, 1.0):
                told = q.quantile("a", place, method="lower")
                expected = np.sort(numbers)[int(np.floor(place * (len(numbers) - 1)))] if len(numbers) else np.nan
                assert same(told, expected) or told == expected, (text, level, place, told, expected)
            if values.dtype.kind != "f":
                assert q.sum("a") == sum(int(v) for v in numbers), (text, level)
            edges = [-1e30, -1.0, 0.0, 10.0, 1e30]
            finite = numbers.astype(np.float64)
            assert q.histogram("a", edges).values.tolist() == np.histogram(finite[np.isfinite(finite)], edges)[0].tolist(), (text, level)
        if text is not None:
            table = hs.open(path).table("/a", where=text)
            assert table.count() == len(rows) and table.to_arrow().num_rows == len(rows), (text, level)


def test_several_files_have_the_greatest_value_too(tmp_path: pathlib.Path) -> None:
    for number, values in enumerate([[5, 2**64 - 1], [7, 9], [2**64 - 1, 2**64 - 2]]):
        with h5py.File(tmp_path / f"m{number}.h5", "w") as f:
            f["a"] = np.array(values, "u8")
    paths = sorted(tmp_path.glob("m*.h5"))
    hs.index(list(map(str, paths)), "/a", "X")
    q = hs.query(list(map(str, paths)), "/", "a > 0")
    assert q.minmax("a") == (5, 2**64 - 1) and q.quantile("a", 1.0) == 2**64 - 1


# Damage.


def segments(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("*.arrow"))


def answers(path: pathlib.Path, where: str) -> tuple[int, list[int], list[float]]:
    """By a session that has seen nothing yet, as a new process."""
    native = _native.Session(1, None, None, None, ()).open([str(path)])
    query = hs.query(hs.File(native[0]), "/", where)
    return query.count(), query.positions().tolist(), np.asarray(query.values("a")).tolist()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", LEVELS)
def test_a_bit_flipped_in_any_page_gives_right_rows(tmp_path: pathlib.Path, level: str) -> None:
    values = np.random.default_rng(4).normal(size=65_536).astype("f4")
    if level == "B":
        values = np.round(values * 30)
    path = tmp_path / "n.h5"
    with h5py.File(path, "w") as f:
        f["a"] = values
    hs.index(path, "/a", level)
    inside = np.sort(values)
    wanted = {}
    for where in (f"a <= {inside[800]}", f"{inside[30_000]} <= a and a <= {inside[30_700]}", f"a >= {inside[-900]}", f"a == {inside[3]}"):
        assert hs.query(path, "/", where).count() > 0
        mask = eval(where.replace(" and ", ") & (").join("()"), {"a": values.astype("f8")})
        wanted[where] = (int(mask.sum()), np.flatnonzero(mask).tolist(), values[mask].tolist())
    (segment,) = segments(tmp_path / "n.h5.hsidx")
    whole = segment.read_bytes()
    rng = np.random.default_rng(5)
    for page in range(0, len(whole), 4096):
        for place in rng.integers(page, min(page + 4096, len(whole)), 2):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(rng.integers(8))
            segment.write_bytes(damaged)
            for where, expected in wanted.items():
                assert answers(path, where) == expected, (level, int(place), where)
    segment.write_bytes(whole)


def problems(path: pathlib.Path) -> list[list[str]]:
    """What `status` and `verify` say in a process of their own, which has opened no index before."""
    code = "import sys, json, hyperslab as hs; print(json.dumps([hs.indexes.status(sys.argv[1]), hs.indexes.verify(sys.argv[1])]))"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    found: list[list[str]] = json.loads(run.stdout)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", [*LEVELS, "W", "C"])
def test_status_and_verify_tell_of_every_damage(tmp_path: pathlib.Path, level: str) -> None:
    path, count = tmp_path / "d.h5", 150_000
    rng = np.random.default_rng(7)
    with h5py.File(path, "w") as f:
        for name in "ab":
            f[name] = rng.random(count).astype("f4") if level != "B" else rng.integers(0, 9, count)
        f["text"] = [f"word{number} all" for number in range(count)]
    hs.index(path, [("/a", "/b")] if level == "C" else "/text" if level == "W" else "/a", None if level == "C" else level)
    (segment,) = segments(tmp_path / "d.h5.hsidx")
    whole = segment.read_bytes()
    assert problems(path) == [[], []]
    for cut in (whole[:-100], b"", None):
        if cut is None:
            segment.unlink()
        else:
            segment.write_bytes(cut)
        status, _ = problems(path)
        assert len(status) == 1 and "lacks 3 of 3 blocks" in status[0], status
    # A byte of a page, found by the checksum of the row that has it: levels Z and K have few pages.
    place = len(whole) // 2
    damaged = bytearray(whole)
    damaged[place] ^= 1
    segment.write_bytes(damaged)
    status, verified = problems(path)
    said = status + verified
    assert len(said) == 1 and ("of 3 blocks of the index are damaged" in said[0] or "of 3 blocks (damaged" in said[0]), said
    segment.write_bytes(whole)
    assert problems(path) == [[], []]


@pytest.mark.parametrize("how", ["gone", "cut", "row"])
def test_blocks_of_an_earlier_build_do_not_come_back(tmp_path: pathlib.Path, how: str) -> None:
    values = np.random.default_rng(1).random(300_000).astype("f4")
    path = tmp_path / "v.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("a", data=values, chunks=(65_536,))
    hs.index(path, "/a", "X")
    (first,) = segments(tmp_path / "v.h5.hsidx")
    with h5py.File(path, "r+") as f:
        f["a"][5] = 7.0
    hs.index(path, "/a")
    (second,) = [segment for segment in segments(tmp_path / "v.h5.hsidx") if segment != first]
    whole = second.read_bytes()
    assert answers(path, "a > 5") == (1, [5], [7.0])
    if how == "gone":
        second.unlink()
    elif how == "cut":
        second.write_bytes(whole[:-100])
    for place in range(0, len(whole), 977) if how == "row" else [0]:
        if how == "row":
            damaged = bytearray(whole)
            damaged[place] ^= 1
            second.write_bytes(damaged)
        assert answers(path, "a > 5") == (1, [5], [7.0]), place


# What a stranger may have put there.


def seal(manifest: Any) -> bytes:
    """A manifest as its reader wants it: anybody can compute the checksum."""
    text = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False)
    return json.dumps({"checksum": zlib.crc32(text.encode()), "manifest": manifest}).encode()


def indexed(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path, Any]:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(200_000.0)
        f["y"] = np.arange(200_000.0)
    hs.index(path, "/x")
    place = tmp_path / "data" / "a.h5.hsidx" / "manifest.json"
    return path, place, json.loads(place.read_bytes())["manifest"]


@pytest.mark.parametrize(
    "name",
    [
        "../../victim.txt",
        "ABSOLUTE",
        "manifest.json",
        "../a.h5",
        "0" * 32 + ".arro",
        "G" * 32 + ".arrow",
        ".",
        "",
        "@",
        "@-1",
        "@9" * 20,
        "x/" + "0" * 32 + ".arrow",
    ],
)
def test_a_manifest_names_only_index_files(tmp_path: pathlib.Path, name: str) -> None:
    path, place, manifest = indexed(tmp_path)
    victim = tmp_path / "victim.txt"
    victim.write_text("-----BEGIN PRIVATE KEY-----")
    name = str(victim) if name == "ABSOLUTE" else name
    manifest["files"][0]["columns"][0]["index_files"].append({"name": name, "bytes": 27, "blocks": 0, "build": 0})
    place.write_bytes(seal(manifest))
    assert hs.query(path, "/", "x > 199990").count() == 9
    assert any("not used" in remark and "cannot belong to it" in remark for remark in hs.indexes.status(path))
    hs.index(path, "/y", embedded=True)
    hs.index(path, "/x", rebuild=True)
    assert victim.read_text() == "-----BEGIN PRIVATE KEY-----" and b"PRIVATE KEY" not in path.read_bytes()
    assert hs.query(path, "/", "x > 199990").count() == 9 and h5py.File(path)["x"][5] == 5


def test_an_index_file_is_named_once(tmp_path: pathlib.Path) -> None:
    path, place, manifest = indexed(tmp_path)
    manifest["files"][0]["columns"][0]["index_files"] *= 1000
    place.write_bytes(seal(manifest))
    assert hs.query(path, "/", "x > 199990").count() == 9
    assert any("twice" in remark for remark in hs.indexes.status(path))


@pytest.mark.parametrize("what", ["link", "pipe", "folder"])
def test_an_index_file_and_a_manifest_are_regular_files(tmp_path: pathlib.Path, what: str) -> None:
    path, place, manifest = indexed(tmp_path)
    for victim in (place.with_name(manifest["files"][0]["columns"][0]["index_files"][0]["name"]), place):
        moved = tmp_path / "moved"
        victim.rename(moved)
        {"link": lambda: victim.symlink_to(moved), "pipe": lambda: os.mkfifo(victim), "folder": lambda: victim.mkdir()}[what]()
        code = "import sys, hyperslab as hs; print(hs.query(sys.argv[1], '/', 'x > 199990').count(), hs.indexes.status(sys.argv[1]))"
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith("9 ['"), done
        shutil.rmtree(victim) if what == "folder" else victim.unlink()
        moved.rename(victim)


def test_a_write_plan_whose_id_leads_elsewhere_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "out.h5.d").mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "a.txt").write_text("x")
    plan = bytes(hs.WritePlan(tmp_path / "out.h5"))
    end = plan.rindex(b"}") + 1
    for identity in ("../victim", "", ".", "..", str(victim), "g" * 32, "0" * 31):
        body = json.dumps({**json.loads(plan[:end]), "id": identity}, separators=(",", ":")).encode()
        with pytest.raises(hs.InvalidInputError, match="write plan"):
            hs.WritePlan.from_bytes(body + plan[end : end + len(plan) - end - 8] + b"%08x" % zlib.crc32(body)).abort()
    assert (victim / "a.txt").exists()


def sealed(value: Any) -> bytes:
    """A task or fragment with the checksum of its bytes."""
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return body + b"\n%08x" % zlib.crc32(body)


def unsealed(data: bytes) -> Any:
    return json.loads(data[:-9])


@pytest.mark.parametrize(
    "change",
    [
        {"parts": 0},
        {"part": 1},
        {"folder": "/etc"},
        {"name": "../x.h5"},
        {"name": "other.h5"},
        {"previous": [{"name": "../../victim.txt", "bytes": 1, "blocks": 1}]},
    ],
)
def test_a_task_whose_names_lead_elsewhere_is_refused(tmp_path: pathlib.Path, change: Any) -> None:
    path, _, _ = indexed(tmp_path)
    (task,) = hs.indexes.plan(path, "/y").tasks(1)
    hs.indexes.commit([hs.indexes.build(task)])
    (task,) = hs.indexes.plan(path, "/y", rebuild=True).tasks(1)
    changed = unsealed(task)
    assert sealed(changed) == task
    changed["datasets"][0].update(change)
    with pytest.raises(hs.Error, match="its file names do not belong together|names the index file|it is part"):
        hs.indexes.build(sealed(changed))
    fragment = unsealed(hs.indexes.build(task))
    fragment["datasets"][0]["task"].update(change)
    with pytest.raises(hs.Error, match="its file names do not belong together|names the index file|it is part"):
        hs.indexes.commit([sealed(fragment)])
    fragment = unsealed(hs.indexes.build(task))
    fragment["datasets"][0]["index_file"]["name"] = "../../victim.txt"
    with pytest.raises(hs.InvalidInputError, match="which cannot belong to it"):
        hs.indexes.commit([sealed(fragment)])


def test_a_damaged_task_or_fragment_is_refused(tmp_path: pathlib.Path) -> None:
    path, _, _ = indexed(tmp_path)
    (task,) = hs.indexes.plan(path, "/y").tasks(1)
    fragment = hs.indexes.build(task)
    for good, use in ((task, hs.indexes.build), (fragment, lambda bad: hs.indexes.commit([bad]))):
        for place in range(len(good)):
            bad = bytearray(good)
            bad[place] ^= 1 << place % 8
            with pytest.raises(hs.InvalidInputError, match="damaged: the checksum does not match"):
                use(bytes(bad))
        for length in (0, 1, 8, 9, len(good) // 2, len(good) - 9, len(good) - 1):
            with pytest.raises(hs.InvalidInputError, match="damaged"):
                use(good[:length])
        # A release before checksums wrote version 1.
        for old in (json.dumps({**unsealed(good), "version": 1}).encode(), sealed({**unsealed(good), "version": 1})):
            with pytest.raises(hs.InvalidInputError, match="of version 1, but this release reads version 2"):
                use(old)
    assert hs.query(path, "/", "y > 199990").count() == 9
    hs.indexes.commit([fragment])
    assert hs.indexes.status(path) == []


def test_a_file_from_before_1970_has_an_index(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "old.h5"
    with h5py.File(path, "w") as f:
        f["a"] = np.arange(70_000.0)
    os.utime(path, ns=(-(10**18), -(10**18) + 7))
    hs.index(path, "/a", "X")
    q = hs.query(path, "/", "a > 69990")
    assert "index X on a" in q.explain() and q.count() == 9 and hs.indexes.status(path) == []
