"""Writes the golden files of the versions that this code writes, if they are missing. See README.md."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil

import h5py
import hyperslab as hs
import numpy as np

HERE = pathlib.Path(__file__).parent
# Splits and plans name files by absolute paths, and indexes know a file by its length and modification time.
PLACE = pathlib.Path("/tmp/hyperslab-golden")
MODIFIED_NS = 1_700_000_000_123_456_789
ROWS = 3000


def values() -> dict[str, np.ndarray]:
    rows = np.arange(ROWS)
    return {"x": (rows * 7919 % 1009).astype("i4"), "y": np.sqrt(rows), "name": np.array([f"row {n % 17}" for n in rows], "S8")}


def source(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "data.h5"
    with h5py.File(path, "w") as f:
        for name, data in values().items():
            f.create_dataset(name, data=data, chunks=(500,), compression="gzip")
    dated(path)
    return path


def dated(path: pathlib.Path) -> None:
    os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))


def version(data: bytes) -> int:
    """The version that a JSON text begins with, whatever follows it."""
    found = re.search(rb'"version":\s*(\d+)', data)
    assert found is not None, data[:80]
    return int(found[1])


def split(folder: pathlib.Path) -> int:
    table = hs.open(source(folder)).table(columns=["x", "y"], where="x < 500")
    parts = table.splits(3)
    (folder / "splits.json").write_text(json.dumps([bytes(part).decode() for part in parts], indent=1))
    (folder / "data.h5").rename(folder / "source.h5")
    return version(bytes(parts[0]))


def plan(folder: pathlib.Path) -> str:
    path = PLACE / "out.h5"
    made = hs.WritePlan(path, writers=2)
    made.create_dataset("whole", (4, 6), "f8")
    fragments = []
    for number in range(2):
        with made.task(number) as task:
            task.dataset("whole")[2 * number : 2 * number + 2, :] = number + 1
            task.create_dataset("rows", data=np.arange(10, dtype="i8") + 10 * number, rows=True)
            fragments.append(bytes(task.finish()))
    (folder / "plan").write_bytes(bytes(made))
    for number, fragment in enumerate(fragments):
        (folder / f"fragment-{number}").write_bytes(fragment)
    return f"{version(bytes(made))}.{version(fragments[0])}"


def index(folder: pathlib.Path) -> int:
    hs.indexes.index(source(folder), ["/x", "/y"])
    (folder / "data.h5").rename(folder / "source.h5")
    (manifest,) = folder.glob("data.h5.hsidx/**/manifest.json")
    return version(manifest.read_bytes())


def index_task(folder: pathlib.Path) -> int:
    task = hs.indexes.plan(source(folder), ["/x"]).tasks(1)[0]
    fragment = hs.indexes.build(task)
    (folder / "task").write_bytes(task)
    (folder / "fragment").write_bytes(fragment)
    (folder / "data.h5").rename(folder / "source.h5")
    return version(task)


def container(folder: pathlib.Path) -> int:
    path = folder / "run.h5"
    for number in range(3):
        made = hs.WritePlan(path, "a" if number else "x")
        with made.task(0) as task:
            task.create_dataset("x", data=np.full((5, 4), number, "f8"), rows=True)
            if number == 0:
                task.create_dataset("fixed", data=np.arange(12).reshape(3, 4))
                task.attrs["title"] = "golden"
            made.commit([task.finish()])
    record = next(pathlib.Path(f"{path}.d").glob("*/commit.json"))
    return version(record.read_bytes())


def main() -> None:
    for make in (split, plan, index, index_task, container):
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir()
        kind = HERE / make.__name__.replace("_", "-")
        number = make(PLACE)
        target = kind / f"v{number}"
        if target.exists():
            print(target.relative_to(HERE), "is there already")
            continue
        shutil.copytree(PLACE, target)
        print(target.relative_to(HERE), "written")
    shutil.rmtree(PLACE)


if __name__ == "__main__":
    main()
