"""Checks the wheel in a free-threaded interpreter: `python check_free_threaded.py FOLDER DATA` reads the files of DATA and writes into FOLDER.

`python check_free_threaded.py expected FOLDER DATA` comes before, in an environment with h5py: it keeps what h5py reads.

Threads begin together at a barrier, so that they are in the same call at once.
"""

from __future__ import annotations

import concurrent.futures
import gc
import pathlib
import random
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

THREADS = 8
FILES = ["atlantic_profiles.nc", "rotated_pole.nc", "space_weather.nc", "SOI_Darwin.nc", "mesh_C4_synthetic_float.nc", "10x_pbmc68k_reduced.h5ad"]
#: Rows of a dataset whose filter Hyperslab does not know.
ROWS = np.arange(64 * 1000, dtype="i4").reshape(64, 1000)
OWN_FILTER = 60_001


def write_expected(folder: pathlib.Path, data: pathlib.Path) -> None:
    """The plain datasets of FILES, as h5py and, for netCDF classic, netCDF4 read them."""
    import h5py
    import netCDF4

    found: dict[str, Any] = {}
    for name in FILES:
        if not h5py.is_hdf5(data / name):
            with netCDF4.Dataset(data / name) as classic:
                classic.set_auto_maskandscale(False)
                found.update({f"{name}:/{path}": item[...] for path, item in classic.variables.items() if item.dtype.kind in "iufb"})
            continue
        with h5py.File(data / name) as f:

            def keep(path: str, item: Any, name: str = name) -> None:
                if isinstance(item, h5py.Dataset) and item.shape is not None and item.dtype.kind in "iufb":
                    found[f"{name}:/{path}"] = item[()]

            f.visititems(keep)
    with h5py.File(folder / "filtered.h5", "w") as f:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((1, ROWS.shape[1]))
        creation.set_filter(OWN_FILTER, h5py.h5z.FLAG_OPTIONAL, ())
        d = h5py.h5d.create(f.id, b"x", h5py.h5t.STD_I32LE, h5py.h5s.create_simple(ROWS.shape), creation)
        for number, row in enumerate(ROWS):
            d.write_direct_chunk((number, 0), zlib.compress(row.tobytes()))
    np.savez(folder / "expected.npz", **found)
    print(f"{len(found)} datasets by h5py and netCDF4")


def at_once(work: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """Runs `work` on threads that begin together."""
    barrier = threading.Barrier(threads)

    def one(number: int) -> Any:
        barrier.wait()
        return work(number)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(one, number) for number in range(threads)]]


