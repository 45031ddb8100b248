"""Sampling: blocks of a dataset, and what each candidate of a filter makes of them."""

from __future__ import annotations

import math
import os
import random
import time
from dataclasses import replace

import numpy as np

from ..base.errors import Error, InvalidTypeError
from ..base.type_aliases import AnyArray, JsonObject
from ..files.file import File
from ..files.file import open as open_file
from ..objects.dataset import Dataset
from ..objects.filters import compression_of
from ..objects.native_objects import description_of
from ..writing.new_file import create
from .layouts import NO_FILTER, Filter

#: Values that are measured for each filter, and values that may be decoded to get them.
SAMPLE_BYTES = 8 << 20
SOURCE_BYTES = 512 << 20
#: Number of the filter that adds checksums.
FLETCHER32 = 3

_BUILT_IN: tuple[tuple[str, JsonObject], ...] = (
    ("shuffle, gzip", {"shuffle": True, "compression": "gzip"}),
    ("shuffle, gzip 1", {"shuffle": True, "compression": "gzip", "compression_opts": 1}),
)
_PLUGINS: tuple[tuple[str, JsonObject], ...] = (
    ("lz4", {"compression": "lz4"}),
    ("shuffle, lz4", {"shuffle": True, "compression": "lz4"}),
    ("bitshuffle, lz4", {"compression": "bitshuffle"}),
    ("shuffle, zstd", {"shuffle": True, "compression": "zstd"}),
    ("bitshuffle, zstd", {"compression": "bitshuffle", "compression_opts": "zstd"}),
)


def dataset_at(file: File, path: str) -> Dataset:
    """The dataset at a path.

    Raises:
        InvalidTypeError: There is another object.
    """
    found = file[path]
    if not isinstance(found, Dataset):
        raise InvalidTypeError(f"{path} is not a dataset")
    return found


def candidates(dataset: Dataset) -> list[Filter]:
    """The filters that are measured, those that the dataset has first."""
    kind = dataset.dtype.kind
    found = [NO_FILTER, *(Filter(name, tuple(options.items())) for name, options in _BUILT_IN)]
    found += [Filter(name, tuple(options.items()), needs_plugin=True) for name, options in _PLUGINS]
    if kind in "iu" and dataset.dtype.itemsize > 1:
        found.append(Filter("scaleoffset", (("scaleoffset", True),)))
    if kind == "f" and dataset.dtype.itemsize in (4, 8):
        found.append(Filter("scaleoffset to 3 decimal places", (("scaleoffset", 3),), lossy=True))
    if FLETCHER32 in dataset.filter_ids:
        # Checksums are not given up for speed.
        checked = ("fletcher32", True)
        found = [replace(one, name=f"{one.name}, fletcher32".removeprefix("none, "), options=(*one.options, checked)) for one in found]
    current = current_filter(dataset)
    if current is None:
        return found
    same = [filter for filter in found if set(filter.options) == set(current.options)]
    return [replace(same[0], is_current=True) if same else current, *(filter for filter in found if filter not in same)]


def current_filter(dataset: Dataset) -> Filter | None:
    """The dataset's own filters, if Hyperslab can write them."""
    about = description_of(dataset)["filters"]
    if not about:
        return replace(NO_FILTER, is_current=True)
    name, level = compression_of([(number, list(parameters)) for number, _, parameters in about])
    numbers = {number for number, _, _ in about}
    if numbers - {1, 2, 3, 32000, 32004, 32008, 32015} or name is None:
        return None
    options: JsonObject = {"compression": name}
    # Levels that are the default's are left out, so that the filter is recognized among the candidates.
    if level is not None and (name, level) not in (("gzip", 4), ("zstd", 3), ("bitshuffle", "lz4")):
        options["compression_opts"] = level
    if 2 in numbers:
        options["shuffle"] = True
    if 3 in numbers:
        options["fletcher32"] = True
    return Filter(", ".join(dataset.filters), tuple(options.items()), is_current=True)


