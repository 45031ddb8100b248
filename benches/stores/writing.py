"""Seconds and requests of writing one array to an object store: one process with `hs.create`, and plans with several tasks.

The tests' own server runs on loopback in a separate process and waits for the latency before it answers. Tasks run in processes that were
started before. The least time of the rounds is shown, with the requests of that round, and the values are compared after each write.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import sys
import time
from typing import Any

import hyperslab as hs
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing" / "lib"))

ADDRESS = "s3://bucket/out.h5"
COLUMNS = 1024
#: Options of the dataset by the name that the table shows.
FILTERS: dict[str, dict[str, Any]] = {"none": {}, "gzip": {"compression": "gzip", "shuffle": True}}


def values(start: int, stop: int) -> np.ndarray:
    """Rows of a smooth field with noise, the same for each writer."""
    field = np.add.outer(np.sin(np.arange(start, stop) / 50), np.cos(np.arange(COLUMNS) / 9))
    return (np.round(field * 100) / 100 + np.random.default_rng(start).integers(0, 9, field.shape) / 1000).astype("f4")


def serve(pipe: Any) -> None:
    """The process of the server: answers a latency by forgetting everything, and `None` by the number of requests."""
    from range_server import Server

    server = Server()
    pipe.send(server.s3_options())
    while (latency := pipe.recv()) != "end":
        if latency is None:
            pipe.send(len(server.asked))
        else:
            server.latency_seconds = latency
            server.objects.clear()
            server.forget()
            pipe.send(None)


def alone(options: dict[str, Any], rows: int, filters: dict[str, Any]) -> None:
    with hs.create(ADDRESS, storage_options=options) as f:
        x = f.create_dataset("x", (rows, COLUMNS), "f4", chunks=(64, COLUMNS), **filters)
        for start in range(0, rows, 1024):
            x[start : start + 1024] = values(start, start + 1024)


def task(plan: hs.WritePlan, number: int, rows: int, mine: int, filters: dict[str, Any]) -> bytes:
    with plan.task(number) as task:
        x = task.create_dataset("x", (rows, COLUMNS), "f4", region=np.s_[number * mine : (number + 1) * mine], chunks=(64, COLUMNS), **filters)
        for start in range(number * mine, (number + 1) * mine, 1024):
            x[start : start + 1024] = values(start, start + 1024)
        return task.finish()


def together(pool: Any, options: dict[str, Any], rows: int, filters: dict[str, Any], tasks: int) -> None:
    plan = hs.WritePlan(ADDRESS, storage_options=options)
    plan.commit(pool.starmap(task, [(plan, number, rows, rows // tasks, filters) for number in range(tasks)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=256, help="bytes of values")
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--latencies", type=float, nargs="*", default=[0, 50], help="milliseconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="results so far")
    arguments = parser.parse_args()
    rows = arguments.mebibytes * 2**20 // (4 * COLUMNS)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    options = ours.recv()
    results = []
    with context.Pool(max(arguments.tasks)) as pool:
        pool.map(time.sleep, [0.1] * max(arguments.tasks) * 2)
        print(f"{arguments.mebibytes} MiB of values, load {os.getloadavg()[0]:.1f}")
        print("| filter | writer | wait | s | requests |\n|---|---|--:|--:|--:|")
        for name, filters in FILTERS.items():
            writers = {"`hs.create`": lambda filters=filters: alone(options, rows, filters)}
            for tasks in arguments.tasks:
                writers[f"{tasks} task{'s' if tasks > 1 else ''}"] = lambda filters=filters, tasks=tasks: together(pool, options, rows, filters, tasks)
            for latency in arguments.latencies:
                for writer, work in writers.items():
                    taken = []
                    for _ in range(arguments.rounds):
                        ours.send(latency / 1000)
                        ours.recv()
                        begun = time.perf_counter()
                        work()
                        seconds = time.perf_counter() - begun
                        ours.send(None)
                        taken.append((seconds, ours.recv()))
                        x = hs.open(ADDRESS, storage_options=options)["x"]
                        assert all(np.array_equal(x[start : start + 1024], values(start, start + 1024)) for start in range(0, rows, 4096))
                    seconds, requests = min(taken)
                    print(f"| {name} | {writer} | {latency:.0f} ms | {seconds:.2f} | {requests} |", flush=True)
                    results.append({"filter": name, "writer": writer, "milliseconds": latency, "seconds": seconds, "requests": requests})
    ours.send("end")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
