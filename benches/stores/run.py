"""Requests, bytes and time of opening and reading remote files, beside other readers, at several latencies.

Our own server runs on loopback in a separate process and waits for the latency before it answers. Each measurement opens the file anew,
in one process; the least time of the rounds is shown, with the requests and bytes of that round.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import pathlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "testing" / "lib"))

#: The folders of chunk indexes without values and with small ones, which `main` makes.
INDEXES: list[str] = []
OURS = ("hyperslab", "with chunk index", "with inlined values")
#: Readers through which xarray opens files.
WITH_XARRAY = (*OURS, "h5py, fsspec", "h5py, fsspec blocks")

STEPS, ROWS, COLUMNS = 1000, 500, 80
CHUNK = (1, 50, 80)


def make_plain(path: pathlib.Path, **options: Any) -> None:
    """A variable of 10,000 chunks, its coordinates and 20 small variables."""
    with h5py.File(path, "w", **options) as f:
        for name, size in (("time", STEPS), ("y", ROWS), ("x", COLUMNS)):
            f[name] = np.arange(size, dtype="f8")
            f[name].make_scale(name)
        d = f.create_dataset("t", (STEPS, ROWS, COLUMNS), "f4", chunks=CHUNK, compression="gzip", compression_opts=1, shuffle=True)
        field = np.add.outer(np.sin(np.arange(ROWS) / 50), np.cos(np.arange(COLUMNS) / 9)).astype("f4")
        for step in range(STEPS):
            d[step] = np.round(field + np.float32(step / 100), 3)
        for axis, name in enumerate(("time", "y", "x")):
            d.dims[axis].attach_scale(f[name])
        for number in range(20):
            f[f"small{number}"] = np.arange(100.0)


def make_many(path: pathlib.Path) -> None:
    """100,000 datasets of 8 numbers in one group."""
    with h5py.File(path, "w") as f:
        space = h5py.h5s.create_simple((8,))
        group = f.create_group("all").id
        values = np.arange(8.0)
        for number in range(100_000):
            h5py.h5d.create(group, b"d%06d" % number, h5py.h5t.NATIVE_DOUBLE, space).write(h5py.h5s.ALL, h5py.h5s.ALL, values)


def make_matrix(path: pathlib.Path) -> None:
    """A matrix of a million chunks of 16 by 16 bytes."""
    with h5py.File(path, "w") as f:
        matrix = f.create_dataset("matrix", (16_000, 16_000), "u1", chunks=(16, 16))
        row = np.arange(16_000, dtype="u1")
        for first in range(0, 16_000, 160):
            matrix[first : first + 160] = np.add.outer(np.arange(first, first + 160).astype("u1"), row)


FILES: dict[str, Callable[[pathlib.Path], None]] = {
    "plain": make_plain,
    "paged": lambda path: make_plain(path, fs_strategy="page", fs_page_size=1 << 20),
    "many": make_many,
    "matrix": make_matrix,
}
#: What is measured of each file.
WORK = {
    "plain": ("open", "small", "xarray", "series", "all"),
    "paged": ("open", "small", "xarray", "series", "all"),
    "many": ("open", "one"),
    "matrix": ("open", "block", "row"),
}


def serve(pipe: Any, paths: dict[str, str]) -> None:
    """The process of the server: answers `(latency)` by forgetting and `None` by `(requests, bytes)`."""
    from range_server import Server

    server = Server()
    for name, path in paths.items():
        server.put(name, pathlib.Path(path))
    pipe.send(server.url)
    while (latency := pipe.recv()) != "end":
        if latency is None:
            pipe.send((len(server.asked), sum(end - start for start, end in (a.range or (0, 0) for a in server.asked))))
        else:
            server.latency_seconds = latency
            server.forget()
            pipe.send(None)


def work(f: Any, what: str) -> Any:
    """What is read of an open file; the same code for all readers, whose files look like h5py's."""
    if what == "open":
        return len(f)
    if what == "small":
        return np.asarray(f["small7"][:])
    if what == "all":
        return np.asarray(f["t"][:])
    if what == "series":
        return np.asarray(f["t"][:, 250, 40])
    if what == "block":
        return np.asarray(f["matrix"][8000:8100, 8000:8100])
    if what == "row":
        return np.asarray(f["matrix"][8008])
    return np.asarray(f["all/d054321"][:])


