"""Threads, forks, signals and memory: what a long-lived process meets."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import select
import signal
import subprocess
import sys
import textwrap
import threading

import h5py
import hyperslab as hs
import numpy as np
import pytest


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("processes") / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(200_000).reshape(200, 1000), chunks=(7, 130), compression="gzip")
    return path


def test_many_threads_read_one_file_at_once(path: pathlib.Path) -> None:
    d = hs.open(path)["x"]
    wanted = np.arange(200_000).reshape(200, 1000)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, found in enumerate(pool.map(lambda i: d[i : i + 50, ::3], range(100))):
            np.testing.assert_array_equal(found, wanted[i : i + 50, ::3])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_reads_a_file_that_its_parent_opened(path: pathlib.Path) -> None:
    d = hs.open(path)["x"]
    total = int(d[...].sum())  # the parent's threads are running
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child() -> None:
        sender.send(int(d[...].sum()))

    process = context.Process(target=child)
    process.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert receiver.recv() == total
    finally:
        process.kill()


def answers(f: hs.File, table: hs.Table, query: hs.Query) -> list[float]:
    """What a process reads through objects that were opened before."""
    d = f["x"]
    return [
        float(d[17, 33]),
        float(d[3].sum()),
        float(d[10:90, ::7].sum()),
        float(d[[1, 50, 199]].sum()),
        float(d[...].sum()),
        float(len(list(f["group"]))),
        float(f["group/value7"].attrs["number"]),
        float(f["group/value30"][()]),
        float(len(f["names"][40])),
        float(f["virtual"][100:120].sum()),
        float(table.count()),
        float(table.head(7)["x"][6].as_py()),
        float(query.count()),
        float(query.positions().sum()),
        float(hs.open(f.filename)["x"][5, 5]),
    ]


@pytest.fixture(scope="module")
def many_kinds(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("forks") / "a.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(200_000).reshape(200, 1000), chunks=(7, 130), compression="gzip")
        group = f.create_group("group")
        for i in range(100):
            group[f"value{i}"] = float(i)
            group[f"value{i}"].attrs["number"] = i
        f["names"] = np.array([f"name {i}" for i in range(1000)], h5py.string_dtype())
        layout = h5py.VirtualLayout((200, 1000), "i8")
        layout[:] = h5py.VirtualSource(f["x"])
        f.create_virtual_dataset("virtual", layout)
    return path


FORKS = int(os.environ.get("HYPERSLAB_FORKS", "30"))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded", "ignore:.*use of fork")
def test_children_that_are_forked_while_threads_read_do_not_hang(many_kinds: pathlib.Path) -> None:
    """A child has the locks of its parent as they were, and none of the threads that hold them."""
    f = hs.open(many_kinds, threads=2)
    table, query = f.table("/x", where="x > 70000"), hs.query(f, "/", "x > 150000")
    wanted, stop, wrong = answers(f, table, query), threading.Event(), []

    def work(turn: int) -> None:
        while not stop.is_set():
            # One of the threads opens the file itself, so that nothing of it is kept.
            mine = f if turn else hs.open(many_kinds)
            found = answers(mine, table, query)
            if found != wanted:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(turn,), daemon=True) for turn in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(FORKS):
            receiver, sender = os.pipe()
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    found = answers(f, table, query)
                    os.write(sender, b"right" if found == wanted else repr(found).encode())
                    code = 0
                finally:
                    os._exit(code)
            os.close(sender)
            try:
                ready, _, _ = select.select([receiver], [], [], 60)
                assert ready, f"child {number} hangs"
                assert os.read(receiver, 1000) == b"right", f"child {number}"
            finally:
                os.close(receiver)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def table_count(table: hs.Table) -> int:
    return table.count()


def query_count(query: hs.Query) -> int:
    return query.count()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded", "ignore:.*use of fork")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_answer_tables_and_queries(path: pathlib.Path, method: str) -> None:
    tables = [hs.open(path).table("/x", where=f"x < {i}") for i in range(1, 9)]
    queries = [hs.query(path, "/", f"x < {i}") for i in range(1, 9)]
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        assert list(pool.map(table_count, tables, timeout=100)) == list(range(1, 9))
        assert list(pool.map(query_count, queries, timeout=100)) == list(range(1, 9))


def test_control_c_stops_a_long_read(tmp_path: pathlib.Path) -> None:
    """A dataset of 40 GB that was never written is read into nowhere: far longer than the test waits."""
    with h5py.File(tmp_path / "long.h5", "w") as f:
        f.create_dataset("x", (5_000_000_000,), "f8", chunks=(1_000_000,))
    script = textwrap.dedent("""
        import sys, hyperslab as hs
        table = hs.open(sys.argv[1]).table("/x", where="x > 0")
        print("ready", flush=True)
        try:
            table.count()
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path / "long.h5"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == "stopped\n"
    finally:
        process.kill()


PEAK = """
import resource, sys, hyperslab as hs
rows = 0
for batch in hs.open(sys.argv[1], threads=2).table("/x", where=sys.argv[2] or None).batches():
    rows += batch.num_rows
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(path: pathlib.Path, where: str) -> tuple[int, int]:
    """Rows, and the peak of resident memory in KiB, of a process that scans all batches."""
    run = subprocess.run([sys.executable, "-c", PEAK, path, where], capture_output=True, text=True, check=True, env={**os.environ, "MALLOC_ARENA_MAX": "2"})
    rows, kib = run.stdout.split()
    return int(rows), int(kib)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("where", ["", "x >= 0"])
@pytest.mark.parametrize("chunks", [None, (64, 256)], ids=["contiguous", "chunked"])
def test_memory_of_a_scan_does_not_grow_with_the_dataset(tmp_path: pathlib.Path, where: str, chunks: tuple[int, int] | None) -> None:
    peaks = []
    for name, rows in (("small", 1 << 10), ("large", 1 << 16)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as f:
            x = f.create_dataset("x", (rows, 256), "f8", chunks=chunks)
            for start in range(0, rows, 1 << 10):
                x[start : start + (1 << 10)] = start
        found, kib = peak(tmp_path / f"{name}.h5", where)
        assert found == rows * 256
        peaks.append(kib)
    small, large = peaks
    assert large - small < 48 << 10, f"2 MiB of values peak at {small >> 10} MiB, 128 MiB at {large >> 10} MiB"
