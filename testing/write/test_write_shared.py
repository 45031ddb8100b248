"""Several tasks write one subfile, each its own bytes: what is there, what is refused, what becomes of tasks that die."""

from __future__ import annotations

import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import h5py
import hdf5plugin  # noqa: F401  (registers zstd for h5py)
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.maintenance.operations import VacuumResult
from test_write_parallel import equal, said, sealed, tree

WRITERS = 6


def plan_for(path: pathlib.Path, shape: tuple[int, ...], factor: int, mode: str = "x", writers: int = WRITERS, **options) -> hs.WritePlan:
    """A plan of one dataset of each kind."""
    plan = hs.WritePlan(path, mode, writers=writers, factor=factor, **options)
    rows = max(1, shape[0] // 17)
    plan.create_dataset("run", shape, "f8")
    plan.create_dataset("g/chunks", shape, ">i4", chunks=(rows, *shape[1:]), fillvalue=-1)
    plan.create_dataset("packed", shape, "f4", chunks=(rows, *(max(1, n // 2) for n in shape[1:])), compression="gzip", shuffle=True)
    plan.create_dataset("fast", shape, "i8", chunks=True, compression="zstd")
    return pickle.loads(pickle.dumps(plan))


NAMES = {"run": "f8", "g/chunks": ">i4", "packed": "f4", "fast": "i8"}


def values(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    data = np.random.default_rng(1).integers(0, 1000, size=shape)
    return {name: (data + number).astype(dtype) for number, (name, dtype) in enumerate(NAMES.items())}


def write(plan: hs.WritePlan, number: int, expected: dict[str, np.ndarray]) -> bytes:
    with plan.task(number) as task:
        for name, data in expected.items():
            region = task.region(name)
            assert region == plan.region(name, number)
            task.dataset(name).attrs["units"] = "K"
            middle = (region[0].start + region[0].stop) // 2
            task.dataset(name)[region[0].start : middle] = data[region[0].start : middle]
            task.dataset(name)[middle : region[0].stop] = data[middle : region[0].stop]
        return task.finish()


def subfiles(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.rglob("out.h5.d/*/*.h5"))


@pytest.mark.parametrize("factor", [1, 2, 4, 6, 100])
@pytest.mark.parametrize("shape", [(100_003,), (61, 40), (3, 7, 5)])
def test_tasks_share_subfiles_and_the_result_is_plain(tmp_path: pathlib.Path, shape: tuple[int, ...], factor: int) -> None:
    expected = values(shape)
    plan = plan_for(tmp_path / "out.h5", shape, factor)
    with ThreadPoolExecutor(3) as pool:
        fragments = list(pool.map(lambda number: write(plan, number, expected), reversed(range(WRITERS))))
    assert not (tmp_path / "out.h5").exists()
    done = plan.commit(fragments)
    count = -(-WRITERS // factor)
    assert len(done.subfiles) == count == len(subfiles(tmp_path)) and done.left == []
    equal(tmp_path / "out.h5", expected)
    with h5py.File(tmp_path / "out.h5") as f:
        assert all(len(f[name].virtual_sources()) <= count and f[name].attrs["units"] == "K" for name in expected)
    # Every subfile is an HDF5 file of its own, of which all can be read.
    found = dict.fromkeys(expected, 0)
    for path in subfiles(tmp_path):
        with h5py.File(path) as f:
            for name in expected:
                found[name] += int(f[name][()].astype("i8").sum())
    assert found == {name: int(data.astype("i8").sum()) for name, data in expected.items()}
    assert plan.commit(fragments).repeated
    assert sorted(p.name for p in tmp_path.rglob("*") if p.name.startswith(".")) == []


def test_boxes_of_a_grid_may_be_shared_out(tmp_path: pathlib.Path) -> None:
    data = np.random.default_rng(2).normal(size=(30, 40))
    boxes = [np.s_[15 * i : 15 * i + 15, 10 * j : 10 * j + 10] for i in range(2) for j in range(4)]
    plan = hs.WritePlan(tmp_path / "out.h5", writers=8, factor=4)
    for name, options in {"run": {}, "chunks": {"chunks": (4, 7)}, "packed": {"chunks": (5, 5), "compression": "gzip"}}.items():
        plan.create_dataset(name, data.shape, "f8", regions=boxes, **options)
    with pytest.raises(hs.InvalidInputError, match="belong to one task each"):
        plan.create_dataset("cut", data.shape, "f8", regions=boxes, chunks=(5, 4), compression="gzip")
    with pytest.raises(hs.InvalidInputError, match="both write"):
        plan.create_dataset("twice", data.shape, "f8", regions=[*boxes[:7], boxes[0]])
    with pytest.raises(hs.InvalidInputError, match="7 regions for 8 tasks"):
        plan.create_dataset("few", data.shape, "f8", regions=boxes[:7])
    fragments = []
    for number, box in enumerate(boxes):
        with plan.task(number) as task:
            for name in ("run", "chunks", "packed"):
                task.write(name, data[box])
                with pytest.raises(hs.InvalidInputError, match="outside of this task's region"):
                    task.dataset(name)[29 if number < 4 else 0, 0] = 1
            task.create_dataset("own", data=[number], rows=True)
            fragments.append(task.finish())
    assert len(plan.commit(fragments).subfiles) == 2 + 8
    equal(tmp_path / "out.h5", {"run": data, "chunks": data, "packed": data, "own": np.arange(8)})


def test_what_is_not_written_is_the_fill_value(tmp_path: pathlib.Path) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5", writers=3, factor=3)
    options = {"run": {}, "chunks": {"chunks": (8,)}, "packed": {"chunks": (10,), "compression": "gzip"}, "nobody's": {}}
    for name, more in options.items():
        plan.create_dataset(name, (30,), "i4", fillvalue=7, regions=[np.s_[n * 10 : n * 10 + 10] for n in range(3)], **more)
    expected = np.full(30, 7, "i4")
    fragments = []
    for number in (0, 2):
        with plan.task(number) as task:
            for name in list(options)[:3]:
                task.dataset(name)[number * 10 + 2 : number * 10 + 5] = number
            expected[number * 10 + 2 : number * 10 + 5] = number
            fragments.append(task.finish())
    plan.commit(fragments)
    equal(tmp_path / "out.h5", {**dict.fromkeys(list(options)[:3], expected), "nobody's": np.full(30, 7, "i4")})


def test_an_attempt_that_comes_again_writes_elsewhere(tmp_path: pathlib.Path) -> None:
    """The first attempt at task 1 is alive all the time, writes wrong values, and is not committed."""
    expected = values((5000,))
    plan = plan_for(tmp_path / "out.h5", (5000,), 3)
    zombie = plan.task(1)
    fragments = [write(plan, number, expected) for number in range(WRITERS)]
    for name in expected:
        zombie.write(name, 0)
    done = plan.commit(fragments)
    late = plan.task(1)
    for name in expected:
        late.write(name, 5)
        zombie.write(name, 3)
    zombie.finish(), late.finish()
    assert len(done.subfiles) == 3
    equal(tmp_path / "out.h5", expected)
    assert hs.verify(tmp_path / "out.h5", values=True).problems == []


def test_blocks_of_every_task_begin_on_a_boundary(tmp_path: pathlib.Path) -> None:
    """Also where the rows of a task fill no whole number of blocks; the boundary is the file system's, or given."""
    for alignment in (None, 1 << 14):
        boundary = alignment or os.stat(tmp_path).st_blksize
        plan = hs.WritePlan(tmp_path / f"{alignment}.h5", writers=4, factor=4, alignment=alignment)
        odd = [np.s_[n * 5001 : n * 5001 + 5001] for n in range(4)]
        plan.create_dataset("odd", (20_004,), "f8", regions=odd)
        plan.create_dataset("even", (4 << 16,), "f4")
        plan.create_dataset("uneven", (100_001,), "f4")
        plan.create_dataset("packed", (40_000,), "f8", chunks=(10_000,), compression="gzip", compression_opts=0)
        assert [plan.region("even", n)[0].start for n in range(4)] == [n << 16 for n in range(4)]
        assert all(plan.region("uneven", n)[0].start * 4 % boundary == 0 for n in range(4))
        fragments = []
        for number in range(4):
            with plan.task(number) as task:
                for name in ("odd", "even", "uneven", "packed"):
                    task.write(name, number)
                fragments.append(task.finish())
        done = plan.commit(fragments)
        with h5py.File(next((tmp_path / f"{alignment}.h5.d").rglob(done.subfiles[0].name))) as f:
            assert f["even"].id.get_offset() % boundary == 0 == f["uneven"].id.get_offset() % boundary
            places = [f[name].id.get_chunk_info(n).byte_offset for name in ("odd", "packed") for n in range(4)]
            assert all(place % boundary == 0 for place in places), places
            headers = [h5py.h5o.get_info(f[name].id).addr for name in ("odd", "even", "uneven", "packed")]
            assert max(headers) - min(headers) < 4096 and min(headers) > max(places)


@pytest.mark.parametrize(
    "define, error, words",
    [
        (lambda p: p.create_dataset("x", (9,), str), hs.UnsupportedError, "variable length"),
        (lambda p: p.create_dataset("x", (9,), "M8[s]"), hs.UnsupportedError, "datetime64"),
        (lambda p: p.create_dataset("x", (), "f8"), hs.InvalidInputError, "scalar"),
        (lambda p: (p.create_dataset("x", (9,), "f8"), p.create_dataset("/x", (9,), "f8")), hs.InvalidInputError, "already"),
        (lambda p: p.create_dataset("x", (9,), "f8", regions=[np.s_[0:3], np.s_[3:9:2]]), hs.UnsupportedError, "steps"),
        (lambda p: p.region("y", 0), hs.NotFoundError, "plan"),
        (lambda p: p.task(2), hs.InvalidInputError, "task 2 of a plan for 2"),
        (lambda p: p.task(0).create_dataset("there", (9,), "f8"), hs.InvalidInputError, "already"),
        (lambda p: p.task(1).dataset("there").append([1]), hs.InvalidInputError, "by rows"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_name(tmp_path: pathlib.Path, define, error, words: str) -> None:
    plan = hs.WritePlan(tmp_path / "out.h5", writers=2)
    plan.create_dataset("there", (9,), "f8")
    with pytest.raises(error, match=words):
        define(plan)
    plan.abort()
    assert tree(tmp_path) == []
    with pytest.raises(hs.InvalidInputError, match="writers"):
        hs.WritePlan(tmp_path / "out.h5").create_dataset("x", (9,), "f8")
    with pytest.raises(hs.InvalidInputError, match="writers"):
        hs.WritePlan(tmp_path / "out.h5", factor=2)


def test_verify_finds_changed_bytes(tmp_path: pathlib.Path) -> None:
    expected = values((50_000,))
    for checksums in (True, False):
        path = tmp_path / f"{checksums}" / "out.h5"
        path.parent.mkdir()
        plan = plan_for(path, (50_000,), 3, checksums=checksums)
        fragments = []
        for number in range(WRITERS):
            with plan.task(number) as task:
                for name, data in expected.items():
                    task.write(name, data[task.region(name)])
                task.create_dataset("own", data=np.full(100, number), rows=True, fletcher32=True, chunks=(100,))
                fragments.append(task.finish())
        plan.commit(fragments)
        assert hs.verify(path, values=True).problems == []
        for subfile in subfiles(path.parent):
            with h5py.File(subfile) as f:
                name = "own" if "own" in f else "run"
                place = f[name].id.get_offset() or f[name].id.get_chunk_info(0).byte_offset
            data = bytearray(subfile.read_bytes())
            data[place + 40] ^= 1
            subfile.write_bytes(data)
            assert hs.verify(path).problems == []
            problems = hs.verify(path, values=True).problems
            # Without checksums of ours only HDF5's own tell.
            assert len(problems) == (1 if checksums or name == "own" else 0), problems
            assert all(subfile.name in problem for problem in problems)
            data[place + 40] ^= 1
            subfile.write_bytes(data)


def test_vacuum_removes_what_was_killed_and_nothing_else(tmp_path: pathlib.Path) -> None:
    path, expected = tmp_path / "out.h5", values((1000,))
    plan = plan_for(path, (1000,), 2)
    plan.commit([write(plan, number, expected) for number in range(WRITERS)])
    kept = tree(tmp_path)
    dead, young = plan_for(path, (1000,), 2, "a"), plan_for(path, (1000,), 2, "w")
    write(dead, 0, expected)
    dead.task(1)
    for place in (tmp_path / "out.h5.d" / dead.id).rglob("*"):
        os.utime(place, (0, 0))
    os.utime(tmp_path / "out.h5.d" / dead.id, (0, 0))
    write(young, 0, expected)
    assert hs.vacuum(path) == VacuumResult([dead.id], [young.id], [], [], [])
    assert hs.vacuum(path, hours=0) == VacuumResult([young.id], [], [], [], [])
    assert tree(tmp_path) == kept
    equal(path, expected)
    alone = tmp_path / "alone.h5"
    write(hs.WritePlan(alone), 0, {})
    assert len(hs.vacuum(alone, hours=0).removed) == 1 and tree(tmp_path) == kept
    assert hs.vacuum(tmp_path / "nowhere.h5") == VacuumResult([], [], [], [], [])


def test_a_fragment_of_another_layout_is_refused(tmp_path: pathlib.Path) -> None:
    expected = values((5000,))
    plan = plan_for(tmp_path / "out.h5", (5000,), 3)
    fragments = [write(plan, number, expected) for number in range(WRITERS)]
    good = said(fragments[0])

    def changed(change) -> bytes:
        copy = said(fragments[0])
        change(copy)
        return sealed(copy)

    packed = lambda f: f["objects"]["packed"]["dataset"]  # noqa: E731
    for change, words in (
        (lambda f: f["shared"].update(group=1), "gives to others"),
        (lambda f: f.update(shared=None), "does not say in which"),
        (lambda f: f["shared"].update(end=1 << 60), "wrote it up to byte"),
        (lambda f: packed(f).update(shape=[1]), "outside of|its layout is not"),
        (lambda f: packed(f)["chunks"][0].update(address=1 << 62), "not in its subfile"),
        (lambda f: packed(f)["chunks"][0].update(address=2**64 - 1, length=2**64 - 1), "not in its subfile"),
        (lambda f: packed(f)["chunks"][0].update(position=[1 << 40]), "not in its subfile"),
        (lambda f: packed(f)["chunks"].append(packed(f)["chunks"][0]), "both stored"),
        (lambda f: packed(f)["written"][0].update(start=[2**64 - 1]), "outside"),
        (lambda f: f["objects"]["run"]["dataset"]["chunks"].append(packed(f)["chunks"][0]), "fixed by the plan"),
        (lambda f: f.update(task=10), "task 10 of a plan"),
    ):
        with pytest.raises((hs.InvalidInputError, hs.CorruptError), match=words):
            plan.commit([changed(change), *fragments[1:]])
        assert not (tmp_path / "out.h5").exists()
    assert good["shared"]["group"] == 0
    next(tmp_path.rglob("shared-0001.h5")).rename(tmp_path / "elsewhere")
    with pytest.raises(hs.NotFoundError):
        plan.commit(fragments)
    (tmp_path / "elsewhere").rename(next(tmp_path.rglob("shared-0000.h5")).with_name("shared-0001.h5"))
    plan.commit(fragments)
    equal(tmp_path / "out.h5", expected)


KILLED = """
import sys, numpy as np, hyperslab as hs
from concurrent.futures import ThreadPoolExecutor
path, generation, moment = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
print("ready", flush=True)
plan = hs.WritePlan(path, "w", writers=4, factor=2)
for name, options in {"run": {}, "packed": {"chunks": (5000,), "compression": "gzip"}}.items():
    plan.create_dataset(name, (80000,), "i4", **options)
def work(number):
    with plan.task(number) as task:
        for name in ("run", "packed"):
            task.write(name, generation)
        return task.finish()
with ThreadPoolExecutor(2) as pool:
    fragments = list(pool.map(work, range(4)))
plan.commit(fragments)
print("done", flush=True)
"""


def test_sharers_and_committers_that_are_killed_leave_the_last_committed_state(tmp_path: pathlib.Path) -> None:
    """Each generation takes the place of the last, unless it was killed before it was visible."""
    path, random_times, before, seen = tmp_path / "out.h5", random.Random(7), None, 0
    longest = 0.05
    for generation in range(int(os.environ.get("HYPERSLAB_KILLS", "6"))):
        run = subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(generation), "0"], stdout=subprocess.PIPE, text=True)
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
        begun = time.monotonic()
        if generation > 0:
            time.sleep(random_times.random() * longest)
            run.send_signal(signal.SIGKILL)
        said_done = "done" in run.stdout.read()
        run.wait()
        if generation == 0:
            longest = 1.3 * (time.monotonic() - begun)
        now = None
        if path.exists():
            assert hs.verify(path, values=True).problems == []
            f = hs.open(path)
            found = {int(value) for name in ("run", "packed") for value in np.unique(f[name][:])}
            assert len(found) == 1, found
            now = found.pop()
        assert now == generation or (now == before and not said_done), (generation, before, now)
        seen += now == generation
        before = now
    assert seen > 0
    # A commit that was killed just before it was visible looks like one whose master is elsewhere.
    hs.vacuum(path, hours=0, orphans=True)
    assert len(list((tmp_path / "out.h5.d").iterdir())) == 1


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with something changed on their way: bits, a digit, an end cut off, a part gone or twice."""
    text = bytearray(data)
    at = rng.randrange(len(text))
    kind = rng.randrange(5)
    if kind == 0:
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del text[at:]
    elif kind == 2:
        digits = [i for i, byte in enumerate(text) if chr(byte).isdigit()]
        at = rng.choice(digits)
        text[at] = rng.choice([byte for byte in b"0123456789" if byte != text[at]])
    elif kind == 3:
        del text[at : at + rng.randrange(1, 100)]
    else:
        text[at:at] = text[at : at + rng.randrange(1, 100)]
    return bytes(text)


def test_a_damaged_plan_or_fragment_is_never_committed(tmp_path: pathlib.Path) -> None:
    path, expected = tmp_path / "out.h5", values((600,))
    rng = random.Random(int(os.environ.get("HYPERSLAB_SEED", "12")))
    plan = plan_for(path, (600,), 2, writers=3)
    fragments = [write(plan, number, expected) for number in range(3)]
    for round in range(int(os.environ.get("HYPERSLAB_DAMAGED", "500"))):
        number = round % 3
        bad = damaged(fragments[number], rng)
        if bad != fragments[number]:
            with pytest.raises(hs.InvalidInputError, match="damaged|not a fragment|version"):
                plan.commit([bad if n == number else one for n, one in enumerate(fragments)])
        bad = damaged(bytes(plan), rng)
        if bad != bytes(plan):
            with pytest.raises(hs.InvalidInputError, match="damaged|not a write plan|version"):
                hs.WritePlan.from_bytes(bad)
    assert not path.exists()
    plan.commit(fragments)
    equal(path, expected)


def falsified(data: bytes, rng: random.Random) -> bytes:
    """What a plan or fragment of somebody else's making may say, checksum and all: other numbers, other text, a part
    that is not there."""
    text = bytearray(data[:-9])
    if rng.randrange(3) == 0:
        places = [i for i, byte in enumerate(text) if chr(byte).isdigit()]
        at = rng.choice(places)
        text[at : at + 1] = rng.choice([b"0", b"-1", b"9" * 19, b"18446744073709551615", b"4294967296", b"1e30", b"null"])
    else:
        value = said(data)

        def walk(node: object) -> list[tuple[object, object]]:
            items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
            return [pair for key, inner in list(items) for pair in [(node, key), *walk(inner)]]

        node, key = rng.choice(walk(value))
        if rng.randrange(2):
            del node[key]  # type: ignore[attr-defined]
        else:
            node[key] = rng.choice([None, 0, 2**64 - 1, 2**63, -1, [], [0], {}, "", "00", "../../x.h5", [[0, 0]], True])  # type: ignore[index]
        return sealed(value)
    return bytes(text) + b"\n%08x" % zlib.crc32(text)


def test_falsified_plans_and_fragments_are_errors_or_what_they_say(tmp_path: pathlib.Path) -> None:
    """Bytes from anywhere: an error of ours with a name, never a fault or a panic, also where what they say is read."""
    path, expected = tmp_path / "out.h5", values((600,))
    rng, outcomes = random.Random(int(os.environ.get("HYPERSLAB_SEED", "11"))), {"error": 0, "committed": 0}
    for round in range(int(os.environ.get("HYPERSLAB_DAMAGED", "250"))):
        if round % 25 == 0:
            plan = plan_for(path, (600,), 2, "w", writers=3)
            fragments = [write(plan, number, expected) for number in range(3)]
        try:
            if rng.random() < 0.3:
                other = hs.WritePlan.from_bytes(falsified(bytes(plan), rng))
                if other.path != plan.path or other.id != plan.id:
                    continue  # another file's plan: nothing of this test's concern
                other.region("run", 1)
                other.commit(fragments)
            else:
                number = rng.randrange(3)
                plan.commit([falsified(one, rng) if n == number else one for n, one in enumerate(fragments)])
        except hs.Error as error:
            assert error.kind != "Internal", error
            outcomes["error"] += 1
        else:
            outcomes["committed"] += 1
            hs.verify(path, values=True)
            for name in expected:
                # A fragment that names other bytes of its subfile as a chunk gives an error then.
                try:
                    hs.open(path)[name][:]
                except hs.Error as error:
                    assert error.kind != "Internal", error
            plan = plan_for(path, (600,), 2, "w", writers=3)
            fragments = [write(plan, number, expected) for number in range(3)]
    assert outcomes["error"] > 50, outcomes


def test_a_subfile_that_cannot_be_made_is_an_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path) as f:
        f["old"] = 1
    before = path.read_bytes()
    (tmp_path / "out.h5.d").write_bytes(b"a file where the folder belongs")
    plan = hs.WritePlan(path, "w", writers=2, factor=2)
    plan.create_dataset("x", (10,), "f4")
    with pytest.raises((hs.IoError, hs.ConflictError)):
        plan.task(0)
    (tmp_path / "out.h5.d").unlink()
    # A folder in the place of the shared file.
    (tmp_path / "out.h5.d" / plan.id / "shared-0000.h5").mkdir(parents=True)
    with pytest.raises(hs.IoError):
        plan.task(0)
    plan.abort()
    assert path.read_bytes() == before and tree(tmp_path) == ["out.h5"]


def test_two_commits_at_once_are_one(tmp_path: pathlib.Path) -> None:
    """Of two plans that commit at the same moment one becomes visible, whole; the other conflicts or may try again."""
    path = tmp_path / "out.h5"
    for round in range(8):
        plans = [plan_for(path, (3000,), 2, "w", writers=3) for _ in range(2)]
        data = [{name: np.full(3000, 10 * round + n, dtype) for name, dtype in NAMES.items()} for n in range(2)]
        fragments = [[write(plan, number, data[n]) for number in range(3)] for n, plan in enumerate(plans)]

        def commit(n: int) -> bool:
            try:
                plans[n].commit(fragments[n])
            except hs.ConflictError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            won = list(pool.map(commit, range(2)))
        assert won.count(True) == 1, won
        equal(path, data[won.index(True)])
        plans[won.index(False)].abort()


FULL = """
import resource, signal, sys, numpy as np, hyperslab as hs
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
plan = hs.WritePlan(sys.argv[1], "w", writers=2, factor=2)
plan.create_dataset("run", (100_000,), "f8")
plan.create_dataset("packed", (100_000,), "f8", chunks=(1000,), compression="gzip")
fragments = []
for number in range(2):
    with plan.task(number) as task:
        task.write("run", 1)
        task.write("packed", np.random.default_rng(1).normal(size=task.dataset("packed").shape)[task.region("packed")])
        fragments.append(task.finish())
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
for work in (lambda: plan.commit(fragments), lambda: plan.task(0).write("run", 2)):
    try:
        work()
        print("done")
    except hs.IoError as error:
        print(error.kind, "cannot write" in str(error))
try:  # the same task, caught: it must not give a fragment
    task = hs.WritePlan.from_bytes(bytes(plan)).task(1)
    try:
        task.write("run", 2)
    except hs.IoError:
        task.finish()
except hs.IoError as error:
    print(error.kind)
plan.abort()
"""


def test_a_full_disk_is_an_error_for_sharers_and_the_old_file_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.h5"
    with hs.create(path) as f:
        f["old"] = 1
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=60)
    assert run.stdout.split("\n") == ["Io True", "Io True", "Io", ""], run.stdout + run.stderr
    assert path.read_bytes() == before and tree(tmp_path) == ["out.h5"]
