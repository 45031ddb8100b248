"""Filters: the options of `create_dataset` as the filters of a dataset, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..base.arguments import check_choice
from ..base.errors import InvalidInputError, InvalidTypeError, UnsupportedError

#: A filter of a dataset that is created: number, name, whether a chunk may skip it, and parameters.
Filter: TypeAlias = tuple[int, str | None, bool, list[int]]
#: Number, name, and whether a chunk may skip it.
_COMPRESSIONS: dict[str, tuple[int, str | None, bool]] = {
    "gzip": (1, None, True),
    "deflate": (1, None, True),
    "lz4": (32004, "lz4", True),
    "zstd": (32015, "zstd", True),
    "bitshuffle": (32008, "bitshuffle", True),
    "lzf": (32000, "lzf", True),
    "szip": (4, None, True),
    "nbit": (5, None, True),
}
#: szip's codings: entropy coding, and distances between neighbors.
_SZIP = {"ec": 4, "nn": 32}
_LEVELS = {1: 4, 32015: 3}
_BITSHUFFLE = {None: 2, "lz4": 2, "zstd": 3, "none": 0}


#: Registered numbers of filters, as in hdf5plugin.
_NUMBERS = {32000: "lzf", 32004: "lz4", 32008: "bitshuffle", 32015: "zstd"}
#: Compression filters that Hyperslab decodes but does not encode.
_READ_ONLY = {307: "bzip2", 32001: "blosc", 32013: "zfp", 32026: "blosc2"}
_INSTEAD = "is read, but not written: give zstd, lz4 or bitshuffle"
_BITSHUFFLE_CODES = {0: "none", 2: "lz4", 3: "zstd"}


class UnknownFilterError(UnsupportedError, ValueError):
    """A filter that is not written, which h5py reports as a `ValueError`."""

    __str__ = UnsupportedError.__str__


def _of_number(number: int, options: Any) -> tuple[str, Any]:
    """Name and level of a filter given by its number, as in `**hdf5plugin.Zstd(clevel=3)`."""
    numbers = ", ".join(f"{n} ({name})" for n, name in _NUMBERS.items())
    if number in _READ_ONLY:
        raise UnsupportedError(f"{_READ_ONLY[number]} (filter {number}) is read, but not written: give {numbers}")
    if number < 0:
        raise InvalidInputError(f"Invalid filter number {number}: give a level of gzip from 0 to 9, or the number of a filter")
    if number not in _NUMBERS:
        raise UnknownFilterError(f"Unknown compression {number}: give {numbers}, or 0 to 9, a level of gzip")
    name = _NUMBERS[number]
    given = tuple(options) if isinstance(options, (tuple, list)) else () if options is None else (options,)
    if name == "bitshuffle":
        code = given[1] if len(given) > 1 else 2
        return name, _BITSHUFFLE_CODES.get(code, code)
    return name, given[0] if given and name != "lzf" else None


def options_of(filters: Sequence[tuple[int, int, Sequence[int], bytes]]) -> dict[str, Any]:
    """The options of `create_dataset` that ask for filters of HDF5's property lists: number, flags, parameters and name of each.

    Raises:
        UnsupportedError: They ask for another order, or for two compressions.
    """
    options: dict[str, Any] = {}
    for number, _, values, _ in filters:
        if number == 2:
            options["shuffle"] = True
        elif number == 3:
            options["fletcher32"] = True
        elif number == 6:
            options["scaleoffset"] = values[1] if len(values) > 1 else True
        elif "compression" in options:
            raise UnsupportedError(f"filters {options['compression']} and {number} of one dataset: give one compression")
        else:
            names = {known: name for name, (known, _, _) in _COMPRESSIONS.items()}
            options["compression"] = names.get(number, number)
            if number == 4:
                options["compression_opts"] = ("nn" if values[0] & _SZIP["nn"] else "ec", values[1])
            elif number == 32008:
                options.update(compression=number, compression_opts=tuple(values))
            elif values and number != 32000:
                options["compression_opts"] = values[0]
    return options


def encoded_numbers() -> set[int]:
    """The registered numbers of the filters that can be written."""
    return {2, 3, 6} | {number for number, _, _ in _COMPRESSIONS.values()}


def filters_of(
    compression: str | int | None, level: object, shuffle: bool, fletcher32: bool, scaleoffset: int | bool | None = None, kind: str = ""
) -> list[Filter]:
    """The filters that the options of `create_dataset` ask for, in the order in which chunks go through them: number, name,
    whether a chunk may skip it, and parameters."""
    filters: list[Filter] = []
    if scaleoffset is not None and scaleoffset is not False:
        filters.append((6, None, True, [_factor(scaleoffset, kind)]))
        if fletcher32 and kind == "float":
            raise InvalidInputError("fletcher32 with scaleoffset of floats, which rounds them: leave one out")
    if shuffle:
        filters.append((2, None, True, []))
    if isinstance(compression, int) and not isinstance(compression, bool):
        compression, level = ("gzip", compression) if 0 <= compression <= 9 else _of_number(compression, level)
    if compression is not None:
        if compression in _READ_ONLY.values():
            raise UnsupportedError(f"{compression} {_INSTEAD}")
        check_choice("compression", compression, _COMPRESSIONS, UnsupportedError)
        compression = str(compression)
        number, name, optional = _COMPRESSIONS[compression]
        if number == 32008:
            if level not in _BITSHUFFLE:
                raise InvalidInputError(f"bitshuffle with {level!r}: give lz4, zstd or none")
            parameters = [0, 4, 0, 0, _BITSHUFFLE[level]]
        elif number == 4:
            parameters = _szip(level)
        elif number == 5:
            if level is not None:
                raise InvalidInputError(f"compression_opts={level!r}: nbit takes none, the bits are those of the datatype (`hs.integer_dtype`)")
            parameters = []
        elif number == 32000:
            if level is not None:
                raise InvalidInputError(f"compression_opts={level!r}: lzf takes none")
            parameters = []
        elif number in _LEVELS:
            chosen = _level(compression, _LEVELS[number] if level is None else level)
            parameters = [chosen & 0xFFFFFFFF]
        else:
            parameters = [] if level is None else [_level(compression, level)]
        filters.append((number, name, optional, parameters))
    elif level is not None:
        raise InvalidInputError("compression_opts without compression")
    if fletcher32:
        filters.append((3, None, False, []))
    return filters


def check_filters(options: Mapping[str, Any]) -> None:
    """Checks the filter options of datasets that are created later. Raises what `filters_of` raises."""
    filters_of(options.get("compression"), options.get("compression_opts"), bool(options.get("shuffle")), bool(options.get("fletcher32")))


def _factor(scaleoffset: int | bool | None, kind: str) -> int:
    """The number of bits of integers, 0 is as many as needed, or the number of decimal places of floats."""
    if kind not in ("integer", "float"):
        raise InvalidTypeError("scaleoffset is for integers and floats")
    if scaleoffset is True:
        if kind == "float":
            raise InvalidInputError("scaleoffset=True of floats: give the number of decimal places to keep")
        return 0
    if not isinstance(scaleoffset, (int, np.integer)) or not 0 <= scaleoffset <= 64:
        raise InvalidInputError(f"scaleoffset={scaleoffset!r}: give a whole number from 0 to 64")
    return int(scaleoffset)


def _szip(options: Any) -> list[int]:
    """The options of szip as h5py takes them: `("nn", 8)`, coding and pixels of a block."""
    try:
        coding, block = ("nn", 8) if options is None else options
        if not 2 <= block <= 32 or block % 2:
            raise ValueError
        return [_SZIP[coding], int(block)]
    except (TypeError, ValueError, KeyError):
        raise InvalidInputError(f"compression_opts={options!r}: szip takes ('nn', 8): nn or ec, and an even number of pixels from 2 to 32") from None


def _level(compression: str, level: object) -> int:
    """A compression level; a filter checks what it takes, but knows no negative numbers (except zstd)."""
    if isinstance(level, bool) or not isinstance(level, (int, np.integer)):
        raise InvalidInputError(f"compression_opts={level!r}: {compression} takes a whole number")
    low, high = {"gzip": (0, 9), "deflate": (0, 9), "zstd": (-(1 << 17), 22)}.get(compression, (0, (1 << 32) - 1))
    if not low <= level <= high:
        raise InvalidInputError(f"compression_opts={level}: {compression} takes {low} to {high}")
    return int(level)


def compression_of(filters: list[tuple[int, list[int]]]) -> tuple[str | None, int | str | tuple[str, int] | None]:
    """Name and level of the compression among filters, as `create_dataset` takes them."""
    for number, parameters in filters:
        if number == 32008:
            code = parameters[4] if len(parameters) > 4 else 0
            return "bitshuffle", _BITSHUFFLE_CODES.get(code, code)
        if number == 4:
            return "szip", ("nn" if parameters[0] & _SZIP["nn"] else "ec", parameters[1])
        if number == 5:
            return "nbit", None
        if number == 1:
            return "gzip", parameters[0] if parameters else 4
        if number in _NUMBERS:
            level = parameters[0] if parameters and number == 32015 else None
            return _NUMBERS[number], None if level is None else level - (level >> 31 << 32)
    return None, None