def with_xarray(source: Any, engine: str, **options: Any) -> Any:
    """Opens all variables as a dataset and reads a small one."""
    import xarray as xr

    with xr.open_dataset(source, engine=engine, cache=False, **options) as ds:
        return ds["small7"].values


def ours(url: str, what: str) -> Any:
    import hyperslab as hs

    if what == "xarray":
        return with_xarray(url, "hyperslab")
    with hs.open(url) as f:
        return work(f, what)


def ours_indexed(url: str, what: str) -> Any:
    """With a chunk index, which `main` has made."""

    return indexed(url, what, INDEXES[0])


def ours_inlined(url: str, what: str) -> Any:
    """With a chunk index that has the values of datasets of at most 4 KiB."""
    return indexed(url, what, INDEXES[1])


def indexed(url: str, what: str, folder: str) -> Any:
    import hyperslab as hs

    options = {"chunk_index": folder}
    if what == "xarray":
        return with_xarray(url, "hyperslab", storage_options=options)
    with hs.open(url, storage_options=options) as f:
        return work(f, what)


def h5py_fsspec(url: str, what: str) -> Any:
    import fsspec

    with fsspec.filesystem("http", skip_instance_cache=True).open(url) as source:
        if what == "xarray":
            return with_xarray(source, "h5netcdf", phony_dims="access")
        with h5py.File(source) as f:
            return work(f, what)


def h5py_fsspec_blocks(url: str, what: str) -> Any:
    import fsspec

    options = {"cache_type": "blockcache", "block_size": 4 << 20}
    with fsspec.filesystem("http", skip_instance_cache=True).open(url, **options) as source:
        if what == "xarray":
            return with_xarray(source, "h5netcdf", phony_dims="access")
        with h5py.File(source, page_buf_size=0) as f:
            return work(f, what)


def pyfive_fsspec(url: str, what: str) -> Any:
    import fsspec
    import pyfive

    with fsspec.filesystem("http", skip_instance_cache=True).open(url) as source:
        return work(pyfive.File(source), what)


def virtualizarr_zarr(url: str, what: str) -> Any:
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import HTTPStore
    from virtualizarr.parsers import HDFParser

    base = url.rpartition("/")[0]
    registry = ObjectStoreRegistry({base: HTTPStore.from_url(base, client_options={"allow_http": True})})
    return work(zarr.open_group(HDFParser()(url, registry), mode="r", zarr_format=3), what)


class H5CoroFile:
    """A file of h5coro, as `work` reads it."""

    def __init__(self, url: str) -> None:
        from h5coro.h5coro import H5Coro
        from h5coro.webdriver import HTTPDriver

        # It warns of each attribute that it does not read.
        logging.disable(logging.WARNING)
        self._file = H5Coro(url, HTTPDriver, credentials=None)

    def __len__(self) -> int:
        return len(self._file.list("/")[0])

    def __getitem__(self, path: str) -> Any:
        return H5CoroDataset(self._file, path)


class H5CoroDataset:
    def __init__(self, file: Any, path: str) -> None:
        self._file, self._path = file, path

    def __getitem__(self, key: Any) -> Any:
        shape = {"t": (STEPS, ROWS, COLUMNS), "matrix": (16_000, 16_000)}.get(self._path, (100,))
        keys = [*(key if isinstance(key, tuple) else (key,)), *([slice(None)] * len(shape))][: len(shape)]
        ranges = [(k, k + 1) if isinstance(k, int) else k.indices(extent)[:2] for k, extent in zip(keys, shape, strict=True)]
        if self._path.startswith("all/"):
            ranges = []
        wanted = {"dataset": self._path, "hyperslice": [list(found) for found in ranges]}
        values = np.asarray(self._file.readDatasets([wanted], block=True)[self._path])
        return values.reshape([values for values, k in zip(values.shape, keys, strict=False) if not isinstance(k, int)])


def h5coro(url: str, what: str) -> Any:
    return work(H5CoroFile(url), what)


def h5py_ros3(url: str, what: str) -> Any:
    with h5py.File(url, driver="ros3") as f:
        return work(f, what)


