"""Races `hyperslab view` with HSDS: the same hyperslabs and conditions over HTTP, from one file of 250 MB.

`run.py PYTHON FOLDER` runs in an environment with HSDS and h5pyd (`make bench-hsds`). PYTHON is one with hyperslab, FOLDER holds the file and
HSDS' storage. Both servers run on this machine and are warm: each question is asked about another place of the file, and the median of
the seconds counts. Both clients keep one connection open and take bytes (rows as JSON); answers are compared with h5py's."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
import requests

SHAPE, CHUNKS, ROWS = (200, 500, 500), (10, 100, 100), 2_000_000
HSDS, USER, BUCKET = pathlib.Path(sys.executable).parent, "admin", "hsdstest"
Answer = Any


def write(path: pathlib.Path) -> None:
    random = np.random.default_rng(0)
    with h5py.File(path, "w") as f:
        f.create_dataset("cube", data=random.normal(size=SHAPE).astype("f4"), chunks=CHUNKS)
        table = np.zeros(ROWS, [("id", "i4"), ("energy", "f8"), ("x", "f8")])
        table["id"], table["energy"], table["x"] = np.arange(ROWS), random.normal(size=ROWS), random.random(ROWS)
        f.create_dataset("table", data=table, chunks=(100_000,))


def start_hsds(folder: pathlib.Path, path: pathlib.Path) -> tuple[subprocess.Popen[bytes], str, float]:
    """HSDS with two data nodes and storage in a folder, and the seconds that loading the file took."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    storage = folder / "hsds"
    storage.mkdir()
    words = ["--root_dir", storage, "--port", str(port), "--hs_username", USER, "--hs_password", USER, "--logfile", folder / "hsds.log", "--count", "2"]
    server = subprocess.Popen([HSDS / "hsds", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    address = f"http://localhost:{port}"
    for _ in range(120):
        try:
            if requests.get(f"{address}/about", timeout=5).json()["state"] == "READY":
                break
        except (requests.RequestException, ValueError):
            pass
        time.sleep(0.5)
    # The bucket's folder is made without the dot of its name, so the name is given: else creating a file is an error (404).
    environment = {**os.environ, "HS_ENDPOINT": address, "HS_USERNAME": USER, "HS_PASSWORD": USER, "HS_BUCKET": BUCKET}
    for domain in ("/home/", f"/home/{USER}/"):
        subprocess.run([HSDS / "hstouch", "-u", USER, "-p", USER, domain], env=environment, capture_output=True)
    since = time.perf_counter()
    subprocess.run([HSDS / "hsload", path, f"hdf5://home/{USER}/race.h5"], env=environment, check=True)
    return server, address, time.perf_counter() - since


def start_hyperslab(python: str, path: pathlib.Path) -> tuple[subprocess.Popen[str], str]:
    server = subprocess.Popen(
        [python, "-m", "hyperslab", "view", "--no-browser", path], stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}
    )
    assert server.stdout is not None
    return server, server.stdout.readline().split()[0]


class Hsds:
    def __init__(self, address: str) -> None:
        self._address, self._session = address, requests.Session()
        self._session.auth = (USER, USER)
        self._domain = {"domain": f"/home/{USER}/race.h5", "bucket": BUCKET}
        root = self._json("/")["root"]
        self._ids = {link["title"]: link["id"] for link in self._json(f"/groups/{root}/links")["links"]}

    def _json(self, where: str, **more: str) -> Any:
        answer = self._session.get(self._address + where, params={**self._domain, **more})
        answer.raise_for_status()
        return answer.json()

    def cube(self, *ranges: tuple[int, int]) -> bytes:
        select = "[" + ",".join(f"{start}:{stop}" for start, stop in ranges) + "]"
        where = f"{self._address}/datasets/{self._ids['cube']}/value"
        answer = self._session.get(where, params={**self._domain, "select": select}, headers={"Accept": "application/octet-stream"})
        answer.raise_for_status()
        return answer.content

    def rows(self, low: float) -> list[int]:
        found = self._json(f"/datasets/{self._ids['table']}/value", query=f"energy > {low}")
        return [row[0] for row in found["value"]] if not found.get("index") else list(found["index"])


class Hyperslab:
    def __init__(self, address: str) -> None:
        self._address, self._session = address, requests.Session()

    def cube(self, *ranges: tuple[int, int]) -> bytes:
        selection = ",".join(f"{start}:{stop}" for start, stop in ranges)
        answer = self._session.get(f"{self._address}data", params={"file": "race.h5", "path": "/cube", "selection": selection, "format": "bin"})
        answer.raise_for_status()
        return answer.content

    def rows(self, low: float) -> list[int]:
        body = {"file": "race.h5", "query": f'select id from "table" where energy > {low}', "rows": 1000}
        answer = self._session.post(f"{self._address}sql", data=json.dumps(body))
        answer.raise_for_status()
        return [row[0] for row in answer.json()["rows"]]


def race(contestants: dict[str, Any], expected: Callable[[Any], Any], ask: Callable[[Any, Any], Any], places: list[Any]) -> dict[str, float]:
    """Median seconds of each contestant over the places, after one question that warms it up."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number, place in enumerate(places):
        for name, contestant in contestants.items():
            since = time.perf_counter()
            found = ask(contestant, place)
            passed = time.perf_counter() - since
            assert found == expected(place), (name, place)
            if number:
                seconds[name].append(passed)
    return {name: statistics.median(found) for name, found in seconds.items()}


def main(python: str, folder: pathlib.Path) -> None:
    path = folder / "race.h5"
    write(path)
    hsds, address, loading = start_hsds(folder, path)
    hyperslab, page = start_hyperslab(python, path)
    try:
        with h5py.File(path) as f:
            cube, table = f["cube"][...], f["table"][...]
        contestants = {"HSDS": Hsds(address), "hyperslab": Hyperslab(page)}
        random = np.random.default_rng(1)

        def boxes(shape: tuple[int, int, int], count: int) -> list[Any]:
            starts = [[int(random.integers(0, extent - length + 1)) for extent, length in zip(SHAPE, shape, strict=True)] for _ in range(count)]
            return [[(at, at + length) for at, length in zip(start, shape, strict=True)] for start in starts]

        print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; loading the file into HSDS took {loading:.1f} s")
        for words, shape, count in (
            ("one value", (1, 1, 1), 101),
            ("a box of 400 kB anywhere (8 chunks at most)", (10, 100, 100), 51),
            ("a line through 20 chunks", (200, 1, 1), 31),
            ("an image (1 MB, 25 chunks)", (1, 500, 500), 21),
            ("50 MB", (50, 500, 500), 4),
        ):
            found = race(contestants, lambda box: cube[tuple(slice(*part) for part in box)].tobytes(), lambda one, box: one.cube(*box), boxes(shape, count))
            print(f"{words:44}" + "".join(f"{name} {seconds * 1000:9.2f} ms   " for name, seconds in found.items()))
        limits = [4.2 + 0.01 * number for number in range(8)]
        found = race(contestants, lambda low: np.flatnonzero(table["energy"] > low).tolist(), lambda one, low: one.rows(low), limits)
        print(f"{'rows of 2,000,000 by a condition':44}" + "".join(f"{name} {seconds * 1000:9.2f} ms   " for name, seconds in found.items()))
    finally:
        hyperslab.terminate()
        os.killpg(hsds.pid, signal.SIGTERM)  # with its nodes
        hyperslab.wait(20)
        hsds.wait(20)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
