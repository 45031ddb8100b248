"""Planning, splitting, locating and committing by real code on synthetic metadata without data: time and memory, and their slopes.

    scale.py [--most 1] [--json FILE]

Sizes grow by ten up to `--most` times the aims: 10^6 splits, 10^5 files, 10^5 fragments, 10^8 chunks located, 10^7 chunks read. A slope is the exponent by
which a cost grows from one size to the next: 1 is linear. The files are in the folder that `TMPDIR` names, and are removed."""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import h5py
import hyperslab as hs
import numpy as np

AIMS = {
    "splits": 1_000_000,
    "files": 100_000,
    "fragments": 100_000,
    "fragments of rows": 100_000,
    "fragments of columns": 100_000,
    "chunks located": 100_000_000,
    "chunks read": 10_000_000,
}
#: Entries of a page of HDF5's fixed array.
PAGE = 1024
SIZES = 4


def splits(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """One dataset that was never written, cut into `count` splits; a plan may make fewer, larger ones, so `count` is a maximum."""
    path = folder / "splits.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", (count << 21,), "f4")

    def work() -> object:
        made = hs.open(path).table("/x").splits(count)
        if not count // 2 <= len(made) <= count:
            raise SystemExit(f"{len(made)} splits, not {count}")
        return made

    return work


