"""`hs.open(path, "r+")` from several threads and processes, and after a process that was killed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import h5py
import hyperslab as hs
import numpy as np
import pytest


def test_threads_append_whole_rows(path: pathlib.Path) -> None:
    with hs.open(path, "r+") as f:
        x, failed = f["x"], []

        def work(number: int) -> None:
            try:
                for _ in range(25):
                    x.append(np.full((2, 3), number))
                    rows = x[4:]
                    assert all(len(set(pair.reshape(-1).tolist())) == 1 for pair in rows.reshape(-1, 2, 3))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
    found = h5py.File(path)["x"][4:]
    assert len(found) == 200 and sorted(found[::2, 0].tolist()) == sorted(list(range(4)) * 25)


def test_threads_look_up_and_change_objects_of_one_file(path: pathlib.Path) -> None:
    """What a thread finds while others change the file can be changed, and is of one state of the file."""
    threads, rounds = 6, 12
    barrier = threading.Barrier(threads)

    def work(f: hs.File, number: int) -> None:
        barrier.wait()
        for index in range(rounds):
            group = f.require_group(f"own {number}")
            assert type(f["g/y"]) is type(f["x"])  # not what is only read
            made = group.create_dataset(f"{index}", data=np.full((5, 4), number), chunks=(2, 4), compression="gzip")
            made.attrs["index"] = index
            made.attrs.modify("index", index + 1)
            made[0] = -number
            assert (f[f"own {number}/{index}"][...] == np.array([-number, *[number] * 4])[:, None]).all()
            assert made.attrs["index"] == index + 1 and "index" in made.attrs and len(made.attrs) == 1
            assert len(group) == len(list(group)) == len(group.keys()) and f"{index}" in group and made.shape == (5, 4)
            assert f["text"][()] == b"old" and f.get("scalar", getlink=True) is not None and f[f.attrs["ref"]].name == "/x"
            assert f.attrs["one"] == 1 and repr(f) and made.file == f
            if index % 3 == 2:
                group.move(f"{index}", f"moved {index}")
                assert made.name == f"/own {number}/moved {index}"
                del made.attrs["index"]
                del group[f"{index - 1}"]

    with hs.open(path, "r+") as f, concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, f, number) for number in range(threads)]:
            future.result()
    with h5py.File(path) as f:
        for number in range(threads):
            kept = {name for index in range(0, rounds, 3) for name in (f"{index}", f"moved {index + 2}")}
            assert set(f[f"own {number}"]) == kept
            assert all((dataset[0] == -number).all() and (dataset[1:] == number).all() for dataset in f[f"own {number}"].values())


def test_a_forked_child_leaves_the_file_alone(path: pathlib.Path) -> None:
    f = hs.open(path, "r+")
    f["x"].append(np.full((100, 3), 8))
    child = os.fork()
    if child == 0:
        # What a child does not commit must not cut off what its parent has staged.
        with contextlib.suppress(BaseException):
            f._changes.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(OSError):
        h5py.File(path, "r+")
    f.close()
    assert h5py.File(path)["x"][4:].tolist() == [[8] * 3] * 100


def test_processes_append_in_turns(path: pathlib.Path) -> None:
    code = """
import sys, numpy as np, hyperslab as hs
for number in range(10):
    with hs.open(sys.argv[1], "r+", timeout=60) as f:
        f["x"].append(np.full((1, 3), int(sys.argv[2]) * 10 + number))
"""
    children = [subprocess.Popen([sys.executable, "-c", code, str(path), str(number)]) for number in range(3)]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    assert sorted(h5py.File(path)["x"][4:, 0].tolist()) == list(range(30))


def test_a_second_writer_waits_or_gets_a_conflict(path: pathlib.Path) -> None:
    with hs.open(path, "r+"):
        for options in ({}, {"timeout": 0}, {"timeout": 0.05}):
            before = time.monotonic()
            with pytest.raises(hs.ConflictError, match="open"):
                hs.open(path, "r+", **options)
            assert time.monotonic() - before >= options.get("timeout", 0)
    with pytest.raises(ValueError, match="timeout"):
        hs.open(path, "r+", timeout=-1)
    with pytest.raises(ValueError, match="timeout"):
        hs.open(path, timeout=1)


def test_mode_r_plus_completes_an_interrupted_edit(path: pathlib.Path) -> None:
    """As the error of a marked file promises."""
    code = """
import sys, hyperslab as hs, numpy as np
number = int(hs.open(sys.argv[1], "r+")["x"][0, 0])
while True:
    number += 1
    with hs.open(sys.argv[1], "r+") as f:
        f["x"][...] = number
        f["g/y"][...] = number
        f["x"].attrs["number"] = str(number)
    print(number, flush=True)
"""
    draw = random.Random(5)
    for _ in range(int(os.environ.get("EDITING_KILLS", "8"))):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(draw.randrange(1, 4))]
        time.sleep(draw.random() * 0.02)
        child.send_signal(signal.SIGKILL)
        said += [int(line) for line in child.stdout.read().split()]
        child.wait()
        child.stdout.close()
        try:
            hs.open(path).close()
        except hs.ConflictError as error:
            assert 'mode "r+"' in str(error)
        with hs.open(path, "r+") as f:
            found = int(f["x"][0, 0])
        assert found in (said[-1], said[-1] + 1)
        with h5py.File(path) as f:
            assert set(f["x"][...].reshape(-1)) == {found} and set(f["g/y"][...]) == {found} and f["x"].attrs["number"] == str(found)
    assert [other.name for other in path.parent.iterdir()] == ["x.h5"]
