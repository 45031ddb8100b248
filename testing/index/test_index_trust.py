"""Indexes of others are not believed: whose indexes are used, and what happens to one that disagrees with its data."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import warnings
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from test_index_safety import seal

ROWS = 200_000
LEVELS = ["Z", "K", "P", "X", "B"]


def write(path: pathlib.Path, values: Any, **options: Any) -> None:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values, **options)


def run(code: str, path: pathlib.Path, **environment: str) -> str:
    """What another process prints; it is another user if it has another key."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import sys, hyperslab as hs\npath = sys.argv[1]\n" + code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def transplanted(tmp_path: pathlib.Path, level: str | None, honest: Any, forged: Any, embedded: bool = False, **options: Any) -> pathlib.Path:
    """A file with `honest` values and an index of `forged` ones: length, time, layout and addresses fit."""
    path, other = tmp_path / "t.h5", tmp_path / "other" / "t.h5"
    other.parent.mkdir()
    write(other, forged, **options)
    write(path, honest, **options)
    time = os.stat(path).st_mtime_ns
    os.utime(other, ns=(time, time))
    hs.index(other, "/x", level, embedded=embedded)
    if embedded:
        data, whole = path.read_bytes(), other.read_bytes()
        now = os.stat(other).st_mtime_ns
        path.write_bytes(data + whole[len(data) :])
        os.utime(path, ns=(now, now))
    else:
        shutil.copytree(f"{other}.hsidx", f"{path}.hsidx")
    # A session makes its first audits whatever they cost; tests before this one may have used them up.
    hs.sources.sessions.session.cache_clear()
    return path


def test_an_index_of_another_user_is_not_used(tmp_path: pathlib.Path) -> None:
    path, key = tmp_path / "a.h5", str(tmp_path / "key")
    write(path, np.arange(float(ROWS)))
    run("hs.index(path, '/x')", path, HYPERSLAB_INDEX_KEY=key)
    assert "index X" not in hs.query(path, "/", "x > 199990").explain() and "index P" not in hs.query(path, "/", "x > 199990").explain()
    assert hs.query(path, "/", "x > 199990").count() == 9
    (remark,) = hs.indexes.status(path)
    assert "was not built by this user" in remark and 'indexes="any"' in remark
    for used in (hs.query(path, "/", "x > 199990", indexes="any"), hs.query(hs.open(path, indexes="any"), "/", "x > 199990")):
        assert "index P on x" in used.explain() and used.count() == 9
    assert hs.indexes.status(path, indexes="any") == [] and hs.indexes.verify(path, indexes="any") == []
    # The other user sees it as before.
    assert "index P on x" in run("print(hs.query(path, '/', 'x > 199990').explain())", path, HYPERSLAB_INDEX_KEY=key)


@pytest.mark.parametrize("embedded", [False, True])
def test_blocks_of_a_stranger_do_not_become_ones_own(tmp_path: pathlib.Path, embedded: bool) -> None:
    path = tmp_path / "a.h5"
    write(path, np.arange(float(ROWS)))
    run(f"hs.index(path, '/x', embedded={embedded})", path, HYPERSLAB_INDEX_KEY=str(tmp_path / "key"))
    hs.index(path, "/x", embedded=embedded)
    assert hs.indexes.status(path) == []
    blocks = hs.indexes.plan(path, "/x", rebuild=True).tasks(1)
    assert blocks
    if not embedded:
        manifest = json.loads((tmp_path / "a.h5.hsidx/manifest.json").read_bytes())["manifest"]
        assert [entry["build"] for entry in manifest["files"][0]["columns"][0]["index_files"]] == [0]


def test_a_seal_is_of_one_entry_and_one_state_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    write(path, np.arange(float(ROWS)))
    hs.index(path, "/x")
    place = tmp_path / "a.h5.hsidx" / "manifest.json"
    whole = json.loads(place.read_bytes())["manifest"]
    for change in ("bytes", "modified_nanoseconds", "blocks", "seal", None):
        manifest = json.loads(json.dumps(whole))
        file = manifest["files"][0]
        if change == "blocks":
            file["columns"][0]["index_files"][0]["blocks"] += 1
        elif change == "seal":
            del file["columns"][0]["seal"]
        elif change is not None:
            file["stamp"][change] += 1
        place.write_bytes(seal(manifest))
        remarks = hs.indexes.status(path)
        assert (remarks == []) is (change is None) and all("was not built by this user" in remark for remark in remarks), change
        assert hs.query(path, "/", "x > 199990").count() == 9