def readers() -> dict[str, Callable[[str, str], Any]]:
    found = {
        "hyperslab": ours,
        "with chunk index": ours_indexed,
        "with inlined values": ours_inlined,
        "h5py, fsspec": h5py_fsspec,
        "h5py, fsspec blocks": h5py_fsspec_blocks,
        "pyfive, fsspec": pyfive_fsspec,
        "VirtualiZarr, zarr": virtualizarr_zarr,
        "h5coro": h5coro,
    }
    if h5py.get_config().ros3:
        found["h5py, ROS3"] = h5py_ros3
    return found


def what_is_read(name: str, wanted: str) -> list[str]:
    """What is measured of a file."""
    return [what for what in WORK[name] if what in wanted.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench-stores"))
    parser.add_argument("--latencies", default="0,10,50", help="milliseconds")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--files", default="plain,paged,many,matrix")
    parser.add_argument("--what", default="open,small,xarray,series,all,one,block,row")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a reader is not measured again at higher latencies")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    names = arguments.files.split(",")
    paths = {name: arguments.folder / f"{name}.h5" for name in names}
    for name, path in paths.items():
        if not path.exists():
            part = path.with_suffix(".part")
            FILES[name](part)
            part.rename(path)
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, {name: str(path) for name, path in paths.items()}), daemon=True)
    process.start()
    url = pipe.recv()
    results = []
    import hyperslab as hs

    for threshold in (0, 4 << 10):
        INDEXES.append(tempfile.mkdtemp(prefix="hyperslab-chunks-"))
        for name in names:
            start = time.perf_counter()
            made = hs.indexes.chunk_index(f"{url}/{name}", INDEXES[-1], inline_threshold=threshold)
            seconds = time.perf_counter() - start
            print(f"{name}: a chunk index of {made.bytes / 1e6:.1f} MB in {seconds:.1f} s, {made.objects} objects, values of up to {threshold} bytes")
    print(f"ROS3 in h5py's wheel: {bool(h5py.get_config().ros3)}")
    for name in names:
        for what in what_is_read(name, arguments.what):
            expected, slow = None, set()
            for latency in map(float, arguments.latencies.split(",")):
                print(
                    f"\n{name} ({paths[name].stat().st_size / 1e6:.0f} MB), {what}, {latency:g} ms\n{'':22} {'seconds':>9} {'requests':>9} {'MB':>9} {'rounds':>7}"
                )
                for reader, read in readers().items():
                    if what == "xarray" and reader not in WITH_XARRAY:
                        continue
                    if reader in slow:
                        print(f"{reader:22} {'-':>9}")
                        continue
                    best: tuple[Any, ...] | None = None
                    for _ in range(arguments.rounds):
                        pipe.send(latency / 1000)
                        pipe.recv()
                        rounds = _rounds()
                        start = time.perf_counter()
                        try:
                            got = read(f"{url}/{name}", what)
                        except Exception as error:
                            print(f"{reader:22} {type(error).__name__}: {str(error)[:100]}")
                            slow.add(reader)
                            break
                        seconds = time.perf_counter() - start
                        pipe.send(None)
                        requests, size = pipe.recv()
                        expected = got if expected is None else expected
                        if what != "open":
                            np.testing.assert_array_equal(got, expected, err_msg=reader)
                        rounds = _rounds() - rounds if reader in OURS else None
                        best = min(best or (seconds, requests, size, rounds), (seconds, requests, size, rounds), key=lambda found: found[0])
                        if seconds > arguments.limit:
                            slow.add(reader)
                            break
                    if best is not None:
                        seconds, requests, size, rounds = best
                        print(f"{reader:22} {seconds:9.3f} {requests:9} {size / 1e6:9.1f} {'' if rounds is None else rounds:>7}", flush=True)
                        results.append(
                            {
                                "file": name,
                                "what": what,
                                "ms": latency,
                                "reader": reader,
                                "seconds": seconds,
                                "requests": requests,
                                "bytes": size,
                                "rounds": rounds,
                            }
                        )
    pipe.send("end")
    for folder in INDEXES:
        shutil.rmtree(folder)
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(results, indent=1))


def _rounds() -> int:
    import hyperslab as hs

    return hs.counters().request_rounds


if __name__ == "__main__":
    main()
