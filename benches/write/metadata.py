"""ExaHDF5's experiment on metadata (2012, Figure 4): the time in which P processes create the same 1, 2 and 100 objects,
collectively, through a metadata server, under a lock manager, and with Hyperslab.

    metadata.py --vpic PROGRAM --mpi FOLDER [--most 64]

First with as many real processes as the machine can run. Then simulated for up to 10,240, with costs that are measured here:
messages between processes, the service time of a request, HDF5's collective operation, and a task of Hyperslab. The commit is not
simulated: it merges the fragments of 10,240 tasks. The simulation adds only which process waits for which. Prints a table."""

from __future__ import annotations

import argparse
import heapq
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import hyperslab as hs

OPERATIONS = (1, 2, 100)
SIMULATED = (128, 256, 512, 1024, 5120, 10_240)
PROCESSES = multiprocessing.get_context("fork")


def server(sockets: list[Any], operations: int, locking: bool, spent: Any) -> None:
    """Serves the operations of all clients: creates an object once, or passes its lock from client to client. Stores in `spent`
    the seconds of a core that a request took."""
    begun = time.process_time()
    requests = len(sockets) * operations * (2 if locking else 1)
    made: set[int] = set()
    held: set[int] = set()
    waiting: dict[int, list[Any]] = {}
    left = requests
    while left:
        for socket in multiprocessing.connection.wait(sockets):
            kind, number = socket.recv()
            left -= 1
            if not locking:
                made.add(number)
                socket.send(number)
            elif kind == "lock":
                if number in held:
                    waiting.setdefault(number, []).append(socket)
                else:
                    held.add(number)
                    socket.send(number)
            elif waiting.get(number):
                waiting[number].pop(0).send(number)
            else:
                held.discard(number)
    spent.value = (time.process_time() - begun) / requests


def client(socket: Any, gate: Any, operations: int, locking: bool, path: str) -> None:
    gate.wait()
    for number in range(operations):
        socket.send(("lock" if locking else "make", number))
        socket.recv()
        if locking:
            # The holder creates the object in the shared file if it does not exist.
            with open(path, "r+b", buffering=0) as file:
                file.seek(number * 512)
                if not file.read(1).strip(b"\0"):
                    file.seek(number * 512)
                    file.write(b"object".ljust(512))
            socket.send(("unlock", number))
    gate.wait()


def with_server(count: int, operations: int, locking: bool, folder: pathlib.Path) -> float:
    """Seconds from a barrier of all clients to a barrier, over pipes to one server."""
    return served(count, operations, locking, folder)[0]


def served(count: int, operations: int, locking: bool, folder: pathlib.Path) -> tuple[float, float]:
    """The same, and the seconds of a core that a request took the server."""
    spent = PROCESSES.Value("d", 0.0)
    path = folder / "shared"
    path.write_bytes(b"")
    gate = PROCESSES.Barrier(count + 1)
    pipes = [PROCESSES.Pipe() for _ in range(count)]
    clients = [PROCESSES.Process(target=client, args=(far, gate, operations, locking, str(path))) for _, far in pipes]
    serving = PROCESSES.Process(target=server, args=([near for near, _ in pipes], operations, locking, spent))
    for process in [serving, *clients]:
        process.start()
    gate.wait()
    begun = time.perf_counter()
    gate.wait()
    seconds = time.perf_counter() - begun
    for process in [serving, *clients]:
        process.join()
    return seconds, spent.value


def define(plan: hs.WritePlan, number: int, operations: int) -> bytes:
    with plan.task(number, threads=1) as task:
        for object in range(operations):
            task.create_group(f"group {object}")
        return task.finish()


def writer(plan: hs.WritePlan, number: int, operations: int, gate: Any, socket: Any) -> None:
    gate.wait()
    socket.send_bytes(define(plan, number, operations))


def ours(count: int, operations: int, folder: pathlib.Path) -> float:
    """Seconds from a barrier of all writers to the end of the commit."""
    plan = new_plan(folder, count)
    gate = PROCESSES.Barrier(count + 1)
    pipes = [PROCESSES.Pipe() for _ in range(count)]
    writers = [PROCESSES.Process(target=writer, args=(plan, number, operations, gate, pipes[number][1])) for number in range(count)]
    for process in writers:
        process.start()
    gate.wait()
    begun = time.perf_counter()
    plan.commit([near.recv_bytes() for near, _ in pipes])
    seconds = time.perf_counter() - begun
    for process in writers:
        process.join()
    return seconds


def new_plan(folder: pathlib.Path, count: int) -> hs.WritePlan:
    # Like the other three, which do not wait for the disk.
    return hs.WritePlan(folder / "ours.h5", "w", writers=count, factor=32, durable=False)


