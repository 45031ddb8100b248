"""Containers over time: masters that are renamed, copied, restored and overwritten; what `vacuum` removes; what readers of an
older state see."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.writing.parallel import Committed


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


def vacuumed(path: pathlib.Path, **options: object) -> tuple[int, int, int]:
    done = hs.vacuum(path, **options)
    return len(done.removed), len(done.young), len(done.orphans)


def test_a_renamed_master_keeps_its_subfiles_whoever_runs_vacuum(tmp_path: pathlib.Path) -> None:
    run, final = tmp_path / "run.h5", tmp_path / "run-final.h5"
    commit(run, "x", 1)
    commit(run, "a", 2)
    run.rename(final)
    assert vacuumed(run, hours=0, orphans=True) == (0, 0, 0) and vacuumed(final, hours=0, orphans=True) == (0, 0, 0)
    assert values(final) == [1, 2] and hs.verify(final) == hs.verify(final)._replace(problems=[], remarks=[], commits=2, subfiles=3)
    # A new run under the old name, and one more.
    commit(run, "x", 3)
    commit(run, "w", 4)
    commit(run, "w", 5)
    assert vacuumed(run, hours=0, orphans=True) == (1, 0, 0)
    assert values(final) == [1, 2] and values(run) == [5]
    assert hs.verify(run).problems == hs.verify(final).problems == hs.verify(run).remarks == []
    # The renamed one goes on, in the folder that it has.
    commit(final, "a", 6)
    assert values(final) == [1, 2, 6] and hs.verify(final).problems == [] and not (tmp_path / "run-final.h5.d").exists()
    commit(final, "w", 7)
    commit(final, "w", 8)
    assert vacuumed(run, hours=0, orphans=True) == (1, 0, 0)
    assert values(final) == [8] and values(run) == [5]
    assert len(os.listdir(tmp_path / "run.h5.d")) == 2


def test_a_copied_master_keeps_what_was_overwritten(tmp_path: pathlib.Path) -> None:
    run, copy = tmp_path / "run.h5", tmp_path / "copy.h5"
    commit(run, "x", 1)
    shutil.copy(run, copy)
    for value in (2, 3, 4):
        commit(run, "w", value)
        assert values(copy) == [1] and values(run) == [value]
    vacuumed(run, hours=0, orphans=True)
    assert values(copy) == [1] and values(run) == [4]
    # The copy is put back: what it has replaced meanwhile belongs to nobody that is known.
    shutil.copy(copy, run)
    assert vacuumed(run, hours=0) == (0, 0, 1) and values(run) == [1]
    assert len(hs.verify(run).remarks) == 1 and hs.verify(run).problems == []
    assert vacuumed(run, hours=0, orphans=True) == (1, 0, 0) and values(run) == [1]
    copy.unlink()
    commit(run, "a", 5)
    assert values(run) == [1, 5] and vacuumed(run, hours=0, orphans=True) == (0, 0, 0)


def test_commits_without_a_master_go_only_on_demand(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    commit(path, "x", 1)
    whole = path.read_bytes()
    path.unlink()
    assert vacuumed(path, hours=0) == (0, 0, 1)
    path.write_bytes(whole)
    assert values(path) == [1]
    # One file in its place, and one that is not an HDF5 file.
    for put in (lambda: hs.fuse(path, path, "w"), lambda: path.write_text("nothing")):
        put()
        assert vacuumed(path, hours=0) == (0, 0, 1)
    path.unlink()
    code = "from hyperslab.cli import main; main()"
    command = [sys.executable, "-c", code, "vacuum", "run.h5", "--hours", "0"]
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "1 commit belongs to no master in this folder; --orphans removes it" in first.stdout, first.stderr
    again = subprocess.run([*command, "--orphans", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert len(json.loads(again.stdout)["removed"]) == 1, again.stderr
    assert tree(tmp_path) == []


def test_nothing_committed_is_removed_while_a_file_next_to_it_cannot_be_read(tmp_path: pathlib.Path) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    commit(path, "x", 1)
    commit(path, "w", 2)
    other.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\xff" * 4000)
    dead = hs.WritePlan(path, "a")
    dead.begin()
    before = tree(tmp_path)
    with pytest.raises(hs.Error, match="other.h5"):
        hs.vacuum(path, hours=0)
    plan = hs.WritePlan(path, "w")
    with plan.task(0) as task:
        task.create_dataset("x", data=np.full(100, 3, "i4"), rows=True)
        left = plan.commit([task.finish()]).left
    assert len(left) == 1 and "other.h5" in left[0] and set(before) <= set(tree(tmp_path)) | {f"run.h5.d/{dead.id}"}
    other.unlink()
    assert vacuumed(path, hours=0)[0] >= 2 and values(path) == [3] and len(os.listdir(tmp_path / "run.h5.d")) == 1


@pytest.mark.slow
def test_masters_in_any_order_of_changes_keep_their_values(tmp_path: pathlib.Path) -> None:
    """Random renames, copies, overwrites, appends, removals and vacuum; every master shows what it showed all along."""
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        chance = random.Random(seed)
        names = [folder / name for name in ("a.h5", "b.h5", "c.h5")]
        expected: dict[pathlib.Path, list[int]] = {}
        for step in range(40):
            path, other = chance.sample(names, 2)
            action = chance.choice(["write", "write", "append", "rename", "copy", "vacuum", "orphans", "remove"])
            if action == "write":
                commit(path, "w", step + 1, 1)
                expected[path] = [step + 1]
            elif action == "vacuum" or path not in expected:
                hs.vacuum(path, hours=0)
            elif action == "orphans":
                hs.vacuum(path, hours=0, orphans=True)
            elif action == "append":
                commit(path, "a", step + 1, 1)
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
    commit(path, "x", 1)
    with h5py.File(path) as theirs:
        ours = hs.open(path)
        commit(path, "w", 2)
        # Nothing of the subfiles was read before.
        assert set(theirs["x"][:].tolist()) == {1} and set(ours["x"][:].tolist()) == {1}
    assert hs.verify(path) == hs.verify(path)._replace(problems=[], remarks=[], commits=1, subfiles=2)
    assert values(path) == [2]
    kept = len(os.listdir(tmp_path / "run.h5.d"))
    assert vacuumed(path) == (0, 1, 0) and vacuumed(path, hours=0) == (1, 0, 0)
    assert kept == 2 and len(os.listdir(tmp_path / "run.h5.d")) == 1 and values(path) == [2]
    for value in range(3, 8):
        commit(path, "w", value)
        assert len(os.listdir(tmp_path / "run.h5.d")) == 2
    commit(path, "a", 8)
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
        plan = hs.WritePlan(path, "w")
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


def many(path: pathlib.Path, tasks: int, mode: str = "x", **options: object) -> tuple[Committed, np.ndarray]:
    """A write by many small tasks."""
    rows = 64
    data = np.arange(tasks * rows, dtype="f8")
    plan = hs.WritePlan(path, mode, durable=False)
    fragments = []
    for number in range(tasks):
        mine = np.s_[number * rows : (number + 1) * rows]
        with plan.task(number, threads=1) as task:
            task.create_dataset("x", data.shape, "f8", data=data[mine], region=mine, **options)
            fragments.append(task.finish())
    return plan.commit(fragments), data


@pytest.mark.parametrize(
    "options",
    [{}, {"chunks": (64,), "compression": "gzip"}, {"chunks": (32,), "compression": "zstd", "shuffle": True}, {"chunks": (48,), "compression": "lz4"}],
)
def test_many_small_subfiles_of_a_commit_become_one(tmp_path: pathlib.Path, options: dict[str, object]) -> None:
    done, data = many(tmp_path / "out.h5", 100, **options)
    assert len(done.subfiles) == 1 and done.remarks == []
    with h5py.File(tmp_path / "out.h5") as f:
        np.testing.assert_array_equal(f["x"][:], data)
        assert len(f["x"].virtual_sources()) == 1
    np.testing.assert_array_equal(hs.open(tmp_path / "out.h5")["x"][:], data)
    assert hs.verify(tmp_path / "out.h5", values=True).problems == []
    assert [name for name in tree(tmp_path) if name.endswith(".h5")] == ["out.h5", f"out.h5.d/{os.listdir(tmp_path / 'out.h5.d')[0]}/{done.subfiles[0].name}"]
    # Chunks that fit are copied as they are.
    with h5py.File(tmp_path / "out.h5.d" / os.listdir(tmp_path / "out.h5.d")[0] / done.subfiles[0].name) as f:
        assert f["x"].compression == options.get("compression") or options.get("compression") in ("zstd", "lz4")
        if options.get("chunks") in ((64,), (32,)):
            assert f["x"].chunks == options["chunks"]


def test_gathered_parts_of_any_kind_are_what_was_written(tmp_path: pathlib.Path) -> None:
    """Tiles, gaps, columns, any parts, text, and parts far from each other, compared with numpy."""
    chance = np.random.default_rng(1)
    for case in range(12):
        path = tmp_path / f"{case}.h5"
        checks = case % 3 == 0
        plan = hs.WritePlan(path, durable=False, checksums=checks)
        tiles = [(row, column) for row in range(8) for column in range(6)]
        grid, sparse, every = np.full((80, 60), -1.0), np.full((48 * 1000,), 7, "i4"), np.zeros((96, 5), "u2")
        rows, names = [], []
        fragments = []
        for number, (row, column) in enumerate(tiles):
            if chance.random() < 0.1:
                continue
            with plan.task(number, threads=1) as task:
                box = np.s_[row * 10 : row * 10 + 10, column * 10 : column * 10 + 10]
                grid[box] = chance.normal(size=(10, 10))
                filters = {"chunks": (5, 10), "compression": "gzip"} if case % 2 else {}
                task.create_dataset("g/grid", grid.shape, "f8", data=grid[box], region=box, fillvalue=-1.0, **filters)
                if case % 4 == 1:
                    x = task.create_dataset("sparse", sparse.shape, "i4", fillvalue=7, chunks=(100,), compression="lz4")
                    sparse[number * 1000 : number * 1000 + 150] = number
                    x[number * 1000 : number * 1000 + 150] = number
                every[number::48] = number
                y = task.create_dataset("every", every.shape, "u2", chunks=(4, 5))
                y[number] = number
                y[number + 48] = number
                count = int(chance.integers(0, 4))
                if count:
                    task.create_dataset("rows", data=np.full((count, 2), number, "i8"), rows=True, compression="zstd")
                    task.create_dataset("names", data=[f"task {number}"] * count, rows=True)
                rows += [number] * count
                names += [f"task {number}".encode()] * count
                fragments.append(task.finish())
        done = plan.commit(fragments)
        assert len(done.subfiles) < len(fragments) / 2 or case % 4 == 1, (case, len(done.subfiles), len(fragments))
        with h5py.File(path) as theirs:
            ours = hs.open(path)
            expected = {"g/grid": grid, "every": every, "rows": np.repeat(rows, 2).reshape(-1, 2)} | ({"sparse": sparse} if case % 4 == 1 else {})
            for name, data in expected.items():
                np.testing.assert_array_equal(theirs[name][()], data, err_msg=f"{case} {name}")
                np.testing.assert_array_equal(ours[name][()], data, err_msg=f"{case} {name}")
            assert theirs["names"][:].tolist() == names == ours["names"][:].tolist()
        assert hs.verify(path, values=True).problems == []
        hs.fuse(path, tmp_path / "single.h5", "w")
        np.testing.assert_array_equal(h5py.File(tmp_path / "single.h5")["g/grid"][:], grid)


LIMITED = """
import resource, sys, warnings, numpy as np, hyperslab as hs
path, single = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
data = np.load(path + ".npy")
assert (hs.open(path)["x"][:] == data).all() and hs.open(path)["x"][5] == data[5]
for values in (False, True):
    found = hs.verify(path, values=values)
    assert found.problems == [] and found.subfiles == 1200, found.problems[:3]
    assert len(found.remarks) == 1 and "1200 subfiles" in found.remarks[0] and "1024" in found.remarks[0] and "fuse" in found.remarks[0]
