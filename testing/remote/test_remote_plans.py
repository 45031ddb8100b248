"""Plans, tasks and commits in an object store: many processes write one container, which appears whole or not at all. The store is the
tests' own server with S3's protocol (`make test-stores` has moto's)."""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.mpi
import netCDF4
import numpy as np
import pytest
from hyperslab.maintenance.operations import VacuumResult
from range_server import Asked, Server
from thread_communicator import everyone

ADDRESS = "s3://bucket/run/out.h5"
MASTER = "bucket/run/out.h5"
RNG = np.random.default_rng(2700)
LARGE = RNG.integers(0, 1 << 30, 9 << 20, dtype="i4")  # 36 MiB: three parts


@pytest.fixture
def server(clean_server: Server) -> Server:
    return clean_server


def plan_of(server: Server, mode: str = "x", **options: Any) -> hs.WritePlan:
    return hs.WritePlan(ADDRESS, mode, storage_options=server.s3_options(), **options)


def write(plan: hs.WritePlan, number: int, values: Any = None) -> bytes:
    """A task: a quarter of `x`, rows of `rows`, and a text."""
    with plan.task(number) as task:
        mine = np.s_[number * 100 : number * 100 + 100]
        x = task.create_dataset("group/x", (400,), "f8", region=mine, compression="gzip")
        x[mine] = np.arange(mine.start, mine.stop) if values is None else values
        rows = task.create_dataset("rows", (0,), "i4", rows=True)
        rows.append([number] * (number + 1))
        task.create_dataset("title", data="far away")
        task.attrs["kind"] = "test"
        return task.finish()


def write_large(plan: hs.WritePlan, number: int) -> bytes:
    with plan.task(number) as task:
        x = task.create_dataset("x", (len(LARGE) * 2,), "i4", region=np.s_[number * len(LARGE) : (number + 1) * len(LARGE)])
        x[number * len(LARGE) : (number + 1) * len(LARGE)] = LARGE
        return task.finish()


def opened(server: Server) -> hs.File:
    return hs.open(ADDRESS, storage_options=server.s3_options())


