"""Libraries: how each writes and reads the dataset of a case. Values that are read are compared with those that were written."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import hyperslab as hs

from ...base.errors import InvalidInputError
from ...base.type_aliases import Float32Array
from ..points import Storage
from .cases import COLUMNS, ROW_BYTES, Case

#: Called with the first and last row of a transfer; reads or writes it.
Transfer = Callable[[int, int], object]


def missing() -> dict[str, str | None]:
    """For each library why it cannot be measured here, or `None`."""
    found: dict[str, str | None] = {"POSIX": None, "Hyperslab": None, "HDF5 (h5py)": None, "netCDF-4": None, "parallel HDF5": None}
    try:
        import h5py

        if not h5py.get_config().mpi:
            found["parallel HDF5"] = "h5py was built without MPI"
    except ImportError:
        found["HDF5 (h5py)"] = found["parallel HDF5"] = "h5py is not installed"
    try:
        import netCDF4  # noqa: F401
    except ImportError:
        found["netCDF-4"] = "netCDF4 is not installed"
    if found["parallel HDF5"] is None:
        try:
            import mpi4py  # noqa: F401
        except ImportError:
            found["parallel HDF5"] = "mpi4py is not installed"
    return found


def values(size: int) -> Float32Array:
    """Values of a dataset of about `size` bytes."""
    return np.random.default_rng(1).random((max(size // ROW_BYTES, 1), COLUMNS), dtype="f4")


def in_turns(case: Case, clients: int, rows: int, transfer: Transfer) -> None:
    """Transfers by one thread, a client after the other: for libraries that do one thing at a time."""
    pieces = [case.pieces(client, clients, rows) for client in range(clients)]
    for step in range(max(map(len, pieces))):
        for mine in pieces:
            if step < len(mine):
                transfer(*mine[step])


def side_by_side(case: Case, clients: int, rows: int, transfer: Transfer) -> None:
    """Transfers by a thread for each client."""

    def work(client: int) -> None:
        for first, end in case.pieces(client, clients, rows):
            transfer(first, end)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _posix(path: str, case: Case, clients: int, data: Float32Array, out: Float32Array) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        raw = data.data.cast("B")
        side_by_side(case, clients, len(data), lambda first, end: _all(os.pwrite, descriptor, raw[first * ROW_BYTES : end * ROW_BYTES], first * ROW_BYTES))
        os.fsync(descriptor)
        yield
        into = out.data.cast("B")
        side_by_side(case, clients, len(data), lambda first, end: _all(_read, descriptor, into[first * ROW_BYTES : end * ROW_BYTES], first * ROW_BYTES))
    finally:
        os.close(descriptor)


def _read(descriptor: int, into: memoryview, offset: int) -> int:
    return os.preadv(descriptor, [into], offset)


def _all(call: Callable[[int, memoryview, int], int], descriptor: int, piece: memoryview, offset: int) -> None:
    while len(piece):
        done = call(descriptor, piece, offset)
        if not done:
            raise OSError("the file ends before its values")
        piece, offset = piece[done:], offset + done


def _h5py(path: str, case: Case, clients: int, data: Float32Array, out: Float32Array) -> Iterator[None]:
    import h5py

    aligned = {"alignment_threshold": case.threshold_bytes, "alignment_interval": case.alignment_bytes} if case.alignment_bytes else {}
    with h5py.File(path, "w", **aligned) as f:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunks := case.chunks(len(data)):
            made.set_chunk(chunks)
        made.set_fill_time(h5py.h5d.FILL_TIME_ALLOC if case.fill else h5py.h5d.FILL_TIME_NEVER)
        made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        x = h5py.Dataset(h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(data.shape), made))
        in_turns(case, clients, len(data), lambda first, end: x.write_direct(data, np.s_[first:end], np.s_[first:end]))
    _sync(path)
    yield
    with h5py.File(path, rdcc_nbytes=max(case.chunk_bytes, 1 << 20)) as f:
        x = f["x"]
        in_turns(case, clients, len(data), lambda first, end: x.read_direct(out, np.s_[first:end], np.s_[first:end]))


def _netcdf(path: str, case: Case, clients: int, data: Float32Array, out: Float32Array) -> Iterator[None]:
    import netCDF4

    if hasattr(netCDF4, "set_alignment"):
        netCDF4.set_alignment(case.threshold_bytes, max(case.alignment_bytes, 1))
    elif case.alignment_bytes:
        raise InvalidInputError("this netCDF4 has no set_alignment")
    with netCDF4.Dataset(path, "w") as f:
        (f.set_fill_on if case.fill else f.set_fill_off)()
        f.createDimension("row", len(data))
        f.createDimension("column", COLUMNS)
        chunks = case.chunks(len(data))
        x = f.createVariable("x", "f4", ("row", "column"), chunksizes=chunks, contiguous=chunks is None, fill_value=None if case.fill else False)
        x.set_auto_maskandscale(False)

        def write(first: int, end: int) -> None:
            x[first:end] = data[first:end]

        in_turns(case, clients, len(data), write)
    _sync(path)
    yield
    with netCDF4.Dataset(path) as f:
        x = f["x"]
        x.set_auto_maskandscale(False)

        def read(first: int, end: int) -> None:
            out[first:end] = x[first:end]

        in_turns(case, clients, len(data), read)


def _hyperslab(path: str, case: Case, clients: int, data: Float32Array, out: Float32Array) -> Iterator[None]:
    chunks = case.chunks(len(data))
    stored: Storage = {"chunks": chunks} if chunks else {}
    # Without an alignment, the library chooses the alignment of the file system; the smallest alignment means unaligned.
    alignment = case.alignment_bytes or 512
    if case.factor:
        plan = hs.WritePlan(path, "w", writers=clients, factor=min(case.factor, clients), alignment=case.alignment_bytes or None)
        plan.create_dataset("x", data.shape, "f4", **stored)

        def task(number: int) -> bytes:
            with plan.task(number, threads=1) as writer:
                mine = writer.region("x")[0]
                x = writer.dataset("x")
                each = max(case.transfer_bytes // ROW_BYTES, 1)
                for first in range(mine.start, mine.stop, each):
                    end = min(first + each, mine.stop)
                    x[first:end] = data[first:end]
                return writer.finish()

        with ThreadPoolExecutor(clients) as pool:
            plan.commit(list(pool.map(task, range(clients))))
    else:
        with hs.create(path, alignment=alignment, threads=clients) as new:
            x = new.create_dataset("x", data.shape, "f4", **stored)

            def write(first: int, end: int) -> None:
                x[first:end] = data[first:end]

            side_by_side(case, clients, len(data), write)
    yield
    with hs.open(path, threads=clients, chunk_cache_bytes=0) as f:
        found: Any = f["x"]
        side_by_side(case, clients, len(data), lambda first, end: found.read_direct(out, np.s_[first:end], np.s_[first:end]))


_WAYS: dict[str, Callable[[str, Case, int, Float32Array, Float32Array], Iterator[None]]] = {
    "POSIX": _posix,
    "HDF5 (h5py)": _h5py,
    "netCDF-4": _netcdf,
    "Hyperslab": _hyperslab,
}


def measure(path: str, case: Case, clients: int, data: Float32Array) -> tuple[float, float]:
    """Seconds of writing a file until it is on the disk, and of reading it after its bytes were dropped from the page cache."""
    if case.stripes[0]:
        _stripe(os.path.dirname(path), *case.stripes)
    out = np.empty_like(data)
    start = time.perf_counter()
    steps = _WAYS[case.library](path, case, clients, data, out)
    next(steps)
    written = time.perf_counter() - start
    forget(path)
    start = time.perf_counter()
    for _ in steps:
        raise AssertionError("a library has two steps")
    seconds = time.perf_counter() - start
    if not np.array_equal(out, data):
        raise InvalidInputError(f"{case.library} read other values than it wrote", path)
    return written, seconds


def forget(path: str) -> None:
    """Drops the bytes of a file and its subfiles from the page cache."""
    found = [path] + [os.path.join(folder, name) for folder, _, names in os.walk(f"{path}.d") for name in names]
    for name in found:
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _stripe(folder: str, count: int, size: int) -> None:
    done = subprocess.run(["lfs", "setstripe", "-c", str(count), "-S", str(size), folder], capture_output=True, text=True, check=False)
    if done.returncode:
        raise InvalidInputError(f"lfs setstripe failed: {' '.join(done.stderr.split())}", folder)
