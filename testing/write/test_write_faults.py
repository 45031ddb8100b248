"""File systems without locks or links, locks that reach one machine only, and faults at the worst moment: commits are
decided once, nothing is lost, and errors say what is visible."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import faults
import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from hyperslab.maintenance.operations import VacuumResult, Verification
from test_write_places import NOBODY, by_create, by_fuse, by_netcdf, by_plan, by_table, shared, values  # noqa: F401

#: What file systems lack: Lustre mounted without flock, NFS without a lock server, exFAT and others over FUSE, OrangeFS.
LACKING: dict[str, dict[str, int]] = {
    "no_locks": faults.NO_LOCKS,
    "no_lock_server": {"flock": errno.ENOLCK},
    "locks_not_supported": {"flock": errno.EOPNOTSUPP},
    "local_locks": faults.LOCAL_LOCKS,
    "no_links": faults.NO_LINKS,
    "no_rename_new": faults.NO_RENAME_NEW,
    "no_locks_no_rename_new": faults.NO_LOCKS | faults.NO_RENAME_NEW,
    "nothing": faults.NO_LOCKS | faults.NO_LINKS | faults.NO_RENAME_NEW,
}
lacking = pytest.mark.parametrize("lack", LACKING.values(), ids=LACKING)


def names(folder: pathlib.Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@lacking
def test_everything_is_written_without_locks_and_links(tmp_path: pathlib.Path, lack: dict[str, int]) -> None:
    def seen(path: pathlib.Path) -> list[int]:
        return hs.open(path)["x"][:].tolist()  # h5py needs locks

    def work() -> None:
        faults.refuse(lack)
        path = tmp_path / "out.h5"
        by_plan(path, "x")
        with pytest.raises(hs.ConflictError):
            hs.WritePlan(path, "x")
        by_plan(path, "a", 2)
        assert seen(path) == [0, 1, 2, 0, 1]
        by_plan(path, "w", 4)
        plan = hs.WritePlan(path, "a")
        with plan.task(0) as task:
            task.create_dataset("x", data=[7], rows=True)
            fragments = [task.finish()]
        assert [plan.commit(fragments).repeated, plan.commit(fragments).repeated] == [False, True]
        assert seen(path) == [0, 1, 2, 3, 7]
        assert hs.verify(path, values=True).problems == []
        hs.vacuum(path, hours=0)
        assert [name for name in names(tmp_path) if name.endswith((".part", ".claim"))] == []
        hs.fuse(path, tmp_path / "fused.h5")
        assert seen(tmp_path / "fused.h5") == [0, 1, 2, 3, 7]
        for write in [by_create, by_netcdf, by_table]:
            write(tmp_path / write.__name__)
            write(tmp_path / write.__name__)
            assert seen(tmp_path / write.__name__) == [0, 1, 2]
        with hs.create(tmp_path / "new.h5", "x") as f:
            f["x"] = [1]
        late = hs.create(tmp_path / "late.h5", "x")
        late["x"] = [2]
        by_create(tmp_path / "late.h5")
        with pytest.raises(hs.ConflictError, match="there is a file"):
            late.close()
        with pytest.raises(hs.ConflictError, match="there is a file"):
            hs.write_table(pa.table({"x": [1]}), tmp_path / "new.h5", mode="x")
        assert seen(tmp_path / "late.h5") == [0, 1, 2] and seen(tmp_path / "new.h5") == [1]

    faults.in_child(work)
    for name, wanted in {"out.h5": [0, 1, 2, 3, 7], "fused.h5": [0, 1, 2, 3, 7], "late.h5": [0, 1, 2], "new.h5": [1], "by_table": [0, 1, 2]}.items():
        assert values(tmp_path / name) == wanted
    assert [name for name in names(tmp_path) if name.endswith(".part")] == []


@pytest.mark.sampled(3)
@lacking
@pytest.mark.parametrize("embedded", [False, True])
def test_indexes_are_built_without_locks_and_links(tmp_path: pathlib.Path, lack: dict[str, int], embedded: bool) -> None:
    def work() -> None:
        faults.refuse(lack)
        os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
        path = tmp_path / "x.h5"
        with hs.create(path) as f:
            f["x"] = np.arange(100_000)
        for _ in range(2):
            hs.index(path, "/x", level="X", embedded=embedded, rebuild=True)
            assert "index X on x" in hs.query(path, "/", "x > 99990").explain()
            assert hs.query(path, "/", "x > 99990").count() == 9 and hs.indexes.status(path) == []
        assert (tmp_path / "x.h5.hsidx").exists() is not embedded
        tasks = hs.indexes.plan(path, "/x", rebuild=True).tasks(2)
        hs.indexes.commit([hs.indexes.build(task) for task in tasks])
        assert hs.query(path, "/", "x > 99990").count() == 9
        hs.vacuum(path, hours=0)
        assert hs.query(path, "/", "x > 99990").count() == 9

    faults.in_child(work)


def prepared(path: pathlib.Path, mode: str, number: int) -> tuple[Any, list[bytes]]:
    plan = hs.WritePlan(path, mode)
    with plan.task(0) as task:
        task.create_dataset("x", data=[number], rows=True)
        return plan, [task.finish()]


def race(attempts: list[Callable[[], Any]], lack: dict[str, int]) -> list[str]:
    """Runs all at the same moment, each in a process of its own; how each ended."""
    barrier = [os.pipe() for _ in attempts]

    def one(number: int) -> str:
        faults.refuse(lack)
        os.read(barrier[number][0], 1)
        try:
            return "repeated" if attempts[number]().repeated else "committed"
        except hs.ConflictError as error:
            return f"conflict: {error}"

    ended: list[str] = [""] * len(attempts)

    def run(number: int) -> None:
        ended[number] = faults.in_child(lambda: one(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(attempts))]
    for thread in threads:
        thread.start()
    for _, start in barrier:
        os.write(start, b"g")
    for thread in threads:
        thread.join()
    for ends in barrier:
        for end in ends:
            os.close(end)
    return ended


@pytest.mark.parametrize("mode", ["x", "a"])
def test_a_claim_whose_commit_failed_stays_until_the_state_changes(tmp_path: pathlib.Path, mode: str) -> None:
    # Another committer may have ended it and hold the next claim: the name must not become free (`ClaimsAreTakenBack` of the model).
    path = tmp_path / "out.h5"
    if mode == "a":
        by_plan(path, "x")
    plan, fragments = prepared(path, mode, 5)
    other, theirs = prepared(path, mode, 7)
    folders = [folder for folder in (tmp_path / "out.h5.d").iterdir() if folder.is_dir() and not (folder / "commit.json").exists()]
    for folder in folders:
        (folder / "commit.json").mkdir()  # the record cannot be written
    before = path.read_bytes() if path.exists() else None
    for failing, fragment in ((plan, fragments), (other, theirs)):
        with pytest.raises(hs.Error):
            failing.commit(fragment)
    assert (path.read_bytes() if path.exists() else None) == before
    claims = sorted(name for name in names(tmp_path / "out.h5.d") if name.endswith(".claim"))
    assert [name.rsplit(".", 2)[1] for name in claims] == ["0", "1"]
    for folder in folders:
        (folder / "commit.json").rmdir()
    assert not other.commit(theirs).repeated
    assert hs.open(path)["x"][-1:].tolist() == [7]
    assert [name for name in names(tmp_path) if name.endswith((".part", ".claim"))] == []
    with pytest.raises(hs.ConflictError):
        plan.commit(fragments)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["x", "a", "w"])
@pytest.mark.parametrize("lack", [LACKING["no_locks"], LACKING["local_locks"], LACKING["nothing"]], ids=["no_locks", "local_locks", "nothing"])
def test_of_several_commits_at_once_one_wins_and_nothing_is_lost(tmp_path: pathlib.Path, lack: dict[str, int], mode: str) -> None:
    for round in range(4):
        path = tmp_path / f"{round}.h5"
        before = [] if mode == "x" else [0, 1, 2]
        if before:
            by_plan(path, "x")
        plans = [prepared(path, mode, 10 + number) for number in range(4)]
        ended = race([lambda plan=plan, fragments=fragments: plan.commit(fragments) for plan, fragments in plans], lack)
        assert sorted(said[:8] for said in ended) == ["committe"] + ["conflict"] * 3, ended
        winner = 10 + [said[:8] for said in ended].index("committe")
        assert values(path) == ([*before, winner] if mode == "a" else [winner])
        assert hs.verify(path, values=True).problems == []
        # The losers plan again, and lose nothing.
        for number in range(4):
            plan, fragments = prepared(path, "a", 20 + number)
            assert not plan.commit(fragments).repeated
        assert values(path)[-4:] == [20, 21, 22, 23]


@pytest.mark.parametrize("lack", [LACKING["no_locks"], LACKING["local_locks"]], ids=["no_locks", "local_locks"])
def test_one_plan_that_several_commit_at_once_is_committed_once(tmp_path: pathlib.Path, lack: dict[str, int]) -> None:
    for round in range(4):
        path = tmp_path / f"{round}.h5"
        by_plan(path, "x")
        plan, fragments = prepared(path, "a", 9)
        ended = race([lambda: plan.commit(fragments)] * 4, lack)
        assert ended.count("committed") == 1, ended
        assert all(said in ("committed", "repeated") or said.startswith("conflict") for said in ended)
        assert values(path) == [0, 1, 2, 9] and hs.verify(path, values=True).problems == []
        assert plan.commit(fragments).repeated


def test_a_commit_that_was_killed_before_its_rename_blocks_none(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    by_plan(path, "x")
    plan, fragments = prepared(path, "a", 5)
    other, others = prepared(path, "a", 6)
    faults.killed(lambda: (faults.refuse({"rename": faults.KILL}), plan.commit(fragments)))
    left = [name for name in names(tmp_path) if name.endswith((".part", ".claim"))]
    assert len(left) >= 2 and values(path) == [0, 1, 2]
    other.commit(others)  # the lock of the killed one is gone
    assert values(path) == [0, 1, 2, 6]
    with pytest.raises(hs.ConflictError, match="has changed since the plan was made"):
        plan.commit(fragments)
    assert [name for name in names(tmp_path) if name.endswith(".claim") or name.startswith(".out")] == []


def test_without_locks_a_killed_commit_is_waited_for_and_may_be_repeated(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    by_plan(path, "x")
    plan, fragments = prepared(path, "a", 5)
    other, others = prepared(path, "a", 6)

    def kill() -> None:
        faults.refuse(faults.NO_LOCKS | {"rename": faults.KILL})
        plan.commit(fragments)

    def again(plan: Any, fragments: list[bytes]) -> Any:
        faults.refuse(faults.NO_LOCKS)
        return plan.commit(fragments).repeated

    faults.killed(kill)
    with pytest.raises(AssertionError, match="another commit is in progress"):
        faults.in_child(lambda: again(other, others))
    [claim] = (tmp_path / "out.h5.d").glob(".*.claim")
    os.utime(claim, (0, 0))
    assert faults.in_child(lambda: again(plan, fragments)) is False
    assert values(path) == [0, 1, 2, 5] and list((tmp_path / "out.h5.d").glob(".*.claim")) == []


def test_a_repeated_commit_waits_for_the_disk(tmp_path: pathlib.Path) -> None:
    plan, fragments = prepared(tmp_path / "out.h5", "x", 5)
    plan.commit(fragments)

    def repeat() -> str:
        faults.refuse({"fsync": errno.EIO})
        with pytest.raises(OSError) as raised:
            plan.commit(fragments)
        return str(raised.value)

    assert "cannot bring to the disk" in faults.in_child(repeat)
    assert plan.commit(fragments).repeated


@pytest.mark.parametrize("write", [by_create, by_netcdf, by_table, by_plan, by_fuse], ids=lambda write: write.__name__)
def test_a_failing_sync_leaves_the_old_file(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    path = tmp_path / "x.h5"
    write(path)
    before = path.read_bytes()

    def fail() -> str:
        faults.refuse({"fsync": errno.EIO, "fdatasync": errno.EIO})
        with pytest.raises(OSError) as raised:
            write(path)
        return str(raised.value)

    assert "cannot bring to the disk" in faults.in_child(fail)
    assert path.read_bytes() == before and [name for name in names(tmp_path) if name.endswith(".part")] == []


def test_a_sync_that_fails_after_the_rename_says_that_the_file_is_in_place(shared: pathlib.Path) -> None:  # noqa: F811
    shared.chmod(0o333)  # names may be made in the folder, but it cannot be opened, so its names cannot be synced

    def fail() -> str:
        if os.geteuid() == 0:
            faults.become(NOBODY)
        with pytest.raises(OSError) as raised:
            by_create(shared / "x.h5")
        return str(raised.value)

    said = faults.in_child(fail)
    assert "the new file is in place, but it is not known to be on the disk" in said and "x.h5" in said
    shared.chmod(0o777)
    assert values(shared / "x.h5") == [0, 1, 2] and names(shared) == ["x.h5"]


def test_an_index_in_a_file_of_another_owner(shared: pathlib.Path) -> None:  # noqa: F811
    path = shared / "x.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(100_000)
    path.chmod(0o666)
    length = path.stat().st_size

    def build() -> int:
        if os.geteuid() == 0:
            faults.become(NOBODY)
        for _ in range(3):
            hs.index(path, "/x", level="X", embedded=True)
        assert hs.indexes.status(path) == [] and hs.query(path, "/", "x > 99990").count() == 9
        assert "index X on x" in hs.query(path, "/", "x > 99990").explain()
        return path.stat().st_size

    grown = faults.in_child(build)
    assert grown > length and names(shared) == ["x.h5"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 and path.stat().st_uid == os.geteuid()


def kill(work: Callable[[], Any]) -> None:
    """Kills a writer when its values are complete, before they are on the disk."""
    faults.killed(lambda: (faults.refuse({"fsync": faults.KILL, "fdatasync": faults.KILL}), work()))


def parts(folder: pathlib.Path) -> list[str]:
    return [str(folder / name) for name in names(folder) if name.endswith((".part", ".claim"))]


@pytest.mark.parametrize("write", [by_create, by_netcdf, by_table, by_fuse], ids=lambda write: write.__name__)
def test_vacuum_removes_files_of_killed_writers_and_no_others(tmp_path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    path = tmp_path / "x.h5"
    write(path)
    before = path.read_bytes()
    if write is by_fuse:  # kills it in the fusing alone
        by_plan(tmp_path / "m.h5")
        kill(lambda: hs.fuse(tmp_path / "m.h5", path, "w"))
    else:
        kill(lambda: write(path))
    left = parts(tmp_path)
    alive = hs.create(path)
    try:
        [mine] = set(parts(tmp_path)) - set(left)
        assert len(left) == 1 and hs.vacuum(path, dry_run=True).files == []  # for ten seconds it may be in use
        os.utime(left[0], (0, 0))
        os.utime(mine, (0, 0))
        assert hs.vacuum(path, dry_run=True).files == left and parts(tmp_path) == sorted([*left, mine])
        assert hs.vacuum(path).files == left and parts(tmp_path) == [mine]
        assert hs.vacuum(path, hours=0) == VacuumResult([], [], [], [], [])
        alive["x"] = [5]
    finally:
        alive.close()
    assert values(path) == [5] and before != path.read_bytes() and parts(tmp_path) == []


def test_the_next_writer_removes_what_a_killed_one_has_left(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    kill(lambda: by_create(path))
    [left] = parts(tmp_path)
    os.utime(left, (0, 0))
    by_create(path)
    assert parts(tmp_path) == [] and values(path) == [0, 1, 2]


def test_vacuum_without_locks_goes_by_age(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    kill(lambda: by_create(path))
    [left] = parts(tmp_path)

    def vacuumed(seconds: float, hours: float = 24) -> bool:
        faults.refuse(faults.NO_LOCKS)
        os.utime(left, (time.time() - seconds,) * 2)
        return bool(hs.vacuum(path, hours=hours).files)

    assert not faults.in_child(lambda: vacuumed(23 * 3600)) and not faults.in_child(lambda: vacuumed(60, 1))
    assert faults.in_child(lambda: vacuumed(3700, 1)) and parts(tmp_path) == []


def test_vacuum_removes_what_killed_commits_have_left_and_verify_names_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    by_plan(path, "x")
    plan, fragments = prepared(path, "a", 5)
    faults.killed(lambda: (faults.refuse({"rename": faults.KILL}), plan.commit(fragments)))
    for name in parts(tmp_path):
        os.utime(name, (0, 0))
    left = [name for name in parts(tmp_path) if plan.id not in name]
    assert [name.endswith(".claim") for name in left].count(True) == 1 and len(left) == 2
    [remark] = [remark for remark in hs.verify(path).remarks if "killed" in remark]
    assert any(remark.startswith(name) for name in left)
    dry = hs.vacuum(path, hours=0, dry_run=True)
    assert (dry.files, dry.removed) == (sorted(left), [plan.id]) and len(parts(tmp_path)) > 1
    assert hs.vacuum(path, hours=0) == dry
    assert parts(tmp_path) == [] and values(path) == [0, 1, 2] and hs.verify(path, values=True) == Verification([], 1, 1, hs.verify(path).subfile_bytes, [])


def test_vacuum_names_and_removes_the_subfiles_of_a_master_that_was_replaced(tmp_path: pathlib.Path) -> None:
    for write in [by_create, by_fuse]:
        path = tmp_path / f"{write.__name__}.h5"
        by_plan(path, "x")
        [folder] = os.listdir(f"{path}.d")
        write(path)
        assert hs.vacuum(path, hours=0) == VacuumResult([], [], [], [folder], [])
        assert hs.vacuum(path, hours=0, orphans=True, dry_run=True).removed == [folder] and os.path.exists(f"{path}.d")
        assert hs.vacuum(path, hours=0, orphans=True).removed == [folder] and not os.path.exists(f"{path}.d")
        assert values(path) == [0, 1, 2]


@pytest.mark.parametrize("together", [False, True])
def test_vacuum_removes_what_killed_builds_of_indexes_have_left(tmp_path: pathlib.Path, together: bool) -> None:
    path = tmp_path / "x.h5"
    by_create(path)
    hs.index(path, "/x", level="X", together=together)
    before = names(tmp_path)
    for _ in range(3):
        kill(lambda: hs.index(path, "/x", level="X", together=together, rebuild=True))
    left = sorted(set(names(tmp_path)) - set(before))
    for name in left:
        os.utime(tmp_path / name, (0, 0))
    dry = hs.vacuum(path, dry_run=True)
    assert len(left) >= 3 and [str(pathlib.Path(name).relative_to(tmp_path)) for name in dry.indexes] == left and set(names(tmp_path)) == {*before, *left}
    assert hs.vacuum(path) == dry and names(tmp_path) == before
    assert "index X on x" in hs.query(path, "/", "x > 1").explain()


def test_the_command_vacuum(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.h5"
    kill(lambda: by_create(path))
    [left] = parts(tmp_path)
    command = [os.path.join(os.path.dirname(sys.executable), "hyperslab"), "vacuum", str(path), "--hours", "0"]
    run = lambda *more: subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout  # noqa: E731
    assert run("--dry-run").splitlines() == [
        left,
        f"{path}: would remove 0 writes, left 0 that are younger than 0 hours; would remove 1 files of killed writers and 0 leftovers of indexes",
    ]
    assert json.loads(run("--dry-run", "--json"))["files"] == [left] and parts(tmp_path) == [left]
    assert "removed 1 files of killed writers" in run() and parts(tmp_path) == []


@pytest.mark.parametrize("earlier", [False, True])
def test_a_late_task_whose_look_ups_are_old_writes_into_no_committed_subfile(tmp_path: pathlib.Path, earlier: bool) -> None:
    """What a machine on NFS may not see yet is taken away for the time of the task: the record and `.closed`."""

    def work() -> None:
        faults.refuse(faults.LOCAL_LOCKS)
        path = tmp_path / "out.h5"
        plan = hs.WritePlan(path, "x", writers=2, factor=2)
        plan.create_dataset("x", (8,), "i4", fillvalue=-1)
        late = plan.task(1) if earlier else None
        with plan.task(0) as task:
            task.dataset("x")[0:4] = [1, 2, 3, 4]
            fragment = task.finish()
        assert not plan.commit([fragment]).repeated
        folder = next(tmp_path.glob("out.h5.d/*/commit.json")).parent
        before = {file.name: file.read_bytes() for file in folder.glob("*.h5") if file.name in (folder / "commit.json").read_text()}
        assert len(before) == 1
        for name in ("commit.json", ".closed"):
            if (folder / name).exists():
                (folder / name).rename(tmp_path / name)
        with late or plan.task(1) as task:
            task.dataset("x")[4:8] = [5, 6, 7, 8]
            task.finish()
        for name in ("commit.json", ".closed"):
            if (tmp_path / name).exists():
                (tmp_path / name).rename(folder / name)
        assert {name: (folder / name).read_bytes() for name in before} == before
        assert hs.open(path)["x"][:].tolist() == [1, 2, 3, 4, -1, -1, -1, -1]

    faults.in_child(work)


@pytest.mark.parametrize("local", [True, False], ids=["one_machine", "many_machines"])
def test_a_commit_that_has_just_ended_is_known_by_its_claim(tmp_path: pathlib.Path, local: bool) -> None:
    """A machine on NFS may look up the old master for a minute: it is put back for the time of the second commit."""

    def work() -> None:
        if not local:
            faults.refuse(faults.LOCAL_LOCKS)
        path = tmp_path / "out.h5"
        by_plan(path, "x")
        old = path.read_bytes()
        first, second = prepared(path, "a", 1), prepared(path, "a", 2)
        assert not first[0].commit(first[1]).repeated
        new = path.read_bytes()
        path.write_bytes(old)
        if local:
            # Nothing is ever old here: somebody has put the old master back.
            assert not second[0].commit(second[1]).repeated
            return
        with pytest.raises(hs.ConflictError, match="try again"):
            second[0].commit(second[1])
        assert path.read_bytes() == old
        path.write_bytes(new)
        with pytest.raises(hs.ConflictError, match="has changed"):
            second[0].commit(second[1])
        assert hs.open(path)["x"][:].tolist() == [0, 1, 2, 1]
        assert hs.verify(path, values=True).problems == []
        # After the time for which look-ups are kept, claims of earlier states are removed.
        for claim in tmp_path.glob("out.h5.d/.*.claim"):
            os.utime(claim, (0, 0))
        third = prepared(path, "a", 3)
        third[0].commit(third[1])
        assert len(list(tmp_path.glob("out.h5.d/.*.claim"))) == 1

    faults.in_child(work)


def test_without_waiting_for_the_disk_the_state_before_the_last_stays_until_it_is_safe(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"

    def overwrite(number: int) -> None:
        plan = hs.WritePlan(path, "w" if path.exists() else "x", durable=False)
        with plan.task(0) as task:
            task.create_dataset("x", data=np.full(100_000, number))
            plan.commit([task.finish()])

    def folders() -> int:
        return len([entry for entry in (tmp_path / "out.h5.d").iterdir() if entry.is_dir()])

    for number in range(3):
        overwrite(number)
    assert folders() == 2, "the state that was replaced stays until the next commit"

    def work() -> None:
        faults.refuse({"fsync": errno.EIO, "fdatasync": errno.EIO})
        overwrite(3)
        # The state before could not be brought to the disk, so that the one before that is not removed.
        assert folders() == 3

    faults.in_child(work)
    assert hs.open(path)["x"][0] == 3
    overwrite(4)
    assert folders() == 2 and hs.open(path)["x"][0] == 4