def source_bytes(dataset: Dataset, box: tuple[slice, ...]) -> int:
    """Bytes of values that a reader decodes to get a box."""
    chunks = dataset.chunks if dataset.filters and dataset.chunks else (1,) * len(dataset.shape)
    extents = []
    for part, chunk, extent in zip(box, chunks, dataset.shape, strict=True):
        first, last = part.start // chunk * chunk, min(-(-part.stop // chunk) * chunk, extent)
        extents.append(max(last - first, 0))
    return int(math.prod(extents)) * dataset.dtype.itemsize


def blocks(dataset: Dataset, shape: tuple[int, ...], chance: random.Random) -> list[AnyArray]:
    """Blocks of about this shape at random places of its grid; smaller ones if they would cost too much to read."""
    size = list(shape)
    while size and source_bytes(dataset, _corner(size, dataset.shape)) > SOURCE_BYTES and max(size) > 1:
        # The dimension along which the dataset's own chunks are shortest costs the most.
        own = dataset.chunks or (1,) * len(size)
        worst = max(range(len(size)), key=lambda axis: size[axis] / own[axis] if size[axis] > 1 else 0.0)
        size[worst] = -(-size[worst] // 2)
    block_bytes = max(math.prod(size) * dataset.dtype.itemsize, 1)
    cost = max(source_bytes(dataset, _corner(size, dataset.shape)), 1)
    number = max(min(SAMPLE_BYTES // block_bytes, SOURCE_BYTES // cost, 64), 1)
    grid = [-(-extent // edge) for extent, edge in zip(dataset.shape, size, strict=True)]
    # Whole blocks only, if there are any: those at the border are not like the others.
    whole = [max(extent // edge, 1) for extent, edge in zip(dataset.shape, size, strict=True)]
    places = {tuple(chance.randrange(count) for count in (whole if math.prod(whole) else grid)) for _ in range(int(number) * 2)}
    found = []
    for place in sorted(places)[: int(number)]:
        box = tuple(slice(i * edge, min((i + 1) * edge, extent)) for i, edge, extent in zip(place, size, dataset.shape, strict=True))
        found.append(np.ascontiguousarray(dataset[box]))
    return found


def _corner(size: list[int], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(0, min(edge, extent)) for edge, extent in zip(size, shape, strict=True))


def measured(filter: Filter, sample: list[AnyArray], folder: str) -> Filter | None:
    """Ratio and speed of a filter on the sample, by writing and reading a file with one thread; `None` if it does not take
    these values."""
    shape = sample[0].shape
    same = [block for block in sample if block.shape == shape]
    total = sum(block.nbytes for block in same)
    path = os.path.join(folder, "sample.h5")
    try:
        writing, reading = [], []
        for _ in range(2):
            start = time.perf_counter()
            with create(path, threads=1, durable=False) as out:
                made = out.create_dataset("x", (len(same), *shape), same[0].dtype, chunks=(1, *shape), **dict(filter.options))
                for i, block in enumerate(same):
                    made[i] = block
            writing.append(time.perf_counter() - start)
        with open_file(path, threads=1, chunk_cache_bytes=0) as f:
            dataset = dataset_at(f, "x")
            stored = dataset.stored_bytes
            for _ in range(2):
                start = time.perf_counter()
                for i in range(len(same)):
                    dataset[i]
                reading.append(time.perf_counter() - start)
    except Error:
        # Such as scaleoffset of values that need all of their bits.
        return None
    finally:
        if os.path.exists(path):
            os.remove(path)
    return replace(filter, ratio=total / max(stored, 1), encode_rate=total / min(writing), decode_rate=total / min(reading))


def measure_filters(dataset: Dataset, shape: tuple[int, ...], folder: str, chance: random.Random) -> list[Filter]:
    """All candidates with what was measured on blocks of this shape."""
    sample = blocks(dataset, shape, chance)
    found = (measured(filter, sample, folder) for filter in candidates(dataset))
    return [filter for filter in found if filter is not None]
