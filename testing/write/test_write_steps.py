"""Small steps: the fragment has the rows, so the task waits for no disk, and no crash between task and commit loses them."""

from __future__ import annotations

import errno
import pathlib
import random
import shutil
from typing import Any

import faults
import h5py
import hyperslab as hs
import numpy as np
import pytest

NO_SYNC = {"fsync": errno.EIO, "fdatasync": errno.EIO}


def step(path: pathlib.Path, value: int, rows: int = 1, mode: str = "a", **options: Any) -> tuple[hs.WritePlan, list[bytes]]:
    """A plan and the fragment of its task."""
    plan = hs.WritePlan(path, mode, **options)
    with plan.task(0, threads=1) as task:
        task.create_dataset("x", data=np.full((rows, 128), value, "f8"), rows=True)
        return plan, [task.finish()]


def stepped(path: pathlib.Path, values: list[int]) -> list[int]:
    for number, value in enumerate(values):
        plan, fragments = step(path, value, mode="a" if number else "x")
        plan.commit(fragments)
    return list(values)


def seen(path: pathlib.Path) -> list[int]:
    with h5py.File(path) as f:
        theirs = f["x"][:, 7].tolist()
    assert hs.open(path)["x"][:, 7].tolist() == theirs
    return theirs


def files(plan: hs.WritePlan) -> list[str]:
    return sorted(path.name for path in pathlib.Path(f"{plan.path}.d", plan.id).glob("*"))


@pytest.mark.parametrize("rows", [1, 7])
def test_a_program_that_keeps_every_state_open_by_hdf5_sees_each_new_step(tmp_path: pathlib.Path, rows: int) -> None:
    """HDF5 shares its sieve buffer between all handles of a process: rows that an earlier handle has buffered as unwritten must
    not be shown by a later one."""
    path, states, expected = tmp_path / "run.h5", [], []
    for number in range(70):
        plan, fragments = step(path, number, rows, mode="a" if number else "x", durable=False)
        with plan.task(1, threads=1) as task:
            task.create_dataset("time", data=np.full(rows, number, "i4"), rows=True)
            fragments.append(task.finish())
        plan.commit(fragments)
        expected += [number] * rows
        file = h5py.File(path)
        # An open dataset keeps the library's buffer.
        states.append((file["x"], file["time"], len(expected)))
        for x, time, count in states[-3:] + states[:1]:
            assert time[:].tolist() == expected[:count], number
            assert x[:, 127].tolist() == expected[:count] and x[count - 1, 3] == expected[count - 1], number
    assert hs.open(path)["time"][:].tolist() == expected
    for x, time, count in states:
        assert x[:, 0].tolist() == time[:].tolist() == expected[:count]
        x.file.close()
    done = hs.verify(path, values=True)
    assert done.problems == [] and done.commits == 70 and done.subfiles <= 12, done
    hs.fuse(path, tmp_path / "one.h5")
    assert seen(path) == seen(tmp_path / "one.h5")


def test_the_task_of_a_small_step_waits_for_no_disk_and_leaves_no_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    expected = stepped(path, [0, 1, 2])

    def work() -> tuple[bytes, list[bytes], list[str]]:
        faults.refuse(NO_SYNC)
        plan, fragments = step(path, 3)
        with pytest.raises(OSError, match="cannot bring to the disk"):
            plan.commit(fragments)
        return bytes(plan), fragments, files(plan)

    plan, fragments, left = faults.in_child(work)
    assert seen(path) == expected and not [name for name in left if name.startswith("0000-")]
    assert not hs.WritePlan.from_bytes(plan).commit(fragments).repeated
    assert seen(path) == [*expected, 3] and hs.verify(path, values=True).problems == []


