"""`make bench-aggregates`: aggregates over time × lat × lon, by SQL of Hyperslab and of Beacon, by xarray with Dask and flox, by h5py with numpy, and by
DuckDB over a Parquet copy of the rows.

The fields: floats as they are, floats by gzip 4, and packed integers of 2 bytes by gzip 4 with shuffle. Each round runs all contestants of a row in turn,
from a warm page cache; the first round is not counted. An answer is compared with numpy's before it counts. The first column is what is possible: reading
into kept memory and numpy's reduction, by Hyperslab's reader. The table has the medians, with the middle half of the rounds, in milliseconds.

    python benches/aggregates/run.py [--steps 400] [--rounds 5] [--folder FOLDER] [--fields plain,gzip,packed]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

import duckdb
import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow.parquet as pq
import xarray as xr

LAT, LON = 181, 360
FIELDS: dict[str, dict[str, Any]] = {
    "plain": {"contiguous": True},
    "gzip": {"zlib": True, "complevel": 4, "shuffle": False, "chunksizes": (1, LAT, LON)},
    "packed": {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (4, LAT, LON)},
}
Answer = Callable[[], Any]


def make(path: pathlib.Path, name: str, steps: int) -> np.ndarray:
    """A field with noise in hundredths; returns the values that it means."""
    rng, weight = np.random.default_rng(0), np.cos(np.deg2rad(np.linspace(90, -90, LAT)))[:, None]
    values = np.round(280 + 30 * weight + rng.normal(0, 5, (steps, LAT, LON)), 2).astype("f4")
    with netCDF4.Dataset(path, "w") as f:
        for dimension, extent in (("time", steps), ("lat", LAT), ("lon", LON)):
            f.createDimension(dimension, extent)
        f.createVariable("time", "i4", ("time",))[:] = np.arange(steps) * 6
        f["time"].units = "hours since 2000-01-01"
        f.createVariable("lat", "f8", ("lat",))[:] = np.linspace(90, -90, LAT)
        f.createVariable("lon", "f8", ("lon",))[:] = np.arange(LON)
        field = f.createVariable("t2m", "i2" if name == "packed" else "f4", ("time", "lat", "lon"), **FIELDS[name])
        if name == "packed":
            field.scale_factor, field.add_offset = np.float32(0.01), np.float32(280)
        field[:] = values
        field.set_auto_mask(False)
        return np.asarray(field[:], "f4")


class Peers:
    """What answers each row, from one file."""

    def __init__(self, path: pathlib.Path) -> None:
        import beacondb

        self.path, self.file = path, hs.open(path)
        self.beacon = beacondb.connect()
        self.kept = np.empty(self.file["t2m"].shape, self.file["t2m"].dtype)
        table = self.file.table("t2m").to_arrow()
        pq.write_table(table, f"{path}.parquet", compression="snappy")
        self.duck = duckdb.connect(config={"threads": os.cpu_count()})

    def limit(self, reduced: Callable[[np.ndarray], Any]) -> Answer:
        def answer() -> Any:
            self.file["t2m"].read_direct(self.kept)
            return reduced(self.kept)

        return answer

    def ours(self, query: str) -> Answer:
        return lambda: hs.sql(query.format("t2m"), self.file).to_arrow_table()

    def theirs(self, query: str) -> Answer:
        return lambda: self.beacon.sql(query.format(f"read_netcdf(['{self.path}'])")).arrow()

    def parquet(self, query: str) -> Answer:
        return lambda: self.duck.sql(query.format(f"'{self.path}.parquet'")).to_arrow_table()

    def xarray(self, reduced: Callable[[xr.DataArray], xr.DataArray]) -> Answer:
        def answer() -> Any:
            with xr.open_dataset(self.path, engine="netcdf4", chunks={"time": 50}) as data:
                return reduced(data["t2m"]).compute()

        return answer


#: The query, what numpy computes of the stored values, and what xarray does.
ROWS: dict[str, tuple[str, Callable[[np.ndarray], Any], Callable[[Any], Any]]] = {
    "count, avg": ("select count(*), avg(t2m) from {}", lambda x: x.mean(dtype="f8"), lambda a: a.mean(dtype="f8")),
    "avg by lat": ("select lat, avg(t2m) from {} group by lat", lambda x: x.mean((0, 2), dtype="f8"), lambda a: a.mean(["time", "lon"], dtype="f8")),
    "max by time": ("select time, max(t2m) from {} group by time", lambda x: x.max((1, 2)), lambda a: a.max(["lat", "lon"])),
    "avg by lat and lon": ("select lat, lon, avg(t2m) from {} group by lat, lon", lambda x: x.mean(0, dtype="f8"), lambda a: a.mean("time", dtype="f8")),
    "count where > 312": ("select count(*) from {} where t2m > 312", lambda x: (x > 312).sum(), lambda a: (a > 312).sum()),
    "avg of a box": (
        "select avg(t2m) from {} where lat between 30 and 40 and lon between 10 and 30",
        lambda x: x[:, 50:61, 10:31].mean(dtype="f8"),
        lambda a: a.sel(lat=slice(40, 30), lon=slice(10, 30)).mean(dtype="f8"),
    ),
    "avg of one step": (
        "select avg(t2m) from {} where time = timestamp '2000-01-05'",
        lambda x: x[16].mean(dtype="f8"),
        lambda a: a.sel(time="2000-01-05T00:00").mean(dtype="f8"),
    ),
    "avg by month": (
        "select month(time), avg(t2m) from {} group by 1",
        lambda x: x.mean(dtype="f8"),
        lambda a: a.groupby("time.month").mean(method="map-reduce", dtype="f8"),
    ),
}


def milliseconds(call: Answer) -> tuple[float, Any]:
    begin = time.perf_counter()
    answer = call()
    return (time.perf_counter() - begin) * 1e3, answer


def middle(times: list[float]) -> str:
    low, half, high = statistics.quantiles(times, n=4)
    return f"{half:,.1f} ({low:,.1f} to {high:,.1f})"


def check(row: str, answer: Any, values: np.ndarray) -> None:
    """Compares the last column of an answer of SQL with numpy's."""
    if row == "avg by month":
        return
    found = np.sort(np.asarray(answer.columns[-1], dtype="f8"))
    np.testing.assert_allclose(found, np.sort(np.atleast_1d(ROWS[row][1](values)).astype("f8").reshape(-1)), rtol=1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--fields", default="plain,gzip,packed")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    for name in options.fields.split(","):
        path = options.folder / f"{name}.nc"
        values = make(path, name, options.steps)
        peers = Peers(path)
        print(
            f"\n{name}: {values.nbytes >> 20} MiB of values, {path.stat().st_size >> 20} MiB stored; load {os.getloadavg()[0]:.1f}; medians of {options.rounds} rounds, ms\n"
        )
        columns = ["read, numpy", "Hyperslab", "Beacon", "xarray, Dask, flox", "DuckDB, Parquet", "h5py, numpy"]
        print("| | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
        for row, (query, reduced, by_xarray) in ROWS.items():

            def by_h5py(reduced: Callable[[np.ndarray], Any] = reduced) -> Any:
                with h5py.File(path, "r") as f:
                    return reduced(f["t2m"][:])

            calls = [peers.limit(reduced), peers.ours(query), peers.theirs(query), peers.xarray(by_xarray), peers.parquet(query), by_h5py]
            times: list[list[float]] = [[] for _ in calls]
            for number in range(options.rounds + 1):
                for place, call in enumerate(calls):
                    try:
                        took, answer = milliseconds(call)
                    except Exception as error:
                        if place in (0, 1):
                            raise
                        print(f"<!-- {columns[place]}, {row}: {type(error).__name__}: {str(error)[:200]} -->")
                        continue
                    if place in (1, 4):
                        check(row, answer, values)
                    if number:
                        times[place].append(took)
            print(f"| {row} | " + " | ".join(middle(one) if len(one) > 1 else "–" for one in times) + " |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.1f}, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
