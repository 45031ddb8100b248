"""Checks: work like a user's, timed in a process whose profile is the one that is examined.

No call here gives a setting of its own, so what is in force is the profile. Reads are of files that other settings wrote; writes
are of new files, and what was written is read as well, because a chunk size is paid by its readers."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..base.type_aliases import AnyArray
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..writing.new_file import create
from ..writing.parallel import WritePlan
from .machine import forget
from .points import Storage

#: Space that the checks need, with what they write: this many times the size of a point's file.
SIZES = 12
_SMALL_FILES = 200
#: Called with the folder of the files, and the values that they have.
Work = Callable[[str, AnyArray], object]


def make(folder: str, data: AnyArray) -> None:
    """Writes the files that the checks read, with the defaults: about ten times the bytes of `data`."""
    repeated = np.concatenate([data] * 4)
    rows = max((1 << 20) // data.strides[0], 1)
    with create(os.path.join(folder, "chunked.h5"), threads=1) as f:
        f.create_dataset("x", data=repeated, chunks=(rows, data.shape[1] // 4))
    with create(os.path.join(folder, "packed.h5")) as f:
        f.create_dataset("x", data=repeated, chunks=(rows, data.shape[1]), compression="gzip", shuffle=True)
    fields = data[: len(data) // 16 * 16].reshape(-1, 16, data.shape[1])
    with create(os.path.join(folder, "fields.h5")) as f:
        f.create_dataset("x", data=fields, chunks=(min(8, len(fields)), 16, 128))
    records = np.zeros(data.size // 4, [("a", "<f8"), ("b", "<f4"), ("c", "<i4")])
    records["b"] = data.reshape(-1)[: len(records)]
    with create(os.path.join(folder, "records.h5")) as f:
        f.create_dataset("x", data=records, chunks=(1 << 15,))
    os.mkdir(os.path.join(folder, "small"))
    for number in range(_SMALL_FILES):
        with create(os.path.join(folder, "small", f"{number:03}.h5"), durable=False) as f:
            f.create_dataset("x", data=data[:2, :256])


def _dataset(path: str, name: str) -> Dataset:
    found = open_file(os.path.join(path, name))["x"]
    if not isinstance(found, Dataset):
        raise TypeError("the dataset that was written is not there")
    return found


def _read(name: str, *key: int | slice) -> Work:
    return lambda folder, _: _dataset(folder, name)[key or ...]


def _from_device(folder: str, _: AnyArray) -> object:
    return _dataset(folder, "chunked.h5")[...]


def _member(folder: str, _: AnyArray) -> object:
    return open_file(os.path.join(folder, "records.h5")).table("/x", columns=["b"]).to_arrow()


def _found(folder: str, _: AnyArray) -> object:
    return open_file(os.path.join(folder, "packed.h5")).table("/x", where="x > 1e30").count()


def _small(folder: str, _: AnyArray) -> object:
    return sum(len(batch) for batch in open_file(os.path.join(folder, "small", "*.h5")).table("/x").batches())


def _write(options: Storage) -> Work:
    def write(folder: str, data: AnyArray) -> None:
        with create(os.path.join(folder, "written.h5"), durable=False) as f:
            f.create_dataset("x", data=data, **options)

    return write


def _write_and_read(folder: str, data: AnyArray) -> None:
    _write({"compression": "zstd", "shuffle": True})(folder, data)
    found = _dataset(folder, "written.h5")
    for row in range(0, len(data), max(len(data) // 16, 1)):
        found[row]


def _write_together(folder: str, data: AnyArray) -> None:
    writers = 4
    rows = len(data) // writers
    plan = WritePlan(os.path.join(folder, "written.h5"), "w", writers=writers, durable=False)
    plan.create_dataset("x", (rows * writers, data.shape[1]), "f4")

    def work(number: int) -> bytes:
        with plan.task(number, threads=1) as task:
            task.write("x", data[task.region("x")])
            return task.finish()

    with ThreadPoolExecutor(writers) as pool:
        plan.commit(list(pool.map(work, range(writers))))


#: The work, by what it is called in reports.
WORK: dict[str, Work] = {
    "whole": _read("chunked.h5"),
    "whole from the device": _from_device,
    "whole, gzip": _read("packed.h5"),
    "strided": _read("chunked.h5", slice(None, None, 4), slice(None, None, 3)),
    "strided, gzip": _read("packed.h5", slice(None, None, 4), slice(None, None, 3)),
    "series through fields": _read("fields.h5", slice(None), 7, 100),
    "member of a table": _member,
    "condition": _found,
    "small files": _small,
    "write": _write({}),
    "write and read rows, zstd": _write_and_read,
    "write by four tasks": _write_together,
}


def seconds(name: str, folder: str, data: AnyArray) -> float:
    """Seconds of a piece of work, which is done until it took long enough for the clock."""
    if name == "whole from the device":
        forget(os.path.join(folder, "chunked.h5"), durable=True)
    work, repeats = WORK[name], 1
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            work(folder, data)
        spent = time.perf_counter() - start
        if spent > _MIN_SECONDS or name == "whole from the device":
            break
        repeats = max(2 * repeats, int(repeats * _MIN_SECONDS / max(spent, 1e-6)))
    written = os.path.join(folder, "written.h5")
    if os.path.exists(written):
        os.remove(written)
        shutil.rmtree(f"{written}.d", ignore_errors=True)
    return spent / repeats


#: Work that takes less time is repeated, because a single run would be too short to compare.
_MIN_SECONDS = 0.02


def ratio(chosen: Sequence[float], default: Sequence[float]) -> float:
    """Median of the ratios within a round: what disturbs the machine disturbs both of a round."""
    return float(np.median([a / b for a, b in zip(chosen, default, strict=True)]))
