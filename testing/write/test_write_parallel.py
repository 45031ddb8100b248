"""Parallel writes: plan, tasks, fragments, commit; what readers see, what conflicts, what is left behind."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import time
import zlib

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pytest
from compare import compare
from hyperslab.maintenance.operations import Verification


def tree(folder: pathlib.Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def said(fragment: bytes) -> dict:
    """What a plan or a fragment says, without the checksum behind."""
    return json.loads(fragment[:-9])


def sealed(value: object) -> bytes:
    """Bytes that say this, with their checksum: what somebody means, however wrong."""
    body = json.dumps(value).encode()
    return body + b"\n%08x" % zlib.crc32(body)


def equal(path: pathlib.Path, expected: dict[str, np.ndarray]) -> None:
    """h5py, and we, read these datasets of the master; we read all of it as h5py does; it verifies."""
    with h5py.File(path) as theirs:
        ours = hs.open(path)
        for name, data in expected.items():
            assert theirs[name].dtype == data.dtype
            np.testing.assert_array_equal(theirs[name][()], data)
            np.testing.assert_array_equal(ours[name][()], data)
    assert [r for r in compare(str(path)) if r.outcome != "equal"] == []
    assert hs.verify(path).problems == []


def test_regions_of_many_writers_are_one_dataset(tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(1).normal(size=(40, 30))
    plan = hs.WritePlan(tmp_path / "out.h5")
    fragments = []
    for number in range(4):
        task = pickle.loads(pickle.dumps(plan)).task(number)
        rows = np.s_[number * 10 : number * 10 + 10]
        task.create_dataset("run", data.shape, "f8", data=data[rows], region=rows).attrs["units"] = "K"
        packed = task.create_dataset("g/packed", data.shape, "f8", region=rows, chunks=(4, 7), compression="gzip", shuffle=True)
        packed[rows, :15] = data[rows, :15]
        packed[rows, 15:] = data[rows, 15:]
        fragments.append(task.finish())
    assert not (tmp_path / "out.h5").exists()
    done = plan.commit(fragments)
    assert len(done.subfiles) == 4 and not done.repeated and done.left == []
    equal(tmp_path / "out.h5", {"run": data, "g/packed": data})


def test_any_part_of_a_dataset_may_be_written(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    expected = np.full((100, 60), -1.0)
    fragments = []
    for number in range(3):
        with plan.task(number) as task:
            x = task.create_dataset("x", expected.shape, "f8", fillvalue=-1.0)
            for first in range(number * 7, 100, 21):
                values = np.random.default_rng(first).normal(size=(min(7, 100 - first) - 1, 20))
                box = np.s_[first : first + len(values), number * 10 : number * 10 + 20]
                x[box] = values
                expected[box] = values
            task.create_dataset("nowhere", (5, 5), "i4", fillvalue=7)
            fragments.append(task.finish())
    plan.commit(fragments)
    equal(tmp_path / "out.h5", {"x": expected, "nowhere": np.full((5, 5), 7, "i4")})


def test_rows_follow_each_other_in_the_order_of_tasks(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    fragments = []
    for number in (2, 0, 1):
        with plan.task(number) as task:
            x = task.create_dataset("x", (0, 3), "i4", rows=True, compression="zstd")
            for part in range(3):
                x.append(np.full((number + 1, 3), 10 * number + part))
            task.create_dataset("name", data=[f"task {number}"] * (number + 1), rows=True)
            fragments.append(task.finish())
    plan.commit(fragments)
    expected = np.concatenate([np.full((number + 1, 3), 10 * number + part, "i4") for number in range(3) for part in range(3)])
    equal(tmp_path / "out.h5", {"x": expected})
    assert hs.open(tmp_path / "out.h5")["name"][:].tolist() == [b"task 0"] + [b"task 1"] * 2 + [b"task 2"] * 3


def test_a_commit_is_appended_to_and_overwritten(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"

    def write(mode: str, first: int, numbers: range) -> None:
        plan = hs.WritePlan(path, mode)
        fragments = []
        for number in numbers:
            with plan.task(number) as task:
                task.create_dataset("x", data=np.arange(first + 10 * number, first + 10 * number + 10), rows=True)
                task[f"scalar {first}"] = first
                task.attrs["title"] = "rows"
                fragments.append(task.finish())
        plan.commit(fragments)

    write("x", 0, range(2))
    with h5py.File(path) as reader:
        write("a", 20, range(3))
        assert reader["x"][:].tolist() == list(range(20))
    equal(path, {"x": np.arange(50), "scalar 0": np.array(0), "scalar 20": np.array(20)})
    assert hs.open(path).attrs["title"] == "rows" and hs.verify(path).commits == 2 and hs.verify(path).subfiles == 3
    with pytest.raises(hs.ConflictError, match="already"):
        hs.WritePlan(path, "x")
    write("w", 7, range(1))
    equal(path, {"x": np.arange(7, 17), "scalar 7": np.array(7)})
    assert len(hs.vacuum(path, hours=0).removed) == 2
    assert len(tree(tmp_path)) == 5  # master, folder, the one commit's folder, its record, its subfile
    (tmp_path / "elsewhere").mkdir()
    path.rename(tmp_path / "elsewhere" / "out.h5")
    assert hs.verify(tmp_path / "elsewhere" / "out.h5").problems != []


def test_a_container_can_be_moved(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").mkdir()
    plan = hs.WritePlan(tmp_path / "a" / "100% out.h5")
    with plan.task(0) as task:
        task["x"] = np.arange(5)
        plan.commit([task.finish()])
    (tmp_path / "a").rename(tmp_path / "b")
    equal(tmp_path / "b" / "100% out.h5", {"x": np.arange(5)})


@pytest.mark.parametrize(
    "define, words",
    [
        (lambda t, n: t.create_dataset("x", (9,), "f4" if n else "f8"), "task 0 and task 1 define it differently"),
        (lambda t, n: t.create_dataset("x", (9 + n,), "f4"), r"shapes \[9\] and \[10\]"),
        (lambda t, n: t.create_dataset("x", (9,), "f4", fillvalue=n), "fill"),
        (lambda t, n: t.create_dataset("x", (0,), "f4", rows=True) if n else t.create_dataset("x", (0,), "f4"), "shapes"),
        (lambda t, n: t.create_group("x") if n else t.create_dataset("x", (9,), "f4"), "task 0 defined a dataset, task 1 a group"),
        (lambda t, n: t.create_group("x").attrs.create("a", n), 'attribute "a"'),
        (lambda t, n: t.create_dataset("x", data=n), "different values"),
        (lambda t, n: t.create_dataset("x", (9, 9), "f4").__setitem__(np.s_[n : n + 2, 3:5], 1), r"both wrote the \[1, 2\] elements from \[1, 3\] on"),
    ],
)
def test_tasks_that_contradict_each_other_conflict(tmp_path: pathlib.Path, define, words: str) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            define(task, number)
            fragments.append(task.finish())
    before = tree(tmp_path)
    with pytest.raises(hs.ConflictError, match=words) as caught:
        plan.commit(fragments)
    assert caught.value.object == "/x"
    assert tree(tmp_path) == before
    plan.abort()
    plan.abort()
    assert tree(tmp_path) == []


def test_a_plan_that_has_begun_is_given_up_while_tasks_write(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    plan.begin()
    sent = hs.WritePlan.from_bytes(bytes(plan))
    early = sent.task(0)
    early.create_dataset("x", data=[1], rows=True)
    plan.abort()
    assert tree(tmp_path) == []
    # Its subfile is open, and has no name any more: what it still writes is gone with it.
    late = early.finish()
    with pytest.raises(hs.CancelledError, match="aborted"):
        sent.task(1)
    for fragments in ([], [late]):
        with pytest.raises(hs.CancelledError, match="aborted"):
            sent.commit(fragments)
    plan.abort()
    assert tree(tmp_path) == []


def test_tasks_that_say_the_same_merge(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            task.create_group("g").attrs.update({"a": [1, 2], "t": "text"})
            task["g/n"] = "the same"
            task.create_dataset("x", (4,), "i4")[number * 2 : number * 2 + 2] = number
            fragments.append(task.finish())
    plan.commit(fragments)
    equal(tmp_path / "out.h5", {"x": np.array([0, 0, 1, 1], "i4")})
    f = hs.open(tmp_path / "out.h5")
    assert f["g"].attrs["a"].tolist() == [1, 2] and f["g"].attrs["t"] == "text" and f["g/n"][()] == b"the same"


def test_a_retried_commit_recognises_itself_and_speculative_tasks_leave_one_copy(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")

    def attempt(number: int) -> bytes:
        with plan.task(number) as task:
            task.create_dataset("x", data=[number], rows=True)
            return task.finish()

    fragments = [attempt(0), attempt(1), attempt(1)]
    attempt(0)  # finished, and its fragment lost
    done = plan.commit(fragments)
    assert len(done.subfiles) == 2
    again = plan.commit(fragments)
    assert again.repeated and again.subfiles == done.subfiles
    equal(tmp_path / "out.h5", {"x": np.array([0, 1])})
    assert sum(name.endswith(".h5") for name in tree(tmp_path)) == 3
    with pytest.raises(hs.InvalidInputError, match="committed"):
        plan.abort()


def test_of_two_plans_for_one_file_the_second_conflicts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    for mode in ("x", "a", "w"):
        plans = [hs.WritePlan(path, mode) for _ in range(2)]
        fragments = []
        for number, plan in enumerate(plans):
            with plan.task(0) as task:
                task.create_dataset("x", data=[number], rows=True)
                fragments.append(task.finish())
        with pytest.raises(hs.InvalidInputError, match="another plan"):
            plans[0].commit(fragments[1:])
        plans[0].commit(fragments[:1])
        before = path.read_bytes()
        with pytest.raises(hs.ConflictError, match="plan again"):
            plans[1].commit(fragments[1:])
        assert path.read_bytes() == before
        plans[1].abort()
        assert hs.verify(path).problems == []
    path.unlink()
    with hs.create(path) as f:
        f["mine"] = 1
    with pytest.raises(hs.UnsupportedError, match="no plan"):
        hs.WritePlan(path, "a")
    plan = hs.WritePlan(path, "w")
    os.utime(path)
    with pytest.raises(hs.ConflictError):
        plan.commit([])


def test_bad_bytes_are_refused(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    with plan.task(0) as task:
        task["x"] = np.arange(10)
        fragment = task.finish()
    for bad in (
        b"",
        b"{}",
        b"[1]",
        bytes(plan),
        sealed({**said(fragment), "version": 99}),
        sealed({**said(fragment), "name": "../../out.h5"}),
        fragment[:-1],
        fragment[:-9],
        fragment.replace(b"0", b"1", 1),
    ):
        with pytest.raises(hs.InvalidInputError, match="fragment"):
            plan.commit([bad])
        with pytest.raises(hs.InvalidInputError, match="plan"):
            hs.WritePlan.from_bytes(bad if bad != bytes(plan) else fragment[:-5])
    subfile = next(p for p in tmp_path.rglob("0000-*.h5"))
    subfile.write_bytes(subfile.read_bytes()[:-1])
    with pytest.raises(hs.CorruptError, match="its fragment says"):
        plan.commit([fragment])
    subfile.unlink()
    with pytest.raises(hs.NotFoundError):
        plan.commit([fragment])
    assert not (tmp_path / "out.h5").exists()


def test_verify_finds_what_is_missing_cut_or_of_another_write(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    for mode in ("x", "a"):
        plan = hs.WritePlan(path, mode)
        with plan.task(0) as task:
            task.create_dataset("x" if mode == "x" else "y", data=np.arange(1000.0), rows=True)
            plan.commit([task.finish()])
    assert hs.verify(path) == Verification([], 2, 2, sum(p.stat().st_size for p in tmp_path.rglob("0000-*.h5")), [])
    first, second = sorted(tmp_path.rglob("0000-*.h5"))
    whole, other = first.read_bytes(), second.read_bytes()
    for bad, words in ((whole[:-1], "bytes, the commit says"), (other, "is not the subfile"), (b"\0" * len(whole), "cannot be read")):
        first.write_bytes(bad)
        assert any(words in problem and first.name in problem for problem in hs.verify(path).problems), words
    first.unlink()
    assert any("does not exist" in problem for problem in hs.verify(path).problems)
    with pytest.raises(hs.Error):  # either of them has lost its file
        [hs.open(path)[name][:] for name in "xy"]
    first.write_bytes(whole)
    assert hs.verify(path).problems == []
    with pytest.raises(hs.InvalidInputError, match="no commit"):
        hs.verify(first)


KILLED = """
import sys, numpy as np, hyperslab as hs
path, generation = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
plan = hs.WritePlan(path, "w" if generation % 2 else "a")
fragments = []
for number in range(3):
    task = plan.task(number)
    task.create_dataset("x", data=np.full(20000, generation * 10 + number, "i4"), rows=True, compression="gzip")
    fragments.append(task.finish())
