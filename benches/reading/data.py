"""The data of the benchmarks, written by h5py and pyarrow (never by Hyperslab) when first needed, and kept outside of the clone.

Next to a file are the side files of the limit program: the positions of its bytes, without any format.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.append(str(pathlib.Path(__file__).parent / "contestants"))
import small

GIB = 1 << 30
# Rows and columns of the large fields: wide, like the output of a model with many time steps.
ROWS, COLUMNS = 32768, 8192
RECORD = np.dtype([("id", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f8"), ("e", "<f4"), ("charge", "<i4"), ("kind", "i1")])
SMALL_FILES = 5000
SMALL_VALUES = 512


def field(rows: int, columns: int, seed: int = 0) -> Iterator[np.ndarray[Any, Any]]:
    """A temperature-like field in bands of 512 rows: waves, and noise in the last digits of an instrument."""
    random = np.random.default_rng(seed)
    x = np.linspace(0, 40, columns, dtype="f4")
    for start in range(0, rows, 512):
        y = np.arange(start, min(start + 512, rows), dtype="f4")[:, None] / 300
        values = 280 + 15 * np.sin(x + y) + 5 * np.cos(3 * x - 2 * y) + random.normal(0, 0.3, (len(y), columns))
        yield (np.round(values * 64) / 64).astype("f4")


def side_of_run(path: pathlib.Path, dataset: h5py.Dataset) -> None:
    offset = dataset.id.get_offset()
    path.with_name(path.name + ".run").write_text(f"{offset} {dataset.id.get_storage_size()}\n")


def side_of_chunks(path: pathlib.Path, dataset: h5py.Dataset) -> None:
    codec = "deflate+shuffle" if dataset.compression == "gzip" else "none"
    head = [*dataset.shape, *dataset.chunks, dataset.dtype.itemsize, codec]
    lines = [" ".join(map(str, head))]
    dataset.id.chunk_iter(lambda c: lines.append(f"{c.chunk_offset[0]} {c.chunk_offset[1]} {c.byte_offset} {c.size}"))
    path.with_name(path.name + ".chunks").write_text("\n".join(lines) + "\n")


def contiguous(path: pathlib.Path) -> None:
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", (GIB // 8,), "f8")
        for start in range(0, len(d), 1 << 22):
            d[start : start + (1 << 22)] = random.normal(size=1 << 22)
        side_of_run(path, d)


def chunked(rows: int, columns: int, chunks: tuple[int, int], **options: Any) -> Callable[[pathlib.Path], None]:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w") as f:
            d = f.create_dataset("x", (rows, columns), "f4", chunks=chunks, **options)
            for number, band in enumerate(field(rows, columns)):
                d[512 * number : 512 * number + len(band)] = band
            side_of_chunks(path, d)

    return make


def records(path: pathlib.Path) -> None:
    count = GIB // RECORD.itemsize
    random = np.random.default_rng(2)
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", (count,), RECORD)
        for start in range(0, count, 1 << 20):
            part = np.zeros(min(1 << 20, count - start), RECORD)
            part["id"] = np.arange(start, start + len(part))
            for name in "xyz":
                part[name] = random.normal(size=len(part))
            part["e"], part["charge"] = random.exponential(size=len(part)), random.integers(-1, 2, len(part))
            d[start : start + len(part)] = part
        side_of_run(path, d)


def small_files(path: pathlib.Path) -> None:
    path.mkdir()
    offset = 0
    for number in range(SMALL_FILES):
        with h5py.File(path / f"{number:05}.h5", "w") as f:
            f["x"] = np.arange(SMALL_VALUES) + number
            offset = f["x"].id.get_offset()
    path.with_name(path.name + ".files").write_text(f"{offset} {SMALL_VALUES * 8} {SMALL_FILES}\n")


def cube(path: pathlib.Path) -> None:
    """Time x latitude x longitude, with coordinates: for time series and SQL on cells."""
    shape = (512, 256, 256)
    with h5py.File(path, "w") as f:
        for name, values in (("time", np.arange(512.0)), ("lat", np.linspace(-90, 90, 256)), ("lon", np.linspace(0, 359, 256))):
            f[name] = values
            f[name].make_scale(name)
        d = f.create_dataset("t", shape, "f4", chunks=(32, 64, 64), compression="gzip", compression_opts=4, shuffle=True)
        bands = np.concatenate(list(field(shape[0] * shape[1], shape[2], 3)))
        d[...] = bands.reshape(shape)
        for number, name in enumerate(("time", "lat", "lon")):
            d.dims[number].attach_scale(f[name])


def many_links(count: int) -> Callable[[pathlib.Path], None]:
    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver="latest") as f:
            g, target = f.create_group("g"), f.create_dataset("x", data=1.0)
            for number in range(count):
                g[f"link{number:06}"] = target

    return make


def many_chunks(count: int) -> Callable[[pathlib.Path], None]:
    def make(path: pathlib.Path) -> None:
        rows = count // 1000
        with h5py.File(path, "w", libver="latest") as f:
            d = f.create_dataset("x", (rows, 1000, 16), "i4", chunks=(1, 1, 16), maxshape=(None, 1000, 16))
            for row in range(0, rows, 10):
                d[row : row + 10] = row

    return make


def tables(path: pathlib.Path) -> None:
    """The field in other formats: one column of a gigabyte."""
    path.mkdir()
    schema = pa.schema([("x", pa.float32())])
    writers = [pq.ParquetWriter(path / f"{codec}.parquet", schema, compression=codec, use_dictionary=False) for codec in ("none", "snappy", "zstd")]
    with pa.OSFile(str(path / "x.arrow"), "wb") as file, pa.ipc.new_file(file, schema) as ipc:
        for band in field(ROWS, COLUMNS):
            batch = pa.record_batch([pa.array(band.reshape(-1))], schema=schema)
            ipc.write_batch(batch)
            for writer in writers:
                writer.write_batch(batch)
    for writer in writers:
        writer.close()


def small_tree(groups: int, datasets: int, version: str) -> Callable[[pathlib.Path], None]:
    """Groups of scalar datasets."""

    def make(path: pathlib.Path) -> None:
        with h5py.File(path, "w", libver=version) as f:
            for group in range(groups):
                g = f.create_group(f"group{group:03}")
                for number in range(datasets):
                    g[f"x{number:04}"] = group * 1000.0 + number

    return make


def small_netcdf(is_unlimited: bool) -> Callable[[pathlib.Path], None]:
    """Many variables along one dimension, with some attributes."""

    def make(path: pathlib.Path) -> None:
        import netCDF4

        with netCDF4.Dataset(path, "w") as f:
            f.createDimension("time", None if is_unlimited else 5)
            f.createVariable("time", "f8", ("time",))[:] = np.arange(5.0)
            for number in range(small.VARIABLES):
                variable = f.createVariable(f"v{number}", "f4", ("time",))
                variable[:] = np.arange(5.0) + number
                variable.setncatts({"units": "K", "long_name": f"variable {number}", "standard_name": "air_temperature"})

    return make


def small_rows(path: pathlib.Path) -> None:
    """The same rows in three layouts."""
    values = np.concatenate(list(field(small.ROWS, small.COLUMNS, 5)))
    with h5py.File(path, "w") as f:
        f["contiguous"] = values
        f.create_dataset("chunked", data=values, chunks=(small.CHUNK, small.COLUMNS))
        f.create_dataset("gzip", data=values, chunks=(small.CHUNK, small.COLUMNS), compression="gzip", shuffle=True)
    # What the contestants in Rust ask for: rows, elements, the first rows of slices.
    lines = [small.ANY_ROWS, [n for element in small.ELEMENTS for n in element], [rows.start for rows in small.SLICES]]
    path.with_name(path.name + ".keys").write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))


def small_objects(path: pathlib.Path) -> None:
    """Strings, records, attributes, nested groups, and a group of many links."""
    records = np.zeros(small.RECORDS, RECORD)
    records["e"] = np.arange(small.RECORDS) / 4
    with h5py.File(path, "w", libver="latest") as f:
        f["scalar"] = 2.5
        f["scalar"].attrs["number"] = 7
        f["strings"] = np.array([f"string number {number}" for number in range(small.STRINGS)], h5py.string_dtype())
        f["records"] = records
        f["a/b/c/d/x"] = 1.0
        links = f.create_group("links")
        for number in range(small.LINKS):
            links[f"link{number:06}"] = f["scalar"]
    path.with_name(path.name + ".keys").write_text("\n".join(small.NAMES) + "\n")


QUARTER = (8192, 8192)
GZIP = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
FILTERS: dict[str, dict[str, Any]] = {
    "gzip": {"compression": "gzip", "compression_opts": 4},
    "lzf": {"compression": "lzf", "shuffle": True},
    "szip": {"compression": "szip"},
    "zstd": {**hdf5plugin.Zstd(), "shuffle": True},
    "lz4": {**hdf5plugin.LZ4(), "shuffle": True},
    "blosc-lz4": {**hdf5plugin.Blosc(cname="lz4", shuffle=1)},
    "blosc-zstd": {**hdf5plugin.Blosc(cname="zstd", shuffle=2)},
    "blosc2-lz4": {**hdf5plugin.Blosc2(cname="lz4", filters=1)},
    "bitshuffle-lz4": {**hdf5plugin.Bitshuffle(cname="lz4")},
    "bitshuffle-zstd": {**hdf5plugin.Bitshuffle(cname="zstd")},
}
#: Two counts each, to show how the time grows.
LINKS = (10_000, 100_000)
CHUNKS = (100_000, 1_000_000)
CHUNK_SIZES = {"16KiB": (64, 64), "128KiB": (128, 256), "2MiB": (512, 1024), "16MiB": (2048, 2048)}

MAKERS: dict[str, Callable[[pathlib.Path], None]] = {
    "contiguous.h5": contiguous,
    "gzip.h5": chunked(ROWS, COLUMNS, (512, 1024), **GZIP),
    "chunked.h5": chunked(ROWS, COLUMNS, (512, 1024)),
    "records.h5": records,
    "small": small_files,
    "cube.h5": cube,
    **{f"links-{count}.h5": many_links(count) for count in LINKS},
    **{f"chunks-{count}.h5": many_chunks(count) for count in CHUNKS},
    "tables": tables,
    "small-rows.h5": small_rows,
    "small-objects.h5": small_objects,
    **{f"small-tree-{groups}-{version}.h5": small_tree(groups, datasets, version) for groups, datasets in small.TREES.values() for version in small.VERSIONS},
    **{f"small-netcdf-{title.split()[1]}.nc": small_netcdf(is_unlimited) for title, is_unlimited in small.NETCDF.items()},
    **{f"filter-{name}.h5": chunked(*QUARTER, (512, 1024), **options) for name, options in FILTERS.items()},
    **{f"size-{name}.h5": chunked(*QUARTER, chunk, **GZIP) for name, chunk in CHUNK_SIZES.items()},
}


def make(folder: pathlib.Path, names: list[str] | None = None) -> None:
    """Makes missing files. A stopped run leaves no incomplete file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MAKERS:
        if not (folder / name).exists():
            print(f"making {name}", file=sys.stderr, flush=True)
            unfinished = folder / f"unfinished-{name}"
            MAKERS[name](unfinished)
            for side in folder.glob(f"unfinished-{name}.*"):
                side.rename(folder / side.name.removeprefix("unfinished-"))
            unfinished.rename(folder / name)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]), sys.argv[2:])