def test_the_task_of_a_large_step_waits_for_the_disk(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    expected = stepped(path, [0, 1])

    def work() -> None:
        faults.refuse(NO_SYNC)
        with pytest.raises(OSError, match="cannot bring to the disk"):
            step(path, 2, rows=100)

    faults.in_child(work)
    plan, fragments = step(path, 2, rows=100)
    assert len(files(plan)) == 1 and seen(path) == expected
    plan.commit(fragments)
    assert seen(path) == expected + [2] * 100


@pytest.mark.parametrize("refused", ["fsync", "fdatasync"])
def test_the_commit_of_a_step_waits_for_its_rows_and_for_the_master(tmp_path: pathlib.Path, refused: str) -> None:
    path = tmp_path / "run.h5"
    expected = stepped(path, [0, 1, 2])

    def work() -> None:
        plan, fragments = step(path, 3)
        faults.refuse({refused: errno.EIO})
        with pytest.raises(OSError, match="cannot bring to the disk"):
            plan.commit(fragments)

    faults.in_child(work)
    assert seen(path) == expected
    expected += stepped_more(path, [4, 5])
    assert seen(path) == expected and hs.verify(path, values=True).problems == []


def stepped_more(path: pathlib.Path, values: list[int]) -> list[int]:
    for value in values:
        plan, fragments = step(path, value)
        plan.commit(fragments)
    return values


def kinds(plan: hs.WritePlan, number: int, kind: str) -> bytes:
    """A task that adds a row to x; kinds other than plain keep its rows out of a tail."""
    with plan.task(number, threads=1) as task:
        task.create_dataset(
            "x", data=np.full((1, 128), number, "f8"), rows=True, fletcher32=kind == "fletcher32", compression="gzip" if kind == "gzip" else None
        )
        if kind == "text":
            task.create_dataset("name", data=[f"step {number}"], rows=True)
        if kind == "new":
            task.create_dataset("new", data=np.full(3, number, "i2"), rows=True)
        return task.finish()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("tasks", [1, 3, 40])
@pytest.mark.parametrize("kind", ["plain", "gzip", "fletcher32", "text", "new"])
def test_rows_in_fragments_need_nothing_that_the_task_has_left(tmp_path: pathlib.Path, kind: str, tasks: int, durable: bool) -> None:
    """As if the machine had stopped before anything in the folder of the write was on the disk."""
    path = tmp_path / "run.h5"
    expected = stepped(path, [100, 101])
    plan = hs.WritePlan(path, "a", durable=durable)
    fragments = [kinds(plan, number, kind) for number in range(tasks)]
    assert files(plan) == []
    shutil.rmtree(f"{path}.d/{plan.id}")
    random.Random(1).shuffle(fragments)
    assert plan.commit(fragments).left == []
    assert seen(path) == expected + list(range(tasks))
    with h5py.File(path) as f:
        if kind == "text":
            assert f["name"][:].tolist() == [f"step {number}".encode() for number in range(tasks)]
        if kind == "new":
            assert f["new"][:].tolist() == np.repeat(np.arange(tasks), 3).tolist()
    assert hs.verify(path, values=True).problems == [] and plan.commit(fragments).repeated
    expected = [*seen(path), *stepped_more(path, [7])]
    assert seen(path) == expected
    hs.fuse(path, tmp_path / "single.h5")
    with h5py.File(tmp_path / "single.h5") as f:
        assert f["x"][:, 3].tolist() == expected


@pytest.mark.parametrize("kind", ["plain", "text"])
@pytest.mark.parametrize("call", ["rename", "renameat2"])
def test_a_commit_that_is_killed_while_it_writes_subfiles_is_repeated(tmp_path: pathlib.Path, kind: str, call: str) -> None:
    path = tmp_path / "run.h5"
    expected = stepped(path, [100, 101])
    plan = hs.WritePlan(path, "a")
    fragments = [kinds(plan, number, kind) for number in range(3)]
    for _ in range(2):
        faults.killed(lambda: (faults.refuse({call: faults.KILL}), plan.commit(fragments)))
        assert seen(path) == expected
    assert not plan.commit(fragments).repeated
    assert seen(path) == [*expected, 0, 1, 2] and hs.verify(path, values=True).problems == []
    assert [name for name in files(plan) if name.endswith(".part")] == []


def test_a_fragment_with_other_rows_than_the_task_wrote_is_refused(tmp_path: pathlib.Path) -> None:
    path, chance = tmp_path / "run.h5", random.Random(3)
    expected = stepped(path, [0, 1])
    plan, [fragment] = step(path, 2)
    damaged = [fragment[:-1], fragment[: len(fragment) // 2], fragment.replace(b"4000000000000000", b"0000000000000000", 1)]
    for _ in range(100):
        at = chance.randrange(len(fragment))
        damaged.append(fragment[:at] + bytes([fragment[at] ^ 1 << chance.randrange(8)]) + fragment[at + 1 :])
    for bad in damaged:
        assert bad != fragment
        with pytest.raises(hs.InvalidInputError):
            plan.commit([bad])
    assert seen(path) == expected
    plan.commit([fragment])
    assert seen(path) == [*expected, 2]
