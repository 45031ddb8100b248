"""xarray on Hyperslab's engine, next to the engines `netcdf4`, `h5netcdf` (with h5py and with pyfive) and `hidefix`, and next to zarr with
references that kerchunk's format has and VirtualiZarr makes. The references of a file are made before it is measured.

Each round runs all contestants of a case in turn, from a warm page cache, in one process that stays. The table has the medians, the
spread of the middle half of the rounds, and the processor time of all threads, which depends less on what else the machine does. A result is compared with the first contestant's before it counts.

    python benches/xarray/run.py [--rounds 5] [--only TEXT] [--files 1000] [--mebibytes 64] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import functools
import glob
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import dask
import hyperslab as hs
import numpy as np
import xarray as xr
from hyperslab.xarray.engine import HyperslabBackendEntrypoint

ENGINES: dict[str, dict[str, Any]] = {
    "hyperslab": {"engine": HyperslabBackendEntrypoint},
    "netcdf4": {"engine": "netcdf4"},
    "h5netcdf": {"engine": "h5netcdf"},
    "h5netcdf, pyfive": {"engine": "h5netcdf", "driver_kwds": {"backend": "pyfive"}},
    "hidefix": {"engine": "hidefix"},
    "kerchunk's references, zarr": {"engine": "kerchunk"},
    "VirtualiZarr's manifests, zarr": {"engine": "zarr"},
}
#: The same engine with another option, for the cases of packed values.
FUSED: dict[str, dict[str, Any]] = {"hyperslab, fused_decoding": {"engine": HyperslabBackendEntrypoint, "fused_decoding": True}}
Case = tuple[str, dict[str, Callable[[], Any]]]


def make_field(folder: pathlib.Path, mebibytes: int) -> pathlib.Path:
    """A compressed field of smooth values with noise: time × y × x, one map a chunk."""
    path = folder / f"field{mebibytes}.nc"
    if not path.exists():
        rows, columns = 256, 512
        times = max(mebibytes * (1 << 20) // (4 * rows * columns), 1)
        y, x = np.linspace(0, 6, rows)[:, None], np.linspace(0, 12, columns)
        noise = np.random.default_rng(0).random((times, rows, columns), dtype="f4")
        values = (np.sin(y) * np.cos(x) * 20 + 280 + np.arange(times)[:, None, None] / 10 + noise).astype("f4").round(2)
        made = xr.Dataset({"t2m": (("time", "y", "x"), values)}, {"time": np.arange(times)})
        made.to_netcdf(path, encoding={"t2m": {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, rows, columns)}}, engine="netcdf4")
    return path


def make_files(folder: pathlib.Path, count: int) -> str:
    """Many small files: 4 maps of 20 × 30 values each, with coordinates."""
    files = folder / f"files{count}"
    if not files.exists():
        files.mkdir()
        for number in range(count):
            with hs.create_netcdf(files / f"{number:06d}.nc", durable=False) as file:
                for name, size in (("time", None), ("lat", 20), ("lon", 30)):
                    file.create_dimension(name, size)
                file.create_variable("time", ("time",), "f8", data=np.arange(4) + 4.0 * number, attrs={"units": "hours since 2000-01-01"})
                file.create_variable("lat", ("lat",), "f4", data=np.arange(20, dtype="f4"))
                file.create_variable("lon", ("lon",), "f4", data=np.arange(30, dtype="f4"))
                file.create_variable("t2m", ("time", "lat", "lon"), "f4", data=np.random.default_rng(number).random((4, 20, 30), dtype="f4"))
    return str(files / "*.nc")


def make_packed(folder: pathlib.Path, mebibytes: int) -> pathlib.Path:
    """The same field as integers of 2 bytes, with missing values."""
    path = folder / f"packed{mebibytes}.nc"
    if not path.exists():
        with xr.open_dataset(make_field(folder, mebibytes), engine="netcdf4") as field:
            packing = {"dtype": "i2", "scale_factor": np.float32(0.01), "add_offset": np.float32(280), "_FillValue": np.int16(-32768)}
            chunks = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, *field["t2m"].shape[1:])}
            field.where(field["t2m"] > 262).to_netcdf(path, encoding={"t2m": {**packing, **chunks}}, engine="netcdf4")
    return path


def parsed() -> tuple[Any, Any]:
    """VirtualiZarr's parser of HDF5, and where it finds local files."""
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    return HDFParser(), ObjectStoreRegistry({"file://": LocalStore()})


