"""Codecs: filters of HDF5 as codecs of numcodecs, which readers of Zarr have."""

from __future__ import annotations

from ..base.errors import UnsupportedError
from ..base.type_aliases import JsonObject

#: Names of the compressors in Blosc's parameters.
_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


def codecs_of(filters: list[tuple[int, str, list[int]]], element_bytes: int) -> list[JsonObject]:
    """The filters of a dataset as configurations of numcodecs, in the order in which a writer applies them.

    Args:
        filters: Number, name and parameters of each.
        element_bytes: Bytes of an element.

    Raises:
        UnsupportedError: A filter has no codec that readers of Zarr have.
    """
    return [_codec_of(number, name, parameters, element_bytes) for number, name, parameters in filters]


def _codec_of(number: int, name: str, parameters: list[int], element_bytes: int) -> JsonObject:
    # How a chunk was compressed is written in the chunk: of these parameters, readers need none.
    if number == 1:
        return {"id": "zlib", "level": min(parameters[0], 9) if parameters else 1}
    if number == 2:
        return {"id": "shuffle", "elementsize": parameters[0] if parameters else element_bytes}
    if number == 3:
        return {"id": "fletcher32"}
    if number == 307:
        return {"id": "bz2", "level": parameters[0] if parameters and 1 <= parameters[0] <= 9 else 9}
    if number == 32001:
        level, shuffle, code = (*parameters[4:7], *(5, 1, 0)[max(len(parameters) - 4, 0) :])
        return {"id": "blosc", "cname": _BLOSC[code] if code < len(_BLOSC) else "blosclz", "clevel": min(level, 9), "shuffle": shuffle, "blocksize": 0}
    if number == 32015:
        return {"id": "zstd", "level": parameters[0] if parameters and parameters[0] <= 22 else 3}
    raise UnsupportedError(f"the filter {name or number}, for which readers of Zarr have no codec")
