"""Document: kerchunk's references to the chunks of one file."""

from __future__ import annotations

import base64
import json
import math

import numpy as np

from .. import _native
from ..base.errors import LimitExceededError, UnsupportedError
from ..base.type_aliases import AttributeValue, Json, JsonObject
from ..objects.attributes import attributes_of
from ..xarray.attributes import read_attributes
from ..xarray.groups import MAX_OTHER_PATHS, find_group
from .arrays import Array, arrays_of, chunk_keys, json_attributes

#: Codecs that Zarr's second version calls the compressor; others are filters.
_COMPRESSORS = {"zlib", "bz2", "zstd", "blosc"}


class Document:
    """References while they are put together."""

    def __init__(self, file: _native.File, address: str, drop: frozenset[str]) -> None:
        self._file, self._address, self._drop = file, address, drop
        self.refs: JsonObject = {}
        self.arrays = self.chunks = self.inside = 0
        self._known: set[tuple[str, int]] = set()
        self._again = 0

    def add_group(self, path: str, above: frozenset[tuple[str, int]] = frozenset()) -> None:
        file, number = find_group(self._file, path)
        if file.path != self._file.path:
            raise UnsupportedError("a group of another file, which an external link leads to: leave it out by drop_variables", self._file.path, path)
        is_again = (file.path, number) in self._known
        self._known.add((file.path, number))
        self._charge(is_again, path)
        prefix = path.strip("/") + "/" if path != "/" else ""
        self.refs[f"{prefix}.zgroup"] = _text({"zarr_format": 2})
        self.refs[f"{prefix}.zattrs"] = _text(json_attributes(read_attributes(attributes_of(file, number))))
        for array in arrays_of(self._file, path, self._drop):
            self._charge(is_again, path)
            self._add_array(f"{prefix}{array.name}", array)
        links = file.links(number)
        for name, target in zip(links.names, links.objects, strict=True):
            if name in self._drop or target is None or file.kind(target) != "group" or (file.path, target) in above:
                continue
            self.add_group(f"{path.rstrip('/')}/{name}", above | {(file.path, number)})

    def _charge(self, is_again: bool, path: str) -> None:
        """Counts what is written at a further path of a group."""
        self._again += is_again
        if self._again > MAX_OTHER_PATHS:
            words = f"more than {MAX_OTHER_PATHS:,} groups and arrays at further paths: leave links out by drop_variables"
            raise LimitExceededError(words, self._file.path, path)

    def _add_array(self, path: str, array: Array) -> None:
        compressor = array.codecs[-1] if array.codecs and array.codecs[-1]["id"] in _COMPRESSORS else None
        self.refs[f"{path}/.zarray"] = _text(
            {
                "zarr_format": 2,
                "shape": list(array.shape),
                "chunks": list(array.chunk_shape),
                "dtype": array.dtype.str,
                "fill_value": _fill(array.fill),
                "order": "C",
                "filters": (array.codecs[:-1] if compressor else array.codecs) or None,
                "compressor": compressor,
            }
        )
        self.refs[f"{path}/.zattrs"] = _text({**json_attributes(array.attributes), "_ARRAY_DIMENSIONS": list(array.dims)})
        chunks, address = array.chunks, self._address
        places = zip(chunk_keys(chunks, chunks.numbers), chunks.offsets.tolist(), chunks.lengths.tolist(), strict=False)
        self.refs.update((f"{path}/{key}", [address, offset, length]) for key, offset, length in places)
        numbers = np.array(sorted(chunks.contents), np.uint64)
        for number, key in zip(numbers.tolist(), chunk_keys(chunks, numbers), strict=False):
            self.refs[f"{path}/{key}"] = "base64:" + base64.b64encode(chunks.contents[number]).decode()
        self.arrays += 1
        self.chunks += len(chunks.numbers)
        self.inside += len(chunks.contents)


def _text(value: Json) -> str:
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Json) -> Json:
    """With texts for numbers that JSON does not have, as Zarr writes them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def _fill(value: AttributeValue) -> Json:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if np.iscomplexobj(value):
        return [float(value.real), float(value.imag)]
    return value.item()
