"""The datasets that are timed: one for each filter, in one file, written when first needed."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import h5py
import hdf5plugin
import numpy as np

CHUNK_BYTES = 2 << 20


def field(dtype: str, count: int) -> np.ndarray:
    """Waves with a little noise and few significant digits, like measurements."""
    rng = np.random.default_rng(7)
    place = np.arange(count)
    values = 280 + 15 * np.sin(place / 900) + 4 * np.sin(place / 37) + rng.normal(scale=0.3, size=count)
    values = np.round(values, 2)
    kind = np.dtype(dtype)
    return (values if kind.kind in "fc" else values * 100).astype(kind)


def records(dtype: np.dtype, count: int) -> np.ndarray:
    made = np.zeros(count, dtype)
    for name in dtype.names or ():
        made[name] = field("i4", count) % 100 if made[name].dtype.itemsize == 1 else field("f4", count)
    return made


RECORD_12 = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
RECORD_7 = np.dtype([("x", "<f4"), ("y", "<i2"), ("z", "u1")])


def nbit(creation: h5py.h5p.PropDCID) -> None:
    creation.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_MANDATORY)


Blosc, Blosc2, Bitshuffle = hdf5plugin.Blosc, hdf5plugin.Blosc2, hdf5plugin.Bitshuffle

#: Name, datatype, options of h5py.
CASES: list[tuple[str, str | np.dtype, dict]] = [
    ("shuffle i16", "i2", {"shuffle": True}),
    ("shuffle f32", "f4", {"shuffle": True}),
    ("shuffle f64", "f8", {"shuffle": True}),
    ("shuffle 12 bytes", RECORD_12, {"shuffle": True}),
    ("shuffle c128", "c16", {"shuffle": True}),
    ("shuffle 7 bytes", RECORD_7, {"shuffle": True}),
    ("fletcher32 f32", "f4", {"fletcher32": True}),
    ("gzip f32", "f4", {"compression": "gzip"}),
    ("gzip+shuffle f32", "f4", {"compression": "gzip", "shuffle": True}),
    ("gzip+shuffle f64", "f8", {"compression": "gzip", "shuffle": True}),
    ("lzf+shuffle f32", "f4", {"compression": "lzf", "shuffle": True}),
    ("szip f32", "f4", {"compression": "szip", "compression_opts": ("nn", 32)}),
    ("szip i16", "i2", {"compression": "szip", "compression_opts": ("nn", 16)}),
    ("scaleoffset i32", "i4", {"scaleoffset": 0}),
    ("scaleoffset f32", "f4", {"scaleoffset": 2}),
    ("nbit i32", "nbit", {}),
    ("bzip2 f32", "f4", dict(hdf5plugin.BZip2())),
    ("zstd f32", "f4", dict(hdf5plugin.Zstd())),
    ("zstd+shuffle f32", "f4", {"shuffle": True, **hdf5plugin.Zstd()}),
    ("lz4 f32", "f4", dict(hdf5plugin.LZ4())),
    ("lz4+shuffle f32", "f4", {"shuffle": True, **hdf5plugin.LZ4()}),
    ("bitshuffle i16", "i2", dict(Bitshuffle(cname="none"))),
    ("bitshuffle f32", "f4", dict(Bitshuffle(cname="none"))),
    ("bitshuffle f64", "f8", dict(Bitshuffle(cname="none"))),
    ("bitshuffle-lz4 i16", "i2", dict(Bitshuffle(cname="lz4"))),
    ("bitshuffle-lz4 f32", "f4", dict(Bitshuffle(cname="lz4"))),
    ("bitshuffle-zstd f32", "f4", dict(Bitshuffle(cname="zstd"))),
    ("blosc-lz4 f32", "f4", dict(Blosc(cname="lz4"))),
    ("blosc-lz4 f64", "f8", dict(Blosc(cname="lz4"))),
    ("blosc-lz4 bits f32", "f4", dict(Blosc(cname="lz4", shuffle=Blosc.BITSHUFFLE))),
    ("blosc-blosclz f32", "f4", dict(Blosc(cname="blosclz"))),
    ("blosc-zlib f32", "f4", dict(Blosc(cname="zlib"))),
    ("blosc-zstd f32", "f4", dict(Blosc(cname="zstd"))),
    ("blosc2-lz4 f32", "f4", dict(Blosc2(cname="lz4"))),
    ("blosc2-zstd f32", "f4", dict(Blosc2(cname="zstd"))),
]


def make(path: pathlib.Path, total_bytes: int, wanted: Callable[[str], bool]) -> list[str]:
    """Writes the selected datasets of `total_bytes` each. Returns their names."""
    names = [name for name, _, _ in CASES if wanted(name)]
    with h5py.File(path, "w") as f:
        for name, kind, options in CASES:
            if name not in names:
                continue
            if kind == "nbit":
                write_nbit(f, name, total_bytes // 4)
                continue
            dtype = np.dtype(kind)
            count = total_bytes // dtype.itemsize
            data = records(dtype, count) if dtype.names else field(dtype.str, count)
            f.create_dataset(name, data=data, chunks=(CHUNK_BYTES // dtype.itemsize,), **options)
    return names


def write_nbit(f: h5py.File, name: str, count: int) -> None:
    """17 of 32 bits."""
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(17)
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((CHUNK_BYTES // 4,))
    nbit(creation)
    dataset = h5py.h5d.create(f.id, name.encode(), kind, h5py.h5s.create_simple((count,)), creation)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, field("i4", count))
