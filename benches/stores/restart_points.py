"""What restart points gain and weigh: the series of one point, and one row of each step, of a field with chunks of 16 and of 64 MiB.

Beside h5py on the local file, and over fsspec where our own server of ranges waits before it answers. Each measurement opens the file
again; the shortest time of all rounds is shown.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
from typing import Any

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing" / "lib"))

from run import serve

#: Extent of a chunk along both dimensions, by its bytes, and steps of the field.
SIDES = {16: (2048, 16), 64: (4096, 8)}


def make(path: pathlib.Path, side: int, steps: int, shuffle: bool) -> None:
    """A smooth field with some noise, rounded as archives do, a chunk a step."""
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        t = f.create_dataset("t", (steps, side, side), "f4", chunks=(1, side, side), compression="gzip", compression_opts=4, shuffle=shuffle)
        base = np.add.outer(np.sin(np.arange(side) / 50), np.cos(np.arange(side) / 90)) * 15 + 280
        for step in range(steps):
            t[step] = np.round(base + random.normal(0, 0.3, (side, side)) + step / 10, 2).astype("f4")


def work(f: Any, what: str, side: int) -> np.ndarray:
    return np.asarray(f["t"][:, side // 2 + 7, side // 3] if what == "series" else f["t"][:, side // 2 + 7, :])


def ours(place: str, what: str, side: int, index: Any) -> np.ndarray:
    import hyperslab as hs

    with hs.open(place, storage_options={"chunk_index": index}, chunk_cache_bytes=0) as f:
        return work(f, what, side)


def with_h5py(place: str, what: str, side: int, blocks: bool) -> np.ndarray:
    if not place.startswith("http"):
        with h5py.File(place) as f:
            return work(f, what, side)
    import fsspec

    options = {"cache_type": "blockcache", "block_size": 4 << 20} if blocks else {}
    with fsspec.filesystem("http", skip_instance_cache=True).open(place, **options) as source, h5py.File(source) as f:
        return work(f, what, side)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--interval", type=int, default=1 << 20, help="bytes of output between restart points")
    parser.add_argument("--out", help="a JSON file of all results")
    given = parser.parse_args()
    import hyperslab as hs

    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        paths = {}
        for mebibytes, (side, steps) in SIDES.items():
            for shuffle in (False, True):
                name = f"{mebibytes}{'_shuffle' if shuffle else ''}"
                paths[name] = pathlib.Path(folder) / f"{name}.h5"
                make(paths[name], side, steps, shuffle)
        time.sleep(0.1)
        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(there, {name: str(path) for name, path in paths.items()}), daemon=True)
        process.start()
        url = here.recv()
        for name, path in paths.items():
            side, _ = SIDES[int(name.split("_")[0])]
            begin = time.perf_counter()
            made = hs.indexes.chunk_index(path, path.with_suffix(".points"), restart_points=given.interval)
            seconds = time.perf_counter() - begin
            size = path.stat().st_size
            print(f"\n{name}: {size / 1e6:.0f} MB; index {made.bytes / 1e6:.2f} MB ({made.bytes / size:.2%}), {made.restart_points} points, {seconds:.1f} s")
            results.append({"file": name, "bytes": size, "index_bytes": made.bytes, "points": made.restart_points, "seconds": seconds})
            here.send(0.0)
            here.recv()
            remote = f"{url}/{name}"
            plain, points = (path.with_suffix(f".{kind}") for kind in ("remote", "remote_points"))
            hs.indexes.chunk_index(remote, plain)
            hs.indexes.chunk_index(remote, points, restart_points=given.interval)
            for what in ("series", "row"):
                expected = with_h5py(str(path), what, side, False)
                for latency in (None, 0.0, 0.01, 0.05):
                    place = str(path) if latency is None else remote
                    indexes = (False, path.with_suffix(".points")) if latency is None else (plain, points)
                    contestants = {
                        "hyperslab": lambda: ours(place, what, side, str(indexes[0]) if indexes[0] else False),
                        "with points": lambda: ours(place, what, side, str(indexes[1])),
                        "h5py": lambda: with_h5py(place, what, side, False),
                    }
                    if latency is not None:
                        contestants["h5py, blocks"] = lambda: with_h5py(place, what, side, True)
                    times = {reader: [] for reader in contestants}
                    costs: dict[str, Any] = {}
                    for _ in range(given.rounds):
                        for reader, read in contestants.items():
                            if latency is not None:
                                here.send(latency)
                                here.recv()
                            before = hs.counters()
                            begin = time.perf_counter()
                            found = read()
                            times[reader].append(time.perf_counter() - begin)
                            np.testing.assert_array_equal(found, expected)
                            cost = hs.counters().since(before)
                            fetched = None
                            if latency is not None:
                                here.send(None)
                                _, fetched = here.recv()
                            costs[reader] = {"inflated": cost.decoded_bytes, "read": cost.bytes_read, "fetched": fetched}
                    for reader in contestants:
                        row = {"file": name, "what": what, "latency": latency, "reader": reader, "seconds": min(times[reader]), **costs[reader]}
                        results.append(row)
                        wait = "local" if latency is None else f"{latency * 1000:.0f} ms"
                        fetched = row["fetched"] if latency is not None else row["read"]
                        print(
                            f"{name:12} {what:7} {wait:6} {reader:13} {row['seconds']:.3f} s {fetched / 1e6:8.1f} MB {row['inflated'] / 1e6:8.1f} MB inflated"
                        )
        here.send("end")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if given.out:
        pathlib.Path(given.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