@functools.cache
def place_of(path: pathlib.Path, engine: str) -> Any:
    """What an engine opens to read a file: the file, or references to it."""
    if engine == "zarr":
        parser, registry = parsed()
        return parser(f"file://{path}", registry=registry)
    if engine != "kerchunk":
        return path
    references = path.with_suffix(".json")
    if not references.exists():
        from virtualizarr import open_virtual_dataset

        parser, registry = parsed()
        open_virtual_dataset(f"file://{path}", registry=registry, parser=parser, loadable_variables=[]).vz.to_kerchunk(str(references), format="json")
    return str(references)


def opened_by(path: pathlib.Path, engine: dict[str, Any], **options: Any) -> xr.Dataset:
    """The file as an engine opens it."""
    more = {"consolidated": False, "zarr_format": 3} if engine["engine"] == "zarr" else {}
    return xr.open_dataset(place_of(path, engine["engine"]), **options, **engine, **more)


def of_packed(path: pathlib.Path, engines: dict[str, dict[str, Any]]) -> list[Case]:
    """The cases that read packed values with missing ones."""

    def load(engine: dict[str, Any]) -> Any:
        with opened_by(path, engine, cache=False) as dataset:
            return float(np.nanmean(dataset["t2m"].values[::7, ::5, ::3].astype("f8")))

    def row(engine: dict[str, Any]) -> Any:
        with opened_by(path, engine, cache=False) as dataset:
            return float(dataset["t2m"].mean(dtype="f8"))

    def each(work: Callable[[dict[str, Any]], Any]) -> dict[str, Callable[[], Any]]:
        return {name: (lambda engine=engine: work(engine)) for name, engine in {**engines, **FUSED}.items()}

    return [("packed values, loaded", each(load)), ("packed values, mean", each(row))]


def of_field(path: pathlib.Path, engines: dict[str, dict[str, Any]]) -> list[Case]:
    """The cases that read one compressed field."""

    def each(work: Callable[[xr.Dataset], Any], **options: Any) -> dict[str, Callable[[], Any]]:
        def run(engine: dict[str, Any]) -> Any:
            with opened_by(path, engine, cache=False, **options) as dataset:
                return np.asarray(work(dataset))

        return {name: (lambda engine=engine: run(engine)) for name, engine in engines.items()}

    def with_threads(threads: int) -> Callable[[xr.Dataset], Any]:
        def mean(dataset: xr.Dataset) -> Any:
            with dask.config.set(scheduler="threads", num_workers=threads):
                return dataset["t2m"].mean(dtype="f8").compute()

        return mean

    places = np.random.default_rng(2).integers(0, 250, (2, 200))
    with xr.open_dataset(path, engine="netcdf4") as dataset:
        times = np.linspace(0, dataset.sizes["time"] - 1, 200).astype(int)
    points = {"time": xr.DataArray(times, dims="p"), "y": xr.DataArray(places[0], dims="p"), "x": xr.DataArray(places[1], dims="p")}
    # The same tasks for all: hidefix names no chunks, so that chunks={} would give it one task and no threads; it cannot read a single map.
    return [
        ("open", each(lambda dataset: len(dataset.variables))),
        ("mean, without Dask", each(lambda dataset: dataset["t2m"].mean(dtype="f8"))),
        *((f"mean, Dask with {threads} threads", each(with_threads(threads), chunks={"time": 4})) for threads in (1, 2, 4, 8)),
        ("time series through maps", each(lambda dataset: dataset["t2m"][:, 100, 200])),
        ("200 points of a track", each(lambda dataset: dataset["t2m"].isel(points))),
    ]