def files(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """A table over `count` files of one small dataset each."""
    template = folder / "template.h5"
    with h5py.File(template, "w", libver="latest") as f:
        f["x"] = np.zeros(4, "f4")
    content = template.read_bytes()
    many = folder / "files"
    shutil.rmtree(many, ignore_errors=True)
    many.mkdir()
    for number in range(count):
        (many / f"{number}.h5").write_bytes(content)

    def work() -> object:
        return hs.open(f"{many}/*.h5").table("/x").splits(64)

    return work


def fragments(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """The commit of `count` tasks, each with one group."""
    plan = hs.WritePlan(folder / f"fragments-{count}.h5", "w", writers=count, factor=32, durable=False)
    made = []
    for number in range(count):
        with plan.task(number, threads=1) as task:
            task.create_group("group")
            made.append(task.finish())
    return lambda: plan.commit(made)


def fragments_of_rows(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """The commit of `count` tasks, each with a part of the rows of a dataset in shared subfiles."""
    plan = hs.WritePlan(folder / f"rows-{count}.h5", "w", writers=count, factor=32, durable=False)
    plan.create_dataset("x", (count, 4), "f4")
    made = []
    for number in range(count):
        with plan.task(number, threads=1) as task:
            task.write("x", float(number))
            made.append(task.finish())
    return lambda: plan.commit(made)


def fragments_of_columns(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """The same, but each task has some columns of all rows."""
    regions = [np.s_[:, number * 2 : number * 2 + 2] for number in range(count)]
    plan = hs.WritePlan(folder / f"columns-{count}.h5", "w", writers=count, factor=32, durable=False)
    plan.create_dataset("x", (2, 2 * count), "f4", regions=regions)
    made = []
    for number in range(count):
        with plan.task(number, threads=1) as task:
            task.write("x", float(number))
            made.append(task.finish())
    return lambda: plan.commit(made)


def lookup3(data: bytes) -> int:
    """HDF5's checksum of metadata: Bob Jenkins' hashlittle, initial value 0."""
    mask = 0xFFFFFFFF

    def rotated(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    while len(data) > 12:
        a, b, c = ((x + int.from_bytes(data[at : at + 4], "little")) & mask for x, at in ((a, 0), (b, 4), (c, 8)))
        for k in (4, 6, 8, 16, 19, 4):
            a = (a - c) & mask ^ rotated(c, k)
            c = (c + b) & mask
            a, b, c = b, c, a
        data = data[12:]
    if not data:
        return c
    data = data.ljust(12, b"\0")
    a, b, c = ((x + int.from_bytes(data[at : at + 4], "little")) & mask for x, at in ((a, 0), (b, 4), (c, 8)))
    for x, y, k in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4), ("b", "a", 14), ("c", "b", 24)):
        values = {"a": a, "b": b, "c": c}
        values[x] = ((values[x] ^ values[y]) - rotated(values[y], k)) & mask
        a, b, c = values["a"], values["b"], values["c"]
    return c


def one_chunk_many_times(count: int, path: pathlib.Path) -> int:
    """A dataset of `count` chunks of one byte, rounded to whole pages of its fixed array, whose entries all point at one stored chunk. So
    its index is as large as that of a file with that many chunks, and takes seconds to write. Returns the number of chunks."""
    count = max(count // PAGE, 2) * PAGE
    with h5py.File(path, "w", libver="latest") as f:
        x = f.create_dataset("x", (count,), "u1", chunks=(1,))
        x[0] = 7
        chunk = x.id.get_chunk_info(0).byte_offset
    with open(path, "rb") as start:
        data = start.read(1 << 20)
    header = data.index(b"FAHD")
    block = int.from_bytes(data[header + 16 : header + 24], "little")
    pages = count // PAGE
    bitmap = bytearray(pages // 8) + (bytes([0xFF << (8 - pages % 8) & 0xFF]) if pages % 8 else b"")
    bitmap[: pages // 8] = b"\xff" * (pages // 8)
    with open(path, "r+b") as out:
        out.seek(block)
        head = out.read(14)
        if head[:4] != b"FADB":
            raise SystemExit("the data block of a fixed array is not where its header says")
        head += bytes(bitmap)
        page = chunk.to_bytes(8, "little") * PAGE
        page += lookup3(page).to_bytes(4, "little")
        out.seek(block)
        out.write(head + lookup3(head).to_bytes(4, "little"))
        for first in range(0, pages, PAGE):
            out.write(page * min(PAGE, pages - first))
    return count


def chunks_located(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """All chunks of a dataset are located, and the bytes that they take are added."""
    path = folder / "chunks.h5"
    count = one_chunk_many_times(count, path)

    def work() -> object:
        found = hs.open(path)["x"].stored_bytes
        if found != count:
            raise SystemExit(f"{found} bytes in {count} chunks")
        return found

    return work


def chunks_read(count: int, folder: pathlib.Path) -> Callable[[], object]:
    """All chunks of a dataset are located and read; each has one byte."""
    path = folder / "chunks.h5"
    one_chunk_many_times(count, path)

    def work() -> object:
        found = hs.open(path)["x"][...]
        if not (found == 7).all():
            raise SystemExit("wrong values")
        return found

    return work


WAYS = {
    "splits": splits,
    "files": files,
    "fragments": fragments,
    "fragments of rows": fragments_of_rows,
    "fragments of columns": fragments_of_columns,
    "chunks located": chunks_located,
    "chunks read": chunks_read,
}


def one(way: str, count: int) -> None:
    """In a process of its own: prints the seconds of the work and the memory that it added."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hyperslab-scale-"))
    try:
        work = WAYS[way](count, folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        kept = work()
        seconds = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        del kept
        print(json.dumps({"way": way, "count": count, "seconds": seconds, "bytes": 1024 * (after - before)}))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--most", type=float, default=1.0)
    arguments.add_argument("--only", nargs="*", choices=list(WAYS), default=list(WAYS))
    arguments.add_argument("--one", nargs=2)
    arguments.add_argument("--json", type=pathlib.Path)
    given = arguments.parse_args()
    if given.one:
        one(given.one[0], int(given.one[1]))
        return
    rows = []
    print("| what | count | seconds | µs each | slope of time | MiB | bytes each | slope of memory |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for way in given.only:
        before: dict[str, float] | None = None
        for count in sorted({max(1, int(AIMS[way] * given.most) // 10**power) for power in range(SIZES)}):
            done = subprocess.run([sys.executable, __file__, "--one", way, str(count)], capture_output=True, text=True, env=os.environ)
            if done.returncode:
                raise SystemExit(done.stderr)
            row = json.loads(done.stdout)
            slopes = ["", ""]
            if before is not None:
                grown = math.log(row["count"] / before["count"])
                slopes = [
                    f"{math.log(row[key] / before[key]) / grown:.2f}" if min(before[key], row[key]) > floor else ""
                    for key, floor in (("seconds", 1e-3), ("bytes", 1 << 20))
                ]
            each = row["seconds"] / count
            print(
                f"| {way} | {count} | {row['seconds']:.4f} | {each * 1e6:.2f} | {slopes[0]} | {row['bytes'] / 2**20:.1f} | {row['bytes'] / count:.0f} | {slopes[1]} |",
                flush=True,
            )
            rows.append(row)
            before = row
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
