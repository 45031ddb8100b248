"""Containers over time: masters that are renamed, copied, restored and overwritten; what tidying removes; what readers of an
older state see."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import hyperslab as hs


def tree(folder: pathlib.Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def commit(path: pathlib.Path, mode: str, value: int, tasks: int = 2) -> hs.WritePlan:
    """Adds or writes rows of this value."""
    plan = hs.WritePlan(path, mode)
    fragments = []
    for number in range(tasks):
        with plan.task(number) as task:
            task.create_dataset("x", data=np.full(100, value, "i4"), rows=True)
            fragments.append(task.finish())
    assert plan.commit(fragments).left == []
    return plan


def values(path: pathlib.Path) -> list[int]:
    """The distinct values, in their order, as h5py and we read them: zeros stand for what is missing."""
    with h5py.File(path) as f:
        theirs = f["x"][:]
    np.testing.assert_array_equal(hs.open(path)["x"][:], theirs)
    return [int(value) for value, _ in itertools.groupby(theirs)]


def tidied(path: pathlib.Path, **options: object) -> tuple[int, int, int]:
    done = hs.tidy(path, **options)
    return len(done.removed), len(done.young), len(done.orphans)


def test_a_renamed_master_keeps_its_subfiles_whoever_tidies(tmp_path: pathlib.Path) -> None:
    run, final = tmp_path / "run.h5", tmp_path / "run-final.h5"
    commit(run, "create", 1)
    commit(run, "append", 2)
    run.rename(final)
    assert tidied(run, hours=0, orphans=True) == (0, 0, 0) and tidied(final, hours=0, orphans=True) == (0, 0, 0)
    assert values(final) == [1, 2] and hs.verify(final) == hs.verify(final)._replace(problems=[], remarks=[], commits=2, subfiles=4)
    # A new run under the old name, and one more.
    commit(run, "create", 3)
    commit(run, "overwrite", 4)
    commit(run, "overwrite", 5)
    assert tidied(run, hours=0, orphans=True) == (1, 0, 0)
    assert values(final) == [1, 2] and values(run) == [5]
    assert hs.verify(run).problems == hs.verify(final).problems == hs.verify(run).remarks == []
    # The renamed one goes on, in the folder that it has.
    commit(final, "append", 6)
    assert values(final) == [1, 2, 6] and hs.verify(final).problems == [] and not (tmp_path / "run-final.h5.d").exists()
    commit(final, "overwrite", 7)
    commit(final, "overwrite", 8)
    assert tidied(run, hours=0, orphans=True) == (1, 0, 0)
    assert values(final) == [8] and values(run) == [5]
    assert len(os.listdir(tmp_path / "run.h5.d")) == 2


def test_a_copied_master_keeps_what_was_overwritten(tmp_path: pathlib.Path) -> None:
    run, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    commit(run, "create", 1)
    shutil.copy(run, copy)
    for value in (2, 3, 4):
        commit(run, "overwrite", value)
        assert values(copy) == [1] and values(run) == [value]
    tidied(run, hours=0, orphans=True)
    assert values(copy) == [1] and values(run) == [4]
    # The copy is put back: what it has replaced meanwhile belongs to nobody that is known.
    shutil.copy(copy, run)
    assert tidied(run, hours=0) == (0, 0, 1) and values(run) == [1]
    assert len(hs.verify(run).remarks) == 1 and hs.verify(run).problems == []
    assert tidied(run, hours=0, orphans=True) == (1, 0, 0) and values(run) == [1]
    copy.unlink()
    commit(run, "append", 5)
    assert values(run) == [1, 5] and tidied(run, hours=0, orphans=True) == (0, 0, 0)


def test_commits_without_a_master_go_only_on_demand(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    commit(path, "create", 1)
    whole = path.read_bytes()
    path.unlink()
    assert tidied(path, hours=0) == (0, 0, 1)
    path.write_bytes(whole)
    assert values(path) == [1]
    # One file in its place, and one that is no HDF5 file.
    for put in (lambda: hs.fuse(path, path, "w"), lambda: path.write_text("nothing")):
        put()
        assert tidied(path, hours=0) == (0, 0, 1)
    path.unlink()
    code = "from hyperslab.cli import main; main()"
    command = [sys.executable, "-c", code, "tidy", "run.h5", "--hours", "0"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "1 commits belong to no master in this folder; --orphans removes them" in first.stdout, first.stderr
    again = subprocess.run([*command, "--orphans", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert len(json.loads(again.stdout)["removed"]) == 1, again.stderr
    assert tree(tmp_path) == []


def test_nothing_committed_is_removed_while_a_file_next_to_it_cannot_be_read(tmp_path: pathlib.Path) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    commit(path, "create", 1)
    commit(path, "overwrite", 2)
    other.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\xff" * 4000)
    dead = hs.WritePlan(path, "append")
    dead.begin()
    before = tree(tmp_path)
    with pytest.raises(hs.Error, match="other.h5"):
        hs.tidy(path, hours=0)
    plan = hs.WritePlan(path, "overwrite")
    with plan.task(0) as task:
        task.create_dataset("x", data=np.full(100, 3, "i4"), rows=True)
        left = plan.commit([task.finish()]).left
    assert len(left) == 1 and "other.h5" in left[0] and set(before) <= set(tree(tmp_path)) | {f"run.h5.d/{dead.id}"}
    other.unlink()
    assert tidied(path, hours=0)[0] >= 2 and values(path) == [3] and len(os.listdir(tmp_path / "run.h5.d")) == 1


def test_masters_in_any_order_of_changes_keep_their_values(tmp_path: pathlib.Path) -> None:
    """Random renames, copies, overwrites, appends, removals and tidying; every master shows what it showed all along."""
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        chance = random.Random(seed)
        names = [folder / name for name in ("a.h5", "b.h5", "c.h5")]
        expected: dict[pathlib.Path, list[int]] = {}
        for step in range(40):
            path, other = chance.sample(names, 2)
            action = chance.choice(["write", "write", "append", "rename", "copy", "tidy", "orphans", "remove"])
            if action == "write":
                commit(path, "overwrite", step + 1, 1)
                expected[path] = [step + 1]
            elif action == "tidy" or path not in expected:
                hs.tidy(path, hours=0)
            elif action == "orphans":
                hs.tidy(path, hours=0, orphans=True)
            elif action == "append" :
                commit(path, "append", step + 1, 1)
                expected[path] = [*expected[path], step + 1]
            elif action == "remove":
                path.unlink()
                del expected[path]
            elif action == "copy":
                shutil.copy(path, other)
                expected[other] = expected[path]
            else:
                path.rename(other)
                expected[other] = expected.pop(path)
            for master, rows in expected.items():
                assert values(master) == rows and hs.verify(master).problems == [], (seed, step, action, master.name)


def test_readers_of_the_state_before_an_overwrite_see_it_to_the_end(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    commit(path, "create", 1)
    with h5py.File(path) as theirs:
        ours = hs.open(path)
        commit(path, "overwrite", 2)
        # Nothing of the subfiles was read before.
        assert set(theirs["x"][:].tolist()) == {1} and set(ours["x"][:].tolist()) == {1}
    assert hs.verify(path) == hs.verify(path)._replace(problems=[], remarks=[], commits=1, subfiles=2)
    assert values(path) == [2]
    kept = len(os.listdir(tmp_path / "run.h5.d"))
    assert tidied(path) == (0, 1, 0) and tidied(path, hours=0) == (1, 0, 0)
    assert kept == 2 and len(os.listdir(tmp_path / "run.h5.d")) == 1 and values(path) == [2]
    for value in range(3, 8):
        commit(path, "overwrite", value)
        assert len(os.listdir(tmp_path / "run.h5.d")) == 2
    commit(path, "append", 8)
    assert values(path) == [7, 8] and len(os.listdir(tmp_path / "run.h5.d")) == 2


READER = """
import sys, h5py, numpy as np
for _ in sys.stdin:
    with h5py.File(sys.argv[1]) as f:
        last = f.attrs["last"]
        print("open", flush=True)
        print(last, *np.unique(f["x"][:]), flush=True)
"""


def test_a_reader_in_a_loop_never_sees_half_of_an_overwrite(tmp_path: pathlib.Path) -> None:
    """Each read sees a commit between opening and the end, or during them."""
    path, chance = tmp_path / "run.h5", random.Random(3)

    def write(value: int) -> None:
        plan = hs.WritePlan(path, "overwrite")
        with plan.task(0) as task:
            task.attrs["last"] = value
            task.create_dataset("x", data=np.full(20_000, value, "i4"), rows=True)
            fragment = task.finish()
        plan.commit([fragment])

    write(1)
    run = subprocess.Popen([sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdin is not None and run.stdout is not None
    for value in range(2, 80):
        run.stdin.write("read\n")
        run.stdin.flush()
        if chance.random() < 0.7:
            assert run.stdout.readline() == "open\n"
            write(value)
        else:
            write(value)
            assert run.stdout.readline() == "open\n"
        last, *seen = run.stdout.readline().split()
        assert seen == [last] and int(last) in (value - 1, value)
    run.stdin.close()
    run.wait(timeout=60)