plan.commit(fragments)
print("done", flush=True)
"""


def state(path: pathlib.Path) -> list[int] | None:
    """The distinct values of the committed state, each of which stands for 20,000 rows; `None` without a file."""
    if not path.exists():
        return None
    assert hs.verify(path).problems == []
    values, counts = np.unique(hs.open(path)["x"][:], return_counts=True)
    assert (counts == 20_000).all()
    return values.tolist()


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_the_last_committed_state(tmp_path: pathlib.Path) -> None:
    """Each generation adds its rows or takes their place, unless it was killed before it was visible."""
    path, random_times = tmp_path / "out.h5", random.Random(5)
    before: list[int] | None = None
    finished = 0
    for generation in range(int(os.environ.get("HYPERSLAB_KILLS", "10"))):
        run = subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(generation)], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        time.sleep(random_times.random() * 0.2)
        run.send_signal(signal.SIGKILL)
        said_done = "done" in run.stdout.read()
        run.wait()
        now = state(path)
        mine = [generation * 10 + number for number in range(3)]
        after = mine if generation % 2 else sorted((before or []) + mine)
        assert now == after or (now == before and not said_done), (generation, before, now)
        finished += now == after
        before = now
    assert before is None or finished > 0
    # Whoever comes next writes as if nothing had happened.
    plan = hs.WritePlan(path, "w")
    with plan.task(0) as task:
        task.create_dataset("x", data=np.full(20_000, 1, "i4"), rows=True)
        plan.commit([task.finish()])
    assert state(path) == [1]


LIMITED = """
import resource, signal, sys, numpy as np, hyperslab as hs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
plan = hs.WritePlan(sys.argv[1], "w")
with plan.task(0) as task:
    task["x"] = np.arange(10)
    fragment = task.finish()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
