"""The contestants that are read through Python: `python.py READER` answers requests line by line.

A request is `work <tab> path <tab> threads <tab> fresh|reused`; an answer `seconds <tab> check <tab> peak bytes`.
The check is a value of the result, so that a run can verify that all contestants read the same.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import small

Work = Callable[[str, int], float | small.Timed]
READERS: dict[str, dict[str, Work]] = {}
# The output buffer, reused from request to request.
kept: dict[str, np.ndarray[Any, Any]] = {}


def work(reader: str, name: str) -> Callable[[Work], Work]:
    def register(function: Work) -> Work:
        READERS.setdefault(reader, {})[name] = function
        return function

    return register


def output(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An array in the reused memory; in new memory for the first request and for requests with `fresh`."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if "output" not in kept or kept["output"].nbytes < size:
        kept["output"] = np.empty(size, "u1")
    return kept["output"][:size].view(dtype).reshape(shape)


def middle(values: np.ndarray[Any, Any]) -> float:
    value = values.reshape(-1)[values.size // 2]
    return float(value[0] if values.dtype.names else value)


def in_bands(d: Any, threads: int) -> float:
    """Reads a dataset with several Python threads, each band by band."""
    out, rows = output(d.shape, d.dtype), d.chunks[0]
    starts = range(0, len(d), 4 * rows)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda s: d.read_direct(out[s : s + 4 * rows], np.s_[s : s + 4 * rows]), starts))
    return middle(out)


STRIDED = (slice(0, None, 4), slice(0, None, 3))
SERIES = (slice(None), 100, 100)


def add_ours() -> None:
    import hyperslab as hs

    @work("ours", "dataset")
    def dataset(path: str, threads: int) -> float:
        d = hs.open(path, threads=threads)["x"]
        out = output(d.shape, d.dtype)
        d.read_direct(out)
        return middle(out)

    @work("ours", "strided")
    def strided(path: str, threads: int) -> float:
        return middle(hs.open(path, threads=threads)["x"][STRIDED])

    @work("ours", "series")
    def series(path: str, threads: int) -> float:
        return middle(hs.open(path, threads=threads)["t"][SERIES])

    @work("ours", "member")
    def member(path: str, threads: int) -> float:
        return float(hs.open(path, threads=threads).table("/x", columns=["e"]).to_arrow()["e"][1000].as_py())

    @work("ours", "column")
    def column(path: str, threads: int) -> float:
        rows = 0
        for batch in hs.open(path, threads=threads).table("/x", columns=["x"]).batches():
            rows += batch.num_rows
        return float(rows)

    @work("ours", "cells")
    def cells(path: str, threads: int) -> float:
        table = hs.open(path, threads=threads).table("/t", columns=["lat", "lon", "t"])
        return float(sum(batch.num_rows for batch in table.batches()))

    @work("ours", "python threads")
    def python_threads(path: str, threads: int) -> float:
        # Each Python thread decodes on its own, so that the interpreter is measured.
        d = hs.open(path, threads=1)["x"]
        return in_bands(d, threads)

    @work("ours", "files")
    def files(path: str, threads: int) -> float:
        return float(sum(len(batch) for batch in hs.open(f"{path}/*.h5", threads=threads).table("/x", columns=["x"]).batches()))

    @work("ours", "links")
    def links(path: str, threads: int) -> float:
        return float(len(list(hs.open(path, threads=threads)["g"])))

    @work("ours", "locate")
    def locate(path: str, threads: int) -> float:
        return float(hs.open(path, threads=threads)["x"].stored_bytes)

    @work("ours", "minmax")
    def minmax(path: str, threads: int) -> float:
        return float(hs.open(path, threads=threads).table("/x").minmax("x")[1])

    for selectivity, bound in (("1e-4", 300.6), ("1e-2", 299.5), ("0.5", 280.0)):

        @work("ours", f"where {selectivity}")
        def where(path: str, threads: int, bound: float = bound) -> float:
            table = hs.open(path, threads=threads).table("/x", columns=["x"], where=f"x > {bound}")
            return float(sum(len(batch) for batch in table.batches()))

    @work("ours", "group-by")
    def group_by(path: str, threads: int) -> float:
        import duckdb

        cells = hs.open(path, threads=threads).table("/t").dataset()  # noqa: F841 (DuckDB finds it by name)
        connection = duckdb.connect(config={"threads": threads})
        return float(connection.execute("select lat, avg(t) as mean from cells group by lat order by lat").fetchall()[100][1])


def add_h5py() -> None:
    import h5py
    import hdf5plugin  # noqa: F401 (registers its filters)

    @work("h5py", "dataset")
    def dataset(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            out = output(f["x"].shape, f["x"].dtype)
            f["x"].read_direct(out)
            return middle(out)

    @work("h5py", "strided")
    def strided(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            return middle(f["x"][STRIDED])

    @work("h5py", "series")
    def series(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            return middle(f["t"][SERIES])

    @work("h5py", "member")
    def member(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            return float(f["x"].fields("e")[:][1000])

    @work("h5py", "python threads")
    def python_threads(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            return in_bands(f["x"], threads)

    @work("h5py", "files")
    def files(path: str, threads: int) -> float:
        total = 0
        for name in sorted(os.listdir(path)):
            with h5py.File(f"{path}/{name}") as f:
                total += len(f["x"][:])
        return float(total)

    @work("h5py", "links")
    def links(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            return float(len(list(f["g"])))

    @work("h5py", "locate")
    def locate(path: str, threads: int) -> float:
        sizes: list[int] = []
        with h5py.File(path) as f:
            f["x"].id.chunk_iter(lambda chunk: sizes.append(chunk.size))
        return float(sum(sizes))

    @work("h5py", "minmax")
    def minmax(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            rows = f["x"].chunks[0]
            return float(max(f["x"][start : start + rows].max() for start in range(0, len(f["x"]), rows)))

    for selectivity, bound in (("1e-4", 300.6), ("1e-2", 299.5), ("0.5", 280.0)):

        @work("h5py", f"where {selectivity}")
        def where(path: str, threads: int, bound: float = bound) -> float:
            count = 0
            with h5py.File(path) as f:
                rows = f["x"].chunks[0]
                for start in range(0, len(f["x"]), rows):
                    values = f["x"][start : start + rows]
                    count += len(values[values > bound])
            return float(count)


#: Memory that the processes of `add_h5py_processes` share. It has no name: these programs are killed, and the name would remain.
shared: list[mmap.mmap] = []


def part_of(arguments: tuple[str, int, int]) -> None:
    """One of several processes that read parts of a dataset into shared memory."""
    import h5py

    path, start, end = arguments
    with h5py.File(path) as f:
        d = f["x"]
        out = np.ndarray(d.shape, d.dtype, shared[0])
        d.read_direct(out, np.s_[start:end], np.s_[start:end])


def add_h5py_processes() -> None:
    import h5py

    pools: dict[int, ProcessPoolExecutor] = {}

    @work("h5py-processes", "dataset")
    def dataset(path: str, threads: int) -> float:
        with h5py.File(path) as f:
            shape, dtype, chunk = f["x"].shape, f["x"].dtype, (f["x"].chunks or (1,))[0]
        size = int(np.prod(shape)) * dtype.itemsize
        if not shared or len(shared[0]) < size:
            # Processes that were started before do not have it.
            pools.clear()
            shared[:] = [mmap.mmap(-1, size)]
        pool = pools.setdefault(threads, ProcessPoolExecutor(threads, multiprocessing.get_context("fork")))
        cut = -(-shape[0] // threads // chunk) * chunk
        list(pool.map(part_of, [(path, n * cut, min((n + 1) * cut, shape[0])) for n in range(threads)]))
        return middle(np.ndarray(shape, dtype, shared[0]))


def add_netcdf4() -> None:
    import netCDF4

    @work("netCDF4", "dataset")
    def dataset(path: str, threads: int) -> float:
        with netCDF4.Dataset(path) as f:
            f.set_auto_maskandscale(False)
            return middle(f["x"][...])


def add_pyarrow() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for codec in ("none", "snappy", "zstd"):

        @work("pyarrow", f"parquet {codec}")
        def parquet(path: str, threads: int, codec: str = codec) -> float:
            pa.set_cpu_count(threads)
            return float(len(pq.read_table(f"{path}/{codec}.parquet", memory_map=False)))

    @work("pyarrow", "ipc")
    def ipc(path: str, threads: int) -> float:
        pa.set_cpu_count(threads)
        with pa.OSFile(f"{path}/x.arrow") as file:
            return float(len(pa.ipc.open_file(file).read_all()))


def add_xarray() -> None:
    import xarray
    import xarray_sql

    @work("xarray-sql", "group-by")
    def group_by(path: str, threads: int) -> float:
        context = xarray_sql.XarrayContext()
        with xarray.open_dataset(path, engine="h5netcdf", chunks={"time": 32}) as ds:
            context.from_dataset("cells", ds)
            return float(context.sql("select lat, avg(t) as mean from cells group by lat order by lat").to_pandas()["mean"][100])


ADD = {
    "ours": add_ours,
    "h5py": add_h5py,
    "h5py-processes": add_h5py_processes,
    "netCDF4": add_netcdf4,
    "pyarrow": add_pyarrow,
    "pyfive": lambda: None,
    "xarray-sql": add_xarray,
}
#: Who does the small operations, too.
SMALL = ("ours", "h5py", "netCDF4", "pyfive")


def peak_bytes() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def main() -> None:
    reader = sys.argv[1]
    ADD[reader]()
    if reader in SMALL:
        READERS.setdefault(reader, {}).update(small.works(reader))
    for line in sys.stdin:
        name, path, threads, reuse = line.rstrip("\n").split("\t")
        if reuse == "fresh":
            kept.clear()
        start = time.perf_counter()
        check = READERS[reader][name](path, int(threads))
        seconds = time.perf_counter() - start
        if isinstance(check, small.Timed):
            seconds, check = check
        print(seconds, check, peak_bytes(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