def key(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Elements and slices in turns."""
    made: list[Any] = []
    for extent in shape:
        start = rng.randrange(extent)
        made.append(start if rng.random() < 0.5 else slice(start, rng.randrange(start, extent) + 1, rng.choice([None, 2])))
    return tuple(made)


def check_reads(hs: Any, data: pathlib.Path, expected: dict[str, Any]) -> None:
    """Different and the same datasets of one open file, small and whole, and files that each thread opens itself."""
    for name in FILES:
        own = {path.partition(":")[2]: value for path, value in expected.items() if path.startswith(f"{name}:")}
        for _ in range(5):
            shared = hs.open(data / name)

            def work(number: int, name: str = name, own: dict[str, Any] = own, shared: Any = shared) -> None:
                rng = random.Random(number % 4)
                f = shared if number % 2 else hs.open(data / name)
                paths = list(own)
                rng.shuffle(paths)
                for path in paths:
                    np.testing.assert_array_equal(f[path][...], own[path], err_msg=path)
                    for _ in range(40):
                        at = key(rng, own[path].shape) if own[path].ndim and own[path].size else ()
                        np.testing.assert_array_equal(f[path][at], own[path][at], err_msg=f"{path} {at}")
                str(f), dict(f.attrs), [dict(f[path].attrs) for path in paths]

            at_once(work)


def check_tables(hs: Any, data: pathlib.Path) -> None:
    """One table and one query, asked by all threads; batches of a scan that all threads take from."""
    path = data / "atlantic_profiles.nc"
    for _ in range(10):
        f = hs.open(path)
        table = f.table("/theta", where="depth <= 100 and theta > 298")
        assert at_once(lambda number, table=table: (table.count(), table.to_arrow().num_rows)) == [(278, 278)] * THREADS
        reader = f.table("/theta").batches()
        assert sum(at_once(lambda number, reader=reader: sum(batch.num_rows for batch in reader))) == 1920
        splits = f.table("/theta").splits(THREADS)
        assert sum(at_once(lambda number, splits=splits: splits[number].read().num_rows if number < len(splits) else 0)) == 1920


def check_writes(hs: Any, folder: pathlib.Path) -> None:
    """Each thread writes a file and asks it; then all write datasets of one file, and of one editor."""

    def work(number: int) -> int:
        path = folder / f"own {number}.h5"
        values = np.random.default_rng(number).integers(0, 1000, (200, 300), dtype="i4")
        with hs.create(path) as f:
            f.create_dataset("x", data=values, chunks=(20, 30), compression="gzip", shuffle=True)
            f.attrs["number"] = number
        np.testing.assert_array_equal(hs.open(path)["x"][...], values)
        assert hs.open(path).attrs["number"] == number
        assert hs.query(path, "/", "x > 990").count() == int((values > 990).sum())
        return int(hs.open(path).table("/x", where="x < 10").count() - (values < 10).sum())

    for _ in range(5):
        assert at_once(work) == [0] * THREADS

    path = folder / "together.h5"
    with hs.create(path) as f:

        def define(number: int) -> None:
            for index in range(20):
                f.create_dataset(f"group {number}/{index}", data=np.full((50, 40), number * 100 + index), chunks=(10, 40), compression="zstd")

        at_once(define)
    opened = hs.open(path)
    for number in range(THREADS):
        for index in range(20):
            assert (opened[f"group {number}/{index}"][...] == number * 100 + index).all()

    with hs.open(path, "r+") as f:
        at_once(lambda number: f[f"group {number}/0"].__setitem__((slice(0, 10), slice(None)), -number))
    opened = hs.open(path)
    assert all((opened[f"group {number}/0"][:10] == -number).all() for number in range(THREADS))


def check_decoder(hs: Any, folder: pathlib.Path) -> None:
    """A decoder in Python, which reading threads call at once."""
    hs.register_filter(OWN_FILTER, lambda data, parameters, max_bytes: zlib.decompress(data)[:max_bytes])
    try:
        for _ in range(5):
            d = hs.open(folder / "filtered.h5")["x"]

            def work(number: int, d: Any = d) -> None:
                for row in range(number, len(ROWS)):
                    np.testing.assert_array_equal(d[row], ROWS[row])
                np.testing.assert_array_equal(d[...], ROWS)

            at_once(work)
    finally:
        assert hs.unregister_filter(OWN_FILTER)


def check_objects(hs: Any, data: pathlib.Path) -> None:
    """Files that one thread opens and others drop, with collections in between."""

    def work(number: int) -> None:
        for _ in range(20):
            f = hs.open(data / "atlantic_profiles.nc")
            d = f["theta"]
            del f
            if number == 0:
                gc.collect()
            d[0]

    at_once(work)


ENDS = {
    "a scan that was not read to its end": "reader = f.table('/theta').batches(); next(reader)",
    "daemon threads that read": "import threading, time\n[threading.Thread(target=lambda: [f['theta'][i % 40] for i in range(10**9)], daemon=True).start() for _ in range(4)]; time.sleep(0.5)",
    "daemon threads that scan": "import threading, time\ndef scan():\n    while True: f.table('/theta', where='theta > 280').count()\n"
    "[threading.Thread(target=scan, daemon=True).start() for _ in range(4)]; time.sleep(0.5)",
    "threads that were joined": "import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor(8) as pool: list(pool.map(lambda i: f['theta'][i % 40], range(400)))",
}


def check_ends(data: pathlib.Path) -> None:
    """The process ends by itself and says nothing."""
    for what, script in ENDS.items():
        program = f"import sys, hyperslab as hs\nf = hs.open(sys.argv[1])\n{script}\nassert not sys._is_gil_enabled()\n"
        done = subprocess.run([sys.executable, "-c", program, data / "atlantic_profiles.nc"], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (what, done)


def main() -> None:
    if sys.argv[1] == "expected":
        write_expected(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
        return
    folder, data = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    assert not sys._is_gil_enabled(), "this interpreter has its lock"  # type: ignore[attr-defined]
    import hyperslab as hs

    assert "site-packages" in hs.__file__, hs.__file__
    assert not sys._is_gil_enabled(), "importing hyperslab turned the lock on"  # type: ignore[attr-defined]
    expected = dict(np.load(folder / "expected.npz"))
    for check in (
        lambda: check_reads(hs, data, expected),
        lambda: check_tables(hs, data),
        lambda: check_writes(hs, folder),
        lambda: check_decoder(hs, folder),
        lambda: check_objects(hs, data),
        lambda: check_ends(data),
    ):
        start = time.monotonic()
        check()
        print(f"{check.__code__.co_names[0]}: {time.monotonic() - start:.1f} s", flush=True)
    assert not sys._is_gil_enabled(), "a check turned the lock on"  # type: ignore[attr-defined]
    print(f"all is well without the lock in Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