hs.fuse(path, single)
assert (hs.open(single)["x"][:] == data).all()
print("done")
"""


@pytest.mark.slow
def test_more_subfiles_than_open_files_are_named_and_can_be_read_verified_and_fused(tmp_path: pathlib.Path) -> None:
    """1,200 subfiles: each is too large to be gathered."""
    path, tasks, rows = tmp_path / "out.h5", 1200, 2**17 + 1
    plan = hs.WritePlan(path, durable=False)
    fragments = []
    data = np.arange(tasks, dtype="u1").repeat(64)
    for number in range(tasks):
        with plan.task(number, threads=1) as task:
            task.create_dataset("x", data.shape, "u1", data=data[number * 64 : number * 64 + 64], region=np.s_[number * 64 : number * 64 + 64])
            # Room that is never written: the subfile has a hole.
            task.create_dataset("room", (tasks, rows), "f8", region=np.s_[number : number + 1, :])[number, :1] = number
            fragments.append(task.finish())
    with pytest.warns(hs.ManySubfilesWarning, match="1200 subfiles.*1024"):
        done = plan.commit(fragments)
    assert len(done.subfiles) == 1200 and len(done.remarks) == 1
    np.save(str(path) + ".npy", data)
    run = subprocess.run(
        [sys.executable, "-c", LIMITED.replace("hs.fuse(path, single)", "hs.fuse(path, single)"), str(path), str(tmp_path / "single.h5")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout == "done\n", run.stderr[-2000:]
    with h5py.File(tmp_path / "single.h5") as f:
        np.testing.assert_array_equal(f["x"][:], data)
    code = "from hyperslab.cli import main; main()"
    said = subprocess.run([sys.executable, "-c", code, "verify", str(path)], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0 and "remark: " in said.stdout and "1200 subfiles" in said.stdout


def append(path: pathlib.Path, step: int, **options: object) -> Committed:
    plan = hs.WritePlan(path, "a", durable=False)
    with plan.task(0, threads=1) as task:
        task.create_dataset("x", data=np.full((1, 128), step, "f8"), rows=True, **options)
        task.create_dataset("time", data=np.array([step / 2]), rows=True)
        return plan.commit([task.finish()])


def test_appended_steps_make_few_files_and_readers_of_older_states_go_on(tmp_path: pathlib.Path) -> None:
    path, steps = tmp_path / "run.h5", 400
    readers = {}
    for step in range(steps):
        append(path, step)
        if step % 37 == 0:
            readers[step] = h5py.File(path), hs.open(path)
    for step, (theirs, ours) in readers.items():
        np.testing.assert_array_equal(theirs["x"][:, 3], np.arange(step + 1.0))
        np.testing.assert_array_equal(ours["time"][:], np.arange(step + 1) / 2)
        theirs.close()
    with h5py.File(path) as f:
        np.testing.assert_array_equal(f["x"][:], np.repeat(np.arange(float(steps)), 128).reshape(-1, 128))
        assert len(f["x"].virtual_sources()) < 12
    found = hs.verify(path, values=True)
    assert found.problems == [] and found.commits == steps and found.subfiles < 12
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) < 40 and sum(p.stat().st_size for p in files) < 3 * steps * 129 * 8, len(files)
    hs.fuse(path, tmp_path / "single.h5")
    with h5py.File(tmp_path / "single.h5") as f:
        np.testing.assert_array_equal(f["time"][:], np.arange(steps) / 2)
    assert vacuumed(path, hours=0, orphans=True) == (0, 0, 0)


def test_copies_of_a_master_that_are_appended_to_do_not_write_over_each_other(tmp_path: pathlib.Path) -> None:
    """Each master goes its own way, also those that are put back in the place of another."""
    chance = random.Random(11)
    names = [tmp_path / f"{name}.h5" for name in "abc"]
    append(names[0], 0)
    expected = {names[0]: [0]}
    for step in range(1, 150):
        path = chance.choice(list(expected))
        if chance.random() < 0.25:
            other = chance.choice([name for name in names if name != path])
            shutil.copy(path, other)
            expected[other] = list(expected[path])
        else:
            assert append(path, step).left == []
            expected[path].append(step)
        for master, rows in expected.items():
            assert values_of(master) == rows, (step, master)
    for master in expected:
        assert hs.verify(master).problems == []
    hs.vacuum(names[0], hours=0, orphans=True)
    for master, rows in expected.items():
        assert values_of(master) == rows


def test_a_repeated_commit_forgets_nobody_who_wrote_behind_it(tmp_path: pathlib.Path) -> None:
    """Else a copy of the master would take the room of their rows for its own."""
    path, copy = tmp_path / "a.h5", tmp_path / "b.h5"
    done = []
    for step in range(5):
        plan = hs.WritePlan(path, "a" if step else "x")
        with plan.task(0) as task:
            task.create_dataset("x", data=np.full((1, 128), step, "f8"), rows=True)
            task.create_dataset("time", data=np.array([step / 2]), rows=True)
            done.append((plan, task.finish()))
        plan.commit([done[-1][1]])
        if step == 2:
            shutil.copy(path, copy)
    for plan, fragment in done:
        assert plan.commit([fragment]).repeated
    for step in (7, 8, 9):
        append(copy, step)
    assert values_of(path) == [0, 1, 2, 3, 4]
    assert values_of(copy) == [0, 1, 2, 7, 8, 9]


def values_of(path: pathlib.Path) -> list[int]:
    with h5py.File(path) as f:
        theirs = f["x"][:, 0].astype(int).tolist()
        assert (f["time"][:] * 2).astype(int).tolist() == theirs
    assert hs.open(path)["x"][:, 127].astype(int).tolist() == theirs
    return theirs


def test_a_repeated_commit_of_appended_rows_recognises_itself(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    for step in range(3):
        append(path, step)
    plan = hs.WritePlan(path, "a")
    plan.begin()
    with plan.task(0) as task:
        task.create_dataset("x", data=np.full((1, 128), 3.0), rows=True)
        task.create_dataset("time", data=np.array([1.5]), rows=True)
        fragment = task.finish()
    done = plan.commit([fragment])
    assert [subfile.name for subfile in done.subfiles] == ["rows.h5"]
    for later in (4, 5):
        again = plan.commit([fragment])
        assert again.repeated and again.subfiles == done.subfiles
        with pytest.raises(hs.InvalidInputError, match="was committed"):
            plan.abort()
        append(path, later)
    assert values_of(path) == [0, 1, 2, 3, 4, 5] and hs.verify(path).commits == 6


def test_rows_that_do_not_fit_a_tail_have_subfiles_of_their_own(tmp_path: pathlib.Path) -> None:
    """Text, checksums, new datasets, columns, large steps."""
    path = tmp_path / "run.h5"
    expected: list[int] = []
    for step in range(12):
        plan = hs.WritePlan(path, "a", durable=False, checksums=step == 7)
        with plan.task(0, threads=1) as task:
            x = task.create_dataset("x", (0, 4), "i4", rows=True, fletcher32=step == 3, compression="gzip" if step % 2 else None)
            x.append(np.full((1 if step != 5 else 200_000, 4), step))
            expected += [step] * (1 if step != 5 else 200_000)
            if step in (2, 8):
                task.create_dataset("text", data=[f"step {step}"], rows=True)
            if step == 9:
                task.create_dataset("new", data=np.arange(5))
            plan.commit([task.finish()])
    with h5py.File(path) as f:
        assert f["x"][:, 2].tolist() == expected and f["text"][:].tolist() == [b"step 2", b"step 8"] and f["new"][:].tolist() == list(range(5))
    assert hs.open(path)["x"][:, 1].tolist() == expected and hs.verify(path, values=True).problems == []


APPENDING = """
import sys, numpy as np, hyperslab as hs
path, first = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for step in range(first, first + 1000):
    plan = hs.WritePlan(path, "a", durable=False)
    with plan.task(0, threads=1) as task:
        task.create_dataset("x", data=np.full((1, 128), step, "f8"), rows=True)
        task.create_dataset("time", data=np.array([step / 2]), rows=True)
        fragment = task.finish()
    plan.commit([fragment])
    print(step, flush=True)
