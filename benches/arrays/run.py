"""`make bench-arrays`: one compressed field as HDF5, and as Zarr, Icechunk and TileDB store it, in a local folder.

All have the same values in the same chunks (one map of 256 × 512 floats each), compressed by zstd at level 3 without a shuffle.
Each round runs all contestants of a row in turn, with two threads each, from a warm page cache; the first round is not counted. An answer is
compared with the values before it counts. The table has the medians, with the middle half of the rounds, in milliseconds.

    python benches/arrays/run.py [--mebibytes 256] [--rounds 9] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import h5py
import hdf5plugin
import hyperslab as hs
import icechunk
import numpy as np
import tiledb
import zarr

ROWS, COLUMNS = 256, 512
LEVEL = 3
THREADS = 2
#: Opens the array `t2m` at a path, again in each round.
Opener = Callable[[pathlib.Path], Any]


def field(mebibytes: int) -> np.ndarray:
    """Smooth maps with noise, rounded to hundredths: time × y × x."""
    times = max(mebibytes * (1 << 20) // (4 * ROWS * COLUMNS), 1)
    y, x = np.linspace(0, 6, ROWS)[:, None], np.linspace(0, 12, COLUMNS)
    values = np.random.default_rng(0).random((times, ROWS, COLUMNS), dtype="f4")
    for number, one in enumerate(values):
        one += (np.sin(y) * np.cos(x) * 20 + 280 + number / 10).astype("f4")
    return values.round(2)


def make_hdf5(path: pathlib.Path, values: np.ndarray) -> None:
    with h5py.File(path, "w") as f:
        f.create_dataset("t2m", data=values, chunks=(1, ROWS, COLUMNS), **hdf5plugin.Zstd(clevel=LEVEL))


def make_array_of_zarr(store: Any, values: np.ndarray) -> None:
    codec = zarr.codecs.ZstdCodec(level=LEVEL)
    made = zarr.create_array(store, name="t2m", shape=values.shape, dtype=values.dtype, chunks=(1, ROWS, COLUMNS), compressors=[codec])
    made[:] = values


def make_zarr(path: pathlib.Path, values: np.ndarray) -> None:
    make_array_of_zarr(zarr.storage.LocalStore(path), values)


def repository(path: pathlib.Path) -> icechunk.Repository:
    return icechunk.Repository.open_or_create(icechunk.local_filesystem_storage(str(path)))


def make_icechunk(path: pathlib.Path, values: np.ndarray) -> None:
    session = repository(path).writable_session("main")
    make_array_of_zarr(session.store, values)
    session.commit("a field")


def context() -> tiledb.Ctx:
    return tiledb.Ctx({"sm.compute_concurrency_level": THREADS, "sm.io_concurrency_level": THREADS})


def make_tiledb(path: pathlib.Path, values: np.ndarray) -> None:
    tiles = (1, ROWS, COLUMNS)
    dimensions = [tiledb.Dim(name, domain=(0, n - 1), tile=t, dtype=np.int64) for name, n, t in zip("tyx", values.shape, tiles, strict=True)]
    stored = tiledb.Attr("t2m", dtype=values.dtype, filters=tiledb.FilterList([tiledb.ZstdFilter(level=LEVEL)]))
    tiledb.Array.create(str(path), tiledb.ArraySchema(tiledb.Domain(*dimensions), [stored], sparse=False))
    with tiledb.open(str(path), "w", ctx=context()) as array:
        array[:] = {"t2m": values}


CONTEXT = context()
CONTESTANTS: dict[str, tuple[Callable[[pathlib.Path, np.ndarray], None], Opener]] = {
    "HDF5, Hyperslab": (make_hdf5, lambda path: hs.open(path, threads=THREADS)["t2m"]),
    "HDF5, h5py": (make_hdf5, lambda path: h5py.File(path, "r")["t2m"]),
    "Zarr": (make_zarr, lambda path: zarr.open_array(zarr.storage.LocalStore(path, read_only=True), path="t2m", mode="r")),
    "Icechunk": (make_icechunk, lambda path: zarr.open_array(repository(path).readonly_session("main").store, path="t2m", mode="r")),
    "TileDB": (make_tiledb, lambda path: tiledb.open(str(path), attr="t2m", ctx=CONTEXT)),
}
#: What is read, as an index.
ROWS_OF_TABLE: dict[str, Any] = {
    "open, read one map": (3,),
    "open, read everything": (slice(None),),
    "open, read a point's series": (slice(None), 100, 200),
    "open, read a box of 16 × 16 in 100 maps": (slice(0, 100), slice(40, 56), slice(80, 96)),
}


def milliseconds(call: Callable[[], Any]) -> tuple[float, np.ndarray]:
    begin = time.perf_counter()
    answer = call()
    return (time.perf_counter() - begin) * 1e3, answer


def middle(times: list[float]) -> str:
    low, half, high = statistics.quantiles(times, n=4)
    return f"{half:,.1f} ({low:,.1f} to {high:,.1f})"


def bytes_of(path: pathlib.Path) -> int:
    return path.stat().st_size if path.is_file() else sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    zarr.config.set({"threading.max_workers": THREADS})
    values = field(options.mebibytes)
    paths = {name: options.folder / name for name in CONTESTANTS}
    for name, (make, _) in CONTESTANTS.items():
        make(paths[name], values)
    print(f"{values.nbytes >> 20} MiB in {len(values)} chunks; load {os.getloadavg()[0]:.1f}; medians of {options.rounds} rounds, ms")
    print(f"versions: h5py {h5py.__version__}, zarr {zarr.__version__}, icechunk {icechunk.__version__}, tiledb {tiledb.__version__}\n")
    print("| | " + " | ".join(CONTESTANTS) + " |\n|---|" + "--:|" * len(CONTESTANTS))
    print("| stored, MiB | " + " | ".join(f"{bytes_of(path) / (1 << 20):,.1f}" for path in paths.values()) + " |")
    for row, index in ROWS_OF_TABLE.items():
        expected = values[index]
        times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        for number in range(options.rounds + 1):
            for name, (_, opened) in CONTESTANTS.items():
                took, answer = milliseconds(lambda opened=opened, path=paths[name], index=index: np.asarray(opened(path)[index]))
                np.testing.assert_array_equal(answer, expected, err_msg=f"{name}: {row}")
                if number:
                    times[name].append(took)
        print(f"| {row} | " + " | ".join(middle(one) for one in times.values()) + " |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f}")
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
