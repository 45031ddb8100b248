"""Edits of existing files beside h5py, each with the wait for the disk.

`make bench-edit` prints the tables and writes benches/results/edit.json. Both open the file, change it and close it in one process; h5py's
time includes `flush` and `os.fsync`, because ours waits for the disk. Rounds are interleaved, the first is not counted, and each starts from an untimed copy.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import h5py
import hyperslab as hs
import numpy as np

MB = 1_000_000
GIB = 1 << 30
#: Steps of 1 MB in a file of 10 GB.
STEPS = 10_000
OBJECTS = 100_000
#: Values of a dataset that is overwritten with a commit each time.
OVERWRITTEN = (64, 1024)
HEAD = ["edit", "ours, ms", "quartiles", "h5py, ms", "quartiles", "h5py without fsync, ms", "h5py / ours"]
GROWTH = ["overwritten, gzip chunks of 4 KiB", "commits", "largest size / content", "ms for each commit"]


class Case(NamedTuple):
    """One row of the table."""

    name: str
    #: Makes the file before the edit.
    make: Callable[[pathlib.Path], None]
    #: Changes an open file of ours or of h5py.
    change: Callable[[Any], None]
    #: Whether each round starts from a copy; else the edits of all rounds add up.
    is_copied: bool = True


def small(path: pathlib.Path) -> None:
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=np.arange(1000.0))
        f.create_dataset("rows", shape=(0, 8), maxshape=(None, 8), chunks=(1024, 8), dtype="f8")
        f.create_dataset("packed", data=np.zeros(OVERWRITTEN), chunks=(1, 1024), compression="gzip")


def large(path: pathlib.Path) -> None:
    """A dataset of 10 GB in chunks of 1 MB, of which the file system stores no block: each chunk is a hole."""
    with h5py.File(path, "w", libver="latest") as f:
        space = h5py.h5s.create_simple((STEPS, 250_000), (h5py.h5s.UNLIMITED, 250_000))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((1, 250_000))
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, space, properties)


def crowded(path: pathlib.Path) -> None:
    with h5py.File(path, "w", libver="latest") as f:
        for group in range(100):
            parent = f.create_group(f"g{group}")
            for number in range(OBJECTS // 100):
                h5py.h5g.create(parent.id, f"o{number}".encode()).close()


def datasets(f: Any) -> None:
    for number in range(300):
        f.create_dataset(f"made/{number}", data=np.arange(10.0))


def attributes(f: Any) -> None:
    for number in range(300):
        f["x"].attrs[f"a{number}"] = number


def appends(f: Any) -> None:
    rows = f["rows"]
    step = np.arange(8.0)
    for number in range(1000):
        rows.resize(number + 1, axis=0)
        rows[number] = step


def append_step(f: Any) -> None:
    x = f["x"]
    count = x.shape[0]
    x.resize(count + 1, axis=0)
    x[count] = np.ones(250_000, "f4")


def one_attribute(f: Any) -> None:
    f["g50/o500"].attrs["touched"] = 1


def overwrite(f: Any) -> None:
    f["packed"][...] = np.random.default_rng(1).normal(size=OVERWRITTEN)


def removals(f: Any) -> None:
    for number in range(300):
        del f[f"made/{number}"]


def filled(path: pathlib.Path) -> None:
    small(path)
    with h5py.File(path, "r+") as f:
        datasets(f)


CASES = (
    Case("300 new datasets of 10 values", small, datasets),
    Case("300 new attributes of one object", small, attributes),
    Case("300 datasets removed", filled, removals),
    Case("1,000 appends of one row, one commit", small, appends),
    Case("1 MB appended to 10 GB", large, append_step, False),
    Case("one attribute among 100,000 objects", crowded, one_attribute, False),
    Case("512 KiB of gzip chunks overwritten", small, overwrite),
)


def ours(path: pathlib.Path, change: Callable[[Any], None]) -> None:
    with hs.open(path, "r+") as f:
        change(f)


def theirs(path: pathlib.Path, change: Callable[[Any], None]) -> None:
    with h5py.File(path, "r+") as f:
        change(f)
        f.flush()
        handle = f.id.get_vfd_handle()
        os.fsync(handle)


def without_sync(path: pathlib.Path, change: Callable[[Any], None]) -> None:
    with h5py.File(path, "r+") as f:
        change(f)


def seconds(edit: Callable[[pathlib.Path, Callable[[Any], None]], None], path: pathlib.Path, case: Case, source: pathlib.Path) -> float:
    if case.is_copied:
        shutil.copy(source, path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    begin = time.perf_counter()
    edit(path, case.change)
    return time.perf_counter() - begin


def spread(times: list[float]) -> list[Any]:
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    return [round(1000 * middle, 1), f"{1000 * low:.1f} to {1000 * high:.1f}"]


def race(folder: pathlib.Path, case: Case, rounds: int) -> list[Any]:
    """A row of the table."""
    source = folder / "source.h5"
    source.unlink(missing_ok=True)
    case.make(source)
    contestants = (("ours", ours), ("h5py", theirs), ("h5py without", without_sync))
    paths = [folder / f"{name}.h5" for name, _ in contestants]
    if not case.is_copied:
        for path in paths:
            path.unlink(missing_ok=True)
            case.make(path)
    times: list[list[float]] = [[], [], []]
    for number in range(rounds + 1):
        for at, (_, edit) in enumerate(contestants):
            taken = seconds(edit, paths[at], case, source)
            if number:
                times[at].append(taken)
    found = [values(path) for path in paths]
    if found[0] != found[1]:
        raise SystemExit(f"{case.name}: the edited files differ")
    for path in (source, *paths):
        path.unlink(missing_ok=True)
    ratio = statistics.median(b / a for a, b in zip(times[0], times[1], strict=True))
    return [case.name, *spread(times[0]), *spread(times[1]), round(1000 * statistics.median(times[2]), 1), round(ratio, 2)]


def values(path: pathlib.Path) -> list[Any]:
    """What the edits have changed, read by h5py."""
    found: list[Any] = []
    with h5py.File(path) as f:
        if "g50" in f:
            return sorted(f["g50/o500"].attrs.items())
        for name in ("x", "rows", "packed"):
            if name in f:
                part = f[name][-1:] if f[name].size > MB else f[name][...]
                found.append((name, f[name].shape, part.tobytes()))
        found.append(sorted((name, np.asarray(value).tolist()) for name, value in f["x"].attrs.items()))
        if "made" in f:
            found.extend((name, node[...].tobytes()) for name, node in sorted(f["made"].items()))
    return found


def growth(folder: pathlib.Path, count: int) -> list[list[Any]]:
    """How large a file becomes that is overwritten with a commit each time."""
    chance = np.random.default_rng(0)
    rows: list[list[Any]] = []
    for name, at_once in (("one chunk for each commit", 1), ("all chunks for each commit", 0)):
        path = folder / "grown.h5"
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=np.round(chance.normal(size=(40, 512)), 2), chunks=(1, 512), compression="gzip")
        content = os.path.getsize(path)
        largest = 0
        begin = time.perf_counter()
        with hs.open(path, "r+") as f:
            rounds = count if at_once else count // 40
            for number in range(rounds):
                if at_once:
                    f["x"][number % 40] = np.round(chance.normal(size=512), 2)
                else:
                    f["x"][...] = np.round(chance.normal(size=(40, 512)), 2)
                f.commit()
                largest = max(largest, os.path.getsize(path))
        taken = time.perf_counter() - begin
        path.unlink()
        rows.append([name, rounds, round(largest / content, 2), round(1000 * taken / rounds, 2)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="on the disk that is measured")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--overwrites", type=int, default=10_000)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", type=pathlib.Path, help="where the tables go as data")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    about = f"{given.rounds} rounds, h5py {h5py.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(about, *HEAD, sep="; ")
    rows = []
    for case in CASES:
        if given.only in case.name:
            rows.append(race(given.folder, case, given.rounds))
            print(*rows[-1], sep="; ", flush=True)
    grown = growth(given.folder, given.overwrites) if given.overwrites else []
    for row in (GROWTH, *grown):
        print(*row, sep="; ")
    if given.json:
        given.json.write_text(json.dumps({"about": about, "tables": [["edits", HEAD, rows], ["growth", GROWTH, grown]]}, indent=1))


if __name__ == "__main__":
    main()
