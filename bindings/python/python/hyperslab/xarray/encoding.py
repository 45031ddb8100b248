"""Encoding for xarray: how a variable is stored, in the terms of the engines `netcdf4` and `h5netcdf`."""

from __future__ import annotations

from typing import Any

from ..base.description import Description

#: How a variable of xarray is encoded and stored, by the keys that its readers give and its writers take.
Encoding = dict[str, Any]
#: Numbers of filters in HDF5 files.
DEFLATE, SHUFFLE, FLETCHER32, SZIP = 1, 2, 3, 4
LZF, BZIP2, BLOSC, ZSTD = 32000, 307, 32001, 32015
#: Compressors of Blosc by their number.
_BLOSC_COMPRESSORS = ("blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_snappy", "blosc_zlib", "blosc_zstd")
#: The bit of szip's options that stands for entropy coding; otherwise it codes nearest neighbors.
_SZIP_ENTROPY = 4


def storage_of(about: Description, dimensions: tuple[str, ...]) -> Encoding:
    """Chunks and filters of a variable.

    Args:
        about: Its description by the core.
        dimensions: Names of its dimensions.

    Returns:
        `chunksizes`, `contiguous`, `preferred_chunks`, and the keys of filters that the netCDF4 package gives.
    """
    chunks = about["chunks"]
    encoding = filters_of(about["filters"])
    encoding["contiguous"] = chunks is None
    encoding["chunksizes"] = None if chunks is None else tuple(chunks)
    if chunks is not None:
        encoding["preferred_chunks"] = dict(zip(dimensions, chunks, strict=True))
    return encoding


def filters_of(filters: list[tuple[int, str, list[int]]]) -> Encoding:
    """The filters of a variable, given as number, name and parameters.

    Args:
        filters: In the order in which a writer applies them.

    Returns:
        `zlib`, `szip`, `zstd`, `bzip2`, `blosc`, `shuffle`, `complevel` and `fletcher32`. LZF is in `compression`, as in h5netcdf. Filters
        that neither knows are in `hdf5_filters`, which xarray's writers ignore.
    """
    encoding: Encoding = dict.fromkeys(("zlib", "szip", "zstd", "bzip2", "blosc", "shuffle"), False)
    encoding.update(complevel=0, fletcher32=False)
    for number, name, parameters in filters:
        level = parameters[0] if parameters else 0
        if number == DEFLATE:
            encoding.update(zlib=True, complevel=level)
        elif number == ZSTD:
            encoding.update(zstd=True, complevel=level - (1 << 32) if level >= 1 << 31 else level)
        elif number == BZIP2:
            encoding.update(bzip2=True, complevel=level)
        elif number == SHUFFLE:
            encoding["shuffle"] = True
        elif number == FLETCHER32:
            encoding["fletcher32"] = True
        elif number == SZIP and len(parameters) > 1:
            encoding["szip"] = {"coding": "ec" if parameters[0] & _SZIP_ENTROPY else "nn", "pixels_per_block": parameters[1]}
        elif number == BLOSC and len(parameters) > 6 and parameters[6] < len(_BLOSC_COMPRESSORS):
            encoding["blosc"] = {"compressor": _BLOSC_COMPRESSORS[parameters[6]], "shuffle": parameters[5]}
            encoding["complevel"] = parameters[4]
        elif number == LZF:
            encoding.update(compression="lzf", compression_opts=None)
        else:
            encoding.setdefault("hdf5_filters", []).append((name, tuple(parameters)))
    return encoding
