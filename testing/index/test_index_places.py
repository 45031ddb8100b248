"""Where indexes lie and which file they are of: renamed, copied and touched files, other folders, the end of the file."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pytest

COUNT = 200_000
WHERE = "x > 3"


def values(seed: int = 3) -> Any:
    return np.random.default_rng(seed).normal(size=COUNT)


def make(path: pathlib.Path, compression: str | None = None, seed: int = 3, **options: Any) -> pathlib.Path:
    with h5py.File(path, "w", **options) as f:
        f.create_dataset("x", data=values(seed), chunks=(50_000,), compression=compression)
        f["y"] = values(seed + 1)
    return path


def used(path: Any, **options: Any) -> bool:
    """Whether a question uses an index; the answer is that of h5py's values in any case."""
    query = hs.query(path, "/", WHERE, **options)
    with h5py.File(path) as f:
        wanted = np.flatnonzero(f["x"][:] > 3)
    assert np.array_equal(query.positions(), wanted) and query.count() == len(wanted)
    return "on x: " in query.explain()


def fresh(path: Any) -> tuple[int, bool, list[str]]:
    """Count, whether an index was used, and remarks, in a process of its own."""
    code = (
        "import sys, hyperslab as hs; q = hs.query(sys.argv[1], '/', 'x > 3'); "
        "print(repr((q.count(), 'on x: ' in q.explain(), hs.indexes.status(sys.argv[1]))))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    found: tuple[int, bool, list[str]] = eval(done.stdout)
    return found


# Renamed, copied, touched.


def rename(path: pathlib.Path, target: pathlib.Path) -> None:
    path.rename(target)


def copy(path: pathlib.Path, target: pathlib.Path) -> None:
    target.write_bytes(path.read_bytes())


def pack(path: pathlib.Path, target: pathlib.Path) -> None:
    """Through an archive that knows whole seconds."""
    with tarfile.open(path.with_suffix(".tar"), "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(path, target.name)
    with tarfile.open(path.with_suffix(".tar")) as archive:
        archive.extractall(target.parent, filter="data")


def link(path: pathlib.Path, target: pathlib.Path) -> None:
    target.symlink_to(path)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("move", [rename, copy, pack, link])
def test_an_embedded_index_goes_with_its_file(tmp_path: pathlib.Path, move: Any, compression: str | None) -> None:
    path, target = make(tmp_path / "a.h5", compression), tmp_path / "b.h5"
    hs.index(path, ["/x", "/y"], embedded=True)
    assert used(path) and hs.indexes.status(path) == []
    move(path, target)
    assert used(target) and hs.indexes.status(target) == []
    size = target.stat().st_size
    plan = hs.index(target, ["/x", "/y"], embedded=True)
    assert used(target) and target.stat().st_size - size < 10_000 and len(plan.datasets) == 2


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("move", [rename, copy, pack])
def test_a_sidecar_goes_with_its_file(tmp_path: pathlib.Path, move: Any, compression: str | None) -> None:
    path, target = make(tmp_path / "a.h5", compression), tmp_path / "b.h5"
    hs.index(path, ["/x", "/y"])
    move(path, target)
    shutil.move(tmp_path / "a.h5.hsidx", tmp_path / "b.h5.hsidx")
    assert used(target) and hs.indexes.status(target) == []
    done = hs.indexes.commit([hs.indexes.build(task) for task in hs.indexes.plan(target, ["/x", "/y"]).tasks(1)])
    assert (done.built_blocks, used(target)) == (0, True)
    assert not any(entry.needed for entry in hs.indexes.plan(target, ["/x", "/y"]).datasets)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("embedded", [True, False])
def test_a_changed_file_is_never_believed(tmp_path: pathlib.Path, embedded: bool, compression: str | None) -> None:
    """A single value anywhere, changed by a program that knows nothing of HDF5, with any time of change but the old one."""
    path = make(tmp_path / "a.h5", compression)
    hs.index(path, "/x", embedded=embedded)
    with h5py.File(path) as f:
        chunks = [f["x"].id.get_chunk_info(n) for n in range(4)]
    whole, stamp = path.read_bytes(), path.stat()
    for number, chunk in enumerate(chunks):
        changed = bytearray(whole)
        if compression is None:
            place = chunk.byte_offset + 8 * (7 + number)
            changed[place : place + 8] = np.float64(9.5).tobytes()
        else:
            changed[chunk.byte_offset + chunk.size - 3] ^= 1
        path.write_bytes(changed)
        for moment in (stamp.st_mtime_ns + 10**9, stamp.st_mtime_ns - 10**9, stamp.st_mtime_ns // 10**9 * 10**9 - 10**9, stamp.st_mtime_ns + 70_000_000):
            os.utime(path, ns=(moment, moment))
            if compression is None:
                assert not used(path)
            assert any("stale" in remark and "values of the file have changed" in remark for remark in hs.indexes.status(path)), hs.indexes.status(path)
    path.write_bytes(whole)
    assert used(path)


def test_a_sidecar_of_another_file_is_not_believed(tmp_path: pathlib.Path) -> None:
    first, second = make(tmp_path / "a.h5", seed=1), make(tmp_path / "b.h5", seed=2)
    stamp = first.stat()
    os.utime(second, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    hs.index(first, "/x")
    shutil.copytree(tmp_path / "a.h5.hsidx", tmp_path / "b.h5.hsidx")
    assert first.stat().st_size == second.stat().st_size and not used(second)
    assert "values of the file have changed" in hs.indexes.status(second)[0]


def test_renaming_in_a_folder_with_one_index_gives_right_answers(tmp_path: pathlib.Path) -> None:
    for number in range(3):
        make(tmp_path / f"r{number}.h5", seed=number)
    hs.index([str(path) for path in sorted(tmp_path.glob("r*.h5"))], "/x", together=True)
    (tmp_path / "r0.h5").rename(tmp_path / "t.h5")
    (tmp_path / "r1.h5").rename(tmp_path / "r0.h5")
    used(tmp_path / "r0.h5"), used(tmp_path / "t.h5")
    assert used(tmp_path / "r2.h5")
    assert any("stale" in remark for remark in hs.indexes.status(tmp_path / "r0.h5"))


# Another folder.


def test_indexes_may_lie_in_another_folder(tmp_path: pathlib.Path) -> None:
    archive, kept = tmp_path / "archive", tmp_path / "kept"
    archive.mkdir()
    (archive / "more").mkdir()
    path, other = make(archive / "a.h5"), make(archive / "more" / "a.h5", seed=9)
    before = sorted(archive.rglob("*"))
    hs.index(path, "/x", index_folder=kept)
    hs.index(other, "/x", index_folder=str(kept))
    assert sorted(archive.rglob("*")) == before
    for file in (path, other):
        assert not used(file) and used(file, index_folder=kept)
        assert hs.indexes.status(file, index_folder=kept) == [] and hs.indexes.verify(file, index_folder=kept) == []
    opened = hs.open(path, index_folder=kept)
    assert "on x: " in opened.table("/", where=WHERE).explain()
    wanted = int((values() > 3).sum())
    assert hs.sql("select count(*) from x where x > 3", opened).fetchall() == [(wanted,)]
    assert "on x: " in hs.query(opened, "/", WHERE).explain() and "on x: " in hs.query(hs.open(path), "/", WHERE, index_folder=kept).explain()
    tool = [str(pathlib.Path(sys.executable).with_name("hyperslab")), "--index-folder", str(kept)]
    shown = subprocess.run([*tool, "query", str(path), "/", WHERE, "--explain"], capture_output=True, text=True, check=True).stdout
    assert "on x: " in shown
    subprocess.run([*tool, "index", str(path), "/y"], check=True, capture_output=True)
    assert "on y: " in hs.query(path, "/", "y > 3", index_folder=kept).explain() and sorted(archive.rglob("*")) == before
    together = kept / "together"
    hs.index(str(archive / "*.h5"), "/x", together=True, index_folder=together)
    assert used(path, index_folder=together)
    with h5py.File(path, "r+") as f:
        f["x"][3] = 50.0
    assert not used(path, index_folder=kept)
    assert any("stale" in remark for remark in hs.indexes.status(path, index_folder=kept))
    with pytest.raises(hs.InvalidInputError, match="index_folder"):
        hs.index(path, "/x", embedded=True, index_folder=kept)


# What is not used is said.


def test_whatever_the_reason_a_remark_says_why_an_index_is_not_used(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    folder = tmp_path / "a.h5.hsidx"
    hs.index(path, "/x")
    manifest = folder / "manifest.json"
    whole = manifest.read_bytes()

    def remark() -> str:
        used(path)
        said = "\n".join(hs.indexes.status(path))
        assert said == "\n".join(line.strip() for line in said.splitlines()) and said, "no remark"
        assert hs.open(path).table("/", where=WHERE).count() == int((values() > 3).sum())
        return said

    manifest.write_bytes(whole.replace(b'"version": 2', b'"version": 7'))
    assert "version 7" in remark()
    manifest.write_bytes(whole[:-50])
    assert "not used" in remark()
    manifest.write_bytes(whole.replace(b'"modified_nanoseconds"', b'"modified_nanosecond5"'))
    assert "not used" in remark()
    manifest.write_bytes(whole)
    folder.rename(tmp_path / "real")
    folder.symlink_to(tmp_path / "real")
    assert "symbolic link" in remark()
    folder.unlink()
    (tmp_path / "real").rename(folder)
    with h5py.File(path, "r+") as f:
        f["x"].attrs["scale_factor"] = 2.0
    os.utime(path, ns=(1, 1))
    assert "stale" in "\n".join(hs.indexes.status(path))
    if os.geteuid() != 0:
        folder.chmod(0)
        assert "ermission" in remark()
        folder.chmod(0o755)


def test_an_embedded_index_that_was_cut_off_is_missed(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    hs.index(path, "/x", embedded=True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1000])
    assert not used(path) and "its end is missing" in hs.indexes.status(path)[0]
    path.write_bytes(whole)
    assert used(path)
    try:
        os.getxattr(path, "user.hyperslab.appended")
    except OSError:
        return  # a file system without marks cannot tell
    with h5py.File(path, "r+"):
        pass
    assert not used(path) and "has removed it" in hs.indexes.status(path)[0]
    assert "has removed it" in hs.open(path).table("/", where=WHERE).explain()
    hs.index(path, "/x", embedded=True)
    assert used(path) and hs.indexes.status(path) == []


# The end of the file itself.


def test_embedding_changes_no_byte_and_no_owner_and_tells_the_time(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    os.link(path, tmp_path / "same.h5")
    path.chmod(0o640)
    os.utime(path, ns=(10**18, 10**18))
    before, whole = path.stat(), path.read_bytes()
    started = time.time_ns()
    hs.index(path, "/x", embedded=True)
    after = path.stat()
    assert path.read_bytes()[: len(whole)] == whole
    assert (after.st_ino, after.st_mode, after.st_uid, after.st_nlink) == (before.st_ino, before.st_mode, before.st_uid, 2)
    assert started - 10**8 < after.st_mtime_ns < time.time_ns() and after.st_size > before.st_size
    assert used(path) and used(tmp_path / "same.h5")


def test_a_file_of_another_owner_has_an_index_inside(tmp_path: pathlib.Path) -> None:
    """One that everybody may write, as far as this process may be somebody else."""
    folder = pathlib.Path("/tmp") / f"hyperslab-owner-{os.getpid()}"
    folder.mkdir(mode=0o777)
    try:
        folder.chmod(0o777)
        path = make(folder / "a.h5")
        path.chmod(0o666)
        before = path.stat()
        code = (
            "import os, sys, hyperslab as hs; hs.query(sys.argv[1], '/', 'x > 3').count()\n"
            "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "for _ in range(3): hs.index(sys.argv[1], '/x', embedded=True)"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        after = path.stat()
        assert used(path, indexes="any") and after.st_uid == before.st_uid and after.st_size - before.st_size < 1_000_000
    finally:
        shutil.rmtree(folder)


def test_each_refresh_adds_only_what_is_new(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    base = path.stat().st_size
    hs.index(path, "/x", embedded=True)
    first = path.stat().st_size
    hs.index(path, "/x", embedded=True)
    assert path.stat().st_size == first
    for _ in range(5):
        os.utime(path)
        hs.index(path, "/x", embedded=True)
        assert used(path)
    assert path.stat().st_size - first < 20_000
    hs.index(path, "/y", embedded=True)
    both = path.stat().st_size
    assert both - first < 1.2 * (first - base) + 20_000
    # Replaced again and again: bounded, and cleaned by one command.
    with pytest.raises(hs.ConflictError, match="hyperslab vacuum"):
        for _ in range(40):
            hs.index(path, ["/x", "/y"], embedded=True, rebuild=True)
    assert used(path)
    largest = path.stat().st_size
    assert largest - base < 8 * (both - base) + (16 << 20)
    assert hs.vacuum(path).indexes != []
    assert path.stat().st_size < both + 20_000 and used(path) and hs.indexes.status(path) == []
    hs.index(path, ["/x", "/y"], embedded=True, rebuild=True)
    assert used(path)


def test_a_live_process_sees_an_embedded_index_that_was_built_again(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    wanted = int((values() > 3).sum())
    for number in range(6):
        hs.index(path, ["/x", "/y"] if number % 2 else ["/y", "/x"], embedded=True, rebuild=True)
        assert hs.query(path, "/", WHERE).count() == wanted and used(path)
        assert hs.query(path, "/", "x > 1 && y < 0.5").count() == int(((values() > 1) & (values(4) < 0.5)).sum())
    code = "import sys, hyperslab as hs; hs.index(sys.argv[1], ['/x', '/y'], 'P', embedded=True, rebuild=True)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert "index P on x" in hs.query(path, "/", WHERE).explain() and used(path)


WRITER = """
import sys, time, h5py, numpy as np
kind, path, ready, go = sys.argv[1:]
f = h5py.File(path, "r+", locking=False)
open(ready, "w").close()
import os
while not os.path.exists(go):
    time.sleep(0.001)
for number in range(int(20)):
    if kind == "append":
        f[f"new{number}"] = np.full(30_000, 7.0 + number)
    elif kind == "in place":
        f["x"][number * 9000] = 50.0
    f.flush()
    time.sleep(0.01)
f.close()
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["append", "in place", "nothing"])
@pytest.mark.parametrize("again", [False, True])
def test_a_program_without_locks_loses_nothing(tmp_path: pathlib.Path, kind: str, again: bool) -> None:
    path = make(tmp_path / "a.h5", libver="latest")
    if again:
        hs.index(path, "/y", embedded=True)
    ready, go = tmp_path / "ready", tmp_path / "go"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, kind, str(path), str(ready), str(go)])
    while not ready.exists():
        time.sleep(0.005)
    go.touch()
    for _ in range(6):
        try:
            hs.index(path, "/x", embedded=True, rebuild=True)
        except hs.Error as error:
            assert error.kind in ("Conflict", "Corrupt", "NotFound", "Io"), error
    assert writer.wait() == 0
    wanted = values()
    if kind == "in place":
        wanted[np.arange(20) * 9000] = 50.0
    with h5py.File(path) as f:
        assert np.array_equal(f["x"][:], wanted) and np.array_equal(f["y"][:], values(4))
        if kind == "append":
            for number in range(20):
                assert (f[f"new{number}"][:] == 7.0 + number).all()
    assert fresh(path)[0] == int((wanted > 3).sum())


KILLED = "import sys, hyperslab as hs\nwhile True: hs.index(sys.argv[1], ['/x', '/y'], embedded=sys.argv[2] == 'True', rebuild=True)"


@pytest.mark.parametrize("embedded", [False, True])
def test_killed_builds_leave_nothing_after_the_next(tmp_path: pathlib.Path, embedded: bool) -> None:
    path = make(tmp_path / "a.h5")
    base = path.stat().st_size
    rng = np.random.default_rng(1)
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(embedded)], stderr=subprocess.DEVNULL)
        time.sleep(0.35 + float(rng.random()) * 0.4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert used(path) in (True, False)
        assert fresh(path)[0] == int((values() > 3).sum())
    folder = tmp_path / "a.h5.hsidx"
    for left in folder.glob(".*") if folder.exists() else []:
        os.utime(left, ns=(10**18, 10**18))  # not of a moment ago
    if embedded:
        hs.vacuum(path)
    hs.index(path, ["/x", "/y"], embedded=embedded, rebuild=True)
    assert used(path)
    if embedded:
        assert not folder.exists() and path.stat().st_size < 2 * base + 4 * base
        with h5py.File(path) as f:
            assert np.array_equal(f["x"][:], values())
    else:
        assert sorted(file.suffix for file in folder.iterdir() if file.name != ".building") == [".arrow", ".arrow", ".json"]


def test_the_index_files_of_tasks_are_kept_until_they_are_old(tmp_path: pathlib.Path) -> None:
    path = make(tmp_path / "a.h5")
    fragments = [hs.indexes.build(task) for task in hs.indexes.plan(path, "/x").tasks(2)]
    hs.index(path, "/y")  # another build, meanwhile
    assert hs.vacuum(path).indexes == []
    hs.indexes.commit(fragments)
    assert used(path)
    left = [hs.indexes.build(task) for task in hs.indexes.plan(path, "/x", rebuild=True).tasks(2)]
    assert left and len(hs.vacuum(path, hours=0).indexes) == 2 and used(path)
    (tmp_path / "a.h5.hsidx" / "notes.txt").write_text("mine")
    (tmp_path / "a.h5.hsidx" / ("0" * 32 + ".arrow.bak")).write_text("mine")
    hs.vacuum(path, hours=0)
    hs.index(path, "/x", embedded=True)
    assert (tmp_path / "a.h5.hsidx" / "notes.txt").read_text() == "mine"


def test_a_histogram_of_a_single_value_has_edges_that_rise(tmp_path: pathlib.Path) -> None:
    for number, value in enumerate([np.float64(5e-324), np.float64(1.7e308), np.int64(2**60), np.uint64(2**64 - 1), np.int64(-(2**63)), np.float64(-1e300)]):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w") as f:
            f["a"] = np.array([value, value, value])
        for index in (False, True):
            if index:
                hs.index(path, "/a", "X")
            q = hs.query(path, "/", None, rows="a")
            for bins, log in ((10, False), (10, True), (1000, False), ("adaptive:8", False)):
                if log and value <= 0:
                    continue
                found = q.histogram("a", bins, log=log)
                assert found.values.sum() == 3 and (np.diff(found.edges[0]) > 0).all(), (value, bins, log)