def download(server: Server, folder: pathlib.Path) -> pathlib.Path:
    for name, content in server.objects.items():
        assert isinstance(content, bytes)
        place = folder / name.removeprefix("bucket/run/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder / "out.h5"


def check(server: Server, folder: pathlib.Path, tasks: int = 4) -> None:
    """The values, read from the store and with h5py after a download."""
    x = np.zeros(400)
    x[: tasks * 100] = np.arange(tasks * 100)
    rows = [number for number in range(tasks) for _ in range(number + 1)]
    f = opened(server)
    np.testing.assert_array_equal(f["group/x"][:], x)
    assert f["rows"][:].tolist() == rows and f["title"][()] in ("far away", b"far away") and f.attrs["kind"] == "test"
    local = download(server, folder)
    with h5py.File(local) as theirs:
        np.testing.assert_array_equal(theirs["group/x"][:], x)
        assert theirs["rows"][:].tolist() == rows and theirs["title"].asstr()[()] == "far away" and theirs.attrs["kind"] == "test"
    assert all("belongs to no master" in remark for remark in hs.verify(local).remarks), "what other plans have left"
    np.testing.assert_array_equal(hs.open(local)["group/x"][:], x)


def test_processes_write_one_container_that_appears_at_the_commit(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    assert plan.path == ADDRESS and server.objects == {}
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        fragments = pool.starmap(write, [(plan, number) for number in range(4)])
    assert MASTER not in server.objects and len(server.objects) == 4
    with pytest.raises(hs.NotFoundError):
        opened(server)
    server.forget()
    done = plan.commit(fragments)
    assert not done.repeated and done.left == [] and [subfile.task for subfile in done.subfiles] == [0, 1, 2, 3]
    assert [asked.method for asked in server.asked] == ["GET", "PUT", "PUT"], "a listing, the record and the master"
    names = {name.removeprefix(f"{MASTER}.d/{plan.id}/") for name in server.objects}
    assert names == {MASTER, "commit.json", *(subfile.name for subfile in done.subfiles)}
    check(server, tmp_path / "down")
    with pytest.raises(hs.InvalidInputError, match="was committed"):
        plan.abort()
    check(server, tmp_path / "again")


def test_one_object_is_made_of_a_container(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    plan.commit([write(plan, number) for number in range(4)])
    before = dict(server.objects)
    server.forget()
    made = hs.fuse(ADDRESS, "s3://bucket/run/one.h5", storage_options=server.s3_options())
    assert made.copied_chunks == 4 and made.bytes == len(server.objects["bucket/run/one.h5"])
    assert len(server.asked) < 30 and [asked.path for asked in server.asked if asked.method == "PUT"] == ["bucket/run/one.h5"]
    assert {name: server.objects[name] for name in before} == before and len(server.objects) == len(before) + 1
    with pytest.raises(hs.ConflictError):
        hs.fuse(ADDRESS, "s3://bucket/run/one.h5", storage_options=server.s3_options())
    hs.fuse(ADDRESS, tmp_path / "local.h5", storage_options=server.s3_options())
    (tmp_path / "one.h5").write_bytes(server.objects["bucket/run/one.h5"])
    for name in ("one.h5", "local.h5"):
        with h5py.File(tmp_path / name) as f:
            np.testing.assert_array_equal(f["group/x"][:], np.arange(400))
            assert f["rows"].shape == (10,) and not f["group/x"].is_virtual and f.attrs["kind"] == "test"
    hs.fuse(tmp_path / "local.h5", "s3://bucket/run/again.h5", "w", storage_options=server.s3_options())
    assert hs.open("s3://bucket/run/again.h5", storage_options=server.s3_options())["rows"][:].tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]


def test_a_task_costs_one_request(server: Server) -> None:
    plan = plan_of(server)
    server.forget()
    write(plan, 0)
    assert [(asked.method, asked.query) for asked in server.asked] == [("PUT", "")]
    plan.abort()
    assert server.objects == {}


def test_datasets_of_the_plan_and_parts_of_an_upload(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server, writers=2, track_order=True)
    assert plan.factor == 1
    plan.create_dataset("x", (2 * len(LARGE),), "i4")
    plan.create_dataset("packed", (2000,), "i8", chunks=(500,), compression="zstd")
    plan.root["latest"] = hs.SoftLink("/x")
    fragments = []
    for number in range(2):
        with plan.task(number) as task:
            task.write("x", LARGE)
            task.write("packed", number)
            fragments.append(task.finish())
    assert sorted(name.rsplit(".", 1)[1] for name in server.objects) == ["h5", "h5"], "notes of uploads are gone"
    plan.commit(fragments)
    both = np.concatenate([LARGE, LARGE])
    f = opened(server)
    np.testing.assert_array_equal(f["latest"][:], both)
    with h5py.File(download(server, tmp_path / "down")) as theirs:
        np.testing.assert_array_equal(theirs["x"][:], both)
        assert theirs["packed"][:].tolist() == [0] * 1000 + [1] * 1000


def test_netcdf_by_many_writers(server: Server, tmp_path: pathlib.Path) -> None:
    plan = hs.NetcdfPlan(ADDRESS, storage_options=server.s3_options())
    plan.create_dimension("time", None)
    plan.create_dimension("x", 4)
    plan.create_variable("x", ["x"], data=[0.0, 0.5, 1.0, 1.5], attrs={"units": "m"})
    plan.create_variable("t2m", ["time", "x"], "f4", fill_value=-999, compression="gzip")
    fragments = []
    for number in range(3):
        with pickle.loads(pickle.dumps(plan)).task(number) as task:
            task.variable("t2m").append(np.full((2, 4), number))
            fragments.append(task.finish())
    plan.commit(fragments)
    assert opened(server)["t2m"][:, 0].tolist() == [0, 0, 1, 1, 2, 2] and opened(server)["t2m"].dims == ("time", "x")
    with netCDF4.Dataset(download(server, tmp_path / "down")) as f:
        assert f["t2m"][:, 3].tolist() == [0, 0, 1, 1, 2, 2] and f["x"].units == "m"


def test_by_processes_of_mpi(server: Server, tmp_path: pathlib.Path) -> None:
    def work(comm: Any) -> None:
        def define(plan: hs.WritePlan) -> None:
            plan.create_dataset("x", (400,), "f4")

        with hyperslab.mpi.write(comm, ADDRESS, define=define, storage_options=server.s3_options()) as task:
            task.write("x", np.full(100, comm.Get_rank()))

    everyone(4, work)
    assert opened(server)["x"][::100].tolist() == [0, 1, 2, 3]

    def fails(comm: Any) -> None:
        with hyperslab.mpi.write(comm, "s3://bucket/run/other.h5", storage_options=server.s3_options()) as task:
            task.create_dataset("x", (4,), "f4", region=np.s_[comm.Get_rank() : comm.Get_rank() + 1])
            if comm.Get_rank() == 2:
                raise ZeroDivisionError

    before = set(server.objects)
    outcomes = []

    def noted(comm: Any) -> None:
        try:
            fails(comm)
        except Exception as error:
            outcomes.append(type(error).__name__)

    everyone(4, noted)
    assert sorted(outcomes) == ["CancelledError"] * 3 + ["ZeroDivisionError"] and set(server.objects) == before


def test_create_keeps_and_overwrite_replaces_what_is_there(server: Server, tmp_path: pathlib.Path) -> None:
    early, late = plan_of(server), plan_of(server)
    fragments = [write(early, number) for number in range(4)], [write(late, number) for number in range(2)]
    early.commit(fragments[0])
    with pytest.raises(hs.ConflictError, match="another process has written it; plan again"):
        late.commit(fragments[1])
    late.abort()
    check(server, tmp_path / "create")
    with pytest.raises(hs.ConflictError, match="there is an object of this name already"):
        plan_of(server)
    ours, theirs = plan_of(server, "w"), plan_of(server, "w")
    mine = [write(ours, number) for number in range(3)]
    other = [write(theirs, number) for number in range(4)]
    before = opened(server)
    ours.commit(mine)
    assert before["rows"][:].tolist() == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3], "what was opened before stays readable"
    with pytest.raises(hs.ConflictError, match="plan again"):
        theirs.commit(other)
    theirs.abort()
    assert ours.commit(mine).repeated
    check(server, tmp_path / "overwrite", 3)
    server.put(MASTER, b"no container at all")
    plan = plan_of(server, "w")
    plan.commit([write(plan, number) for number in range(2)])
    check(server, tmp_path / "foreign", 2)


def test_of_several_attempts_at_a_task_one_is_committed(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    wrong = write(plan, 1, -1)
    fragments = [write(plan, number) for number in range(4)]
    assert len(server.objects) == 5
    done = plan.commit([*fragments, wrong])
    assert done.left == [] and len(server.objects) == 6, "four subfiles, the record and the master"
    check(server, tmp_path / "down")
    # Neither another choice nor the same one changes what is committed.
    assert plan.commit([wrong, *fragments]).repeated and plan.commit(fragments).repeated
    check(server, tmp_path / "again")


def test_the_first_of_two_choices_counts_if_the_committer_was_killed_in_between(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    other = write(plan, 1, -1)
    fragments = [write(plan, number) for number in range(4)]
    server.fault = lambda asked: 500 if asked.method == "PUT" and asked.path == MASTER else None
    with pytest.raises(hs.IoError):
        plan.commit(fragments)
    server.fault = lambda asked: None
    with pytest.raises(hs.ConflictError, match="chosen other attempts"):
        plan.commit([other, *fragments])
    assert MASTER not in server.objects
    assert not plan.commit(fragments).repeated
    check(server, tmp_path / "down")


@pytest.mark.parametrize("begun", [False, True])
def test_an_abort_leaves_nothing(server: Server, begun: bool) -> None:
    plan = plan_of(server)
    if begun:
        plan.begin()
    fragments = [write(plan, number) for number in range(2)]
    running = plan.task(2)
    running.create_dataset("x", data=np.arange(10))
    plan.abort()
    plan.abort()
    assert server.objects == {}
    with pytest.raises(hs.Error):
        plan.commit(fragments)
    if begun:
        with pytest.raises(hs.CancelledError, match="aborted"):
            running.finish()
        with pytest.raises(hs.CancelledError, match="aborted"):
            pickle.loads(pickle.dumps(plan)).task(3)
        assert server.objects == {}
    running.abort()
    plan.abort()
    assert server.objects == {}


def test_a_late_attempt_at_a_task_of_a_plan_that_has_begun_leaves_nothing(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    plan.begin()
    late = plan.task(1)
    late.create_dataset("other", data=np.arange(10))
    plan.commit([write(plan, number) for number in range(4)])
    there = set(server.objects)
    with pytest.raises(hs.CancelledError, match="committed"):
        late.finish()
    assert set(server.objects) == there
    check(server, tmp_path / "down")


KILLED = """
import os, sys, pickle, pathlib
sys.path[:0] = sys.argv[1].split(os.pathsep)
from test_remote_plans import write, write_large
plan = pickle.loads(pathlib.Path(sys.argv[2]).read_bytes())
work = {"task": lambda: write(plan, 0), "parts": lambda: write_large(plan, 0), "commit": lambda: plan.commit(pickle.loads(pathlib.Path(sys.argv[4]).read_bytes()))}
work[sys.argv[3]]()
print("done", flush=True)
"""


def killed(server: Server, folder: pathlib.Path, plan: hs.WritePlan, work: str, at: Callable[[Asked], bool], fragments: list[bytes] | None = None) -> None:
    """Runs `work` in a process, and kills it with `SIGKILL` while a request waits for its answer."""
    (folder / "plan").write_bytes(pickle.dumps(plan))
    (folder / "fragments").write_bytes(pickle.dumps(fragments))
    reached = threading.Event()
    release = threading.Event()

    def fault(asked: Asked) -> str | None:
        if at(asked):
            reached.set()
            release.wait(timeout=60)
            return "reset"
        return None

    server.fault = fault
    here = pathlib.Path(__file__).resolve().parent
    path = f"{here}{os.pathsep}{here.parent / 'lib'}"
    process = subprocess.Popen([sys.executable, "-c", KILLED, path, str(folder / "plan"), work, str(folder / "fragments")])
    try:
        assert reached.wait(timeout=120)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=60) == -signal.SIGKILL
        server.fault = lambda asked: None
        release.set()
    deadline = time.monotonic() + 30
    while server._at_once and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("work", "place"),
    [
        ("task", lambda asked: asked.method == "PUT"),
        ("parts", lambda asked: asked.path.endswith(".upload")),
        ("parts", lambda asked: asked.query.startswith("partNumber=2")),
        ("parts", lambda asked: asked.method == "POST" and asked.query.startswith("uploadId")),
    ],
    ids=["one request", "note", "second part", "completion"],
)
def test_a_killed_task_leaves_nothing_visible_and_an_abort_removes_the_rest(server: Server, tmp_path: pathlib.Path, work: str, place: Any) -> None:
    plan = plan_of(server)
    killed(server, tmp_path, plan, work, place)
    assert MASTER not in server.objects
    noted = any(name.endswith(".upload") for name in server.objects)
    assert noted == bool(server.uploads) or not noted
    if server.uploads and not noted:
        server.uploads.clear()  # killed between the beginning of the upload and its note: the store's rule removes its parts
    plan.abort()
    assert server.objects == {}


def test_a_commit_ends_the_upload_of_a_killed_attempt(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    killed(server, tmp_path, plan, "parts", lambda asked: asked.query.startswith("partNumber=3"))
    assert len(server.uploads) == 1
    fragments = [write_large(plan, number) for number in range(2)]
    assert plan.commit(fragments).left == [] and server.uploads == {}
    np.testing.assert_array_equal(opened(server)["x"][:], np.concatenate([LARGE, LARGE]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "place",
    [
        lambda asked: asked.method == "GET" and "list-type" in asked.query,
        lambda asked: asked.path.endswith("commit.json"),
        lambda asked: asked.method == "PUT" and asked.path == MASTER,
        lambda asked: asked.method == "POST" and "delete" in asked.query,
    ],
    ids=["listing", "record", "master", "cleaning"],
)
def test_a_killed_committer_leaves_the_old_state_or_the_new_one(server: Server, tmp_path: pathlib.Path, place: Any) -> None:
    plan = plan_of(server)
    fragments = [write(plan, number) for number in range(4)]
    write(plan, 2, -1)
    killed(server, tmp_path, plan, "commit", place, fragments)
    is_committed = MASTER in server.objects
    if not is_committed:
        with pytest.raises(hs.NotFoundError):
            opened(server)
    done = plan.commit(fragments)
    assert done.repeated == is_committed and done.left == [] and len(server.objects) == 6
    check(server, tmp_path / "down")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", [500, "reset", "expired", 403, "lost"])
@pytest.mark.parametrize("place", ["list-type", "commit.json", "master"])
def test_a_commit_that_a_store_fails_changes_nothing_and_can_be_repeated(server: Server, tmp_path: pathlib.Path, fault: Any, place: str) -> None:
    plan = hs.WritePlan(ADDRESS, storage_options=server.s3_options(max_retries=1))
    fragments = [write(plan, number) for number in range(4)]
    is_there = {
        "list-type": lambda asked: "list-type" in asked.query,
        "commit.json": lambda asked: asked.path.endswith("commit.json") and asked.method == "PUT",
        "master": lambda asked: asked.path == MASTER and asked.method == "PUT",
    }[place]
    server.fault = lambda asked: fault if is_there(asked) else None
    if fault == "lost":
        # The store has done it, and its answer is lost.
        done = plan.commit(fragments)
        assert done.repeated == (place == "master")
    else:
        with pytest.raises(hs.IoError) as raised:
            plan.commit(fragments)
        assert "s3://bucket/run/out.h5" in str(raised.value) and "secret" not in str(raised.value) and MASTER not in server.objects
        server.fault = lambda asked: None
        assert not plan.commit(fragments).repeated
    server.fault = lambda asked: None
    check(server, tmp_path / "down")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", [500, "reset", "expired", 403])
@pytest.mark.parametrize("part", ["", "partNumber=2", "uploadId"])
def test_a_task_that_a_store_fails_leaves_nothing(server: Server, fault: Any, part: str) -> None:
    plan = hs.WritePlan(ADDRESS, storage_options=server.s3_options(max_retries=1))
    server.fault = lambda asked: fault if asked.method in ("PUT", "POST") and asked.query.startswith(part) else None
    with pytest.raises(hs.IoError) as raised:
        write_large(plan, 0) if part else write(plan, 0)
    assert "s3://bucket/run/out.h5.d" in str(raised.value) and "secret" not in str(raised.value)
    assert server.objects == {}


def test_one_of_many_committers_commits(server: Server, tmp_path: pathlib.Path) -> None:
    plan = plan_of(server)
    fragments = [write(plan, number) for number in range(4)]
    outcomes: list[bool] = []

    def commit() -> None:
        outcomes.append(pickle.loads(pickle.dumps(plan)).commit(fragments).repeated)

    threads = [threading.Thread(target=commit) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(outcomes) == [False] + [True] * 5
    check(server, tmp_path / "down")


def test_one_of_many_plans_commits(server: Server, tmp_path: pathlib.Path) -> None:
    plans = [plan_of(server) for _ in range(5)]
    fragments = [[write(plan, number) for number in range(4)] for plan in plans]
    outcomes: list[str] = []

    def commit(number: int) -> None:
        try:
            plans[number].commit(fragments[number])
            outcomes.append("committed")
        except hs.ConflictError:
            plans[number].abort()
            outcomes.append("conflict")

    threads = [threading.Thread(target=commit, args=[number]) for number in range(5)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(outcomes) == ["committed"] + ["conflict"] * 4 and len(server.objects) == 6
    check(server, tmp_path / "down")


def test_credentials_stay_in_the_process(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"access_key_id": "hidden-id", "aws_secret_access_key": "hidden-key", "session_token": "hidden-token", "skip_signature": False}
    plan = hs.WritePlan(ADDRESS, storage_options=server.s3_options(**keys, region="us-east-1"))
    plan.begin()
    fragments = [write(plan, number) for number in range(4)]
    shown = [bytes(plan), pickle.dumps(plan), repr(plan).encode(), *fragments, *server.objects.values()]
    assert not any(b"hidden" in bytes(one) for one in shown) and server.url.encode() in bytes(plan)
    there = pickle.loads(pickle.dumps(plan))
    there.set_storage_options(server.s3_options(**keys, region="us-east-1"))
    server.forget()
    write(there, 0)
    assert all("hidden-id" in asked.headers["authorization"] for asked in server.asked)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    server.forget()
    write(pickle.loads(pickle.dumps(plan)), 0)
    assert all("of-the-environment" in asked.headers["authorization"] for asked in server.asked)
    server.fault = lambda asked: 403
    with pytest.raises(hs.IoError, match="without access_key_id, aws_secret_access_key, session_token") as raised:
        pickle.loads(pickle.dumps(plan)).task(0)
    assert "hidden" not in str(raised.value)
    server.fault = lambda asked: None
    plan.commit(fragments)


def test_contradictions_are_found_before_anything_changes(server: Server) -> None:
    plan = plan_of(server)
    fragments = [write(plan, 0)]
    with plan.task(1) as task:
        task.create_dataset("group/x", (300,), "f8", region=np.s_[100:200])
        fragments.append(task.finish())
    before = dict(server.objects)
    with pytest.raises(hs.ConflictError, match="define it differently"):
        plan.commit(fragments)
    assert server.objects == before
    with pytest.raises(hs.InvalidInputError, match="another plan"):
        plan_of(server).commit(fragments)
    name = next(name for name in server.objects if "/0000-" in name)
    content = server.objects[name]
    assert isinstance(content, bytes)
    server.put(name, content[:-1])
    with pytest.raises(hs.CorruptError, match="its fragment says"):
        plan.commit(fragments[:1])
    plan.abort()


def test_what_stores_cannot_do_is_an_error(server: Server, tmp_path: pathlib.Path) -> None:
    options = server.s3_options()
    with pytest.raises(hs.UnsupportedError, match="appending to a container of an object store"):
        plan_of(server, "a")
    with pytest.raises(hs.UnsupportedError, match="each task writes a subfile of its own"):
        plan_of(server, writers=4, factor=2)
    with pytest.raises(hs.UnsupportedError, match="checksums"):
        plan_of(server, checksums=True)
    with pytest.raises(hs.UnsupportedError, match="not to HTTP servers"):
        hs.WritePlan(f"{server.url}/x.h5")
    with pytest.raises(hs.UnsupportedError, match="in its name"):
        hs.WritePlan("s3://bucket/a%25b.h5", storage_options=options)
    with pytest.raises(hs.InvalidInputError, match="no name of an object"):
        hs.WritePlan("s3://bucket", storage_options=options)
    with pytest.raises(hs.InvalidInputError, match="no name of an object"):
        hs.WritePlan("s3://bucket/run/", storage_options=options)
    with pytest.raises(hs.InvalidInputError, match="plan of local files"):
        hs.WritePlan(tmp_path / "x.h5").set_storage_options(options)
    local = hs.WritePlan(tmp_path / "x.h5")
    with local.task(0) as task:
        task.create_dataset("x", data=np.arange(3))
        fragment = task.finish()
    forged = json.loads(fragment[:-9])
    plan = plan_of(server)
    forged["write_id"] = plan.id
    import zlib

    body = json.dumps(forged, separators=(",", ":")).encode()
    with pytest.raises(hs.NotFoundError, match="not in the store"):
        plan.commit([body + b"\n%08x" % zlib.crc32(body)])
    local.abort()
    server.missing_buckets.add("nowhere")
    lost = hs.WritePlan("s3://nowhere/x.h5", storage_options=options)
    with pytest.raises(hs.NotFoundError, match="no such bucket"):
        write(lost, 0)
    assert server.objects == {}


def test_vacuum_removes_what_killed_writers_and_replaced_commits_have_left(server: Server, tmp_path: pathlib.Path) -> None:
    options, day = server.s3_options(), 24 * 3600

    def age(plan: hs.WritePlan, seconds: float) -> None:
        for name in server.objects:
            if plan.id in name:
                server.modified[name] = int(time.time() - seconds)

    def ids(*plans: hs.WritePlan) -> list[str]:
        return sorted(plan.id for plan in plans)

    first = plan_of(server)
    first.commit([write(first, number) for number in range(4)])
    second = plan_of(server, "w")
    second.commit([write(second, number) for number in range(4)])
    third = plan_of(server, "w")
    third.commit([write(third, number) for number in range(4)])
    lost = plan_of(server, "w")
    write(lost, 0)
    killed(server, tmp_path, lost, "parts", lambda asked: asked.query.startswith("partNumber=2"))
    running = plan_of(server, "w")
    write(running, 0)
    for plan, days in ((first, 9), (second, 2), (third, 0.5), (lost, 3), (running, 0.1)):
        age(plan, days * day)
    before = dict(server.objects)
    found = hs.vacuum(ADDRESS, dry_run=True, storage_options=options)
    # The second state was replaced half a day ago: readers may have it open.
    assert (found.removed, found.young, found.orphans) == (ids(first, lost), ids(second, running), [])
    assert server.objects == before and len(server.uploads) == 1
    # A master that was copied still needs its subfiles.
    server.put("bucket/run/copy.h5", server.objects[MASTER])
    server.put("bucket/run/other.txt", b"no file of HDF5")
    assert hs.vacuum(ADDRESS, storage_options=options) == found and server.uploads == {}
    assert hs.vacuum(ADDRESS, hours=0, storage_options=options).removed == ids(second, running)
    plan = plan_of(server, "w")
    plan.commit([write(plan, number) for number in range(4)])
    age(plan, day)
    assert hs.vacuum(ADDRESS, hours=0, storage_options=options) == VacuumResult([], [], [], [], [], 0), "the copy names it"
    np.testing.assert_array_equal(hs.open("s3://bucket/run/copy.h5", storage_options=options)["group/x"][:], np.arange(400))
    del server.objects["bucket/run/copy.h5"], server.objects["bucket/run/other.txt"]
    assert hs.vacuum(ADDRESS, hours=0, storage_options=options).removed == [third.id]
    check(server, tmp_path / "down")
    del server.objects[MASTER]
    assert hs.vacuum(ADDRESS, hours=0, storage_options=options).orphans == [plan.id]
    assert hs.vacuum(ADDRESS, hours=0, orphans=True, storage_options=options).removed == [plan.id]
    assert server.objects == {}
    with pytest.raises(hs.UnsupportedError, match="shrink"):
        hs.vacuum(ADDRESS, shrink=True, storage_options=options)


def test_the_command_line_vacuums_a_store(server: Server) -> None:
    plan = plan_of(server)
    write(plan, 0)
    words = [word for name, value in server.s3_options().items() for word in ("--storage-option", f"{name}={str(value).lower()}")]
    command = [str(pathlib.Path(sys.executable).parent / "hyperslab"), *words, "vacuum", ADDRESS]
    done = subprocess.run([*command, "--hours", "0"], capture_output=True, text=True)
    assert done.returncode == 0 and "removed 1 writes" in done.stdout, done
    assert server.objects == {}