def of_files(pattern: str, count: int, engines: dict[str, dict[str, Any]]) -> list[Case]:
    """The cases that open many files."""
    fast = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}

    def opened(engine: dict[str, Any], **options: Any) -> Any:
        with xr.open_mfdataset(pattern, **options, **engine) as dataset:
            return dataset.sizes["time"]

    def ours(work: Callable[[xr.Dataset], Any]) -> Any:
        with hs.open_mfdataset(pattern) as dataset:
            return np.asarray(work(dataset))

    def series(engine: dict[str, Any]) -> Any:
        with xr.open_mfdataset(pattern, **fast, **engine) as dataset:
            return np.asarray(dataset["t2m"][:, 3, 4])

    def virtual() -> Any:
        from virtualizarr import open_virtual_mfdataset

        parser, registry = parsed()
        urls = [f"file://{path}" for path in sorted(glob.glob(pattern))]
        options = {"combine": "nested", "concat_dim": "time", **fast}
        return open_virtual_mfdataset(urls, registry=registry, parser=parser, loadable_variables=["time", "lat", "lon"], decode_times=False, **options)

    def from_references(work: Callable[[xr.Dataset], Any]) -> Any:
        with xr.open_dataset(str(references), engine="kerchunk") as dataset:
            return np.asarray(work(dataset))

    def references_and(work: Callable[[xr.Dataset], Any]) -> dict[str, Callable[[], Any]]:
        return {"zarr, ready references": lambda: from_references(work)} if is_virtual else {}

    references = pathlib.Path(pattern).parent.with_suffix(".json")
    is_virtual = "kerchunk's references, zarr" in engines
    if is_virtual and not references.exists():
        virtual().vz.to_kerchunk(str(references), format="json")
    engines = {name: engine for name, engine in engines.items() if engine["engine"] not in ("kerchunk", "zarr")}
    theirs = {f"open_mfdataset, {name}": (lambda engine=engine: opened(engine)) for name, engine in engines.items()}
    quick = {f"open_mfdataset, {name}, compat=override": (lambda engine=engine: opened(engine, **fast)) for name, engine in engines.items()}
    return [
        (
            f"open {count} files",
            {
                "hs.open_mfdataset": lambda: ours(lambda dataset: dataset.sizes["time"]),
                **theirs,
                **quick,
                **({"VirtualiZarr, references made": lambda: virtual().sizes["time"]} if is_virtual else {}),
                **references_and(lambda dataset: dataset.sizes["time"]),
            },
        ),
        (
            f"open {count} files and read a time series",
            {
                "hs.open_mfdataset": lambda: ours(lambda dataset: dataset["t2m"][:, 3, 4]),
                **{f"open_mfdataset, {name}, compat=override": (lambda engine=engine: series(engine)) for name, engine in engines.items()},
                **references_and(lambda dataset: dataset["t2m"][:, 3, 4]),
            },
        ),
    ]


def measure(case: Case, rounds: int) -> None:
    """Runs the contestants of a case in turn and prints a table."""
    title, contestants = case
    expected: Any = None
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    processor: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):  # the first one warms up
        for name, run in contestants.items():
            start, used = time.perf_counter(), time.process_time()
            found = run()
            if turn:
                seconds[name].append(time.perf_counter() - start)
                processor[name].append(time.process_time() - used)
            expected = found if expected is None else expected
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=f"{title}: {name}")
    print(f"\n## {title}\n\n| | ms | middle half | times as long | ms of processor |\n|---|---|---|---|---|")
    first = statistics.median(next(iter(seconds.values())))
    for name, spent in seconds.items():
        low, _, high = statistics.quantiles(spent, n=4) if len(spent) > 1 else (spent[0],) * 3
        median = statistics.median(spent)
        print(
            f"| {name} | {median * 1e3:.1f} | {low * 1e3:.1f} to {high * 1e3:.1f} | {median / first:.2f} | {statistics.median(processor[name]) * 1e3:.1f} |",
            flush=True,
        )


def usable(path: pathlib.Path) -> dict[str, dict[str, Any]]:
    """The engines that are installed and read the file."""
    found = {}
    for name, engine in ENGINES.items():
        try:
            with opened_by(path, engine) as dataset:
                dataset["t2m"][0].load()
            found[name] = engine
        except BaseException as error:  # a panic of an engine in Rust is no `Exception`
            if isinstance(error, KeyboardInterrupt):
                raise
            print(f"not measured with {path.name}: {name}: {type(error).__name__}: {error}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--files", type=int, default=1000, help="0 for none")
    parser.add_argument("--mebibytes", type=int, default=64)
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = make_field(folder, arguments.mebibytes)
        packed = make_packed(folder, arguments.mebibytes)
        engines = usable(path)
        print(f"{os.cpu_count()} cores, xarray {xr.__version__}, {arguments.mebibytes} MiB of values")
        cases = [*of_field(path, engines), *of_packed(packed, usable(packed))]
        if arguments.files and (not arguments.only or "files" in arguments.only):
            pattern = make_files(folder, arguments.files)
            cases += of_files(pattern, arguments.files, usable(pathlib.Path(sorted(glob.glob(pattern))[0])))
        for case in cases:
            if arguments.only in case[0]:
                measure(case, arguments.rounds)


if __name__ == "__main__":
    main()