def collective(count: int, operations: int, folder: pathlib.Path, vpic: str, mpi: pathlib.Path) -> float:
    """Parallel HDF5 over MPI: all processes create every object together."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(mpi / "lib")}
    run = subprocess.run(
        [mpi / "bin/mpiexec", "-n", str(count), vpic, "metadata", folder / "collective.h5", str(operations)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=300,
    )
    return float(run.stdout)


def median(work: Callable[[], float], repeats: int) -> float:
    return statistics.median(work() for _ in range(repeats))


def simulate_server(count: int, operations: int, hop: float, service: float) -> float:
    """One server that handles requests in the order of arrival. Each client sends its next request after the answer."""
    requests = [(hop, number, 0) for number in range(count)]
    heapq.heapify(requests)
    free = last = 0.0
    while requests:
        arrived, number, done = heapq.heappop(requests)
        free = max(free, arrived) + service
        last = max(last, free + hop)
        if done + 1 < operations:
            heapq.heappush(requests, (free + 2 * hop, number, done + 1))
    return last


def simulate_locks(count: int, operations: int, hop: float, service: float, work: float) -> float:
    """A lock for each object: grant, work, release; then the next client in line gets it. All clients need the same objects in
    the same order, so that locks of object k are granted in turn while others hold object k + 1."""
    ready = [0.0] * count
    manager = 0.0
    for _ in range(operations):
        free = 0.0
        for number in range(count):
            manager = max(manager, ready[number] + hop) + 2 * service if number % 64 == 0 else manager + 2 * service
            granted = max(free, ready[number] + hop, manager) + hop
            released = granted + work + hop + service
            free, ready[number] = released, granted + work
    return max(ready)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--vpic", required=True)
    arguments.add_argument("--mpi", type=pathlib.Path, required=True)
    arguments.add_argument("--most", type=int, default=64)
    arguments.add_argument("--most-mpi", type=int, default=8)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--parts", nargs="*", default=["real", "simulated"], choices=["real", "simulated"])
    arguments.add_argument("--json", type=pathlib.Path)
    given = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-metadata-"))
    rows: list[list[Any]] = []
    try:
        counts = [n for n in (2, 4, 8, 16, 32, 64, 128, 256) if n <= given.most] if "real" in given.parts else [2]
        ways: dict[str, Callable[[int, int], float]] = {
            "collective": lambda n, k: collective(n, k, folder, given.vpic, given.mpi),
            "metadata server": lambda n, k: with_server(n, k, False, folder),
            "lock manager": lambda n, k: with_server(n, k, True, folder),
            "ours": lambda n, k: ours(n, k, folder),
        }
        measured: dict[tuple[str, int, int], float] = {}
        for count in counts:
            for way, work in ways.items():
                if way == "collective" and count > given.most_mpi:
                    # MPI processes wait by spinning: with many more processes than cores this would measure the scheduler.
                    continue
                for operations in OPERATIONS:
                    measured[way, count, operations] = median(lambda: work(count, operations), given.repeats)
                rows.append([f"{way}, {count} processes", *(measured[way, count, k] for k in OPERATIONS)])

        # The time of a request on the server's core; the rest of a single client's round trip is transport.
        service = median(lambda: served(1, 2000, False, folder)[1], 3)
        hop = max(1e-7, (median(lambda: with_server(1, 2000, False, folder), 3) / 2000 - service) / 2)
        alone = median(lambda: with_server(1, 1000, True, folder), 3) / 1000
        work = max(1e-7, alone - 2 * hop - service)
        # Two processes on two cores create an object together, which includes one message of MPI.
        step = max(0.0, (measured["collective", 2, 100] - measured["collective", 2, 1]) / 99)
        empty = max(0.0, measured["collective", 2, 1] - step)
        task = {k: median(lambda: timed(lambda: define(new_plan(folder, 1), 0, k)), 20) for k in OPERATIONS}
        for count in SIMULATED if "simulated" in given.parts else ():
            depth = math.ceil(math.log2(count))
            rows.append([f"collective, {count} simulated", *(empty + k * step * depth for k in OPERATIONS)])
            rows.append([f"metadata server, {count} simulated", *(simulate_server(count, k, hop, service) for k in OPERATIONS)])
            rows.append([f"lock manager, {count} simulated", *(simulate_locks(count, k, hop, service, work) for k in OPERATIONS)])
            cells = []
            for operations in OPERATIONS:
                plan = new_plan(folder, count)
                fragments = [define(plan, number, operations) for number in range(count)]
                # All tasks in parallel, then a real commit.
                cells.append(task[operations] + hop * depth + timed(lambda: plan.commit(fragments)))
            rows.append([f"ours, {count} tasks, really committed", *cells])
        costs = {
            "message": hop,
            "service of a request": service,
            "work under a lock": work,
            "collective operation of 2": step,
            **{f"task of ours with {k} objects": task[k] for k in OPERATIONS},
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("| seconds | " + " | ".join(f"{k} operation{'s' * (k > 1)}" for k in OPERATIONS) + " |\n|---|---:|---:|---:|")
    for name, *cells in rows:
        print(f"| {name} | " + " | ".join(f"{cell:.5f}" for cell in cells) + " |")
    print("\ncosts measured for the simulation: " + ", ".join(f"{name} {1e6 * seconds:.1f} µs" for name, seconds in costs.items()))
    if given.json:
        given.json.write_text(json.dumps({"rows": rows, "costs": costs}, indent=1))


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    import multiprocessing.connection

    main()