f = hs.create(sys.argv[1])
x = f.create_dataset("x", (100_000,), "f8")
for write in (lambda: x.__setitem__(slice(0, 50_000), 1), f.close):  # caught, but the file cannot become whole
    try:
        write()
        print("written")
    except hs.IoError as error:
        print(error.kind, "cannot write" in str(error))
for write in (lambda: hs.create(sys.argv[1]).__setitem__("x", np.zeros(100_000)), lambda: plan.task(1).__setitem__("x", np.zeros(100_000))):
    try:
        write()
        print("written")
    except hs.IoError as error:
        print(error.kind, "cannot write" in str(error))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 4096))
try:
    plan.commit([fragment])
except hs.IoError as error:
    print(error.kind, "cannot write" in str(error))
plan.abort()
"""


def test_a_full_disk_is_an_error_and_the_old_file_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path) as f:
        f["old"] = 1
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=60)
    assert run.stdout.split("\n") == ["Io True"] * 5 + [""], run.stdout + run.stderr
    assert path.read_bytes() == before and tree(tmp_path) == ["out.h5"]


def work(plan: hs.WritePlan, number: int) -> bytes:
    task = plan.task(number)
    rows = np.s_[number * 1000 : (number + 1) * 1000]
    task.create_dataset("x", (8000,), "f8", data=np.arange(rows.start, rows.stop), region=rows, chunks=(100,), compression="gzip")
    return task.finish()


def test_processes_write_side_by_side(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        plan.commit(pool.starmap(work, [(plan, number) for number in range(8)]))
    equal(tmp_path / "out.h5", {"x": np.arange(8000.0)})


def test_netcdf4_reads_a_master(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.nc")
    plan.commit([work(plan, number) for number in range(8)])
    with netCDF4.Dataset(tmp_path / "out.nc") as f:
        f.set_auto_mask(False)
        assert (f["x"][:] == np.arange(8000.0)).all()


@pytest.mark.parametrize("rows", [False, True])
def test_a_fused_file_holds_the_same_and_copies_whole_chunks(tmp_path: pathlib.Path, rows: bool) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    data = np.random.default_rng(4).integers(0, 50, size=(60, 9))
    fragments = []
    for number in range(3):
        part = np.s_[number * 20 : number * 20 + 20]
        with plan.task(number) as task:
            options = {"rows": True} if rows else {"region": part}
            for name, chunk in (("even", 10), ("odd", 7)):
                x = task.create_dataset(name, (0, 9) if rows else (60, 9), "i8", chunks=(chunk, 9), compression="gzip", shuffle=True, **options)
                if rows:
                    x.append(data[part])
                else:
                    x[part] = data[part]
            task.create_dataset("run", (60, 9), "i8", region=part)[part] = data[part]
            task.create_dataset("half", (60, 9), "i8", fillvalue=5, chunks=(10, 9))[number * 20 : number * 20 + 5] = 1
            task.create_dataset("text", data=[f"{number}.{i}" for i in range(number + 1)], rows=True)
            task["g/n"] = 7
            task.create_group("g").attrs.update({"a": "text", "b": [1, 2]})
            fragments.append(task.finish())
    plan.commit(fragments)
    heard: list[tuple[int, int]] = []
    fused = hs.fuse(tmp_path / "out.h5", tmp_path / "single.h5", progress=lambda done, total: heard.append((done, total)))
    assert fused.copied_chunks == 6 and heard[-1][0] == heard[-1][1] > 0
    assert fused.bytes == (tmp_path / "single.h5").stat().st_size
    half = np.full((60, 9), 5)
    for number in range(3):
        half[number * 20 : number * 20 + 5] = 1
    with h5py.File(tmp_path / "single.h5") as f, h5py.File(tmp_path / "out.h5") as master:
        for name, expected in {"even": data, "odd": data, "run": data, "half": half}.items():
            np.testing.assert_array_equal(f[name][()], expected)
            np.testing.assert_array_equal(master[name][()], expected)
            assert not f[name].is_virtual and master[name].is_virtual
        assert f["even"].compression == "gzip" and f["even"].shuffle and f["run"].chunks is None
        assert f["text"].asstr()[:].tolist() == ["0.0", "1.0", "1.1", "2.0", "2.1", "2.2"]
        assert f["g/n"][()] == 7 and f["g"].attrs["a"] == "text" and dict(f.attrs) == {}
    assert [r for r in compare(str(tmp_path / "single.h5")) if r.outcome != "equal"] == []
    with pytest.raises(hs.ConflictError):
        hs.fuse(tmp_path / "out.h5", tmp_path / "single.h5")
    next(tmp_path.rglob("0001-*.h5")).unlink()
    with pytest.raises(hs.NotFoundError):
        hs.fuse(tmp_path / "out.h5", tmp_path / "single.h5", "w")
    assert h5py.File(tmp_path / "single.h5")["even"].shape == (60, 9)


def test_the_commands_verify_and_fuse(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5")
    plan.commit([work(plan, number) for number in range(8)])

    code = "import sys; from hyperslab.cli import main; sys.argv[0] = 'hyperslab'; main()"

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=60)

    whole = command("verify", "out.h5")
    assert whole.returncode == 0 and "0 problems, 1 commits, 8 subfiles" in whole.stdout, whole.stderr
    made = command("fuse", "out.h5", "single.h5", "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["copied_chunks"] == 80, made.stderr
    assert (hs.open(tmp_path / "single.h5")["x"][:] == np.arange(8000.0)).all()
    next(tmp_path.rglob("0003-*.h5")).unlink()
    broken = command("verify", "out.h5", "--json")
    assert broken.returncode == 1 and any("0003-" in problem for problem in json.loads(broken.stdout)["problems"])