"""


def test_an_appender_that_is_killed_leaves_the_last_committed_state(tmp_path: pathlib.Path) -> None:
    path, chance, expected = tmp_path / "run.h5", random.Random(2), []
    for generation in range(int(os.environ.get("HYPERSLAB_KILLS", "6"))):
        first = 1000 * generation
        run = subprocess.Popen([sys.executable, "-c", APPENDING, str(path), str(first)], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        stop = chance.randrange(1, 40)
        said = [run.stdout.readline() for _ in range(stop)]
        time.sleep(chance.random() * 0.004)
        run.send_signal(signal.SIGKILL)
        said += run.stdout.read().splitlines(keepends=True)
        run.wait()
        done = [int(line) for line in said if line.endswith("\n")]
        now = values_of(path)
        assert now in (expected + done, expected + done + [first + len(done)]), (generation, now[-3:], done[-3:])
        assert hs.verify(path, values=True).problems == []
        expected = now
    append(path, 10**6)
    assert values_of(path) == [*expected, 10**6]
    hs.vacuum(path, hours=0, orphans=True)
    assert values_of(path) == [*expected, 10**6] and hs.verify(path).problems == []


def test_an_append_that_leaves_columns_of_different_lengths_warns(tmp_path: pathlib.Path) -> None:
    """A plan appends to each dataset on its own: whether these are the columns of a table, only the caller knows."""
    path = tmp_path / "rows.h5"

    def commit(mode: str, **columns: Any) -> list[str]:
        plan = hs.WritePlan(path, mode)
        with plan.task(0) as task:
            for name, values in columns.items():
                place = name.replace("_", "/")
                task.create_dataset(place, shape=(0,), maxshape=(None,), dtype="i8", rows=True)
                task[place].append(values)
            fragment = task.finish()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan.commit([fragment])
        assert all(issubclass(one.category, hs.OmittedColumnsWarning) and one.filename == __file__ for one in caught)
        return [str(one.message) for one in caught]

    assert commit("x", g_a=[1, 2, 3], g_b=[1, 2, 3], x=[1], alone_y=[1, 2]) == []
    assert commit("a", g_a=[4, 5], g_b=[4, 5]) == []
    assert commit("a", x=[2, 3], alone_y=[3]) == []
    (message,) = commit("a", g_a=[6])
    assert message.startswith("the datasets of /g had 5 rows each, and now have different numbers (a 6, b 5)")
    # They are no columns of equal length any more: nothing new is lost.
    assert commit("a", g_a=[7]) == []
    assert commit("a", g_b=[6, 7]) == []
    (message,) = commit("a", g_a=[8], g_b=[8], g_c=[1])
    assert "(a 8, b 8, c 1)" in message
    with h5py.File(path) as f:
        assert [len(f["g"][name]) for name in "abc"] == [8, 8, 1]


def test_dimensions_of_netcdf_with_equal_lengths_do_not_warn(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.nc"
    for number in range(3):
        plan = hs.NetcdfPlan(path, "a" if number else "x")
        plan.create_dimension("time", None)
        plan.create_dimension("lat", 1)
        if not number:
            plan.create_variable("lat", ["lat"], data=[1.0])
        plan.create_variable("time", ["time"], "f8")
        plan.create_variable("t2m", ["time", "lat"], "f4")
        with plan.task(0) as task:
            task.variable("time").append([float(number)])
            task.variable("t2m").append(np.full((1, 1), number, "f4"))
            fragment = task.finish()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plan.commit([fragment])
    assert hs.open(path)["t2m"][:, 0].tolist() == [0, 1, 2]