def test_no_index_is_used_if_none_is_wanted(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    write(path, np.arange(float(ROWS)))
    hs.index(path, "/x")
    q = hs.query(path, "/", "x > 199990", indexes="none")
    assert "no index answers" in q.explain() and q.count() == 9
    assert hs.open(path, indexes="none").table("/", where="x > 199990").count() == 9
    with pytest.raises(hs.InvalidInputError, match="indexes"):
        hs.open(path, indexes="mine")
    command = [sys.executable, "-c", "import hyperslab.cli as c; c.main()"]
    for option, used in ([], True), (["--no-index"], False), (["--indexes", "none"], False), (["--indexes", "any"], True):
        done = subprocess.run([*command, *option, "query", str(path), "/", "x > 199990", "--explain"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and ("index P on x" in done.stdout) is used, done


def test_an_index_in_a_folder_that_was_asked_for_is_used(tmp_path: pathlib.Path) -> None:
    path, folder = tmp_path / "a.h5", tmp_path / "indexes"
    write(path, np.arange(float(ROWS)))
    run(f"hs.index(path, '/x', index_folder={str(folder)!r})", path, HYPERSLAB_INDEX_KEY=str(tmp_path / "key"))
    assert "index P on x" in hs.query(path, "/", "x > 199990", index_folder=folder).explain()


def test_without_a_place_for_the_key_a_process_has_its_own(tmp_path: pathlib.Path) -> None:
    path, home = tmp_path / "a.h5", tmp_path / "home"
    write(path, np.arange(float(ROWS)))
    home.write_text("not a folder")
    code = "hs.index(path, '/x'); print('index P on x' in hs.query(path, '/', 'x > 199990').explain())"
    nowhere = {"HOME": str(home), "XDG_DATA_HOME": "", "HYPERSLAB_INDEX_KEY": ""}
    assert run(code, path, **nowhere).startswith("True")
    assert "was not built by this user" in run("print(hs.indexes.status(path))", path, **nowhere)
    # With a home, the key is made once, for its owner.
    home.unlink()
    nowhere.pop("HYPERSLAB_INDEX_KEY")
    os.environ.pop("HYPERSLAB_INDEX_KEY", None)
    assert run(code, path, **nowhere).startswith("True")
    assert run("print(hs.indexes.status(path))", path, **nowhere) == "[]\n"
    (kept,) = home.rglob("index.key")
    assert kept.stat().st_mode & 0o777 == 0o600 and len(kept.read_text()) == 33


@pytest.mark.parametrize("options", [{}, {"chunks": (10_000,), "shuffle": True}], ids=["plain", "shuffled"])
@pytest.mark.parametrize("embedded", [False, True], ids=["sidecar", "embedded"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_transplanted_index_is_dropped_with_a_warning(tmp_path: pathlib.Path, level: str, embedded: bool, options: Any) -> None:
    rng = np.random.default_rng(1)
    honest = rng.integers(0, 200, ROWS).astype("f8")
    path = transplanted(tmp_path, level, honest, honest[::-1] + 1000, embedded, **options)
    session = hs.open(path, indexes="any")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        q = hs.query(session, "/", "x > 1000")
        assert q.count() == 0 and len(q.values("x")) == 0 and q.minmax("x") is None
        assert hs.query(session, "/", "x < 100").count() == int((honest < 100).sum())
    told = [str(warning.message) for warning in caught if warning.category is hs.IndexWarning]
    assert len(told) == 1 and "disagrees with the data" in told[0]
    (remark,) = hs.indexes.status(session)
    assert "disagrees" in remark
    # The default does not look at it at all: nobody has asked for it, and the stamp is another one or the seal of another file.
    assert hs.query(path, "/", "x > 1000").count() == 0


def test_text_is_compared_too(tmp_path: pathlib.Path) -> None:
    names = np.array([b"aa", b"bb", b"cc"] * 30_000)
    path = transplanted(tmp_path, "B", names, names[::-1])
    with pytest.warns(hs.IndexWarning, match="disagrees with the data"):
        assert hs.query(path, "/", "x = 'aa'", indexes="any").positions()[:2].tolist() == [0, 3]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", LEVELS)
def test_an_honest_index_passes_every_audit(tmp_path: pathlib.Path, level: str) -> None:
    values = np.random.default_rng(2).normal(size=ROWS).round(2 if level != "B" else 0)
    values[::7], values[1::11], values[2::13] = np.nan, np.inf, -0.0
    path = tmp_path / "a.h5"
    write(path, values, chunks=(30_000,))
    hs.index(path, "/x", level)
    code = """
import warnings, numpy as np
warnings.simplefilter("error")
for _ in range(200):
    hs.sources.sessions.session.cache_clear()
    f = hs.open(path)
    for text, wanted in (("x > 1", 0), ("x < -1 or x = 0", 1), ("x != 0", 2), ("x >= -1e300", 3)):
        print(hs.query(f, "/", text).count(), end=" ")
    print(hs.query(f, "/", "x > 1").minmax("x"))
assert hs.indexes.status(path) == []
"""
    lines = set(run("import hyperslab.sources.sessions" + code, path).splitlines())
    data = values
    wanted = [(data > 1).sum(), ((data < -1) | (data == 0)).sum(), ((data != 0) & ~np.isnan(data)).sum(), (data >= -1e300).sum()]
    (line,) = lines
    assert line.split()[0] == str(wanted[0]) and line.split()[1] == str(wanted[1]) and line.split()[3] == str(wanted[3]), (line, wanted)
